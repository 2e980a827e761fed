//! What commands on large rows take by themselves, beside others that take time for each element.

use crate::harness::{START_MS, TestEngine};
use crate::large_ends_model::{SCHEMA, members};
use keyward_engine::ClientId;
use keyward_testkit::processor_time;
use std::time::Duration;

/// Members and entries of what is large.
const MEMBERS: u64 = 8_000;
const ENTRIES: u64 = 20_000;
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

const SHAPED: &str = r#"
[keyspace]
name = "shaped"

[key."fans:{id:uint}"]
type       = "set"
items      = "uint"
ttl        = "none"
inverse    = "idols:{member}"
max_fanout = 100000

[key."idols:{id:uint}"]
type       = "set"
items      = "uint"
ttl        = "none"
inverse    = "fans:{member}"
max_fanout = 100000

[key."crowd:{id:uint}"]
type  = "set"
items = "uint"
ttl   = "none"

[key."names:{id:uint}"]
type = "set"
ttl  = "none"

[key."short:{id:uint}"]
type        = "set"
items       = "uint"
ttl         = "none"
max_members = 3
"#;

/// What fits one key is not judged again under another that takes the same, or anything.
#[test]
fn members_are_judged_where_they_may_not_fit_and_nowhere_else() {
    let mut test = TestEngine::governed(1, SHAPED);
    let client = test.engine.connect();
    test.call(client, &format!("SADD fans:1 {}", members(1_000, MEMBERS)));
    let each = time(&mut test, client, "COPY fans:1 crowd:9", ":1");
    for command in ["RENAME fans:1 crowd:1", "RENAME crowd:1 names:1", "RENAMENX names:1 names:2"] {
        let reply = if command.contains("NX") { ":1" } else { "+OK" };
        let taken = time(&mut test, client, command, reply);
        assert!(taken * PART < each, "{command}: {taken:?}, and COPY takes {each:?}");
    }
    assert_eq!(test.call(client, "RENAME names:2 crowd:2"), "+OK\r\n");
    test.call(client, "SADD names:3 ann");
    let refused = test.call(client, "RENAME names:3 crowd:3");
    assert!(refused.starts_with("-SCHEMA crowd:3"), "{refused}");
    let refused = test.call(client, "RENAME crowd:2 short:1");
    assert!(refused.starts_with("-SCHEMA short:1"), "{refused}");
    assert_eq!(test.call(client, "SCARD crowd:2"), format!(":{MEMBERS}\r\n"));
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
fn a_tick_of_a_large_end_counts_what_follows_from_the_rows_it_removes() {
    let schema = "[keyspace]\nname = \"t\"\n\n[key.\"lease:{id:uint}\"]\ntype = \"string\"\n\
         ttl = \"1d\"\n\n[key.\"badge:{lease_id:uint}:{n:uint}\"]\ntype = \"hash\"\n\
         ttl = { with = \"lease:{lease_id}\" }\nfields = { code = \"str\" }\n\n\
         [key.\"code:{lease_id:uint}:{code}\"]\ntype = \"string\"\n\
         lookup = { of = \"badge:{lease_id}:{n}\", field = \"code\" }\n\n\
         [key.\"badges:{n:uint}\"]\ntype = \"set\"\nmembers = { of = \"badge:{lease_id}:{n}\" }\n";
    let mut test = TestEngine::governed(1, schema);
    let client = test.engine.connect();
    test.call(client, "SET lease:1 x");
    for number in 0..2_000 {
        test.call(client, &format!("HSET badge:1:{number} code c{number}"));
    }
    assert_eq!(test.call(client, "DBSIZE"), ":6001\r\n");
    test.call(client, "DEL lease:1");
    let mut ticks = 0;
    while test.engine.has_pending_ends() {
        test.tick();
        ticks += 1;
    }
    assert_eq!(test.call(client, "DBSIZE"), ":0\r\n");
    assert!(ticks > 6_000 / 80, "{ticks} ticks for 6,000 rows");
}

/// A set that is derived of many rows.
fn derived(mode: &str) -> (TestEngine, ClientId) {
    let schema = format!(
        "[keyspace]\nname = \"clubs\"\nmode = \"{mode}\"\n\n\
         [key.\"user:{{id:uint}}\"]\ntype = \"hash\"\nttl = \"1d\"\nfields = {{ name = \"str\" }}\n\n\
         [key.\"users\"]\ntype = \"set\"\nmembers = {{ of = \"user:{{id}}\" }}\n\n\
         [key.\"copy:{{id:uint}}\"]\ntype = \"set\"\nitems = \"str\"\nttl = \"1d\"\n"
    );
    let mut test = TestEngine::governed(1, &schema);
    let client = test.engine.connect();
    for user in 0..MEMBERS {
        test.call(client, &format!("HSET user:{user} name x"));
    }
    (test, client)
}

#[test]
fn what_contradicts_a_large_derived_set_is_found_in_no_time_for_its_members() {
    let (mut test, client) = derived("enforce");
    let each = time(&mut test, client, "COPY users copy:1", ":1");
    for command in ["DEL users", "UNLINK users", "MOVE users 1", "SINTERSTORE users copy:9"] {
        let taken = time(&mut test, client, command, "-SCHEMA users: is kept by Keyward");
        assert!(taken * PART < each, "{command}: {taken:?}, and COPY takes {each:?}");
        assert_eq!(test.call(client, "SCARD users"), format!(":{MEMBERS}\r\n"));
    }
    let (mut test, client) = derived("warn");
    let each = time(&mut test, client, "COPY users copy:1", ":1");
    let taken = time(&mut test, client, "DEL users", ":1");
    assert!(taken * 2 < each, "{taken:?}, and COPY takes {each:?}");
}

#[test]
fn a_copy_that_is_not_made_takes_no_time_for_the_members() {
    let (mut test, client) = mirrored();
    let each = time(&mut test, client, "COPY user:1:followers x", ":1");
    let taken = time(&mut test, client, "COPY user:1:followers x", ":0");
    assert!(taken * PART < each, "{taken:?}, and a copy takes {each:?}");
}

/// An engine with a stream of which all entries are pending, with two consumers in turn.
fn pending() -> (TestEngine, ClientId) {
    let mut test = TestEngine::new(1);
    let client = test.engine.connect();
    test.call(client, "XGROUP CREATE s g 0 MKSTREAM");
    for number in 1..=ENTRIES {
        test.call(client, &format!("XADD s {number}-0 n {number}"));
    }
    for read in 0..ENTRIES / 1_000 {
        let consumer = ["ann", "bob"][read as usize % 2];
        test.call(client, &format!("XREADGROUP GROUP g {consumer} COUNT 1000 STREAMS s >"));
    }
    test.set_time(START_MS + 5_000);
    (test, client)
}

#[test]
fn entries_that_are_not_idle_are_passed_over() {
    let (mut test, client) = pending();
    let each = time(&mut test, client, &format!("XPENDING s g - + {ENTRIES}"), "*20000");
    for command in ["XPENDING s g IDLE 60000 - + 10", "XPENDING s g IDLE 60000 - + 10 bob"] {
        let taken = time(&mut test, client, command, "*0");
        assert!(taken * PART < each, "{command}: {taken:?}, and all of it takes {each:?}");
    }
    // Entries that were given earlier are found wherever they lie, and passed over again when
    // they are given anew.
    test.call(client, "XCLAIM s g bob 0 777-0 TIME 1 JUSTID");
    test.call(client, &format!("XCLAIM s g ann 0 {}-0 IDLE 90000 JUSTID", ENTRIES - 5));
    let both = "*2\r\n*4\r\n$5\r\n777-0\r\n$3\r\nbob\r\n";
    let taken = time(&mut test, client, "XPENDING s g IDLE 60000 - + 10", both);
    assert!(taken * PART < each, "{taken:?}, and all of it takes {each:?}");
    let one = "*1\r\n*4\r\n$5\r\n777-0\r\n$3\r\nbob\r\n";
    assert!(test.call(client, "XPENDING s g IDLE 60000 - + 1").starts_with(one));
    assert!(test.call(client, "XPENDING s g IDLE 60000 - + 10 bob").starts_with(one));
    assert!(test.call(client, "XPENDING s g IDLE 60000 777 777 10").starts_with(one));
    test.call(client, &format!("XACK s g {}-0", ENTRIES - 5));
    test.call(client, "XCLAIM s g bob 0 777-0 JUSTID");
    let taken = time(&mut test, client, "XPENDING s g IDLE 60000 - + 10", "*0");
    assert!(taken * PART < each, "{taken:?}, and all of it takes {each:?}");
}

/// XAUTOCLAIM looks at ten entries for each that it may claim.
#[test]
fn xautoclaim_goes_through_a_node_once() {
    let (mut test, client) = pending();
    let each = time(&mut test, client, "XPENDING s g - + 10000", "*10000");
    let next = "*3\r\n$7\r\n10001-0\r\n*0\r\n*0\r\n";
    let taken = time(&mut test, client, "XAUTOCLAIM s g bob 60000 - COUNT 1000", next);
    assert!(taken < 2 * each, "{taken:?}, and to list as many takes {each:?}");
}
