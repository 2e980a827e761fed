//! `keyward backup` and `keyward restore`, with real servers at both ends.

use keyward_resp::Frame;
use keyward_testkit::{Client, Server, call, installed_valkey, wait_until};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Values of every type, small and large, in two databases, some with a lifetime, and a
/// function.
const FILL: &[&str] = &[
    "SET text hello EX 100000",
    "SET number 12345",
    "RPUSH list a b 1",
    "SADD set a b 1",
    "SADD ints 1 2 3",
    "HSET hash a 1 b xyz",
    "ZADD zset 1 a 2.5 b",
    "FUNCTION LOAD \"#!lua name=lib\\nredis.register_function('f', function() return 7 end)\"",
    "SELECT 3",
    "EVAL \"for i=1,3000 do redis.call('set','key:'..i,i) redis.call('hset','big',i,i*i) end\" 0",
];

fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_keyward"))
}

fn keyward(options: &[&str]) -> Server {
    Server::keyward(program(), &[options, &["--enable-debug-command", "yes"]].concat())
}

fn fill(server: &Server) {
    let mut client = server.client();
    FILL.iter().for_each(|command| drop(call(&mut client, command)));
}

fn digest(server: &Server) -> Frame {
    call(&mut server.client(), "DEBUG DIGEST")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

fn backup_command(server: u16, to: &Path, options: &[&str]) -> Command {
    let mut command = Command::new(program());
    command.args(["backup", "--port", &server.to_string(), "--to"]).arg(to).args(options);
    command.env_remove("REDISCLI_AUTH").stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn backup(server: &Server, to: &Path, options: &[&str]) -> Output {
    backup_command(server.address().port(), to, options).output().expect("it runs")
}

/// A backup that must succeed; where it is.
fn backed_up(server: &Server, to: &Path, options: &[&str]) -> PathBuf {
    let output = backup(server, to, options);
    assert_eq!(output.status.code(), Some(0), "{}", message(&output));
    PathBuf::from(String::from_utf8(output.stdout).expect("a path").trim_end())
}

fn restore(from: &Path, to: &Path, options: &[&str]) -> Output {
    let mut command = Command::new(program());
    command.arg("restore").arg(from).arg("--to").arg(to).args(options);
    command.output().expect("it runs")
}

fn restored(from: &Path, to: &Path, options: &[&str]) -> Output {
    let output = restore(from, to, options);
    assert_eq!(output.status.code(), Some(0), "{}", message(&output));
    output
}

fn message(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("a directory");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("a file").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn terminate(child: &Child) {
    Command::new("kill").arg(child.id().to_string()).status().expect("kill runs");
}

/// The data of a directory as Keyward serves it, with an append-only file as by default.
fn served(data: &Path) -> Server {
    keyward(&["--dir", text(data), "--appendonly", "yes"])
}

#[test]
fn a_backup_of_any_server_is_served_again_by_keyward_and_by_redis() {
    let sources = [keyward(&["--requirepass", "secret"]), Server::redis_with_password("secret")];
    for source in sources {
        let directory = TempDir::new().expect("a directory");
        let (to, data) = (directory.path().join("to"), directory.path().join("data"));
        let mut client = source.client();
        call(&mut client, "AUTH secret");
        call(&mut client, "CONFIG SET repl-diskless-sync-delay 0");
        FILL.iter().for_each(|command| drop(call(&mut client, command)));
        let expected = call(&mut client, "DEBUG DIGEST");
        let file = backed_up(&source, &to, &["--password", "secret"]);
        let mut summed = Command::new("sha256sum");
        summed.arg("-c").arg(format!("{}.sha256", text(&file))).current_dir(&to);
        assert!(summed.status().expect("sha256sum runs").success());
        restored(&file, &data, &[]);
        assert_eq!(names(&data), ["dump.rdb"]);
        let redis = Server::redis(&["--dir", text(&data)]);
        assert_eq!(digest(&redis), expected);
        drop(redis);
        // Twice, since what is served must also be what the append-only file has.
        for _ in 0..2 {
            let ours = served(&data);
            assert_eq!(digest(&ours), expected);
            assert_eq!(call(&mut ours.client(), "FCALL f 0"), Frame::Integer(7));
        }
    }
}

#[test]
fn a_backup_is_taken_by_a_unix_socket() {
    let directory = TempDir::new().expect("a directory");
    let (to, socket) = (directory.path().join("to"), directory.path().join("socket"));
    let source = keyward(&["--requirepass", "secret", "--unixsocket", text(&socket)]);
    let mut client = source.client();
    call(&mut client, "AUTH secret");
    call(&mut client, "MSET a 1 b 2");
    let run = |more: &[&str]| {
        let mut command = Command::new(program());
        command.args(["backup", "--url", text(&socket), "--to", text(&to)]).args(more);
        command.env("REDISCLI_AUTH", "secret").output().expect("it runs")
    };
    let output = run(&[]);
    assert_eq!(output.status.code(), Some(0), "{}", message(&output));
    assert!(message(&output).starts_with("2 keys, "), "{}", message(&output));
    let output = run(&["--cacert", "ca.crt"]);
    assert_eq!(output.status.code(), Some(2), "{}", message(&output));
    assert!(message(&output).contains("--cacert is for TLS"), "{}", message(&output));
}

#[test]
fn a_backup_under_load_is_of_one_instant() {
    let server = keyward(&[]);
    fill(&server);
    let directory = TempDir::new().expect("a directory");
    let port = server.address().port().to_string();
    let mut load = Command::new("redis-benchmark")
        .args(["-p", &port, "-n", "100000000", "-r", "1000", "-c", "8", "-q"])
        .args(["-t", "set"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("redis-benchmark runs");
    let mut client = server.client();
    let address = server.address();
    let writer = std::thread::spawn(move || {
        let mut client = Client::connect(address).expect("a connection");
        for number in 0_u64.. {
            let number = number.to_string();
            // Ends when the server does.
            if client.call(["MSET", "first", &number, "last", &number]).is_err() {
                return;
            }
        }
    });
    wait_until(|| call(&mut client, "EXISTS last key:000000000007") == Frame::Integer(2));
    let backups: Vec<TempDir> = (0..3).map(|_| TempDir::new().expect("a directory")).collect();
    for to in &backups {
        backed_up(&server, to.path(), &[]);
    }
    load.kill().expect("it runs");
    load.wait().expect("it ends");
    drop(server);
    writer.join().expect("no panic");
    let mut last = 0;
    for (index, to) in backups.iter().enumerate() {
        let data = directory.path().join(index.to_string());
        restored(to.path(), &data, &[]);
        let server = keyward(&["--dir", text(&data)]);
        let Frame::Array(pair) = call(&mut server.client(), "MGET first last") else {
            panic!("two values")
        };
        assert_eq!(pair[0], pair[1]);
        let number = String::from_utf8_lossy(pair[0].as_bytes().expect("a value")).into_owned();
        let number: u64 = number.parse().expect("a number");
        assert!(number >= last, "{number} is older than {last}");
        last = number;
    }
}

/// As where a server writes its own snapshot.
#[test]
fn who_may_read_what_was_restored_the_umask_says() {
    use std::os::unix::fs::PermissionsExt;
    let directory = TempDir::new().expect("a directory");
    let server = keyward(&[]);
    fill(&server);
    let file = backed_up(&server, directory.path(), &[]);
    for (umask, mode) in [("022", 0o644), ("077", 0o600), ("002", 0o664)] {
        let data = directory.path().join(umask);
        let script = format!("umask {umask} && exec \"$0\" restore \"$1\" --to \"$2\"");
        let mut command = Command::new("sh");
        command.arg("-c").arg(script).arg(program()).arg(&file).arg(&data);
        assert!(command.output().expect("it runs").status.success());
        let found = fs::metadata(data.join("dump.rdb")).expect("it is there").permissions().mode();
        assert_eq!(found & 0o777, mode, "umask {umask}");
    }
}

#[test]
fn scripts_get_a_record() {
    let server = keyward(&[]);
    fill(&server);
    let directory = TempDir::new().expect("a directory");
    let output = backup(&server, directory.path(), &["--format", "json", "--name", "shop"]);
    let record: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(record["keys"], 3008);
    let file = record["file"].as_str().expect("a path");
    let bytes = fs::metadata(file).expect("it is there").len();
    assert_eq!(record["bytes"], bytes);
    assert!(record["snapshot_bytes"].as_u64().expect("a number") > bytes);
    assert_eq!(record["removed"], serde_json::json!([]));
    let sum = fs::read_to_string(format!("{file}.sha256")).expect("it is there");
    assert!(sum.starts_with(record["sha256"].as_str().expect("a sum")));
    let data = directory.path().join("data");
    let output = restored(directory.path(), &data, &["--format", "json"]);
    let record: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&record["keys"], &record["file"]), (&3008.into(), &file.into()));
}

#[test]
fn what_cannot_be_reached_or_written_is_told_and_leaves_nothing() {
    let directory = TempDir::new().expect("a directory");
    let server = keyward(&["--requirepass", "secret"]);
    let check = |output: Output, expected: &str| {
        assert_eq!(output.status.code(), Some(2), "{}", message(&output));
        assert!(message(&output).contains(expected), "{}", message(&output));
    };
    check(backup(&server, directory.path(), &[]), "NOAUTH Authentication required.");
    let way = "say its password with --password or in REDISCLI_AUTH";
    check(backup(&server, directory.path(), &[]), way);
    check(backup(&server, directory.path(), &["--password", "x"]), "WRONGPASS");
    let free = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("a port");
    let output = backup_command(free.port(), directory.path(), &[]).output().expect("it runs");
    check(output, "cannot connect to 127.0.0.1:");
    assert_eq!(names(directory.path()), [""; 0]);
    let file = directory.path().join("file");
    fs::write(&file, "").expect("a file");
    let options = ["--password", "secret"];
    check(backup(&server, &file, &options), text(&file));
    check(backup(&server, &file.join("below"), &options), text(&file));
    check(restore(&directory.path().join("missing"), &file, &[]), "missing");
    // That there is none is an answer.
    let empty = TempDir::new().expect("a directory");
    let output = restore(empty.path(), &directory.path().join("data"), &[]);
    assert_eq!(output.status.code(), Some(1), "{}", message(&output));
    assert!(message(&output).contains("has no backup"), "{}", message(&output));
    let url = format!("redis://:secret@{}", server.address());
    let mut by_url = Command::new(program());
    by_url.args(["backup", "--url", &url, "--to"]).arg(directory.path());
    assert_eq!(by_url.output().expect("it runs").status.code(), Some(0));
    check(restore(directory.path(), &file, &[]), text(&file));
    let wrong = [&["--name", "a/b"][..], &["--keep", "soon"], &["--url", "http://x"]];
    for options in wrong {
        assert_eq!(backup(&server, directory.path(), options).status.code(), Some(2));
    }
}

/// A server that answers nothing but SYNC, with these bytes, and then waits or ends.
fn answering(answer: Vec<u8>, then_ends: bool) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut input = Vec::new();
        let mut answered = 0;
        loop {
            let mut chunk = [0; 1024];
            // The client has gone, or the answer was all.
            let Ok(count @ 1..) = stream.read(&mut chunk) else { return };
            input.extend_from_slice(&chunk[..count]);
            let said = String::from_utf8_lossy(&input).into_owned();
            while answered < said.matches("REPLCONF").count() {
                stream.write_all(b"-ERR unknown command\r\n").expect("it reads");
                answered += 1;
            }
            if said.contains("SYNC") {
                stream.write_all(&answer).expect("it reads");
                if then_ends {
                    return;
                }
            }
        }
    });
    port
}

#[test]
fn a_backup_that_is_stopped_or_cut_off_leaves_no_half_file() {
    let directory = TempDir::new().expect("a directory");
    let half = [b"\n\n$1000000\r\nREDIS0010".as_slice(), &[b'x'; 300_000]].concat();
    let port = answering(half.clone(), false);
    let mut child = backup_command(port, directory.path(), &[]).spawn().expect("it runs");
    wait_until(|| !names(directory.path()).is_empty());
    terminate(&child);
    let ended = Instant::now();
    assert_eq!(child.wait().expect("it ends").code(), Some(2));
    assert!(ended.elapsed() < Duration::from_secs(5));
    assert_eq!(names(directory.path()), [""; 0]);
    let port = answering(half, true);
    let output = backup_command(port, directory.path(), &[]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2), "{}", message(&output));
    assert!(message(&output).contains("the server has closed the connection"));
    assert_eq!(names(directory.path()), [""; 0]);
}

#[test]
fn a_snapshot_that_is_not_sound_is_no_backup() {
    let directory = TempDir::new().expect("a directory");
    let check = |snapshot: &[u8], expected: &str| {
        let answer = [format!("${}\r\n", snapshot.len()).as_bytes(), snapshot].concat();
        let port = answering(answer, false);
        let output = backup_command(port, directory.path(), &[]).output().expect("it runs");
        assert_eq!(output.status.code(), Some(1), "{}", message(&output));
        assert!(message(&output).contains(expected), "{}", message(&output));
        assert_eq!(names(directory.path()), [""; 0]);
    };
    check(b"nonsense", "the snapshot is not an RDB file");
    check(b"REDIS0003\xfe\x00\x00\x01k\x01", "the snapshot ends too early, at byte 15");
    check(b"REDIS0003\xfe\x00\xfb\x02\x00\x00\x01k\x01v\xff", "has 1 keys, expected 2");
    check(b"REDIS0003\xff\x00", "the snapshot ends at byte 10, but there are 11");
    check(b"REDIS0010\xff\x01\0\0\0\0\0\0\0", "but says 0000000000000001");
    check(b"REDIS0003\xf5\x08nonsense\xff", "a library that cannot be loaded");
    check(b"REDIS0003\xfe\x4f\xff\xff", "has a database 4095, but there are 1024");
}

#[test]
fn a_damaged_backup_is_refused_wherever_the_damage_is() {
    let server = keyward(&[]);
    fill(&server);
    let directory = TempDir::new().expect("a directory");
    let file = backed_up(&server, &directory.path().join("to"), &[]);
    let sum_file = PathBuf::from(format!("{}.sha256", text(&file)));
    let (whole, sum) = (fs::read(&file).expect("it"), fs::read(&sum_file).expect("it"));
    let data = directory.path().join("data");
    let check = |expected: &str, what: &str| {
        let output = restore(&file, &data, &[]);
        let message = message(&output);
        assert_eq!(output.status.code(), Some(1), "{what}: {message}");
        assert!(message.contains(text(&file)) && message.contains(expected), "{what}: {message}");
        assert_eq!(names(&data), [""; 0], "{what}");
    };
    for at in (0..whole.len()).step_by(whole.len() / 50) {
        let mut changed = whole.clone();
        changed[at] ^= 0x10;
        fs::write(&file, changed).expect("a file");
        check("its SHA-256 is ", &format!("changed at {at}"));
        fs::write(&file, &whole[..at]).expect("a file");
        check(", expected ", &format!("cut at {at}"));
    }
    fs::write(&file, [&whole, b"more".as_slice()].concat()).expect("a file");
    check("expected ", "longer");
    // Without a sum beside it there are still those within.
    fs::remove_file(&sum_file).expect("it is there");
    for at in (0..whole.len()).step_by(whole.len() / 50) {
        let mut changed = whole.clone();
        changed[at] ^= 0x10;
        // The frame's flags of size and checksum, and nothing else, may change unnoticed.
        if at > 5 {
            fs::write(&file, changed).expect("a file");
            check("byte ", &format!("changed at {at}, no sum"));
        }
        fs::write(&file, &whole[..at]).expect("a file");
        check("", &format!("cut at {at}, no sum"));
    }
    fs::write(&file, &whole[..whole.len() / 2]).expect("a file");
    check(&format!("at byte {} of {}", whole.len() / 2, whole.len() / 2), "the place is told");
    fs::write(&file, &whole).expect("a file");
    fs::write(&sum_file, "no sum\n").expect("a file");
    check("expected a SHA-256, 64 hexadecimal digits", "a sum that is none");
    fs::write(&sum_file, sum).expect("a file");
    restored(&file, &data, &[]);
    // Sound as a file, and not as a snapshot.
    let other = directory.path().join("other.rdb");
    fs::write(&other, b"REDIS0009\xfe\x00\x0f\x06stream\x00").expect("a file");
    let output = restore(&other, &directory.path().join("data2"), &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(message(&output).contains("other.rdb cannot be used"), "{}", message(&output));
    let versions = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/versions");
    let output =
        restore(&versions.join("valkey-9.1-new.rdb"), &directory.path().join("data3"), &[]);
    assert_eq!(output.status.code(), Some(1));
    for expected in ["what is not supported: ", "is a hash whose fields have lifetimes"] {
        assert!(message(&output).contains(expected), "{}", message(&output));
    }
}

/// Valkey breaks off a snapshot for a replica that could not read it.
#[test]
fn what_a_valkey_has_and_is_not_served_is_named() {
    let valkey = installed_valkey().unwrap_or_else(|why| panic!("{why}"));
    let options = ["--save", "", "--repl-diskless-sync-delay", "0"];
    let server = Server::start(&valkey, &options).expect("it starts");
    let directory = tempfile::tempdir().expect("a directory");
    let mut client = server.client();
    call(&mut client, "HSET plain a 1");
    let output = backup(&server, directory.path(), &[]);
    assert_eq!(output.status.code(), Some(0), "{}", message(&output));
    call(&mut client, "HSET lasting a 1 b 2");
    call(&mut client, "HEXPIRE lasting 1000 FIELDS 1 a");
    let output = backup(&server, directory.path(), &["--name", "other"]);
    assert_eq!(output.status.code(), Some(1), "{}", message(&output));
    for expected in ["is not kept: ", "lasting", "is a hash whose fields have lifetimes"] {
        assert!(message(&output).contains(expected), "{}", message(&output));
    }
}

/// The name of a backup that is so old.
fn name_of(name: &str, age: Duration) -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let ms = (now.expect("after 1970") - age).as_millis();
    let time = keyward_schema::timestamp_text(i64::try_from(ms).expect("a time"));
    format!("{name}-{}.rdb.zst", time.replace(['-', ':'], ""))
}

#[test]
fn old_backups_of_the_same_name_go_and_nothing_else() {
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    let server = keyward(&[]);
    call(&mut server.client(), "SET a old");
    let directory = TempDir::new().expect("a directory");
    let to = directory.path().join("to");
    let first = backed_up(&server, &to, &[]);
    let mut expected = Vec::new();
    let ages = [
        (6 * DAY, true),
        (7 * DAY - DAY / 24, true),
        (7 * DAY + DAY / 24, false),
        (400 * DAY, false),
    ];
    for (age, stays) in ages {
        let name = name_of("keyward", age);
        fs::copy(&first, to.join(&name)).expect("a copy");
        let sum = fs::read_to_string(format!("{}.sha256", text(&first))).expect("a sum");
        fs::write(to.join(format!("{name}.sha256")), sum).expect("a file");
        if stays {
            expected.extend([name.clone(), format!("{name}.sha256")]);
        }
    }
    let others = [name_of("other", 400 * DAY), "keyward-1.rdb.zst".to_owned(), "notes".to_owned()];
    for name in &others {
        fs::copy(&first, to.join(name)).expect("a copy");
    }
    expected.extend(others);
    fs::remove_file(&first).expect("it is there");
    fs::remove_file(format!("{}.sha256", text(&first))).expect("it is there");
    call(&mut server.client(), "SET a new");
    // Names tell seconds.
    let first_name = first.file_name().expect("a name").to_string_lossy().into_owned();
    wait_until(|| name_of("keyward", Duration::ZERO) > first_name);
    let newest = backed_up(&server, &to, &["--keep", "7d"]);
    let newest_name = newest.file_name().expect("a name").to_string_lossy().into_owned();
    expected.extend([newest_name.clone(), format!("{newest_name}.sha256")]);
    expected.sort();
    assert_eq!(names(&to), expected);
    // Backups of two names: one must be said. The newest one that is sound is taken.
    let data = directory.path().join("data");
    let output = restore(&to, &data, &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(message(&output).contains("backups of keyward, other: say which by --name"));
    restored(&to, &data, &["--name", "keyward"]);
    let value = call(&mut keyward(&["--dir", text(&data)]).client(), "GET a");
    assert_eq!(value.as_bytes(), Some(&b"new"[..]));
    fs::write(&newest, "damage").expect("a file");
    let output = restored(&to, &directory.path().join("data2"), &["--name", "keyward"]);
    assert!(message(&output).contains(&newest_name), "{}", message(&output));
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(told.contains(&name_of("keyward", 6 * DAY)[..16]), "{told}");
}

#[test]
fn backups_go_on_until_the_process_is_told_to_stop() {
    let server = keyward(&[]);
    fill(&server);
    let directory = TempDir::new().expect("a directory");
    let options = ["--every", "1s", "--keep", "3s"];
    let mut child = backup_command(server.address().port(), directory.path(), &options)
        .spawn()
        .expect("it runs");
    let mut seen = std::collections::BTreeSet::new();
    wait_until(|| {
        seen.extend(names(directory.path()).into_iter().filter(|name| name.ends_with(".zst")));
        let first = seen.first().cloned();
        seen.len() >= 3 && first.is_some_and(|first| !directory.path().join(first).exists())
    });
    terminate(&child);
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    let left = names(directory.path());
    assert!(left.iter().all(|name| name.starts_with("keyward-")), "{left:?}");
    // A server that is away is told of, and others follow all the same.
    let port = server.address().port();
    drop(server);
    let mut child = backup_command(port, directory.path(), &["--every", "1s"]).spawn().expect("it");
    let mut errors = child.stderr.take().expect("a pipe");
    let mut told = Vec::new();
    wait_until(|| {
        let mut chunk = [0; 1024];
        let count = errors.read(&mut chunk).expect("it goes on");
        told.extend_from_slice(&chunk[..count]);
        String::from_utf8_lossy(&told).matches("cannot connect").count() >= 2
    });
    terminate(&child);
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
}

#[test]
fn data_that_is_there_is_put_aside_only_if_asked_for() {
    let directory = TempDir::new().expect("a directory");
    let (to, data) = (directory.path().join("to"), directory.path().join("data"));
    fs::create_dir(&data).expect("a directory");
    let server = keyward(&[]);
    call(&mut server.client(), "SET a backup");
    backed_up(&server, &to, &[]);
    let server = served(&data);
    call(&mut server.client(), "SET a present");
    call(&mut server.client(), "SAVE");
    drop(server);
    let before = names(&data);
    let output = restore(&to, &data, &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(message(&output).contains("has data already: dump.rdb, appendonlydir. --force"));
    assert_eq!(names(&data), before);
    let output = restored(&to, &data, &["--force"]);
    assert!(message(&output).contains("what was there is in "), "{}", message(&output));
    let value = |data: &Path| call(&mut served(data).client(), "GET a");
    assert_eq!(value(&data).as_bytes(), Some(&b"backup"[..]));
    let aside = names(&data).into_iter().find(|name| name.starts_with("before-restore-"));
    let aside = data.join(aside.expect("it is there"));
    assert_eq!(names(&aside), ["appendonlydir", "dump.rdb"]);
    assert_eq!(value(&aside).as_bytes(), Some(&b"present"[..]));
}

/// Snapshots never have such rows, so those of a file come from elsewhere.
#[test]
fn a_backup_of_rows_that_no_file_keeps_is_served_again() {
    let schema = "[keyspace]\nname = \"cache\"\npersist = \"none\"\n\n[key.\"page:{n}\"]\n\
                  type = \"string\"\nttl = \"none\"\n";
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("keyward.toml");
    fs::write(&file, schema).expect("a file");
    let server = keyward(&[text(&file)]);
    (0..5).for_each(|n| drop(call(&mut server.client(), &format!("SET page:{n} x"))));
    let kept = folder.path().join("kept");
    assert!(backup(&server, &kept, &[]).status.success());
    drop(server);
    for appends in ["yes", "no"] {
        let data = folder.path().join(appends);
        let mut restore = Command::new(program());
        restore.arg("restore").arg(&kept).arg("--to").arg(&data);
        assert!(restore.output().expect("it runs").status.success());
        let server = keyward(&[text(&file), "--dir", text(&data), "--appendonly", appends]);
        assert_eq!(call(&mut server.client(), "DBSIZE"), Frame::Integer(5), "appendonly {appends}");
    }
    // A stock server takes them over, too.
    let data = folder.path().join("stock");
    let restored =
        Command::new(program()).arg("restore").arg(&kept).arg("--to").arg(&data).output();
    assert!(restored.expect("it runs").status.success());
    let server = Server::redis(&["--dir", text(&data), "--appendonly", "no"]);
    assert_eq!(call(&mut server.client(), "DBSIZE"), Frame::Integer(5));
}
