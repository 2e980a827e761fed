//! Files that other servers have written: Redis 5 to 8, Valkey 8 and 9.
//!
//! `tests/versions` has the files, the commands they were made with, and how.

use keyward_resp::Frame;
use keyward_testkit::{Server, call};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

const VERSIONS: [&str; 6] =
    ["redis-5.0", "redis-6.2", "redis-7.0", "redis-8.0", "valkey-8.1", "valkey-9.1"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/versions")
}

/// A directory in which this file is the last snapshot.
fn directory_of(file: &str) -> TempDir {
    let directory = TempDir::new().expect("a directory");
    fs::copy(folder().join(file), directory.path().join("dump.rdb")).expect("a copy");
    directory
}

fn keyward(options: &[&str]) -> Server {
    let program = Path::new(env!("CARGO_BIN_EXE_keyward"));
    Server::keyward(program, &[&["--enable-debug-command", "yes"], options].concat())
}

fn serving(directory: &TempDir) -> Server {
    keyward(&["--dir", directory.path().to_str().expect("a path in UTF-8")])
}

#[test]
fn what_other_versions_saved_is_served_as_it_was() {
    let expected = keyward(&[]);
    let commands = fs::read_to_string(folder().join("served.txt")).expect("the commands");
    let mut client = expected.client();
    commands.lines().for_each(|command| drop(call(&mut client, command)));
    let expected = call(&mut client, "DEBUG DIGEST");
    for version in VERSIONS {
        let server = serving(&directory_of(&format!("{version}.rdb")));
        let mut client = server.client();
        assert_eq!(call(&mut client, "DEBUG DIGEST"), expected, "{version}");
        let ends = call(&mut client, "PEXPIRETIME hash");
        assert_eq!(ends, Frame::Integer(4_102_444_800_000), "{version}");
    }
}

#[test]
fn function_libraries_of_other_versions_are_loaded() {
    for version in ["redis-7.0", "redis-8.0", "valkey-8.1", "valkey-9.1"] {
        let server = serving(&directory_of(&format!("{version}-functions.rdb")));
        assert_eq!(call(&mut server.client(), "FCALL answer 0"), Frame::Integer(42), "{version}");
    }
}

/// Serves a file that must be refused; what is said.
fn refusal(file: &str) -> String {
    let directory = directory_of(file);
    let output = Command::new(env!("CARGO_BIN_EXE_keyward"))
        .args(["serve", "--port", "0", "--appendonly", "no", "--unixsocket"])
        .arg(directory.path().join("socket"))
        .arg("--dir")
        .arg(directory.path())
        .output()
        .expect("it runs");
    assert!(!output.status.success(), "{file}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn streams_of_other_versions_are_served_with_their_groups() {
    // But for the read, whose time is another each time it is made.
    let questions = [
        "XRANGE events - +",
        "XINFO STREAM events",
        "XINFO GROUPS events",
        "XPENDING events workers",
        "DEBUG DIGEST",
    ];
    let answers = |server: &Server| -> Vec<Frame> {
        let mut client = server.client();
        questions.iter().map(|question| call(&mut client, question)).collect()
    };
    let expected = keyward(&[]);
    let commands = fs::read_to_string(folder().join("streams.txt")).expect("the commands");
    let mut client = expected.client();
    commands.lines().for_each(|command| drop(call(&mut client, command)));
    let expected = answers(&expected);
    for version in VERSIONS {
        let server = serving(&directory_of(&format!("{version}-streams.rdb")));
        assert_eq!(answers(&server), expected, "{version}");
    }
}

#[test]
fn what_is_not_served_is_refused_by_name_and_all_of_it_at_once() {
    let has_parts = |file: &str, parts: &[&str]| {
        let told = refusal(file);
        for part in parts {
            assert!(told.contains(part), "{file}: {told}");
        }
    };
    let hashes = [
        "the snapshot holds what is not supported: ",
        "\"session\" of database 0 is a hash whose fields have lifetimes",
        "\"large-session\" of database 0 is a hash whose fields have lifetimes",
    ];
    has_parts("valkey-9.1-new.rdb", &hashes);
    has_parts("redis-8.0-new.rdb", &hashes);
    has_parts(
        "redis-8.0-new.rdb",
        &["\"vectors\" of database 0 is a value of the module vectorset"],
    );
}
