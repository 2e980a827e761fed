//! Links to primaries that are slow, torn or out of their mind: nothing is lost by one of them.

use super::{SCHEMA, write_all_kinds};
use crate::node::Node;
use crate::scripted::{Scripted, empty_snapshot, stream_of};
use keyward_resp::Frame;
use keyward_testkit::{call, wait_for, wait_until};
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

fn bulk(text: &str) -> Frame {
    Frame::Bulk(text.as_bytes().to_vec())
}

/// A snapshot with rows of every kind, and how many they are.
fn snapshot() -> (Vec<u8>, Frame) {
    let saved = Node::keyward(&[]);
    let mut client = saved.client();
    (0..20).for_each(|round| write_all_kinds(&mut client, round));
    saved.call("SET long 0123456789abcdef0123456789abcdef");
    saved.call("SAVE");
    let bytes = std::fs::read(saved.directory.path().join("dump.rdb")).expect("a snapshot");
    (bytes, saved.call("EXISTS long list set hash"))
}

fn follow(replica: &Node, port: u16) {
    let reply = replica.call(&format!("REPLICAOF 127.0.0.1 {port}"));
    assert_eq!(reply, Frame::Simple(b"OK".to_vec()));
}

fn wait_for_log(node: &Node, text: &str) {
    wait_for(|| if node.log().contains(text) { Ok(()) } else { Err(node.log()) });
}

#[test]
fn a_snapshot_that_cannot_be_loaded_changes_nothing() {
    let (sound, expected) = snapshot();
    let mut flipped = sound.clone();
    // In the middle of a text: only the sum tells.
    let at = sound.windows(16).position(|part| part == b"0123456789abcdef").expect("the text");
    flipped[at + 5] ^= 1;
    let torn = sound[..sound.len() / 2].to_vec();
    let foreign = b"not a snapshot at all".to_vec();
    let mark = "0123456789".repeat(4);
    for (broken, is_marked) in
        [(flipped.clone(), false), (torn.clone(), false), (foreign, false), (torn, true)]
    {
        let is_mended = Arc::new(AtomicBool::new(false));
        let (sound, mark, now) = (sound.clone(), mark.clone(), Arc::clone(&is_mended));
        let primary = Scripted::new(move |socket| {
            let content = if now.load(Ordering::Relaxed) { &sound } else { &broken };
            let place = format!("+FULLRESYNC {} 0\r\n", "a".repeat(40));
            let (head, tail) = match is_marked {
                true => (format!("{place}$EOF:{mark}\r\n"), mark.as_str()),
                false => (format!("{place}${}\r\n", content.len()), ""),
            };
            socket.write_all(&[head.as_bytes(), content, tail.as_bytes()].concat())
        });
        let replica = Node::keyward(&[]);
        replica.call("SET kept 1");
        let library = "#!lua name=own\nredis.register_function{function_name='f', \
                       callback=function() return 1 end, flags={'no-writes'}}";
        replica.client().call(["FUNCTION", "LOAD", library]).expect("a reply");
        let id = replica.info("master_replid");
        follow(&replica, primary.port);
        let failure = "Failed trying to load the MASTER synchronization DB from disk";
        wait_until(|| replica.log().matches(failure).count() >= 2);
        assert_eq!(replica.call("GET kept"), bulk("1"));
        assert_eq!(replica.call("FCALL_RO f 0"), Frame::Integer(1));
        assert_eq!(replica.info("master_replid"), id);
        assert!(!replica.log().contains("Flushing old data"), "{}", replica.log());
        is_mended.store(true, Ordering::Relaxed);
        wait_until(|| replica.call("EXISTS long list set hash") == expected);
        assert_eq!(replica.call("EXISTS kept"), Frame::Integer(0));
    }
}

#[test]
fn a_snapshot_on_its_way_has_no_name_and_leaves_nothing_behind() {
    let (sound, expected) = snapshot();
    let half = sound.len() / 2;
    let begun = AtomicUsize::new(0);
    let primary = Scripted::new(move |socket| {
        let head = format!("+FULLRESYNC {} 0\r\n${}\r\n", "a".repeat(40), sound.len());
        socket.write_all(&[head.as_bytes(), &sound[..half]].concat())?;
        if begun.fetch_add(1, Ordering::Relaxed) == 0 {
            // The first of them hangs.
            std::thread::sleep(Duration::from_secs(600));
        }
        socket.write_all(&sound[half..])
    });
    let mut replica = Node::keyward(&[]);
    let leftovers = |replica: &Node| -> Vec<String> {
        let files = std::fs::read_dir(replica.directory.path()).expect("a directory");
        let names = files.map(|file| file.expect("a file").file_name());
        let names = names.map(|name| name.to_string_lossy().into_owned());
        names.filter(|name| name.contains("replica")).collect()
    };
    follow(&replica, primary.port);
    wait_until(|| replica.info("master_sync_read_bytes").parse::<usize>().is_ok_and(|it| it > 0));
    assert_eq!(leftovers(&replica), [""; 0]);
    // Between making the file and removing its name a process may be killed.
    replica.kill();
    let left = replica.directory.path().join("replica-999999999-0.rdb");
    std::fs::write(&left, b"half").expect("a file");
    replica.start_again();
    follow(&replica, primary.port);
    wait_until(|| replica.call("EXISTS long list set hash") == expected);
    assert_eq!(leftovers(&replica), [""; 0]);
}

#[test]
fn a_value_may_take_longer_than_the_timeout_as_long_as_it_comes() {
    let primary = Scripted::new(|socket| {
        let snapshot = empty_snapshot();
        let head = format!("+FULLRESYNC {} 0\r\n${}\r\n", "a".repeat(40), snapshot.len());
        socket.write_all(&[head.as_bytes(), &snapshot].concat())?;
        let command = stream_of(&[&["SET", "slow", "0123456789abcdef"]]);
        let (soon, slowly) = command.split_at(command.len() - 18);
        socket.write_all(soon)?;
        for byte in slowly {
            std::thread::sleep(Duration::from_millis(350));
            socket.write_all(&[*byte])?;
        }
        Ok(())
    });
    let replica = Node::keyward(&["--repl-timeout", "2"]);
    follow(&replica, primary.port);
    wait_until(|| replica.call("GET slow") == bulk("0123456789abcdef"));
    assert_eq!(primary.asked().len(), 1, "{}", replica.log());
    assert!(!replica.log().contains("MASTER timeout"));
    // Silence is another matter.
    wait_for_log(&replica, "MASTER timeout: no data nor PING received...");
}

#[test]
fn a_value_of_its_primary_may_be_longer_than_proto_max_bulk_len() {
    let primary = Node::redis(&[]);
    let replica = Node::keyward_of(&primary, &["--proto-max-bulk-len", "1mb"]);
    primary.wait_for(&replica);
    let mut client = primary.client();
    client.call(["SET", "a", &"x".repeat(2_000_000)]).expect("a reply");
    let half = "y".repeat(600_000);
    for command in ["APPEND", "APPEND"] {
        client.call([command, "b", &half]).expect("a reply");
    }
    call(&mut client, "SETRANGE c 1500000 z");
    call(&mut client, "SETBIT d 16000000 1");
    // Also where it has to wait.
    replica.call("CLIENT PAUSE 100000 WRITE");
    client.call(["SET", "e", &"x".repeat(2_000_000)]).expect("a reply");
    std::thread::sleep(Duration::from_millis(500));
    replica.call("CLIENT UNPAUSE");
    primary.assert_equals(&replica);
    assert_eq!(primary.syncs(), ["1", "0", "0"], "{}", replica.log());
    assert!(!replica.log().contains("CRITICAL"), "{}", replica.log());
    // Clients have their limit all the same.
    replica.lead();
    let refused = replica.call("SETRANGE c 1500000 z");
    assert!(matches!(&refused, Frame::Error(_)), "{refused:?}");
}

#[test]
fn a_stream_may_follow_the_mark_of_a_snapshot_at_once() {
    let (sound, expected) = snapshot();
    let mark = "f0".repeat(20);
    let stream = stream_of(&[&["SELECT", "0"], &["SET", "behind", "1"]]);
    // Cut wherever the mark is, and sent in one piece.
    let whole = [&sound, mark.as_bytes(), &stream].concat();
    let cuts = [whole.len(), sound.len(), sound.len() + 1, sound.len() + 39, sound.len() + 45];
    for cut in cuts {
        let (whole, mark) = (whole.clone(), mark.clone());
        let primary = Scripted::new(move |socket| {
            let head = format!("+FULLRESYNC {} 0\r\n$EOF:{mark}\r\n", "a".repeat(40));
            socket.write_all(head.as_bytes())?;
            std::thread::sleep(Duration::from_millis(50));
            socket.write_all(&whole[..cut])?;
            std::thread::sleep(Duration::from_millis(50));
            socket.write_all(&whole[cut..])
        });
        let replica = Node::keyward(&["--repl-timeout", "5"]);
        follow(&replica, primary.port);
        wait_until(|| replica.call("GET behind") == bulk("1"));
        assert_eq!(replica.call("EXISTS long list set hash"), expected, "{cut}");
        assert_eq!(replica.info("slave_repl_offset"), stream.len().to_string(), "{cut}");
        assert_eq!(primary.asked().len(), 1, "{cut}");
    }
}

#[test]
fn what_is_no_command_closes_the_link_and_everything_is_asked_for_again() {
    for (stray, why) in [
        (&b"SET inline 1\r\n"[..], "Master using the inline protocol. Desync?"),
        (b"*1\r\n:1\r\n", "Protocol error: expected '$', got ':'"),
    ] {
        let mut stream = stream_of(&[&["SET", "before", "1"]]);
        // An empty line is none.
        stream.extend_from_slice(b"\r\n\n");
        stream.extend_from_slice(&stream_of(&[&["SET", "between", "1"]]));
        stream.extend_from_slice(stray);
        let primary = Scripted::of(empty_snapshot(), stream);
        let replica = Node::keyward(&[]);
        follow(&replica, primary.port);
        wait_for_log(&replica, &format!("{why}: master stream corruption?"));
        wait_until(|| primary.asked().len() >= 2);
        assert_eq!(replica.call("EXISTS inline"), Frame::Integer(0));
        // It does not go on where it was: what it has of the stream may be wrong.
        let id = "a".repeat(40);
        let asked = primary.asked();
        assert!(asked.iter().all(|place| !place.starts_with(&id)), "{asked:?}");
    }
}

#[test]
fn what_a_primary_says_is_logged_escaped() {
    let primary = Scripted::new(|socket| socket.write_all(b"-ERR \x1b[31mred\x07\xff\r\n"));
    let replica = Node::keyward(&[]);
    follow(&replica, primary.port);
    wait_for_log(&replica, r"Unexpected reply to PSYNC from master: -ERR \x1b[31mred\x07\xff");
    let primary = Scripted::new(|socket| {
        let place = format!("+FULLRESYNC {} 0\r\n", "a".repeat(40));
        socket.write_all(&[place.as_bytes(), b"-ERR \x1b[32mgreen\r\n"].concat())
    });
    follow(&replica, primary.port);
    wait_for_log(&replica, r"MASTER aborted replication with an error: ERR \x1b[32mgreen");
    let stream = stream_of(&[&["HSET", "h", "f", "v"], &["INCR", "h"], &["SORT", "h", "\x1b[33m"]]);
    let primary = Scripted::of(empty_snapshot(), stream);
    follow(&replica, primary.port);
    wait_for_log(&replica, "after processing the command 'incr'");
    let log = std::fs::read(replica.directory.path().join("log")).expect("a log");
    assert!(!log.contains(&0x1b), "{}", replica.log());
}

#[test]
fn errors_within_a_transaction_of_the_stream_are_counted() {
    let stream = stream_of(&[
        &["SET", "text", "x"],
        &["MULTI"],
        &["SET", "a", "1"],
        &["INCR", "text"],
        &["LPUSH", "text", "y"],
        &["EXEC"],
        &["SET", "b", "1"],
    ]);
    let primary = Scripted::of(empty_snapshot(), stream);
    let replica = Node::keyward(&[]);
    follow(&replica, primary.port);
    wait_until(|| replica.call("GET b") == bulk("1"));
    let log = replica.log();
    assert_eq!(log.matches("== CRITICAL ==").count(), 2, "{log}");
    assert!(log.contains("after processing the command 'incr'"), "{log}");
    assert!(log.contains("after processing the command 'lpush'"), "{log}");
    // Who has other rows than its primary has another history.
    replica.lead();
    assert_eq!(replica.info("master_replid2"), "0".repeat(40));
    // A database that is not there ends the link, also there.
    let stream = stream_of(&[
        &["SET", "before", "1"],
        &["MULTI"],
        &["SET", "a", "1"],
        &["SELECT", "99"],
        &["SET", "elsewhere", "1"],
        &["EXEC"],
        &["SET", "behind", "1"],
    ]);
    let primary = Scripted::of(empty_snapshot(), stream);
    follow(&replica, primary.port);
    wait_until(|| primary.asked().len() >= 2);
    assert_eq!(replica.call("EXISTS behind"), Frame::Integer(0));
}

fn served_with(schema: &str, options: &[&str]) -> (Node, tempfile::TempDir) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("keyward.toml");
    std::fs::write(&path, schema).expect("a schema");
    (Node::keyward_with(&[path.to_str().expect("UTF-8")], options), directory)
}

/// What a primary tells of a schema of database 0.
fn told(schema: &str) -> String {
    format!("keyward-schemas 1\n0 schema - 4 {}\nshop{schema}\n", schema.len())
}

#[test]
fn a_schema_that_cannot_be_read_leaves_the_one_in_force_which_observes() {
    let unreadable = ["out of its mind".to_owned(), told("[key.\"a:{id}\"]\ntype = \"newer\"\n")];
    for text in &unreadable {
        let ack = |text| stream_of(&[&["REPLCONF", "ACK", "0", "KEYWARD-SCHEMAS", text]]);
        let stream = [
            ack(&told(SCHEMA)),
            stream_of(&[&["HSET", "user:1", "email", "e", "status", "active"]]),
            ack(text),
            stream_of(&[&["SET", "free", "1"]]),
        ];
        let primary = Scripted::of(empty_snapshot(), stream.concat());
        let replica = Node::keyward(&[]);
        follow(&replica, primary.port);
        wait_until(|| replica.call("GET free") == bulk("1"));
        wait_for_log(&replica, "The schemas that the primary tells of cannot be read");
        assert_eq!(replica.call("KEYWARD SCHEMA SHOW"), bulk(SCHEMA), "{text}");
        let mode = format!("{:?}", replica.call("KEYWARD MODE"));
        assert!(mode.contains("observe"), "{mode}");
        assert_eq!(replica.call("HGET user:1 email"), bulk("e"));
        replica.lead();
        assert_eq!(replica.call("SET free 2"), Frame::Simple(b"OK".to_vec()));
        assert_eq!(replica.info("schemas_observing_since_promotion"), "1");
        assert!(replica.log().contains("NOTHING OF IT IS ENFORCED"), "{}", replica.log());
    }
}

#[test]
fn a_snapshot_whose_schema_cannot_be_read_leaves_the_own_one_which_observes() {
    let mut snapshot = b"REDIS0011\xfa\x0fkeyward-schemas\x04what\xff".to_vec();
    snapshot.extend_from_slice(&[0; 8]);
    let primary = Scripted::of(snapshot, stream_of(&[&["SET", "free", "1"]]));
    let (replica, _directory) = served_with(SCHEMA, &[]);
    follow(&replica, primary.port);
    wait_until(|| replica.call("GET free") == bulk("1"));
    assert_eq!(replica.call("KEYWARD SCHEMA SHOW"), bulk(SCHEMA));
    assert!(replica.log().contains("The schemas that the primary's snapshot tells of cannot"));
    let mode = format!("{:?}", replica.call("KEYWARD MODE"));
    assert!(mode.contains("observe"), "{mode}");
}

#[test]
fn a_long_schema_of_the_stream_is_read_beside_who_is_served() {
    let mut schema = "[keyspace]\nname = \"shop\"\n".to_owned();
    for number in 0..400 {
        schema += &format!("[key.\"p{number}:{{id:uint}}:x{{name}}\"]\ntype = \"string\"\n");
    }
    let text = told(&schema);
    let stream = [
        stream_of(&[&["SET", "before", "1"]]),
        stream_of(&[&["REPLCONF", "ACK", "0", "KEYWARD-SCHEMAS", &text]]),
        stream_of(&[&["SET", "behind", "1"]]),
    ];
    let primary = Scripted::of(empty_snapshot(), stream.concat());
    let replica = Node::keyward(&[]);
    let mut client = replica.client();
    follow(&replica, primary.port);
    let (begun, mut worst) = (Instant::now(), Duration::ZERO);
    let mut has_waited = false;
    loop {
        let asked = Instant::now();
        let reply = client.call(["GET", "behind"]).expect("a reply");
        worst = worst.max(asked.elapsed());
        has_waited |= matches!(&reply, Frame::Error(text) if text.starts_with(b"LOADING"));
        if reply == bulk("1") {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(120), "{}", replica.log());
        std::thread::sleep(Duration::from_millis(2));
    }
    let took = begun.elapsed();
    assert!(has_waited, "it was read at once, in {took:?}");
    assert!(worst < took / 2, "somebody waited {worst:?} of {took:?}");
    assert_eq!(replica.call("KEYWARD SCHEMA SHOW"), bulk(&schema));
}

#[test]
fn a_reload_that_a_failover_overtakes_comes_to_nothing_and_the_next_one_is_heard() {
    let (primary, _directory) = served_with(SCHEMA, &[]);
    let replica = Node::keyward_of(&primary, &[]);
    primary.wait_for(&replica);
    replica.signal("STOP");
    // It has something to wait for.
    primary.call("HSET user:1 email e status active");
    assert_eq!(primary.call("FAILOVER"), Frame::Simple(b"OK".to_vec()));
    let path = _directory.path().join("keyward.toml");
    std::fs::write(&path, format!("{SCHEMA}\n[key.\"more:{{id}}\"]\ntype = \"string\"\n"))
        .expect("a schema");
    primary.signal("HUP");
    wait_for_log(&primary, "SIGHUP: reading the schemas");
    std::thread::sleep(Duration::from_millis(500));
    replica.signal("CONT");
    wait_until(|| primary.info("role") == "slave" && replica.info("role") == "master");
    wait_for_log(&primary, "not reloaded: everything stays as it was");
    assert_eq!(primary.log().matches("SIGHUP: reading").count(), 1);
    assert!(primary.log().contains("a replica is under the schemas of its primary"));
    replica.wait_for(&primary);
    primary.lead();
    primary.signal("HUP");
    wait_until(|| primary.log().matches("SIGHUP: reading").count() == 2);
    wait_for(|| match primary.log().contains("reloaded: 1 of 1 schemas are new") {
        true => Ok(()),
        false => Err(primary.log()),
    });
}

#[test]
fn due_rows_that_clients_of_a_writable_replica_wrote_are_removed() {
    for is_stock in [true, false] {
        let primary = if is_stock { Node::redis(&[]) } else { Node::keyward(&[]) };
        primary.call("DEBUG SET-ACTIVE-EXPIRE 0");
        let mut replica = Node::keyward_of(
            &primary,
            &["--replica-read-only", "no", "--appendonly", "yes", "--appendfsync", "always"],
        );
        primary.wait_for(&replica);
        primary.call("SET theirs 1 PX 300");
        primary.call("SET taken 1");
        primary.wait_for(&replica);
        wait_until(|| replica.info("aof_rewrite_in_progress") == "0");
        let mut client = replica.client();
        for command in [
            "SET own:1 x PX 2000",
            "HSET own:2 f v",
            "PEXPIRE own:2 2000",
            "SET own:3 x PX 2000",
            "RENAME own:3 own:4",
            "PEXPIRE taken 2000",
            "SET own:5 x PX 2000",
            "PERSIST own:5",
            "SET own:6 x PX 2000",
            "SET own:6 y PX 1000000",
            "SELECT 3",
            "RPUSH own:7 x",
            "PEXPIRE own:7 2000",
        ] {
            call(&mut client, command);
        }
        wait_until(|| call(&mut client, "DBSIZE") == Frame::Integer(0));
        // What the primary gave a deadline is the primary's to remove.
        wait_until(|| replica.call("DBSIZE") == Frame::Integer(3));
        assert_eq!(replica.call("EXISTS own:5 own:6 theirs"), Frame::Integer(2));
        assert_eq!(replica.info("expired_keys"), "5");
        // The file says so too.
        replica.kill();
        drop(primary);
        replica.start_again();
        assert_eq!(replica.call("DBSIZE"), Frame::Integer(3));
    }
}

const MIRRORS: &str = r#"
[keyspace]
name = "mirrors"

[key."fans:{id:uint}"]
type = "set"
ttl = "none"

[key."idols:{id:uint}"]
type = "set"
ttl = "none"
inverse = "fans:{member}"
"#;

#[test]
fn a_replica_amid_a_large_end_saves_what_it_has() {
    let (mut primary, _directory) = served_with(MIRRORS, &[]);
    let mut replica = Node::keyward_of(&primary, &[]);
    let mut client = primary.client();
    for first in (0..20_000).step_by(5_000) {
        let members: Vec<String> = (first..first + 5_000).map(|id: usize| id.to_string()).collect();
        call(&mut client, &format!("SADD fans:1 {}", members.join(" ")));
    }
    primary.wait_for(&replica);
    call(&mut client, "DEL fans:1");
    wait_until(|| replica.call("EXISTS fans:1") == Frame::Integer(0));
    primary.kill();
    wait_until(|| replica.info("master_link_status") == "down");
    let Frame::Integer(left) = replica.call("DBSIZE") else { panic!("no size") };
    assert!(left > 0, "it was over before");
    // Its primary would have gone on with the end, and does not: a snapshot does not wait for it.
    let file = replica.directory.path().join("dump.rdb");
    assert!(!file.exists());
    replica.call("BGSAVE");
    wait_until(|| file.exists());
    assert_eq!(replica.info("rdb_last_bgsave_status"), "ok");
    replica.kill();
    replica.start_again();
    let Frame::Integer(loaded) = replica.call("DBSIZE") else { panic!("no size") };
    assert!(loaded <= left && loaded > 0, "{loaded} of {left}");
    assert_eq!(replica.call("EXISTS fans:1"), Frame::Integer(0));
}

#[test]
fn clients_are_told_to_wait_while_rows_change_tables_and_the_stream_goes_on_afterwards() {
    let (primary, _directory) = served_with(SCHEMA, &[]);
    let replica = Node::keyward_of(&primary, &[]);
    let mut client = primary.client();
    for first in (0..2_000).step_by(500) {
        let script = format!(
            "EVAL \"for i = {first}, {first} + 499 do redis.call('hset', 'user:' .. i, 'email', \
             'e' .. i, 'status', 'active') end\" 0"
        );
        call(&mut client, &script);
    }
    primary.wait_for(&replica);
    let mut waiting = replica.client();
    let blocked =
        std::thread::spawn(move || waiting.call(["XREAD", "BLOCK", "0", "STREAMS", "feed", "$"]));
    wait_until(|| replica.info("blocked_clients") == "1");
    let mut asking = replica.client();
    call(&mut client, "KEYWARD MODE observe");
    // Longer than one read, and behind the change.
    let long = "x".repeat(300_000);
    client.call(["SET", "long", &long]).expect("a reply");
    call(&mut client, "XADD feed 1-1 f v");
    let mut refusals = 0;
    loop {
        match asking.call(["GET", "long"]).expect("a reply") {
            Frame::Error(text) => {
                assert_eq!(text, b"LOADING Redis is loading the dataset in memory");
                refusals += 1;
            }
            Frame::Bulk(text) => {
                assert!(text == long.as_bytes());
                break;
            }
            other => assert_eq!(other, Frame::NullBulk),
        }
    }
    assert!(refusals > 0, "nobody has seen it");
    let woken = blocked.join().expect("no panic").expect("a reply");
    assert!(matches!(woken, Frame::Array(_)), "{woken:?}");
    primary.assert_equals(&replica);
    assert_eq!(primary.syncs(), ["1", "0", "0"]);
}
