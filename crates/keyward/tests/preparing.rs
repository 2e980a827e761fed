//! Files that commands name are read on another thread, and only if they are files.

use keyward_resp::Frame;
use keyward_testkit::{Certificates, Client, Server, call, free_port};
use std::fs;
use std::path::Path;
use std::process::Command;

const PROGRAM: &str = env!("CARGO_BIN_EXE_keyward");

/// A pipe: whoever reads it waits until somebody writes to it.
fn make_pipe(path: &str) {
    assert!(Command::new("mkfifo").arg(path).status().expect("mkfifo runs").success());
}

fn lines(frame: &Frame) -> Vec<String> {
    let Frame::Array(parts) = frame else { panic!("{frame:?}") };
    let text =
        |part: &Frame| String::from_utf8_lossy(part.as_bytes().expect("a text")).into_owned();
    parts.iter().map(text).collect()
}

#[test]
fn config_set_refuses_what_is_no_certificate() {
    let files = Certificates::make();
    let options = files.settings(free_port(), "server");
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let server = Server::keyward(Path::new(PROGRAM), &options);
    let certificate = files.path("server.crt");
    let [mut setting, mut other] = [server.client(), server.client()];
    let set = |client: &mut Client, file: &str| {
        client.call(["CONFIG", "SET", "tls-cert-file", file]).expect("an answer")
    };
    let nonsense = files.path("nonsense.crt");
    fs::write(&nonsense, "nonsense").expect("a file");
    let refused = "ERR CONFIG SET failed (possibly related to argument 'tls-cert-file') - Unable \
                   to update TLS configuration. Check server logs.";
    assert_eq!(set(&mut setting, &nonsense), Frame::Error(refused.into()));
    assert_eq!(lines(&call(&mut other, "CONFIG GET tls-cert-file"))[1], certificate);
    assert_eq!(set(&mut other, &certificate), Frame::Simple(b"OK".to_vec()));
}

#[test]
fn acl_load_does_not_wait_for_a_pipe() {
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("users.acl").display().to_string();
    fs::write(&file, "user default on nopass ~* &* +@all\n").expect("a file");
    let server = Server::keyward(Path::new(PROGRAM), &["--save", "", "--aclfile", &file]);
    let [mut loading, mut other] = [server.client(), server.client()];
    fs::remove_file(&file).expect("it was there");
    make_pipe(&file);
    let refused = format!("ERR Error loading ACLs, opening file '{file}': it is no regular file");
    assert_eq!(loading.call(["ACL", "LOAD"]).expect("an answer"), Frame::Error(refused.into()));
    assert_eq!(lines(&call(&mut other, "ACL USERS")), ["default"]);
    fs::remove_file(&file).expect("it was there");
    let users: String = (0..10_000).map(|n| format!("user u{n} on nopass ~{n}:* +get\n")).collect();
    fs::write(&file, &users).expect("a file");
    assert_eq!(call(&mut loading, "ACL LOAD"), Frame::Simple(b"OK".to_vec()));
    let listed = lines(&call(&mut other, "ACL LIST"));
    assert_eq!(listed.len(), 10_001);
    let is_told = |listed: &[String], line: &str| listed.iter().any(|it| it == line);
    assert!(is_told(&listed, "user u77 on nopass ~77:* resetchannels -@all +get"));
    // What is told of a user is what it is now.
    call(&mut other, "ACL SETUSER u77 +set");
    let listed = lines(&call(&mut other, "ACL LIST"));
    assert!(is_told(&listed, "user u77 on nopass ~77:* resetchannels -@all +get +set"));
    // Inside a transaction everybody waits, and what is wrong is told as ever.
    fs::write(&file, "nonsense\n").expect("a file");
    call(&mut other, "MULTI");
    call(&mut other, "ACL LOAD");
    let told = format!("{:?}", call(&mut other, "EXEC"));
    assert!(told.contains("should start with user keyword"), "{told}");
}
