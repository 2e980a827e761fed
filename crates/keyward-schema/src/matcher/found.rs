//! A match: the pattern of a key, and the values of its placeholders.
//!
//! Invariant: holds nothing of the matcher, so it lives as long as the key.
//! Values are slices of the key.

use std::iter::FusedIterator;

use super::Answer;
use super::ends::Ends;

/// The pattern of a key.
#[derive(Clone, Debug)]
pub struct Match<'k> {
    /// Which pattern it is, by its place in the matcher's list.
    pub pattern: usize,
    key: &'k [u8],
    ends: Ends,
    answer: Answer,
}

/// The values of a match's placeholders in order, without the braces of hash tags.
#[derive(Clone, Debug)]
pub struct Placeholders<'k> {
    key: &'k [u8],
    /// The ends of the segments still to come.
    ends: Ends,
    /// Where the next segment starts.
    start: usize,
    /// How many segments of the pattern are still to come.
    segment_count: u8,
    /// One bit for each of them that is a placeholder.
    placeholders: u16,
    /// One bit for each of them that is tagged.
    tagged: u16,
}

impl<'k> Match<'k> {
    #[inline]
    pub(super) fn new(key: &'k [u8], ends: Ends, answer: Answer) -> Match<'k> {
        Match { pattern: answer.pattern as usize, key, ends, answer }
    }

    /// The value of the placeholder with this index, without the braces of a hash tag.
    ///
    /// # Panics
    /// If the pattern has no such placeholder.
    pub fn placeholder(&self, index: usize) -> &'k [u8] {
        self.placeholders().nth(index).expect("the pattern has a placeholder of this index")
    }

    /// The values of all placeholders in order.
    #[inline]
    pub fn placeholders(&self) -> Placeholders<'k> {
        Placeholders {
            key: self.key,
            ends: self.ends,
            start: 0,
            segment_count: self.answer.segment_count.get(),
            placeholders: self.answer.placeholders,
            tagged: self.answer.tagged,
        }
    }
}

impl<'k> Iterator for Placeholders<'k> {
    type Item = &'k [u8];

    #[inline]
    fn next(&mut self) -> Option<&'k [u8]> {
        while self.placeholders != 0 {
            let is_placeholder = self.placeholders & 1 == 1;
            let brace = usize::from(self.tagged & 1);
            self.placeholders >>= 1;
            self.tagged >>= 1;
            self.segment_count -= 1;
            // The last segment reaches to the end of the key, also as a rest.
            let end = match self.segment_count {
                0 => self.key.len(),
                _ => self.ends.next(self.key),
            };
            let start = std::mem::replace(&mut self.start, end + 1);
            if is_placeholder {
                return Some(&self.key[start + brace..end - brace]);
            }
        }
        None
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let count = self.placeholders.count_ones() as usize;
        (count, Some(count))
    }
}

impl ExactSizeIterator for Placeholders<'_> {}
impl FusedIterator for Placeholders<'_> {}
