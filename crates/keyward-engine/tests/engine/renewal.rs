//! Renewal by reads: who lives with a row that is renewed follows it, and what the log makes of
//! it elsewhere lives no shorter.

use crate::forkless::Taken;
use crate::harness::{START_MS, TestEngine};
use keyward_engine::{ClientId, Coverage, SnapshotOptions};

const SCHEMA: &str = r#"
[keyspace]
name = "sessions"
unknown = "allow"

[key."session:{id:uint}"]
type = "string"
ttl = { after = "16s", renew = "access" }

[key."cart:{session:uint}:{n:uint}"]
type = "string"
ttl = { with = "session:{session}" }

[key."gift:{session:uint}:{n:uint}"]
type = "hash"
ttl = { with = "cart:{session}:{n}" }
"#;

/// An engine and a client of it.
struct Desk {
    test: TestEngine,
    client: ClientId,
}

impl Desk {
    fn new() -> Desk {
        let mut test = TestEngine::governed(1, SCHEMA);
        let client = test.engine.connect();
        Desk { test, client }
    }

    fn check(&mut self, dialogue: &[(&str, &str)]) {
        for (command, expected) in dialogue {
            let reply = self.test.call(self.client, command).replace("\r\n", " ");
            assert_eq!(reply.trim_end(), *expected, "{command} at {}", self.test.now_ms);
        }
    }

    fn at(&mut self, ms: i64) {
        self.test.set_time(START_MS + ms);
    }

    fn left_ms(&mut self, key: &str) -> i64 {
        let reply = self.test.call(self.client, &format!("PTTL {key}"));
        reply.trim()[1..].parse().expect("PTTL answers a number")
    }
}

/// What the log so far makes of an empty plain engine.
fn replayed(desk: &mut Desk, log: &mut Vec<Vec<Vec<u8>>>) -> (TestEngine, ClientId) {
    for effect in desk.test.effects() {
        log.push(vec![b"SELECT".to_vec(), effect.db.to_string().into_bytes()]);
        log.push(effect.command.args().iter().map(<[u8]>::to_vec).collect());
    }
    let mut copy = TestEngine::new(2);
    let client = copy.engine.connect();
    for command in log.iter() {
        copy.ask(client, command);
    }
    copy.ask(client, &["SELECT", "0"]);
    copy.set_time(desk.test.now_ms);
    (copy, client)
}

#[test]
fn reading_a_leader_renews_who_lives_with_it() {
    let mut desk = Desk::new();
    desk.check(&[
        ("SET session:1 x", "+OK"),
        ("SET cart:1:1 x", "+OK"),
        ("HSET gift:1:1 a b", ":1"),
    ]);
    // Reads that are far apart, and some that follow each other closely.
    let mut now = 0;
    for step in [3_000, 15_000, 10, 400, 900, 15_999, 1, 16_000] {
        now += step;
        desk.at(now);
        desk.check(&[("GET session:1", "$1 x")]);
        for key in ["session:1", "cart:1:1", "gift:1:1"] {
            assert_eq!(desk.left_ms(key), 16_000, "{key} at {now}");
        }
        desk.test.tick();
        desk.check(&[("EXISTS cart:1:1 gift:1:1", ":2")]);
    }
    desk.at(now + 16_000);
    desk.check(&[("EXISTS cart:1:1 gift:1:1", ":2")]);
    desk.at(now + 16_001);
    desk.check(&[("EXISTS cart:1:1 gift:1:1 session:1", ":0")]);
}

#[test]
fn a_renewal_breaks_no_watch_of_a_companion_and_notifies_nobody() {
    let mut desk = Desk::new();
    desk.check(&[("SET session:1 x", "+OK"), ("SET cart:1:1 x", "+OK")]);
    let other = desk.test.engine.connect();
    desk.at(10_000);
    assert_eq!(desk.test.call(other, "WATCH cart:1:1"), "+OK\r\n");
    desk.check(&[("GET session:1", "$1 x")]);
    assert_eq!(desk.test.call(other, "MULTI"), "+OK\r\n");
    assert_eq!(desk.test.call(other, "PING"), "+QUEUED\r\n");
    assert_eq!(desk.test.call(other, "EXEC"), "*1\r\n+PONG\r\n");
}

#[test]
fn many_companions_follow_a_read_in_steps() {
    let mut desk = Desk::new();
    desk.check(&[("SET session:1 x", "+OK")]);
    for n in 0..1_000 {
        desk.check(&[(&format!("SET cart:1:{n} x"), "+OK")]);
    }
    for read in 1..5 {
        desk.at(read * 15_000);
        desk.check(&[("GET session:1", "$1 x")]);
        assert_eq!(desk.left_ms("cart:1:999"), 16_000);
        desk.test.tick();
        desk.check(&[("EXISTS cart:1:0 cart:1:500 cart:1:998", ":3")]);
    }
    desk.at(4 * 15_000 + 16_001);
    desk.check(&[("EXISTS cart:1:0 cart:1:500 cart:1:998", ":0")]);
    while desk.test.engine.has_pending_ends() {
        desk.test.tick();
    }
    desk.check(&[("DBSIZE", ":0")]);
}

#[test]
fn a_companion_that_a_failed_script_wrote_lives_as_long_as_its_leader() {
    let mut desk = Desk::new();
    desk.check(&[("SET session:1 x", "+OK"), ("SET cart:1:1 x", "+OK")]);
    desk.at(12_000);
    let script = "redis.call('set','cart:1:1','y')redis.call('get','session:1')error('no')";
    let failed = desk.test.ask(desk.client, &["EVAL", script, "0"]).1;
    assert!(failed.starts_with(b"-"), "{}", failed.escape_ascii());
    desk.check(&[("GET cart:1:1", "$1 x"), ("PTTL session:1", ":16000")]);
    desk.at(20_000);
    desk.test.tick();
    desk.check(&[("PTTL cart:1:1", ":8000"), ("GET cart:1:1", "$1 x")]);
}

#[test]
fn the_log_of_a_renewed_row_lives_no_shorter_and_hardly_longer() {
    let mut desk = Desk::new();
    let mut log = Vec::new();
    desk.check(&[("SET session:1 x", "+OK"), ("SET cart:1:1 x", "+OK")]);
    let mut now = 0;
    for step in [1, 7, 300, 600, 99, 1, 900, 2_000, 1_000, 15_000, 3] {
        now += step;
        desk.at(now);
        desk.check(&[("GET session:1", "$1 x")]);
        if step == 600 {
            // What is written has its exact end in the log again.
            desk.check(&[("SET session:1 x", "+OK"), ("SET cart:1:1 x", "+OK")]);
        }
        let (mut copy, client) = replayed(&mut desk, &mut log);
        for key in ["session:1", "cart:1:1"] {
            let reply = copy.call(client, &format!("PTTL {key}"));
            let has: i64 = reply.trim()[1..].parse().expect("PTTL answers a number");
            let wanted = desk.left_ms(key);
            assert!((wanted..=wanted + 1_000).contains(&has), "{key} at {now}: {has}, {wanted}");
        }
    }
}

#[test]
fn a_snapshot_and_the_log_behind_it_live_no_shorter() {
    for is_in_steps in [false, true] {
        let mut desk = Desk::new();
        desk.check(&[("SET session:1 x", "+OK"), ("GET session:1", "$1 x")]);
        desk.at(1);
        desk.check(&[("GET session:1", "$1 x")]);
        desk.test.effects();
        let options = SnapshotOptions { coverage: Coverage::Whole, sums: true, used_bytes: 0 };
        let mut file = Vec::new();
        let taken = is_in_steps.then(|| Taken::begin(&mut desk.test));
        if !is_in_steps {
            file = desk.test.engine.snapshot().write_to(file, options).expect("memory takes it");
        }
        desk.at(300);
        desk.check(&[("GET session:1", "$1 x")]);
        if let Some(mut taken) = taken {
            while !taken.step(&mut desk.test) {}
            file = taken.end();
        }
        let mut copy = TestEngine::new(2);
        copy.set_time(desk.test.now_ms);
        copy.engine.load(&mut copy.host, &mut &*file).expect("the snapshot is sound");
        let client = copy.engine.connect();
        for effect in desk.test.effects() {
            let words: Vec<Vec<u8>> = effect.command.args().iter().map(<[u8]>::to_vec).collect();
            copy.ask(client, &words);
        }
        let reply = copy.call(client, "PTTL session:1");
        let has: i64 = reply.trim()[1..].parse().expect("PTTL answers a number");
        assert!((16_000..=17_000).contains(&has), "{has}, in steps: {is_in_steps}");
    }
}

#[test]
fn most_renewals_are_not_logged() {
    let mut desk = Desk::new();
    desk.check(&[("SET session:1 x", "+OK")]);
    desk.test.effects();
    for read in 0..16_000 {
        desk.at(read);
        desk.check(&[("GET session:1", "$1 x")]);
    }
    let logged = desk.test.effects().len();
    assert!((16..=18).contains(&logged), "{logged} lines for a whole lifetime of reads");
}

#[test]
fn a_row_that_was_renewed_and_copied_moved_or_renamed_lives_no_shorter_by_the_log() {
    let carried = [
        ("COPY session:1 elsewhere", "elsewhere", 0),
        ("RENAME session:1 elsewhere", "elsewhere", 0),
        ("RENAME session:1 session:2", "session:2", 0),
        ("COPY session:1 session:2", "session:2", 0),
        ("MOVE session:1 3", "session:1", 3),
        ("COPY session:1 there DB 3", "there", 3),
    ];
    for (command, key, db) in carried {
        let mut desk = Desk::new();
        desk.check(&[("SET session:1 x", "+OK")]);
        for at in [20, 5_000, 5_001, 5_300] {
            desk.at(at);
            desk.check(&[("GET session:1", "$1 x")]);
        }
        desk.test.call(desk.client, command);
        let (mut copy, client) = replayed(&mut desk, &mut Vec::new());
        let left = |test: &mut TestEngine, client| {
            test.call(client, &format!("SELECT {db}"));
            let reply = test.call(client, &format!("PTTL {key}"));
            reply.trim()[1..].parse::<i64>().expect("PTTL answers a number")
        };
        let (has, wanted) = (left(&mut copy, client), left(&mut desk.test, desk.client));
        assert!(wanted > 0 && (wanted..=wanted + 1_000).contains(&has), "{command}: {has}");
    }
}

/// When a row ends for who loads a snapshot.
fn end_in(file: &[u8]) -> String {
    let mut desk = Desk::new();
    desk.test.engine.load(&mut desk.test.host, &mut &file[..]).expect("it is a file");
    let client = desk.client;
    desk.test.call(client, "PEXPIRETIME session:1")
}

#[test]
fn snapshots_have_the_end_that_those_who_follow_were_told() {
    let mut desk = Desk::new();
    desk.check(&[("SET session:1 x", "+OK")]);
    desk.at(1_500);
    desk.check(&[("GET session:1", "$1 x")]);
    let logged = desk.test.effect_lines();
    let told = logged.last().expect("it is told").rsplit(' ').next().expect("an end");
    let options = SnapshotOptions { coverage: Coverage::Whole, sums: true, used_bytes: 0 };
    for _ in 0..2 {
        let whole = desk.test.engine.snapshot().write_to(Vec::new(), options);
        assert_eq!(end_in(&whole.expect("memory takes it")), format!(":{told}\r\n"));
        desk.test.engine.begin_snapshot(options);
        let (mut file, mut ending) = (Vec::new(), keyward_rdb::Ending::new(true));
        let mut receive = |part: Vec<u8>| {
            ending.add(&part);
            file.extend(part);
        };
        while !desk.test.engine.step_snapshot(&mut receive) {}
        file.extend(ending.end());
        assert_eq!(end_in(&file), format!(":{told}\r\n"));
    }
    desk.at(1_600);
    desk.check(&[("GET session:1", "$1 x")]);
    assert_eq!(desk.test.effect_lines(), Vec::<String>::new(), "they know of a later one");
}
