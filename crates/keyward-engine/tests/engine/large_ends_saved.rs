//! Large ends of a replica: its files have what is pending, so that who loads them, and leads from
//! there, shows nothing that is gone.

use crate::harness::TestEngine;
use crate::large_ends_model::{SCHEMA, ask, contradictions, loaded_under, members};
use keyward_engine::{
    ClientId, Coverage, DueRows, Effect, Loaded, Progress, SnapshotOptions, Tunables,
};
use keyward_resp::{Batch, RequestLimits, RequestParser, push_request};
use keyward_testkit::engine::request;
use std::io::Cursor;

const ID: &[u8] = b"0123456789abcdef0123456789abcdef01234567";
const OPTIONS: SnapshotOptions =
    SnapshotOptions { coverage: Coverage::Whole, sums: true, used_bytes: 0 };

/// A replica that has everything up to the beginning of the stream.
fn replica() -> (TestEngine, ClientId) {
    let mut test = TestEngine::governed(7, SCHEMA);
    test.engine.set_tunables(Tunables::default());
    test.engine.follow_from_start(&mut test.host, b"primary", 6379);
    test.engine.begin_copy(&mut test.host);
    test.govern(SCHEMA);
    let copied = test.engine.end_copy(&mut test.host, (ID, 0), 0, Loaded::default());
    copied.expect("it is an id");
    let primary = test.engine.connect_primary();
    (test, primary)
}

fn feed(test: &mut TestEngine, primary: ClientId, bytes: &[u8]) {
    let (mut buffer, mut batch, mut out) = (bytes.to_vec(), Batch::new(), Vec::new());
    let limits = RequestLimits { batch_commands_max: usize::MAX, ..RequestLimits::default() };
    RequestParser::new().parse(&mut buffer, &limits, &mut batch).expect("requests");
    let whole = 0..buffer.len();
    let progress = test.engine.follow(&mut test.host, primary, (&buffer, whole), &batch, &mut out);
    assert_eq!(progress, Progress::Done);
}

/// The stream of a primary that has begun ends of every kind, and has made anew some of what
/// ended.
fn stream() -> Vec<u8> {
    let mut primary = TestEngine::governed(1, SCHEMA);
    let client = primary.engine.connect();
    let mut commands = vec![
        format!("SADD user:1:followers {}", members(100, 150)),
        format!("SADD user:2:followers {}", members(100, 150)),
        "SET session:a x EX 100".to_owned(),
        "SET cart:a x EX 100".to_owned(),
        "SET cart:b x EX 100".to_owned(),
    ];
    for n in 0..150 {
        commands.push(format!("SET item:a:{n} x"));
        commands.push(format!("SET line:a:{n} x"));
        commands.push(format!("SET line:b:{n} x"));
    }
    commands.extend([
        "DEL user:1:followers".to_owned(),
        "SADD user:1:followers 100 101".to_owned(),
        "DEL cart:a".to_owned(),
        "SET cart:a x EX 100".to_owned(),
        "SET line:a:3 new".to_owned(),
        "EXPIRE session:a 50".to_owned(),
        "SPOP user:2:followers 100".to_owned(),
        "DEL cart:b".to_owned(),
    ]);
    for command in &commands {
        let reply = primary.call(client, command);
        assert!(!reply.starts_with('-'), "{command}: {reply}");
    }
    assert_eq!(primary.engine.keyspace().pending_ends(), 5);
    // As they are, those of a unit together.
    let mut stream = Vec::new();
    let mut push = |words: &[&[u8]]| push_request(&mut stream, words.iter());
    let effects = primary.effects();
    let mut rest = effects.as_slice();
    while let Some(first) = rest.first() {
        let is_same = |effect: &&Effect| effect.unit == first.unit;
        let (unit, others) = rest.split_at(rest.iter().take_while(is_same).count());
        push(&[b"MULTI"]);
        for effect in unit {
            push(&effect.command.args().iter().collect::<Vec<_>>());
        }
        push(&[b"EXEC"]);
        rest = others;
    }
    stream
}

/// What is there for whoever leads: all keys, and what all rows come to.
fn led(test: &mut TestEngine) -> [String; 4] {
    let client = test.engine.connect();
    test.call(client, "REPLICAOF NO ONE");
    while test.engine.has_pending_ends() {
        test.tick();
    }
    assert_eq!(contradictions(test, client), Vec::<String>::new());
    ["SCARD user:1:followers", "SCARD lines:a", "GET line:a:3", "DEBUG DIGEST"]
        .map(|command| test.call(client, command))
}

fn loaded(file: Vec<u8>) -> TestEngine {
    let mut test = TestEngine::governed(8, SCHEMA);
    test.engine.follow_from_start(&mut test.host, b"primary", 6379);
    test.engine.begin_loading();
    let opened = test.engine.open_snapshot(Cursor::new(file), Coverage::Whole, DueRows::Kept);
    let mut loader = opened.expect("it is a file");
    while test.engine.load_rows(&mut test.host, &mut loader, 100).expect("it is whole") {}
    let loaded = loader.loaded;
    test.engine.begin_settling(false);
    test.engine.end_loading(&mut test.host, loaded);
    test
}

#[test]
fn a_replica_amid_ends_writes_them_to_its_file() {
    let (mut test, primary) = replica();
    feed(&mut test, primary, &stream());
    assert_eq!(test.engine.keyspace().pending_ends(), 5);
    let file = test.engine.snapshot().write_to(Vec::new(), OPTIONS).expect("memory takes it");
    let mut other = loaded(file);
    assert_eq!(other.engine.keyspace().pending_ends(), 5);
    let expected = led(&mut test);
    assert_eq!(expected[..2], [":2\r\n", ":1\r\n"]);
    assert_eq!(led(&mut other), expected);
}

#[test]
fn a_snapshot_in_steps_has_the_ends_of_its_instant() {
    let (mut test, primary) = replica();
    let stream = stream();
    feed(&mut test, primary, &stream);
    let file = test.engine.snapshot().write_to(Vec::new(), OPTIONS).expect("memory takes it");
    let expected = led(&mut loaded(file));
    test.engine.begin_snapshot(OPTIONS);
    // The primary goes on meanwhile: companions go, and an end is over.
    let later: Vec<u8> = (10..40)
        .map(|n| format!("DEL line:a:{n}"))
        .chain(["EXISTS keyward:ends done 2".to_owned(), "FLUSHALL".to_owned()])
        .flat_map(|command| request(&command))
        .collect();
    feed(&mut test, primary, &later);
    let mut file = Vec::new();
    let mut ending = keyward_rdb::Ending::new(true);
    let mut compressor = keyward_rdb::Compressor::default();
    let mut is_beginning = true;
    loop {
        let is_over = test.engine.step_snapshot(&mut |part| {
            let part = match std::mem::take(&mut is_beginning) {
                true => part,
                false => compressor.part(&part).expect("it is a part"),
            };
            ending.add(&part);
            file.extend(part);
        });
        if is_over {
            break;
        }
    }
    file.extend(ending.end());
    assert_eq!(led(&mut loaded(file)), expected);
}

#[test]
fn the_log_of_a_replica_tells_of_ends() {
    let (mut test, primary) = replica();
    test.engine.log_changes(true);
    feed(&mut test, primary, &stream());
    let mut log = Vec::new();
    test.engine.take_log(&mut log);
    // What stands before the commands are annotations.
    let start = log.iter().position(|byte| *byte == b'*').expect("it has commands");
    let mut other = loaded_under(SCHEMA, &log[start..], usize::MAX, test.now_ms);
    assert_eq!(led(&mut other), led(&mut test));
}

/// An engine that goes on after a crash.
fn goes_on(log: &[u8], now_ms: i64) -> (TestEngine, ClientId) {
    let mut test = loaded_under(SCHEMA, log, usize::MAX, now_ms);
    let client = test.engine.connect();
    (test, client)
}

fn take_log(test: &mut TestEngine, log: &mut Vec<u8>) {
    let mut more = Vec::new();
    test.engine.take_log(&mut more);
    // What stands before the commands are annotations.
    let start = more.iter().position(|byte| *byte == b'*').unwrap_or(more.len());
    log.extend(&more[start..]);
}

#[test]
fn what_went_while_a_log_was_loaded_stays_gone_after_another_crash() {
    let lives = ["SET cart:a x EX 100", "SET cart:a y EX 900"];
    for (end, passed_ms) in [("EXPIRE cart:a 5", 10_000), ("DEL cart:a", 0), ("none", 200_000)] {
        for again in lives {
            let mut test = TestEngine::governed(1, SCHEMA);
            test.engine.log_changes(true);
            let client = test.engine.connect();
            test.call(client, "SET cart:a x EX 100");
            for n in 0..150 {
                test.call(client, &format!("SET line:a:{n} x"));
            }
            test.call(client, end);
            let mut log = Vec::new();
            take_log(&mut test, &mut log);
            let now_ms = test.now_ms + passed_ms;
            let (mut second, client) = goes_on(&log, now_ms);
            assert_eq!(ask(&mut second, client, again), "+OK\r\n");
            assert_eq!(ask(&mut second, client, "SET line:a:3 new"), "+OK\r\n");
            assert_eq!(ask(&mut second, client, "SCARD lines:a"), ":1\r\n", "{end}, {again}");
            take_log(&mut second, &mut log);
            let (mut third, client) = goes_on(&log, now_ms);
            assert_eq!(ask(&mut third, client, "SCARD lines:a"), ":1\r\n", "{end}, {again}");
            assert_eq!(ask(&mut third, client, "EXISTS line:a:7"), ":0\r\n", "{end}, {again}");
        }
    }
}
