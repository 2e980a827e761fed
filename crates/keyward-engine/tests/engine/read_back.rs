//! A value that a schema puts into the name of another key reads back as itself, or the write is
//! refused; and keys with text beside placeholders live like others.

use crate::harness::TestEngine;

const SCHEMA: &str = r#"
[keyspace]
name = "shop"
unknown = "reject"

[key."user:{id:uint}"]
type = "hash"
ttl = "none"
fields = { first = "str", last = "str", state = "str" }

[key."by-last-{last}-of-users"]
type = "string"
lookup = { of = "user:{id}", field = "last" }

[key."named-{first}-{last}"]
type = "set"
members = { of = "user:{id}" }

[key."task-{queue}-{name}"]
type = "string"
value = "string"
ttl = "none"

[key."note:{queue}:{name}"]
type = "string"
value = "string"
ttl = { with = "task-{queue}-{name}" }

[key."recent:{queue}"]
type = "set"
max_members = 9
follows = "task-{queue}-{member}"

[key."likes.{user}.x.{kind}"]
type = "set"
max_members = 9
inverse = "liked.{member}.y.{kind}"

[key."liked.{post}.y.{kind}"]
type = "set"
max_members = 9
inverse = "likes.{member}.x.{kind}"
"#;

fn check(commands: &[(&str, &str)]) {
    let mut test = TestEngine::governed(1, SCHEMA);
    let client = test.engine.connect();
    for (command, expected) in commands {
        let reply = test.call(client, command);
        assert!(reply.contains(expected), "{command} answered {reply:?}, not {expected:?}");
    }
}

#[test]
fn a_set_of_members_is_named_by_values_that_read_back() {
    check(&[
        ("HSET user:1 first ann last lee state new", ":3"),
        ("SMEMBERS named-ann-lee", "1"),
        ("GET by-last-lee-of-users", "1"),
        // The last one may hold anything: it ends with the key.
        ("HSET user:2 first bob last van-dyk state new", ":3"),
        ("SMEMBERS named-bob-van-dyk", "2"),
        ("HSET user:3 first ann-lee last x state new", "which is read as other values"),
        ("EXISTS user:3 named-ann-lee-x", ":0"),
        ("HSET user:1 first ann-b", "-SCHEMA"),
        ("HGET user:1 first", "ann\r\n"),
    ]);
}

#[test]
fn a_row_lives_with_a_key_that_its_placeholders_name() {
    check(&[
        ("SET task-mail-a-b x", "+OK"),
        ("SET note:mail:a-b x", "+OK"),
        // It would be the note of task `a-b` in `mail`.
        ("SET note:mail-a:b x", "cannot name"),
        ("EXISTS note:mail-a:b", ":0"),
        ("DEL task-mail-a-b", ":1"),
        ("EXISTS note:mail:a-b", ":0"),
    ]);
}

#[test]
fn a_member_names_a_living_key_that_reads_back() {
    check(&[
        ("SET task-mail-a-b x", "+OK"),
        ("SADD recent:mail a-b", ":1"),
        ("SADD recent:mail-a b", "a member must name a key task-{queue}-{name}, and b cannot"),
        ("EXISTS recent:mail-a", ":0"),
    ]);
}

#[test]
fn a_member_of_a_mirrored_set_reads_back_from_its_mirror() {
    check(&[
        ("SADD likes.ann.x.post 7.8", ":1"),
        ("SMEMBERS liked.7.8.y.post", "ann"),
        ("SADD likes.ann.x.post 7.y.8", "cannot"),
        ("SMEMBERS likes.ann.x.post", "*1"),
    ]);
}

#[test]
fn keys_with_text_beside_placeholders_are_found_packed_and_scanned() {
    let schema = "[keyspace]\nname = \"x\"\nunknown = \"reject\"\n\
        [key.\"celery-task-meta-{id:uuid}\"]\ntype = \"string\"\nttl = \"1d\"\n\
        [key.\"{queue:rest}\\u0006\\u0016{priority:uint}\"]\ntype = \"string\"\nttl = \"1d\"\n\
        [key.\"LIMITER/{ip:ip}/{view}/2/1/minute\"]\ntype = \"string\"\nttl = \"1d\"\n\
        [key.\"kikuai_{key:text(a-zA-Z0-9, 32)}.{at:ulid}\"]\ntype = \"string\"\nttl = \"1d\"\n";
    let mut test = TestEngine::governed(1, schema);
    let client = test.engine.connect();
    let keys = [
        "celery-task-meta-123e4567-e89b-12d3-a456-426614174000",
        "jobs:low\u{6}\u{16}3",
        "LIMITER/2001:db8::7/index/2/1/minute",
        "kikuai_aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB.01ARZ3NDEKTSV4RRFFQ69G5FAV",
    ];
    for key in keys {
        assert_eq!(test.call(client, &format!("SET {key} v")), "+OK\r\n", "{key}");
    }
    test.rest();
    for key in keys {
        assert_eq!(test.call(client, &format!("GET {key}")), "$1\r\nv\r\n", "{key}");
        let prefix: String = key.chars().take(9).collect();
        let scanned = test.call(client, &format!("SCAN 0 MATCH {prefix}* COUNT 100"));
        assert!(scanned.contains(key), "{prefix}: {scanned:?}");
    }
    for stranger in ["celery-task-meta-7", "LIMITER/x/index/2/1/minute", "kikuai_a.b"] {
        let reply = test.call(client, &format!("SET {stranger} v"));
        assert!(reply.starts_with("-SCHEMA"), "{stranger}: {reply:?}");
    }
}
