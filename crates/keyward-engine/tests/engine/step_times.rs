//! What commands on large rows take by themselves, beside others that take time for each element.

use crate::harness::TestEngine;
use crate::large_ends_model::{SCHEMA, members};
use keyward_engine::ClientId;
use keyward_testkit::processor_time;
use std::time::Duration;

/// Members of what is large.
const MEMBERS: u64 = 8_000;
/// Such a part of what takes time for each of them does not.
const PART: u32 = 10;

/// What a command takes, and that it does something.
fn time(test: &mut TestEngine, client: ClientId, command: &str, reply: &str) -> Duration {
    let mut found = String::new();
    let time = processor_time(|| found = test.call(client, command));
    assert!(found.starts_with(reply), "{command}: {}", &found[..found.len().min(100)]);
    time
}

/// An engine with a mirrored set.
fn mirrored() -> (TestEngine, ClientId) {
    let mut test = TestEngine::governed(1, SCHEMA);
    let client = test.engine.connect();
    test.call(client, &format!("SADD user:1:followers {}", members(1_000, MEMBERS)));
    (test, client)
}

#[test]
fn a_mirrored_set_goes_elsewhere_in_no_time_for_its_members() {
    for (command, reply) in [
        ("RENAME user:1:followers x", "+OK"),
        ("RENAMENX user:1:followers x", ":1"),
        ("MOVE user:1:followers 1", ":1"),
        ("RENAME user:1:followers old", "+OK"),
    ] {
        let (mut test, client) = mirrored();
        test.call(client, "SADD old 7");
        let each = time(&mut test, client, "COPY user:1:followers y", ":1");
        let taken = time(&mut test, client, command, reply);
        assert!(taken * PART < each, "{command}: {taken:?}, and COPY takes {each:?}");
        assert!(test.engine.has_pending_ends(), "its mirrors lose it in steps");
        assert_eq!(test.call(client, "EXISTS user:2000:following"), ":0\r\n");
    }
}

#[test]
fn what_a_large_set_became_ends_in_no_time_for_its_members() {
    for (command, reply) in [
        ("DEL x", ":1"),
        ("RENAME x y", "+OK"),
        ("SET x text", "+OK"),
        ("SINTERSTORE x none none", ":0"),
        ("PEXPIRE x 0", ":1"),
        ("FLUSHDB", "+OK"),
    ] {
        let (mut test, client) = mirrored();
        let each = time(&mut test, client, "COPY user:1:followers copy", ":1");
        test.call(client, "RENAME user:1:followers x");
        let taken = time(&mut test, client, command, reply);
        assert!(taken * PART < each, "{command}: {taken:?}, and COPY takes {each:?}");
        assert_eq!(test.call(client, "EXISTS user:2000:following"), ":0\r\n");
        while test.engine.has_pending_ends() {
            test.tick();
        }
        let left = test.call(client, "KEYS user:*:following");
        assert_eq!(left, "*0\r\n", "{command}");
    }
}

#[test]
fn a_copy_that_is_not_made_takes_no_time_for_the_members() {
    let (mut test, client) = mirrored();
    let each = time(&mut test, client, "COPY user:1:followers x", ":1");
    let taken = time(&mut test, client, "COPY user:1:followers x", ":0");
    assert!(taken * PART < each, "{taken:?}, and a copy takes {each:?}");
}
