//! Every form of lifetime against every command that can create, overwrite,
//! extend, shorten, copy or rename a key: a table that a person can read.
//!
//! Each line begins anew at second 0 with a key that was written a moment ago,
//! or with none; at second 10 the command runs. It shows the reply and how many
//! seconds the key has left then: `-` if it has no end, nothing if it is gone.

use crate::harness::{START_MS, TestEngine};
use std::fmt::Write;

const SCHEMA: &str = r#"
[keyspace]
name = "lifetimes"

[key."free:{id}"]
type = "string"

[key."forever:{id}"]
type = "string"
ttl = "none"

[key."within:{id}"]
type = "string"
ttl = "60s"

[key."clamped:{id}"]
type = "string"
ttl = { after = "60s", excess = "clamp" }

[key."window:{id}"]
type = "string"
ttl = { after = "60s", renew = "never" }

[key."written:{id}"]
type = "string"
ttl = { after = "60s", renew = "write" }

[key."used:{id}"]
type = "string"
ttl = { after = "60s", renew = "access" }

[key."by:{kind:short|long}:{id}"]
type = "string"
ttl = { by = "{kind}", short = "30s", long = "90s" }

[key."leader:{id}"]
type = "string"
ttl = "60s"

[key."with:{id}"]
type = "string"
ttl = { with = "leader:{id}" }

[key."given:{id}"]
type = "string"
ttl = { given = true, min = "20s", max = "100s", default = "40s" }

[key."hash:{id}"]
type = "hash"
ttl = { by = "state", open = "60s", closed = "20s" }
[key."hash:{id}".fields]
state = "open | closed"
note = "string?"
count = "int?"

[key."until:{id}"]
type = "hash"
ttl = { until = "ends" }
[key."until:{id}".fields]
ends = "timestamp_ms"
note = "string?"

[key."list:{id}"]
type = "list"
ttl = "60s"
items = "string"
max_len = 3

[key."set:{id}"]
type = "set"
ttl = "60s"
items = "string"

[key."zset:{id}"]
type = "zset"
ttl = "60s"
items = "string"
score = "float"
"#;

/// The keys of strings, and what each needs to be there beforehand.
const STRINGS: &[(&str, &[&str])] = &[
    ("free:1", &[]),
    ("forever:1", &[]),
    ("within:1", &[]),
    ("clamped:1", &[]),
    ("window:1", &[]),
    ("written:1", &[]),
    ("used:1", &[]),
    ("by:short:1", &[]),
    ("with:1", &["SET leader:1 1 EX 50"]),
    ("given:1", &[]),
];

/// On a key that is not there.
const CREATING: &[&str] = &[
    "SET @ 5",
    "SET @ 5 EX 25",
    "SET @ 5 EX 500",
    "SET @ 5 PXAT 1700000040000",
    "SET @ 5 KEEPTTL",
    "SET @ 5 NX",
    "SETEX @ 25 5",
    "SETNX @ 5",
    "GETSET @ 5",
    "MSET @ 5",
    "MSETNX @ 5",
    "APPEND @ 5",
    "SETRANGE @ 0 5",
    "INCR @",
    "INCRBYFLOAT @ 1.5",
    "RENAME other:1 @",
    "COPY other:1 @",
];

/// On a key that was set to 5 ten seconds ago.
const CHANGING: &[&str] = &[
    "SET @ 6",
    "SET @ 6 EX 25",
    "SET @ 6 EX 500",
    "SET @ 6 KEEPTTL",
    "SET @ 6 XX GET",
    "GETSET @ 6",
    "GETDEL @",
    "GETEX @ EX 25",
    "GETEX @ EX 500",
    "GETEX @ PERSIST",
    "GET @",
    "APPEND @ 6",
    "SETRANGE @ 0 6",
    "INCR @",
    "INCRBYFLOAT @ 1.5",
    "EXPIRE @ 25",
    "EXPIRE @ 500",
    "EXPIRE @ 25 NX",
    "EXPIRE @ 25 XX",
    "EXPIRE @ 500 GT",
    "EXPIRE @ 25 LT",
    "EXPIRE @ 0",
    "PEXPIREAT @ 1700000040000",
    "PERSIST @",
    "RENAME @ free:2",
    "COPY @ free:2",
    "COPY free:3 @ REPLACE",
];

/// On keys of other types: what is there beforehand, the command, the key.
const OTHERS: &[(&[&str], &str, &str)] = &[
    (&[], "HSET hash:1 state open", "hash:1"),
    (&[], "HSET hash:1 state closed", "hash:1"),
    (&["HSET hash:1 state open"], "HSET hash:1 note x", "hash:1"),
    (&["HSET hash:1 state open"], "HSET hash:1 state closed", "hash:1"),
    (&["HSET hash:1 state closed"], "HSET hash:1 state open", "hash:1"),
    (&["HSET hash:1 state open"], "HINCRBY hash:1 count 2", "hash:1"),
    (&["HSET hash:1 state open"], "HDEL hash:1 state", "hash:1"),
    (&["HSET hash:1 state open"], "EXPIRE hash:1 30", "hash:1"),
    (&["HSET hash:1 state open"], "EXPIRE hash:1 300", "hash:1"),
    (&["HSET hash:1 state open"], "PERSIST hash:1", "hash:1"),
    (&["HSET hash:1 state open"], "RENAME hash:1 hash:2", "hash:2"),
    (&[], "HSET until:1 ends 1700000099000", "until:1"),
    (&["HSET until:1 ends 1700000099000"], "HSET until:1 ends 1700000050000", "until:1"),
    (&["HSET until:1 ends 1700000099000"], "HSET until:1 note x", "until:1"),
    (&["HSET until:1 ends 1700000099000"], "HSET until:1 ends 1600000000000", "until:1"),
    (&["HSET until:1 ends 1700000099000"], "EXPIRE until:1 30", "until:1"),
    (&[], "LPUSH list:1 a", "list:1"),
    (&["RPUSH list:1 a b c"], "LPUSH list:1 d", "list:1"),
    (&["RPUSH list:1 a b c"], "LMOVE list:1 list:2 LEFT RIGHT", "list:2"),
    (&["RPUSH list:1 a b c"], "SORT list:1 ALPHA STORE list:2", "list:2"),
    (&[], "SADD set:1 a", "set:1"),
    (&["SADD set:1 a"], "SADD set:1 b", "set:1"),
    (&["SADD set:1 a"], "SUNIONSTORE set:2 set:1", "set:2"),
    (&["SADD set:1 a"], "SMOVE set:1 set:2 a", "set:2"),
    (&[], "ZADD zset:1 1 a", "zset:1"),
    (&["ZADD zset:1 1 a"], "ZINCRBY zset:1 1 a", "zset:1"),
    (&["ZADD zset:1 1 a"], "ZUNIONSTORE zset:2 1 zset:1", "zset:2"),
    (&["ZADD zset:1 1 a"], "ZRANGESTORE zset:2 zset:1 0 -1", "zset:2"),
    (&["SET leader:1 1", "SET with:1 1"], "EXPIRE leader:1 20", "with:1"),
    (&["SET leader:1 1", "SET with:1 1"], "DEL leader:1", "with:1"),
    (&["SET leader:1 1", "SET with:1 1"], "SET leader:1 2", "with:1"),
    (&["SET leader:1 1", "SET with:1 1"], "RENAME leader:1 leader:2", "with:1"),
    (&[], "SET with:1 1", "with:1"),
];

/// One line of the table.
fn line(prepare: &[&str], command: &str, key: &str) -> String {
    let mut test = TestEngine::governed(1, SCHEMA);
    let client = test.engine.connect();
    for step in prepare {
        let reply = test.call(client, step);
        assert!(!reply.starts_with('-'), "{step}: {reply}");
    }
    test.set_time(START_MS + 10_000);
    let reply = test.call(client, command);
    let left = match test.call(client, &format!("PTTL {key}")).trim() {
        ":-2" => String::new(),
        ":-1" => "-".to_owned(),
        ms => (ms[1..].parse::<i64>().expect("PTTL answers a number") / 1000).to_string(),
    };
    let reply = reply.trim_end().replace("\r\n", " ");
    format!("{left:>4} | {command} | {reply}")
}

#[test]
fn every_form_against_every_command() {
    let mut table = String::new();
    for (key, needs) in STRINGS {
        writeln!(table, "# {key}, which is not there").expect("a string takes all");
        for command in CREATING.iter().map(|command| command.replace('@', key)) {
            let command = command.replace("other:1", "free:9");
            let prepare = [*needs, &["SET free:9 7 EX 45"]].concat();
            writeln!(table, "{}", line(&prepare, &command, key)).expect("a string takes all");
        }
        writeln!(table, "\n# {key}, which is there").expect("a string takes all");
        let set = format!("SET {key} 5");
        let prepare = [*needs, &["SET free:3 7 EX 45", &set]].concat();
        for command in CHANGING.iter().map(|command| command.replace('@', key)) {
            let watched = if command.contains("free:2") { "free:2" } else { key };
            writeln!(table, "{}", line(&prepare, &command, watched)).expect("a string takes all");
        }
        table.push('\n');
    }
    table.push_str("# Other types\n");
    for (prepare, command, key) in OTHERS {
        writeln!(table, "{} | after {prepare:?}", line(prepare, command, key))
            .expect("a string takes all");
    }
    insta::assert_snapshot!(table);
}
