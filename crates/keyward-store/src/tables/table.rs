//! A table: the rows of one key pattern, or of a whole schemaless database.
//!
//! Owns its rows, the index over them and the order of their deadlines. Under a schema
//! rows are packed (`packed`), but not by who writes them: a row that is written,
//! handed out for changing or read again and again is a loose one, and stays so until
//! nobody has used it for some seconds and there is leisure (`Table::pack_idle`). Only
//! where loose rows become too many do writes pack as many as they add (`Table::pack`).
//! Lists are looked through (`lists`). Rows that cannot be packed stay loose for ever.
//! Invariants: keys are unique, and a row is loose or packed; `deadlines` has exactly one entry for each row
//! that has a deadline (so deadlines change only through this module); `row_bytes`
//! is the sum over all rows, except while one is being changed. Every row is of the
//! table's epoch, or, while a snapshot is taken, has not been captured yet; whatever
//! changes or removes a row captures it first.
//! Not here: whether a due row still counts (`keyspace` decides, with the time),
//! what a change means for others (`keyspace::changes`).

pub mod compressed;
pub mod deadlines;
pub mod fresh;
pub mod gather;
pub mod lists;
pub(crate) mod neighbours;
pub mod packed;
pub mod packing;
pub mod page;
pub mod stand_ins;
mod weed;

pub use gather::GatherPlace;
pub(crate) use gather::{COLLECTION_PART, PartMoved};
pub(crate) use neighbours::Neighbour;
pub use packed::Place;

use crate::capture::large::LargeRow;
use crate::capture::{Capture, RowFacts};
use crate::tables::companions::Companions;
use crate::tables::counters::TableStats;
use crate::tables::eviction::Standing;
use crate::values::access::{AccessClock, Reading};
use crate::values::footprint::HeapBytes;
use crate::values::hasher::{Key, KeyHasher};
use crate::values::index::{Index, Indexed, Spot};
use crate::values::linear::next_cursor;
use crate::values::list::List;
use crate::values::prefetch::{prefetch, prefetch_bytes};
use crate::values::random::Random;
use crate::values::row::{LentRow, NewValue, Row};
use crate::values::value::{Object, ObjectRef, Value};
use deadlines::{Deadlines, Looks};
use fresh::Fresh;
use keyward_packing::Packer;
use lists::Lists;
pub use packed::LeavingRow;
use packed::PackedRows;
use packing::fresh_bytes_max;
use std::borrow::Cow;

/// Bytes of a row worth fetching ahead: its head, its key and a common value.
const PREFETCH_LINES: usize = 3;
const CACHE_LINE_BYTES: usize = 64;
/// How much a write packs where too much waits: more than it adds, so that those behind it need not.
const PACKED_PER_WRITE: usize = 32;
/// What taking a packed row out costs, in those of loose ones.
pub(crate) const WORK_OF_PACKED: usize = 8;
/// Rows by key.
#[derive(Debug)]
pub struct Table {
    /// The loose ones.
    rows: Index<Row>,
    /// The others, if rows are packed at all.
    packed: Option<Box<PackedRows>>,
    /// The loose ones that are to be packed. Some may be gone.
    fresh: Fresh,
    /// Of lists, how far looking for idle ones has come.
    lists: Lists,
    deadlines: Deadlines,
    /// The rows that live with other keys, if such is the pattern's lifetime.
    pub companions: Companions,
    hasher: KeyHasher,
    /// Flips when a snapshot begins.
    epoch: bool,
    /// The snapshot that is being taken of it.
    capture: Option<Box<Capture>>,
    /// When its rows go if memory is short; `None` if they stay.
    pub(crate) standing: Option<Standing>,
    /// What happened to its rows.
    pub stats: TableStats,
}

/// Where a row is, until the next insertion or removal.
#[derive(Debug, Clone, Copy)]
pub enum Found {
    /// It is a loose one.
    Loose(Spot),
    /// It is packed.
    Packed(Place),
}

impl Table {
    /// A table without rows.
    pub fn new(hasher: KeyHasher, standing: Option<Standing>) -> Table {
        Table {
            rows: Index::default(),
            packed: None,
            fresh: Fresh::default(),
            lists: Lists::default(),
            deadlines: Deadlines::default(),
            companions: Companions::new(hasher),
            hasher,
            epoch: false,
            capture: None,
            standing,
            stats: TableStats::default(),
        }
    }

    /// A table without rows for the keys of a pattern.
    pub fn governed(hasher: KeyHasher, key: &keyward_schema::Key) -> Table {
        let packer = Packer::new(key, hasher.keys());
        let packed = packer.map(|packer| {
            let mut packed = PackedRows::new(packer, hasher);
            packed.compress_above(key.compress);
            Box::new(packed)
        });
        Table { packed, ..Table::new(hasher, Standing::by_schema(key.evict)) }
    }

    #[cfg(test)]
    fn hasher(&self) -> KeyHasher {
        self.hasher
    }

    /// What the marks of its rows say.
    #[inline(always)]
    pub fn reading(&self) -> Reading {
        self.standing.and_then(Standing::by_use).unwrap_or(Reading::Recency)
    }

    /// What a snapshot says of its rows now.
    pub fn row_facts(&self, access: &AccessClock) -> RowFacts {
        RowFacts { access: access.clone(), reading: self.standing.and_then(Standing::by_use) }
    }

    /// How many rows there are, due ones included.
    pub fn len(&self) -> usize {
        self.rows.len() + self.packed.as_ref().map_or(0, |packed| packed.len())
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many rows have a deadline.
    pub fn expiring(&self) -> usize {
        self.deadlines.len()
    }

    /// The average deadline of those that have one.
    pub fn mean_deadline(&self) -> Option<i64> {
        self.deadlines.mean_ms()
    }

    /// Hints that the ends of rows will be counted: of a table whose turn comes soon, and of one
    /// whose turn comes next.
    pub fn prefetch_ends(soon: Option<&Table>, next: Option<&Table>) {
        soon.iter().for_each(|table| table.deadlines.prefetch_runs());
        next.iter().for_each(|table| table.deadlines.prefetch_last());
    }

    /// How many rows end before each of some moments, which are in order; says in `looks`
    /// whether that is exact.
    pub fn count_before(&self, moments: &[i64], counts: &mut [usize], looks: &mut Looks) {
        self.deadlines.count_before(moments, counts, looks);
    }

    /// The row of a key.
    #[inline(always)]
    pub fn find(&self, key: Key<'_>) -> Option<LentRow<'_>> {
        match self.find_loose(key) {
            Some(row) => Some(LentRow::Loose(row)),
            None => self.find_packed(key),
        }
    }

    fn find_packed(&self, key: Key<'_>) -> Option<LentRow<'_>> {
        let packed = self.packed.as_ref()?;
        let place = packed.find(key.hash, key.bytes)?;
        Some(LentRow::Unpacked(packed.unpack(place)))
    }

    /// The row of a key, unless it is packed: one that was just handed out for changing
    /// is not, nor is a set or a sorted set.
    #[inline(always)]
    pub fn find_loose(&self, key: Key<'_>) -> Option<&Row> {
        self.rows.find(key.hash, |row| row.key() == key.bytes)
    }

    /// Where the row of a key is, until the next insertion or removal.
    #[inline(always)]
    pub(crate) fn seek(&self, key: Key<'_>) -> Option<Found> {
        match self.rows.locate(key.hash, |row| row.key() == key.bytes) {
            Some(spot) => Some(Found::Loose(spot)),
            None => self.packed.as_ref()?.find(key.hash, key.bytes).map(Found::Packed),
        }
    }

    /// As `seek`, but the row is a loose one then.
    #[inline(always)]
    pub(crate) fn locate(&mut self, key: Key<'_>) -> Option<Spot> {
        match self.seek(key)? {
            Found::Loose(spot) => Some(spot),
            Found::Packed(place) => Some(self.loosen(key, place)),
        }
    }

    /// Makes the packed row of a key a loose one; returns where it is.
    pub(crate) fn loosen(&mut self, key: Key<'_>, place: Place) -> Spot {
        let row = self.unopened_mut().take(place);
        self.insert_loose(key.hash, row);
        let spot = self.rows.locate(key.hash, |row| row.key() == key.bytes);
        spot.expect("the row was just put there")
    }

    /// Adds a loose row whose deadline is known.
    #[inline]
    fn insert_loose(&mut self, hash: u64, row: Row) {
        if matches!(row.value(), Value::Object(ObjectRef::List(_))) {
            self.lists.add();
        } else if let Some(packed) = &self.packed {
            let bytes_max = fresh_bytes_max(packed);
            self.fresh.push(hash as u32, row.heap_bytes(), row.clock());
            if self.fresh.row_bytes() > bytes_max {
                self.pack(PACKED_PER_WRITE);
            }
        }
        let hasher = self.hasher;
        self.rows.insert(hash, row, |row| hasher.hash(row.key()));
    }

    /// The row at a spot.
    #[inline(always)]
    pub fn row(&self, spot: Spot) -> &Row {
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

    /// Captures the row at a spot as it is, if a snapshot has yet to.
    #[inline(always)]
    fn before_change(&mut self, spot: Spot) {
        if let Some(capture) = &mut self.capture {
            capture.row(self.rows.at_mut(spot), self.epoch);
        }
    }

    /// Tells a snapshot that something of the large collection at a spot is about to change.
    #[inline]
    pub(crate) fn before_part_change(
        &mut self,
        spot: Spot,
        tell: impl FnOnce(&mut LargeRow, ObjectRef<'_>),
    ) {
        if self.capture.is_some() {
            self.before_change(spot);
            let row = self.rows.at(spot);
            let large = self.capture.as_mut().and_then(|capture| capture.large_mut(row.key()));
            if let (Some(large), Value::Object(object)) = (large, row.value()) {
                tell(large, object);
            }
        }
    }

    /// Captures all of the row at a spot, however large.
    #[inline]
    pub(crate) fn capture_whole(&mut self, spot: Spot) {
        if let Some(capture) = &mut self.capture {
            capture.leaving(self.rows.at_mut(spot), self.epoch);
        }
    }

    /// Lets a snapshot keep the large collection of a key, if it has yet to capture it: the
    /// row is about to be freed. What is left of it is empty.
    #[inline(always)]
    pub(crate) fn yield_large(&mut self, key: Key<'_>) {
        if self.capture.is_some() {
            self.yield_to_capture(key);
        }
    }

    fn yield_to_capture(&mut self, key: Key<'_>) {
        let (Some(capture), Some(spot)) =
            (&mut self.capture, self.rows.locate(key.hash, |row| row.key() == key.bytes))
        else {
            return;
        };
        capture.row(self.rows.at_mut(spot), self.epoch);
        let Some(large) = capture.large_mut(key.bytes) else { return };
        let epoch = self.epoch;
        let row = self.rows.edit(spot, |row| {
            let empty = NewValue::Object(Object::List(List::default()));
            let mut rest = Row::new(key.bytes, empty, row.deadline());
            rest.set_epoch(epoch);
            rest.set_clock(row.clock());
            std::mem::replace(row, rest)
        });
        large.keep(row);
    }

    /// Whether there are large rows to be handed over.
    pub(crate) fn has_large(&self) -> bool {
        self.capture.as_ref().is_some_and(|capture| capture.has_large())
    }

    /// Whether a large row is handed over in part.
    pub(crate) fn is_amid_large(&self) -> bool {
        self.capture.as_ref().is_some_and(|capture| capture.is_amid_large())
    }

    /// Goes on with the next large row: returns its next bytes, and itself if it is over.
    pub(crate) fn step_large(&mut self, effort: usize) -> (Vec<u8>, Option<LargeRow>) {
        let Some(capture) = &mut self.capture else { return (Vec::new(), None) };
        let Some(key) = capture.next_large() else { return (Vec::new(), None) };
        let row = self.rows.find(self.hasher.hash(key), |row| row.key() == key);
        capture.step_large(row, effort)
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

    /// Whether a snapshot is being taken of it.
    pub(crate) fn is_being_captured(&self) -> bool {
        self.capture.is_some()
    }

    /// Whether no snapshot has yet to capture rows of it.
    pub(crate) fn is_walked(&self) -> bool {
        self.capture.as_ref().is_none_or(|capture| capture.is_walked())
    }

    /// Bytes of rows that are captured and not yet taken, large ones aside.
    pub fn captured_bytes(&self) -> usize {
        self.capture.as_ref().map_or(0, |capture| capture.bytes())
    }

    /// Bytes that a snapshot takes for large rows.
    pub(crate) fn large_bytes(&self) -> usize {
        self.capture.as_ref().map_or(0, |capture| capture.large_bytes())
    }

    /// Captures the rows of one more bucket.
    pub(crate) fn capture_bucket(&mut self) {
        if let Some(capture) = self.capture.as_mut().filter(|capture| !capture.is_walked()) {
            let (epoch, cursor) = (self.epoch, capture.cursor());
            let Some(packed) = &mut self.packed else {
                let next = self.rows.scan_mut(cursor, |row| capture.row(row, epoch));
                capture.advance(next);
                return;
            };
            let shared = self.rows.shared_bits(cursor).max(packed.shared_bits(cursor));
            // Loose rows of a coarser bucket are captured earlier than they must be.
            self.rows.scan_mut(cursor, |row| capture.row(row, epoch));
            packed.reach_epoch((cursor, shared), epoch, |mut row| capture.row(&mut row, epoch));
            capture.advance(next_cursor(cursor, shared));
        }
    }

    /// Ends the snapshot, all rows being captured; returns what is left of it to write.
    pub(crate) fn end_capture(&mut self) -> Option<Box<Capture>> {
        assert!(self.is_walked(), "the epoch of every row is that of the table");
        assert!(!self.has_large(), "every large row is handed over");
        self.capture.take()
    }

    /// Adds a row whose key is not there yet.
    pub fn insert(&mut self, hash: u64, mut row: Row) {
        row.set_epoch(self.epoch);
        self.deadlines.change(hash, None, row.deadline());
        self.insert_loose(hash, row);
    }

    /// Makes room for so many rows.
    pub fn expect_rows(&mut self, rows: usize) {
        self.rows.expect(rows);
    }

    /// Gives back room for rows that did not come.
    pub fn trim(&mut self) {
        self.rows.trim();
    }

    /// Takes a row out.
    pub fn remove(&mut self, key: Key<'_>) -> Option<Row> {
        let loose = self.rows.remove(key.hash, |row| row.key() == key.bytes);
        let mut row = match loose {
            Some(row) => row,
            None => {
                let packed = self.packed.as_mut()?;
                packed.take(packed.find(key.hash, key.bytes)?)
            }
        };
        if let Some(capture) = &mut self.capture {
            capture.leaving(&mut row, self.epoch);
        }
        self.deadlines.change(key.hash, row.deadline(), None);
        Some(row)
    }

    /// Removes a packed row that nobody wants to see again, without unpacking it.
    pub(crate) fn remove_packed(&mut self, place: Place, hash: u64) {
        let packed = self.unopened_mut();
        let deadline = packed.deadline(place);
        packed.remove(place);
        self.deadlines.change(hash, deadline, None);
    }

    /// Replaces the value and the deadline of the row at a spot. Returns the old
    /// row if it held a collection, for freeing it.
    #[inline]
    pub fn replace(
        &mut self,
        spot: Spot,
        hash: u64,
        value: NewValue<'_>,
        deadline: Option<i64>,
    ) -> Option<Row> {
        self.capture_whole(spot);
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

    /// Puts a row of the same key in the place of another, which it returns.
    pub fn exchange(&mut self, spot: Spot, hash: u64, mut row: Row) -> Row {
        self.capture_whole(spot);
        row.set_epoch(self.epoch);
        self.deadlines.change(hash, self.rows.at(spot).deadline(), row.deadline());
        self.rows.edit(spot, |place| std::mem::replace(place, row))
    }

    /// Changes the deadline of the row at a spot.
    pub fn set_deadline(&mut self, spot: Spot, hash: u64, deadline: Option<i64>) {
        self.before_change(spot);
        self.deadlines.change(hash, self.rows.at(spot).deadline(), deadline);
        self.rows.edit(spot, |row| row.set_deadline(deadline));
    }

    /// Changes the deadline of the row at a spot; whether the log had a later one. A snapshot
    /// that has yet to capture the row does so first, and begins the log anew.
    pub(crate) fn renew(&mut self, spot: Spot, hash: u64, deadline: i64) -> bool {
        self.before_change(spot);
        let was_told_later = self.rows.at(spot).is_told_later();
        self.set_deadline(spot, hash, Some(deadline));
        was_told_later
    }

    /// The log has a later end of the row at a spot than its deadline.
    pub(crate) fn mark_told_later(&mut self, spot: Spot) {
        self.rows.edit(spot, |row| row.set_told_later(true));
    }

    /// The key of a row whose deadline has passed, the longest overdue first.
    pub(crate) fn due_key(&self, now_ms: i64) -> Option<Box<[u8]>> {
        self.next_deadline().filter(|deadline| *deadline < now_ms).and(self.first_to_end())
    }

    /// The key of the row that ends soonest.
    pub(crate) fn first_to_end(&self) -> Option<Box<[u8]>> {
        let entry = self.deadlines.first()?;
        if let Some(row) = self.loose_row_of(entry) {
            return Some(row.key().into());
        }
        let packed = self.packed.as_ref()?;
        Some(packed.key(packed.find_ending(entry.0, entry.1)?).into())
    }

    fn loose_row_of(&self, (deadline, hash): (i64, u32)) -> Option<&Row> {
        self.rows.find(u64::from(hash), |row| {
            row.deadline() == Some(deadline) && self.hasher.hash(row.key()) as u32 == hash
        })
    }

    fn row_of(&self, (deadline, hash): (i64, u32)) -> LentRow<'_> {
        if let Some(row) = self.loose_row_of((deadline, hash)) {
            return LentRow::Loose(row);
        }
        let packed = self.packed.as_ref().and_then(|packed| {
            packed.find_ending(deadline, hash).map(|place| LentRow::Unpacked(packed.unpack(place)))
        });
        packed.expect("every deadline belongs to a row")
    }

    /// As `draw`, of a row with a deadline.
    pub(crate) fn draw_expiring(&self, random: &mut Random) -> Option<(Cow<'_, [u8]>, u32)> {
        let row = self.deadlines.sample(random).map(|entry| self.row_of(entry))?;
        Some((Cow::Owned(row.key().into()), row.clock()))
    }

    /// Hands over rows, about `budget` of them, and returns how much was done.
    /// The table is not to be used any more.
    pub fn shed(&mut self, budget: usize, mut receive: impl FnMut(LeavingRow<'_>)) -> usize {
        let mut shed = self.deadlines.shed(budget);
        if shed == 0 {
            shed = self.companions.shed(budget);
        }
        if shed == 0 {
            shed = self.fresh.shed(budget);
        }
        if shed == 0 {
            shed = self.rows.shed(budget, |row| receive(LeavingRow::Loose(row)));
        }
        let Some(packed) = self.packed.as_mut().filter(|_| shed == 0) else { return shed };
        match packed.shed(budget.div_ceil(WORK_OF_PACKED), receive) {
            0 => packed.shed_words(budget),
            rows => rows * WORK_OF_PACKED,
        }
    }

    /// Bytes of everything: rows, index and deadlines.
    pub fn heap_bytes(&self) -> usize {
        self.row_bytes() + self.index_bytes() + self.deadline_bytes()
    }

    /// Bytes of the rows with all they hold.
    pub(crate) fn row_bytes(&self) -> usize {
        self.rows.entry_bytes() + self.packed.as_ref().map_or(0, |packed| packed.row_bytes())
    }

    /// Bytes of the index, rows aside.
    pub fn index_bytes(&self) -> usize {
        let packed = self.packed.as_ref().map_or(0, |packed| packed.own_bytes());
        self.rows.own_bytes() + packed + self.fresh.heap_bytes() + self.companions.heap_bytes()
    }

    /// Bytes of the order of deadlines.
    pub fn deadline_bytes(&self) -> usize {
        self.deadlines.heap_bytes()
    }

    /// When the first row ends.
    pub fn next_deadline(&self) -> Option<i64> {
        self.deadlines.first().map(|(deadline, _)| deadline)
    }

    /// Visits the rows of one bucket; returns the next cursor, zero at the end.
    pub fn scan(&self, cursor: u64, mut visit: impl FnMut(&Row)) -> u64 {
        let Some(packed) = &self.packed else { return self.rows.scan(cursor, visit) };
        let shared = self.rows.shared_bits(cursor).max(packed.shared_bits(cursor));
        let is_finer = shared > self.rows.shared_bits(cursor);
        self.rows.scan(cursor, |row| {
            if !is_finer || (self.hasher.hash(row.key()) ^ cursor) & shared == 0 {
                visit(row);
            }
        });
        packed.scan(cursor, shared, |row| visit(&row));
        next_cursor(cursor, shared)
    }

    /// Every row.
    pub fn iter(&self) -> impl Iterator<Item = LentRow<'_>> {
        let packed = self.packed.iter().flat_map(|packed| packed.iter());
        self.rows.iter().map(LentRow::Loose).chain(packed.map(LentRow::Unpacked))
    }

    /// A row drawn by chance.
    pub fn sample(&self, random: &mut Random) -> Option<LentRow<'_>> {
        let packed = self.packed.as_ref().filter(|packed| packed.len() > 0);
        if let Some(packed) = packed
            && random.below(self.len() as u64) as usize >= self.rows.len()
        {
            return packed.sample(random).map(LentRow::Unpacked);
        }
        self.rows.sample(random).map(LentRow::Loose)
    }

    /// The key of a row drawn by chance, and the mark of its use.
    pub fn draw(&self, random: &mut Random) -> Option<(Cow<'_, [u8]>, u32)> {
        if let Some(packed) = &self.packed
            && random.below(self.len().max(1) as u64) as usize >= self.rows.len()
        {
            let place = packed.draw(random)?;
            return Some((Cow::Owned(packed.key(place)), packed.clock(place)));
        }
        self.rows.sample(random).map(|row| (Cow::Borrowed(row.key()), row.clock()))
    }

    /// When a row ends, if it is there and does.
    pub(crate) fn deadline_of(&self, key: Key<'_>) -> Option<i64> {
        self.seek(key).and_then(|found| self.deadline_at(found))
    }

    /// When the row that was found ends.
    #[inline(always)]
    pub(crate) fn deadline_at(&self, found: Found) -> Option<i64> {
        match found {
            Found::Loose(spot) => self.row(spot).deadline(),
            Found::Packed(place) => self.unopened().deadline(place),
        }
    }

    /// The mark of a row's use, if it is there.
    pub(crate) fn mark_of(&self, key: Key<'_>) -> Option<u32> {
        self.seek(key).map(|found| self.clock_at(found))
    }

    /// The access clock of the row that was found.
    #[inline(always)]
    pub(crate) fn clock_at(&self, found: Found) -> u32 {
        match found {
            Found::Loose(spot) => self.row(spot).clock(),
            Found::Packed(place) => self.unopened().clock(place),
        }
    }

    /// Goes on as the table of a pattern that says this of its rows.
    pub(crate) fn heed(&mut self, key: &keyward_schema::Key) {
        self.standing = Standing::by_schema(key.evict);
        if let Some(packed) = &mut self.packed {
            packed.compress_above(key.compress);
        }
    }

    /// Sets it, which changes nothing else.
    #[inline(always)]
    pub(crate) fn set_clock_at(&mut self, found: Found, clock: u32) {
        match found {
            Found::Loose(spot) => self.rows.at_mut(spot).set_clock(clock),
            Found::Packed(place) => self.unopened_mut().set_clock(place, clock),
        }
    }

    /// Marks the row that was found as used; returns the mark it had.
    #[inline(always)]
    pub(crate) fn touch(&mut self, found: Found, access: &AccessClock, random: &mut Random) -> u32 {
        let before = self.clock_at(found);
        let clock = access.next_mark(self.reading(), before, random);
        if before != clock {
            self.set_clock_at(found, clock);
        }
        before
    }

    fn unopened(&self) -> &PackedRows {
        self.packed.as_ref().expect("a place is of a packed row")
    }

    fn unopened_mut(&mut self) -> &mut PackedRows {
        self.packed.as_mut().expect("a place is of a packed row")
    }

    /// Appends the text of the packed row at a place, which is that of this key; whether
    /// it holds one.
    pub(crate) fn packed_text(&self, place: Place, key: &[u8], out: &mut Vec<u8>) -> bool {
        self.unopened().text(place, key, out)
    }

    /// Puts a row of the same key in the place of a packed one.
    pub(crate) fn replace_packed(&mut self, place: Place, hash: u64, mut row: Row) {
        let packed = self.unopened_mut();
        let before = packed.deadline(place);
        packed.remove(place);
        row.set_epoch(self.epoch);
        self.deadlines.change(hash, before, row.deadline());
        self.insert_loose(hash, row);
    }

    /// As `replace_packed`, but returns the row that was there.
    pub(crate) fn exchange_packed(&mut self, place: Place, hash: u64, mut row: Row) -> Row {
        self.deadlines.prefetch(hash, self.unopened().deadline(place));
        let before = self.unopened_mut().take(place);
        row.set_epoch(self.epoch);
        self.deadlines.change(hash, before.deadline(), row.deadline());
        self.insert_loose(hash, row);
        before
    }

    /// What a row takes: its own bytes and its part of everything else that the table
    /// has, in whole bytes. All rows together take what the table does, and less than a
    /// byte each beyond it.
    pub fn usage(&self, key: Key<'_>) -> Option<usize> {
        let own = match self.seek(key)? {
            Found::Loose(spot) => self.row(spot).heap_bytes(),
            Found::Packed(place) => self.unopened().bytes_of(place),
        };
        let shared = self.index_bytes() + self.deadline_bytes();
        Some(own + shared.div_ceil(self.len()))
    }

    /// Hints that the bucket of this hash will be read soon.
    #[inline(always)]
    pub fn prefetch_bucket(&self, hash: u64) {
        self.rows.prefetch_bucket(hash);
        if let Some(packed) = &self.packed {
            packed.prefetch_page(hash);
        }
    }

    /// Hints that the row of this hash will be read soon; returns whether it may be packed.
    /// Reads the bucket.
    #[inline(always)]
    pub fn prefetch_row(&self, hash: u64) -> bool {
        let mut is_loose = false;
        self.rows.each_candidate(hash, |row| {
            is_loose = true;
            for line in 0..PREFETCH_LINES {
                prefetch(row.address().wrapping_add(line * CACHE_LINE_BYTES));
            }
        });
        match &self.packed {
            Some(packed) if !is_loose => {
                packed.prefetch_tags(hash);
                true
            }
            _ => false,
        }
    }

    /// Hints that all of the row of this hash, and of the page that it belongs into, will
    /// be read soon. Reads the beginning of the row.
    fn prefetch_whole(&self, hash: u64) {
        self.rows.each_candidate(hash, |row| prefetch_bytes(row.address(), row.heap_bytes()));
        if let Some(packed) = &self.packed {
            packed.prefetch_whole_page(hash);
        }
    }

    /// Hints that the row of this hash will be read soon, if it is packed: it is found by
    /// reading its page.
    #[inline(always)]
    pub fn prefetch_packed_row(&self, hash: u64) {
        if let Some(packed) = &self.packed {
            packed.prefetch_row(hash);
        }
    }
}
