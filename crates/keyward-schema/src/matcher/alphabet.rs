//! Sets of bytes, and how far a text goes on in one.
//!
//! A set is a few ranges of bytes, which sixteen bytes are held against at once (`lane`): the end
//! of a value of random length costs no branch per byte.

use std::sync::Arc;

use super::lane::{ByteRange, LANE_BYTES, members};
use super::text::Text;

/// How many ranges an alphabet may have.
const RANGES: usize = 5;

/// A set of bytes, of `RANGES` ranges at most.
#[derive(Clone, Debug)]
pub(super) struct Alphabet(Arc<[ByteRange; RANGES]>);

impl Alphabet {
    /// The bytes that are told to be in it; nothing if there are none, or too many ranges.
    pub(super) fn of(has: impl Fn(u8) -> bool) -> Option<Alphabet> {
        let mut ranges: Vec<(u8, u8)> = Vec::new();
        for byte in (0..=u8::MAX).filter(|byte| has(*byte)) {
            match ranges.last_mut() {
                Some((first, more)) if *first + *more + 1 == byte => *more += 1,
                _ => ranges.push((byte, 0)),
            }
        }
        let &(first, more) = ranges.first()?;
        // Each lane is held against as many ranges, so that none needs a branch.
        let mut all = [ByteRange::new(first, more); RANGES];
        for (index, (first, more)) in ranges.into_iter().enumerate() {
            *all.get_mut(index)? = ByteRange::new(first, more);
        }
        Some(Alphabet(Arc::new(all)))
    }

    /// Where the bytes of a text from `from` on leave the alphabet, or `to` if before that.
    #[inline]
    pub(super) fn end(&self, key: Text<'_>, from: usize, to: usize) -> usize {
        let mut at = from;
        while at < to {
            let (lane, start) = key.lane(at);
            at += (members(lane, &self.0) >> (at - start)).trailing_ones() as usize;
            if at < start + LANE_BYTES {
                break;
            }
        }
        at.min(to)
    }

    /// From where on all bytes of a text up to `to` are of the alphabet, not before `from`.
    #[inline]
    pub(super) fn start(&self, key: Text<'_>, from: usize, to: usize) -> usize {
        let mut at = to;
        while at > from {
            let (lane, start) = key.lane(at.saturating_sub(LANE_BYTES));
            let ahead = (1 << (at - start)) - 1;
            let foreign = !members(lane, &self.0) & ahead;
            at = start + (u32::BITS - foreign.leading_zeros()) as usize;
            if foreign != 0 {
                break;
            }
        }
        at.max(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn both_ends_are_where_a_search_by_bytes_finds_them(
            key in prop::collection::vec(prop_oneof![20 => Just(b'a'), 1 => any::<u8>()], 0..80),
            (from, to) in (0..80_usize, 0..80_usize),
        ) {
            let (from, to) = (from.min(key.len()), to.min(key.len()));
            let (from, to) = (from.min(to), from.max(to));
            let has = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, 0 | 255);
            let alphabet = Alphabet::of(has).expect("five ranges");
            let part = &key[from..to];
            let end = part.iter().position(|byte| !has(*byte)).map_or(to, |at| from + at);
            let start = part.iter().rposition(|byte| !has(*byte)).map_or(from, |at| from + at + 1);
            prop_assert_eq!(Text::with(&key, |text| alphabet.end(text, from, to)), end);
            prop_assert_eq!(Text::with(&key, |text| alphabet.start(text, from, to)), start);
        }
    }
}
