//! What loads, and what is refused.

use std::path::Path;

use keyward_testkit::StartError;

use crate::served::Served;

#[track_caller]
fn log_of(served: Result<Served, StartError>) -> String {
    match served {
        Ok(_) => panic!("it starts"),
        Err(StartError::NotReady { log, .. }) => log,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_bad_schema_fails_the_load_with_all_its_findings() {
    let schema = "[keyspace]\nname = \"x\"\n[key.\"a\"]\ntype = \"hsh\"\n[key.\"b\"]\nttl = 5\n";
    let log = log_of(Served::with(schema, &[]));
    for place in ["shop.toml:4: error[KW", "shop.toml:6: error[KW"] {
        assert!(log.contains(place), "{place} in {log}");
    }
}

#[test]
fn a_bad_schema_lets_a_node_come_up_that_only_observes() {
    let schema = "[keyspace]\nname = \"x\"\n[key.\"a\"]\ntype = \"hsh\"\n";
    let served = Served::with(schema, &["on-error=observe"]);
    let mut served = served.unwrap_or_else(|error| panic!("{error}"));
    served.check(&[("SET anything 1", "OK"), ("GET anything", "1")]);
}

#[test]
fn what_the_module_cannot_keep_fails_the_load() {
    let session =
        "[key.\"s:{id}\"]\ntype = \"string\"\nttl = { after = \"1h\", renew = \"access\" }\n";
    let log = log_of(Served::with(&format!("[keyspace]\nname = \"x\"\n{session}"), &[]));
    let line = "shop.toml:5: impossible: s:{id}: lifetime renewed by reads: ";
    assert!(log.contains(line), "{log}");
}

#[test]
fn a_cluster_takes_no_ties_across_slots() {
    let log = log_of(Served::with(crate::SCHEMA, &["--cluster-enabled", "yes"]));
    for tie in ["by_email:{email}: lookup", "seen: rank", "user:{id:uint}:note: lives with"] {
        assert!(log.contains(&format!("impossible: {tie}")), "{tie} in {log}");
    }
    // What to do about it is said with it.
    assert!(log.contains("\"user:{{{id:uint}}}:note\" and \"user:{{{id:uint}}}\""), "{log}");
}

#[test]
fn redis_7_0_is_refused_with_a_sentence() {
    let log = log_of(Served::in_server(Path::new("redis-server"), crate::SCHEMA, &[]));
    assert!(log.contains("Keyward needs Redis 7.2, Valkey 7.2 or later"), "{log}");
}

#[test]
fn unloading_leaves_plain_data() {
    let mut served = Served::start(&["--enable-module-command", "yes"]);
    served.check(&[
        ("HSET user:1 status active plan gold email a", "3"),
        ("MODULE UNLOAD keyward", "OK"),
        ("GET by_email:a", "1"),
        ("SET stranger 1", "OK"),
    ]);
}
