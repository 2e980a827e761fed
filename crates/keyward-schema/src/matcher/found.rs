//! A match: the pattern of a key, and the values of its placeholders.
//!
//! Invariant: holds nothing of the matcher, so it lives as long as the key.
//! Values are slices of the key.

use std::iter::FusedIterator;

use super::Answer;
use crate::MAX_SEGMENTS;

/// The pattern of a key.
#[derive(Clone, Debug)]
pub struct Match<'k> {
    /// Which pattern it is, by its place in the matcher's list.
    pub pattern: usize,
    placeholders: Placeholders<'k>,
}

/// The values of a match's placeholders in order, without the braces of hash tags.
#[derive(Clone, Debug)]
pub struct Placeholders<'k> {
    key: &'k [u8],
    /// Where each segment of the pattern ends.
    ends: [u32; MAX_SEGMENTS],
    /// One bit for each segment that is a placeholder still to come.
    ahead: u16,
    /// One bit for each segment that is tagged.
    tagged: u16,
}

impl<'k> Match<'k> {
    /// Takes the ends of all segments but the pattern's last one.
    #[inline]
    pub(super) fn new(key: &'k [u8], answer: Answer, mut ends: [u32; MAX_SEGMENTS]) -> Match<'k> {
        // A closed pattern ends with the key, and so does a rest.
        ends[usize::from(answer.segment_count.get()) - 1] = key.len() as u32;
        let placeholders =
            Placeholders { key, ends, ahead: answer.placeholders, tagged: answer.tagged };
        Match { pattern: answer.pattern as usize, placeholders }
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
        self.placeholders.clone()
    }
}

impl<'k> Iterator for Placeholders<'k> {
    type Item = &'k [u8];

    #[inline]
    fn next(&mut self) -> Option<&'k [u8]> {
        if self.ahead == 0 {
            return None;
        }
        let segment = self.ahead.trailing_zeros() as usize;
        self.ahead &= self.ahead - 1;
        let start = if segment == 0 { 0 } else { self.ends[segment - 1] as usize + 1 };
        let brace = usize::from(self.tagged >> segment & 1);
        Some(&self.key[start + brace..self.ends[segment] as usize - brace])
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let count = self.ahead.count_ones() as usize;
        (count, Some(count))
    }
}

impl ExactSizeIterator for Placeholders<'_> {}
impl FusedIterator for Placeholders<'_> {}
