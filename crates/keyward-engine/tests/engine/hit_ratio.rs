//! Eviction keeps what is asked for: a cache of half the keys under a zipfian load.
//!
//! The measure is a cache that always lets go of exactly the row used longest ago.
//! `keyward-bench --hit-ratio` holds real servers against Redis.

use crate::harness::TestEngine;
use keyward_engine::{MemoryLimit, Policy, Tunables};
use keyward_testkit::Random;
use std::collections::{BTreeMap, BTreeSet};

const KEYS: usize = 1_000;
const KEPT: u64 = KEYS as u64 / 2;
const READS: usize = 20_000;
/// Milliseconds between two reads: use is told apart by the second.
const READ_MS: i64 = 50;
const OVER: u64 = 1 << 40;

/// The keys that are read, few of them often and many seldom.
fn reads() -> Vec<usize> {
    let weights: Vec<f64> = (1..=KEYS).map(|rank| (rank as f64).powf(-0.99)).collect();
    let total: f64 = weights.iter().sum();
    let mut random = Random::new(1);
    let mut draw = || {
        let mut left = random.share() * total;
        let rank = weights.iter().position(|weight| {
            left -= weight;
            left < 0.0
        });
        rank.unwrap_or(KEYS - 1) * 617 % KEYS
    };
    (0..READS).map(|_| draw()).collect()
}

/// The share of hits in the second half of some reads.
fn ratio(reads: &[usize], mut is_hit: impl FnMut(usize) -> bool) -> f64 {
    let hits: Vec<bool> = reads.iter().map(|id| is_hit(*id)).collect();
    let later = &hits[READS / 2..];
    later.iter().filter(|is_hit| **is_hit).count() as f64 / later.len() as f64
}

/// What a cache reaches that knows the exact order of use.
fn exact_ratio(reads: &[usize]) -> f64 {
    let mut order: BTreeSet<(usize, usize)> = BTreeSet::new();
    let mut last_use: BTreeMap<usize, usize> = BTreeMap::new();
    let mut now = 0;
    ratio(reads, |id| {
        now += 1;
        let before = last_use.insert(id, now);
        let is_hit = before.is_some_and(|at| order.remove(&(at, id)));
        if !is_hit && order.len() as u64 == KEPT {
            order.pop_first();
        }
        order.insert((now, id));
        is_hit
    })
}

/// What an engine reaches, under a schema or a policy.
fn engine_ratio(reads: &[usize], schema: Option<&str>, policy: &str) -> f64 {
    let mut test = match schema {
        Some(schema) => TestEngine::governed(1, schema),
        None => TestEngine::new(1),
    };
    let policy = Policy::by_name(policy);
    let memory = MemoryLimit { bytes_max: 1, policy, ..MemoryLimit::default() };
    test.engine.set_tunables(Tunables { memory, ..Tunables::default() });
    let client = test.engine.connect();
    let mut written = 0;
    ratio(reads, |id| {
        test.set_time(test.now_ms + READ_MS);
        if test.call(client, &format!("GET cache:{id}")) != "$-1\r\n" {
            return true;
        }
        if written - test.engine.facts().keys.evicted == KEPT {
            test.host.used_memory.push_back(OVER);
        }
        assert_eq!(test.call(client, &format!("SET cache:{id} value{id}")), "+OK\r\n");
        written += 1;
        false
    })
}

fn table(evict: &str) -> String {
    format!(
        "[keyspace]\nname = \"cache\"\n\
         [key.\"cache:{{id:uint}}\"]\ntype = \"string\"\nttl = \"1d\"\nevict = \"{evict}\"\n"
    )
}

#[test]
fn a_cache_of_half_the_keys_has_about_as_many_hits_as_an_exact_one() {
    let reads = reads();
    let exact = exact_ratio(&reads);
    assert!((0.7..0.95).contains(&exact), "the load has a cache worth its name: {exact}");
    for (name, schema) in [("lru", None), ("lfu", None), ("lru", Some(())), ("lfu", Some(()))] {
        let schema = schema.map(|()| table(name));
        let ratio = engine_ratio(&reads, schema.as_deref(), &format!("allkeys-{name}"));
        // Use is known by the second, and the order by a few samples.
        let least = if name == "lru" { exact - 0.02 } else { exact };
        assert!(ratio >= least, "{name}, {schema:?}: {ratio:.3} of hits, and {exact:.3} exactly");
    }
}
