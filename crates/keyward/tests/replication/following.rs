//! Keyward as a replica: of redis-server 7.0, of Keyward, and in chains with both.

use super::{joined_amid_writes, under_load, write_all_kinds};
use crate::node::Node;
use keyward_resp::Frame;
use keyward_testkit::{Client, call, wait_until};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::time::Duration;

fn error(text: &str) -> Frame {
    Frame::Error(text.as_bytes().to_vec())
}

/// The reply, be it an error.
fn ask(client: &mut Client, command: &str) -> Frame {
    let words = keyward_resp::split_words(command.as_bytes()).expect("quotes are closed");
    client.call(&words).expect("a reply")
}

fn bulk(text: &str) -> Frame {
    Frame::Bulk(text.as_bytes().to_vec())
}

/// Follows a primary from before rows come, and beside their coming.
fn follows(primary: &Node, options: &[&str]) {
    let replica = joined_amid_writes(primary, || Node::keyward_of(primary, options));
    let Frame::Array(role) = replica.call("ROLE") else { panic!("no role") };
    let expected = [bulk("slave"), bulk("127.0.0.1"), Frame::Integer(primary.port.into())];
    assert_eq!(role[..3], expected);
    assert_eq!(role[3], bulk("connected"));
    assert_eq!(primary.call("WAIT 1 5000"), Frame::Integer(1));
}

#[test]
fn it_has_every_row_and_every_end_of_a_redis() {
    follows(&Node::redis(&[]), &[]);
}

#[test]
fn it_takes_snapshots_of_a_known_length() {
    follows(&Node::redis(&["--repl-diskless-sync", "no"]), &[]);
}

#[test]
fn it_has_every_row_and_every_end_of_a_keyward() {
    follows(&Node::keyward(&[]), &[]);
}

#[test]
fn it_authenticates() {
    let primary = Node::redis(&["--user", "replica", "on", ">secret", "+@all", "~*", "&*"]);
    let replica =
        Node::keyward_of(&primary, &["--masteruser", "replica", "--masterauth", "secret"]);
    primary.call("SET a 1");
    primary.assert_equals(&replica);
    let users = primary.call("CLIENT LIST TYPE replica");
    let users = String::from_utf8_lossy(users.as_bytes().expect("a text")).into_owned();
    assert!(users.contains("user=replica"), "{users}");
    let refused = Node::keyward_of(&primary, &["--masteruser", "replica", "--masterauth", "x"]);
    wait_until(|| refused.log().contains("Unable to AUTH to MASTER: -WRONGPASS"));
    assert_eq!(refused.info("master_link_status"), "down");
}

#[test]
fn clients_cannot_write_to_it() {
    let primary = Node::redis(&[]);
    let replica = Node::keyward_of(&primary, &[]);
    primary.call("SET a 1");
    primary.wait_for(&replica);
    let refusal = error("READONLY You can't write against a read only replica.");
    let mut client = replica.client();
    for command in ["SET a 2", "BLPOP list 0", "FLUSHALL", "GETDEL a"] {
        assert_eq!(ask(&mut client, command), refusal, "{command}");
    }
    ask(&mut client, "MULTI");
    assert_eq!(ask(&mut client, "SET a 2"), refusal);
    let aborted = error("EXECABORT Transaction discarded because of previous errors.");
    assert_eq!(ask(&mut client, "EXEC"), aborted);
    let script = "EVAL \"return redis.pcall('set', 'a', '2')\" 0";
    assert_eq!(ask(&mut client, script), refusal);
    let script = "EVAL \"#!lua\nreturn 1\" 0";
    assert_eq!(ask(&mut client, script), refusal);
    assert_eq!(ask(&mut client, "EVAL \"return redis.call('get', 'a')\" 0"), bulk("1"));
    assert_eq!(ask(&mut client, "GET a"), bulk("1"));
    let wait = ask(&mut client, "WAIT 1 1");
    assert!(
        matches!(&wait, Frame::Error(text) if text.starts_with(b"ERR WAIT cannot be used with replica"))
    );
    // It may be allowed, and stays here.
    ask(&mut client, "CONFIG SET replica-read-only no");
    assert_eq!(ask(&mut client, "SET own 1"), Frame::Simple(b"OK".to_vec()));
    assert_eq!(primary.call("EXISTS own"), Frame::Integer(0));
}

#[test]
fn rows_whose_time_is_over_are_invisible_and_stay_until_the_primary_removes_them() {
    let primary = Node::redis(&[]);
    let replica = Node::keyward_of(&primary, &[]);
    primary.call("DEBUG SET-ACTIVE-EXPIRE 0");
    primary.call("SET due 1 PX 200");
    primary.call("SET other 1");
    primary.wait_for(&replica);
    wait_until(|| replica.call("GET due") == Frame::NullBulk);
    assert_eq!(replica.call("TTL due"), Frame::Integer(-2));
    assert_eq!(replica.call("EXISTS due"), Frame::Integer(0));
    assert_eq!(replica.call("PFCOUNT due"), Frame::Integer(0));
    let script = r#"EVAL "return redis.call('exists', KEYS[1])" 1 due"#;
    assert_eq!(replica.call(script), Frame::Integer(0));
    assert_eq!(replica.call("DBSIZE"), Frame::Integer(2));
    assert_eq!(replica.call("KEYS *"), Frame::Array(vec![bulk("other")]));
    assert_eq!(primary.call("GET due"), Frame::NullBulk);
    wait_until(|| replica.call("DBSIZE") == Frame::Integer(1));
    primary.assert_equals(&replica);
}

#[test]
fn a_cut_link_goes_on_where_it_was_under_load() {
    for primary in [Node::redis(&[]), Node::keyward(&[])] {
        let replica = Node::keyward_of(&primary, &[]);
        primary.wait_for(&replica);
        under_load(&primary, || {
            for cut in 1..=3 {
                // Either side may cut it.
                let (side, kind) =
                    if cut == 2 { (&replica, "master") } else { (&primary, "replica") };
                wait_until(|| side.call(&format!("CLIENT KILL TYPE {kind}")) == Frame::Integer(1));
                wait_until(|| primary.syncs()[1] == cut.to_string());
                wait_until(|| replica.info("master_link_status") == "up");
            }
        });
        primary.assert_equals(&replica);
        assert_eq!(primary.syncs(), ["1", "3", "0"]);
    }
}

#[test]
fn it_gets_everything_again_where_it_lacks_more_than_is_kept() {
    let primary = Node::redis(&["--repl-backlog-size", "20kb"]);
    let replica = Node::keyward_of(&primary, &[]);
    primary.wait_for(&replica);
    replica.signal("STOP");
    primary.call("CLIENT KILL TYPE replica");
    primary.call("EVAL \"for i = 1, 3000 do redis.call('set', 'k' .. i, i) end\" 0");
    replica.signal("CONT");
    wait_until(|| primary.syncs()[0] == "2");
    primary.assert_equals(&replica);
    assert_eq!(primary.syncs(), ["2", "0", "1"]);
}

#[test]
fn a_promoted_one_goes_on_with_the_history_for_everybody() {
    // It says nothing more when rows have ended.
    let primary = Node::redis(&["--repl-ping-replica-period", "1000"]);
    let promoted = Node::keyward_of(&primary, &[]);
    let stock = Node::replica_of(&primary, &[]);
    let own = Node::keyward_of(&primary, &[]);
    let mut client = primary.client();
    (0..10).for_each(|round| write_all_kinds(&mut client, round));
    [&promoted, &stock, &own].into_iter().for_each(|replica| primary.assert_equals(replica));
    let id = primary.info("master_replid");
    promoted.lead();
    let mut client = promoted.client();
    (10..20).for_each(|round| write_all_kinds(&mut client, round));
    [&stock, &own, &primary].into_iter().for_each(|replica| replica.follow(&promoted));
    (20..30).for_each(|round| write_all_kinds(&mut client, round));
    for replica in [&stock, &own, &primary] {
        promoted.assert_equals(replica);
        assert_eq!(replica.info("master_replid2"), id, "{}{}", replica.log(), promoted.log());
    }
    assert_eq!(promoted.info("master_replid2"), id);
    assert_eq!(promoted.syncs(), ["0", "3", "0"]);
    let line = "MASTER MODE enabled (user request from 'id=";
    assert!(promoted.log().contains(line), "{}", promoted.log());
}

#[test]
fn a_primary_that_is_demoted_goes_on_where_it_was() {
    let (primary, successor) = (Node::keyward(&[]), Node::redis(&[]));
    successor.follow(&primary);
    let mut client = primary.client();
    (0..10).for_each(|round| write_all_kinds(&mut client, round));
    primary.wait_for(&successor);
    primary.call("CLIENT PAUSE 100000 WRITE");
    primary.wait_for(&successor);
    successor.lead();
    primary.follow(&successor);
    primary.call("CLIENT UNPAUSE");
    let mut client = successor.client();
    (10..20).for_each(|round| write_all_kinds(&mut client, round));
    successor.assert_equals(&primary);
    assert_eq!(successor.syncs(), ["0", "1", "0"]);
}

#[test]
fn chains_pass_on_what_comes() {
    let first = Node::redis(&[]);
    let second = Node::keyward_of(&first, &[]);
    first.wait_for(&second);
    let third = Node::replica_of(&second, &[]);
    let fourth = Node::keyward_of(&second, &[]);
    second.wait_for(&third);
    let last = Node::keyward_of(&third, &[]);
    let mut client = first.client();
    (0..30).for_each(|round| write_all_kinds(&mut client, round));
    let all = [&second, &third, &fourth, &last];
    all.into_iter().for_each(|replica| first.assert_equals(replica));
    // A cut link in the middle costs nobody everything.
    under_load(&first, || {
        first.call("CLIENT KILL TYPE replica");
        wait_until(|| first.syncs()[1] == "1");
        second.call("CLIENT KILL TYPE replica");
        wait_until(|| second.syncs()[1] == "2");
    });
    all.into_iter().for_each(|replica| first.assert_equals(replica));
    assert_eq!(first.syncs(), ["1", "1", "0"]);
    assert_eq!(second.syncs()[0], "2");
    // Who has lost its primary takes nobody, and keeps whom it has.
    assert_eq!(second.info("role"), "slave");
}

#[test]
fn who_is_told_to_follow_another_keeps_its_own_replicas_until_rows_change() {
    let (first, other) = (Node::keyward(&[]), Node::keyward(&[]));
    let second = Node::keyward_of(&first, &[]);
    let third = Node::keyward_of(&second, &[]);
    first.call("SET a 1");
    second.wait_for(&third);
    let unreachable = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = unreachable.local_addr().expect("an address").port();
    drop(unreachable);
    second.follow_at(port);
    // Longer than it takes to notice a connection that was closed.
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(second.info("connected_slaves"), "1");
    assert_eq!(third.info("master_link_status"), "up");
    second.follow(&first);
    first.call("SET b 1");
    wait_until(|| third.call("GET b") == Frame::Bulk(b"1".to_vec()));
    assert_eq!(first.syncs(), ["1", "1", "0"]);
    assert_eq!(second.syncs(), ["1", "0", "0"], "the third was not disconnected");
    // Another server has other rows: they have to ask for them.
    other.call("SET c 1");
    second.follow(&other);
    wait_until(|| third.call("GET c") == Frame::Bulk(b"1".to_vec()));
    assert_eq!(third.call("EXISTS a"), Frame::Integer(0));
    assert_eq!(second.syncs()[0], "2");
}

#[test]
fn a_restart_goes_on_where_it_was() {
    for appendonly in ["no", "yes"] {
        let primary = Node::redis(&[]);
        let mut replica = Node::keyward_of(&primary, &["--appendonly", appendonly]);
        let mut client = primary.client();
        (0..10).for_each(|round| write_all_kinds(&mut client, round));
        call(&mut client, "SELECT 7");
        call(&mut client, "SET seventh 1");
        primary.wait_for(&replica);
        // A server does not end while it writes its first append-only file.
        wait_until(|| replica.info("aof_rewrite_in_progress") == "0");
        replica.end();
        call(&mut client, "SET more 1");
        call(&mut client, "SET due 1 PX 10");
        replica.start_again();
        primary.assert_equals(&replica);
        assert_eq!(primary.syncs(), ["1", "1", "0"], "{appendonly}: {}", replica.log());
        (10..20).for_each(|round| write_all_kinds(&mut client, round));
        primary.assert_equals(&replica);
        // After any other end it has a snapshot of an earlier place, or a file that does not
        // tell its place.
        replica.kill();
        replica.start_again();
        primary.assert_equals(&replica);
        let expected = if appendonly == "no" { ["1", "2"] } else { ["2", "1"] };
        assert_eq!(primary.syncs()[..2], expected, "{appendonly}: {}", replica.log());
    }
}

#[test]
fn its_append_only_file_has_what_the_primary_sent() {
    let primary = Node::redis(&[]);
    let mut replica = Node::keyward(&["--appendonly", "yes"]);
    replica.call("SET old 1");
    let mut client = primary.client();
    (0..10).for_each(|round| write_all_kinds(&mut client, round));
    replica.follow(&primary);
    primary.wait_for(&replica);
    wait_until(|| {
        replica.info("aof_enabled") == "1" && replica.info("aof_rewrite_in_progress") == "0"
    });
    (10..20).for_each(|round| write_all_kinds(&mut client, round));
    primary.assert_equals(&replica);
    let digest = replica.call("DEBUG DIGEST");
    replica.kill();
    drop(primary);
    replica.start_again();
    assert_eq!(replica.call("DEBUG DIGEST"), digest);
    assert_eq!(replica.call("EXISTS old"), Frame::Integer(0));
}

#[test]
fn without_its_primary_it_serves_what_it_has_or_nothing() {
    let mut primary = Node::redis(&[]);
    let replica = Node::keyward_of(&primary, &[]);
    primary.call("SET a 1");
    primary.wait_for(&replica);
    primary.kill();
    wait_until(|| replica.info("master_link_status") == "down");
    assert_eq!(replica.call("GET a"), bulk("1"));
    replica.call("CONFIG SET replica-serve-stale-data no");
    let text = "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.";
    assert_eq!(replica.call("GET a"), error(text));
    assert_eq!(replica.call("EVAL \"return redis.pcall('get', 'a')\" 0"), error(text));
    assert_eq!(replica.call("PING"), error(text));
    let refusal = error("NOMASTERLINK Can't SYNC while not connected with my master");
    replica.call("CONFIG SET replica-serve-stale-data yes");
    assert_eq!(replica.call("PSYNC ? -1"), refusal);
    assert_eq!(
        replica.call("SET a 2"),
        error("READONLY You can't write against a read only replica.")
    );
    replica.lead();
    assert_eq!(replica.call("SET a 2"), Frame::Simple(b"OK".to_vec()));
}

#[test]
fn clients_that_wait_are_told_when_it_begins_to_follow() {
    let (primary, replica) = (Node::redis(&[]), Node::keyward(&[]));
    let mut waiting = replica.client();
    let blocked = std::thread::spawn(move || ask(&mut waiting, "BLPOP list 0"));
    wait_until(|| replica.info("blocked_clients") == "1");
    replica.follow(&primary);
    let text = "UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)";
    assert_eq!(blocked.join().expect("it does not panic"), error(text));
    let again = format!("REPLICAOF 127.0.0.1 {}", primary.port);
    let expected = Frame::Simple(b"OK Already connected to specified master".to_vec());
    assert_eq!(replica.call(&again), expected);
    assert_eq!(replica.call("REPLICAOF 127.0.0.1 x"), error("ERR Invalid master port"));
    // Who waits for entries of a stream goes on when the primary adds one.
    primary.wait_for(&replica);
    let mut waiting = replica.client();
    let blocked = std::thread::spawn(move || ask(&mut waiting, "XREAD BLOCK 0 STREAMS s $"));
    wait_until(|| replica.info("blocked_clients") == "1");
    primary.call("XADD s 1-1 f v");
    assert!(matches!(blocked.join().expect("it does not panic"), Frame::Array(_)));
}

#[test]
fn a_primary_that_restarts_empty_empties_it_unless_that_is_refused() {
    let mut primary = Node::redis(&[]);
    let careless = Node::keyward_of(&primary, &[]);
    let careful = Node::keyward_of(&primary, &["--replica-empty-primary", "refuse"]);
    primary.call("SET a 1");
    primary.wait_for(&careless);
    primary.wait_for(&careful);
    primary.kill();
    primary.start_again();
    primary.wait_for(&careless);
    assert_eq!(careless.call("DBSIZE"), Frame::Integer(0));
    wait_until(|| careful.log().contains("replica-empty-primary refuse"));
    assert_eq!(careful.call("GET a"), bulk("1"));
    assert_eq!(careful.info("master_link_status"), "down");
    primary.call("SET b 1");
    primary.assert_equals(&careful);
}

#[test]
fn a_command_of_its_primary_may_be_longer_than_those_of_clients() {
    let primary = Node::redis(&[]);
    let replica = Node::keyward_of(&primary, &["--client-query-buffer-limit", "1mb"]);
    primary.wait_for(&replica);
    let text = "x".repeat(2_000_000);
    primary.client().call(["SET", "a", &text]).expect("a reply");
    primary.assert_equals(&replica);
    assert_eq!(primary.syncs()[0], "1", "{}", replica.log());
}

#[test]
fn whom_it_follows_is_a_setting_that_is_written_back() {
    let primary = Node::redis(&[]);
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("keyward.conf");
    std::fs::write(&path, "appendonly no\nreplicaof 127.0.0.1 1\n").expect("a file");
    let replica = Node::keyward_with(&[path.to_str().expect("UTF-8")], &[]);
    let followed = replica.call("CONFIG GET replicaof");
    assert_eq!(followed, Frame::Array(vec![bulk("replicaof"), bulk("127.0.0.1 1")]));
    replica.follow(&primary);
    primary.wait_for(&replica);
    let written = || {
        replica.call("CONFIG REWRITE");
        std::fs::read_to_string(&path).expect("a file")
    };
    let expected = format!("replicaof 127.0.0.1 {}\n", primary.port);
    assert!(written().contains(&expected), "{}", written());
    replica.lead();
    assert!(!written().contains("replicaof"), "{}", written());
}

#[test]
fn it_follows_by_tls() {
    let files = keyward_testkit::Certificates::make();
    let tls = |port: u16, name: &str| files.settings(port, name);
    let free = || {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        listener.local_addr().expect("it has one").port()
    };
    for is_stock in [true, false] {
        let port = free();
        let settings = tls(port, "server");
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        let primary = if is_stock { Node::redis(&settings) } else { Node::keyward(&settings) };
        let mut client = primary.client();
        (0..20).for_each(|round| write_all_kinds(&mut client, round));
        let port = port.to_string();
        let own = tls(0, "client");
        let mut options = vec!["--tls-replication", "yes", "--replicaof", "127.0.0.1", &port];
        options.extend(own.iter().map(String::as_str));
        let replica = Node::keyward(&options);
        (20..40).for_each(|round| write_all_kinds(&mut client, round));
        primary.wait_for(&replica);
        assert_eq!(primary.call("CLIENT KILL TYPE replica"), Frame::Integer(1));
        wait_until(|| primary.syncs()[1] == "1");
        primary.assert_equals(&replica);
        assert_eq!(primary.call("WAIT 1 5000"), Frame::Integer(1));
        // Without TLS the port says nothing that makes sense.
        replica.call("CONFIG SET tls-replication no");
        primary.call("CLIENT KILL TYPE replica");
        wait_until(|| replica.info("master_link_status") == "down");
    }
}

#[test]
fn a_pause_holds_what_the_primary_sends() {
    let primary = Node::redis(&["--repl-ping-replica-period", "1000"]);
    let replica = Node::keyward_of(&primary, &[]);
    primary.call("SET a 1");
    primary.wait_for(&replica);
    let offset = replica.info("slave_repl_offset");
    replica.call("CLIENT PAUSE 100000 WRITE");
    primary.call("SET a 2");
    wait_until(|| replica.info("slave_read_repl_offset") == primary.info("master_repl_offset"));
    assert_eq!(replica.info("slave_repl_offset"), offset);
    assert_eq!(replica.call("GET a"), bulk("1"));
    replica.call("CLIENT UNPAUSE");
    primary.assert_equals(&replica);
}

/// Answers a replica as a primary does, and sends it these bytes after an empty snapshot.
fn newer_primary(stream: Vec<u8>) -> u16 {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let port = listener.local_addr().expect("it has one").port();
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let Ok(mut socket) = socket else { return };
            let (stream, mut seen, mut part) = (stream.clone(), Vec::new(), [0; 4096]);
            std::thread::spawn(move || {
                while let Ok(count @ 1..) = socket.read(&mut part) {
                    seen.extend_from_slice(&part[..count]);
                    let reply: Vec<u8> = match () {
                        () if seen.windows(5).any(|word| word == b"PSYNC") => {
                            let mut empty = b"REDIS0011\xfa\x09redis-ver\x055.5.5\xff".to_vec();
                            empty.extend_from_slice(&[0; 8]);
                            let head =
                                format!("+FULLRESYNC {} 0\r\n${}\r\n", "a".repeat(40), empty.len());
                            [head.as_bytes(), &empty, &stream].concat()
                        }
                        () if seen.windows(4).any(|word| word == b"PING") => b"+PONG\r\n".to_vec(),
                        () if seen.windows(3).any(|word| word == b"ACK") => continue,
                        () => b"+OK\r\n".to_vec(),
                    };
                    seen.clear();
                    if socket.write_all(&reply).is_err() {
                        return;
                    }
                }
            });
        }
    });
    port
}

#[test]
fn commands_that_are_not_known_close_the_link_or_are_left_out() {
    let mut stream = Vec::new();
    for words in [&["SET", "a", "1"][..], &["HSETNEW", "h", "f", "v"], &["SET", "b", "2"]] {
        keyward_resp::push_request(&mut stream, words.iter());
    }
    let port = newer_primary(stream.clone()).to_string();
    let strict = Node::keyward(&["--replicaof", "127.0.0.1", &port]);
    wait_until(|| strict.log().contains("a command that is not supported: HSETNEW"));
    let lenient =
        Node::keyward(&["--repl-skip-unsupported", "yes", "--replicaof", "127.0.0.1", &port]);
    wait_until(|| lenient.call("GET b") == bulk("2"));
    assert_eq!(lenient.info("master_commands_skipped"), "1");
    // Its bytes are part of the history all the same.
    assert_eq!(lenient.info("slave_repl_offset"), stream.len().to_string());
    assert!(lenient.log().contains("Left out of the primary's stream: HSETNEW"));
}

/// A primary that grants everything at a place of its own making, and sends an empty snapshot.
fn grant_at(place: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = listener.local_addr().expect("it listens").port();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
            while let Some(head) = lines.next() {
                let words = head.strip_prefix('*').and_then(|count| count.parse().ok());
                let words: usize = words.unwrap_or(0);
                let texts: Vec<String> = lines.by_ref().take(2 * words).collect();
                let reply = match texts.get(1).map(String::as_str) {
                    Some("PING") => "+PONG\r\n".to_owned(),
                    Some("PSYNC") => format!("+FULLRESYNC {place}\r\n$0\r\n"),
                    _ => "+OK\r\n".to_owned(),
                };
                if (&stream).write_all(reply.as_bytes()).is_err() {
                    break;
                }
            }
        }
    });
    port
}

#[test]
fn a_place_that_cannot_be_is_not_taken_and_rows_stay() {
    for place in [
        "0123456789012345678901234567890123456789 18446744073709551615",
        "0123456789012345678901234567890123456789 -1",
        "not-an-id-but-as-long-as-one-is-indeed-so 1",
        "not-an-id-but-as-long-as-one-is-in-deed! 1",
    ] {
        let port = grant_at(place);
        let replica = Node::keyward(&[]);
        replica.call("SET kept 1");
        replica.call(&format!("REPLICAOF 127.0.0.1 {port}"));
        std::thread::sleep(Duration::from_millis(700));
        assert_eq!(replica.call("GET kept"), bulk("1"), "{place}");
        let Frame::Bulk(info) = replica.call("INFO replication") else { panic!("no text") };
        let info = String::from_utf8_lossy(&info).into_owned();
        assert!(info.contains("master_link_status:down"), "{place}: {info}");
    }
}
