//! A match: the pattern of a key, and the values of its placeholders.
//!
//! Values are slices of the key. Where all of them are whole segments, they are found by the
//! colons; otherwise the pattern reads the key, once they are asked for.

use std::iter::FusedIterator;

use super::Answer;
use super::ends::Ends;
use crate::pattern::{Pattern, Values};

/// The pattern of a key.
#[derive(Clone, Debug)]
pub struct Match<'k> {
    /// Which pattern it is, by its place in the matcher's list.
    pub pattern: usize,
    key: &'k [u8],
    ends: Ends,
    answer: Answer,
    /// The pattern, unless its values are whole segments.
    reader: Option<&'k Pattern>,
}

/// The values of a match's placeholders in order.
#[derive(Clone, Debug)]
pub struct Placeholders<'k>(Course<'k>);

// Both live on the stack for a moment; a box would be an allocation for each match.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug)]
enum Course<'k> {
    Segments(Segments<'k>),
    Read { values: Values<'k>, next: usize },
}

/// Values that are whole segments.
#[derive(Clone, Debug)]
struct Segments<'k> {
    key: &'k [u8],
    /// The ends of the segments still to come.
    ends: Ends,
    /// Where the next segment starts.
    start: usize,
    /// How many segments of the pattern are still to come.
    segment_count: u8,
    /// One bit for each of them that is a placeholder.
    placeholders: u16,
}

impl<'k> Match<'k> {
    #[inline]
    pub(super) fn new(
        key: &'k [u8],
        ends: Ends,
        answer: Answer,
        reader: Option<&'k Pattern>,
    ) -> Match<'k> {
        Match { pattern: answer.pattern as usize, key, ends, answer, reader }
    }

    /// The value of the placeholder with this index.
    ///
    /// # Panics
    /// If the pattern has no such placeholder.
    pub fn placeholder(&self, index: usize) -> &'k [u8] {
        self.placeholders().nth(index).expect("the pattern has a placeholder of this index")
    }

    /// The values of all placeholders in order.
    #[inline]
    pub fn placeholders(&self) -> Placeholders<'k> {
        if let Some(values) = self.reader.and_then(|reader| reader.split(self.key)) {
            return Placeholders(Course::Read { values, next: 0 });
        }
        Placeholders(Course::Segments(Segments {
            key: self.key,
            ends: self.ends,
            start: 0,
            segment_count: self.answer.segment_count.get(),
            placeholders: self.answer.placeholders,
        }))
    }
}

impl<'k> Iterator for Placeholders<'k> {
    type Item = &'k [u8];

    #[inline]
    fn next(&mut self) -> Option<&'k [u8]> {
        match &mut self.0 {
            Course::Segments(segments) => segments.next(),
            Course::Read { values, next } => {
                let value = values.get(*next).copied();
                *next += usize::from(value.is_some());
                value
            }
        }
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let count = match &self.0 {
            Course::Segments(segments) => segments.placeholders.count_ones() as usize,
            Course::Read { values, next } => values.len() - next,
        };
        (count, Some(count))
    }
}

impl<'k> Segments<'k> {
    #[inline]
    fn next(&mut self) -> Option<&'k [u8]> {
        while self.placeholders != 0 {
            let is_placeholder = self.placeholders & 1 == 1;
            self.placeholders >>= 1;
            self.segment_count -= 1;
            // The last segment reaches to the end of the key, also as a rest.
            let end = match self.segment_count {
                0 => self.key.len(),
                _ => self.ends.next(self.key),
            };
            let start = std::mem::replace(&mut self.start, end + 1);
            if is_placeholder {
                return Some(&self.key[start..end]);
            }
        }
        None
    }
}

impl ExactSizeIterator for Placeholders<'_> {}
impl FusedIterator for Placeholders<'_> {}
