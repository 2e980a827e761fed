//! Errors about the call itself, against a real redis-server 7.0.

use keyward_commands::{WireError, lookup, lookup_subcommand};
use keyward_resp::{ArgBuf, Frame, FrameLimits, FrameParser, Protocol, ReplyWriter};
use keyward_testkit::Server;

/// What our server answers to a call that it cannot run, if every row had a handler.
fn refusal(args: &ArgBuf) -> WireError {
    let args = args.args();
    let Some(mut command) = lookup(args.at(0)) else { return WireError::unknown_command(args) };
    if !command.subcommands().is_empty() && args.len() > 1 {
        match lookup_subcommand(command, args.at(1)) {
            Some(subcommand) => command = subcommand,
            None => return WireError::unknown_subcommand(args),
        }
    }
    assert!(!command.arity.admits(args.len()), "{} can be run", command.name);
    WireError::WrongArity(command.name)
}

#[test]
fn unknown_names_and_wrong_counts_have_redis_s_texts() {
    let server = Server::redis(&[]);
    let mut client = server.client();
    let long = "x".repeat(300);
    let almost = "y".repeat(125);
    for call in [
        &["nope"][..],
        &["nope", "a", "b c", ""],
        &["no\r\npe", "a\r\nb"],
        &["no\0pe", "a\0b", "c"],
        &[&long, &long, &long],
        &["nope", &almost, "zzz", "www"],
        &["nope", "a", &almost, "zzz", "www"],
        &["", "a"],
        &["get"],
        &["GET", "a", "b"],
        &["client"],
        &["client", "nope"],
        &["cLiEnt", "no\r\npe", "x"],
        &["CONFIG", &long],
        &["CONFIG"],
        &["config", "get"],
        &["CLIENT", "LIST|"],
        &["client|list"],
        &["object", "encoding"],
        &["script", "a\0b"],
    ] {
        let args: ArgBuf = call.iter().collect();
        let mut bytes = Vec::new();
        refusal(&args).write_to(&mut ReplyWriter::new(&mut bytes, Protocol::Resp2));
        let ours = FrameParser::new(FrameLimits::default()).next(&bytes).unwrap().unwrap();
        let theirs = client.call(call.iter()).unwrap();
        assert!(matches!(theirs, Frame::Error(_)), "{call:?}: {theirs:?}");
        assert_eq!(ours, theirs, "{call:?}");
    }
}
