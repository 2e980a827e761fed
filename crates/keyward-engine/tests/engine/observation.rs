//! What INFO, SLOWLOG and LATENCY tell about commands that have run.

use crate::harness::TestEngine;
use crate::shop::Shop;
use keyward_engine::{ClientId, Tunables};
use keyward_resp::push_request;

/// An engine whose clock goes on by a millisecond whenever it is asked.
fn engine(tunables: Tunables) -> (TestEngine, ClientId) {
    let mut test = TestEngine::new(1);
    test.host.step_ns = 1_000_000;
    test.engine.set_tunables(tunables);
    let client = test.engine.connect();
    (test, client)
}

/// The line of INFO that begins so.
fn line(test: &mut TestEngine, client: ClientId, section: &str, start: &str) -> Option<String> {
    let info = test.call(client, &format!("INFO {section}"));
    let found = info.lines().find(|line| line.starts_with(start));
    found.map(|line| line.trim_start_matches(start).to_owned())
}

fn check(commands: &[&str], name: &str, expected: &str) {
    let (mut test, client) = engine(Tunables::default());
    for command in commands {
        test.call(client, command);
    }
    let found = line(&mut test, client, "commandstats", &format!("cmdstat_{name}:"));
    assert_eq!(found.as_deref(), Some(expected), "{commands:?}");
}

#[test]
fn calls_failures_and_refusals_are_counted_apart() {
    let one = "usec=1000,usec_per_call=1000.00";
    check(&["SET a b"], "set", &format!("calls=1,{one},rejected_calls=0,failed_calls=0"));
    check(
        &["LPUSH a b", "GET a"],
        "get",
        &format!("calls=1,{one},rejected_calls=0,failed_calls=1"),
    );
    check(&["GET"], "get", "calls=0,usec=0,usec_per_call=0.00,rejected_calls=1,failed_calls=0");
    let queued = ["MULTI", "LPUSH l a", "INCR l", "EXEC"];
    check(&queued, "incr", &format!("calls=1,{one},rejected_calls=0,failed_calls=1"));
    let three = "usec=3000,usec_per_call=3000.00";
    check(&queued, "exec", &format!("calls=1,{three},rejected_calls=0,failed_calls=0"));
}

#[test]
fn a_script_fails_if_its_answer_does_and_its_commands_count_too() {
    let counts = |rejected: u64, failed: u64| {
        let us = "usec=1000,usec_per_call=1000.00";
        format!("calls=1,{us},rejected_calls={rejected},failed_calls={failed}")
    };
    let (mut test, client) = engine(Tunables::default());
    let caught = "EVAL redis.pcall('incr','l')return(1) 0";
    let passed = "EVAL return(redis.call('incr','l')) 0";
    test.call(client, "LPUSH l a");
    for (script, failed) in [(caught, "failed_calls=0"), (passed, "failed_calls=1")] {
        test.call(client, "CONFIG RESETSTAT");
        test.call(client, script);
        let eval = line(&mut test, client, "commandstats", "cmdstat_eval:").unwrap();
        assert!(eval.ends_with(failed), "{script}: {eval}");
        let incr = line(&mut test, client, "commandstats", "cmdstat_incr:");
        assert_eq!(incr, Some(counts(0, 1)), "{script}");
        let errors = line(&mut test, client, "errorstats", "errorstat_WRONGTYPE:");
        assert_eq!(errors.as_deref(), Some("count=1"), "{script}");
    }
}

/// Rows that do not fit are there and stay counted; what happened is counted anew.
#[test]
fn resetstat_begins_to_count_anew_what_happens_to_patterns() {
    let mut shop = Shop::new(
        1,
        "[keyspace]\nname = \"shop\"\nmode = \"warn\"\n\n[key.\"note:{id}\"]\ntype = \"int\"\nttl = \"1h\"\n",
    );
    for command in ["SET note:1 5", "GET note:1", "GET note:2", "SET note:3 abc", "GET other"] {
        shop.call(command);
    }
    let has = |stats: &str, figures: &[&str]| {
        for figure in figures {
            assert!(stats.contains(&format!(" {figure} ")), "{figure}: {stats}");
        }
    };
    let kept = ["$4 keys :2", "$7 misfits :1"];
    has(&shop.call("KEYWARD STATS note:1"), &kept);
    has(
        &shop.call("KEYWARD STATS note:1"),
        &["$4 hits :1", "$6 misses :1", "$6 writes :2", "$6 warned :1"],
    );
    let missed = |shop: &mut Shop| shop.call("KEYWARD STATS").matches("$6 misses :1 ").count();
    assert_eq!(missed(&mut shop), 2, "of the pattern, and of keys without one");
    shop.check(&[("CONFIG RESETSTAT", "+OK")]);
    has(&shop.call("KEYWARD STATS note:1"), &kept);
    has(
        &shop.call("KEYWARD STATS note:1"),
        &[
            "$5 reads :0",
            "$4 hits :0",
            "$6 misses :0",
            "$9 hit_ratio $6 0.0000",
            "$6 writes :0",
            "$6 warned :0",
        ],
    );
    assert_eq!(missed(&mut shop), 0);
}

#[test]
fn a_wait_is_one_call_whose_latency_is_known_at_its_end() {
    let (mut test, client) = engine(Tunables::default());
    let other = test.engine.connect();
    test.call(client, "BLPOP l 0");
    let start = "latency_percentiles_usec_blpop:";
    assert_eq!(line(&mut test, other, "latencystats", start), None);
    test.call(other, "RPUSH l a");
    let calls = line(&mut test, other, "commandstats", "cmdstat_blpop:").unwrap();
    assert_eq!(calls, "calls=1,usec=2000,usec_per_call=2000.00,rejected_calls=0,failed_calls=0");
    let latency = line(&mut test, other, "latencystats", start).unwrap();
    assert_eq!(latency, "p50=2007.039,p99=2007.039,p99.9=2007.039");
}

#[test]
fn slow_commands_are_kept_but_exec_is_not() {
    let tunables =
        Tunables { slow_log_us_min: Some(1000), slow_log_len_max: 3, ..Tunables::default() };
    let (mut test, client) = engine(tunables);
    for command in ["SET a b", "MULTI", "GET a", "EXEC"] {
        test.call(client, command);
    }
    assert_eq!(test.call(client, "SLOWLOG LEN"), ":3\r\n");
    let log = test.call(client, "SLOWLOG GET -1");
    let words: Vec<&str> = log.lines().filter(|line| !line.starts_with(['*', '$', ':'])).collect();
    assert_eq!(words, ["SLOWLOG", "LEN", "", "", "GET", "a", "", "", "MULTI", "", ""]);
}

#[test]
fn spikes_are_events_of_the_latency_monitor() {
    let (mut test, client) = engine(Tunables { latency_ms_min: 1, ..Tunables::default() });
    test.call(client, "GET a");
    let time = test.now_ms / 1000;
    let history = test.call(client, "LATENCY HISTORY fast-command");
    assert_eq!(history, format!("*1\r\n*2\r\n:{time}\r\n:1\r\n"));
    test.tick();
    let latest = test.call(client, "LATENCY LATEST");
    let events: Vec<&str> = latest.lines().filter(|line| line.contains("-c")).collect();
    assert_eq!(events, ["expire-cycle", "fast-command"]);
    assert_eq!(test.call(client, "LATENCY RESET fast-command expire-cycle"), ":2\r\n");
}

#[test]
fn idle_time_is_exact_in_seconds() {
    let mut test = TestEngine::new(1);
    let client = test.engine.connect();
    test.call(client, "SET k v");
    assert_eq!(test.call(client, "OBJECT IDLETIME k"), ":0\r\n");
    test.set_time(test.now_ms + 7_000);
    assert_eq!(test.call(client, "OBJECT IDLETIME k"), ":7\r\n");
    test.call(client, "GET k");
    assert_eq!(test.call(client, "OBJECT IDLETIME k"), ":0\r\n");
}

#[test]
fn a_restored_row_is_as_idle_as_the_command_says() {
    let mut test = TestEngine::new(1);
    let client = test.engine.connect();
    let payload: &[u8] = b"\x00\xc0\n\n\x00n\x9fWE\x0e\xaec\xbb";
    let words: [&[u8]; 6] = [b"RESTORE", b"r", b"0", payload, b"IDLETIME", b"100"];
    let mut request = Vec::new();
    push_request(&mut request, words.iter());
    assert_eq!(test.send(client, &request).1, b"+OK\r\n");
    assert_eq!(test.call(client, "OBJECT IDLETIME r"), ":100\r\n");
}

#[test]
fn a_command_that_is_warned_of_very_often_takes_time_for_its_length() {
    let schema = "[keyspace]\nname = \"w\"\nmode = \"warn\"\n[key.\"w:{n:uint}\"]\ntype = \"int\"\nttl = \"none\"\n";
    let mut test = TestEngine::governed(1, schema);
    let client = test.engine.connect();
    let pairs: Vec<String> = (0..100_000).map(|n| format!("w:{n} bad")).collect();
    assert_eq!(test.call(client, &format!("MSET {}", pairs.join(" "))), "+OK\r\n");
    let told = test.call(client, "KEYWARD REFUSALS COUNT 100");
    assert_eq!(told.matches("warned").count(), 16, "{told}");
    assert!(told.contains("SCHEMA w:99999: "), "the last of them: {told}");
}
