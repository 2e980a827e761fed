//! What commands on hashes and sets log and tell: effects without chance or
//! rounding, and the keyspace events of Redis.

use keyward_engine::{
    ClientId, ConfigRefusal, Connection, Engine, EngineOptions, Facts, Host, NotifyFlags, Section,
    Tunables,
};
use keyward_resp::{Batch, RequestLimits, RequestParser, push_request};

/// A host that has nothing to say.
struct Silent;

impl Host for Silent {
    fn config_get(&mut self, _: &[&[u8]]) -> Vec<(String, Vec<u8>)> {
        Vec::new()
    }

    fn config_set(&mut self, _: &[(&[u8], &[u8])]) -> Result<Tunables, ConfigRefusal> {
        Ok(Tunables::default())
    }

    fn config_rewrite(&mut self) -> Result<(), ConfigRefusal> {
        Ok(())
    }

    fn reset_stats(&mut self) {}

    fn info(&mut self, _: Section, _: &Facts, _: &mut String) {}

    fn connection(&self, _: ClientId) -> Connection {
        Connection::default()
    }
}

/// An engine with one client, whose effects and events are recorded.
struct Recorded {
    engine: Engine,
    client: ClientId,
}

impl Recorded {
    fn new(seed: u64) -> Recorded {
        let notify = NotifyFlags::parse(b"KEA").expect("these letters exist");
        let tunables = Tunables { notify, ..Tunables::default() };
        let mut engine = Engine::new(EngineOptions { seed, databases: 16, tunables });
        engine.set_time(1_700_000_000_000_000);
        engine.keyspace().effects.listen(true);
        let client = engine.connect();
        Recorded { engine, client }
    }

    fn call(&mut self, command: &[impl AsRef<[u8]>]) -> String {
        let mut input = Vec::new();
        push_request(&mut input, command.iter().map(AsRef::as_ref));
        let mut batch = Batch::new();
        let parsed = RequestParser::new().parse(&mut input, &RequestLimits::default(), &mut batch);
        assert!(parsed.is_ok(), "the request is our own");
        let mut output = Vec::new();
        self.engine.execute(&mut Silent, self.client, &input, &batch, &mut output);
        output.escape_ascii().to_string()
    }

    /// Calls commands written as lines.
    fn run(&mut self, commands: &str) {
        for line in commands.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let reply = self.call(&words);
            assert!(!reply.starts_with('-'), "{line}: {reply}");
        }
    }

    /// The commands logged since the last call.
    fn effects(&mut self) -> Vec<Vec<Vec<u8>>> {
        let log = self.engine.keyspace().effects.take();
        log.iter().map(|e| e.command.args().iter().map(<[u8]>::to_vec).collect()).collect()
    }

    fn effect_lines(&mut self) -> Vec<String> {
        let line = |words: &Vec<Vec<u8>>| String::from_utf8_lossy(&words.join(&b' ')).into_owned();
        self.effects().iter().map(line).collect()
    }

    /// The events told since the last call.
    fn events(&mut self) -> Vec<String> {
        let told = self.engine.take_notifications();
        told.iter().map(|n| format!("{} {}", n.event.name, n.key.escape_ascii())).collect()
    }
}

#[test]
fn chance_and_rounding_are_resolved_in_the_log() {
    let cases: [(&str, &str, &[&str]); 9] = [
        ("SADD s a", "SPOP s", &["SREM s a"]),
        ("SADD s a b", "SPOP s 5", &["DEL s"]),
        ("SADD s a", "SPOP s 0", &[]),
        ("SADD s a", "SPOP nothing 3", &[]),
        ("SADD s a", "SREM s a b", &["SREM s a b"]),
        ("SADD s a", "SADD s a", &[]),
        ("SADD s a b", "SRANDMEMBER s 1", &[]),
        ("HSET h f 0.1", "HINCRBYFLOAT h f 0.2", &["HSET h f 0.3"]),
        ("HSET h f 1", "HSETNX h f 2", &[]),
    ];
    for (before, command, expected) in cases {
        let mut recorded = Recorded::new(1);
        recorded.run(before);
        recorded.effects();
        recorded.run(command);
        assert_eq!(recorded.effect_lines(), expected, "{command}");
    }
}

#[test]
fn the_log_replayed_elsewhere_gives_the_same_sets() {
    let mut ours = Recorded::new(7);
    let mut theirs = Recorded::new(8);
    for round in 0..40 {
        let count = 1 + round * 37 % 3000;
        let members: Vec<String> =
            (0..count).map(|n| format!("{}{n}", ["", "m"][round % 2])).collect();
        let mut add = vec!["SADD", "s"];
        add.extend(members.iter().map(String::as_str));
        ours.call(&add);
        ours.run(&format!("SPOP s\nSPOP s {}\nSPOP s {}", count / 10, count * 7 / 10));
        for effect in ours.effects() {
            theirs.call(&effect);
        }
        let sorted = |recorded: &mut Recorded| {
            let reply = recorded.call(&["SMEMBERS", "s"]);
            let mut members: Vec<String> = reply.split("$").map(str::to_owned).collect();
            members.sort_unstable();
            members
        };
        assert_eq!(sorted(&mut ours), sorted(&mut theirs), "round {round}");
    }
}

#[test]
fn events_are_told_as_redis_tells_them() {
    let cases: [(&str, &str, &[&str]); 19] = [
        ("", "HSET h a 1 b 2", &["hset h"]),
        ("HSET h a 1", "HSETNX h a 2", &[]),
        ("HSET h a 1", "HSETNX h b 2", &["hset h"]),
        ("", "HINCRBY h a 1", &["hincrby h"]),
        ("", "HINCRBYFLOAT h a 1", &["hincrbyfloat h"]),
        ("HSET h a 1 b 2", "HDEL h a c", &["hdel h"]),
        ("HSET h a 1", "HDEL h c", &[]),
        ("HSET h a 1", "HDEL h a", &["hdel h", "del h"]),
        ("", "SADD s a b", &["sadd s"]),
        ("SADD s a", "SADD s a", &[]),
        ("SADD s a", "SREM s a", &["srem s", "del s"]),
        ("SADD s a", "SPOP s", &["spop s", "del s"]),
        ("SADD s a b", "SPOP s 1", &["spop s"]),
        ("SADD s a b", "SPOP s 2", &["spop s", "del s"]),
        ("SADD s a\nSADD t b", "SMOVE s t a", &["srem s", "del s", "sadd t"]),
        ("SADD s a b\nSADD t b", "SMOVE s t b", &["srem s"]),
        ("SADD s a", "SUNIONSTORE t s", &["sunionstore t"]),
        ("SADD s a\nSADD t b", "SINTERSTORE t s nothing", &["del t"]),
        ("SADD s a", "SDIFFSTORE t s", &["sdiffstore t"]),
    ];
    for (before, command, expected) in cases {
        let mut recorded = Recorded::new(1);
        recorded.run(before);
        recorded.events();
        recorded.run(command);
        assert_eq!(recorded.events(), expected, "{command}");
    }
}
