//! Keyward as the primary of stock replicas: redis-server 7.0 follows it by PSYNC. `following` has
//! Keyward as a replica.
//!
//! `docs/replication.md` promises what is tested here.

mod failover;
mod following;
mod links;
mod loads;
mod manners;
#[cfg(feature = "network-namespaces")]
mod network;
mod node;
mod rounds;
mod schemas;
mod scripted;
mod sentinel;
mod untold;
mod valkey;

use keyward_resp::Frame;
use keyward_testkit::{Client, call, wait_until};
use node::Node;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Commands of every type, with lifetimes, chance and scripts, in several databases.
fn write_all_kinds(client: &mut Client, round: usize) {
    let commands = [
        format!("SET s:{round} value{round}"),
        format!("SET t:{round} value PX 500000"),
        "INCRBYFLOAT float 0.1".to_owned(),
        format!("RPUSH list a{round} b c d"),
        "LPOP list".to_owned(),
        format!("SADD set {round} x y z"),
        "SPOP set".to_owned(),
        format!("HSET hash f{round} v g h"),
        format!("ZADD zset {round} m{round}"),
        format!("XADD stream * f {round}"),
        format!("PFADD hll {round}"),
        format!("GEOADD geo 13.36 38.11 p{round}"),
        format!("SETEX short:{round} 1 x"),
        format!("EVAL \"redis.call('set', 'e', {round}) return redis.call('expire', 'e', 300)\" 0"),
        "MULTI".to_owned(),
        format!("SET m:{round} 1"),
        "INCR n".to_owned(),
        "EXEC".to_owned(),
        format!("SELECT {}", round % 3),
    ];
    for command in &commands {
        call(client, command);
    }
}

/// Writes of all kinds before and after a replica comes, which then has every row and every end.
fn joined_amid_writes(primary: &Node, start: impl FnOnce() -> Node) -> Node {
    let mut client = primary.client();
    (0..20).for_each(|round| write_all_kinds(&mut client, round));
    let replica = start();
    (20..60).for_each(|round| write_all_kinds(&mut client, round));
    primary.wait_for(&replica);
    // What ends by itself ends when the primary says so.
    wait_until(|| call(&mut client, "EXISTS short:59") == Frame::Integer(0));
    primary.assert_equals(&replica);
    assert_eq!(primary.syncs(), ["1", "0", "0"]);
    let line = primary.info("slave0");
    let expected = format!("ip=127.0.0.1,port={},state=online,offset=", replica.port);
    assert!(line.starts_with(&expected), "{line}");
    assert_eq!(replica.info("total_error_replies"), "0");
    replica
}

#[test]
fn a_redis_has_every_row_and_every_end() {
    let primary = Node::keyward(&[]);
    let _replica = joined_amid_writes(&primary, || Node::replica_of(&primary, &[]));
    let Frame::Array(role) = primary.call("ROLE") else { panic!("no role") };
    assert_eq!(role[0], Frame::Bulk(b"master".to_vec()));
    assert!(matches!(&role[2], Frame::Array(online) if online.len() == 1), "{role:?}");
}

/// Writes until it is told to stop.
fn under_load<T>(primary: &Node, work: impl FnOnce() -> T) -> T {
    let is_over = Arc::new(AtomicBool::new(false));
    let (until, mut client) = (Arc::clone(&is_over), primary.client());
    let load = std::thread::spawn(move || {
        let mut round = 100;
        while !until.load(Ordering::Relaxed) {
            write_all_kinds(&mut client, round);
            round += 1;
        }
    });
    let outcome = work();
    is_over.store(true, Ordering::Relaxed);
    load.join().expect("it does not panic");
    outcome
}

#[test]
fn a_cut_link_goes_on_where_it_was_under_load() {
    let primary = Node::keyward(&[]);
    let replica = Node::replica_of(&primary, &[]);
    primary.wait_for(&replica);
    under_load(&primary, || {
        for cut in 1..=3 {
            assert_eq!(primary.call("CLIENT KILL TYPE replica"), Frame::Integer(1));
            wait_until(|| primary.syncs()[1] == cut.to_string());
        }
    });
    primary.assert_equals(&replica);
    assert_eq!(primary.syncs(), ["1", "3", "0"]);
}

#[test]
fn a_replica_that_lacks_more_than_is_kept_gets_everything_again() {
    let primary = Node::keyward(&["--repl-backlog-size", "20kb"]);
    let replica = Node::replica_of(&primary, &["--repl-timeout", "2"]);
    primary.wait_for(&replica);
    replica.signal("STOP");
    assert_eq!(primary.call("CLIENT KILL TYPE replica"), Frame::Integer(1));
    primary.call("EVAL \"for i = 1, 3000 do redis.call('set', 'k' .. i, i) end\" 0");
    replica.signal("CONT");
    wait_until(|| primary.syncs()[0] == "2");
    primary.assert_equals(&replica);
    assert_eq!(primary.syncs(), ["2", "0", "1"]);
}

#[test]
fn a_replica_that_was_killed_gets_everything_again_while_another_follows() {
    let primary = Node::keyward(&[]);
    let (mut killed, other) = (Node::replica_of(&primary, &[]), Node::replica_of(&primary, &[]));
    primary.wait_for(&killed);
    primary.wait_for(&other);
    let before = primary.syncs();
    under_load(&primary, || {
        killed.kill();
        // It would begin with what it was sent, and go on from there.
        std::fs::remove_file(killed.directory.path().join("dump.rdb")).expect("its file");
        killed.start_again();
        wait_until(|| killed.info("master_link_status") == "up");
    });
    primary.assert_equals(&killed);
    primary.assert_equals(&other);
    let fulls = before[0].parse::<u64>().expect("a number") + 1;
    assert_eq!(primary.syncs(), [fulls.to_string(), "0".to_owned(), "0".to_owned()]);
}

/// What a restart does to a replica: `[full, partial, refused]` of the new process.
fn syncs_after_restart(options: &[&str], end: impl FnOnce(&mut Node)) -> [String; 3] {
    let mut primary = Node::keyward(options);
    let replica = Node::replica_of(&primary, &[]);
    let mut client = primary.client();
    (0..10).for_each(|round| write_all_kinds(&mut client, round));
    call(&mut client, "SELECT 5");
    call(&mut client, "SET due 1 PX 300");
    primary.wait_for(&replica);
    end(&mut primary);
    // Meanwhile a row is due, which only the primary removes.
    std::thread::sleep(Duration::from_millis(400));
    primary.start_again();
    primary.wait_for(&replica);
    primary.call("SET after restart");
    primary.assert_equals(&replica);
    assert_eq!(replica.info("total_error_replies"), "0");
    primary.syncs()
}

#[test]
fn after_a_clean_restart_replicas_go_on_where_they_were() {
    let save = ["--save", "3600 1"];
    assert_eq!(syncs_after_restart(&save, Node::end), ["0", "1", "0"]);
    let shutdown = |node: &mut Node| {
        // The reply does not come.
        let _ = node.client().call(["SHUTDOWN"]);
        node.wait();
    };
    assert_eq!(syncs_after_restart(&save, shutdown), ["0", "1", "0"]);
    assert_eq!(syncs_after_restart(&["--appendonly", "yes"], Node::end), ["0", "1", "0"]);
}

#[test]
fn after_an_unclean_restart_replicas_get_everything() {
    let kill = |node: &mut Node| {
        node.call("SET last word");
        node.kill();
    };
    assert_eq!(syncs_after_restart(&["--appendonly", "yes"], kill), ["1", "0", "1"]);
    let saved = |node: &mut Node| {
        node.call("SAVE");
        node.kill();
    };
    assert_eq!(syncs_after_restart(&[], saved), ["1", "0", "1"]);
}

#[test]
fn replicas_that_come_together_share_a_snapshot() {
    let primary = Node::keyward(&[]);
    primary.call("CONFIG SET repl-diskless-sync-delay 60 repl-diskless-sync-max-replicas 3");
    primary.call("DEBUG POPULATE 3000 key 1000");
    let replicas: Vec<Node> = (0..3).map(|_| Node::replica_of(&primary, &[])).collect();
    replicas.iter().for_each(|replica| primary.assert_equals(replica));
    assert_eq!(primary.syncs(), ["3", "0", "0"]);
    assert_eq!(primary.log().matches("Starting BGSAVE for SYNC").count(), 1);
}

#[test]
fn a_snapshot_by_way_of_a_file_leaves_none_behind() {
    let primary = Node::keyward(&["--repl-diskless-sync", "no"]);
    primary.call("DEBUG POPULATE 2000 key 100");
    let replica = Node::replica_of(&primary, &[]);
    primary.assert_equals(&replica);
    assert!(primary.log().contains("with target: disk"));
    let files = std::fs::read_dir(primary.directory.path()).expect("a directory");
    let names: Vec<_> = files.map(|file| file.expect("a file").file_name()).collect();
    assert!(names.iter().all(|name| !name.to_string_lossy().contains("sync")), "{names:?}");
}

#[test]
fn wait_waits_for_replicas_that_have_the_writes() {
    let primary = Node::keyward(&[]);
    let replica = Node::replica_of(&primary, &[]);
    primary.wait_for(&replica);
    let mut client = primary.client();
    call(&mut client, "SET a 1");
    assert_eq!(call(&mut client, "WAIT 1 0"), Frame::Integer(1));
    assert_eq!(replica.call("GET a"), Frame::Bulk(b"1".to_vec()));
    assert_eq!(call(&mut client, "WAIT 2 100"), Frame::Integer(1));
    replica.signal("STOP");
    call(&mut client, "SET a 2");
    let start = Instant::now();
    assert_eq!(call(&mut client, "WAIT 1 300"), Frame::Integer(0));
    assert!(start.elapsed() >= Duration::from_millis(300));
    for command in ["MULTI", "SET a 3", "WAIT 1 0"] {
        call(&mut client, command);
    }
    let Frame::Array(replies) = call(&mut client, "EXEC") else { panic!("no replies") };
    assert_eq!(replies[1], Frame::Integer(0), "a transaction does not wait");
    replica.signal("CONT");
    assert_eq!(call(&mut client, "WAIT 1 0"), Frame::Integer(1));
    assert_eq!(replica.call("GET a"), Frame::Bulk(b"3".to_vec()));
}

#[test]
fn waitaof_waits_for_files() {
    let primary = Node::keyward(&["--appendonly", "yes"]);
    let mut client = primary.client();
    call(&mut client, "SET a 1");
    let both =
        |local, replicas| Frame::Array(vec![Frame::Integer(local), Frame::Integer(replicas)]);
    assert_eq!(call(&mut client, "WAITAOF 1 0 0"), both(1, 0));
    assert_eq!(call(&mut client, "WAITAOF 1 1 100"), both(1, 0));
    call(&mut client, "CONFIG SET appendfsync no");
    call(&mut client, "SET a 2");
    assert_eq!(call(&mut client, "WAITAOF 1 0 200"), both(0, 0));
    let without = Node::keyward(&[]);
    let refusal = b"ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.";
    assert_eq!(without.call("WAITAOF 1 0 0"), Frame::Error(refusal.to_vec()));
}

#[test]
fn writes_need_as_many_good_replicas_as_the_settings_say() {
    let primary = Node::keyward(&[]);
    primary.call("CONFIG SET min-replicas-to-write 1 min-replicas-max-lag 2");
    let refusal = Frame::Error(b"NOREPLICAS Not enough good replicas to write.".to_vec());
    assert_eq!(primary.call("SET a 1"), refusal);
    let replica = Node::replica_of(&primary, &[]);
    wait_until(|| primary.call("SET a 1") == Frame::Simple(b"OK".to_vec()));
    assert_eq!(primary.info("min_slaves_good_slaves"), "1");
    replica.signal("STOP");
    wait_until(|| primary.call("SET a 1") == refusal);
    replica.signal("CONT");
    wait_until(|| primary.call("SET a 2") == Frame::Simple(b"OK".to_vec()));
}

#[test]
fn a_quiet_link_stays_and_a_dead_one_is_cut() {
    let primary = Node::keyward(&["--repl-timeout", "3"]);
    let replica = Node::replica_of(&primary, &["--repl-timeout", "3"]);
    primary.wait_for(&replica);
    std::thread::sleep(Duration::from_secs(7));
    assert_eq!(replica.info("master_link_status"), "up");
    assert_eq!(primary.syncs(), ["1", "0", "0"]);
    replica.signal("STOP");
    wait_until(|| primary.info("connected_slaves") == "0");
    assert!(primary.log().contains("Disconnecting timedout replica (streaming sync)"));
    replica.signal("CONT");
    primary.assert_equals(&replica);
    assert_eq!(primary.syncs(), ["1", "1", "0"]);
}

/// A connection that follows, as far as a test says.
struct Follower(BufReader<TcpStream>);

impl Follower {
    /// One that has said nothing yet.
    fn connect(primary: &Node) -> Follower {
        let stream = TcpStream::connect(primary.address()).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
        Follower(BufReader::new(stream))
    }

    /// One that has asked for everything and read it.
    fn of(primary: &Node) -> Follower {
        let mut follower = Follower::connect(primary);
        follower.say("REPLCONF capa eof capa psync2\r\n");
        assert_eq!(follower.line(), "+OK");
        follower.say("PSYNC ? -1\r\n");
        let answer = follower.line();
        assert!(answer.starts_with("+FULLRESYNC "), "{answer}");
        let mark = follower.line().strip_prefix("$EOF:").expect("a mark").as_bytes().to_vec();
        let mut snapshot = Vec::new();
        while !snapshot.ends_with(&mark) {
            let mut byte = [0];
            follower.0.read_exact(&mut byte).expect("a snapshot");
            snapshot.extend(byte);
        }
        assert!(snapshot.windows(7).any(|window| window == b"repl-id"));
        follower
    }

    fn say(&mut self, text: &str) {
        self.0.get_mut().write_all(text.as_bytes()).expect("it reads");
    }

    /// The next line that is not empty.
    fn line(&mut self) -> String {
        loop {
            let mut line = String::new();
            self.0.read_line(&mut line).expect("a line");
            if !line.trim_end().is_empty() {
                return line.trim_end().to_owned();
            }
        }
    }
}

#[test]
fn nothing_follows_a_mark_before_its_reader_has_seen_it() {
    let primary = Node::keyward(&[]);
    let mut follower = Follower::of(&primary);
    primary.call("SET a 1");
    let stream = follower.0.get_mut();
    stream.set_read_timeout(Some(Duration::from_millis(1500))).expect("a timeout");
    assert!(follower.0.fill_buf().is_err(), "no PING, no SET");
    follower.say("REPLCONF ACK 0\r\n");
    assert!(follower.line().starts_with('*'), "the stream");
}

#[test]
fn a_replica_that_takes_nothing_is_cut_by_its_output_limit() {
    let primary = Node::keyward(&[
        "--client-output-buffer-limit",
        "replica 2mb 0 0",
        "--repl-backlog-size",
        "16kb",
    ]);
    let other = Node::replica_of(&primary, &[]);
    primary.wait_for(&other);
    let mut follower = Follower::of(&primary);
    follower.say("REPLCONF ACK 0\r\n");
    wait_until(|| primary.info("connected_slaves") == "2");
    let mut client = primary.client();
    let value = "x".repeat(100_000);
    for round in 0..200 {
        call(&mut client, &format!("SET big:{} {value}", round % 10));
        if round % 10 == 0 {
            call(&mut client, "WAIT 1 0");
        }
    }
    wait_until(|| primary.info("connected_slaves") == "1");
    assert!(primary.log().contains("the output buffer limit is reached"));
    primary.assert_equals(&other);
    assert_eq!(primary.syncs(), ["2", "0", "0"]);
    // What was kept for it is freed.
    wait_until(|| primary.info("mem_replication_backlog").parse::<u64>().expect("bytes") < 100_000);
}

#[test]
fn without_replicas_the_backlog_is_freed_after_a_while() {
    let primary = Node::keyward(&["--repl-backlog-ttl", "1"]);
    let replica = Node::replica_of(&primary, &[]);
    primary.wait_for(&replica);
    let id = primary.info("master_replid");
    drop(replica);
    wait_until(|| primary.info("repl_backlog_active") == "0");
    assert_ne!(primary.info("master_replid"), id, "what is not recorded is another history");
}

#[test]
fn the_end_waits_for_replicas() {
    let mut primary = Node::keyward(&["--save", ""]);
    let replica = Node::replica_of(&primary, &[]);
    primary.wait_for(&replica);
    replica.signal("STOP");
    primary.call("SET last word");
    primary.signal("TERM");
    std::thread::sleep(Duration::from_millis(700));
    assert!(primary.is_running(), "a replica lacks something");
    assert_eq!(primary.call("GET last"), Frame::Bulk(b"word".to_vec()), "who reads is served");
    replica.signal("CONT");
    primary.wait();
    assert_eq!(replica.call("GET last"), Frame::Bulk(b"word".to_vec()));
    assert!(primary.log().contains("1 of 1 replicas are in sync when shutting down."));
}

#[test]
fn shutdown_can_be_aborted_and_need_not_wait() {
    let mut primary = Node::keyward(&["--save", ""]);
    let replica = Node::replica_of(&primary, &[]);
    primary.wait_for(&replica);
    replica.signal("STOP");
    primary.call("SET last word");
    let mut asks = primary.client();
    let asking = std::thread::spawn(move || asks.call(["SHUTDOWN"]));
    wait_until(|| primary.log().contains("Waiting for replicas before shutting down."));
    assert_eq!(primary.call("SHUTDOWN ABORT"), Frame::Simple(b"OK".to_vec()));
    let answer = asking.join().expect("it does not panic").expect("an answer");
    assert_eq!(answer, Frame::Error(b"ERR Errors trying to SHUTDOWN. Check logs.".to_vec()));
    assert_eq!(primary.call("SET goes on"), Frame::Simple(b"OK".to_vec()));
    let _ = primary.client().call(["SHUTDOWN", "NOW"]);
    primary.wait();
}

const SCHEMA: &str = r#"
[keyspace]
name = "shop"

[key."user:{id}"]
type = "hash"
ttl = "none"
fields = { email = "str", status = "'active' | 'gone'" }

[key."user:by_email:{email}"]
type = "string"
ttl = "none"
lookup = { of = "user:{id}", field = "email" }

[key."active"]
type = "set"
ttl = "none"
members = { of = "user:{id}", when = "status = active" }

[key."session:{id}"]
type = "string"
ttl = "2s"
"#;

#[test]
fn derived_keys_and_lifetimes_of_a_schema_reach_a_redis() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("keyward.toml");
    std::fs::write(&path, SCHEMA).expect("a schema");
    let primary = Node::keyward_with(&[path.to_str().expect("UTF-8")], &[]);
    let replica = Node::replica_of(&primary, &[]);
    primary.wait_for(&replica);
    let mut client = primary.client();
    for id in 0..50 {
        call(&mut client, &format!("HSET user:{id} email e{id}@x status active"));
        call(&mut client, &format!("SET session:{id} x"));
        if id % 3 == 0 {
            call(&mut client, &format!("HSET user:{id} status gone"));
        }
        if id % 5 == 0 {
            call(&mut client, &format!("DEL user:{id}"));
        }
    }
    primary.assert_equals(&replica);
    // The schema in force is told in a way that a Redis does not notice.
    assert_eq!(call(&mut client, "KEYWARD MODE warn"), Frame::Simple(b"OK".to_vec()));
    call(&mut client, "SET a 1");
    wait_until(|| call(&mut client, "EXISTS session:49") == Frame::Integer(0));
    primary.assert_equals(&replica);
    assert_eq!(replica.info("total_error_replies"), "0");
    assert!(!replica.log().contains("CRITICAL"), "{}", replica.log());
    assert_eq!(primary.syncs(), ["1", "0", "0"]);
}

#[test]
fn a_start_that_builds_a_derived_key_gives_replicas_everything() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("keyward.toml");
    std::fs::write(&path, SCHEMA).expect("a schema");
    let files = [path.to_str().expect("UTF-8")];
    let mut primary = Node::keyward_with(&files, &["--save", "3600 1"]);
    let replica = Node::replica_of(&primary, &[]);
    let mut client = primary.client();
    call(&mut client, "KEYWARD MODE warn");
    call(&mut client, "HSET user:1 email e status gone");
    // What is left of the two is not looked up until a start.
    call(&mut client, "HSET user:2 email e status gone");
    call(&mut client, "DEL user:1");
    primary.assert_equals(&replica);
    primary.end();
    primary.start_again();
    assert_eq!(primary.call("GET user:by_email:e"), Frame::Bulk(b"2".to_vec()), "it is built");
    primary.wait_for(&replica);
    primary.assert_equals(&replica);
    assert_eq!(primary.syncs()[0], "1", "{:?}", primary.syncs());
}

fn redis_cli(primary: &Node, arguments: &[&str]) -> std::process::Output {
    let port = primary.port.to_string();
    let mut command = Command::new("timeout");
    command.args(["5", "redis-cli", "-p", &port]).args(arguments);
    command.output().expect("redis-cli runs")
}

#[test]
fn redis_cli_follows_and_fetches_snapshots() {
    let primary = Node::keyward(&[]);
    primary.call("SET row value");
    let library = "#!lua name=l\nredis.register_function('f', function() return 1 end)";
    primary.client().call(["FUNCTION", "LOAD", library]).expect("a library");
    let folder = tempfile::tempdir().expect("a directory");
    for (option, has_rows) in [("--rdb", true), ("--functions-rdb", false)] {
        let file = folder.path().join(option);
        let output = redis_cli(&primary, &[option, file.to_str().expect("UTF-8")]);
        assert!(output.status.success(), "{output:?}");
        let bytes = std::fs::read(&file).expect("a file");
        let has = |text: &[u8]| bytes.windows(text.len()).any(|window| window == text);
        assert_eq!((has(b"row"), has(b"register_function")), (has_rows, true), "{option}");
    }
    assert_eq!(primary.info("connected_slaves"), "0", "none of these can be promoted");
    let output = redis_cli(&primary, &["--replica"]);
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(told.contains("\"PING\""), "{told}");
}

#[test]
fn what_replicas_say_is_answered_as_redis_answers_it() {
    let (primary, redis) = (Node::keyward(&[]), Node::keyward(&[]));
    let redis = Node::replica_of(&redis, &[]);
    redis.call("REPLICAOF NO ONE");
    for command in [
        "PSYNC ? x",
        "PSYNC ?",
        "PSYNC ? -1 FAILOVER",
        "REPLCONF rdb-filter-only \"functions keys\"",
        "REPLCONF rdb-filter-only \"'\"",
        "REPLCONF rdb-only 2",
        "REPLCONF listening-port x",
        "REPLCONF a",
        "REPLCONF nonsense 1",
        "REPLCONF capa x ip-address replica.example listening-port 7",
        "WAIT x 0",
        "WAIT 0 -1",
        "WAIT -1 0",
        "SHUTDOWN ABORT",
    ] {
        assert_eq!(primary.call(command), redis.call(command), "{command}");
    }
    let (mut ours, mut theirs) = (primary.client(), redis.client());
    for client in [&mut ours, &mut theirs] {
        call(client, "REPLCONF rdb-filter-only functions");
    }
    let [ours, theirs] = [&mut ours, &mut theirs].map(|client| client.call(["SYNC"]).ok());
    assert!(matches!(&ours, Some(Frame::Error(_))), "without a mark: {ours:?}");
    assert_eq!(ours, theirs);
}
