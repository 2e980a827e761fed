//! Clients that mean harm, or are broken: what they get is what they get from a real
//! Redis, memory stays bounded, and everybody else is served meanwhile.

use keyward_resp::{Frame, push_request};
use keyward_testkit::{Client, Server, wait_until};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs::Permissions;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long something that must happen may take.
const PATIENCE: Duration = Duration::from_secs(20);
const MB: u64 = 1024 * 1024;

fn keyward(settings: &[&str]) -> Server {
    Server::keyward(Path::new(env!("CARGO_BIN_EXE_keyward")), settings)
}

fn both(settings: &[&str]) -> [Server; 2] {
    [keyward(settings), Server::redis(settings)]
}

fn raw(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.address()).expect("the server listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout can be set");
    stream.set_write_timeout(Some(PATIENCE)).expect("a timeout can be set");
    stream
}

fn call(client: &mut Client, command: &[&str]) -> Frame {
    client.call(command).unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

fn ping(client: &mut Client) {
    assert_eq!(call(client, &["PING"]), Frame::Simple(b"PONG".to_vec()));
}

fn request(command: &[&str]) -> Vec<u8> {
    let mut bytes = Vec::new();
    push_request(&mut bytes, command.iter().map(|word| word.as_bytes()));
    bytes
}

/// All that a server answers to these bytes, until it closes or sees that we did.
fn answer(server: &Server, bytes: &[u8]) -> String {
    let mut stream = raw(server);
    // A server that has closed already does not take the rest: that is its right.
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(Shutdown::Write);
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Err(error) if error.kind() != ErrorKind::ConnectionReset => panic!("no end: {error}"),
        _ => String::from_utf8_lossy(&answer).into_owned(),
    }
}

/// Waits until the server closes a connection that only watches; returns how long it took.
fn wait_for_close(stream: &mut TcpStream) -> Duration {
    let start = Instant::now();
    // Writing tells without reading; what is sent has no reply.
    wait_until(|| stream.write_all(b"\r\n").is_err());
    start.elapsed()
}

/// A figure of the kernel about a process, in bytes: `VmRSS` now, `VmHWM` at most.
fn memory(server: &Server, name: &str) -> u64 {
    let path = format!("/proc/{}/status", server.process_id());
    let status = std::fs::read_to_string(path).expect("the server runs");
    let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a figure");
    let kilobytes = line.trim_start_matches(':').trim().trim_end_matches(" kB");
    kilobytes.parse::<u64>().expect("a number") * 1024
}

#[test]
fn malformed_requests_get_what_redis_gives() {
    let servers = both(&[]);
    let long = vec![b'1'; 70_000];
    let cases: Vec<Vec<u8>> = [
        &b"*1\r\n$abc\r\n"[..],
        b"*1\r\n$\r\nPING\r\n",
        b"*1\r\n$4294967296\r\nPING\r\n",
        b"*1\r\n$536870913\r\nPING\r\n",
        b"*1\r\n$4\r\nPINGPING\r\nPING\r\n",
        b"*1\r\n:4\r\nPING\r\n",
        b"*2147483648\r\n$4\r\nPING\r\n",
        b"*9223372036854775808\r\n",
        b"*\r\nPING\r\n",
        b"* 1\r\n$4\r\nPING\r\n",
        b"*-1\r\nPING\r\n",
        b"*0\r\nPING\r\n",
        b"\r\n\r\nPING\r\n",
        b"PING\nPING\n",
        b"*1\n$4\nPING\n",
        b"*3\r\n$3\r\nSET\r\n$1\r\na\r\n",
        b"*2\r\n$4\r\nPING\r\n$-1\r\n",
        b"*1\r\n*1\r\n$4\r\nPING\r\n",
        b"PING \"unbalanced\r\n",
        b"PING 'a'b\r\n",
        b"ECHO \"\\x00\\xff\"\r\n",
        b"\0\0\0\0\r\nPING\r\n",
        b"*1\r\n$0\r\n\r\nPING\r\n",
        b"+OK\r\n",
        b"$4\r\nPING\r\n",
        b"POST / HTTP/1.1\r\nPING\r\n",
        b"GET / HTTP/1.1\r\nHost: here\r\nPING\r\n",
        &[b"ECHO ", &long[..]].concat(),
        &[b"*", &long[..]].concat(),
        &[b"*1\r\n$", &long[..]].concat(),
    ]
    .map(<[u8]>::to_vec)
    .to_vec();
    for case in cases {
        let [ours, theirs] = servers.each_ref().map(|server| answer(server, &case));
        let shown = String::from_utf8_lossy(&case[..case.len().min(60)]).into_owned();
        assert_eq!(ours, theirs, "{shown:?}");
    }
}

#[test]
fn a_request_may_be_cut_anywhere() {
    let server = keyward(&[]);
    let bytes = [request(&["SET", "key", "value"]), b"GET key\r\n".to_vec()].concat();
    for cut in 0..bytes.len() {
        answer(&server, &bytes[..cut]);
        let mut stream = raw(&server);
        stream.set_nodelay(true).expect("an option");
        stream.write_all(&bytes[..cut]).expect("the server reads");
        stream.write_all(&bytes[cut..]).expect("the server reads");
        stream.shutdown(Shutdown::Write).expect("an open socket");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        assert_eq!(answer, "+OK\r\n$5\r\nvalue\r\n", "cut at {cut}");
    }
}

#[test]
fn announced_bytes_take_no_memory_before_they_come() {
    let server = keyward(&[]);
    let before = memory(&server, "VmRSS");
    let liars: Vec<TcpStream> = (0..200)
        .map(|_| {
            let mut stream = raw(&server);
            stream.write_all(b"*3\r\n$3\r\nSET\r\n$1\r\na\r\n$536870912\r\nx").expect("it reads");
            stream
        })
        .chain((0..200).map(|_| {
            let mut stream = raw(&server);
            stream.write_all(b"*2147483647\r\n$3\r\nSET\r\n").expect("it reads");
            stream
        }))
        .collect();
    ping(&mut server.client());
    let grown = memory(&server, "VmRSS") - before;
    assert!(grown < 32 * MB, "{} liars take {grown} bytes", liars.len());
}

#[test]
fn deep_nesting_in_scripts_is_refused_as_in_redis() {
    let scripts = [
        "return cjson.decode(string.rep('[', 100000))",
        "return cjson.decode(string.rep('[', 900) .. string.rep(']', 900)) ~= nil",
        "local t = {} for _ = 1, 100000 do t = {t} end return #cjson.encode(t)",
        "local t = {} for _ = 1, 100000 do t = {t} end return #cmsgpack.pack(t)",
        "return loadstring('return ' .. string.rep('(', 100000)) == nil",
        "return loadstring('return ' .. string.rep('{', 100000)) == nil",
        "local function f() return f() + 1 end return pcall(f)",
        "return #string.rep('x', -1)",
        "return select('#', unpack({}, 1, 1e6))",
        "return string.find(string.rep('a', 300000), string.rep('(a', 40))",
    ];
    let servers = both(&[]);
    for script in scripts {
        let [ours, theirs] = servers.each_ref().map(|server| {
            match call(&mut server.client(), &["EVAL", script, "0"]) {
                // The words after the reason tell the script's digest, the same in both.
                Frame::Error(text) => String::from_utf8_lossy(&text).into_owned(),
                other => format!("{other:?}"),
            }
        });
        assert_eq!(ours, theirs, "{script}");
    }
}

#[test]
fn a_deeply_nested_reply_harms_nobody() {
    let script = "local t = {} for _ = 1, 100000 do t = {t} end return t";
    let servers = both(&[]);
    let [ours, theirs] = servers.each_ref().map(|server| {
        let bytes = request(&["EVAL", script, "0"]);
        answer(server, &bytes)
    });
    // How deep Redis goes depends on the size of Lua's stack; ours ends earlier.
    for answer in [ours, theirs] {
        let (nested, end) = answer.split_at(answer.find('-').expect("an error at the bottom"));
        assert_eq!(end, "-ERR reached lua stack limit\r\n");
        assert_eq!(nested, "*1\r\n".repeat(nested.len() / 4));
    }
}

#[test]
fn a_script_that_eats_memory_ends_and_others_are_served() {
    let server = keyward(&["--busy-reply-threshold", "50"]);
    let mut watcher = server.client();
    for script in [
        "local t, s = {}, string.rep('x', 1e7) while true do t[#t + 1] = s .. #t end",
        "local s = 'x' while true do s = s .. s end",
        "return string.rep('x', 1e12)",
        "return redis.call('SETRANGE', 'k', 536870911, 'x') and redis.call('APPEND', 'k', 'x')",
    ] {
        let mut eater = server.client();
        eater.send_command(["EVAL", script, "0"]).expect("the server reads");
        // Whatever it is told meanwhile, it is answered.
        call(&mut watcher, &["PING"]);
        let reply = eater.receive().expect("the script ends");
        assert!(matches!(reply, Frame::Error(_)), "{script}: {reply:?}");
        call(&mut watcher, &["DEL", "k"]);
        ping(&mut watcher);
    }
}

/// Lua 5.1 hashes few bytes of a long string: of many that are alike, each new one is
/// compared with all, and an instruction takes milliseconds.
#[test]
fn a_script_of_slow_instructions_is_looked_at_in_time() {
    const ALIKE: &str = "local t = {} for i = 1, 1e9 do t[i] = string.rep('x', 10000) .. i end";
    let server = keyward(&["--busy-reply-threshold", "50"]);
    let mut runner = raw(&server);
    runner.write_all(&request(&["EVAL", ALIKE, "0"])).expect("the server reads");
    let mut other = server.client();
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(3) {
        // The first may come before the script counts as slow.
        call(&mut other, &["PING"]);
        std::thread::sleep(Duration::from_millis(50));
    }
    let asked = Instant::now();
    assert_eq!(call(&mut other, &["SCRIPT", "KILL"]), Frame::Simple(b"OK".to_vec()));
    assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
    ping(&mut other);
}

#[test]
fn a_burst_of_large_replies_ends_at_the_limit() {
    for server in both(&["--client-output-buffer-limit", "normal", "8mb", "0", "0"]) {
        let mut other = server.client();
        let value = "x".repeat(4 * MB as usize);
        call(&mut other, &["SET", "k", &value]);
        let before = memory(&server, "VmRSS");
        let mut greedy = raw(&server);
        greedy.write_all("GET k\r\n".repeat(2000).as_bytes()).expect("the server reads");
        wait_for_close(&mut greedy);
        ping(&mut other);
        let peak = memory(&server, "VmHWM");
        assert!(peak < before + 200 * MB, "{before} bytes grew to {peak}");
    }
}

#[test]
fn a_string_that_begins_large_takes_its_size_once() {
    let far = (200 * MB).to_string();
    let far_bit = (200 * MB * 8).to_string();
    let calls: [&[&str]; 3] = [
        &["SETRANGE", "k", &far, "x"],
        &["SETBIT", "k", &far_bit, "1"],
        &["BITFIELD", "k", "SET", "u8", &far_bit, "1"],
    ];
    for call_of_one in calls {
        for server in both(&[]) {
            let before = memory(&server, "VmRSS");
            call(&mut server.client(), call_of_one);
            let peak = memory(&server, "VmHWM");
            assert!(peak > before + 190 * MB, "{call_of_one:?}: {before} grew to {peak} only");
            assert!(peak < before + 250 * MB, "{call_of_one:?}: {before} grew to {peak}");
        }
    }
}

#[test]
fn a_soft_limit_ends_a_client_even_if_nothing_more_happens() {
    for server in both(&["--client-output-buffer-limit", "normal", "0", "1mb", "1"]) {
        let mut other = server.client();
        call(&mut other, &["SET", "k", &"x".repeat(20 * MB as usize)]);
        let mut reader = raw(&server);
        reader.write_all(b"GET k\r\n").expect("the server reads");
        let start = Instant::now();
        for is_connected in [true, false] {
            wait_until(|| listed(&mut other, " cmd=get ").is_empty() != is_connected);
        }
        assert!(start.elapsed() > Duration::from_millis(900), "{:?}", start.elapsed());
    }
}

/// The lines of CLIENT LIST with this text.
fn listed(client: &mut Client, text: &str) -> Vec<String> {
    let list = call(client, &["CLIENT", "LIST"]);
    let list = String::from_utf8_lossy(list.as_bytes().unwrap_or_default()).into_owned();
    list.lines().filter(|line| line.contains(text)).map(str::to_owned).collect()
}

#[test]
fn a_subscriber_that_never_reads_is_disconnected() {
    for server in both(&["--client-output-buffer-limit", "pubsub", "4mb", "0", "0"]) {
        let mut deaf = raw(&server);
        deaf.write_all(b"SUBSCRIBE news\r\n").expect("the server reads");
        let mut publisher = server.client();
        let before = memory(&server, "VmRSS");
        let message = "x".repeat(MB as usize);
        let deadline = Instant::now() + PATIENCE;
        let mut was_heard = false;
        loop {
            let heard = call(&mut publisher, &["PUBLISH", "news", &message]);
            was_heard |= heard == Frame::Integer(1);
            if was_heard && heard == Frame::Integer(0) {
                break;
            }
            assert!(Instant::now() < deadline, "the subscriber was never disconnected");
        }
        let peak = memory(&server, "VmHWM");
        assert!(peak < before + 100 * MB, "{before} bytes grew to {peak}");
    }
}

#[test]
fn who_waits_or_listens_is_not_idle() {
    for server in both(&["--timeout", "1"]) {
        let (mut idle, mut listening, mut waiting) = (raw(&server), raw(&server), raw(&server));
        listening.write_all(b"SUBSCRIBE news\r\n").expect("the server reads");
        waiting.write_all(b"BLPOP l 0\r\n").expect("the server reads");
        let mut monitor = raw(&server);
        monitor.write_all(b"MONITOR\r\n").expect("the server reads");
        let mut end = Vec::new();
        idle.read_to_end(&mut end).expect("an idle client is disconnected");
        std::thread::sleep(Duration::from_millis(500));
        let mut other = server.client();
        assert_eq!(listed(&mut other, " cmd=monitor ").len(), 1);
        assert_eq!(call(&mut other, &["PUBLISH", "news", "x"]), Frame::Integer(1));
        assert_eq!(call(&mut other, &["RPUSH", "l", "x"]), Frame::Integer(1));
        assert_eq!(call(&mut other, &["LLEN", "l"]), Frame::Integer(0), "it was taken");
    }
}

#[test]
fn slow_senders_delay_nobody() {
    let server = keyward(&[]);
    let command = request(&["SET", "slow", "value"]);
    let mut slow: Vec<TcpStream> = (0..100).map(|_| raw(&server)).collect();
    let mut other = server.client();
    for byte in &command {
        for stream in &mut slow {
            stream.write_all(&[*byte]).expect("the server reads");
        }
        let start = Instant::now();
        ping(&mut other);
        assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    }
    for stream in &mut slow {
        let mut reply = [0; 5];
        stream.read_exact(&mut reply).expect("an answer");
        assert_eq!(&reply, b"+OK\r\n");
    }
}

#[test]
fn few_descriptors_at_first_do_not_limit_clients() {
    let directory = tempfile::tempdir().expect("a directory");
    let program = directory.path().join("keyward");
    let keyward = env!("CARGO_BIN_EXE_keyward");
    for (limit, clients) in [("-Sn 64", "10000"), ("-n 100", "68")] {
        let script = format!("#!/bin/sh\nulimit {limit}\nexec '{keyward}' serve \"$@\"\n");
        std::fs::write(&program, script).expect("a file");
        std::fs::set_permissions(&program, Permissions::from_mode(0o700)).expect("its mode");
        let server = Server::start(&program, &[]).unwrap_or_else(|error| panic!("{error}"));
        let mut connected: Vec<Client> = (0..60).map(|_| server.client()).collect();
        connected.iter_mut().for_each(ping);
        let Frame::Array(pair) = call(&mut connected[0], &["CONFIG", "GET", "maxclients"]) else {
            panic!("a name and a value")
        };
        assert_eq!(pair[1], Frame::Bulk(clients.as_bytes().to_vec()), "ulimit {limit}");
    }
}

#[test]
fn ten_thousand_idle_connections_fit() {
    const COUNT: u64 = 10_000;
    let limit = getrlimit(Resource::Nofile);
    let wanted = Rlimit { current: limit.maximum, maximum: limit.maximum };
    setrlimit(Resource::Nofile, wanted).expect("a process may use what it is allowed");
    let server = keyward(&["--maxclients", "10100", "--tcp-backlog", "4096"]);
    let mut other = server.client();
    ping(&mut other);
    let before = memory(&server, "VmRSS");
    let idle: Vec<TcpStream> = (0..COUNT)
        .map(|_| {
            let mut stream = raw(&server);
            stream.write_all(b"PING\r\n").expect("the server reads");
            let mut reply = [0; 7];
            stream.read_exact(&mut reply).expect("an answer");
            stream
        })
        .collect();
    let grown = memory(&server, "VmRSS") - before;
    assert!(grown < COUNT * 4096, "{} connections take {grown} bytes", idle.len());
    assert_eq!(listed(&mut other, " cmd=ping ").len() as u64, COUNT);
    drop(idle);
    wait_until(|| listed(&mut other, " cmd=ping ").is_empty());
}
