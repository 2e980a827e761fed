//! SCAN, KEYS, RANDOMKEY, DBSIZE and FLUSHDB where rows lie in several tables.
//!
//! SCAN's promise: what is there from the first call to the last is returned at
//! least once, and what is never there is not returned at all.

use crate::harness::{START_MS, TestEngine};
use keyward_engine::{ClientId, Random};
use std::collections::BTreeSet;

const SCHEMA: &str = r#"
[keyspace]
name = "shop"
unknown = "allow"

[key."a:{id:uint}"]
type = "string"

[key."a:{id:uint}:more"]
type = "string"

[key."b:{id:uint}"]
type = "string"
ttl = "10s"

[key."c:{id:uint}"]
type = "set"
"#;

/// How keys of each table begin and end; the last table is the plain one.
const TABLES: [(&str, &str); 5] = [("a:", ""), ("a:", ":more"), ("b:", ""), ("c:", ""), ("d:", "")];

fn key(table: usize, id: u64) -> String {
    let (before, after) = TABLES[table];
    format!("{before}{id}{after}")
}

fn write(key: &str) -> String {
    if key.starts_with("c:") { format!("SADD {key} x") } else { format!("SET {key} x") }
}

/// The texts of a reply, its first as the cursor.
fn texts(reply: &str) -> Vec<String> {
    let lines: Vec<&str> = reply.split("\r\n").collect();
    let heads = lines.windows(2).filter(|pair| pair[0].starts_with('$'));
    heads.map(|pair| pair[1].to_owned()).collect()
}

/// Scans to the end, and lets something happen after each call.
fn scan(
    test: &mut TestEngine,
    client: ClientId,
    options: &str,
    mut meanwhile: impl FnMut(&mut TestEngine),
) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut cursor = "0".to_owned();
    loop {
        let reply = test.call(client, &format!("SCAN {cursor} {options}"));
        let mut texts = texts(&reply).into_iter();
        cursor = texts.next().expect("a scan answers a cursor");
        found.extend(texts);
        if cursor == "0" {
            return found;
        }
        meanwhile(test);
    }
}

/// The keys that come and go during a scan.
struct Others {
    random: Random,
    /// All that ever were.
    seen: BTreeSet<String>,
    /// The fewest and the most rows there were.
    rows: (usize, usize),
    passed_ms: i64,
}

impl Others {
    /// One table grows or shrinks by hundreds of rows, some rows come and go in all of
    /// them, or rows come to their end.
    fn change(&mut self, test: &mut TestEngine, client: ClientId) {
        let table = self.random.below(5) as usize;
        match self.random.below(6) {
            0 => (0..300).for_each(|id| self.write(test, client, key(table, 100 + id))),
            1 => {
                let keys: Vec<String> = (0..300).map(|id| key(table, 100 + id)).collect();
                test.call(client, &format!("DEL {}", keys.join(" ")));
            }
            2 if self.passed_ms < 8_000 => {
                for id in 0..100 {
                    self.write(test, client, key(table, 100 + id));
                    test.call(client, &format!("PEXPIRE {} 500", key(table, 100 + id)));
                }
                self.passed_ms += 1_000;
                test.set_time(START_MS + self.passed_ms);
                test.tick();
            }
            _ => {
                for _ in 0..self.random.below(40) {
                    let table = self.random.below(5) as usize;
                    let key = key(table, 100 + self.random.below(300));
                    if self.random.below(2) == 0 {
                        self.write(test, client, key);
                    } else {
                        test.call(client, &format!("DEL {key}"));
                    }
                }
            }
        }
        let size = test.call(client, "DBSIZE");
        let size = size[1..].trim_end().parse().expect("a number");
        self.rows = (self.rows.0.min(size), self.rows.1.max(size));
    }

    fn write(&mut self, test: &mut TestEngine, client: ClientId, key: String) {
        test.call(client, &write(&key));
        self.seen.insert(key);
    }
}

#[test]
fn what_stays_during_a_scan_is_found_while_rows_come_and_go() {
    let mut rows = (usize::MAX, 0);
    for seed in 0..12 {
        let mut random = Random::from_seed(seed);
        let mut test = TestEngine::governed(seed, SCHEMA);
        let client = test.engine.connect();
        let stays: BTreeSet<String> =
            (0..120).map(|_| key(random.below(5) as usize, random.below(40))).collect();
        for key in &stays {
            assert!(!test.call(client, &write(key)).starts_with('-'), "{key}");
        }
        let (pattern, count) = (["*", "a:*", "a:*:more", "b:*", "d:*"], random.below(12) + 1);
        let pattern = pattern[random.below(5) as usize];
        let mut others = Others { random, seen: BTreeSet::new(), rows, passed_ms: 0 };
        // A scan begins in small tables or in large ones.
        (0..seed % 3).for_each(|_| others.change(&mut test, client));
        let found = scan(&mut test, client, &format!("MATCH {pattern} COUNT {count}"), |test| {
            others.change(test, client);
        });
        rows = others.rows;
        let matches = |key: &&String| match pattern {
            "*" => true,
            "a:*:more" => key.ends_with(":more"),
            pattern => key.starts_with(&pattern[..2]),
        };
        let missed: Vec<&String> =
            stays.iter().filter(matches).filter(|key| !found.contains(*key)).collect();
        assert!(missed.is_empty(), "seed {seed}, {pattern}: {missed:?}");
        let is_strange = |key: &&String| !stays.contains(*key) && !others.seen.contains(*key);
        let strange: Vec<&String> = found.iter().filter(is_strange).collect();
        assert!(strange.is_empty(), "seed {seed}, {pattern}: {strange:?}");
        assert!(found.iter().all(|key| matches(&key)), "seed {seed}, {pattern}");
    }
    assert!(rows.0 < 200 && rows.1 > 1_000, "tables grow and shrink: {rows:?}");
}

#[test]
fn a_scan_within_one_pattern_visits_that_table_alone() {
    let mut test = TestEngine::governed(1, SCHEMA);
    let client = test.engine.connect();
    for id in 0..200 {
        (0..4).for_each(|table| drop(test.call(client, &write(&key(table, id)))));
    }
    let mut visited = 0;
    let mut cursor = 0;
    loop {
        let keys = test.engine.keyspace();
        cursor = keys.scan(0, cursor, b"b:", |row| {
            assert!(row.key().starts_with(b"b:"));
            visited += 1;
        });
        if cursor == 0 {
            break;
        }
    }
    assert_eq!(visited, 200);
    // With room for a table and not for two, one call is enough.
    let reply = test.call(client, "SCAN 0 MATCH b:* COUNT 200");
    assert_eq!((texts(&reply)[0].as_str(), texts(&reply).len()), ("0", 201));
}

#[test]
fn keys_dbsize_and_flushdb_reach_every_table() {
    let mut test = TestEngine::governed(1, SCHEMA);
    let client = test.engine.connect();
    let all: BTreeSet<String> = (0..5).flat_map(|t| (0..9).map(move |id| key(t, id))).collect();
    all.iter().for_each(|key| drop(test.call(client, &write(key))));
    let keys = |test: &mut TestEngine, pattern: &str| -> BTreeSet<String> {
        texts(&test.call(client, &format!("KEYS {pattern}"))).into_iter().collect()
    };
    assert_eq!(keys(&mut test, "*"), all);
    assert_eq!(keys(&mut test, "*").len(), scan(&mut test, client, "", |_| {}).len());
    assert_eq!(keys(&mut test, "a:*").len(), 18);
    assert_eq!(keys(&mut test, "?:[3-4]").len(), 8);
    assert_eq!(test.call(client, "DBSIZE"), ":45\r\n");
    // Due rows count until they are found to be due, and are not shown.
    test.set_time(START_MS + 60_000);
    assert!(keys(&mut test, "b:*").is_empty());
    assert!(scan(&mut test, client, "MATCH b:*", |_| {}).is_empty());
    assert_eq!(test.call(client, "DBSIZE"), ":36\r\n");
    test.call(client, "FLUSHDB");
    assert_eq!(test.call(client, "DBSIZE"), ":0\r\n");
    assert_eq!(test.call(client, "RANDOMKEY"), "$-1\r\n");
    assert!(keys(&mut test, "*").is_empty());
    assert!(!test.call(client, "SET b:1 x").starts_with('-'), "the schema is still in force");
    assert_eq!(test.call(client, "TTL b:1"), ":10\r\n");
}

#[test]
fn random_keys_come_from_every_table_as_often_as_it_has_rows() {
    let mut test = TestEngine::governed(1, SCHEMA);
    let client = test.engine.connect();
    (0..30).for_each(|id| drop(test.call(client, &write(&key(0, id)))));
    (0..10).for_each(|id| drop(test.call(client, &write(&key(3, id)))));
    let drawn: Vec<String> =
        (0..4000).flat_map(|_| texts(&test.call(client, "RANDOMKEY"))).collect();
    let sets = drawn.iter().filter(|key| key.starts_with("c:")).count();
    assert_eq!(drawn.len(), 4000);
    assert!((800..1200).contains(&sets), "{sets} of 4000");
    assert_eq!(drawn.iter().collect::<BTreeSet<_>>().len(), 40);
}
