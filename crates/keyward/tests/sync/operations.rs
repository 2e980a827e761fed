//! A database that others run too: its settings, its readers, columns that come later.

use std::process::{Command, Output, Stdio};

use keyward_testkit::wait_until;

use crate::rows::SHOP;
use crate::stage::{PROGRAM, Stage, begun, call_all, said};

/// What `keyward sql --check --apply` says, and the code it exits with.
fn apply(stage: &Stage) -> (Option<i32>, String) {
    let url = stage.postgres.url();
    let options = ["sql", "--check", &url, "--apply", stage.schema_text()];
    let output = Command::new(PROGRAM).args(options).output().expect("the binary runs");
    (output.status.code(), told(&output))
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

#[test]
fn what_is_trimmed_is_durable_whatever_the_database_has_as_its_default() {
    for (default, expected) in
        [("off", "on"), ("on", "on"), ("local", "local"), ("remote_apply", "remote_apply")]
    {
        let (stage, server, _client) = begun(SHOP, "SELECT 2\nRPUSH likes one");
        stage.postgres.query(&format!(
            "ALTER DATABASE postgres SET synchronous_commit = {default}; \
             CREATE TABLE seen (setting text); \
             CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
             INSERT INTO seen VALUES (current_setting('synchronous_commit')); RETURN NEW; END $$; \
             CREATE TRIGGER see BEFORE INSERT ON likes FOR EACH ROW EXECUTE FUNCTION see()"
        ));
        said(&stage.sync_once(&server));
        stage.check("SELECT string_agg(setting, ' ') FROM seen", expected);
    }
}

#[test]
fn a_column_that_comes_later_is_filled_unasked() {
    let commands: String =
        (1..=20).map(|id| format!("HSET user:{id} name Ann balance {id} state active\n")).collect();
    let commands = format!("SELECT 2\n{commands}RPUSH tx:7 '{{\"id\":\"t1\",\"amount\":1}}'");
    let (stage, server, mut client) = begun(SHOP, &commands);
    said(&stage.sync_once(&server));
    stage.postgres.query("ALTER TABLE users DROP COLUMN balance");
    stage.postgres.query("ALTER TABLE tx DROP COLUMN amount");
    let (code, text) = apply(&stage);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("tx: rows that were stored before have NULL in amount\n"), "{text}");
    assert!(!text.contains("users:"), "{text}");
    assert!(said(&stage.sync_once(&server)).contains("20 stored, 0 taken away"));
    stage.check("SELECT count(*), sum(balance) FROM users", "20|210");
    assert!(stage.verify(&server).starts_with("exit 0"), "{}", stage.verify(&server));
    // What the table has otherwise is asked about as before, beside a column that is lacking.
    stage.postgres.query("ALTER TABLE users DROP COLUMN balance");
    stage.postgres.query("UPDATE users SET name = 'Eve'");
    assert_eq!(apply(&stage).0, Some(0));
    call_all(&mut client, "RPUSH likes one");
    let output = stage.sync_once(&server);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(told(&output).contains("of its 20 rows 20 are otherwise"), "{output:?}");
}

#[test]
fn a_place_that_somebody_marks_is_looked_at_without_pauses() {
    let (stage, server, mut client) = begun(SHOP, "SELECT 2\nRPUSH likes one");
    let syncing = stage.sync(&server.address().to_string());
    wait_until(|| stage.postgres.query("SELECT count(*) FROM likes") == "1");
    assert!(syncing.told().contains("connected to the database"), "{}", syncing.told());
    let began = std::time::Instant::now();
    for round in 2..=9 {
        stage.postgres.query("UPDATE keyward_place SET compares = true");
        call_all(&mut client, "RPUSH likes more");
        let count = format!("SELECT count(*) = {round} FROM likes");
        wait_until(|| stage.postgres.query(&count) == "t");
    }
    assert!(began.elapsed().as_secs() < 10, "{:?}", began.elapsed());
    wait_until(|| stage.postgres.query("SELECT compares FROM keyward_place") == "f");
    assert_eq!(syncing.told().matches("connected to the database").count(), 1);
}

#[test]
fn each_pause_is_told_and_that_it_is_over() {
    let (stage, server, mut client) = begun(SHOP, "SELECT 2\nRPUSH likes one");
    let syncing = stage.sync(&server.address().to_string());
    wait_until(|| stage.postgres.query("SELECT count(*) FROM likes") == "1");
    for round in 2..=3 {
        stage.postgres.query("ALTER TABLE likes RENAME TO gone");
        call_all(&mut client, "RPUSH likes more");
        let pauses = |ms: &str| syncing.told().matches(&format!("once more in {ms} ms")).count();
        wait_until(|| pauses("400") == round - 1);
        stage.postgres.query("ALTER TABLE gone RENAME TO likes");
        wait_until(|| syncing.told().matches("changes are stored again").count() == round - 1);
        // What went well begins with the shortest pause.
        assert_eq!(pauses("100"), round - 1, "{}", syncing.told());
    }
}

#[test]
fn rows_that_are_as_they_were_are_not_written_again() {
    let (stage, server, mut client) = begun(
        SHOP,
        r#"
        SELECT 2
        HSET user:1 name Ann balance 1.0 state active
        SET card:a '{"user":1,"tags":["x"]}'
        "#,
    );
    said(&stage.sync_once(&server));
    stage.postgres.query("CREATE TABLE before AS SELECT ctid AS at FROM users");
    stage.postgres.query("CREATE TABLE cards_before AS SELECT ctid AS at FROM cards");
    call_all(&mut client, "HSET user:1 name Ann\nSET card:a '{\"user\":1,\"tags\":[\"x\"]}'");
    call_all(&mut client, "HSET user:1 name Eve\nHSET user:1 name Ann");
    said(&stage.sync_once(&server));
    stage.check("SELECT count(*) FROM users JOIN before ON before.at = users.ctid", "1");
    stage.check("SELECT count(*) FROM cards JOIN cards_before b ON b.at = cards.ctid", "1");
    // The same number, written otherwise, is another text.
    call_all(&mut client, "HSET user:1 balance 1.00");
    said(&stage.sync_once(&server));
    stage.check("SELECT balance FROM users", "1.00");
}

#[test]
fn adding_does_not_queue_up_behind_a_reader() {
    let stage = Stage::new(SHOP);
    stage.postgres.query("ALTER TABLE users DROP COLUMN name; ALTER TABLE tx DROP COLUMN amount");
    let mut reader = Command::new(stage.postgres.program("psql"))
        .args(["-q", "-c", "BEGIN; SELECT 1 FROM tx; SELECT pg_sleep(60)", &stage.postgres.url()])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("psql runs");
    wait_until(|| {
        let sleeping = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
        stage.postgres.query(sleeping) == "1"
    });
    let began = std::time::Instant::now();
    let (code, text) = apply(&stage);
    assert!(began.elapsed().as_secs() < 30, "{:?}", began.elapsed());
    assert_eq!(code, Some(2), "{text}");
    let expected = "somebody else has a lock for longer than 5 seconds, and nothing was altered";
    assert!(text.contains(expected) && text.lines().count() == 1, "{text}");
    let columns = "SELECT count(*) FROM pg_attribute WHERE attrelid = 'users'::regclass \
                   AND attname = 'name'";
    stage.check(columns, "0");
    reader.kill().expect("it runs");
    reader.wait().expect("it ends");
    stage.postgres.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'",
    );
    assert_eq!(apply(&stage).0, Some(0));
    stage.check(columns, "1");
}
