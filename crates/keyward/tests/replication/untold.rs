//! Rows that no schema was held against: a Keyward that follows a server without schemas observes,
//! whether it got everything from there or went on, and so it does after a promotion.

use super::SCHEMA;
use crate::node::Node;
use crate::schemas::{SchemaFile, error_of, mode_of};
use keyward_resp::Frame;
use keyward_testkit::wait_until;

const LOUD: &str = "NOTHING OF IT IS ENFORCED";
const SOON: [&str; 2] = ["--repl-diskless-sync-delay", "0"];

fn ok() -> Frame {
    Frame::Simple(b"OK".to_vec())
}

/// Writes what the schema would refuse, and does not keep the derived keys.
fn break_schema(redis: &Node) {
    redis.call("HSET user:2 email a@x status active nonsense 1");
    redis.call("SET rubbish 1");
    redis.call("DEL user:1");
}

/// Asserts that a promotion changes nothing, and says so.
fn assert_leads_observing(node: &Node) {
    node.lead();
    assert_eq!(mode_of(node), "observe");
    assert_eq!(node.info("schemas_observing_since_promotion"), "1");
    assert!(node.log().contains(LOUD), "{}", node.log());
    let command = format!("HSET user:{} email a@x status active", node.port);
    assert_eq!(node.call(&command), Frame::Integer(2));
    assert!(error_of(node, "KEYWARD MODE enforce").contains("would change rows"));
}

#[test]
fn who_goes_on_with_a_server_without_schemas_observes_and_so_after_a_promotion() {
    let keyward = SchemaFile::new(SCHEMA).serve(&["--appendonly", "yes"]);
    let chained = Node::keyward_of(&keyward, &[]);
    let redis = Node::replica_of(&keyward, &SOON);
    keyward.wait_for(&redis);
    keyward.call("HSET user:1 email a@x status active");
    keyward.assert_equals(&chained);
    assert_eq!([&keyward, &chained].map(mode_of), ["schema", "schema"]);
    let to = format!("FAILOVER TO 127.0.0.1 {}", redis.port);
    assert_eq!(keyward.call(&to), ok());
    wait_until(|| redis.info("role") == "master");
    break_schema(&redis);
    redis.assert_equals(&keyward);
    redis.assert_equals(&chained);
    assert_eq!(redis.syncs(), ["0", "1", "0"]);
    assert!(keyward.log().contains("The primary tells of no schemas"), "{}", keyward.log());
    assert_eq!(mode_of(&keyward), "observe");
    wait_until(|| chained.info("master_link_status") == "up" && mode_of(&chained) == "observe");
    // It counts what comes.
    redis.call("HSET user:4 email b@x status unheard-of");
    redis.assert_equals(&keyward);
    let refusals = format!("{:?}", keyward.call("KEYWARD REFUSALS"));
    assert!(refusals.contains("user:4"), "{refusals}");
    assert_leads_observing(&keyward);
    keyward.wait_for(&chained);
    assert_eq!(mode_of(&chained), "observe");
    // Whoever follows it hears that it only observes, and observes when it leads.
    redis.follow(&keyward);
    keyward.assert_equals(&redis);
    assert_leads_observing(&chained);
}

#[test]
fn a_keyward_that_follows_a_promoted_redis_observes_and_so_after_a_restart() {
    let file = SchemaFile::new(SCHEMA);
    let first = file.serve(&[]);
    let redis = Node::replica_of(&first, &SOON);
    let port = first.port.to_string();
    let follows = ["--replicaof", "127.0.0.1", &port, "--save", "3600 1"];
    let mut seconds = [file.serve(&follows), Node::keyward(&follows)];
    first.call("HSET user:1 email a@x status active");
    first.wait_for(&redis);
    seconds.iter().for_each(|second| first.wait_for(second));
    drop(first);
    redis.lead();
    break_schema(&redis);
    for second in &mut seconds {
        second.follow(&redis);
        redis.assert_equals(second);
        assert_eq!(mode_of(second), "observe");
        // A start, which is told to follow the one that is gone, remembers it.
        second.end();
        second.start_again();
        assert_eq!(mode_of(second), "observe");
        second.follow(&redis);
        redis.assert_equals(second);
        assert_leads_observing(second);
    }
    assert_eq!(redis.syncs(), ["0", "4", "0"]);
}

#[test]
fn who_observes_since_its_promotion_starts_again_and_goes_on_until_apply() {
    let file = SchemaFile::new(SCHEMA);
    for options in [["--appendonly", "yes"], ["--save", "3600 1"]] {
        let redis = Node::redis(&[]);
        redis.call("HSET user:1 email a@x status active");
        redis.call("SET rubbish 1");
        let mut keyward = file.serve(&options);
        keyward.follow(&redis);
        redis.assert_equals(&keyward);
        assert_leads_observing(&keyward);
        for _ in 0..2 {
            let told = keyward.log().matches(LOUD).count();
            keyward.end();
            keyward.start_again();
            assert_eq!(mode_of(&keyward), "observe");
            assert_eq!(keyward.info("schemas_observing_since_promotion"), "1");
            let log = keyward.log();
            assert_eq!(log.matches(LOUD).count(), told + 1, "{log}");
            assert!(log.contains("what this schema, which only observes, would do"), "{log}");
            assert_eq!(keyward.call("SET more-rubbish 1"), ok());
        }
        keyward.call(&format!("DEL user:{} rubbish more-rubbish", keyward.port));
        let refusal = error_of(&keyward, "KEYWARD MODE enforce");
        let (_, apply) = refusal.split_once("say ").expect("the way");
        keyward.call(apply);
        assert_eq!(keyward.info("schemas_observing_since_promotion"), "");
        assert!(error_of(&keyward, "SET rubbish 1").starts_with("SCHEMA"));
        keyward.end();
        keyward.start_again();
        assert!(error_of(&keyward, "SET rubbish 1").starts_with("SCHEMA"));
        assert_eq!(keyward.call("GET user:by_email:a@x"), Frame::Bulk(b"1".to_vec()));
    }
}

#[test]
fn a_replica_of_who_observes_one_database_and_rules_another_goes_on_after_a_restart() {
    let blog = "[keyspace]\nname = \"blog\"\ndb = 1\n\n[key.\"post:{id:uint}\"]\ntype = \"string\"\nttl = \"none\"\n";
    let directory = tempfile::tempdir().expect("a directory");
    let paths = [("shop.toml", SCHEMA), ("blog.toml", blog)].map(|(name, text)| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).expect("a schema");
        path.to_str().expect("UTF-8").to_owned()
    });
    let redis = Node::redis(&[]);
    redis.call("SET rubbish 1");
    let keyward = Node::keyward_with(&paths.each_ref().map(String::as_str), &[]);
    keyward.follow(&redis);
    redis.assert_equals(&keyward);
    keyward.lead();
    // The rows of the first came from elsewhere; the second has none.
    assert_eq!(keyward.info("schemas_observing_since_promotion"), "1");
    for options in [["--appendonly", "yes"], ["--save", "3600 1"]] {
        let mut replica = Node::keyward_of(&keyward, &options);
        keyward.wait_for(&replica);
        let full = keyward.syncs()[0].clone();
        for _ in 0..2 {
            keyward.call("SET more-rubbish 1");
            keyward.wait_for(&replica);
            replica.end();
            replica.start_again();
            keyward.assert_equals(&replica);
        }
        assert_eq!(keyward.syncs()[0], full, "it goes on: {}", keyward.log());
    }
}

#[test]
fn a_start_with_another_file_than_the_one_that_observes_is_asked() {
    let file = SchemaFile::new(SCHEMA);
    let redis = Node::redis(&[]);
    redis.call("HSET user:1 email a@x status active");
    redis.call("SET session:1 x");
    let mut keyward = file.serve(&["--save", "3600 1"]);
    keyward.follow(&redis);
    redis.assert_equals(&keyward);
    keyward.lead();
    keyward.end();
    file.write(&SCHEMA.replace("2s", "3s"));
    keyward.try_start();
    keyward.wait();
    assert!(keyward.log().contains("--accept"), "{}", keyward.log());
    file.write(SCHEMA);
    keyward.start_again();
    assert_eq!(mode_of(&keyward), "observe");
}

#[test]
fn a_schema_that_came_with_the_data_stays_when_the_promoted_server_starts_again() {
    let primary = SchemaFile::new(SCHEMA).serve(&[]);
    primary.call("HSET user:1 email a@x status active");
    let other = SchemaFile::new(&SCHEMA.replace("2s", "3s"));
    let (log, snapshot) = (["--appendonly", "yes"], ["--save", "3600 1"]);
    let replicas =
        [Node::keyward(&log), Node::keyward(&snapshot), other.serve(&log), other.serve(&snapshot)];
    for (number, mut replica) in replicas.into_iter().enumerate() {
        replica.follow(&primary);
        primary.assert_equals(&replica);
        // One is not promoted before it ends.
        if number != 1 {
            replica.lead();
            assert!(error_of(&replica, "SET rubbish 1").starts_with("SCHEMA"));
        }
        for _ in 0..2 {
            replica.end();
            replica.start_again();
            assert_eq!(replica.info("role"), "master");
            assert_eq!(replica.call("KEYWARD SCHEMA SHOW"), primary.call("KEYWARD SCHEMA SHOW"));
            assert!(error_of(&replica, "SET rubbish 1").starts_with("SCHEMA"));
            assert!(error_of(&replica, "HSET user:2 email a@x status active").contains("email"));
        }
        let log = replica.log();
        assert!(log.contains("a primary that this server followed put"), "{log}");
        assert!(log.contains("16 databases, shop in 0"), "{log}");
    }
}

#[test]
fn who_does_not_know_the_schemas_of_its_rows_gets_everything_from_who_does() {
    let primary = SchemaFile::new(SCHEMA).serve(&[]);
    primary.call("HSET user:1 email a@x status active");
    let redis = Node::replica_of(&primary, &SOON);
    primary.wait_for(&redis);
    let replica = Node::keyward_of(&redis, &[]);
    redis.wait_for(&replica);
    assert_eq!(error_of(&replica, "KEYWARD MODE"), "ERR this database has no schema");
    // It is of the same history, and lacks nothing else.
    replica.follow(&primary);
    primary.assert_equals(&replica);
    assert_eq!(primary.syncs(), ["2", "0", "1"]);
    let line = "does not know the schemas of its rows";
    assert!(primary.log().contains(line), "{}", primary.log());
    assert_eq!(replica.call("KEYWARD SCHEMA SHOW"), primary.call("KEYWARD SCHEMA SHOW"));
    wait_until(|| primary.call("CLIENT KILL TYPE replica") == Frame::Integer(2));
    wait_until(|| primary.syncs()[1] == "2");
    primary.assert_equals(&replica);
    assert_eq!(primary.syncs(), ["2", "2", "1"], "who knows them goes on");
    replica.lead();
    assert!(error_of(&replica, "SET rubbish 1").starts_with("SCHEMA"));
    assert_eq!(replica.info("schemas_observing_since_promotion"), "");
}
