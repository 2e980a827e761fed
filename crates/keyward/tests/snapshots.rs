//! Snapshots and payloads, both ways with a real Redis.

use keyward_resp::Frame;
use keyward_testkit::{Client, Server, call, wait_until};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// How long something that must happen may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// Values of every type and every encoding, small and large, in two databases, some
/// with a lifetime, and a function.
const FILL: &[&str] = &[
    "SET empty ''",
    "SET int 12345",
    "SET long 123456789012",
    "SET text hello",
    "SETRANGE zeros 100 x",
    "SET soon 1 PX 100000000",
    "RPUSH list a b 1 2 -5 99999999999",
    "PEXPIREAT list 4102444800000",
    "SADD int16 1 2 3",
    "SADD int32 1 70000 -5",
    "SADD int64 1 7000000000",
    "SADD set a b 1",
    "HSET hash a 1 b xyz '' ''",
    "ZADD zset 1 a 2 b 3.5 c -inf d inf e 0.1 f 3000000000 g -0 h",
    "EVAL \"redis.call('rpush','giant',string.rep('x',20000),string.rep('y',100)) redis.call('set','rep',string.rep('abc',50000)) redis.call('hset','hlong','f',string.rep('z',100))\" 0",
    "SELECT 3",
    "SET other database",
    "EVAL \"for i=1,2000 do redis.call('rpush','biglist','element '..i) redis.call('rpush','ints',i*i*i) redis.call('sadd','bigset','element '..i) redis.call('sadd','bigints',i) redis.call('hset','bighash','element '..i,i) redis.call('zadd','bigzset',i/7,'m'..i) end\" 0",
    "FUNCTION LOAD \"#!lua name=lib\\nredis.register_function('f', function() return 7 end)\"",
];

fn keyward(options: &[&str]) -> Server {
    let program = Path::new(env!("CARGO_BIN_EXE_keyward"));
    Server::keyward(program, &[&["--enable-debug-command", "yes"], options].concat())
}

fn fill(server: &Server) {
    let mut client = server.client();
    FILL.iter().for_each(|command| drop(call(&mut client, command)));
}

fn digest(server: &Server) -> Frame {
    call(&mut server.client(), "DEBUG DIGEST")
}

/// A directory that holds what another server saved.
fn copy_of(server: &Server) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    let saved = server.directory().join("dump.rdb");
    std::fs::copy(saved, directory.path().join("dump.rdb")).expect("the server has saved");
    directory
}

fn check_function(server: &Server) {
    assert_eq!(call(&mut server.client(), "FCALL f 0"), Frame::Integer(7));
}

#[test]
fn redis_loads_what_keyward_saved() {
    for options in [&[][..], &["--rdbcompression", "no", "--rdbchecksum", "no"]] {
        let keyward = keyward(options);
        fill(&keyward);
        call(&mut keyward.client(), "SAVE");
        let directory = copy_of(&keyward);
        let checked =
            Command::new("redis-check-rdb").arg(directory.path().join("dump.rdb")).output();
        let checked = String::from_utf8(checked.expect("redis-check-rdb runs").stdout).unwrap();
        assert!(checked.contains("RDB looks OK"), "{checked}");
        let redis = Server::redis(&["--dir", directory.path().to_str().unwrap()]);
        assert_eq!(digest(&redis), digest(&keyward));
        check_function(&redis);
    }
}

#[test]
fn keyward_loads_what_redis_saved() {
    let redis = Server::redis(&[]);
    fill(&redis);
    call(&mut redis.client(), "SAVE");
    let directory = copy_of(&redis);
    let keyward = keyward(&["--dir", directory.path().to_str().unwrap()]);
    assert_eq!(digest(&keyward), digest(&redis));
    let expiry = call(&mut keyward.client(), "PEXPIRETIME list");
    assert_eq!(expiry, Frame::Integer(4_102_444_800_000));
    check_function(&keyward);
}

#[test]
fn each_restores_what_the_other_dumped() {
    let (keyward, redis) = (keyward(&[]), Server::redis(&[]));
    for (from, to) in [(&keyward, &redis), (&redis, &keyward)] {
        fill(from);
        let (mut source, mut target) = (from.client(), to.client());
        call(&mut target, "FLUSHALL");
        for db in ["0", "3"] {
            call(&mut source, &format!("SELECT {db}"));
            call(&mut target, &format!("SELECT {db}"));
            let Frame::Array(keys) = call(&mut source, "KEYS *") else { panic!("keys are a list") };
            for key in &keys {
                let key = key.as_bytes().expect("a key");
                let payload = source.call([b"DUMP", key]).expect("an answer");
                let ttl = source.call([b"PEXPIRETIME", key]).expect("an answer");
                let Frame::Integer(ttl) = ttl else { panic!("a time is a number") };
                let ttl = ttl.max(0).to_string();
                let payload = payload.as_bytes().expect("a payload");
                let restored = target.call([b"RESTORE", key, ttl.as_bytes(), payload, b"ABSTTL"]);
                assert_eq!(restored.expect("an answer"), Frame::Simple(b"OK".to_vec()));
            }
        }
        assert_eq!(digest(to), digest(from));
        call(&mut from.client(), "FLUSHALL");
        call(&mut from.client(), "FUNCTION FLUSH");
    }
}

fn info(client: &mut Client, field: &str) -> String {
    let info = call(client, "INFO persistence");
    let text = String::from_utf8_lossy(info.as_bytes().expect("a text")).into_owned();
    let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    line.unwrap_or_else(|| panic!("INFO has no {field}")).to_owned()
}

#[test]
fn a_background_save_and_a_save_point_write_the_file() {
    let server = keyward(&["--save", "1 2"]);
    let mut client = server.client();
    let file = server.directory().join("dump.rdb");
    call(&mut client, "SET a 1");
    assert_eq!(info(&mut client, "rdb_changes_since_last_save"), "1");
    call(&mut client, "BGSAVE");
    wait_until(|| info(&mut client, "rdb_bgsave_in_progress") == "0");
    assert_eq!(info(&mut client, "rdb_last_bgsave_status"), "ok");
    assert_eq!(info(&mut client, "rdb_changes_since_last_save"), "0");
    std::fs::remove_file(&file).expect("it was written");
    call(&mut client, "MSET a 1 b 2");
    wait_until(|| file.exists());
}

#[test]
fn a_save_that_fails_refuses_writes_until_one_succeeds() {
    let directory = tempfile::tempdir().expect("a directory");
    let place = directory.path().join("data");
    std::fs::create_dir(&place).expect("a directory");
    let server = keyward(&["--save", "3600 1000", "--dir", place.to_str().unwrap()]);
    let mut client = server.client();
    call(&mut client, "SET a 1");
    std::fs::remove_dir_all(&place).expect("it is there");
    assert_eq!(client.call(["SAVE"]).unwrap(), Frame::Error(b"ERR".to_vec()));
    call(&mut client, "BGSAVE");
    wait_until(|| info(&mut client, "rdb_last_bgsave_status") == "err");
    let refused = client.call(["SET", "a", "2"]).expect("an answer");
    assert!(matches!(&refused, Frame::Error(text) if text.starts_with(b"MISCONF ")), "{refused:?}");
    assert_eq!(call(&mut client, "GET a").as_bytes(), Some(&b"1"[..]));
    std::fs::create_dir(&place).expect("a directory");
    call(&mut client, "SAVE");
    call(&mut client, "SET a 2");
}

#[test]
fn what_was_there_at_the_end_is_there_again() {
    let directory = tempfile::tempdir().expect("a directory");
    let options = ["--dir", directory.path().to_str().unwrap()];
    let server = keyward(&options);
    fill(&server);
    let before = digest(&server);
    let process = server.process_id().to_string();
    Command::new("kill").arg(process).status().expect("kill runs");
    assert!(server.wait(PATIENCE).success());
    let again = keyward(&options);
    assert_eq!(digest(&again), before);
    // FLUSHALL leaves an empty file, so that nothing comes back.
    call(&mut again.client(), "FLUSHALL");
    drop(again);
    assert_eq!(call(&mut keyward(&options).client(), "DBSIZE"), Frame::Integer(0));
}

#[test]
fn a_damaged_snapshot_is_not_served_over() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("dump.rdb");
    std::fs::write(&file, b"REDIS0010\xfe\x00\x00\x01k\x01v").expect("a file");
    let output = Command::new(env!("CARGO_BIN_EXE_keyward"))
        .args(["serve", "--port", "0", "--unixsocket"])
        .arg(directory.path().join("socket"))
        .arg("--dir")
        .arg(directory.path())
        .output()
        .expect("it runs");
    assert!(!output.status.success());
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("the snapshot ends too early, at byte 16"), "{told}");
    assert!(std::fs::read(&file).expect("the file is left").ends_with(b"\x01v"));
}

#[test]
fn how_rows_were_used_is_known_by_either_after_the_other_has_saved_it() {
    for (policy, usage, command, told) in [
        ("allkeys-lfu", ["FREQ", "100"], "OBJECT FREQ a", 100..=100),
        ("allkeys-lru", ["IDLETIME", "5000"], "OBJECT IDLETIME a", 5000..=5020),
    ] {
        let options = ["--maxmemory-policy", policy];
        for is_ours in [true, false] {
            let first = if is_ours { keyward(&options) } else { Server::redis(&options) };
            let mut client = first.client();
            call(&mut client, "SET b x");
            let payload = call(&mut client, "DUMP b");
            let payload = payload.as_bytes().expect("a payload");
            let [name, value] = usage.map(str::as_bytes);
            let restored = client.call([b"RESTORE", b"a".as_slice(), b"0", payload, name, value]);
            assert_eq!(restored.expect("an answer"), Frame::Simple(b"OK".to_vec()));
            call(&mut client, "SAVE");
            let directory = copy_of(&first);
            let dir = ["--dir", directory.path().to_str().expect("UTF-8")];
            let options = [&dir[..], &options].concat();
            let second = if is_ours { Server::redis(&options) } else { keyward(&options) };
            let Frame::Integer(found) = call(&mut second.client(), command) else {
                panic!("{command} answers a number")
            };
            assert!(told.contains(&found), "{policy}, is_ours {is_ours}: {found}");
        }
    }
}

#[test]
fn whoever_asks_during_the_start_is_told_how_far_it_is() {
    let redis = Server::redis(&[]);
    let mut client = redis.client();
    call(&mut client, "DEBUG POPULATE 300000 key 100");
    call(&mut client, "SAVE");
    let directory = copy_of(&redis);
    let bytes = std::fs::metadata(directory.path().join("dump.rdb")).expect("a file").len();
    let socket = directory.path().join("socket");
    let mut child = Command::new(env!("CARGO_BIN_EXE_keyward"))
        .args(["serve", "--port", "0", "--appendonly", "no", "--dir"])
        .arg(directory.path())
        .args(["--enable-protected-configs", "yes", "--unixsocket"])
        .arg(&socket)
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("it runs");
    wait_until(|| UnixStream::connect(&socket).is_ok());
    let ask = |command: &str| {
        let mut stream = UnixStream::connect(&socket).expect("it listens");
        stream.write_all(format!("{command}\r\nQUIT\r\n").as_bytes()).expect("it is read");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        answer
    };
    let (mut told, mut refused, mut unset) = (0, 0, [0; 2]);
    wait_until(|| {
        let text = ask("INFO persistence");
        let field = |name: &str| -> Option<u64> {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            line.map(|value| value.parse().expect("a number"))
        };
        if field("loading") == Some(0) {
            assert_eq!(field("loading_loaded_bytes"), None);
            assert_eq!(field("rdb_last_load_keys_loaded"), Some(300_000));
            return true;
        }
        assert_eq!(field("loading_total_bytes").filter(|total| *total != 0), Some(bytes));
        let loaded = field("loading_loaded_bytes").expect("how far it is");
        assert!(told <= loaded && loaded <= bytes, "{told}, then {loaded} of {bytes}");
        told = loaded;
        let answer = ask("GET key:1");
        refused += u64::from(answer.starts_with("-LOADING "));
        // What names the files that are being read stays as it is; the rest can be set.
        let dir = format!("loglevel debug dir {}", directory.path().display());
        for (unset, command) in unset.iter_mut().zip(["appendonly no", &dir]) {
            *unset += u64::from(ask(&format!("CONFIG SET {command}")).starts_with("-LOADING "));
        }
        assert_eq!(ask("CONFIG SET loglevel debug"), "+OK\r\n+OK\r\n");
        false
    });
    assert!(unset.iter().all(|count| *count > 0), "{unset:?}");
    assert!(told > 0 && refused > 0, "{told} bytes told, {refused} refused");
    assert_eq!(ask("DBSIZE"), ":300000\r\n+OK\r\n");
    child.kill().expect("it runs");
    child.wait().expect("it ends");
}

/// The rows of the snapshot in this directory, as a server that loads it counts them.
fn rows_saved(directory: &Path) -> Frame {
    let loaded = keyward(&["--dir", directory.to_str().expect("UTF-8")]);
    call(&mut loaded.client(), "DBSIZE")
}

#[test]
fn a_snapshot_at_the_end_is_whole_though_another_is_being_written() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().to_str().expect("UTF-8");
    for round in 0..12 {
        let server = keyward(&["--dir", path, "--save", "3600 1000000"]);
        let mut client = server.client();
        call(&mut client, "FLUSHALL");
        let fill = "EVAL \"for i=1,400 do redis.call('set',i,string.rep('x',700)) end\" 0";
        call(&mut client, fill);
        call(&mut client, "BGSAVE");
        call(&mut client, "SET last 1");
        std::thread::sleep(Duration::from_micros(round * 300));
        // The reply does not come.
        let _ = client.call(["SHUTDOWN", "SAVE"]);
        assert!(server.wait(PATIENCE).success(), "it ends");
        assert_eq!(rows_saved(directory.path()), Frame::Integer(401), "round {round}");
    }
}

#[test]
fn flushing_beside_a_snapshot_fails_neither_and_leaves_the_newer_file() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = keyward(&["--dir", directory.path().to_str().expect("UTF-8"), "--save", "3600 1"]);
    let mut client = server.client();
    for round in 0..12 {
        call(&mut client, "EVAL \"for i=1,400 do redis.call('set',i,string.rep('x',700)) end\" 0");
        call(&mut client, "BGSAVE");
        std::thread::sleep(Duration::from_micros(round * 300));
        assert_eq!(call(&mut client, "FLUSHALL"), Frame::Simple(b"OK".to_vec()));
        let info = |client: &mut Client| format!("{:?}", call(client, "INFO persistence"));
        wait_until(|| info(&mut client).contains("rdb_bgsave_in_progress:0"));
        assert!(info(&mut client).contains("rdb_last_bgsave_status:ok"), "round {round}");
        assert_eq!(call(&mut client, "SET a 1"), Frame::Simple(b"OK".to_vec()), "round {round}");
        let names = std::fs::read_dir(directory.path()).expect("it is there");
        let names: Vec<_> = names.map(|entry| entry.expect("an entry").file_name()).collect();
        let is_temporary = |name: &std::ffi::OsString| name.to_string_lossy().starts_with("temp-");
        assert!(!names.iter().any(is_temporary), "{names:?}");
    }
    let file = std::fs::read(directory.path().join("dump.rdb")).expect("a snapshot");
    assert!(file.len() < 1000, "{} bytes: the flushed rows are back", file.len());
}
