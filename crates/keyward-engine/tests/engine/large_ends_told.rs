//! Large ends: what is going is told by its key, and a refusal does nothing before it is one.

use crate::harness::TestEngine;
use crate::large_ends_model::{SCHEMA, ask, loaded, members};
use keyward_engine::{ClientId, Coverage, SnapshotOptions};

const NARROW: &str = r#"
[keyspace]
name    = "narrow"
unknown = "allow"

[key."fans:{id:uint}"]
type       = "set"
ttl        = "none"
inverse    = "idols:{member}"
max_fanout = 10

[key."idols:{id:uint}"]
type       = "set"
ttl        = "none"
inverse    = "fans:{member}"
max_fanout = 10
"#;

fn governed(schema: &str) -> (TestEngine, ClientId) {
    let mut test = TestEngine::governed(1, schema);
    let client = test.engine.connect();
    (test, client)
}

fn all_ticks(test: &mut TestEngine) {
    while test.engine.has_pending_ends() {
        test.tick();
    }
}

/// Rows that live with one, and from which others are derived.
fn badges(test: &mut TestEngine, client: ClientId, count: u64) {
    test.call(client, "SET team:1 x EX 1000");
    for n in 0..count {
        assert_eq!(test.call(client, &format!("SET badge:{n} code{n}")), "+OK\r\n");
    }
}

fn lines(test: &mut TestEngine, client: ClientId, count: u64) {
    test.call(client, "SET cart:a x EX 1000");
    for n in 0..count {
        assert_eq!(test.call(client, &format!("SET line:a:{n} x")), "+OK\r\n");
    }
}

/// How much is known to have been done: hits, and bytes that a snapshot captured.
fn work(test: &mut TestEngine) -> (u64, usize) {
    let keys = test.engine.keyspace();
    (keys.stats.hits, keys.captured_bytes())
}

#[test]
fn a_set_that_is_refused_by_type_does_nothing_to_a_large_row() {
    let (mut test, client) = governed(SCHEMA);
    test.call(client, &format!("SADD user:1:followers {}", members(1000, 2000)));
    let coverage = Coverage::Everything;
    test.engine.begin_snapshot(SnapshotOptions { coverage, sums: true, used_bytes: 0 });
    let before = work(&mut test);
    let refused = "-SCHEMA user:1:followers: is declared a set, not a string";
    let of_another_type = "-WRONGTYPE ";
    for (command, expected) in [
        ("SET user:1:followers x", refused),
        ("SET user:1:followers x EX 10", refused),
        ("SET user:1:followers x NX", refused),
        ("SETNX user:1:followers x", refused),
        ("SETEX user:1:followers 10 x", refused),
        ("PSETEX user:1:followers 10 x", refused),
        ("MSET user:1:followers x", refused),
        ("MSETNX user:1:followers x", refused),
        ("GETSET user:1:followers x", of_another_type),
        ("SET user:1:followers x GET", of_another_type),
        ("SET user:1:followers x NX XX", "-ERR syntax error"),
        ("SET user:1:followers x EX 10 KEEPTTL", "-ERR syntax error"),
        ("SETEX user:1:followers 0 x", "-ERR invalid expire time in 'setex' command"),
    ] {
        let reply = test.call(client, command);
        assert!(reply.starts_with(expected), "{command}: {reply}");
        assert_eq!(work(&mut test), before, "{command}");
    }
    assert_eq!(test.call(client, "SCARD user:1:followers"), ":2000\r\n");
}

#[test]
fn what_would_store_another_type_is_refused_before_it_is_worked_out() {
    let (mut test, client) = governed(SCHEMA);
    let many = members(1000, 2000);
    test.call(client, &format!("SADD user:1:followers {many}"));
    test.call(client, &format!("SADD plain {many}"));
    test.call(client, &format!("SADD few {}", members(2900, 500)));
    test.call(client, "SADD other none");
    test.call(client, "ZADD scores 1 a 2 b");
    test.call(client, "GEOADD places 13.36 38.11 a");
    test.call(client, "SET text abc");
    let coverage = Coverage::Everything;
    test.engine.begin_snapshot(SnapshotOptions { coverage, sums: true, used_bytes: 0 });
    let (_, before) = work(&mut test);
    for (command, found) in [
        ("ZUNIONSTORE user:1:followers 2 scores plain", "a zset"),
        ("ZINTERSTORE user:1:followers 2 few plain", "a zset"),
        ("ZDIFFSTORE user:1:followers 2 few plain", "a zset"),
        ("ZRANGESTORE user:1:followers scores 0 -1", "a zset"),
        ("SUNIONSTORE user:1 few plain", "a set"),
        ("SINTERSTORE user:1 few plain", "a set"),
        ("SDIFFSTORE user:1 few plain", "a set"),
        ("SORT plain ALPHA STORE user:1:followers", "a list"),
        ("SORT plain BY nosort STORE user:1:followers", "a list"),
        ("GEORADIUS places 13 38 200 km STORE user:1:followers", "a zset"),
        ("GEOSEARCHSTORE user:1:followers places FROMMEMBER a BYRADIUS 9 km", "a zset"),
        ("BITOP OR user:1:followers text", "a string"),
        ("COPY plain user:1", "a set"),
        ("COPY scores user:1:followers REPLACE", "a zset"),
        ("RENAME scores user:1:followers", "a zset"),
    ] {
        let reply = test.call(client, command);
        assert!(reply.starts_with("-SCHEMA user:1") && reply.contains(found), "{command}: {reply}");
        assert_eq!(work(&mut test).1, before, "{command}");
    }
    // Redis's own errors come first.
    for (command, expected) in [
        ("ZUNIONSTORE user:1:followers 2 text plain", "-WRONGTYPE"),
        ("ZUNIONSTORE user:1:followers 1 plain WEIGHTS x", "-ERR weight value is not a float"),
        ("SUNIONSTORE user:1 plain text", "-WRONGTYPE"),
        ("ZRANGESTORE user:1:followers text 0 -1", "-WRONGTYPE"),
        ("SORT text ALPHA STORE user:1:followers", "-WRONGTYPE"),
        ("BITOP OR user:1:followers text plain", "-WRONGTYPE"),
        ("COPY none user:1", ":0"),
        ("COPY plain user:1:followers", ":0"),
        ("SORT plain STORE user:1:followers", "-SCHEMA user:1:followers"),
        ("SORT other STORE user:1:followers", "-ERR One or more scores can't be converted"),
        ("GEORADIUS text 1 1 9 km STORE user:1:followers", "-WRONGTYPE"),
        ("RENAME none user:1:followers", "-ERR no such key"),
    ] {
        let reply = test.call(client, command);
        assert!(reply.starts_with(expected), "{command}: {reply}");
    }
}

#[test]
fn what_would_bring_too_much_to_mirrors_is_refused_by_its_length() {
    let (mut test, client) = governed(NARROW);
    for first in [100, 110, 120] {
        test.call(client, &format!("SADD idols:1 {}", members(first, 10)));
    }
    test.call(client, &format!("SADD idols:2 {}", members(500, 10)));
    let coverage = Coverage::Everything;
    test.engine.begin_snapshot(SnapshotOptions { coverage, sums: true, used_bytes: 0 });
    let before = work(&mut test);
    let refused = "-SCHEMA fans:{id:uint}: one command may add at most 10 entries to it";
    for (command, expected) in [
        ("RENAME idols:1 idols:3", refused),
        ("RENAMENX idols:1 idols:3", refused),
        ("COPY idols:1 idols:3", refused),
        ("COPY idols:1 idols:3 DB 0", refused),
        ("COPY idols:1 idols:2 REPLACE", refused),
        ("RENAME idols:1 idols:2", refused),
        ("COPY idols:1 idols:1", "-ERR source and destination objects are the same"),
        ("COPY idols:1 idols:3 DB 99", "-ERR DB index is out of range"),
        ("COPY idols:1 idols:3 ALL", "-ERR syntax error"),
        ("RENAME idols:9 idols:3", "-ERR no such key"),
        ("MOVE idols:1 0", "-ERR source and destination objects are the same"),
        ("RENAME idols:1 idols:1", "+OK"),
        ("RENAMENX idols:1 idols:2", ":0"),
    ] {
        let reply = test.call(client, command);
        assert!(reply.starts_with(expected), "{command}: {reply}");
        assert_eq!(work(&mut test), before, "{command}");
    }
    // What has no mirrors is not counted, and as many as may be are not too many.
    assert_eq!(test.call(client, "COPY idols:1 plain"), ":1\r\n");
    assert_eq!(test.call(client, "RENAME idols:1 plain"), "+OK\r\n");
    assert_eq!(test.call(client, "EXISTS fans:105 fans:129"), ":0\r\n");
    assert_eq!(test.call(client, "RENAME idols:2 idols:4"), "+OK\r\n");
    assert_eq!(test.call(client, "SMEMBERS fans:505"), "*1\r\n$1\r\n4\r\n");
    assert_eq!(test.call(client, "MOVE idols:4 1"), ":1\r\n");
    assert_eq!(test.call(client, "EXISTS fans:505"), ":0\r\n");
    test.call(client, "SELECT 1");
    assert_eq!(test.call(client, "SCARD idols:4"), ":10\r\n");
    for member in 0..30 {
        test.call(client, &format!("SADD idols:9 {member}"));
    }
    let reply = test.call(client, "MOVE idols:9 0");
    assert!(reply.starts_with(refused), "{reply}");
}

#[test]
fn a_set_is_renamed_over_a_large_one_whose_mirrors_go_in_steps() {
    let (mut test, client) = governed(SCHEMA);
    test.call(client, &format!("SADD user:1:followers {}", members(1000, 2000)));
    test.call(client, &format!("SADD user:2:followers {}", members(2500, 3)));
    test.effects();
    assert_eq!(test.call(client, "RENAME user:2:followers user:1:followers"), "+OK\r\n");
    let count = test.effects().len();
    assert!(count < 10, "{count} effects");
    assert!(test.engine.has_pending_ends());
    assert_eq!(test.call(client, "SMEMBERS user:2501:following"), "*1\r\n$1\r\n1\r\n");
    assert_eq!(test.call(client, "EXISTS user:1700:following"), ":0\r\n");
    all_ticks(&mut test);
    assert!(test.call(client, "KEYS user:*:following").starts_with("*3\r\n"));
}

#[test]
fn a_row_that_goes_with_its_leader_and_what_is_derived_from_it_are_gone_at_once() {
    let (mut test, client) = governed(SCHEMA);
    badges(&mut test, client, 1000);
    test.call(client, "DEL team:1");
    test.effects();
    for (command, expected) in [
        ("EXISTS badge:100", ":0\r\n"),
        ("TYPE badge:101", "+none\r\n"),
        ("TTL badge:102", ":-2\r\n"),
        ("GET badge:103", "$-1\r\n"),
        ("GET owner:code104", "$-1\r\n"),
        ("EXISTS owner:code105", ":0\r\n"),
    ] {
        assert_eq!(test.call(client, command), expected, "{command}");
        let effects = test.effects().len();
        assert!(effects <= 2, "{command}: {effects} effects");
        assert!(test.engine.has_pending_ends(), "{command}");
    }
    // What a row had that is going is free.
    test.call(client, "SET team:1 x");
    assert_eq!(test.call(client, "SET badge:5000 code200"), "+OK\r\n");
    assert_eq!(test.call(client, "GET owner:code200"), "$4\r\n5000\r\n");
    assert!(test.engine.has_pending_ends());
    all_ticks(&mut test);
    assert_eq!(test.call(client, "GET owner:code200"), "$4\r\n5000\r\n");
    assert_eq!(test.call(client, "DBSIZE"), ":3\r\n");
}

#[test]
fn a_set_whose_sources_go_with_one_row_goes_as_a_whole_and_comes_again() {
    let (mut test, client) = governed(SCHEMA);
    test.engine.log_changes(true);
    lines(&mut test, client, 1000);
    test.call(client, "DEL cart:a");
    test.effects();
    assert_eq!(test.call(client, "EXISTS lines:a"), ":0\r\n");
    assert_eq!(test.call(client, "SCARD lines:a"), ":0\r\n");
    assert_eq!(test.effect_lines(), ["0: DEL lines:a"]);
    assert_eq!(test.call(client, "KEYS *"), "*0\r\n");
    test.call(client, "SET cart:a y EX 1000");
    // One of a new key, and one of which an old one is going.
    test.call(client, "SET line:a:5000 x");
    test.call(client, "SET line:a:500 x");
    let both = "*2\r\n$3\r\n500\r\n$4\r\n5000\r\n";
    assert_eq!(test.call(client, "SORT lines:a"), both);
    assert!(test.engine.has_pending_ends());
    let mut log = Vec::new();
    test.engine.take_log(&mut log);
    let mut crashed = loaded(&log, usize::MAX, test.now_ms);
    all_ticks(&mut test);
    for test in [&mut crashed, &mut test] {
        assert_eq!(test.call(client, "SORT lines:a"), both);
        assert_eq!(test.call(client, "DBSIZE"), ":4\r\n");
    }
}

/// No row of the first generation was in the set, so that nothing of it is going.
#[test]
fn a_set_that_comes_while_sources_go_that_it_never_had_stays() {
    let schema = r#"
[keyspace]
name = "orders"

[key."cart:{sid}"]
type = "string"
ttl  = { given = true, max = "1d", default = "1h" }

[key."line:{sid}:{n:uint}"]
type   = "json"
ttl    = { with = "cart:{sid}" }
fields = { state = "open | done" }

[key."open:{sid}"]
type    = "set"
members = { of = "line:{sid}:{n}", when = "state = open" }
"#;
    let (mut test, client) = governed(schema);
    test.engine.log_changes(true);
    test.call(client, "SET cart:a x EX 1000");
    for n in 0..300 {
        test.call(client, &format!("SET line:a:{n} {{\"state\":\"done\"}}"));
    }
    test.call(client, "DEL cart:a");
    test.call(client, "SET cart:a x EX 1000");
    assert_eq!(test.call(client, "SET line:a:900 {\"state\":\"open\"}"), "+OK\r\n");
    assert!(test.engine.has_pending_ends());
    assert_eq!(test.call(client, "SMEMBERS open:a"), "*1\r\n$3\r\n900\r\n");
    all_ticks(&mut test);
    assert_eq!(test.call(client, "SMEMBERS open:a"), "*1\r\n$3\r\n900\r\n");
}

#[test]
fn who_lives_with_a_row_that_goes_is_gone_however_many_stand_between() {
    let (mut test, client) = governed(SCHEMA);
    test.call(client, "SET top:a x EX 1000");
    for m in 0..100 {
        test.call(client, &format!("SET mid:a:{m} x"));
        test.call(client, &format!("SET leaf:a:{m}:1 x"));
    }
    for l in 0..200 {
        test.call(client, &format!("SET leaf:a:7:{l} x"));
    }
    test.call(client, "DEL top:a");
    for (command, expected) in [
        ("EXISTS leaf:a:50:1", ":0\r\n"),
        ("SCARD leaves:a:51", ":0\r\n"),
        ("GET leaf:a:7:199", "$-1\r\n"),
        ("SCARD leaves:a:7", ":0\r\n"),
        ("KEYS *", "*0\r\n"),
    ] {
        assert_eq!(test.call(client, command), expected, "{command}");
        assert!(test.engine.has_pending_ends(), "{command}");
    }
    all_ticks(&mut test);
    assert_eq!(test.call(client, "DBSIZE"), ":0\r\n");
}

/// In a transaction and in a script nobody can wait.
#[test]
fn a_unit_reads_what_it_made_go_and_removes_no_more_than_that() {
    for is_script in [false, true] {
        let (mut test, client) = governed(SCHEMA);
        badges(&mut test, client, 1000);
        lines(&mut test, client, 1000);
        test.effects();
        let reads = [
            "DEL team:1 cart:a",
            "GET badge:7",
            "GET owner:code8",
            "EXISTS line:a:9",
            "SCARD lines:a",
        ];
        let (reply, expected) = match is_script {
            false => {
                test.call(client, "MULTI");
                reads.iter().for_each(|read| assert_eq!(test.call(client, read), "+QUEUED\r\n"));
                (test.call(client, "EXEC"), "*5\r\n:2\r\n$-1\r\n$-1\r\n:0\r\n:0\r\n")
            }
            true => {
                let calls = reads.map(|read| {
                    let words: Vec<_> = read.split(' ').map(|word| format!("'{word}'")).collect();
                    format!("redis.call({})", words.join(","))
                });
                let script = format!("EVAL return{{{}}} 0", calls.join(","));
                (test.call(client, &script), "*5\r\n:2\r\n$-1\r\n$-1\r\n:0\r\n:0\r\n")
            }
        };
        assert_eq!(reply, expected);
        let effects = test.effect_lines();
        assert!(effects.len() < 12, "{effects:?}");
        assert!(test.engine.has_pending_ends());
        all_ticks(&mut test);
        assert_eq!(test.call(client, "DBSIZE"), ":0\r\n");
    }
}

#[test]
fn what_a_failed_script_saw_go_as_a_whole_is_there_again() {
    let (mut test, client) = governed(SCHEMA);
    lines(&mut test, client, 300);
    let calls = "redis.call('DEL','cart:a')redis.call('SCARD','lines:a')";
    let undone = |test: &mut TestEngine, calls: &str| {
        let reply = ask(test, client, &format!("EVAL {calls}error('enough') 0"));
        assert!(reply.contains("enough"), "{reply}");
    };
    undone(&mut test, calls);
    assert_eq!(test.call(client, "SCARD lines:a"), ":300\r\n");
    // The end is older than the script, and goes on.
    test.call(client, "DEL cart:a");
    undone(&mut test, "redis.call('SCARD','lines:a');");
    assert_eq!(test.call(client, "SCARD lines:a"), ":0\r\n");
    test.call(client, "SET cart:a x");
    undone(&mut test, "redis.call('SET','line:a:7','x');");
    assert_eq!(test.call(client, "SCARD lines:a"), ":0\r\n");
    test.call(client, "SET line:a:8 x");
    all_ticks(&mut test);
    assert_eq!(test.call(client, "SMEMBERS lines:a"), "*1\r\n$1\r\n8\r\n");
}

#[test]
fn elements_of_few_sources_each_are_looked_up_and_many_are_waited_for() {
    let (mut test, client) = governed(SCHEMA);
    for keeper in 0..70 {
        test.call(client, &format!("SET keeper:{keeper} x EX 1000"));
        test.call(client, &format!("SET pet:{keeper}:1 x"));
    }
    for n in 2..200 {
        test.call(client, &format!("SET pet:1:{n} x"));
    }
    test.call(client, "SET pet:2:50 x");
    test.call(client, "DEL keeper:1");
    assert_eq!(test.call(client, "SMEMBERS pets:50"), "*1\r\n$1\r\n2\r\n");
    assert_eq!(test.call(client, "EXISTS pets:51"), ":0\r\n");
    assert_eq!(test.call(client, "GET pet:1:60"), "$-1\r\n");
    assert!(test.engine.has_pending_ends());
    assert_eq!(test.call(client, "SCARD pets:1"), "", "it has many sources, and waits");
    all_ticks(&mut test);
    assert_eq!(test.resume(client), ":69\r\n");
}

/// Where clients may write what the sources do not demand, that stays.
#[test]
fn what_clients_wrote_to_a_set_in_spite_of_its_sources_stays() {
    let schema = SCHEMA.replace("[key.\"lines:{sid}\"]", "[key.\"lines:{sid}\"]\nmode = \"warn\"");
    let (mut test, client) = governed(&schema);
    lines(&mut test, client, 300);
    assert_eq!(test.call(client, "SADD lines:a 5000"), ":1\r\n");
    test.call(client, "DEL cart:a");
    assert_eq!(ask(&mut test, client, "SMEMBERS lines:a"), "*1\r\n$4\r\n5000\r\n");
}
