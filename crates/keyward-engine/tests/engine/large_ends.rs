//! Large ends: what goes with a row goes in steps, and nobody sees any of it meanwhile.

use crate::harness::{START_MS, TestEngine, request};
use keyward_engine::{ClientId, Delivery, Progress, Random, Replay};
use keyward_resp::{Batch, Parsed, RequestLimits, RequestParser, push_request};

const SCHEMA: &str = r#"
[keyspace]
name = "ends"
unknown = "allow"

[key."user:{id:uint}"]
type = "string"
ttl  = "none"

[key."user:{id:uint}:following"]
type = "set"
ttl  = "none"

[key."user:{id:uint}:followers"]
type       = "set"
inverse    = "user:{member}:following"
max_fanout = 100000

[key."session:{sid}"]
type = "string"
ttl  = { given = true, max = "1d", default = "1h" }

[key."item:{sid}:{n:uint}"]
type = "string"
ttl  = { with = "session:{sid}" }

[key."cart:{sid}"]
type = "string"
ttl  = { given = true, max = "1d", default = "1h" }

[key."line:{sid}:{n:uint}"]
type = "string"
value = "str"
ttl  = { with = "cart:{sid}" }

[key."lines:{sid}"]
type       = "set"
members    = { of = "line:{sid}:{n}" }
max_fanout = 100000

[key."owner:{code}"]
type       = "string"
lookup     = { of = "badge:{bid:uint}" }
max_fanout = 100000

[key."badge:{bid:uint}"]
type  = "string"
value = "str"
ttl   = { with = "team:1" }

[key."team:{t:uint}"]
type = "string"
ttl  = { given = true, max = "1d", default = "1h" }
"#;

fn members(first: u64, count: u64) -> String {
    (first..first + count).map(|n| n.to_string()).collect::<Vec<_>>().join(" ")
}

fn governed() -> (TestEngine, ClientId) {
    let mut test = TestEngine::governed(1, SCHEMA);
    let client = test.engine.connect();
    (test, client)
}

fn all_ticks(test: &mut TestEngine) -> usize {
    let mut ticks = 0;
    while test.engine.has_pending_ends() {
        test.tick();
        ticks += 1;
    }
    ticks
}

#[test]
fn a_mirrored_set_goes_in_steps_that_nobody_sees() {
    let (mut test, client) = governed();
    test.call(client, &format!("SADD user:1:followers {}", members(1000, 5000)));
    test.call(client, "SADD user:2000:following 7");
    test.effects();
    assert_eq!(test.call(client, "DEL user:1:followers"), ":1\r\n");
    assert_eq!(
        test.effect_lines(),
        ["0: SREM keyward:ends members user:1:followers", "0: DEL user:1:followers"]
    );
    assert!(test.engine.has_pending_ends());
    // A key that would be empty is not there; one that has more has only that.
    assert_eq!(test.call(client, "EXISTS user:1000:following"), ":0\r\n");
    assert_eq!(test.call(client, "SMEMBERS user:2000:following"), "*1\r\n$1\r\n7\r\n");
    assert_eq!(test.call(client, "KEYS user:300?:following"), "*0\r\n");
    assert_eq!(
        test.call(client, "KEYS *"),
        "*2\r\n$19\r\nuser:2000:following\r\n$16\r\nuser:7:followers\r\n"
    );
    // It is made anew meanwhile.
    assert_eq!(test.call(client, "SADD user:1:followers 4000 9000"), ":2\r\n");
    let ticks = all_ticks(&mut test);
    assert!(ticks > 50, "{ticks} steps");
    assert_eq!(test.call(client, "SMEMBERS user:4000:following"), "*1\r\n$1\r\n1\r\n");
    assert_eq!(test.call(client, "SMEMBERS user:9000:following"), "*1\r\n$1\r\n1\r\n");
    assert_eq!(test.call(client, "DBSIZE"), ":5\r\n");
    let done = "0: SREM keyward:ends done user:1:followers";
    assert_eq!(test.effect_lines().iter().filter(|line| *line == done).count(), 1);
}

#[test]
fn companions_go_in_steps_and_come_back_as_a_new_generation() {
    let (mut test, client) = governed();
    test.call(client, "SET session:a x");
    for n in 0..1000 {
        test.call(client, &format!("SET item:a:{n} x"));
    }
    assert_eq!(test.call(client, "DEL session:a"), ":1\r\n");
    assert!(test.engine.has_pending_ends());
    assert_eq!(test.call(client, "GET item:a:5"), "$-1\r\n");
    assert_eq!(test.call(client, "KEYS *"), "*0\r\n");
    assert_eq!(test.call(client, "SET session:a y EX 100"), "+OK\r\n");
    assert_eq!(test.call(client, "GET item:a:6"), "$-1\r\n");
    assert_eq!(test.call(client, "SET item:a:7 new"), "+OK\r\n");
    assert_eq!(test.call(client, "TTL item:a:7"), ":100\r\n");
    all_ticks(&mut test);
    assert_eq!(test.call(client, "DBSIZE"), ":2\r\n");
    assert_eq!(test.call(client, "GET item:a:7"), "$3\r\nnew\r\n");
}

#[test]
fn companions_have_the_deadline_of_their_leader_before_it_is_written_to_them() {
    let (mut test, client) = governed();
    test.call(client, "SET session:a x EX 10");
    for n in 0..1000 {
        test.call(client, &format!("SET item:a:{n} x"));
    }
    assert_eq!(test.call(client, "EXPIRE session:a 1000"), ":1\r\n");
    assert!(test.engine.has_pending_ends());
    assert_eq!(test.call(client, "TTL item:a:5"), ":1000\r\n");
    // The deadline that is still written to most is over.
    test.set_time(START_MS + 20_000);
    let keys = test.call(client, "KEYS item:*");
    assert!(keys.starts_with("*1000\r\n"), "{}", &keys[..20]);
    assert_eq!(test.call(client, "GET item:a:6"), "$1\r\nx\r\n");
    all_ticks(&mut test);
    assert_eq!(test.call(client, "DBSIZE"), ":1001\r\n");
    assert_eq!(test.call(client, "TTL item:a:999"), ":980\r\n");
}

#[test]
fn who_needs_more_than_one_key_of_a_large_end_waits_while_others_go_on() {
    let (mut test, client) = governed();
    let other = test.engine.connect();
    test.call(client, "SET cart:a x");
    for n in 0..1000 {
        test.call(client, &format!("SET line:a:{n} x"));
    }
    assert_eq!(test.call(client, "SCARD lines:a"), ":1000\r\n");
    assert_eq!(test.call(client, "DEL cart:a"), ":1\r\n");
    assert_eq!(test.call(client, "SCARD lines:a"), "", "it waits");
    assert_eq!(test.call(other, "PING"), "+PONG\r\n");
    assert_eq!(test.call(other, "GET team:1"), "$-1\r\n");
    all_ticks(&mut test);
    assert_eq!(test.resume(client), ":0\r\n");
}

#[test]
fn a_script_sees_the_end_of_what_it_has_not_named() {
    let (mut test, client) = governed();
    test.call(client, "SET cart:a x");
    for n in 0..1000 {
        test.call(client, &format!("SET line:a:{n} x"));
    }
    assert_eq!(test.call(client, "DEL cart:a"), ":1\r\n");
    assert_eq!(test.call(client, "EVAL return(redis.call('SCARD','lines:a')) 0"), ":0\r\n");
}

#[test]
fn many_sources_that_are_due_at_once_hold_up_only_who_asks_for_what_they_feed() {
    let (mut test, client) = governed();
    let other = test.engine.connect();
    test.call(client, "SET team:1 x EX 10");
    test.call(client, "SET cart:a x EX 5");
    for n in 0..400 {
        test.call(client, &format!("SET line:a:{n} x"));
    }
    test.set_time(START_MS + 6_000);
    assert_eq!(test.call(other, "PING"), "+PONG\r\n");
    assert_eq!(test.call(other, "GET team:1"), "$1\r\nx\r\n");
    let reply = test.call(client, "SCARD lines:a");
    let reply = if reply.is_empty() {
        while test.deliveries().is_empty() {
            test.tick();
        }
        test.resume(client)
    } else {
        reply
    };
    assert_eq!(reply, ":0\r\n");
}

#[test]
fn a_watch_of_what_goes_breaks_with_the_end_of_its_source() {
    let (mut test, client) = governed();
    let other = test.engine.connect();
    test.call(client, &format!("SADD user:1:followers {}", members(1000, 200)));
    test.call(other, "WATCH user:1100:following");
    assert_eq!(test.call(client, "DEL user:1:followers"), ":1\r\n");
    test.call(other, "MULTI");
    test.call(other, "SET team:5 x");
    assert_eq!(test.call(other, "EXEC"), "*-1\r\n");
}

#[test]
fn what_a_failed_function_ended_is_there_again() {
    let (mut test, client) = governed();
    let code = "#!lua name=f\nredis.register_function('f', function(keys)\n\
                redis.call('DEL', 'user:1:followers')\n\
                redis.call('SREM', 'user:1100:following', '1')\n\
                redis.call('DEL', 'session:a')\n\
                redis.call('SET', 'session:a', 'z')\n\
                redis.call('GET', 'item:a:3')\n\
                redis.call('SET', 'item:a:4', 'z')\n\
                return redis.error_reply('ERR no') end)";
    let words = ["FUNCTION", "LOAD", code];
    let mut bytes = Vec::new();
    push_request(&mut bytes, words.iter());
    test.send(client, &bytes);
    test.call(client, &format!("SADD user:1:followers {}", members(1000, 200)));
    test.call(client, "SET session:a x");
    for n in 0..200 {
        test.call(client, &format!("SET item:a:{n} x"));
    }
    test.effects();
    let before = test.call(client, "DEBUG DIGEST");
    let reply = test.call(client, "FCALL f 0");
    assert_eq!(reply, "-ERR no\r\n");
    assert!(test.effects().is_empty(), "a function that fails did nothing");
    assert!(!test.engine.has_pending_ends());
    assert_eq!(test.call(client, "DEBUG DIGEST"), before);
}

/// The reply to a command, for which the client may have to wait.
fn ask(test: &mut TestEngine, client: ClientId, command: &str) -> String {
    let (progress, out) = test.send(client, &request(command));
    let mut reply = String::from_utf8(out).expect("tests use text");
    let mut waits = progress == Progress::Blocked;
    while waits {
        test.tick();
        let is_free =
            |delivery: &Delivery| matches!(delivery, Delivery::Unblocked(to) if *to == client);
        if test.deliveries().iter().any(is_free) {
            reply += &test.resume(client);
            waits = reply.is_empty();
        }
    }
    reply
}

/// Two engines that are told the same. One takes a step now and then; the other finishes
/// every end at once.
struct Pair {
    lazy: TestEngine,
    eager: TestEngine,
    clients: Vec<ClientId>,
    random: Random,
    log: Vec<u8>,
}

impl Pair {
    fn new(seed: u64) -> Pair {
        let [mut lazy, mut eager] = [(); 2].map(|()| TestEngine::governed(seed, SCHEMA));
        let clients = (0..3).map(|_| lazy.engine.connect()).collect();
        for _ in 0..3 {
            eager.engine.connect();
        }
        lazy.engine.log_changes(true);
        Pair { lazy, eager, clients, random: Random::from_seed(seed), log: Vec::new() }
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.random.below(limit)
    }

    /// A command, of sets with hundreds of members and leaders with as many companions.
    fn command(&mut self) -> String {
        let user = self.below(4);
        let peer = 100 + self.below(300);
        let (first, count) = (100 + self.below(200), 1 + self.below(200));
        let sid = ["a", "b"][self.below(2) as usize];
        let n = self.below(200);
        let seconds = 1 + self.below(20);
        match self.below(44) {
            0..=3 => format!("SADD user:{user}:followers {}", members(first, count)),
            4 => format!("DEL user:{user}:followers"),
            5 => format!("UNLINK user:{user}:followers user:{}:followers", (user + 1) % 4),
            6 => format!("SREM user:{user}:followers {}", members(first, count)),
            7 => format!("SUNIONSTORE user:{user}:followers user:{}:followers", self.below(4)),
            8 => format!("SDIFFSTORE user:{user}:followers user:{user}:followers user:3:followers"),
            9 => format!("RENAME user:{user}:followers user:{}:followers", self.below(4)),
            10 => format!("PEXPIRE user:{user}:followers 0"),
            11 => format!("SPOP user:{user}:followers {count}"),
            12 => format!("COPY user:{user}:followers user:{}:followers REPLACE", self.below(4)),
            13 => format!("SMEMBERS user:{peer}:following"),
            14 => format!("SADD user:{peer}:following {user}"),
            15 => format!("SREM user:{peer}:following {user}"),
            16 => format!("SCARD user:{peer}:following"),
            17 => format!("EXISTS user:{peer}:following"),
            18 => format!("DEL user:{peer}:following"),
            19 => format!("SISMEMBER user:{user}:followers {peer}"),
            20 => format!("SET session:{sid} x EX {seconds}"),
            21 | 22 => format!("SET item:{sid}:{n} {}", self.below(9)),
            23 => format!("DEL session:{sid}"),
            24 => format!("GET item:{sid}:{n}"),
            25 => format!("TTL item:{sid}:{n}"),
            26 => format!("EXPIRE session:{sid} {seconds}"),
            27 => format!("PERSIST session:{sid}"),
            28 => format!("DEL item:{sid}:{n}"),
            29 => format!("SET cart:{sid} x EX {seconds}"),
            30 | 31 => format!("SET line:{sid}:{n} {}", self.below(9)),
            32 => format!("DEL cart:{sid}"),
            33 => format!("SCARD lines:{sid}"),
            34 => format!("SISMEMBER lines:{sid} {n}"),
            35 => format!(
                "EVAL return{{redis.call('DEL','user:{user}:followers'),redis.call('SMEMBERS','user:{peer}:following'),redis.call('SADD','user:{user}:followers','{peer}')}} 0"
            ),
            36 => format!(
                "EVAL redis.call('DEL','session:{sid}')redis.call('SET','session:{sid}','x')return(redis.call('GET','item:{sid}:{n}')) 0"
            ),
            37 => format!("SET team:1 x EX {seconds}"),
            38 | 39 => format!("SET badge:{n} code{}", self.below(400)),
            40 => "DEL team:1".to_owned(),
            41 => format!("GET owner:code{}", self.below(400)),
            42 => format!("WATCH user:{peer}:following item:{sid}:{n}"),
            _ => "KEYS *".to_owned(),
        }
    }

    /// Fills the two engines quickly.
    fn fill(&mut self) {
        for sid in ["a", "b"] {
            self.both(0, &format!("SET session:{sid} x EX 100"));
            self.both(0, &format!("SET cart:{sid} x EX 100"));
            for n in 0..150 {
                self.both(0, &format!("SET item:{sid}:{n} x"));
                self.both(0, &format!("SET line:{sid}:{n} x"));
            }
        }
        self.both(0, "SET team:1 x EX 100");
        for n in 0..150 {
            self.both(0, &format!("SET badge:{n} code{n}"));
        }
    }

    fn both(&mut self, client: usize, command: &str) {
        let client = self.clients[client];
        let eager = ask(&mut self.eager, client, command);
        self.eager.engine.finish_ends(&mut self.eager.host);
        let replies = [ask(&mut self.lazy, client, command), eager];
        let replies = replies.map(|reply| {
            let is_sorted = command.starts_with("KEYS") || command.starts_with("SMEMBERS");
            match is_sorted || command.starts_with("EVAL") {
                true => {
                    let mut lines: Vec<&str> = reply.lines().collect();
                    lines.sort_unstable();
                    lines.join(" ")
                }
                false => reply,
            }
        });
        // What is popped by chance depends on the order of members.
        if command.starts_with("SPOP") {
            return self.catch_up();
        }
        assert_eq!(replies[0], replies[1], "{command}");
    }

    /// Makes the eager engine what the lazy one is, by its log.
    fn catch_up(&mut self) {
        for key in 0..4 {
            let key = format!("user:{key}:followers");
            let client = self.clients[2];
            let members = self.lazy.call(client, &format!("SMEMBERS {key}"));
            let members: Vec<&str> = members.lines().skip(2).step_by(2).collect();
            self.eager.call(client, &format!("DEL {key}"));
            if !members.is_empty() {
                self.eager.call(client, &format!("SADD {key} {}", members.join(" ")));
            }
            self.eager.engine.finish_ends(&mut self.eager.host);
        }
    }

    /// The lazy engine's log, up to now, loaded by another one.
    fn crash(&mut self) {
        self.lazy.engine.take_log(&mut self.log);
        let mut loaded = TestEngine::governed(9, SCHEMA);
        loaded.set_time(self.lazy.now_ms);
        loaded.engine.begin_loading();
        let mut buffer = self.log.clone();
        let mut batch = Batch::new();
        let limits = RequestLimits { batch_commands_max: usize::MAX, ..RequestLimits::default() };
        let parsed = RequestParser::new().parse(&mut buffer, &limits, &mut batch);
        assert_eq!(parsed, Ok(Parsed::NeedsInput), "the log is whole");
        let mut replay = Replay::new();
        loaded
            .engine
            .load_commands(&mut loaded.host, &mut replay, &buffer, &batch)
            .expect("the log can be loaded");
        assert_eq!(replay.failures, 0);
        let mut settling = loaded.engine.begin_settling();
        while loaded.engine.settle_rows(&mut loaded.host, &mut settling, 100) {}
        loaded.engine.end_loading(&mut loaded.host, Default::default());
        let client = loaded.engine.connect();
        assert_eq!(keys_of(&mut loaded, client), keys_of(&mut self.eager, self.clients[0]));
        assert_eq!(
            loaded.call(client, "DEBUG DIGEST"),
            self.eager.call(self.clients[0], "DEBUG DIGEST"),
            "after a crash"
        );
    }
}

/// All keys but due ones.
fn keys_of(test: &mut TestEngine, client: ClientId) -> Vec<String> {
    while test.tick() {}
    let keys = test.call(client, "KEYS *");
    let mut keys: Vec<String> = keys.lines().skip(2).step_by(2).map(str::to_owned).collect();
    keys.sort_unstable();
    keys
}

fn run(seed: u64, commands: usize) {
    let mut pair = Pair::new(seed);
    pair.fill();
    let mut now_ms = START_MS;
    for _ in 0..commands {
        match pair.below(60) {
            0 => {
                now_ms += pair.below(8_000) as i64;
                pair.lazy.set_time(now_ms);
                pair.eager.set_time(now_ms);
            }
            1..=12 => {
                pair.lazy.tick();
                pair.lazy.deliveries();
            }
            13 => {
                pair.both(1, "MULTI");
                for _ in 0..pair.below(6) {
                    let command = pair.command();
                    if !command.starts_with("SPOP") && !command.starts_with("WATCH") {
                        pair.both(1, &command);
                    }
                }
                let client = pair.clients[1];
                let eager = ask(&mut pair.eager, client, "EXEC");
                pair.eager.engine.finish_ends(&mut pair.eager.host);
                let lazy = ask(&mut pair.lazy, client, "EXEC");
                let sorted = |reply: &str| {
                    let mut lines: Vec<String> = reply.lines().map(str::to_owned).collect();
                    lines.sort_unstable();
                    lines
                };
                assert_eq!(sorted(&lazy), sorted(&eager), "EXEC");
            }
            14 => pair.crash(),
            _ => {
                let command = pair.command();
                pair.both(0, &command);
            }
        }
    }
    let clients = pair.clients.clone();
    assert_eq!(keys_of(&mut pair.lazy, clients[0]), keys_of(&mut pair.eager, clients[0]));
    assert_eq!(
        pair.lazy.call(clients[0], "DEBUG DIGEST"),
        pair.eager.call(clients[0], "DEBUG DIGEST")
    );
    pair.crash();
}

#[test]
fn an_engine_that_takes_its_time_answers_as_one_that_does_not() {
    let seeds = option_env!("KEYWARD_ENDS_SEEDS").and_then(|text| text.parse().ok());
    for seed in 1..=seeds.unwrap_or(3) {
        run(seed, 800);
    }
}
