//! When the loose rows of a table are packed, and how many at a time.
//!
//! Those that were written first are tried first. One that is in use is put off, and one
//! that takes several steps is tried again by the next.
//! Invariant: a step ends as soon as it has done its work, so that it is longer than that
//! by one row at most.
//! Not here: lists, which are looked through (`lists`), how rows are packed (`packed`).

use super::Table;
use super::packed::{PackedRows, Packing};
use crate::values::access::{AccessClock, Reading};
use crate::values::footprint::HeapBytes as _;
use crate::values::index::Indexed as _;
use crate::values::row::Row;
use crate::values::value::{ObjectRef, Value};

/// Bytes of rows that wait to be packed beyond which writes do it themselves, unless
/// there are more than `FRESH_SHARE` times as many packed ones.
pub(super) const FRESH_BYTES_MAX: usize = 32 * 1024 * 1024;
const FRESH_SHARE: usize = 4;
/// Rows that are packed together, so that waiting for the memory of one hides in the
/// work on others.
const PACKED_AT_ONCE: usize = 16;
/// Bytes of a row that are packed as one piece of work.
const PACKED_BYTES_PER_WORK: usize = 256;
/// Items of a list that are, beside their bytes.
const PACKED_ITEMS_PER_WORK: usize = 8;

/// What came of trying to pack a row.
pub(super) enum Tried {
    /// That was all.
    Over,
    /// It is to be tried again: so far a part of it is done.
    Begun,
    /// It is in use, and to be tried later. It has so many bytes, and this mark of use.
    InUse { bytes: usize, mark: u32 },
}

impl Table {
    /// Packs the rows that have been loose for longest, within a budget of work. Returns
    /// how much was done.
    pub fn pack(&mut self, budget: usize) -> usize {
        let mut work = 0;
        while work < budget
            && let done @ 1.. = self.pack_some(budget - work, |_, _| true)
        {
            work += done;
        }
        work
    }

    /// As `pack`, of those that are idle.
    pub fn pack_idle(&mut self, access: &AccessClock, budget: usize) -> usize {
        let mut work = 0;
        while work < budget
            && self.has_idle(access)
            && let done @ 1.. =
                self.pack_some(budget - work, |reading, row| access.is_idle(reading, row.clock()))
        {
            work += done;
        }
        work
    }

    /// Packs the next few rows if they may be, and puts off the others. Returns how much
    /// was done.
    fn pack_some(&mut self, budget: usize, may_be: impl Fn(Reading, &Row) -> bool) -> usize {
        if self.packed.is_none() {
            return 0;
        }
        let mut oldest = [0; PACKED_AT_ONCE];
        let wanted = oldest.len().min(budget);
        let count = self.fresh.oldest(&mut oldest[..wanted]);
        let oldest = &oldest[..count];
        // Rows were written a while ago, and lie anywhere: their misses overlap.
        oldest.iter().for_each(|hash| self.prefetch_bucket(u64::from(*hash)));
        for hash in oldest {
            self.prefetch_row(u64::from(*hash));
        }
        let mut work = 0;
        for (at, hash) in oldest.iter().enumerate() {
            if work >= budget {
                break;
            }
            if let Some(next) = oldest.get(at + 1) {
                self.prefetch_whole(u64::from(*next));
            }
            let (done, tried) = self.pack_one(*hash, &may_be);
            work += done;
            if matches!(tried, Tried::Begun) {
                break;
            }
            self.fresh.pop();
            if let Tried::InUse { bytes, mark } = tried {
                self.fresh.push(*hash, bytes, mark);
            }
        }
        work
    }

    /// Packs the row of a hash, of which 32 bits are known, if it is still there and may
    /// be packed. Returns how much was done, and what came of it.
    pub(super) fn pack_one(
        &mut self,
        hash: u32,
        may_be: impl Fn(Reading, &Row) -> bool,
    ) -> (usize, Tried) {
        let reading = self.reading();
        let Some(packed) = &mut self.packed else { return (0, Tried::Over) };
        let mut whole = 0;
        let found = self.rows.locate(u64::from(hash), |row| {
            whole = self.hasher.hash(row.key());
            whole as u32 == hash
        });
        let Some(spot) = found else { return (1, Tried::Over) };
        let row = self.rows.at(spot);
        if !may_be(reading, row) {
            return (1, Tried::InUse { bytes: row.heap_bytes(), mark: row.clock() });
        }
        let bytes = packed.bytes_tried(row);
        let items = match row.value() {
            Value::Object(ObjectRef::List(list)) => list.len(),
            _ => 0,
        };
        let work = 1 + bytes / PACKED_BYTES_PER_WORK + items / PACKED_ITEMS_PER_WORK;
        match packed.insert(whole, row) {
            Packing::Begun => return (work, Tried::Begun),
            Packing::Done => {
                let address = row.address();
                self.rows.remove(whole, |row| row.address() == address);
            }
            // There will be room when others are packed.
            Packing::NoRoom if items > 0 => self.lists.add(),
            Packing::NoRoom | Packing::Unfit => {}
        }
        (work, Tried::Over)
    }

    fn has_idle(&self, access: &AccessClock) -> bool {
        self.fresh.first_mark().is_some_and(|mark| access.is_idle(self.reading(), mark))
    }

    /// Whether rows are packed at all.
    pub fn packs(&self) -> bool {
        self.packed.is_some()
    }

    /// Whether there are rows to look at that may have become idle.
    pub(crate) fn has_work(&self, access: &AccessClock) -> bool {
        self.lists.are_looked_at() || self.has_idle(access)
    }

    /// Whether packed rows that are in demand may become loose ones: there is room for
    /// half of what writes may leave.
    pub(crate) fn has_room_for_demand(&self) -> bool {
        let bytes_max = self.packed.as_ref().map_or(0, |packed| fresh_bytes_max(packed));
        self.fresh.row_bytes() < bytes_max / 2
    }
}

/// Bytes of loose rows beyond which writes pack them.
pub(super) fn fresh_bytes_max(packed: &PackedRows) -> usize {
    FRESH_BYTES_MAX.max(packed.row_bytes() / FRESH_SHARE)
}
