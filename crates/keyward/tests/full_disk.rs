//! A disk that is full, fails or must not be written: a clear error, reading goes on,
//! nothing that was acknowledged is lost, and writing goes on when that is over.
//!
//! Each server has a small file system of its own, in a mount namespace that ends with
//! it, or is a user who may not do everything, in a namespace too. Where a process may
//! not have one these tests fail: see user_namespaces(7).

use keyward_resp::Frame;
use keyward_testkit::{Client, Server, wait_until};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// What fills up space that is given back later.
const BALLAST: &str = "ballast";
const NO_SPACE: &[u8] = b"MISCONF Errors writing to the AOF file: No space left on device";

/// A server whose directory is a file system of one megabyte, half of it ballast.
struct Cramped {
    server: Server,
    directory: tempfile::TempDir,
}

impl Cramped {
    fn start(options: &[&str]) -> Cramped {
        Cramped::with_files(tempfile::tempdir().expect("a directory").path(), options)
    }

    /// The same with a copy of what is in a directory.
    fn with_files(files: &Path, options: &[&str]) -> Cramped {
        let directory = tempfile::tempdir().expect("a directory");
        let place = directory.path().join("disk");
        fs::create_dir(&place).expect("a directory");
        let program = directory.path().join("cramped");
        let script = format!(
            "#!/bin/sh\nexec unshare --map-root-user --mount sh -c 'mount -t tmpfs -o size=1m tmpfs \"$0\" \
             && cp -r {}/. \"$0\" && head -c 500000 /dev/zero > \"$0/{BALLAST}\" \
             && exec \"$@\"' {} {} \"$@\"\n",
            files.display(),
            place.display(),
            env!("CARGO_BIN_EXE_keyward"),
        );
        fs::write(&program, script).expect("a file");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("it is ours");
        let dir = ["--dir", place.to_str().expect("a path in UTF-8")];
        let server = Server::keyward(&program, &[&dir, options].concat());
        Cramped { server, directory }
    }

    /// Its file system, which only it has mounted.
    fn disk(&self) -> PathBuf {
        let inside = self.directory.path().join("disk");
        let root = PathBuf::from(format!("/proc/{}/root", self.server.process_id()));
        root.join(inside.strip_prefix("/").expect("an absolute path"))
    }

    fn make_room(&self) {
        fs::remove_file(self.disk().join(BALLAST)).expect("there is ballast");
    }

    /// A server that starts with a copy of its files, in the directory that it returns.
    fn restarted(self, options: &[&str]) -> (Server, tempfile::TempDir) {
        let copy = tempfile::tempdir().expect("a directory");
        let copied = Command::new("cp").arg("-r").arg(self.disk()).arg(copy.path()).status();
        assert!(copied.expect("cp runs").success());
        let place = copy.path().join("disk");
        let dir = ["--dir", place.to_str().expect("a path in UTF-8")];
        let program = Path::new(env!("CARGO_BIN_EXE_keyward"));
        (Server::keyward(program, &[&dir, options].concat()), copy)
    }
}

fn info(client: &mut Client, field: &str) -> String {
    let info = client.call(["INFO", "persistence"]).expect("an answer");
    let info = String::from_utf8_lossy(info.as_bytes().expect("a text")).into_owned();
    let line = info.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    line.unwrap_or_else(|| panic!("INFO has no {field}")).to_owned()
}

/// Sets keys until that is refused or the connection ends; returns how many were
/// acknowledged and the refusal.
fn set_until_refused(server: &Server, first: usize) -> (usize, Option<Vec<u8>>) {
    let mut client = server.client();
    let value = "x".repeat(1000);
    for number in first.. {
        match client.call(["SET", &format!("key:{number}"), &value]) {
            Ok(Frame::Error(text)) => return (number, Some(text)),
            Ok(_) => assert!(number < first + 5000, "the disk is never full"),
            Err(_) => return (number, None),
        }
    }
    unreachable!("it goes on until it is refused")
}

#[test]
fn a_full_disk_refuses_writes_and_loses_nothing_that_was_acknowledged() {
    for policy in ["everysec", "no", "always"] {
        let options = ["--appendonly", "yes", "--appendfsync", policy];
        let cramped = Cramped::start(&options);
        let server = &cramped.server;
        let (count, refusal) = set_until_refused(server, 0);
        assert!(count > 100, "{count} keys");
        // Whoever waits for the disk is not answered at all.
        assert_eq!(refusal, None, "{policy}");
        let (_, refusal) = set_until_refused(server, count);
        assert_eq!(refusal.as_deref(), Some(NO_SPACE), "{policy}");
        let mut client = server.client();
        assert_eq!(client.call(["PING"]).unwrap(), Frame::Error(NO_SPACE.to_vec()));
        assert_eq!(info(&mut client, "aof_last_write_status"), "err");
        assert!(client.call(["GET", "key:7"]).unwrap().as_bytes().is_some(), "reading goes on");
        cramped.make_room();
        wait_until(|| info(&mut client, "aof_last_write_status") == "ok");
        let after = client.call(["SET", "after", "1"]).expect("an answer");
        assert_eq!(after, Frame::Simple(b"OK".to_vec()), "{policy}");
        // What is acknowledged is in the file, whatever is not synced yet.
        let (again, _files) = cramped.restarted(&options);
        let mut client = again.client();
        for key in (0..count).map(|number| format!("key:{number}")).chain(["after".to_owned()]) {
            let value = client.call(["GET", &key]).expect("an answer");
            assert!(value.as_bytes().is_some(), "{policy}: {key} is lost");
        }
    }
}

#[test]
fn writing_the_append_only_file_anew_on_a_full_disk_leaves_it_as_it_is() {
    let options = ["--appendonly", "yes", "--appendfsync", "always"];
    let cramped = Cramped::start(&options);
    let mut client = cramped.server.client();
    let value = "x".repeat(1000);
    for number in 0..300 {
        let key = format!("key:{number}");
        assert_eq!(client.call(["SET", &key, &value]).unwrap(), Frame::Simple(b"OK".to_vec()));
    }
    // The base would be as long as the file is, had it not been for compression.
    client.call(["CONFIG", "SET", "rdbcompression", "no"]).expect("an answer");
    client.call(["BGREWRITEAOF"]).expect("an answer");
    wait_until(|| info(&mut client, "aof_last_bgrewrite_status") == "err");
    assert_eq!(client.call(["SET", "after", "1"]).unwrap(), Frame::Simple(b"OK".to_vec()));
    cramped.make_room();
    client.call(["BGREWRITEAOF"]).expect("an answer");
    wait_until(|| info(&mut client, "aof_last_bgrewrite_status") == "ok");
    let (again, _files) = cramped.restarted(&options);
    assert_eq!(again.client().call(["DBSIZE"]).unwrap(), Frame::Integer(301));
}

#[test]
fn writing_the_file_anew_does_not_give_up_what_could_not_be_written() {
    for policy in ["everysec", "always"] {
        let options = ["--appendonly", "yes", "--appendfsync", policy];
        let cramped = Cramped::start(&options);
        let mut client = cramped.server.client();
        client.call(["CONFIG", "SET", "rdbcompression", "no"]).expect("an answer");
        client.call(["SELECT", "3"]).expect("an answer");
        client.call(["SET", "small", "1"]).expect("an answer");
        // There is room for a small write afterwards, and for no base.
        assert!(cramped.server.client().call(["SET", "large", &"x".repeat(600_000)]).is_err());
        wait_until(|| info(&mut client, "aof_last_write_status") == "err");
        client.call(["BGREWRITEAOF"]).expect("an answer");
        wait_until(|| info(&mut client, "aof_last_bgrewrite_status") == "err");
        let refused = client.call(["SET", "behind", "1"]).expect("an answer");
        assert_eq!(refused, Frame::Error(NO_SPACE.to_vec()), "{policy}");
        assert_eq!(info(&mut client, "aof_last_write_status"), "err", "{policy}");
        cramped.make_room();
        wait_until(|| info(&mut client, "aof_last_write_status") == "ok");
        assert_eq!(client.call(["SET", "after", "1"]).unwrap(), Frame::Simple(b"OK".to_vec()));
        let (again, _files) = cramped.restarted(&options);
        let mut client = again.client();
        assert_eq!(client.call(["STRLEN", "large"]).unwrap(), Frame::Integer(600_000), "{policy}");
        client.call(["SELECT", "3"]).expect("an answer");
        assert_eq!(client.call(["EXISTS", "small", "after"]).unwrap(), Frame::Integer(2));
    }
}

/// A start that dates rows finds no room for that in the log, nor for the base that it asks for.
#[test]
fn what_a_start_was_told_to_do_is_not_half_done_on_a_full_disk() {
    let (files, own) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let schema = |ttl: &str| {
        let path = own.path().join(format!("{ttl}.toml"));
        let text = format!(
            "[keyspace]\nname = \"notes\"\n\n[key.\"note:{{id:uint}}\"]\ntype = \"string\"\nttl = \"{ttl}\"\n"
        );
        fs::write(&path, text).expect("a file");
        path.to_str().expect("UTF-8").to_owned()
    };
    let (endless, day) = (schema("none"), schema("1d"));
    let options = ["--appendonly", "yes", "--rdbcompression", "no", "--save", ""];
    let program = Path::new(env!("CARGO_BIN_EXE_keyward"));
    let dir = ["--dir", files.path().to_str().expect("UTF-8")];
    let server = Server::keyward(program, &[&[&*endless][..], &dir, &options].concat());
    let mut client = server.client();
    let value = "x".repeat(100);
    for number in 0..3000 {
        client.call(["SET", &format!("note:{number}"), &value]).expect("an answer");
    }
    let text = fs::read(&day).expect("it was written");
    let plan = client.call([&b"KEYWARD"[..], b"SCHEMA", b"PLAN", &text]).expect("a plan");
    let plan = String::from_utf8_lossy(plan.as_elements().expect("a map")[1].as_bytes().unwrap())
        .into_owned();
    drop(server);
    let accept = [&[&*day][..], &options, &["--accept", &plan]].concat();
    let cramped = Cramped::with_files(files.path(), &accept);
    let mut client = cramped.server.client();
    wait_until(|| info(&mut client, "aof_last_bgrewrite_status") == "err");
    let refused = client.call(["SET", "note:1", "x"]).expect("an answer");
    assert_eq!(refused, Frame::Error(NO_SPACE.to_vec()));
    cramped.make_room();
    wait_until(|| info(&mut client, "aof_last_write_status") == "ok");
    let ends = |client: &mut Client| -> Vec<Frame> {
        let keys = ["note:0", "note:1500", "note:2999"];
        keys.map(|key| client.call(["PEXPIRETIME", key]).expect("an end")).to_vec()
    };
    let expected = ends(&mut client);
    assert!(!expected.contains(&Frame::Integer(-1)), "{expected:?}");
    // It is not asked again.
    let (again, _files) = cramped.restarted(&[&[&*day][..], &options].concat());
    assert_eq!(ends(&mut again.client()), expected);
    assert_eq!(again.client().call(["DBSIZE"]).unwrap(), Frame::Integer(3000));
}

#[test]
fn a_snapshot_that_finds_no_room_leaves_the_last_one_and_refuses_writes() {
    let options = ["--save", "3600 1000000", "--rdbcompression", "no"];
    let cramped = Cramped::start(&options);
    let mut client = cramped.server.client();
    client.call(["SET", "first", "1"]).expect("an answer");
    client.call(["SAVE"]).expect("an answer");
    let before = fs::read(cramped.disk().join("dump.rdb")).expect("it was saved");
    let value = "x".repeat(1000);
    for number in 0..700 {
        client.call(["SET", &format!("key:{number}"), &value]).expect("an answer");
    }
    client.call(["BGSAVE"]).expect("an answer");
    wait_until(|| info(&mut client, "rdb_last_bgsave_status") == "err");
    let refused = client.call(["SET", "a", "1"]).expect("an answer");
    let text = "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to \
                persist to disk. Commands that may modify the data set are disabled, because \
                this instance is configured to report errors during writes if RDB snapshotting \
                fails (stop-writes-on-bgsave-error option). Please check the Redis logs for \
                details about the RDB error.";
    assert_eq!(refused, Frame::Error(text.as_bytes().to_vec()));
    assert_eq!(client.call(["SAVE"]).unwrap(), Frame::Error(b"ERR".to_vec()));
    assert!(client.call(["GET", "key:7"]).unwrap().as_bytes().is_some(), "reading goes on");
    assert_eq!(fs::read(cramped.disk().join("dump.rdb")).expect("it is there"), before);
    let left = fs::read_dir(cramped.disk()).expect("a directory").flatten();
    let names = left.map(|file| file.file_name().to_string_lossy().into_owned());
    let left: Vec<String> = names.filter(|name| !name.ends_with(".lock")).collect();
    assert_eq!(left.len(), 2, "half a snapshot is left: {left:?}");
    cramped.make_room();
    client.call(["BGSAVE"]).expect("an answer");
    wait_until(|| info(&mut client, "rdb_last_bgsave_status") == "ok");
    assert_eq!(client.call(["SET", "a", "1"]).unwrap(), Frame::Simple(b"OK".to_vec()));
    let (again, _files) = cramped.restarted(&options);
    assert_eq!(again.client().call(["DBSIZE"]).unwrap(), Frame::Integer(701));
}

/// What a server says that is started in a directory of which `prepare` is a script, and
/// must not start.
fn refused(prepare: &str, options: &[&str]) -> String {
    let directory = tempfile::tempdir().expect("a directory");
    let place = directory.path().join("disk");
    fs::create_dir(&place).expect("a directory");
    let script = format!("cd \"$0\" && {prepare} && exec \"$@\"");
    let output = Command::new("unshare")
        .args(["--map-root-user", "--mount", "sh", "-c", &script])
        .arg(&place)
        .args([env!("CARGO_BIN_EXE_keyward"), "serve", "--port", "0", "--dir"])
        .arg(&place)
        .arg("--unixsocket")
        .arg(directory.path().join("socket"))
        .args(options)
        .output()
        .expect("it runs");
    assert!(!output.status.success(), "it must not start");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_directory_that_cannot_be_written_is_told_at_the_start() {
    let read_only = "mount -t tmpfs -o ro tmpfs . ";
    let told = refused(read_only, &["--appendonly", "yes"]);
    assert!(told.contains("appendonlydir") && told.contains("Read-only file system"), "{told}");
    let told = refused("echo > appendonlydir", &["--appendonly", "yes"]);
    assert!(told.contains("appendonlydir") && told.contains("Not a directory"), "{told}");
    let told = refused("mkdir dump.rdb", &["--appendonly", "no"]);
    assert!(told.contains("dump.rdb") && told.contains("Is a directory"), "{told}");
}

/// Makes a program that runs Keyward in some way.
fn wrapper(directory: &Path, script: &str) -> PathBuf {
    let program = directory.join("wrapper");
    let script = format!("#!/bin/sh\n{script} {} \"$@\"\n", env!("CARGO_BIN_EXE_keyward"));
    fs::write(&program, script).expect("a file");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("it is ours");
    program
}

/// Whoever runs the tests, without the power to write what is not to be written.
const UNPRIVILEGED: &str = "exec unshare --map-user=65534 --";

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
}

#[test]
fn files_that_must_not_be_touched_are_told_at_the_start() {
    let directory = tempfile::tempdir().expect("a directory");
    let program = wrapper(directory.path(), UNPRIVILEGED);
    let place = directory.path().join("data");
    fs::create_dir(&place).expect("a directory");
    let refused = |appendonly: &str| {
        let output = Command::new(&program)
            .args(["serve", "--port", "0", "--appendonly", appendonly, "--dir"])
            .arg(&place)
            .arg("--unixsocket")
            .arg(directory.path().join("socket"))
            .output()
            .expect("it runs");
        assert!(!output.status.success(), "it must not start");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    set_mode(&place, 0o555);
    let told = refused("yes");
    assert!(told.contains("appendonlydir") && told.contains("Permission denied"), "{told}");
    set_mode(&place, 0o755);
    fs::write(place.join("dump.rdb"), b"").expect("a file");
    set_mode(&place.join("dump.rdb"), 0);
    let told = refused("no");
    assert!(told.contains("dump.rdb") && told.contains("Permission denied"), "{told}");
}

#[test]
fn a_directory_that_must_not_be_written_any_more_fails_what_makes_files_and_nothing_else() {
    let directory = tempfile::tempdir().expect("a directory");
    let program = wrapper(directory.path(), UNPRIVILEGED);
    let place = directory.path().join("data");
    fs::create_dir(&place).expect("a directory");
    let options = ["--dir", place.to_str().expect("UTF-8"), "--appendonly", "yes"];
    let server = Server::keyward(&program, &[&options[..], &["--save", ""]].concat());
    let mut client = server.client();
    let ok = || Frame::Simple(b"OK".to_vec());
    assert_eq!(client.call(["SET", "a", "1"]).unwrap(), ok());
    let parts = place.join("appendonlydir");
    [&place, &parts].into_iter().for_each(|place| set_mode(place, 0o555));
    assert_eq!(client.call(["SAVE"]).unwrap(), Frame::Error(b"ERR".to_vec()));
    client.call(["BGREWRITEAOF"]).expect("an answer");
    wait_until(|| info(&mut client, "aof_last_bgrewrite_status") == "err");
    // The file that is open goes on.
    assert_eq!(client.call(["SET", "b", "2"]).unwrap(), ok());
    [&place, &parts].into_iter().for_each(|place| set_mode(place, 0o755));
    assert_eq!(client.call(["SAVE"]).unwrap(), ok());
    client.call(["BGREWRITEAOF"]).expect("an answer");
    wait_until(|| info(&mut client, "aof_last_bgrewrite_status") == "ok");
    drop(server);
    let again = Server::keyward(&program, &options);
    assert_eq!(again.client().call(["DBSIZE"]).unwrap(), Frame::Integer(2));
}

/// Lets syncs fail while there is a file of this name.
const FAILING_SYNC: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

int fdatasync(int file) {
    if (access(FLAG, F_OK) == 0) {
        errno = EIO;
        return -1;
    }
    return syscall(SYS_fdatasync, file);
}
"#;

/// A program that runs Keyward so that its syncs fail while the second path exists.
fn failing(directory: &Path) -> (PathBuf, PathBuf) {
    let (source, library) = (directory.join("sync.c"), directory.join("sync.so"));
    let flag = directory.join("flag");
    fs::write(&source, FAILING_SYNC).expect("a file");
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg(format!("-DFLAG=\"{}\"", flag.display()))
        .arg(&source)
        .status();
    assert!(compiled.expect("cc runs").success());
    (wrapper(directory, &format!("LD_PRELOAD={} exec", library.display())), flag)
}

#[test]
fn a_sync_that_fails_refuses_writes_until_everything_is_written_anew() {
    for policy in ["everysec", "always"] {
        let directory = tempfile::tempdir().expect("a directory");
        let (program, flag) = failing(directory.path());
        let place = directory.path().join("data");
        fs::create_dir(&place).expect("a directory");
        let dir = ["--dir", place.to_str().expect("UTF-8")];
        let options = [&dir[..], &["--appendonly", "yes", "--appendfsync", policy]].concat();
        let server = Server::keyward(&program, &options);
        let (first, _) = (1, server.client().call(["SET", "key:0", "x"]).expect("an answer"));
        fs::write(&flag, b"").expect("a file");
        let (mut count, mut refusal) = set_until_failed(&server, first);
        if policy == "always" {
            assert_eq!(refusal, None, "whoever waits for the sync is not answered");
            (count, refusal) = set_until_failed(&server, count);
        }
        let text = "MISCONF Errors writing to the AOF file: Input/output error";
        assert_eq!(refusal.as_deref(), Some(text.as_bytes()), "{policy}");
        let mut client = server.client();
        assert!(client.call(["GET", "key:0"]).unwrap().as_bytes().is_some(), "reading goes on");
        fs::remove_file(&flag).expect("it is there");
        client.call(["BGREWRITEAOF"]).expect("an answer");
        let ok = Frame::Simple(b"OK".to_vec());
        wait_until(|| client.call(["SET", "after", "1"]).expect("an answer") == ok);
        drop(server);
        let again = Server::keyward(&program, &options);
        let mut client = again.client();
        for key in (0..count).map(|number| format!("key:{number}")).chain(["after".to_owned()]) {
            let value = client.call(["GET", &key]).expect("an answer");
            assert!(value.as_bytes().is_some(), "{policy}: {key} is lost");
        }
    }
}

/// As `set_until_refused`, a key every few milliseconds: a sync comes once a second.
fn set_until_failed(server: &Server, first: usize) -> (usize, Option<Vec<u8>>) {
    let mut client = server.client();
    for number in first..first + 5000 {
        match client.call(["SET", &format!("key:{number}"), "x"]) {
            Ok(Frame::Error(text)) => return (number, Some(text)),
            Ok(_) => std::thread::sleep(Duration::from_millis(5)),
            Err(_) => return (number, None),
        }
    }
    panic!("the sync does not fail")
}
