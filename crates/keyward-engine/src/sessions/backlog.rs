//! The newest bytes of the stream of changes (replication backlog).
//!
//! Owns the bytes, in blocks, and where in the stream they stand. Those who follow the stream
//! are sent copies from here, each at its own pace, so that the bytes are kept once however
//! many there are; who comes back after a broken connection goes on from here.
//!
//! Invariants: all blocks but the last are full. Only whole blocks go, some at a time
//! ([`BLOCKS_PER_TRIM`]), so that no call takes long however much there is to free.
//! Not here: how much is kept and for whom (`replication`).

use std::collections::VecDeque;

/// Bytes of a block. The number is Redis's.
const BLOCK_BYTES: usize = 16 * 1024;
/// Blocks that are freed by one call.
const BLOCKS_PER_TRIM: usize = 64;

/// The newest bytes of the stream.
#[derive(Debug, Default)]
pub(crate) struct Backlog {
    blocks: VecDeque<Vec<u8>>,
    /// Bytes of the stream before the first that is kept.
    start: u64,
    /// Bytes that are kept.
    len: u64,
}

impl Backlog {
    /// An empty one, of a stream that has had so many bytes.
    pub(crate) fn new(start: u64) -> Backlog {
        Backlog { start, ..Backlog::default() }
    }

    /// Bytes of the stream before the first that is kept.
    pub(crate) fn start(&self) -> u64 {
        self.start
    }

    /// Bytes of the stream up to its end.
    pub(crate) fn end(&self) -> u64 {
        self.start + self.len
    }

    /// Bytes that are kept.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Bytes of memory.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.blocks.len() * (BLOCK_BYTES + size_of::<Vec<u8>>())
    }

    /// Adds bytes to the end of the stream.
    #[inline]
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.len += bytes.len() as u64;
        match self.blocks.back_mut() {
            Some(last) if last.len() + bytes.len() <= BLOCK_BYTES => last.extend_from_slice(bytes),
            _ => self.push_over(bytes),
        }
    }

    /// Adds bytes that go to more than one block.
    #[cold]
    fn push_over(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = self.blocks.back().map_or(0, |last| BLOCK_BYTES - last.len());
            if room == 0 {
                self.blocks.push_back(Vec::with_capacity(BLOCK_BYTES));
                continue;
            }
            let (fits, rest) = bytes.split_at(room.min(bytes.len()));
            self.blocks.back_mut().expect("it has room").extend_from_slice(fits);
            bytes = rest;
        }
    }

    /// Frees blocks beyond the newest `bytes_max` bytes, as far as nobody needs them, who
    /// goes on at `needed_from` or later.
    pub(crate) fn trim(&mut self, bytes_max: u64, needed_from: u64) {
        let keep_from = self.end().saturating_sub(bytes_max).min(needed_from);
        for _ in 0..BLOCKS_PER_TRIM {
            let first = self.blocks.front().map_or(0, |block| block.len() as u64);
            if first == 0 || self.start + first > keep_from {
                break;
            }
            self.blocks.pop_front();
            self.start += first;
            self.len -= first;
        }
    }

    /// Bytes from this place of the stream on: some of them, as they lie together. None if
    /// that is its end, or was freed.
    pub(crate) fn at(&self, offset: u64) -> &[u8] {
        if offset < self.start || offset >= self.end() {
            return &[];
        }
        let skipped = (offset - self.start) as usize;
        &self.blocks[skipped / BLOCK_BYTES][skipped % BLOCK_BYTES..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream of which every byte tells its place.
    fn byte_at(offset: u64) -> u8 {
        (offset % 251) as u8
    }

    fn push(backlog: &mut Backlog, count: usize) {
        let bytes: Vec<u8> = (backlog.end()..).take(count).map(byte_at).collect();
        backlog.push(&bytes);
    }

    fn all_from(backlog: &Backlog, mut offset: u64) -> Vec<u8> {
        let mut all = Vec::new();
        while offset < backlog.end() {
            let part = backlog.at(offset);
            all.extend_from_slice(part);
            offset += part.len() as u64;
        }
        all
    }

    #[test]
    fn what_is_kept_is_read_from_every_place_however_it_came() {
        for step in [1, 100, BLOCK_BYTES - 1, BLOCK_BYTES, BLOCK_BYTES + 1, 5 * BLOCK_BYTES] {
            let mut backlog = Backlog::new(1_000_000_007);
            while backlog.end() < 1_000_100_007 {
                push(&mut backlog, step);
                backlog.trim(50_000, u64::MAX);
            }
            let kept = backlog.len();
            assert!(
                (50_000..50_000 + (BLOCK_BYTES.max(step) + BLOCK_BYTES) as u64).contains(&kept)
            );
            for from in [backlog.start(), backlog.start() + 1, backlog.end() - 1, backlog.end()] {
                let expected: Vec<u8> = (from..backlog.end()).map(byte_at).collect();
                assert!(all_from(&backlog, from) == expected, "step {step}, from {from}");
            }
            assert_eq!(backlog.at(backlog.start() - 1), [0; 0]);
        }
    }

    #[test]
    fn bytes_that_somebody_needs_stay_and_are_freed_in_steps_afterwards() {
        let mut backlog = Backlog::new(0);
        for _ in 0..200 {
            push(&mut backlog, BLOCK_BYTES);
            backlog.trim(1, BLOCK_BYTES as u64 * 3);
        }
        assert_eq!(backlog.start(), BLOCK_BYTES as u64 * 3);
        backlog.trim(1, u64::MAX);
        assert_eq!(backlog.start(), (BLOCK_BYTES * (3 + BLOCKS_PER_TRIM)) as u64);
        (0..5).for_each(|_| backlog.trim(1, u64::MAX));
        assert_eq!(backlog.len(), BLOCK_BYTES as u64);
    }
}
