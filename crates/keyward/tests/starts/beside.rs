//! What KEYWARD SCHEMA APPLY put in force is remembered without an append-only file too: in a file
//! beside the snapshot, until a snapshot has it.

use super::{NOTES, Place, accepted, apply, fill, log, orders, text};
use keyward_resp::Frame;
use keyward_testkit::{Server, call, wait_until};
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

fn day() -> String {
    NOTES.replace("ttl = \"none\"", "ttl = \"1d\"")
}

fn file(place: &Place) -> PathBuf {
    place.data.path().join("dump.rdb.schemas")
}

fn terminate(server: Server) {
    let id = server.process_id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().expect("kill runs").success());
    server.wait(Duration::from_secs(20));
}

fn shown(server: &Server) -> String {
    text(&call(&mut server.client(), "KEYWARD SCHEMA SHOW"))
}

/// Whether a row ends.
fn ends(server: &Server, key: &str) -> bool {
    matches!(call(&mut server.client(), &format!("TTL {key}")), Frame::Integer(1..))
}

#[test]
fn what_was_applied_outlives_a_kill_and_a_stop_without_an_append_only_file() {
    for saves in ["3600 100000000", ""] {
        for is_killed in [true, false] {
            let what = format!("save {saves:?}, killed: {is_killed}");
            let place = Place::new(false);
            let server = place.serve(&[NOTES], &["--save", saves]);
            call(&mut server.client(), "SET note:1 x");
            if !saves.is_empty() {
                call(&mut server.client(), "SAVE");
            }
            apply(&server, &day());
            assert!(ends(&server, "note:1"), "{what}");
            assert!(file(&place).exists(), "{what}");
            match is_killed {
                true => drop(server),
                false => terminate(server),
            }
            // What the snapshot has is dated again, which was accepted.
            for start in 1..=2 {
                let server = place.serve(&[NOTES], &["--save", saves]);
                assert_eq!(shown(&server), day(), "{what}, start {start}");
                let told = log(&server);
                assert!(
                    told.contains("KEYWARD SCHEMA APPLY put another schema in force"),
                    "{told}"
                );
                let is_there = call(&mut server.client(), "EXISTS note:1") == Frame::Integer(1);
                assert_eq!(is_there, !saves.is_empty(), "{what}: {told}");
                assert!(!is_there || ends(&server, "note:1"), "{what}: {told}");
                drop(server);
            }
        }
    }
}

#[test]
fn a_snapshot_that_has_what_was_applied_takes_the_place_of_the_file() {
    let place = Place::new(false);
    let server = place.start(NOTES);
    call(&mut server.client(), "SET note:1 x");
    apply(&server, &day());
    assert!(file(&place).exists());
    call(&mut server.client(), "BGSAVE");
    wait_until(|| !file(&place).exists());
    apply(&server, NOTES);
    assert!(file(&place).exists());
    drop(server);
    // The file that was served first is in force again, and the snapshot has another.
    let server = place.start(NOTES);
    assert_eq!(shown(&server), NOTES);
    assert!(!ends(&server, "note:1"), "that was applied too");
    // Rows changed by that, so a snapshot is written by itself.
    wait_until(|| !file(&place).exists());
    drop(server);
    assert_eq!(shown(&place.start(NOTES)), NOTES);
}

#[test]
fn a_start_with_another_file_forgets_what_was_applied_once_it_is_accepted() {
    let place = Place::new(false);
    let server = place.start(NOTES);
    call(&mut server.client(), "SET note:1 x");
    call(&mut server.client(), "SAVE");
    apply(&server, &day());
    drop(server);
    let hour = NOTES.replace("ttl = \"none\"", "ttl = \"1h\"");
    let refused = place.refusal(&hour);
    assert!(file(&place).exists(), "a refused start changes nothing");
    let server = place.serve(&[&hour], &["--accept", &accepted(&refused)]);
    assert_eq!(shown(&server), hour);
    assert!(!file(&place).exists());
    drop(server);
}

#[test]
fn a_damaged_file_of_what_was_applied_is_said_and_not_used() {
    let place = Place::new(false);
    let server = place.start(NOTES);
    apply(&server, &day());
    drop(server);
    let bytes = fs::read_to_string(file(&place)).expect("a file");
    fs::write(file(&place), bytes.replace("1d", "2d")).expect("a file");
    let server = place.start(NOTES);
    assert_eq!(shown(&server), NOTES);
    let line = "the schema which KEYWARD SCHEMA APPLY put in force is damaged, and is not used";
    assert!(log(&server).contains(line), "{}", log(&server));
    // It may be all that is left of what was applied.
    assert!(!file(&place).exists());
    assert!(log(&server).contains("it is kept as "), "{}", log(&server));
    let kept = fs::read_to_string(aside(&place)).expect("a file");
    assert!(kept.contains("2d"), "{kept}");
}

fn aside(place: &Place) -> PathBuf {
    place.data.path().join("dump.rdb.schemas.aside")
}

#[test]
fn what_was_applied_without_the_append_only_file_is_set_aside_where_that_one_is_loaded() {
    let place = Place::new(true);
    let server = place.start(NOTES);
    let mut client = server.client();
    call(&mut client, "SET note:1 x");
    call(&mut client, "CONFIG SET appendonly no");
    apply(&server, &day());
    drop(server);
    let server = place.start(NOTES);
    assert_eq!(shown(&server), NOTES);
    assert!(!file(&place).exists());
    let kept = fs::read_to_string(aside(&place)).expect("a file");
    assert!(kept.contains("1d"), "{kept}");
    let line =
        "tells of another schema than the append-only file, which is in force: it is kept as";
    assert!(log(&server).contains(line), "{}", log(&server));
}

#[test]
fn what_was_accepted_beside_one_snapshot_is_asked_again_beside_another() {
    let [place, other] = [Place::new(false), Place::new(false)];
    for (place, count) in [(&place, 1), (&other, 5)] {
        let server = place.start(NOTES);
        for id in 0..count {
            call(&mut server.client(), &format!("SET note:{id} x"));
        }
        call(&mut server.client(), "SAVE");
        if count == 1 {
            apply(&server, &day());
        }
    }
    let dump = |place: &Place| place.data.path().join("dump.rdb");
    fs::copy(dump(&other), dump(&place)).expect("a copy");
    let refused = place.refusal(NOTES);
    assert!(refused.contains("was written beside another snapshot"), "{refused}");
    assert!(refused.contains("dated") && refused.contains("note:{id:uint}"), "{refused}");
    assert!(file(&place).exists(), "a refused start changes nothing");
    let server = place.serve(&[NOTES], &["--accept", &accepted(&refused)]);
    assert_eq!(shown(&server), day());
    assert!(ends(&server, "note:4"));
}

#[test]
fn more_than_was_accepted_goes_only_if_it_is_asked_for() {
    let place = Place::new(false);
    let kept = orders("", "ttl = \"none\"");
    let server = place.start(&kept);
    fill(&server, "order:", 20);
    let mut client = server.client();
    call(&mut client, "SAVE");
    for id in 1..20 {
        call(&mut client, &format!("DEL order:{id}"));
    }
    let unkept = orders("persist = \"none\"", "ttl = \"none\"");
    let told = client.call(["KEYWARD", "SCHEMA", "PLAN", &unkept]).expect("a plan");
    let plan = text(&told.as_elements().expect("a map")[1]);
    let applied = client.call(["KEYWARD", "SCHEMA", "APPLY", &plan, "DESTROY", "1"]);
    assert!(!matches!(applied.expect("a reply"), Frame::Error(_)));
    drop(server);
    // The snapshot has more rows than were there.
    let refused = place.refusal(&kept);
    assert!(refused.contains(&format!("--accept {plan} DESTROY 20\n")), "{refused}");
    let server = place.serve(&[&kept], &["--accept", &plan, "DESTROY", "20"]);
    assert_eq!(shown(&server), unkept);
}

#[test]
fn a_start_wants_to_hear_how_much_is_destroyed_as_apply_does() {
    let place = Place::new(false);
    let server = place.start(&orders("", "ttl = \"none\""));
    fill(&server, "order:", 20);
    call(&mut server.client(), "SAVE");
    drop(server);
    let unkept = orders("persist = \"none\"", "ttl = \"none\"");
    let refused = place.refusal(&unkept);
    let option = accepted(&refused);
    let (plan, count) = option.split_once(' ').expect("more than a name");
    assert_eq!(count, "DESTROY 20", "{refused}");
    for words in [&[plan][..], &[plan, "DESTROY", "19"], &["DESTROY", "20"]] {
        let again = place.refusal_by(&[&unkept], &[&["--accept"], words].concat());
        assert!(again.contains(&format!("--accept {option}\n")), "{words:?}: {again}");
    }
    let words: Vec<&str> = option.split(' ').collect();
    let server = place.serve(&[&unkept], &[&["--accept"], &words[..]].concat());
    assert_eq!(call(&mut server.client(), "DBSIZE"), Frame::Integer(20));
    let told = call(&mut server.client(), "CONFIG GET accept");
    assert_eq!(text(&told.as_elements().expect("a map")[1]), option);
}

#[test]
fn what_several_applied_one_after_the_other_did_is_asked_of_a_snapshot_from_before() {
    let hour = NOTES.replace("ttl = \"none\"", "ttl = \"1h\"");
    let place = Place::new(false);
    let server = place.start(NOTES);
    call(&mut server.client(), "SET note:1 x");
    call(&mut server.client(), "SAVE");
    apply(&server, &day());
    apply(&server, &hour);
    drop(server);
    let refused = place.refusal(NOTES);
    assert!(refused.contains("dated") && refused.contains("note:{id:uint}"), "{refused}");
    let server = place.serve(&[NOTES], &["--accept", &accepted(&refused)]);
    assert_eq!(shown(&server), hour);
    assert!(ends(&server, "note:1"));
}

#[test]
fn a_file_that_cannot_be_written_is_said() {
    let place = Place::new(false);
    let server = place.start(NOTES);
    // A folder stands in its place.
    fs::create_dir(file(&place)).expect("a folder");
    apply(&server, &day());
    assert_eq!(shown(&server), day());
    let line = "What KEYWARD SCHEMA APPLY put in force is remembered by the next snapshot or the \
                append-only file only: ";
    wait_until(|| log(&server).contains(line));
}
