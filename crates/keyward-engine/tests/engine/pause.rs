//! Rows and commands while clients are paused.

use crate::harness::TestEngine;

#[test]
fn a_pause_keeps_due_rows_until_it_ends() {
    let mut test = TestEngine::new(1);
    let (a, b) = (test.engine.connect(), test.engine.connect());
    test.call(a, "SET k v PX 10");
    test.call(a, "CLIENT PAUSE 1000 WRITE");
    test.set_time(test.now_ms + 100);
    test.tick();
    assert_eq!(test.call(a, "GET k"), "$-1\r\n");
    assert_eq!(test.call(a, "RANDOMKEY"), "$1\r\nk\r\n");
    assert_eq!(test.call(b, "SET k w"), "", "held back");
    assert_eq!(test.engine.facts().keys.expired, 0);
    test.set_time(test.now_ms + 1000);
    test.tick();
    assert_eq!(test.engine.facts().keys.expired, 1);
    assert_eq!(test.resume(b), "+OK\r\n");
    assert_eq!(test.call(a, "GET k"), "$1\r\nw\r\n");
}
