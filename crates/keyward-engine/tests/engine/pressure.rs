//! Keyspaces that fill up: what INFO and KEYWARD STATS tell of it, and when the log warns.

use crate::harness::{TestEngine, number_after};
use keyward_engine::ClientId;

const SCHEMA: &str = r#"
[keyspace]
name       = "bounded"
max_memory = "256kb"

[key."page:{id:uint}"]
type = "string"
ttl  = "1h"

[key."code:{id:uint}"]
type  = "string"
evict = "ttl"

[key."paid:{id:uint}"]
type = "string"
ttl  = "none"
"#;

const LIMIT: f64 = 262_144.0;

struct Filling {
    test: TestEngine,
    client: ClientId,
}

impl Filling {
    fn new() -> Filling {
        let mut test = TestEngine::governed(1, SCHEMA);
        let client = test.engine.connect();
        Filling { test, client }
    }

    /// Writes rows of a kilobyte.
    fn fill(&mut self, table: &str, ids: std::ops::Range<usize>) {
        for id in ids {
            let reply =
                self.test.call(self.client, &format!("SET {table}:{id} {}", "x".repeat(1000)));
            assert_eq!(reply, "+OK\r\n", "{table}:{id}");
        }
    }

    fn remove(&mut self, table: &str, ids: std::ops::Range<usize>) {
        for id in ids {
            self.test.call(self.client, &format!("DEL {table}:{id}"));
        }
    }

    /// What the log says of the next seconds.
    fn logged(&mut self) -> Vec<String> {
        for _ in 0..20 {
            self.test.pass(100);
            self.test.tick();
        }
        std::mem::take(&mut self.test.host.logged)
    }

    /// A field of the keyspace's line in INFO.
    fn info(&mut self, field: &str) -> String {
        let info = self.test.call(self.client, "INFO patterns");
        let line =
            info.split("\r\n").find(|line| line.starts_with("db0_keyspace0:keyspace=bounded,"));
        let fields = line.expect("the line is there").split(',');
        let value = fields.filter_map(|it| it.split_once('=')).find(|(name, _)| *name == field);
        value.expect("the field is there").1.to_owned()
    }

    fn number(&mut self, field: &str) -> f64 {
        self.info(field).parse().expect("a number")
    }
}

#[test]
fn info_tells_what_a_keyspace_takes_and_what_may_go() {
    let mut filling = Filling::new();
    filling.fill("page", 0..50);
    filling.fill("paid", 0..100);
    filling.fill("code", 0..20);
    for id in 0..10 {
        filling.test.call(filling.client, &format!("EXPIRE code:{id} 100"));
    }
    let of = |filling: &mut Filling, pattern: &str, name: &str| {
        let stats =
            filling.test.call(filling.client, &format!("KEYWARD STATS {pattern}:{{id:uint}}"));
        number_after(&stats, name) as f64
    };
    let bytes = filling.number("bytes");
    let unknown = number_after(&filling.test.call(filling.client, "KEYWARD STATS"), "bytes") as f64;
    let sum: f64 = ["page", "code", "paid"].map(|it| of(&mut filling, it, "bytes")).iter().sum();
    assert_eq!(bytes, sum + unknown);
    assert_eq!(filling.number("max_memory"), LIMIT);
    assert_eq!(filling.info("percent"), format!("{:.2}", 100.0 * bytes / LIMIT));
    assert_eq!(of(&mut filling, "page", "evictable_bytes"), of(&mut filling, "page", "bytes"));
    assert_eq!(of(&mut filling, "paid", "evictable_bytes"), 0.0);
    let half = of(&mut filling, "code", "bytes") / 2.0;
    assert!((of(&mut filling, "code", "evictable_bytes") - half).abs() < 2.0, "half may go");
    assert_eq!(of(&mut filling, "paid", "keyspace_bytes"), bytes);
    assert_eq!(of(&mut filling, "paid", "keyspace_max_memory"), LIMIT);
    let held = bytes - filling.number("evictable_bytes");
    assert_eq!(filling.info("unevictable_percent"), format!("{:.2}", 100.0 * held / LIMIT));
    assert_eq!(filling.info("state"), "ok");
}

#[test]
fn the_log_warns_once_at_80_percent_and_again_after_it_was_below_70() {
    let mut filling = Filling::new();
    filling.fill("page", 0..100);
    assert_eq!(filling.logged(), [""; 0]);
    filling.fill("page", 100..175);
    assert!(filling.number("percent") > 80.0);
    assert_eq!(filling.info("state"), "high");
    let logged = filling.logged();
    assert_eq!(logged.len(), 1, "{logged:?}");
    assert!(logged[0].starts_with("Keyspace bounded (db 0) takes 8"), "{}", logged[0]);
    assert!(logged[0].contains(" of 262144 bytes, of which "), "{}", logged[0]);
    // To and fro about the threshold.
    for _ in 0..3 {
        filling.remove("page", 145..175);
        assert!((70.0..80.0).contains(&filling.number("percent")), "{}", filling.info("percent"));
        assert_eq!(filling.logged(), [""; 0]);
        filling.fill("page", 145..175);
        assert_eq!(filling.logged(), [""; 0]);
    }
    filling.remove("page", 100..175);
    let logged = filling.logged();
    assert!(logged.len() == 1 && logged[0].ends_with("% of its max_memory again"), "{logged:?}");
    filling.fill("page", 100..175);
    assert_eq!(filling.logged().len(), 1);
}

#[test]
fn rows_that_may_not_go_are_warned_of_before_writes_are_refused() {
    let mut filling = Filling::new();
    filling.fill("paid", 0..210);
    assert_eq!(filling.info("state"), "unevictable");
    let logged = filling.logged();
    assert_eq!(logged.len(), 2, "{logged:?}");
    let expected = "Keyspace bounded (db 0): rows that may not be evicted take 8";
    assert!(logged[1].starts_with(expected) && logged[1].ends_with("(OOM)"), "{}", logged[1]);
    let value = "x".repeat(1000);
    let refused = (210..400).map(|id| format!("SET paid:{id} {value}")).find(|command| {
        filling.test.call(filling.client, command).starts_with("-OOM command not allowed")
    });
    assert!(refused.is_some(), "it takes no more");
    assert_eq!(filling.info("state"), "full");
    assert_eq!(filling.logged(), [""; 0], "both were said before");
    filling.remove("paid", 0..210);
    assert_eq!(filling.logged().len(), 2);
    assert_eq!(filling.info("state"), "ok");
}

#[test]
fn a_cache_that_is_full_is_warned_of_once_however_long_it_evicts() {
    let mut filling = Filling::new();
    let mut logged = Vec::new();
    for round in 0..10 {
        filling.fill("page", round * 200..(round + 1) * 200);
        logged.extend(filling.logged());
    }
    assert_eq!(logged.len(), 1, "{logged:?}");
    assert_eq!(filling.info("state"), "high");
}
