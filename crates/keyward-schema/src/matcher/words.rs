//! Looking a segment up among the words of a state.
//!
//! Each state has a small hash table; those of all states lie in one array,
//! so that a look-up touches one slot. A slot is found and compared by the
//! first and the last eight bytes of a word, which are all of it up to
//! sixteen; longer words are compared in full only after that.
//! Invariants: a table is at most half full; its multiplier was chosen among
//! `MULTIPLIER_TRIES` so that the words collide least, for small tables not at
//! all. Schemas are trusted not to attack their own tables; keys cannot, since
//! they never enter one.

use super::Next;

/// How many multipliers are tried for a table.
const MULTIPLIER_TRIES: usize = 64;

/// The words of all states.
#[derive(Clone, Debug, Default)]
pub(super) struct Words {
    slots: Vec<Slot>,
    /// The bytes of the words that are longer than two edges.
    long: Vec<u8>,
}

/// Which part of the slots belongs to a state, and how to find a word in it.
#[derive(Clone, Debug)]
pub(super) struct WordTable {
    multiplier: u64,
    /// One bit for each length that a word has; the highest for all above.
    lengths: u64,
    start: u32,
    /// The table has two to the power of this many slots.
    bits: u32,
}

/// A word and where it leads, or nothing.
#[derive(Clone, Debug)]
struct Slot {
    edges: Edges,
    length: u32,
    /// Where the word starts in `Words::long` if it is a long one.
    long_start: u32,
    next: Option<Next>,
}

/// The first and the last eight bytes of a word. Where it has fewer, both are
/// the whole word, filled up with zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Edges {
    head: u64,
    tail: u64,
}

const EDGE_BYTES: usize = 8;

impl WordTable {
    /// Whether there are no words.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.lengths == 0
    }

    #[inline]
    fn has_length(&self, length: usize) -> bool {
        self.lengths & length_bit(length) != 0
    }

    #[inline]
    fn slot_of(&self, edges: Edges) -> usize {
        slot_of(edges, self.multiplier, self.bits)
    }
}

impl Words {
    /// Where the segment of a key from `start` to `end` leads if it is a word of the table.
    #[inline]
    pub(super) fn find(
        &self,
        table: &WordTable,
        key: &[u8],
        start: usize,
        end: usize,
    ) -> Option<Next> {
        if !table.has_length(end - start) {
            return None;
        }
        let edges = Edges::of(key, start, end);
        let slots = &self.slots[table.start as usize..][..1 << table.bits];
        let mut index = table.slot_of(edges);
        loop {
            let slot = &slots[index & (slots.len() - 1)];
            let next = slot.next?;
            if slot.edges == edges && self.is_rest_equal(slot, &key[start..end]) {
                return Some(next);
            }
            index += 1;
        }
    }

    /// Whether a slot's word is the segment, given that their edges are the same.
    #[inline]
    fn is_rest_equal(&self, slot: &Slot, segment: &[u8]) -> bool {
        let length = slot.length as usize;
        length == segment.len()
            && (length <= 2 * EDGE_BYTES
                || self.long[slot.long_start as usize..][..length] == *segment)
    }

    /// Adds the table of one state. The words must differ.
    pub(super) fn add_table(&mut self, words: &[(&[u8], Next)]) -> WordTable {
        if words.is_empty() {
            return WordTable { multiplier: 0, lengths: 0, start: 0, bits: 0 };
        }
        let bits = (2 * words.len()).next_power_of_two().trailing_zeros();
        let edges: Vec<Edges> =
            words.iter().map(|(word, _)| Edges::of(word, 0, word.len())).collect();
        let multiplier = best_multiplier(&edges, bits);
        let start = self.slots.len();
        self.slots.resize(start + (1 << bits), Slot::EMPTY);
        for (&edges, (word, next)) in edges.iter().zip(words) {
            let long_start = self.long.len() as u32;
            if word.len() > 2 * EDGE_BYTES {
                self.long.extend_from_slice(word);
            }
            let slots = &mut self.slots[start..];
            let mut index = slot_of(edges, multiplier, bits);
            while slots[index].next.is_some() {
                index = (index + 1) & (slots.len() - 1);
            }
            let length = word.len() as u32;
            slots[index] = Slot { edges, length, long_start, next: Some(*next) };
        }
        let lengths = words.iter().fold(0, |bits, (word, _)| bits | length_bit(word.len()));
        WordTable { multiplier, lengths, start: start as u32, bits }
    }
}

impl Slot {
    const EMPTY: Slot =
        Slot { edges: Edges { head: 0, tail: 0 }, length: 0, long_start: 0, next: None };
}

impl Edges {
    #[inline]
    fn of(key: &[u8], start: usize, end: usize) -> Edges {
        let length = (end - start).min(EDGE_BYTES);
        Edges { head: load(key, start, length), tail: load(key, end - length, length) }
    }
}

/// Up to eight bytes of a key as a number, without a branch on how many.
#[inline]
fn load(key: &[u8], start: usize, length: usize) -> u64 {
    let Some(last) = key.len().checked_sub(EDGE_BYTES) else {
        return key[start..start + length]
            .iter()
            .rev()
            .fold(0, |word, &b| word << 8 | u64::from(b));
    };
    // Near the end of the key the eight bytes start earlier and are shifted.
    let from = start.min(last);
    let mut word = [0; EDGE_BYTES];
    word.copy_from_slice(&key[from..from + EDGE_BYTES]);
    // A shift by all 64 bits occurs for nothing at the very end, masked below.
    let word = u64::from_le_bytes(word).wrapping_shr(8 * (start - from) as u32);
    word & !u64::MAX.checked_shl(8 * length as u32).unwrap_or(0)
}

#[inline]
fn length_bit(length: usize) -> u64 {
    1 << length.min(63)
}

#[inline]
fn slot_of(edges: Edges, multiplier: u64, bits: u32) -> usize {
    let mixed = (edges.head ^ edges.tail.rotate_left(29)).wrapping_mul(multiplier);
    // The high bits of a product are the mixed ones.
    (mixed >> 32 >> (32 - bits)) as usize
}

/// The multiplier by which the fewest words share a slot.
fn best_multiplier(edges: &[Edges], bits: u32) -> u64 {
    let mut taken = vec![false; 1 << bits];
    let mut best = (usize::MAX, 1);
    for odd in (1..).step_by(2).take(MULTIPLIER_TRIES) {
        // An odd multiple of the golden ratio of 64 bits.
        let multiplier = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(odd);
        taken.fill(false);
        let collisions = edges
            .iter()
            .filter(|&&edges| std::mem::replace(&mut taken[slot_of(edges, multiplier, bits)], true))
            .count();
        if collisions < best.0 {
            best = (collisions, multiplier);
        }
        if collisions == 0 {
            break;
        }
    }
    best.1
}
