//! Files that commands name are read on another thread: nobody waits but who sent the command.

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

fn is_silent(client: &mut Client) -> bool {
    client.try_receive().expect("a connection").is_none()
}

fn lines(frame: &Frame) -> Vec<String> {
    let Frame::Array(parts) = frame else { panic!("{frame:?}") };
    let text =
        |part: &Frame| String::from_utf8_lossy(part.as_bytes().expect("a text")).into_owned();
    parts.iter().map(text).collect()
}

#[test]
fn nobody_but_its_client_waits_while_config_set_reads_certificates() {
    let files = Certificates::make();
    let options = files.settings(free_port(), "server");
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let server = Server::keyward(Path::new(PROGRAM), &options);
    let certificate = files.path("server.crt");
    let [mut setting, mut other] = [server.client(), server.client()];
    let pipe = files.path("pipe.crt");
    make_pipe(&pipe);
    setting.send_command(["CONFIG", "SET", "tls-cert-file", &pipe]).expect("it is sent");
    call(&mut other, "PING");
    assert!(is_silent(&mut setting));
    assert_eq!(lines(&call(&mut other, "CONFIG GET tls-cert-file"))[1], certificate);
    fs::write(&pipe, fs::read(&certificate).expect("a file")).expect("somebody reads it");
    assert_eq!(setting.receive().expect("an answer"), Frame::Simple(b"OK".to_vec()));
    assert_eq!(lines(&call(&mut other, "CONFIG GET tls-cert-file"))[1], pipe);
    // Another one that cannot be used is refused as ever.
    setting.send_command(["CONFIG", "SET", "tls-cert-file", &pipe]).expect("it is sent");
    fs::write(&pipe, "nonsense").expect("somebody reads it");
    let refused = "ERR CONFIG SET failed (possibly related to argument 'tls-cert-file') - Unable \
                   to update TLS configuration. Check server logs.";
    assert_eq!(setting.receive().expect("an answer"), Frame::Error(refused.into()));
}

#[test]
fn nobody_but_its_client_waits_while_acl_load_reads_the_file() {
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("users.acl").display().to_string();
    fs::write(&file, "user default on nopass ~* &* +@all\n").expect("a file");
    let server = Server::keyward(Path::new(PROGRAM), &["--save", "", "--aclfile", &file]);
    let [mut loading, mut other] = [server.client(), server.client()];
    fs::remove_file(&file).expect("it was there");
    make_pipe(&file);
    let users: String = (0..10_000).map(|n| format!("user u{n} on nopass ~{n}:* +get\n")).collect();
    loading.send_command(["ACL", "LOAD"]).expect("it is sent");
    call(&mut other, "PING");
    assert_eq!(lines(&call(&mut other, "ACL USERS")), ["default"]);
    assert!(is_silent(&mut loading));
    fs::write(&file, &users).expect("somebody reads it");
    assert_eq!(loading.receive().expect("an answer"), Frame::Simple(b"OK".to_vec()));
    let listed = lines(&call(&mut other, "ACL LIST"));
    assert_eq!(listed.len(), 10_001);
    let is_told = |listed: &[String], line: &str| listed.iter().any(|it| it == line);
    assert!(is_told(&listed, "user u77 on nopass ~77:* resetchannels -@all +get"));
    // What is told of a user is what it is now.
    call(&mut other, "ACL SETUSER u77 +set");
    let listed = lines(&call(&mut other, "ACL LIST"));
    assert!(is_told(&listed, "user u77 on nopass ~77:* resetchannels -@all +get +set"));
    // Inside a transaction everybody waits, and what is wrong is told as ever.
    fs::remove_file(&file).expect("it was there");
    fs::write(&file, "nonsense\n").expect("a file");
    call(&mut other, "MULTI");
    call(&mut other, "ACL LOAD");
    let told = format!("{:?}", call(&mut other, "EXEC"));
    assert!(told.contains("should start with user keyword"), "{told}");
}
