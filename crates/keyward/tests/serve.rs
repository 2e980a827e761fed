//! `keyward serve` under clients that behave badly, and its limits.

use keyward_resp::Frame;
use keyward_testkit::{Client, Server, wait_for};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// How long something that must happen may take.
const PATIENCE: Duration = Duration::from_secs(20);

fn serve(options: &[&str]) -> Server {
    Server::keyward(Path::new(env!("CARGO_BIN_EXE_keyward")), options)
}

fn raw(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.address()).expect("the server listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout can be set");
    stream
}

/// Sends bytes and reads until the server closes.
fn last_words(server: &Server, bytes: &[u8]) -> String {
    let mut stream = raw(server);
    stream.write_all(bytes).expect("the server reads");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("the server closes the connection");
    String::from_utf8(answer).expect("text")
}

fn ok() -> Frame {
    Frame::Simple(b"OK".to_vec())
}

fn ping(client: &mut Client) {
    assert_eq!(client.call(["PING"]).expect("an answer"), Frame::Simple(b"PONG".to_vec()));
}

#[test]
fn malformed_requests_are_answered_and_closed() {
    let server = serve(&[]);
    let cases: [(&[u8], &str); 5] = [
        (b"*1\r\n+PING\r\n", "-ERR Protocol error: expected '$', got '+'\r\n"),
        (b"*abc\r\n", "-ERR Protocol error: invalid multibulk length\r\n"),
        (b"*1\r\n$-5\r\n", "-ERR Protocol error: invalid bulk length\r\n"),
        (b"*1\r\n$999999999999\r\n", "-ERR Protocol error: invalid bulk length\r\n"),
        (b"PING\r\n*1\r\n!", "+PONG\r\n-ERR Protocol error: expected '$', got '!'\r\n"),
    ];
    for (bytes, expected) in cases {
        // The parser answers a header only when its line is complete.
        let bytes = [bytes, b"\r\n"].concat();
        assert_eq!(last_words(&server, &bytes), expected);
    }
    assert_eq!(last_words(&server, b"QUIT\r\nPING\r\n"), "+OK\r\n");
    ping(&mut server.client());
}

#[test]
fn half_a_command_and_a_closed_socket_harm_nobody() {
    let server = serve(&[]);
    for part in [&b"*2\r\n$3\r\nGE"[..], b"*1000000\r\n$3\r\nSET", b"*1\r\n$500000000\r\nabc"] {
        let mut stream = raw(&server);
        stream.write_all(part).expect("the server reads");
        drop(stream);
    }
    ping(&mut server.client());
}

#[test]
fn large_values_and_long_pipelines_come_back_whole() {
    let server = serve(&[]);
    let mut client = server.client();
    let value = vec![b'x'; 5_000_000];
    assert_eq!(client.call([b"SET".as_slice(), b"big", &value]).expect("an answer"), ok());
    assert_eq!(client.call(["GET", "big"]).expect("an answer"), Frame::Bulk(value));
    for number in 0..20_000 {
        client.send_command(["ECHO", &number.to_string()]).expect("the server reads");
    }
    for number in 0..20_000 {
        let expected = Frame::Bulk(number.to_string().into_bytes());
        assert_eq!(client.receive().expect("an answer"), expected);
    }
}

#[test]
fn a_client_that_never_reads_is_disconnected_at_its_limit() {
    let server = serve(&["--client-output-buffer-limit", "normal", "2mb", "0", "0"]);
    let mut other = server.client();
    let value = vec![b'x'; 100_000];
    other.call([b"SET".as_slice(), b"k", &value]).expect("an answer");
    let mut greedy = raw(&server);
    let deadline = Instant::now() + PATIENCE;
    while greedy.write_all(b"GET k\r\n").is_ok() {
        assert!(Instant::now() < deadline, "the server never disconnected");
    }
    ping(&mut other);
}

#[test]
fn what_a_client_sends_ahead_is_limited() {
    let server = serve(&["--client-query-buffer-limit", "1mb"]);
    let mut stream = raw(&server);
    let mut is_closed = stream.write_all(b"*2\r\n$3\r\nGET\r\n$9000000\r\n").is_err();
    let deadline = Instant::now() + PATIENCE;
    while !is_closed {
        assert!(Instant::now() < deadline, "the server never disconnected");
        is_closed = stream.write_all(&[b'x'; 10_000]).is_err();
    }
    ping(&mut server.client());
}

#[test]
fn a_password_is_asked_for_before_anything_else() {
    let server = serve(&["--requirepass", "secret"]);
    let mut client = server.client();
    let refused = Frame::Error(b"NOAUTH Authentication required.".to_vec());
    assert_eq!(client.call(["GET", "a"]).expect("an answer"), refused);
    let wrong = b"WRONGPASS invalid username-password pair or user is disabled.".to_vec();
    assert_eq!(client.call(["AUTH", "wrong"]).expect("an answer"), Frame::Error(wrong));
    let many: Vec<String> = (0..11).map(|_| "x".to_owned()).collect();
    let mut hasty = server.client();
    let reply = hasty.call(many).expect("an answer");
    let text = b"ERR Protocol error: unauthenticated multibulk length".to_vec();
    assert_eq!(reply, Frame::Error(text));
    assert_eq!(client.call(["AUTH", "secret"]).expect("an answer"), ok());
    assert_eq!(client.call(["SET", "a", "1"]).expect("an answer"), ok());
    let mut resp3 = server.client();
    let reply = resp3.call(["HELLO", "3", "AUTH", "default", "secret"]).expect("an answer");
    assert!(matches!(reply, Frame::Map(_)), "{reply:?}");
}

#[test]
fn more_clients_than_allowed_are_turned_away_with_a_reason() {
    let server = serve(&["--maxclients", "3"]);
    // A place that became free, such as that of who waited for the server, is given away soon.
    let admitted = || {
        wait_for(|| {
            let mut client = server.client();
            let is_admitted = matches!(client.call(["PING"]), Ok(Frame::Simple(_)));
            is_admitted.then_some(client).ok_or("a place that became free was not given away")
        })
    };
    let mut kept = [admitted(), admitted(), admitted()];
    assert_eq!(last_words(&server, b""), "-ERR max number of clients reached\r\n");
    kept.iter_mut().for_each(ping);
    drop(kept);
    ping(&mut admitted());
}

#[test]
fn idle_clients_are_disconnected_when_told_so() {
    let server = serve(&["--timeout", "1"]);
    assert_eq!(last_words(&server, b"PING\r\n"), "+PONG\r\n");
}

#[test]
fn killed_clients_are_disconnected() {
    let server = serve(&[]);
    let (mut killer, mut victim) = (server.client(), server.client());
    let Frame::Integer(id) = victim.call(["CLIENT", "ID"]).expect("an answer") else {
        panic!("an id is a number")
    };
    let reply = killer.call(["CLIENT", "KILL", "ID", &id.to_string()]).expect("an answer");
    assert_eq!(reply, Frame::Integer(1));
    assert_eq!(victim.receive_to_end().expect("the connection is closed"), b"");
}

#[test]
fn a_unix_socket_is_served_and_removed() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("socket");
    let server = serve(&["--unixsocket", path.to_str().expect("text"), "--unixsocketperm", "700"]);
    let mut stream = UnixStream::connect(&path).expect("the socket is there");
    stream.write_all(b"PING\r\nQUIT\r\n").expect("the server reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert_eq!(answer, "+PONG\r\n+OK\r\n");
    let status = terminate(server);
    assert!(status.success(), "{status}");
    assert!(!path.exists());
}

#[test]
fn sigterm_ends_the_server_cleanly_with_clients_connected() {
    let server = serve(&[]);
    let mut waiting = server.client();
    waiting.send_command(["BLPOP", "l", "0"]).expect("the server reads");
    let status = terminate(server);
    assert!(status.success(), "{status}");
}

fn terminate(server: Server) -> std::process::ExitStatus {
    let id = server.process_id().to_string();
    let sent = Command::new("kill").args(["-TERM", &id]).status().expect("kill runs");
    assert!(sent.success());
    server.wait(PATIENCE)
}

#[test]
fn unknown_settings_are_named() {
    let output = Command::new(env!("CARGO_BIN_EXE_keyward"))
        .args(["serve", "--maxmemroy", "1gb"])
        .output()
        .expect("the binary runs");
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        text.contains("there is no setting \"maxmemroy\" (did you mean \"maxmemory\"?)"),
        "{text}"
    );
}

#[test]
fn settings_are_read_from_a_file_of_redis_conf_syntax() {
    let directory = tempfile::tempdir().expect("a directory");
    let (main, other) = (directory.path().join("main.conf"), directory.path().join("other.conf"));
    std::fs::write(&other, "timeout 7\n").expect("a file");
    let text = format!(
        "# settings\n\nrequirepass \"a \\\"b\\\"\"\ninclude {}\nmaxclients 77\n",
        other.display()
    );
    std::fs::write(&main, text).expect("a file");
    let server = serve(&["--config", main.to_str().expect("text"), "--hz", "50"]);
    let mut client = server.client();
    assert_eq!(client.call(["AUTH", "a \"b\""]).expect("an answer"), ok());
    for (name, value) in [("timeout", "7"), ("maxclients", "77"), ("hz", "50")] {
        let expected = [name, value].map(|text| Frame::Bulk(text.as_bytes().to_vec()));
        let reply = client.call(["CONFIG", "GET", name]).expect("an answer");
        assert_eq!(reply, Frame::Array(expected.to_vec()));
    }
}

#[test]
fn every_setting_of_redis_is_known_or_refused_with_a_reason() {
    use keyward_server::settings::absent::ABSENT;
    let settings_of = |server: &Server| -> Vec<String> {
        let reply = server.client().call(["CONFIG", "GET", "*"]).expect("an answer");
        let Frame::Array(pairs) = reply else { panic!("{reply:?} are no settings") };
        let names = pairs.into_iter().step_by(2).map(|name| format!("{name:?}"));
        names.map(|name| name.trim_matches('"').to_owned()).collect()
    };
    let ours = settings_of(&serve(&[]));
    let is_refused = |name: &str| ABSENT.iter().any(|absent| absent.names.contains(&name));
    for name in settings_of(&Server::redis(&[])) {
        let is_ours = ours.contains(&name);
        assert!(is_ours != is_refused(&name), "{name}: taken {is_ours}, or refused");
    }
}

#[test]
fn commands_are_known_by_the_names_they_were_given() {
    let settings = [
        "--rename-command",
        "CONFIG",
        "",
        "--rename-command",
        "get",
        "Read",
        "--rename-command",
        "EXEC",
        "commit",
    ];
    let [mut ours, mut theirs] =
        [serve(&settings), Server::redis(&settings)].map(|server| (server.client(), server));
    for line in [
        "CONFIG GET port",
        "SET k v",
        "GET k",
        "read k",
        "READ",
        "EVAL return{redis.call('read','k'),redis.pcall('get','k').err} 0",
        "MULTI",
        "READ k",
        "EXEC",
        "COMMIT",
        "MULTI",
        "COMMIT x",
        "COMMIT",
        "COMMAND INFO read get config",
        "COMMAND GETKEYS read k",
        "COMMAND LIST FILTERBY PATTERN config*",
        "COMMAND DOCS get",
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let [ours, theirs] =
            [&mut ours, &mut theirs].map(|(client, _)| client.call(&words).expect("an answer"));
        assert_eq!(ours, theirs, "{line}");
    }
}

#[test]
fn shutdown_ends_the_server_without_an_answer() {
    let server = serve(&[]);
    let mut client = server.client();
    let refused = Frame::Error(b"ERR syntax error".to_vec());
    assert_eq!(client.call(["SHUTDOWN", "NOSAVE", "SAVE"]).expect("an answer"), refused);
    assert_eq!(last_words(&server, b"SHUTDOWN NOSAVE\r\nPING\r\n"), "");
    assert!(TcpStream::connect(server.address()).is_err(), "somebody listens still");
    assert!(server.wait(PATIENCE).success());
}

#[test]
fn settings_are_written_back_to_their_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("redis.conf");
    std::fs::write(&file, "# mine\ntimeout 5\n").expect("the file is written");
    let server = serve(&["--config", file.to_str().expect("a plain path")]);
    let mut client = server.client();
    assert_eq!(client.call(["CONFIG", "SET", "timeout", "7"]).expect("an answer"), ok());
    assert_eq!(client.call(["CONFIG", "REWRITE"]).expect("an answer"), ok());
    let text = std::fs::read_to_string(&file).expect("the file is there");
    assert!(text.starts_with("# mine\ntimeout 7\n"), "{text}");
}

#[test]
fn the_port_can_be_changed_while_the_server_runs() {
    let server = serve(&["--bind", "127.0.0.1"]);
    let mut client = server.client();
    let free = || {
        let probe = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        probe.local_addr().expect("its address")
    };
    let address = free();
    let port = address.port().to_string();
    assert_eq!(client.call(["CONFIG", "SET", "port", &port]).expect("an answer"), ok());
    ping(&mut client);
    ping(&mut Client::connect(address).expect("the new port is served"));
    assert!(TcpStream::connect(server.address()).is_err(), "the old one is not");

    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let taken = taken.local_addr().map(|address| (taken, address.port().to_string()));
    let (_taken, other_port) = taken.expect("its address");
    let refused = |client: &mut Client, name: &str, value: &str| {
        let reply = client.call(["CONFIG", "SET", name, value]).expect("an answer");
        let Frame::Error(text) = reply else { panic!("{name} {value}: {reply:?}") };
        String::from_utf8_lossy(&text).into_owned()
    };
    let text = refused(&mut client, "port", &other_port);
    assert!(text.ends_with("'port') - Unable to listen on this port. Check server logs."));
    let text = refused(&mut client, "bind", "999.999.999.999");
    assert!(text.ends_with("'bind') - Failed to bind to specified addresses."));
    ping(&mut Client::connect(address).expect("the port is still served"));
}

#[test]
fn two_weeks_pass_in_no_time() {
    let server = serve(&["--enable-debug-command", "yes", "--timeout", "5"]);
    let mut client = server.client();
    let mut idle = server.client();
    let mut call = |command: &str| {
        let words: Vec<&str> = command.split(' ').collect();
        client.call(words).expect("an answer")
    };
    ping(&mut idle);
    assert_eq!(call("SET token x PX 1209600000"), ok());
    assert_eq!(call("DEBUG CLOCK ADVANCE 1209540000"), ok());
    let Frame::Integer(left_ms) = call("PTTL token") else { panic!("PTTL answers a number") };
    assert!((1..=60_000).contains(&left_ms), "a minute is left: {left_ms}");
    assert_eq!(call("DEBUG CLOCK ADVANCE 60001"), ok());
    assert_eq!(call("EXISTS token"), Frame::Integer(0));
    // Waiting is shortened; nobody is disconnected for having been idle.
    idle.send_command(["BLPOP", "nothing", "3600"]).expect("the server reads");
    let waits = |info: Frame| {
        String::from_utf8_lossy(info.as_bytes().unwrap_or_default()).contains("blocked_clients:1")
    };
    while !waits(call("INFO clients")) {}
    assert_eq!(call("DEBUG CLOCK ADVANCE 3600000"), ok());
    assert_eq!(idle.receive().expect("an answer"), Frame::NullArray);
    ping(&mut idle);
    let refused = call("DEBUG CLOCK ADVANCE -1");
    assert!(matches!(refused, Frame::Error(_)), "time does not go back: {refused:?}");
}

#[test]
fn the_clock_is_not_for_everybody() {
    let server = serve(&[]);
    let mut client = server.client();
    let mut call = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        client.call(words).expect("an answer")
    };
    let check = |reply: Frame, start: &[u8]| {
        let Frame::Error(text) = &reply else { panic!("{reply:?}") };
        assert!(text.starts_with(start), "{reply:?}");
    };
    let refused = b"ERR DEBUG command not allowed";
    check(call("DEBUG CLOCK ADVANCE 1"), refused);
    // As in Redis it is not queued, and the setting is asked before who sends it.
    call("MULTI");
    check(call("DEBUG CLOCK ADVANCE 1"), refused);
    check(call("EXEC"), b"EXECABORT ");
    call("CONFIG SET requirepass secret");
    let mut stranger = server.client();
    check(stranger.call(["DEBUG", "CLOCK", "ADVANCE", "1"]).expect("an answer"), refused);
    check(stranger.call(["GET", "k"]).expect("an answer"), b"NOAUTH ");
}

#[test]
fn a_damaged_payload_is_logged_in_the_words_of_redis() {
    let start = |log: &std::path::Path| -> Vec<String> {
        vec!["--loglevel".into(), "verbose".into(), "--logfile".into(), log.display().to_string()]
    };
    let payloads: [&[u8]; 3] = [
        // Two fields of one name in a ziplist, an entry that ends behind it, two in a hash.
        b"\x0D\x1B\x1B\x00\x00\x00\x16\x00\x00\x00\x04\x00\x00\x02a\x00\x04\x02b\x00\x04\x02a\x00\x04\x02d\x00\xFF\t\x00",
        b"\x0E\x01\x0B\x0B\x00\x00\x00\x0A\x00\x00\x00\x01\x00\x00\xFE\x02\xFF\x09\x00",
        b"\x04\x02\x01a\x011\x01a\x012\x09\x00",
    ];
    let directory = tempfile::tempdir().expect("a directory");
    let ask = |server: &Server, name: &str| {
        let mut client = server.client();
        client.call(["DEBUG", "SET-SKIP-CHECKSUM-VALIDATION", "1"]).expect("an answer");
        for payload in payloads {
            let payload = [payload, &[0; 8]].concat();
            let reply = client.call([b"RESTORE".as_slice(), b"k", b"0", &payload]);
            let refused = Frame::Error(b"ERR Bad data format".to_vec());
            assert_eq!(reply.expect("an answer"), refused, "{name}");
        }
        let log = std::fs::read_to_string(directory.path().join(name)).expect("a log");
        let line = log.lines().filter_map(|line| {
            let (_, told) = line.split_once("Internal error in RDB reading offset ")?;
            let (_, told) = told.split_once("-> ")?;
            Some(told.split(" (").next()?.to_owned())
        });
        line.collect::<Vec<_>>()
    };
    let debug = ["--enable-debug-command", "yes", "--sanitize-dump-payload", "yes"];
    let options = [start(&directory.path().join("ours")), start(&directory.path().join("theirs"))];
    let options = options.each_ref().map(|it| it.iter().map(String::as_str).chain(debug));
    let [ours, theirs] = options.map(Iterator::collect::<Vec<&str>>);
    let ours = ask(&serve(&ours), "ours");
    assert_eq!(ours, ask(&Server::redis(&theirs), "theirs"));
    assert_eq!(ours.len(), 3, "{ours:?}");
}
