//! What replicas and the append-only file get: plain commands.

use std::path::Path;

use keyward_testkit::{Client, Server, wait_until};

use crate::served::{Served, told, valkey};

/// Writes of every kind, some of which are refused.
fn write(served: &mut Served) {
    for command in [
        "HSET user:1 status active plan gold email a seen 5",
        "HSET user:2 status active plan gold email a",
        "HSET user:2 status active plan free email b",
        "SET user:2:note hi",
        "RENAME user:1 user:3",
        "MSET code:1 a code:2 b",
        "MSET code:3 c code:2 a",
        "SADD user:1:out 2 3 4 5",
        "SADD user:1:out 6",
        "RPUSH log:1 a b c d",
        "INCRBYFLOAT price:1 0.1",
        "INCR count:1",
        "SET token:1 a",
        "SPOP user:1:out",
        "SET doc:1 {\"kind\":\"text\"}",
        "SET msg:1:1 x",
        "ZADD recent:1 1 1",
        "HSET user:4 status active plan gold email d",
        "PEXPIRE user:4 20",
    ] {
        served.call(command);
    }
    // Many that end at about the same time, some by a look at them.
    for id in 100..140 {
        served.call(&format!("HSET user:{id} status active plan gold email m{id} seen {id}"));
        served.call(&format!("SET user:{id}:note hi"));
        served.call(&format!("PEXPIRE user:{id} {}", 10 + id % 7));
        served.call(&format!("HGET user:{} plan", id - 3));
    }
    wait_until(|| served.call("EXISTS user:4 by_email:d") == "0");
    wait_until(|| served.call("ZCARD seen") == "1");
    served.check(&[("SCARD active:gold", "1"), ("EXISTS by_email:m120 user:120:note", "0")]);
}

fn digest(client: &mut Client) -> String {
    told(client, "DEBUG DIGEST")
}

#[test]
fn a_replica_without_the_module_has_everything() {
    let mut served = Served::start(&[]);
    let port = served.server.address().port().to_string();
    let options = ["--save", "", "--enable-debug-command", "yes"];
    let replica = Server::start(&valkey(), &options).unwrap_or_else(|error| panic!("{error}"));
    let mut replica = replica_of(replica, &port);
    write(&mut served);
    same_soon(&mut served, &mut replica.1);
}

#[test]
fn a_replica_with_the_module_judges_nothing_until_it_is_promoted() {
    let mut served = Served::start(&[]);
    let port = served.server.address().port().to_string();
    let mut replica = Served::start(&[]);
    replica.check(&[(&format!("REPLICAOF 127.0.0.1 {port}"), "OK")]);
    wait_until(|| replica.call("INFO replication").contains("master_link_status:up"));
    write(&mut served);
    same_soon(&mut served, &mut replica.client);
    replica.check(&[
        ("REPLICAOF NO ONE", "OK"),
        ("SET stranger 1", "-SCHEMA stranger: matches no pattern of shop (shop.toml)"),
        ("HSET user:9 status active plan gold email z", "3"),
        ("GET by_email:z", "9"),
        ("PEXPIRE user:9 10", "1"),
    ]);
    wait_until(|| replica.call("EXISTS user:9 by_email:z") == "0");
}

fn replica_of(server: Server, port: &str) -> (Server, Client) {
    let mut client = server.client();
    assert_eq!(told(&mut client, &format!("REPLICAOF 127.0.0.1 {port}")), "OK");
    wait_until(|| told(&mut client, "INFO replication").contains("master_link_status:up"));
    (server, client)
}

#[track_caller]
fn same_soon(served: &mut Served, copy: &mut Client) {
    let own = digest(&mut served.client);
    wait_until(|| digest(copy) == own);
    assert!(served.call("DBSIZE").parse::<usize>().is_ok_and(|count| count > 10));
}

#[test]
fn the_append_only_file_loads_without_the_module_and_has_plain_commands_in_units() {
    let mut served = Served::start(&["--appendonly", "yes", "--appendfsync", "always"]);
    write(&mut served);
    let own = digest(&mut served.client);
    let directory = served.server.directory().join("appendonlydir");
    let text = aof_text(&directory);
    assert!(!text.to_lowercase().contains("keyward"), "{text}");
    // What followed from the end of a row is in one unit with it.
    let ends = |unit: &&str| unit.contains("UNLINK user:4 ") || unit.contains("DEL user:4 ");
    let unit = text.split("MULTI").find(ends);
    let unit = unit.unwrap_or_else(|| panic!("{text}"));
    let (unit, _) = unit.split_once("EXEC").expect("it ends");
    assert!(unit.contains("DEL by_email:d") && unit.contains("SREM active:gold 4"), "{unit}");
    let copy = tempfile::tempdir().expect("a directory");
    copy_directory(&directory, &copy.path().join("appendonlydir"));
    let plain = copy.path().display().to_string();
    let options = ["--save", "", "--enable-debug-command", "yes", "--appendonly", "yes"];
    let options = [&options[..], &["--dir", &plain]].concat();
    let server = Server::start(&valkey(), &options).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(digest(&mut server.client()), own);
    // And with it, after being written anew.
    served.check(&[("DEBUG LOADAOF", "OK")]);
    assert_eq!(digest(&mut served.client), own);
}

/// The commands of the file, words between spaces.
fn aof_text(directory: &Path) -> String {
    let mut text = String::new();
    for entry in std::fs::read_dir(directory).expect("the directory is there").flatten() {
        if entry.path().extension().is_some_and(|extension| extension == "aof") {
            let bytes = std::fs::read(entry.path()).expect("it is read");
            let words = String::from_utf8_lossy(&bytes).into_owned();
            let is_word = |line: &&str| !line.starts_with(['*', '$']);
            text.extend(words.lines().filter(is_word).flat_map(|line| [line, " "]));
        }
    }
    text
}

fn copy_directory(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a directory");
    for entry in std::fs::read_dir(from).expect("the directory is there").flatten() {
        std::fs::copy(entry.path(), to.join(entry.file_name())).expect("a file is copied");
    }
}
