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
use super::text::Text;

/// How many multipliers are tried for a table.
const MULTIPLIER_TRIES: usize = 64;

/// How many bytes an edge has.
const EDGE_BYTES: usize = 8;

/// The longest word that its edges and its length tell all about.
const SHORT_BYTES: usize = 2 * EDGE_BYTES;

/// What is left of an edge of a word of so many bytes.
static EDGE_MASKS: [u64; EDGE_BYTES + 1] = [
    0,
    0xff,
    0xffff,
    0xff_ffff,
    0xffff_ffff,
    0xff_ffff_ffff,
    0xffff_ffff_ffff,
    0xff_ffff_ffff_ffff,
    u64::MAX,
];

/// The words of all states.
#[derive(Clone, Debug, Default)]
pub(super) struct Words {
    slots: Vec<Slot>,
    /// The bytes of the words that are longer than `SHORT_BYTES`.
    long: Vec<u8>,
}

/// Which part of the slots belongs to a state, and how to find a word in it.
#[derive(Clone, Debug)]
pub(super) struct WordTable {
    multiplier: u64,
    /// One bit for each length that a word has; the highest for all above.
    lengths: u64,
    /// Where the slots start that a product can point to; the table goes on
    /// behind them as far as collisions pushed its words, and to a free slot.
    start: u32,
    /// How far a product is shifted to leave the index of a slot.
    shift: u32,
}

/// A word and where it leads, or nothing. Never across two cache lines.
#[derive(Clone, Debug)]
#[repr(align(32))]
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

impl WordTable {
    const EMPTY: WordTable = WordTable { multiplier: 0, lengths: 0, start: 0, shift: 0 };

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
        self.start as usize + (edges.product(self.multiplier) >> self.shift) as usize
    }
}

impl Words {
    /// Where the segment of a key from `start` to `end` leads if it is a word of the table.
    #[inline]
    pub(super) fn find(
        &self,
        table: &WordTable,
        key: Text<'_>,
        start: usize,
        end: usize,
    ) -> Option<Next> {
        let length = end - start;
        if !table.has_length(length) {
            return None;
        }
        let edges = Edges::of(key, start, end);
        let mut index = table.slot_of(edges);
        loop {
            let slot = &self.slots[index];
            let next = slot.next?;
            if slot.edges == edges
                && slot.length as usize == length
                && (length <= SHORT_BYTES || self.is_long_word(slot, key, start))
            {
                return Some(next);
            }
            index += 1;
        }
    }

    /// Whether the long word of a slot is what starts there in the key.
    #[cold]
    fn is_long_word(&self, slot: &Slot, key: Text<'_>, start: usize) -> bool {
        let word = &self.long[slot.long_start as usize..][..slot.length as usize];
        key.bytes()[start..].starts_with(word)
    }

    /// Adds the table of one state. The words must differ.
    pub(super) fn add_table(&mut self, words: &[(&[u8], Next)]) -> WordTable {
        if words.is_empty() {
            return WordTable::EMPTY;
        }
        let bits = (2 * words.len()).next_power_of_two().trailing_zeros();
        let shift = u64::BITS - bits;
        let edges: Vec<Edges> = words.iter().map(|(word, _)| Edges::of_word(word)).collect();
        let multiplier = best_multiplier(&edges, shift);
        let lengths = words.iter().fold(0, |bits, (word, _)| bits | length_bit(word.len()));
        let table = WordTable { multiplier, lengths, start: self.slots.len() as u32, shift };
        self.slots.resize(self.slots.len() + (1 << bits), Slot::FREE);
        for (&edges, (word, next)) in edges.iter().zip(words) {
            let mut index = table.slot_of(edges);
            while self.slots[index].next.is_some() {
                index += 1;
                if index == self.slots.len() {
                    self.slots.push(Slot::FREE);
                }
            }
            let (length, long_start) = (word.len() as u32, self.long.len() as u32);
            self.slots[index] = Slot { edges, length, long_start, next: Some(*next) };
            if word.len() > SHORT_BYTES {
                self.long.extend_from_slice(word);
            }
        }
        self.slots.push(Slot::FREE);
        table
    }
}

impl Slot {
    const FREE: Slot =
        Slot { edges: Edges { head: 0, tail: 0 }, length: 0, long_start: 0, next: None };
}

impl Edges {
    /// Takes the edges without a branch on the length of the segment.
    #[inline]
    fn of(key: Text<'_>, start: usize, end: usize) -> Edges {
        let length = (end - start).min(EDGE_BYTES);
        // Eight bytes that would reach beyond the end of the text start
        // earlier and are shifted. This concerns only segments below eight
        // bytes, whose two edges are the same.
        let last = key.readable().len() - EDGE_BYTES;
        let from = start.min(last);
        let shift = 8 * (start - from) as u32;
        let mask = EDGE_MASKS[length];
        let edge = |at: usize| {
            let mut bytes = [0; EDGE_BYTES];
            bytes.copy_from_slice(&key.readable()[at..at + EDGE_BYTES]);
            u64::from_le_bytes(bytes).wrapping_shr(shift) & mask
        };
        Edges { head: edge(from), tail: edge((end - length).min(last)) }
    }

    fn of_word(word: &[u8]) -> Edges {
        Text::with(word, |text| Edges::of(text, 0, word.len()))
    }

    #[inline]
    fn product(self, multiplier: u64) -> u64 {
        (self.head ^ self.tail.rotate_left(29)).wrapping_mul(multiplier)
    }
}

#[inline]
fn length_bit(length: usize) -> u64 {
    1 << length.min(63)
}

/// The multiplier by which the fewest words share a slot.
fn best_multiplier(edges: &[Edges], shift: u32) -> u64 {
    let mut taken = vec![false; 1 << (u64::BITS - shift)];
    let mut best = (usize::MAX, 1);
    for odd in (1..).step_by(2).take(MULTIPLIER_TRIES) {
        // An odd multiple of the golden ratio of 64 bits.
        let multiplier = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(odd);
        taken.fill(false);
        let collisions = edges
            .iter()
            .map(|edges| (edges.product(multiplier) >> shift) as usize)
            .filter(|&slot| std::mem::replace(&mut taken[slot], true))
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
