//! An append-only file that another server went on with, and did not write anew: what it wrote
//! there was judged by no schema, so a start is asked as for any file from elsewhere.

use keyward_resp::Frame;
use keyward_testkit::{Client, Server, call, installed_valkey};
use std::fs;
use std::path::Path;
use std::process::Command;

const NOTES: &str = "[keyspace]\nname = \"notes\"\nunknown = \"allow\"\n\n\
    [key.\"note:{id:uint}\"]\ntype = \"string\"\nttl = \"1d\"\n";
/// What the log of a start says then.
const CONTINUED: &str = "another server has written to the append-only file";

/// A directory with data and a schema.
struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        let directory = tempfile::tempdir().expect("a directory");
        fs::write(directory.path().join("notes.toml"), NOTES).expect("a schema");
        Place { directory }
    }

    fn path(&self, name: &str) -> String {
        self.directory.path().join(name).to_str().expect("a path in UTF-8").to_owned()
    }

    fn keyward(&self, options: &[&str]) -> Server {
        let (schema, data) = (self.path("notes.toml"), self.path(""));
        let fixed = [&*schema, "--dir", &data, "--appendonly", "yes"];
        Server::keyward(program(), &[&fixed[..], options].concat())
    }

    /// Why Keyward does not start.
    fn refusal(&self) -> String {
        let output = Command::new(program())
            .args(["serve", &self.path("notes.toml"), "--port", "0", "--unixsocket"])
            .args([&*self.path("socket"), "--dir", &self.path(""), "--appendonly", "yes"])
            .output()
            .expect("it runs");
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    fn theirs(&self, program: &Path) -> Server {
        let data = self.path("");
        let options = ["--dir", &data, "--appendonly", "yes", "--save", ""];
        Server::start(program, &options).unwrap_or_else(|error| panic!("{error}"))
    }
}

fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_keyward"))
}

fn log(server: &Server) -> String {
    fs::read_to_string(server.directory().join("log")).expect("a log")
}

fn text(frame: &Frame) -> String {
    String::from_utf8_lossy(frame.as_bytes().unwrap_or_default()).into_owned()
}

fn accepted(refusal: &str) -> String {
    let found = refusal.lines().find_map(|line| line.split_once("--accept "));
    found.unwrap_or_else(|| panic!("no plan in {refusal}")).1.to_owned()
}

fn lifetime(client: &mut Client, key: &str) -> i64 {
    match call(client, &format!("TTL {key}")) {
        Frame::Integer(left) => left,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_redis_appended_is_planned_and_what_was_accepted_is_remembered() {
    check_appended(Path::new("redis-server"));
}

#[test]
fn what_valkey_appended_is_planned_and_what_was_accepted_is_remembered() {
    check_appended(&installed_valkey().expect("Valkey"));
}

fn check_appended(program: &Path) {
    let place = Place::new();
    let ours = place.keyward(&[]);
    call(&mut ours.client(), "SET note:1 x");
    let other = &mut ours.client();
    call(other, "SELECT 3");
    call(other, "SET plain:1 x");
    drop(ours);
    // Killed, and started again: it is all our own.
    let ours = place.keyward(&[]);
    assert!(!log(&ours).contains(CONTINUED), "{}", log(&ours));
    call(&mut ours.client(), "SET note:2 x");
    drop(ours);

    let theirs = place.theirs(program);
    let client = &mut theirs.client();
    assert_eq!(call(client, "DBSIZE"), Frame::Integer(2));
    call(client, "SELECT 3");
    assert_eq!(text(&call(client, "GET plain:1")), "x");
    drop(theirs);
    // It has loaded the file, and written nothing.
    drop(place.keyward(&[]));

    let theirs = place.theirs(program);
    let client = &mut theirs.client();
    assert!(lifetime(client, "note:1") > 0);
    call(client, "SET note:3 without-an-end");
    drop(theirs);
    let told = place.refusal();
    assert!(told.contains("note:{id:uint}"), "{told}");
    assert_eq!(accepted(&told), accepted(&place.refusal()), "asking changes nothing");
    let ours = place.keyward(&["--accept", &accepted(&told)]);
    assert!(log(&ours).contains(CONTINUED), "{}", log(&ours));
    let client = &mut ours.client();
    assert!(lifetime(client, "note:3") > 0);
    call(client, "SET note:4 x");
    drop(ours);
    for _ in 0..2 {
        let ours = place.keyward(&[]);
        assert!(!log(&ours).contains(CONTINUED), "{}", log(&ours));
        assert_eq!(call(&mut ours.client(), "DBSIZE"), Frame::Integer(4));
        drop(ours);
    }
    // And it is still a file of theirs.
    let theirs = place.theirs(program);
    assert_eq!(call(&mut theirs.client(), "DBSIZE"), Frame::Integer(4));
}

#[test]
fn what_redis_appended_and_fits_starts_and_is_told_once() {
    let place = Place::new();
    let ours = place.keyward(&[]);
    call(&mut ours.client(), "SET note:1 x");
    drop(ours);
    let theirs = place.theirs(Path::new("redis-server"));
    call(&mut theirs.client(), "SET note:2 x EX 600");
    // In a transaction the database is selected within it.
    let client = &mut theirs.client();
    for command in ["SELECT 3", "MULTI", "SET plain:1 a", "SET plain:2 b", "EXEC"] {
        call(client, command);
    }
    drop(theirs);
    let ours = place.keyward(&[]);
    assert!(log(&ours).contains(CONTINUED), "{}", log(&ours));
    let client = &mut ours.client();
    assert!((500..=600).contains(&lifetime(client, "note:2")));
    assert_eq!(call(client, "DBSIZE"), Frame::Integer(2));
    // No command was logged since; the file remembers all the same.
    drop(ours);
    let ours = place.keyward(&[]);
    assert!(!log(&ours).contains(CONTINUED), "{}", log(&ours));
}

#[test]
fn what_was_applied_stays_applied_where_redis_went_on() {
    let place = Place::new();
    let ours = place.keyward(&[]);
    let client = &mut ours.client();
    call(client, "SET note:1 x EX 60");
    let hour = NOTES.replace("1d", "1h");
    let told = client.call(["KEYWARD", "SCHEMA", "PLAN", &hour]).expect("a plan");
    let plan = text(&told.as_elements().expect("a map")[1]);
    let applied = client.call(["KEYWARD", "SCHEMA", "APPLY", &plan]).expect("a reply");
    assert!(!matches!(applied, Frame::Error(_)), "{applied:?}");
    drop(ours);
    let theirs = place.theirs(Path::new("redis-server"));
    call(&mut theirs.client(), "SET note:2 without-an-end");
    drop(theirs);
    let ours = place.keyward(&["--accept", &accepted(&place.refusal())]);
    let client = &mut ours.client();
    assert_eq!(text(&call(client, "KEYWARD SCHEMA SHOW")), hour);
    assert!((3_500..=3_600).contains(&lifetime(client, "note:2")));
}

#[test]
fn observing_what_redis_appended_changes_nothing_and_is_asked_later() {
    let place = Place::new();
    let ours = place.keyward(&[]);
    call(&mut ours.client(), "SET note:1 x");
    drop(ours);
    let theirs = place.theirs(Path::new("redis-server"));
    call(&mut theirs.client(), "SET note:2 without-an-end");
    drop(theirs);
    let ours = place.keyward(&["--observe"]);
    assert!(log(&ours).contains(CONTINUED), "{}", log(&ours));
    assert_eq!(lifetime(&mut ours.client(), "note:2"), -1);
    drop(ours);
    accepted(&place.refusal());
}

/// Redis had what it appended, and nothing of the snapshot before: its own is no more than that.
#[test]
fn rows_that_redis_deleted_do_not_come_back_with_its_own_snapshot() {
    let place = Place::new();
    let saved = NOTES.replace("unknown", "persist = \"rdb\"\nunknown").replace("1d", "none");
    fs::write(place.path("notes.toml"), saved).expect("a schema");
    let ours = place.keyward(&[]);
    call(&mut ours.client(), "SET note:1 x");
    call(&mut ours.client(), "SAVE");
    drop(ours);
    let theirs = place.theirs(Path::new("redis-server"));
    let client = &mut theirs.client();
    call(client, "MSET note:2 x note:3 x");
    call(client, "SAVE");
    call(client, "DEL note:2");
    drop(theirs);
    for start in 1..=2 {
        let ours = place.keyward(&[]);
        let told = log(&ours);
        assert_eq!(call(&mut ours.client(), "DBSIZE"), Frame::Integer(1), "{told}");
        assert_eq!(text(&call(&mut ours.client(), "GET note:3")), "x");
        let line = "the rows that the snapshot has of it are not served";
        assert_eq!(told.contains(line), start == 1, "{told}");
    }
}
