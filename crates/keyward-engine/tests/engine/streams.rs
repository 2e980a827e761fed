//! Streams: what is logged of them, undone, captured, and judged by a schema.

use crate::forkless::{OPTIONS, Taken};
use crate::harness::{START_MS, TestEngine, check_last};
use keyward_engine::{Delivery, Loaded, Random, Replay};
use keyward_resp::push_request;
use keyward_testkit::engine::parsed;

#[test]
fn an_entry_is_logged_with_the_id_it_got() {
    let id = format!("0: XADD s {START_MS}-0 a 1");
    check_last(&["XADD s * a 1"], &[&id], &["xadd s"]);
    check_last(&["XADD s 5-* a 1"], &["0: XADD s 5-0 a 1"], &["xadd s"]);
    check_last(&["XADD s 5-1 a 1"], &["0: XADD s 5-1 a 1"], &["xadd s"]);
    let exact = &["0: XADD s MAXLEN 1 6-0 a 1"];
    check_last(&["XADD s 5-1 a 1", "XADD s MAXLEN 1 6-0 a 1"], exact, &["xadd s", "xtrim s"]);
}

#[test]
fn a_time_without_a_number_left_takes_no_entry() {
    let mut test = TestEngine::new(1);
    let client = test.engine.connect();
    test.call(client, "XADD s 5-18446744073709551615 a 1");
    let refused =
        "-ERR The ID specified in XADD is equal or smaller than the target stream top item";
    assert_eq!(test.call(client, "XADD s 5-* a 1"), format!("{refused}\r\n"));
    assert_eq!(test.call(client, "XLEN s"), ":1\r\n");
}

#[test]
fn an_approximate_trim_is_logged_as_what_it_left() {
    let fill = "EVAL for_i_=_1,250_do_redis.call('XADD','s',i..'-0','a',i)_end 0";
    let run = |command: &str| {
        let mut test = TestEngine::new(1);
        let client = test.engine.connect();
        let mut request = Vec::new();
        let words: Vec<String> = fill.split(' ').map(|word| word.replace('_', " ")).collect();
        push_request(&mut request, words.iter());
        test.send(client, &request);
        test.effects();
        test.call(client, command);
        test.effect_lines()
    };
    assert_eq!(run("XTRIM s MAXLEN ~ 100"), ["0: XTRIM s MAXLEN = 150"]);
    assert_eq!(run("XTRIM s MAXLEN ~ 100 LIMIT 10"), Vec::<String>::new());
    assert_eq!(run("XTRIM s MINID ~ 205-0"), ["0: XTRIM s MINID = 201-0"]);
    assert_eq!(run("XADD s MAXLEN ~ 200 300-0 a 1"), ["0: XADD s MAXLEN = 251 300-0 a 1"]);
    assert_eq!(run("XADD s MAXLEN ~ 60 300-* a 1"), ["0: XADD s MAXLEN = 151 300-0 a 1"]);
    assert_eq!(run("XTRIM s MAXLEN 100"), ["0: XTRIM s MAXLEN 100"]);
}

#[test]
fn a_read_of_a_group_is_logged_entry_by_entry() {
    let begin = ["XADD s 1-0 a 1", "XADD s 2-0 a 1", "XGROUP CREATE s g 0"];
    let check = |commands: &[&str], effects: &[&str], events: &[&str]| {
        check_last(&[&begin[..], commands].concat(), effects, events);
    };
    let claim = |id: &str, count: u64, last: &str| {
        format!(
            "0: XCLAIM s g c 0 {id} TIME {START_MS} RETRYCOUNT {count} FORCE JUSTID LASTID {last}"
        )
    };
    let created = &["xgroup-createconsumer s"];
    let read = "XREADGROUP GROUP g c STREAMS s >";
    check(&[read], &[&claim("1-0", 1, "1-0"), &claim("2-0", 1, "2-0")], created);
    check(
        &["XREADGROUP GROUP g c NOACK STREAMS s >"],
        &["0: XGROUP CREATECONSUMER s g c", "0: XGROUP SETID s g 2-0 ENTRIESREAD 2"],
        created,
    );
    // What SETID would refuse is not logged: the group would be back where it was.
    check(
        &[
            "XSETID s 5-0 ENTRIESADDED 9223372036854775807",
            "XADD s 6-0 a 1",
            "XREADGROUP GROUP g c NOACK STREAMS s >",
        ],
        &["0: XGROUP CREATECONSUMER s g c", "0: XGROUP SETID s g 6-0 ENTRIESREAD -1"],
        created,
    );
    check(&["XREADGROUP GROUP g c STREAMS s 0"], &["0: XGROUP CREATECONSUMER s g c"], created);
    check(&[read, "XREADGROUP GROUP g c STREAMS s 0"], &[], &[]);
    check(&[read, "XREADGROUP GROUP g c STREAMS s >"], &[], &[]);
    check(&[read, "XACK s g 1-0 7-0"], &["0: XACK s g 1-0 7-0"], &[]);
    check(&[read, "XACK s g 7-0"], &[], &[]);
    check(&[read, "XCLAIM s g c 0 1-0"], &[&claim("1-0", 2, "2-0")], &[]);
    check(&[read, "XCLAIM s g c 100 1-0"], &[], &[]);
    check(&["XCLAIM s g c 0 9-0 LASTID 1-0"], &["0: XGROUP SETID s g 1-0 ENTRIESREAD -1"], &[]);
    check(&[read, "XDEL s 1-0", "XAUTOCLAIM s g d 0 - COUNT 1"], &[&claim("1-0", 1, "2-0")], &[]);
    check(&["XGROUP SETID s g 5-0"], &["0: XGROUP SETID s g 5-0"], &["xgroup-setid s"]);
    check(&["XSETID s 5-0"], &["0: XSETID s 5-0"], &["xsetid s"]);
}

#[test]
fn the_log_of_a_group_gives_the_same_group() {
    let mut random = Random::from_seed(3);
    let mut test = TestEngine::new(3);
    let client = test.engine.connect();
    let mut log = Vec::new();
    for _ in 0..2_000 {
        let (number, consumer) = (random.below(60), random.below(3));
        let command = match random.below(12) {
            0..4 => format!("XADD s {}-* f {number}", 5 + number / 20),
            4 => format!("XADD s MAXLEN ~ {number} 9-* f {number}"),
            5 => format!("XDEL s 6-{number}"),
            6 => "XGROUP CREATE s g 0 MKSTREAM".to_owned(),
            7 | 8 => format!("XREADGROUP GROUP g c{consumer} COUNT 3 STREAMS s >"),
            9 => format!("XACK s g 5-{number} 6-{number} 7-{number}"),
            10 => format!("XCLAIM s g c{consumer} 0 5-{number} RETRYCOUNT 2 LASTID 5-{number}"),
            _ => format!("XREADGROUP GROUP g c{consumer} NOACK COUNT 1 STREAMS s >"),
        };
        test.call(client, &command);
        log.extend(test.effects());
    }
    // Some time passes until the log is carried out again; what it says stays.
    test.pass(5_000);
    let mut copy = TestEngine::new(4);
    copy.pass(5_000);
    let mut replay = Replay::new();
    copy.engine.begin_loading();
    for effect in &log {
        let mut request = Vec::new();
        push_request(&mut request, effect.command.args().iter());
        let (buffer, batch) = parsed(&request);
        let outcome = copy.engine.load_commands(&mut copy.host, &mut replay, &buffer, &batch);
        outcome.expect("the log is sound");
    }
    assert_eq!(replay.failures, 0);
    copy.engine.end_loading(&mut copy.host, Loaded::default());
    let other = copy.engine.connect();
    for command in ["XINFO GROUPS s", "XPENDING s g", "XRANGE s - +", "XPENDING s g - + 1000"] {
        let (one, two) = (test.call(client, command), copy.call(other, command));
        assert_eq!(one, two, "{command}");
    }
}

/// A stream of many nodes whose entries are pending with two consumers.
fn fill(test: &mut TestEngine, entries: u64) {
    let client = test.engine.connect();
    test.call(client, "XGROUP CREATE s g 0 MKSTREAM");
    for number in 1..=entries {
        test.call(client, &format!("XADD s {number}-0 f value-{number} g {number}"));
    }
    for _ in 0..entries / 200 {
        test.call(client, "XREADGROUP GROUP g a COUNT 100 STREAMS s >");
        test.call(client, "XREADGROUP GROUP g b COUNT 70 STREAMS s >");
    }
    test.engine.disconnect(client);
}

fn loaded(file: &[u8]) -> String {
    let mut test = TestEngine::new(9);
    test.engine.load(&mut test.host, &mut &*file).expect("the snapshot is sound");
    let state = test.state();
    state.rsplit_once(' ').map_or(String::new(), |(state, _)| state.to_owned())
}

#[test]
fn a_large_stream_is_captured_with_its_groups_at_one_instant() {
    for ending in ["XADD s 999999-0 f last", "DEL s", "RENAME s t", "SET s x", "FLUSHALL"] {
        let mut test = TestEngine::new(5);
        fill(&mut test, 4_000);
        let whole = test.engine.snapshot().write_to(Vec::new(), OPTIONS).expect("memory takes it");
        let expected = loaded(&whole);
        assert!(expected.len() > 100_000);
        let mut taken = Taken::begin(&mut test);
        let client = test.engine.connect();
        let mut steps = 0;
        loop {
            let number = steps * 37 % 4_000 + 1;
            test.call(client, &format!("XDEL s {number}-0"));
            test.call(client, &format!("XACK s g {number}-0 {}-0", number + 1));
            test.call(client, &format!("XCLAIM s g c 0 {}-0", number + 2));
            test.call(client, "XADD s 5000-* f new");
            test.call(client, "XTRIM s MAXLEN 3900");
            if steps == 3 {
                test.call(client, ending);
            }
            if taken.step(&mut test) {
                break;
            }
            steps += 1;
        }
        assert!(steps >= 3, "{ending}: {steps} steps");
        assert!(loaded(&taken.end()) == expected, "{ending}");
        while test.tick() {}
        assert_eq!(test.engine.captured_bytes(), 0);
    }
}

const EVENTS: &str = r#"
    [keyspace]
    name = "shop"

    [key."events:{shop}"]
    type = "stream"
    max_len = 3
    ttl = { after = "1h", renew = "write" }
    fields = { kind = "sale | refund", amount = "uint", note = "string?" }

    [key."open:{shop}"]
    type = "stream"
    ttl = "none"
"#;

/// Runs commands, of which the last one is answered with this.
fn check(commands: &[&str], expected: &str) -> TestEngine {
    let mut test = TestEngine::governed(1, EVENTS);
    let client = test.engine.connect();
    let mut reply = String::new();
    for command in commands {
        reply = test.call(client, command);
    }
    assert_eq!(reply, expected, "{commands:?}");
    test.check_bytes(client);
    test
}

#[test]
fn an_entry_that_does_not_fit_is_refused_by_its_field() {
    let refused =
        |what: &str, line: u32| format!("-SCHEMA events:1: {what} (shop.toml:{line})\r\n");
    let _ = &refused;
    let starts = |command: &str, expected: &str| {
        let mut test = TestEngine::governed(1, EVENTS);
        let client = test.engine.connect();
        let reply = test.call(client, command);
        assert!(reply.starts_with(expected), "{command}: {reply}");
        assert_eq!(test.call(client, "EXISTS events:1"), ":0\r\n");
        assert_eq!(test.call(client, "MULTI"), "+OK\r\n");
        let queued = test.call(client, command);
        assert!(queued.starts_with(expected), "{command} in MULTI: {queued}");
    };
    starts("XADD events:1 * kind gift amount 5", "-SCHEMA events:1: kind must be sale or refund");
    starts("XADD events:1 * kind sale amount -5", "-SCHEMA events:1: amount must be");
    starts(
        "XADD events:1 * kind sale",
        "-SCHEMA events:1: an entry lacks the required field amount",
    );
    starts(
        "XADD events:1 * kind sale amount 5 colour red",
        "-SCHEMA events:1: an entry has no field",
    );
    starts("XADD events:1 MAXLEN ~ 5 * kind x amount 5", "-SCHEMA events:1: kind must be");
    starts("RPUSH events:1 a", "-SCHEMA events:1: is declared a stream, not a list");
    starts("XADD unknown * a 1", "-SCHEMA unknown");
    check(&["XADD events:1 5-1 kind sale amount 5 note hi"], "$3\r\n5-1\r\n");
    check(&["XADD open:1 5-1 any thing"], "$3\r\n5-1\r\n");
}

#[test]
fn a_stream_under_a_schema_keeps_its_length_and_its_lifetime() {
    let add = |n: u32| format!("XADD events:1 {n}-0 kind sale amount {n}");
    let adds: Vec<String> = (1..=5).map(add).collect();
    let mut commands: Vec<&str> = adds.iter().map(String::as_str).collect();
    commands.push("XLEN events:1");
    let mut test = check(&commands, ":3\r\n");
    let client = test.engine.connect();
    assert_eq!(test.call(client, "PTTL events:1"), ":3600000\r\n");
    let lines = test.effect_lines();
    let last = &lines[lines.len() - 2..];
    assert_eq!(last[0], "0: XADD events:1 5-0 kind sale amount 5");
    assert_eq!(last[1], "0: XTRIM events:1 MAXLEN = 3");
    test.pass(1_000);
    assert_eq!(test.call(client, "XGROUP CREATE events:1 g 0"), "+OK\r\n");
    assert_eq!(test.call(client, "PTTL events:1"), ":3600000\r\n");
    test.pass(1_000);
    assert!(test.call(client, "XREADGROUP GROUP g c COUNT 1 STREAMS events:1 >").contains("3-0"));
    assert_eq!(test.call(client, "PTTL events:1"), ":3600000\r\n");
    test.pass(3_600_001);
    assert_eq!(test.call(client, "EXISTS events:1"), ":0\r\n");
}

#[test]
fn a_script_that_fails_leaves_entries_and_groups_as_they_were() {
    let mut test = check(&["XADD events:1 1-0 kind sale amount 1"], "$3\r\n1-0\r\n");
    let client = test.engine.connect();
    test.call(client, "XGROUP CREATE events:1 g 0");
    test.call(client, "XREADGROUP GROUP g c STREAMS events:1 >");
    let before = test.state();
    let script = "redis.call('XADD', KEYS[1], '2-0', 'kind', 'sale', 'amount', '2') \
        redis.call('XACK', KEYS[1], 'g', '1-0') \
        redis.call('XREADGROUP', 'GROUP', 'g', 'd', 'STREAMS', KEYS[1], '>') \
        redis.call('XADD', KEYS[1], '3-0', 'kind', 'sale', 'amount', '2') \
        redis.call('XDEL', KEYS[1], '1-0') \
        redis.call('XADD', KEYS[1], '4-0', 'kind', 'wrong', 'amount', '2')";
    let (_, reply) = test.ask(client, &["EVAL", script, "1", "events:1"]);
    assert!(reply.starts_with(b"-SCHEMA"), "{}", reply.escape_ascii());
    assert_eq!(test.state(), before);
    test.check_bytes(client);
}

#[test]
fn who_waits_hears_of_an_entry_only_if_it_stands() {
    let mut test = check(&["XADD events:1 1-0 kind sale amount 1"], "$3\r\n1-0\r\n");
    let (reader, client) = (test.engine.connect(), test.engine.connect());
    assert_eq!(test.call(reader, "XREAD BLOCK 0 STREAMS events:1 $"), "");
    test.call(client, "XADD events:1 2-0 kind wrong amount 1");
    let told = |test: &mut TestEngine| {
        let deliveries = test.deliveries();
        deliveries.iter().any(|it| matches!(it, Delivery::Unblocked(client) if *client == reader))
    };
    assert!(!told(&mut test));
    test.call(client, "XADD events:1 2-0 kind sale amount 1");
    assert!(told(&mut test));
}

#[test]
fn a_check_holds_for_each_occurrence_of_a_repeated_field() {
    let schema = r#"
[keyspace]
name = "shop"
[key."events:{id:uint}"]
type = "stream"
ttl = "none"
max_len = 100
fields = { low = "int", high = "int", other = "str?", name = "str?", id = { type = "uint?", same = "{id}" } }
check = ["low <= high", "high > 0", "other != name", { check = "low = high", when = "name = x" }]
"#;
    let mut test = TestEngine::governed(1, schema);
    let client = test.engine.connect();
    for (fields, problem) in [
        ("low 1 high 2", None),
        ("low 1 high 2 low 2", None),
        ("low 1 high 2 low 3", Some("breaks low <= high: low is 3, high is 2")),
        ("low 3 high 4 high 2", Some("breaks low <= high: low is 3, high is 2")),
        ("low -9 high 5 high -7", Some("breaks high > 0: high is -7")),
        ("low 1 high 1 other a name b name c other d", None),
        ("low 1 high 1 other a name b name d other d", Some("breaks other != name")),
        ("low 1 high 2 name y", None),
        (
            "low 1 high 2 name y name x",
            Some("breaks low = high when name = x: low is 1, high is 2"),
        ),
        ("low 2 high 2 name x low 2 high 2", None),
        ("low 1 high 1 id 7 id 7", None),
        ("low 1 high 1 id 7 id 8", Some("id must be {id} of its key")),
    ] {
        let reply = test.call(client, &format!("XADD events:7 * {fields}"));
        match problem {
            None => assert!(reply.starts_with('$'), "{fields}: {reply}"),
            Some(problem) => assert!(reply.contains(problem), "{fields}: {reply}"),
        }
    }
}
