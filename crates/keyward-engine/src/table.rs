//! A table: the rows of one key pattern, or of a whole schemaless database.
//!
//! Owns its rows, the index over them and the order of their deadlines.
//! Invariants: keys are unique; `deadlines` has exactly one entry for each row
//! that has a deadline (so deadlines change only through this module).
//! Not here: whether a due row still counts (`keyspace` decides, with the time),
//! what a change means for others (`keyspace::changes`).

mod deadlines;

use crate::hasher::{Key, KeyHasher};
use crate::index::{Index, Spot};
use crate::prefetch::prefetch;
use crate::random::Random;
use crate::row::{NewValue, Row};
use deadlines::Deadlines;

/// Bytes of a row worth fetching ahead: its head, its key and a common value.
const PREFETCH_LINES: usize = 3;
const CACHE_LINE_BYTES: usize = 64;

/// Rows by key.
#[derive(Debug)]
pub(crate) struct Table {
    rows: Index<Row>,
    deadlines: Deadlines,
    hasher: KeyHasher,
}

impl Table {
    /// A table without rows.
    pub(crate) fn new(hasher: KeyHasher) -> Table {
        Table { rows: Index::default(), deadlines: Deadlines::default(), hasher }
    }

    /// How many rows there are, due ones included.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// How many rows have a deadline.
    pub(crate) fn expiring(&self) -> usize {
        self.deadlines.len()
    }

    /// The average deadline of those that have one.
    pub(crate) fn mean_deadline(&self) -> Option<i64> {
        self.deadlines.mean_ms()
    }

    /// The row of a key.
    #[inline(always)]
    pub(crate) fn find(&self, key: Key<'_>) -> Option<&Row> {
        self.rows.find(key.hash, |row| row.key() == key.bytes)
    }

    /// Where the row of a key is, until the next insertion or removal.
    #[inline(always)]
    pub(crate) fn locate(&self, key: Key<'_>) -> Option<Spot> {
        self.rows.locate(key.hash, |row| row.key() == key.bytes)
    }

    /// The row at a spot.
    #[inline(always)]
    pub(crate) fn row(&self, spot: Spot) -> &Row {
        self.rows.at(spot)
    }

    /// The row at a spot, for changing its value. Deadlines change through
    /// `set_deadline` and `replace` alone.
    #[inline(always)]
    pub(crate) fn row_mut(&mut self, spot: Spot) -> &mut Row {
        self.rows.at_mut(spot)
    }

    /// Adds a row whose key is not there yet.
    pub(crate) fn insert(&mut self, hash: u64, row: Row) {
        self.deadlines.change(hash, None, row.deadline());
        let hasher = self.hasher;
        self.rows.insert(hash, row, |row| hasher.hash(row.key()));
    }

    /// Takes a row out.
    pub(crate) fn remove(&mut self, key: Key<'_>) -> Option<Row> {
        let row = self.rows.remove(key.hash, |row| row.key() == key.bytes)?;
        self.deadlines.change(key.hash, row.deadline(), None);
        Some(row)
    }

    /// Replaces the value and the deadline of the row at a spot.
    pub(crate) fn replace(
        &mut self,
        spot: Spot,
        hash: u64,
        value: NewValue<'_>,
        deadline: Option<i64>,
    ) {
        let row = self.rows.at_mut(spot);
        self.deadlines.change(hash, row.deadline(), deadline);
        row.replace(value, deadline);
    }

    /// Changes the deadline of the row at a spot.
    pub(crate) fn set_deadline(&mut self, spot: Spot, hash: u64, deadline: Option<i64>) {
        let row = self.rows.at_mut(spot);
        self.deadlines.change(hash, row.deadline(), deadline);
        row.set_deadline(deadline);
    }

    /// The key of a row whose deadline has passed, the longest overdue first.
    pub(crate) fn due_key(&self, now_ms: i64) -> Option<Box<[u8]>> {
        let hash = self.deadlines.due(now_ms)?;
        let is_due = |row: &Row| row.deadline().is_some_and(|deadline| deadline < now_ms);
        let row = self.rows.find(hash, |row| is_due(row) && self.hasher.hash(row.key()) == hash);
        Some(row.expect("every queued deadline belongs to a row").key().into())
    }

    /// Visits the rows of one bucket; returns the next cursor, zero at the end.
    pub(crate) fn scan(&self, cursor: u64, visit: impl FnMut(&Row)) -> u64 {
        self.rows.scan(cursor, visit)
    }

    /// Every row.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter()
    }

    /// A row drawn by chance.
    pub(crate) fn sample(&self, random: &mut Random) -> Option<&Row> {
        self.rows.sample(random)
    }

    /// Hints that the bucket of this hash will be read soon.
    #[inline(always)]
    pub(crate) fn prefetch_bucket(&self, hash: u64) {
        self.rows.prefetch_bucket(hash);
    }

    /// Hints that the row of this hash will be read soon. Reads the bucket.
    #[inline(always)]
    pub(crate) fn prefetch_row(&self, hash: u64) {
        self.rows.each_candidate(hash, |row| {
            for line in 0..PREFETCH_LINES {
                prefetch(row.address().wrapping_add(line * CACHE_LINE_BYTES));
            }
        });
    }
}
