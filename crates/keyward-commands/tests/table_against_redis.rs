//! The table against a real redis-server 7.0: what our rows say about a command must
//! be what Redis says about it, byte for byte.

use keyward_commands::{
    COMMANDS, Command, Group, WireError, absent, describe, lookup, lookup_subcommand,
};
use keyward_resp::{ArgBuf, Frame, FrameLimits, FrameParser, Protocol, ReplyWriter};
use keyward_testkit::{Client, Random, Server};

const PROTOCOLS: [(Protocol, &str); 2] = [(Protocol::Resp2, "2"), (Protocol::Resp3, "3")];

fn call(client: &mut Client, command: &[&str]) -> Frame {
    client.call(command.iter()).unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// What `write` writes, as the client would see it.
fn ours(protocol: Protocol, write: impl FnOnce(&mut ReplyWriter<'_>)) -> Frame {
    let mut bytes = Vec::new();
    write(&mut ReplyWriter::new(&mut bytes, protocol));
    let frame = FrameParser::new(FrameLimits::default()).next(&bytes);
    frame.expect("our own reply is well formed").expect("our own reply is complete")
}

/// COMMAND INFO's ten fields but the last: subcommands are compared one by one.
fn without_subcommands(info: Frame) -> Frame {
    match info {
        Frame::Array(mut fields) if fields.len() == 10 => {
            fields.pop();
            Frame::Array(fields)
        }
        other => panic!("not the reply of COMMAND INFO: {other:?}"),
    }
}

/// COMMAND DOCS' fields as pairs in both protocols, but for the subcommands.
fn docs_without_subcommands(docs: Frame) -> Vec<(Frame, Frame)> {
    let mut pairs = match docs {
        Frame::Map(pairs) => pairs,
        Frame::Array(flat) => {
            flat.chunks(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect()
        }
        other => panic!("not the reply of COMMAND DOCS: {other:?}"),
    };
    pairs.retain(|(name, _)| name.as_bytes() != Some(b"subcommands"));
    pairs
}

/// The commands that Redis 7.0 has too.
fn of_redis() -> impl Iterator<Item = &'static Command> {
    COMMANDS.iter().filter(|command| command.group != Group::Keyward && !command.is_newer())
}

#[test]
fn command_info_is_what_redis_says() {
    let server = Server::redis(&[]);
    let mut client = server.client();
    for (protocol, version) in PROTOCOLS {
        call(&mut client, &["HELLO", version]);
        for command in of_redis() {
            let theirs = call(&mut client, &["COMMAND", "INFO", command.name]);
            let theirs = match theirs {
                Frame::Array(mut one) if one.len() == 1 => one.remove(0),
                other => panic!("{}: {other:?}", command.name),
            };
            let ours = ours(protocol, |reply| describe::write_info(command, reply));
            assert_eq!(
                without_subcommands(ours),
                without_subcommands(theirs),
                "{} in RESP{version}",
                command.name
            );
        }
    }
}

#[test]
fn command_docs_are_what_redis_says() {
    let server = Server::redis(&[]);
    let mut client = server.client();
    for (protocol, version) in PROTOCOLS {
        call(&mut client, &["HELLO", version]);
        for command in of_redis() {
            let theirs = match call(&mut client, &["COMMAND", "DOCS", command.name]) {
                Frame::Array(mut pair) if pair.len() == 2 => pair.remove(1),
                Frame::Map(mut pairs) if pairs.len() == 1 => pairs.remove(0).1,
                other => panic!("{}: {other:?}", command.name),
            };
            let ours = ours(protocol, |reply| describe::write_docs(command, reply));
            assert_eq!(
                docs_without_subcommands(ours),
                docs_without_subcommands(theirs),
                "{} in RESP{version}",
                command.name
            );
        }
    }
}

#[test]
fn every_command_of_redis_is_in_the_table_or_absent_for_a_reason() {
    let server = Server::redis(&[]);
    let listed = call(&mut server.client(), &["COMMAND", "LIST"]);
    let mut theirs: Vec<String> = listed
        .as_elements()
        .expect("COMMAND LIST is an array")
        .iter()
        .map(|name| String::from_utf8_lossy(name.as_bytes().unwrap_or_default()).into_owned())
        .collect();
    theirs.sort();
    let mut ours: Vec<String> = of_redis().map(|command| command.name.to_owned()).collect();
    // SENTINEL is answered by a server in that mode only, so Redis does not list it here.
    ours.extend(
        absent::ABSENT
            .iter()
            .flat_map(|absent| absent.full_names())
            .filter(|name| !name.starts_with("sentinel")),
    );
    ours.sort();
    assert_eq!(ours, theirs);
}

/// The row that Redis's `lookupCommand` would find, served by us or not.
fn row_of(call: &[&str]) -> Option<&'static Command> {
    let command = lookup(call[0].as_bytes())?;
    if command.subcommands().is_empty() || call.len() == 1 {
        return Some(command);
    }
    lookup_subcommand(command, call[1].as_bytes())
}

/// Compares COMMAND GETKEYS and GETKEYSANDFLAGS for one call.
fn check_keys(client: &mut Client, words: &[&str]) {
    let args: ArgBuf = words.iter().collect();
    let keys = match row_of(words) {
        Some(command) => command.keys_or_error(args.args()),
        None => Err(WireError::InvalidCommand),
    };
    for with_flags in [false, true] {
        let ours = ours(Protocol::Resp2, |reply| match &keys {
            Err(error) => error.write_to(reply),
            Ok(keys) => {
                reply.array(keys.len());
                for key in *keys {
                    if with_flags {
                        reply.array(2);
                    }
                    reply.bulk(args.args().at(key.index));
                    if with_flags {
                        reply.set(key.flags.wire_names().count());
                        key.flags.wire_names().for_each(|name| reply.simple(name));
                    }
                }
            }
        });
        let subcommand = if with_flags { "GETKEYSANDFLAGS" } else { "GETKEYS" };
        let request = [&["COMMAND", subcommand], words].concat();
        assert_eq!(ours, call(client, &request), "{request:?}");
    }
}

#[test]
fn keys_are_found_where_redis_finds_them() {
    let server = Server::redis(&[]);
    let mut client = server.client();
    for line in CALLS.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let words: Vec<&str> = line.split(' ').map(|w| if w == "''" { "" } else { w }).collect();
        check_keys(&mut client, &words);
    }
}

#[test]
fn keys_of_random_calls_are_found_where_redis_finds_them() {
    const WORDS: [&str; 16] = [
        "a", "b", "c", "0", "1", "2", "3", "1x", "-1", "store", "GET", "by", "LIMIT", "set",
        "overflow", "",
    ];
    let server = Server::redis(&[]);
    let mut client = server.client();
    let mut random = Random::new(1);
    for command in of_redis() {
        for _ in 0..if command.keys.is_empty() { 1 } else { 40 } {
            let mut words: Vec<&str> = command.name.split('|').collect();
            // COMMAND GETKEYS itself wants one argument at least.
            for _ in 0..1 + random.below(8) {
                words.push(*random.pick(&WORDS));
            }
            check_keys(&mut client, &words);
        }
    }
}

/// Calls with keys in every kind of place, and calls that make no sense. Each has two
/// words or more, as COMMAND GETKEYS demands.
const CALLS: &str = "
    GET a
    GET a b
    nope a
    PING a
    CLIENT nope
    CLIENT LIST
    OBJECT ENCODING k
    OBJECT HELP
    MEMORY USAGE k
    MEMORY STATS
    MSET a 1 b 2
    MSET a 1 b
    MSETNX a 1 b 2 c 3
    MGET a b c
    DEL a b
    SET a b
    SET a b GET
    SET a b NX gEt EX 10
    SET a GET
    GETEX a PERSIST
    COPY a b
    RENAME a b
    LCS a b LEN
    SMOVE a b m
    SDIFFSTORE d a b
    SUNION a b
    SINTERCARD 2 a b LIMIT 1
    SINTERCARD 0 a b
    SINTERCARD 3 a b
    SINTERCARD x a b
    SINTERCARD 1x a b
    SINTERCARD -1 a b
    SINTERCARD 01 a b
    SINTERCARD +2 a b
    SINTERCARD 4294967297 a b
    SINTERCARD 4294967296 a b
    LMPOP 2 a b LEFT
    LMPOP 1 a LEFT COUNT 2
    BLMPOP 0 2 a b RIGHT
    BLPOP a b 0
    BRPOPLPUSH a b 0
    BLMOVE a b LEFT RIGHT 0
    LMOVE a b LEFT RIGHT
    BZPOPMIN a b c 1
    BZMPOP 1 1 a MIN
    ZMPOP 2 a b MAX
    ZADD k 1 m
    ZUNIONSTORE d 2 a b WEIGHTS 1 2
    ZUNIONSTORE d 2x a b
    ZUNIONSTORE d 5 a b
    ZINTERSTORE d 1 a
    ZDIFFSTORE d 1 a
    ZUNION 2 a b WITHSCORES
    ZINTERCARD 1 a
    ZDIFF 2 a b
    ZRANGESTORE d s 0 -1
    BITOP AND d a b c
    BITOP NOT d
    BITCOUNT k
    BITFIELD k
    BITFIELD k GET u8 0
    BITFIELD k GET u8 0 OVERFLOW WRAP GET u8 8
    BITFIELD k GET u8 0 SET u8 0 1
    BITFIELD k OVERFLOW SAT INCRBY u8 0 1
    BITFIELD k GET u8
    BITFIELD k OVERFLOW
    BITFIELD k nope
    BITFIELD_RO k GET u8 0
    SORT k
    SORT k BY w_* GET # STORE d
    SORT k STORE a STORE b
    SORT k STORE
    SORT k GET STORE d
    SORT k BY STORE STORE d
    SORT k LIMIT STORE 1 STORE d
    SORT k STORE STORE d
    SORT k LIMIT
    SORT_RO k BY w_*
    EVAL s 0
    EVAL s 0 a
    EVAL s 2 a b c
    EVAL s 3 a b
    EVAL s x a
    EVAL s 1x a
    EVALSHA s 1 a
    EVAL_RO s 1 a
    EVALSHA_RO s 1 a
    FCALL f 1 a
    FCALL f 0
    FCALL_RO f 1 a b
    SCRIPT LOAD x
    PUBLISH c m
    SPUBLISH c m
    SSUBSCRIBE c
    SUBSCRIBE c
    WATCH a b
    TOUCH a b
    EXISTS a
    EXPIRE a 10
    OBJECT FREQ
    DUMP k
    RESTORE k 0 x
    MOVE k 1
    SCAN 0
    KEYS *
    HSET h f v
    HSCAN h 0
    DEBUG OBJECT k
    WAIT 0 0
    COMMAND GETKEYS GET a
    '' a
";
