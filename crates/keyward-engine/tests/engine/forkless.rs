//! Snapshots that are taken in steps while commands run are of the instant they began.

use crate::harness::TestEngine;
use keyward_engine::{ClientId, Coverage, Random, SnapshotOptions};
use keyward_rdb::Ending;
use keyward_resp::push_request;

pub(crate) const OPTIONS: SnapshotOptions =
    SnapshotOptions { coverage: Coverage::Whole, sums: true, used_bytes: 0 };
/// A schema under which large collections of any key are changed with the journal on.
const ANY: &str = "[keyspace]\nname = \"any\"\nunknown = \"allow\"\n\n\
    [key.\"h:{id}\"]\ndoc = \"Anything.\"\ntype = \"hash\"\nttl = \"none\"\n";
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
        test.engine.step_snapshot(&mut |bytes| self.add(bytes))
    }

    fn add(&mut self, bytes: Vec<u8>) {
        self.ending.add(&bytes);
        self.file.extend_from_slice(&bytes);
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
    match random.below(48) {
        40..44 => format!("XADD x{key} 5-* f {element}"),
        44 => format!("XDEL x{key} 5-{}", element % 4),
        45 => format!("XGROUP CREATE x{key} g 0 MKSTREAM"),
        46 => format!("XREADGROUP GROUP g c{} STREAMS x{key} >", element % 3),
        47 => format!("XTRIM x{key} MAXLEN 2"),
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

/// A random command that changes a large collection.
fn change_large(random: &mut Random) -> String {
    let (key, element) = (random.below(2), random.below(4000));
    let (index, end) = (random.below(1500), ["L", "R"][random.below(2) as usize]);
    match random.below(64) {
        0..8 => format!("HSET h{key} f{element} new"),
        8..12 => format!("HDEL h{key} f{element}"),
        12..16 => format!("SADD t{key} m{element}"),
        16..20 => format!("SREM t{key} m{element}"),
        20..26 => format!("ZADD z{key} {index} m{element}"),
        26..30 => format!("ZREM z{key} m{element}"),
        30 => format!("ZREMRANGEBYRANK z{key} {index} {}", index + 20),
        31..35 => format!("{end}PUSH l{key} a b {element}"),
        35..40 => format!("{end}POP l{key} {}", random.below(4)),
        40..43 => format!("LSET l{key} {index} new"),
        43 => format!("LINSERT l{key} BEFORE {index} new"),
        44 => format!("LREM l{key} {} a", random.below(7) as i64 - 3),
        45 => format!("LTRIM l{key} {} -{}", random.below(9), 1 + random.below(9)),
        46 => format!("SPOP t{key} {index}"),
        47 => format!("DEL h{key}"),
        48 => format!("UNLINK l{key}"),
        49 => format!("SET z{key} over"),
        50 => format!("RENAME t{key} t{}", random.below(3)),
        51 => format!("COPY l{key} l{} REPLACE", random.below(3)),
        52 => format!("MOVE h{key} 1"),
        53 => format!("EXPIRE z{key} 100000"),
        54 => format!("SUNIONSTORE t{key} t0 t1"),
        55 => "MULTI".to_owned(),
        56 => "EXEC".to_owned(),
        57 if random.below(9) == 0 => "FLUSHDB".to_owned(),
        58 if random.below(9) == 0 => "SWAPDB 0 1".to_owned(),
        59 => format!("EVAL redis.call('LPUSH', 'l{key}', 1) return 1 + {{}}"),
        _ => format!("EVAL redis.call('LSET', 'l{key}', 3, 1) redis.call('RPOP', 'l{key}')"),
    }
}

/// Sends a command; that of EVAL is its script.
fn call(test: &mut TestEngine, client: ClientId, command: &str) -> String {
    let Some(script) = command.strip_prefix("EVAL ") else { return test.call(client, command) };
    let mut request = Vec::new();
    push_request(&mut request, ["EVAL", script, "0"].iter());
    String::from_utf8(test.send(client, &request).1).expect("tests use text")
}

/// Gives large collections to whichever keys are not there.
fn fill_large(test: &mut TestEngine, random: &mut Random) {
    let client = test.engine.connect();
    for key in 0..2 {
        for number in (0..1500).step_by(50) {
            let elements: Vec<u64> = (0..50).map(|_| random.below(4000)).collect();
            let words = |word: &dyn Fn(&u64) -> String| {
                elements.iter().map(word).collect::<Vec<_>>().join(" ")
            };
            let fields = words(&|element| format!("f{element} {number}"));
            test.call(client, &format!("HSET h{key} {fields}"));
            test.call(client, &format!("SADD t{key} {}", words(&|element| format!("m{element}"))));
            let scored = words(&|element| format!("{} m{element}", number + element % 7));
            test.call(client, &format!("ZADD z{key} {scored}"));
            test.call(client, &format!("RPUSH l{key} {}", words(&u64::to_string)));
        }
    }
    test.engine.disconnect(client);
}

pub(crate) fn digest(test: &mut TestEngine) -> String {
    let client = test.engine.connect();
    let digest = test.call(client, "DEBUG DIGEST");
    test.engine.disconnect(client);
    assert!(digest.starts_with('+'), "{digest}");
    digest
}

pub(crate) fn digest_of(file: &[u8]) -> String {
    let mut test = TestEngine::new(9);
    test.engine.load(&mut test.host, &mut &*file).expect("the snapshot is sound");
    digest(&mut test)
}

#[test]
fn large_collections_that_change_meanwhile_are_of_the_instant_it_began() {
    for seed in 0..6 {
        let mut random = Random::from_seed(seed);
        let mut test = match seed % 3 {
            0 => TestEngine::governed(seed, ANY),
            _ => TestEngine::new(seed),
        };
        // Twice, so that both epochs are seen.
        for _ in 0..2 {
            fill_large(&mut test, &mut random);
            let expected = digest(&mut test);
            let mut taken = Taken::begin(&mut test);
            let client = test.engine.connect();
            let mut is_over = false;
            while !is_over {
                for _ in 0..random.below(12) {
                    call(&mut test, client, &change_large(&mut random));
                }
                is_over = taken.step(&mut test);
            }
            test.engine.disconnect(client);
            assert_eq!(digest_of(&taken.end()), expected, "seed {seed}");
            assert_eq!(test.engine.captured_bytes(), 0);
        }
    }
}

#[test]
fn a_change_of_a_large_collection_captures_what_it_changes() {
    let fill = [
        ("HSET", "h", "f{} {}", "HSET h f7 new"),
        ("SADD", "t", "m{}", "SREM t m7"),
        ("ZADD", "z", "{} m{}", "ZADD z 1000000 m7"),
        ("RPUSH", "l", "{}", "LPOP l 3"),
        ("RPUSH", "d", "{}", "DEL d"),
        ("RPUSH", "s", "{}", "SET s 1"),
    ];
    let mut test = TestEngine::new(1);
    let client = test.engine.connect();
    for start in (0..6000).step_by(500) {
        for (command, key, element, _) in fill {
            let elements = start..start + 500;
            let elements = elements.map(|number| element.replace("{}", &number.to_string()));
            let elements = elements.collect::<Vec<_>>().join(" ");
            test.call(client, &format!("{command} {key} {elements}"));
        }
    }
    let expected = digest(&mut test);
    let mut taken = Taken::begin(&mut test);
    let beginning = test.engine.captured_bytes();
    for (.., change) in fill {
        test.call(client, change);
        let captured = test.engine.captured_bytes() - beginning;
        assert!(captured < 2000, "{change}: {captured} bytes");
    }
    let (mut steps, mut before) = (0, taken.file.len());
    while !taken.step(&mut test) {
        let bytes = taken.file.len() - before;
        assert!(bytes < 80_000, "a step gives {bytes} bytes");
        (steps, before) = (steps + 1, taken.file.len());
    }
    assert!(steps > 10, "{steps} steps");
    assert_eq!(digest_of(&taken.end()), expected);
}

#[test]
fn items_that_leave_a_list_meanwhile_are_handed_over_in_steps() {
    let mut test = TestEngine::new(1);
    let client = test.engine.connect();
    for start in (0..40_000).step_by(500) {
        let items: Vec<String> = (start..start + 500).map(|n| format!("item-{n}")).collect();
        test.call(client, &format!("RPUSH l {}", items.join(" ")));
    }
    let expected = digest(&mut test);
    let mut taken = Taken::begin(&mut test);
    test.call(client, "LTRIM l 39990 -1");
    let (mut steps, mut before) = (0, taken.file.len());
    while !taken.step(&mut test) {
        let bytes = taken.file.len() - before;
        assert!(bytes < 80_000, "a step gives {bytes} bytes");
        (steps, before) = (steps + 1, taken.file.len());
    }
    assert!(steps > 5, "{steps} steps");
    assert_eq!(digest_of(&taken.end()), expected);
}

#[test]
fn what_a_script_or_a_transaction_captures_is_taken_on_the_way() {
    let mut random = Random::from_seed(3);
    let mut test = TestEngine::governed(3, ANY);
    fill_large(&mut test, &mut random);
    let client = test.engine.connect();
    for number in 0..3000 {
        test.call(client, &format!("SET s{number} {}", "x".repeat(100)));
    }
    let expected = digest(&mut test);
    let mut taken = Taken::begin(&mut test);
    // Amid a large row: it has to end before others can be taken.
    assert!(!taken.step(&mut test));
    test.host.captured_bytes_max = Some(20_000);
    call(&mut test, client, "EVAL for i = 0, 1499 do redis.call('DEL', 's' .. i) end");
    // What is undone, an emptied database too, is captured all the same.
    let undone = "EVAL for i = 1500, 1999 do redis.call('SET', 's' .. i, 1) end \
                  redis.call('FLUSHDB') return redis.call('DBSIZE') + {}";
    assert!(call(&mut test, client, undone).starts_with("-ERR user_script"));
    let taken_bytes = test.host.captured.iter().map(Vec::len).sum::<usize>();
    assert!(taken_bytes > 150_000, "{taken_bytes} bytes of 2000 rows are taken");
    test.call(client, "MULTI");
    for number in 1500..3000 {
        test.call(client, &format!("SET s{number} {number}"));
    }
    test.call(client, "EXEC");
    let more_bytes = test.host.captured.iter().map(Vec::len).sum::<usize>() - taken_bytes;
    assert!(more_bytes > 80_000, "{more_bytes} bytes of 1000 rows are taken");
    let captured = test.engine.captured_bytes();
    assert!(captured < 25_000, "{captured} bytes are left");
    let parts = std::mem::take(&mut test.host.captured);
    parts.into_iter().for_each(|part| taken.add(part));
    while !taken.step(&mut test) {}
    assert_eq!(digest_of(&taken.end()), expected);
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
    let mut settling = test.engine.begin_settling(false);
    while test.engine.settle_rows(&mut test.host, &mut settling, 1).expect("nothing is asked") {}
    test.engine.end_loading(&mut test.host, keyward_engine::Loaded::default());
    assert_eq!(test.call(client, "SET a 1"), "+OK\r\n");
}
