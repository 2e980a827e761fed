//! A process that serves does not outlive a panic, and says where it was.

use keyward_server::{Settings, run, serve_command};
use keyward_testkit::wait_for;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the child is to listen; without it this is the parent.
const SOCKET: &str = "KEYWARD_PANIC_SOCKET";
const SIGABRT: i32 = 6;
/// Set for a process in the background.
const IN_BACKGROUND: &str = "KEYWARD_DAEMON";

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

#[test]
fn a_panic_of_a_server_in_the_background_is_in_its_log() {
    if let Some(path) = std::env::var_os(SOCKET) {
        return serve_in_background(Path::new(&path));
    }
    let directory = tempfile::tempdir().expect("a directory can be made");
    let name = "a_panic_of_a_server_in_the_background_is_in_its_log";
    let starter = Command::new(std::env::current_exe().expect("a test has a file"))
        .args(["--exact", name, "--nocapture"])
        .env(SOCKET, directory.path().join("socket"))
        .output()
        .expect("a test can be started");
    let said = String::from_utf8_lossy(&starter.stderr);
    assert!(starter.status.success(), "{}: {said}", starter.status);
    let log = directory.path().join("log");
    let line = wait_for(|| {
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        let line = text.lines().find(|line| line.contains("an invariant is broken"));
        line.map(str::to_owned).ok_or(text)
    });
    let (process, line) = line.split_once(':').expect("a line begins with the process");
    assert!(line.starts_with("M ") && line.contains(" # panicked at "), "{line}");
    assert!(line.contains("tests/panic.rs:"), "it tells where: {line}");
    let place = Path::new("/proc").join(process);
    wait_for(|| if place.exists() { Err("it is still there") } else { Ok(()) });
}

/// Serves in the background and panics there, on another thread than the one that serves;
/// in the foreground it only starts that.
fn serve_in_background(socket: &Path) {
    let directory = socket.parent().expect("a file is in a directory");
    let text = |path: &Path| path.to_str().expect("a path in UTF-8").to_owned();
    let mut arguments: Vec<String> = ["--port", "0", "--save", "", "--appendonly", "no"]
        .into_iter()
        .chain(["--daemonize", "yes"])
        .map(str::to_owned)
        .collect();
    let log = directory.join("log");
    let pid_file = directory.join("pid");
    let places =
        [("unixsocket", socket), ("dir", directory), ("logfile", &log), ("pidfile", &pid_file)];
    for (name, path) in places {
        arguments.extend([format!("--{name}"), text(path)]);
    }
    if std::env::var_os(IN_BACKGROUND).is_none() {
        return serve_command(&arguments, Vec::new()).expect("it can go to the background");
    }
    std::thread::spawn(move || serve_command(&arguments, Vec::new()).expect("it can serve"));
    break_when_it_answers(socket);
}

/// Serves on one thread, and panics on another once that answers.
fn embed(socket: &Path) {
    let socket = socket.to_str().expect("a path in UTF-8").to_owned();
    let directory = Path::new(&socket).parent().expect("a file is in a directory").to_owned();
    let directory = directory.to_str().expect("a path in UTF-8").to_owned();
    let path = PathBuf::from(&socket);
    std::thread::spawn(move || {
        let words = ["--port", "0", "--unixsocket", &socket, "--dir", &directory, "--save", ""];
        let arguments: Vec<String> = words.map(str::to_owned).to_vec();
        let settings = Settings::from_command_line(&arguments).expect("settings are sound");
        run(settings, Vec::new()).expect("it can serve");
    });
    break_when_it_answers(&path);
}

fn break_when_it_answers(socket: &Path) {
    let mut stream = wait_for(|| UnixStream::connect(socket));
    stream.write_all(b"PING\r\n").expect("it listens");
    stream.read_exact(&mut [0]).expect("it answers");
    let broken = std::thread::spawn(|| panic!("an invariant is broken"));
    assert!(broken.join().is_err());
}
