//! Which commands about streams renew a lifetime by writing: those that changed something.

use crate::harness::{START_MS, TestEngine};
use keyward_resp::push_request;

const SCHEMA: &str = r#"
[keyspace]
name = "streams"

[key."log:{id}"]
type = "stream"
fields = { a = "string" }
ttl = { after = "60s", renew = "write" }
"#;

/// What was there for ten seconds when a command comes: three entries of which the last one is
/// deleted, and a group whose only consumer has the first.
const PREPARE: [&str; 6] = [
    "XADD log:1 1-1 a x",
    "XADD log:1 2-1 a x",
    "XADD log:1 3-1 a x",
    "XDEL log:1 3-1",
    "XGROUP CREATE log:1 g 0",
    "XREADGROUP GROUP g c COUNT 1 STREAMS log:1 >",
];

/// Whether a command renews the stream's lifetime.
fn renews(command: &str) -> bool {
    let mut test = TestEngine::governed(1, SCHEMA);
    let client = test.engine.connect();
    for step in PREPARE {
        let reply = test.call(client, step);
        assert!(!reply.starts_with('-'), "{step}: {reply}");
    }
    test.set_time(START_MS + 10_000);
    test.call(client, command);
    match test.call(client, "PTTL log:1").trim() {
        ":60000" => true,
        ":50000" => false,
        other => panic!("{command}: {other}"),
    }
}

#[test]
fn commands_that_change_nothing_of_a_stream_do_not_renew_it() {
    for command in [
        "XTRIM log:1 MAXLEN 100",
        "XTRIM log:1 MAXLEN ~ 100",
        "XTRIM log:1 MINID 0",
        "XDEL log:1 9-9",
        "XACK log:1 g 9-9",
        "XACK log:1 none 1-1",
        "XCLAIM log:1 g c 100000000 1-1",
        "XCLAIM log:1 g c 0 2-1",
        "XCLAIM log:1 g c 0 9-9",
        "XCLAIM log:1 g other 100000000 1-1",
        "XCLAIM log:1 g c 0 9-9 LASTID 0-1",
        "XAUTOCLAIM log:1 g c 100000000 0",
        "XAUTOCLAIM log:1 g c 0 7-0",
        "XGROUP CREATECONSUMER log:1 g c",
        "XGROUP DELCONSUMER log:1 g nobody",
        "XGROUP DESTROY log:1 none",
        "XGROUP CREATE log:1 g 0",
        "XADD log:1 1-1 a x",
        "XRANGE log:1 - +",
        "XREAD STREAMS log:1 0",
        "XPENDING log:1 g",
        "XINFO STREAM log:1",
    ] {
        assert!(!renews(command), "{command}");
    }
}

#[test]
fn commands_that_change_a_stream_renew_it() {
    for command in [
        "XADD log:1 * a x",
        "XTRIM log:1 MAXLEN 1",
        "XDEL log:1 1-1",
        "XACK log:1 g 1-1",
        "XCLAIM log:1 g c 0 1-1",
        "XCLAIM log:1 g other 0 1-1 JUSTID",
        "XCLAIM log:1 g c 0 9-9 LASTID 2-1",
        "XAUTOCLAIM log:1 g other 0 0",
        "XGROUP CREATECONSUMER log:1 g other",
        "XGROUP DELCONSUMER log:1 g c",
        "XGROUP DESTROY log:1 g",
        "XGROUP CREATE log:1 more 0",
        "XGROUP SETID log:1 g 2-1",
        "XSETID log:1 9-9",
        "XREADGROUP GROUP g c STREAMS log:1 >",
        "XREADGROUP GROUP g c STREAMS log:1 0",
    ] {
        assert!(renews(command), "{command}");
    }
}

#[test]
fn a_command_that_changes_nothing_leaves_what_its_unit_did_before_to_be_undone() {
    let mut test = TestEngine::governed(1, SCHEMA);
    let client = test.engine.connect();
    PREPARE.iter().for_each(|step| drop(test.call(client, step)));
    let words = [
        "EVAL",
        "redis.call('XTRIM',KEYS[1],'MAXLEN',1) redis.call('XTRIM',KEYS[1],'MAXLEN',5) \
         redis.call('XCLAIM',KEYS[1],'g','c',0,'9-9') return redis.error_reply('no')",
        "1",
        "log:1",
    ];
    let mut bytes = Vec::new();
    push_request(&mut bytes, words.iter());
    let reply = String::from_utf8_lossy(&test.send(client, &bytes).1).into_owned();
    assert!(reply.starts_with('-'), "{reply}");
    assert_eq!(test.call(client, "XLEN log:1"), ":2\r\n");
}
