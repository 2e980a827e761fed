//! Loose rows that are to be packed: a queue, the oldest first.
//!
//! Owns the order in which rows were written, by 32 bits of their hashes, and how many
//! bytes they had then. Rows are not taken out when they go or are packed: whoever takes
//! an entry looks whether there is a row. Entries come in blocks, so that no step
//! moves more than one block's worth.

use std::collections::VecDeque;

/// Entries per block.
const BLOCK_ENTRIES: usize = 512;

/// The queue.
#[derive(Debug, Default)]
pub(super) struct Fresh {
    blocks: VecDeque<Vec<Entry>>,
    /// Entries of the first block that were taken.
    taken: usize,
    /// The sum over all entries.
    bytes: usize,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    hash: u32,
    bytes: u32,
}

impl Fresh {
    /// Adds a row of so many bytes.
    #[inline]
    pub(super) fn push(&mut self, hash: u64, bytes: usize) {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.bytes += bytes as usize;
        let entry = Entry { hash: hash as u32, bytes };
        match self.blocks.back_mut() {
            Some(block) if block.len() < BLOCK_ENTRIES => block.push(entry),
            _ => self.blocks.push_back(vec![entry]),
        }
    }

    /// Takes the oldest, as many as there is room for; answers how many. Their hashes are
    /// told as far as they are kept.
    pub(super) fn pop(&mut self, hashes: &mut [u32]) -> usize {
        let mut count = 0;
        while count < hashes.len()
            && let Some(block) = self.blocks.front()
        {
            let entries = block[self.taken..].iter().take(hashes.len() - count);
            for (entry, hash) in entries.zip(&mut hashes[count..]) {
                *hash = entry.hash;
                self.bytes -= entry.bytes as usize;
                self.taken += 1;
                count += 1;
            }
            if self.taken == block.len() {
                self.taken = 0;
                self.blocks.pop_front();
            }
        }
        count
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Bytes that the rows had when they came.
    #[inline]
    pub(super) fn row_bytes(&self) -> usize {
        self.bytes
    }

    /// Bytes of the queue.
    pub(super) fn heap_bytes(&self) -> usize {
        let last = self.blocks.back().map_or(0, Vec::capacity);
        let entries = self.blocks.len().saturating_sub(1) * BLOCK_ENTRIES + last;
        entries * size_of::<Entry>() + self.blocks.capacity() * size_of::<Vec<Entry>>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_first_goes_first_and_bytes_are_summed_up() {
        let mut fresh = Fresh::default();
        let (mut next, mut oldest) = (0u64, 0u32);
        for round in 0..2_000usize {
            for _ in 0..round % 7 {
                fresh.push(next, next as usize % 10);
                next += 1;
            }
            let mut hashes = [0; 5];
            let count = fresh.pop(&mut hashes[..round % 5]);
            assert_eq!(count as u64, (next - u64::from(oldest)).min(round as u64 % 5));
            for hash in &hashes[..count] {
                assert_eq!(*hash, oldest);
                oldest += 1;
            }
            let bytes: u64 = (u64::from(oldest)..next).map(|hash| hash % 10).sum();
            assert_eq!(
                (fresh.row_bytes() as u64, fresh.is_empty()),
                (bytes, oldest as u64 == next)
            );
        }
        while fresh.pop(&mut [0; 3]) > 0 {}
        assert!(fresh.is_empty() && fresh.heap_bytes() < 4_096);
    }
}
