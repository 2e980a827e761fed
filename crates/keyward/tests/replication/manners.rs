//! What the two sides of a link say to each other beside the stream, and how they part.

use crate::node::Node;
use crate::scripted::{Scripted, empty_snapshot, stream_of};
use crate::{Follower, under_load};
use keyward_resp::Frame;
use keyward_testkit::wait_until;
use std::io::{BufRead as _, Read as _};
use std::time::{Duration, Instant};

#[test]
fn a_replica_that_sends_what_is_replied_to_is_disconnected() {
    let replies = [
        ("PING", "'ping'"),
        ("XINFO HELP", "'xinfo|help'"),
        ("SLOWLOG GET", "'slowlog|get'"),
        ("GET a", "'get'"),
    ];
    for (command, name) in replies {
        let primary = Node::keyward(&[]);
        let mut follower = Follower::of(&primary);
        follower.say(&format!("{command}\r\n"));
        let mut rest = Vec::new();
        follower.0.read_to_end(&mut rest).expect("the end");
        assert!(rest.iter().all(|byte| *byte == b'\n'), "{command}: {rest:?}");
        let line = format!("Replica generated a reply to command {name}, disconnecting it: ");
        assert!(primary.log().contains(&line), "{}", primary.log());
        let is_error = primary.log().contains("== CRITICAL == This master is sending an error");
        assert_eq!(is_error, command == "GET a");
        assert_eq!(primary.info("connected_slaves"), "0");
    }
}

#[test]
fn a_script_that_keeps_the_server_busy_sees_that_a_replica_has_gone() {
    let primary = Node::keyward(&["--busy-reply-threshold", "10"]);
    let follower = Follower::of(&primary);
    wait_until(|| primary.info("connected_slaves") == "1");
    let mut client = primary.client();
    let script = "redis.call('SET', 'seen', 'begun') \
                  repeat local told = redis.call('INFO', 'replication') \
                  until told:find('connected_slaves:0') \
                  redis.call('SET', 'seen', 'gone') return 1";
    let waits = std::thread::spawn(move || client.call(&["EVAL", script, "1", "seen"]));
    wait_until(|| matches!(primary.call("PING"), Frame::Error(text) if text.starts_with(b"BUSY")));
    drop(follower);
    assert_eq!(waits.join().expect("it ends").expect("a reply"), Frame::Integer(1));
    assert_eq!(primary.call("GET seen"), Frame::Bulk(b"gone".to_vec()));
    assert_eq!(primary.info("connected_slaves"), "0");
}

#[test]
fn a_replica_sends_its_primary_no_replies() {
    let stream = stream_of(&[
        &["SELECT", "0"],
        &["SET", "text", "x"],
        &["INCR", "text"],
        &["PING"],
        &["MULTI"],
        &["GET", "text"],
        &["EXEC"],
        &["REPLCONF", "GETACK", "*"],
        &["SET", "last", "1"],
    ]);
    let primary = Scripted::of(empty_snapshot(), stream);
    let replica = Node::keyward(&[]);
    replica.follow_at(primary.port);
    wait_until(|| replica.call("GET last") == Frame::Bulk(b"1".to_vec()));
    assert_eq!(replica.info("master_commands_failed"), "1");
    // Whatever is said is said within a second.
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(primary.said(), Vec::<String>::new());
    assert_eq!(primary.asked().len(), 1, "the link stays");
}

#[test]
fn a_command_that_is_not_supported_closes_the_link_and_is_not_counted_as_left_out() {
    let primary = Scripted::of(empty_snapshot(), stream_of(&[&["NEW.COMMAND", "a"]]));
    let replica = Node::keyward(&[]);
    replica.follow_at(primary.port);
    wait_until(|| replica.log().contains("a command that is not supported: NEW.COMMAND"));
    assert_eq!(replica.info("master_commands_skipped"), "");
}

/// A connection that says it is the replica at this port, and goes on where the stream is.
fn resumed(primary: &Node, port: u16) -> Follower {
    let mut follower = Follower::connect(primary);
    follower.say(&format!("REPLCONF listening-port {port} capa eof capa psync2\r\n"));
    assert_eq!(follower.line(), "+OK");
    let (id, offset) = (primary.info("master_replid"), primary.info("master_repl_offset"));
    let next = offset.parse::<u64>().expect("a number") + 1;
    follower.say(&format!("PSYNC {id} {next}\r\n"));
    assert!(follower.line().starts_with("+CONTINUE"));
    follower.say(&format!("REPLCONF ACK {offset}\r\n"));
    follower
}

#[test]
fn a_replica_that_comes_again_is_counted_once_and_two_behind_one_name_twice() {
    let primary = Node::keyward(&["--repl-ping-replica-period", "3600"]);
    let first = Node::replica_of(&primary, &[]);
    primary.wait_for(&first);
    drop(first);
    wait_until(|| primary.info("connected_slaves") == "0");
    let mut half_open = resumed(&primary, 7000);
    // A client that has done nothing yet counts all who have said anything.
    wait_until(|| primary.call("WAIT 2 10") == Frame::Integer(1));
    let mut newer = resumed(&primary, 7000);
    wait_until(|| primary.info("connected_slaves") == "2");
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(primary.call("WAIT 2 100"), Frame::Integer(1), "it is the same replica");
    let mut other = resumed(&primary, 7001);
    wait_until(|| primary.call("WAIT 3 10") == Frame::Integer(2));
    // One that goes on to say how far it is is another, behind the same address.
    primary.call("SET a 1");
    let offset = primary.info("master_repl_offset");
    for follower in [&mut half_open, &mut newer, &mut other] {
        follower.say(&format!("REPLCONF ACK {offset}\r\n"));
    }
    wait_until(|| primary.call("WAIT 3 10") == Frame::Integer(3));
}

#[test]
fn who_is_killed_within_a_unit_is_gone_at_once() {
    let primary = Node::keyward(&[]);
    let mut follower = Follower::of(&primary);
    follower.0.get_mut().set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
    let mut client = primary.client();
    let begun = Instant::now();
    client
        .send(b"MULTI\r\nCLIENT KILL TYPE replica\r\nDEBUG SLEEP 3\r\nEXEC\r\n")
        .expect("it reads");
    while !follower.0.fill_buf().expect("the end").is_empty() {
        let count = follower.0.buffer().len();
        follower.0.consume(count);
    }
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
}

#[test]
fn info_tells_replicas_from_clients_and_when_the_end_comes() {
    let mut primary = Node::keyward(&["--save", "", "--shutdown-timeout", "60"]);
    let replica = Node::replica_of(&primary, &[]);
    primary.wait_for(&replica);
    assert_eq!(primary.info("connected_clients"), "1", "who asks");
    assert_eq!(primary.info("shutdown_in_milliseconds"), "");
    assert_eq!(primary.syncs(), ["1", "0", "0"]);
    primary.call("CONFIG RESETSTAT");
    assert_eq!(primary.syncs(), ["0", "0", "0"]);
    replica.signal("STOP");
    primary.call("SET last word");
    primary.signal("TERM");
    wait_until(|| {
        let left = primary.info("shutdown_in_milliseconds").parse().unwrap_or(0);
        (1..=60_000).contains(&left)
    });
    replica.signal("CONT");
    primary.wait();
}

#[test]
fn a_snapshot_that_is_made_for_replicas_shows_in_info_and_ends_with_the_last_of_them() {
    for diskless in ["yes", "no"] {
        let options = ["--save", "", "--repl-diskless-sync", diskless];
        let primary = Node::keyward(&[&options[..], &["--rdb-key-save-delay", "100000"]].concat());
        primary.call("DEBUG POPULATE 300 row 100");
        let replica = Node::keyward_of(&primary, &[]);
        wait_until(|| primary.info("rdb_bgsave_in_progress") == "1");
        let started = Instant::now();
        under_load(&primary, || std::thread::sleep(Duration::from_millis(100)));
        assert_eq!(primary.info("rdb_bgsave_in_progress"), "1");
        drop(replica);
        wait_until(|| primary.info("rdb_bgsave_in_progress") == "0");
        assert!(started.elapsed() < Duration::from_secs(20), "300 rows would take thirty");
        let files = std::fs::read_dir(primary.directory.path()).expect("a directory");
        let names: Vec<_> = files.map(|file| file.expect("a file").file_name()).collect();
        assert!(names.iter().all(|name| !name.to_string_lossy().ends_with(".rdb")), "{names:?}");
    }
}

#[test]
fn an_offset_that_is_none_is_told() {
    let primary = Node::keyward(&[]);
    let refusal = b"ERR value is not an integer or out of range".to_vec();
    assert_eq!(primary.call("PSYNC replicationid offset_str"), Frame::Error(refusal));
    assert!(primary.log().contains("asks for synchronization but with a wrong offset"));
}

#[test]
fn lines_of_the_log_tell_the_role() {
    let primary = Node::keyward(&[]);
    let replica = Node::keyward_of(&primary, &[]);
    primary.wait_for(&replica);
    let role = |node: &Node, text: &str| {
        let log = node.log();
        let line = log.lines().find(|line| line.contains(text));
        let line = line.unwrap_or_else(|| panic!("{text}: {log}"));
        let (_, rest) = line.split_once(':').expect("a process");
        rest.split(' ').next().expect("a role").to_owned()
    };
    assert_eq!(role(&primary, "Ready to accept connections"), "M");
    assert_eq!(role(&replica, "Connecting to MASTER"), "S");
    replica.lead();
    assert_eq!(role(&replica, "MASTER MODE enabled"), "M");
}
