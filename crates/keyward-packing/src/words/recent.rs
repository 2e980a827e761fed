//! Which texts came lately: a guess that is seldom wrong.
//!
//! Each slot remembers sixteen bits of the hashes of the last two texts that fell on
//! it. The memory grows with how much comes, so that small tables pay little.

const SLOTS_MIN: usize = 128;
const SLOTS_MAX: usize = 1 << 15;
/// A memory that this many texts per slot came by is made larger, as many times.
const GROWTH: usize = 4;

/// The texts that came lately.
#[derive(Debug, Default)]
pub(super) struct Recent {
    slots: Vec<[u16; 2]>,
    /// Texts that came since the memory has its size.
    came: usize,
}

impl Recent {
    /// Whether a text of this hash came lately. Now it did.
    pub(super) fn saw(&mut self, hash: u64) -> bool {
        if self.came >= self.slots.len() * GROWTH && self.slots.len() < SLOTS_MAX {
            let slots = (self.slots.len() * GROWTH).clamp(SLOTS_MIN, SLOTS_MAX);
            self.slots = vec![[0; 2]; slots];
            self.came = 0;
        }
        self.came += 1;
        let at = hash as usize & (self.slots.len() - 1);
        let slot = &mut self.slots[at];
        // Zero is a place on which nothing fell.
        let mark = ((hash >> 48) as u16).max(1);
        let saw = slot.contains(&mark);
        *slot = [mark, slot[0]];
        saw
    }

    /// Bytes of the memory.
    pub(super) fn heap_bytes(&self) -> usize {
        self.slots.capacity() * size_of::<[u16; 2]>()
    }
}
