//! Loose rows that are to be packed: a queue, the oldest first.
//!
//! Owns the order in which rows were written, by 32 bits of their hashes, and how many
//! bytes they had then. Rows are not taken out when they go or are packed: whoever takes
//! an entry looks whether there is a row. Entries come in blocks, so that no step
//! moves more than one block's worth. A block keeps the mark of use that its first row
//! had, by which one knows whether its rows are worth a look.

use std::collections::VecDeque;

/// Entries per block.
const BLOCK_ENTRIES: usize = 512;

/// The queue.
#[derive(Debug, Default)]
pub(super) struct Fresh {
    blocks: VecDeque<Block>,
    /// Entries of the first block that were taken.
    taken: usize,
    /// The sum over all entries.
    bytes: usize,
    /// How many entries the blocks have room for.
    room: usize,
}

#[derive(Debug)]
struct Block {
    first_mark: u32,
    entries: Vec<Written>,
}

#[derive(Debug, Clone, Copy)]
struct Written {
    hash: u32,
    bytes: u32,
}

impl Fresh {
    /// Adds a row of so many bytes, with its mark of use.
    #[inline]
    pub(super) fn push(&mut self, hash: u32, bytes: usize, mark: u32) {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.bytes += bytes as usize;
        let entry = Written { hash, bytes };
        // What is put back while its block is emptied is not to be met again there.
        let is_being_emptied = self.taken > 0 && self.blocks.len() == 1;
        match self.blocks.back_mut() {
            Some(Block { entries, .. }) if entries.len() < BLOCK_ENTRIES && !is_being_emptied => {
                self.room -= entries.capacity();
                entries.push(entry);
                self.room += entries.capacity();
            }
            _ => {
                let entries = vec![entry];
                self.room += entries.capacity();
                self.blocks.push_back(Block { first_mark: mark, entries });
            }
        }
    }

    /// The mark of one of the oldest, if there are any.
    #[inline]
    pub(super) fn first_mark(&self) -> Option<u32> {
        self.blocks.front().map(|block| block.first_mark)
    }

    /// Tells the oldest of one block, as many as there is room for; returns how many.
    /// Their hashes are told as far as they are kept.
    pub(super) fn oldest(&self, hashes: &mut [u32]) -> usize {
        let Some(block) = self.blocks.front() else { return 0 };
        let entries = block.entries[self.taken..].iter().zip(hashes);
        entries.map(|(entry, hash)| *hash = entry.hash).count()
    }

    /// Takes the oldest out.
    pub(super) fn pop(&mut self) {
        let Some(block) = self.blocks.front() else { return };
        self.bytes -= block.entries[self.taken].bytes as usize;
        self.taken += 1;
        if self.taken == block.entries.len() {
            self.taken = 0;
            self.room -= block.entries.capacity();
            self.blocks.pop_front();
        }
    }

    /// Frees up to `budget` blocks; returns how many. This is not to be used any more.
    pub(super) fn shed(&mut self, budget: usize) -> usize {
        let shed = budget.min(self.blocks.len());
        for block in self.blocks.drain(self.blocks.len() - shed..) {
            self.room -= block.entries.capacity();
        }
        shed
    }

    /// Bytes that the rows had when they came.
    #[inline]
    pub(super) fn row_bytes(&self) -> usize {
        self.bytes
    }

    /// Bytes of the queue.
    pub(super) fn heap_bytes(&self) -> usize {
        self.room * size_of::<Written>() + self.blocks.capacity() * size_of::<Block>()
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
                fresh.push(next as u32, next as usize % 10, round as u32);
                next += 1;
            }
            let mut hashes = [0; 5];
            let count = fresh.oldest(&mut hashes[..round % 5]);
            assert!(count as u64 <= next - u64::from(oldest), "no more than there are");
            assert_eq!(count == 0, fresh.first_mark().is_none() || round % 5 == 0);
            for hash in &hashes[..count] {
                assert_eq!(*hash, oldest);
                fresh.pop();
                oldest += 1;
            }
            let bytes: u64 = (u64::from(oldest)..next).map(|hash| hash % 10).sum();
            assert_eq!(
                (fresh.row_bytes() as u64, fresh.first_mark().is_none()),
                (bytes, oldest as u64 == next)
            );
        }
        while fresh.first_mark().is_some() {
            fresh.pop();
        }
        assert!(fresh.row_bytes() == 0 && fresh.heap_bytes() < 4_096);
    }

    #[test]
    fn what_is_put_back_while_a_block_is_emptied_comes_after_all_others() {
        let mut fresh = Fresh::default();
        (0..3).for_each(|hash| fresh.push(hash, 1, 10));
        fresh.pop();
        assert_eq!(fresh.first_mark(), Some(10));
        fresh.push(0, 1, 20);
        let mut left = [9; 3];
        assert_eq!((fresh.oldest(&mut left), left), (2, [1, 2, 9]));
        (0..2).for_each(|_| fresh.pop());
        assert_eq!((fresh.oldest(&mut left), left, fresh.first_mark()), (1, [0, 2, 9], Some(20)));
        fresh.pop();
        assert_eq!((fresh.room, fresh.first_mark()), (0, None));
    }

    #[test]
    fn shedding_goes_block_by_block() {
        let mut fresh = Fresh::default();
        (0..10 * BLOCK_ENTRIES as u32).for_each(|hash| fresh.push(hash, 1, 0));
        assert_eq!((fresh.shed(3), fresh.shed(100), fresh.shed(100)), (3, 7, 0));
        assert_eq!((fresh.first_mark(), fresh.room), (None, 0));
    }
}
