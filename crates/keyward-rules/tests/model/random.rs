//! Random commands, and after each: every derived key equals its recomputation
//! from the sources, and every row is what the schema declares.

use std::collections::{BTreeMap, BTreeSet};

use keyward_rules::{Cause, Element, Holds, Row};
use keyward_schema::{Derived, Lifetime};
use keyward_testkit::Random;

use crate::SCHEMA;
use crate::host::{Host, Outcome};
use crate::keyspace::{Bytes, Value};

/// How many commands each seed runs.
const COMMANDS: usize = 1500;
const SEEDS: u64 = 4;

#[test]
fn derived_keys_equal_their_recomputation_after_every_command() {
    for seed in 1..=SEEDS {
        let mut host = Host::new(SCHEMA);
        let mut random = Random::new(seed);
        let (mut done, mut refused) = (0, 0);
        for step in 0..COMMANDS {
            let command = command(&mut random, host.now_ms);
            match host.run_words(&command) {
                Outcome::Done => done += 1,
                Outcome::Refused(_) => refused += 1,
                Outcome::Failed => {}
            }
            if random.below(4) == 0 {
                host.wait(random.below(1500) as i64);
            }
            if random.below(20) == 0 {
                evict(&mut host, &mut random);
            }
            let told = || {
                let words = command.iter().map(|word| word.escape_ascii().to_string());
                format!("seed {seed}, step {step}: {}", words.collect::<Vec<_>>().join(" "))
            };
            computed_keys_are_true(&host, &told);
            rows_are_sound(&host, &told);
            assert!(host.warnings.is_empty(), "{}: {:?}", told(), host.warnings);
        }
        assert!(done > COMMANDS / 4 && refused > COMMANDS / 10, "{done} done, {refused} refused");
    }
}

/// Takes away a row that nobody else keeps.
fn evict(host: &mut Host, random: &mut Random) {
    let is_own = |key: &&Bytes| {
        host.book.table_of(key).is_some_and(|table| host.book.traits(table).source.is_none())
    };
    let keys: Vec<Bytes> = host.keyspace.rows.keys().filter(is_own).cloned().collect();
    if !keys.is_empty() {
        let victim = random.pick(&keys);
        host.lose(victim, Cause::Eviction);
    }
}

/// The rows of computed keys and mirrors, made anew from all other rows.
pub(crate) fn computed_keys_are_true(host: &Host, told: &dyn Fn() -> String) {
    let mut wanted: BTreeMap<Bytes, Value> = BTreeMap::new();
    let mut is_kept: BTreeSet<usize> = BTreeSet::new();
    for id in host.book.schema().ids() {
        let source = &host.book.traits(id).source;
        let is_mirror = matches!(host.book.schema().key(id).derived, Some(Derived::Inverse { .. }));
        if host.book.traits(id).is_computed || is_mirror {
            is_kept.insert(id.index());
            is_kept.extend(source.filter(|_| is_mirror).map(|source| source.index()));
        }
    }
    for (key, row) in &host.keyspace.rows {
        let table = host.book.table_of(key).expect("rows have tables");
        for entry in host.book.entries_of(table, key, row) {
            let place = wanted.entry(entry.key);
            match entry.holds {
                Holds::Text | Holds::Value => {
                    place.or_insert(Value::Text(entry.member));
                }
                Holds::Member => {
                    if let Value::Set(members) =
                        place.or_insert_with(|| Value::Set(BTreeSet::new()))
                    {
                        members.insert(entry.member);
                    }
                }
                Holds::Score(score) => {
                    if let Value::Zset(members) =
                        place.or_insert_with(|| Value::Zset(BTreeMap::new()))
                    {
                        members.insert(entry.member, score);
                    }
                }
            }
        }
    }
    let kept = host.keyspace.rows.iter().filter(|(key, _)| {
        host.book.table_of(key).is_some_and(|table| is_kept.contains(&table.index()))
    });
    let kept: BTreeMap<Bytes, Value> =
        kept.map(|(key, row)| (key.clone(), row.value.clone())).collect();
    assert_eq!(kept, wanted, "{}", told());
}

/// Each row fits, ends when it must, and names what lives.
pub(crate) fn rows_are_sound(host: &Host, told: &dyn Fn() -> String) {
    for (key, row) in &host.keyspace.rows {
        let table = host.book.table_of(key).expect("rows have tables");
        let declared = host.book.schema().key(table);
        let shown = key.escape_ascii();
        assert_eq!(host.book.misfit_of(table, key, row), None, "{} at {shown}", told());
        let most = declared.lifetime.longest().map(|most| host.now_ms + most.as_ms() as i64);
        if let Some(most) = most {
            assert!(row.deadline.is_some_and(|end| end <= most), "{} at {shown}", told());
        }
        if declared.lifetime == Lifetime::Forever {
            assert_eq!(row.deadline, None, "{} at {shown}", told());
        }
        if let Some(leader) = host.book.leader(table, key) {
            let end = host.keyspace.rows.get(&leader).map(|leader| leader.deadline);
            assert_eq!(end, Some(row.deadline), "{} at {shown}", told());
        }
        if let Some(Derived::Follows { of }) = &declared.derived {
            row.each(&mut |element| {
                let member = match element {
                    Element::Member(member) | Element::Scored(member, _) => member,
                    other => panic!("{other:?} in a follower"),
                };
                let named = host.book.referred(table, key, of, member);
                let lives = named.is_some_and(|named| host.keyspace.rows.contains_key(&named));
                assert!(lives, "{} at {shown}", told());
            });
        }
    }
}

/// One of few numbers, so that commands meet the same rows.
fn few(random: &mut Random) -> usize {
    random.below(4)
}

pub(crate) fn command(random: &mut Random, now_ms: i64) -> Vec<Bytes> {
    let text = match random.below(11) {
        0 | 1 => hash_command(random),
        2 | 3 => string_command(random, now_ms),
        4 => set_command(random),
        5 | 6 => follower_command(random),
        7 => format!("{} log:{} x y", random.pick(&["LPUSH", "RPUSH"]), few(random)),
        8 => card_command(random),
        _ => any_key_command(random),
    };
    text.split(' ').map(Into::into).collect()
}

fn hash_command(random: &mut Random) -> String {
    let id = few(random);
    match random.below(4) {
        0 => format!(
            "HSET user:{id} status {} plan {} email m{}",
            random.pick(&["active", "closed"]),
            random.pick(&["gold", "free"]),
            few(random)
        ),
        1 => format!("HSET user:{id} seen {}", random.below(9)),
        2 => format!("HSET user:{id} status {}", random.pick(&["active", "closed", "lost"])),
        _ => format!("HDEL user:{id} {}", random.pick(&["email", "seen", "plan", "email seen"])),
    }
}

fn card_command(random: &mut Random) -> String {
    let (card, other) = (few(random), few(random));
    let state = random.pick(&["on", "off"]);
    match random.below(6) {
        0 | 1 => format!("HSET card:{card} card {card} state {state} user {other}"),
        2 => format!("HSET card:{card} used {} quota {}", random.below(5), random.below(5)),
        3 => format!("HSET card:{card} {} {other}", random.pick(&["used", "quota", "user"])),
        4 => format!("HDEL card:{card} {}", random.pick(&["user", "used", "quota", "state"])),
        _ => format!("SET user_of:{card} {other}"),
    }
}

fn string_command(random: &mut Random, now_ms: i64) -> String {
    let id = few(random);
    match random.below(8) {
        0 => format!("SET code:{id} c{}", few(random)),
        1 => format!("MSET code:{id} c{} code:{} c{}", few(random), few(random), few(random)),
        2 => format!("MSET code:{id} c{} owner:c{} {id}", few(random), few(random)),
        3 | 4 => {
            let ends = now_ms - 500 + random.below(20_000) as i64;
            let (doc, kind) = (random.below(2), random.pick(&["text", "image"]));
            format!("SET doc:{doc} {{\"kind\":\"{kind}\",\"ends\":{ends}}}")
        }
        5 | 6 => format!("SET note:{}:{id} t{}", random.below(2), few(random)),
        _ => format!("APPEND code:{id} x"),
    }
}

fn set_command(random: &mut Random) -> String {
    let (a, b, c) = (few(random), few(random), few(random));
    let (one, other) = (random.pick(&["out", "in"]), random.pick(&["out", "in"]));
    match random.below(5) {
        0 | 1 => format!("SADD user:{a}:{one} {b} {c}"),
        2 => format!("SREM user:{a}:{one} {b}"),
        3 => format!("SMOVE user:{a}:{one} user:{b}:{other} {c}"),
        _ => format!("SUNIONSTORE user:{a}:{one} user:{b}:{other} user:{c}:{one}"),
    }
}

fn follower_command(random: &mut Random) -> String {
    let (room, n) = (random.below(2), random.below(6));
    match random.below(6) {
        0 | 1 => format!("SET msg:{room}:{n} hello"),
        2 | 3 => format!("ZADD recent:{room} {} {n}", random.below(50)),
        4 => format!("SADD notes:{room} {}", few(random)),
        _ => format!("SREM notes:{room} {}", few(random)),
    }
}

fn any_key_command(random: &mut Random) -> String {
    let (key, other) = (any_key(random), any_key(random));
    match random.below(8) {
        0 | 1 => format!("DEL {key}"),
        2 => format!("DEL {key} {other}"),
        3 => format!("RENAME {key} {other}"),
        4 => format!("COPY {key} {other} REPLACE"),
        5 => format!("PEXPIRE {key} {}", random.below(9000)),
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
        "note:A:B",
        "notes:A",
        "user:A:out",
        "user:A:in",
        "msg:A:B",
        "recent:A",
        "log:A",
        "active",
        "active:gold",
        "seen",
        "owner:cA",
        "by_email:mA",
        "by_live_email:mA",
        "card:A",
        "user_of:A",
        "closed",
    ]);
    pattern.replace('A', &a.to_string()).replace('B', &b.to_string())
}
