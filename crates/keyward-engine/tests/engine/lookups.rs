//! Lookups that hold a field of their source: built, planned, explained, loaded.

use crate::harness::{START_MS, TestEngine};
use crate::shop::Shop;
use keyward_engine::{Coverage, SnapshotOptions};

const SCHEMA: &str = r#"
[keyspace]
name = "shop"

[key."card:{card_id}"]
type = "hash"
ttl  = { by = "status", active = "1h", closed = "1d" }
[key."card:{card_id}".fields]
user_id = "uint"
status  = "active | closed"

[key."users:by_card:{card_id}"]
type   = "string"
lookup = { of = "card:{card_id}", value = "user_id", when = "status = active" }
"#;

/// The schema without the lookup, whose keys clients write.
fn plain() -> String {
    SCHEMA.split("lookup =").next().unwrap_or_default().to_owned()
}

#[test]
fn a_lookup_of_a_field_is_built_and_mended_where_a_schema_begins_to_ask_for_it() {
    let mut shop = Shop::new(1, &plain());
    shop.check(&[
        ("HSET card:a user_id 1 status active", ":2"),
        ("HSET card:b user_id 2 status closed", ":2"),
        ("HSET card:c user_id 3 status active", ":2"),
        ("MSET users:by_card:a 1 users:by_card:b 2 users:by_card:c 9 users:by_card:x 4", "+OK"),
    ]);
    let plan = shop.plan(SCHEMA);
    let rest = plan.rest();
    let figures =
        "users:by_card:{card_id}\nkeys\n:4\nmoved\n:0\nmisfits\n:0\nconflicts\n:0\noverlong\n:0\n";
    assert!(rest.contains(figures), "{rest}");
    // The closed one and the stranger go, and a wrong one is overwritten.
    let figures = "built\n:1\ndestroyed\n:3\nevicted\n:0\nunkept\n:0\ncut_later\n:0\n";
    assert!(rest.contains(figures), "{rest}");
    assert!(shop.apply(&plan, 3).starts_with("*4 "));
    shop.check(&[
        (
            "MGET users:by_card:a users:by_card:b users:by_card:c users:by_card:x",
            "*4 $1 1 $-1 $1 3 $-1",
        ),
        ("KEYWARD MISFITS COUNT 100", "*2 $1 0 *0"),
        ("HSET card:b status active", ":0"),
        ("GET users:by_card:b", "$1 2"),
    ]);
    let told = shop.call("KEYWARD EXPLAIN HSET card:a user_id 7");
    assert!(told.contains("Then SET users:by_card:a 7."), "{told}");
    assert!(told.contains("users:by_card:{card_id} holds its user_id"), "{told}");
    let told = shop.call("KEYWARD MATCH users:by_card:a");
    assert!(
        told.contains(
            "The user_id of each card:{card_id} where status is active. It ends with that."
        ),
        "{told}"
    );
    let plan = shop.plan(&plain());
    assert!(plan.rest().contains("The user_id of each card:{card_id}"), "{}", plan.rest());
}

#[test]
fn a_lookup_of_a_field_ends_with_its_source_and_is_refused_to_clients() {
    let mut shop = Shop::new(1, SCHEMA);
    shop.check(&[
        ("HSET card:a user_id 1 status active", ":2"),
        ("GET users:by_card:a", "$1 1"),
        ("HINCRBY card:a user_id 4", ":5"),
        ("GET users:by_card:a", "$1 5"),
        ("SET users:by_card:a 6", "-SCHEMA users:by_card:a: is kept by Keyward from card:{card_id}, which says otherwise; write that instead (test/keyward.toml:12)"),
        ("RENAME card:a card:b", "+OK"),
        ("MGET users:by_card:a users:by_card:b", "*2 $-1 $1 5"),
    ]);
    shop.test.set_time(START_MS + 3_600_001);
    shop.check(&[("GET users:by_card:b", "$-1"), ("DBSIZE", ":0")]);
}

#[test]
fn a_lookup_that_clients_overwrote_is_a_misfit_until_its_source_is_written() {
    let mut shop = Shop::new(1, SCHEMA);
    shop.check(&[
        ("HSET card:a user_id 1 status active", ":2"),
        ("KEYWARD MODE warn", "+OK"),
        ("SET users:by_card:a 6", "+OK"),
    ]);
    let stats = shop.call("KEYWARD STATS users:by_card:{card_id}");
    assert!(stats.contains("$7 misfits :1 "), "{stats}");
    shop.check(&[("SET users:by_card:a 1", "+OK")]);
    let stats = shop.call("KEYWARD STATS users:by_card:{card_id}");
    assert!(stats.contains("$7 misfits :0 "), "{stats}");
    shop.check(&[
        ("SET users:by_card:a 6", "+OK"),
        ("HSET card:a user_id 2", ":0"),
        ("GET users:by_card:a", "$1 2"),
    ]);
    let stats = shop.call("KEYWARD STATS users:by_card:{card_id}");
    assert!(stats.contains("$7 misfits :0 "), "{stats}");
}

#[test]
fn lookups_of_fields_are_built_from_a_plain_snapshot() {
    let mut plain = TestEngine::new(1);
    let client = plain.engine.connect();
    for command in ["HSET card:a user_id 1 status active", "SET users:by_card:z 1"] {
        assert!(!plain.call(client, command).starts_with('-'), "{command}");
    }
    let options = SnapshotOptions { coverage: Coverage::Whole, sums: true, used_bytes: 0 };
    let file = plain.engine.snapshot().write_to(Vec::new(), options).expect("memory takes it");
    let mut shop = TestEngine::governed(2, SCHEMA);
    shop.engine.load(&mut shop.host, &mut file.as_slice()).expect("the snapshot is sound");
    let client = shop.engine.connect();
    assert_eq!(shop.call(client, "GET users:by_card:a"), "$1\r\n1\r\n");
    assert_eq!(shop.call(client, "GET users:by_card:z"), "$-1\r\n");
}

#[test]
fn a_plan_counts_entries_that_it_overwrites() {
    const PLAIN: &str = r#"
[keyspace]
name = "shop"
[key."user:{id:uint}"]
type = "hash"
ttl = "none"
fields = { email = "str", seen = "int" }
[key."by_email:{email}"]
type = "string"
[key."seen"]
type = "zset"
"#;
    let lookup = "lookup = { of = \"user:{id}\", field = \"email\" }\n[key.\"seen\"]";
    let derived = PLAIN.replace("[key.\"seen\"]", lookup).replace(
        "type = \"zset\"",
        "type = \"zset\"\nrank = { of = \"user:{id}\", by = \"seen\" }",
    );
    let mut shop = Shop::new(1, PLAIN);
    shop.check(&[
        ("HSET user:1 email a seen 100", ":2"),
        ("SET by_email:a 77", "+OK"),
        ("ZADD seen 999 1", ":1"),
    ]);
    let told = shop.plan(&derived).rest();
    assert_eq!(told.matches("built\n:1\ndestroyed\n:1").count(), 2, "{told}");
}
