//! What is in `/metrics`.

use crate::browser::{metrics, sample};
use crate::{Shop, attempt};
use keyward_http::INFO_FAMILIES;
use keyward_testkit::{Client, call};
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Figures that were published after everything that was done before.
pub(crate) fn fresh(shop: &Shop) -> String {
    // What is published is at most this old.
    std::thread::sleep(Duration::from_millis(200));
    metrics(shop.http)
}

fn of_pattern(name: &str, pattern: &str) -> String {
    format!("{name}{{db=\"db0\",keyspace=\"shop\",pattern=\"{pattern}\"}}")
}

fn of_reason(name: &str, pattern: &str, reason: &str) -> String {
    format!("{name}{{db=\"db0\",keyspace=\"shop\",pattern=\"{pattern}\",reason=\"{reason}\"}}")
}

#[test]
fn patterns_have_their_figures() {
    let shop = Shop::open(&[]);
    let client = &mut shop.server.client();
    for id in 0..7 {
        call(client, &format!("HSET user:{id} email e{id}"));
    }
    call(client, "GET users:by_email:e3");
    call(client, "GET users:by_email:nobody");
    call(client, "SET page:a text");
    let text = fresh(&shop);
    let check = |name: &str, expected: f64| {
        assert_eq!(sample(&text, name), Some(expected), "{name} in\n{text}");
    };
    check(&of_pattern("keyward_pattern_keys", "user:{id:uint}"), 7.0);
    check(&of_pattern("keyward_pattern_keys", "users:by_email:{email}"), 7.0);
    check(&of_pattern("keyward_pattern_expected_keys", "user:{id:uint}"), 1000.0);
    check(&of_pattern("keyward_pattern_hits_total", "users:by_email:{email}"), 1.0);
    check(&of_pattern("keyward_pattern_misses_total", "users:by_email:{email}"), 1.0);
    check(&of_pattern("keyward_pattern_reads_total", "users:by_email:{email}"), 2.0);
    check(&of_pattern("keyward_pattern_expiring_keys", "page:{name}"), 1.0);
    check("keyward_keyspace_memory_limit_bytes{db=\"db0\",keyspace=\"shop\"}", 64.0 * 1048576.0);
    check("keyward_keyspace_keys{db=\"db0\",keyspace=\"shop\"}", 15.0);
    check("keyward_schema_info{db=\"db0\",keyspace=\"shop\",mode=\"enforce\"}", 1.0);
    check("redis_db_keys{db=\"db0\"}", 15.0);
    check("redis_keyspace_hits_total", 1.0);
    check("redis_commands_total{cmd=\"hset\"}", 7.0);
    check("keyward_command_duration_seconds_count{command=\"hset\"}", 7.0);
    let remaining = of_pattern("keyward_pattern_remaining_lifetime_seconds", "page:{name}");
    let remaining = sample(&text, &remaining).expect("it has a lifetime");
    assert!((3590.0..=3600.0).contains(&remaining), "{remaining}");
    let none = of_pattern("keyward_pattern_remaining_lifetime_seconds", "user:{id:uint}");
    assert_eq!(sample(&text, &none), None, "nothing of it ends");
    let bytes = sample(&text, &of_pattern("keyward_pattern_memory_bytes", "user:{id:uint}"));
    let whole = sample(&text, "keyward_keyspace_memory_bytes{db=\"db0\",keyspace=\"shop\"}");
    assert!(bytes > Some(0.0) && bytes < whole, "{bytes:?} of {whole:?}");
}

#[test]
fn refusals_and_warnings_are_counted_by_reason() {
    let shop = Shop::open(&[]);
    let client = &mut shop.server.client();
    let long = "x".repeat(2000);
    for (command, count) in [
        ("SET nowhere 1".to_owned(), 1),
        ("SET user:1 text".to_owned(), 2),
        ("HSET user:1 age x".to_owned(), 3),
        (format!("SET page:a {long}"), 4),
        ("SET page:a 1 EX 7200".to_owned(), 5),
        ("SET users:by_email:x 9".to_owned(), 6),
        (format!("SET draft:a {long}"), 7),
    ] {
        (0..count).for_each(|_| drop(attempt(client, &command)));
    }
    call(client, "HSET user:1 email e");
    attempt(client, "HSET user:2 email e");
    let text = fresh(&shop);
    for (pattern, reason, count) in [
        ("", "unknown", 1),
        ("user:{id:uint}", "type", 2),
        ("user:{id:uint}", "value", 3),
        ("page:{name}", "size", 4),
        ("page:{name}", "lifetime", 5),
        ("users:by_email:{email}", "derived", 6),
        ("draft:{name}", "size", 0),
        ("user:{id:uint}", "unique", 1),
    ] {
        let name = of_reason("keyward_pattern_refused_total", pattern, reason);
        assert_eq!(sample(&text, &name), Some(f64::from(count)), "{name} in\n{text}");
    }
    let name = of_reason("keyward_pattern_warned_total", "draft:{name}", "size");
    assert_eq!(sample(&text, &name), Some(7.0), "{name} in\n{text}");
    assert_eq!(sample(&text, "redis_errors_total{err=\"SCHEMA\"}"), Some(22.0), "{text}");
}

#[test]
fn every_field_that_redis_exporter_exports_is_there() {
    let shop = Shop::open(&["--appendonly", "yes"]);
    let client = &mut shop.server.client();
    let info = call(client, "INFO everything");
    let info = String::from_utf8(info.as_bytes().expect("text").to_vec()).expect("text");
    let text = fresh(&shop);
    for family in INFO_FAMILIES {
        let value =
            info.lines().find_map(|line| line.strip_prefix(family.field)?.strip_prefix(':'));
        let value = value.unwrap_or_else(|| panic!("INFO has no {}", family.field));
        let exported = sample(&text, family.name);
        assert!(exported.is_some(), "{} is not in\n{text}", family.name);
        let kind = format!("# TYPE {} {}", family.name, family.kind.name());
        assert!(text.lines().any(|line| line == kind), "{kind}");
        // What does not move between the two.
        if [
            "maxclients",
            "maxmemory",
            "process_id",
            "rdb_last_bgsave_status",
            "connected_slaves",
            "hz",
        ]
        .contains(&family.field)
        {
            let expected = if value == "ok" { 1.0 } else { value.parse().expect("a number") };
            assert_eq!(exported, Some(expected), "{}", family.name);
        }
    }
    for name in ["redis_up", "redis_start_time_seconds", "redis_slowlog_length"] {
        assert!(sample(&text, name).is_some(), "{name}");
    }
    let instance = text.lines().find(|line| line.starts_with("redis_instance_info{"));
    let instance = instance.expect("it says what it is");
    for label in ["role=\"master\"", "redis_version=\"7.0.15\"", "maxmemory_policy=\"noeviction\""]
    {
        assert!(instance.contains(label), "{instance}");
    }
}

#[test]
fn the_names_of_the_documents_are_there() {
    let shop = Shop::open(&["--repl-diskless-sync-delay", "0"]);
    let redis = keyward_testkit::Server::redis(&[]);
    let port = shop.server.address().port();
    call(&mut redis.client(), &format!("REPLICAOF 127.0.0.1 {port}"));
    keyward_testkit::wait_until(|| {
        let text = fresh(&shop);
        let names = [
            "redis_keyspace_hits_total",
            "redis_keyspace_misses_total",
            "redis_memory_used_bytes",
            "redis_memory_max_bytes",
            "redis_replication_lag_seconds",
        ];
        let are_there = names.iter().all(|name| sample(&text, name).is_some());
        let lag = sample(&text, "redis_replication_lag_seconds");
        let is_near = lag.is_some_and(|lag| lag <= 2.0);
        are_there && is_near && sample(&text, "redis_connected_slaves") == Some(1.0)
    });
}

/// promtool's complaints about a text.
fn lint(text: &str) -> String {
    let mut promtool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("promtool is installed (./test does that)");
    promtool.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("it reads");
    let output = promtool.wait_with_output().expect("it ends");
    let said = [output.stdout, output.stderr].concat();
    String::from_utf8_lossy(&said).into_owned()
}

#[test]
fn promtool_finds_nothing_wrong_with_our_own_names_and_can_read_all() {
    let shop = Shop::open(&["--latency-monitor-threshold", "1"]);
    let client = &mut shop.server.client();
    call(client, "HSET user:1 email e");
    attempt(client, "SET nowhere 1");
    let text = fresh(&shop);
    let complaints = lint(&text);
    let ours: Vec<&str> = complaints.lines().filter(|line| line.starts_with("keyward_")).collect();
    assert!(ours.is_empty(), "{ours:?}");
    assert!(!complaints.contains("error while linting"), "{complaints}");
    // It does find something where there is something.
    assert!(lint("# HELP keyward_x X\n# TYPE keyward_x counter\nkeyward_x 1\n").contains("_total"));
}

/// Puts another schema in force.
pub(crate) fn apply(client: &mut Client, schema: &str) {
    let plan = client.call(["KEYWARD", "SCHEMA", "PLAN", schema]).expect("a plan");
    let text = format!("{plan:?}");
    let name = text.split(|sign: char| !sign.is_ascii_alphanumeric() && sign != '-');
    let name = name
        .into_iter()
        .find(|word| word.len() >= 8 && word.bytes().all(|b| b.is_ascii_hexdigit()));
    let name = name.unwrap_or_else(|| panic!("a name in {text}"));
    call(client, &format!("KEYWARD SCHEMA APPLY {name}"));
}

#[test]
fn what_a_schema_has_done_to_rows_is_counted() {
    let shop = Shop::open(&[]);
    let client = &mut shop.server.client();
    for number in 0..30 {
        call(client, &format!("HSET user:{number} email e{number} age {number}"));
    }
    let before = fresh(&shop);
    assert_eq!(sample(&before, "keyward_rebuild_commands_total"), Some(0.0));
    // Keys that are kept from those that there are have to be made.
    let lookup = "[key.\"users:by_age:{age}\"]\ntype = \"string\"\nlookup = { of = \"user:{id}\", field = \"age\" }\n";
    apply(client, &format!("{}\n{lookup}", crate::SHOP));
    keyward_testkit::wait_until(|| {
        let text = fresh(&shop);
        let figure = |name: &str| sample(&text, name).expect("it is there");
        figure("keyward_rebuild_commands_total") >= 30.0
            && figure("keyward_rebuild_pending") == 0.0
            && figure("keyward_schema_changing") == 0.0
    });
}

#[test]
fn figures_of_another_schema_come_with_it() {
    let shop = Shop::open(&[]);
    let client = &mut shop.server.client();
    call(client, "HSET user:1 email e");
    assert!(!fresh(&shop).contains("basket:"));
    let changed =
        format!("{}\n[key.\"basket:{{id}}\"]\ntype = \"set\"\nttl = \"1d\"\n", crate::SHOP);
    apply(client, &changed);
    call(client, "SADD basket:1 apple");
    keyward_testkit::wait_until(|| {
        let text = fresh(&shop);
        sample(&text, &of_pattern("keyward_pattern_keys", "basket:{id}")) == Some(1.0)
            && sample(&text, &of_pattern("keyward_pattern_keys", "user:{id:uint}")) == Some(1.0)
    });
}

#[test]
fn a_busy_server_still_has_figures_and_tells_their_age() {
    let shop = Shop::open(&["--busy-reply-threshold", "100"]);
    fresh(&shop);
    let mut busy = shop.server.client();
    busy.send_command(["EVAL", "while true do end", "0"]).expect("it is sent");
    let begun = Instant::now();
    keyward_testkit::wait_until(|| {
        let age = sample(&metrics(shop.http), "keyward_figures_age_seconds");
        age.is_some_and(|age| age > 1.0)
    });
    assert!(begun.elapsed() < Duration::from_secs(60));
    call(&mut shop.server.client(), "SCRIPT KILL");
    keyward_testkit::wait_until(|| {
        let age = sample(&metrics(shop.http), "keyward_figures_age_seconds");
        age.is_some_and(|age| age < 1.0)
    });
}

#[test]
fn nobody_who_asks_costs_nobody_a_command() {
    let shop = Shop::open(&[]);
    fresh(&shop);
    let before = fresh(&shop);
    let after = fresh(&shop);
    let calls = |text: &str| sample(text, "redis_commands_processed_total").expect("a count");
    // Whether its user may read them is asked once in ten seconds.
    assert!(calls(&after) - calls(&before) <= 1.0, "{} {}", calls(&before), calls(&after));
}
