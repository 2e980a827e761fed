//! Starts, lost changes, other servers and other schemas: what is stored stays right.

use keyward_resp::Frame;
use keyward_testkit::Server;

use crate::rows::SHOP;
use crate::stage::{Aside, Stage, begun, call_all, said};

/// Pushes an item, as a server that starts for it and ends.
fn push(stage: &Stage, id: &str) -> String {
    let server = stage.serve();
    push_to(&server, id);
    said(&stage.sync_once(&server))
}

fn push_to(server: &Server, id: &str) {
    let item = format!(r#"RPUSH tx:7 '{{"id":"{id}","amount":1}}'"#);
    call_all(&mut server.client(), &format!("SELECT 2\n{item}"));
}

#[test]
fn what_the_server_lost_stays_and_is_listed() {
    let stage = Stage::new(SHOP);
    push(&stage, "t1");
    stage.swap_data(Aside::Put);
    push(&stage, "t2");
    // Its last change is gone, as after a power cut.
    stage.swap_data(Aside::Bring);
    let told = push(&stage, "t3");
    assert!(told.contains("see keyward_forks"), "{told}");
    stage.check("SELECT string_agg(id, ' ' ORDER BY id) FROM tx", "t1 t2 t3");
    stage.check("SELECT count(*) FROM keyward_forks", "1");
    // A start that lost nothing is none.
    push(&stage, "t4");
    stage.check("SELECT count(*) FROM keyward_forks", "1");
}

#[test]
fn ids_that_are_given_twice_are_told_apart_by_their_histories() {
    let stage = Stage::new(SHOP);
    let like = |server: &Server, item: &str| {
        call_all(&mut server.client(), &format!("SELECT 2\nRPUSH likes {item}"));
    };
    let server = stage.serve();
    like(&server, "a");
    said(&stage.sync_once(&server));
    drop(server);
    stage.swap_data(Aside::Put);
    let server = stage.serve();
    like(&server, "b");
    said(&stage.sync_once(&server));
    // As if its clock had been ahead when it told what it lost then: ids come once more.
    stage
        .postgres
        .query("UPDATE keyward_place SET entry = '99999999999999-0', highest = '99999999999999-0'");
    drop(server);
    stage.swap_data(Aside::Bring);
    let server = stage.serve();
    like(&server, "c d");
    let told = said(&stage.sync_once(&server));
    assert!(told.contains("the server lost what came after"), "{told}");
    assert!(told.contains("1 change stored as 2 rows"), "{told}");
    stage.check("SELECT string_agg(item, ' ' ORDER BY item) FROM likes", "a b c d");
    // Each has a number that nothing else has, whatever its time.
    stage.check("SELECT count(*) FROM likes WHERE entry ~ '^[0-9]+-[0-9]+-[01]-[0-9a-f]{8}$'", "2");
}

#[test]
fn a_mirrored_row_that_a_lost_second_took_back_is_mended() {
    let stage = Stage::new(SHOP);
    let server = stage.serve();
    call_all(&mut server.client(), "SELECT 2\nHSET user:1 name Ann balance 1 state active");
    said(&stage.sync_once(&server));
    drop(server);
    stage.swap_data(Aside::Put);
    let server = stage.serve();
    let more = "SELECT 2\nHSET user:1 balance 2\nHSET user:2 name Bob balance 5 state active";
    call_all(&mut server.client(), more);
    said(&stage.sync_once(&server));
    stage.check("SELECT id, balance FROM users ORDER BY id", "1|2\n2|5");
    drop(server);
    stage.swap_data(Aside::Bring);
    // Nothing changes, and it is seen all the same.
    let server = stage.serve();
    let mut told = String::new();
    keyward_testkit::wait_until(|| {
        told = String::from_utf8_lossy(&stage.sync_once(&server).stderr).into_owned();
        told.contains("of its 2 rows 1 are otherwise on the server and 1 are not there")
    });
    // That is more than a hundredth, so it has to be meant.
    stage.check("SELECT id, balance FROM users ORDER BY id", "1|2\n2|5");
    let told = said(&stage.sync_with(&server, &["--once", "--accept"]));
    assert!(told.contains("1 stored, 1 taken away or marked"), "{told}");
    stage.check("SELECT id, balance, deleted_at IS NULL FROM users ORDER BY id", "1|1|t\n2|5|f");
}

#[test]
fn a_comparison_changes_a_hundredth_of_a_table_and_not_a_row_more() {
    let (stage, server, mut client) = begun(SHOP, "SELECT 2");
    for id in 0..250 {
        call_all(&mut client, &format!("HSET user:{id} name N balance 1 state active"));
    }
    said(&stage.sync_once(&server));
    let differ = |rows: u32| {
        stage.postgres.query(&format!(
            "UPDATE users SET balance = 7 WHERE id < {rows}; UPDATE keyward_place SET compares = true"
        ));
    };
    differ(3);
    let output = stage.sync_once(&server);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("of its 250 rows 3 are otherwise"), "{told}");
    stage.check("SELECT count(*) FROM users WHERE balance = 7", "3");
    stage.postgres.query("UPDATE users SET balance = 1 WHERE id = 2");
    said(&stage.sync_once(&server));
    stage.check("SELECT count(*) FROM users WHERE balance = 7", "0");
}

#[test]
fn another_server_is_told_and_takes_no_rows_away_unasked() {
    let (stage, server, mut client) = begun(SHOP, "SELECT 2");
    for id in 0..50 {
        let row = format!("HSET user:{id} name N balance 1 state active");
        call_all(&mut client, &row);
    }
    push_to(&server, "t1");
    said(&stage.sync_once(&server));
    drop(server);
    // It has lost everything, and goes on.
    stage.empty_data();
    let server = stage.serve();
    call_all(&mut server.client(), "SELECT 2\nHSET user:7 name Bob balance 5 state active");
    push_to(&server, "t2");
    let output = stage.sync_once(&server);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(
        told.contains("this is another server, or one that has lost all of its past"),
        "{told}"
    );
    assert!(told.contains("users: of its 50 rows 0 are otherwise on the server and"), "{told}");
    assert!(told.contains("say --accept"), "{told}");
    stage.check("SELECT count(*) FILTER (WHERE deleted_at IS NULL) FROM users", "50");
    said(&stage.sync_with(&server, &["--once", "--accept"]));
    stage.check("SELECT string_agg(name, ' ') FROM users WHERE deleted_at IS NULL", "Bob");
    // What was appended is never taken away.
    stage.check("SELECT string_agg(id, ' ' ORDER BY id) FROM tx", "t1 t2");
    stage.check("SELECT count(*) FROM keyward_forks", "1");
}

#[test]
fn a_mirror_that_is_added_is_filled_with_the_rows_that_are_there() {
    let without = SHOP.replace("sink   = { mirror = \"cards\" }", "");
    let (stage, server, mut client) = begun(&without, "SELECT 2");
    for id in 0..1_500 {
        call_all(&mut client, &format!(r#"SET card:{id} '{{"user":{id}}}'"#));
    }
    said(&stage.sync_once(&server));
    stage.change_schema(SHOP);
    stage.apply(&mut client);
    said(&stage.sync_once(&server));
    stage.check("SELECT count(*), sum(\"user\") FROM cards", "1500|1124250");
    // While a key observes nothing is told of it.
    assert_eq!(
        client.call(["KEYWARD", "MODE", "observe"]).expect("a reply"),
        Frame::Simple(b"OK".to_vec())
    );
    call_all(&mut client, "DEL card:3\nSET card:9999 '{\"user\":1}'");
    said(&stage.sync_once(&server));
    assert_eq!(
        client.call(["KEYWARD", "MODE", "schema"]).expect("a reply"),
        Frame::Simple(b"OK".to_vec())
    );
    said(&stage.sync_once(&server));
    assert!(stage.verify(&server).starts_with("exit 0"), "{}", stage.verify(&server));
    stage.check("SELECT count(*) FROM cards WHERE id IN ('3', '9999')", "1");
}

#[test]
fn entries_of_a_sink_that_was_removed_hold_nobody_up() {
    let with_pages = SHOP;
    let without = SHOP.replace("sink = { archive = \"pages\" }", "");
    let (stage, server, mut client) =
        begun(with_pages, "SELECT 2\nRPUSH likes a\nSET page:x one\nDEL page:x\nRPUSH likes b");
    stage.change_schema(&without);
    stage.apply(&mut client);
    call_all(&mut client, "RPUSH likes c\nSET page:y two\nDEL page:y");
    // Who has the former schema stores what it knows, and says what is to be done.
    stage.change_schema(with_pages);
    let output = stage.sync_once(&server);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.code() == Some(2) && told.contains("other sinks than this one"),
        "{told}"
    );
    stage.check("SELECT string_agg(item, ' ' ORDER BY entry) FROM likes", "a b");
    stage.check("SELECT path FROM pages", "x");
    call_all(&mut client, "RPUSH likes d");
    stage.change_schema(&without);
    said(&stage.sync_once(&server));
    stage.check("SELECT string_agg(item, ' ' ORDER BY entry) FROM likes", "a b c d");
    // And the other way round: who comes with the new schema alone loses nothing.
    stage.change_schema(with_pages);
    stage.apply(&mut client);
    call_all(&mut client, "SET page:z three\nDEL page:z");
    stage.change_schema(&without);
    stage.apply(&mut client);
    call_all(&mut client, "RPUSH likes e");
    let told = said(&stage.sync_once(&server));
    assert!(told.contains("see keyward_dead_letters"), "{told}");
    stage.check("SELECT string_agg(item, ' ' ORDER BY entry) FROM likes", "a b c d e");
    stage.check(
        "SELECT convert_from(key, 'UTF8'), convert_from(item, 'UTF8') FROM keyward_dead_letters",
        "page:z|{\"value\":\"three\"}",
    );
    // A schema that takes it stores it after all.
    stage.change_schema(with_pages);
    stage.apply(&mut client);
    let told = said(&stage.sync_with(&server, &["--once", "--resend"]));
    assert!(told.contains("1 dead letter sent again and stored"), "{told}");
    stage.check("SELECT path, value FROM pages ORDER BY entry", "x|one\nz|three");
    stage.check("SELECT count(*) FROM keyward_dead_letters", "0");
}

#[test]
fn what_was_stored_and_not_yet_trimmed_is_trimmed_first() {
    let (stage, server, mut client) = begun(SHOP, "SELECT 2\nRPUSH likes a");
    said(&stage.sync_once(&server));
    call_all(&mut client, "RPUSH likes b");
    let feed = "keyward:changefeed:shop";
    let entries = client.call(["XRANGE", feed, "-", "+"]).expect("entries");
    let last = entries.as_elements().and_then(|all| all.last()?.as_elements()?[0].as_bytes());
    let last = String::from_utf8_lossy(last.expect("an entry")).into_owned();
    // As if whoever stored it had ended before the trim.
    stage.postgres.query(&format!(
        "INSERT INTO likes VALUES ('b', now(), '{last}-0'); \
         UPDATE keyward_place SET entry = '{last}', highest = '{last}', number = number + 1"
    ));
    let told = said(&stage.sync_once(&server));
    assert!(told.contains("0 changes stored as 0 rows"), "{told}");
    assert_eq!(client.call(["XLEN", feed]).expect("a reply"), Frame::Integer(0));
    stage.check("SELECT string_agg(item, ' ' ORDER BY item) FROM likes", "a b");
}

#[test]
fn a_row_that_was_stored_ahead_of_its_lost_change_is_mended() {
    let (stage, server, mut client) = begun(SHOP, "SELECT 2\nRPUSH likes a");
    said(&stage.sync_once(&server));
    for id in 1..=250 {
        call_all(&mut client, &format!("HSET user:{id} name N balance 1 state active"));
    }
    // What the disk has, if the power fails now.
    stage.swap_data(Aside::Put);
    call_all(&mut client, "HSET user:1 balance 2\nHSET user:999 name N balance 1 state active");
    // The first batches are stored, with rows as they are by now.
    stage.postgres.query("ALTER TABLE users ADD CONSTRAINT no CHECK (id <> 240)");
    let output = stage.sync_once(&server);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && told.contains("the row of user:240"), "{told}");
    stage.check("SELECT balance FROM users WHERE id = 1", "2");
    stage.postgres.query("ALTER TABLE users DROP CONSTRAINT no");
    drop(client);
    drop(server);
    stage.swap_data(Aside::Bring);
    let server = stage.serve();
    let told = said(&stage.sync_once(&server));
    stage.check("SELECT count(*), sum(balance) FROM users WHERE deleted_at IS NULL", "250|250");
    assert!(stage.verify(&server).starts_with("exit 0"), "{}", stage.verify(&server));
    assert!(told.contains("mirrored rows were compared: 1 stored"), "{told}");
    // Starts that lose nothing compare nothing.
    call_all(&mut server.client(), "SELECT 2\nHSET user:1 balance 3");
    drop(server);
    let server = stage.serve();
    call_all(&mut server.client(), "SELECT 2\nHSET user:1 balance 4");
    stage.check("SELECT compares FROM keyward_place", "f");
    let told = said(&stage.sync_once(&server));
    assert!(!told.contains("lost changes") && !told.contains("were compared"), "{told}");
    stage.check("SELECT balance FROM users WHERE id = 1", "4");
}
