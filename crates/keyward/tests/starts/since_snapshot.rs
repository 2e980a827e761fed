//! What came into force since the snapshot that has the rows, where the append-only file leaves them
//! to it (`persist = "rdb"`): the schema is in the file, and what it did to the rows is not.

use super::cover::{SLOWLY, apply, count, say};
use super::{Place, accepted, call, fill, log, orders, text};
use keyward_resp::Frame;
use keyward_testkit::{Server, wait_until};
use std::fs;

fn saved(lifetime: &str) -> String {
    orders("persist = \"rdb\"", &format!("ttl = \"{lifetime}\""))
}

fn logged() -> String {
    orders("persist = \"aof\"", "ttl = \"none\"")
}

fn is_dated(server: &Server) -> bool {
    match call(&mut server.client(), "TTL order:1") {
        Frame::Integer(-1) => false,
        Frame::Integer(1..) => true,
        other => panic!("{other:?}"),
    }
}

/// Twenty rows that a snapshot has.
fn rows_of(schema: &str) -> (Place, Server) {
    let place = Place::new(true);
    let server = place.start(schema);
    fill(&server, "order:", 20);
    say(&server, "SAVE");
    (place, server)
}

#[test]
fn what_was_applied_is_done_again_to_rows_of_a_snapshot_from_before() {
    for (before, after) in [("1h", "none"), ("none", "1h")] {
        let (place, server) = rows_of(&saved(before));
        apply(&server, &saved(after));
        wait_until(|| is_dated(&server) == (after != "none"));
        drop(server);
        for start in 1..=2 {
            let server = place.start(&saved(before));
            assert_eq!(count(&server), Frame::Integer(20), "{before} to {after}, start {start}");
            assert_eq!(is_dated(&server), after != "none", "{before} to {after}, start {start}");
            assert!(log(&server).contains("put another schema in force"), "{}", log(&server));
        }
    }
}

#[test]
fn what_was_applied_is_asked_again_of_another_snapshot() {
    let (place, server) = rows_of(&saved("none"));
    let dump = place.data.path().join("dump.rdb");
    let aside = place.own.path().join("dump.rdb");
    fs::copy(&dump, &aside).expect("a copy");
    say(&server, "SET order:20 later");
    say(&server, "SAVE");
    apply(&server, &saved("1h"));
    wait_until(|| is_dated(&server));
    drop(server);
    fs::copy(&aside, &dump).expect("it is put back");
    let refused = place.refusal(&saved("none"));
    let server = place.serve(&[&saved("none")], &["--accept", &accepted(&refused)]);
    assert_eq!(count(&server), Frame::Integer(20));
    assert!(is_dated(&server));
}

/// A snapshot that began before the APPLY takes the place of the one that lay there then.
#[test]
fn what_was_applied_while_a_snapshot_was_written_is_done_again() {
    for place in Place::both() {
        let server = place.serve(&[&saved("none")], &SLOWLY);
        fill(&server, "order:", 20);
        say(&server, "BGSAVE");
        apply(&server, &saved("1h"));
        wait_until(|| is_dated(&server));
        let note = place.data.path().join("dump.rdb.schemas");
        assert!(fs::read_to_string(&note).expect("a note").starts_with("beside nothing\n"));
        say(&server, "CONFIG SET rdb-key-save-delay 0");
        wait_until(|| log(&server).contains("Background saving terminated with success"));
        wait_until(|| !fs::read_to_string(&note).expect("a note").starts_with("beside nothing\n"));
        drop(server);
        for start in 1..=2 {
            let server = place.start(&saved("none"));
            assert_eq!(count(&server), Frame::Integer(20), "start {start}");
            assert!(is_dated(&server), "start {start}");
            assert!(log(&server).contains("put another schema in force"), "{}", log(&server));
        }
    }
}

/// The server was killed in the moment between the two files.
#[test]
fn a_note_beside_another_snapshot_is_told_beside_an_append_only_file_too() {
    let (place, server) = rows_of(&saved("none"));
    apply(&server, &saved("1h"));
    wait_until(|| is_dated(&server));
    drop(server);
    let note = place.data.path().join("dump.rdb.schemas");
    let text = fs::read_to_string(&note).expect("a note");
    let (line, text) = text.split_once('\n').expect("a line");
    assert!(!line.ends_with("0000000000000000"), "{line} tells no snapshots apart");
    fs::write(&note, format!("beside nothing\n{text}")).expect("a note");
    let refused = place.refusal(&saved("none"));
    assert!(refused.contains("was written beside another snapshot"), "{refused}");
    let server = place.serve(&[&saved("none")], &["--accept", &accepted(&refused)]);
    assert!(is_dated(&server));
}

#[test]
fn a_damaged_note_is_told_beside_an_append_only_file_too() {
    let (place, server) = rows_of(&saved("none"));
    apply(&server, &saved("1h"));
    wait_until(|| is_dated(&server));
    drop(server);
    let note = place.data.path().join("dump.rdb.schemas");
    let text = fs::read_to_string(&note).expect("a note");
    fs::write(&note, text.replace("1h", "2h")).expect("a note");
    let refused = place.refusal(&saved("none"));
    assert!(refused.contains("was told to do is damaged, and is not used"), "{refused}");
}

/// A pattern observed when the rows were saved, and no longer when the server was killed.
#[test]
fn what_observed_when_rows_were_saved_is_asked() {
    let observing = orders("persist = \"rdb\"", "mode = \"observe\"\nttl = \"1h\"")
        + "\n[key.\"other:{id}\"]\ntype = \"string\"\nttl = \"1h\"\n";
    let (place, server) = rows_of(&observing);
    assert!(!is_dated(&server));
    let client = &mut server.client();
    let Frame::Error(told) = client.call(["KEYWARD", "MODE", "enforce"]).expect("a reply") else {
        panic!("it would date rows");
    };
    let told = String::from_utf8_lossy(&told).into_owned();
    let (_, plan) = told.rsplit_once("KEYWARD SCHEMA APPLY ").expect("a plan");
    call(client, &format!("KEYWARD SCHEMA APPLY {plan}"));
    wait_until(|| is_dated(&server));
    drop(server);
    let enforcing = observing.replace("mode = \"observe\"\n", "");
    let refused = place.refusal(&enforcing);
    assert!(refused.contains("dated"), "{refused}");
    let server = place.serve(&[&enforcing], &["--accept", &accepted(&refused)]);
    assert!(is_dated(&server));
}

#[test]
fn an_append_only_file_that_is_not_used_is_told() {
    const UNUSED: &str = "has an append-only file, which is not used with appendonly no";
    let place = Place::new(true);
    drop(place.start(&logged()));
    let server = place.serve(&[&logged()], &["--appendonly", "no"]);
    assert!(log(&server).contains(UNUSED), "{}", log(&server));
    drop(server);
    let server = Place::new(false).start(&logged());
    assert!(!log(&server).contains(UNUSED), "{}", log(&server));
}

#[test]
fn what_a_start_did_and_no_snapshot_has_is_asked_again() {
    let (place, server) = rows_of(&saved("none"));
    drop(server);
    let asked = accepted(&place.refusal(&saved("1h")));
    let options = [&["--accept", &asked][..], &SLOWLY].concat();
    let server = place.serve(&[&saved("1h")], &options);
    assert!(is_dated(&server));
    // The snapshot is not written yet.
    drop(server);
    assert_eq!(accepted(&place.refusal(&saved("1h"))), asked);
    let server = place.serve(&[&saved("1h")], &["--accept", &asked]);
    assert!(is_dated(&server));
    wait_until(|| log(&server).contains("Background saving terminated with success"));
    drop(server);
    assert!(is_dated(&place.start(&saved("1h"))));
}

#[test]
fn rows_that_leave_a_log_stay_though_it_is_switched_off_and_on() {
    for is_off_before in [false, true] {
        let place = Place::new(true);
        let server = place.serve(&[&logged()], &["--save", ""]);
        fill(&server, "order:", 10);
        if is_off_before {
            say(&server, "CONFIG SET appendonly no");
        }
        apply(&server, &saved("none"));
        say(&server, "CONFIG SET appendonly no");
        say(&server, "CONFIG SET appendonly yes");
        let info = |server: &Server| super::text(&call(&mut server.client(), "INFO persistence"));
        wait_until(|| {
            let info = info(&server);
            info.contains("aof_rewrite_in_progress:0") && info.contains("aof_rewrite_scheduled:0")
        });
        say(&server, "SET order:10 later");
        drop(server);
        let server = place.serve(&[&saved("none")], &["--save", ""]);
        assert_eq!(count(&server), Frame::Integer(11), "off before: {is_off_before}");
        // A snapshot has them from now on.
        say(&server, "SAVE");
        say(&server, "CONFIG SET appendonly no");
        say(&server, "CONFIG SET appendonly yes");
        say(&server, "SET order:11 unsaved");
        drop(server);
        let server = place.serve(&[&saved("none")], &["--save", ""]);
        assert_eq!(count(&server), Frame::Integer(11), "off before: {is_off_before}");
    }
}

#[test]
fn an_edited_file_that_takes_the_place_of_what_was_applied_is_told() {
    for place in Place::both() {
        let file = orders("", "ttl = \"none\"");
        let server = place.start(&file);
        fill(&server, "order:", 20);
        apply(&server, &format!("{file}\n[key.\"new:{{id}}\"]\ntype = \"string\"\n"));
        place.end(server);
        let server = place.start(&file);
        assert!(log(&server).contains("that one stays in force"), "{}", log(&server));
        place.end(server);
        // One that means the same is the file that was replaced.
        for same in ["# Reviewed.\nttl =", "doc = \"An order.\"\nttl =", "expect = \"10k\"\nttl ="]
        {
            let server = place.start(&file.replace("ttl =", same));
            assert!(log(&server).contains("that one stays in force"), "{same}: {}", log(&server));
            place.end(server);
        }
        let server = place.start(&format!("{file}\n[key.\"other:{{id}}\"]\ntype = \"string\"\n"));
        assert!(log(&server).contains("was edited since, and takes its place"), "{}", log(&server));
        assert_eq!(count(&server), Frame::Integer(20));
        place.end(server);
    }
}

/// Who is shown a value is no other meaning, but it is another text.
#[test]
fn an_applied_text_that_only_hides_values_outlives_a_start() {
    for place in Place::both() {
        let file = "[keyspace]\nname = \"shop\"\n[key.\"user:{id:uint}\"]\ntype = \"string\"\n";
        let server = place.start(file);
        apply(&server, &format!("{file}secret = true\n"));
        place.end(server);
        let server = place.start(file);
        assert!(log(&server).contains("that one stays in force"), "{}", log(&server));
        let shown = call(&mut server.client(), "KEYWARD SCHEMA SHOW");
        assert!(text(&shown).contains("secret = true"), "{shown:?}");
        place.end(server);
    }
}
