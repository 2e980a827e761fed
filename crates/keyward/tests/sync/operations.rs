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

#[test]
fn a_database_that_hangs_is_told_of() {
    let (stage, server, mut client) = begun(SHOP, "SELECT 2\nRPUSH likes one");
    let syncing = stage.sync(&server.address().to_string());
    wait_until(|| stage.postgres.query("SELECT count(*) FROM likes") == "1");
    let backend = stage.postgres.query(
        "SELECT pid FROM pg_stat_activity WHERE application_name = 'keyward' AND datname = 'postgres'",
    );
    let signal = |name: &str| {
        let sent = Command::new("kill").args([name, &backend]).status().expect("kill runs");
        assert!(sent.success());
    };
    signal("-STOP");
    call_all(&mut client, "RPUSH likes two");
    let began = std::time::Instant::now();
    wait_until(|| syncing.told().contains("waiting for the database, for "));
    assert!(began.elapsed().as_secs() < 30, "{:?}", began.elapsed());
    signal("-CONT");
    wait_until(|| stage.postgres.query("SELECT count(*) FROM likes") == "2");
}

#[test]
fn dead_letters_are_sent_again_once_the_database_is_there() {
    let (stage, server, mut client) = begun(SHOP, "SELECT 2\nRPUSH likes one much-too-long");
    said(&stage.sync_once(&server));
    stage.postgres.query("ALTER TABLE likes ALTER COLUMN item TYPE varchar(13)");
    stage.change_schema(&SHOP.replace("varchar(5)", "varchar(13)"));
    stage.apply(&mut client);
    let folder = tempfile::TempDir::new().expect("a directory");
    let url = stage.postgres.url();
    let host = url.split(' ').find_map(|word| word.strip_prefix("host=")).expect("its socket");
    let elsewhere = url.replace(host, &folder.path().display().to_string());
    let (log, source) = (folder.path().join("log"), server.address().to_string());
    let mut syncing = Command::new(PROGRAM)
        .args(["sync", "--resend", "--postgres", &elsewhere, "--source", &source])
        .arg(stage.schema_text())
        .stderr(std::fs::File::create(&log).expect("a file"))
        .spawn()
        .expect("the binary runs");
    let told = || std::fs::read_to_string(&log).expect("what it says");
    wait_until(|| told().contains("once more in 200 ms"));
    let socket = ".s.PGSQL.5432";
    std::os::unix::fs::symlink(std::path::Path::new(host).join(socket), folder.path().join(socket))
        .expect("a link");
    wait_until(|| told().contains("1 dead letter sent again and stored, 0 refused once more"));
    syncing.kill().expect("it runs");
    syncing.wait().expect("it ends");
    stage.check("SELECT count(*) FROM likes", "2");
}

#[test]
fn a_server_that_stores_by_itself_begins_with_the_schema_in_force() {
    let without = SHOP.replace("sink = { archive = \"pages\" }", "");
    let stage = Stage::new(SHOP);
    stage.change_schema(&without);
    let url = stage.postgres.url();
    let server = stage.serve_with(&["--postgres", &url]);
    let mut client = server.client();
    call_all(&mut client, "SELECT 2");
    stage.change_schema(SHOP);
    stage.apply(&mut client);
    // Enough that a start takes a while.
    for id in 0..5_000 {
        client.call(["SET", &format!("card:{id}"), "{\"user\":1}"]).expect("a reply");
    }
    drop(client);
    drop(server);
    std::fs::write(stage.schema(), &without).expect("the schema is written");
    let began = std::time::Instant::now();
    let server = stage.serve_with(&["--postgres", &url]);
    let mut client = server.client();
    call_all(&mut client, "SELECT 2\nSET page:x text\nDEL page:x");
    wait_until(|| stage.postgres.query("SELECT count(*) FROM pages") == "1");
    assert!(began.elapsed().as_secs() < 25, "{:?}", began.elapsed());
}
