//! A table: the rows of one key pattern, or of a whole schemaless database.
//!
//! Owns its rows, the index over them and the order of their deadlines.
//! Invariants: keys are unique; `deadlines` has exactly one entry for each row
//! that has a deadline (so deadlines change only through this module); `row_bytes`
//! is the sum over all rows, except while one is being changed. Every row is of the
//! table's epoch, or, while a snapshot is taken, has not been captured yet; whatever
//! changes or removes a row captures it first.
//! Not here: whether a due row still counts (`keyspace` decides, with the time),
//! what a change means for others (`keyspace::changes`).

mod deadlines;

pub(crate) use deadlines::DEADLINE_BYTES;

use crate::footprint::HeapBytes;
use crate::hasher::{Key, KeyHasher};
use crate::index::{Index, Spot};
use crate::prefetch::prefetch;
use crate::random::Random;
use crate::row::{NewValue, Row};
use crate::snapshot::Capture;
use crate::stats::TableStats;
use crate::value::Value;
use deadlines::Deadlines;
use keyward_schema::Evict;

/// Bytes of a row worth fetching ahead: its head, its key and a common value.
const PREFETCH_LINES: usize = 3;
const CACHE_LINE_BYTES: usize = 64;

/// Rows by key.
#[derive(Debug)]
pub(crate) struct Table {
    rows: Index<Row>,
    deadlines: Deadlines,
    hasher: KeyHasher,
    /// Flips when a snapshot begins.
    epoch: bool,
    /// The snapshot that is being taken of it.
    capture: Option<Box<Capture>>,
    /// When its rows go if memory is short.
    pub(crate) evict: Evict,
    /// What happened to its rows.
    pub(crate) stats: TableStats,
}

impl Table {
    /// A table without rows.
    pub(crate) fn new(hasher: KeyHasher, evict: Evict) -> Table {
        Table {
            rows: Index::default(),
            deadlines: Deadlines::default(),
            hasher,
            epoch: false,
            capture: None,
            evict,
            stats: TableStats::default(),
        }
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
    /// `set_deadline` and `replace` alone, and `resized` must be told if its bytes
    /// are not what they were.
    #[inline(always)]
    pub(crate) fn row_mut(&mut self, spot: Spot) -> &mut Row {
        self.before_change(spot);
        self.rows.at_mut(spot)
    }

    /// Learns that the row at a spot had so many bytes before it was changed.
    #[inline(always)]
    pub(crate) fn resized(&mut self, spot: Spot, bytes_before: usize) {
        let bytes = self.rows.at(spot).heap_bytes();
        self.rows.resized(bytes_before, bytes);
    }

    /// Sets the access clock of the row at a spot, which changes nothing else.
    #[inline(always)]
    pub(crate) fn set_clock(&mut self, spot: Spot, clock: u32) {
        self.rows.at_mut(spot).set_clock(clock);
    }

    /// Captures the row at a spot as it is, if a snapshot has yet to.
    #[inline(always)]
    fn before_change(&mut self, spot: Spot) {
        if let Some(capture) = &mut self.capture {
            capture.row(self.rows.at_mut(spot), self.epoch);
        }
    }

    /// Begins to take a snapshot of the table.
    pub(crate) fn begin_capture(&mut self, capture: Capture) {
        assert!(self.capture.is_none(), "one snapshot is taken at a time");
        self.epoch = !self.epoch;
        self.capture = Some(Box::new(capture));
    }

    /// The snapshot that is being taken of it.
    pub(crate) fn capture_mut(&mut self) -> Option<&mut Capture> {
        self.capture.as_deref_mut()
    }

    /// Whether no snapshot is being taken of it.
    pub(crate) fn is_captured(&self) -> bool {
        self.capture.is_none()
    }

    /// Whether no snapshot has yet to capture rows of it.
    pub(crate) fn is_walked(&self) -> bool {
        self.capture.as_ref().is_none_or(|capture| capture.is_walked())
    }

    /// Bytes that are captured and not yet taken.
    pub(crate) fn captured_bytes(&self) -> usize {
        self.capture.as_ref().map_or(0, |capture| capture.bytes())
    }

    /// Captures the rows of one more bucket.
    pub(crate) fn capture_bucket(&mut self) {
        if let Some(capture) = self.capture.as_mut().filter(|capture| !capture.is_walked()) {
            let epoch = self.epoch;
            let next = self.rows.scan_mut(capture.cursor(), |row| capture.row(row, epoch));
            capture.advance(next);
        }
    }

    /// Ends the snapshot, all rows being captured; answers what is left of it to write.
    pub(crate) fn end_capture(&mut self) -> Option<Box<Capture>> {
        assert!(self.is_walked(), "the epoch of every row is that of the table");
        self.capture.take()
    }

    /// Adds a row whose key is not there yet.
    pub(crate) fn insert(&mut self, hash: u64, mut row: Row) {
        row.set_epoch(self.epoch);
        self.deadlines.change(hash, None, row.deadline());
        let hasher = self.hasher;
        self.rows.insert(hash, row, |row| hasher.hash(row.key()));
    }

    /// Takes a row out.
    pub(crate) fn remove(&mut self, key: Key<'_>) -> Option<Row> {
        let mut row = self.rows.remove(key.hash, |row| row.key() == key.bytes)?;
        if let Some(capture) = &mut self.capture {
            capture.row(&mut row, self.epoch);
        }
        self.deadlines.change(key.hash, row.deadline(), None);
        Some(row)
    }

    /// Replaces the value and the deadline of the row at a spot. Answers the old
    /// row if it held a collection, for freeing it.
    #[inline]
    pub(crate) fn replace(
        &mut self,
        spot: Spot,
        hash: u64,
        value: NewValue<'_>,
        deadline: Option<i64>,
    ) -> Option<Row> {
        self.before_change(spot);
        let (row, epoch) = (self.rows.at(spot), self.epoch);
        self.deadlines.change(hash, row.deadline(), deadline);
        self.rows.edit(spot, |row| {
            if matches!(row.value(), Value::Object(_)) {
                let mut new = Row::new(row.key(), value, deadline);
                new.set_epoch(epoch);
                return Some(std::mem::replace(row, new));
            }
            row.replace(value, deadline);
            None
        })
    }

    /// Puts a row of the same key in the place of another, which it answers.
    pub(crate) fn exchange(&mut self, spot: Spot, hash: u64, mut row: Row) -> Row {
        self.before_change(spot);
        row.set_epoch(self.epoch);
        self.deadlines.change(hash, self.rows.at(spot).deadline(), row.deadline());
        self.rows.edit(spot, |place| std::mem::replace(place, row))
    }

    /// Changes the deadline of the row at a spot.
    pub(crate) fn set_deadline(&mut self, spot: Spot, hash: u64, deadline: Option<i64>) {
        self.before_change(spot);
        self.deadlines.change(hash, self.rows.at(spot).deadline(), deadline);
        self.rows.edit(spot, |row| row.set_deadline(deadline));
    }

    /// The key of a row whose deadline has passed, the longest overdue first.
    pub(crate) fn due_key(&self, now_ms: i64) -> Option<Box<[u8]>> {
        Some(self.first_to_end().filter(|row| row.deadline() < Some(now_ms))?.key().into())
    }

    /// The row that ends soonest.
    pub(crate) fn first_to_end(&self) -> Option<&Row> {
        self.deadlines.first().map(|entry| self.row_of(entry))
    }

    fn row_of(&self, (deadline, hash): (i64, u32)) -> &Row {
        let is_it = |row: &Row| {
            row.deadline() == Some(deadline) && self.hasher.hash(row.key()) as u32 == hash
        };
        self.rows.find(u64::from(hash), is_it).expect("every deadline belongs to a row")
    }

    /// A row with a deadline, drawn by chance.
    pub(crate) fn sample_expiring(&self, random: &mut Random) -> Option<&Row> {
        self.deadlines.sample(random).map(|entry| self.row_of(entry))
    }

    /// Hands over rows, about `budget` of them, and answers how much was done.
    /// The table is not to be used any more.
    pub(crate) fn shed(&mut self, budget: usize, receive: impl FnMut(Row)) -> usize {
        match self.deadlines.shed(budget) {
            0 => self.rows.shed(budget, receive),
            shed => shed,
        }
    }

    /// Bytes of everything: rows, index and deadlines.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.row_bytes() + self.index_bytes() + self.deadline_bytes()
    }

    /// Bytes of the rows with all they hold.
    pub(crate) fn row_bytes(&self) -> usize {
        self.rows.entry_bytes()
    }

    /// Bytes of the index, rows aside.
    pub(crate) fn index_bytes(&self) -> usize {
        self.rows.own_bytes()
    }

    /// Bytes of the order of deadlines.
    pub(crate) fn deadline_bytes(&self) -> usize {
        self.deadlines.heap_bytes()
    }

    /// When the first row ends.
    pub(crate) fn next_deadline(&self) -> Option<i64> {
        self.deadlines.first().map(|(deadline, _)| deadline)
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
