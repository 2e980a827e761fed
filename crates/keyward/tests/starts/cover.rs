//! Rows that only snapshots have (`persist = "rdb"` beside an append-only file): whatever the next
//! start serves, and whatever comes into force meanwhile, they are there, and so is what is
//! acknowledged under another schema.

use super::{NOTES, Place, accepted, fill, log, orders, program, text};
use keyward_resp::Frame;
use keyward_testkit::{Client, Server, call, wait_until};
use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const ANEW: &str = "it is written anew before anybody is served";
const ARRIVED: &str = "Database 0: the append-only file has its rows now";
/// Twenty rows take most of a second.
pub(super) const SLOWLY: [&str; 2] = ["--rdb-key-save-delay", "40000"];

fn saved() -> String {
    orders("persist = \"rdb\"", "ttl = \"none\"")
}

fn logged() -> String {
    orders("persist = \"aof\"", "ttl = \"none\"")
}

fn elsewhere() -> String {
    NOTES.replace("name = ", "db = 3\nname = ")
}

pub(super) fn count(server: &Server) -> Frame {
    call(&mut server.client(), "DBSIZE")
}

pub(super) fn say(server: &Server, command: &str) {
    let reply = call(&mut server.client(), command);
    assert!(!matches!(reply, Frame::Error(_)), "{command}: {reply:?}");
}

pub(super) fn apply(server: &Server, schema: &str) {
    let mut client = server.client();
    let told = client.call(["KEYWARD", "SCHEMA", "PLAN", schema]).expect("a plan");
    let told = told.as_elements().unwrap_or_else(|| panic!("{told:?}"));
    let (plan, destroys) = (text(&told[1]), told[5].clone());
    let mut words = vec!["KEYWARD".to_owned(), "SCHEMA".into(), "APPLY".into(), plan];
    if let Frame::Integer(count @ 1..) = destroys {
        words.extend(["DESTROY".to_owned(), count.to_string()]);
    }
    let applied = client.call(&words).expect("a reply");
    assert!(!matches!(applied, Frame::Error(_)), "{applied:?}");
}

/// A place with twenty rows that only a snapshot has, whose server was killed.
fn place_of(schemas: &[&str]) -> Place {
    let place = Place::new(true);
    let server = place.serve(schemas, &[]);
    fill(&server, "order:", 20);
    say(&server, "SAVE");
    place
}

/// A server that has yet to be waited for.
struct Starting {
    child: Child,
    address: SocketAddr,
    log: PathBuf,
}

impl Starting {
    fn new(place: &Place, schema: &str, options: &[&str]) -> Starting {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        drop(listener);
        let log = place.own.path().join("log");
        let _ = fs::remove_file(&log);
        let named = std::env::var_os("KEYWARD_PROGRAM").map(PathBuf::from);
        let child = Command::new(named.unwrap_or_else(|| program().to_owned()))
            .arg("serve")
            .arg(place.file("s0.toml", schema))
            .args(place.settings())
            .args(["--port", &address.port().to_string(), "--logfile"])
            .arg(&log)
            .args(options)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it runs");
        Starting { child, address, log }
    }

    fn wait_for(&self, line: &str) {
        wait_until(|| fs::read_to_string(&self.log).is_ok_and(|log| log.contains(line)));
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn rows_of_snapshots_outlive_starts_that_serve_their_database_otherwise() {
    let (rdb, aof) = (saved(), logged());
    let blog = NOTES.replace("name = ", "unknown = \"allow\"\nname = ");
    let cases: [(&[&str], &[&str], &str); 5] = [
        (&[], &[], "no schema"),
        (&[&aof], &[], "an edited file"),
        (&[&blog], &[], "another keyspace"),
        (&[&rdb], &["--observe"], "--observe"),
        (&[&elsewhere()], &[], "another database"),
    ];
    for (schemas, options, what) in cases {
        let place = place_of(&[&rdb]);
        let server = place.serve(schemas, options);
        assert_eq!(count(&server), Frame::Integer(20), "{what}");
        assert!(log(&server).contains(ANEW), "{what}: {}", log(&server));
        assert!(log(&server).contains(ARRIVED), "{what}: {}", log(&server));
        // Killed at once.
        say(&server, "SET order:20 later");
        drop(server);
        for start in 1..=2 {
            let server = place.serve(schemas, options);
            assert_eq!(count(&server), Frame::Integer(21), "{what}, start {start}");
            assert!(!log(&server).contains(ANEW), "{what}: {}", log(&server));
        }
        let dump = place.data.path().join("dump.rdb");
        fs::remove_file(dump).expect("a snapshot");
        let server = place.serve(schemas, options);
        assert_eq!(count(&server), Frame::Integer(21), "{what}, without the snapshot");
    }
}

#[test]
fn rows_of_snapshots_outlive_a_start_without_one_of_two_files() {
    let (rdb, notes) = (saved(), elsewhere());
    let place = place_of(&[&rdb, &notes]);
    let server = place.serve(&[&notes], &[]);
    assert_eq!(count(&server), Frame::Integer(20));
    say(&server, "SET order:20 later");
    drop(server);
    assert_eq!(count(&place.serve(&[&notes], &[])), Frame::Integer(21));
    // They leave the append-only file again when a snapshot has them, and not before.
    let refused = place.refusal_of(&[&rdb, &notes]);
    let accept = accepted(&refused);
    drop(place.serve(&[&rdb, &notes], &["--save", "", "--accept", &accept]));
    let server = place.serve(&[&rdb, &notes], &[]);
    assert_eq!(count(&server), Frame::Integer(21));
    say(&server, "SAVE");
    say(&server, "SET order:21 unsaved");
    drop(server);
    assert_eq!(count(&place.serve(&[&rdb, &notes], &[])), Frame::Integer(21));
}

#[test]
fn a_start_that_is_killed_while_it_brings_rows_into_the_log_loses_none() {
    let place = place_of(&[&saved()]);
    for end in ["kill", "SHUTDOWN", "SHUTDOWN SAVE"] {
        let mut starting = Starting::new(&place, &logged(), &SLOWLY);
        starting.wait_for(ANEW);
        let mut client = Client::connect(starting.address).expect("a connection");
        let reply = client.call(["GET", "order:1"]).expect("a reply");
        assert!(matches!(&reply, Frame::Error(text) if text.starts_with(b"LOADING")), "{reply:?}");
        if end != "kill" {
            let words: Vec<&str> = end.split(' ').collect();
            let _ = client.call(&words);
            wait_until(|| starting.child.try_wait().expect("a child").is_some());
        }
    }
    for schema in [saved(), logged()] {
        let server = place.start(&schema);
        assert_eq!(count(&server), Frame::Integer(20), "{schema}");
    }
}

#[test]
fn an_applied_schema_that_brings_rows_into_the_log_loses_none_meanwhile() {
    for (how, saves) in [("APPLY", "3600 100000000"), ("APPLY", ""), ("MODE", "")] {
        let place = place_of(&[&saved()]);
        let options = [&SLOWLY[..], &["--save", saves]].concat();
        let server = place.serve(&[&saved()], &options);
        match how {
            "APPLY" => apply(&server, &logged()),
            _ => say(&server, "KEYWARD MODE observe"),
        }
        // Until the file has them snapshots do, and an end without one is refused.
        let refused = server.client().call(["SHUTDOWN", "NOSAVE"]).expect("a reply");
        assert_eq!(refused, Frame::Error(b"ERR Errors trying to SHUTDOWN. Check logs.".to_vec()));
        assert!(log(&server).contains("that only snapshots had, can't exit."), "{}", log(&server));
        say(&server, "SET order:20 later");
        drop(server);
        let server = place.serve(&[&saved()], &["--save", saves]);
        let Frame::Integer(rows @ 20..=21) = count(&server) else {
            panic!("{how}, save {saves:?}")
        };
        // What was applied is in force still, a mode is not.
        match how {
            "APPLY" => assert!(log(&server).contains(ANEW), "{}", log(&server)),
            _ => say(&server, "KEYWARD MODE observe"),
        }
        wait_until(|| log(&server).contains(ARRIVED));
        say(&server, "SET order:21 later");
        drop(server);
        // Out of observing is a way out of the file, which is asked about.
        let options: &[&str] = if how == "MODE" { &["--observe"] } else { &[] };
        let server = place.serve(&[&saved()], options);
        assert_eq!(count(&server), Frame::Integer(rows + 1), "{how}, save {saves:?}");
    }
}

#[test]
fn an_applied_schema_and_an_end_before_the_log_has_the_rows() {
    let place = place_of(&[&saved()]);
    let server = place.serve(&[&saved()], &SLOWLY);
    say(&server, "SET order:20 unsaved");
    apply(&server, &logged());
    wait_until(|| server.client().call(["SHUTDOWN", "SAVE"]).is_err());
    server.wait(Duration::from_secs(20));
    assert_eq!(count(&place.start(&logged())), Frame::Integer(21));
    assert_eq!(count(&place.start(&logged())), Frame::Integer(21));
}

#[test]
fn rows_that_are_to_leave_the_log_stay_until_a_snapshot_has_them() {
    let place = Place::new(true);
    let server = place.serve(&[&logged()], &["--save", ""]);
    fill(&server, "order:", 10);
    // One that does not have all of them.
    say(&server, "SAVE");
    fill(&server, "order:", 20);
    apply(&server, &saved());
    say(&server, "SET order:20 later");
    wait_until(|| log(&server).contains("Background AOF rewrite finished successfully"));
    say(&server, "SET order:21 later");
    drop(server);
    let server = place.serve(&[&saved()], &["--save", ""]);
    assert_eq!(count(&server), Frame::Integer(22));
    say(&server, "BGSAVE");
    wait_until(|| log(&server).contains("Background saving terminated with success"));
    say(&server, "SET order:22 unsaved");
    drop(server);
    assert_eq!(count(&place.serve(&[&saved()], &["--save", ""])), Frame::Integer(22));
}

/// A base of an earlier version does not say what it has: the schema that it remembers does, and
/// the first start says it instead.
#[test]
fn files_of_an_earlier_version_are_read_by_the_schema_that_they_remember() {
    let place = Place::new(true);
    let unsummed = ["--rdbchecksum", "no"];
    let server = place.serve(&[&saved()], &unsummed);
    fill(&server, "order:", 20);
    say(&server, "SAVE");
    drop(server);
    let folder = place.data.path().join("appendonlydir");
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("one").path());
    let base = entries.filter(|path| path.to_string_lossy().ends_with(".base.rdb"));
    let base = base.max().expect("a base");
    let bytes = fs::read(&base).expect("a base");
    let name = b"keyward-unlogged";
    let at = bytes.windows(name.len()).position(|part| part == name).expect("it tells");
    let mut older = bytes.clone();
    older[at + name.len() - 1] = b'X';
    fs::write(&base, older).expect("it is written");
    let starting = Starting::new(&place, &logged(), &SLOWLY);
    starting.wait_for(ANEW);
    drop(starting);
    let server = place.start(&logged());
    assert_eq!(count(&server), Frame::Integer(20));
    drop(server);
    assert_eq!(count(&place.start(&logged())), Frame::Integer(20));
}

#[test]
fn a_snapshot_of_another_server_beside_the_log_is_planned() {
    let rows_of_an_hour = orders("persist = \"rdb\"", "ttl = \"1h\"");
    let place = place_of(&[&rows_of_an_hour]);
    let folder = tempfile::tempdir().expect("a directory");
    let directory = folder.path().to_str().expect("a path in UTF-8");
    let theirs = Server::redis(&["--dir", directory]);
    say(&theirs, "SET order:7 undated");
    say(&theirs, "SAVE");
    let copied = fs::copy(folder.path().join("dump.rdb"), place.data.path().join("dump.rdb"));
    copied.expect("a snapshot");
    let refused = place.refusal(&rows_of_an_hour);
    assert!(refused.contains("remembers no schema, while the file remembers shop"), "{refused}");
    let accept = accepted(&refused);
    let server = place.serve(&[&rows_of_an_hour], &["--accept", &accept]);
    assert!(log(&server).contains("1 row dated"), "{}", log(&server));
    wait_until(|| log(&server).contains("Background saving terminated with success"));
    drop(server);
    let server = place.start(&rows_of_an_hour);
    assert_eq!(count(&server), Frame::Integer(1));
}
