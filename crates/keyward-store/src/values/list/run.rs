//! Entries one behind the other, and what can be done to them by index.
//!
//! Owns the walk over entries and the changes that stay within one run. A run
//! is a small list as a whole (`ThinBytes`) or a part of a large one (`Chunk`);
//! both know how to open and to close a gap among their bytes.
//! Invariant: the count of a run is the number of its entries.

use super::encoded::Encoded;
use crate::values::list::encoded;
use crate::values::packed::Item;
use crate::values::thin::ThinBytes;
use std::ops::Range;

/// An end of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The first element's.
    Head,
    /// The last element's.
    Tail,
}

/// Bytes that hold entries.
pub(super) trait Run {
    fn bytes(&self) -> &[u8];
    fn count(&self) -> usize;
    fn set_count(&mut self, count: usize);
    /// Makes room for `length` bytes at an offset and returns it.
    fn open(&mut self, at: usize, length: usize) -> &mut [u8];
    /// Takes out a range of bytes.
    fn close(&mut self, range: Range<usize>);
}

impl Run for ThinBytes {
    fn bytes(&self) -> &[u8] {
        ThinBytes::bytes(self)
    }

    fn count(&self) -> usize {
        ThinBytes::count(self)
    }

    fn set_count(&mut self, count: usize) {
        ThinBytes::set_count(self, count);
    }

    fn open(&mut self, at: usize, length: usize) -> &mut [u8] {
        self.insert(at, length)
    }

    fn close(&mut self, range: Range<usize>) {
        self.remove(range);
    }
}

/// The element at an end.
#[inline]
pub(super) fn peek(bytes: &[u8], end: End) -> Option<(Item<'_>, usize)> {
    match end {
        End::Head => encoded::first(bytes),
        End::Tail => encoded::last(bytes),
    }
}

/// Where the entry of this index begins, or where the run ends; walks from the
/// nearer end.
pub(super) fn offset(run: &impl Run, index: usize) -> usize {
    let (bytes, count) = (run.bytes(), run.count());
    if index <= count / 2 {
        let mut at = 0;
        for _ in 0..index {
            at += encoded::first(&bytes[at..]).map_or(0, |(_, length)| length);
        }
        at
    } else {
        let mut at = bytes.len();
        for _ in index..count {
            at -= encoded::last(&bytes[..at]).map_or(0, |(_, length)| length);
        }
        at
    }
}

/// Adds an entry at an end.
#[inline]
pub(super) fn push(run: &mut impl Run, end: End, entry: &Encoded<'_>) {
    let at = if end == End::Head { 0 } else { run.bytes().len() };
    insert_at(run, at, entry);
}

/// Adds an entry before the one of this index.
pub(super) fn insert(run: &mut impl Run, index: usize, entry: &Encoded<'_>) {
    insert_at(run, offset(run, index), entry);
}

#[inline]
fn insert_at(run: &mut impl Run, at: usize, entry: &Encoded<'_>) {
    entry.write(run.open(at, entry.len()));
    run.set_count(run.count() + 1);
}

/// Takes an entry from an end; the run has one.
#[inline]
pub(super) fn pop(run: &mut impl Run, end: End) {
    let bytes = run.bytes();
    let length = peek(bytes, end).map_or(0, |(_, length)| length);
    let range = if end == End::Head { 0..length } else { bytes.len() - length..bytes.len() };
    let count = run.count();
    run.close(range);
    run.set_count(count - 1);
}

/// Takes out the entries of a range of indexes.
pub(super) fn remove(run: &mut impl Run, indexes: Range<usize>) {
    let count = run.count();
    let range = offset(run, indexes.start)..offset(run, indexes.end);
    run.close(range);
    run.set_count(count - indexes.len());
}

/// Takes out up to `max` entries equal to `element`, the ones nearest to `end`
/// first; returns how many.
pub(super) fn remove_equal(run: &mut impl Run, element: Item<'_>, max: usize, end: End) -> usize {
    let count = run.count();
    let mut removed = 0;
    // Bytes already looked at, from `end` on.
    let mut seen = 0;
    while removed < max {
        let bytes = run.bytes();
        let rest = match end {
            End::Head => &bytes[seen..],
            End::Tail => &bytes[..bytes.len() - seen],
        };
        let Some((found, length)) = peek(rest, end) else { break };
        if found != element {
            seen += length;
            continue;
        }
        let start = if end == End::Head { seen } else { rest.len() - length };
        run.close(start..start + length);
        removed += 1;
    }
    run.set_count(count - removed);
    removed
}
