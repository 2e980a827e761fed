//! Rows by themselves: type, shape, bounds, lifetime.

use crate::SCHEMA;
use crate::host::{Host, Outcome};

#[track_caller]
fn check(before: &[&str], command: &str, expected: &str) -> Host {
    let mut host = Host::new(SCHEMA);
    for command in before {
        assert_eq!(host.run(command), Outcome::Done, "{command}");
    }
    let outcome = match host.run(command) {
        Outcome::Done => "done".to_owned(),
        Outcome::Refused(text) => text,
        Outcome::Failed => "failed".to_owned(),
    };
    assert_eq!(outcome, expected, "{command}");
    host
}

#[test]
fn a_row_keeps_its_type() {
    check(&[], "SADD log:1 a", "SCHEMA log:1: is declared a list, not a set (shop.toml:82)");
    check(
        &["SADD user:1:out 2"],
        "RENAME user:1:out log:1",
        "SCHEMA log:1: is declared a list, not a set (shop.toml:82)",
    );
}

#[test]
fn a_hash_is_created_whole_and_goes_whole() {
    check(
        &[],
        "HSET user:1 status active",
        "SCHEMA user:1: lacks the required field plan (shop.toml:5)",
    );
    let ann = "HSET user:1 status active plan gold";
    check(&[ann], "HDEL user:1 plan", "SCHEMA user:1: lacks the required field plan (shop.toml:5)");
    check(&[ann], "HDEL user:1 plan status", "done");
    check(
        &[ann],
        "HSET user:1 plan silver",
        "SCHEMA user:1: plan must be gold or free, not \"silver\" (shop.toml:11)",
    );
    check(
        &[ann],
        "HSET user:1 plam gold",
        "SCHEMA user:1: has no field \"plam\"; did you mean plan? (shop.toml:5)",
    );
}

#[test]
fn a_list_is_trimmed_at_the_far_end_of_the_push() {
    let host = check(&["RPUSH log:1 a b"], "LPUSH log:1 c d", "done");
    assert_eq!(host.shown("log:1"), "d c a");
    let host = check(&["RPUSH log:1 a b"], "RPUSH log:1 c d", "done");
    assert_eq!(host.shown("log:1"), "b c d");
}

#[test]
fn a_sorted_set_drops_its_lowest() {
    let messages = "MSET msg:1:1 a msg:1:2 a msg:1:3 a msg:1:4 a";
    let host = check(&[messages], "ZADD recent:1 5 1 2 2 9 3 7 4", "done");
    assert_eq!(host.shown("recent:1"), "1=5 3=9 4=7");
}

#[test]
fn a_set_refuses_what_is_too_much() {
    check(
        &["SADD user:1:in 2 3 4 5"],
        "SADD user:1:in 6",
        "SCHEMA user:1:in: may have at most 4 members (max_members), not 5 (shop.toml:68)",
    );
}

#[test]
fn lifetimes_are_given_kept_and_defended() {
    let deadline = |host: &Host, key| host.row(key).and_then(|row| row.deadline);
    let host = check(&[], "LPUSH log:1 a", "done");
    assert_eq!(deadline(&host, "log:1"), Some(1_010_000));
    let host = check(&["LPUSH log:1 a", "PEXPIRE log:1 500"], "LPUSH log:1 b", "done");
    assert_eq!(deadline(&host, "log:1"), Some(1_000_500));
    check(
        &["LPUSH log:1 a"],
        "PEXPIRE log:1 20000",
        "SCHEMA log:1: may live at most 10 seconds, not 20 seconds (shop.toml:86)",
    );
    check(
        &["SET code:1 x"],
        "PEXPIRE code:1 20000",
        "SCHEMA code:1: lives until it is deleted (ttl = \"none\") and takes no lifetime \
         (shop.toml:33)",
    );
}

#[test]
fn a_key_without_a_pattern_is_refused_but_can_be_deleted() {
    check(
        &[],
        "SET usr:1 x",
        "SCHEMA usr:1: matches no pattern of shop; nearest is user:{id:uint}, whose first part is \
         user (shop.toml)",
    );
    check(&[], "DEL usr:1", "done");
}

#[test]
fn warnings_pass_and_the_rest_still_follows() {
    let schema = SCHEMA.replace("name = \"shop\"", "name = \"shop\"\nmode = \"warn\"");
    let mut host = Host::new(&schema);
    assert_eq!(host.run("HSET user:1 status active color red email ann@x"), Outcome::Done);
    assert_eq!(host.shown("active"), "1");
    assert_eq!(host.shown("by_email:ann@x"), "1");
    assert!(host.row("user:1").is_some_and(|row| row.deadline.is_some()));
    assert_eq!(host.run("SET usr:1 x"), Outcome::Done);
    assert_eq!(host.warnings.len(), 2, "{:?}", host.warnings);
}
