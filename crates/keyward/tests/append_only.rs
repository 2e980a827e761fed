//! The append-only file: what was acknowledged is there again, both ways with a real Redis.

use keyward_resp::{Frame, push_request};
use keyward_testkit::{Client, Random, Server, call, wait_until};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn keyward(directory: &Path, options: &[&str]) -> Server {
    let directory = directory.to_str().expect("a path in UTF-8");
    let first = ["--dir", directory, "--appendonly", "yes", "--enable-debug-command", "yes"];
    let program = Path::new(env!("CARGO_BIN_EXE_keyward"));
    let files = options.iter().take_while(|option| !option.starts_with("--")).count();
    let (files, options) = options.split_at(files);
    Server::keyward(program, &[files, &first, options].concat())
}

fn redis(directory: &Path, options: &[&str]) -> Server {
    let directory = directory.to_str().expect("a path in UTF-8");
    Server::redis(&[&["--dir", directory, "--appendonly", "yes"], options].concat())
}

fn text(frame: &Frame) -> String {
    String::from_utf8_lossy(frame.as_bytes().expect("a text")).into_owned()
}

fn digest(server: &Server) -> String {
    match call(&mut server.client(), "DEBUG DIGEST") {
        Frame::Simple(digest) => String::from_utf8_lossy(&digest).into_owned(),
        other => panic!("no digest: {other:?}"),
    }
}

fn info(client: &mut Client, field: &str) -> String {
    let info = text(&call(client, "INFO persistence"));
    let line = info.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    line.unwrap_or_else(|| panic!("INFO has no {field}")).to_owned()
}

fn wait_for_rewrite(client: &mut Client) {
    // In this order: what is scheduled may begin between the two looks.
    wait_until(|| {
        info(client, "aof_rewrite_scheduled") == "0"
            && info(client, "aof_rewrite_in_progress") == "0"
    });
    assert_eq!(info(client, "aof_last_bgrewrite_status"), "ok");
}

/// A command that changes something: of every type, with lifetimes, chance, transactions
/// and scripts.
fn change(random: &mut Random) -> String {
    let key = random.below(50);
    let element = random.below(20);
    match random.below(20) {
        0 => format!("SET s{key} {element}"),
        1 => format!("SET s{key} {element} EX 100000"),
        2 => format!("APPEND s{key} x"),
        3 => format!("INCRBYFLOAT f{key} 0.1"),
        4 => format!("HSET h{key} f{element} {key}"),
        5 => format!("HINCRBY h{key} n 3"),
        6 => format!("RPUSH l{key} {element} b c"),
        7 => format!("LPOP l{key}"),
        8 => format!("SADD t{key} a b c {element}"),
        9 => format!("SPOP t{key} 2"),
        10 => format!("ZADD z{key} {element} m{element}"),
        11 => format!("ZPOPMIN z{key}"),
        12 => format!("EXPIRE h{key} 100000"),
        13 => format!("GETEX s{key} EX 5000"),
        14 => format!("DEL s{key} l{key}"),
        15 => format!("RENAME s{key} s{element}"),
        16 => format!(
            "EVAL \"redis.call('set','e{key}',{element}) redis.call('sadd','es',math.random(9))\" 0"
        ),
        17 => format!("SELECT {}", random.below(3)),
        18 => format!("PEXPIREAT s{key} 1"),
        _ => format!("MSET m{key} 1 m{element} 2"),
    }
}

fn change_much(server: &Server, random: &mut Random, count: usize) {
    let mut client = server.client();
    for _ in 0..count {
        let command = change(random);
        let words = keyward_resp::split_words(command.as_bytes()).expect("quotes are closed");
        // RENAME of a key that is not there is an error, as it should be.
        client.call(&words).expect("an answer");
    }
}

fn file(directory: &Path, name: &str) -> PathBuf {
    directory.join("appendonlydir").join(name)
}

#[test]
fn what_was_acknowledged_is_there_after_a_kill() {
    for policy in ["always", "everysec", "no"] {
        let directory = tempfile::tempdir().expect("a directory");
        let mut random = Random::new(policy.len() as u64);
        let mut before = None;
        for _ in 0..3 {
            let server = keyward(directory.path(), &["--appendfsync", policy]);
            if let Some(before) = before {
                assert_eq!(digest(&server), before, "appendfsync {policy}");
            }
            change_much(&server, &mut random, 300);
            call(
                &mut server.client(),
                "FUNCTION LOAD REPLACE \"#!lua name=lib\\nredis.register_function('f', function() return 7 end)\"",
            );
            call(&mut server.client(), "MULTI");
            before = Some(digest(&server));
        }
        let server = keyward(directory.path(), &[]);
        assert_eq!(call(&mut server.client(), "FCALL f 0"), Frame::Integer(7));
    }
}

#[test]
fn redis_loads_our_files_and_we_load_its() {
    let mut random = Random::new(7);
    for rewrites in [false, true] {
        let directory = tempfile::tempdir().expect("a directory");
        let ours = keyward(directory.path(), &[]);
        change_much(&ours, &mut random, 500);
        if rewrites {
            call(&mut ours.client(), "BGREWRITEAOF");
            wait_for_rewrite(&mut ours.client());
            change_much(&ours, &mut random, 100);
        }
        let before = digest(&ours);
        drop(ours);
        let manifest = file(directory.path(), "appendonly.aof.manifest");
        let checked = Command::new("redis-check-aof").arg(&manifest).output();
        let checked = String::from_utf8(checked.expect("redis-check-aof runs").stdout).unwrap();
        assert!(checked.contains("All AOF files and manifest are valid"), "{checked}");
        let theirs = redis(directory.path(), &[]);
        assert_eq!(digest(&theirs), before);
        change_much(&theirs, &mut random, 500);
        if rewrites {
            call(&mut theirs.client(), "CONFIG SET aof-use-rdb-preamble no");
            call(&mut theirs.client(), "BGREWRITEAOF");
            wait_for_rewrite(&mut theirs.client());
            change_much(&theirs, &mut random, 100);
        }
        let before = digest(&theirs);
        drop(theirs);
        assert_eq!(digest(&keyward(directory.path(), &[])), before);
    }
}

#[test]
fn debug_loadaof_loads_it_again() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = keyward(directory.path(), &[]);
    let mut random = Random::new(11);
    let mut client = server.client();
    for rewrites in [false, true] {
        change_much(&server, &mut random, 300);
        if rewrites {
            call(&mut client, "BGREWRITEAOF");
            wait_for_rewrite(&mut client);
            change_much(&server, &mut random, 100);
        }
        let before = digest(&server);
        // What is not in a file yet cannot be loaded from it.
        call(&mut client, "DEBUG LOADAOF");
        assert_eq!(digest(&server), before);
    }
    // What follows is logged, and only once.
    call(&mut client, "RPUSH behind a");
    let before = digest(&server);
    drop(server);
    assert_eq!(digest(&keyward(directory.path(), &[])), before);
    // Its files are there although nothing is logged any more.
    let server = keyward(directory.path(), &["--appendonly", "no"]);
    let mut client = server.client();
    call(&mut client, "SET other 1");
    call(&mut client, "DEBUG LOADAOF");
    assert_eq!(digest(&server), before);
}

#[test]
fn a_rewrite_is_in_progress_as_soon_as_it_was_asked_for() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = keyward(directory.path(), &["--appendonly", "no"]);
    let mut client = server.client();
    client.send(b"SET k v\r\nBGREWRITEAOF\r\nINFO persistence\r\n").expect("they are sent");
    let replies: Vec<Frame> = (0..3).map(|_| client.receive().expect("a reply")).collect();
    let info = format!("{:?}", replies[2]);
    assert!(info.contains("aof_rewrite_in_progress:1"), "{info}");
    wait_for_rewrite(&mut client);
    call(&mut client, "DEBUG LOADAOF");
    assert_eq!(client.call(&["GET", "k"]).expect("an answer"), Frame::Bulk(b"v".to_vec()));
}

#[test]
fn a_rewrite_is_in_progress_as_soon_as_the_file_is_turned_on() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = keyward(directory.path(), &["--appendonly", "no"]);
    let mut client = server.client();
    // In one go: the server has no moment between the two.
    client.send(b"CONFIG SET appendonly yes\r\nINFO persistence\r\n").expect("it is sent");
    assert_eq!(client.receive().expect("a reply"), Frame::Simple(b"OK".to_vec()));
    let info = text(&client.receive().expect("a reply"));
    assert!(info.contains("aof_rewrite_in_progress:1\r\n"), "{info}");
    wait_for_rewrite(&mut client);
    // Nor is one left that was demanded for nothing.
    client
        .send(b"CONFIG SET appendonly no\r\nCONFIG SET appendonly yes\r\nCONFIG SET appendonly no\r\nINFO persistence\r\n")
        .expect("it is sent");
    (0..3).for_each(|_| drop(client.receive().expect("a reply")));
    let info = text(&client.receive().expect("a reply"));
    assert!(info.contains("aof_rewrite_in_progress:0\r\n"), "{info}");
}

#[test]
fn a_single_file_of_older_versions_is_taken_over() {
    let directory = tempfile::tempdir().expect("a directory");
    // A snapshot, and commands behind it.
    let theirs = Server::redis(&["--dir", directory.path().to_str().expect("a path in UTF-8")]);
    call(&mut theirs.client(), "SET a 1");
    call(&mut theirs.client(), "SAVE");
    drop(theirs);
    let mut bytes = fs::read(directory.path().join("dump.rdb")).expect("it was saved");
    bytes.extend_from_slice(b"*2\r\n$4\r\nINCR\r\n$1\r\na\r\n");
    fs::write(directory.path().join("appendonly.aof"), bytes).expect("a file");
    fs::remove_file(directory.path().join("dump.rdb")).expect("it is there");
    let server = keyward(directory.path(), &[]);
    assert_eq!(text(&call(&mut server.client(), "GET a")), "2");
    call(&mut server.client(), "DEBUG LOADAOF");
    assert_eq!(text(&call(&mut server.client(), "GET a")), "2");
    assert!(file(directory.path(), "appendonly.aof").exists());
}

/// Redis before 7 logged scripts as such.
#[test]
fn scripts_of_an_old_file_are_carried_out_where_a_replica_loads_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut log = Vec::new();
    push_request(&mut log, ["SET", "foo", "100"].iter());
    push_request(&mut log, ["EVAL", "redis.call('incrby', KEYS[1], 2)", "1", "foo"].iter());
    fs::write(directory.path().join("appendonly.aof"), log).expect("a file");
    let nobody = ["--replicaof", "127.0.0.1 1", "--replica-serve-stale-data", "yes"];
    let server = keyward(directory.path(), &nobody);
    assert_eq!(text(&call(&mut server.client(), "GET foo")), "102");
}

#[test]
fn writing_anew_while_clients_write_loses_nothing_and_leaves_no_old_files() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = keyward(directory.path(), &["--appendfsync", "always"]);
    let mut random = Random::new(3);
    call(&mut server.client(), "DEBUG POPULATE 20000 key 50");
    let mut client = server.client();
    for _ in 0..3 {
        call(&mut client, "BGREWRITEAOF");
        change_much(&server, &mut random, 300);
        call(&mut client, "FLUSHDB");
        change_much(&server, &mut random, 300);
        wait_for_rewrite(&mut client);
    }
    let before = digest(&server);
    drop(server);
    let mut names: Vec<String> = fs::read_dir(directory.path().join("appendonlydir"))
        .expect("a directory")
        .map(|entry| entry.expect("a file").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    let expected =
        ["appendonly.aof.4.base.rdb", "appendonly.aof.4.incr.aof", "appendonly.aof.manifest"];
    assert_eq!(names, expected);
    assert_eq!(digest(&keyward(directory.path(), &[])), before);
}

#[test]
fn a_file_that_has_grown_is_written_anew_by_itself() {
    let directory = tempfile::tempdir().expect("a directory");
    let options = ["--auto-aof-rewrite-min-size", "10kb", "--auto-aof-rewrite-percentage", "100"];
    let server = keyward(directory.path(), &options);
    let mut client = server.client();
    for number in 0..1000 {
        call(&mut client, &format!("SET a {number}"));
    }
    wait_until(|| info(&mut client, "aof_rewrites") != "0");
    wait_for_rewrite(&mut client);
    let size: u64 = info(&mut client, "aof_current_size").parse().expect("a number");
    assert!(size < 30_000, "{size} bytes");
}

#[test]
fn it_can_be_turned_on_and_off_while_clients_write() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = keyward(directory.path(), &["--appendonly", "no"]);
    let mut client = server.client();
    call(&mut client, "SET a 1");
    assert_eq!(info(&mut client, "aof_enabled"), "0");
    call(&mut client, "CONFIG SET appendonly yes");
    call(&mut client, "SET b 1");
    wait_until(|| info(&mut client, "aof_rewrites") == "1");
    wait_for_rewrite(&mut client);
    call(&mut client, "SET c 1");
    let before = digest(&server);
    drop(server);
    let server = keyward(directory.path(), &[]);
    assert_eq!(digest(&server), before);
    let mut client = server.client();
    call(&mut client, "CONFIG SET appendonly no");
    call(&mut client, "SET d 1");
    wait_until(|| info(&mut client, "aof_enabled") == "0");
    drop(server);
    assert_eq!(digest(&keyward(directory.path(), &[])), before, "what followed is not logged");
}

/// The last increment.
/// The last increment was kept behind a base that was written while nothing was logged:
/// what had been deleted since came back.
#[test]
fn what_was_logged_before_the_file_was_turned_off_does_not_come_back() {
    for is_rewritten_before in [false, true] {
        let directory = tempfile::tempdir().expect("a directory");
        let server = keyward(directory.path(), &[]);
        let mut client = server.client();
        if is_rewritten_before {
            call(&mut client, "BGREWRITEAOF");
            wait_for_rewrite(&mut client);
        }
        call(&mut client, "SET gone 1");
        call(&mut client, "CONFIG SET appendonly no");
        call(&mut client, "FLUSHALL");
        call(&mut client, "RPUSH kept 1");
        call(&mut client, "BGREWRITEAOF");
        wait_for_rewrite(&mut client);
        drop(server);
        let server = keyward(directory.path(), &[]);
        let keys = call(&mut server.client(), "KEYS *");
        assert_eq!(keys, Frame::Array(vec![Frame::Bulk(b"kept".to_vec())]));
    }
}

fn last_increment(directory: &Path) -> PathBuf {
    file(directory, "appendonly.aof.1.incr.aof")
}

/// Starts a server that must not start; what it says.
fn refused(directory: &Path, options: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_keyward"))
        .args(["serve", "--port", "0", "--unixsocket"])
        .arg(directory.join("socket"))
        .args(["--appendonly", "yes", "--dir"])
        .arg(directory)
        .args(options)
        .output()
        .expect("it runs");
    assert!(!output.status.success());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn the_last_line_of_the_log_says_why_a_server_did_not_start() {
    let directory = tempfile::tempdir().expect("a directory");
    drop(keyward(directory.path(), &[]));
    fs::write(last_increment(directory.path()), "nonsense").expect("a file");
    let place = directory.path().display();
    let settings = format!(
        "port 0\nunixsocket {place}/socket\npidfile {place}/pid\nappendonly yes\ndir {place}\n"
    );
    let file = directory.path().join("redis.conf");
    fs::write(&file, settings).expect("a file");
    let mut server = Command::new(env!("CARGO_BIN_EXE_keyward"));
    let output = server.arg("serve").arg(&file).output().expect("it runs");
    assert!(!output.status.success());
    let log = String::from_utf8_lossy(&output.stdout);
    let last = log.lines().last().unwrap_or_default();
    assert!(last.contains("Bad file format reading the append only file"), "{log}");
    assert!(!directory.path().join("pid").exists() && !directory.path().join("socket").exists());
}

#[test]
fn a_torn_end_is_cut_off_and_damage_is_not_served_over() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = keyward(directory.path(), &[]);
    call(&mut server.client(), "SET a 1");
    let before = digest(&server);
    drop(server);
    let path = last_increment(directory.path());
    let whole = fs::read(&path).expect("it was written");
    let torn: [&[u8]; 3] = [
        b"*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r",
        b"*1\r\n$5\r\nMULTI\r\n*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n2\r\n",
        &[0; 4096],
    ];
    for end in torn {
        fs::write(&path, [&whole, end].concat()).expect("a file");
        let told = refused(directory.path(), &["--aof-load-truncated", "no"]);
        let place = format!("it is sound up to byte {}", whole.len());
        assert!(told.contains(&place), "{told}");
        assert_eq!(digest(&keyward(directory.path(), &[])), before);
        assert_eq!(fs::read(&path).expect("it is there"), whole);
    }
    fs::write(&path, [&whole, b"nonsense".as_slice(), &whole].concat()).expect("a file");
    let told = refused(directory.path(), &[]);
    assert!(
        told.contains(&format!("is damaged at byte {}: expected a command", whole.len())),
        "{told}"
    );
    fs::write(&path, [&whole, b"*1\r\n$5\r\nWRONG\r\n".as_slice()].concat()).expect("a file");
    assert!(refused(directory.path(), &[]).contains("a command that is not known: WRONG"));
    fs::write(&path, &whole).expect("a file");
    let manifest = file(directory.path(), "appendonly.aof.manifest");
    fs::write(&manifest, "file appendonly.aof.1.base.rdb seq 1 type q\n").expect("a file");
    let told = refused(directory.path(), &[]);
    assert!(told.contains("appendonly.aof.manifest: line 1: Unknown AOF file type"), "{told}");
    fs::write(&manifest, "file missing.rdb seq 1 type b\n").expect("a file");
    let told = refused(directory.path(), &[]);
    assert!(told.contains("cannot open") && told.contains("missing.rdb"), "{told}");
    fs::remove_dir_all(directory.path().join("appendonlydir")).expect("it is there");
    fs::write(directory.path().join("appendonlydir"), "").expect("a file");
    let told = refused(directory.path(), &[]);
    assert!(told.contains("appendonlydir"), "{told}");
}

#[test]
fn a_snapshot_becomes_the_base_of_a_new_append_only_file() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = keyward(directory.path(), &["--appendonly", "no"]);
    call(&mut server.client(), "SET a 1");
    call(&mut server.client(), "SAVE");
    drop(server);
    let server = keyward(directory.path(), &[]);
    call(&mut server.client(), "INCR a");
    drop(server);
    fs::remove_file(directory.path().join("dump.rdb")).expect("it was saved");
    let server = keyward(directory.path(), &[]);
    assert_eq!(text(&call(&mut server.client(), "GET a")), "2");
}

#[test]
fn without_a_word_about_it_data_is_kept_in_a_directory_of_its_own() {
    let directory = tempfile::tempdir().expect("a directory");
    let manifest = directory.path().join("keyward-data/appendonlydir/appendonly.aof.manifest");
    let start = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_keyward"));
        command.current_dir(directory.path()).args(["serve", "--port", "0", "--unixsocket", "s"]);
        let mut child = command.spawn().expect("it runs");
        let socket = directory.path().join("s");
        wait_until(|| std::os::unix::net::UnixStream::connect(&socket).is_ok());
        // It listens before it has its files.
        wait_until(|| manifest.exists());
        let id = child.id().to_string();
        Command::new("kill").arg(id).status().expect("kill runs");
        assert!(child.wait().expect("it ends").success());
    };
    start();
    start();
}

/// Schemas for databases 0 to 2, each of which says something else about what outlives a
/// restart.
fn persisting_schemas(directory: &Path, persist: [&str; 3]) -> Vec<String> {
    let schema = |(db, persist): (usize, &str)| {
        let path = directory.join(format!("{db}.toml"));
        let content = format!(
            "[keyspace]\nname = \"db{db}\"\ndb = {db}\nunknown = \"allow\"\npersist = \"{persist}\"\n\n\
             [key.\"k:{{id}}\"]\ndoc = \"A key.\"\ntype = \"string\"\nttl = \"none\"\n"
        );
        fs::write(&path, content).expect("a file");
        path.to_str().expect("a path in UTF-8").to_owned()
    };
    persist.into_iter().enumerate().map(schema).collect()
}

#[test]
fn a_keyspace_says_what_outlives_a_restart() {
    let directory = tempfile::tempdir().expect("a directory");
    let schemas = persisting_schemas(directory.path(), ["aof", "rdb", "none"]);
    let options: Vec<&str> = schemas.iter().map(String::as_str).collect();
    let server = keyward(directory.path(), &options);
    let mut client = server.client();
    for db in 0..3 {
        call(&mut client, &format!("SELECT {db}"));
        call(&mut client, "SET k:1 saved");
    }
    call(&mut client, "SAVE");
    for db in 0..3 {
        call(&mut client, &format!("SELECT {db}"));
        call(&mut client, "SET k:1 later");
    }
    call(&mut client, "BGREWRITEAOF");
    wait_for_rewrite(&mut client);
    drop(server);
    let server = keyward(directory.path(), &options);
    let mut client = server.client();
    for (db, expected) in [Some("later"), Some("saved"), None].into_iter().enumerate() {
        call(&mut client, &format!("SELECT {db}"));
        let value = call(&mut client, "GET k:1");
        assert_eq!(value.as_bytes(), expected.map(str::as_bytes), "database {db}");
    }
}

#[test]
fn rows_carried_between_databases_are_logged_where_the_log_has_one_of_them() {
    let directory = tempfile::tempdir().expect("a directory");
    let schemas = persisting_schemas(directory.path(), ["aof", "rdb", "none"]);
    let options: Vec<&str> = schemas.iter().map(String::as_str).collect();
    let server = keyward(directory.path(), &options);
    let mut client = server.client();
    let run = |client: &mut Client, commands: &[&str]| {
        commands.iter().for_each(|command| drop(call(client, command)));
    };
    // Into a database that is logged, from each that is not: database 5 has no schema.
    for db in [1, 2] {
        run(&mut client, &[&format!("SELECT {db}")]);
        let lifetime = "PEXPIREAT moved:z 33000000000000";
        run(&mut client, &["SET moved 1", "ZADD moved:z 1 a 2.5 b", lifetime]);
        run(&mut client, &["RPUSH copied a b", "HSET script f 1", "SADD multi x"]);
        run(&mut client, &["MOVE moved 5", "MOVE moved:z 5", "COPY copied copied DB 5"]);
        run(&mut client, &["EVAL \"return redis.call('MOVE', 'script', 5)\" 0"]);
        run(&mut client, &["MULTI", "SET other 1", "MOVE multi 5", "EXEC", "SELECT 5"]);
        for key in ["moved", "moved:z", "copied", "script", "multi"] {
            run(&mut client, &[&format!("RENAME {key} {db}:{key}")]);
        }
    }
    // Out of it: they are gone there, and do not come back elsewhere.
    run(&mut client, &["SELECT 0", "MSET k:1 a k:2 b k:3 c k:4 d", "MOVE k:1 1", "MOVE k:2 2"]);
    run(&mut client, &["COPY k:3 k:3 DB 2", "SELECT 2", "DEL k:2", "SELECT 0"]);
    // Were the first one carried out again as it came, this one would fail.
    run(&mut client, &["SET k:2 b2", "MOVE k:2 2", "MULTI", "MOVE k:4 1", "EXEC"]);
    let rows = |client: &mut Client, db: usize| {
        call(client, &format!("SELECT {db}"));
        let Frame::Array(mut keys) = call(client, "KEYS *") else { panic!("no keys") };
        keys.sort_by_key(text);
        let values = keys.iter().map(|key| call(client, &format!("DUMP {}", text(key))));
        let values: Vec<Frame> = values.collect();
        (keys, values)
    };
    let before: Vec<_> = [0, 5].map(|db| rows(&mut client, db)).into();
    assert_eq!(before[0].0.iter().map(text).collect::<Vec<_>>(), ["k:3"]);
    assert_eq!(before[1].0.len(), 10);
    drop(server);
    let server = keyward(directory.path(), &options);
    let mut client = server.client();
    assert_eq!([0, 5].map(|db| rows(&mut client, db)).to_vec(), before);
    assert_eq!(call(&mut client, "PEXPIRETIME 1:moved:z"), Frame::Integer(33_000_000_000_000));
    for db in [1, 2] {
        assert_eq!(rows(&mut client, db).0, [], "database {db}");
    }
    drop(server);
    // Redis carries it out to the same.
    let theirs = redis(directory.path(), &[]);
    let mut client = theirs.client();
    assert_eq!([0, 5].map(|db| rows(&mut client, db)).to_vec(), before);
}

#[test]
fn a_keyspace_may_change_what_outlives_a_restart() {
    let directory = tempfile::tempdir().expect("a directory");
    let start_with = |persist: [&str; 3], settings: &[&str]| {
        let schemas = persisting_schemas(directory.path(), persist);
        let files: Vec<&str> = schemas.iter().map(String::as_str).collect();
        keyward(directory.path(), &[&files[..], settings].concat())
    };
    let start = |persist| start_with(persist, &[]);
    let values = |server: &Server| {
        let mut client = server.client();
        [0, 1, 2].map(|db| {
            call(&mut client, &format!("SELECT {db}"));
            call(&mut client, "GET k:1").as_bytes().map(|value| value.to_vec())
        })
    };
    let is = |value: &str| Some(value.as_bytes().to_vec());
    let server = start(["aof", "aof", "aof"]);
    let mut client = server.client();
    for db in 0..3 {
        call(&mut client, &format!("SELECT {db}"));
        call(&mut client, "SET k:1 logged");
    }
    drop(server);
    // What was kept until now is loaded once more, and no longer kept, if that is accepted.
    let output = Command::new(env!("CARGO_BIN_EXE_keyward"))
        .arg("serve")
        .args(persisting_schemas(directory.path(), ["aof", "rdb", "none"]))
        .args(["--port", "0", "--appendonly", "yes", "--unixsocket"])
        .arg(directory.path().join("socket"))
        .arg("--dir")
        .arg(directory.path())
        .output()
        .expect("it runs");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("1 row is not kept (persist = \"none\")"), "{told}");
    let plan = told.lines().find_map(|line| line.split_once("--accept ")).expect("a plan").1;
    let server = start_with(["aof", "rdb", "none"], &["--accept", plan]);
    assert_eq!(values(&server), [is("logged"), is("logged"), is("logged")]);
    wait_until(|| info(&mut server.client(), "aof_rewrites") == "1");
    wait_for_rewrite(&mut server.client());
    wait_until(|| info(&mut server.client(), "rdb_bgsave_in_progress") == "0");
    call(&mut server.client(), "SAVE");
    drop(server);
    let server = start(["aof", "rdb", "none"]);
    assert_eq!(values(&server), [is("logged"), is("logged"), None]);
    // From now on the last one is logged: what it has must get into the log.
    let mut client = server.client();
    call(&mut client, "SELECT 2");
    call(&mut client, "SET k:1 kept");
    persisting_schemas(directory.path(), ["aof", "rdb", "aof"]);
    let text_of = fs::read_to_string(directory.path().join("2.toml")).expect("it was written");
    let planned = client.call(&["KEYWARD", "SCHEMA", "PLAN", &text_of]).expect("an answer");
    let Frame::Array(words) = planned else { panic!("no plan: {planned:?}") };
    call(&mut client, &format!("KEYWARD SCHEMA APPLY {}", text(&words[1])));
    wait_until(|| info(&mut client, "aof_rewrites") == "1");
    wait_for_rewrite(&mut client);
    drop(server);
    let server = start(["aof", "rdb", "aof"]);
    assert_eq!(values(&server), [is("logged"), is("logged"), is("kept")]);
}

const JOBS: &str = r#"[keyspace]
name = "jobs"
persist = "aof"

[key."job:{id:uint}"]
type = "string"
ttl = "none"
"#;

#[test]
fn a_schema_that_asks_for_more_than_the_server_keeps_is_warned_of() {
    let directory = tempfile::tempdir().expect("a directory");
    let place = |name: &str| directory.path().join(name).display().to_string();
    let check = |schema: &str, settings: &[&str], expected: Option<&str>| {
        fs::write(place("jobs.toml"), schema).expect("a file");
        let _ = fs::remove_file(place("log"));
        let (toml, log) = (place("jobs.toml"), place("log"));
        let options = [&[toml.as_str(), "--logfile", &log][..], settings].concat();
        let server = keyward(directory.path(), &options);
        let told = fs::read_to_string(&log).expect("a log");
        match expected {
            None => assert!(!told.contains("persist"), "{told}"),
            Some(expected) => assert!(told.contains(expected), "{told}"),
        }
        server
    };
    let off = "keyspace jobs: persist = \"aof\" asks that every change outlives a restart, and \
               appendonly is off: ";
    let lost = format!("{off}changes since the last snapshot are lost");
    let nothing = format!("{off}nothing is kept (save is \"\" too)");
    check(JOBS, &["--appendonly", "no", "--save", "60 1"], Some(&lost));
    check(JOBS, &["--appendonly", "no", "--save", ""], Some(&nothing));
    check(&JOBS.replace("persist = \"aof\"\n", ""), &["--appendonly", "no", "--save", ""], None);
    let snapshots = JOBS.replace("\"aof\"", "\"rdb\"");
    check(&snapshots, &["--appendonly", "no", "--save", "60 1"], None);
    let unsaved = "keyspace jobs: persist = \"rdb\" asks that the last snapshot outlives a \
                   restart, and save is \"\": none is taken unless SAVE or BGSAVE asks for it";
    check(&snapshots, &["--appendonly", "yes", "--save", ""], Some(unsaved));
    // Turned off while it runs, the same is told.
    let server = check(JOBS, &["--appendonly", "yes", "--save", ""], None);
    let mut client = server.client();
    assert_eq!(call(&mut client, "CONFIG SET appendonly no"), Frame::Simple(b"OK".to_vec()));
    let log = || fs::read_to_string(place("log")).expect("a log");
    assert!(log().contains(&nothing), "{}", log());
    drop(server);
    // And when such a schema comes into force.
    let plain = JOBS.replace("persist = \"aof\"\n", "");
    let server = check(&plain, &["--appendonly", "no", "--save", ""], None);
    let mut client = server.client();
    let planned = client.call(["KEYWARD", "SCHEMA", "PLAN", JOBS]).expect("a reply");
    let Frame::Array(items) = &planned else { panic!("{planned:?}") };
    let applied = client.call(["KEYWARD", "SCHEMA", "APPLY", &text(&items[1])]).expect("a reply");
    assert!(matches!(applied, Frame::Array(_)), "{applied:?}");
    wait_until(|| log().contains(&nothing));
}

#[test]
fn the_log_says_when_protection_begins_after_config_set_appendonly() {
    let directory = tempfile::tempdir().expect("a directory");
    let log_file = directory.path().join("log");
    let options = ["--appendonly", "no", "--save", "", "--logfile", log_file.to_str().unwrap()];
    let server = keyward(directory.path(), &options);
    let mut client = server.client();
    let log = || fs::read_to_string(&log_file).expect("a log");
    call(&mut client, "SET k v");
    assert_eq!(call(&mut client, "CONFIG SET appendonly yes"), Frame::Simple(b"OK".to_vec()));
    wait_for_rewrite(&mut client);
    let begin = "appendonly is on: the append-only file is written for the first time; what \
                 changes is safe in it when that has ended (aof_rewrite_in_progress)";
    let end = "the append-only file is complete: from now on it holds every change";
    wait_until(|| log().contains(end));
    let told = log();
    let (began, ended) = (told.find(begin), told.find(end));
    assert!(began.is_some() && began < ended, "{told}");
    // A later rewrite is no such beginning.
    call(&mut client, "BGREWRITEAOF");
    wait_for_rewrite(&mut client);
    assert_eq!(log().matches(end).count(), 1, "{}", log());
}
