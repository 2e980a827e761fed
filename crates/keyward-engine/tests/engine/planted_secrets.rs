//! Secrets that are planted in keys, and everything that others than their clients read.

use crate::harness::TestEngine;
use keyward_engine::Tunables;

const SCHEMA: &str = r#"
[keyspace]
name = "vault"

[key."tok:{t}"]
type   = "string"
secret = ["t"]
max_size = "8B"
"#;

const SECRET: &str = "S3CRETS3CRET";

/// Commands with the secret in their keys, by somebody who may not, and by somebody who may.
const CALLS: [&str; 12] = [
    "GET tok:S3CRETS3CRET",
    "MGET foo:1 tok:S3CRETS3CRET",
    "SET tok:S3CRETS3CRET 1",
    "EVAL return{redis.call('GET',KEYS[1])} 1 tok:S3CRETS3CRET",
    "EVAL return{redis.call('GET','tok:S3CRETS3CRET')} 0",
    "KEYWARD EXPLAIN SET tok:S3CRETS3CRET 1",
    "KEYWARD MATCH tok:S3CRETS3CRET",
    "OBJECT ENCODING tok:S3CRETS3CRET",
    "SUBSCRIBE __keyspace@0__:tok:S3CRETS3CRET",
    "PUBLISH __keyspace@0__:tok:S3CRETS3CRET 1",
    "RPUSH tok:S3CRETS3CRET 1",
    "SET tok:S3CRETS3CRET 123456789",
];

/// What others read.
const READ: [&str; 14] = [
    "ACL LOG",
    "CLIENT LIST",
    "CLIENT INFO",
    "INFO everything",
    "INFO errorstats",
    "INFO commandstats",
    "INFO keysizes",
    "LATENCY HISTOGRAM",
    "LATENCY LATEST",
    "SLOWLOG GET -1",
    "MEMORY STATS",
    "KEYWARD REFUSALS COUNT 100",
    "KEYWARD STATS",
    "KEYWARD UNKNOWN",
];

#[test]
fn what_others_read_has_no_secret_of_a_key() {
    let mut test = TestEngine::governed(1, SCHEMA);
    let slow = Tunables { slow_log_us_min: Some(0), ..Tunables::default() };
    test.engine.set_tunables(slow);
    let admin = test.engine.connect();
    test.call(admin, "ACL SETUSER ann on nopass ~foo:* resetchannels +@all");
    let ann = test.engine.connect();
    assert_eq!(test.call(ann, "AUTH ann x"), "+OK\r\n");
    for call in CALLS {
        test.call(ann, call);
        test.call(ann, "MULTI");
        test.call(ann, call);
        test.call(ann, "EXEC");
        let other = test.engine.connect();
        test.call(other, call);
    }
    for call in READ {
        let reader = test.engine.connect();
        let reply = test.ask(reader, &call.split(' ').collect::<Vec<_>>()).1;
        let reply = String::from_utf8_lossy(&reply).into_owned();
        assert!(!reply.contains(SECRET), "{call}: {reply}");
    }
    let log = test.call(admin, "ACL LOG");
    assert!(log.contains("tok:(redacted)") && log.contains("channel"), "{log}");
}

#[test]
fn misfits_shows_a_key_whole_so_that_it_can_be_found_and_its_reasons_without_secrets() {
    let mut test = TestEngine::governed(1, &SCHEMA.replace("[key.", "mode = \"warn\"\n[key."));
    let client = test.engine.connect();
    assert_eq!(test.call(client, "RPUSH tok:S3CRETS3CRET 1"), ":1\r\n");
    let misfits = test.call(client, "KEYWARD MISFITS");
    assert!(misfits.contains("\r\nkey\r\n$16\r\ntok:S3CRETS3CRET\r\n"), "{misfits}");
    let (_, reasons) = misfits.split_once("reasons").expect("reasons");
    assert!(reasons.contains("tok:(redacted)") && !reasons.contains(SECRET), "{misfits}");
}

const SHOP: &str = r#"
[keyspace]
name = "shop"
mode = "warn"

[key."order:{id:uint}"]
type = "string"

[key."u:{id:uint}"]
type = "hash"
[key."u:{id:uint}".fields]
e = "str"

[key."by:{e}"]
type   = "string"
lookup = { of = "u:{id}", field = "e" }
"#;

#[test]
fn misfits_of_a_key_are_its_own_and_a_glob_is_over_keys_too() {
    let mut test = TestEngine::governed(1, SHOP);
    let client = test.engine.connect();
    for key in ["order:5", "order:51", "order:61"] {
        assert_eq!(test.call(client, &format!("SADD {key} x")), ":1\r\n");
    }
    test.call(client, "SET order:7 x");
    test.call(client, "HSET u:1 e ann");
    let mut keys = |word: &str| {
        let reply = test.call(client, &format!("KEYWARD MISFITS {word} COUNT 100"));
        let mut found: Vec<String> = reply
            .split("\r\nkey\r\n")
            .skip(1)
            .filter_map(|rest| rest.split("\r\n").nth(1).map(str::to_owned))
            .collect();
        found.sort();
        found.join(" ")
    };
    assert_eq!(keys("order:51"), "order:51");
    assert_eq!(keys("order:7"), "");
    // A derived key that agrees is no misfit.
    assert_eq!(keys("by:ann"), "");
    assert_eq!(keys("order:5*"), "order:5 order:51");
    assert_eq!(keys("order:*"), "order:5 order:51 order:61");
    assert_eq!(keys("order:{id:uint}"), "order:5 order:51 order:61");
    assert_eq!(keys("zz*"), "");
    let reply = test.call(client, "KEYWARD MISFITS zz:1");
    assert_eq!(reply, "-ERR no such pattern\r\n");
    assert_eq!(test.call(client, "KEYWARD STATS zz*"), "*0\r\n");
    assert_eq!(test.call(client, "KEYWARD REFUSALS zz*"), "*0\r\n");
}
