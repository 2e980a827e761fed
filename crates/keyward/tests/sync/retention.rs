//! Rows that are older than their tables keep them, and by whose clock.

use std::process::{Command, Stdio};

use keyward_resp::Frame;
use keyward_testkit::{Client, Server, wait_until};

use crate::stage::{Stage, advance_database, call_all, said};

const SHOP: &str = r#"
[keyspace]
name = "shop"

[key."usage:{user:int}:{month:month}"]
type   = "hash"
ttl    = "35d"
fields = { total = "uint" }
sink   = { archive = "usage", retain = "2y", merge = "add" }

[key."visit:{id}"]
type   = "hash"
ttl    = "1h"
fields = { who = "string" }
sink   = { archive = "visits", retain = "30d" }

[key."queue"]
type  = "list"
ttl   = "none"
items = "string"
allow = ["KW0310: drained"]
sink  = { drain = "queue" }
"#;

const DAY_MS: u64 = 24 * 60 * 60 * 1000;
const APART: &str = "more than a day apart: nothing that is older than its table keeps it";

fn serve(stage: &Stage) -> Server {
    stage.serve_with(&["--enable-debug-command", "yes"])
}

fn advance(client: &mut Client, days: u64) {
    call_all(client, &format!("DEBUG CLOCK ADVANCE {}", days * DAY_MS));
}

/// A month, so many before this one.
fn month(stage: &Stage, before: u32) -> String {
    let query = format!("SELECT to_char(pg_catalog.now() - interval '{before} months', 'YYYY-MM')");
    stage.postgres.query(&query)
}

/// Ends a row of a month, and one of now.
fn end_rows(client: &mut Client, month: &str, id: &str) {
    let usage = format!("usage:7:{month}");
    call_all(client, &format!("HSET {usage} total 1\nDEL {usage}"));
    call_all(client, &format!("HSET visit:{id} who Ann\nDEL visit:{id}"));
}

fn apart(client: &mut Client, pattern: &str) -> i64 {
    let reply = client.call(["KEYWARD", "STATS", pattern]).expect("figures");
    let pairs = reply.as_elements().expect("figures").chunks(2);
    let mut pairs = pairs.filter(|pair| pair[0].as_bytes() == Some(b"clocks_apart_ms"));
    match pairs.next().map(|pair| pair[1].clone()) {
        Some(Frame::Integer(ms)) => ms,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_clock_that_is_far_ahead_has_nothing_go() {
    let stage = Stage::new(SHOP);
    let server = serve(&stage);
    let mut client = server.client();
    let last = month(&stage, 1);
    end_rows(&mut client, &last, "a");
    assert!(!said(&stage.sync_once(&server)).contains(APART));
    advance(&mut client, 3 * 365);
    end_rows(&mut client, &month(&stage, 0), "b");
    let told = said(&stage.sync_once(&server));
    assert!(told.contains(APART) && told.matches("apart").count() == 1, "{told}");
    stage.check("SELECT count(*) FROM usage", "2");
    stage.check("SELECT string_agg(id, ' ' ORDER BY id) FROM visits", "a b");
    assert!(apart(&mut client, "visit:{id}") > 365 * i64::try_from(DAY_MS).expect("a number"));
    assert_eq!(apart(&mut client, "queue"), 0, "it keeps its rows for ever");
    // The clock is right again, and what was changed meanwhile says nothing of it.
    drop(client);
    drop(server);
    let server = serve(&stage);
    let mut client = server.client();
    end_rows(&mut client, &last, "c");
    assert!(!said(&stage.sync_once(&server)).contains(APART));
    stage.check("SELECT count(*), sum(total) FROM usage", "2|3");
    stage.check("SELECT string_agg(id, ' ' ORDER BY id) FROM visits", "a b c");
    assert_eq!(apart(&mut client, "visit:{id}"), 0);
    // The database's may be the wrong one too.
    advance_database(&stage, 3 * 365);
    assert!(said(&stage.sync_once(&server)).contains(APART));
    stage.check("SELECT count(*) FROM usage", "2");
    stage.check("SELECT count(*) FROM visits", "3");
}

#[test]
fn whole_months_go_as_partitions_and_the_rest_as_rows() {
    let stage = Stage::new(SHOP);
    let server = serve(&stage);
    let mut client = server.client();
    let (last, this) = (month(&stage, 1), month(&stage, 0));
    end_rows(&mut client, &last, "a");
    end_rows(&mut client, &this, "b");
    said(&stage.sync_once(&server));
    stage.check("SELECT count(*) FROM usage", "2");
    let of_last = format!("usage_{}", last.replace('-', "_"));
    let exists = format!("SELECT to_regclass('{of_last}') IS NOT NULL");
    stage.check(&exists, "t");
    // Just behind the second birthday of the month before this one.
    let days = "SELECT (date_trunc('month', pg_catalog.now()) + interval '2 years 1 day')::date \
                - pg_catalog.now()::date";
    let days: u64 = stage.postgres.query(days).parse().expect("a number");
    advance(&mut client, days);
    advance_database(&stage, days);
    assert!(!said(&stage.sync_once(&server)).contains(APART));
    stage.check(&exists, "f");
    stage.check("SELECT to_char(month, 'YYYY-MM') FROM usage", &this);
    stage.check("SELECT count(*) FROM visits", "0");
}

#[test]
fn rows_of_a_partition_that_cannot_be_dropped_are_deleted() {
    let stage = Stage::new(SHOP);
    let server = serve(&stage);
    stage.postgres.query(
        "CREATE TABLE usage_2020_01 PARTITION OF usage FOR VALUES FROM ('2020-01-01') TO ('2020-02-01'); \
         INSERT INTO usage (\"user\", month, total) VALUES (7, '2020-01-01', 1); \
         CREATE VIEW of_old AS SELECT * FROM usage_2020_01",
    );
    let mut client = server.client();
    end_rows(&mut client, &month(&stage, 0), "a");
    said(&stage.sync_once(&server));
    stage.check("SELECT count(*) FROM usage", "1");
    stage.check("SELECT count(*) FROM of_old", "0");
}

#[test]
fn rows_of_a_partition_with_younger_ones_too_are_deleted() {
    let stage = Stage::new(SHOP);
    let server = serve(&stage);
    stage.postgres.query(
        "DO $$ DECLARE part regclass; BEGIN FOR part IN SELECT inhrelid::regclass FROM pg_inherits \
         WHERE inhparent = 'usage'::regclass LOOP EXECUTE 'DROP TABLE ' || part; END LOOP; END $$; \
         CREATE TABLE usage_of_long PARTITION OF usage FOR VALUES FROM ('2019-01-01') TO ('2090-01-01'); \
         INSERT INTO usage (\"user\", month, total) VALUES (7, '2020-01-01', 1)",
    );
    let mut client = server.client();
    let this = month(&stage, 0);
    end_rows(&mut client, &this, "a");
    said(&stage.sync_once(&server));
    stage.check("SELECT to_char(month, 'YYYY-MM') FROM usage", &this);
    stage.check("SELECT count(*) FROM pg_inherits WHERE inhparent = 'usage'::regclass", "1");
}

#[test]
fn a_partition_that_cannot_go_holds_nothing_up() {
    let stage = Stage::new(SHOP);
    let server = serve(&stage);
    stage.postgres.query(
        "CREATE TABLE usage_2020_01 PARTITION OF usage FOR VALUES FROM ('2020-01-01') TO ('2020-02-01'); \
         INSERT INTO usage (\"user\", month, total) VALUES (7, '2020-01-01', 1)",
    );
    let mut reader = Command::new(stage.postgres.program("psql"))
        .args([
            "-q",
            "-c",
            "BEGIN; SELECT 1 FROM usage; SELECT pg_sleep(60)",
            &stage.postgres.url(),
        ])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("psql runs");
    wait_until(|| {
        let sleeping = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
        stage.postgres.query(sleeping) == "1"
    });
    call_all(&mut server.client(), "RPUSH queue one");
    let told = said(&stage.sync_once(&server));
    assert!(told.contains("usage: cannot be written now"), "{told}");
    assert!(told.contains("rows older than it keeps them stay for now"), "{told}");
    stage.check("SELECT item FROM queue", "one");
    stage.check("SELECT count(*) FROM usage", "1");
    reader.kill().expect("it runs");
    reader.wait().expect("it ends");
    stage.postgres.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'",
    );
    call_all(&mut server.client(), "RPUSH queue two");
    said(&stage.sync_once(&server));
    stage.check("SELECT count(*) FROM usage", "0");
    stage.check("SELECT to_regclass('usage_2020_01') IS NULL", "t");
}
