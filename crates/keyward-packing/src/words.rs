//! The words of a table: texts that occur in many of its rows, by number.
//!
//! Owns the texts, their numbers and how many rows hold each. A text becomes a word
//! when it comes twice with one row, or with another row while it is still among the
//! recent ones (`recent`), so that what occurs once costs no entry; a word that no row holds any more is
//! forgotten and its number given to the next, so that the table of words never grows
//! beyond what rows use. Words that a schema spells out are there from the start and
//! stay.
//!
//! Words lie in blocks, whose memory goes with the last word there. What finds them by
//! their texts (`numbers`) grows and shrinks in small steps too.
//!
//! Estimate: 90 bytes for a word of 44, and a look-up of 60 ns, or 10 if it came lately.
//! Growing moves a thousand words' numbers at most: some tens of microseconds.
//! Invariants: the text of a number stays the same while a row holds it; `uses` is
//! how often packed rows name it; `open` names exactly the blocks that are not full.

mod block;
mod numbers;
mod recent;

use block::{BLOCK_WORDS, Block, Word};
use numbers::Numbers;
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

/// Texts of a row among which one that comes twice is looked for.
const SEEN_MAX: usize = 32;

/// Texts by number.
#[derive(Debug)]
pub(crate) struct Words {
    blocks: Vec<Block>,
    /// The blocks that have free numbers, in any order.
    open: Vec<u32>,
    /// Bytes of the blocks.
    block_bytes: usize,
    /// Numbers by text.
    numbers: Numbers,
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

/// What is no number of a word.
pub(crate) const NO_NUMBER: u32 = u32::MAX;

impl Words {
    /// No words yet. The keys choose the hash function.
    pub(crate) fn new(hash_keys: [u64; 2]) -> Words {
        Words {
            blocks: Vec::new(),
            open: Vec::new(),
            block_bytes: 0,
            numbers: Numbers::default(),
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
        let word = self.word_mut(number);
        word.uses -= 1;
        if word.uses > 0 {
            return;
        }
        let (hash, text_bytes) = (spread(word.hash), word.text.len());
        self.numbers.remove(hash, number, |number| hash_of(&self.blocks, number));
        self.text_bytes -= text_bytes;
        self.len -= 1;
        self.forget(number);
    }

    /// Lets the word of a number go.
    fn forget(&mut self, number: u32) {
        let (at, place) = split(number);
        let block = &mut self.blocks[at];
        if block.is_full() {
            self.open.push(at as u32);
        }
        self.block_bytes -= block.heap_bytes();
        block.remove(place);
        self.block_bytes += block.heap_bytes();
        if self.len == 0 {
            (self.blocks, self.open) = (Vec::new(), Vec::new());
        }
    }

    /// Frees about `budget` words, or tables that find them; returns how many. The words
    /// are not to be used any more.
    pub(crate) fn shed(&mut self, budget: usize) -> usize {
        let mut shed = self.numbers.shed(budget);
        while shed < budget
            && let Some(block) = self.blocks.last_mut()
        {
            let Some(word) = block.pop() else {
                self.block_bytes -= block.heap_bytes();
                self.blocks.pop();
                shed += 1;
                continue;
            };
            self.len -= usize::from(word.uses > 0);
            self.text_bytes -= word.text.len();
            shed += 1;
        }
        shed
    }

    /// The text of a word.
    #[inline]
    pub(crate) fn text(&self, number: u32) -> Option<&[u8]> {
        let (block, place) = split(number);
        let word = self.blocks.get(block)?.get(place)?;
        (word.uses > 0).then_some(&*word.text)
    }

    /// How many words there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Bytes of the words and of what finds them.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.text_bytes
            + self.block_bytes
            + self.blocks.capacity() * size_of::<Block>()
            + self.open.capacity() * size_of::<u32>()
            + self.numbers.heap_bytes()
            + self.recent.heap_bytes()
            + self.last.capacity() * size_of::<u32>()
    }

    fn hash(&self, text: &[u8]) -> u64 {
        SipHasher13::new_with_keys(self.hash_keys[0], self.hash_keys[1]).hash(text)
    }

    fn word_mut(&mut self, number: u32) -> &mut Word {
        let (block, place) = split(number);
        self.blocks[block].get_mut(place)
    }

    fn find(&self, hash: u32, text: &[u8]) -> Option<u32> {
        self.numbers.find(spread(hash), |number| self.text(number) == Some(text))
    }

    /// Makes a text a word that is used once.
    fn add(&mut self, hash: u32, text: &[u8]) -> u32 {
        self.text_bytes += text.len();
        self.len += 1;
        let number = self.put(Word { text: text.into(), uses: 1, hash });
        self.numbers.insert(spread(hash), number, |number| hash_of(&self.blocks, number));
        number
    }

    /// Gives a word a number.
    fn put(&mut self, word: Word) -> u32 {
        let at = self.open.last().map_or(self.blocks.len(), |open| *open as usize);
        if at == self.blocks.len() {
            self.blocks.push(Block::default());
            self.open.push(at as u32);
        }
        let block = &mut self.blocks[at];
        self.block_bytes -= block.heap_bytes();
        // Small tables pay little: only the first block grows as words come.
        let place = block.put(word, at > 0);
        self.block_bytes += block.heap_bytes();
        if block.is_full() {
            self.open.pop();
        }
        (at * BLOCK_WORDS + place) as u32
    }
}

/// The block of a number, and the place there.
fn split(number: u32) -> (usize, usize) {
    (number as usize / BLOCK_WORDS, number as usize % BLOCK_WORDS)
}

/// What a word is found by.
fn hash_of(blocks: &[Block], number: u32) -> u64 {
    let (block, place) = split(number);
    spread(blocks[block].get(place).map_or(0, |word| word.hash))
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

    /// Words of so many texts, each in two rows.
    fn many(count: u32) -> Words {
        let mut words = Words::new([1, 2]);
        for number in 0..count {
            for row in [b"row 1", b"row 2"] {
                words.begin_row(row);
                words.hold(format!("the text of {number}").as_bytes());
            }
        }
        words
    }

    fn check_bytes(words: &Words) {
        let blocks: usize = words.blocks.iter().map(Block::heap_bytes).sum();
        let held = words.blocks.iter().flat_map(Block::iter).filter(|word| word.uses > 0);
        let texts: usize = held.map(|word| word.text.len()).sum();
        assert_eq!((words.block_bytes, words.text_bytes), (blocks, texts));
    }

    #[test]
    fn memory_goes_with_the_last_word_of_a_block_and_numbers_are_used_again() {
        let blocks = 5;
        let mut words = many((blocks * BLOCK_WORDS) as u32);
        let full = words.heap_bytes();
        assert_eq!((words.len(), words.open.len()), (blocks * BLOCK_WORDS, 0));
        // One word of each of two blocks stays.
        let is_kept = |number: u32| number == 7 || number == 2 * BLOCK_WORDS as u32 + 1;
        let all = 0..(blocks * BLOCK_WORDS) as u32;
        all.clone().filter(|number| !is_kept(*number)).for_each(|number| words.release(number));
        check_bytes(&words);
        assert_eq!(words.len(), 2);
        let left = words.heap_bytes();
        assert!(left < full / 2, "{left} bytes of {full} for two words");
        let text = words.text(7).map(<[u8]>::to_vec);
        let again: std::collections::BTreeSet<u32> = (0..(blocks * BLOCK_WORDS - 2) as u32)
            .map(|number| words.add(number, format!("another {number}").as_bytes()))
            .collect();
        assert!(again.into_iter().eq(all.filter(|number| !is_kept(*number))));
        assert_eq!(words.text(7).map(<[u8]>::to_vec), text);
        check_bytes(&words);
    }

    #[test]
    fn words_are_shed_in_steps_until_nothing_is_left() {
        let mut words = many(20_000);
        words.release(3);
        let (mut steps, count) = (0, words.len());
        loop {
            let before = words.len();
            let shed = words.shed(100);
            assert!(shed <= 100 && before - words.len() <= shed, "a step is bounded");
            check_bytes(&words);
            if shed == 0 {
                break;
            }
            steps += 1;
        }
        assert!(steps >= count / 100, "{steps} steps for {count} words");
        assert_eq!((words.len(), words.text_bytes, words.block_bytes), (0, 0, 0));
    }
}
