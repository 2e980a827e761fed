//! `keyward fill` and what comes after it: what was not loaded stays in its table.

use std::process::{Command, Stdio};

use keyward_resp::Frame;
use keyward_testkit::{Client, wait_until};

use crate::rows::SHOP;
use crate::stage::{PROGRAM, Stage, begun, call_all, said};

/// A schema whose rows hold what PostgreSQL has more of than a server takes.
const PEOPLE: &str = r#"
[keyspace]
name = "people"

[key."person:{id:uint}"]
type   = "hash"
ttl    = "none"
extra  = "string"
fields = { name = "string?", born = "timestamp?" }
sink   = { mirror = "people" }

[key."note:{id}"]
type = "string"
ttl  = "none"
sink = { mirror = "notes" }
"#;

fn texts(client: &mut Client, words: &[&str]) -> Vec<String> {
    let reply = client.call(words).expect("a reply");
    let elements = reply.as_elements().unwrap_or_else(|| panic!("{reply:?}"));
    let text = |part: &Frame| String::from_utf8_lossy(part.as_bytes().unwrap_or_default()).into();
    elements.iter().map(text).collect()
}

#[test]
fn rows_that_were_not_loaded_are_not_taken_away_by_a_comparison() {
    let stage = Stage::new(SHOP);
    stage.postgres.query(
        "ALTER TABLE users DROP CONSTRAINT users_state_check; \
         INSERT INTO users SELECT id, 'N', 1, CASE WHEN id <= 5 THEN 'odd' ELSE 'active' END \
         FROM generate_series(1, 600) AS id",
    );
    let server = stage.serve();
    let output = stage.fill(&server, &[]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("595 rows loaded, 0 were there and kept, 5 refused"), "{told}");
    let told = said(&stage.sync_once(&server));
    assert!(!told.contains("taken away"), "{told}");
    let living = "SELECT count(*) FROM users WHERE deleted_at IS NULL";
    stage.check(living, "600");
    stage.check(
        "SELECT string_agg(key[1], ' ' ORDER BY key) FROM keyward_unloaded \
         WHERE keyspace = 'shop' AND table_name = 'users' AND reason <> ''",
        "1 2 3 4 5",
    );
    // Another comparison, and one that may do anything, leave them too.
    stage.postgres.query("UPDATE keyward_place SET compares = true");
    said(&stage.sync_with(&server, &["--once", "--accept"]));
    stage.check(living, "600");
    // What the server has by now is as any other row.
    let mut client = server.client();
    call_all(&mut client, "SELECT 2\nHSET user:1 name Ann balance 1 state active");
    said(&stage.sync_once(&server));
    stage.postgres.query("UPDATE keyward_place SET compares = true");
    said(&stage.sync_once(&server));
    stage.check("SELECT count(*) FROM keyward_unloaded", "4");
    call_all(&mut client, "DEL user:1");
    said(&stage.sync_once(&server));
    stage.check(living, "599");
}

#[test]
fn what_would_come_back_otherwise_is_refused_and_stays() {
    let stage = Stage::new(PEOPLE);
    stage.postgres.query(
        "ALTER TABLE notes ALTER value DROP NOT NULL; \
         INSERT INTO people (id, name, born, extra) VALUES \
         (1, 'Ann', '2000-01-02T03:04:05.5Z', '{\"a\": \"x\"}'), \
         (2, 'Brutus', '0044-03-15 12:00:00+00 BC', NULL), \
         (3, 'Cid', 'infinity', NULL), \
         (4, 'Dan', NULL, '{\"a\": 7, \"b\": \"x\"}'), \
         (5, NULL, NULL, NULL), \
         (6, 'Eve', NULL, '[1]'); \
         INSERT INTO notes VALUES ('a', 'x'), ('b', NULL)",
    );
    let server = stage.serve();
    let output = stage.fill(&server, &[]);
    let told = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("2 rows loaded, 0 were there and kept, 6 refused"), "{told}");
    for expected in [
        "person:2: born would not come back to people as it is there",
        "person:3: born would not come back",
        "person:4: extra would not come back",
        "person:5: a hash without fields is none",
        "person:6: extra would not come back",
        "note:b: value would not come back",
    ] {
        assert!(told.contains(expected), "{expected}: {told}");
    }
    let mut client = server.client();
    let mut found = texts(&mut client, &["HGETALL", "person:1"]);
    found.sort();
    assert_eq!(found, ["2000-01-02T03:04:05.5Z", "Ann", "a", "born", "name", "x"]);
    assert_eq!(client.call(["EXISTS", "person:2", "note:b"]).expect("a reply"), Frame::Integer(0));
    said(&stage.sync_once(&server));
    stage.check(
        "SELECT id, born::text, extra FROM people ORDER BY id",
        &stage.postgres.query(
            "SELECT * FROM (VALUES (1, '2000-01-02 03:04:05.5Z'::timestamptz::text, \
             '{\"a\": \"x\"}'::jsonb), \
             (2, '0044-03-15 12:00:00+00 BC'::timestamptz::text, NULL), \
             (3, 'infinity', NULL), (4, NULL, '{\"a\": 7, \"b\": \"x\"}'), (5, NULL, NULL), \
             (6, NULL, '[1]')) AS v",
        ),
    );
    stage.check("SELECT id, value FROM notes ORDER BY id", "a|x\nb|");
}

#[test]
fn nothing_is_compared_before_an_interrupted_load_is_ended() {
    let stage = Stage::new(SHOP);
    stage
        .postgres
        .query("INSERT INTO users SELECT id, 'N', 1, 'active' FROM generate_series(1, 3000) AS id");
    let server = stage.serve();
    let (url, source) = (stage.postgres.url(), server.address().to_string());
    let mut filling = Command::new(PROGRAM)
        .args(["fill", "--postgres", &url, "--source", &source, stage.schema_text()])
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary runs");
    let mut client = server.client();
    call_all(&mut client, "SELECT 2");
    let has_some = |client: &mut Client| {
        client.call(["DBSIZE"]).is_ok_and(|it| matches!(it, Frame::Integer(size) if size > 200))
    };
    wait_until(|| has_some(&mut client));
    filling.kill().expect("it is killed");
    filling.wait().expect("it ends");
    let living = "SELECT count(*) FROM users WHERE deleted_at IS NULL";
    for options in [&["--once"][..], &["--once", "--accept"]] {
        let output = stage.sync_with(&server, options);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(
            told.contains("users: keyward fill has begun to load it and has not ended"),
            "{told}"
        );
        stage.check(living, "3000");
    }
    let told = said(&stage.fill(&server, &[]));
    assert!(told.contains(" 0 refused"), "{told}");
    said(&stage.sync_once(&server));
    stage.check(living, "3000");
    assert!(stage.verify(&server).starts_with("exit 0\n3000 rows compared, 0 differences"));
}

#[test]
fn loading_over_rows_keeps_fields_that_have_no_column() {
    let (stage, server, mut client) =
        begun(SHOP, "SELECT 2\nHSET user:1 name Ann balance 1 state active token se-cret");
    said(&stage.sync_once(&server));
    stage.postgres.query("UPDATE users SET name = 'Eve'");
    said(&stage.fill(&server, &["--overwrite"]));
    let field =
        |client: &mut Client, name: &str| client.call(["HGET", "user:1", name]).expect("a reply");
    assert_eq!(field(&mut client, "name"), Frame::Bulk(b"Eve".to_vec()));
    assert_eq!(field(&mut client, "token"), Frame::Bulk(b"se-cret".to_vec()));
    assert_eq!(client.call(["HLEN", "user:1"]).expect("a reply"), Frame::Integer(4));
}

#[test]
fn a_database_that_writes_values_otherwise_is_read_all_the_same() {
    let schema = r#"
[keyspace]
name = "shop"

[key."day:{on:date}"]
type   = "hash"
ttl    = "none"
fields = { share = "float", at = "timestamp" }
sink   = { mirror = "days" }
"#;
    let (stage, server, _client) =
        begun(schema, "HSET day:2025-02-03 share 0.1234567890123456 at 2025-02-03T04:05:06Z");
    stage.postgres.query(
        "ALTER DATABASE postgres SET DateStyle = 'German, DMY'; \
         ALTER DATABASE postgres SET extra_float_digits = -10; \
         ALTER DATABASE postgres SET bytea_output = 'escape'",
    );
    said(&stage.sync_once(&server));
    assert!(stage.verify(&server).starts_with("exit 0"), "{}", stage.verify(&server));
    let cold = stage.serve_only(&[]);
    said(&stage.fill(&cold, &[]));
    let share = cold.client().call(["HGET", "day:2025-02-03", "share"]).expect("a reply");
    assert_eq!(share, Frame::Bulk(b"0.1234567890123456".to_vec()));
}
