//! Keys of type `any`: what their writers make of them, in a table of their own.

use crate::harness::{START_MS, TestEngine};
use crate::shop::Shop;
use keyward_engine::{MemoryLimit, Tunables};

const SCHEMA: &str = r#"
[keyspace]
name = "shop"

[key."job:{id}"]
type = "any"
ttl  = "1h"

[key."job:{id}:result"]
type = "any"
ttl  = { with = "job:{id}" }

[key."plugin:{name}"]
type = "any"
ttl  = { given = true, max = "1h", default = "1m" }

[key."cache:{window:minute|hour}:{id}"]
type  = "any"
ttl   = { by = "{window}", minute = "1m", hour = "1h" }
evict = "first"

[key."setting:{name}"]
type = "any"
ttl  = "none"

[key."jobs"]
type    = "set"
members = { of = "job:{id}" }
"#;

#[test]
fn a_key_of_any_type_takes_every_type_and_changes_it_by_overwriting() {
    let mut shop = Shop::new(1, SCHEMA);
    shop.check(&[
        ("RPUSH job:1 a b", ":2"),
        ("TTL job:1", ":3600"),
        ("INCR job:1", "-WRONGTYPE Operation against a key holding the wrong kind of value"),
        ("SET job:1 text", "+OK"),
        ("TYPE job:1", "+string"),
        ("DEL job:1", ":1"),
        ("INCR job:1", ":1"),
        ("TTL job:1", ":3600"),
        ("SADD tags x", "-SCHEMA tags: matches no pattern of shop (test/keyward.toml)"),
        ("SUNIONSTORE job:1 job:2", ":0"),
        ("HINCRBY job:1 n 2", ":2"),
        ("TTL job:1", ":3600"),
        ("ZADD job:2 1 a", ":1"),
        ("SMEMBERS jobs", "*2 $1 1 $1 2"),
        ("RENAME job:2 job:1", "+OK"),
        ("TYPE job:1", "+zset"),
        ("SMEMBERS jobs", "*1 $1 1"),
    ]);
    let stats = shop.call("KEYWARD STATS job:{id}");
    assert!(stats.contains("$4 keys :1 "), "{stats}");
    assert!(stats.contains("$7 misfits :0 "), "{stats}");
}

#[test]
fn a_key_of_any_type_lives_as_long_as_its_schema_says() {
    let mut shop = Shop::new(1, SCHEMA);
    shop.check(&[
        ("SADD job:1:result a", "-SCHEMA job:1:result: lives with job:1, which does not exist; create that first (test/keyward.toml:11)"),
        ("HSET job:1 a 1", ":1"),
        ("SADD job:1:result a", ":1"),
        ("TTL job:1:result", ":3600"),
        ("EXPIRE job:1 60", ":1"),
        ("TTL job:1:result", ":60"),
        ("EXPIRE job:1 7200", "-SCHEMA job:1: may live at most 1 hour, not 2 hours (test/keyward.toml:7)"),
        ("SADD plugin:x a", ":1"),
        ("TTL plugin:x", ":60"),
        ("SET plugin:x a EX 90", "+OK"),
        ("TTL plugin:x", ":90"),
        ("RPUSH cache:minute:1 a", ":1"),
        ("TTL cache:minute:1", ":60"),
        ("APPEND cache:hour:1 a", ":1"),
        ("TTL cache:hour:1", ":3600"),
        ("ZADD setting:x 1 a", ":1"),
        ("TTL setting:x", ":-1"),
        ("EXPIRE setting:x 5", "-SCHEMA setting:x: lives until it is deleted (ttl = \"none\") and takes no lifetime (test/keyward.toml:24)"),
    ]);
    shop.test.set_time(START_MS + 60_001);
    shop.check(&[("EXISTS job:1 job:1:result cache:minute:1", ":0"), ("SMEMBERS jobs", "*0")]);
}

#[test]
fn rows_of_any_type_are_evicted_as_their_schema_says() {
    let mut test = TestEngine::governed(1, SCHEMA);
    let memory = MemoryLimit { bytes_max: 1, ..MemoryLimit::default() };
    test.engine.set_tunables(Tunables { memory, ..Tunables::default() });
    let client = test.engine.connect();
    for id in 0..20 {
        test.call(client, &format!("HSET cache:hour:{id} a 1"));
        test.call(client, &format!("SADD job:{id} a"));
        test.call(client, &format!("RPUSH setting:{id} a"));
    }
    test.effects();
    test.host.used_memory = std::iter::repeat_n(1 << 40, 10).collect();
    test.call(client, "PING");
    test.host.used_memory.clear();
    let gone = test.effect_lines();
    assert_eq!(gone.len(), 10, "{gone:?}");
    assert!(gone.iter().all(|line| line.starts_with("0: DEL cache:hour:")), "{gone:?}");
}

#[test]
fn a_type_in_the_place_of_any_finds_misfits_and_any_finds_none() {
    const HASH: &str = "[keyspace]\nname = \"shop\"\n[key.\"job:{id}\"]\ntype = \"hash\"\n\
                        ttl = \"1h\"\nfields = { state = \"new | done\" }\n";
    let any = HASH.replace("\"hash\"", "\"any\"").replace("fields", "# fields");
    let mut shop = Shop::new(1, HASH);
    for id in 0..300 {
        shop.check(&[(&format!("HSET job:{id} state new"), ":1")]);
    }
    shop.test.rest();
    let plan = shop.plan(&any);
    assert!(plan.rest().contains("misfits\n:0\n"), "{}", plan.rest());
    shop.apply(&plan, 0);
    shop.check(&[
        ("HGET job:299 state", "$3 new"),
        ("SET job:0 text", "+OK"),
        ("HSET job:1 state old", ":0"),
        ("TTL job:1", ":3600"),
    ]);
    let plan = shop.plan(HASH);
    assert!(plan.rest().contains("keys\n:300\nmoved\n:0\nmisfits\n:2\n"), "{}", plan.rest());
    shop.apply(&plan, 0);
    shop.check(&[("GET job:0", "$4 text")]);
    let listed = shop.call("KEYWARD MISFITS job:{id} COUNT 1000");
    assert!(listed.contains("job:0: is declared a hash, not a string"), "{listed}");
}
