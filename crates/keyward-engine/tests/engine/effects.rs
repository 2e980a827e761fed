//! What the log of effects says about commands.

use crate::harness::{START_MS, TestEngine, check_last};

/// Runs commands and compares what the last one is logged as.
fn check(commands: &[&str], expected: &[&str]) {
    let mut test = TestEngine::new(1);
    let client = test.engine.connect();
    for (at, command) in commands.iter().enumerate() {
        if at + 1 == commands.len() {
            test.effects();
        }
        let reply = test.call(client, command);
        assert!(!reply.starts_with("-ERR unknown"), "{command}: {reply}");
    }
    assert_eq!(test.effect_lines(), expected, "{commands:?}");
}

#[test]
fn a_plain_write_is_logged_as_it_came() {
    check(&["SET a 1"], &["0: SET a 1"]);
    check(&["RPUSH l a b"], &["0: RPUSH l a b"]);
    check(&["SELECT 3", "INCR n"], &["3: INCR n"]);
}

#[test]
fn what_changes_nothing_is_not_logged() {
    check(&["GET a"], &[]);
    check(&["DEL nothing"], &[]);
    check(&["SET a 1", "SET a 2 NX"], &[]);
    check(&["SET a 1", "LPUSH a x"], &[]);
}

#[test]
fn lifetimes_are_logged_as_absolute_times() {
    let (second, at) = (START_MS / 1000, START_MS + 5000);
    check(&["SET a 1 EX 5"], &[&format!("0: SET a 1 PXAT {at}")]);
    check(&["SETEX a 5 1"], &[&format!("0: SET a 1 PXAT {at}")]);
    check(&["SET a 1", "EXPIRE a 5"], &[&format!("0: PEXPIREAT a {at}")]);
    check(&["SET a 1", "GETEX a PX 5000"], &[&format!("0: PEXPIREAT a {at}")]);
    check(&["SET a 1", &format!("EXPIREAT a {}", second + 5)], &[&format!("0: PEXPIREAT a {at}")]);
    check(&["SET a 1", "EXPIRE a -1"], &["0: DEL a"]);
    check(&["SET a 1 EX 5", "GETEX a PERSIST"], &["0: PERSIST a"]);
}

#[test]
fn a_counter_is_logged_with_the_lifetime_that_the_schema_gives_it() {
    let schema = r#"
        [keyspace]
        name = "limits"

        [key."limit:{id}"]
        type  = "int"
        value = "uint"
        ttl   = { after = "60s", renew = "never" }
    "#;
    let mut test = TestEngine::governed(1, schema);
    let client = test.engine.connect();
    assert_eq!(test.call(client, "INCRBY limit:1 5"), ":5\r\n");
    assert_eq!(test.effect_lines(), [format!("0: SET limit:1 5 PXAT {}", START_MS + 60_000)]);
    // Packed or not, it is counted up where it is.
    test.rest();
    test.set_time(START_MS + 1000);
    assert_eq!(test.call(client, "INCR limit:1"), ":6\r\n");
    assert_eq!(test.effect_lines(), ["0: INCR limit:1"]);
    assert_eq!(test.call(client, "PTTL limit:1"), ":59000\r\n");
    test.rest();
    test.set_time(START_MS + 60_001);
    assert_eq!(test.call(client, "INCR limit:1"), ":1\r\n");
    let anew = format!("0: SET limit:1 1 PXAT {}", START_MS + 120_001);
    assert_eq!(test.effect_lines(), ["0: DEL limit:1", &anew]);
}

#[test]
fn results_are_logged_where_computing_them_again_could_differ() {
    check(&["SET f 0.1", "INCRBYFLOAT f 0.2"], &["0: SET f 0.3 KEEPTTL"]);
    check(&["SET a 1", "GETSET a 2"], &["0: SET a 2"]);
    check(&["SET a 1", "GETDEL a"], &["0: DEL a"]);
    check(&["SET a 1", "SET a 2 GET"], &["0: SET a 2"]);
    check(&["RPUSH l a", "BLPOP l 0"], &["0: LPOP l"]);
}

#[test]
fn a_flush_is_logged_even_if_there_was_nothing() {
    check(&["FLUSHALL"], &["0: FLUSHALL"]);
}

#[test]
fn a_transaction_is_one_unit_of_its_commands() {
    let mut test = TestEngine::new(1);
    let client = test.engine.connect();
    for command in ["SET before 1", "MULTI", "SET a 1", "GET a", "EXPIRE a 5", "EXEC"] {
        test.call(client, command);
    }
    let effects = test.effects();
    assert_eq!(effects.len(), 3);
    assert_ne!(effects[0].unit, effects[1].unit);
    assert_eq!(effects[1].unit, effects[2].unit);
}

#[test]
fn a_due_row_found_on_the_way_is_logged_before_the_command() {
    let mut test = TestEngine::new(1);
    let client = test.engine.connect();
    test.call(client, "SET a 1 PX 10");
    test.effects();
    test.set_time(START_MS + 11);
    test.call(client, "APPEND a x");
    assert_eq!(test.effect_lines(), ["0: DEL a", "0: APPEND a x"]);
}

#[test]
fn a_read_that_finds_a_due_row_is_not_logged_itself() {
    let mut test = TestEngine::new(1);
    let client = test.engine.connect();
    test.call(client, "SET a 1 PX 10");
    test.effects();
    test.set_time(START_MS + 11);
    test.call(client, "GET a");
    assert_eq!(test.effect_lines(), ["0: DEL a"]);
}

#[test]
fn nothing_is_recorded_while_nobody_listens() {
    let mut test = TestEngine::new(1);
    test.engine.keyspace().effects.listen(false);
    let client = test.engine.connect();
    test.call(client, "SET a 1 EX 5");
    assert!(test.effects().is_empty());
}

#[test]
fn a_move_for_which_one_would_wait_is_logged_by_the_command_that_does_not() {
    let moved = ["lpush to", "rpop from", "del from"];
    check_last(&["RPUSH from x", "BRPOPLPUSH from to 1"], &["0: RPOPLPUSH from to"], &moved);
    let moved = ["rpush to", "lpop from", "del from"];
    let logged = ["0: LMOVE from to LEFT RIGHT"];
    check_last(&["RPUSH from x", "BLMOVE from to LEFT RIGHT 1"], &logged, &moved);
}
