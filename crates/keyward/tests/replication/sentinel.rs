//! Sets that a real redis-sentinel looks after: of Keyward only, of Keyward with stock replicas,
//! of a stock primary with replicas that are Keyward. Their primaries are killed, stand still
//! (SIGSTOP), or are cut off from everybody, under load.
//!
//! Who is to be cut off is known to the others and to the sentinel by the port of a proxy
//! (`replica-announce-port`), which goes down.

use super::write_all_kinds;
use crate::node::Node;
use crate::rounds::Load;
use keyward_resp::Frame;
use keyward_testkit::{Client, Proxy, call, wait_for};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long a failover may take, and the return of who was killed.
const PATIENCE: Duration = Duration::from_secs(60);

/// A redis-sentinel by itself, which is enough to decide.
struct Sentinel {
    port: u16,
    child: Child,
    directory: TempDir,
}

impl Sentinel {
    /// One that watches whoever is reached at a port.
    fn watching(watched: u16) -> Sentinel {
        let directory = TempDir::new().expect("a directory");
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let port = listener.local_addr().expect("it has one").port();
        drop(listener);
        let path = directory.path().join("sentinel.conf");
        let text = format!(
            "port {port}\nbind 127.0.0.1\ndir {}\nsentinel monitor set 127.0.0.1 {} 1\n\
             sentinel down-after-milliseconds set 2000\nsentinel failover-timeout set 10000\n",
            directory.path().display(),
            watched
        );
        std::fs::write(&path, text).expect("a configuration");
        let log = std::fs::File::create(directory.path().join("log")).expect("a log");
        let child = Command::new("redis-sentinel")
            .arg(&path)
            .stdin(Stdio::null())
            .stdout(log)
            .spawn()
            .expect("redis-sentinel starts");
        let sentinel = Sentinel { port, child, directory };
        wait_for(|| sentinel.client().map(drop));
        sentinel
    }

    fn client(&self) -> Result<Client, String> {
        let address: SocketAddr = (Ipv4Addr::LOCALHOST, self.port).into();
        Client::connect(address).map_err(|error| error.to_string())
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
    }

    /// The port of whom it takes for the primary.
    fn primary(&self) -> u16 {
        let mut client = self.client().expect("it listens");
        let reply = call(&mut client, "SENTINEL GET-MASTER-ADDR-BY-NAME set");
        let Frame::Array(address) = reply else { panic!("no address: {reply:?}") };
        let port = String::from_utf8_lossy(address[1].as_bytes().expect("a port")).into_owned();
        port.parse().expect("a number")
    }

    /// Waits until something is so.
    fn until(&self, what: &str, is_so: impl Fn() -> bool) {
        let began = Instant::now();
        while !is_so() {
            assert!(began.elapsed() < PATIENCE, "{what} has not come:\n{}", self.log());
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn knows_replicas(&self, count: usize) -> bool {
        let mut client = self.client().expect("it listens");
        let reply = call(&mut client, "SENTINEL REPLICAS set");
        matches!(reply, Frame::Array(replicas) if replicas.len() == count)
    }
}

impl Sentinel {
    /// The priority that it knows of a replica.
    fn priority(&self, port: u16) -> u32 {
        let mut client = self.client().expect("it listens");
        let Frame::Array(replicas) = call(&mut client, "SENTINEL REPLICAS set") else { return 0 };
        let facts = replicas.iter().filter_map(|replica| replica.as_elements()).map(|words| {
            let text = |word: &Frame| {
                String::from_utf8_lossy(word.as_bytes().unwrap_or_default()).into_owned()
            };
            words.iter().map(text).collect::<Vec<String>>()
        });
        let value = |facts: &[String], name: &str| -> Option<String> {
            let at = facts.iter().position(|word| word == name)?;
            facts.get(at + 1).cloned()
        };
        let port = port.to_string();
        let mut found = facts.filter(|facts| value(facts, "port").as_ref() == Some(&port));
        let priority = found.next().and_then(|facts| value(&facts, "slave-priority"));
        priority.and_then(|text| text.parse().ok()).unwrap_or(u32::MAX)
    }
}

impl Drop for Sentinel {
    fn drop(&mut self) {
        // Both fail only if the process is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Has the first of these nodes lead, kills it, and has it come back.
fn fails_over(mut nodes: Vec<Node>) {
    for node in &nodes[1..] {
        node.follow(&nodes[0]);
    }
    let mut client = nodes[0].client();
    (0..10).for_each(|round| write_all_kinds(&mut client, round));
    let sentinel = Sentinel::watching(nodes[0].port);
    let replicas = nodes.len() - 1;
    sentinel.until("the replicas", || sentinel.knows_replicas(replicas));
    for node in &nodes[1..] {
        nodes[0].wait_for(node);
    }
    for is_back in [false, true] {
        // Whoever led at first leads again: both kinds take over from each other.
        let priorities =
            nodes.iter().enumerate().map(|(at, _)| if is_back && at > 0 { 0 } else { 100 });
        let priorities: Vec<u32> = priorities.collect();
        for (node, priority) in nodes.iter().zip(&priorities) {
            node.call(&format!("CONFIG SET replica-priority {priority}"));
        }
        let first = sentinel.primary();
        let killed = nodes.iter().position(|node| node.port == first).expect("one of them");
        sentinel.until("the priorities", || {
            let known = nodes.iter().zip(&priorities).filter(|(node, _)| node.port != first);
            known.clone().all(|(node, priority)| sentinel.priority(node.port) == *priority)
        });
        let load = Load::on(&nodes[killed], 0);
        std::thread::sleep(Duration::from_millis(300));
        nodes[killed].kill();
        load.end();
        sentinel.until("the failover", || {
            let port = sentinel.primary();
            let leads = |node: &Node| node.port == port && node.info("role") == "master";
            port != first && nodes.iter().enumerate().any(|(at, it)| at != killed && leads(it))
        });
        let second = sentinel.primary();
        assert!(!is_back || second == nodes[0].port, "it had no other choice: {}", sentinel.log());
        let primary = nodes.iter().find(|node| node.port == second).expect("one of them");
        let mut client = primary.client();
        (10..20).for_each(|round| write_all_kinds(&mut client, round));
        nodes[killed].start_again();
        sentinel.until("the return", || is_settled(&nodes, sentinel.primary()));
        let leads = |node: &&Node| node.port == sentinel.primary();
        let primary = nodes.iter().find(leads).expect("one of them");
        for node in nodes.iter().filter(|node| node.port != primary.port) {
            primary.assert_equals(node);
        }
    }
}

/// Whether all but one follow that one.
fn is_settled(nodes: &[Node], primary: u16) -> bool {
    nodes.iter().all(|node| match node.port == primary {
        true => node.info("role") == "master",
        false => {
            node.info("master_port") == primary.to_string()
                && node.info("master_link_status") == "up"
        }
    })
}

/// A node that others know by a link which can go down.
struct Member {
    node: Node,
    link: Proxy,
}

impl Member {
    fn new(node: Node) -> Member {
        let link = Proxy::to(node.address());
        let port = link.port();
        let reply = node.call(&format!("CONFIG SET replica-announce-port {port}"));
        assert_eq!(reply, Frame::Simple(b"OK".to_vec()));
        Member { node, link }
    }

    /// Whether it leads, or follows who is reached at a port.
    fn is_settled(&self, primary: u16) -> bool {
        match self.link.port() == primary {
            true => self.node.info("role") == "master",
            false => {
                self.node.info("master_port") == primary.to_string()
                    && self.node.info("master_link_status") == "up"
            }
        }
    }
}

/// What befalls a primary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Blow {
    StandsStill,
    /// Nobody reaches it but those who write to it: what they write there is lost.
    IsCutOff,
}

/// The primary of a set stands still and is cut off, under load, and comes back as a replica.
fn outlives_blows(nodes: Vec<Node>) {
    let members: Vec<Member> = nodes.into_iter().map(Member::new).collect();
    for member in &members[1..] {
        member.node.follow_at(members[0].link.port());
    }
    let sentinel = Sentinel::watching(members[0].link.port());
    let replicas = members.len() - 1;
    sentinel.until("the replicas", || sentinel.knows_replicas(replicas));
    for blow in [Blow::StandsStill, Blow::IsCutOff] {
        let first = sentinel.primary();
        sentinel.until("the beginning", || members.iter().all(|it| it.is_settled(first)));
        let struck = members.iter().position(|it| it.link.port() == first).expect("one of them");
        let load = Load::on(&members[struck].node, 0);
        std::thread::sleep(Duration::from_millis(300));
        match blow {
            Blow::StandsStill => members[struck].node.signal("STOP"),
            Blow::IsCutOff => members[struck].link.set_down(true),
        }
        let leads = |port| {
            let leads = |it: &Member| it.link.port() == port && it.node.info("role") == "master";
            members.iter().enumerate().any(|(at, it)| at != struck && leads(it))
        };
        sentinel.until("the failover", || sentinel.primary() != first && leads(sentinel.primary()));
        let second = sentinel.primary();
        let primary = members.iter().find(|it| it.link.port() == second).expect("one of them");
        let mut client = primary.node.client();
        (0..10).for_each(|round| write_all_kinds(&mut client, round));
        match blow {
            Blow::StandsStill => members[struck].node.signal("CONT"),
            Blow::IsCutOff => members[struck].link.set_down(false),
        }
        load.end();
        sentinel.until("the return", || members.iter().all(|it| it.is_settled(second)));
        for member in members.iter().filter(|it| it.link.port() != second) {
            primary.node.assert_equals(&member.node);
        }
    }
}

#[test]
fn a_set_of_keyward_outlives_primaries_that_stand_still_or_are_cut_off() {
    outlives_blows((0..3).map(|_| Node::keyward(&[])).collect());
}

#[test]
fn a_keyward_with_stock_replicas_stands_still_or_is_cut_off() {
    outlives_blows(vec![Node::keyward(&[]), Node::redis(&[]), Node::redis(&[])]);
}

#[test]
fn a_stock_primary_with_replicas_that_are_keyward_stands_still_or_is_cut_off() {
    outlives_blows(vec![Node::redis(&[]), Node::keyward(&[]), Node::keyward(&[])]);
}

#[test]
fn a_set_of_keyward_fails_over() {
    fails_over((0..3).map(|_| Node::keyward(&[])).collect());
}

#[test]
fn a_keyward_with_stock_replicas_fails_over() {
    fails_over(vec![Node::keyward(&[]), Node::redis(&[]), Node::redis(&[])]);
}

#[test]
fn a_stock_primary_with_replicas_that_are_keyward_fails_over() {
    fails_over(vec![Node::redis(&[]), Node::keyward(&[]), Node::keyward(&[])]);
}
