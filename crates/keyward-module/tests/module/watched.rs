//! The module in a primary and its replicas that a real redis-sentinel looks after.

use std::collections::BTreeSet;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use keyward_testkit::{Client, Random, free_port, wait_for, within};

use crate::served::{Served, told};

const PATIENCE: Duration = Duration::from_secs(60);

struct Sentinel {
    child: Child,
    port: u16,
    _directory: tempfile::TempDir,
}

impl Drop for Sentinel {
    fn drop(&mut self) {
        // Both fail only if the process is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Sentinel {
    /// One that watches whoever is at a port, and decides alone.
    fn watching(watched: u16) -> Sentinel {
        let directory = tempfile::tempdir().expect("a directory");
        let port = free_port();
        let path = directory.path().join("sentinel.conf");
        let text = format!(
            "port {port}\nbind 127.0.0.1\ndir {}\nsentinel monitor set 127.0.0.1 {watched} 1\n\
             sentinel down-after-milliseconds set 1500\nsentinel failover-timeout set 5000\n",
            directory.path().display()
        );
        std::fs::write(&path, text).expect("a configuration");
        let child = Command::new("redis-sentinel")
            .arg(&path)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-sentinel starts");
        let sentinel = Sentinel { child, port, _directory: directory };
        wait_for(|| Client::connect(([127, 0, 0, 1], port).into()).map(drop));
        sentinel
    }

    fn call(&self, command: &str) -> String {
        let client = Client::connect(([127, 0, 0, 1], self.port).into());
        told(&mut client.expect("it listens"), command)
    }

    /// Whether it takes that port for the primary's.
    fn follows(&self, port: u16) -> bool {
        self.call("SENTINEL GET-MASTER-ADDR-BY-NAME set").ends_with(&format!(" {port}"))
    }
}

fn write(served: &mut Served, random: &mut Random) {
    let (id, other) = (random.below(20), random.below(20));
    let plan = *random.pick(&["gold", "free"]);
    let command = match random.below(8) {
        0..=3 => format!("HSET user:{id} status active plan {plan} email m{other} seen {other}"),
        4 => format!("DEL user:{id}"),
        5 => format!("RENAME user:{id} user:{other}"),
        6 => format!("SET user:{id}:note hi"),
        _ => format!("HSET user:{id} status closed plan {plan}"),
    };
    served.call(&command);
}

/// What is derived from the users is what they say.
#[track_caller]
fn assert_derived(served: &mut Served) {
    let (mut expected, mut found) = (BTreeSet::new(), BTreeSet::new());
    let field = |served: &mut Served, key: &str, name: &str| {
        Some(served.call(&format!("HGET {key} {name}"))).filter(|value| value != "nil")
    };
    for key in served.call("KEYS *").split_whitespace() {
        let id = key.trim_start_matches("user:");
        if key.starts_with("user:") && !key.ends_with(":note") {
            let mail = field(served, key, "email");
            expected.extend(mail.map(|mail| format!("by_email:{mail} {id}")));
            let seen = field(served, key, "seen");
            expected.extend(seen.map(|seen| format!("seen {id} {seen}")));
            if field(served, key, "status").as_deref() == Some("active") {
                let plan = field(served, key, "plan").unwrap_or_default();
                expected.insert(format!("active:{plan} {id}"));
            }
        } else if key.starts_with("by_email:") {
            found.insert(format!("{key} {}", served.call(&format!("GET {key}"))));
        } else if key.starts_with("active:") {
            let members = served.call(&format!("SMEMBERS {key}"));
            found.extend(members.split(' ').map(|member| format!("{key} {member}")));
        } else if key == "seen" {
            let ranked = served.call("ZRANGE seen 0 -1 WITHSCORES");
            let texts: Vec<&str> = ranked.split(' ').collect();
            found.extend(texts.chunks(2).map(|entry| format!("seen {}", entry.join(" "))));
        }
    }
    assert!(expected.len() > 10, "{expected:?}");
    assert_eq!(found, expected);
}

#[test]
fn who_sentinel_promotes_goes_on_with_the_schema_and_all_that_is_derived() {
    let mut primary = Served::start(&[]);
    let port = primary.server.address().port();
    let source = format!("127.0.0.1 {port}");
    let mut replica = Served::start(&["--replicaof", &source]);
    let successor = replica.server.address().port();
    let sentinel = Sentinel::watching(port);
    let is_known = || {
        let replicas = sentinel.call("SENTINEL REPLICAS set");
        (replicas.contains(&format!(":{successor}")) && replicas.contains("master-link-status ok"))
            .then_some(())
    };
    within(PATIENCE, is_known).expect("the sentinel knows both");
    let mut random = Random::new(5);
    for _ in 0..300 {
        write(&mut primary, &mut random);
    }
    // It is killed in the midst of its work.
    drop(primary);
    let is_over = || sentinel.follows(successor).then_some(());
    within(PATIENCE, is_over).expect("a failover");
    // Who is promoted loses its clients.
    let leads = || told(&mut replica.server.client(), "ROLE").starts_with("master").then_some(());
    within(PATIENCE, leads).expect("it leads");
    replica.client = replica.server.client();
    assert_derived(&mut replica);
    replica.check(&[
        ("SET stranger 1", "-SCHEMA stranger: matches no pattern of shop (shop.toml)"),
        ("SET token:1 a", "OK"),
        ("TTL token:1", "600"),
    ]);
    for _ in 0..300 {
        write(&mut replica, &mut random);
    }
    assert_derived(&mut replica);
    assert!(replica.call("INFO keyward").contains("keyward_db0_is_applied:1"));
}
