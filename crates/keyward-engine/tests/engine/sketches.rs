//! HyperLogLogs and places: what is logged of them, what a schema says of them, what becomes
//! of corrupt ones, and clients that do not touch what they read.

use crate::harness::TestEngine;
use crate::shop::Shop;
use keyward_engine::ClientId;
use keyward_testkit::Random;

/// Runs commands and compares what the last one is logged as.
fn check_log(commands: &[&str], expected: &[&str]) {
    let mut test = TestEngine::new(1);
    let client = test.engine.connect();
    for command in commands {
        test.effects();
        test.call(client, command);
    }
    assert_eq!(test.effect_lines(), expected, "{commands:?}");
}

#[test]
fn a_count_is_logged_when_it_writes_its_estimate() {
    check_log(&["PFADD h a", "PFCOUNT h"], &["0: PFCOUNT h"]);
    check_log(&["PFADD h a", "PFCOUNT h", "PFCOUNT h"], &[]);
    check_log(&["PFADD h a", "PFCOUNT h h"], &[]);
    check_log(&["PFADD h a"], &["0: PFADD h a"]);
    check_log(&["PFADD h a", "PFADD h a"], &[]);
    check_log(&["PFADD h a", "PFMERGE d h"], &["0: PFMERGE d h"]);
    check_log(&["PFADD h a", "PFDEBUG TODENSE h"], &["0: PFDEBUG TODENSE h"]);
    check_log(&["PFADD h a", "PFDEBUG ENCODING h"], &[]);
}

#[test]
fn a_self_test_finds_nothing() {
    let mut test = TestEngine::new(1);
    let client = test.engine.connect();
    assert_eq!(test.call(client, "PFSELFTEST"), "+OK\r\n");
}

#[test]
fn places_are_logged_as_scores() {
    check_log(
        &["GEOADD g NX 13.361389 38.115556 p 180 0 q"],
        &["0: zadd g NX 3479099956230698 p 10133099161583616 q"],
    );
    check_log(&["GEOADD g 1 1 a", "GEOADD g 1 1 a"], &[]);
    let search = "GEOSEARCHSTORE d g FROMMEMBER a BYRADIUS 1 km";
    check_log(&["GEOADD g 1 1 a", search], &[&format!("0: {search}")]);
    check_log(&["GEOADD g 1 1 a", "GEORADIUS g 1 1 1 km"], &[]);
}

#[test]
fn a_count_that_writes_breaks_a_watch() {
    let mut test = TestEngine::new(1);
    let (client, other) = (test.engine.connect(), test.engine.connect());
    for (count, exec) in [("PFCOUNT h", "*-1\r\n"), ("PFCOUNT h", "*1\r\n+PONG\r\n")] {
        if exec == "*-1\r\n" {
            test.call(client, "PFADD h a");
        }
        test.call(client, "WATCH h");
        assert_eq!(test.call(other, count), ":1\r\n");
        test.call(client, "MULTI");
        test.call(client, "PING");
        assert_eq!(test.call(client, "EXEC"), exec);
    }
}

const SCHEMA: &str = r#"
[keyspace]
name = "shop"

[key."visitors:{day:date}"]
type = "hll"
ttl  = "90d"

[key."shops:{city}"]
type        = "zset"
ttl         = "none"
items       = "slug"
max_members = 3

[key."note:{id}"]
type = "string"
ttl  = "none"
"#;

#[test]
fn a_key_of_type_hll_holds_nothing_else() {
    let mut shop = Shop::new(1, SCHEMA);
    let must = |key: &str| {
        format!(
            "-SCHEMA {key}: the value must be a HyperLogLog, as PFADD and PFMERGE make it \
             (test/keyward.toml:5)"
        )
    };
    let (day, next) = ("visitors:2024-05-01", "visitors:2024-05-02");
    shop.check(&[
        (&format!("PFADD {day} ann bob"), ":1"),
        (&format!("TTL {day}"), ":7776000"),
        (&format!("PFCOUNT {day}"), ":2"),
        (&format!("PFMERGE {next} {day}"), "+OK"),
        (&format!("PFCOUNT {next}"), ":2"),
        (&format!("TTL {next}"), ":7776000"),
        (&format!("SET {day} ann"), &must(day)),
        (&format!("SETRANGE {day} 16 x"), &must(day)),
        (&format!("APPEND {day} x"), &must(day)),
        ("INCR visitors:2024-05-03", &must("visitors:2024-05-03")),
        ("SET note:1 plain", "+OK"),
        ("COPY note:1 visitors:2024-05-03", &must("visitors:2024-05-03")),
        (&format!("COPY {day} visitors:2024-05-03"), ":1"),
        ("PFCOUNT visitors:2024-05-03", ":2"),
    ]);
    let empty = b"HYLL\x01\0\0\0\0\0\0\0\0\0\0\0\x7f\xff";
    let (_, reply) = shop.test.ask(shop.client, &[&b"SET"[..], day.as_bytes(), empty]);
    assert_eq!(reply, b"+OK\r\n");
    assert_eq!(shop.call(&format!("PFCOUNT {day}")), ":0");
    let refused = shop.call("PFADD visitors:today x");
    assert!(refused.starts_with("-SCHEMA visitors:today: matches no pattern"), "{refused}");
    let refused = shop.call(&format!("SADD {day} x"));
    assert!(refused.starts_with("-WRONGTYPE "), "{refused}");
}

#[test]
fn places_are_members_that_a_schema_judges() {
    let mut shop = Shop::new(1, SCHEMA);
    assert_eq!(shop.call("GEOADD shops:rome 12.5 41.9 corner-1 12.6 41.8 corner-2"), ":2");
    let refused = shop.call("GEOADD shops:rome 12.5 41.9 Corner");
    assert!(refused.starts_with("-SCHEMA shops:rome: "), "{refused}");
    assert_eq!(shop.call("ZCARD shops:rome"), ":2");
    let search = "FROMMEMBER corner-1 BYRADIUS 100 km";
    assert_eq!(shop.call(&format!("GEOSEARCHSTORE shops:near shops:rome {search}")), ":2");
    let refused = shop.call(&format!("GEOSEARCHSTORE near shops:rome {search}"));
    assert!(refused.starts_with("-SCHEMA near: matches no pattern"), "{refused}");
    let refused = shop.call("GEORADIUS shops:rome 12 41 500 km STORE note:2");
    assert!(refused.starts_with("-SCHEMA note:2: is declared a string"), "{refused}");
    // The bound drops the lowest scores.
    assert_eq!(shop.call("GEOADD shops:rome 12.7 41.9 c-3 12.8 41.9 c-4"), ":2");
    assert_eq!(shop.call("ZCARD shops:rome"), ":3");
}

#[test]
fn a_corrupt_string_is_refused_and_left_alone() {
    let mut test = TestEngine::new(1);
    let client = test.engine.connect();
    let corrupt = "-INVALIDOBJ Corrupted HLL object detected\r\n";
    // Runs up to register 8192: some elements fall behind them.
    let runs = b"HYLL\x01\0\0\0\0\0\0\0\0\0\0\x80\x5f\xff";
    test.ask(client, &[&b"SET"[..], b"h", runs]);
    let elements: Vec<String> = (0..50).map(|number| number.to_string()).collect();
    assert_eq!(test.call(client, &format!("PFADD h {}", elements.join(" "))), corrupt);
    let (_, reply) = test.ask(client, &[&b"GET"[..], b"h"]);
    assert_eq!(reply, [&b"$18\r\n"[..], runs, b"\r\n"].concat());
    assert_eq!(test.call(client, "PFCOUNT h"), corrupt);
    // Longer than any runs that cover the registers.
    let long = [&runs[..], &[0; 40_000]].concat();
    test.ask(client, &[&b"SET"[..], b"h", &long]);
    for command in ["PFADD h a", "PFCOUNT h", "PFMERGE d h", "PFDEBUG DECODE h"] {
        assert_eq!(test.call(client, command), corrupt, "{command}");
    }
}

/// Any bytes behind a head: nothing panics, and what was counted is counted again.
#[test]
fn random_bytes_behind_a_head_never_panic() {
    let mut test = TestEngine::new(1);
    let client = test.engine.connect();
    let mut random = Random::new(7);
    for round in 0..3000 {
        let mut text = b"HYLL\x01\0\0\0\0\0\0\0\0\0\0\x80".to_vec();
        text[4] = random.below(2) as u8;
        let bytes = if text[4] == 0 { 12288 } else { random.below(60) };
        text.extend((0..bytes).map(|_| random.below(256) as u8));
        if random.one_in(2) && text[4] == 1 {
            // Runs that nearly cover the registers.
            text.extend([0x7f, 0xff - random.below(60) as u8]);
        }
        test.ask(client, &[&b"SET"[..], b"h", &text]);
        for command in
            ["PFADD h a b c d", "PFCOUNT h", "PFMERGE m h", "PFDEBUG DECODE h", "PFDEBUG GETREG h"]
        {
            let reply = test.call(client, command);
            assert!(!reply.is_empty(), "{round}: {command}");
        }
        let (once, again) = (test.call(client, "PFCOUNT h"), test.call(client, "PFCOUNT h"));
        assert_eq!(once, again, "{round}");
    }
}

fn idle(test: &mut TestEngine, client: ClientId, key: &str) -> String {
    test.call(client, &format!("OBJECT IDLETIME {key}"))
}

#[test]
fn a_client_that_does_not_touch_leaves_rows_idle() {
    let mut test = TestEngine::new(1);
    let (client, quiet) = (test.engine.connect(), test.engine.connect());
    test.call(client, "SET k v");
    test.call(client, "RPUSH l a");
    assert_eq!(test.call(quiet, "CLIENT NO-TOUCH ON"), "+OK\r\n");
    test.pass(10_000);
    for command in ["GET k", "LRANGE l 0 -1", "RPUSH l b", "SET k w", "EVAL return(1) 0"] {
        test.call(quiet, command);
    }
    assert_eq!([idle(&mut test, client, "k"), idle(&mut test, client, "l")], [":10\r\n"; 2]);
    test.call(quiet, "TOUCH k");
    assert_eq!(idle(&mut test, client, "k"), ":0\r\n");
    test.call(quiet, "MULTI");
    test.call(quiet, "TOUCH l");
    test.call(quiet, "EXEC");
    assert_eq!(idle(&mut test, client, "l"), ":0\r\n");
    test.pass(10_000);
    test.call(client, "GET k");
    assert_eq!(idle(&mut test, client, "k"), ":0\r\n");
    assert_eq!(test.call(quiet, "CLIENT NO-TOUCH OFF"), "+OK\r\n");
    test.call(quiet, "LRANGE l 0 -1");
    assert_eq!(idle(&mut test, client, "l"), ":0\r\n");
}
