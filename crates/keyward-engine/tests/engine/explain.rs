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
