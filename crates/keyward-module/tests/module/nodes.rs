//! A cluster on one machine: three primaries with the module in them, and their replicas.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use keyward_testkit::{free_port, wait_until};

use crate::served::Served;

/// How long a command may be sent elsewhere, or to wait.
const PATIENCE: Duration = Duration::from_secs(60);

/// How many slots there are.
const SLOTS: usize = 16_384;

pub(crate) struct Cluster {
    /// Primaries first, then a replica of each, in their order.
    pub(crate) nodes: Vec<Served>,
    /// Where commands are tried first.
    at: usize,
}

impl Cluster {
    /// Three primaries, each with so many replicas: none or one.
    pub(crate) fn start(schema: &str, replicas: usize) -> Cluster {
        let start = |_| {
            let bus = free_port().to_string();
            let options = [
                ("--cluster-enabled", "yes"),
                ("--cluster-port", &bus),
                ("--cluster-node-timeout", "1500"),
                ("--cluster-require-full-coverage", "no"),
            ];
            let options: Vec<&str> =
                options.iter().flat_map(|(name, value)| [*name, value]).collect();
            let served = Served::with(schema, &options);
            (served.unwrap_or_else(|error| panic!("{error}")), bus)
        };
        let mut all: Vec<(Served, String)> = (0..3 + 3 * replicas).map(start).collect();
        for (index, (node, _)) in all.iter_mut().take(3).enumerate() {
            let (first, last) = (index * SLOTS / 3, (index + 1) * SLOTS / 3 - 1);
            node.check(&[
                (&format!("CLUSTER ADDSLOTSRANGE {first} {last}"), "OK"),
                (&format!("CLUSTER SET-CONFIG-EPOCH {}", index + 1), "OK"),
            ]);
        }
        let met: Vec<String> = all
            .iter()
            .map(|(node, bus)| format!("127.0.0.1 {} {bus}", node.server.address().port()))
            .collect();
        for place in &met[1..] {
            all[0].0.check(&[(&format!("CLUSTER MEET {place}"), "OK")]);
        }
        let nodes = all.into_iter().map(|(node, _)| node).collect();
        let mut cluster = Cluster { nodes, at: 0 };
        let count = cluster.nodes.len();
        let known = format!("cluster_known_nodes:{count}");
        for node in &mut cluster.nodes {
            wait_until(|| {
                let info = node.call("CLUSTER INFO");
                info.contains("cluster_state:ok") && info.contains(&known)
            });
        }
        for index in 3..count {
            let primary = cluster.id(index - 3);
            let node = &mut cluster.nodes[index];
            // It has to have heard of its primary first.
            wait_until(|| node.call(&format!("CLUSTER REPLICATE {primary}")) == "OK");
            wait_until(|| node.call("INFO replication").contains("master_link_status:up"));
        }
        cluster
    }

    pub(crate) fn id(&mut self, index: usize) -> String {
        self.nodes[index].call("CLUSTER MYID")
    }

    pub(crate) fn slot(&mut self, key: &str) -> usize {
        let slot = self.nodes[0].call(&format!("CLUSTER KEYSLOT {key}"));
        slot.parse().expect("a slot")
    }

    /// Which of the nodes serves a key.
    pub(crate) fn owner(&mut self, key: &str) -> usize {
        self.call(&format!("EXISTS {key}"));
        self.at
    }

    /// Runs a command where its keys are, as a client of a cluster does.
    pub(crate) fn call(&mut self, command: &str) -> String {
        let begin = Instant::now();
        loop {
            let reply = self.nodes[self.at].call(command);
            let reply = match reply.strip_prefix("-ASK ") {
                Some(place) => {
                    self.go_to(place);
                    self.nodes[self.at].check(&[("ASKING", "OK")]);
                    self.nodes[self.at].call(command)
                }
                None => reply,
            };
            let waits = ["-TRYAGAIN", "-CLUSTERDOWN"].iter().any(|word| reply.starts_with(word));
            match reply.strip_prefix("-MOVED ") {
                Some(place) => self.go_to(place),
                None if !waits => return reply,
                None => std::thread::sleep(Duration::from_millis(5)),
            }
            assert!(begin.elapsed() < PATIENCE, "{command}: {reply}");
        }
    }

    /// Goes to the node at `slot address:port`; stays if it is gone.
    fn go_to(&mut self, place: &str) {
        let port = place.rsplit(':').next().and_then(|port| port.parse().ok()).unwrap_or(0);
        let at = self.nodes.iter().position(|node| node.server.address().port() == port);
        match at {
            Some(at) => self.at = at,
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    }

    #[track_caller]
    pub(crate) fn check(&mut self, expected: &[(&str, &str)]) {
        for (command, reply) in expected {
            assert_eq!(self.call(command), *reply, "{command}");
        }
    }

    /// All keys of the nodes that are primaries, and on which they are.
    pub(crate) fn keys(&mut self) -> BTreeMap<String, usize> {
        let mut keys = BTreeMap::new();
        for (index, node) in self.nodes.iter_mut().enumerate() {
            if !node.call("ROLE").starts_with("master") {
                continue;
            }
            for key in node.call("KEYS *").split_whitespace() {
                let twice = keys.insert(key.to_owned(), index);
                assert_eq!(twice, None, "{key} is on two nodes");
            }
        }
        keys
    }

    /// How many keys the primaries have, with those that are over and not yet removed.
    pub(crate) fn key_count(&mut self) -> usize {
        let primaries = self.nodes.iter_mut().filter_map(|node| {
            let is_primary = node.call("ROLE").starts_with("master");
            is_primary.then(|| node.call("DBSIZE").parse::<usize>().expect("a number"))
        });
        primaries.sum()
    }

    /// Each node has as many keys in every slot as it counts there.
    #[track_caller]
    pub(crate) fn assert_counted(&mut self, keys: &BTreeMap<String, usize>) {
        let mut counts: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        for (key, index) in keys {
            *counts.entry((*index, self.slot(key))).or_default() += 1;
        }
        for ((index, slot), count) in counts {
            let counted = self.nodes[index].call(&format!("CLUSTER COUNTKEYSINSLOT {slot}"));
            assert_eq!(counted, count.to_string(), "slot {slot}");
        }
    }
}
