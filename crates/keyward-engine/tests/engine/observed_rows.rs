//! Derived rows that were there before a schema which only observes: what their sources do not
//! demand is listed, since that is what the schema would take out.

use crate::harness::TestEngine;
use crate::rebuild::started_under;
use crate::shop::Shop;
use keyward_engine::{ClientId, Coverage, SnapshotOptions};

const SCHEMA: &str = r#"
[keyspace]
name = "shop"

[key."user:{id:uint}"]
type = "hash"
ttl = "none"
fields = { email = "str", score = "int?" }

[key."by:{email}"]
type = "string"
lookup = { of = "user:{id}", field = "email" }

[key."all"]
type = "set"
members = { of = "user:{id}" }

[key."best"]
type = "zset"
rank = { of = "user:{id}", by = "score" }

[key."recent"]
type = "set"
items = "uint"
ttl = "none"
follows = "user:{member}"
"#;

/// A schema that says nothing of these rows.
const NOTHING: &str = r#"
[keyspace]
name = "shop"
unknown = "allow"

[key."nothing"]
type = "string"
ttl = "none"
"#;

const ROWS: [&str; 9] = [
    "HSET user:1 email a@x score 5",
    "SET by:a@x 1",
    "SET by:gone@x 9",
    "SET by:1@x 1 EX 1000",
    "SADD all 1 77 abc",
    "ZADD best 5 1",
    "ZADD best 6 2",
    "SADD recent 1 55",
    "LPUSH by:list 1",
];

/// A server that observes rows which these commands made before there was a schema.
fn observing(schema: &str, commands: &[&str]) -> (TestEngine, ClientId) {
    let mut plain = TestEngine::new(1);
    let client = plain.engine.connect();
    for command in commands {
        let reply = plain.call(client, command);
        assert!(!reply.starts_with('-'), "{command}: {reply}");
    }
    let options = SnapshotOptions { coverage: Coverage::Whole, sums: true, used_bytes: 0 };
    let file = plain.engine.snapshot().write_to(Vec::new(), options).expect("memory takes it");
    let mut shop = started_under(schema, &file, (true, Vec::new())).expect("it starts");
    let client = shop.engine.connect();
    (shop, client)
}

/// The rows that are listed, each with its reasons.
fn misfits(shop: &mut TestEngine, client: ClientId) -> Vec<(String, String)> {
    let told = shop.call(client, "KEYWARD MISFITS COUNT 1000");
    let lines: Vec<&str> = told.lines().filter(|line| !line.starts_with(['*', '$'])).collect();
    let mut rows = Vec::new();
    for (place, line) in lines.iter().enumerate() {
        if *line == "key" {
            let reason = lines[place + 5].split_once(" — ").unwrap_or((lines[place + 5], "")).0;
            rows.push((lines[place + 1].to_owned(), reason.to_owned()));
        }
    }
    rows.sort();
    rows
}

fn keys(rows: &[(String, String)]) -> Vec<&str> {
    rows.iter().map(|(key, _)| &**key).collect()
}

fn reason<'r>(rows: &'r [(String, String)], key: &str) -> &'r str {
    let found = rows.iter().find(|(own, _)| own == key);
    &found.unwrap_or_else(|| panic!("{key} is not listed: {rows:?}")).1
}

/// How many rows of a pattern do not fit.
fn count(shop: &mut TestEngine, client: ClientId, pattern: &str) -> String {
    let reply = shop.call(client, &format!("KEYWARD STATS {pattern}"));
    reply.lines().skip_while(|line| *line != "misfits").nth(1).expect("the figure").to_owned()
}

#[test]
fn what_no_source_demands_is_listed_with_the_members_and_their_keys() {
    let (mut shop, client) = observing(SCHEMA, &ROWS);
    let listed = misfits(&mut shop, client);
    assert_eq!(keys(&listed), ["all", "best", "by:1@x", "by:gone@x", "by:list", "recent"]);
    for (key, words) in [
        ("all", "holds what its sources do not demand: 77 (user:77), abc (which names no key)"),
        ("best", "holds what its sources do not demand: 2 (user:2)"),
        ("by:1@x", "holds what its sources do not demand: 1 (user:1)"),
        ("by:gone@x", "holds what its sources do not demand: 9 (user:9)"),
        ("by:list", "is not what its sources demand"),
        ("recent", "user:55 does not exist"),
    ] {
        let told = reason(&listed, key);
        assert!(told.contains(words), "{key}: {told}");
    }
    assert_eq!(count(&mut shop, client, "by:{email}"), ":3");
    let one = shop.call(client, "KEYWARD MISFITS by:gone@x");
    assert!(one.contains("9 (user:9)"), "{one}");
}

#[test]
fn a_row_that_comes_to_agree_is_listed_no_more() {
    let (mut shop, client) = observing(SCHEMA, &ROWS);
    for command in [
        "HSET user:9 email gone@x",
        "SREM all abc",
        "SREM all 77",
        "ZADD best 5 1",
        "ZREM best 2",
        "DEL by:list by:1@x",
        "SREM recent 55",
    ] {
        let reply = shop.call(client, command);
        assert!(!reply.starts_with('-'), "{command}: {reply}");
    }
    let listed = misfits(&mut shop, client);
    assert_eq!(keys(&listed), Vec::<&str>::new(), "{listed:?}");
    // What is written by hand from now on is compared too.
    shop.call(client, "SADD all 88");
    let listed = misfits(&mut shop, client);
    let told = reason(&listed, "all");
    assert!(told.contains("holds what its sources do not demand: 88 (user:88)"), "{told}");
}

#[test]
fn a_single_key_that_observes_is_compared_as_well() {
    for key in ["all", "by:{email}", "best", "recent"] {
        let head = format!("[key.\"{key}\"]\n");
        let schema = SCHEMA.replace(&head, &format!("{head}mode = \"observe\"\n"));
        let mut shop = Shop::new(1, NOTHING);
        for command in ROWS {
            let reply = shop.call(command);
            assert!(!reply.starts_with('-'), "{command}: {reply}");
        }
        let planned = shop.await_reply(&["KEYWARD", "SCHEMA", "PLAN", &schema]);
        let told = |after: &str| {
            let rest = planned.split(after).nth(1).expect("it is told");
            rest.split("\r\n").next().expect("a line").to_owned()
        };
        let (plan, destroys) = (told("plan\r\n$12\r\n"), told("destroys\r\n:"));
        let words = ["KEYWARD", "SCHEMA", "APPLY", &plan, "DESTROY", &destroys];
        let applied = shop.await_reply(&words[..if destroys == "0" { 4 } else { 6 }]);
        assert!(!applied.starts_with('-'), "{key}: {applied}");
        let (mut shop, client) = (shop.test, shop.client);
        let listed = misfits(&mut shop, client);
        let expected: &[&str] = match key {
            "by:{email}" => &["by:1@x", "by:gone@x", "by:list"],
            _ => &[key],
        };
        assert_eq!(keys(&listed), expected, "{listed:?}");
    }
}

/// Of many such members some are kept in mind, and the row stays listed until none is left.
#[test]
fn a_row_of_many_such_members_is_listed_until_the_last_of_them_is_gone() {
    let all: Vec<String> = (1000..1700).map(|id| id.to_string()).collect();
    let add = format!("SADD all {}", all.join(" "));
    let (mut shop, client) = observing(SCHEMA, &[&add]);
    let listed = misfits(&mut shop, client);
    let told = reason(&listed, "all");
    assert!(told.contains("1000 (user:1000), ") && told.contains(" and at least 25"), "{told}");
    for id in &all[..699] {
        shop.call(client, &format!("SREM all {id}"));
        shop.call(client, "KEYWARD MISFITS");
    }
    let listed = misfits(&mut shop, client);
    assert!(reason(&listed, "all").contains("1699 (user:1699)"), "{listed:?}");
    assert!(!reason(&listed, "all").contains("at least"), "{listed:?}");
    shop.call(client, "SADD all 5");
    shop.call(client, "HSET user:5 email five@x");
    shop.call(client, "SREM all 1699");
    assert_eq!(misfits(&mut shop, client), Vec::new());
}

/// Members beyond those that are kept in mind come to agree unseen: ticks look through the row.
#[test]
fn a_row_of_many_such_members_is_clear_once_all_their_sources_are_there() {
    let all: Vec<String> = (1000..1900).map(|id| id.to_string()).collect();
    let add = format!("SADD all {}", all.join(" "));
    let (mut shop, client) = observing(SCHEMA, &[&add]);
    for id in &all {
        assert_eq!(keys(&misfits(&mut shop, client)), ["all"], "before user:{id}");
        shop.call(client, &format!("HSET user:{id} email {id}@x"));
    }
    for _ in 0..20 {
        shop.tick();
    }
    assert_eq!(misfits(&mut shop, client), Vec::new());
}

/// What the schema says of an end is not what a write brings about where it only observes.
#[test]
fn an_end_that_stays_is_not_said_to_come_with_the_next_write() {
    let schema = SCHEMA.replacen("ttl = \"none\"", "ttl = \"1h\"", 1);
    let (mut shop, client) = observing(&schema, &["HSET user:1 email a@x score no"]);
    let told = shop.call(client, "KEYWARD MISFITS");
    assert!(told.contains("which only observes: it keeps its end"), "{told}");
    assert!(!told.contains("its next write gives it that end"), "{told}");
}

/// With secrets elsewhere, and in some of what is derived.
const WITH_SECRETS: &str = r#"
[key."sess:{sid}"]
type = "string"
secret = ["sid"]
ttl = "1d"

[key."member:{id:uint}"]
type = "hash"
ttl = "none"
fields = { card = { type = "str?", secret = true }, plan = "free | paid" }

[key."by_card:{card}"]
type = "string"
lookup = { of = "member:{id}", field = "card" }
secret = ["card"]

[key."tokens"]
type = "set"
members = { of = "token:{t}" }

[key."token:{t}"]
type = "hash"
secret = ["t"]
ttl = "none"
fields = { plan = "free | paid" }
"#;

#[test]
fn secrets_of_other_keys_do_not_blind_reasons_and_none_of_them_is_told() {
    let rows = [
        "HSET member:1 card S3CRET plan bogus",
        "HSET member:2 card S3CRET plan free",
        "SET by_card:S3CRET 9",
        "HSET token:S3CRET plan bogus",
        "SADD tokens S3CRET S3CRETTOO",
        "SET sess:S3CRET x",
    ];
    let all: Vec<&str> = ROWS.into_iter().chain(rows).collect();
    let schema = format!("{SCHEMA}{WITH_SECRETS}");
    let (mut shop, client) = observing(&schema, &all);
    let with = misfits(&mut shop, client);
    let (mut plain, plain_client) = observing(SCHEMA, &ROWS);
    for (key, told) in misfits(&mut plain, plain_client) {
        let (told, _) = told.split_once(" (").unwrap_or((&told, ""));
        assert!(reason(&with, &key).contains(told), "{key}: {with:?}");
    }
    let told: Vec<&str> = with.iter().map(|(_, reason)| &**reason).collect();
    assert!(told.iter().all(|reason| !reason.contains("S3CRET")), "{told:#?}");
    assert!(reason(&with, "member:1").contains("not \"bogus\""), "{with:?}");
    assert!(reason(&with, "all").contains("77 (user:77)"), "{with:?}");
}

#[test]
fn rows_that_grow_beyond_their_bounds_are_misfits_at_once() {
    let schema = r#"
[keyspace]
name = "shop"

[key."l:{id}"]
type = "list"
ttl = "none"
max_len = 2

[key."x:{id}"]
type = "stream"
ttl = "none"
max_len = 1

[key."z:{id}"]
type = "zset"
ttl = "none"
max_members = 2
"#;
    let (mut shop, client) = observing(schema, &["RPUSH l:0 1 2"]);
    for command in [
        "RPUSH l:1 1 2 3",
        "RPUSH l:2 1 2",
        "XADD x:1 * a 1",
        "XADD x:1 * a 1",
        "ZADD z:1 1 a 2 b 3 c",
        "ZADD z:2 1 a",
        "LPUSH l:0 0",
    ] {
        shop.call(client, command);
    }
    shop.ask(client, &["EVAL", "for i=1,3 do redis.call('RPUSH','l:8',i) end", "0"]);
    let rows = misfits(&mut shop, client);
    assert_eq!(keys(&rows), ["l:0", "l:1", "l:8", "x:1", "z:1"]);
    assert_eq!(count(&mut shop, client, "l:{id}"), ":3");
    shop.call(client, "LTRIM l:1 0 1");
    assert_eq!(count(&mut shop, client, "l:{id}"), ":2");
}

#[test]
fn a_push_that_passes_with_a_warning_is_trimmed_all_the_same() {
    let schema = "[keyspace]\nname = \"shop\"\nmode = \"warn\"\n[key.\"cart:{id}\"]\n\
        type = \"list\"\nitems = \"uint\"\nttl = \"none\"\nmax_len = 2\n";
    let mut shop = TestEngine::governed(1, schema);
    let client = shop.engine.connect();
    shop.call(client, "RPUSH cart:5 z 2 3");
    assert_eq!(shop.call(client, "LRANGE cart:5 0 -1"), "*2\r\n$1\r\n2\r\n$1\r\n3\r\n");
    // What is of another type has no items.
    shop.call(client, "SET cart:6 abc");
    assert_eq!(shop.call(client, "GET cart:6"), "$3\r\nabc\r\n");
}

#[test]
fn refusals_that_are_alike_are_told_once_with_their_number() {
    let schema = "[keyspace]\nname = \"shop\"\nunknown = \"reject\"\n[key.\"a:{id}\"]\n\
        type = \"string\"\nttl = \"none\"\n";
    let mut shop = TestEngine::governed(1, schema);
    let client = shop.engine.connect();
    shop.call(client, "SET rare 1");
    (0..200).for_each(|_| drop(shop.call(client, "LPUSH mail 1")));
    let told = shop.call(client, "KEYWARD REFUSALS COUNT 1000");
    assert!(told.starts_with("*2\r\n") && told.contains("rare"), "{told}");
    assert!(told.contains("\r\ncount\r\n:200\r\n"), "{told}");
}
