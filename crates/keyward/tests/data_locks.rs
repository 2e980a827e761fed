//! Files have one server: a second one that would write them is refused, by the name of
//! the first.

use keyward_resp::Frame;
use keyward_testkit::{Client, Server};
use std::path::Path;
use std::process::{Command, Output};

const OK: &[u8] = b"OK";

fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_keyward"))
}

fn keyward(directory: &Path, options: &[&str]) -> Server {
    let dir = ["--dir", directory.to_str().expect("a path in UTF-8")];
    Server::keyward(program(), &[&dir, options].concat())
}

/// What a server that must not start says.
fn refused(directory: &Path, options: &[&str]) -> String {
    let socket = directory.join("socket");
    let output: Output = Command::new(program())
        .args(["serve", "--port", "0", "--dir"])
        .arg(directory)
        .arg("--unixsocket")
        .arg(socket)
        .args(options)
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn ask(client: &mut Client, words: &[&str]) -> Frame {
    client.call(words).expect("an answer")
}

#[test]
fn a_second_server_on_the_same_files_is_refused_by_the_name_of_the_first() {
    let directory = tempfile::tempdir().expect("a directory");
    let logged = ["--appendonly", "yes"];
    let first = keyward(directory.path(), &logged);
    assert_eq!(ask(&mut first.client(), &["SET", "k", "v"]), Frame::Simple(OK.to_vec()));
    let holder = format!("(PID {}, {})", first.process_id(), first.address());
    let told = refused(directory.path(), &logged);
    assert!(told.contains("appendonly.aof is in use by another server"), "{told}");
    assert!(told.contains(&holder), "{told}");
    let told = refused(directory.path(), &["--appendonly", "no", "--save", "60 1"]);
    assert!(told.contains("dump.rdb is in use by another server"), "{told}");
    // The way in which it ends does not matter: this is SIGKILL.
    drop(first);
    let second = keyward(directory.path(), &logged);
    assert_eq!(ask(&mut second.client(), &["GET", "k"]), Frame::Bulk(b"v".to_vec()));
}

#[test]
fn the_file_of_a_lock_that_was_removed_is_made_again() {
    let directory = tempfile::tempdir().expect("a directory");
    let logged = ["--appendonly", "yes", "--save", ""];
    let first = keyward(directory.path(), &logged);
    let lock = directory.path().join("appendonly.aof.lock");
    std::fs::remove_file(&lock).expect("it is there");
    let start = std::time::Instant::now();
    while !lock.exists() {
        assert!(start.elapsed().as_secs() < 30, "it was not made again");
        ask(&mut first.client(), &["PING"]);
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let told = refused(directory.path(), &logged);
    assert!(told.contains("appendonly.aof is in use by another server"), "{told}");
}

#[test]
fn servers_may_share_a_directory_under_other_names() {
    let directory = tempfile::tempdir().expect("a directory");
    let options = ["--appendonly", "yes", "--save", ""];
    let _first = keyward(directory.path(), &options);
    let named = [&options[..], &["--appendfilename", "second.aof"]].concat();
    let second = keyward(directory.path(), &named);
    assert_eq!(ask(&mut second.client(), &["SET", "k", "v"]), Frame::Simple(OK.to_vec()));
}

#[test]
fn a_server_that_keeps_no_files_is_in_nobodys_way_until_it_is_to_write_them() {
    let directory = tempfile::tempdir().expect("a directory");
    let first = keyward(directory.path(), &["--appendonly", "yes"]);
    let beside = keyward(directory.path(), &["--save", ""]);
    let mut client = beside.client();
    assert_eq!(ask(&mut client, &["SET", "k", "v"]), Frame::Simple(OK.to_vec()));
    assert!(matches!(ask(&mut client, &["SAVE"]), Frame::Error(_)));
    let Frame::Error(told) = ask(&mut client, &["CONFIG", "SET", "appendonly", "yes"]) else {
        panic!("both would write the same file");
    };
    let told = String::from_utf8_lossy(&told).into_owned();
    let beginning = "ERR CONFIG SET failed (possibly related to argument 'appendonly') - ";
    assert!(told.starts_with(beginning) && told.contains("in use by another server"), "{told}");
    drop(first);
    assert_eq!(ask(&mut client, &["SAVE"]), Frame::Simple(OK.to_vec()));
    let on = ask(&mut client, &["CONFIG", "SET", "appendonly", "yes"]);
    assert_eq!(on, Frame::Simple(OK.to_vec()));
}

#[test]
fn another_directory_is_taken_only_if_nobody_has_it() {
    let (ours, theirs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let saving = ["--save", "3600 1"];
    let (first, second) = (keyward(ours.path(), &saving), keyward(theirs.path(), &saving));
    let mut client = first.client();
    let place = theirs.path().to_str().expect("a path in UTF-8");
    let protected = ask(&mut client, &["CONFIG", "SET", "dir", place]);
    assert!(matches!(protected, Frame::Error(_)), "a protected setting: {protected:?}");
    drop(first);
    let allowing = [&saving[..], &["--enable-protected-configs", "yes"]].concat();
    let first = keyward(ours.path(), &allowing);
    let mut client = first.client();
    let refused = ask(&mut client, &["CONFIG", "SET", "dir", place]);
    assert!(matches!(refused, Frame::Error(_)), "{refused:?}");
    drop(second);
    let taken = ask(&mut client, &["CONFIG", "SET", "dir", place]);
    assert_eq!(taken, Frame::Simple(OK.to_vec()));
    // What it has left is free.
    let _third = keyward(ours.path(), &saving);
}

#[test]
fn a_restore_to_a_server_that_runs_is_refused() {
    let (source, target) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let from = keyward(source.path(), &[]);
    assert_eq!(ask(&mut from.client(), &["SAVE"]), Frame::Simple(OK.to_vec()));
    let running = keyward(target.path(), &["--appendonly", "yes"]);
    let restore = || {
        let output = Command::new(program())
            .args(["restore", "--force"])
            .arg(source.path().join("dump.rdb"))
            .arg("--to")
            .arg(target.path())
            .output()
            .expect("it runs");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, told) = restore();
    assert_eq!(code, Some(2), "{told}");
    assert!(told.contains(&format!("PID {}", running.process_id())), "{told}");
    drop(running);
    let (code, told) = restore();
    assert_eq!(code, Some(0), "{told}");
}

#[test]
fn an_append_only_directory_behind_a_symbolic_link_is_the_same_one() {
    let (data, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let logged = ["--appendonly", "yes", "--save", ""];
    let first = keyward(data.path(), &logged);
    assert_eq!(ask(&mut first.client(), &["SET", "k", "v"]), Frame::Simple(OK.to_vec()));
    let real = data.path().join("appendonlydir");
    std::os::unix::fs::symlink(&real, other.path().join("appendonlydir")).expect("a link");
    let told = refused(other.path(), &logged);
    assert!(told.contains("appendonly.aof is in use by another server"), "{told}");
    assert!(told.contains(&format!("PID {}", first.process_id())), "{told}");
    drop(first);
    let second = keyward(other.path(), &logged);
    assert_eq!(ask(&mut second.client(), &["GET", "k"]), Frame::Bulk(b"v".to_vec()));
    let told = refused(data.path(), &logged);
    assert!(told.contains(&format!("PID {}", second.process_id())), "{told}");
}

#[test]
fn a_refusal_for_a_lock_names_the_setting_and_the_holder() {
    let directory = tempfile::tempdir().expect("a directory");
    let first = keyward(directory.path(), &["--appendonly", "yes", "--save", "60 1"]);
    let beside = keyward(directory.path(), &["--appendonly", "no", "--save", ""]);
    let mut client = beside.client();
    let told = |reply: Frame| match reply {
        Frame::Error(text) => String::from_utf8_lossy(&text).into_owned(),
        other => panic!("{other:?}"),
    };
    let holder = format!("in use by another server (PID {}, ", first.process_id());
    let save = told(ask(&mut client, &["CONFIG", "SET", "save", "60 1"]));
    let beginning = "ERR CONFIG SET failed (possibly related to argument 'save') - ";
    assert!(save.starts_with(beginning) && save.contains(&holder), "{save}");
    let saved = told(ask(&mut client, &["SAVE"]));
    assert!(saved.starts_with("ERR ") && saved.contains("dump.rdb"), "{saved}");
    assert!(saved.contains(&holder), "{saved}");
}
