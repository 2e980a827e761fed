//! KEYWARD EXPLAIN leaves no trace, whatever it is asked about.

use crate::harness::TestEngine;

const SHOP: &str = include_str!("../../../../tests/schema/shop.toml");

#[test]
fn a_command_with_too_few_arguments_is_an_error() {
    let mut test = TestEngine::governed(1, SHOP);
    let client = test.engine.connect();
    for command in ["SET", "SET hits:a", "HSET customer:1 email", "EXPIRE hits:a", "SMOVE a"] {
        let reply = test.call(client, &format!("KEYWARD EXPLAIN {command}"));
        assert!(reply.starts_with("-ERR wrong number of arguments for"), "{command}: {reply}");
    }
}

#[test]
fn nothing_that_is_explained_is_done() {
    let mut test = TestEngine::governed(1, SHOP);
    let client = test.engine.connect();
    test.call(client, "HSET customer:1 email a@x balance 1.00 plan paid");
    test.effects();
    let before = test.state();
    for command in [
        "SWAPDB 0 1",
        "FLUSHALL",
        "DEL customer:1",
        "MOVE customer:1 1",
        "RENAME customer:1 customer:2",
        "EVAL return{redis.call('DEL','customer:1')} 0",
        "HSET customer:1 plan free",
    ] {
        let reply = test.call(client, &format!("KEYWARD EXPLAIN {command}"));
        assert!(reply.starts_with('*'), "{command}: {reply}");
        assert_eq!(test.state(), before, "{command}");
        assert!(test.effects().is_empty(), "{command}");
    }
}

/// Redis's own errors come before refusals, and are told behind them.
#[test]
fn the_error_that_comes_first_is_told() {
    let mut test = TestEngine::governed(1, SHOP);
    let client = test.engine.connect();
    test.call(client, "HSET customer:1 email a@x balance 1.00 plan paid");
    for command in [
        "SADD customer:1 a",
        "INCR customer:1",
        "GETSET customer:1 5",
        "LSET customer:9 0 x",
        "SET customer:1 x",
        "SADD customer:9 a",
        "HSET customer:1 plan none",
    ] {
        let told = test.call(client, &format!("KEYWARD EXPLAIN {command}"));
        let reply = test.call(client, command);
        let reply = reply.trim().strip_prefix('-').unwrap_or_else(|| panic!("{command}: {reply}"));
        let line = match reply.starts_with("SCHEMA ") {
            true => format!("Before: Refused: {reply}"),
            false => format!("Redis: {reply}"),
        };
        assert!(told.contains(&line), "{command}: {told} has no {line}");
        assert_eq!(told.contains("Redis: "), !reply.starts_with("SCHEMA "), "{command}: {told}");
    }
}
