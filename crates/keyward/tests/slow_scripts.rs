//! What others get while a script runs for too long, on Keyward and on a real Redis.

use keyward_resp::Frame;
use keyward_testkit::{Client, Server, wait_for};
use std::io::ErrorKind;
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

const SETTINGS: &[&str] = &["--busy-reply-threshold", "20"];
/// How long a server may take to notice.
const PATIENCE: Duration = Duration::from_secs(20);
const LOOP: &str = "while true do pcall(function() while true do redis.call('ping') end end) end";

fn servers() -> [Server; 2] {
    servers_with(SETTINGS)
}

fn servers_with(settings: &[&str]) -> [Server; 2] {
    [Server::keyward(Path::new(env!("CARGO_BIN_EXE_keyward")), settings), Server::redis(settings)]
}

fn call(client: &mut Client, command: &[&str]) -> Frame {
    client.call(command).unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

fn send(client: &mut Client, command: &[&str]) {
    client.send_command(command).expect("the server reads");
}

/// Asks until the server says it is busy; returns how.
fn wait_until_busy(client: &mut Client) -> String {
    wait_for(|| match call(client, &["PING"]) {
        Frame::Error(text) => Ok(String::from_utf8_lossy(&text).into_owned()),
        _ => Err("the script does not keep the server busy"),
    })
}

fn error_text(frame: Frame) -> String {
    let Frame::Error(text) = frame else { panic!("{frame:?} is no error") };
    String::from_utf8_lossy(&text).into_owned()
}

/// Redis looks up between instructions only, and would be deaf until these end.
#[test]
fn a_pattern_that_takes_long_can_be_killed() {
    let server = Server::keyward(Path::new(env!("CARGO_BIN_EXE_keyward")), SETTINGS);
    let text = "string.rep('a', 300000)";
    for call_of_lua in [
        format!("string.find({text}, '.-b')"),
        format!("string.match({text}, '.-.-b')"),
        format!("string.gsub({text}, '.-b', '')"),
        format!("string.gmatch({text}, '.-b')()"),
    ] {
        let (mut runner, mut killer) = (server.client(), server.client());
        send(&mut runner, &["EVAL", &format!("return {call_of_lua}"), "0"]);
        assert!(wait_until_busy(&mut killer).starts_with("BUSY "), "{call_of_lua}");
        let killed = Instant::now();
        assert_eq!(call(&mut killer, &["SCRIPT", "KILL"]), Frame::Simple(b"OK".to_vec()));
        let end = error_text(runner.receive().expect("the script ends"));
        assert!(end.starts_with("ERR Script killed by user with SCRIPT KILL..."), "{end}");
        assert!(killed.elapsed() < Duration::from_secs(5), "{call_of_lua}");
    }
}

#[test]
fn a_slow_script_can_be_killed_by_old_and_new_clients() {
    for server in servers() {
        for is_new in [false, true] {
            let (mut runner, mut watcher) = (server.client(), server.client());
            call(&mut watcher, &["PING"]);
            send(&mut runner, &["EVAL", LOOP, "0"]);
            send(&mut runner, &["ECHO", "after"]);
            let busy = wait_until_busy(&mut watcher);
            assert!(
                busy.starts_with(
                    "BUSY Redis is busy running a script. You can only call SCRIPT KILL"
                )
            );
            assert!(error_text(call(&mut watcher, &["FUNCTION", "KILL"])).starts_with("BUSY "));
            assert!(error_text(call(&mut watcher, &["FUNCTION", "STATS"])).starts_with("BUSY "));
            let mut killer = if is_new { server.client() } else { watcher };
            assert_eq!(call(&mut killer, &["SCRIPT", "KILL"]), Frame::Simple(b"OK".to_vec()));
            let end = error_text(runner.receive().expect("the script ends"));
            assert!(end.starts_with("ERR Script killed by user with SCRIPT KILL..."), "{end}");
            assert_eq!(runner.receive().expect("the rest runs"), Frame::Bulk(b"after".to_vec()));
            assert_eq!(call(&mut killer, &["PING"]), Frame::Simple(b"PONG".to_vec()));
            assert_eq!(
                error_text(call(&mut killer, &["SCRIPT", "KILL"])),
                "NOTBUSY No scripts in execution right now."
            );
        }
    }
}

#[test]
fn a_slow_function_can_be_watched_and_killed() {
    for server in servers() {
        let (mut runner, mut watcher) = (server.client(), server.client());
        let library = format!("#!lua name=l\nredis.register_function('f', function() {LOOP} end)");
        call(&mut watcher, &["FUNCTION", "LOAD", &library]);
        send(&mut runner, &["FCALL", "f", "0"]);
        assert!(wait_until_busy(&mut watcher).contains("FUNCTION KILL"));
        let Frame::Array(stats) = call(&mut watcher, &["FUNCTION", "STATS"]) else {
            panic!("figures are an array")
        };
        let Frame::Array(running) = &stats[1] else { panic!("a function runs") };
        assert_eq!(running[1], Frame::Bulk(b"f".to_vec()));
        assert!(error_text(call(&mut watcher, &["SCRIPT", "KILL"])).starts_with("BUSY "));
        assert_eq!(call(&mut watcher, &["FUNCTION", "KILL"]), Frame::Simple(b"OK".to_vec()));
        assert!(
            error_text(runner.receive().expect("it ends"))
                .contains("script: f, on @user_function:2.")
        );
    }
}

#[test]
fn a_slow_script_that_has_written_only_ends_with_the_server() {
    for server in servers() {
        let (mut runner, mut watcher) = (server.client(), server.client());
        call(&mut watcher, &["PING"]);
        send(&mut runner, &["EVAL", &format!("redis.call('set', 'k', 'v') {LOOP}"), "0"]);
        wait_until_busy(&mut watcher);
        assert!(error_text(call(&mut watcher, &["SCRIPT", "KILL"])).starts_with("UNKILLABLE "));
        assert_eq!(
            error_text(call(&mut watcher, &["SHUTDOWN", "ABORT"])),
            "ERR No shutdown in progress."
        );
        send(&mut watcher, &["SHUTDOWN", "NOSAVE"]);
        for client in [&mut watcher, &mut runner] {
            let rest = client.receive_to_end().expect("the connection is closed");
            assert_eq!(rest, b"", "nobody is told how the script ended");
        }
    }
}

/// What a log says of it, without the time and the milliseconds.
fn slow_lines(log: &str) -> Vec<String> {
    let lines = log.lines().filter_map(|line| line.split_once("# Slow script"));
    lines.map(|(_, rest)| rest.replace(|c: char| c.is_ascii_digit(), "")).collect()
}

#[test]
fn a_slow_script_is_logged_as_by_redis() {
    let folder = tempfile::tempdir().expect("a directory");
    let program = Path::new(env!("CARGO_BIN_EXE_keyward"));
    let logs = ["keyward", "redis"].map(|name| {
        let path = folder.path().join(name);
        let logs_to = ["--logfile", path.to_str().expect("a path in UTF-8")];
        let settings = [SETTINGS, &logs_to].concat();
        let server = match name {
            "redis" => Server::redis(&settings),
            _ => Server::keyward(program, &settings),
        };
        let (mut runner, mut watcher) = (server.client(), server.client());
        send(&mut runner, &["EVAL", LOOP, "0"]);
        wait_until_busy(&mut watcher);
        call(&mut watcher, &["SCRIPT", "KILL"]);
        slow_lines(&std::fs::read_to_string(&path).expect("it has a log"))
    });
    assert_eq!(logs[0].len(), 1, "{logs:?}");
    assert_eq!(logs[0], logs[1]);
}

#[test]
fn time_goes_on_within_a_script_and_a_transaction() {
    let script = "local function now() local t = redis.call('time') return t[1] * 1000000 + t[2] end \
                  local first = now() for i = 1, 1000000 do end return now() - first";
    for server in servers_with(&[]) {
        let mut client = server.client();
        let Frame::Integer(us) = call(&mut client, &["EVAL", script, "0"]) else {
            panic!("a difference is a number")
        };
        assert!((1..60_000_000).contains(&us), "{us} microseconds");
    }
}

/// Whoever sees its connection end may start the next server at the same address.
#[test]
fn shutdown_during_a_slow_script_closes_the_listener_before_the_client() {
    let settings = [SETTINGS, &["--enable-debug-command", "yes"]].concat();
    for is_new in [false, true] {
        for server in servers_with(&settings) {
            let (mut runner, mut watcher) = (server.client(), server.client());
            // To free all of these takes a while.
            call(&mut watcher, &["DEBUG", "POPULATE", "300000"]);
            send(&mut runner, &["EVAL", LOOP, "0"]);
            wait_until_busy(&mut watcher);
            let mut ender = if is_new { server.client() } else { watcher };
            send(&mut ender, &["SHUTDOWN", "NOSAVE"]);
            assert_eq!(ender.receive_to_end().expect("the connection is closed"), b"");
            let error = TcpStream::connect(server.address()).expect_err("nobody listens");
            assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
            assert!(server.wait(PATIENCE).success());
        }
    }
}

/// What old and new clients get for the commands Redis allows meanwhile.
fn replies_while_busy(server: &Server) -> Vec<Frame> {
    let (mut runner, mut watcher) = (server.client(), server.client());
    let mut old = server.client();
    for client in [&mut old, &mut watcher] {
        call(client, &["PING"]);
    }
    send(&mut runner, &["EVAL", LOOP, "0"]);
    wait_until_busy(&mut watcher);
    let mut replies = Vec::new();
    for client in [&mut old, &mut server.client()] {
        for line in [
            "WATCH k",
            "UNWATCH",
            "AUTH wrong",
            "AUTH",
            "MULTI",
            "MULTI",
            "WATCH k",
            "SCRIPT KILL",
            "UNWATCH",
            "SHUTDOWN NOSAVE",
            "DISCARD",
            "DISCARD",
            "SHUTDOWN",
            "SHUTDOWN NOSAVE SAVE",
            "CLIENT REPLY SKIP",
            "NOSUCH",
            "GET",
            "RESET",
            "QUIT",
        ] {
            let words: Vec<&str> = line.split(' ').collect();
            replies.push(call(client, &words));
        }
        assert_eq!(client.receive_to_end().expect("QUIT ends the connection"), b"");
    }
    let mut hello = server.client();
    assert!(matches!(call(&mut hello, &["HELLO", "3"]), Frame::Map(_)), "the protocol changes");
    send(&mut hello, &["SCRIPT", "KILL"]);
    runner.receive().expect("the script ends");
    replies
}

#[test]
fn what_redis_allows_meanwhile_is_answered_as_there() {
    let [keyward, redis] = servers();
    assert_eq!(replies_while_busy(&keyward), replies_while_busy(&redis));
}

#[test]
fn a_watch_begun_meanwhile_is_kept() {
    for server in servers() {
        let (mut runner, mut watcher) = (server.client(), server.client());
        call(&mut watcher, &["SET", "k", "1"]);
        send(&mut runner, &["EVAL", LOOP, "0"]);
        wait_until_busy(&mut watcher);
        let mut guest = server.client();
        call(&mut guest, &["WATCH", "k"]);
        call(&mut watcher, &["SCRIPT", "KILL"]);
        runner.receive().expect("the script ends");
        call(&mut watcher, &["SET", "k", "2"]);
        for command in [["MULTI"].as_slice(), &["SET", "k", "3"]] {
            call(&mut guest, command);
        }
        assert_eq!(call(&mut guest, &["EXEC"]), Frame::NullArray);
    }
}

#[test]
fn a_hard_shutdown_does_not_save_what_a_script_has_half_done() {
    let directory = tempfile::tempdir().expect("a directory");
    let dir = directory.path().to_str().expect("a path of text");
    let settings = [SETTINGS, &["--dir", dir, "--save", "3600 1"]].concat();
    let server = Server::keyward(Path::new(env!("CARGO_BIN_EXE_keyward")), &settings);
    let (mut runner, mut watcher) = (server.client(), server.client());
    call(&mut watcher, &["PING"]);
    send(&mut runner, &["EVAL", &format!("redis.call('set', 'k', 'v') {LOOP}"), "0"]);
    wait_until_busy(&mut watcher);
    send(&mut watcher, &["SHUTDOWN", "NOW", "NOSAVE"]);
    assert_eq!(watcher.receive_to_end().expect("the connection is closed"), b"");
    let status = server.wait(PATIENCE);
    assert!(status.success(), "{status}");
    assert!(!directory.path().join("dump.rdb").exists(), "nothing was to be saved");
}

#[test]
fn a_stranger_cannot_kill_but_whoever_logs_in_can() {
    for server in servers() {
        call(&mut server.client(), &["CONFIG", "SET", "requirepass", "secret"]);
        let mut runner = server.client();
        call(&mut runner, &["AUTH", "secret"]);
        send(&mut runner, &["EVAL", LOOP, "0"]);
        let mut guest = server.client();
        assert_eq!(
            error_text(call(&mut guest, &["SCRIPT", "KILL"])),
            "NOAUTH Authentication required."
        );
        assert_eq!(call(&mut guest, &["AUTH", "secret"]), Frame::Simple(b"OK".to_vec()));
        assert_eq!(call(&mut guest, &["SCRIPT", "KILL"]), Frame::Simple(b"OK".to_vec()));
        assert!(error_text(runner.receive().expect("it ends")).contains("killed by user"));
        assert_eq!(call(&mut guest, &["PING"]), Frame::Simple(b"PONG".to_vec()), "still logged in");
    }
}

#[test]
fn a_transaction_that_meets_a_slow_script_is_not_run() {
    for server in servers() {
        let mut runner = server.client();
        let [mut begun, mut queued, mut watcher] = [(); 3].map(|()| server.client());
        for client in [&mut begun, &mut watcher] {
            call(client, &["SET", "x", "1"]);
        }
        call(&mut queued, &["MULTI"]);
        call(&mut queued, &["INCR", "x"]);
        send(&mut runner, &["EVAL", LOOP, "0"]);
        wait_until_busy(&mut watcher);
        assert_eq!(call(&mut begun, &["MULTI"]), Frame::Simple(b"OK".to_vec()));
        assert!(error_text(call(&mut begun, &["INCR", "x"])).starts_with("BUSY "));
        let refused = error_text(call(&mut queued, &["EXEC"]));
        assert!(
            refused.starts_with("EXECABORT Transaction discarded because of: BUSY "),
            "{refused}"
        );
        call(&mut watcher, &["SCRIPT", "KILL"]);
        runner.receive().expect("it ends");
        let refused = error_text(call(&mut begun, &["EXEC"]));
        assert_eq!(refused, "EXECABORT Transaction discarded because of previous errors.");
        assert_eq!(call(&mut queued, &["GET", "x"]), Frame::Bulk(b"1".to_vec()));
    }
}
