//! Random commands on the module and on the engine, replies and rows compared after each.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use keyward_resp::{Frame, FrameLimits, FrameParser};
use keyward_testkit::Random;
use keyward_testkit::engine::TestEngine;

use crate::served::{Served, shown};

const COMMANDS: usize = 300;
const SEEDS: u64 = 2;

/// The variable that has each seed run more commands.
const MORE: &str = "KEYWARD_MODULE_COMMANDS";

#[test]
fn replies_and_rows_are_those_of_the_engine_after_every_command() {
    let more = std::env::var(MORE).ok().and_then(|count| count.parse().ok());
    let commands = more.unwrap_or(COMMANDS);
    for seed in 1..=SEEDS {
        let mut served = Served::start(&[]);
        let mut engine = TestEngine::governed(seed, crate::SCHEMA);
        let client = engine.engine.connect();
        let mut random = Random::new(seed);
        let (mut done, mut refused) = (0, 0);
        for step in 0..commands {
            engine.set_time(now_ms());
            let command = command(&mut random);
            let told = || format!("seed {seed}, step {step}: {command}");
            let own = without_place(served.call(&command));
            let words: Vec<&str> = command.split(' ').collect();
            let (_, bytes) = engine.ask(client, &words);
            let expected = without_place(shown(&parsed(&bytes)));
            assert_eq!(own, expected, "{}", told());
            if own.starts_with("-SCHEMA") {
                refused += 1
            } else {
                done += 1
            }
            let mut by_module = |words: &[&str]| {
                served.client.call(words).unwrap_or_else(|error| panic!("{error}"))
            };
            let rows = all_rows(&mut by_module);
            let mut by_engine = |words: &[&str]| parsed(&engine.ask(client, words).1);
            assert_rows(&rows, &all_rows(&mut by_engine), &told());
        }
        assert!(done > commands / 4 && refused > commands / 10, "{done} done, {refused} refused");
    }
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    i64::try_from(since.as_millis()).expect("a time")
}

fn parsed(bytes: &[u8]) -> Frame {
    let frame = FrameParser::new(FrameLimits::default()).next(bytes).ok().flatten();
    frame.unwrap_or_else(|| panic!("{}", bytes.escape_ascii()))
}

fn without_place(reply: String) -> String {
    match reply.rsplit_once(" (") {
        Some((words, _)) if reply.starts_with("-SCHEMA") => words.to_owned(),
        _ => reply,
    }
}

/// What a row holds, and how long it lives.
type Rows = BTreeMap<String, (Vec<String>, i64)>;

fn all_rows(call: &mut dyn FnMut(&[&str]) -> Frame) -> Rows {
    let texts = |frame: &Frame| -> Vec<String> {
        match frame {
            Frame::Array(all) => all.iter().map(shown).collect(),
            other => vec![shown(other)],
        }
    };
    let keys = texts(&call(&["KEYS", "*"]));
    let mut rows = Rows::new();
    for key in keys {
        let kind = shown(&call(&["TYPE", &key]));
        let mut content = match &*kind {
            "string" => texts(&call(&["GET", &key])),
            "list" => texts(&call(&["LRANGE", &key, "0", "-1"])),
            "set" => texts(&call(&["SMEMBERS", &key])),
            "zset" => texts(&call(&["ZRANGE", &key, "0", "-1", "WITHSCORES"])),
            "hash" => {
                let all = texts(&call(&["HGETALL", &key]));
                all.chunks(2).map(|pair| pair.join("=")).collect()
            }
            other => panic!("{key} is a {other}"),
        };
        if matches!(&*kind, "set" | "hash") {
            content.sort();
        }
        let Frame::Integer(ttl) = call(&["PTTL", &key]) else { panic!("PTTL of {key}") };
        rows.insert(key, (content, ttl));
    }
    rows
}

/// The same rows; what ends does so at about the same time.
#[track_caller]
fn assert_rows(own: &Rows, expected: &Rows, told: &str) {
    let contents = |rows: &Rows| -> Vec<(String, Vec<String>)> {
        rows.iter().map(|(key, (content, _))| (key.clone(), content.clone())).collect()
    };
    assert_eq!(contents(own), contents(expected), "{told}");
    for (key, (_, ttl)) in own {
        let other = expected[key].1;
        let is_same = (*ttl < 0) == (other < 0) && (ttl - other).abs() < 5000;
        assert!(is_same, "{told}: {key} lives {ttl} ms, and {other} ms in the engine");
    }
}

fn few(random: &mut Random) -> usize {
    random.below(4)
}

fn command(random: &mut Random) -> String {
    let (a, b, c) = (few(random), few(random), few(random));
    let (one, other) = (*random.pick(&["out", "in"]), *random.pick(&["out", "in"]));
    match random.below(30) {
        0..=2 => {
            let (status, plan) =
                (random.pick(&["active", "closed"]), random.pick(&["gold", "free"]));
            format!("HSET user:{a} status {status} plan {plan} email m{b}")
        }
        3 => format!("HSET user:{a} seen {}", random.below(9)),
        4 => format!("HSET user:{a} status {}", random.pick(&["active", "closed", "lost"])),
        5 => format!("HDEL user:{a} {}", random.pick(&["email", "seen", "plan", "email seen"])),
        6 => format!("HINCRBY user:{a} seen {}", random.below(5) as i64 - 2),
        7 => format!("SET user:{a}:note hi{b}"),
        8 => format!("SET code:{a} c{b}"),
        9 => format!("MSET code:{a} c{b} code:{b} c{c}"),
        10 => format!("APPEND code:{a} x"),
        11 => format!("SADD user:{a}:{one} {b} {c}"),
        12 => format!("SREM user:{a}:{one} {b}"),
        13 => format!("SMOVE user:{a}:{one} user:{b}:{other} {c}"),
        14 => format!("SUNIONSTORE user:{a}:{one} user:{b}:{other} user:{c}:{one}"),
        15 => format!("SET msg:{}:{a} hello", random.below(2)),
        16 => format!("ZADD recent:{} {} {a}", random.below(2), random.below(50)),
        17 => format!("{} log:{a} x{b} y", random.pick(&["LPUSH", "RPUSH"])),
        18 => random
            .pick(&["LPOP KEY", "RPOP KEY 2", "LTRIM KEY 0 1"])
            .replace("KEY", &format!("log:{a}")),
        19 => format!("LMOVE log:{a} log:{b} LEFT {}", random.pick(&["LEFT", "RIGHT"])),
        20 => format!("INCRBYFLOAT price:{a} 0.{b}{c}"),
        21 => format!("{} count:{a}", random.pick(&["INCR", "DECR"])),
        22 => format!("SET doc:{a} {{\"kind\":\"{}\"}}", random.pick(&["text", "image", "none"])),
        23 => format!(
            "SET token:{a} v{b} {}",
            random.pick(&["NX", "XX", "EX 30", "EX 9999", "KEEPTTL", "GET"])
        ),
        24 => format!("LINSERT log:{a} BEFORE y z{b}"),
        _ => any_key_command(random),
    }
}

fn any_key_command(random: &mut Random) -> String {
    let (key, other) = (any_key(random), any_key(random));
    match random.below(8) {
        0 => format!("DEL {key}"),
        1 => format!("UNLINK {key} {other}"),
        2 | 3 => format!("RENAME {key} {other}"),
        4 => format!("COPY {key} {other} REPLACE"),
        5 => format!("PEXPIRE {key} {}", 20_000 + random.below(9000)),
        6 => format!("PERSIST {key}"),
        _ => format!("PEXPIRE {key} 100000000"),
    }
}

fn any_key(random: &mut Random) -> String {
    let (a, b) = (random.below(3), few(random));
    let pattern = random.pick(&[
        "user:A",
        "user:A",
        "code:A",
        "doc:A",
        "user:A:note",
        "user:A:out",
        "user:A:in",
        "msg:A:B",
        "recent:A",
        "log:A",
        "active:gold",
        "seen",
        "owner:cA",
        "by_email:mA",
        "token:A",
        "price:A",
        "count:A",
        "stranger",
    ]);
    pattern.replace('A', &a.to_string()).replace('B', &b.to_string())
}
