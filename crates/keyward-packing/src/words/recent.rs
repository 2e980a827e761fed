//! Which texts came lately, and with another row: a guess that is seldom wrong.
//!
//! Each slot remembers the last two texts that fell on it: sixteen bits of the hash of
//! each, and eight of the row it came with. A row that is written again with what it
//! held, as caches are, is no reason to keep its text apart. The memory grows with how
//! much comes, so that small tables pay little.

const SLOTS_MIN: usize = 128;
const SLOTS_MAX: usize = 1 << 15;
/// A memory that this many texts per slot came by is made larger, as many times.
const GROWTH: usize = 4;

/// The texts that came lately.
#[derive(Debug, Default)]
pub(super) struct Recent {
    slots: Vec<Slot>,
    /// Texts that came since the memory has its size.
    came: usize,
}

/// The last texts that fell on a place, the latest first. Zero is a mark of none.
#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    marks: [u16; 2],
    rows: [u8; 2],
}

impl Recent {
    /// Whether a text of this hash came lately, with another row than this. Now it came
    /// with this one.
    pub(super) fn saw(&mut self, hash: u64, row: u8) -> bool {
        if self.came >= self.slots.len() * GROWTH && self.slots.len() < SLOTS_MAX {
            let slots = (self.slots.len() * GROWTH).clamp(SLOTS_MIN, SLOTS_MAX);
            self.slots = vec![Slot::default(); slots];
            self.came = 0;
        }
        self.came += 1;
        let at = hash as usize & (self.slots.len() - 1);
        let slot = &mut self.slots[at];
        let mark = ((hash >> 48) as u16).max(1);
        let saw = (0..2).any(|at| slot.marks[at] == mark && slot.rows[at] != row);
        if slot.marks[0] != mark || slot.rows[0] != row {
            *slot = Slot { marks: [mark, slot.marks[0]], rows: [row, slot.rows[0]] };
        }
        saw
    }

    /// Bytes of the memory.
    pub(super) fn heap_bytes(&self) -> usize {
        self.slots.capacity() * size_of::<Slot>()
    }
}
