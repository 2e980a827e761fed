//! A program that embeds the server does not outlive a panic.

use keyward_server::{Settings, run};
use keyward_testkit::wait_for;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::Command;

/// Where the child is to listen; without it this is the parent.
const SOCKET: &str = "KEYWARD_PANIC_SOCKET";
const SIGABRT: i32 = 6;

#[test]
fn a_panic_ends_a_program_that_embeds_the_server() {
    if let Some(path) = std::env::var_os(SOCKET) {
        return embed(Path::new(&path));
    }
    let directory = tempfile::tempdir().expect("a directory can be made");
    let name = "a_panic_ends_a_program_that_embeds_the_server";
    let child = Command::new(std::env::current_exe().expect("a test has a file"))
        .args(["--exact", name, "--nocapture"])
        .env(SOCKET, directory.path().join("socket"))
        .output()
        .expect("a test can be started");
    let said = String::from_utf8_lossy(&child.stderr);
    assert_eq!(child.status.signal(), Some(SIGABRT), "{}: {said}", child.status);
    assert!(said.contains("an invariant is broken"), "it is reported: {said}");
}

/// Serves on one thread, and panics on another once that answers.
fn embed(socket: &Path) {
    let socket = socket.to_str().expect("a path in UTF-8").to_owned();
    let directory = Path::new(&socket).parent().expect("a file is in a directory").to_owned();
    let directory = directory.to_str().expect("a path in UTF-8").to_owned();
    let path = socket.clone();
    std::thread::spawn(move || {
        let words = ["--port", "0", "--unixsocket", &socket, "--dir", &directory, "--save", ""];
        let arguments: Vec<String> = words.map(str::to_owned).to_vec();
        let settings = Settings::from_command_line(&arguments).expect("settings are sound");
        run(settings, Vec::new()).expect("it can serve");
    });
    let mut stream = wait_for(|| UnixStream::connect(&path));
    stream.write_all(b"PING\r\n").expect("it listens");
    stream.read_exact(&mut [0]).expect("it answers");
    let broken = std::thread::spawn(|| panic!("an invariant is broken"));
    assert!(broken.join().is_err());
}
