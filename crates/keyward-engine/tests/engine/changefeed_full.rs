//! A changefeed that is full: what is refused, what is served, and that nothing is torn.

use crate::changefeed::{entries, shop};
use crate::harness::TestEngine;
use keyward_engine::{ClientId, Tunables};

const FULL: &str = "-OOM command not allowed when a changefeed > 'changefeed-max-memory'.\r\n";
const ABORTED: &str = "-EXECABORT Transaction discarded because of previous errors.\r\n";

/// A shop whose changefeed has an entry, and room for none.
fn full_shop() -> (TestEngine, ClientId) {
    let (mut test, client) = shop();
    test.call(client, "RPUSH tx:7 a");
    test.engine.set_tunables(Tunables { changefeed_bytes_max: 1, ..Tunables::default() });
    (test, client)
}

#[test]
fn a_full_changefeed_refuses_commands_and_drops_nothing() {
    let (mut test, client) = shop();
    test.call(client, "SET page:a x PX 10");
    test.call(client, "RPUSH tx:7 a");
    let tunables = Tunables { changefeed_bytes_max: 1, ..Tunables::default() };
    test.engine.set_tunables(tunables);
    assert_eq!(test.call(client, "RPUSH tx:7 b"), FULL);
    assert_eq!(test.call(client, "LRANGE tx:7 0 -1"), "*1\r\n$1\r\na\r\n");
    assert_eq!(test.call(client, "SET plain:1 x"), "+OK\r\n");
    // What ends by itself is told all the same.
    test.set_time(test.now_ms + 11);
    assert_eq!(test.call(client, "EXISTS page:a"), ":0\r\n");
    assert_eq!(entries(&mut test, client), ["append tx:7 item a", "archive page:a value x"]);
}

#[test]
fn a_transaction_is_refused_whole_where_the_changefeed_is_full() {
    // What it may tell decides, not whether the rest is plain.
    let refused = [
        "RPUSH tx:7 b",
        "DEL user:7",
        "HSET user:7 name b",
        "DEL usage:7:2025-12",
        "RPUSH likes b",
        "XADD log:1 * what a",
        "RENAME plain:1 tx:8",
        "EVAL return{} 1 user:7",
        "EVAL return{} 0",
    ];
    for command in refused {
        let (mut test, client) = full_shop();
        test.call(client, "MULTI");
        assert_eq!(test.call(client, "SET plain:1 x"), "+QUEUED\r\n");
        assert_eq!(test.call(client, command), FULL, "{command}");
        assert_eq!(test.call(client, "EXEC"), ABORTED, "{command}");
        assert_eq!(test.call(client, "EXISTS plain:1"), ":0\r\n", "{command}");
    }
    let queued = [
        "SET plain:1 x",
        "LPOP tx:7",
        "HSET usage:7:2025-12 a 1",
        "LRANGE tx:7 0 -1",
        "XTRIM keyward:changefeed:shop MINID 0",
        "EVAL return{} 1 plain:1",
        "EVAL_RO return{} 0",
    ];
    for command in queued {
        let (mut test, client) = full_shop();
        test.call(client, "MULTI");
        assert_eq!(test.call(client, command), "+QUEUED\r\n", "{command}");
        let reply = test.call(client, "EXEC");
        assert!(reply.starts_with("*1\r\n") && !reply.contains("OOM"), "{command}: {reply}");
    }
}

#[test]
fn a_transaction_that_was_queued_before_the_changefeed_was_full_is_refused_at_exec() {
    let (mut test, client) = shop();
    let other = test.engine.connect();
    test.call(client, "MULTI");
    test.call(client, "SET plain:1 x");
    test.call(client, "RPUSH tx:7 b");
    test.call(other, "RPUSH tx:7 a");
    test.engine.set_tunables(Tunables { changefeed_bytes_max: 1, ..Tunables::default() });
    let reply = test.call(client, "EXEC");
    let expected = format!("-EXECABORT Transaction discarded because of: {}", &FULL[1..]);
    assert_eq!(reply, expected);
    assert_eq!(test.call(client, "EXISTS plain:1"), ":0\r\n");
}

#[test]
fn a_unit_that_has_begun_is_carried_out_though_the_changefeed_becomes_full() {
    let (mut test, client) = shop();
    test.engine.set_tunables(Tunables { changefeed_bytes_max: 4_000, ..Tunables::default() });
    let item = "x".repeat(3_000);
    test.call(client, "MULTI");
    for _ in 0..3 {
        test.call(client, &format!("RPUSH tx:7 {item}"));
    }
    assert_eq!(test.call(client, "EXEC"), "*3\r\n:1\r\n:2\r\n:3\r\n");
    assert_eq!(test.call(client, "RPUSH tx:7 b"), FULL);
    assert_eq!(entries(&mut test, client).len(), 3);
}

/// Calls a script.
fn eval(test: &mut TestEngine, client: ClientId, script: &str, keys: &[&str]) -> String {
    let count = keys.len().to_string();
    let words = ["EVAL", script, &count].into_iter().chain(keys.iter().copied());
    let (_, reply) = test.ask(client, &words.collect::<Vec<_>>());
    String::from_utf8_lossy(&reply).into_owned()
}

#[test]
fn a_script_that_declares_what_it_does_is_refused_at_its_start_where_the_changefeed_is_full() {
    let (mut test, client) = full_shop();
    let body = "redis.call('SET','plain:1','x') return redis.call('RPUSH','tx:7','b')";
    let writes = format!("#!lua\n{body}");
    let reads = "#!lua flags=no-writes\nreturn redis.call('LLEN','tx:7')";
    let allows = format!("#!lua flags=allow-oom\n{body}");
    for (script, keys, is_refused) in [
        (&*writes, &["tx:7"][..], true),
        (&*writes, &[], true),
        (reads, &["tx:7"], false),
        (&*allows, &["tx:7"], false),
    ] {
        let reply = eval(&mut test, client, script, keys);
        assert_eq!(reply == FULL, is_refused, "{script}: {reply}");
        let is_there = test.call(client, "DEL plain:1") == ":1\r\n";
        assert_eq!(is_there, script == allows, "{script}");
    }
}

#[test]
fn a_script_that_declares_nothing_may_go_on_once_it_has_written() {
    let (mut test, client) = full_shop();
    // What would add first is refused, and nothing was done.
    let first = "redis.call('RPUSH','tx:7','b') redis.call('SET','plain:1','x')";
    let reply = eval(&mut test, client, first, &["tx:7"]);
    assert!(reply.starts_with("-OOM command not allowed when a changefeed"), "{reply}");
    assert_eq!(test.call(client, "EXISTS plain:1"), ":0\r\n");
    // What has begun to write goes on, as with maxmemory.
    let later = "redis.call('SET','plain:1','x') return redis.call('RPUSH','tx:7','b')";
    assert_eq!(eval(&mut test, client, later, &["plain:1"]), ":2\r\n");
    assert_eq!(entries(&mut test, client), ["append tx:7 item a", "append tx:7 item b"]);
}

/// What the log says of the next seconds.
fn logged(test: &mut TestEngine) -> Vec<String> {
    for _ in 0..20 {
        test.pass(100);
        test.tick();
    }
    std::mem::take(&mut test.host.logged)
}

#[test]
fn the_log_warns_before_a_changefeed_is_full_when_it_is_and_when_it_is_no_more() {
    let (mut test, client) = shop();
    let max = 100_000;
    test.engine.set_tunables(Tunables { changefeed_bytes_max: max, ..Tunables::default() });
    logged(&mut test);
    let item = "x".repeat(1_000);
    let push = |test: &mut TestEngine, items: usize| -> usize {
        let replies = (0..items).map(|_| test.call(client, &format!("RPUSH tx:7 {item}")));
        replies.filter(|reply| reply == FULL).count()
    };
    push(&mut test, 50);
    assert_eq!(logged(&mut test), [""; 0]);
    // A step that is small enough to pass the threshold and not the limit.
    let told = (0..20).find_map(|_| {
        push(&mut test, 4);
        Some(logged(&mut test)).filter(|told| !told.is_empty())
    });
    let told = told.unwrap_or_default();
    assert_eq!(told.len(), 1, "{told:?}");
    let head = format!("Changefeed {} (db 0) takes ", crate::changefeed::FEED);
    let rest = told[0].strip_prefix(&head).unwrap_or_else(|| panic!("{told:?}"));
    let percent = rest.split(' ').next().and_then(|word| word.parse::<u64>().ok());
    assert!(percent.is_some_and(|percent| (80..100).contains(&percent)), "{told:?}");
    assert!(rest.contains(" % of changefeed-max-memory: "), "{told:?}");
    assert!(push(&mut test, 100) > 0);
    let told = logged(&mut test);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("is full, it takes 10"), "{told:?}");
    assert!(told[0].contains("are refused (OOM) until keyward sync"), "{told:?}");
    assert_eq!(logged(&mut test), [""; 0], "it is told once");
    entries(&mut test, client);
    let told = logged(&mut test);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains(" % of changefeed-max-memory again: commands that add"), "{told:?}");
    assert_eq!(push(&mut test, 50), 0);
    assert_eq!(logged(&mut test), [""; 0]);
}
