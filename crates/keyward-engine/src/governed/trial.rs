//! Asking an engine of one's own what a command would do, or what a snapshot holds.
//!
//! Owns an engine without rows and a host that has nothing, for programs that have
//! a schema or a file and no server.

use crate::engine::{Engine, EngineOptions};
use crate::host::Nobody;
use crate::snapshot::{Coverage, DueRows, LoadError, Loaded, SnapshotLoader};
use crate::tunables::Tunables;
use keyward_resp::{Frame, FrameLimits, FrameParser};
use keyward_schema::{DataType, ExampleValue, KeyId, Lifetime, Mode, Schema};
use std::io::Read;

/// Rows that a trial holds at a time.
const TRIAL_ROWS: usize = 1000;

/// What a command would do on an empty keyspace under a schema, and why, as
/// KEYWARD EXPLAIN tells it at that time, in microseconds since the epoch.
///
/// # Errors
/// What is wrong with the command, in Redis's words.
pub fn explain(schema: Schema, now_us: i64, command: &[&[u8]]) -> Result<Vec<String>, String> {
    let options = EngineOptions { seed: 0, databases: 1, tunables: Tunables::default() };
    let mut engine = Engine::new(options);
    engine.set_time(now_us);
    engine.govern(0, schema);
    let words = [&[b"KEYWARD".as_slice(), b"EXPLAIN"], command].concat();
    let reply = engine.call_trusted(&mut Nobody, &words);
    let frame = FrameParser::new(FrameLimits::default()).next(&reply);
    let frame = frame.ok().flatten().expect("the engine answers one whole reply");
    let text =
        |frame: &Frame| String::from_utf8_lossy(frame.as_bytes().unwrap_or_default()).into_owned();
    match frame.as_elements() {
        Some(lines) => Ok(lines.iter().map(text).collect()),
        None => Err(text(&frame)),
    }
}

/// Whole values, written one by one by the commands that a client would use, to an engine that
/// enforces a schema and has no other row.
///
/// What does not lie in a value is set aside: how long rows live, which other rows they hang on,
/// where they are stored, and the modes.
pub struct WriteTrial {
    engine: Engine,
    types: Vec<DataType>,
}

impl WriteTrial {
    /// Of the values of a schema, at that time in microseconds since the epoch.
    pub fn new(mut schema: Schema, now_us: i64) -> WriteTrial {
        schema.keyspace.mode = Mode::Enforce;
        schema.keyspace.max_memory = None;
        for key in &mut schema.keys {
            key.lifetime = Lifetime::Free;
            key.derived = None;
            key.sink = None;
            key.mode = None;
        }
        let types = schema.keys.iter().map(|key| key.data).collect();
        let options = EngineOptions { seed: 0, databases: 1, tunables: Tunables::default() };
        let mut engine = Engine::new(options);
        engine.set_time(now_us);
        engine.govern(0, schema);
        WriteTrial { engine, types }
    }

    /// Writes a value under a key of that pattern, and forgets it again.
    ///
    /// # Errors
    /// What a client would be told, or that not all of it was kept.
    pub fn write(&mut self, id: KeyId, key: &[u8], value: &ExampleValue) -> Result<(), String> {
        let data = self.types[id.index()];
        let (name, elements): (&[u8], Vec<&[u8]>) = match value {
            ExampleValue::Text(text) => (b"SET", vec![text.as_bytes()]),
            ExampleValue::Items(items) => {
                let name: &[u8] = match data {
                    DataType::Set => b"SADD",
                    DataType::Hll => b"PFADD",
                    _ => b"RPUSH",
                };
                (name, items.iter().map(|item| item.as_bytes()).collect())
            }
            ExampleValue::Pairs(pairs) => {
                let (first, name): (&[&[u8]], &[u8]) = match data {
                    DataType::Zset => (&[], b"ZADD"),
                    DataType::Stream => (&[b"*"], b"XADD"),
                    _ => (&[], b"HSET"),
                };
                let pairs = pairs.iter().flat_map(|(name, value)| match data {
                    DataType::Zset => [value.as_bytes(), name.as_bytes()],
                    _ => [name.as_bytes(), value.as_bytes()],
                });
                (name, first.iter().copied().chain(pairs).collect())
            }
        };
        let written = self.call(&[&[name, key][..], &elements].concat());
        let counted = match (value, data) {
            (ExampleValue::Items(items), DataType::List) => Some((items.len(), "LLEN")),
            (ExampleValue::Pairs(pairs), DataType::Zset) => Some((pairs.len(), "ZCARD")),
            _ => None,
        };
        let kept = written.and_then(|_| match counted {
            None => Ok(()),
            Some((count, name)) => match self.call(&[name.as_bytes(), key])? {
                Frame::Integer(kept) if kept < count as i64 => {
                    Err(format!("has {count} elements, of which {kept} are kept"))
                }
                _ => Ok(()),
            },
        });
        self.engine.call_trusted(&mut Nobody, &[b"FLUSHALL", b"SYNC"]);
        kept
    }

    fn call(&mut self, words: &[&[u8]]) -> Result<Frame, String> {
        let reply = self.engine.call_trusted(&mut Nobody, words);
        let frame = FrameParser::new(FrameLimits::default()).next(&reply);
        let frame = frame.ok().flatten().expect("the engine answers one whole reply");
        match &frame {
            Frame::Error(line) => Err(String::from_utf8_lossy(line).into_owned()),
            _ => Ok(frame),
        }
    }
}

/// A snapshot loaded as a server would load it, by an engine that forgets the rows as
/// they come: it takes as much memory as the largest of them, and finds whatever a server
/// would find, but for a key that is there twice.
pub struct TrialLoad<R> {
    engine: Engine,
    loader: SnapshotLoader<R>,
}

impl<R: Read> TrialLoad<R> {
    /// Begins to load, with so many databases.
    ///
    /// # Errors
    /// If the source is no snapshot.
    pub fn new(source: R, databases: usize) -> Result<TrialLoad<R>, LoadError> {
        let options = EngineOptions { seed: 0, databases, tunables: Tunables::default() };
        let engine = Engine::new(options);
        let loader = engine.open_snapshot(source, Coverage::Everything, DueRows::Kept)?;
        Ok(TrialLoad { engine, loader })
    }

    /// Loads some rows; whether there are more.
    ///
    /// # Errors
    /// Says where the snapshot is not what it should be.
    pub fn step(&mut self) -> Result<bool, LoadError> {
        let has_more = self.engine.load_rows(&mut Nobody, &mut self.loader, TRIAL_ROWS)?;
        self.engine.call_trusted(&mut Nobody, &[b"FLUSHALL", b"SYNC"]);
        Ok(has_more)
    }

    /// What it has come to so far.
    pub fn loaded(&self) -> Loaded {
        self.loader.loaded
    }

    /// How many bytes have been read.
    pub fn offset(&self) -> u64 {
        self.loader.offset()
    }
}
