//! FAILOVER: a primary hands over to a replica, in every combination with redis-server 7.0.

use super::write_all_kinds;
use crate::node::Node;
use keyward_resp::Frame;
use keyward_testkit::wait_until;

fn ok() -> Frame {
    Frame::Simple(b"OK".to_vec())
}

/// Hands over, and finds everybody with the same rows.
fn hands_over(primary: &Node, target: &Node, other: &Node) {
    target.follow(primary);
    other.follow(primary);
    let mut client = primary.client();
    (0..20).for_each(|round| write_all_kinds(&mut client, round));
    primary.wait_for(target);
    primary.wait_for(other);
    let command = format!("FAILOVER TO 127.0.0.1 {} TIMEOUT 20000", target.port);
    assert_eq!(primary.call(&command), ok());
    assert_ne!(primary.info("master_failover_state"), "");
    // A write that comes meanwhile waits, and is refused by who does not lead any more.
    let held = primary.call("SET held 1");
    assert!(matches!(&held, Frame::Error(text) if text.starts_with(b"READONLY")), "{held:?}");
    wait_until(|| target.info("role") == "master");
    assert_eq!(primary.info("role"), "slave");
    assert_eq!(primary.info("master_failover_state"), "no-failover");
    other.follow(target);
    let mut client = target.client();
    (20..40).for_each(|round| write_all_kinds(&mut client, round));
    target.assert_equals(primary);
    target.assert_equals(other);
    assert_eq!(target.syncs()[..2], ["0", "2"]);
}

#[test]
fn a_keyward_hands_over_to_a_redis() {
    hands_over(&Node::keyward(&[]), &Node::redis(&[]), &Node::keyward(&[]));
}

#[test]
fn a_redis_hands_over_to_a_keyward() {
    hands_over(&Node::redis(&[]), &Node::keyward(&[]), &Node::redis(&[]));
}

#[test]
fn a_keyward_hands_over_to_a_keyward() {
    hands_over(&Node::keyward(&[]), &Node::keyward(&[]), &Node::redis(&[]));
}

#[test]
fn whoever_has_everything_first_takes_over() {
    let (primary, replica) = (Node::keyward(&[]), Node::keyward(&[]));
    replica.follow(&primary);
    primary.wait_for(&replica);
    assert_eq!(primary.call("SET a 1"), ok());
    assert_eq!(primary.call("FAILOVER"), ok());
    wait_until(|| replica.info("role") == "master");
    replica.assert_equals(&primary);
}

#[test]
fn a_failover_that_nobody_is_ready_for_is_given_up_or_forced() {
    let (primary, replica) = (Node::keyward(&[]), Node::redis(&[]));
    replica.follow(&primary);
    primary.wait_for(&replica);
    replica.signal("STOP");
    assert_eq!(primary.call("SET a 1"), ok());
    assert_eq!(primary.call("FAILOVER"), ok());
    assert_eq!(primary.info("master_failover_state"), "waiting-for-sync");
    assert_eq!(primary.call("FAILOVER ABORT"), ok());
    assert_eq!(primary.info("master_failover_state"), "no-failover");
    assert_eq!(primary.call("SET a 2"), ok());
    assert_eq!(primary.call("FAILOVER TIMEOUT 300"), ok());
    // It waits for the end of the failover.
    assert_eq!(primary.call("SET a 3"), ok());
    assert_eq!(primary.info("role"), "master");
    let command = format!("FAILOVER TO 127.0.0.1 {} FORCE TIMEOUT 300", replica.port);
    assert_eq!(primary.call(&command), ok());
    wait_until(|| primary.info("role") == "slave");
    replica.signal("CONT");
    wait_until(|| replica.info("role") == "master");
    replica.assert_equals(&primary);
}

#[test]
fn it_is_refused_in_the_words_of_redis() {
    let (ours, theirs) = (Node::keyward(&[]), Node::redis(&[]));
    let check = |command: &str| assert_eq!(ours.call(command), theirs.call(command), "{command}");
    for command in [
        "FAILOVER",
        "FAILOVER ABORT",
        "FAILOVER TIMEOUT 0",
        "FAILOVER TIMEOUT x",
        "FAILOVER TO 127.0.0.1",
        "FAILOVER TO 127.0.0.1 x",
        "FAILOVER ABORT TIMEOUT 1",
        "FAILOVER FORCE",
        "PSYNC x 1 FAILOVER",
    ] {
        check(command);
    }
    let replicas = [Node::redis(&[]), Node::redis(&[])];
    replicas[0].follow(&ours);
    replicas[1].follow(&theirs);
    ours.wait_for(&replicas[0]);
    theirs.wait_for(&replicas[1]);
    for command in ["FAILOVER FORCE", "FAILOVER TO 127.0.0.1 1", "FAILOVER FORCE TIMEOUT 5"] {
        check(command);
    }
    ours.follow(&replicas[1]);
    theirs.follow(&replicas[0]);
    check("FAILOVER");
}
