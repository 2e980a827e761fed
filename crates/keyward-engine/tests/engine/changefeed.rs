//! Changes of rows that have a sink: entries of the changefeed, in the unit that makes them.

use crate::harness::TestEngine;
use crate::shop::Shop;
use keyward_engine::ClientId;

const SHOP: &str = r#"
[keyspace]
name    = "shop"
unknown = "allow"

[key."user:{id:uint}"]
type   = "hash"
fields = { name = "string", age = "uint?" }
sink   = { mirror = "users" }

[key."usage:{id:uint}:{month:month}"]
type  = "hash"
extra = "uint"
ttl   = "35d"
sink  = { archive = "usage" }

[key."page:{path}"]
type = "string"
ttl  = "1h"
sink = { archive = "pages" }

[key."tx:{id:uint}"]
type  = "list"
items = "string"
ttl   = "none"
allow = ["KW0310: a row of the table each"]
sink  = { append = "tx" }

[key."log:{id:uint}"]
type   = "stream"
fields = { what = "string" }
ttl    = "none"
allow  = ["KW0310: a row of the table each"]
sink   = { append = "log" }

[key."likes"]
type  = "list"
items = "string"
ttl   = "none"
allow = ["KW0310: drained"]
sink  = { drain = "likes" }

[key."plain:{id}"]
type = "string"
"#;

pub(crate) const FEED: &str = "keyward:changefeed:shop";

pub(crate) fn shop() -> (TestEngine, ClientId) {
    let mut test = TestEngine::governed(1, SHOP);
    let client = test.engine.connect();
    (test, client)
}

/// The entries that were added since the last call, without their ids.
pub(crate) fn entries(test: &mut TestEngine, client: ClientId) -> Vec<String> {
    let reply = test.call(client, &format!("XRANGE {FEED} - +"));
    let texts: Vec<&str> = reply.split("\r\n").filter(|line| !is_mark(line)).collect();
    let starts: Vec<usize> = (0..texts.len()).filter(|at| is_id(texts[*at])).collect();
    let ends = starts.iter().skip(1).copied().chain([texts.len()]);
    let entries = starts.iter().zip(ends).map(|(start, end)| texts[start + 1..end].join(" "));
    let entries = entries.map(|entry| entry.trim_end().to_owned()).collect();
    let trimmed = test.call(client, &format!("XTRIM {FEED} MINID = 99999999999999"));
    assert!(trimmed.starts_with(':'), "{trimmed}");
    entries
}

fn is_mark(line: &str) -> bool {
    line.starts_with(['$', '*']) && line[1..].parse::<i64>().is_ok()
}

fn is_id(text: &str) -> bool {
    text.split_once('-').is_some_and(|(ms, seq)| {
        ms.len() == 13 && ms.parse::<u64>().is_ok() && seq.parse::<u64>().is_ok()
    })
}

#[track_caller]
fn check(test: &mut TestEngine, client: ClientId, command: &str, expected: &[&str]) {
    let reply = test.call(client, command);
    assert!(!reply.starts_with('-'), "{command}: {reply}");
    assert_eq!(entries(test, client), expected, "{command}");
}

#[test]
fn a_mirrored_row_is_named_whenever_it_changes() {
    let (mut test, client) = shop();
    let check = |test: &mut TestEngine, command: &str, expected: &[&str]| {
        check(test, client, command, expected);
    };
    check(&mut test, "HSET user:7 name Ann", &["mirror user:7"]);
    check(&mut test, "HINCRBY user:7 age 1", &["mirror user:7"]);
    check(&mut test, "HGETALL user:7", &[]);
    check(&mut test, "EXPIRE user:7 100", &[]);
    check(&mut test, "RENAME user:7 user:8", &["mirror user:8", "mirror user:7"]);
    check(&mut test, "DEL user:8 user:9", &["mirror user:8"]);
    check(&mut test, "SET plain:1 x", &[]);
    check(&mut test, "SET nobody x", &[]);
    test.call(client, "HSET user:7 name Ann");
    test.call(client, "PEXPIRE user:7 10");
    entries(&mut test, client);
    test.set_time(test.now_ms + 11);
    check(&mut test, "EXISTS user:7", &["mirror user:7"]);
}

#[test]
fn an_archived_row_is_told_whole_when_it_ends() {
    let (mut test, client) = shop();
    let check = |test: &mut TestEngine, command: &str, expected: &[&str]| {
        check(test, client, command, expected);
    };
    check(&mut test, "HSET usage:7:2025-12 a 1 b 2", &[]);
    check(&mut test, "HINCRBY usage:7:2025-12 a 4", &[]);
    check(&mut test, "DEL usage:7:2025-12", &["archive usage:7:2025-12 a 5 b 2"]);
    test.call(client, "HSET usage:7:2025-12 a 1 b 2");
    check(&mut test, "HDEL usage:7:2025-12 a", &[]);
    check(&mut test, "HDEL usage:7:2025-12 b", &["archive usage:7:2025-12 b 2"]);
    test.call(client, "HSET usage:7:2025-12 a 1");
    let moved = &["archive usage:7:2025-12 a 1"];
    check(&mut test, "RENAME usage:7:2025-12 usage:7:2026-01", moved);
    test.call(client, "HSET usage:7:2025-12 a 2");
    let overwritten = &["archive usage:7:2026-01 a 1"];
    check(&mut test, "COPY usage:7:2025-12 usage:7:2026-01 REPLACE", overwritten);
    check(&mut test, "EXPIRE usage:7:2026-01 -1", &["archive usage:7:2026-01 a 2"]);
    // A text that is set anew is the same row.
    check(&mut test, "SET page:a one", &[]);
    check(&mut test, "SET page:a two", &[]);
    check(&mut test, "GETDEL page:a", &["archive page:a value two"]);
    // Its time is over: by whoever comes upon it, and by itself.
    test.call(client, "SET page:b x PX 10");
    test.call(client, "SET page:c y PX 10");
    test.set_time(test.now_ms + 11);
    check(&mut test, "GET page:b", &["archive page:b value x"]);
    test.tick();
    assert_eq!(entries(&mut test, client), ["archive page:c value y"]);
}

#[test]
fn an_archived_row_does_not_grow_beyond_what_can_be_told_of_it() {
    let schema = SHOP.replace("extra = \"uint\"", "extra = \"string\"");
    let mut test = TestEngine::governed(1, &schema);
    let client = test.engine.connect();
    let value = "x".repeat(200_000_000);
    let grow = |test: &mut TestEngine, field: &str| {
        let (_, out) = test.ask(client, &["HSET", "usage:7:2026-01", field, &value]);
        String::from_utf8(out).expect("text")
    };
    assert_eq!(grow(&mut test, "a"), ":1\r\n");
    assert_eq!(grow(&mut test, "b"), ":1\r\n");
    let reply = grow(&mut test, "c");
    assert!(reply.contains("would take more than 512 MB, and what it was could not be"), "{reply}");
    assert_eq!(test.call(client, "DEL usage:7:2026-01"), ":1\r\n");
    assert_eq!(test.call(client, &format!("XLEN {FEED}")), ":1\r\n");
}

#[test]
fn what_is_pushed_is_told_in_order() {
    let (mut test, client) = shop();
    let check = |test: &mut TestEngine, command: &str, expected: &[&str]| {
        check(test, client, command, expected);
    };
    check(&mut test, "RPUSH tx:7 a b", &["append tx:7 item a item b"]);
    check(&mut test, "LPUSH tx:7 c d", &["append tx:7 item c item d"]);
    check(&mut test, "LPOP tx:7 2", &[]);
    check(&mut test, "LTRIM tx:7 1 -1", &[]);
    check(&mut test, "RPUSH tx:8 b", &["append tx:8 item b"]);
    check(&mut test, "XADD log:7 * what it", &["append log:7 what it"]);
    for command in ["LSET tx:8 0 x", "LREM tx:8 0 b", "LINSERT tx:8 BEFORE b x"] {
        let reply = test.call(client, command);
        let expected = "-SCHEMA tx:8: is appended to a table: items are pushed to it, not changed";
        assert!(reply.starts_with(expected), "{command}: {reply}");
    }
    assert_eq!(entries(&mut test, client), Vec::<String>::new());
}

#[test]
fn appended_items_do_not_come_back_from_another_database() {
    let (mut test, client) = shop();
    test.call(client, "RPUSH tx:7 a b");
    test.call(client, "XADD log:7 * what it");
    entries(&mut test, client);
    // Leaving is no push.
    assert_eq!(test.call(client, "MOVE tx:7 5"), ":1\r\n");
    assert_eq!(test.call(client, "MOVE log:7 5"), ":1\r\n");
    test.call(client, "SELECT 5");
    assert_eq!(test.call(client, "COPY tx:7 tx:8"), ":1\r\n");
    for command in
        ["MOVE tx:7 0", "COPY tx:7 tx:9 DB 0", "MOVE log:7 0", "COPY tx:8 tx:7 DB 0 REPLACE"]
    {
        let reply = test.call(client, command);
        let expected =
            "is appended to a table: items are pushed to it, not brought from another database";
        assert!(reply.starts_with("-SCHEMA") && reply.contains(expected), "{command}: {reply}");
    }
    // Where it is going nowhere, it is as before.
    assert_eq!(test.call(client, "MOVE nothing 0"), ":0\r\n");
    test.call(client, "SELECT 0");
    assert_eq!(test.call(client, "EXISTS tx:7 tx:9 log:7"), ":0\r\n");
    assert_eq!(entries(&mut test, client), Vec::<String>::new());
}

#[test]
fn a_drained_list_keeps_nothing() {
    let (mut test, client) = shop();
    assert_eq!(test.call(client, "RPUSH likes a b"), ":2\r\n");
    assert_eq!(test.call(client, "LLEN likes"), ":0\r\n");
    assert_eq!(entries(&mut test, client), ["drain likes item a item b"]);
    // A list that comes as a whole.
    test.call(client, "RPUSH other c d");
    assert_eq!(test.call(client, "RENAME other likes"), "+OK\r\n");
    assert_eq!(test.call(client, "EXISTS likes"), ":0\r\n");
    assert_eq!(entries(&mut test, client), ["drain likes item c item d"]);
}

#[test]
fn entries_are_in_the_unit_of_what_they_tell_and_undone_with_it() {
    let (mut test, client) = shop();
    test.call(client, "RPUSH tx:7 0");
    entries(&mut test, client);
    test.effects();
    test.call(client, "RPUSH tx:7 a");
    let lines = test.effect_lines();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert_eq!(lines[0], "0: RPUSH tx:7 a");
    let added = &lines[1];
    assert!(added.starts_with(&format!("0: XADD {FEED} 1")), "{added}");
    assert!(added.ends_with("append tx:7 item a") && !added.contains('*'), "{added}");
    test.call(client, "MULTI");
    test.call(client, "RPUSH tx:7 b");
    test.call(client, "HSET user:7 age 3");
    // The name is missing at its end: all of it is undone.
    let reply = test.call(client, "EXEC");
    assert!(reply.starts_with("-EXECABORT"), "{reply}");
    assert_eq!(entries(&mut test, client), ["append tx:7 item a"]);
    test.call(client, "MULTI");
    test.call(client, "RPUSH tx:7 b");
    test.call(client, "HSET user:7 name Ann");
    test.call(client, "DEL user:7");
    test.call(client, "EXEC");
    let all = ["append tx:7 item b", "mirror user:7", "mirror user:7"];
    assert_eq!(entries(&mut test, client), all);
}

#[test]
fn nobody_else_writes_the_changefeed() {
    let (mut test, client) = shop();
    test.call(client, "RPUSH tx:7 a");
    let commands =
        ["XADD FEED * a b", "DEL FEED", "RENAME FEED plain:1", "SET FEED x", "EXPIRE FEED 10"];
    for command in commands {
        let reply = test.call(client, &command.replace("FEED", FEED));
        assert!(reply.starts_with("-SCHEMA") || reply.starts_with("-WRONGTYPE"), "{reply}");
    }
    let (mut fresh, other) = shop();
    let reply = fresh.call(other, &format!("XADD {FEED} * a b"));
    assert!(reply.starts_with(&format!("-SCHEMA {FEED}: is written by Keyward alone")), "{reply}");
    assert_eq!(entries(&mut test, client), ["append tx:7 item a"]);
}

#[test]
fn what_has_a_sink_is_not_flushed() {
    let (mut test, client) = shop();
    test.call(client, "SET plain:1 x");
    assert_eq!(test.call(client, "FLUSHDB"), "+OK\r\n");
    test.call(client, "HSET user:7 name Ann");
    for command in ["FLUSHDB", "FLUSHALL"] {
        let reply = test.call(client, command);
        assert!(reply.starts_with("-SCHEMA user:{id:uint}: its rows are in a table"), "{reply}");
    }
    test.call(client, "DEL user:7");
    let reply = test.call(client, "FLUSHALL");
    assert!(reply.starts_with(&format!("-SCHEMA {FEED}")), "{reply}");
    entries(&mut test, client);
    assert_eq!(test.call(client, &format!("XLEN {FEED}")), ":0\r\n");
    assert_eq!(test.call(client, "FLUSHALL"), "+OK\r\n");
}

#[test]
fn where_rows_are_only_observed_nothing_is_told() {
    let mut test = TestEngine::governed(1, &SHOP.replace("unknown", "mode = \"observe\"\nunknown"));
    let client = test.engine.connect();
    test.call(client, "RPUSH tx:7 a");
    test.call(client, "RPUSH likes a");
    assert_eq!(test.call(client, "LLEN likes"), ":1\r\n");
    assert_eq!(test.call(client, &format!("EXISTS {FEED}")), ":0\r\n");
}

#[test]
fn a_row_that_an_undone_unit_found_to_be_over_is_archived_all_the_same() {
    let (mut test, client) = shop();
    test.call(client, "SET page:a x PX 10");
    test.call(client, "SET page:b y PX 10");
    test.call(client, "SET page:c z PX 10");
    test.effects();
    test.set_time(test.now_ms + 11);
    let script = "redis.call('GET','page:a') redis.call('SET','page:a','new') error('no')";
    let (_, reply) = test.ask(client, &["EVAL", script, "0"]);
    assert!(reply.starts_with(b"-"), "{}", reply.escape_ascii());
    test.call(client, "MULTI");
    test.call(client, "GET page:b");
    test.call(client, "HSET user:7 age 3");
    assert!(test.call(client, "EXEC").starts_with("-EXECABORT"));
    let reply = test.call(client, "SET page:c z PX 99999999");
    assert!(reply.starts_with("-SCHEMA"), "{reply}");
    // In the log each is gone in the unit that tells it.
    for key in ["page:a", "page:b", "page:c"] {
        assert_eq!(test.call(client, &format!("EXISTS {key}")), ":0\r\n");
    }
    let effects = test.effects();
    let unit = |ends: &dyn Fn(&str) -> bool| {
        let found = effects.iter().find(|effect| {
            let words: Vec<_> = effect.command.args().iter().map(String::from_utf8_lossy).collect();
            ends(&words.join(" "))
        });
        found.map(|effect| effect.unit)
    };
    for (key, value) in [("page:a", "x"), ("page:b", "y"), ("page:c", "z")] {
        let gone = unit(&|line| line == format!("DEL {key}"));
        let told = unit(&|line| line.ends_with(&format!("archive {key} value {value}")));
        assert!(gone.is_some() && gone == told, "{key}: {gone:?} {told:?}");
    }
    let mut told = entries(&mut test, client);
    told.sort();
    let all = ["archive page:a value x", "archive page:b value y", "archive page:c value z"];
    assert_eq!(told, all);
}

#[test]
fn ids_of_the_changefeed_are_not_set_and_its_entries_not_taken_out() {
    let (mut test, client) = shop();
    test.call(client, "HSET user:1 name ann");
    let before = test.call(client, &format!("XRANGE {FEED} - +"));
    let id = before.split("\r\n").find(|line| is_id(line)).expect("an entry").to_owned();
    let commands = [
        format!("XSETID {FEED} 18446744073709551614-0"),
        format!("XDEL {FEED} {id}"),
        format!("XGROUP CREATE {FEED} mine 0"),
        format!("XGROUP DESTROY {FEED} {}", &histories(&mut test, client)[0].0),
        format!("XGROUP SETID {FEED} {} 0", &histories(&mut test, client)[0].0),
        format!("XREADGROUP GROUP {} me STREAMS {FEED} >", &histories(&mut test, client)[0].0),
    ];
    for command in commands {
        let reply = test.call(client, &command);
        assert!(reply.starts_with("-SCHEMA"), "{command}: {reply}");
    }
    assert_eq!(test.call(client, &format!("XRANGE {FEED} - +")), before);
}

/// The histories of the changefeed: their names, and behind which entry each began.
fn histories(test: &mut TestEngine, client: ClientId) -> Vec<(String, String)> {
    let reply = test.call(client, &format!("XINFO GROUPS {FEED}"));
    let texts: Vec<&str> = reply.split("\r\n").filter(|line| !is_mark(line)).collect();
    let after = |name: &str| {
        let found = texts.iter().enumerate().filter(|(_, text)| **text == name);
        found.map(|(at, _)| texts[at + 1].to_owned()).collect::<Vec<_>>()
    };
    after("name").into_iter().zip(after("last-delivered-id")).collect()
}

#[test]
fn every_start_begins_a_history_behind_what_is_there() {
    let (mut test, client) = shop();
    test.call(client, "HSET user:1 name ann");
    let first = histories(&mut test, client);
    assert!(first.len() == 1 && first[0].0.starts_with("1-") && first[0].1 == "0-0", "{first:?}");
    test.call(client, "HSET user:1 name bob");
    assert_eq!(histories(&mut test, client), first, "one history as long as nothing happens");
    let feed = test.call(client, &format!("XRANGE {FEED} - +"));
    let last = feed.split("\r\n").filter(|line| is_id(line)).last().expect("an entry").to_owned();
    // What is stored is trimmed; which history it was of stays known.
    entries(&mut test, client);
    test.host.secrets = 7;
    test.effects();
    test.engine.end_loading(&mut test.host, keyward_engine::Loaded::default());
    test.tick();
    let lines = test.effect_lines();
    assert!(lines.len() == 1 && lines[0].starts_with(&format!("0: XGROUP CREATE {FEED} 2-")));
    let second = histories(&mut test, client);
    assert_eq!(second[0], first[0]);
    assert!(second[1].0.starts_with("2-0707") && second[1].1 == last, "{second:?} {last}");
    test.tick();
    assert_eq!(test.effect_lines(), Vec::<String>::new());
}

#[test]
fn who_asks_first_after_a_start_finds_its_history() {
    let (mut test, client) = shop();
    test.call(client, "HSET user:1 name ann");
    test.engine.end_loading(&mut test.host, keyward_engine::Loaded::default());
    // Before anything is done by itself.
    let found = histories(&mut test, client);
    assert!(found.len() == 2 && found[1].0.starts_with("2-"), "{found:?}");
}

/// The numbers of a changefeed's histories, sorted.
fn numbers(test: &mut TestEngine, client: ClientId) -> Vec<u64> {
    let all = histories(test, client);
    let number = |name: &str| name.split_once('-')?.0.parse().ok();
    let mut numbers: Vec<u64> = all.iter().filter_map(|(name, _)| number(name)).collect();
    numbers.sort_unstable();
    numbers
}

#[test]
fn histories_are_forgotten_once_what_later_ones_told_is_stored() {
    let (mut test, client) = shop();
    test.call(client, "HSET user:1 name ann");
    entries(&mut test, client);
    let start = |test: &mut TestEngine| {
        test.engine.end_loading(&mut test.host, keyward_engine::Loaded::default());
        test.tick();
    };
    for _ in 0..100 {
        start(&mut test);
    }
    // Who has stored that entry may know the first one alone.
    assert_eq!(numbers(&mut test, client), Vec::from_iter(1..=101));
    test.call(client, "HSET user:1 name bob");
    start(&mut test);
    assert_eq!(numbers(&mut test, client).len(), 102);
    entries(&mut test, client);
    start(&mut test);
    assert_eq!(numbers(&mut test, client), Vec::from_iter(40..=103));
    // However many starts nobody follows, they are not remembered for ever.
    for _ in 0..1_000 {
        start(&mut test);
    }
    assert_eq!(numbers(&mut test, client), Vec::from_iter(104..=1_103));
}

#[test]
fn where_the_clock_was_set_back_units_are_told_apart_all_the_same() {
    let (mut test, client) = shop();
    test.call(client, "RPUSH tx:7 a");
    test.set_time(test.now_ms - 3_600_000);
    let push = |test: &mut TestEngine, many: usize| {
        for _ in 0..many {
            test.call(client, "RPUSH tx:7 b");
        }
    };
    // How many entries each time has.
    let times = |test: &mut TestEngine| -> Vec<usize> {
        let reply = test.call(client, &format!("XRANGE {FEED} - +"));
        let ids = reply.split("\r\n").filter(|line| is_id(line));
        let times: Vec<&str> = ids.filter_map(|id| Some(id.split_once('-')?.0)).collect();
        times.chunk_by(|one, next| one == next).map(<[&str]>::len).collect()
    };
    push(&mut test, 998);
    // A unit stays whole.
    test.call(client, "MULTI");
    push(&mut test, 100);
    test.call(client, "EXEC");
    assert_eq!(times(&mut test), [1_099]);
    push(&mut test, 2_500);
    assert_eq!(times(&mut test), [1_099, 1_000, 1_000, 500]);
}

#[test]
fn a_flushed_changefeed_begins_another_history() {
    let (mut test, client) = shop();
    test.call(client, "HSET user:1 name ann");
    let first = histories(&mut test, client);
    test.call(client, "DEL user:1");
    entries(&mut test, client);
    assert_eq!(test.call(client, "FLUSHALL"), "+OK\r\n");
    test.host.secrets = 9;
    test.call(client, "HSET user:1 name ann");
    let second = histories(&mut test, client);
    assert!(second.len() == 1 && second[0].0 != first[0].0, "{second:?}");
}

#[test]
fn other_sinks_begin_a_history() {
    let without = SHOP.replace("sink   = { mirror = \"users\" }", "");
    let mut shop = Shop::new(1, &without);
    let client = shop.client;
    shop.check(&[("HSET user:1 name ann", ":1")]);
    shop.test.tick();
    assert_eq!(shop.call(&format!("EXISTS {FEED}")).trim_end(), ":0");
    let plan = shop.plan(SHOP);
    assert!(shop.apply(&plan, 0).starts_with('*'));
    shop.test.tick();
    // Rows are there of which nothing was told.
    let first = histories(&mut shop.test, client);
    assert_eq!(first.len(), 1, "{first:?}");
    assert_eq!(shop.await_reply(&["KEYWARD", "MODE", "OBSERVE"]).trim_end(), "+OK");
    shop.test.tick();
    let second = histories(&mut shop.test, client);
    assert_eq!(second.len(), 2, "{second:?}");
    assert_eq!(shop.await_reply(&["KEYWARD", "MODE", "schema"]).trim_end(), "+OK");
    shop.test.tick();
    let third = histories(&mut shop.test, client);
    assert_eq!(third.len(), 3, "{third:?}");
    // Its marks: as declared, and as it is carried out.
    let marks = |history: &(String, String)| {
        let mut parts = history.0.rsplit('-').map(str::to_owned);
        (parts.next(), parts.next())
    };
    assert_eq!(marks(&first[0]), marks(&third[2]));
    let (active, declared) = marks(&second[1]);
    assert!(declared == marks(&first[0]).1 && active != declared);
}

#[test]
fn items_that_a_table_has_are_not_told_under_another_name() {
    let (mut test, client) = shop();
    test.call(client, "RPUSH tx:7 a");
    test.call(client, "XADD log:7 * what it");
    entries(&mut test, client);
    let commands =
        ["RENAME tx:7 tx:8", "RENAMENX tx:7 tx:8", "COPY tx:7 tx:8", "RENAME log:7 log:8"];
    for command in commands {
        let reply = test.call(client, command);
        assert!(reply.contains("which has these items already under another key"), "{reply}");
    }
    assert_eq!(entries(&mut test, client), Vec::<String>::new());
    // What comes from elsewhere is new.
    test.call(client, "RPUSH other b");
    assert_eq!(test.call(client, "RENAME other tx:8"), "+OK\r\n");
    assert_eq!(entries(&mut test, client), ["append tx:8 item b"]);
}

#[test]
fn items_that_a_table_has_are_not_moved_sorted_or_restored_into_it_again() {
    let (mut test, client) = shop();
    test.call(client, "RPUSH tx:7 a b");
    test.call(client, "RPUSH tx:8 c");
    test.call(client, "XADD log:7 * what it");
    let dump = |test: &mut TestEngine, key: &str| test.ask(client, &["DUMP", key]).1;
    let payload = |reply: Vec<u8>| {
        let start = reply.iter().position(|byte| *byte == b'\n').expect("a length") + 1;
        reply[start..reply.len() - 2].to_vec()
    };
    let (list, stream) = (payload(dump(&mut test, "tx:7")), payload(dump(&mut test, "log:7")));
    entries(&mut test, client);
    for command in [
        "LMOVE tx:7 tx:7 LEFT RIGHT",
        "LMOVE tx:7 tx:8 LEFT RIGHT",
        "RPOPLPUSH tx:7 tx:8",
        "BLMOVE tx:7 tx:8 LEFT RIGHT 1",
        "BRPOPLPUSH tx:7 tx:8 1",
        "SORT tx:7 ALPHA STORE tx:7",
        "SORT tx:7 BY nosort STORE tx:9",
    ] {
        let reply = test.call(client, command);
        assert!(reply.contains("which has these items already"), "{command}: {reply}");
    }
    for (key, dump) in [("tx:7", &list), ("tx:9", &list), ("log:9", &stream)] {
        let words: [&[u8]; 5] = [b"RESTORE", key.as_bytes(), b"0", dump, b"REPLACE"];
        let reply = String::from_utf8_lossy(&test.ask(client, &words).1).into_owned();
        assert!(reply.contains("items are pushed to it, not restored"), "{key}: {reply}");
    }
    assert_eq!(entries(&mut test, client), Vec::<String>::new());
    assert_eq!(test.call(client, "LRANGE tx:7 0 -1"), "*2\r\n$1\r\na\r\n$1\r\nb\r\n");
    // Items of another list are pushed, and leaving the table's lists is no push.
    test.call(client, "RPUSH other x y");
    check(&mut test, client, "LMOVE other tx:8 LEFT RIGHT", &["append tx:8 item x"]);
    check(&mut test, client, "SORT other ALPHA STORE tx:9", &["append tx:9 item y"]);
    check(&mut test, client, "LMOVE tx:7 other LEFT RIGHT", &[]);
}

#[test]
fn a_changefeed_is_trimmed_by_the_last_entry_that_is_stored_alone() {
    let (mut test, client) = shop();
    test.call(client, "RPUSH tx:7 a");
    for command in
        ["XTRIM FEED MAXLEN 0", "XTRIM FEED MAXLEN ~ 0", "XTRIM FEED MINID ~ 99999999999999"]
    {
        let reply = test.call(client, &command.replace("FEED", FEED));
        assert!(reply.starts_with("-SCHEMA"), "{command}: {reply}");
    }
    assert_eq!(test.call(client, &format!("XLEN {FEED}")), ":1\r\n");
    assert_eq!(entries(&mut test, client), ["append tx:7 item a"]);
}

#[test]
fn a_history_says_how_many_entries_were_before_it() {
    let (mut test, client) = shop();
    test.call(client, "RPUSH tx:7 a b");
    test.call(client, "RPUSH tx:7 c");
    entries(&mut test, client);
    test.host.secrets = 7;
    test.engine.end_loading(&mut test.host, keyward_engine::Loaded::default());
    test.tick();
    test.call(client, "RPUSH tx:7 d");
    let reply = test.call(client, &format!("XINFO GROUPS {FEED}"));
    let lines: Vec<&str> = reply.split("\r\n").collect();
    let read = |at: usize| lines.get(at + 1).copied().unwrap_or_default();
    let reads = (0..lines.len()).filter(|at| lines[*at] == "entries-read").map(read);
    let reads: Vec<&str> = reads.collect();
    assert_eq!((reads.first(), reads.last()), (Some(&":0"), Some(&":2")), "{reply}");
}

/// A figure of a pattern in INFO.
fn figure(test: &mut TestEngine, client: ClientId, pattern: &str, name: &str) -> u64 {
    let info = test.call(client, "INFO patterns");
    let line = info.lines().find(|line| line.contains(&format!("pattern={pattern},")));
    let line = line.unwrap_or_else(|| panic!("{info}"));
    let value = line.split(',').find_map(|field| field.strip_prefix(&format!("{name}=")));
    value.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("{line}"))
}

#[test]
fn it_is_told_how_much_waits_and_for_how_long() {
    let (mut test, client) = shop();
    test.call(client, "HSET user:1 name ann");
    test.call(client, "RPUSH tx:7 a b");
    test.call(client, "RPUSH tx:8 c");
    test.set_time(test.now_ms + 1_500);
    let figures = [
        ("user:{id:uint}", "told", 1),
        ("tx:{id:uint}", "told", 2),
        ("plain:{id}", "told", 0),
        (FEED, "waiting", 3),
        (FEED, "lag_ms", 1_500),
        ("tx:{id:uint}", "waiting", 0),
    ];
    for (pattern, name, expected) in figures {
        assert_eq!(figure(&mut test, client, pattern, name), expected, "{pattern} {name}");
    }
    entries(&mut test, client);
    assert_eq!(figure(&mut test, client, FEED, "waiting"), 0);
    assert_eq!(figure(&mut test, client, FEED, "lag_ms"), 0);
    assert_eq!(figure(&mut test, client, "tx:{id:uint}", "told"), 2);
}
