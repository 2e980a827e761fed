//! The module on the nodes of a cluster.

use std::collections::{BTreeMap, BTreeSet};

use keyward_testkit::{Random, wait_until};

use crate::nodes::Cluster;
use crate::served::Served;

/// Ties within a slot: everything of a shop has its name in a hash tag.
const SCHEMA: &str = r#"
[keyspace]
name = "shops"
unknown = "reject"

[key."user:{{{shop}}}:{id:uint}"]
type = "hash"
ttl  = "1h"
[key."user:{{{shop}}}:{id:uint}".fields]
email = "str?"
plan  = "gold | free"
seen  = "uint?"

[key."by_email:{{{shop}}}:{email}"]
type   = "string"
lookup = { of = "user:{{{shop}}}:{id}", field = "email" }

[key."seen:{{{shop}}}"]
type = "zset"
rank = { of = "user:{{{shop}}}:{id}", by = "seen" }

[key."plan:{{{shop}}}:{plan}"]
type    = "set"
members = { of = "user:{{{shop}}}:{id}" }

[key."user:{{{shop}}}:{id:uint}:note"]
type  = "string"
value = "str"
ttl   = { with = "user:{{{shop}}}:{id}" }

[key."token:{id}"]
type = "string"
ttl  = "10m"
"#;

const SHOPS: usize = 12;

/// A random write to one of the shops; some are refused.
fn write(cluster: &mut Cluster, random: &mut Random) {
    let (shop, id, other) = (random.below(SHOPS), random.below(6), random.below(6));
    let user = format!("user:{{s{shop}}}:{id}");
    let plan = *random.pick(&["gold", "free"]);
    let command = match random.below(12) {
        0..=4 => format!("HSET {user} plan {plan} email m{other} seen {}", random.below(99)),
        5 => format!("HDEL {user} seen email"),
        6 => format!("DEL {user}"),
        7 => format!("RENAME {user} user:{{s{shop}}}:{other}"),
        8 => format!("SET {user}:note hello"),
        9 => format!("PEXPIRE {user} {}", 5 + random.below(20)),
        10 => format!("EVAL return(redis.call('HSET',KEYS[1],'plan','{plan}')) 1 {user}"),
        _ => format!("SET token:{} x", random.below(50)),
    };
    let reply = cluster.call(&command);
    let is_expected = ["-SCHEMA", "-ERR no such key"].iter().any(|word| reply.starts_with(word));
    assert!(!reply.starts_with('-') || is_expected, "{command}: {reply}");
}

/// Computes what is derived from the users, and compares it with what there is.
#[track_caller]
fn assert_derived(cluster: &mut Cluster) {
    // What is over is removed first.
    wait_until(|| {
        let keys = cluster.keys();
        let lasts = |cluster: &mut Cluster, key: &String| {
            let ttl: i64 = cluster.call(&format!("PTTL {key}")).parse().expect("a number");
            ttl > 1000
        };
        keys.len() == cluster.key_count()
            && keys.keys().filter(|key| key.starts_with("user:")).all(|key| lasts(cluster, key))
    });
    let keys = cluster.keys();
    cluster.assert_counted(&keys);
    let mut expected: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for key in keys.keys() {
        let parts: Vec<&str> = key.splitn(3, ':').collect();
        let words = |reply: String| reply.split(' ').map(str::to_owned).collect::<BTreeSet<_>>();
        match parts[..] {
            ["user", _, id] if id.ends_with(":note") => {
                let leader = key.trim_end_matches(":note");
                assert!(keys.contains_key(leader), "{key} lives with nothing");
            }
            ["user", shop, id] => {
                let row = cluster.call(&format!("HGETALL {key}"));
                let texts: Vec<&str> = row.split(' ').collect();
                for field in texts.chunks(2) {
                    let (derived, entry) = match *field {
                        ["email", mail] => (format!("by_email:{shop}:{mail}"), id.to_owned()),
                        ["seen", seen] => (format!("seen:{shop}"), format!("{id}={seen}")),
                        ["plan", plan] => (format!("plan:{shop}:{plan}"), id.to_owned()),
                        _ => panic!("{row}"),
                    };
                    expected.entry(derived).or_default().insert(entry);
                }
            }
            ["by_email", ..] => {
                found.insert(key.clone(), words(cluster.call(&format!("GET {key}"))));
            }
            ["plan", ..] => {
                found.insert(key.clone(), words(cluster.call(&format!("SMEMBERS {key}"))));
            }
            ["seen", ..] => {
                let ranked = cluster.call(&format!("ZRANGE {key} 0 -1 WITHSCORES"));
                let texts: Vec<&str> = ranked.split(' ').collect();
                let entries = texts.chunks(2).map(|entry| entry.join("="));
                found.insert(key.clone(), entries.collect());
            }
            _ => assert!(key.starts_with("token:"), "{key}"),
        }
    }
    assert!(expected.len() > SHOPS, "{expected:?}");
    assert_eq!(found, expected);
}

#[test]
fn ties_within_a_slot_are_kept_on_all_nodes_of_a_cluster() {
    let mut cluster = Cluster::start(SCHEMA, 0);
    cluster.check(&[
        ("HSET user:{a}:1 plan gold email x seen 5", "3"),
        ("GET by_email:{a}:x", "1"),
        ("SMEMBERS plan:{a}:gold", "1"),
        ("ZSCORE seen:{a} 1", "5"),
        (
            "HSET user:{a}:2 plan gold email x",
            "-SCHEMA user:{a}:2: email belongs to 1 already, and by_email:{{{shop}}}:{email} is \
             unique (shop.toml:10)",
        ),
        ("HSET user:{b}:2 plan gold email x", "2"),
        // Nothing stands in the tag, so that the whole key is hashed.
        (
            "HSET user:{}x}:1 plan gold",
            "-SCHEMA user:{}x}:1: its hash tag is empty, so that keys tied to it lie in other \
             slots",
        ),
        ("SET token:1 a", "OK"),
        ("TTL token:1", "600"),
    ]);
    let nodes: BTreeSet<usize> =
        (0..SHOPS).map(|shop| cluster.owner(&format!("user:{{s{shop}}}:1"))).collect();
    assert_eq!(nodes.len(), 3, "the shops are on all nodes");
    let mut random = Random::new(1);
    for _ in 0..600 {
        write(&mut cluster, &mut random);
    }
    assert_derived(&mut cluster);
}

#[test]
fn valkeys_migration_of_slots_keeps_them_while_clients_write() {
    let mut cluster = Cluster::start(SCHEMA, 0);
    let mut random = Random::new(2);
    for _ in 0..400 {
        write(&mut cluster, &mut random);
    }
    // The slots of the first node go to the second one, but for one: a node without any would
    // become a replica.
    let (from, to) = (0, cluster.id(1));
    let last = 16_384 / 3 - 2;
    let moved = format!("CLUSTER MIGRATESLOTS SLOTSRANGE 0 {last} NODE {to}");
    cluster.nodes[from].check(&[(&moved, "OK")]);
    wait_until(|| {
        for _ in 0..20 {
            write(&mut cluster, &mut random);
        }
        let told = cluster.nodes[from].call("CLUSTER GETSLOTMIGRATIONS");
        assert!(!told.contains("failed"), "{told}");
        told.contains("success")
    });
    for _ in 0..200 {
        write(&mut cluster, &mut random);
    }
    wait_until(|| cluster.nodes[from].call("DBSIZE") == "0");
    assert_derived(&mut cluster);
    assert!(cluster.nodes[1].call("INFO keyward").contains("keyward_panics:0"));
}

#[test]
fn a_slot_that_moves_key_by_key_takes_no_tied_write_until_it_is_at_rest() {
    let mut cluster = Cluster::start(SCHEMA, 0);
    let mut random = Random::new(3);
    for _ in 0..400 {
        write(&mut cluster, &mut random);
    }
    cluster.call("DEL user:{s0}:1");
    cluster.check(&[("HSET user:{s0}:1 plan gold email moving seen 1", "3")]);
    let slot = cluster.slot("user:{s0}:1");
    let from = cluster.owner("user:{s0}:1");
    let to = (from + 1) % 3;
    let (from_id, to_id) = (cluster.id(from), cluster.id(to));
    cluster.nodes[to].check(&[(&format!("CLUSTER SETSLOT {slot} IMPORTING {from_id}"), "OK")]);
    cluster.nodes[from].check(&[(&format!("CLUSTER SETSLOT {slot} MIGRATING {to_id}"), "OK")]);
    let port = cluster.nodes[to].server.address().port();
    let again = "-TRYAGAIN Multiple keys request during rehashing of slot";
    let write_there = "HSET user:{s0}:1 plan free email elsewhere";
    let mut is_moved = false;
    loop {
        // On whichever node its row is, a write that is tied to others is not begun.
        let at = if is_moved { to } else { from };
        if is_moved {
            cluster.nodes[at].check(&[("ASKING", "OK")]);
        }
        cluster.nodes[at].check(&[(write_there, again)]);
        let key = cluster.nodes[from].call(&format!("CLUSTER GETKEYSINSLOT {slot} 1"));
        if key.is_empty() {
            break;
        }
        let move_it = format!("MIGRATE 127.0.0.1 {port} {key} 0 5000");
        let moved = cluster.nodes[from].call(&move_it);
        // It may have ended meanwhile.
        assert!(["OK", "NOKEY"].contains(&&*moved), "{key}: {moved}");
        is_moved |= key == "user:{s0}:1";
    }
    for node in [to, from] {
        cluster.nodes[node].check(&[(&format!("CLUSTER SETSLOT {slot} NODE {to_id}"), "OK")]);
    }
    cluster.check(&[(write_there, "0"), ("GET by_email:{s0}:elsewhere", "1")]);
    for _ in 0..200 {
        write(&mut cluster, &mut random);
    }
    assert_derived(&mut cluster);
}

#[test]
fn a_replica_that_takes_over_keeps_them() {
    let mut cluster = Cluster::start(SCHEMA, 1);
    let mut random = Random::new(4);
    for _ in 0..400 {
        write(&mut cluster, &mut random);
    }
    // The third primary dies; the last node takes over.
    let replica = cluster.nodes.remove(5);
    drop(std::mem::replace(&mut cluster.nodes[2], replica));
    wait_until(|| cluster.nodes[2].call("ROLE").starts_with("master"));
    for node in &mut cluster.nodes[..3] {
        wait_until(|| node.call("CLUSTER INFO").contains("cluster_state:ok"));
    }
    for _ in 0..400 {
        write(&mut cluster, &mut random);
    }
    assert_derived(&mut cluster);
    // One that is asked to hands over to its replica.
    cluster.nodes[3].check(&[("CLUSTER FAILOVER", "OK")]);
    wait_until(|| {
        write(&mut cluster, &mut random);
        cluster.nodes[3].call("ROLE").starts_with("master")
    });
    for _ in 0..200 {
        write(&mut cluster, &mut random);
    }
    assert_derived(&mut cluster);
}

#[test]
fn databases_of_a_node_beside_the_governed_one_are_left_alone() {
    let bus = keyward_testkit::free_port().to_string();
    let options = ["--cluster-enabled", "yes", "--cluster-port", &bus, "--cluster-databases", "3"];
    let served = Served::with(SCHEMA, &options);
    let mut served = served.unwrap_or_else(|error| panic!("{error}"));
    served.check(&[("CLUSTER ADDSLOTSRANGE 0 16383", "OK")]);
    wait_until(|| served.call("CLUSTER INFO").contains("cluster_state:ok"));
    let refused = |command: &str| {
        format!("-SCHEMA {command} into database 0, the keyspace shops, is not judged here")
    };
    served.check(&[
        ("HSET user:{a}:1 plan gold email x seen 5", "3"),
        ("SELECT 1", "OK"),
        ("SET stranger x", "OK"),
        ("SET user:{a}:2 x", "OK"),
        ("MOVE user:{a}:2 0", &refused("MOVE")),
        ("COPY user:{a}:2 user:{a}:3 DB 0", &refused("COPY")),
        ("COPY user:{a}:2 user:{a}:3 DB 2", "1"),
        ("SELECT 0", "OK"),
        // What leaves takes along what was derived from it.
        ("MOVE user:{a}:1 2", "1"),
        ("EXISTS by_email:{a}:x seen:{a} plan:{a}:gold", "0"),
        ("DBSIZE", "0"),
    ]);
}
