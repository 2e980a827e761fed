//! Snapshots that are taken in steps while commands run are of the instant they began.

use crate::harness::TestEngine;
use keyward_engine::{Coverage, Random, SnapshotOptions};
use keyward_rdb::Ending;

pub(crate) const OPTIONS: SnapshotOptions =
    SnapshotOptions { coverage: Coverage::Whole, sums: true, used_bytes: 0 };
const SHOP: &str = include_str!("../../../../tests/schema/shop.toml");

/// The rows of a file, in order.
fn rows_of(file: &[u8]) -> Vec<String> {
    let mut test = TestEngine::new(9);
    test.engine.load(&mut test.host, &mut &*file).expect("the snapshot is sound");
    rows(&mut test)
}

fn rows(test: &mut TestEngine) -> Vec<String> {
    let state = test.state();
    // The last word is the access clock, which is not kept.
    let rows = state.lines().map(|line| line.rsplit_once(' ').expect("a line has words").0);
    let mut rows: Vec<String> = rows.map(str::to_owned).collect();
    rows.sort();
    rows
}

/// The rows that a snapshot of this instant would bring back.
fn expected(test: &TestEngine) -> Vec<String> {
    let file = test.engine.snapshot().write_to(Vec::new(), OPTIONS);
    rows_of(&file.expect("memory takes it"))
}

fn check(file: &[u8], expected: &[String], what: &str) {
    let found = rows_of(file);
    let differs = found.iter().zip(expected).find(|(one, other)| one != other);
    assert!(differs.is_none(), "{what}: {differs:?}");
    assert_eq!(found.len(), expected.len(), "{what}");
}

/// A file being put together of what an engine hands over.
pub(crate) struct Taken {
    file: Vec<u8>,
    ending: Ending,
}

impl Taken {
    pub(crate) fn begin(test: &mut TestEngine) -> Taken {
        test.engine.begin_snapshot(OPTIONS);
        Taken { file: Vec::new(), ending: Ending::new(true) }
    }

    /// Goes on for one step; whether the snapshot is over.
    pub(crate) fn step(&mut self, test: &mut TestEngine) -> bool {
        test.engine.step_snapshot(&mut |bytes| {
            self.ending.add(&bytes);
            self.file.extend_from_slice(&bytes);
        })
    }

    pub(crate) fn end(mut self) -> Vec<u8> {
        self.file.extend_from_slice(&self.ending.end());
        self.file
    }
}

/// A random command that changes something.
fn command(random: &mut Random) -> String {
    let key = random.below(400);
    let other = random.below(400);
    let element = random.below(40);
    match random.below(40) {
        0..8 => format!("SET s{key} {element}"),
        8..10 => format!("APPEND s{key} {element}"),
        10 => format!("INCR s{key}"),
        11..16 => format!("HSET h{key} f{element} {key}"),
        16 => format!("HDEL h{key} f{element}"),
        17..20 => format!("RPUSH l{key} {element} {key}"),
        20 => format!("LPOP l{key}"),
        21..24 => format!("SADD t{key} {element}"),
        24..27 => format!("ZADD z{key} {element} {other}"),
        27 => format!("RENAME s{key} s{other}"),
        28 => format!("COPY h{key} h{other} REPLACE"),
        29 => format!("MOVE s{key} 1"),
        30 => format!("SUNIONSTORE t{key} t{key} t{other}"),
        31 => format!("PEXPIRE s{key} 1000000"),
        32 => format!("PERSIST s{key}"),
        33..37 => format!("DEL s{key} h{key} l{other} z{other}"),
        37 => format!("MSET s{key} 1 s{other} 2"),
        38 if random.below(20) == 0 => "FLUSHDB".to_owned(),
        39 if random.below(20) == 0 => "SWAPDB 0 1".to_owned(),
        _ => format!("GETEX s{key} PERSIST"),
    }
}

fn run(test: &mut TestEngine, random: &mut Random, count: u64) {
    let client = test.engine.connect();
    for _ in 0..count {
        let reply = test.call(client, &command(random));
        assert!(!reply.starts_with("-ERR unknown"), "{reply}");
    }
    test.engine.disconnect(client);
}

#[test]
fn a_snapshot_taken_in_steps_is_of_the_instant_it_began() {
    for seed in 0..8 {
        let mut random = Random::from_seed(seed);
        let mut test = TestEngine::new(seed);
        // Several snapshots of one engine, so that both epochs are seen.
        for _ in 0..3 {
            run(&mut test, &mut random, 3000);
            let expected = expected(&test);
            let mut taken = Taken::begin(&mut test);
            let mut steps = 0;
            while {
                let count = random.below(200);
                run(&mut test, &mut random, count);
                !taken.step(&mut test)
            } {
                steps += 1;
            }
            check(&taken.end(), &expected, &format!("seed {seed}"));
            assert!(test.engine.snapshot_progress().is_none() && steps < 1000);
        }
    }
}

#[test]
fn a_snapshot_of_many_rows_takes_many_steps() {
    let mut test = TestEngine::new(1);
    let client = test.engine.connect();
    for number in 0..20_000 {
        test.call(client, &format!("SET key:{number} {number}"));
    }
    let expected = expected(&test);
    let mut taken = Taken::begin(&mut test);
    let mut steps = 0;
    loop {
        // One row far from the walk each time, one that is new, one that goes.
        test.call(client, &format!("SET key:{} x", 19_999 - steps));
        test.call(client, &format!("SET new:{steps} x"));
        test.call(client, &format!("DEL key:{}", 100 + steps));
        if taken.step(&mut test) {
            break;
        }
        steps += 1;
    }
    assert!(steps >= 4, "{steps} steps");
    check(&taken.end(), &expected, "the instant it began");
}

#[test]
fn a_database_that_is_emptied_meanwhile_is_in_the_snapshot() {
    for freeing in ["SYNC", "ASYNC"] {
        let mut test = TestEngine::governed(1, SHOP);
        let client = test.engine.connect();
        test.call(client, "HSET customer:1 email ada@x balance 1.00 plan paid seen_at 5");
        test.call(client, "HSET customer:2 email bob@x balance 2.00 plan free");
        test.call(client, "SELECT 1");
        (0..5000).for_each(|number| drop(test.call(client, &format!("SET k{number} 1"))));
        let expected = expected(&test);
        let mut taken = Taken::begin(&mut test);
        assert!(!taken.step(&mut test));
        assert_eq!(test.call(client, &format!("FLUSHALL {freeing}")), "+OK\r\n");
        test.call(client, "SET k1 2");
        while !taken.step(&mut test) {}
        check(&taken.end(), &expected, "the instant it began");
        while test.tick() {}
        let after = rows(&mut test);
        assert_eq!(after.len(), 1, "{after:?}");
    }
}

#[test]
fn an_abandoned_snapshot_gives_nothing_and_the_next_one_is_whole() {
    let mut test = TestEngine::new(1);
    let mut random = Random::from_seed(5);
    run(&mut test, &mut random, 5000);
    let mut taken = Taken::begin(&mut test);
    taken.step(&mut test);
    test.engine.abandon_snapshot();
    let before = taken.file.len();
    run(&mut test, &mut random, 100);
    while !taken.step(&mut test) {}
    assert_eq!(taken.file.len(), before);
    let expected = expected(&test);
    let mut taken = Taken::begin(&mut test);
    while !taken.step(&mut test) {}
    check(&taken.end(), &expected, "the instant it began");
}

#[test]
fn while_rows_are_loaded_clients_are_told_to_wait() {
    let mut test = TestEngine::new(1);
    let client = test.engine.connect();
    test.engine.begin_loading();
    for command in ["GET a", "SET a 1", "PING"] {
        let expected = "-LOADING Redis is loading the dataset in memory\r\n";
        assert_eq!(test.call(client, command), expected, "{command}");
    }
    assert!(test.call(client, "INFO").starts_with('$'));
    let mut settling = test.engine.begin_settling();
    while test.engine.settle_rows(&mut test.host, &mut settling, 1) {}
    test.engine.end_loading(&mut test.host, keyward_engine::Loaded::default());
    assert_eq!(test.call(client, "SET a 1"), "+OK\r\n");
}
