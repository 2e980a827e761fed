//! What one start accepted the next one leaves alone, and what a start does to rows it says.
//! The same of a mode that is switched and of files that are read anew, where they cost rows.

mod beside;
mod by_hand;
mod completed;
mod cover;
mod elsewhere;
mod flushed;
mod leaving;
mod one_table;
mod several;
mod since_snapshot;
mod told;

use keyward_resp::Frame;
use keyward_testkit::{Client, Server, call, within};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const LIFETIMES: &str = r#"
[keyspace]
name = "lives"

[key."lead:{id}"]
type = "string"
ttl = "1h"

[key."with:{id}"]
type = "string"
ttl = { with = "lead:{id}" }

[key."given:{id}"]
type = "string"
ttl = { given = true, default = "1h" }

[key."ever:{id}"]
type = "string"
ttl = "none"

[key."hour:{id}"]
type = "string"
ttl = "1h"

[key."until:{id}"]
type = "hash"
ttl = { until = "ends_at" }
fields = { ends_at = "timestamp_ms" }

[key."recent"]
type = "set"
items = "str"
ttl = "none"
follows = "ever:{member}"
"#;

fn warning() -> String {
    LIFETIMES.replace("name = \"lives\"", "name = \"lives\"\nmode = \"warn\"")
}

/// A directory for data, with files of schemas beside it.
struct Place {
    data: tempfile::TempDir,
    own: tempfile::TempDir,
    appends: bool,
}

impl Place {
    fn new(appends: bool) -> Place {
        let directory = || tempfile::tempdir().expect("a directory");
        Place { data: directory(), own: directory(), appends }
    }

    /// With the append-only file, and with snapshots.
    fn both() -> [Place; 2] {
        [Place::new(true), Place::new(false)]
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.own.path().join(name);
        fs::write(&path, text).expect("a file");
        path.to_str().expect("a path in UTF-8").to_owned()
    }

    fn settings(&self) -> [&str; 8] {
        let data = self.data.path().to_str().expect("a path in UTF-8");
        let appends = if self.appends { "yes" } else { "no" };
        let saves = "3600 100000000";
        ["--dir", data, "--appendonly", appends, "--save", saves, "--enable-debug-command", "yes"]
    }

    /// A server that serves these schemas.
    fn serve(&self, schemas: &[&str], options: &[&str]) -> Server {
        let names = (0..schemas.len()).map(|at| format!("s{at}.toml"));
        let files: Vec<String> =
            names.zip(schemas).map(|(name, text)| self.file(&name, text)).collect();
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        Server::keyward(program(), &[&files[..], &self.settings(), options].concat())
    }

    fn start(&self, schema: &str) -> Server {
        self.serve(&[schema], &[])
    }

    /// Why a server does not start.
    fn refusal(&self, schema: &str) -> String {
        self.refusal_of(&[schema])
    }

    /// The same of one that serves several schemas.
    fn refusal_of(&self, schemas: &[&str]) -> String {
        self.refusal_by(schemas, &[])
    }

    /// The same of one with further options.
    fn refusal_by(&self, schemas: &[&str], options: &[&str]) -> String {
        let (code, told) = self.ending(schemas, options);
        assert_eq!(code, Some(1), "{told}");
        told
    }

    /// How a server ends that does not start, and what it says.
    fn ending(&self, schemas: &[&str], options: &[&str]) -> (Option<i32>, String) {
        let names = (0..schemas.len()).map(|at| format!("s{at}.toml"));
        let files = names.zip(schemas).map(|(name, text)| self.file(&name, text));
        let named = std::env::var_os("KEYWARD_PROGRAM");
        let mut child = Command::new(named.as_ref().map_or(program(), Path::new))
            .arg("serve")
            .args(files)
            .args(["--port", "0", "--unixsocket"])
            .arg(self.own.path().join("socket"))
            .args(self.settings())
            .args(options)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it runs");
        let status = within(Duration::from_secs(20), || child.try_wait().expect("a child"));
        // One that serves would never end.
        child.kill().expect("it ends");
        let output = child.wait_with_output().expect("what it says");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        (status.and_then(|status| status.code()), told)
    }

    /// Ends a server: with the log it is killed, and with snapshots it saves.
    fn end(&self, server: Server) {
        if !self.appends {
            // One that is being saved says so, and goes on.
            keyward_testkit::wait_until(|| {
                !text(&call(&mut server.client(), "INFO persistence"))
                    .contains("rdb_bgsave_in_progress:1")
            });
            let _ = server.client().call(["SHUTDOWN", "SAVE"]);
            server.wait(Duration::from_secs(20));
        }
    }

    /// The increment that is written.
    fn increment(&self) -> PathBuf {
        let folder = self.data.path().join("appendonlydir");
        let all =
            fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
        let is_increment = |path: &PathBuf| path.to_string_lossy().ends_with(".incr.aof");
        all.filter(is_increment).max().expect("an increment")
    }
}

fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_keyward"))
}

fn text(frame: &Frame) -> String {
    String::from_utf8_lossy(frame.as_bytes().unwrap_or_default()).into_owned()
}

fn log(server: &Server) -> String {
    fs::read_to_string(server.directory().join("log")).expect("a log")
}

fn accepted(refusal: &str) -> String {
    let found = refusal.lines().find_map(|line| line.split_once("--accept "));
    found.unwrap_or_else(|| panic!("no plan in {refusal}")).1.to_owned()
}

/// Each key, what it holds and when it ends.
fn image(client: &mut Client) -> Vec<(String, Frame, Frame)> {
    let keys = call(client, "KEYS *");
    let mut keys: Vec<String> = keys.as_elements().expect("keys").iter().map(text).collect();
    keys.sort();
    let mut image = Vec::new();
    for key in keys {
        let value = client.call(["DEBUG", "DIGEST-VALUE", &key]).expect("a reply");
        let end = client.call(["PEXPIRETIME", &key]).expect("a reply");
        image.push((key, value, end));
    }
    image
}

#[test]
fn a_given_lifetime_with_a_default_cannot_be_taken_away() {
    let place = Place::new(false);
    let server = place.start(LIFETIMES);
    let mut client = server.client();
    call(&mut client, "SET given:1 x EX 100000");
    for command in ["PERSIST given:1", "GETEX given:1 PERSIST"] {
        let refused = client.call(command.split(' ').collect::<Vec<_>>()).expect("a reply");
        let Frame::Error(refused) = refused else { panic!("{command}: {refused:?}") };
        let refused = String::from_utf8_lossy(&refused).into_owned();
        assert!(refused.contains("must have a lifetime, which"), "{refused}");
    }
    let before = image(&mut client);
    call(&mut client, "DEBUG RELOAD");
    assert_eq!(image(&mut client), before);
}

/// Each second time the row got the end that the schema says.
#[test]
fn an_end_that_is_asked_for_again_under_warn_stays() {
    let place = Place::new(false);
    let server = place.start(&warning());
    let mut client = server.client();
    let far = "99999999999999";
    for command in
        ["SET lead:1 x", "SET with:1 x", "SET ever:1 x", &format!("HSET until:1 ends_at {far}")]
    {
        call(&mut client, command);
    }
    for key in ["with:1", "ever:1", "until:1"] {
        for time in 1..=4 {
            call(&mut client, &format!("PEXPIREAT {key} 88888888888888"));
            let end = call(&mut client, &format!("PEXPIRETIME {key}"));
            assert_eq!(end, Frame::Integer(88_888_888_888_888), "{key}, time {time}");
        }
    }
}

#[test]
fn what_warn_let_pass_is_left_alone_by_the_next_starts() {
    for place in Place::both() {
        let server = place.start(&warning());
        let mut client = server.client();
        let far = "99999999999999";
        for command in [
            "SET with:1 leaderless",
            "SET with:2 leaderless EX 5000",
            "SET lead:3 x",
            "SET with:3 y",
            "EXPIRE with:3 600",
            "SET given:1 x",
            "PERSIST given:1",
            "SET ever:1 x",
            "EXPIRE ever:1 5000",
            "SET hour:1 x",
            "PERSIST hour:1",
            "SET hour:2 x EX 90000",
            &format!("HSET until:1 ends_at {far}"),
            "EXPIRE until:1 5000",
            "HSET until:2 ends_at 5000",
            "SADD recent 1 absent",
        ] {
            let reply = call(&mut client, command);
            assert!(!matches!(reply, Frame::Error(_)), "{command}: {reply:?}");
        }
        let before = image(&mut client);
        assert!(before.iter().any(|(key, ..)| key == "with:1"), "{before:?}");
        call(&mut client, "DEBUG RELOAD");
        assert_eq!(image(&mut client), before, "by DEBUG RELOAD");
        place.end(server);
        for start in 1..=2 {
            let server = place.start(&warning());
            assert_eq!(image(&mut server.client()), before, "start {start}");
            let told = log(&server);
            assert!(!told.contains("destroyed") && !told.contains("dated"), "{told}");
            assert!(told.contains("rows do not fit"), "{told}");
            let misfits = call(&mut server.client(), "KEYWARD MISFITS COUNT 100");
            let misfits = format!("{misfits:?}");
            for key in ["with:1", "with:2", "with:3", "given:1", "ever:1", "hour:1", "recent"] {
                assert!(format!("{misfits:?}").contains(key), "{key}: {misfits}");
            }
            place.end(server);
        }
        // Nor does it go when writes are refused again.
        let server = place.start(LIFETIMES);
        let told = log(&server);
        let lines: Vec<&str> = told.lines().collect();
        let has_none =
            |pair: &[&str]| pair[0].ends_with("Some of them:") && !pair[1].contains("# SCHEMA ");
        assert!(!lines.windows(2).any(has_none), "rows are announced and none is named: {told}");
        place.end(server);
        let server = place.start(LIFETIMES);
        let kept = image(&mut server.client());
        let is_kept = |name: &str| {
            before.iter().find(|row| row.0 == name) == kept.iter().find(|row| row.0 == name)
        };
        for key in [
            "with:1", "with:2", "with:3", "given:1", "ever:1", "hour:1", "hour:2", "until:1",
            "recent",
        ] {
            assert!(is_kept(key), "{key}: {kept:?}");
        }
        assert!(!log(&server).contains("later end"), "{}", log(&server));
    }
}

/// A key that ends while nobody serves takes the members that follow it along, and the files say
/// so to whoever reads them.
#[test]
fn members_leave_with_keys_that_ended_between_two_starts() {
    let members = |server: &Server| {
        let mut members: Vec<String> = call(&mut server.client(), "SMEMBERS recent")
            .as_elements()
            .map(|members| members.iter().map(text).collect())
            .expect("members");
        members.sort();
        members
    };
    for place in Place::both() {
        let schema =
            LIFETIMES.replace("follows = \"ever:{member}\"", "follows = \"hour:{member}\"");
        let server = place.start(&schema);
        let mut client = server.client();
        for command in ["SET hour:1 x PX 2500", "SET hour:2 x", "SADD recent 1 2"] {
            let reply = call(&mut client, command);
            assert!(!matches!(reply, Frame::Error(_)), "{command}: {reply:?}");
        }
        call(&mut client, "SAVE");
        place.end(server);
        std::thread::sleep(Duration::from_millis(2600));
        let server = place.start(&schema);
        assert_eq!(members(&server), ["2"]);
        let told = log(&server);
        assert!(!told.contains("do not fit"), "{told}");
        let mut client = server.client();
        keyward_testkit::wait_until(|| call(&mut client, "DBSIZE") == Frame::Integer(2));
        place.end(server);
        let theirs = Server::redis(&place.settings()[..6]);
        assert_eq!(members(&theirs), ["2"], "of what a stock Redis loads");
    }
}

const CACHE: &str = r#"
[keyspace]
name = "cache"
unknown = "allow"
persist = "none"

[key."page:{path:rest}"]
type = "string"
"#;

#[test]
fn rows_from_elsewhere_that_are_not_kept_are_asked_for_and_told() {
    let place = Place::new(false);
    let theirs = Server::redis(&["--dir", place.settings()[1]]);
    call(&mut theirs.client(), "MSET page:/a hello page:/b bye stray 1");
    call(&mut theirs.client(), "SAVE");
    drop(theirs);
    let refused = place.refusal(CACHE);
    assert!(refused.contains("3 rows are not kept (persist = \"none\")"), "{refused}");
    let server = place.serve(&[CACHE], &["--accept", &accepted(&refused)]);
    assert_eq!(text(&call(&mut server.client(), "GET page:/a")), "hello");
    assert!(log(&server).contains("3 rows are not kept (persist = \"none\")"), "{}", log(&server));
    place.end(server);
    let server = place.start(CACHE);
    assert_eq!(call(&mut server.client(), "DBSIZE"), Frame::Integer(0));
}

fn apply(server: &Server, schema: &str) {
    let mut client = server.client();
    let told = client.call(["KEYWARD", "SCHEMA", "PLAN", schema]).expect("a plan");
    let id = text(&told.as_elements().expect("a map")[1]);
    let applied = client.call(["KEYWARD", "SCHEMA", "APPLY", &id]).expect("a reply");
    assert!(!matches!(applied, Frame::Error(_)), "{applied:?}");
}

const NOTES: &str = "
[keyspace]
name = \"notes\"

[key.\"note:{id:uint}\"]
type = \"string\"
ttl = \"none\"
";

#[test]
fn a_damaged_memory_of_schemas_is_told_and_its_rows_are_guarded() {
    let day = NOTES.replace("ttl = \"none\"", "ttl = \"1d\"");
    let replace = |from: &'static str, to: &'static str| {
        move |bytes: Vec<u8>| {
            let text = String::from_utf8(bytes).expect("text");
            assert!(text.contains(from), "{text}");
            text.replace(from, to).into_bytes()
        }
    };
    let (last, value) =
        (replace("#keyward-schemas-end:", "#keyword-schemas-end:"), replace("1d", "2d"));
    let none = |bytes: Vec<u8>| bytes;
    let damages: [&dyn Fn(Vec<u8>) -> Vec<u8>; 3] = [&last, &value, &none];
    for (at, damage) in damages.into_iter().enumerate() {
        let place = Place::new(true);
        let server = place.start(NOTES);
        apply(&server, &day);
        call(&mut server.client(), "SET note:1 x");
        drop(server);
        let increment = place.increment();
        let bytes = fs::read(&increment).expect("a file");
        fs::write(&increment, damage(bytes)).expect("a file");
        if at == 2 {
            let server = place.start(NOTES);
            assert_eq!(text(&call(&mut server.client(), "KEYWARD SCHEMA SHOW")), day);
            assert!(!log(&server).contains("is damaged"), "{}", log(&server));
            continue;
        }
        // The row has an end, which the file that was replaced would take away.
        let refused = place.refusal(NOTES);
        assert!(refused.contains("What the files remember of the schemas in force is damaged"));
        assert!(refused.contains("the rows come from elsewhere"), "{refused}");
        let server = place.start(&day);
        assert!(log(&server).contains("is damaged"), "{}", log(&server));
        assert_eq!(text(&call(&mut server.client(), "GET note:1")), "x");
    }
}

#[test]
fn what_was_accepted_is_in_the_log_before_it_is_rewritten() {
    let place = Place::new(true);
    let day = NOTES.replace("ttl = \"none\"", "ttl = \"1d\"");
    let server = place.start(NOTES);
    let mut client = server.client();
    for id in 0..2500 {
        call(&mut client, &format!("SET note:{id} x"));
    }
    drop(server);
    let plan = accepted(&place.refusal(&day));
    // No base can be written anew: a folder stands in its place.
    let folder = place.data.path().join("appendonlydir");
    for number in 2..6 {
        fs::create_dir(folder.join(format!("appendonly.aof.{number}.base.rdb"))).expect("a folder");
    }
    let server = place.serve(&[&day], &["--accept", &plan]);
    let before = image(&mut server.client());
    assert_eq!(before.len(), 2500);
    assert!(before.iter().all(|(.., end)| matches!(end, Frame::Integer(1..))), "{before:?}");
    drop(server);
    let server = place.start(&day);
    assert_eq!(image(&mut server.client()), before);
    assert!(!log(&server).contains("dated"), "{}", log(&server));
    assert_eq!(text(&call(&mut server.client(), "KEYWARD SCHEMA SHOW")), day);
}

#[test]
fn rows_from_elsewhere_that_debug_loads_are_told_by_a_table() {
    let place = Place::new(false);
    let theirs = Server::redis(&["--dir", place.settings()[1]]);
    let day = NOTES.replace("ttl = \"none\"", "ttl = \"1d\"");
    let server = place.start(&day);
    call(&mut theirs.client(), "MSET note:1 a note:2 b");
    call(&mut theirs.client(), "SAVE");
    assert_eq!(text(&call(&mut server.client(), "DEBUG RELOAD NOSAVE")), "OK");
    let told = log(&server);
    assert!(told.contains("the rows come from elsewhere"), "{told}");
    assert!(
        told.contains("pattern") && told.contains("by rows that come from elsewhere: 2 rows dated"),
        "{told}"
    );
    // What it saves itself comes back as it was.
    let before = image(&mut server.client());
    call(&mut server.client(), "DEBUG RELOAD");
    assert_eq!(image(&mut server.client()), before);
    assert_eq!(log(&server).matches("the rows come from elsewhere").count(), 1);
}

#[test]
fn debug_loadaof_knows_the_schema_that_was_applied() {
    let place = Place::new(true);
    let server = place.start(&warning());
    let mut client = server.client();
    apply(&server, &format!("{}# applied\n", warning()));
    call(&mut client, "SET with:1 leaderless");
    call(&mut client, "SET hour:1 x");
    call(&mut client, "PERSIST hour:1");
    let before = image(&mut client);
    assert_eq!(text(&call(&mut client, "DEBUG LOADAOF")), "OK");
    assert_eq!(image(&mut client), before);
}

#[test]
fn a_keyspace_that_is_no_longer_served_is_named() {
    let place = Place::new(true);
    let other = NOTES.replace("notes", "jobs").replace("note:", "job:");
    let server = place.serve(&[NOTES, &other], &[]);
    call(&mut server.client(), "SET job:1 x");
    drop(server);
    let server = place.serve(&[NOTES], &[]);
    let told = log(&server);
    assert!(told.contains("remember the keyspace jobs, which is not served"), "{told}");
    assert_eq!(text(&call(&mut server.client(), "GET job:1")), "x");
}

/// The line that names both sides, without its head.
fn strangers(server: &Server) -> String {
    let told = log(server);
    let is_it = |line: &&str| line.contains("The data directory is that of other keyspaces");
    let line = told.lines().find(is_it).unwrap_or_else(|| panic!("not said: {told}"));
    line.split_once("# ").expect("a level").1.to_owned()
}

#[test]
fn a_start_in_the_data_directory_of_other_keyspaces_says_so() {
    for place in Place::both() {
        let jobs = NOTES.replace("notes", "jobs").replace("note:", "job:");
        let elsewhere = NOTES.replace("\"notes\"", "\"blog\"\ndb = 3").replace("note:", "post:");
        let server = place.serve(&[NOTES, &elsewhere], &[]);
        assert!(!log(&server).contains("remember"), "{}", log(&server));
        call(&mut server.client(), "SET note:1 x");
        place.end(server);
        // Neither of them: with a name for each.
        let server = place.start(&jobs);
        assert_eq!(
            strangers(&server),
            "The data directory is that of other keyspaces: its files remember notes (database \
             0), blog (database 3), and what is served is jobs (database 0). Look at the setting \
             dir if that is not meant"
        );
        assert_eq!(text(&call(&mut server.client(), "GET note:1")), "x");
        place.end(server);
    }
}

#[test]
fn a_start_without_the_schemas_that_the_files_remember_says_so() {
    for place in Place::both() {
        let server = place.start(NOTES);
        call(&mut server.client(), "SET note:1 x");
        place.end(server);
        let server = place.serve(&[], &[]);
        let told = log(&server);
        assert!(told.contains("remember notes (database 0), and no schema is served"), "{told}");
        assert_eq!(told.matches("is served: ").count(), 1, "it is told once: {told}");
        assert_eq!(text(&call(&mut server.client(), "GET note:1")), "x");
        place.end(server);
    }
}

#[test]
fn a_keyspace_under_another_name_or_without_a_schema_is_named_beside_one_that_is_served() {
    let place = Place::new(true);
    let blog = NOTES.replace("\"notes\"", "\"blog\"\ndb = 3").replace("note:", "post:");
    place.end(place.serve(&[NOTES, &blog], &[]));
    let server = place.serve(&[NOTES, &blog.replace("blog", "diary")], &[]);
    let told = log(&server);
    let renamed = "Database 3: the files remember the keyspace blog, and diary is served";
    assert!(told.contains(renamed), "{told}");
    place.end(server);
    let server = place.serve(&[NOTES], &[]);
    let told = log(&server);
    let left_out = "Database 3: the files remember the keyspace diary, which is not served";
    assert!(told.contains(left_out), "{told}");
    // It is said once: the files have what is served now.
    place.end(server);
    let server = place.serve(&[NOTES], &[]);
    assert!(!log(&server).contains("Database 3"), "{}", log(&server));
}

#[test]
fn no_pattern_crowds_out_what_is_wrong_with_others() {
    let place = Place::new(true);
    let two = format!(
        "{}\n{}",
        NOTES.replace("\"none\"", "\"none\"\nmode = \"warn\"\nmax_size = 3"),
        "
[key.\"zoo:{id:uint}\"]
type = \"int\"
ttl = \"none\"
mode = \"warn\"
"
    );
    let server = place.start(&two);
    for id in 0..40 {
        call(&mut server.client(), &format!("SET note:{id} too-long"));
    }
    call(&mut server.client(), "SET zoo:1 word");
    drop(server);
    let server = place.start(&two);
    let told = log(&server);
    assert!(told.contains("41 rows do not fit"), "{told}");
    assert!(told.contains("SCHEMA zoo:1"), "{told}");
    assert_eq!(told.matches("SCHEMA note:").count(), 4, "{told}");
}

#[test]
fn a_refused_start_leaves_no_lock_behind() {
    let place = Place::new(true);
    let theirs = Server::redis(&["--dir", place.settings()[1]]);
    call(&mut theirs.client(), "SET note:1 a");
    call(&mut theirs.client(), "SAVE");
    drop(theirs);
    let names = || -> Vec<String> {
        let all = fs::read_dir(place.data.path()).expect("a folder");
        let mut all: Vec<String> = all
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        all.sort();
        all
    };
    let before = names();
    place.refusal(&NOTES.replace("ttl = \"none\"", "ttl = \"1d\""));
    assert_eq!(names(), before);
    // A lock that was there stays.
    let server = place.start(NOTES);
    drop(server);
    let before = names();
    place.refusal(&NOTES.replace("ttl = \"none\"", "ttl = \"1d\""));
    assert_eq!(names(), before);
}

#[test]
fn the_end_of_observing_is_told_by_pattern() {
    let place = Place::new(true);
    let day = NOTES.replace("\"none\"", "\"1d\"\nmode = \"observe\"");
    let server = place.start(&day);
    let mut client = server.client();
    call(&mut client, "SET note:1 x");
    let refused = client.call(["KEYWARD", "MODE", "enforce"]).expect("a reply");
    let Frame::Error(refused) = refused else { panic!("{refused:?}") };
    let refused = String::from_utf8_lossy(&refused).into_owned();
    assert!(refused.contains("would change rows: note:{id:uint}: 1 row dated;"), "{refused}");
}

/// Rows of a pattern, unlike each other: what many rows hold is stored once.
fn fill(server: &Server, prefix: &str, count: usize) {
    let mut client = server.client();
    for id in 0..count {
        let value = format!("{id}{}", "x".repeat(100));
        client.send_command(["SET", &format!("{prefix}{id}"), &value]).expect("it is sent");
    }
    client.receive_batch(count).expect("it answers");
}

fn orders(keyspace: &str, key: &str) -> String {
    format!(
        "[keyspace]\nname = \"shop\"\nunknown = \"allow\"\n{keyspace}\n\
         [key.\"order:{{id:uint}}\"]\ntype = \"string\"\n{key}\n"
    )
}

#[test]
fn one_of_several_keyspaces_that_would_lose_rows_for_want_of_memory_is_asked_about() {
    let place = Place::new(false);
    let (roomy, tight) = (orders("max_memory = \"1mb\"", ""), orders("max_memory = \"20kb\"", ""));
    let other =
        NOTES.replace("ttl = \"none\"", "ttl = \"1d\"").replace("unknown = \"allow\"\n", "");
    let roomy = roomy.replace("unknown = \"allow\"\n", "");
    let tight = tight.replace("unknown = \"allow\"\n", "");
    let server = place.serve(&[&roomy, &other], &[]);
    fill(&server, "order:", 1000);
    fill(&server, "note:", 1000);
    place.end(server);
    let refused = place.refusal_of(&[&tight, &other]);
    assert!(refused.contains("keyspace shop takes "), "{refused}");
    assert!(refused.contains(" and may take 20480 (max_memory)"), "{refused}");
    assert!(!refused.contains(" of note:"), "only its own rows go: {refused}");
    // The estimate differs by some rows from start to start, as far as memory does.
    let told = accepted(&refused);
    let (plan, count) = told.split_once(" DESTROY ").expect("rows go");
    let count: u64 = count.parse().expect("a number");
    let fewer = |rows: u64| format!("{plan} DESTROY {}", count - rows);
    let refused = place.refusal_by(&[&tight, &other], &["--accept", &fewer(30)]);
    assert!(refused.contains(&format!("which is more than {}", count - 30)), "{refused}");
    let server = place.serve(&[&tight, &other], &["--accept", &fewer(3)]);
    keyward_testkit::wait_until(|| {
        matches!(call(&mut server.client(), "DBSIZE"), Frame::Integer(1000..1500))
    });
}

#[test]
fn rows_that_may_be_evicted_from_now_on_are_asked_for_by_a_start() {
    let place = Place::new(true);
    let limited =
        |evict| orders("max_memory = \"100kb\"", &format!("ttl = \"1d\"\nevict = \"{evict}\""));
    let server = place.start(&orders("", "ttl = \"1d\"\nevict = \"never\""));
    fill(&server, "order:", 2000);
    place.end(server);
    // Nothing may go: nothing is asked.
    let server = place.start(&limited("never"));
    assert_eq!(call(&mut server.client(), "DBSIZE"), Frame::Integer(2000));
    place.end(server);
    let refused = place.refusal(&limited("lru"));
    assert!(
        refused.contains("may take 102400 (max_memory): rows are evicted, about "),
        "{refused}"
    );
    assert!(refused.contains(" of order:{id:uint}\n"), "{refused}");
    let server = place.start(&limited("never"));
    assert_eq!(call(&mut server.client(), "DBSIZE"), Frame::Integer(2000));
}

#[test]
fn keys_without_a_pattern_are_not_asked_for_by_a_start_with_a_limit() {
    let place = Place::new(false);
    let server = place.start(&orders("", ""));
    fill(&server, "foreign:", 3000);
    place.end(server);
    let server = place.start(&orders("max_memory = \"100kb\"", ""));
    assert_eq!(call(&mut server.client(), "DBSIZE"), Frame::Integer(3000));
    assert_eq!(text(&call(&mut server.client(), "SET order:1 x")), "OK");
}

#[test]
fn a_mode_is_switched_while_many_rows_are_noted_and_everybody_goes_on() {
    let schema = orders("", "ttl = \"1h\"");
    for (first, write) in [("warn", "SADD order:% x"), ("observe", "SET order:% x EX 900000")] {
        let place = Place::new(false);
        let server = place.start(&schema);
        let mut client = server.client();
        assert_eq!(text(&call(&mut client, &format!("KEYWARD MODE {first}"))), "OK");
        for id in 0..200 {
            call(&mut client, &write.replace('%', &id.to_string()));
        }
        for mode in ["observe", "enforce", "observe", "warn"] {
            let said = text(&call(&mut client, &format!("KEYWARD MODE {mode}")));
            assert_eq!(said, "OK", "{first}, then {mode}");
            assert_eq!(call(&mut server.client(), "DBSIZE"), Frame::Integer(200));
        }
    }
}

#[test]
fn a_reload_that_costs_rows_for_want_of_memory_or_at_the_next_start_is_refused() {
    let place = Place::new(false);
    let kept = |evict: &str| format!("ttl = \"1d\"\nevict = \"{evict}\"");
    let server = place.start(&orders("", &kept("never")));
    fill(&server, "order:", 2000);
    let limit = "max_memory = \"100kb\"";
    let evicted = "rows or so evicted, beyond max_memory; see KEYWARD SCHEMA PLAN";
    for (keyspace, evict, outcome) in [
        (limit, "lru", evicted),
        (limit, "never", " reloaded: 1 of 1 schemas are new"),
        (limit, "first", evicted),
        ("persist = \"none\"", "never", "2000 rows that the next start would be without (persist)"),
    ] {
        place.file("s0.toml", &orders(keyspace, &kept(evict)));
        let before = log(&server).len();
        let id = server.process_id().to_string();
        assert!(Command::new("kill").args(["-HUP", &id]).status().expect("kill runs").success());
        keyward_testkit::wait_until(|| log(&server)[before..].contains(outcome));
        assert_eq!(call(&mut server.client(), "DBSIZE"), Frame::Integer(2000));
    }
}

#[test]
fn rows_that_leave_the_append_only_file_are_announced() {
    let place = Place::new(true);
    let server = place.start(&orders("", "ttl = \"none\""));
    fill(&server, "order:", 20);
    let mut client = server.client();
    let rdb = orders("persist = \"rdb\"", "ttl = \"none\"");
    let told = client.call(["KEYWARD", "SCHEMA", "PLAN", &rdb]).expect("a plan");
    let told = told.as_elements().expect("a map");
    assert_eq!(told[5], Frame::Integer(20));
    let refused = client.call(["KEYWARD", "SCHEMA", "APPLY", &text(&told[1])]).expect("a reply");
    let Frame::Error(refused) = refused else { panic!("{refused:?}") };
    assert!(String::from_utf8_lossy(&refused).ends_with("say DESTROY 20"), "{refused:?}");
}
