//! Consumers that go with much that is pending: gone for everybody at once, weeded in steps.

use crate::forkless::Taken;
use crate::harness::TestEngine;
use keyward_engine::{ClientId, Random};

/// Entries of the stream `s`, which two consumers of the group `g` have in turn.
const ENTRIES: usize = 4_000;

/// An engine with such a stream.
fn stage() -> (TestEngine, ClientId) {
    let mut test = TestEngine::new(1);
    let client = test.engine.connect();
    test.call(client, "XGROUP CREATE s g 0 MKSTREAM");
    for number in 1..=ENTRIES {
        test.call(client, &format!("XADD s {number}-0 n {number}"));
    }
    for read in 0..ENTRIES / 400 {
        let consumer = ["ann", "bob"][read % 2];
        test.call(client, &format!("XREADGROUP GROUP g {consumer} COUNT 400 STREAMS s >"));
    }
    while test.tick() {}
    (test, client)
}

fn usage(test: &mut TestEngine, client: ClientId, key: &str) -> i64 {
    let reply = test.call(client, &format!("MEMORY USAGE {key}"));
    reply[1..].trim_end().parse().expect("a number")
}

/// Two engines, of which one has no time for itself, reply alike.
#[test]
fn replies_do_not_tell_whether_a_group_is_weeded() {
    let ((mut busy, client), (mut idle, _)) = (stage(), stage());
    let mut random = Random::from_seed(7);
    let mut both = |command: &str| {
        let reply = busy.call(client, command);
        assert_eq!(reply, idle.call(client, command), "{command}");
        while idle.tick() {}
        reply
    };
    assert_eq!(both("XGROUP DELCONSUMER s g ann"), ":2000\r\n");
    assert_eq!(both("XGROUP DELCONSUMER s g ann"), ":0\r\n");
    let pending =
        "*4\r\n:2000\r\n$5\r\n401-0\r\n$6\r\n4000-0\r\n*1\r\n*2\r\n$3\r\nbob\r\n$4\r\n2000\r\n";
    assert_eq!(both("XPENDING s g"), pending);
    assert_eq!(both("XACK s g 1-0 2-0"), ":0\r\n");
    assert_eq!(both("XCLAIM s g cid 0 3-0"), "*0\r\n");
    assert_eq!(both("XCLAIM s g cid 0 4-0 FORCE JUSTID"), "*1\r\n$3\r\n4-0\r\n");
    for _ in 0..300 {
        let id = 1 + random.below(ENTRIES as u64);
        let consumer = ["ann", "bob", "cid"][random.below(3) as usize];
        both(&match random.below(12) {
            0 => format!("XACK s g {id}-0 {}-0", id + 1),
            1 => format!("XCLAIM s g {consumer} 0 {id}-0 {}-0", id + 50),
            2 => format!("XCLAIM s g {consumer} 0 {id}-0 FORCE"),
            3 => format!("XAUTOCLAIM s g {consumer} 0 {id} COUNT 7"),
            4 => format!("XPENDING s g {id}-0 + 20"),
            5 => format!("XPENDING s g - + 20 {consumer}"),
            6 => format!("XREADGROUP GROUP g {consumer} COUNT 9 STREAMS s {id}"),
            7 => format!("XDEL s {id}-0"),
            8 => "XINFO STREAM s FULL COUNT 30".to_owned(),
            9 => format!("XREADGROUP GROUP g {consumer} COUNT 300 STREAMS s >"),
            10 => "XGROUP SETID s g 0".to_owned(),
            _ => "XPENDING s g".to_owned(),
        });
    }
    both("XGROUP DELCONSUMER s g cid");
    both("XINFO CONSUMERS s g");
    both("DEBUG DIGEST-VALUE s");
    assert_eq!(both("XGROUP DESTROY s g"), ":1\r\n");
}

/// What a consumer left is freed under whatever key its stream has come to.
#[test]
fn what_a_consumer_left_is_freed_wherever_its_stream_goes() {
    for (commands, db, keys) in [
        (&[][..], 0, &["s"][..]),
        (&["RENAME s t"], 0, &["t"]),
        (&["COPY s t"], 0, &["s", "t"]),
        (&["MOVE s 1"], 1, &["s"]),
        (&["SWAPDB 0 1"], 1, &["s"]),
        (&["RENAME s t", "SWAPDB 0 1"], 1, &["t"]),
    ] {
        let (mut test, client) = stage();
        let before = usage(&mut test, client, "s");
        test.call(client, "XGROUP DELCONSUMER s g ann");
        // Its own list has gone, and what it had in that of the group has not.
        let hidden = usage(&mut test, client, "s");
        assert!(hidden < before, "{hidden} of {before}");
        commands.iter().for_each(|command| drop(test.call(client, command)));
        test.call(client, &format!("SELECT {db}"));
        while test.tick() {}
        for key in keys {
            let after = usage(&mut test, client, key);
            assert!(after + 40 * 1_000 < hidden, "{commands:?} {key}: {after} of {hidden}");
            assert!(test.call(client, &format!("XPENDING {key} g")).starts_with("*4\r\n:2000\r\n"));
        }
    }
}

#[test]
fn a_consumer_that_went_amid_what_is_undone_has_all_it_had() {
    let schema = r#"
[keyspace]
name = "shop"
[key."s"]
type = "stream"
ttl = "none"
[key."n"]
type = "string"
value = "uint"
ttl = "none"
"#;
    let mut test = TestEngine::governed(1, schema);
    let client = test.engine.connect();
    test.call(client, "XGROUP CREATE s g 0 MKSTREAM");
    (1..=1_000).for_each(|number| drop(test.call(client, &format!("XADD s {number}-0 n 1"))));
    for consumer in ["ann", "bob"] {
        test.call(client, &format!("XREADGROUP GROUP g {consumer} COUNT 500 STREAMS s >"));
    }
    let before = test.state();
    let script = "redis.call('XGROUP', 'DELCONSUMER', KEYS[1], 'g', 'ann')
        return redis.call('SET', KEYS[2], 'wrong')";
    let (_, reply) = test.ask(client, &["EVAL", script, "2", "s", "n"]);
    assert!(reply.starts_with(b"-SCHEMA"), "{}", reply.escape_ascii());
    while test.tick() {}
    assert_eq!(test.state(), before);
    test.check_bytes(client);
    test.call(client, "XGROUP DELCONSUMER s g ann");
    test.check_bytes(client);
    while test.tick() {}
    test.check_bytes(client);
}

#[test]
fn a_snapshot_has_nothing_of_a_consumer_that_went() {
    for is_before in [true, false] {
        let (mut test, client) = stage();
        if is_before {
            test.call(client, "XGROUP DELCONSUMER s g ann");
        }
        let expected = test.call(client, "XINFO STREAM s FULL COUNT 0");
        let mut taken = Taken::begin(&mut test);
        if !is_before {
            test.call(client, "XGROUP DELCONSUMER s g ann");
        }
        while !taken.step(&mut test) {
            test.tick();
        }
        let mut loaded = TestEngine::new(2);
        loaded.engine.load(&mut loaded.host, &mut &*taken.end()).expect("the snapshot is sound");
        let client = loaded.engine.connect();
        assert_eq!(loaded.call(client, "XINFO STREAM s FULL COUNT 0"), expected);
    }
}
