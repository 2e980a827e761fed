//! Mode `observe` against mode `enforce`: of two engines with the same rows, one counts a command
//! as one that would be refused exactly if the other refuses it.

use crate::harness::TestEngine;
use crate::observing::schema;
use keyward_engine::{ClientId, Progress};
use keyward_testkit::Random;

/// What is tried besides the schema of `observing`.
const MORE: &str = r#"
[key."stock:{id:uint}"]
type = "string"
value = { type = "int", min = 0, max = 100 }
ttl = { given = true, max = "1h", default = "10m" }

[key."rate:{id:uint}"]
type = "int"
value = "uint"
ttl = { after = "1m", renew = "never" }

[key."fans:{id:uint}"]
type = "set"
ttl = "none"
max_fanout = 3

[key."idols:{id:uint}"]
type = "set"
inverse = "fans:{member}"
max_fanout = 3

[key."score:{id:uint}"]
type = "zset"
items = "uint"
score = { type = "int", min = 0, max = 10 }

[key."log:{id:uint}"]
type = "stream"
ttl = "none"
fields = { level = "info | error" }

[key."seen:{id:uint}"]
type = "hll"
"#;

/// Keys of all patterns, and of none.
const KEYS: [&str; 20] = [
    "user:1",
    "user:2",
    "users:on:free",
    "users:on:paid",
    "users:by_email:a",
    "order:1",
    "order:2",
    "stock:1",
    "stock:2",
    "note:1",
    "note:2",
    "rate:1",
    "recent",
    "fans:1",
    "fans:2",
    "idols:1",
    "score:1",
    "log:1",
    "seen:1",
    "stranger",
];

/// Values, most of which do not fit most keys.
const VALUES: [&str; 12] =
    ["1", "2", "3", "7", "101", "-5", "free", "gold", "a", "much-too-long", "1.5", "info"];

/// Commands; `K` is a key, `V` a value, `F` a field, `T` a time in seconds.
const COMMANDS: &[&str] = &[
    "SET K V",
    "SET K V EX T",
    "SET K V KEEPTTL",
    "SET K V NX",
    "SET K V XX EX T",
    "SETNX K V",
    "SETEX K T V",
    "GETSET K V",
    "MSET K V K V",
    "MSETNX K V K V",
    "APPEND K V",
    "SETRANGE K 2 V",
    "SETRANGE K 40 V",
    "SETBIT K 900 1",
    "INCR K",
    "INCRBY K 90",
    "DECR K",
    "INCRBYFLOAT K 0.5",
    "GETEX K EX T",
    "GETEX K PERSIST",
    "GETDEL K",
    "DEL K",
    "UNLINK K K",
    "EXPIRE K T",
    "PEXPIRE K 700000",
    "EXPIRE K T NX",
    "EXPIRE K T GT",
    "EXPIRE K T LT",
    "EXPIRE K -1",
    "PERSIST K",
    "RENAME K K",
    "RENAMENX K K",
    "COPY K K",
    "COPY K K REPLACE",
    "MOVE K 1",
    "HSET K F V",
    "HSET K email V plan free",
    "HSET K email V plan paid low 1 high 2",
    "HSETNX K F V",
    "HDEL K F",
    "HDEL K F F",
    "HINCRBY K F 3",
    "HINCRBYFLOAT K F 0.25",
    "RPUSH K V",
    "LPUSH K V V V V",
    "LPUSHX K V",
    "RPUSHX K V",
    "LPOP K",
    "LSET K 0 V",
    "LINSERT K BEFORE V V",
    "LREM K 0 V",
    "LTRIM K 0 1",
    "RPOPLPUSH K K",
    "LMOVE K K LEFT RIGHT",
    "BLMOVE K K LEFT RIGHT 0.001",
    "SADD K V",
    "SADD K 1 2 3 4 5",
    "SREM K V",
    "SPOP K",
    "SMOVE K K V",
    "SUNIONSTORE K K K",
    "SINTERSTORE K K K",
    "SDIFFSTORE K K K",
    "ZADD K 5 V",
    "ZADD K 50 V",
    "ZADD K XX 50 V",
    "ZADD K GT 3 V",
    "ZINCRBY K 4 V",
    "ZREM K V",
    "ZPOPMIN K",
    "ZUNIONSTORE K 2 K K",
    "ZINTERSTORE K 2 K K",
    "ZRANGESTORE K K 0 1",
    "SORT K STORE K",
    "BITOP AND K K K",
    "PFADD K V",
    "PFMERGE K K",
    "XADD K * level info",
    "XADD K * level V",
    "XADD K NOMKSTREAM * F V",
    "XTRIM K MAXLEN 1",
    "XDEL K 1-1",
    "GEOADD K 1 1 V",
    "GEOSEARCHSTORE K K FROMLONLAT 1 1 BYRADIUS 9 km",
    "FLUSHDB",
    "GET K",
    "HGETALL K",
    "TYPE K",
];

/// Commands that lay some ground, none of which is refused.
const GROUND: [&str; 9] = [
    "HSET user:1 email a plan free",
    "HSET user:2 email b plan paid low 1 high 5",
    "SET order:1 5",
    "SET note:1 x",
    "INCR rate:1",
    "RPUSH recent 1 2",
    "SADD fans:1 1 2",
    "ZADD score:1 5 1 6 2",
    "XADD log:1 * level info",
];

fn command(random: &mut Random) -> String {
    let form = *random.pick(COMMANDS);
    let word = |word: &str, random: &mut Random| match word {
        "K" => (*random.pick(&KEYS)).to_owned(),
        "V" => (*random.pick(&VALUES)).to_owned(),
        "F" => (*random.pick(&["email", "plan", "low", "high", "balance", "own", "x"])).to_owned(),
        "T" => (*random.pick(&["5", "600", "86400"])).to_owned(),
        other => other.to_owned(),
    };
    let words: Vec<String> = form.split(' ').map(|part| word(part, random)).collect();
    words.join(" ")
}

/// How a command is sent.
fn calls(command: &str, random: &mut Random) -> Vec<String> {
    match random.below(8) {
        0 => vec!["MULTI".to_owned(), command.to_owned(), "EXEC".to_owned()],
        1 => {
            let words: Vec<String> = command.split(' ').map(|word| format!("'{word}'")).collect();
            vec![format!("EVAL return(redis.call({})) 0", words.join(","))]
        }
        _ => vec![command.to_owned()],
    }
}

/// One of the two engines.
struct Side {
    test: TestEngine,
    client: ClientId,
}

impl Side {
    fn new(mode: &str) -> Side {
        let schema = schema(mode) + MORE;
        let mut test = TestEngine::governed(7, &schema);
        let client = test.engine.connect();
        Side { test, client }
    }

    fn ask<W: AsRef<[u8]>>(&mut self, words: &[W]) -> Vec<u8> {
        let (progress, mut reply) = self.test.ask(self.client, words);
        if progress == Progress::Blocked {
            self.test.pass(10);
            self.test.tick();
            self.test.deliveries();
            reply.extend(b"*-1\r\n");
        }
        reply
    }

    fn call(&mut self, command: &str) -> String {
        let words: Vec<&str> = command.split(' ').collect();
        String::from_utf8_lossy(&self.ask(&words)).into_owned()
    }

    /// How many commands would have been refused so far.
    fn observed(&mut self) -> u64 {
        let told = self.call("KEYWARD STATS");
        let figures = told.split("would_refuse\r\n:").skip(1);
        figures
            .map(|rest| rest.lines().next().unwrap_or("").parse::<u64>().expect("a number"))
            .sum()
    }

    /// Has the rows of another engine, and no others.
    fn become_as(&mut self, other: &mut Side) {
        self.call("FLUSHALL");
        self.test.set_time(other.test.now_ms);
        for db in ["0", "1"] {
            other.ask(&["SELECT", db]);
            self.ask(&["SELECT", db]);
            for key in bulks(&other.ask(&["KEYS", "*"])) {
                let payload = bulks(&other.ask(&[&b"DUMP"[..], &key])).remove(0);
                let ends = other.ask(&[&b"PEXPIRETIME"[..], &key]);
                let ends = String::from_utf8_lossy(&ends[1..]).trim_end().replace("-1", "0");
                let reply =
                    self.ask(&[&b"RESTORE"[..], &key, ends.as_bytes(), &payload, b"ABSTTL"]);
                assert_eq!(reply, b"+OK\r\n", "{}", key.escape_ascii());
            }
        }
        other.ask(&["SELECT", "0"]);
        self.ask(&["SELECT", "0"]);
    }
}

/// The bulk strings of a reply.
fn bulks(mut reply: &[u8]) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    while let Some(end) = reply.windows(2).position(|two| two == b"\r\n") {
        let (head, rest) = (&reply[..end], &reply[end + 2..]);
        reply = rest;
        if let Some(length) = head.strip_prefix(b"$") {
            let length: usize = String::from_utf8_lossy(length).parse().expect("a length");
            found.push(rest[..length].to_vec());
            reply = &rest[length + 2..];
        }
    }
    found
}

/// What became of commands.
#[derive(Debug, Default)]
struct Tally {
    refused: u64,
    /// Of those, how many left all rows as they were where nothing is refused.
    in_vain: u64,
    passed: u64,
}

fn run(seed: u64, steps: usize, tally: &mut Tally) {
    let mut random = Random::new(seed);
    let (mut enforces, mut observes) = (Side::new(""), Side::new("mode = \"observe\""));
    for ground in GROUND {
        let reply = enforces.call(ground);
        assert!(!reply.starts_with('-'), "{ground}: {reply}");
    }
    observes.become_as(&mut enforces);
    for step in 0..steps {
        enforces.test.pass(random.below(2_000) as i64);
        observes.test.set_time(enforces.test.now_ms);
        let command = command(&mut random);
        let calls = calls(&command, &mut random);
        let (before, state) = (observes.observed(), observes.test.state());
        let refused: Vec<String> = calls.iter().map(|call| enforces.call(call)).collect();
        let replies: Vec<String> = calls.iter().map(|call| observes.call(call)).collect();
        let is_refused = refused.iter().any(|reply| reply.contains("SCHEMA "));
        let counted = observes.observed() - before;
        if calls.len() > 1 && counted == 0 && replies[2].contains("\r\n-") {
            // What is queued is refused by its words, before Redis finds it wrong.
            observes.become_as(&mut enforces);
            continue;
        }
        assert_eq!(
            counted,
            u64::from(is_refused),
            "seed {seed}, step {step}: {calls:?}\nenforced: {refused:?}\nobserved: {replies:?}"
        );
        match is_refused {
            true => tally.refused += 1,
            false => tally.passed += 1,
        }
        tally.in_vain += u64::from(is_refused && observes.test.state() == state);
        observes.become_as(&mut enforces);
    }
}

#[test]
fn a_command_is_counted_where_it_is_observed_exactly_if_it_is_refused_where_it_is_enforced() {
    let seeds =
        option_env!("KEYWARD_OBSERVE_SEEDS").and_then(|text| text.parse().ok()).unwrap_or(6);
    let mut tally = Tally::default();
    for seed in 1..=seeds {
        run(seed, 400, &mut tally);
    }
    let Tally { refused, in_vain, passed } = tally;
    assert!(refused > 80 * seeds && in_vain > 5 * seeds && passed > 80 * seeds, "{tally:?}");
}
