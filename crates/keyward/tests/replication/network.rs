//! A link that is really down: the replica lives in a network namespace, and the interface between
//! the two is taken down under load, so that neither side hears anything of the other's sockets.
//!
//! It takes root, so this is there with the feature `network-namespaces` only, by which
//! `tests/network/run` builds it; that says where it could not be tried.

use crate::node::Node;
use crate::rounds::Load;
use keyward_resp::Frame;
use keyward_testkit::{Random, call};
use std::io::Write as _;
use std::net::Ipv4Addr;
use std::process::Command;
use std::time::{Duration, Instant};

/// Rounds, unless `KEYWARD_NETWORK_ROUNDS` says otherwise.
const ROUNDS: u64 = 4;
/// `repl-timeout` of both sides, in seconds.
const TIMEOUT_S: &str = "3";

/// A namespace with an interface to this one, both gone with it.
struct Namespace {
    name: String,
    interface: String,
    here: Ipv4Addr,
    there: Ipv4Addr,
}

fn ip(words: &[&str]) {
    let output = Command::new("ip").args(words).output().expect("ip runs");
    assert!(output.status.success(), "ip {words:?}: {}", String::from_utf8_lossy(&output.stderr));
}

impl Namespace {
    fn new() -> Namespace {
        let id = std::process::id();
        let (name, interface) = (format!("keyward-{id}"), format!("kw{id}"));
        // Addresses that are nobody's: for tests of networks (RFC 2544).
        let third = (id % 250) as u8;
        let (here, there) = (Ipv4Addr::new(198, 18, third, 1), Ipv4Addr::new(198, 18, third, 2));
        ip(&["netns", "add", &name]);
        let namespace = Namespace { name, interface, here, there };
        let Namespace { name, interface, .. } = &namespace;
        ip(&["link", "add", interface, "type", "veth", "peer", "name", "inside", "netns", name]);
        ip(&["address", "add", &format!("{here}/30"), "dev", interface]);
        ip(&["link", "set", interface, "up"]);
        ip(&["-n", name, "address", "add", &format!("{there}/30"), "dev", "inside"]);
        ip(&["-n", name, "link", "set", "inside", "up"]);
        ip(&["-n", name, "link", "set", "lo", "up"]);
        namespace
    }

    fn set(&self, state: &str) {
        ip(&["link", "set", &self.interface, state]);
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // The interface goes with it. Whatever fails here, the test has its outcome.
        let _ = Command::new("ip").args(["link", "delete", &self.interface]).output();
        let _ = Command::new("ip").args(["netns", "delete", &self.name]).output();
    }
}

#[test]
fn a_network_that_is_down_for_a_while_under_load() {
    let rounds = std::env::var("KEYWARD_NETWORK_ROUNDS").ok();
    let rounds = rounds.map_or(ROUNDS, |text| text.parse().expect("a number"));
    let namespace = Namespace::new();
    let options = ["--repl-timeout", TIMEOUT_S, "--save", "", "--protected-mode", "no"];
    let primary = Node::keyward_at(namespace.here, &[], &options);
    let replica = Node::keyward_at(namespace.there, &["netns", "exec", &namespace.name], &options);
    replica.follow_host(&namespace.here.to_string(), primary.port);
    primary.wait_for(&replica);
    let mut random = Random::new(1);
    for round in 0..rounds {
        let began = Instant::now();
        let load = Load::on(&primary, round * 1_000_000);
        std::thread::sleep(Duration::from_millis(200));
        namespace.set("down");
        // Every other one lasts for longer than either side waits.
        let ms = if round.is_multiple_of(2) { 100 + random.below(1500) } else { 6000 };
        std::thread::sleep(Duration::from_millis(ms as u64));
        namespace.set("up");
        // The primary may take the old link for one that is there: it is the same replica.
        let mut client = primary.client();
        let until = Instant::now() + Duration::from_secs(2);
        while Instant::now() < until {
            let count = call(&mut client, "WAIT 2 20");
            assert!(matches!(count, Frame::Integer(0 | 1)), "there is one replica: {count:?}");
        }
        let confirmed = load.end();
        primary.assert_equals(&replica);
        for node in [&primary, &replica] {
            let mut client = node.client();
            for number in &confirmed {
                let text = Frame::Bulk(number.to_string().into_bytes());
                assert_eq!(call(&mut client, &format!("GET check:{number}")), text);
            }
        }
        let (syncs, took) = (primary.syncs().join("/"), began.elapsed().as_millis());
        let line = format!("{round}\tdown {ms} ms\tequal\t{}\t{syncs}\t{took}", confirmed.len());
        writeln!(std::io::stderr(), "{line}").expect("stderr is open");
    }
}
