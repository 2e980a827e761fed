//! The rows of one table on their way into a snapshot that is taken while commands run.
//!
//! Every row has one bit, its epoch. When a snapshot begins the epoch of its table flips,
//! so that all its rows are of the old one: not captured yet. A walk over the buckets
//! captures them in steps; whoever changes or removes a row captures it first, as it was;
//! new rows are of the new epoch from the start. So each row of the instant the snapshot
//! began is written once, as it was then, and nothing else is.
//!
//! Cost: a bit in each row, a branch in each change, one write of a row's head when it is
//! captured. What is captured and not yet taken is the added memory.
//! Not here: the order of tables, and who takes the bytes (`keyspace::snapshot`).

use super::content;
use crate::access::{AccessClock, Reading};
use crate::evict::Standing;
use crate::row::Row;
use crate::table::Table;
use keyward_rdb::{Part, RowHead, Usage};

/// What a snapshot says of a table's rows besides keys and values.
#[derive(Debug, Clone)]
pub(crate) struct RowFacts {
    /// The time at the instant of the snapshot.
    pub(crate) access: AccessClock,
    /// What is told of how its rows were used: what decides which of them goes if memory
    /// is short.
    pub(crate) reading: Option<Reading>,
}

impl RowFacts {
    /// What is told of the rows of a table now.
    pub(crate) fn of(table: &Table, access: &AccessClock) -> RowFacts {
        RowFacts { access: access.clone(), reading: table.standing.and_then(Standing::by_use) }
    }

    /// How a row was used, where that is told.
    pub(crate) fn usage(&self, row: &Row) -> Option<Usage> {
        let mark = row.clock();
        Some(match self.reading? {
            Reading::Recency => Usage::IdleSeconds(self.access.idle_seconds(mark).into()),
            Reading::Frequency => Usage::Frequency(self.access.frequency(mark)),
        })
    }
}

/// A snapshot being taken of one table.
#[derive(Debug)]
pub(crate) struct Capture {
    /// What is captured and not yet taken; `None` once nobody wants it.
    part: Option<Part>,
    facts: RowFacts,
    cursor: u64,
    is_walked: bool,
    rows: u64,
}

impl Capture {
    pub(crate) fn new(part: Part, facts: RowFacts) -> Capture {
        Capture { part: Some(part), facts, cursor: 0, is_walked: false, rows: 0 }
    }

    /// Captures a row as it is, unless that was done: it reaches the epoch.
    #[inline]
    pub(crate) fn row(&mut self, row: &mut Row, epoch: bool) {
        if row.epoch() != epoch {
            row.set_epoch(epoch);
            self.write(row);
        }
    }

    fn write(&mut self, row: &Row) {
        self.rows += 1;
        if let Some(part) = &mut self.part {
            let value = row.value();
            let usage = self.facts.usage(row);
            let head = RowHead { key: row.key(), deadline_ms: row.deadline(), usage };
            let output = part.row(head, content::form(value));
            output
                .and_then(|output| content::write(value, output))
                .expect("writing to memory succeeds");
        }
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

    /// Whether every row is captured.
    pub(crate) fn is_walked(&self) -> bool {
        self.is_walked
    }

    /// Nobody wants it any more: rows only reach the epoch.
    pub(crate) fn abandon(&mut self) {
        self.part = None;
    }

    /// Bytes that are captured and not yet taken.
    pub(crate) fn bytes(&self) -> usize {
        self.part.as_ref().map_or(0, Part::bytes)
    }

    /// Takes what is captured, and how many rows that is.
    pub(crate) fn take(&mut self) -> (Vec<u8>, u64) {
        let bytes = self.part.as_mut().filter(|part| part.bytes() > 0).map(Part::take);
        let bytes = bytes.map(|bytes| bytes.expect("writing to memory succeeds"));
        (bytes.unwrap_or_default(), std::mem::take(&mut self.rows))
    }
}
