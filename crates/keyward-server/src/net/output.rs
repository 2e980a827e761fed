//! What a socket has not taken yet, in chunks.
//!
//! Owns the unsent replies of one connection. They are kept as a list of bounded chunks,
//! as Redis keeps them: a single buffer would be copied as a whole whenever it grows,
//! a gigabyte at a time for a client that does not read, and would be given back only
//! when the last byte is sent.
//!
//! Invariants: no chunk is empty but for what was sent of the first; all but the last are
//! full. Without unsent bytes there is no chunk.

use std::collections::VecDeque;
use std::io::IoSlice;

/// Bytes of a chunk. The number is Redis's.
pub(crate) const CHUNK_BYTES: usize = 16 * 1024;
/// What a chunk takes besides, about: its place in the list.
const CHUNK_OVERHEAD: usize = size_of::<Vec<u8>>();
/// Chunks that are sent with one call.
pub(crate) const PARTS_MAX: usize = 8;

/// Unsent replies.
#[derive(Debug, Default)]
pub(crate) struct Output {
    chunks: VecDeque<Vec<u8>>,
    /// Bytes of the first chunk that are sent.
    sent: usize,
    /// Bytes that are not.
    unsent: usize,
}

impl Output {
    pub(crate) fn is_empty(&self) -> bool {
        self.unsent == 0
    }

    /// Unsent bytes.
    pub(crate) fn len(&self) -> usize {
        self.unsent
    }

    pub(crate) fn chunk_count(&self) -> usize {
        self.chunks.len()
    }

    /// Bytes of memory.
    pub(crate) fn memory(&self) -> usize {
        self.chunks.len() * (CHUNK_BYTES + CHUNK_OVERHEAD)
    }

    /// Adds bytes behind all others.
    pub(crate) fn push(&mut self, mut bytes: &[u8]) {
        self.unsent += bytes.len();
        while !bytes.is_empty() {
            let room = self.chunks.back().map_or(0, |last| CHUNK_BYTES - last.len());
            if room == 0 {
                self.chunks.push_back(Vec::with_capacity(CHUNK_BYTES));
                continue;
            }
            let (fits, rest) = bytes.split_at(room.min(bytes.len()));
            self.chunks.back_mut().expect("it has room").extend_from_slice(fits);
            bytes = rest;
        }
    }

    /// The oldest bytes, in at most [`PARTS_MAX`] parts; returns how many parts.
    pub(crate) fn parts<'a>(&'a self, parts: &mut [IoSlice<'a>; PARTS_MAX]) -> usize {
        let mut start = self.sent;
        for (part, chunk) in parts.iter_mut().zip(&self.chunks) {
            *part = IoSlice::new(&chunk[start..]);
            start = 0;
        }
        self.chunks.len().min(PARTS_MAX)
    }

    /// So many of the oldest bytes are sent.
    pub(crate) fn note_sent(&mut self, count: usize) {
        assert!(count <= self.unsent, "no more is sent than there is");
        self.unsent -= count;
        self.sent += count;
        while let Some(first) = self.chunks.front()
            && self.sent >= first.len()
        {
            self.sent -= first.len();
            self.chunks.pop_front();
        }
        if self.chunks.is_empty() {
            // The list itself is given back too.
            *self = Output::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first_bytes(output: &Output) -> Vec<u8> {
        let mut parts = [IoSlice::new(&[]); PARTS_MAX];
        let count = output.parts(&mut parts);
        parts[..count].iter().flat_map(|part| part.iter().copied()).collect()
    }

    #[test]
    fn bytes_leave_in_the_order_they_came_however_they_are_cut() {
        for step in [1, 7, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 100_000] {
            let mut output = Output::default();
            let all: Vec<u8> = (0..300_000_u32).map(|number| (number % 251) as u8).collect();
            let mut sent = Vec::new();
            for letter in all.chunks(12_345) {
                output.push(letter);
                let first = first_bytes(&output);
                let count = step.min(first.len());
                sent.extend_from_slice(&first[..count]);
                output.note_sent(count);
            }
            while !output.is_empty() {
                let first = first_bytes(&output);
                let count = 9_999.min(first.len());
                sent.extend_from_slice(&first[..count]);
                output.note_sent(count);
            }
            assert!(sent == all, "cut into {step}");
        }
    }

    #[test]
    fn what_is_sent_is_given_back_chunk_by_chunk_and_at_last_all() {
        let mut output = Output::default();
        output.push(&vec![1; 10 * CHUNK_BYTES]);
        assert_eq!((output.chunk_count(), output.len()), (10, 10 * CHUNK_BYTES));
        output.note_sent(3 * CHUNK_BYTES + 1);
        assert_eq!(output.chunk_count(), 7);
        output.note_sent(output.len());
        assert_eq!((output.chunk_count(), output.memory()), (0, 0));
        assert_eq!(output.chunks.capacity(), 0);
    }
}
