//! Waiting clients, as the host sees them.

use crate::harness::{START_MS, TestEngine, request};
use keyward_engine::{Delivery, Progress};

#[test]
fn a_wait_ends_when_its_time_is_over() {
    let mut test = TestEngine::new(1);
    let client = test.engine.connect();
    let (progress, out) = test.send(client, &request("BLPOP l 0.5"));
    assert_eq!((progress, out.len()), (Progress::Blocked, 0));
    assert_eq!(test.engine.next_deadline(), Some(START_MS + 500));
    test.set_time(START_MS + 499);
    test.tick();
    assert!(test.deliveries().is_empty());
    test.set_time(START_MS + 500);
    test.tick();
    let expected =
        [Delivery::Output(client, b"*-1\r\n".as_slice().into()), Delivery::Unblocked(client)];
    assert_eq!(test.deliveries(), expected);
    assert_eq!(test.engine.next_deadline(), None);
}

#[test]
fn commands_behind_a_blocking_one_run_when_it_is_done() {
    let mut test = TestEngine::new(1);
    let (waiting, other) = (test.engine.connect(), test.engine.connect());
    let pipeline = [request("BLPOP l 0"), request("PING"), request("ECHO x")].concat();
    let (progress, out) = test.send(waiting, &pipeline);
    assert_eq!((progress, out.len()), (Progress::Blocked, 0));
    test.call(other, "RPUSH l a");
    let reply = b"*2\r\n$1\r\nl\r\n$1\r\na\r\n".to_vec();
    assert_eq!(
        test.deliveries(),
        [Delivery::Output(waiting, reply.into()), Delivery::Unblocked(waiting)]
    );
    assert_eq!(test.resume(waiting), "+PONG\r\n$1\r\nx\r\n");
}

#[test]
fn a_client_that_goes_waits_no_longer() {
    let mut test = TestEngine::new(1);
    let (waiting, other) = (test.engine.connect(), test.engine.connect());
    test.send(waiting, &request("BLPOP l 0"));
    test.engine.disconnect(waiting);
    test.call(other, "RPUSH l a");
    assert!(test.deliveries().is_empty());
    assert_eq!(test.call(other, "LLEN l"), ":1\r\n");
}

#[test]
fn a_wait_for_very_many_keys_begins_in_time_for_their_number() {
    let mut test = TestEngine::new(1);
    let client = test.engine.connect();
    let keys: Vec<String> = (0..200_000).map(|n| format!("key:{}", n % 199_999)).collect();
    assert_eq!(test.call(client, &format!("BLPOP {} 0", keys.join(" "))), "");
    let other = test.engine.connect();
    assert_eq!(test.call(other, "LPUSH key:199998 x"), ":1\r\n");
    let popped = b"*2\r\n$10\r\nkey:199998\r\n$1\r\nx\r\n".as_slice().into();
    assert!(test.deliveries().contains(&Delivery::Output(client, popped)));
}

#[test]
fn a_wait_that_begins_amid_a_millisecond_does_not_end_before_its_time() {
    let mut test = TestEngine::new(1);
    let client = test.engine.connect();
    test.engine.set_time(START_MS * 1000 + 400);
    assert_eq!(test.call(client, "BLPOP l 0.5"), "");
    assert_eq!(test.engine.next_deadline(), Some(START_MS + 501));
}
