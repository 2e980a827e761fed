//! What docs/upgrading.md promises of files and versions, beyond what other tests hold; and
//! that every promise of it names a test that exists.

use keyward_resp::Frame;
use keyward_testkit::{Server, call};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The files that Keyward 0.1.0 wrote, and what they were made with.
fn old() -> PathBuf {
    repository().join("tests/versions/keyward-0.1")
}

/// How the data is kept.
#[derive(Clone, Copy, Debug)]
enum Kept {
    Snapshot,
    Log,
}

impl Kept {
    fn settings(self) -> [&'static str; 2] {
        ["--appendonly", if matches!(self, Kept::Log) { "yes" } else { "no" }]
    }
}

fn serve(directory: &Path, kept: Kept, arguments: &[&str]) -> Server {
    let directory = directory.to_str().expect("a path in UTF-8");
    let options = [&["--enable-debug-command", "yes", "--dir", directory], &kept.settings()[..]];
    let program = Path::new(env!("CARGO_BIN_EXE_keyward"));
    Server::keyward(program, &[&options.concat(), arguments].concat())
}

/// A copy of what 0.1.0 left behind.
fn old_data(kept: Kept) -> TempDir {
    let data = TempDir::new().expect("a directory");
    let copy = |name: &str| {
        fs::copy(old().join(name), data.path().join(name)).expect("a copy");
    };
    match kept {
        Kept::Snapshot => copy("dump.rdb"),
        Kept::Log => {
            fs::create_dir(data.path().join("appendonlydir")).expect("a directory");
            for entry in fs::read_dir(old().join("appendonlydir")).expect("files") {
                let name = entry.expect("a file").file_name();
                copy(&format!("appendonlydir/{}", name.to_str().expect("UTF-8")));
            }
        }
    }
    data
}

/// What a server says of all it has.
fn digest(server: &Server) -> Frame {
    call(&mut server.client(), "DEBUG DIGEST")
}

/// A server that was sent what 0.1.0 was sent.
fn replayed(data: &Path, schema: &str) -> Server {
    let server = serve(data, Kept::Snapshot, &[schema]);
    let mut client = server.client();
    let commands = fs::read_to_string(old().join("commands.txt")).expect("the commands");
    for command in commands.lines().filter(|command| *command != "BGREWRITEAOF") {
        let reply = call(&mut client, command);
        assert!(!matches!(reply, Frame::Error(_)), "{command}: {reply:?}");
    }
    server
}

#[test]
fn files_of_keyward_0_1_are_served_as_they_were_under_their_schema_and_without() {
    let schema = old().join("keyward.toml").display().to_string();
    let fresh = TempDir::new().expect("a directory");
    let expected = replayed(fresh.path(), &schema);
    for kept in [Kept::Snapshot, Kept::Log] {
        for schemas in [&[schema.as_str()][..], &[]] {
            let data = old_data(kept);
            let server = serve(data.path(), kept, schemas);
            assert_eq!(digest(&server), digest(&expected), "{kept:?} {schemas:?}");
            let mut client = server.client();
            let ends = call(&mut client, "PEXPIRETIME coupon:spring");
            assert_eq!(ends, Frame::Integer(4_102_444_800_000), "{kept:?}");
            let paid = call(&mut client, "SMEMBERS customers:on:paid");
            assert_eq!(paid.as_elements().map(<[Frame]>::len), Some(2), "{kept:?}: {paid:?}");
        }
    }
}

#[test]
fn what_0_1_left_goes_on_under_0_2_and_is_then_remembered_with_its_schema() {
    let schema = old().join("keyward.toml").display().to_string();
    let data = old_data(Kept::Log);
    let server = serve(data.path(), Kept::Log, &[&schema]);
    let mut client = server.client();
    assert_eq!(call(&mut client, "HSET customer:2 email bob@example.com"), Frame::Integer(0));
    drop(server);
    let server = serve(data.path(), Kept::Log, &[&schema]);
    let found = call(&mut server.client(), "GET customers:by_email:bob@example.com");
    assert_eq!(found, Frame::Bulk(b"2".to_vec()));
    drop(server);
    let log: Vec<u8> = fs::read_dir(data.path().join("appendonlydir"))
        .expect("files")
        .flat_map(|entry| fs::read(entry.expect("a file").path()).expect("bytes"))
        .collect();
    assert!(contains(&log, b"keyward-schemas"), "it is not remembered");
}

/// What 0.1.0 left behind of a keyspace with `persist = "rdb"` beside its append-only file: neither
/// file says so.
#[test]
fn rows_that_0_1_left_to_snapshots_are_served_whatever_comes_next() {
    let from = repository().join("tests/versions/keyward-0.1-persist");
    let schema = from.join("keyward.toml").display().to_string();
    let folder = TempDir::new().expect("a directory");
    let logged = folder.path().join("logged.toml");
    let text = fs::read_to_string(&schema).expect("a schema").replace("\"rdb\"", "\"aof\"");
    fs::write(&logged, text).expect("a file");
    let logged = logged.display().to_string();
    for schemas in [&[schema.as_str()][..], &[&logged], &[], &[&schema, "--observe"]] {
        let data = TempDir::new().expect("a directory");
        let log = data.path().join("appendonlydir");
        fs::create_dir(&log).expect("a directory");
        for entry in fs::read_dir(from.join("appendonlydir")).expect("files") {
            let path = entry.expect("a file").path();
            fs::copy(&path, log.join(path.file_name().expect("a name"))).expect("a copy");
        }
        fs::copy(from.join("dump.rdb"), data.path().join("dump.rdb")).expect("a copy");
        for start in 1..=3 {
            let server = serve(data.path(), Kept::Log, schemas);
            let mut client = server.client();
            assert_eq!(call(&mut client, "DBSIZE"), Frame::Integer(4), "{schemas:?}, {start}");
            assert_eq!(call(&mut client, "GET page:1"), Frame::Bulk(b"again".to_vec()));
            call(&mut client, "SELECT 1");
            assert_eq!(call(&mut client, "GET plain"), Frame::Bulk(b"2".to_vec()));
        }
        let server = serve(data.path(), Kept::Log, schemas);
        call(&mut server.client(), "SET page:6 sixth");
        let _ = server.client().call(["SHUTDOWN"]);
        server.wait(std::time::Duration::from_secs(20));
        let server = serve(data.path(), Kept::Log, schemas);
        assert_eq!(call(&mut server.client(), "DBSIZE"), Frame::Integer(5), "{schemas:?}");
    }
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// The forms that other versions and Redis 7.0 look for.
#[test]
fn files_have_the_names_versions_and_annotations_that_the_page_tells() {
    let schema = old().join("keyward.toml").display().to_string();
    let data = TempDir::new().expect("a directory");
    let server = serve(data.path(), Kept::Log, &[&schema, "--rdbcompression", "no"]);
    assert_eq!(call(&mut server.client(), "SET plain x"), Frame::Simple(b"OK".to_vec()));
    call(&mut server.client(), "SAVE");
    drop(server);
    let snapshot = fs::read(data.path().join("dump.rdb")).expect("a snapshot");
    assert_eq!(&snapshot[..9], b"REDIS0010");
    assert!(contains(&snapshot, b"\xfa\x0fkeyward-schemas"), "the AUX field");
    assert!(contains(&snapshot, b"keyward-schemas 1\n0 schema - 4 "), "what it says");
    let log = data.path().join("appendonlydir");
    let manifest = fs::read_to_string(log.join("appendonly.aof.manifest")).expect("a manifest");
    let lines: Vec<&str> = manifest.lines().collect();
    assert_eq!(
        lines,
        [
            "file appendonly.aof.1.base.rdb seq 1 type b",
            "file appendonly.aof.1.incr.aof seq 1 type i"
        ]
    );
    let increment = fs::read(log.join("appendonly.aof.1.incr.aof")).expect("an increment");
    let base = fs::read(log.join("appendonly.aof.1.base.rdb")).expect("a base");
    assert_eq!(&base[..9], b"REDIS0010");
    assert!(contains(&[base, increment].concat(), b"keyward-schemas"), "it is remembered");
}

#[test]
fn a_server_says_which_keyward_and_which_redis_it_is() {
    let data = TempDir::new().expect("a directory");
    let server = serve(data.path(), Kept::Snapshot, &[]);
    let info = call(&mut server.client(), "INFO server");
    let info = String::from_utf8_lossy(info.as_bytes().expect("text")).into_owned();
    assert!(info.contains("redis_version:7.0.15\r\n"), "{info}");
    let version = env!("CARGO_PKG_VERSION");
    assert!(info.contains(&format!("keyward_version:{version}\r\n")), "{info}");
    let log = fs::read_to_string(repository().join("CHANGELOG.md")).expect("the changelog");
    assert!(log.contains(&format!("\n## {version}")), "CHANGELOG.md tells nothing of {version}");
}

/// The tests in a cell: `tests/FILE.rs` `name`, `name`; a path from the repository's root
/// or from this crate's.
fn problem(cell: &str) -> Option<String> {
    let mut file = None;
    let mut tests = 0;
    for name in cell.split('`').skip(1).step_by(2) {
        if name.contains('/') {
            let places = [repository(), repository().join("crates/keyward")];
            file = places.iter().find_map(|place| fs::read_to_string(place.join(name)).ok());
            if file.is_none() {
                return Some(format!("there is no {name}"));
            }
            continue;
        }
        let text = file.as_ref()?;
        if ![format!("fn {name}("), format!("def {name}(")].iter().any(|head| text.contains(head)) {
            return Some(format!("there is no test {name}"));
        }
        tests += 1;
    }
    (tests == 0).then(|| "no test is named".to_owned())
}

#[test]
fn every_promise_of_the_page_names_a_test_that_exists() {
    let page = fs::read_to_string(repository().join("docs/upgrading.md")).expect("the page");
    let mut promises = 0;
    for line in page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| ---")) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        if cells.last() == Some(&"held by") {
            continue;
        }
        let last = cells.last().expect("cells");
        assert_eq!(problem(last), None, "{line}");
        promises += 1;
    }
    assert!(promises > 15, "{promises}");
    assert!(problem("`tests/upgrading.rs` `no_such_test`").is_some());
    assert!(problem("nothing").is_some());
}
