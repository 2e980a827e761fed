//! Changes that are off the server and not in the database: noticed by their number.

use keyward_testkit::Postgres;

use crate::rows::SHOP;
use crate::stage::{Stage, begun, call_all, said};

const FEED: &str = "keyward:changefeed:shop";

/// Mirrors alone, of which a comparison makes everything good.
fn mirrors() -> String {
    let (start, _) = SHOP.split_once("[key.\"usage").expect("a part with mirrors");
    start.to_owned()
}

#[test]
fn a_database_from_an_older_dump_is_noticed() {
    let (stage, server, mut client) = begun(
        SHOP,
        r#"
        SELECT 2
        HSET user:1 name Ann balance 1 state active
        RPUSH tx:7 '{"id":"t1","amount":1}'
        "#,
    );
    said(&stage.sync_once(&server));
    let old = stage.postgres.query("SELECT * FROM keyward_place").replace('|', "','");
    call_all(
        &mut client,
        r#"
        HSET user:1 balance 2
        RPUSH tx:7 '{"id":"t2","amount":1}'
        RPUSH likes a
        "#,
    );
    said(&stage.sync_once(&server));
    // As a dump from before would have it.
    stage.postgres.query(&format!(
        "DELETE FROM keyward_place; INSERT INTO keyward_place VALUES ('{old}'); \
         DELETE FROM tx WHERE id = 't2'; DELETE FROM likes; UPDATE users SET balance = 1"
    ));
    call_all(&mut client, r#"RPUSH tx:7 '{"id":"t3","amount":1}'"#);
    let output = stage.sync_once(&server);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("3 changes behind "), "{told}");
    assert!(told.contains("usage, pages, tx, likes") && told.contains("--accept"), "{told}");
    stage.check("SELECT string_agg(id, ' ' ORDER BY id) FROM tx", "t1");
    // What lists and rows still have is made good.
    said(&stage.sync_with(&server, &["--once", "--accept"]));
    stage.check("SELECT string_agg(id, ' ' ORDER BY id) FROM tx", "t1 t2 t3");
    stage.check("SELECT balance FROM users", "2");
    // It is told once.
    call_all(&mut client, "RPUSH likes b");
    said(&stage.sync_once(&server));
    stage.check("SELECT item FROM likes", "b");
}

#[test]
fn rows_whose_changes_somebody_trimmed_are_compared() {
    let (stage, server, mut client) =
        begun(&mirrors(), "SELECT 2\nHSET user:1 name Ann balance 1 state active");
    said(&stage.sync_once(&server));
    call_all(&mut client, "HSET user:2 name Bob balance 1 state active");
    call_all(&mut client, &format!("XTRIM {FEED} MINID = 99999999999999"));
    call_all(&mut client, "HSET user:3 name Cid balance 1 state active");
    let told = said(&stage.sync_once(&server));
    assert!(told.contains("1 change behind "), "{told}");
    stage.check("SELECT string_agg(name, ' ' ORDER BY id) FROM users", "Ann Bob Cid");
    // A start later nothing is missing.
    drop(server);
    let server = stage.serve();
    call_all(&mut server.client(), "SELECT 2\nHSET user:4 name Dan balance 1 state active");
    let told = said(&stage.sync_once(&server));
    assert!(!told.contains("behind"), "{told}");
    assert!(stage.verify(&server).starts_with("exit 0"), "{}", stage.verify(&server));
}

#[test]
fn another_database_of_the_same_server_says_what_it_cannot_have() {
    let (stage, server, mut client) = begun(SHOP, "SELECT 2\nRPUSH likes a b\nRPUSH likes c");
    said(&stage.sync_once(&server));
    let other = Stage::on(Postgres::start(), SHOP);
    call_all(&mut client, "RPUSH likes d");
    let output = other.sync_once(&server);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("2 changes behind 0-0"), "{told}");
    said(&other.sync_with(&server, &["--once", "--accept"]));
    other.check("SELECT item FROM likes", "d");
    call_all(&mut client, "RPUSH likes e");
    let output = stage.sync_once(&server);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && told.contains("1 change behind "), "{told}");
}

#[test]
fn a_table_that_is_made_anew_is_filled() {
    let (stage, server, _) = begun(
        SHOP,
        r#"
        SELECT 2
        SET card:a '{"user":1}'
        RPUSH tx:7 '{"id":"t1","amount":1}'
        "#,
    );
    said(&stage.sync_once(&server));
    stage.postgres.query("DROP TABLE cards; DROP TABLE tx");
    stage.change_schema(SHOP);
    said(&stage.sync_once(&server));
    stage.check("SELECT id, \"user\" FROM cards", "a|1");
    stage.check("SELECT id FROM tx", "t1");
}
