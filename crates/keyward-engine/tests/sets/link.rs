//! A connection from a replica to its primary, with what flies on it, and the replica's side of
//! the conversation up to the stream.
//!
//! Owns what a server's host does besides its engine, as little of it as there can be: REPLCONF,
//! PSYNC, a snapshot that ends with a mark, then the stream.

use crate::node::{MARK, Node, PORT};
use keyward_engine::{
    ClientId, Coverage, DueRows, LACKS_SCHEMAS, Progress, SnapshotLoader, TELLS_SCHEMAS,
};
use keyward_resp::{Batch, RequestLimits, RequestParser, push_request};
use keyward_testkit::Random;
use keyward_testkit::engine::TestEngine;
use std::collections::{BTreeSet, VecDeque};
use std::io::Cursor;

/// How long an attempt waits for a word.
const PATIENCE_MS: i64 = 5000;

/// A fault that is put into a set on purpose: a simulation that does not find it proves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Planted {
    Nothing,
    /// A replica that comes back asks for one byte more than it lacks.
    AsksOneByteEarly,
    /// It says that it has more than it has.
    AcknowledgesAhead,
    /// It takes the place of its snapshot to be a byte further.
    TakesPlaceOneByteLate,
    /// What arrives amid a unit is forgotten by the host.
    LosesPartOfAUnit,
    /// The append-only file of a replica lacks some of what came.
    LosesPartOfLog,
    /// A node takes what is written to its append-only file to be synced.
    SyncsAhead,
}

/// One direction of a connection.
#[derive(Default)]
pub(crate) struct Lane {
    flying: VecDeque<(i64, Vec<u8>)>,
}

impl Lane {
    /// Sends something, which arrives after what was sent before.
    pub(crate) fn send(&mut self, random: &mut Random, now_ms: i64, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let (piece, later) = rest.split_at((1 + random.below(700)).min(rest.len()));
            let takes_ms = if random.one_in(30) { 300 } else { 20 };
            let arrival_ms = now_ms + random.below(takes_ms) as i64;
            let last_ms = self.flying.back().map_or(0, |(last_ms, _)| *last_ms);
            self.flying.push_back((arrival_ms.max(last_ms), piece.to_vec()));
            rest = later;
        }
    }

    /// What has arrived.
    pub(crate) fn receive(&mut self, now_ms: i64) -> Option<Vec<u8>> {
        self.flying.pop_front_if(|(arrival_ms, _)| *arrival_ms <= now_ms).map(|(_, bytes)| bytes)
    }
}

/// How far the replica's side is.
pub(crate) enum Stage {
    /// It has told what it can do.
    Greeting,
    /// It has asked to go on or for everything.
    Asked,
    /// A snapshot comes, of this place.
    Receiving { id: Vec<u8>, offset: u64, tells: bool, has_begun: bool },
    /// It is loaded.
    Loading { id: Vec<u8>, offset: u64, tells: bool, loader: Box<SnapshotLoader<Cursor<Vec<u8>>>> },
    /// The stream comes, by this client.
    Following(ClientId),
}

/// A connection.
pub(crate) struct Link {
    pub(crate) replica: usize,
    pub(crate) primary: usize,
    /// The order that it was made by.
    pub(crate) order: u64,
    /// The primary's client, until that side is gone.
    pub(crate) client: Option<ClientId>,
    /// Whether the replica's side is there.
    pub(crate) has_replica: bool,
    pub(crate) to_primary: Lane,
    pub(crate) to_replica: Lane,
    pub(crate) stage: Stage,
    /// The stream has to wait, since rows are brought to other tables.
    pub(crate) is_held: bool,
    /// What was confirmed and is in the snapshot that comes.
    pub(crate) proofs: BTreeSet<u64>,
    asked: (RequestParser, Vec<u8>),
    stream: (RequestParser, Vec<u8>),
    received: Vec<u8>,
    /// When something last came.
    heard_ms: i64,
}

/// What has become of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    Goes,
    Over,
    /// All of the primary's rows are there.
    Copied,
}

impl Link {
    /// A replica connects, which may not know the schemas of its rows.
    pub(crate) fn new(
        (replica, primary): (usize, usize),
        lacks_schemas: bool,
        order: u64,
        client: ClientId,
        (random, now_ms): (&mut Random, i64),
    ) -> Link {
        let mut link = Link {
            replica,
            primary,
            order,
            client: Some(client),
            has_replica: true,
            to_primary: Lane::default(),
            to_replica: Lane::default(),
            stage: Stage::Greeting,
            is_held: false,
            proofs: BTreeSet::new(),
            asked: (RequestParser::new(), Vec::new()),
            stream: (RequestParser::new(), Vec::new()),
            received: Vec::new(),
            heard_ms: now_ms,
        };
        let port = (PORT as usize + replica).to_string();
        let mut words = vec!["REPLCONF", "listening-port", &port, "capa", "eof", "capa", "psync2"];
        words.extend(["capa", TELLS_SCHEMAS]);
        if lacks_schemas {
            words.extend(["capa", LACKS_SCHEMAS]);
        }
        let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        link.say(random, now_ms, &words);
        link
    }

    /// Whether an attempt has been left without a word for too long. A stream is the engine's to
    /// judge.
    pub(crate) fn is_late(&self, now_ms: i64) -> bool {
        let is_attempt = !matches!(self.stage, Stage::Following(_) | Stage::Loading { .. });
        is_attempt && now_ms - self.heard_ms > PATIENCE_MS
    }

    /// Whether its stream comes to this client of a replica.
    pub(crate) fn is_of(&self, replica: usize, client: ClientId) -> bool {
        let follows = matches!(self.stage, Stage::Following(by) if by == client);
        self.replica == replica && self.has_replica && follows
    }

    fn say(&mut self, random: &mut Random, now_ms: i64, words: &[&[u8]]) {
        let mut bytes = Vec::new();
        push_request(&mut bytes, words.iter());
        self.to_primary.send(random, now_ms, &bytes);
    }

    /// Bytes have come to the primary: what it says to them goes back.
    pub(crate) fn ask(&mut self, node: &mut Node, bytes: &[u8], random: &mut Random) -> Turn {
        let Some(client) = self.client else { return Turn::Goes };
        let (parser, buffer) = &mut self.asked;
        buffer.extend_from_slice(bytes);
        let mut batch = Batch::new();
        parser.parse(buffer, &RequestLimits::default(), &mut batch).expect("requests");
        let TestEngine { engine, host, now_ms } = &mut node.test;
        let mut out = Vec::new();
        let progress = engine.execute(host, client, buffer, &batch, &mut out);
        drop(batch);
        parser.consume(buffer);
        self.to_replica.send(random, *now_ms, &out);
        if progress == Progress::Closing { Turn::Over } else { Turn::Goes }
    }

    /// Bytes have come to the replica.
    pub(crate) fn hear(
        &mut self,
        node: &mut Node,
        bytes: &[u8],
        (random, planted): (&mut Random, Planted),
    ) -> Turn {
        self.received.extend_from_slice(bytes);
        self.heard_ms = node.test.now_ms;
        loop {
            let now_ms = node.test.now_ms;
            match &mut self.stage {
                Stage::Following(client) => {
                    let client = *client;
                    let bytes = std::mem::take(&mut self.received);
                    return self.follow(node, client, &bytes, (random, planted));
                }
                Stage::Loading { .. } => return Turn::Goes,
                Stage::Receiving { has_begun: true, .. } => {
                    if !self.received.ends_with(MARK) {
                        return Turn::Goes;
                    }
                    return self.begin_loading(node);
                }
                _ => {}
            }
            let Some(end) = self.received.iter().position(|byte| *byte == b'\n') else {
                return Turn::Goes;
            };
            let line: Vec<u8> = self.received.drain(..=end).collect();
            let line = line.trim_ascii_end();
            if line.is_empty() {
                continue;
            }
            if !self.hear_line(node, line, (random, now_ms, planted)) {
                return Turn::Over;
            }
        }
    }

    /// Takes a line; whether it makes sense.
    fn hear_line(
        &mut self,
        node: &mut Node,
        line: &[u8],
        (random, now_ms, planted): (&mut Random, i64, Planted),
    ) -> bool {
        match &mut self.stage {
            Stage::Greeting if line == b"+OK" => {
                let asked = node.test.engine.resumption();
                let early = planted == Planted::AsksOneByteEarly && asked.next > 1;
                let next = (asked.next - i64::from(early)).to_string();
                self.say(random, now_ms, &[b"PSYNC", asked.id.as_bytes(), next.as_bytes()]);
                self.stage = Stage::Asked;
                true
            }
            Stage::Asked if line.starts_with(b"+CONTINUE") => {
                let mut words = line.split(|byte| *byte == b' ').skip(1);
                let id = words.next();
                let tells = words.next() == Some(TELLS_SCHEMAS.as_bytes());
                let TestEngine { engine, host, .. } = &mut node.test;
                if !engine.go_on_following(host, id, tells) {
                    return false;
                }
                self.begin_following(node);
                true
            }
            Stage::Asked => {
                let mut words = line.split(|byte| *byte == b' ');
                if words.next() != Some(b"+FULLRESYNC") {
                    return false;
                }
                let id = words.next().expect("an id").to_vec();
                let offset = String::from_utf8_lossy(words.next().expect("an offset"));
                let late = u64::from(planted == Planted::TakesPlaceOneByteLate);
                let offset = offset.parse::<u64>().expect("a number") + late;
                let tells = words.next() == Some(TELLS_SCHEMAS.as_bytes());
                self.stage = Stage::Receiving { id, offset, tells, has_begun: false };
                true
            }
            Stage::Receiving { has_begun, .. } => {
                let mark = line.strip_prefix(b"$EOF:");
                *has_begun = mark == Some(MARK);
                *has_begun
            }
            _ => false,
        }
    }

    fn begin_loading(&mut self, node: &mut Node) -> Turn {
        let Stage::Receiving { id, offset, tells, .. } = &self.stage else { return Turn::Over };
        let (id, offset, tells) = (id.clone(), *offset, *tells);
        let mut bytes = std::mem::take(&mut self.received);
        bytes.truncate(bytes.len() - MARK.len());
        let TestEngine { engine, host, .. } = &mut node.test;
        if let Some(log) = &mut node.log {
            log.stop(engine, host);
        }
        engine.begin_copy(host);
        let opened = engine.open_snapshot(Cursor::new(bytes), Coverage::Everything, DueRows::Kept);
        let loader = Box::new(opened.expect("a snapshot"));
        self.stage = Stage::Loading { id, offset, tells, loader };
        Turn::Goes
    }

    /// Loads some rows.
    pub(crate) fn load(&mut self, node: &mut Node, rows: usize) -> Turn {
        let Stage::Loading { id, offset, tells, loader } = &mut self.stage else {
            return Turn::Goes;
        };
        let TestEngine { engine, host, .. } = &mut node.test;
        if engine.load_rows(host, loader, rows).expect("a snapshot") {
            return Turn::Goes;
        }
        let (db, loaded) = (loader.stream_db(), loader.loaded);
        engine.end_copy(host, (id, *offset), db, loaded).expect("an id");
        engine.note_telling(*tells);
        if let Some(log) = &mut node.log {
            log.begin(engine, host);
        }
        self.begin_following(node);
        Turn::Copied
    }

    /// The snapshot is wanted no more; whether some of it was loaded.
    pub(crate) fn abandon(&mut self, node: &mut Node) -> bool {
        let is_loading = matches!(self.stage, Stage::Loading { .. });
        if is_loading {
            let TestEngine { engine, host, .. } = &mut node.test;
            engine.abandon_copy();
            if let Some(log) = &mut node.log {
                log.begin(engine, host);
            }
        }
        is_loading
    }

    fn begin_following(&mut self, node: &mut Node) {
        let client = node.test.engine.connect_primary();
        self.stage = Stage::Following(client);
    }

    /// Carries the stream out.
    fn follow(
        &mut self,
        node: &mut Node,
        client: ClientId,
        bytes: &[u8],
        (random, planted): (&mut Random, Planted),
    ) -> Turn {
        let (parser, buffer) = &mut self.stream;
        buffer.extend_from_slice(bytes);
        if planted == Planted::LosesPartOfAUnit && random.one_in(60) {
            buffer.clear();
            *parser = RequestParser::new();
            return Turn::Goes;
        }
        if self.is_held {
            return Turn::Goes;
        }
        let (mut batch, mut out) = (Batch::new(), Vec::new());
        let start = parser.complete_bytes();
        if parser.parse(buffer, &RequestLimits::default(), &mut batch).is_err() {
            return Turn::Over;
        }
        let whole = start..parser.complete_bytes();
        let TestEngine { engine, host, now_ms } = &mut node.test;
        let progress = engine.follow(host, client, (buffer, whole), &batch, &mut out);
        drop(batch);
        parser.consume(buffer);
        if planted == Planted::AcknowledgesAhead {
            let said = (engine.resumption().next + 200).to_string();
            let now_ms = *now_ms;
            self.say(random, now_ms, &[b"REPLCONF", b"ACK", said.as_bytes()]);
        } else {
            self.to_primary.send(random, *now_ms, &out);
        }
        self.is_held = progress == Progress::Blocked;
        if progress == Progress::Closing { Turn::Over } else { Turn::Goes }
    }

    /// The stream goes on after it had to wait.
    pub(crate) fn go_on(&mut self, node: &mut Node, random: &mut Random) -> Turn {
        let Stage::Following(client) = self.stage else { return Turn::Over };
        let TestEngine { engine, host, now_ms } = &mut node.test;
        let mut out = Vec::new();
        let progress = engine.resume(host, client, &mut out);
        self.to_primary.send(random, *now_ms, &out);
        self.is_held = progress == Progress::Blocked;
        if progress == Progress::Closing { Turn::Over } else { Turn::Goes }
    }
}
