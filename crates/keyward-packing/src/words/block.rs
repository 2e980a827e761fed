//! A thousand words that come and go together.
//!
//! Owns the places of a block: numbers are given out by whoever has the blocks. A block
//! without words has no memory.
//! Invariant: `taken` places have a word that is used; the others are in a chain.

/// Words per block, so that no step moves more of them.
pub(super) const BLOCK_WORDS: usize = 1024;
/// The end of the chain of free places.
const NO_PLACE: u32 = u32::MAX;

#[derive(Debug)]
pub(super) struct Word {
    pub(super) text: Box<[u8]>,
    /// None if it was forgotten.
    pub(super) uses: u32,
    /// The lower half of its hash; of one that was forgotten, the next such place.
    pub(super) hash: u32,
}

/// Words by their places.
#[derive(Debug)]
pub(super) struct Block {
    words: Vec<Word>,
    /// How many are used.
    taken: u32,
    /// The first of the chain of those that were forgotten.
    free: u32,
}

impl Default for Block {
    fn default() -> Block {
        Block { words: Vec::new(), taken: 0, free: NO_PLACE }
    }
}

impl Block {
    pub(super) fn is_full(&self) -> bool {
        self.taken as usize == BLOCK_WORDS
    }

    /// What is at a place, if there ever was a word.
    #[inline]
    pub(super) fn get(&self, place: usize) -> Option<&Word> {
        self.words.get(place)
    }

    /// The word at a place, where there must be one.
    pub(super) fn get_mut(&mut self, place: usize) -> &mut Word {
        &mut self.words[place]
    }

    /// Takes a word in, and returns where it is. Room is made for all at once, if so
    /// many are to come.
    pub(super) fn put(&mut self, word: Word, are_many: bool) -> usize {
        self.taken += 1;
        if self.free == NO_PLACE {
            if are_many {
                self.words.reserve_exact(BLOCK_WORDS - self.words.len());
            }
            self.words.push(word);
            return self.words.len() - 1;
        }
        let place = self.free as usize;
        self.free = self.words[place].hash;
        self.words[place] = word;
        place
    }

    /// Forgets the word at a place.
    pub(super) fn remove(&mut self, place: usize) {
        self.taken -= 1;
        if self.taken == 0 {
            *self = Block::default();
        } else {
            self.words[place] = Word { text: Box::default(), uses: 0, hash: self.free };
            self.free = place as u32;
        }
    }

    /// Takes the last place away. The block is not to be used any more.
    pub(super) fn pop(&mut self) -> Option<Word> {
        self.words.pop()
    }

    /// Bytes of the places.
    pub(super) fn heap_bytes(&self) -> usize {
        self.words.capacity() * size_of::<Word>()
    }

    #[cfg(test)]
    pub(super) fn iter(&self) -> impl Iterator<Item = &Word> {
        self.words.iter()
    }
}
