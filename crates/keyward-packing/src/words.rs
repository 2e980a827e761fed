//! The words of a table: texts that occur in many of its rows, by number.
//!
//! Owns the texts, their numbers and how many rows hold each. A text becomes a word
//! when it comes twice with one row, or with another row while it is still among the
//! recent ones (`recent`), so that what occurs once costs no entry; a word that no row holds any more is
//! forgotten and its number given to the next, so that the table of words never grows
//! beyond what rows use. Words that a schema spells out are there from the start and
//! stay.
//!
//! Estimate: 90 bytes for a word of 44, and a look-up of 60 ns, or 10 if it came lately. Growing moves a block of
//! words, or one of many parts of the table that finds them: a part in 256 of a million
//! words, some tens of microseconds.
//! Invariants: the text of a number stays the same while a row holds it; `uses` is
//! how often packed rows name it.

mod recent;

use hashbrown::HashTable;
use recent::Recent;
use siphasher::sip::SipHasher13;

/// The longest text that becomes a word by coming again.
pub(crate) const WORD_BYTES_MAX: usize = 96;
/// The longest skeleton.
pub(crate) const SKELETON_BYTES_MAX: usize = 4096;
/// The most words a table has: what a number of them can be written in.
const WORDS_MAX: usize = 1 << 24;

/// How many words are found without a hash.
const LAST_WORDS: usize = 256;

/// Entries per allocation, so that no step moves more of them.
const BLOCK_WORDS: usize = 1024;
/// Parts of the table that finds words, once there are many: each grows by itself.
const PARTS: usize = 256;
const PART_SHIFT: u32 = 32;
/// Texts of a row among which one that comes twice is looked for.
const SEEN_MAX: usize = 32;

/// Texts by number.
#[derive(Debug)]
pub(crate) struct Words {
    /// All but the last block are full.
    blocks: Vec<Vec<Word>>,
    /// A number whose word was forgotten: the first of a chain.
    free: Option<u32>,
    /// Numbers by text: one part, or `PARTS`.
    parts: Vec<HashTable<u32>>,
    /// Numbers that the parts have room for.
    places: usize,
    len: usize,
    recent: Recent,
    /// The word that came last of those whose texts are alike by `likeness`; none until
    /// there are words.
    last: Vec<u32>,
    /// What the row that is being packed is told by, from most others.
    row: u8,
    /// Texts of that row that are no words, by half their hashes: the first ones.
    seen: Vec<u32>,
    hash_keys: [u64; 2],
    /// Bytes of the texts.
    text_bytes: usize,
}

#[derive(Debug)]
struct Word {
    text: Box<[u8]>,
    /// None if it was forgotten.
    uses: u32,
    /// The lower half of its hash; of one that was forgotten, the next such number.
    hash: u32,
}

/// What is no number of a word, and the end of the chain of those whose words were
/// forgotten.
pub(crate) const NO_NUMBER: u32 = u32::MAX;

impl Words {
    /// No words yet. The keys choose the hash function.
    pub(crate) fn new(hash_keys: [u64; 2]) -> Words {
        Words {
            blocks: Vec::new(),
            free: None,
            parts: vec![HashTable::new()],
            places: 0,
            len: 0,
            recent: Recent::default(),
            last: Vec::new(),
            row: 0,
            seen: Vec::new(),
            hash_keys,
            text_bytes: 0,
        }
    }

    /// Makes a text a word that stays.
    pub(crate) fn pin(&mut self, text: &[u8]) {
        let hash = self.hash(text);
        match self.find(hash as u32, text) {
            Some(number) => self.word_mut(number).uses += 1,
            None => {
                self.add(hash as u32, text);
            }
        }
    }

    /// The texts that come now are of the row of this key.
    pub(crate) fn begin_row(&mut self, key: &[u8]) {
        self.row = mark_of_row(key);
        self.seen.clear();
    }

    /// The number of a text, if it is a word or becomes one now; that counts as a use.
    pub(crate) fn hold(&mut self, text: &[u8]) -> Option<u32> {
        // Most texts that are words are those that came last, which needs no hash to tell.
        let place = likeness(text);
        let number = self.last.get(place).copied().unwrap_or(NO_NUMBER);
        if self.text(number) == Some(text) {
            return self.use_again(number);
        }
        let hash = self.hash(text);
        let number = match self.find(hash as u32, text) {
            Some(number) => self.use_again(number)?,
            None if !self.comes_again(hash) || self.len >= WORDS_MAX => return None,
            None => self.add(hash as u32, text),
        };
        self.last.resize(LAST_WORDS, NO_NUMBER);
        self.last[place] = number;
        Some(number)
    }

    /// Whether a text of this hash came lately: with another row, or twice with this one.
    fn comes_again(&mut self, hash: u64) -> bool {
        let came_lately = self.recent.saw(hash, self.row);
        let came_with_this = self.seen.contains(&(hash as u32));
        if !came_with_this && self.seen.len() < SEEN_MAX {
            self.seen.push(hash as u32);
        }
        came_lately || came_with_this
    }

    /// Counts one more use of a word; `None` if there are too many to count.
    pub(crate) fn use_again(&mut self, number: u32) -> Option<u32> {
        let word = self.word_mut(number);
        word.uses = word.uses.checked_add(1)?;
        Some(number)
    }

    /// A row names a word no longer.
    pub(crate) fn release(&mut self, number: u32) {
        if self.text(number).is_none() {
            return;
        }
        let next_free = self.free.unwrap_or(NO_NUMBER);
        let word = self.word_mut(number);
        word.uses -= 1;
        if word.uses > 0 {
            return;
        }
        let (text, hash) = (std::mem::take(&mut word.text), word.hash);
        word.hash = next_free;
        self.free = Some(number);
        self.text_bytes -= text.len();
        self.len -= 1;
        let part = self.part_of(hash);
        let entry = self.parts[part].find_entry(spread(hash), |other| *other == number);
        entry.expect("every word can be found by its text").remove();
    }

    /// The text of a word.
    #[inline]
    pub(crate) fn text(&self, number: u32) -> Option<&[u8]> {
        let number = number as usize;
        let word = self.blocks.get(number / BLOCK_WORDS)?.get(number % BLOCK_WORDS)?;
        (word.uses > 0).then_some(&*word.text)
    }

    /// How many words there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Bytes of the words and of what finds them.
    pub(crate) fn heap_bytes(&self) -> usize {
        let last = self.blocks.last().map_or(0, Vec::capacity);
        let words = self.blocks.len().saturating_sub(1) * BLOCK_WORDS + last;
        self.text_bytes
            + words * size_of::<Word>()
            + self.places * (size_of::<u32>() + 1)
            + self.parts.capacity() * size_of::<HashTable<u32>>()
            + self.recent.heap_bytes()
            + self.last.capacity() * size_of::<u32>()
    }

    fn hash(&self, text: &[u8]) -> u64 {
        SipHasher13::new_with_keys(self.hash_keys[0], self.hash_keys[1]).hash(text)
    }

    fn word(&self, number: u32) -> &Word {
        &self.blocks[number as usize / BLOCK_WORDS][number as usize % BLOCK_WORDS]
    }

    fn word_mut(&mut self, number: u32) -> &mut Word {
        &mut self.blocks[number as usize / BLOCK_WORDS][number as usize % BLOCK_WORDS]
    }

    /// Which part of the table a text of this hash is in.
    fn part_of(&self, hash: u32) -> usize {
        (spread(hash) >> PART_SHIFT) as usize & (self.parts.len() - 1)
    }

    fn find(&self, hash: u32, text: &[u8]) -> Option<u32> {
        let is_it = |number: &u32| *self.word(*number).text == *text;
        self.parts[self.part_of(hash)].find(spread(hash), is_it).copied()
    }

    /// Makes a text a word that is used once.
    fn add(&mut self, hash: u32, text: &[u8]) -> u32 {
        let word = Word { text: text.into(), uses: 1, hash };
        self.text_bytes += text.len();
        self.len += 1;
        let number = match self.free {
            Some(number) => {
                let next = self.word(number).hash;
                self.free = (next != NO_NUMBER).then_some(next);
                *self.word_mut(number) = word;
                number
            }
            None => self.push(word),
        };
        if self.len > BLOCK_WORDS && self.parts.len() == 1 {
            self.part_up();
        }
        self.index(number, hash);
        number
    }

    /// Adds a word under a new number.
    fn push(&mut self, word: Word) -> u32 {
        if self.blocks.last().is_none_or(|block| block.len() == BLOCK_WORDS) {
            let words = if self.blocks.is_empty() { 0 } else { BLOCK_WORDS };
            self.blocks.push(Vec::with_capacity(words));
        }
        let before = (self.blocks.len() - 1) * BLOCK_WORDS;
        let block = self.blocks.last_mut().expect("a block was just ensured");
        block.push(word);
        (before + block.len() - 1) as u32
    }

    /// Lets a number be found by its text.
    fn index(&mut self, number: u32, hash: u32) {
        let part = self.part_of(hash);
        let Words { blocks, parts, places, .. } = self;
        let hash_of = |number: &u32| {
            let word = &blocks[*number as usize / BLOCK_WORDS][*number as usize % BLOCK_WORDS];
            spread(word.hash)
        };
        *places -= parts[part].capacity();
        parts[part].insert_unique(spread(hash), number, hash_of);
        *places += parts[part].capacity();
    }

    /// Makes many parts of the one.
    fn part_up(&mut self) {
        let whole = std::mem::take(&mut self.parts);
        self.parts = (0..PARTS).map(|_| HashTable::new()).collect();
        self.places = 0;
        for number in whole.into_iter().flatten() {
            self.index(number, self.word(number).hash);
        }
    }
}

/// A place among the last words, by the length and both ends of a text.
fn likeness(text: &[u8]) -> usize {
    let end = |bytes: Option<&[u8; 4]>| bytes.map_or(0, |bytes| u32::from_le_bytes(*bytes));
    let ends = end(text.first_chunk()) ^ end(text.last_chunk()).rotate_left(16);
    let mixed = (ends ^ text.len() as u32).wrapping_mul(0x9e37_79b1);
    (mixed >> (u32::BITS - LAST_WORDS.ilog2())) as usize
}

/// Eight bits of a key by which rows are told apart, quickly rather than surely.
fn mark_of_row(key: &[u8]) -> u8 {
    let mix = |mixed: u64, chunk: &[u8]| {
        let mut bytes = [0; 8];
        bytes[..chunk.len()].copy_from_slice(chunk);
        (mixed.rotate_left(23) ^ u64::from_le_bytes(bytes)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    };
    (key.chunks(8).fold(0, mix) >> 56) as u8
}

/// Half a hash as a whole one.
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_becomes_a_word_when_it_comes_again_and_is_forgotten_with_its_last_use() {
        let mut words = Words::new([1, 2]);
        words.begin_row(b"row 1");
        assert_eq!(words.hold(b"solana"), None);
        words.begin_row(b"row 1");
        assert_eq!(words.hold(b"solana"), None, "the same row was written again");
        words.begin_row(b"row 2");
        assert_eq!(words.hold(b"solana"), Some(0));
        assert_eq!(words.hold(b"solana"), Some(0));
        assert_eq!(words.text(0), Some(&b"solana"[..]));
        words.release(0);
        assert_eq!((words.text(0), words.len()), (Some(&b"solana"[..]), 1));
        words.release(0);
        assert_eq!((words.text(0), words.len(), words.text_bytes), (None, 0, 0));
        words.pin(b"other");
        assert_eq!(words.text(0), Some(&b"other"[..]));
    }

    #[test]
    fn texts_that_come_once_cost_nothing() {
        let mut words = Words::new([1, 2]);
        for number in 0..100_000u32 {
            words.hold(&number.to_le_bytes());
        }
        // A slot remembers sixteen bits of a hash.
        assert!(words.len() < 20, "{} words", words.len());
        assert!(words.heap_bytes() < 300_000, "{} bytes", words.heap_bytes());
    }

    #[test]
    fn rows_that_are_written_again_and_again_make_no_words() {
        let mut words = Words::new([1, 2]);
        for number in 0..200_000u32 {
            let row = (number % 5_000).to_le_bytes();
            words.begin_row(&row);
            words.hold(&row);
        }
        assert!(words.len() < 20, "{} words", words.len());
    }

    #[test]
    fn most_of_many_texts_that_come_again_become_words() {
        let mut words = Words::new([1, 2]);
        for number in 0..1_000_000u32 {
            words.begin_row(&number.to_le_bytes());
            words.hold(&(number % 25_000).to_le_bytes());
        }
        assert!(words.len() > 20_000, "{} words", words.len());
    }
}
