//! Clients of the simulated network, and what they expect.
//!
//! Each client is a small machine: now and then it reads, checks, and sends. Whatever it is
//! told must be, byte for byte and in order, what a plain engine says to the same commands
//! on keys of its own; what clients do to each other (channels, queues) is noted in a
//! [`Ledger`] and held against each other at the end.

use super::address;
use crate::settings::Settings;
use keyward_engine::{ClientId, EngineOptions, Nobody};
use keyward_resp::push_request;
use keyward_testkit::Random;
use keyward_testkit::engine::TestEngine;
use keyward_testkit::network::{End, Network};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::ErrorKind;
use std::rc::Rc;

/// Bytes a client reads at once.
const READ_BYTES_MAX: usize = 60_000;
/// Bytes a client sends at once.
const WRITE_BYTES_MAX: usize = 60_000;
/// A wait of BLPOP may end so much later than it should.
const LATE_NS_MAX: u64 = 3_000_000_000;
const SECOND_NS: u64 = 1_000_000_000;
/// The engine goes by milliseconds: a wait may end so much earlier.
const EARLY_NS_MAX: u64 = 1_000_000;
/// Longest pause of who has nothing to do.
const IDLE_NS_MAX: usize = 20_000_000;

/// What clients have done to each other.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// Messages and values that were accepted, for each channel and queue, in order.
    pub(super) accepted: BTreeMap<String, Vec<u64>>,
    /// Connections that may be ended.
    pub(super) victims: Vec<usize>,
    /// Channels and queues that nobody will add anything to.
    pub(super) is_over: BTreeSet<String>,
}

/// What a client is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Role {
    /// Commands on keys of its own.
    Keys,
    /// Only reads what is there.
    Verifier,
    /// Publishes to a channel, or pushes to a queue.
    Source(String, &'static str),
    /// Listens to a channel.
    Subscriber(String),
    /// Pops from a queue, waiting.
    Consumer(String),
    /// Runs scripts that never end.
    Spinner,
    /// Ends them.
    ScriptKiller,
    /// Ends connections of others.
    Assassin,
    /// Sends a request that is too large.
    Hog,
    /// Says nothing after a PING.
    Idler,
}

/// How a client behaves.
#[derive(Debug, Clone, Copy)]
pub(super) struct Manner {
    /// Commands sent before their replies have come.
    pub(super) pipeline: usize,
    /// Longest time between two acts.
    pub(super) pause_ns: usize,
    /// Once in so many acts it does not read for up to two seconds.
    pub(super) dreams: usize,
    pub(super) ending: Ending,
    /// The server may close the connection of its own accord.
    pub(super) may_be_closed: bool,
    /// Replies may say that the server has no time.
    pub(super) may_be_put_off: bool,
}

/// How a client goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// When all replies have come.
    Closes,
    /// Sends no more at some point; gets replies as far as they come.
    HalfCloses,
    /// Is cut off at some point.
    Resets,
}

/// What a reply is to be.
#[derive(Debug)]
enum Expected {
    /// What the engine says to these bytes.
    OfEngine(Vec<u8>),
    /// These bytes.
    Exactly(Vec<u8>),
    /// A line that begins so, or so.
    Line(&'static [&'static str]),
    /// A number: the message or value of this place was accepted.
    Accepted(u64),
    /// A value of the queue, or none after a wait that began then.
    Popped { since_ns: u64, seconds: u64 },
}

/// A client.
#[derive(Debug)]
pub(crate) struct Client {
    pub(super) role: Role,
    pub(super) name: String,
    manner: Manner,
    random: Random,
    ledger: Rc<RefCell<Ledger>>,
    end: Option<End>,
    next_ns: Option<u64>,
    /// Commands it will still send.
    pub(super) left: usize,
    outgoing: VecDeque<u8>,
    expected: VecDeque<Expected>,
    /// What the engine has said of the first that is expected.
    of_engine: Option<Vec<u8>>,
    received: Vec<u8>,
    /// Commands of a transaction that are still to come.
    queued: usize,
    oracle: TestEngine<Nobody>,
    session: ClientId,
    sequence: u64,
    /// What it has got of a channel or a queue.
    pub(super) got: Vec<u64>,
    silent_since_ns: u64,
    /// Acts since it last sent or received anything.
    idle_acts: usize,
    pub(super) replies: usize,
    pub(super) was_closed: bool,
    keys: usize,
}

/// A value of this place in a sequence.
fn content(name: &str, place: u64) -> Vec<u8> {
    let mut random = Random::new(place);
    let length = if random.one_in(20) { random.below(20_000) } else { random.below(60) };
    let filler = (b'a' + (place % 26) as u8) as char;
    format!("{place:08}{name}{}", String::from(filler).repeat(length)).into_bytes()
}

fn request(words: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    push_request(&mut bytes, words.iter());
    bytes
}

fn bulk(word: &[u8]) -> Vec<u8> {
    [format!("${}\r\n", word.len()).as_bytes(), word, b"\r\n"].concat()
}

fn place_of(value: &[u8]) -> u64 {
    let digits = value.get(..8).and_then(|digits| std::str::from_utf8(digits).ok());
    digits.and_then(|digits| digits.parse().ok()).expect("a value begins with its place")
}

/// Where a reply's first value ends: `$length CR LF value CR LF`, from `start`.
fn bulk_at(bytes: &[u8], start: usize) -> Option<(&[u8], usize)> {
    let line = bytes[start..].windows(2).position(|pair| pair == b"\r\n")? + start;
    let length: usize = std::str::from_utf8(&bytes[start + 1..line]).ok()?.parse().ok()?;
    let (begin, end) = (line + 2, line + 2 + length);
    (bytes.len() >= end + 2).then(|| (&bytes[begin..end], end + 2))
}

impl Client {
    pub(super) fn new(
        role: Role,
        name: String,
        manner: Manner,
        seed: u64,
        ledger: &Rc<RefCell<Ledger>>,
    ) -> Client {
        let tunables = Settings::default().tunables();
        let options = EngineOptions { seed: 1, databases: 16, tunables };
        let mut oracle = TestEngine::with_host(options, Nobody);
        let session = oracle.engine.connect();
        let mut random = Random::new(seed);
        let left = match role {
            Role::Idler | Role::Hog | Role::Subscriber(_) => 1,
            Role::Spinner => 2,
            Role::Assassin => 10,
            Role::ScriptKiller => usize::MAX,
            Role::Consumer(_) => usize::MAX,
            _ => 1 + random.below(120),
        };
        Client {
            role,
            name,
            manner,
            next_ns: Some(random.below(2 * SECOND_NS as usize) as u64),
            random,
            ledger: Rc::clone(ledger),
            end: None,
            left,
            outgoing: VecDeque::new(),
            expected: VecDeque::new(),
            of_engine: None,
            received: Vec::new(),
            queued: 0,
            oracle,
            session,
            sequence: 0,
            got: Vec::new(),
            silent_since_ns: 0,
            idle_acts: 0,
            replies: 0,
            was_closed: false,
            keys: 0,
        }
    }

    /// The same client's keys, to be read from another server.
    pub(super) fn into_verifier(mut self, manner: Manner) -> Client {
        self.oracle.engine.disconnect(self.session);
        let session = self.oracle.engine.connect();
        let Client { oracle, name, random, ledger, .. } = self;
        let seed = random.clone().number();
        let mut verifier = Client::new(Role::Verifier, name, manner, seed, &ledger);
        (verifier.oracle, verifier.session, verifier.left) = (oracle, session, 3 * KEYS);
        verifier
    }

    /// From now on the server may close the connection.
    pub(super) fn allow_closing(&mut self) {
        self.manner.may_be_closed = true;
    }

    /// Whether everything it ever sent was answered.
    pub(super) fn has_heard_all(&self) -> bool {
        let is_whole = self.manner.ending == Ending::Closes && !self.was_closed;
        self.role == Role::Keys && is_whole
    }

    /// When it acts next.
    pub(super) fn next_ns(&self) -> Option<u64> {
        self.next_ns
    }

    pub(super) fn is_over(&self) -> bool {
        self.next_ns.is_none()
    }

    /// What it is at, for who looks into a failure.
    pub(super) fn describe(&self) -> String {
        let Client { name, role, left, replies, expected, outgoing, received, .. } = self;
        let (outgoing, received) = (outgoing.len(), received.len());
        let first = expected.front().map(|first| format!("{first:.80?}"));
        format!(
            "{name} {role:?} on link {:?}: {left} commands left, {replies} replies, {} expected \
             ({first:?}), {outgoing} bytes to send, {received} received",
            self.link(),
            expected.len(),
        )
    }

    /// Which connection it has, once it has one.
    pub(super) fn link(&self) -> Option<usize> {
        self.end.as_ref().map(End::number)
    }

    /// Does what it does now, if it is time.
    pub(super) fn act(&mut self, network: &Network, now_ns: u64) {
        if self.next_ns.is_none_or(|next_ns| next_ns > now_ns) {
            return;
        }
        if self.end.is_none() {
            let end = network.connect();
            if self.role == Role::Keys && self.manner.may_be_closed {
                self.ledger.borrow_mut().victims.push(end.number());
            }
            self.end = Some(end);
            self.silent_since_ns = now_ns;
        }
        // Who has nothing to do looks less and less often whether there is anything.
        let pause_ns_max = (self.manner.pause_ns << self.idle_acts.min(14)).min(IDLE_NS_MAX);
        let mut pause_ns = 1 + self.random.below(pause_ns_max.max(self.manner.pause_ns)) as u64;
        self.idle_acts += 1;
        if self.manner.dreams > 0 && self.random.one_in(self.manner.dreams) {
            pause_ns += self.random.below(2 * SECOND_NS as usize) as u64;
        }
        self.next_ns = Some(now_ns + pause_ns);
        let is_open = self.read(now_ns);
        if !is_open {
            assert!(
                self.manner.may_be_closed,
                "{} ({:?}) was closed after {} replies",
                self.name, self.role, self.replies
            );
            self.was_closed = true;
            return self.leave();
        }
        if self.role == Role::ScriptKiller && self.silent_ns(now_ns) > KILLER_NS_MAX {
            return self.begin_again();
        }
        self.plan(now_ns);
        self.write(now_ns);
        self.end_if_done();
    }

    /// Comes again: while a script runs, who had sent half a request is not listened to.
    fn begin_again(&mut self) {
        if let Some(end) = self.end.take() {
            end.close();
        }
        self.outgoing.clear();
        self.expected.clear();
        self.received.clear();
    }

    fn leave(&mut self) {
        if let Some(end) = self.end.take() {
            end.close();
        }
        self.next_ns = None;
        let over = match &self.role {
            Role::Source(target, _) => target.as_str(),
            Role::Spinner => SCRIPTS,
            _ => return,
        };
        self.ledger.borrow_mut().is_over.insert(over.to_owned());
    }

    /// Goes, if it is time to.
    fn end_if_done(&mut self) {
        let is_through = self.left == 0 && self.outgoing.is_empty();
        match (self.manner.ending, &self.role) {
            (Ending::Resets, _) if self.left < 5 || is_through => {
                self.end.as_ref().expect("it is connected").reset();
                self.next_ns = None;
            }
            (Ending::HalfCloses, _) if is_through => {
                self.end.as_ref().expect("it is connected").shut_down_write();
                self.left = usize::MAX;
                self.manner.may_be_closed = true;
            }
            (Ending::Closes, Role::Subscriber(channel)) => {
                let ledger = self.ledger.borrow();
                let is_over = ledger.is_over.contains(channel);
                let last = ledger.accepted.get(channel).and_then(|all| all.last());
                let has_all = last.is_none() || last == self.got.last() || self.got.is_empty();
                drop(ledger);
                // Who came too late for anything hears of nothing.
                if is_through && is_over && has_all && self.expected.is_empty() {
                    self.leave();
                }
            }
            (Ending::Closes, Role::Consumer(_))
                if self.has_popped_all()
                    && self.expected.is_empty()
                    && self.outgoing.is_empty() =>
            {
                self.leave();
            }
            (Ending::Closes, Role::Consumer(_)) => {}
            (Ending::Closes, Role::ScriptKiller) => {
                let is_over = self.ledger.borrow().is_over.contains(SCRIPTS);
                if is_over && self.expected.is_empty() && self.outgoing.is_empty() {
                    self.leave();
                }
            }
            // These are to be closed by the server.
            (Ending::Closes, Role::Hog | Role::Idler) => {}
            (Ending::Closes, _) if is_through && self.expected.is_empty() => self.leave(),
            _ => {}
        }
    }

    /// Whether nothing more will come to its queue.
    fn has_popped_all(&self) -> bool {
        let Role::Consumer(queue) = &self.role else { return false };
        let ledger = self.ledger.borrow();
        let accepted = ledger.accepted.get(queue).map_or(0, Vec::len);
        ledger.is_over.contains(queue) && self.got.len() == accepted
    }

    /// Reads and checks; whether the connection is open.
    fn read(&mut self, now_ns: u64) -> bool {
        let end = self.end.as_ref().expect("it is connected");
        let room = 1 + self.random.below(READ_BYTES_MAX);
        match end.read(room) {
            Ok(bytes) if bytes.is_empty() => return false,
            Ok(bytes) => {
                self.idle_acts = 0;
                self.received.extend_from_slice(&bytes);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => return false,
        }
        while self.check(now_ns) {
            self.replies += 1;
            self.silent_since_ns = now_ns;
        }
        true
    }

    /// Takes so many bytes of what was received.
    fn take(&mut self, count: usize) -> Vec<u8> {
        self.received.drain(..count).collect()
    }

    fn line(&self) -> Option<usize> {
        self.received.windows(2).position(|pair| pair == b"\r\n").map(|at| at + 2)
    }

    /// Checks the next reply, if it is complete.
    fn check(&mut self, now_ns: u64) -> bool {
        if self.received.is_empty() {
            return false;
        }
        let Some(expected) = self.expected.front() else { return self.check_message() };
        // Whoever may be put off is so by a line, and nothing has happened then.
        if self.manner.may_be_put_off && self.of_engine.is_none() && self.received[0] == b'-' {
            let Some(end) = self.line() else { return false };
            if self.received.starts_with(b"-BUSY ") || self.received.starts_with(b"-LOADING ") {
                self.take(end);
                self.expected.pop_front();
                return true;
            }
        }
        let is_met = match expected {
            Expected::OfEngine(request) => {
                let request = request.clone();
                let wanted = match self.of_engine.take() {
                    Some(wanted) => wanted,
                    None => self.ask_engine(&request),
                };
                let is_met = self.meet(&wanted);
                if !is_met {
                    self.of_engine = Some(wanted);
                }
                is_met
            }
            Expected::Exactly(bytes) => {
                let wanted = bytes.clone();
                self.meet(&wanted)
            }
            Expected::Line(beginnings) => {
                let Some(end) = self.line() else { return false };
                let beginnings = *beginnings;
                let line = self.take(end);
                let is_met = beginnings.iter().any(|text| line.starts_with(text.as_bytes()));
                assert!(is_met, "{}: {:?}", self.name, line.escape_ascii().to_string());
                true
            }
            Expected::Accepted(place) => {
                let place = *place;
                let Some(end) = self.line() else { return false };
                let line = self.take(end);
                assert_eq!(line[0], b':', "{}: {}", self.name, line.escape_ascii());
                let Role::Source(target, _) = &self.role else { panic!("only sources add") };
                let mut ledger = self.ledger.borrow_mut();
                ledger.accepted.entry(target.clone()).or_default().push(place);
                true
            }
            Expected::Popped { since_ns, seconds } => {
                let (since_ns, seconds) = (*since_ns, *seconds);
                self.check_popped(now_ns - since_ns, seconds * SECOND_NS)
            }
        };
        if is_met {
            self.expected.pop_front();
        }
        is_met
    }

    /// Takes these bytes if they are all there; what is there must be of them.
    fn meet(&mut self, wanted: &[u8]) -> bool {
        let count = wanted.len().min(self.received.len());
        assert!(
            self.received[..count] == wanted[..count],
            "{} expects {:?} after {} replies, and gets {:?}",
            self.name,
            wanted[..count.min(200)].escape_ascii().to_string(),
            self.replies,
            self.received[..count.min(200)].escape_ascii().to_string(),
        );
        let is_met = count == wanted.len();
        if is_met {
            self.take(count);
        }
        is_met
    }

    /// A message that nobody has asked for.
    fn check_message(&mut self) -> bool {
        let Role::Subscriber(channel) = self.role.clone() else {
            panic!("{} is told {:?}", self.name, self.received.escape_ascii().to_string());
        };
        let header = [b"*3\r\n", &bulk(b"message")[..], &bulk(channel.as_bytes())].concat();
        let count = header.len().min(self.received.len());
        assert_eq!(self.received[..count], header[..count], "{}", self.name);
        let Some((value, end)) =
            (count == header.len()).then(|| bulk_at(&self.received, count)).flatten()
        else {
            return false;
        };
        let place = place_of(value);
        assert!(value == content(&channel, place), "{}: message {place}", self.name);
        self.got.push(place);
        self.take(end);
        true
    }

    fn check_popped(&mut self, waited_ns: u64, time_ns: u64) -> bool {
        let Role::Consumer(queue) = self.role.clone() else { panic!("only consumers pop") };
        if self.received.starts_with(b"*-1\r\n") {
            assert!(
                waited_ns + EARLY_NS_MAX >= time_ns,
                "{} waited {waited_ns} of {time_ns} ns",
                self.name
            );
            assert!(waited_ns < time_ns + LATE_NS_MAX, "{} waited {waited_ns} ns", self.name);
            self.take(5);
            return true;
        }
        let header = [b"*2\r\n", &bulk(queue.as_bytes())[..]].concat();
        if self.received.len() < header.len() {
            return false;
        }
        assert!(self.received.starts_with(&header), "{}", self.received.escape_ascii());
        let Some((value, end)) = bulk_at(&self.received, header.len()) else { return false };
        let place = place_of(value);
        assert!(value == content(&queue, place), "{}: value {place}", self.name);
        self.got.push(place);
        self.take(end);
        true
    }

    /// What a plain engine says to a request.
    fn ask_engine(&mut self, request: &[u8]) -> Vec<u8> {
        self.oracle.send(self.session, request).1
    }

    /// Decides what to send.
    fn plan(&mut self, now_ns: u64) {
        let is_put_off_long = self.outgoing.len() > 200_000;
        while self.left > 0
            && self.left != usize::MAX
            && self.expected.len() < self.manner.pipeline
            && !is_put_off_long
        {
            self.left -= 1;
            self.send_next();
            if self.random.one_in(3) {
                return;
            }
        }
        let are_scripts_over = self.ledger.borrow().is_over.contains(SCRIPTS);
        if self.role == Role::ScriptKiller && self.expected.is_empty() && !are_scripts_over {
            self.send_next();
        }
        if let Role::Consumer(queue) = self.role.clone()
            && self.expected.is_empty()
            && !self.has_popped_all()
        {
            let seconds = 1 + self.random.below(3) as u64;
            let time = seconds.to_string();
            self.send(&[b"BLPOP", queue.as_bytes(), time.as_bytes()]);
            self.expected.push_back(Expected::Popped { since_ns: now_ns, seconds });
            if self.random.one_in(2) {
                // What follows a wait waits too.
                self.ask(&[b"ECHO", b"after"]);
            }
        }
    }

    fn send(&mut self, words: &[&[u8]]) {
        self.outgoing.extend(request(words));
    }

    /// Sends what the engine knows the answer to.
    fn ask(&mut self, words: &[&[u8]]) {
        self.send(words);
        self.expected.push_back(Expected::OfEngine(request(words)));
    }

    fn send_next(&mut self) {
        match self.role.clone() {
            Role::Keys => self.send_keys_command(),
            Role::Verifier => {
                self.keys += 1;
                let key = format!("{}:{}", self.name, self.keys / 3);
                let reads: [&[&[u8]]; 3] = [
                    &[b"GET", key.as_bytes()],
                    &[b"LRANGE", key.as_bytes(), b"0", b"-1"],
                    &[b"HGET", key.as_bytes(), b"f1"],
                ];
                self.ask(reads[self.keys % 3]);
            }
            Role::Source(target, command) => {
                let value = content(&target, self.sequence);
                self.send(&[command.as_bytes(), target.as_bytes(), &value]);
                self.expected.push_back(Expected::Accepted(self.sequence));
                self.sequence += 1;
            }
            Role::Subscriber(channel) => {
                self.send(&[b"SUBSCRIBE", channel.as_bytes()]);
                let reply =
                    [b"*3\r\n", &bulk(b"subscribe")[..], &bulk(channel.as_bytes()), b":1\r\n"];
                self.expected.push_back(Expected::Exactly(reply.concat()));
            }
            Role::Spinner => {
                self.send(&[b"EVAL", b"while true do end", b"0"]);
                self.expected.push_back(Expected::Line(&["-ERR Script killed by user", "-BUSY"]));
            }
            Role::ScriptKiller => {
                self.send(&[b"SCRIPT", b"KILL"]);
                self.expected.push_back(Expected::Line(&["+OK", "-NOTBUSY"]));
            }
            Role::Assassin => {
                let victims = self.ledger.borrow().victims.clone();
                let victim = address(victims.get(self.left).copied().unwrap_or(usize::MAX / 2));
                self.send(&[b"CLIENT", b"KILL", victim.as_bytes()]);
                self.expected.push_back(Expected::Line(&["+OK", "-ERR No such client"]));
            }
            Role::Hog => {
                self.outgoing.extend(b"*2\r\n$4\r\nECHO\r\n$100000000\r\n");
                self.outgoing.extend(std::iter::repeat_n(b'x', 1_300_000));
            }
            Role::Idler => self.ask(&[b"PING"]),
            Role::Consumer(_) => {}
        }
    }

    fn send_keys_command(&mut self) {
        let key = format!("{}:{}", self.name, self.random.below(KEYS));
        let key = key.as_bytes();
        if self.queued > 0 {
            self.queued -= 1;
            if self.queued == 0 {
                let end: &[u8] = if self.random.one_in(4) { b"DISCARD" } else { b"EXEC" };
                return self.ask(&[end]);
            }
        } else if !self.manner.may_be_put_off && self.random.one_in(12) && self.left > 8 {
            self.queued = 1 + self.random.below(5);
            return self.ask(&[b"MULTI"]);
        }
        let length = match self.random.below(40) {
            0 => self.random.below(300_000),
            1..=3 => self.random.below(20_000),
            _ => self.random.below(50),
        };
        let value = vec![b'a' + self.random.below(26) as u8; length];
        match self.random.below(12) {
            0 | 1 => self.ask(&[b"SET", key, &value]),
            2 | 3 => self.ask(&[b"GET", key]),
            4 => self.ask(&[b"APPEND", key, &value]),
            5 => self.ask(&[b"RPUSH", key, &value, b"x"]),
            6 => self.ask(&[b"LPOP", key]),
            7 => self.ask(&[b"LRANGE", key, b"0", b"-1"]),
            8 => self.ask(&[b"HSET", key, b"f1", &value]),
            9 => self.ask(&[b"DEL", key]),
            10 => self.ask(&[b"ECHO", &value]),
            _ => self.ask(&[b"NOSUCH", &value]),
        }
    }

    /// Sends some of what is to be sent.
    fn write(&mut self, now_ns: u64) {
        let end = self.end.as_ref().expect("it is connected");
        while !self.outgoing.is_empty() {
            let count = match self.random.below(4) {
                0 => 1 + self.random.below(3),
                1 => 1 + self.random.below(100),
                _ => WRITE_BYTES_MAX,
            };
            let bytes: Vec<u8> = self.outgoing.iter().take(count).copied().collect();
            match end.write(&bytes) {
                Ok(count) => {
                    self.idle_acts = 0;
                    self.outgoing.drain(..count);
                    self.silent_since_ns = now_ns;
                }
                Err(_) => return,
            }
            if self.random.one_in(3) {
                return;
            }
        }
    }

    /// How long it has neither sent anything nor got a reply.
    pub(super) fn silent_ns(&self, now_ns: u64) -> u64 {
        now_ns - self.silent_since_ns
    }
}

/// How long one that ends scripts waits for an answer.
const KILLER_NS_MAX: u64 = SECOND_NS / 4;
/// What is over when no script will run any more.
const SCRIPTS: &str = "scripts";
/// Keys of a client.
const KEYS: usize = 6;
