//! Keyward as a replica under a schema: the one that comes with the data, or its own.

use super::SCHEMA;
use crate::node::Node;
use keyward_resp::Frame;
use keyward_testkit::{Client, call, wait_until};
use std::path::PathBuf;
use tempfile::TempDir;

/// A schema in a file.
pub(crate) struct SchemaFile {
    path: PathBuf,
    _directory: TempDir,
}

impl SchemaFile {
    pub(crate) fn new(text: &str) -> SchemaFile {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("keyward.toml");
        std::fs::write(&path, text).expect("a schema");
        SchemaFile { path, _directory: directory }
    }

    /// Gives the file another text.
    pub(crate) fn write(&self, text: &str) {
        std::fs::write(&self.path, text).expect("a schema");
    }

    pub(crate) fn serve(&self, options: &[&str]) -> Node {
        Node::keyward_with(&[self.path.to_str().expect("UTF-8")], options)
    }

    pub(crate) fn serve_replica(&self, primary: &Node) -> Node {
        let port = primary.port.to_string();
        self.serve(&["--replicaof", "127.0.0.1", &port])
    }
}

fn write_users(client: &mut Client, ids: std::ops::Range<usize>) {
    for id in ids {
        call(client, &format!("HSET user:{id} email e{id}@x status active"));
        call(client, &format!("SET session:{id} x"));
        if id % 3 == 0 {
            call(client, &format!("HSET user:{id} status gone"));
        }
        if id % 5 == 0 {
            call(client, &format!("DEL user:{id}"));
        }
    }
}

pub(crate) fn error_of(node: &Node, command: &str) -> String {
    match node.call(command) {
        Frame::Error(text) => String::from_utf8_lossy(&text).into_owned(),
        other => panic!("{command}: {other:?}"),
    }
}

#[test]
fn the_schema_comes_with_the_data_and_rules_after_a_promotion() {
    let file = SchemaFile::new(SCHEMA);
    let primary = file.serve(&["--repl-ping-replica-period", "1000"]);
    let mut client = primary.client();
    write_users(&mut client, 0..20);
    // Neither of them has a file of it.
    let promoted = Node::keyward_of(&primary, &[]);
    let other = Node::keyward_of(&primary, &[]);
    write_users(&mut client, 20..40);
    primary.assert_equals(&promoted);
    let schema = primary.call("KEYWARD SCHEMA SHOW");
    assert_eq!(promoted.call("KEYWARD SCHEMA SHOW"), schema);
    // Reads renew nothing, and nothing ends by itself.
    let ends = promoted.call("PEXPIRETIME session:39");
    promoted.call("GET session:39");
    assert_eq!(promoted.call("PEXPIRETIME session:39"), ends);
    assert!(error_of(&promoted, "KEYWARD MODE warn").starts_with("READONLY"));
    assert!(error_of(&promoted, "KEYWARD SCHEMA PLAN x").starts_with("READONLY"));
    promoted.lead();
    other.follow(&promoted);
    assert!(error_of(&promoted, "SET unknown:key 1").starts_with("SCHEMA"));
    assert!(error_of(&promoted, "HSET user:77 email e1@x status active").starts_with("SCHEMA"));
    let mut client = promoted.client();
    write_users(&mut client, 40..60);
    call(&mut client, "DEL user:41");
    assert_eq!(call(&mut client, "EXISTS user:by_email:e41@x"), Frame::Integer(0));
    wait_until(|| call(&mut client, "EXISTS session:59") == Frame::Integer(0));
    promoted.assert_equals(&other);
    assert_eq!(promoted.syncs(), ["0", "1", "0"]);
    assert_eq!(promoted.info("schemas_observing_since_promotion"), "");
}

#[test]
fn a_file_that_differs_is_reported_and_what_came_with_the_data_stays() {
    let primary = SchemaFile::new(SCHEMA).serve(&[]);
    let mut client = primary.client();
    write_users(&mut client, 0..10);
    let replica = SchemaFile::new(&SCHEMA.replace("2s", "3s")).serve_replica(&primary);
    primary.assert_equals(&replica);
    let schema = primary.call("KEYWARD SCHEMA SHOW");
    replica.lead();
    assert_eq!(replica.call("KEYWARD SCHEMA SHOW"), schema);
    let line = "Database 0: the schema that came with the data stays in force;";
    assert!(replica.log().contains(line), "{}", replica.log());
}

#[test]
fn another_schema_comes_by_the_stream() {
    let file = SchemaFile::new(SCHEMA);
    let primary = file.serve(&[]);
    let replica = Node::keyward_of(&primary, &[]);
    let mut client = primary.client();
    write_users(&mut client, 0..30);
    for id in 0..700 {
        call(&mut client, &format!("HSET user:x{id} email x{id}@x status active"));
    }
    primary.assert_equals(&replica);
    assert_eq!(call(&mut client, "KEYWARD MODE observe"), Frame::Simple(b"OK".to_vec()));
    call(&mut client, "SET free 1");
    primary.assert_equals(&replica);
    assert_eq!(replica.call("KEYWARD MODE"), primary.call("KEYWARD MODE"));
    assert_eq!(primary.syncs(), ["1", "0", "0"]);
    replica.lead();
    assert_eq!(replica.call("SET free 2"), Frame::Simple(b"OK".to_vec()));
}

#[test]
fn a_replica_that_never_reached_its_primary_leads_under_its_own_schema() {
    let nobody = keyward_testkit::free_port().to_string();
    let replica = SchemaFile::new(SCHEMA).serve(&["--replicaof", "127.0.0.1", &nobody]);
    // Until a primary tells of another one it is known here.
    assert!(format!("{:?}", replica.call("KEYWARD SCHEMA SHOW")).contains("user:by_email"));
    assert!(format!("{:?}", replica.call("KEYWARD MODE")).contains("observe"));
    replica.lead();
    assert!(format!("{:?}", replica.call("KEYWARD MODE")).contains("schema"));
    assert!(error_of(&replica, "SET unknown:key 1").starts_with("SCHEMA"));
    replica.call("HSET user:1 email e1@x status active");
    assert_eq!(replica.call("EXISTS user:by_email:e1@x"), Frame::Integer(1));
    assert_eq!(replica.info("schemas_observing_since_promotion"), "");
    assert!(!replica.log().contains("NOTHING OF IT IS ENFORCED"), "{}", replica.log());
}

#[test]
fn rows_of_a_replica_that_never_reached_its_primary_are_observed_when_it_leads() {
    let data = tempfile::tempdir().expect("a directory");
    let data = data.path().to_str().expect("a path in UTF-8");
    let theirs = keyward_testkit::Server::redis(&["--dir", data]);
    call(&mut theirs.client(), "MSET free 1 session:1 x");
    call(&mut theirs.client(), "SAVE");
    drop(theirs);
    let nobody = keyward_testkit::free_port().to_string();
    let options = ["--dir", data, "--replicaof", "127.0.0.1", &nobody];
    let replica = SchemaFile::new(SCHEMA).serve(&options);
    assert_eq!(replica.call("DBSIZE"), Frame::Integer(2));
    replica.lead();
    assert_eq!(replica.info("schemas_observing_since_promotion"), "1");
    assert!(replica.log().contains("NOTHING OF IT IS ENFORCED"), "{}", replica.log());
    assert_eq!(replica.call("TTL session:1"), Frame::Integer(-1));
}

#[test]
fn a_replica_of_a_plain_redis_observes_its_own_schema() {
    let primary = Node::redis(&[]);
    primary.call("SET free 1");
    primary.call("HSET user:1 email e status active");
    let replica = SchemaFile::new(SCHEMA).serve_replica(&primary);
    primary.wait_for(&replica);
    primary.call("HSET user:2 email e status unheard-of");
    primary.assert_equals(&replica);
    // What comes is counted, and carried out.
    let refusals = format!("{:?}", replica.call("KEYWARD REFUSALS"));
    assert!(refusals.contains("user:2"), "{refusals}");
    primary.call("EVAL \"redis.call('set', 'session:1', 'x') redis.call('set', 'b', '2')\" 0");
    primary.call("SET short:1 1 PX 50");
    primary.call("EXPIRE user:1 1000");
    primary.assert_equals(&replica);
    let stats = format!("{:?}", replica.call("INFO everything"));
    assert!(stats.contains("would_date=1"), "{stats}");
    let mode = format!("{:?}", replica.call("KEYWARD MODE"));
    assert!(mode.contains("observe"), "{mode}");
    replica.lead();
    assert_eq!(replica.call("SET free 2"), Frame::Simple(b"OK".to_vec()));
    assert_eq!(replica.info("schemas_observing_since_promotion"), "1");
    assert!(replica.log().contains("NOTHING OF IT IS ENFORCED"), "{}", replica.log());
    replica.call("DEL free b session:1 user:1 user:2");
    assert_eq!(replica.call("KEYWARD MODE enforce"), Frame::Simple(b"OK".to_vec()));
    assert_eq!(replica.info("schemas_observing_since_promotion"), "");
    assert!(error_of(&replica, "SET free 3").starts_with("SCHEMA"));
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
fn a_large_end_that_was_under_way_is_completed_after_a_promotion() {
    let mut primary = SchemaFile::new(MIRRORS).serve(&[]);
    let replica = Node::keyward_of(&primary, &[]);
    let mut client = primary.client();
    for first in (0..20_000).step_by(5_000) {
        let members: Vec<String> = (first..first + 5_000).map(|id: usize| id.to_string()).collect();
        call(&mut client, &format!("SADD fans:1 {}", members.join(" ")));
    }
    primary.wait_for(&replica);
    assert_eq!(replica.call("DBSIZE"), Frame::Integer(20_001));
    call(&mut client, "DEL fans:1");
    wait_until(|| replica.call("EXISTS fans:1") == Frame::Integer(0));
    primary.kill();
    wait_until(|| replica.info("master_link_status") == "down");
    let Frame::Integer(left) = replica.call("DBSIZE") else { panic!("no size") };
    assert!(left > 0, "it was over before");
    replica.lead();
    // What is hidden is not seen, and goes.
    assert_eq!(replica.call("SMEMBERS idols:19999"), Frame::Array(Vec::new()));
    wait_until(|| replica.call("DBSIZE") == Frame::Integer(0));
}

const SINK: &str = r#"
[keyspace]
name = "shop"

[key."user:{id:uint}"]
type = "hash"
ttl = "none"
extra = "string"
sink = { mirror = "users" }
"#;

#[test]
fn a_promotion_begins_a_history_of_the_changefeed() {
    let primary = SchemaFile::new(SINK).serve(&[]);
    let replica = Node::keyward_of(&primary, &[]);
    primary.call("HSET user:1 name ann");
    primary.wait_for(&replica);
    let histories = |node: &Node| {
        let reply = node.call("XINFO GROUPS keyward:changefeed:shop");
        reply.as_elements().map_or(0, <[Frame]>::len)
    };
    assert_eq!((histories(&primary), histories(&replica)), (1, 1));
    replica.lead();
    // Before anything changes.
    wait_until(|| histories(&replica) == 2);
    assert_eq!(replica.call("HSET user:2 name bob"), Frame::Integer(1));
    assert_eq!((histories(&primary), histories(&replica)), (1, 2));
}

/// A leader with more companions than go at once.
pub(crate) const COMPANIONS: &str = r#"
[keyspace]
name = "shop"

[key."coupon:{code}"]
type = "string"
ttl  = "30d"

[key."coupon:{code}:used_by:{user_id:uint}"]
type = "flag"
ttl  = { with = "coupon:{code}" }
"#;

#[test]
fn companions_that_went_in_steps_stay_gone_when_a_replica_starts_again() {
    let file = SchemaFile::new(COMPANIONS);
    let primary = file.serve(&[]);
    let port = primary.port.to_string();
    let logged = ["--appendonly", "yes", "--save", ""];
    let follows = ["--replicaof", "127.0.0.1", &port];
    let with_file = file.serve(&[&follows[..], &logged].concat());
    let without = Node::keyward_of(&primary, &logged);
    primary.wait_for(&without);
    let chained = Node::keyward_of(&without, &logged);
    let mut replicas = [with_file, without, chained];
    replicas.iter().for_each(|replica| primary.wait_for(replica));
    let mut client = primary.client();
    let past = "SET coupon:past x PXAT 1";
    let ends: [(&str, &[&str]); 6] = [
        ("del", &["DEL coupon:del"]),
        ("getdel", &["GETDEL coupon:getdel"]),
        ("multi", &["MULTI", "DEL coupon:multi", "EXEC"]),
        ("eval", &["EVAL \"return redis.call('DEL', KEYS[1])\" 1 coupon:eval"]),
        ("expiry", &["PEXPIRE coupon:expiry 50"]),
        ("past", &[past]),
    ];
    for (code, _) in &ends {
        call(&mut client, &format!("SET coupon:{code} x"));
        for user in 0..150 {
            call(&mut client, &format!("SET coupon:{code}:used_by:{user} 1"));
        }
    }
    for command in ends.iter().flat_map(|(_, commands)| *commands) {
        let reply = call(&mut client, command);
        assert!(!matches!(reply, Frame::Error(_)), "{command}: {reply:?}");
    }
    wait_until(|| call(&mut client, "DBSIZE") == Frame::Integer(0));
    call(&mut client, "SET coupon:stays x");
    call(&mut client, "SET coupon:stays:used_by:1 1");
    for replica in &mut replicas {
        primary.assert_equals(replica);
        replica.end();
        replica.start_again();
    }
    for replica in &replicas {
        primary.assert_equals(replica);
        assert_eq!(replica.call("DBSIZE"), Frame::Integer(2));
    }
    // None of them got everything again, which would hide what its file lacks.
    assert_eq!(primary.syncs()[0], "2");
    assert_eq!(replicas[1].syncs()[0], "0");
}

/// Large ends of the other kinds: what a mirrored set loses, and deadlines of companions.
#[test]
fn members_and_deadlines_that_went_in_steps_are_so_when_a_replica_starts_again() {
    let file = SchemaFile::new(&MIRRORS.replace("mirrors", "shop"));
    let text = COMPANIONS.split_once("\n\n").expect("a keyspace").1;
    file.write(&format!("{}\n{text}", MIRRORS.replace("mirrors", "shop")));
    let primary = file.serve(&[]);
    let port = primary.port.to_string();
    let logged = ["--appendonly", "yes", "--save", ""];
    let follows = ["--replicaof", "127.0.0.1", &port];
    let with_file = file.serve(&[&follows[..], &logged].concat());
    let mut replicas = [with_file, Node::keyward_of(&primary, &logged)];
    replicas.iter().for_each(|replica| primary.wait_for(replica));
    let mut client = primary.client();
    let members: Vec<String> = (0..300).map(|id| id.to_string()).collect();
    let members = members.join(" ");
    for fans in ["fans:1", "fans:2", "fans:3"] {
        assert_eq!(call(&mut client, &format!("SADD {fans} {members}")), Frame::Integer(300));
    }
    call(&mut client, "SET coupon:a x");
    for user in 0..300 {
        call(&mut client, &format!("SET coupon:a:used_by:{user} 1"));
    }
    for command in ["DEL fans:1", "SPOP fans:2 250", "UNLINK fans:3", "EXPIRE coupon:a 5000"] {
        let reply = call(&mut client, command);
        assert!(!matches!(reply, Frame::Error(_)), "{command}: {reply:?}");
    }
    wait_until(|| call(&mut client, "EXISTS fans:3") == Frame::Integer(0));
    for replica in &mut replicas {
        // Amid the steps, or after them.
        replica.end();
        replica.start_again();
        primary.assert_equals(replica);
        replica.end();
        replica.start_again();
    }
    for replica in &replicas {
        primary.assert_equals(replica);
        let left = replica.call("TTL coupon:a:used_by:299");
        assert!(matches!(left, Frame::Integer(4000..=5000)), "{left:?}");
    }
    assert_eq!(primary.syncs()[0], "2", "nobody got everything again");
}

/// Lifetimes that reads renew, with companions.
const RENEWED: &str = r#"
[keyspace]
name = "shop"

[key."session:{id:uint}"]
type   = "hash"
ttl    = { after = "320s", renew = "access" }
fields = { user_id = "uint" }

[key."session:{id:uint}:cart"]
type = "list"
ttl  = { with = "session:{id}" }
"#;

#[test]
fn a_primary_that_begins_to_follow_has_the_ends_that_others_have() {
    for (number, reads) in [(0, 0), (1, 1), (2, 5), (3, 5)] {
        let mut primary = SchemaFile::new(RENEWED).serve(&[]);
        let mut other = match number % 2 {
            0 => Node::redis(&[]),
            _ => Node::keyward(&[]),
        };
        other.follow(&primary);
        let mut client = primary.client();
        for id in 0..20 {
            call(&mut client, &format!("HSET session:{id} user_id 1"));
            call(&mut client, &format!("RPUSH session:{id}:cart a"));
        }
        for _ in 0..reads {
            std::thread::sleep(std::time::Duration::from_millis(30));
            (0..15).for_each(|id| drop(call(&mut client, &format!("HGET session:{id} user_id"))));
        }
        primary.wait_for(&other);
        for _ in 0..2 {
            let to = format!("FAILOVER TO 127.0.0.1 {}", other.port);
            assert_eq!(primary.call(&to), Frame::Simple(b"OK".to_vec()));
            wait_until(|| other.info("role") == "master" && primary.info("role") == "slave");
            std::mem::swap(&mut primary, &mut other);
            primary.assert_equals(&other);
        }
    }
}

#[test]
fn the_mode_comes_with_the_data_to_one_that_has_the_file() {
    let file = SchemaFile::new(SCHEMA);
    let primary = file.serve(&[]);
    assert_eq!(primary.call("KEYWARD MODE warn"), Frame::Simple(b"OK".to_vec()));
    let replica = file.serve_replica(&primary);
    primary.wait_for(&replica);
    assert_eq!(mode_of(&replica), "warn");
    replica.lead();
    assert_eq!(replica.call("HSET user:1 nonsense 1"), Frame::Integer(1));
}

pub(crate) fn mode_of(node: &Node) -> String {
    String::from_utf8_lossy(node.call("KEYWARD MODE").as_bytes().expect("a text")).into_owned()
}

#[test]
fn any_change_of_mode_comes_by_the_stream() {
    let primary = SchemaFile::new(SCHEMA).serve(&[]);
    let replica = Node::keyward_of(&primary, &[]);
    primary.wait_for(&replica);
    for mode in ["warn", "enforce", "schema", "warn", "observe", "schema", "warn"] {
        let reply = primary.call(&format!("KEYWARD MODE {mode}"));
        assert_eq!(reply, Frame::Simple(b"OK".to_vec()), "{mode}");
        // What is told of schemas is read on a thread.
        wait_until(|| mode_of(&replica) == mode);
    }
    assert_eq!(primary.syncs()[0], "1");
    replica.lead();
    assert_eq!(mode_of(&replica), "warn");
    assert_eq!(replica.call("HSET user:1 nonsense 1"), Frame::Integer(1));
    // A file of its own does not say in which mode it is.
    primary.follow(&replica);
    replica.call("KEYWARD MODE enforce");
    wait_until(|| mode_of(&primary) == "enforce");
    replica.call("KEYWARD MODE warn");
    wait_until(|| mode_of(&primary) == "warn");
}
