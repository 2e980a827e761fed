//! What messages call the text that KEYWARD SCHEMA APPLY put in force: lines are counted in that
//! text, so its name is not that of the file that it replaced.

use keyward_resp::Frame;
use keyward_testkit::{Client, Server};
use std::fs;
use std::path::Path;

const FILE: &str = "[keyspace]\nname = \"notes\"\n\n\
    [key.\"note:{id:uint}\"]\ntype = \"string\"\nttl = \"none\"\nvalue = \"uint\"\n";
/// The same key further down, and with another value.
const OTHER: &str = "[keyspace]\nname = \"notes\"\n\n# One.\n# Two.\n# Three.\n\
    [key.\"note:{id:uint}\"]\ntype = \"string\"\nttl = \"none\"\nvalue = \"a | b\"\n";
const SECOND: &str = "[keyspace]\nname = \"pages\"\n\n\
    [key.\"page:{id:uint}\"]\ntype = \"string\"\nttl = \"none\"\n";

struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        let directory = tempfile::tempdir().expect("a directory");
        fs::write(directory.path().join("notes.toml"), FILE).expect("a schema");
        fs::write(directory.path().join("pages.toml"), SECOND).expect("a schema");
        Place { directory }
    }

    fn path(&self, name: &str) -> String {
        self.directory.path().join(name).to_str().expect("a path in UTF-8").to_owned()
    }

    fn start(&self, files: &[&str]) -> Server {
        let files: Vec<String> = files.iter().map(|file| self.path(file)).collect();
        let mut options: Vec<&str> = files.iter().map(|file| &**file).collect();
        let data = self.path("");
        options.extend(["--dir", &data, "--appendonly", "yes"]);
        Server::keyward(Path::new(env!("CARGO_BIN_EXE_keyward")), &options)
    }
}

/// All texts of a reply, one behind the other.
fn texts(frame: &Frame) -> String {
    match (frame, frame.as_elements()) {
        (Frame::Error(line), _) => String::from_utf8_lossy(line).into_owned(),
        (_, Some(all)) => all.iter().map(texts).collect::<Vec<_>>().join(" "),
        _ => String::from_utf8_lossy(frame.as_bytes().unwrap_or_default()).into_owned(),
    }
}

/// All texts of the reply to a command, which may be refused.
fn ask(client: &mut Client, command: &str) -> String {
    texts(&client.call(command.split(' ').collect::<Vec<_>>()).expect("a reply"))
}

fn apply(client: &mut Client, keyspace: Option<&str>, schema: &str) {
    let words = ["KEYWARD", "SCHEMA", "PLAN"].into_iter().chain(keyspace).chain([schema]);
    let told = client.call(words.collect::<Vec<_>>()).expect("a plan");
    let plan = texts(&told.as_elements().unwrap_or_else(|| panic!("{told:?}"))[1]);
    let applied = client.call(["KEYWARD", "SCHEMA", "APPLY", &plan]).expect("a reply");
    assert!(!matches!(applied, Frame::Error(_)), "{applied:?}");
}

/// Everything that names a place of the text names this one, and no other.
fn check_places(client: &mut Client, place: &str) {
    let (file, _) = place.rsplit_once(':').expect("a line");
    let mut check = |command: &str| {
        let told = ask(client, command);
        let places: Vec<&str> = told.match_indices(".toml").map(|(at, _)| &told[at..]).collect();
        assert!(!places.is_empty(), "{command}: {told}");
        let (_, named) = file.split_once(".toml").expect("a file");
        let is_it = |rest: &&str| rest.starts_with(&format!(".toml{named}:"));
        assert!(places.iter().all(is_it), "{command}: {told}");
        assert!(told.contains(place), "{command}: {told} does not name {place}");
    };
    check("SET note:2 c");
    check("RPUSH note:2 a");
    check("KEYWARD MATCH note:2");
    check("KEYWARD EXPLAIN SET note:2 c");
    check("KEYWARD REFUSALS note:{id:uint} COUNT 1");
}

#[test]
fn places_are_those_of_the_text_that_was_applied() {
    let place = Place::new();
    let server = place.start(&["notes.toml"]);
    let client = &mut server.client();
    check_places(client, "notes.toml:4");
    assert_eq!(ask(client, "SET note:1 1"), "OK");
    // The same text has the lines of the file.
    apply(client, None, FILE);
    check_places(client, "notes.toml:4");
    apply(client, None, OTHER);
    check_places(client, "notes.toml as applied:7");
    let misfits = ask(client, "KEYWARD MISFITS");
    assert!(misfits.contains("notes.toml as applied:7"), "{misfits}");
    // Once more it is called the same.
    apply(client, None, &format!("# Zero.\n{OTHER}"));
    check_places(client, "notes.toml as applied:8");
    let refused = client.call(["KEYWARD", "SCHEMA", "PLAN", "[key.a]\ntype = 5\n"]);
    let refused = texts(&refused.expect("a reply"));
    assert!(refused.contains("(line ") && !refused.contains(".toml"), "{refused}");
    drop(server);
    let server = place.start(&["notes.toml"]);
    check_places(&mut server.client(), "notes.toml as applied:8");
    let log = fs::read_to_string(server.directory().join("log")).expect("a log");
    assert!(log.contains("notes.toml: KEYWARD SCHEMA APPLY put another schema in force"), "{log}");
    drop(server);
    // The file that says what was applied is one with lines of its own.
    fs::write(place.path("notes.toml"), format!("# Zero.\n{OTHER}")).expect("a schema");
    let server = place.start(&["notes.toml"]);
    check_places(&mut server.client(), "notes.toml:8");
}

#[test]
fn a_text_that_no_file_was_for_is_called_applied_too() {
    let place = Place::new();
    let server = place.start(&[]);
    let client = &mut server.client();
    apply(client, None, OTHER);
    check_places(client, "keyward.toml as applied:7");
    drop(server);
    let server = place.start(&[]);
    check_places(&mut server.client(), "keyward.toml as applied:7");
}

#[test]
fn of_files_that_share_a_database_only_the_one_that_was_replaced_is_called_so() {
    let place = Place::new();
    let server = place.start(&["notes.toml", "pages.toml"]);
    apply(&mut server.client(), Some("notes"), OTHER);
    let check = |server: &Server| {
        let client = &mut server.client();
        check_places(client, "notes.toml as applied:7");
        let refused = ask(client, "RPUSH page:1 a");
        assert!(refused.ends_with("pages.toml:4)"), "{refused}");
    };
    check(&server);
    drop(server);
    check(&place.start(&["notes.toml", "pages.toml"]));
}
