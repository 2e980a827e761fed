//! The rows of one table on their way into a snapshot that is taken while commands run
//! (copy-on-write, row by row).
//!
//! Every row has one bit, its epoch. When a snapshot begins the epoch of its table flips,
//! so that all its rows are of the old one: not captured yet. A walk over the buckets
//! captures them in steps; whoever changes or removes a row captures it first, as it was;
//! new rows are of the new epoch from the start. So each row of the instant the snapshot
//! began is written once, as it was then, and nothing else is.
//!
//! A large collection is only begun then, and written in steps (`large`).
//!
//! Cost: a bit in each row, a branch in each change, one write of a row's head when it is
//! captured. What is captured and not yet taken is the added memory.
//! Not here: the order of tables, and who takes the bytes (`keyspace::snapshot`).

pub mod build;
pub mod content;
pub mod large;

use crate::capture::large::LargeRow;
use crate::values::access::{AccessClock, Reading};
use crate::values::hasher::KeyHasher;
use crate::values::row::Row;
use hashbrown::HashMap;
use keyward_rdb::{Part, RowHead, Usage};
use keyward_rules::RuleBook;
use keyward_schema::KeyId;
use std::sync::Arc;

/// What a snapshot says of a table's rows besides keys and values.
#[derive(Debug, Clone)]
pub struct RowFacts {
    /// The time at the instant of the snapshot.
    pub access: AccessClock,
    /// What is told of how its rows were used: what decides which of them goes if memory
    /// is short.
    pub reading: Option<Reading>,
}

impl RowFacts {
    /// How a row was used, where that is told.
    pub fn usage(&self, row: &Row) -> Option<Usage> {
        let mark = row.clock();
        Some(match self.reading? {
            Reading::Recency => Usage::IdleSeconds(self.access.idle_seconds(mark).into()),
            Reading::Frequency => Usage::Frequency(self.access.frequency(mark)),
        })
    }
}

/// A part that has so many bytes is full: one that grew on would be copied again and again,
/// and take twice the memory that it needs.
const PART_BYTES: usize = 56 * 1024;

/// A snapshot being taken of one table.
#[derive(Debug)]
pub(crate) struct Capture {
    database: u64,
    /// What is captured last and not yet taken; `None` once nobody wants it.
    part: Option<Part>,
    /// What was captured before that.
    full: Vec<Vec<u8>>,
    /// Bytes of memory that `full` takes.
    full_bytes: usize,
    /// Large rows that are begun, by key.
    large: HashMap<Box<[u8]>, LargeRow, KeyHasher>,
    /// The key of the one that is being handed over.
    current: Option<Box<[u8]>>,
    facts: RowFacts,
    /// The book and the table, where reads renew rows.
    renewed: Option<(Arc<RuleBook>, KeyId)>,
    cursor: u64,
    is_walked: bool,
    rows: u64,
}

impl Capture {
    pub(crate) fn new(
        database: u64,
        facts: RowFacts,
        renewed: Option<(Arc<RuleBook>, KeyId)>,
        hasher: KeyHasher,
    ) -> Capture {
        Capture {
            database,
            renewed,
            part: Some(Part::new(database, false)),
            full: Vec::new(),
            full_bytes: 0,
            large: HashMap::with_hasher(hasher),
            current: None,
            facts,
            cursor: 0,
            is_walked: false,
            rows: 0,
        }
    }

    /// Captures a row as it is, or begins to, unless that was done: it reaches the epoch.
    #[inline]
    pub(crate) fn row(&mut self, row: &mut Row, epoch: bool) {
        if row.epoch() != epoch {
            row.set_epoch(epoch);
            self.write(row);
        }
    }

    fn write(&mut self, row: &Row) {
        self.rows += 1;
        let Some(part) = &mut self.part else { return };
        let value = row.value();
        let usage = self.facts.usage(row);
        // Where the log has a later end of a row, so has the file: who followed before has it too.
        let renewed = self.renewed.as_ref().filter(|_| row.is_told_later());
        let told = |end| renewed.map_or(end, |(book, table)| book.told_end(*table, row, end));
        let deadline_ms = row.deadline().map(told);
        let head = RowHead { key: row.key(), deadline_ms, usage };
        if let Some(large) = LargeRow::open(self.database, row, head, *self.large.hasher()) {
            self.large.insert(row.key().into(), large);
            return;
        }
        let output = part.row(head, content::form(value));
        output
            .and_then(|output| content::write(value, output))
            .expect("writing to memory succeeds");
        if part.bytes() >= PART_BYTES {
            let bytes = part.take().expect("writing to memory succeeds");
            self.full_bytes += bytes.capacity();
            self.full.push(bytes);
        }
    }

    /// The large row of a key that is in the table and being captured.
    #[inline]
    pub(crate) fn large_mut(&mut self, key: &[u8]) -> Option<&mut LargeRow> {
        if self.large.is_empty() {
            return None;
        }
        self.large.get_mut(key).filter(|large| !large.is_kept())
    }

    /// A row leaves the table for somewhere else: all of it is captured.
    pub(crate) fn leaving(&mut self, row: &mut Row, epoch: bool) {
        self.row(row, epoch);
        if let Some(large) = self.large_mut(row.key()).filter(|large| !large.is_copied()) {
            large.step(Some(row), usize::MAX);
        }
    }

    /// Whether there are large rows to be handed over.
    pub(crate) fn has_large(&self) -> bool {
        !self.large.is_empty()
    }

    /// The key of the large row to be handed over next, if there is any.
    pub(crate) fn next_large(&mut self) -> Option<&[u8]> {
        if self.current.is_none() {
            self.current = self.large.keys().next().cloned();
        }
        self.current.as_deref()
    }

    /// Whether a large row is handed over in part.
    pub(crate) fn is_amid_large(&self) -> bool {
        self.current.is_some()
    }

    /// Goes on with the large row that is handed over next, which is `row` if it is in the
    /// table: takes its next bytes, and itself if it is over.
    pub(crate) fn step_large(
        &mut self,
        row: Option<&Row>,
        effort: usize,
    ) -> (Vec<u8>, Option<LargeRow>) {
        let key = self.current.as_ref().expect("the caller has asked for the next one");
        let large = self.large.get_mut(key).expect("one that is handed over is there");
        let is_over = large.step(row, effort);
        let bytes = large.take();
        let over = is_over.then(|| self.large.remove(key)).flatten();
        if over.is_some() {
            self.current = None;
        }
        (bytes, over)
    }

    /// Where the walk is.
    pub(crate) fn cursor(&self) -> u64 {
        self.cursor
    }

    /// The walk goes on from here; zero is its end.
    pub(crate) fn advance(&mut self, cursor: u64) {
        self.cursor = cursor;
        self.is_walked = cursor == 0;
    }

    /// Whether every row is captured, or begun.
    pub(crate) fn is_walked(&self) -> bool {
        self.is_walked
    }

    /// Nobody wants it any more: rows only reach the epoch. Returns large ones that it
    /// kept.
    pub(crate) fn abandon(&mut self) -> impl Iterator<Item = Row> {
        self.part = None;
        (self.full, self.full_bytes) = (Vec::new(), 0);
        self.current = None;
        self.large.drain().flat_map(|(_, large)| large.into_kept())
    }

    /// Bytes of rows that are captured and not yet taken, large ones aside.
    pub(crate) fn bytes(&self) -> usize {
        self.full_bytes + self.part.as_ref().map_or(0, Part::bytes)
    }

    /// Bytes that large rows take.
    pub(crate) fn large_bytes(&self) -> usize {
        self.large.values().map(LargeRow::bytes).sum()
    }

    /// Takes what is captured of rows other than large ones, and how many rows are.
    pub(crate) fn take(&mut self) -> (Vec<Vec<u8>>, u64) {
        self.full_bytes = 0;
        let mut parts = std::mem::take(&mut self.full);
        let last = self.part.as_mut().filter(|part| part.bytes() > 0).map(Part::take);
        parts.extend(last.map(|bytes| bytes.expect("writing to memory succeeds")));
        (parts, std::mem::take(&mut self.rows))
    }
}
