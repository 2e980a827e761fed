//! Judging a segment by the kinds of placeholders.
//!
//! A set of kinds is a mask: one bit for each of the kinds that fill segments most often; enums
//! are words, the others are judged as segments with text beside them are (`forms`). Kinds
//! overlap (`42` is a `uint`, an `int`, `hex` and more), so what a segment is
//! leads to a set, and a state knows where each set leads that can occur.

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

    /// Those of these kinds that a segment is of.
    #[inline]
    pub(super) fn of(self, segment: &[u8]) -> KindSet {
        if segment.is_empty() {
            return KindSet::EMPTY;
        }
        KindSet(accepting(self.0, segment))
    }

    /// The sets that segments can be of, as far as these kinds tell them
    /// apart. What is of none of them is left out.
    pub(super) fn outcomes(self) -> Vec<KindSet> {
        let mut outcomes = Vec::new();
        for sample in SAMPLES {
            let kinds = self.of(sample.as_bytes());
            if !kinds.is_empty() && !outcomes.contains(&kinds) {
                outcomes.push(kinds);
            }
        }
        outcomes
    }
}

/// Those of some kinds that a value which is not empty and has no colon is of.
#[inline]
fn accepting(kinds: u8, value: &[u8]) -> u8 {
    let mut seen = kinds & STR;
    let mut ahead = kinds & !STR;
    while ahead != 0 {
        let bit = ahead.trailing_zeros();
        ahead &= ahead - 1;
        seen |= u8::from(KINDS[bit as usize].accepts(value)) << bit;
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// What `outcomes` says is all that can happen, for all kinds at once
        /// and so for any selection of them.
        #[test]
        fn the_samples_leave_no_outcome_out(
            segment in "[-{}a-c0-2OlIz]{1,8}|[0-9]{1,22}|-[0-9]{1,22}|\
                        [0-2]{4}-[0-1][0-9]|[0-2]{4}-[0-1][0-9]-[0-3][0-9]|\
                        [0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
        ) {
            let all = KindSet(u8::MAX);
            prop_assert!(all.outcomes().contains(&all.of(segment.as_bytes())));
        }
    }
}
