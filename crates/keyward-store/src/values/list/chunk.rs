//! A part of a large list: entries in the middle of a buffer, with room on both
//! sides.
//!
//! Owns the buffer. Whatever an end needs is taken from the gap at that end, so
//! that pushing and popping there moves nothing. A buffer begins small and grows
//! up to `CHUNK_BYTES`, or begins with that where the list is long; only a single
//! entry may be longer.
//!
//! Estimate: a list of many elements costs 40 bytes per chunk beside the entries
//! themselves, one hundredth, and at most one unfilled chunk at each end.

use super::run::{End, Run};
use crate::values::size_class::{is_small, size_class};
use std::ops::Range;

/// Bytes of a full chunk.
pub(super) const CHUNK_BYTES: usize = 4096;
/// Bytes of a new chunk.
const CHUNK_BYTES_MIN: usize = 512;

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Chunk {
    buffer: Box<[u8]>,
    filled: Range<usize>,
    count: usize,
}

impl Chunk {
    /// An empty chunk that is to hold `length` bytes and more, pushed at `end`.
    pub(super) fn new(length: usize, end: End) -> Chunk {
        let buffer = zeroed(size_class(length).max(CHUNK_BYTES_MIN));
        let at = if end == End::Head { buffer.len() } else { 0 };
        Chunk { buffer, filled: at..at, count: 0 }
    }

    /// A chunk of these entries with room at `end` for `length` bytes more.
    pub(super) fn of(bytes: &[u8], count: usize, length: usize, end: End) -> Chunk {
        let mut chunk = Chunk::new(bytes.len() + length, end);
        let at = if end == End::Head { chunk.buffer.len() - bytes.len() } else { 0 };
        chunk.filled = at..at + bytes.len();
        chunk.buffer[chunk.filled.clone()].copy_from_slice(bytes);
        chunk.count = count;
        chunk
    }

    /// Whether `length` bytes more fit within the size of a chunk.
    pub(super) fn fits(&self, length: usize) -> bool {
        self.filled.len() + length <= CHUNK_BYTES
    }

    /// Whether an entry of `length` bytes belongs here when pushed at `end`: it
    /// does if there is a gap for it, or if making one is worth its cost.
    #[inline]
    pub(super) fn takes(&self, length: usize, end: End) -> bool {
        let may_grow = self.buffer.len() < CHUNK_BYTES && self.fits(length);
        let is_sparse = self.filled.len() + length <= CHUNK_BYTES / 2;
        self.gap(end) >= length || may_grow || is_sparse
    }

    /// Moves the content to another allocation of the same size, if it is a small one.
    pub(super) fn gather(&mut self) {
        if is_small(self.buffer.len()) {
            self.buffer = self.buffer.clone();
        }
    }

    /// Bytes of its allocation, which is a size class.
    #[inline]
    pub(super) fn heap_bytes(&self) -> usize {
        self.buffer.len()
    }

    fn gap(&self, end: End) -> usize {
        match end {
            End::Head => self.filled.start,
            End::Tail => self.buffer.len() - self.filled.end,
        }
    }

    /// Puts the content into another buffer, or elsewhere in this one, so that
    /// there are `length` bytes of room at `end`.
    fn make_gap(&mut self, length: usize, end: End) {
        let needed = self.filled.len() + length;
        if needed > self.buffer.len() {
            let roomy = (self.buffer.len() + self.buffer.len() / 2).min(CHUNK_BYTES);
            let mut buffer = zeroed(size_class(needed.max(roomy)));
            let at = if end == End::Head { buffer.len() - self.filled.len() } else { 0 };
            buffer[at..at + self.filled.len()].copy_from_slice(self.bytes());
            self.buffer = buffer;
            self.filled = at..at + self.filled.len();
        } else {
            let at = if end == End::Head { self.buffer.len() - self.filled.len() } else { 0 };
            self.buffer.copy_within(self.filled.clone(), at);
            self.filled = at..at + self.filled.len();
        }
    }
}

fn zeroed(bytes: usize) -> Box<[u8]> {
    vec![0; bytes].into()
}

impl Run for Chunk {
    #[inline]
    fn bytes(&self) -> &[u8] {
        &self.buffer[self.filled.clone()]
    }

    #[inline]
    fn count(&self) -> usize {
        self.count
    }

    #[inline]
    fn set_count(&mut self, count: usize) {
        self.count = count;
    }

    #[inline]
    fn open(&mut self, at: usize, length: usize) -> &mut [u8] {
        let end = if at == 0 { End::Head } else { End::Tail };
        if self.gap(end) < length {
            self.make_gap(length, end);
        }
        let Range { start, end: filled_end } = self.filled;
        let start = match end {
            End::Head => {
                self.filled.start -= length;
                self.filled.start
            }
            End::Tail => {
                self.buffer.copy_within(start + at..filled_end, start + at + length);
                self.filled.end += length;
                start + at
            }
        };
        &mut self.buffer[start..start + length]
    }

    #[inline]
    fn close(&mut self, range: Range<usize>) {
        let Range { start, end } = self.filled;
        if range.start == 0 {
            self.filled.start += range.len();
        } else {
            self.buffer.copy_within(start + range.end..end, start + range.start);
            self.filled.end -= range.len();
        }
    }
}

impl Clone for Chunk {
    fn clone(&self) -> Chunk {
        Chunk::of(self.bytes(), self.count, 0, End::Tail)
    }
}
