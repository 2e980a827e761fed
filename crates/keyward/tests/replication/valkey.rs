//! Valkey 9.1 on the other side: full and partial synchronisation, handing over, and what it has
//! that Keyward lacks.

use crate::node::Node;
use crate::{under_load, write_all_kinds};
use keyward_resp::Frame;
use keyward_testkit::{call, wait_until};

/// Follows from before rows come, after a cut link, and beside their coming.
fn follows(primary: &Node, replica: &Node) {
    let mut client = primary.client();
    (0..20).for_each(|round| write_all_kinds(&mut client, round));
    // Encodings beyond the small ones.
    call(&mut client, "SELECT 0");
    call(
        &mut client,
        "EVAL \"for i = 1, 3000 do redis.call('hset', 'big:h', i, i) redis.call('zadd', 'big:z', i, i) redis.call('sadd', 'big:s', 'm' .. i) redis.call('sadd', 'big:i', i) redis.call('rpush', 'big:l', string.rep('x', 100) .. i) end\" 0",
    );
    call(&mut client, "XGROUP CREATE stream group 0");
    call(&mut client, "XREADGROUP GROUP group anna COUNT 2 STREAMS stream >");
    let library = "#!lua name=l\nredis.register_function{function_name='f', callback=function() return 1 end, flags={'no-writes'}}";
    client.call(["FUNCTION", "LOAD", library]).expect("a library");
    replica.follow(primary);
    (20..40).for_each(|round| write_all_kinds(&mut client, round));
    primary.assert_equals(replica);
    assert_eq!(replica.call("FCALL_RO f 0"), Frame::Integer(1));
    // Who led before asks to go on with its own history, which the other one does not know.
    assert_eq!(primary.syncs()[..2], ["1", "0"]);
    under_load(primary, || {
        wait_until(|| primary.call("CLIENT KILL TYPE replica") == Frame::Integer(1));
        wait_until(|| primary.syncs()[1] == "1");
    });
    primary.assert_equals(replica);
    assert_eq!(primary.syncs()[..2], ["1", "1"]);
    assert!(!replica.log().contains("CRITICAL"), "{}", replica.log());
    assert_eq!(primary.call("WAIT 1 5000"), Frame::Integer(1));
}

#[test]
fn waitaof_is_what_valkey_says_it_is() {
    let sides = [Node::keyward(&[]), Node::valkey(&[])];
    for command in
        ["COMMAND INFO waitaof", "EVAL \"return redis.call('WAITAOF', '0', '3', '0')\" 0"]
    {
        let [own, valkey] = sides.each_ref().map(|side| side.call(command));
        assert_eq!(own, valkey, "{command}");
    }
    for category in ["blocking", "connection", "slow", "fast", "dangerous", "keyspace"] {
        let [own, valkey] = sides.each_ref().map(|side| {
            let reply = side.call(&format!("ACL CAT {category}"));
            let Frame::Array(names) = reply else { panic!("{category}: {reply:?}") };
            names.contains(&Frame::Bulk(b"waitaof".to_vec()))
        });
        assert_eq!(own, valkey, "{category}");
    }
}

#[test]
fn a_keyward_follows_a_valkey() {
    follows(&Node::valkey(&[]), &Node::keyward(&[]));
    follows(&Node::valkey(&["--repl-diskless-sync", "no"]), &Node::keyward(&[]));
}

#[test]
fn a_valkey_follows_a_keyward() {
    follows(&Node::keyward(&[]), &Node::valkey(&[]));
    follows(&Node::keyward(&[]), &Node::valkey(&["--dual-channel-replication-enabled", "yes"]));
}

#[test]
fn roles_change_between_valkey_and_keyward() {
    let (valkey, keyward) = (Node::valkey(&[]), Node::keyward(&[]));
    keyward.follow(&valkey);
    let mut client = valkey.client();
    (0..10).for_each(|round| write_all_kinds(&mut client, round));
    valkey.assert_equals(&keyward);
    for (from, to) in [(&valkey, &keyward), (&keyward, &valkey)] {
        let command = format!("FAILOVER TO 127.0.0.1 {} TIMEOUT 20000", to.port);
        assert_eq!(from.call(&command), Frame::Simple(b"OK".to_vec()));
        wait_until(|| to.info("role") == "master" && from.info("role") == "slave");
        let mut client = to.client();
        (10..20).for_each(|round| write_all_kinds(&mut client, round));
        to.assert_equals(from);
        assert_eq!(to.syncs()[1], "1", "nobody gets everything again: {:?}", to.syncs());
    }
}

#[test]
fn commands_that_only_valkey_has_are_named_and_close_the_link_or_are_left_out() {
    let valkey = Node::valkey(&[]);
    let (strict, lenient) = (
        Node::keyward_of(&valkey, &[]),
        Node::keyward_of(&valkey, &["--repl-skip-unsupported", "yes"]),
    );
    valkey.wait_for(&strict);
    valkey.wait_for(&lenient);
    valkey.call("SET before 1");
    valkey.call("HSETEX h EX 1000 FIELDS 1 f v");
    valkey.call("SET after 1");
    wait_until(|| lenient.call("GET after") == Frame::Bulk(b"1".to_vec()));
    assert_eq!(lenient.info("master_commands_skipped"), "1");
    let named = "Left out of the primary's stream: ";
    let log = lenient.log().to_lowercase();
    assert!(log.contains(&format!("{named}hsetex").to_lowercase()), "{log}");
    let refusal = "the primary's stream has a command that is not supported: hsetex";
    wait_until(|| strict.log().to_lowercase().contains(refusal));
    assert_eq!(strict.call("GET before"), Frame::Bulk(b"1".to_vec()));
    assert_eq!(strict.call("EXISTS after h"), Frame::Integer(0));
    // Others go on.
    valkey.call("SET more 1");
    wait_until(|| lenient.call("EXISTS more") == Frame::Integer(1));
}

#[test]
fn waitaof_does_not_count_a_replica_whose_first_append_only_file_is_still_written() {
    let logged = ["--appendonly", "yes", "--save", ""];
    let primary = Node::keyward(&logged);
    // What nobody follows is at no place of a stream.
    let plain = Node::keyward_of(&primary, &[]);
    primary.wait_for(&plain);
    let mut client = primary.client();
    (0..20).for_each(|number| drop(call(&mut client, &format!("SET key:{number} 1"))));
    let slow = [&logged[..], &["--rdb-key-save-delay", "250000"]].concat();
    let replica = Node::keyward_of(&primary, &slow);
    primary.wait_for(&replica);
    // What came with everything, and by the stream.
    let counted = call(&mut client, "WAITAOF 0 1 1500");
    assert_eq!(counted.as_elements().expect("counts")[1], Frame::Integer(0));
    call(&mut client, "SET last 1");
    let counted = call(&mut client, "WAITAOF 0 1 1500");
    assert_eq!(replica.info("aof_rewrite_in_progress"), "1");
    assert_eq!(counted.as_elements().expect("counts")[1], Frame::Integer(0));
    replica.call("CONFIG SET rdb-key-save-delay 0");
    let counted = call(&mut client, "WAITAOF 0 1 20000");
    assert_eq!(counted.as_elements().expect("counts")[1], Frame::Integer(1));
    assert_eq!(replica.info("aof_rewrite_in_progress"), "0");
}

#[test]
fn waitaof_counts_replicas_whose_append_only_file_is_synced() {
    let logged = ["--appendonly", "yes"];
    for primary in [Node::keyward(&logged), Node::valkey(&logged)] {
        // Without the file it never counts, for what was written before there was a stream either.
        let mut early = primary.client();
        call(&mut early, "SET early 1");
        let plain = Node::keyward_of(&primary, &[]);
        primary.wait_for(&plain);
        let mut client = primary.client();
        let count = |client: &mut keyward_testkit::Client, words: &str| {
            let reply = call(client, words);
            let Frame::Array(counts) = &reply else { panic!("{reply:?}") };
            counts.clone()
        };
        call(&mut client, "SET before 1");
        for client in [&mut early, &mut client] {
            assert_eq!(count(client, "WAITAOF 0 1 1500")[1], Frame::Integer(0));
        }
        for policy in ["always", "everysec"] {
            let options = [&logged[..], &["--appendfsync", policy, "--save", ""]].concat();
            let replica = Node::keyward_of(&primary, &options);
            primary.wait_for(&replica);
            for number in 0..3 {
                call(&mut client, &format!("SET {policy}:{number} 1"));
                let counts = count(&mut client, "WAITAOF 1 1 10000");
                assert_eq!(counts, [Frame::Integer(1), Frame::Integer(1)], "{policy}");
            }
            // What is written and not synced is in the file, and is not counted.
            replica.call("CONFIG SET appendfsync no");
            call(&mut client, &format!("SET {policy}:unsynced 1"));
            wait_until(|| appended(&replica).contains(&format!("{policy}:unsynced")));
            let counts = count(&mut client, "WAITAOF 1 1 1500");
            assert_eq!(counts, [Frame::Integer(1), Frame::Integer(0)], "{policy}");
            replica.call(&format!("CONFIG SET appendfsync {policy}"));
            let counts = count(&mut client, "WAITAOF 1 1 10000");
            assert_eq!(counts, [Frame::Integer(1), Frame::Integer(1)], "{policy}");
        }
    }
}

/// What the append-only files of a server have, synced or not.
fn appended(node: &Node) -> String {
    let files = std::fs::read_dir(node.directory.path().join("appendonlydir")).expect("files");
    let bytes = files.map(|file| std::fs::read(file.expect("a file").path()).unwrap_or_default());
    bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).collect()
}

/// Replies of a pipeline that ends with WAITAOF, as one text.
fn waitaof_behind(client: &mut keyward_testkit::Client, lines: &[&str]) -> String {
    client.send((lines.join("\r\n") + "\r\n").as_bytes()).expect("the server reads");
    lines.iter().map(|_| format!("{:?} ", client.receive().expect("an answer"))).collect()
}

#[test]
fn waitaof_of_the_own_file_is_as_valkey_has_it() {
    let options = ["--appendonly", "yes", "--save", ""];
    let says = [Node::keyward(&options), Node::valkey(&options)].map(|node| {
        let mut client = node.client();
        let mut said = Vec::new();
        let mut say = |client: &mut keyward_testkit::Client, lines: &[&str]| {
            said.push(format!("{lines:?} {}", waitaof_behind(client, lines)));
        };
        // All is synced, then nothing more is.
        for policy in ["always", "everysec"] {
            call(&mut client, &format!("CONFIG SET appendfsync {policy}"));
            say(&mut client, &["SET row 1", "WAITAOF 1 0 10000"]);
            say(&mut client, &["WAITAOF 1 0 0"]);
            say(&mut client, &["SET row 2", "WAIT 0 0", "WAITAOF 1 0 10000"]);
        }
        call(&mut client, "CONFIG SET appendfsync no");
        say(&mut client, &["SET row 3", "WAIT 0 0", "WAITAOF 1 0 300"]);
        say(&mut client, &["SET row 3", "WAITAOF 1 0 300"]);
        call(&mut client, "CONFIG SET appendfsync everysec");
        call(&mut client, "DEBUG POPULATE 100 row 10");
        call(&mut client, "CONFIG SET rdb-key-save-delay 100000");
        call(&mut client, "BGREWRITEAOF");
        wait_until(|| node.info("aof_rewrite_in_progress") == "1");
        say(&mut client, &["SET row 4", "WAITAOF 1 0 10000"]);
        assert_eq!(node.info("aof_rewrite_in_progress"), "1");
        said
    });
    assert_eq!(says[0], says[1]);
}

#[test]
fn waitaof_fails_when_the_file_is_switched_off_before_it_is_whole() {
    let options = ["--appendonly", "no", "--save", "", "--rdb-key-save-delay", "100000"];
    for node in [Node::keyward(&options), Node::valkey(&options)] {
        let mut client = node.client();
        call(&mut client, "DEBUG POPULATE 100 row 10");
        call(&mut client, "CONFIG SET appendonly yes");
        let said = waitaof_behind(&mut client, &["SET row 5", "WAITAOF 1 0 1500"]);
        assert_eq!(said, "+OK [:0, :0] ");
        client.send(b"SET row 6\r\nWAITAOF 1 0 0\r\n").expect("the server reads");
        wait_until(|| node.info("blocked_clients") == "1");
        node.call("CONFIG SET appendonly no");
        client.receive().expect("an answer");
        let error = "ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.";
        let ended = client.receive().expect("an answer");
        assert_eq!(ended, Frame::Error(error.as_bytes().to_vec()));
    }
}

#[test]
fn a_valkey_that_has_fields_with_lifetimes_sends_no_snapshot_until_they_are_gone() {
    let valkey = Node::valkey(&[]);
    valkey.call("SET plain 1");
    let replica = Node::keyward_of(&valkey, &[]);
    valkey.wait_for(&replica);
    replica.lead();
    valkey.call("HSETEX expiring EX 1000 FIELDS 1 f v");
    valkey.call("SET plain 2");
    replica.call("SET own 1");
    replica.follow(&valkey);
    // It does not put such rows into a snapshot for a server of version 7.
    wait_until(|| valkey.log().contains("in RDB version 11"));
    assert_eq!(replica.info("master_link_status"), "down");
    assert_eq!(replica.call("GET own"), Frame::Bulk(b"1".to_vec()), "what it has stays");
    valkey.call("DEL expiring");
    valkey.assert_equals(&replica);
    assert_eq!(replica.call("GET plain"), Frame::Bulk(b"2".to_vec()));
}

#[test]
fn fields_with_lifetimes_are_left_out_of_a_snapshot_named_and_counted() {
    for way in ["disabled", "swapdb"] {
        let valkey = Node::valkey(&[]);
        valkey.call("SET plain 1");
        valkey.call("HSET hash f v");
        valkey.call("HSETEX expiring EX 1000 FIELDS 1 f v");
        let options = ["--repl-skip-unsupported", "yes", "--repl-diskless-load", way];
        let options = [&options[..], &["--appendonly", "yes"]].concat();
        let mut replica = Node::keyward_of(&valkey, &options);
        let chained = Node::keyward_of(&replica, &[]);
        valkey.wait_for(&replica);
        let log = replica.log();
        let named = "Left out of the primary's snapshot: \"expiring\" of database 0";
        assert!(log.contains(named), "{log}");
        assert_eq!(log.contains("from master with EOF to parser"), way == "swapdb", "{log}");
        assert_eq!(replica.info("master_commands_skipped"), "1", "{way}");
        assert_eq!(replica.call("DBSIZE"), Frame::Integer(2));
        valkey.call("SET more 1");
        wait_until(|| replica.call("EXISTS plain hash more") == Frame::Integer(3));
        // Who goes on with the same history lacks the same rows.
        replica.follow_host("localhost", valkey.port);
        wait_until(|| valkey.syncs()[1] == "1");
        valkey.wait_for(&replica);
        assert_eq!(replica.info("master_commands_skipped"), "1", "{way}");
        // Nothing tells a start what was left out: it asks for everything, and leaves it out again.
        replica.end();
        replica.start_again();
        valkey.wait_for(&replica);
        assert_eq!(valkey.syncs()[..2], ["2", "1"]);
        assert_eq!(replica.info("master_commands_skipped"), "1", "{way}");
        // It has other rows than its primary at the same place: its history is another.
        replica.wait_for(&chained);
        let full = replica.syncs()[0].clone();
        replica.lead();
        wait_until(|| replica.syncs()[0] != full);
    }
}
