//! The end of the server: SHUTDOWN and signals, where what was acknowledged must not be lost.

use keyward_resp::Frame;
use keyward_testkit::{Client, Server, call, wait_until};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(30);
const CANNOT: &str = "ERR Errors trying to SHUTDOWN. Check logs.";
const WRITING: &str = "Writing initial AOF, can't exit.";

fn keyward(directory: &Path, options: &[&str]) -> Server {
    let log = directory.join("log");
    let [directory, log] = [directory, &log].map(|path| path.to_str().expect("a path in UTF-8"));
    let first = ["--dir", directory, "--logfile", log, "--enable-debug-command", "yes"];
    let program = Path::new(env!("CARGO_BIN_EXE_keyward"));
    Server::keyward(program, &[&first, options].concat())
}

fn redis(directory: &Path, options: &[&str]) -> Server {
    let log = directory.join("log");
    let [directory, log] = [directory, &log].map(|path| path.to_str().expect("a path in UTF-8"));
    let first = ["--dir", directory, "--logfile", log, "--enable-debug-command", "yes"];
    Server::redis(&[&first, options].concat())
}

fn log(directory: &Path) -> String {
    std::fs::read_to_string(directory.join("log")).expect("a log")
}

fn signal(server: &Server, name: &str) {
    let id = server.process_id().to_string();
    assert!(Command::new("kill").args([name, &id]).status().expect("kill runs").success());
}

/// Sends lines at once; the replies.
fn pipeline(client: &mut Client, lines: &[&str]) -> Vec<Frame> {
    client.send((lines.join("\r\n") + "\r\n").as_bytes()).expect("the server reads");
    lines.iter().map(|_| client.receive().expect("an answer")).collect()
}

fn error(text: &str) -> Frame {
    Frame::Error(text.as_bytes().into())
}

fn wait_for_first_log(client: &mut Client) {
    wait_until(|| {
        let info = call(client, "INFO persistence");
        let info = String::from_utf8_lossy(info.as_bytes().expect("a text")).into_owned();
        info.contains("aof_rewrite_in_progress:0") && info.contains("aof_rewrite_scheduled:0")
    });
}

/// A server with enough rows for the first append-only file to take a while.
fn with_rows(server: &Server) -> Client {
    let mut client = server.client();
    call(&mut client, "DEBUG POPULATE 100000 row 100");
    client
}

#[test]
fn shutdown_is_refused_while_the_first_append_only_file_is_written() {
    type Start = fn(&Path, &[&str]) -> Server;
    let starts: [(Start, &[&str]); 2] = [(keyward, &[]), (redis, &[])];
    for (start, options) in starts {
        let directory = tempfile::tempdir().expect("a directory");
        let server = start(directory.path(), &[&["--save", ""], options].concat());
        let mut client = with_rows(&server);
        let words = ["SHUTDOWN", "SHUTDOWN NOSAVE", "SHUTDOWN SAVE", "SHUTDOWN NOSAVE NOW"];
        for word in words {
            let replies = pipeline(
                &mut client,
                &["CONFIG SET appendonly no", "CONFIG SET appendonly yes", "SET acked 1", word],
            );
            assert_eq!(replies[3], error(CANNOT), "{word}");
        }
        assert_eq!(log(directory.path()).matches(WRITING).count(), words.len());
        let failed = "Errors trying to shut down the server. Check the logs for more information.";
        assert_eq!(log(directory.path()).matches(failed).count(), words.len());
        wait_for_first_log(&mut client);
        assert!(client.call(["SHUTDOWN"]).is_err());
        assert!(server.wait(PATIENCE).success());
        let again = start(directory.path(), &["--appendonly", "yes"]);
        assert_eq!(call(&mut again.client(), "GET acked"), Frame::Bulk(b"1"[..].into()));
        assert_eq!(call(&mut again.client(), "DBSIZE"), Frame::Integer(100_001));
    }
}

#[test]
fn shutdown_force_ends_the_server_while_the_first_append_only_file_is_written() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = keyward(directory.path(), &["--save", ""]);
    let mut client = with_rows(&server);
    client.send(b"CONFIG SET appendonly yes\r\nSHUTDOWN NOSAVE FORCE\r\n").expect("it reads");
    assert_eq!(client.receive_to_end().expect("the end"), b"+OK\r\n");
    assert!(server.wait(PATIENCE).success());
    assert!(log(directory.path()).contains("Writing initial AOF. Exit anyway."));
}

#[test]
fn sigterm_ends_the_server_once_the_first_append_only_file_is_written() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = keyward(directory.path(), &["--save", ""]);
    let mut client = with_rows(&server);
    pipeline(&mut client, &["CONFIG SET appendonly yes", "SET acked 1"]);
    signal(&server, "-TERM");
    wait_until(|| log(directory.path()).contains("Received SIGTERM"));
    assert_eq!(call(&mut client, "SET later 2"), Frame::Simple(b"OK"[..].into()));
    assert!(log(directory.path()).contains(WRITING));
    assert!(server.wait(PATIENCE).success());
    assert!(log(directory.path()).contains("the append-only file is complete: from now on"));
    let again = keyward(directory.path(), &["--appendonly", "yes"]);
    let kept = call(&mut again.client(), "MGET acked later");
    let wanted = [b"1", b"2"].map(|text| Frame::Bulk(text[..].into()));
    assert_eq!(kept, Frame::Array(wanted.into()));
}

#[test]
fn shutdown_abort_forgets_a_sigterm_that_waits_for_the_first_append_only_file() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = keyward(directory.path(), &["--save", "", "--rdb-key-save-delay", "100000"]);
    let mut client = server.client();
    call(&mut client, "DEBUG POPULATE 100 row 10");
    let none = error("ERR No shutdown in progress.");
    assert_eq!(client.call(["SHUTDOWN", "ABORT"]).expect("an answer"), none);
    call(&mut client, "CONFIG SET appendonly yes");
    signal(&server, "-TERM");
    let waits = "The server ends when the append-only file is complete";
    wait_until(|| log(directory.path()).contains(waits));
    assert_eq!(call(&mut client, "SHUTDOWN ABORT"), Frame::Simple(b"OK"[..].into()));
    assert!(log(directory.path()).contains("Shutdown manually aborted."));
    assert_eq!(client.call(["SHUTDOWN", "ABORT"]).expect("an answer"), none);
    call(&mut client, "CONFIG SET rdb-key-save-delay 0");
    wait_for_first_log(&mut client);
    assert_eq!(call(&mut client, "SET later 2"), Frame::Simple(b"OK"[..].into()));
    // The next signal is obeyed.
    signal(&server, "-TERM");
    assert!(server.wait(PATIENCE).success());
}

#[test]
fn a_slow_script_does_not_let_shutdown_lose_the_first_append_only_file() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = keyward(directory.path(), &["--save", "", "--busy-reply-threshold", "10"]);
    let mut client = with_rows(&server);
    let script = "EVAL \"while true do end\" 0";
    let lines = format!("CONFIG SET appendonly yes\r\n{script}\r\n");
    client.send(lines.as_bytes()).expect("the server reads");
    let mut other = server.client();
    wait_until(
        || matches!(other.call(["PING"]), Ok(Frame::Error(text)) if text.starts_with(b"BUSY")),
    );
    assert_eq!(other.call(["SHUTDOWN", "NOSAVE"]).expect("an answer"), error(CANNOT));
    assert!(other.call(["SHUTDOWN", "NOSAVE", "FORCE"]).is_err());
    assert!(server.wait(PATIENCE).success());
}

#[test]
fn nosave_ends_a_script_that_has_written_beside_the_first_append_only_file() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = keyward(directory.path(), &["--save", "", "--busy-reply-threshold", "10"]);
    let mut client = with_rows(&server);
    let script = "EVAL \"redis.call('set', 'a', 1) while true do end\" 0";
    let lines = format!("CONFIG SET appendonly yes\r\n{script}\r\n");
    client.send(lines.as_bytes()).expect("the server reads");
    let mut other = server.client();
    wait_until(
        || matches!(other.call(["PING"]), Ok(Frame::Error(text)) if text.starts_with(b"BUSY")),
    );
    let refusal = other.call(["SCRIPT", "KILL"]).expect("an answer");
    assert!(matches!(refusal, Frame::Error(text) if text.starts_with(b"UNKILLABLE")));
    assert!(other.call(["SHUTDOWN", "NOSAVE"]).is_err());
    assert!(server.wait(PATIENCE).success());
    assert!(log(directory.path()).contains("Writing initial AOF. Exit anyway."));
}

#[test]
fn a_signal_ends_the_server_as_its_setting_says() {
    let start = |signal: &str, setting: &str, word: &str, save: &str| {
        let directory = tempfile::tempdir().expect("a directory");
        let server = keyward(directory.path(), &["--save", save]);
        let mut client = server.client();
        call(&mut client, "SET row 1");
        call(&mut client, &format!("CONFIG SET {setting} \"{word}\""));
        self::signal(&server, signal);
        assert!(server.wait(PATIENCE).success());
        directory.path().join("dump.rdb").exists()
    };
    let (sigterm, sigint) = ("shutdown-on-sigterm", "shutdown-on-sigint");
    assert!(start("-TERM", sigterm, "default", "3600 1"));
    assert!(!start("-TERM", sigterm, "nosave", "3600 1"));
    assert!(start("-TERM", sigterm, "save", ""));
    assert!(start("-TERM", sigint, "nosave", "3600 1"), "of another signal");
    assert!(!start("-INT", sigint, "nosave now force", "3600 1"));
}

#[test]
fn a_signal_ends_the_server_by_force_where_nothing_can_be_saved() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = keyward(directory.path(), &["--save", "3600 1"]);
    std::fs::create_dir(directory.path().join("dump.rdb")).expect("a directory in the way");
    let mut client = server.client();
    signal(&server, "-TERM");
    wait_until(|| log(directory.path()).contains("Error trying to save the DB, can't exit."));
    call(&mut client, "CONFIG SET shutdown-on-sigterm force");
    signal(&server, "-TERM");
    assert!(server.wait(PATIENCE).success());
    assert!(log(directory.path()).contains("Error trying to save the DB. Exit anyway."));
}

/// The file of the process's id is a pipe, so that the start waits until somebody reads it.
#[test]
fn a_signal_that_comes_before_anything_is_loaded_ends_the_server_and_loses_nothing() {
    for (appendonly, file) in [("no", "dump.rdb"), ("yes", "appendonlydir/appendonly.aof.manifest")]
    {
        let directory = tempfile::tempdir().expect("a directory");
        let options = ["--save", "3600 1", "--appendonly", appendonly];
        let server = keyward(directory.path(), &options);
        call(&mut server.client(), "SET row 1");
        assert!(server.client().call(["SHUTDOWN"]).is_err());
        assert!(server.wait(PATIENCE).success());
        let before = std::fs::read(directory.path().join(file)).expect("it was written");
        std::fs::remove_file(directory.path().join("log")).expect("a log");
        let pipe = directory.path().join("pid");
        assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs").success());
        let mut again = Command::new(env!("CARGO_BIN_EXE_keyward"))
            .current_dir(directory.path())
            .args(["serve", "--port", "0", "--dir", ".", "--logfile", "log", "--pidfile", "pid"])
            .args(options)
            .spawn()
            .expect("it runs");
        wait_until(|| {
            let log = std::fs::read_to_string(directory.path().join("log"));
            log.is_ok_and(|log| log.contains("starts, PID"))
        });
        let id = again.id().to_string();
        assert!(Command::new("kill").arg(id).status().expect("kill runs").success());
        std::fs::read(&pipe).expect("the id");
        std::fs::remove_file(&pipe).expect("a pipe");
        assert!(again.wait().expect("it ends").success());
        let log = log(directory.path());
        assert!(log.contains("Received SIGTERM") && !log.contains(WRITING), "{log}");
        assert_eq!(std::fs::read(directory.path().join(file)).expect("a file"), before);
        let server = keyward(directory.path(), &options);
        assert_eq!(call(&mut server.client(), "GET row"), Frame::Bulk(b"1"[..].into()));
    }
}

/// A snapshot of what is loaded so far would take the place of the one that is being loaded.
#[test]
fn shutdown_while_rows_are_loaded_saves_nothing() {
    for words in [&["SHUTDOWN"][..], &["SHUTDOWN", "SAVE"], &["SHUTDOWN", "FORCE"]] {
        let directory = tempfile::tempdir().expect("a directory");
        let options = ["--save", "3600 1"];
        let server = keyward(directory.path(), &options);
        call(&mut server.client(), "DEBUG POPULATE 5000 row 100");
        call(&mut server.client(), "SAVE");
        drop(server);
        let port = keyward_testkit::free_port();
        let mut again = Command::new(env!("CARGO_BIN_EXE_keyward"))
            .args(["serve", "--appendonly", "no", "--key-load-delay", "2000", "--dir"])
            .arg(directory.path())
            .args(["--port", &port.to_string()])
            .args(options)
            .spawn()
            .expect("it runs");
        let address = std::net::SocketAddr::from(([127, 0, 0, 1], port));
        wait_until(|| Client::connect(address).is_ok());
        let mut client = Client::connect(address).expect("a connection");
        let said = client.call(["GET", "row:1"]).expect("a reply");
        assert!(matches!(&said, Frame::Error(text) if text.starts_with(b"LOADING")), "{said:?}");
        assert!(client.call(words).is_err());
        assert!(again.wait().expect("it ends").success());
        let server = keyward(directory.path(), &options);
        assert_eq!(call(&mut server.client(), "DBSIZE"), Frame::Integer(5000), "{words:?}");
    }
}
