//! A start on data that another schema governed, or none: it is told first, and nothing
//! happens to it that was not accepted.

use keyward_resp::{Frame, push_request};
use keyward_testkit::{Client, Server, call, wait_until};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const USERS: u64 = 15_000;
const ORDERS: u64 = 55_000;
const SESSIONS: u64 = 5_000;
const STRANGERS: u64 = 4_998;

const SHOP: &str = r#"
[keyspace]
name = "shop"
unknown = "allow"

[key."user:{id:uint}"]
type = "hash"
ttl = "none"
[key."user:{id:uint}".fields]
email = "str"
plan = "free | paid"

[key."users:on:{plan}"]
type = "set"
members = { of = "user:{id}" }

[key."users:by_email:{email}"]
type = "string"
lookup = { of = "user:{id}", field = "email" }

[key."order:{id:uint}"]
type = "json"
ttl = "30d"
fields = { total = "decimal(2)" }

[key."session:{id:hex}"]
type = "string"
ttl = "1h"
"#;

/// What a Redis in production has: sets and lookups written by hand, with some mistakes;
/// orders without a lifetime, two of them damaged; strangers.
fn commands() -> Vec<Vec<String>> {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let mut all: Vec<Vec<String>> = Vec::new();
    for id in 0..USERS {
        let (plan, id) = (if id % 3 == 0 { "paid" } else { "free" }, id.to_string());
        let email = format!("u{id}@example.com");
        all.push(words(&["HSET", &format!("user:{id}"), "email", &email, "plan", plan]));
        // Forgotten, and never corrected.
        if !["7", "8"].contains(&&*id) {
            all.push(words(&["SADD", &format!("users:on:{plan}"), &id]));
        }
        if id != "9" {
            all.push(words(&["SET", &format!("users:by_email:{email}"), &id]));
        }
    }
    all.push(words(&["SADD", "users:on:paid", "999999", "gone", "1"]));
    all.push(words(&["SET", "users:by_email:left@example.com", "1234567"]));
    for id in 0..ORDERS {
        let value = if id < 2 { "damaged" } else { r#"{"total":"12.50"}"# };
        all.push(words(&["SET", &format!("order:{id}"), value]));
    }
    for id in 0..SESSIONS {
        all.push(words(&["SET", &format!("session:{id:x}"), "s", "EX", "3000"]));
    }
    for id in 0..STRANGERS {
        all.push(words(&["RPUSH", &format!("tmp:job:{id}"), "a", "b"]));
    }
    all
}

/// What a real Redis saved.
struct Trial {
    directory: tempfile::TempDir,
    digest: Frame,
    image: Image,
}

/// The digest of each key, and when it ends.
type Image = BTreeMap<Vec<u8>, (Vec<u8>, i64)>;

impl Trial {
    fn new() -> Trial {
        let directory = tempfile::tempdir().expect("a directory");
        let place = directory.path().to_str().expect("a path in UTF-8");
        // Otherwise a write may wait for an earlier fsync, and go with the process.
        let settings = ["--dir", place, "--appendonly", "yes", "--appendfsync", "no"];
        let theirs = Server::redis(&settings);
        let mut client = theirs.client();
        let commands = commands();
        for some in commands.chunks(1000) {
            let mut bytes = Vec::new();
            some.iter().for_each(|command| push_request(&mut bytes, command.iter()));
            client.send(&bytes).expect("it is sent");
            client.receive_batch(some.len()).expect("it answers");
        }
        call(&mut client, "SAVE");
        call(&mut client, "BGREWRITEAOF");
        wait_until(|| {
            let info = text(&call(&mut client, "INFO persistence"));
            info.contains("aof_rewrite_in_progress:0") && info.contains("aof_rewrite_scheduled:0")
        });
        let (digest, image) = (call(&mut client, "DEBUG DIGEST"), image(&mut client, "*"));
        call(&mut client, "SET written:after the-rewrite");
        call(&mut client, "DEL written:after");
        drop(theirs);
        Trial { directory, digest, image }
    }

    /// A copy of one kind of file.
    fn copy(&self, kind: Kind) -> tempfile::TempDir {
        let copy = tempfile::tempdir().expect("a directory");
        let name = match kind {
            Kind::Rdb => "dump.rdb",
            Kind::Aof => "appendonlydir",
        };
        for (path, bytes) in files(&self.directory.path().join(name)) {
            let own = path.strip_prefix(self.directory.path()).expect("it is below");
            let target = copy.path().join(own);
            fs::create_dir_all(target.parent().expect("a folder")).expect("a folder");
            fs::write(target, bytes).expect("a file");
        }
        copy
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Rdb,
    Aof,
}

impl Kind {
    fn setting(self) -> [&'static str; 2] {
        ["--appendonly", if self == Kind::Aof { "yes" } else { "no" }]
    }
}

/// All files below a path with what they hold, but for locks.
fn files(path: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    if path.is_dir() {
        for entry in fs::read_dir(path).expect("a folder") {
            found.extend(files(&entry.expect("an entry").path()));
        }
    } else if path.extension().is_none_or(|end| end != "lock") {
        found.insert(path.to_owned(), fs::read(path).expect("a file"));
    }
    found
}

fn text(frame: &Frame) -> String {
    String::from_utf8_lossy(frame.as_bytes().unwrap_or_default()).into_owned()
}

fn image(client: &mut Client, glob: &str) -> Image {
    let mut keys: BTreeSet<Vec<u8>> = BTreeSet::new();
    let mut cursor = "0".to_owned();
    loop {
        let reply =
            client.call(["SCAN", &cursor, "MATCH", glob, "COUNT", "1000"]).expect("a reply");
        let [next, found] = reply.as_elements().expect("two parts") else { panic!("{reply:?}") };
        let found = found.as_elements().expect("keys").iter();
        keys.extend(found.map(|key| key.as_bytes().expect("a key").to_vec()));
        cursor = text(next);
        if cursor == "0" {
            break;
        }
    }
    let keys: Vec<Vec<u8>> = keys.into_iter().collect();
    let mut image = Image::new();
    for some in keys.chunks(500) {
        let mut bytes = Vec::new();
        let mut digests: Vec<&[u8]> = vec![b"DEBUG", b"DIGEST-VALUE"];
        digests.extend(some.iter().map(|key| &key[..]));
        push_request(&mut bytes, digests.iter());
        some.iter().for_each(|key| push_request(&mut bytes, [&b"PEXPIRETIME"[..], key].iter()));
        client.send(&bytes).expect("it is sent");
        let replies = client.receive_batch(some.len() + 1).expect("it answers");
        let digests = replies[0].frame.as_elements().expect("digests").to_vec();
        for ((key, digest), end) in some.iter().zip(digests).zip(&replies[1..]) {
            let Frame::Integer(end) = end.frame else { panic!("{:?}", end.frame) };
            image.insert(key.clone(), (digest.as_bytes().expect("a digest").to_vec(), end));
        }
    }
    image
}

fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_keyward"))
}

fn schema_in(directory: &Path, text: &str) -> String {
    let path = directory.join("shop.toml");
    fs::write(&path, text).expect("a file");
    path.to_str().expect("a path in UTF-8").to_owned()
}

/// A server on this data.
fn start(schema: &str, data: &Path, kind: Kind, options: &[&str]) -> Server {
    let data = data.to_str().expect("a path in UTF-8");
    let fixed =
        [schema, "--dir", data, "--enable-debug-command", "yes", "--save", "3600 100000000"];
    Server::keyward(program(), &[&fixed[..], &kind.setting(), options].concat())
}

/// Why a server does not start on this data.
fn refusal(schema: &str, data: &Path, kind: Kind, options: &[&str]) -> String {
    let output = Command::new(program())
        .args(["serve", schema, "--port", "0", "--unixsocket"])
        .arg(data.join("socket"))
        .args(["--dir", data.to_str().expect("a path in UTF-8")])
        .args(kind.setting())
        .args(options)
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn log(server: &Server) -> String {
    fs::read_to_string(server.directory().join("log")).expect("a log")
}

fn accepted(refusal: &str) -> String {
    let found = refusal.lines().find_map(|line| line.split_once("--accept "));
    found.unwrap_or_else(|| panic!("no plan in {refusal}")).1.to_owned()
}

/// The figures of a pattern in the table of a refusal, by column.
fn figures(refusal: &str, pattern: &str) -> BTreeMap<String, u64> {
    let lines: Vec<&str> = refusal.lines().collect();
    let head = lines.iter().position(|line| line.trim_start().starts_with("pattern "));
    let head = head.unwrap_or_else(|| panic!("no table in {refusal}"));
    let row = lines[head..].iter().find_map(|line| line.trim_start().strip_prefix(pattern));
    let row = row.unwrap_or_else(|| panic!("no {pattern} in {refusal}"));
    let names = lines[head].split_whitespace().skip(1).map(str::to_owned);
    names.zip(row.split_whitespace().map(|word| word.parse().expect("a figure"))).collect()
}

#[test]
fn a_foreign_snapshot_of_95_000_keys_loses_nothing_and_is_told_everything() {
    check_trial(Kind::Rdb);
}

#[test]
fn a_foreign_append_only_file_of_95_000_keys_loses_nothing_and_is_told_everything() {
    check_trial(Kind::Aof);
}

fn check_trial(kind: Kind) {
    let trial = Trial::new();
    let keys = trial.image.len() as u64;
    assert_eq!(keys, 95_000, "the keys of the trial");
    {
        let own = tempfile::tempdir().expect("a directory");
        let schema = schema_in(own.path(), SHOP);
        let data = trial.copy(kind);

        // It does not start, says why, and has touched no file.
        let before = files(data.path());
        let told = refusal(&schema, data.path(), kind, &[]);
        assert_eq!(files(data.path()), before, "{kind:?}: a refused start writes nothing");
        let of = |pattern: &str, figure: &str| figures(&told, pattern)[figure];
        assert_eq!(of("order:{id:uint}", "dated"), ORDERS);
        assert_eq!(of("order:{id:uint}", "misfits"), 2);
        assert_eq!(of("users:on:{plan}", "destroyed"), 3);
        assert_eq!(of("users:on:{plan}", "built"), 2);
        assert_eq!(of("users:by_email:{email}", "destroyed"), 1);
        assert_eq!(of("users:by_email:{email}", "built"), 1);
        assert_eq!(of("(no pattern)", "keys"), STRANGERS);
        assert!(!told.contains("session:"), "nothing happens to sessions: {told}");
        let place = data.path().to_str().expect("a path in UTF-8");
        let theirs = Server::redis(&[&["--dir", place][..], &kind.setting()].concat());
        assert_eq!(call(&mut theirs.client(), "DEBUG DIGEST"), trial.digest, "{kind:?}");
        drop(theirs);

        check_observed(&trial, kind, &schema);
        check_accepted(&trial, kind, &schema, &told);
    }
}

/// Observing changes nothing, neither what is served nor what is saved.
fn check_observed(trial: &Trial, kind: Kind, schema: &str) {
    let data = trial.copy(kind);
    let server = start(schema, data.path(), kind, &["--observe"]);
    let mut client = server.client();
    assert_eq!(call(&mut client, "DEBUG DIGEST"), trial.digest, "{kind:?}");
    let ends = |image: Image| image.into_iter().filter(|(_, (_, end))| *end > 0).collect::<Image>();
    let now = image(&mut client, "session:*");
    assert!(now == ends(trial.image.clone()), "{kind:?}: every key ends as it would have");
    call(&mut client, "BGREWRITEAOF");
    let _ = client.call(["SHUTDOWN", "SAVE"]);
    server.wait(std::time::Duration::from_secs(60));
    let place = data.path().to_str().expect("a path in UTF-8");
    let theirs = Server::redis(&[&["--dir", place][..], &kind.setting()].concat());
    assert_eq!(call(&mut theirs.client(), "DEBUG DIGEST"), trial.digest, "{kind:?}: saved");
}

/// What is accepted is what was announced, and nothing else.
fn check_accepted(trial: &Trial, kind: Kind, schema: &str, told: &str) {
    let data = trial.copy(kind);
    let plan = accepted(told);
    let wrong = refusal(schema, data.path(), kind, &["--accept", "0123456789ab"]);
    assert_eq!(accepted(&wrong), plan, "another plan is not this one");
    let server = start(schema, data.path(), kind, &["--accept", &plan]);
    let mut client = server.client();
    let now = image(&mut client, "*");
    let line = "4 rows and entries of derived keys destroyed, 55000 rows dated, 3 entries of \
                derived keys built";
    assert!(log(&server).contains(line), "{}", log(&server));
    let (mut dated, mut others) = (0, BTreeSet::new());
    for key in trial.image.keys().chain(now.keys()).collect::<BTreeSet<_>>() {
        match (trial.image.get(key), now.get(key)) {
            (Some(was), Some(is)) if was == is => {}
            // The digest tells that it ends; the value is compared below.
            (Some((_, -1)), Some((_, end))) if key.starts_with(b"order:") && *end > 0 => {
                dated += 1;
            }
            _ => drop(others.insert(String::from_utf8_lossy(key).into_owned())),
        }
    }
    assert_eq!(dated, ORDERS, "{kind:?}");
    for id in 0..ORDERS {
        client.send_command(["GET", &format!("order:{id}")]).expect("it is sent");
    }
    let values = client.receive_batch(ORDERS as usize).expect("it answers");
    assert!(values.iter().skip(2).all(|value| text(&value.frame) == r#"{"total":"12.50"}"#));
    assert!(values.iter().take(2).all(|value| text(&value.frame) == "damaged"));
    let expected = [
        "users:by_email:left@example.com",
        "users:by_email:u9@example.com",
        "users:on:free",
        "users:on:paid",
    ];
    assert_eq!(others.iter().map(String::as_str).collect::<Vec<_>>(), expected, "{kind:?}");
    let free = text(&call(&mut client, "GET users:by_email:u9@example.com"));
    assert_eq!(free, "9");
    // The files remember it: the next start is not asked, and changes nothing.
    let written = match kind {
        Kind::Rdb => "Background saving terminated with success",
        Kind::Aof => "Background AOF rewrite finished successfully",
    };
    wait_until(|| log(&server).contains(written));
    let digest = call(&mut client, "DEBUG DIGEST");
    let _ = client.call(["SHUTDOWN", "NOSAVE"]);
    server.wait(std::time::Duration::from_secs(60));
    let again = start(schema, data.path(), kind, &[]);
    assert_eq!(call(&mut again.client(), "DEBUG DIGEST"), digest, "{kind:?}");
    assert!(!log(&again).contains("destroyed") && !log(&again).contains("dated"));
    let ends = |id: u64| now[format!("order:{id}").as_bytes()].1;
    for id in [0, 1, 2, ORDERS / 2, ORDERS - 1] {
        let end = again.client().call(["PEXPIRETIME", &format!("order:{id}")]);
        assert_eq!(end.expect("a reply"), Frame::Integer(ends(id)), "nothing is dated anew");
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

const NOTES: &str = r#"
[keyspace]
name = "notes"

[key."note:{id:uint}"]
type = "string"
ttl = "none"
"#;

/// A directory for data with the file of a schema beside it.
struct Place {
    data: tempfile::TempDir,
    own: tempfile::TempDir,
    kind: Kind,
}

impl Place {
    fn new(kind: Kind) -> Place {
        let directory = || tempfile::tempdir().expect("a directory");
        Place { data: directory(), own: directory(), kind }
    }

    fn start(&self, schema: &str, options: &[&str]) -> Server {
        start(&schema_in(self.own.path(), schema), self.data.path(), self.kind, options)
    }

    fn refusal(&self, schema: &str, options: &[&str]) -> String {
        refusal(&schema_in(self.own.path(), schema), self.data.path(), self.kind, options)
    }

    /// Ends a server: with the log it is killed, and with snapshots it saves.
    fn end(&self, server: Server) {
        if self.kind == Kind::Rdb {
            let _ = server.client().call(["SHUTDOWN", "SAVE"]);
            server.wait(std::time::Duration::from_secs(20));
        }
    }
}

fn apply(server: &Server, schema: &str) {
    let mut client = server.client();
    let told = client.call(["KEYWARD", "SCHEMA", "PLAN", schema]).expect("a plan");
    let id = text(&told.as_elements().expect("a map")[1]);
    let applied = client.call(["KEYWARD", "SCHEMA", "APPLY", &id]).expect("a reply");
    assert!(!matches!(applied, Frame::Error(_)), "{applied:?}");
}

#[test]
fn what_was_applied_outlives_a_restart_with_the_file_that_it_replaced() {
    let day = NOTES.replace("ttl = \"none\"", "ttl = \"1d\"");
    let hour = NOTES.replace("ttl = \"none\"", "ttl = \"1h\"");
    for kind in [Kind::Rdb, Kind::Aof] {
        let place = Place::new(kind);
        let server = place.start(NOTES, &[]);
        call(&mut server.client(), "SET note:1 x");
        apply(&server, &day);
        apply(&server, &hour);
        call(&mut server.client(), "SET note:2 y");
        place.end(server);
        // The file that was replaced, and what was applied.
        for (schema, says) in [(NOTES, true), (&*hour, false), (&*hour, false)] {
            let server = place.start(schema, &[]);
            let mut client = server.client();
            assert_eq!(text(&call(&mut client, "KEYWARD SCHEMA SHOW")), hour);
            let Frame::Integer(left) = call(&mut client, "TTL note:1") else { panic!("a time") };
            assert!((86_000..=86_400).contains(&left), "{kind:?}: {left} stays as it was");
            let told = log(&server).contains("KEYWARD SCHEMA APPLY put another schema in force");
            assert_eq!(told, says, "{kind:?}: {}", log(&server));
            let refused = client.call(["RPUSH", "note:3", "x"]).expect("a reply");
            let Frame::Error(refused) = refused else { panic!("{refused:?}") };
            let refused = String::from_utf8_lossy(&refused).into_owned();
            let place_told = if says { "shop.toml as applied:5)" } else { "shop.toml:5)" };
            assert!(refused.ends_with(place_told), "{refused}");
            place.end(server);
        }
        // A file that differs from both is planned: the first one would take all ends away.
        let told = place.refusal(NOTES, &[]);
        assert_eq!(figures(&told, "note:{id:uint}")["undated"], 2, "{told}");
        assert!(told.contains("ttl") || told.contains("Lifetime"), "it says how: {told}");
        let server = place.start(NOTES, &["--accept", &accepted(&told)]);
        assert_eq!(call(&mut server.client(), "TTL note:1"), Frame::Integer(-1));
    }
}

#[test]
fn an_edited_file_that_changes_no_row_starts_and_one_that_does_is_asked() {
    for kind in [Kind::Rdb, Kind::Aof] {
        let place = Place::new(kind);
        let server = place.start(NOTES, &[]);
        call(&mut server.client(), "SET note:1 x");
        place.end(server);
        let wider = format!("{NOTES}\n[key.\"other:{{id}}\"]\ntype = \"string\"\nttl = \"1h\"\n");
        let server = place.start(&wider, &[]);
        call(&mut server.client(), "SET other:1 x");
        place.end(server);
        // Another mode is no way around it.
        let told = NOTES.replace("ttl = \"none\"", "ttl = \"1d\"\nmode = \"warn\"");
        let told = place.refusal(&told, &[]);
        assert_eq!(figures(&told, "note:{id:uint}")["dated"], 1, "{told}");
        assert_eq!(figures(&told, "(no pattern)")["keys"], 1, "{told}");
        let watched = NOTES.replace("ttl = \"none\"", "ttl = \"1d\"\nmode = \"observe\"");
        let server = place.start(&watched, &[]);
        assert_eq!(call(&mut server.client(), "TTL note:1"), Frame::Integer(-1));
        place.end(server);
        // The end of observing is asked too.
        let told = place.refusal(&watched.replace("mode = \"observe\"", ""), &[]);
        assert_eq!(figures(&told, "note:{id:uint}")["dated"], 1, "{told}");
        // And a server that no schema is served by has the rows as they are.
        let data = place.data.path().to_str().expect("a path in UTF-8");
        let setting = kind.setting();
        let plain = Server::keyward(program(), &["--dir", data, setting[0], setting[1]]);
        assert_eq!(call(&mut plain.client(), "DBSIZE"), Frame::Integer(2));
    }
}

#[test]
fn rows_that_a_foreign_dump_has_of_a_cache_are_loaded() {
    let directory = tempfile::tempdir().expect("a directory");
    let theirs = Server::redis(&["--dir", directory.path().to_str().expect("a path in UTF-8")]);
    call(&mut theirs.client(), "SET page:/a hello");
    call(&mut theirs.client(), "SAVE");
    drop(theirs);
    let schema = schema_in(directory.path(), CACHE);
    let plan = accepted(&refusal(&schema, directory.path(), Kind::Rdb, &[]));
    let server = start(&schema, directory.path(), Kind::Rdb, &["--accept", &plan]);
    assert_eq!(text(&call(&mut server.client(), "GET page:/a")), "hello");
}

#[test]
fn a_backup_remembers_its_schema_and_a_restore_is_asked_only_by_another() {
    let place = Place::new(Kind::Rdb);
    let server = place.start(NOTES, &[]);
    call(&mut server.client(), "SET note:1 x");
    let folder = tempfile::tempdir().expect("a directory");
    let run = |arguments: &[&str]| {
        let output = Command::new(program()).args(arguments).output().expect("it runs");
        assert!(output.status.success(), "{output:?}");
    };
    let (to, port) = (folder.path().to_str().expect("UTF-8"), server.address().port().to_string());
    run(&["backup", "--port", &port, "--to", to]);
    drop(server);
    let restored = Place::new(Kind::Rdb);
    run(&["restore", to, "--to", restored.data.path().to_str().expect("UTF-8")]);
    drop(restored.start(NOTES, &[]));
    let told = restored.refusal(&NOTES.replace("ttl = \"none\"", "ttl = \"1d\""), &[]);
    assert_eq!(figures(&told, "note:{id:uint}")["dated"], 1, "{told}");
}

#[test]
fn a_stock_redis_loads_what_remembers_schemas() {
    for kind in [Kind::Rdb, Kind::Aof] {
        let place = Place::new(kind);
        let server = place.start(NOTES, &[]);
        call(&mut server.client(), "SET note:1 x");
        let long = format!("{NOTES}{}", "# a comment\n".repeat(3000));
        apply(&server, &long);
        call(&mut server.client(), "SET note:2 y");
        place.end(server);
        let data = place.data.path().to_str().expect("a path in UTF-8");
        let theirs = Server::redis(&[&["--dir", data][..], &kind.setting()].concat());
        let mut client = theirs.client();
        assert_eq!(text(&call(&mut client, "GET note:2")), "y", "{kind:?}");
        assert_eq!(call(&mut client, "DBSIZE"), Frame::Integer(2), "{kind:?}");
    }
}

#[test]
fn rows_that_would_go_for_want_of_memory_are_asked_for() {
    let place = Place::new(Kind::Rdb);
    let free = NOTES.replace("ttl = \"none\"", "ttl = \"1d\"");
    let server = place.start(&free, &[]);
    let mut client = server.client();
    for id in 0..3000 {
        // Unlike each other: what many rows hold is stored once.
        let value = format!("{id}{}", "x".repeat(1000));
        client.send_command(["SET", &format!("note:{id}"), &value]).expect("it is sent");
    }
    client.receive_batch(3000).expect("it answers");
    place.end(server);
    let tight = free.replace("name = \"notes\"", "name = \"notes\"\nmax_memory = \"1mb\"");
    let told = place.refusal(&tight, &[]);
    assert!(told.contains("may take 1048576 (max_memory): rows are evicted, about "), "{told}");
    let server = place.start(&tight, &["--observe"]);
    assert_eq!(call(&mut server.client(), "DBSIZE"), Frame::Integer(3000));
    place.end(server);
    let told = place.refusal(&tight, &[]);
    let server = place.start(&tight, &["--accept", &accepted(&told)]);
    wait_until(|| {
        call(&mut server.client(), "SET note:1 x");
        matches!(call(&mut server.client(), "DBSIZE"), Frame::Integer(..2000))
    });
}
