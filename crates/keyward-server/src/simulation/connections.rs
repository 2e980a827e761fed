//! Tests of connections, their turns and what they are sent, one behaviour each, on simulated
//! transports on which nothing happens by chance.

use super::World;
use super::stage::Stage;
use super::syncs;
use crate::clock::simulated;
use keyward_testkit::FakeDisk;
use keyward_testkit::network::{End, Faults, Network};
use std::io::ErrorKind;

const CALM: Faults = Faults {
    interrupted: 0,
    would_block: 0,
    short_writes: 0,
    idle_edges: 0,
    capacity: 1000,
    flight_ns_max: 1,
    piece_max: usize::MAX / 2,
};
const MILLISECOND_NS: u64 = 1_000_000;

/// A server that is ready.
fn stage(arguments: &[&str], faults: Faults, layered: usize) -> Stage {
    simulated::set(Some(MILLISECOND_NS));
    syncs::set_time(0);
    let mut world = World::new(Network::new(1, faults), 1);
    (world.interrupted, world.layered) = (0, layered);
    let all = [&["--save", "", "--dir", "."], arguments].concat();
    let mut stage = Stage::new(&all, world, &FakeDisk::new());
    stage.until(|stage| !stage.server.core.borrow().host.is_loading());
    stage
}

impl Stage {
    fn connect(&mut self) -> End {
        let count = self.server.peers.count();
        let end = self.world.network.connect();
        self.until(|stage| stage.server.peers.count() > count);
        end
    }

    fn pass(&mut self, milliseconds: u64) {
        let end_ns = simulated::peek().expect("simulated") + milliseconds * MILLISECOND_NS;
        self.until(|_| simulated::peek().expect("simulated") >= end_ns);
    }

    /// Sends all of it, however little the network takes at once.
    fn send(&mut self, end: &End, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let count = end.write(rest).unwrap_or(0);
            rest = &rest[count..];
            self.round();
        }
    }

    /// Reads so many bytes, a few at a time.
    fn read(&mut self, end: &End, count: usize, at_once: usize) -> Vec<u8> {
        let mut all = Vec::new();
        while all.len() < count {
            match end.read(at_once.min(count - all.len())) {
                Ok(bytes) if bytes.is_empty() => panic!("closed after {} bytes", all.len()),
                Ok(bytes) => all.extend_from_slice(&bytes),
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.round(),
                Err(error) => panic!("{error}"),
            }
        }
        all
    }

    /// Reads to the end.
    fn read_to_end(&mut self, end: &End) -> Vec<u8> {
        let mut all = Vec::new();
        loop {
            match end.read(1 << 20) {
                Ok(bytes) if bytes.is_empty() => return all,
                Ok(bytes) => all.extend_from_slice(&bytes),
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.pass(1),
                Err(error) => panic!("{error}"),
            }
        }
    }

    fn commands(&self) -> u64 {
        self.server.core.borrow().engine.commands_processed()
    }

    fn unsent(&self) -> usize {
        self.server.peers.largest_output()
    }
}

fn echo(length: usize) -> (Vec<u8>, Vec<u8>) {
    let text = vec![b'e'; length];
    let reply = [format!("${length}\r\n").as_bytes(), &text, b"\r\n"].concat();
    ([b"*2\r\n$4\r\nECHO\r\n", &reply[..]].concat(), reply)
}

#[test]
fn a_large_reply_that_nobody_wants_leaves_no_buffer() {
    let mut stage = stage(&[], CALM, 0);
    let end = stage.connect();
    stage.send(&end, b"CLIENT REPLY OFF\r\n");
    let (request, _) = echo(2 << 20);
    stage.send(&end, &request);
    stage.pass(1);
    let capacity = stage.server.core.borrow().output.capacity();
    assert!(capacity < 1 << 20, "{capacity} bytes are kept");
}

#[test]
fn a_reply_that_the_socket_takes_in_parts_arrives_whole_and_leaves_no_buffer() {
    for layered in [0, 1] {
        let mut stage = stage(&[], CALM, layered);
        let end = stage.connect();
        let idle_bytes = peer_bytes(&stage);
        let (request, reply) = echo(50_000);
        stage.send(&end, &request);
        stage.pass(1000);
        assert!(stage.unsent() > 40_000, "{}", stage.unsent());
        assert!(stage.read(&end, reply.len(), 77) == reply);
        stage.pass(1000);
        assert_eq!((stage.unsent(), peer_bytes(&stage)), (0, idle_bytes), "nothing is held");
    }
}

fn peer_bytes(stage: &Stage) -> usize {
    let mut bytes = 0;
    stage.server.peers.each(|peer| bytes += peer.bytes());
    bytes
}

#[test]
fn replies_keep_their_order_while_earlier_ones_wait_for_the_socket() {
    let mut stage = stage(&[], CALM, 0);
    let end = stage.connect();
    let mut wanted = Vec::new();
    for number in 0..50 {
        let (request, reply) = echo(number * 100);
        stage.send(&end, &request);
        stage.pass(1);
        wanted.extend(reply);
    }
    assert!(stage.unsent() > 0);
    assert!(stage.read(&end, wanted.len(), 999) == wanted);
}

#[test]
fn who_leaves_more_unread_than_it_may_is_closed() {
    let limit = ["--client-output-buffer-limit", "normal", "100kb", "0", "0"];
    let mut stage = stage(&limit, CALM, 0);
    let end = stage.connect();
    let (request, _) = echo(9_000);
    for number in 0.. {
        assert!(number < 100, "nobody closes it");
        assert!(stage.unsent() < 120_000, "{}", stage.unsent());
        if stage.server.peers.count() == 0 {
            break;
        }
        stage.send_if_open(&end, &request);
    }
}

impl Stage {
    fn send_if_open(&mut self, end: &End, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() && self.server.peers.count() > 0 {
            let count = end.write(rest).unwrap_or(0);
            rest = &rest[count..];
            self.round();
        }
    }
}

#[test]
fn a_request_beyond_the_query_buffer_limit_closes_the_connection() {
    let mut stage = stage(&["--client-query-buffer-limit", "1mb"], CALM, 0);
    let end = stage.connect();
    stage.send(&end, b"*2\r\n$4\r\nECHO\r\n$100000000\r\n");
    let mut sent = 0;
    while stage.server.peers.count() > 0 {
        sent += end.write(&[b'x'; 1000]).unwrap_or(0);
        stage.round();
        assert!(sent < 1_200_000, "it takes all of it");
    }
    assert!(sent > 1_000_000, "{sent}");
}

#[test]
fn what_was_sent_before_a_hang_up_is_answered() {
    for layered in [0, 1] {
        let mut stage = stage(&[], Faults { capacity: 1 << 20, ..CALM }, layered);
        let end = stage.connect();
        let (request, reply) = echo(2_000);
        let count = 20;
        end.write(&request.repeat(count)).expect("there is room");
        end.shut_down_write();
        assert!(stage.read_to_end(&end) == reply.repeat(count), "layered: {layered}");
        assert_eq!(stage.server.peers.count(), 0);
    }
}

#[test]
fn replies_that_wait_for_the_disk_are_sent_before_the_connection_closes() {
    let logged = ["--appendonly", "yes", "--appendfsync", "always"];
    let mut stage = stage(&logged, CALM, 0);
    // Slow enough for a thread to do it.
    syncs::set_time(20 * MILLISECOND_NS);
    let (end, other) = (stage.connect(), stage.connect());
    for _ in 0..20 {
        stage.send(&other, b"SET a 1\r\n");
        assert_eq!(stage.read(&other, 5, 5), b"+OK\r\n");
    }
    end.write(b"SET b 1\r\nQUIT\r\n").expect("there is room");
    stage.until(|stage| stage.server.core.borrow().host.append_only.is_syncing());
    assert_eq!(end.read(100).expect_err("it is not safe yet").kind(), ErrorKind::WouldBlock);
    assert_eq!(stage.read_to_end(&end), b"+OK\r\n+OK\r\n");
}

#[test]
fn a_connection_that_goes_while_its_replies_wait_for_the_disk_does_no_harm() {
    let logged = ["--appendonly", "yes", "--appendfsync", "always"];
    let mut stage = stage(&logged, CALM, 0);
    syncs::set_time(20 * MILLISECOND_NS);
    let (end, other) = (stage.connect(), stage.connect());
    for _ in 0..20 {
        stage.send(&other, b"SET a 1\r\n");
        assert_eq!(stage.read(&other, 5, 5), b"+OK\r\n");
    }
    end.write(b"SET b 1\r\n").expect("there is room");
    stage.until(|stage| stage.server.core.borrow().host.append_only.is_syncing());
    end.reset();
    stage.send(&other, b"GET b\r\n");
    assert_eq!(stage.read(&other, 7, 7), b"$1\r\n1\r\n");
    assert_eq!(stage.server.peers.count(), 1);
}

#[test]
fn a_large_pipeline_lets_others_have_their_turn() {
    let mut stage = stage(&[], Faults { capacity: 1 << 20, ..CALM }, 0);
    let (hog, other) = (stage.connect(), stage.connect());
    let value = vec![b'v'; 10_000];
    let set = [b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$10000\r\n", &value[..], b"\r\n"].concat();
    stage.send(&hog, &set);
    stage.read(&hog, 5, 5);
    // It never reads.
    hog.write(&b"GET k\r\n".repeat(50_000)).expect("there is room");
    let begun = stage.commands();
    stage.until(|stage| stage.commands() > begun + 100);
    let before = stage.commands();
    other.write(b"PING\r\n").expect("there is room");
    assert_eq!(stage.read(&other, 7, 7), b"+PONG\r\n");
    let between = stage.commands() - before;
    // A turn is bounded to some hundred kilobytes of replies; there are a few in a round.
    assert!(between < 400, "{between} commands of one client come first");
    assert!(stage.unsent() > 500_000, "the other is not done");
}

#[test]
fn a_fast_reader_of_a_huge_reply_lets_others_have_their_turn() {
    let mut stage = stage(&[], Faults { capacity: 1 << 30, ..CALM }, 0);
    let (reader, other) = (stage.connect(), stage.connect());
    let (request, _) = echo(20_000_000);
    stage.send(&reader, &request);
    stage.until(|stage| stage.unsent() > 0);
    other.write(b"PING\r\n").expect("there is room");
    assert_eq!(stage.read(&other, 7, 7), b"+PONG\r\n");
    assert!(stage.unsent() > 10_000_000, "{}", stage.unsent());
}

#[test]
fn ticks_come_in_time_while_a_client_is_always_ready() {
    let mut stage = stage(&[], Faults { capacity: 100_000, ..CALM }, 0);
    let (busy, waiting) = (stage.connect(), stage.connect());
    waiting.write(b"BLPOP nothing 0.05\r\n").expect("there is room");
    let start_ns = simulated::peek().expect("simulated");
    let newcomer_ns = start_ns + 20 * MILLISECOND_NS;
    let mut newcomer = None;
    loop {
        let _ = busy.write(&b"PING\r\n".repeat(1000));
        let _ = busy.read(usize::MAX);
        stage.round();
        let now_ns = simulated::peek().expect("simulated");
        if newcomer.is_none() && now_ns > newcomer_ns {
            newcomer = Some((stage.world.network.connect(), now_ns));
        }
        if let Ok(bytes) = waiting.read(100) {
            let waited_ms = (now_ns - start_ns) / MILLISECOND_NS;
            assert_eq!(bytes, b"*-1\r\n");
            assert!((49..55).contains(&waited_ms), "{waited_ms} ms");
            break;
        }
    }
    assert_eq!(stage.server.peers.count(), 3, "the newcomer was let in");
}
