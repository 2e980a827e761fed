//! Judging a segment by the kinds of placeholders.
//!
//! A set of kinds is a mask: one bit for each of the kinds that fill segments most often; enums
//! are words, the others are judged as segments with text beside them are (`forms`). Kinds
//! overlap (`42` is a `uint`, an `int`, `hex` and more), so what a segment is
//! leads to a set, and a state knows where each set leads that can occur.

use super::number::is_int;
use super::text::Text;
use crate::Kind;

/// A set of kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct KindSet(u8);

const KIND_COUNT: usize = 8;

/// The kinds in the order of their bits. `Str` comes first: it needs no judging.
static KINDS: [Kind; KIND_COUNT] = [
    Kind::Str,
    Kind::Uint,
    Kind::Int,
    Kind::Uuid,
    Kind::Base58,
    Kind::Hex,
    Kind::Date,
    Kind::Month,
];

const STR: u8 = 1;
const UINT: u8 = 1 << 1;
const INT: u8 = 1 << 2;
const UUID: u8 = 1 << 3;
const BASE58: u8 = 1 << 4;
const HEX: u8 = 1 << 5;
const DATE: u8 = 1 << 6;
const MONTH: u8 = 1 << 7;

/// For each length, which of the kinds behind `Int` a value of it can be of. Asking this first
/// spares most of the others their judgement.
static BY_LENGTH: [u8; 37] = {
    let mut kinds = [BASE58 | HEX; 37];
    kinds[36] |= UUID;
    kinds[10] |= DATE;
    kinds[7] |= MONTH;
    kinds
};

/// A value of every set of kinds that a value can have.
const SAMPLES: [&str; 10] = [
    "x-y",
    "42",
    "10",
    "-42",
    "cafe",
    "c0ffee",
    "7Yk2",
    "123e4567-e89b-12d3-a456-426614174000",
    "2025-12-31",
    "2025-12",
];

impl KindSet {
    pub(super) const EMPTY: KindSet = KindSet(0);

    /// The set of one kind; empty for those that are not judged here.
    pub(super) fn of_kind(kind: &Kind) -> KindSet {
        KindSet(KINDS.iter().position(|known| known == kind).map_or(0, |bit| 1 << bit))
    }

    /// The kinds of the set, one by one.
    pub(super) fn kinds(self) -> impl Iterator<Item = &'static Kind> {
        KINDS
            .iter()
            .enumerate()
            .filter(move |(bit, _)| self.0 >> bit & 1 == 1)
            .map(|(_, kind)| kind)
    }

    #[inline]
    pub(super) fn is_empty(self) -> bool {
        self == KindSet::EMPTY
    }

    /// Whether any segment that is not empty is of all these kinds.
    pub(super) fn is_only_str(self) -> bool {
        self.0 == STR
    }

    pub(super) fn union(self, other: KindSet) -> KindSet {
        KindSet(self.0 | other.0)
    }

    pub(super) fn meets(self, other: KindSet) -> bool {
        self.0 & other.0 != 0
    }

    /// Those of these kinds that the segment of a key from `start` to `end` is of.
    #[inline]
    pub(super) fn of(self, key: Text<'_>, start: usize, end: usize) -> KindSet {
        let length = end - start;
        if length == 0 {
            return KindSet::EMPTY;
        }
        let mut seen = self.0 & STR;
        if self.0 & (INT | UINT) != 0 && is_int(key, start, end) {
            let is_negative = key.byte(start) == b'-';
            seen |= self.0 & if is_negative { INT } else { INT | UINT };
        }
        let mut ahead = self.0 & BY_LENGTH.get(length).unwrap_or(&(BASE58 | HEX));
        while ahead != 0 {
            let bit = ahead.trailing_zeros();
            ahead &= ahead - 1;
            let kind = &KINDS[bit as usize];
            seen |= u8::from(kind.accepts(&key.bytes()[start..end])) << bit;
        }
        KindSet(seen)
    }

    /// Those of these kinds that a word is of.
    pub(super) fn of_word(self, word: &[u8]) -> KindSet {
        Text::with(word, |text| self.of(text, 0, word.len()))
    }

    /// The sets that segments can be of, as far as these kinds tell them
    /// apart. What is of none of them is left out.
    pub(super) fn outcomes(self) -> Vec<KindSet> {
        let mut outcomes = Vec::new();
        for sample in SAMPLES {
            let kinds = self.of_word(sample.as_bytes());
            if !kinds.is_empty() && !outcomes.contains(&kinds) {
                outcomes.push(kinds);
            }
        }
        outcomes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// A segment is of the kinds that accept it, and what `outcomes` says is all that can
        /// happen, for all kinds at once and so for any selection of them.
        #[test]
        fn the_samples_leave_no_outcome_out(
            segment in "[-{}a-c0-2OlIz]{1,8}|[0-9]{1,22}|-[0-9]{1,22}|\
                        [0-2]{4}-[0-1][0-9]|[0-2]{4}-[0-1][0-9]-[0-3][0-9]|\
                        [0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
        ) {
            let all = KindSet(u8::MAX);
            let of = all.of_word(segment.as_bytes());
            prop_assert!(all.outcomes().contains(&of));
            for kind in &KINDS {
                let accepts = kind.accepts(segment.as_bytes());
                prop_assert_eq!(of.meets(KindSet::of_kind(kind)), accepts, "{}", kind);
            }
        }
    }
}
