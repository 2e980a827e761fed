//! What the server says of its memory agrees with what the kernel sees.

use keyward_resp::Frame;
use keyward_testkit::{Client, Server, wait_for, wait_until};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long something that must happen may take.
const PATIENCE: Duration = Duration::from_secs(60);
const ROWS: usize = 60_000;
const BATCH: usize = 1_000;

fn serve(options: &[&str]) -> Server {
    Server::keyward(Path::new(env!("CARGO_BIN_EXE_keyward")), options)
}

/// A field of INFO.
fn field(client: &mut Client, name: &str) -> i64 {
    let Frame::Bulk(text) = client.call(["INFO"]).expect("an answer") else {
        panic!("INFO is text");
    };
    let text = String::from_utf8(text).expect("INFO is text");
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    value.expect("the field is there").parse().expect("a number")
}

/// Bytes in use and bytes resident.
fn memory(client: &mut Client) -> (i64, i64) {
    client.call(["MEMORY", "PURGE"]).expect("an answer");
    (field(client, "used_memory"), field(client, "used_memory_rss"))
}

/// Sends many commands at once.
fn pipeline(client: &mut Client, commands: impl Iterator<Item = Vec<String>>) {
    let commands: Vec<Vec<String>> = commands.collect();
    for batch in commands.chunks(BATCH) {
        let mut bytes = Vec::new();
        batch.iter().for_each(|words| keyward_resp::push_request(&mut bytes, words.iter()));
        client.send(&bytes).expect("the server reads");
        for command in batch {
            let reply = client.receive().expect("an answer");
            assert!(!matches!(reply, Frame::Error(_)), "{command:?}: {reply:?}");
        }
    }
}

fn check_agree(client: &mut Client, before: (i64, i64), when: &str) {
    let (used, resident) = memory(client);
    let (used, resident) = (used - before.0, resident - before.1);
    let difference = (used - resident).abs();
    assert!(difference * 10 <= used, "{when}: {used} bytes used, {resident} resident");
}

#[test]
fn used_memory_agrees_with_resident_memory_under_load_and_after_deletes() {
    let server = serve(&[]);
    let mut client = server.client();
    let before = memory(&mut client);
    let value = |number: usize| "v".repeat(200 + number * 7919 % 1500);
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    pipeline(&mut client, (0..ROWS).map(|at| words(&["SET", &format!("row:{at}"), &value(at)])));
    check_agree(&mut client, before, "strings");
    pipeline(
        &mut client,
        (0..ROWS).map(|at| {
            let field = format!("field {at}");
            words(&["HSET", &format!("hash:{}", at / 1000), &field, &value(at / 4)])
        }),
    );
    check_agree(&mut client, before, "strings and hashes");
    pipeline(&mut client, (0..ROWS / 2).map(|at| words(&["DEL", &format!("row:{at}")])));
    check_agree(&mut client, before, "half of the strings deleted");
    let usage = field(&mut client, "used_memory_dataset");
    let used = field(&mut client, "used_memory") - before.0;
    assert!((used - usage).abs() * 10 <= used, "{usage} bytes of data in {used}");
}

#[test]
fn what_keys_take_adds_up_to_what_is_in_use() {
    let server = serve(&[]);
    let mut client = server.client();
    let before = memory(&mut client).0;
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    pipeline(
        &mut client,
        (0..50_000).map(|at| match at % 5 {
            0 => words(&["SET", &format!("text:{at}"), &"v".repeat(at % 300), "EX", "1000"]),
            1 => words(&["RPUSH", "list", &format!("element {at}")]),
            2 => words(&["SADD", &format!("set:{}", at % 7), &format!("member {at}")]),
            3 => words(&["HSET", &format!("hash:{}", at % 1000), &format!("f{at}"), "value"]),
            _ => words(&["ZADD", "zset", &at.to_string(), &format!("member {at}")]),
        }),
    );
    let used = memory(&mut client).0 - before;
    let Frame::Array(keys) = client.call(["KEYS", "*"]).expect("an answer") else {
        panic!("KEYS is an array");
    };
    let mut sum = 0;
    for key in keys {
        let Frame::Bulk(key) = key else { panic!("a key is text") };
        let usage = client.call([b"MEMORY".as_slice(), b"USAGE", &key[..], b"SAMPLES", b"0"]);
        let Frame::Integer(bytes) = usage.expect("an answer") else { panic!("a number") };
        sum += bytes;
    }
    assert!((used - sum).abs() * 10 <= used, "{used} bytes used, {sum} by keys");
}

#[test]
fn the_bytes_of_patterns_add_up_to_what_is_in_use() {
    let directory = tempfile::tempdir().expect("a directory");
    let schema = directory.path().join("keyward.toml");
    let patterns = [("text", "string"), ("list", "list"), ("hash", "hash"), ("zset", "zset")];
    let keys = patterns.map(|(name, kind)| format!("[key.\"{name}:{{id}}\"]\ntype = \"{kind}\"\n"));
    let text = format!("[keyspace]\nname = \"shelf\"\n{}", keys.concat());
    std::fs::write(&schema, text).expect("the directory can be written to");
    let server = serve(&[schema.to_str().expect("a path of text")]);
    let mut client = server.client();
    let before = memory(&mut client).0;
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    pipeline(
        &mut client,
        (0..80_000).map(|at| match at % 4 {
            0 => words(&["SET", &format!("text:{at}"), &"v".repeat(at % 300)]),
            1 => words(&["RPUSH", &format!("list:{}", at % 3), &format!("element {at}")]),
            2 => words(&["HSET", &format!("hash:{}", at % 1000), &format!("f{at}"), "value"]),
            _ => words(&["ZADD", "zset:1", &at.to_string(), &format!("member {at}")]),
        }),
    );
    let used = memory(&mut client).0 - before;
    let Frame::Array(tables) = client.call(["KEYWARD", "STATS"]).expect("an answer") else {
        panic!("STATS is an array");
    };
    let bytes = |table: &Frame| {
        let Frame::Array(figures) = table else { panic!("a table is a map: {table:?}") };
        let at = figures.iter().position(|figure| *figure == Frame::Bulk(b"bytes".to_vec()));
        let Frame::Integer(bytes) = figures[at.expect("a figure") + 1] else { panic!("a number") };
        bytes
    };
    let sum: i64 = tables.iter().map(bytes).sum();
    assert!((used - sum).abs() * 10 <= used, "{used} bytes used, {sum} by patterns");
}

#[test]
fn memory_stays_within_its_limit() {
    let server = serve(&["--maxmemory", "20mb", "--maxmemory-policy", "allkeys-lru"]);
    let mut client = server.client();
    let command =
        |at: usize| vec!["SET".to_owned(), format!("row:{at}"), "v".repeat(at * 7919 % 2000)];
    pipeline(&mut client, (0..ROWS).map(command));
    let used = field(&mut client, "used_memory");
    assert!(used < 21 << 20, "{used} bytes used");
    let last = client.call(["EXISTS", &format!("row:{}", ROWS - 1)]).expect("an answer");
    assert_eq!(last, Frame::Integer(1));
}

/// A setting.
fn set(client: &mut Client, name: &str, value: &str) {
    let reply = client.call(["CONFIG", "SET", name, value]).expect("an answer");
    assert_eq!(reply, Frame::Simple(b"OK".to_vec()), "{name} {value}");
}

/// Limits memory to what is in use and so much more, or less.
fn limit_to(client: &mut Client, more: i64) {
    // The first INFO takes memory for itself.
    field(client, "used_memory");
    let limit = field(client, "used_memory") + more;
    set(client, "maxmemory", &limit.to_string());
}

#[test]
fn a_small_row_near_the_limit_evicts_none() {
    // Otherwise each command takes memory for its latencies when it is first called.
    let quiet = ["--appendonly", "no", "--latency-tracking", "no"];
    let policy = ["--maxmemory-policy", "allkeys-random"];
    let server = serve(&[quiet.as_slice(), &policy].concat());
    let mut client = server.client();
    let row = |at: usize| vec!["SET".to_owned(), format!("row:{at}"), "x".to_owned()];
    pipeline(&mut client, (0..4096).map(row));
    limit_to(&mut client, 10 << 10);
    // The index grows for them.
    pipeline(&mut client, (4096..4100).map(row));
    assert_eq!(field(&mut client, "evicted_keys"), 0);
}

#[test]
fn what_trackers_are_told_of_evictions_evicts_no_more() {
    const ROWS: usize = 300;
    for (log, mode) in [("no", None), ("yes", None), ("no", Some("BCAST"))] {
        let policy = ["--maxmemory-policy", "allkeys-lru", "--maxmemory-eviction-tenacity", "100"];
        let server = serve(
            &[&["--latency-tracking", "no", "--appendonly", log], policy.as_slice()].concat(),
        );
        let mut client = server.client();
        let mut trackers: Vec<Client> = (0..10).map(|_| server.client()).collect();
        let key = |at: usize| format!("{at:0>1000}");
        for at in 0..ROWS {
            client.call(["SET", &key(at), "x"]).expect("an answer");
        }
        for tracker in &mut trackers {
            tracker.call(["HELLO", "3"]).expect("an answer");
            let words: Vec<&str> = ["CLIENT", "TRACKING", "ON"].into_iter().chain(mode).collect();
            tracker.call(words).expect("an answer");
            for at in 0..ROWS {
                tracker.call(["GET", &key(at)]).expect("an answer");
            }
        }
        limit_to(&mut client, -40_000);
        for _ in 0..20 {
            client.call(["PING"]).expect("an answer");
        }
        let evicted = field(&mut client, "evicted_keys");
        // Redis evicts 36 in the first case, and 82 in the last.
        assert!((10..=100).contains(&evicted), "log {log}, {mode:?}: {evicted} rows evicted");
    }
}

#[test]
fn what_trackers_were_told_leaves_no_room_above_the_limit() {
    let server = serve(&["--appendonly", "no", "--maxmemory-policy", "allkeys-lru"]);
    let mut client = server.client();
    let keys: Vec<String> = (0..20_000).map(|at| format!("key:{at}")).collect();
    let value = "x".repeat(100);
    pipeline(
        &mut client,
        keys.iter().map(|key| vec!["SET".to_owned(), key.clone(), value.clone()]),
    );
    let mut trackers: Vec<Client> = (0..5).map(|_| server.client()).collect();
    for tracker in &mut trackers {
        tracker.call(["HELLO", "3"]).expect("an answer");
        tracker.call(["CLIENT", "TRACKING", "ON"]).expect("an answer");
        for some in keys.chunks(1000) {
            let words: Vec<&str> =
                ["MGET"].into_iter().chain(some.iter().map(|key| &**key)).collect();
            tracker.call(words).expect("an answer");
        }
    }
    set(&mut client, "maxmemory-eviction-tenacity", "100");
    limit_to(&mut client, -1_000_000);
    for _ in 0..20 {
        client.call(["PING"]).expect("an answer");
    }
    assert!(field(&mut client, "evicted_keys") > 100);
    let over = field(&mut client, "used_memory") - field(&mut client, "maxmemory");
    assert!(over < 10_000, "{over} bytes above the limit");
}

#[test]
fn clients_that_take_too_much_go_before_any_row() {
    let server = serve(&["--appendonly", "no", "--maxmemory-policy", "allkeys-lru"]);
    let mut client = server.client();
    client.call(["CLIENT", "NO-EVICT", "ON"]).expect("an answer");
    let value = "x".repeat(100_000);
    let row = |at: usize| vec!["SET".to_owned(), format!("row:{at}"), value.clone()];
    pipeline(&mut client, (0..50).map(row));
    set(&mut client, "maxmemory-clients", "3mb");
    limit_to(&mut client, 4 << 20);
    let mut readers: Vec<Client> = (0..20).map(|_| server.client()).collect();
    let end = Instant::now() + PATIENCE;
    while field(&mut client, "evicted_clients") == 0 {
        assert!(Instant::now() < end, "clients are disconnected within {PATIENCE:?}");
        for reader in &mut readers {
            let mut bytes = Vec::new();
            keyward_resp::push_request(&mut bytes, ["MGET", "row:1"].iter());
            // One that was disconnected cannot send.
            let _ = reader.send(&bytes.repeat(5));
        }
    }
    assert_eq!(field(&mut client, "evicted_keys"), 0);
    assert_eq!(client.call(["DBSIZE"]).expect("an answer"), Frame::Integer(50));
}

#[test]
fn nothing_is_evicted_because_of_what_is_being_saved() {
    // A batch of commands, and what the server does not see of its own threads.
    const ROOM: i64 = 6 << 20;
    let server = serve(&["--appendonly", "yes", "--maxmemory-policy", "allkeys-lru"]);
    let mut client = server.client();
    let command = |value: &'static str| {
        move |at| vec!["SET".to_owned(), format!("row:{at}"), value.repeat(1000)]
    };
    pipeline(&mut client, (0..ROWS).map(command("v")));
    let limit = field(&mut client, "used_memory") + ROOM;
    client.call(["CONFIG", "SET", "maxmemory", &limit.to_string()]).expect("an answer");
    client.call(["BGREWRITEAOF"]).expect("an answer");
    // What changes while it is written is captured first.
    pipeline(&mut client, (0..ROWS).rev().map(command("w")));
    wait_until(|| field(&mut client, "aof_rewrite_in_progress") == 0);
    let most = field(&mut client, "aof_last_cow_size");
    assert!(most > ROOM, "{most} bytes were on their way at most");
    assert_eq!(field(&mut client, "evicted_keys"), 0, "{most} bytes were on their way");
}

#[test]
fn the_room_for_the_arguments_of_a_large_command_is_given_back() {
    let server = serve(&[]);
    let mut client = server.client();
    let before = field(&mut client, "used_memory");
    let keys = (0..100_000).map(|at| format!("key {at}"));
    pipeline(&mut client, std::iter::once(["EXISTS".to_owned()].into_iter().chain(keys).collect()));
    wait_for(|| {
        let kept = field(&mut client, "used_memory") - before;
        if kept < 400_000 { Ok(()) } else { Err(format!("{kept} bytes are kept")) }
    });
}

#[test]
fn a_large_value_is_unlinked_without_a_pause() {
    let server = serve(&[]);
    let mut client = server.client();
    pipeline(
        &mut client,
        (0..100).map(|batch| {
            let members = (0..1000).map(|at| format!("member {batch} {at}"));
            ["SADD".to_owned(), "set".to_owned()].into_iter().chain(members).collect()
        }),
    );
    let usage = client.call(["MEMORY", "USAGE", "set", "SAMPLES", "0"]).expect("an answer");
    let Frame::Integer(taken) = usage else { panic!("a number") };
    let full = field(&mut client, "used_memory");
    assert_eq!(client.call(["UNLINK", "set"]).expect("an answer"), Frame::Integer(1));
    wait_until(|| field(&mut client, "lazyfree_pending_objects") == 0);
    assert_eq!(field(&mut client, "lazyfreed_objects"), 1);
    let freed = full - field(&mut client, "used_memory");
    // The server may have taken some for itself meanwhile.
    assert!(freed * 4 > taken * 3, "{freed} bytes freed of {taken}");
}
