//! `repl-diskless-load`: a snapshot of the primary that is loaded from the connection, beside what
//! there is.

use crate::node::Node;
use keyward_resp::Frame;
use keyward_testkit::wait_until;

fn bulk(text: &str) -> Frame {
    Frame::Bulk(text.as_bytes().to_vec())
}

/// Has the primary give its replica everything again, which takes a while.
fn lose_place(primary: &Node) {
    primary.call("CONFIG SET repl-backlog-size 16384 rdb-key-save-delay 20000");
    let mut client = primary.client();
    let value = "x".repeat(40_000);
    let unit = [&["MULTI"][..], &["CLIENT KILL TYPE replica"]].concat();
    unit.iter().for_each(|command| drop(keyward_testkit::call(&mut client, command)));
    for number in 0..4 {
        keyward_testkit::call(&mut client, &format!("SET filler:{number} {value}"));
    }
    keyward_testkit::call(&mut client, "EXEC");
}

#[test]
fn what_there_is_of_the_same_history_is_served_until_the_rest_takes_its_place() {
    let primary = Node::keyward(&["--save", ""]);
    primary.call("DEBUG POPULATE 150 row 1000");
    let library = "#!lua name=l\nredis.register_function('f', function() return 'new' end)";
    let options = ["--repl-diskless-load", "swapdb", "--replica-read-only", "no", "--save", ""];
    let replica = Node::keyward_of(&primary, &options);
    primary.wait_for(&replica);
    assert!(replica.log().contains("from master with EOF to parser"), "{}", replica.log());
    replica.call("SET own 1");
    let old = library.replace("new", "old");
    replica.client().call(["FUNCTION", "LOAD", &old]).expect("a library");
    // It goes into the stream, of which the replica loses a part.
    lose_place(&primary);
    primary.client().call(["FUNCTION", "LOAD", "REPLACE", library]).expect("a library");
    wait_until(|| replica.info("async_loading") == "1");
    assert_eq!(replica.info("loading"), "0");
    assert_eq!(replica.call("GET own"), bulk("1"));
    assert_eq!(replica.call("FCALL f 0"), bulk("old"));
    assert_eq!(replica.call("DBSIZE"), Frame::Integer(151));
    // One that breaks off leaves everything as it is.
    assert_eq!(primary.call("CLIENT KILL TYPE replica"), Frame::Integer(1));
    wait_until(|| replica.log().contains("Internal error in RDB reading offset"));
    wait_until(|| replica.info("async_loading") == "1");
    assert_eq!(replica.call("GET own"), bulk("1"));
    primary.call("CONFIG SET rdb-key-save-delay 0");
    primary.assert_equals(&replica);
    assert_eq!(replica.info("async_loading"), "0");
    assert_eq!(replica.call("GET own"), Frame::NullBulk);
    assert_eq!(replica.call("FCALL f 0"), bulk("new"));
    assert_eq!(primary.syncs()[0], "3");
}

#[test]
fn what_there_is_of_another_history_is_not_served_and_stays_if_the_rest_breaks_off() {
    let primary = Node::keyward(&["--save", "", "--rdb-key-save-delay", "20000"]);
    primary.call("DEBUG POPULATE 150 row 1000");
    let replica = Node::keyward(&["--repl-diskless-load", "swapdb", "--appendonly", "yes"]);
    replica.call("SET own 1");
    replica.follow(&primary);
    wait_until(|| replica.info("loading") == "1");
    assert_eq!(replica.info("async_loading"), "0");
    let loading = b"LOADING Redis is loading the dataset in memory".to_vec();
    assert_eq!(replica.call("GET own"), Frame::Error(loading));
    primary.call("CONFIG SET repl-diskless-sync-delay 60");
    assert_eq!(primary.call("CLIENT KILL TYPE replica"), Frame::Integer(1));
    wait_until(|| replica.info("loading") == "0");
    assert_eq!(replica.call("GET own"), bulk("1"));
    primary.call("CONFIG SET repl-diskless-sync-delay 0 rdb-key-save-delay 0");
    primary.assert_equals(&replica);
    assert_eq!(replica.call("DBSIZE"), Frame::Integer(150));
    // Its append-only file has what came.
    let mut replica = replica;
    primary.call("SET last 1");
    primary.wait_for(&replica);
    wait_until(|| replica.info("aof_rewrite_in_progress") == "0");
    replica.lead();
    replica.end();
    replica.start_again();
    assert_eq!(replica.call("DBSIZE"), Frame::Integer(151));
}

#[test]
fn an_empty_replica_loads_from_the_connection_and_one_with_keys_by_way_of_a_file() {
    for (primary, form) in [
        (Node::redis(&["--repl-diskless-sync", "no"]), "bytes from master to parser"),
        (Node::redis(&[]), "from master with EOF to parser"),
    ] {
        let mut client = primary.client();
        (0..10).for_each(|round| crate::write_all_kinds(&mut client, round));
        let replica = Node::keyward_of(&primary, &["--repl-diskless-load", "on-empty-db"]);
        primary.assert_equals(&replica);
        assert!(replica.log().contains(form), "{}", replica.log());
        replica.lead();
        replica.call("SET own 1");
        replica.follow(&primary);
        primary.assert_equals(&replica);
        assert!(replica.log().contains("to disk"), "{}", replica.log());
    }
}

#[test]
fn a_primary_with_schemas_is_followed_by_way_of_a_file() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("keyward.toml");
    std::fs::write(&path, crate::SCHEMA).expect("a schema");
    let primary = Node::keyward_with(&[path.to_str().expect("UTF-8")], &[]);
    primary.call("HSET user:1 email e status active");
    let replica = Node::keyward_of(&primary, &["--repl-diskless-load", "swapdb"]);
    primary.assert_equals(&replica);
    assert!(
        replica.log().contains("The primary has schemas: its snapshot is received into a file")
    );
    replica.lead();
    assert_eq!(replica.call("HSET user:2 email e2 status active"), Frame::Integer(2));
    assert_eq!(replica.call("GET user:by_email:e2"), bulk("2"), "the schema came along");
}
