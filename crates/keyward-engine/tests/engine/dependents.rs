//! Derived keys follow rows that go by themselves, whoever notices.

use crate::harness::{START_MS, TestEngine};
use keyward_engine::{MemoryLimit, Policy, Tunables};

const SCHEMA: &str = r#"
[keyspace]
name = "shop"

[key."order:{id:uint}"]
type = "string"
value = "str"
ttl = "10s"

[key."orders"]
type = "set"
members = { of = "order:{id}" }

[key."guess:{id:uint}"]
type = "string"
ttl = "1m"
evict = "first"

[key."paid:{id:uint}"]
type = "string"
ttl = "none"

[key."kept:{id:uint}"]
type = "string"
ttl = "1m"
evict = "never"
"#;

/// An engine under the schema in which so many rows have to go before the next command.
fn short_of(rows: usize, policy: &str) -> TestEngine {
    let mut test = TestEngine::governed(1, SCHEMA);
    let policy = Policy::by_name(policy);
    let memory = MemoryLimit { bytes_max: 1, policy, ..MemoryLimit::default() };
    test.engine.set_tunables(Tunables { memory, ..Tunables::default() });
    let client = test.engine.connect();
    for id in 0..3 {
        for table in ["order", "guess", "paid", "kept"] {
            assert_eq!(test.call(client, &format!("SET {table}:{id} x")), "+OK\r\n");
        }
    }
    test.effects();
    // What can be packed would be before anything goes.
    test.rest();
    test.host.used_memory.extend(vec![1 << 40; rows]);
    test
}

const POLICIES: [&str; 4] = ["allkeys-lru", "allkeys-lfu", "allkeys-random", "volatile-ttl"];

#[test]
fn patterns_that_go_first_go_before_all_others() {
    for policy in POLICIES {
        let mut test = short_of(3, policy);
        let client = test.engine.connect();
        assert_eq!(test.call(client, "EXISTS guess:0 guess:1 guess:2"), ":0\r\n", "{policy}");
        assert_eq!(test.call(client, "DBSIZE"), ":10\r\n", "{policy}");
    }
}

#[test]
fn what_must_stay_stays_and_writes_are_refused() {
    for policy in POLICIES {
        let mut test = short_of(7, policy);
        let client = test.engine.connect();
        let reply = test.call(client, "SET paid:9 x");
        assert!(reply.starts_with("-OOM"), "{policy}: {reply}");
        let count = test.call(client, "EXISTS paid:0 paid:1 paid:2 kept:0 kept:1 kept:2");
        assert_eq!(count, ":6\r\n", "{policy}");
        assert_eq!(test.call(client, "DBSIZE"), ":6\r\n", "{policy}");
    }
}

#[test]
fn an_evicted_row_leaves_its_set_even_if_the_command_is_refused() {
    let mut test = short_of(7, "volatile-ttl");
    let client = test.engine.connect();
    assert!(test.call(client, "SET paid:9 x").starts_with("-OOM"));
    let lines = test.effect_lines();
    let of = |line: &str| lines.iter().position(|effect| effect == line);
    for id in 0..3 {
        let gone = of(&format!("0: DEL order:{id}")).expect("the order is evicted");
        assert_eq!(of(&format!("0: SREM orders {id}")), Some(gone + 1), "{lines:?}");
    }
}

#[test]
fn a_copy_from_another_database_takes_the_place_of_a_due_row() {
    let mut test = TestEngine::governed(1, SCHEMA);
    let (client, outsider) = (test.engine.connect(), test.engine.connect());
    test.call(client, "SET order:1 x");
    test.call(outsider, "SELECT 1");
    test.call(outsider, "SET order:1 y");
    test.set_time(START_MS + 60_000);
    assert_eq!(test.call(outsider, "COPY order:1 order:1 DB 0"), ":1\r\n");
    assert_eq!(test.call(client, "SMEMBERS orders"), "*1\r\n$1\r\n1\r\n");
}
