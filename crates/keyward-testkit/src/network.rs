//! A network in memory: bytes come late, in pieces, or not at all.
//!
//! Owns connections between clients and one server that listens, seeded and with a time of
//! its own, so that the same seed gives the same history. The server's end has what sockets
//! of a system have: calls that are interrupted, that would block, that take less than
//! they are given; edges, told once, of what has become possible (as `epoll` tells them
//! when it is edge-triggered); resets and half-closes. Clients are moved by the test, and
//! their calls never fail without a reason.
//!
//! Invariants: bytes arrive in the order they were sent. An edge is told after bytes, an
//! end or a reset have arrived, and after room has come for a sender who was told
//! `WouldBlock`; never else, but for edges that mean nothing, which systems have too. A
//! read takes all that has arrived, if there is room for it, and never fails where a look
//! has just not.

mod lane;

use crate::Random;
use lane::Lane;
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io::{self, ErrorKind};
use std::rc::Rc;

/// What goes wrong, and how often: once in so many calls; zero for never.
#[derive(Debug, Clone, Copy)]
pub struct Faults {
    /// Calls of the server that are interrupted.
    pub interrupted: usize,
    /// Calls of the server that would block, though they need not.
    pub would_block: usize,
    /// Calls by which the server sends that take less than they could.
    pub short_writes: usize,
    /// Edges that mean nothing.
    pub idle_edges: usize,
    /// Bytes that fly or lie unread in one direction at most.
    pub capacity: usize,
    /// Nanoseconds that bytes fly at most.
    pub flight_ns_max: usize,
    /// Bytes that arrive together at most.
    pub piece_max: usize,
}

/// Which end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Who has connected.
    Client,
    /// Who has accepted.
    Server,
}

/// Something has become possible at a server's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edge {
    /// Somebody has connected.
    Newcomer,
    /// Of the end that is watched by this number.
    Watched {
        /// The number.
        number: usize,
        /// The client sends no more.
        is_read_closed: bool,
    },
}

/// The network. Clones are the same.
#[derive(Debug, Clone)]
pub struct Network {
    state: Rc<RefCell<State>>,
}

#[derive(Debug)]
struct State {
    random: Random,
    faults: Faults,
    now_ns: u64,
    links: Vec<Link>,
    door: VecDeque<usize>,
    /// When something arrives, and on which link.
    arrivals: BinaryHeap<Reverse<(u64, usize)>>,
    /// Links of which an edge is to be told.
    edges: Vec<usize>,
    has_newcomer: bool,
    digest: u64,
}

/// A connection: what each side sends.
#[derive(Debug)]
struct Link {
    from_client: Lane,
    from_server: Lane,
    watched_by: Option<usize>,
    is_edge_due: bool,
    /// The server has looked at what there is, and not read it.
    is_seen: bool,
}

impl Link {
    /// What a side sends, and what it is sent.
    fn lanes(&mut self, side: Side) -> (&mut Lane, &mut Lane) {
        match side {
            Side::Client => (&mut self.from_client, &mut self.from_server),
            Side::Server => (&mut self.from_server, &mut self.from_client),
        }
    }
}

/// One end of a connection.
#[derive(Debug)]
pub struct End {
    network: Network,
    link: usize,
    side: Side,
}

impl Network {
    /// Nobody is connected.
    pub fn new(seed: u64, faults: Faults) -> Network {
        let state = State {
            random: Random::new(seed),
            faults,
            now_ns: 0,
            links: Vec::new(),
            door: VecDeque::new(),
            arrivals: BinaryHeap::new(),
            edges: Vec::new(),
            has_newcomer: false,
            digest: 0xCBF2_9CE4_8422_2325,
        };
        Network { state: Rc::new(RefCell::new(state)) }
    }

    /// A client connects; it may send at once.
    pub fn connect(&self) -> End {
        let mut state = self.state.borrow_mut();
        let capacity = state.faults.capacity;
        let link = state.links.len();
        state.links.push(Link {
            from_client: Lane::new(capacity),
            from_server: Lane::new(capacity),
            watched_by: None,
            is_edge_due: false,
            is_seen: false,
        });
        state.door.push_back(link);
        state.has_newcomer = true;
        state.note(&[1, link as u64]);
        End { network: self.clone(), link, side: Side::Client }
    }

    /// The server's end of a connection that somebody has made.
    ///
    /// # Errors
    /// `WouldBlock` if nobody has, and what goes wrong by chance.
    pub fn accept(&self) -> io::Result<End> {
        let state = &mut *self.state.borrow_mut();
        state.stumble(state.faults.interrupted, ErrorKind::Interrupted)?;
        let link = state.door.pop_front().ok_or(ErrorKind::WouldBlock)?;
        state.note(&[2, link as u64]);
        Ok(End { network: self.clone(), link, side: Side::Server })
    }

    /// Time has passed: what was to arrive by now has.
    pub fn advance_to(&self, now_ns: u64) {
        let mut state = self.state.borrow_mut();
        state.now_ns = state.now_ns.max(now_ns);
        while let Some(Reverse((arrival_ns, link))) = state.arrivals.peek().copied()
            && arrival_ns <= state.now_ns
        {
            state.arrivals.pop();
            let now_ns = state.now_ns;
            let lanes = &mut state.links[link];
            let has_come = lanes.from_client.deliver(now_ns);
            lanes.from_server.deliver(now_ns);
            if has_come {
                state.tell(link);
            }
        }
    }

    /// When something arrives next.
    pub fn next_arrival_ns(&self) -> Option<u64> {
        self.state.borrow().arrivals.peek().map(|Reverse((arrival_ns, _))| *arrival_ns)
    }

    /// Edges that nobody has been told of, in any order, perhaps not all of them.
    pub fn take_edges(&self) -> Vec<Edge> {
        let state = &mut *self.state.borrow_mut();
        let mut told = Vec::new();
        if std::mem::take(&mut state.has_newcomer) {
            told.push(Edge::Newcomer);
        }
        let count = 1 + state.random.below(state.edges.len() + 2);
        for _ in 0..count.min(state.edges.len()) {
            let index = state.random.below(state.edges.len());
            let link = state.edges.swap_remove(index);
            state.links[link].is_edge_due = false;
            let is_read_closed = state.links[link].from_client.is_over();
            let number = state.links[link].watched_by.expect("only who is watched has edges");
            told.push(Edge::Watched { number, is_read_closed });
        }
        if state.faults.idle_edges > 0 && state.random.one_in(state.faults.idle_edges) {
            let link = state.random.below(state.links.len());
            let watched = state.links.get(link).and_then(|link| link.watched_by);
            told.extend(watched.map(|number| Edge::Watched { number, is_read_closed: false }));
        }
        told
    }

    /// A number that follows from all that has happened, and when.
    pub fn digest(&self) -> u64 {
        self.state.borrow().digest
    }
}

impl State {
    /// Adds to the history.
    fn note(&mut self, words: &[u64]) {
        for word in [self.now_ns].iter().chain(words) {
            self.digest = (self.digest ^ word).wrapping_mul(0x0000_0100_0000_01B3);
        }
    }

    fn note_bytes(&mut self, kind: u64, link: usize, bytes: &[u8]) {
        let sum = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3);
        let sum = bytes.iter().fold(bytes.len() as u64, sum);
        self.note(&[kind, link as u64, sum]);
    }

    /// Fails once in so many times.
    fn stumble(&mut self, times: usize, kind: ErrorKind) -> io::Result<()> {
        match times > 0 && self.random.one_in(times) {
            true => Err(kind.into()),
            false => Ok(()),
        }
    }

    /// An edge is to be told of.
    fn tell(&mut self, link: usize) {
        let lanes = &mut self.links[link];
        if lanes.watched_by.is_some() && !std::mem::replace(&mut lanes.is_edge_due, true) {
            self.edges.push(link);
        }
    }

    fn arrival_ns(&mut self) -> u64 {
        self.now_ns + self.random.below(self.faults.flight_ns_max.max(1)) as u64
    }

    /// What goes wrong with a call of the server.
    fn fail_by_chance(&mut self, link: usize) -> io::Result<()> {
        self.stumble(self.faults.interrupted, ErrorKind::Interrupted)?;
        let blocked = self.stumble(self.faults.would_block, ErrorKind::WouldBlock);
        if blocked.is_err() {
            // Who is told so is told when to try again.
            self.tell(link);
        }
        blocked
    }
}

impl End {
    /// A number that no other connection has.
    pub fn number(&self) -> usize {
        self.link
    }

    /// From now on edges are told by this number, beginning with what there is.
    pub fn watch(&self, number: usize) {
        let state = &mut *self.network.state.borrow_mut();
        state.links[self.link].watched_by = Some(number);
        state.tell(self.link);
    }

    /// Reads what has arrived, as much as there is room for; zero at the end.
    ///
    /// # Errors
    /// `WouldBlock`, `ConnectionReset`, and what goes wrong by chance.
    pub fn read(&self, room: usize) -> io::Result<Vec<u8>> {
        let bytes = self.look(room)?;
        let state = &mut *self.network.state.borrow_mut();
        state.links[self.link].is_seen = false;
        let (_, received) = state.links[self.link].lanes(self.side);
        let has_room = received.take(bytes.len());
        if has_room && self.side == Side::Client {
            state.tell(self.link);
        }
        state.note_bytes(3 + self.side as u64, self.link, &bytes);
        Ok(bytes)
    }

    /// As [`End::read`], but everything is still there afterwards.
    ///
    /// # Errors
    /// As [`End::read`].
    pub fn look(&self, room: usize) -> io::Result<Vec<u8>> {
        let state = &mut *self.network.state.borrow_mut();
        // What was seen can be read.
        if self.side == Side::Server && !state.links[self.link].is_seen {
            state.fail_by_chance(self.link)?;
        }
        let (_, received) = state.links[self.link].lanes(self.side);
        let bytes = received.look(room)?;
        state.links[self.link].is_seen = !bytes.is_empty();
        Ok(bytes)
    }

    /// Sends what there is room for; returns how much that is.
    ///
    /// # Errors
    /// As [`End::read`], and `BrokenPipe` if the other end is closed.
    pub fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        let state = &mut *self.network.state.borrow_mut();
        if self.side == Side::Server {
            state.fail_by_chance(self.link)?;
        }
        let (sent, _) = state.links[self.link].lanes(self.side);
        let mut count = sent.room()?.min(bytes.len());
        let times = state.faults.short_writes;
        if self.side == Side::Server && times > 0 && count > 1 && state.random.one_in(times) {
            count = 1 + state.random.below(count - 1);
        }
        let mut rest = &bytes[..count];
        while !rest.is_empty() {
            let piece_max = 1 + state.random.below(state.faults.piece_max);
            let (piece, later) = rest.split_at(piece_max.min(rest.len()));
            let arrival_ns = state.arrival_ns();
            let (sent, _) = state.links[self.link].lanes(self.side);
            let arrival_ns = sent.send(arrival_ns, piece);
            state.arrivals.push(Reverse((arrival_ns, self.link)));
            rest = later;
        }
        state.note_bytes(5 + self.side as u64, self.link, &bytes[..count]);
        Ok(count)
    }

    /// Sends no more; the other side may.
    pub fn shut_down_write(&self) {
        let state = &mut *self.network.state.borrow_mut();
        let arrival_ns = state.arrival_ns();
        let (sent, _) = state.links[self.link].lanes(self.side);
        let arrival_ns = sent.end(arrival_ns);
        state.arrivals.push(Reverse((arrival_ns, self.link)));
        state.note(&[7 + self.side as u64, self.link as u64]);
    }

    /// Sends and takes no more; what was sent still arrives.
    pub fn close(&self) {
        self.shut_down_write();
        let state = &mut *self.network.state.borrow_mut();
        let link = &mut state.links[self.link];
        link.lanes(self.side).1.refuse();
        match self.side {
            Side::Client => state.tell(self.link),
            Side::Server => {
                link.watched_by = None;
                link.is_edge_due = false;
                state.edges.retain(|link| *link != self.link);
            }
        }
    }

    /// Nothing arrives any more, on either side, not even what was sent.
    pub fn reset(&self) {
        let state = &mut *self.network.state.borrow_mut();
        let lanes = &mut state.links[self.link];
        lanes.from_client.reset();
        lanes.from_server.reset();
        state.note(&[9, self.link as u64]);
        state.tell(self.link);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAULTS: Faults = Faults {
        interrupted: 0,
        would_block: 0,
        short_writes: 0,
        idle_edges: 0,
        capacity: 10,
        flight_ns_max: 1000,
        piece_max: 3,
    };

    fn pair(network: &Network) -> (End, End) {
        let client = network.connect();
        let server = network.accept().expect("somebody has connected");
        server.watch(7);
        (client, server)
    }

    const WATCHED: Edge = Edge::Watched { number: 7, is_read_closed: false };

    #[test]
    fn bytes_arrive_in_order_and_each_arrival_is_told_once() {
        let network = Network::new(1, FAULTS);
        let (client, server) = pair(&network);
        assert_eq!(network.take_edges(), [Edge::Newcomer, WATCHED]);
        assert_eq!(client.write(b"0123456789abc").expect("there is room"), 10);
        assert_eq!(server.read(9).expect_err("it flies").kind(), ErrorKind::WouldBlock);
        network.advance_to(1_000_000);
        assert_eq!(network.take_edges(), [WATCHED]);
        assert_eq!(network.take_edges(), []);
        assert_eq!(server.look(4).expect("it is there"), b"0123");
        assert_eq!(server.read(4).expect("it is there"), b"0123");
        assert_eq!(server.read(100).expect("it is there"), b"456789");
    }

    #[test]
    fn a_sender_who_would_block_is_told_of_room_and_nobody_else() {
        let network = Network::new(1, FAULTS);
        let (client, server) = pair(&network);
        network.take_edges();
        assert_eq!(server.write(&[1; 10]).expect("there is room"), 10);
        network.advance_to(1_000_000);
        assert_eq!(client.read(1).expect("it is there").len(), 1);
        assert_eq!(network.take_edges(), [], "nobody was told to wait");
        assert_eq!(server.write(&[1; 10]).expect("there is room"), 1);
        assert_eq!(server.write(&[1]).expect_err("it is full").kind(), ErrorKind::WouldBlock);
        assert_eq!(client.read(3).expect("it is there").len(), 3);
        assert_eq!(network.take_edges(), [WATCHED]);
    }

    #[test]
    fn ends_come_after_the_bytes_and_resets_at_once() {
        let network = Network::new(1, FAULTS);
        let (client, server) = pair(&network);
        network.take_edges();
        client.write(b"abc").expect("there is room");
        client.shut_down_write();
        network.advance_to(1_000_000);
        let closed = Edge::Watched { number: 7, is_read_closed: true };
        assert_eq!(network.take_edges(), [closed]);
        assert_eq!(server.read(9).expect("it is there"), b"abc");
        assert_eq!(server.read(9).expect("the end"), b"");
        client.reset();
        assert_eq!(server.read(9).expect_err("gone").kind(), ErrorKind::ConnectionReset);
        assert_eq!(network.take_edges(), [closed]);
    }
}
