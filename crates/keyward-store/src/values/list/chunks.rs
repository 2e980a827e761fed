//! A large list: chunks of entries in a deque.
//!
//! Owns the division into chunks. An index is found by the chunks' counts, from
//! the nearer end: 40 bytes per some 4 kB of entries are read in order.
//!
//! Invariants: `len` is the sum of the chunks' counts, `chunk_bytes` that of their
//! allocations; no chunk is empty; of two neighbours that a removal touched, at
//! least one is more than a quarter full.

use super::chunk::{CHUNK_BYTES, Chunk};
use super::encoded::Encoded;
use super::run::{End, Run};
use crate::values::footprint::{Footprint, HeapBytes};
use crate::values::list::{encoded, run};
use crate::values::packed::Item;
use crate::values::size_class::allocated;
use std::collections::{VecDeque, vec_deque};
use std::ops::Range;

/// From so many chunks on a list is long: the room in a new one is little beside
/// what there is, and growing it step by step would copy each entry several times.
const LONG_CHUNKS_MIN: usize = 8;

/// See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    chunks: VecDeque<Chunk>,
    len: usize,
    chunk_bytes: usize,
}

/// Where an element is.
struct Place {
    chunk: usize,
    index: usize,
}

impl Chunks {
    /// The chunks of a list that has been in one chunk so far.
    pub(super) fn of(chunk: Chunk) -> Chunks {
        let (len, chunk_bytes) = (chunk.count(), chunk.heap_bytes());
        Chunks { len, chunk_bytes, chunks: VecDeque::from([chunk]) }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The only chunk, if there is but one.
    pub(super) fn only(&self) -> Option<&Chunk> {
        if self.chunks.len() == 1 { self.chunks.front() } else { None }
    }

    fn at_end(&mut self, end: End) -> Option<&mut Chunk> {
        match end {
            End::Head => self.chunks.front_mut(),
            End::Tail => self.chunks.back_mut(),
        }
    }

    pub(super) fn peek(&self, end: End) -> Option<Item<'_>> {
        let chunk = match end {
            End::Head => self.chunks.front(),
            End::Tail => self.chunks.back(),
        };
        run::peek(chunk?.bytes(), end).map(|(element, _)| element)
    }

    #[inline]
    pub(super) fn push(&mut self, end: End, entry: &Encoded<'_>) {
        self.len += 1;
        match self.at_end(end) {
            Some(chunk) if chunk.takes(entry.len(), end) => {
                let before = chunk.heap_bytes();
                run::push(chunk, end, entry);
                let after = chunk.heap_bytes();
                self.resized(before, after);
            }
            _ => self.push_chunk(end, entry),
        }
    }

    /// Learns that a chunk of so many bytes now has another number of them.
    #[inline]
    fn resized(&mut self, before: usize, after: usize) {
        self.chunk_bytes = self.chunk_bytes - before + after;
    }

    /// Changes a chunk in a way that may change its bytes.
    fn edit(&mut self, at: usize, change: impl FnOnce(&mut Chunk)) {
        let chunk = &mut self.chunks[at];
        let before = chunk.heap_bytes();
        change(chunk);
        let after = chunk.heap_bytes();
        self.resized(before, after);
    }

    /// Puts a chunk before the one at a place.
    fn insert_chunk(&mut self, at: usize, chunk: Chunk) {
        self.chunk_bytes += chunk.heap_bytes();
        self.chunks.insert(at, chunk);
    }

    /// Takes chunks out.
    fn remove_chunks(&mut self, range: Range<usize>) {
        let removed: usize = self.chunks.drain(range).map(|chunk| chunk.heap_bytes()).sum();
        self.chunk_bytes -= removed;
    }

    #[cold]
    fn push_chunk(&mut self, end: End, entry: &Encoded<'_>) {
        let is_long = self.chunks.len() >= LONG_CHUNKS_MIN;
        let room = if is_long { entry.len().max(CHUNK_BYTES) } else { entry.len() };
        let mut chunk = Chunk::new(room, end);
        run::push(&mut chunk, end, entry);
        let at = if end == End::Head { 0 } else { self.chunks.len() };
        self.insert_chunk(at, chunk);
    }

    #[inline]
    pub(super) fn pop(&mut self, end: End) {
        let Some(chunk) = self.at_end(end) else { return };
        run::pop(chunk, end);
        let is_empty = chunk.count() == 0;
        self.len -= 1;
        if is_empty {
            let at = if end == End::Head { 0 } else { self.chunks.len() - 1 };
            self.remove_chunks(at..at + 1);
        }
    }

    /// Where the element of this index is, or would be at the very end.
    fn locate(&self, index: usize) -> Place {
        if index <= self.len / 2 {
            let mut left = index;
            for (at, chunk) in self.chunks.iter().enumerate() {
                if left < chunk.count() {
                    return Place { chunk: at, index: left };
                }
                left -= chunk.count();
            }
        } else {
            let mut behind = self.len;
            for (at, chunk) in self.chunks.iter().enumerate().rev() {
                behind -= chunk.count();
                if index >= behind {
                    return Place { chunk: at, index: index - behind };
                }
            }
        }
        Place { chunk: 0, index: 0 }
    }

    /// Puts an entry before the one of this index, which exists.
    pub(super) fn insert(&mut self, index: usize, entry: &Encoded<'_>) {
        let Place { chunk: at, index } = self.locate(index);
        self.len += 1;
        if self.chunks[at].fits(entry.len()) {
            return self.edit(at, |chunk| run::insert(chunk, index, entry));
        }
        // The chunk is divided before the place; the entry goes to the end of the
        // first part, or between the parts where it does not fit.
        let chunk = &self.chunks[at];
        let (first, second) = chunk.bytes().split_at(run::offset(chunk, index));
        let (first_count, second_count) = (index, chunk.count() - index);
        let first = Chunk::of(first, first_count, entry.len().min(CHUNK_BYTES), End::Tail);
        let second = Chunk::of(second, second_count, 0, End::Head);
        self.edit(at, |chunk| *chunk = second);
        self.insert_chunk(at, first);
        if self.chunks[at].fits(entry.len()) {
            self.edit(at, |chunk| run::push(chunk, End::Tail, entry));
        } else {
            let mut between = Chunk::new(entry.len(), End::Tail);
            run::push(&mut between, End::Tail, entry);
            self.insert_chunk(at + 1, between);
            self.drop_empty(at);
        }
    }

    /// Replaces the entry of this index, which exists.
    pub(super) fn set(&mut self, index: usize, entry: &Encoded<'_>) {
        let place = self.locate(index);
        let chunk = &mut self.chunks[place.chunk];
        if chunk.count() == 1 {
            return self.edit(place.chunk, |chunk| {
                *chunk = Chunk::new(entry.len(), End::Tail);
                run::push(chunk, End::Tail, entry);
            });
        }
        run::remove(chunk, place.index..place.index + 1);
        if chunk.fits(entry.len()) {
            return self.edit(place.chunk, |chunk| run::insert(chunk, place.index, entry));
        }
        self.len -= 1;
        if index == self.len {
            self.push(End::Tail, entry);
        } else {
            self.insert(index, entry);
        }
    }

    /// Takes out a range of indexes within the length.
    pub(super) fn remove(&mut self, indexes: Range<usize>) {
        let Place { chunk: first, mut index } = self.locate(indexes.start);
        let mut left = indexes.len();
        self.len -= left;
        let mut at = first;
        let mut whole: Option<Range<usize>> = None;
        while left > 0 {
            let chunk = &mut self.chunks[at];
            let count = left.min(chunk.count() - index);
            if count == chunk.count() {
                whole = Some(whole.map_or(at, |whole| whole.start)..at + 1);
            } else {
                run::remove(chunk, index..index + count);
            }
            left -= count;
            index = 0;
            at += 1;
        }
        if let Some(whole) = whole {
            self.remove_chunks(whole);
        }
        self.join(first.saturating_sub(1));
        self.join(first);
    }

    /// Takes a range of indexes out as chunks of their own. What lies within is moved, not
    /// copied; at most two chunks are divided.
    pub(super) fn cut(&mut self, indexes: Range<usize>) -> Chunks {
        let start = self.divide(indexes.start);
        let end = self.divide(indexes.end);
        let chunks: VecDeque<Chunk> = self.chunks.drain(start..end).collect();
        let chunk_bytes = chunks.iter().map(Chunk::heap_bytes).sum();
        self.len -= indexes.len();
        self.chunk_bytes -= chunk_bytes;
        self.join(start.saturating_sub(1));
        Chunks { chunks, len: indexes.len(), chunk_bytes }
    }

    /// Puts chunks before the element of an index, or at the end, as they are.
    pub(super) fn splice(&mut self, index: usize, mut other: Chunks) {
        let at = self.divide(index);
        let behind_them = at + other.chunks.len();
        let mut behind = self.chunks.split_off(at);
        self.chunks.append(&mut other.chunks);
        self.chunks.append(&mut behind);
        self.len += other.len;
        self.chunk_bytes += other.chunk_bytes;
        for seam in [behind_them, at] {
            seam.checked_sub(1).into_iter().for_each(|before| self.join(before));
        }
    }

    /// Makes a chunk begin with the element of an index; returns its place.
    fn divide(&mut self, index: usize) -> usize {
        if index >= self.len {
            return self.chunks.len();
        }
        let Place { chunk: at, index } = self.locate(index);
        if index == 0 {
            return at;
        }
        let chunk = &self.chunks[at];
        let (start, count) = (run::offset(chunk, index), chunk.count());
        let second = Chunk::of(&chunk.bytes()[start..], count - index, 0, End::Head);
        self.edit(at, |chunk| run::remove(chunk, index..count));
        self.insert_chunk(at + 1, second);
        at + 1
    }

    /// Puts an entry in as often as there are indexes, which are in order: those that it has
    /// afterwards. Only chunks that it comes into are written anew.
    pub(super) fn insert_equal(&mut self, indexes: &[usize], entry: &Encoded<'_>) {
        let mut encoded = vec![0; entry.len()];
        entry.write(&mut encoded);
        let mut indexes = indexes.iter().copied().peekable();
        let before = std::mem::take(self);
        for chunk in before.chunks {
            let end = self.len + chunk.count();
            if indexes.peek().is_none_or(|index| *index >= end) {
                self.len = end;
                self.append(chunk);
                continue;
            }
            let (bytes, mut at, mut start, mut passed) = (chunk.bytes(), 0, 0, 0);
            while at < bytes.len() {
                while indexes.next_if_eq(&(self.len + passed)).is_some() {
                    self.append_entries(&bytes[start..at], passed);
                    self.append_entries(&encoded, 1);
                    (start, passed) = (at, 0);
                }
                at += encoded::first(&bytes[at..]).map_or(0, |(_, length)| length);
                passed += 1;
            }
            self.append_entries(&bytes[start..], passed);
        }
        indexes.for_each(|_| self.append_entries(&encoded, 1));
    }

    /// Adds entries at the end.
    fn append_entries(&mut self, bytes: &[u8], count: usize) {
        if count == 0 {
            return;
        }
        self.len += count;
        match self.chunks.back() {
            Some(last) if last.fits(bytes.len()) => {}
            _ => {
                let chunk = Chunk::new(bytes.len().max(CHUNK_BYTES), End::Tail);
                self.insert_chunk(self.chunks.len(), chunk);
            }
        }
        self.edit(self.chunks.len() - 1, |chunk| {
            let end = chunk.bytes().len();
            chunk.open(end, bytes.len()).copy_from_slice(bytes);
            chunk.set_count(chunk.count() + count);
        });
    }

    /// Takes out up to `max` elements equal to this one, nearest to `end` first;
    /// returns how many.
    pub(super) fn remove_equal(&mut self, element: Item<'_>, max: usize, end: End) -> usize {
        let mut removed = 0;
        let mut remove = |chunk: &mut Chunk| {
            removed += run::remove_equal(chunk, element, max - removed, end);
        };
        match end {
            End::Head => self.chunks.iter_mut().for_each(&mut remove),
            End::Tail => self.chunks.iter_mut().rev().for_each(&mut remove),
        }
        self.len -= removed;
        if removed > 0 {
            let before = std::mem::take(&mut self.chunks);
            self.chunk_bytes = 0;
            for chunk in before {
                self.append(chunk);
            }
        }
        removed
    }

    /// Adds a chunk at the end, or its content to the last one.
    fn append(&mut self, chunk: Chunk) {
        if chunk.count() == 0 {
            return;
        }
        self.insert_chunk(self.chunks.len(), chunk);
        if let Some(at) = self.chunks.len().checked_sub(2) {
            self.join(at);
        }
    }

    fn drop_empty(&mut self, at: usize) {
        if self.chunks[at].count() == 0 {
            self.remove_chunks(at..at + 1);
        }
    }

    /// Makes one chunk of this one and the next, if both are there and small.
    fn join(&mut self, at: usize) {
        let (Some(first), Some(second)) = (self.chunks.get(at), self.chunks.get(at + 1)) else {
            return;
        };
        if first.bytes().len() + second.bytes().len() > CHUNK_BYTES / 2 {
            return;
        }
        let Some(second) = self.chunks.remove(at + 1) else { return };
        self.chunk_bytes -= second.heap_bytes();
        self.edit(at, |first| {
            let end = first.bytes().len();
            first.open(end, second.bytes().len()).copy_from_slice(second.bytes());
            first.set_count(first.count() + second.count());
        });
    }

    /// The elements from an index on.
    pub(super) fn forward(&self, index: usize) -> Forward<'_> {
        if index >= self.len {
            return Forward::default();
        }
        let place = self.locate(index);
        let mut chunks = self.chunks.range(place.chunk..);
        let bytes = chunks
            .next()
            .map_or(&[][..], |chunk| &chunk.bytes()[run::offset(chunk, place.index)..]);
        Forward { bytes, chunks }
    }

    /// The elements before an index, the last one first.
    pub(super) fn backward(&self, end: usize) -> Backward<'_> {
        let Some(last) = end.min(self.len).checked_sub(1) else { return Backward::default() };
        let place = self.locate(last);
        let mut chunks = self.chunks.range(..=place.chunk);
        let bytes = chunks
            .next_back()
            .map_or(&[][..], |chunk| &chunk.bytes()[..run::offset(chunk, place.index + 1)]);
        Backward { bytes, chunks }
    }
}

impl Clone for Chunks {
    fn clone(&self) -> Chunks {
        let chunks = self.chunks.clone();
        // A copy has no gaps.
        let chunk_bytes = chunks.iter().map(Chunk::heap_bytes).sum();
        Chunks { chunks, len: self.len, chunk_bytes }
    }
}

impl HeapBytes for Chunks {
    fn heap_bytes(&self) -> usize {
        allocated(self.chunks.capacity() * size_of::<Chunk>()) + self.chunk_bytes
    }
}

impl Footprint for Chunks {
    fn allocations(&self) -> usize {
        self.chunks.len()
    }

    fn shed(&mut self, budget: usize) -> usize {
        let shed = budget.min(self.chunks.len());
        let left = self.chunks.len() - shed;
        self.len -= self.chunks.range(left..).map(Chunk::count).sum::<usize>();
        self.remove_chunks(left..self.chunks.len());
        shed
    }

    fn gather(&mut self, from: usize, budget: usize) -> Option<usize> {
        let end = self.chunks.len().min(from.saturating_add(budget));
        self.chunks.range_mut(from.min(end)..end).for_each(Chunk::gather);
        (end < self.chunks.len()).then_some(end)
    }
}

/// Elements from a place on.
#[derive(Clone, Default)]
pub(super) struct Forward<'a> {
    bytes: &'a [u8],
    chunks: vec_deque::Iter<'a, Chunk>,
}

impl<'a> Forward<'a> {
    /// The elements of one run.
    pub(super) fn within(bytes: &'a [u8]) -> Forward<'a> {
        Forward { bytes, chunks: vec_deque::Iter::default() }
    }
}

impl<'a> Iterator for Forward<'a> {
    type Item = Item<'a>;

    #[inline]
    fn next(&mut self) -> Option<Item<'a>> {
        if self.bytes.is_empty() {
            self.bytes = self.chunks.next()?.bytes();
        }
        let (element, length) = encoded::first(self.bytes)?;
        self.bytes = &self.bytes[length..];
        Some(element)
    }
}

/// Elements before a place, the last one first.
#[derive(Clone, Default)]
pub(super) struct Backward<'a> {
    bytes: &'a [u8],
    chunks: vec_deque::Iter<'a, Chunk>,
}

impl<'a> Backward<'a> {
    /// The elements of one run.
    pub(super) fn within(bytes: &'a [u8]) -> Backward<'a> {
        Backward { bytes, chunks: vec_deque::Iter::default() }
    }
}

impl<'a> Iterator for Backward<'a> {
    type Item = Item<'a>;

    #[inline]
    fn next(&mut self) -> Option<Item<'a>> {
        if self.bytes.is_empty() {
            self.bytes = self.chunks.next_back()?.bytes();
        }
        let (element, length) = encoded::last(self.bytes)?;
        self.bytes = &self.bytes[..self.bytes.len() - length];
        Some(element)
    }
}

#[cfg(test)]
impl Chunks {
    /// Panics unless the bytes are what counting finds.
    pub(super) fn check_counted(&self) {
        let bytes: usize = self.chunks.iter().map(Chunk::heap_bytes).sum();
        assert_eq!(self.chunk_bytes, bytes);
        assert!(
            self.chunks.iter().all(|chunk| allocated(chunk.heap_bytes()) == chunk.heap_bytes())
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removing_most_elements_leaves_no_sparse_chunks() {
        let mut chunks = Chunks::default();
        for number in 0..10_000 {
            let text: &[u8] = if number % 8 == 0 { b"keep it" } else { b"take it" };
            chunks.push(End::Tail, &Encoded::of(text));
        }
        assert_eq!(chunks.remove_equal(Item::of(b"take it"), usize::MAX, End::Tail), 8750);
        assert_eq!(chunks.len(), 1250);
        let full = 1250 * Encoded::of(b"keep it").len() / CHUNK_BYTES + 1;
        assert!(chunks.chunks.len() <= 4 * full, "{} chunks", chunks.chunks.len());
    }
}
