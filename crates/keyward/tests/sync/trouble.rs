//! What a database refuses or cannot do, and what is said of it.

use keyward_testkit::{Postgres, wait_until};

use crate::rows::SHOP;
use crate::stage::{Stage, call_all, said};

/// Whatever the database cannot do, it is named with its table, nothing is lost, and all of it is
/// stored when it can.
#[track_caller]
fn check(stage: &Stage, prevent: &str, allow: &str, expected: &[&str]) {
    let server = stage.serve();
    let mut client = server.client();
    call_all(&mut client, "SELECT 2\nRPUSH likes one");
    let syncing = stage.sync(&server.address().to_string());
    wait_until(|| stage.postgres.query("SELECT count(*) FROM likes") == "1");
    stage.postgres.query(prevent);
    call_all(
        &mut client,
        r#"
        RPUSH tx:7 '{"id":"t1","amount":1}'
        RPUSH likes two
        "#,
    );
    wait_until(|| expected.iter().all(|text| syncing.told().contains(text)));
    stage.postgres.query(allow);
    wait_until(|| stage.postgres.query("SELECT count(*) FROM likes") == "2");
    stage.check("SELECT string_agg(id, ' ') FROM tx", "t1");
    stage.check("SELECT string_agg(item, ' ' ORDER BY entry) FROM likes", "one two");
    stage.check("SELECT count(*) FROM keyward_dead_letters", "0");
}

/// A trigger that raises what PostgreSQL raises then.
fn raise(code: &str, message: &str) -> String {
    format!(
        "CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS \
         $$ BEGIN RAISE EXCEPTION '{message}' USING ERRCODE = '{code}'; END $$; \
         CREATE TRIGGER no BEFORE INSERT ON tx EXECUTE FUNCTION no()"
    )
}

const ALLOW: &str = "DROP TRIGGER no ON tx; DROP FUNCTION no";

#[test]
fn a_full_disk_is_named_and_waited_for() {
    let full = raise("53100", "could not extend file: No space left on device");
    let expected = ["tx: cannot be written now, so nothing is stored: the disk is full: ", "53100"];
    check(&Stage::new(SHOP), &full, ALLOW, &expected);
}

/// A real one: a tablespace on a file system that is full.
#[test]
fn a_disk_that_is_full_is_waited_for_and_nothing_is_lost() {
    let stage = Stage::on(Postgres::start_with_disk("16m"), SHOP);
    let disk = stage.postgres.disk().display().to_string();
    stage.postgres.query(&format!("CREATE TABLESPACE small LOCATION '{disk}'"));
    stage.postgres.query("ALTER TABLE tx SET TABLESPACE small");
    let server = stage.serve();
    let mut client = server.client();
    call_all(&mut client, "SELECT 2\nRPUSH likes one");
    let syncing = stage.sync(&server.address().to_string());
    wait_until(|| stage.postgres.query("SELECT count(*) FROM likes") == "1");
    let ballast = stage.postgres.disk_from_outside().join("ballast");
    let mut file = std::fs::File::create(&ballast).expect("a file on the disk");
    let filled = std::io::copy(&mut std::io::repeat(0), &mut file);
    assert_eq!(filled.map_err(|error| error.kind()).err(), Some(std::io::ErrorKind::StorageFull));
    for id in 0..500 {
        let item = format!(r#"{{"id":"t{id}","amount":{id}}}"#);
        client.call(["RPUSH", "tx:7", &item]).expect("a reply");
    }
    wait_until(|| {
        let told = syncing.told();
        told.contains("tx: cannot be written now, so nothing is stored: the disk is full: ")
            && told.contains("No space left on device")
            && told.contains("53100")
    });
    stage.check("SELECT count(*) FROM tx", "0");
    drop(file);
    std::fs::remove_file(ballast).expect("there is ballast");
    wait_until(|| stage.postgres.query("SELECT count(*) FROM tx") == "500");
    stage.check("SELECT count(DISTINCT id), sum(amount) FROM tx", "500|124750");
}

#[test]
fn a_read_only_database_is_named_and_waited_for() {
    let refused = raise("25006", "cannot execute INSERT in a read-only transaction");
    check(&Stage::new(SHOP), &refused, ALLOW, &["the database is read-only: ", "25006"]);
}

#[test]
fn a_right_that_lacks_is_named_and_waited_for() {
    let refused = raise("42501", "permission denied for table tx");
    check(&Stage::new(SHOP), &refused, ALLOW, &["tx: cannot be written now", "lacks a right"]);
}

#[test]
fn a_column_that_is_dropped_is_named_and_waited_for() {
    let stage = Stage::new(SHOP);
    let prevent = "ALTER TABLE tx DROP COLUMN amount";
    let expected =
        ["column \"amount\" of relation \"tx\" does not exist", "there is no column amount"];
    check(&stage, prevent, "ALTER TABLE tx ADD COLUMN amount numeric", &expected);
}

#[test]
fn a_table_that_is_locked_is_named_and_waited_for() {
    let stage = Stage::new(SHOP);
    let server = stage.serve();
    let mut client = server.client();
    call_all(&mut client, "SELECT 2\nRPUSH likes one");
    let syncing = stage.sync(&server.address().to_string());
    wait_until(|| stage.postgres.query("SELECT count(*) FROM likes") == "1");
    let locked = std::thread::scope(|scope| {
        let holder = scope.spawn(|| {
            let seconds = std::env::var("KEYWARD_LOCK_SECONDS").unwrap_or("14".to_owned());
            let lock = format!("BEGIN; LOCK TABLE likes; SELECT pg_sleep({seconds}); COMMIT");
            stage.postgres.query(&lock);
        });
        wait_until(|| {
            let locks = "SELECT count(*) > 0 FROM pg_locks WHERE mode = 'AccessExclusiveLock' \
                         AND relation = 'likes'::regclass";
            stage.postgres.query(locks) == "t"
        });
        call_all(&mut client, "RPUSH likes two");
        // The server goes on meanwhile.
        call_all(&mut client, "HSET user:1 name Ann balance 1 state active");
        holder.join().expect("it was locked");
        syncing.told()
    });
    assert!(locked.contains("likes: cannot be written now"), "{locked}");
    assert!(locked.contains("it is locked by somebody else"), "{locked}");
    wait_until(|| stage.postgres.query("SELECT count(*) FROM likes") == "2");
}

#[test]
fn secrets_are_in_no_message_and_no_dead_letter() {
    let schema = r#"
[keyspace]
name = "shop"

[key."queue"]
type  = "list"
ttl   = "none"
allow = ["KW0310: drained"]
items = { id = "str", token = { type = "str", secret = true } }
sink  = { drain = "queue", key = ["id"] }

[key."user:{id:uint}"]
type = "hash"
ttl  = "none"
sink = { mirror = "users", columns = { pin = "pin" } }
fields = { name = "string", pin = { type = "string", secret = true } }
"#;
    let stage = Stage::new(schema);
    let server = stage.serve();
    let mut client = server.client();
    stage.postgres.query("ALTER TABLE queue ADD CHECK (id <> 'bad')");
    call_all(
        &mut client,
        r#"
        RPUSH queue '{"id":"bad","token":"se-cret"}' '{"id":"good","token":"se-cret"}'
        "#,
    );
    said(&stage.sync_once(&server));
    stage.check("SELECT id FROM queue", "good");
    stage.check(
        "SELECT convert_from(item, 'UTF8'), reason FROM keyward_dead_letters",
        "{\"id\":\"bad\",\"token\":\"***\"}|PostgreSQL refuses it with 23514, table queue, \
         constraint queue_id_check",
    );
    // What is refused in the words of the database shows no value.
    stage.postgres.query(
        "CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS \
         $$ BEGIN RAISE EXCEPTION 'not %', NEW.pin; END $$; \
         CREATE TRIGGER no BEFORE INSERT ON users FOR EACH ROW EXECUTE FUNCTION no()",
    );
    call_all(&mut client, "HSET user:1 name Ann pin hush-hush");
    let output = stage.sync_once(&server);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("users: the row of user:1 (entry "), "{told}");
    assert!(told.contains("PostgreSQL refuses it with P0001"), "{told}");
    assert!(!told.contains("hush"), "{told}");
}

#[test]
fn a_server_that_is_no_primary_for_now_is_waited_for() {
    let stage = Stage::new(SHOP);
    let server = stage.serve();
    let mut client = server.client();
    call_all(&mut client, "SELECT 2\nRPUSH likes one");
    // It follows nobody who is there, and tells so.
    call_all(&mut client, "REPLICAOF 127.0.0.1 1\nCONFIG SET replica-serve-stale-data no");
    let syncing = stage.sync(&server.address().to_string());
    wait_until(|| syncing.told().contains("MASTERDOWN"));
    call_all(&mut client, "CONFIG SET replica-serve-stale-data yes");
    wait_until(|| syncing.told().contains("READONLY"));
    call_all(&mut client, "REPLICAOF NO ONE");
    wait_until(|| stage.postgres.query("SELECT string_agg(item, ' ') FROM likes") == "one");
    call_all(&mut client, "RPUSH likes two");
    wait_until(|| stage.postgres.query("SELECT count(*) FROM likes") == "2");
}

#[test]
fn a_dead_letter_is_sent_again_when_it_fits() {
    let stage = Stage::new(SHOP);
    let server = stage.serve();
    let mut client = server.client();
    call_all(&mut client, "SELECT 2\nRPUSH likes one much-too-long two also-too-long");
    said(&stage.sync_once(&server));
    let told = said(&stage.sync_with(&server, &["--once", "--resend"]));
    assert!(told.contains("0 dead letters sent again and stored, 2 refused once more"), "{told}");
    stage.postgres.query("ALTER TABLE likes ALTER COLUMN item TYPE varchar(13)");
    stage.change_schema(&SHOP.replace("varchar(5)", "varchar(13)"));
    stage.apply(&mut client);
    stage.postgres.query("ALTER TABLE likes ADD CHECK (item <> 'also-too-long')");
    let told = said(&stage.sync_with(&server, &["--once", "--resend"]));
    assert!(told.contains("1 dead letter sent again and stored, 1 refused once more"), "{told}");
    // In its place, and once.
    stage.check("SELECT string_agg(item, ' ' ORDER BY entry) FROM likes", "one much-too-long two");
    stage.check(
        "SELECT convert_from(item, 'UTF8'), reason LIKE '%likes_item_check%' FROM keyward_dead_letters",
        "also-too-long|t",
    );
}

#[test]
fn with_replicas_nothing_is_stored_that_they_lack() {
    let stage = Stage::new(SHOP);
    let server = stage.serve();
    let mut client = server.client();
    call_all(&mut client, "SELECT 2\nRPUSH likes one");
    let address = server.address();
    let syncing = stage.sync_as(&address.to_string(), &["--replicas", "1"]);
    wait_until(|| syncing.told().contains("waiting for 1 replicas"));
    stage.check("SELECT count(*) FROM likes", "0");
    let (host, port) = (address.ip().to_string(), address.port().to_string());
    let of = format!("{host} {port}");
    let replica = keyward_testkit::Server::keyward(
        std::path::Path::new(crate::stage::PROGRAM),
        &["--replicaof", &of, "--appendonly", "no"],
    );
    wait_until(|| stage.postgres.query("SELECT count(*) FROM likes") == "1");
    drop(replica);
}
