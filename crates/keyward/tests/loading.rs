//! What a server does with the files of an append-only file that it finds.

use keyward_resp::Frame;
use keyward_testkit::{Server, call};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const BASE: &str = "appendonly.aof.1.base.rdb";

/// A directory whose append-only file has a base and increments, as they are given.
struct Found {
    directory: tempfile::TempDir,
}

impl Found {
    fn new(base: Option<&[u8]>, increments: &[&[u8]]) -> Found {
        let directory = tempfile::tempdir().expect("a directory");
        let found = Found { directory };
        let folder = found.directory.path().join("appendonlydir");
        fs::create_dir(&folder).expect("a directory");
        let mut manifest = String::new();
        if let Some(base) = base {
            fs::write(folder.join(BASE), base).expect("a file");
            manifest += &format!("file {BASE} seq 1 type b\n");
        }
        for (index, content) in increments.iter().enumerate() {
            let (name, number) = (format!("appendonly.aof.{}.incr.aof", index + 1), index + 1);
            fs::write(folder.join(&name), content).expect("a file");
            manifest += &format!("file {name} seq {number} type i\n");
        }
        fs::write(folder.join("appendonly.aof.manifest"), manifest).expect("a file");
        found
    }

    fn increment(&self, number: usize) -> PathBuf {
        let name = format!("appendonly.aof.{number}.incr.aof");
        self.directory.path().join("appendonlydir").join(name)
    }

    fn options(&self) -> [&str; 4] {
        let directory = self.directory.path().to_str().expect("a path in UTF-8");
        ["--dir", directory, "--appendonly", "yes"]
    }

    /// What there is under some keys, once it is loaded.
    fn loaded(&self, keys: &[&str]) -> Vec<Option<String>> {
        let server = Server::keyward(program(), &self.options());
        let mut client = server.client();
        let text = |frame: Frame| Some(String::from_utf8_lossy(frame.as_bytes()?).into_owned());
        keys.iter().map(|key| text(client.call(["GET", key]).expect("an answer"))).collect()
    }

    /// Why it is not.
    fn refusal(&self) -> String {
        let output = Command::new(program())
            .args(["serve", "--port", "0", "--unixsocket"])
            .arg(self.directory.path().join("socket"))
            .args(self.options())
            .output()
            .expect("it runs");
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }
}

fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_keyward"))
}

fn set(key: &str, value: &str) -> Vec<u8> {
    let (k, v) = (key.len(), value.len());
    format!("*3\r\n$3\r\nSET\r\n${k}\r\n{key}\r\n${v}\r\n{value}\r\n").into_bytes()
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

/// A snapshot of a real Redis, with one key.
fn redis_snapshot() -> Vec<u8> {
    let directory = tempfile::tempdir().expect("a directory");
    let theirs = Server::redis(&["--dir", directory.path().to_str().expect("a path in UTF-8")]);
    call(&mut theirs.client(), "SET base theirs");
    call(&mut theirs.client(), "SAVE");
    fs::read(directory.path().join("dump.rdb")).expect("it was saved")
}

#[test]
fn increments_follow_the_base_in_their_order() {
    let base = redis_snapshot();
    let found = Found::new(Some(&base), &[&set("a", "1"), b"", &set("a", "3")]);
    assert_eq!(found.loaded(&["base", "a"]), [some("theirs"), some("3")]);
}

#[test]
fn a_base_without_increments_is_loaded_and_one_begins() {
    let found = Found::new(Some(&redis_snapshot()), &[]);
    assert_eq!(found.loaded(&["base"]), [some("theirs")]);
    assert!(found.increment(1).exists(), "what follows has a file");
    assert_eq!(found.loaded(&["base"]), [some("theirs")]);
}

#[test]
fn increments_without_a_base_are_loaded() {
    let found = Found::new(None, &[&set("a", "1"), &set("b", "2")]);
    assert_eq!(found.loaded(&["a", "b"]), [some("1"), some("2")]);
}

#[test]
fn commands_behind_the_snapshot_of_a_base_are_carried_out() {
    let base = [redis_snapshot(), set("base", "ours"), set("a", "1")].concat();
    let found = Found::new(Some(&base), &[&set("b", "2")]);
    assert_eq!(found.loaded(&["base", "a", "b"]), [some("ours"), some("1"), some("2")]);
}

#[test]
fn a_base_of_commands_is_carried_out() {
    let found = Found::new(Some(&set("a", "1")), &[&set("b", "2")]);
    assert_eq!(found.loaded(&["a", "b"]), [some("1"), some("2")]);
}

#[test]
fn a_torn_increment_is_cut_off_only_if_nothing_follows_it() {
    let (whole, torn) = (set("a", "1"), b"*3\r\n$3\r\nSET\r\n$1\r\na\r\n".as_slice());
    for end in [torn, &[0; 64]] {
        let bytes = [&whole, end].concat();
        let followed = Found::new(None, &[&bytes, &set("b", "2")]);
        let told = followed.refusal();
        assert!(told.contains("appendonly.aof.1.incr.aof"), "{told}");
        assert_eq!(fs::read(followed.increment(1)).expect("it is there"), bytes, "untouched");
        // An empty one follows where the power failed as the log changed to it.
        for increments in [&[&bytes[..]][..], &[&bytes, b""]] {
            let last = Found::new(None, increments);
            assert_eq!(last.loaded(&["a"]), [some("1")]);
            assert_eq!(fs::read(last.increment(1)).expect("it is there"), whole);
        }
    }
}

#[test]
fn damage_is_told_with_its_place_wherever_it_is() {
    let (first, second) = (set("a", "1"), set("b", "2"));
    let damaged = [&first, b"nonsense".as_slice(), &second].concat();
    for increments in [&[&damaged[..]][..], &[&damaged, &second], &[&first, &damaged]] {
        let told = Found::new(None, increments).refusal();
        let place = format!("is damaged at byte {}", first.len());
        assert!(told.contains(&place), "{told}");
    }
}

#[test]
fn a_snapshot_that_is_cut_off_or_damaged_is_not_served_over() {
    let base = redis_snapshot();
    let mut damaged = base.clone();
    *damaged.last_mut().expect("it has bytes") ^= 1;
    for bytes in [&base[..base.len() - 4], &damaged] {
        let told = Found::new(Some(bytes), &[&set("a", "1")]).refusal();
        assert!(told.contains(BASE), "{told}");
    }
}

#[test]
fn a_file_that_the_manifest_names_and_nobody_has_is_told() {
    for number in 1..=2 {
        let found = Found::new(None, &[&set("a", "1"), &set("b", "2")]);
        fs::remove_file(found.increment(number)).expect("it is there");
        let told = found.refusal();
        let name = format!("appendonly.aof.{number}.incr.aof");
        assert!(told.contains("cannot open") && told.contains(&name), "{told}");
    }
}
