//! Rows end exactly when their time is over.

use crate::harness::{START_MS, TestEngine};

#[test]
fn a_row_is_there_up_to_its_deadline_and_not_after() {
    let mut test = TestEngine::new(1);
    let client = test.engine.connect();
    test.call(client, "SET a v PX 100");
    test.set_time(START_MS + 100);
    assert_eq!(test.call(client, "GET a"), "$1\r\nv\r\n");
    test.set_time(START_MS + 101);
    assert_eq!(test.call(client, "GET a"), "$-1\r\n");
    assert_eq!(test.call(client, "DBSIZE"), ":0\r\n");
}

#[test]
fn ticks_remove_due_rows_in_bounded_steps() {
    let mut test = TestEngine::new(1);
    let client = test.engine.connect();
    for key in 0..5_000 {
        test.call(client, &format!("SET k{key} v PX {}", 1 + key % 50));
    }
    test.call(client, "SET stays v");
    test.set_time(START_MS + 1_000);
    let mut steps = 1;
    while test.tick() {
        steps += 1;
    }
    assert!(steps > 1, "five thousand rows are more than one step");
    assert_eq!(test.call(client, "DBSIZE"), ":1\r\n");
}

#[test]
fn a_row_that_lives_longer_than_before_is_not_swept() {
    let mut test = TestEngine::new(1);
    let client = test.engine.connect();
    test.call(client, "SET a v PX 10");
    test.call(client, "PEXPIRE a 1000");
    test.call(client, "SET b v PX 10");
    test.call(client, "PERSIST b");
    test.call(client, "SET c v PX 10");
    test.call(client, "RENAME c d");
    test.set_time(START_MS + 500);
    test.tick();
    assert_eq!(test.call(client, "EXISTS a b d"), ":2\r\n");
}

#[test]
fn an_expiry_breaks_a_watch_unless_the_row_was_due_already() {
    let mut test = TestEngine::new(1);
    let client = test.engine.connect();
    test.call(client, "SET a v PX 10");
    test.call(client, "WATCH a");
    test.set_time(START_MS + 11);
    test.call(client, "MULTI");
    assert_eq!(test.call(client, "EXEC"), "*-1\r\n");
    test.call(client, "SET a v PX 10");
    test.set_time(START_MS + 30);
    test.call(client, "WATCH a");
    test.tick();
    test.call(client, "MULTI");
    assert_eq!(test.call(client, "EXEC"), "*0\r\n");
}
