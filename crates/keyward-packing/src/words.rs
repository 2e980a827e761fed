//! The words of a table: texts that occur in many of its rows, by number.
//!
//! Owns the texts, their numbers and how many rows hold each. A text becomes a word
//! when it comes a second time while it is still among the recent ones (`recent`), so
//! that what occurs once costs no entry; a word that no row holds any more is
//! forgotten and its number given to the next, so that the table of words never grows
//! beyond what rows use. Words that a schema spells out are there from the start and
//! stay.
//!
//! Estimate: 90 bytes for a word of 44, and a look-up of 60 ns.
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

/// Texts by number.
#[derive(Debug)]
pub(crate) struct Words {
    entries: Vec<Word>,
    /// Numbers whose words were forgotten.
    free: Vec<u32>,
    by_text: HashTable<u32>,
    recent: Recent,
    hash_keys: [u64; 2],
    /// Bytes of the texts.
    text_bytes: usize,
}

#[derive(Debug)]
struct Word {
    text: Box<[u8]>,
    uses: u32,
}

impl Words {
    /// No words yet. The keys choose the hash function.
    pub(crate) fn new(hash_keys: [u64; 2]) -> Words {
        Words {
            entries: Vec::new(),
            free: Vec::new(),
            by_text: HashTable::new(),
            recent: Recent::default(),
            hash_keys,
            text_bytes: 0,
        }
    }

    /// Makes a text a word that stays.
    pub(crate) fn pin(&mut self, text: &[u8]) {
        let hash = self.hash(text);
        match self.find(hash, text) {
            Some(number) => self.entries[number as usize].uses += 1,
            None => {
                self.add(hash, text);
            }
        }
    }

    /// The number of a text, if it is a word or becomes one now; that counts as a use.
    pub(crate) fn hold(&mut self, text: &[u8]) -> Option<u32> {
        let hash = self.hash(text);
        if let Some(number) = self.find(hash, text) {
            let word = &mut self.entries[number as usize];
            word.uses = word.uses.checked_add(1)?;
            return Some(number);
        }
        if !self.recent.saw(hash) || self.by_text.len() >= WORDS_MAX {
            return None;
        }
        Some(self.add(hash, text))
    }

    /// A row names a word no longer.
    pub(crate) fn release(&mut self, number: u32) {
        let Some(word) = self.entries.get_mut(number as usize) else { return };
        word.uses = word.uses.saturating_sub(1);
        if word.uses > 0 {
            return;
        }
        let text = std::mem::take(&mut word.text);
        let hash = self.hash(&text);
        if let Ok(entry) = self.by_text.find_entry(hash, |other| *other == number) {
            entry.remove();
            self.text_bytes -= text.len();
            self.free.push(number);
        }
    }

    /// The text of a word.
    #[inline]
    pub(crate) fn text(&self, number: u32) -> Option<&[u8]> {
        let word = self.entries.get(number as usize)?;
        (word.uses > 0).then_some(&*word.text)
    }

    /// How many words there are.
    pub(crate) fn len(&self) -> usize {
        self.by_text.len()
    }

    /// Bytes of the words and of what finds them.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.text_bytes
            + self.entries.capacity() * size_of::<Word>()
            + self.free.capacity() * size_of::<u32>()
            + self.by_text.capacity() * (size_of::<u32>() + 1)
            + self.recent.heap_bytes()
    }

    fn hash(&self, text: &[u8]) -> u64 {
        SipHasher13::new_with_keys(self.hash_keys[0], self.hash_keys[1]).hash(text)
    }

    fn find(&self, hash: u64, text: &[u8]) -> Option<u32> {
        let is_it = |number: &u32| *self.entries[*number as usize].text == *text;
        self.by_text.find(hash, is_it).copied()
    }

    /// Makes a text a word that is used once.
    fn add(&mut self, hash: u64, text: &[u8]) -> u32 {
        let word = Word { text: text.into(), uses: 1 };
        self.text_bytes += text.len();
        let number = match self.free.pop() {
            Some(number) => {
                self.entries[number as usize] = word;
                number
            }
            None => {
                self.entries.push(word);
                self.entries.len() as u32 - 1
            }
        };
        let (entries, keys) = (&self.entries, self.hash_keys);
        let hash_of = |number: &u32| {
            let text = &entries[*number as usize].text;
            SipHasher13::new_with_keys(keys[0], keys[1]).hash(text)
        };
        self.by_text.insert_unique(hash, number, hash_of);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_becomes_a_word_when_it_comes_again_and_is_forgotten_with_its_last_use() {
        let mut words = Words::new([1, 2]);
        assert_eq!(words.hold(b"solana"), None);
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
    fn most_of_many_texts_that_come_again_become_words() {
        let mut words = Words::new([1, 2]);
        for number in 0..1_000_000u32 {
            words.hold(&(number % 25_000).to_le_bytes());
        }
        assert!(words.len() > 20_000, "{} words", words.len());
    }
}
