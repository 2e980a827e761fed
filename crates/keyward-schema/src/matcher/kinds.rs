//! Judging a segment by the kinds of placeholders.
//!
//! A set of kinds is a mask: one bit for each kind but enums, which are words,
//! and `rest`, which is an answer; and the same once more in a hash tag. Kinds
//! overlap (`42` is a `uint`, an `int`, `hex` and more), so what a segment is
//! leads to a set, and a state knows where each set leads that can occur.

use crate::{Kind, Placeholder};

/// A set of kinds, plain and tagged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct KindSet(u16);

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

const STR: u16 = 1;
const TAGGED_SHIFT: u32 = KIND_COUNT as u32;
const PLAIN: u16 = (1 << TAGGED_SHIFT) - 1;

/// A value of every set of kinds that a value can have, tags aside.
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

    /// The set of a placeholder's own kind; empty for enums and `rest`.
    pub(super) fn of_placeholder(placeholder: &Placeholder) -> KindSet {
        let Some(bit) = KINDS.iter().position(|kind| *kind == placeholder.kind) else {
            return KindSet::EMPTY;
        };
        KindSet(1 << bit << if placeholder.tagged { TAGGED_SHIFT } else { 0 })
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
        let plain = accepting(self.0 & PLAIN, segment);
        match (self.0 >> TAGGED_SHIFT, segment) {
            (0, _) => KindSet(plain),
            (tagged, [b'{', inner @ .., b'}']) if !inner.is_empty() => {
                KindSet(plain | accepting(tagged, inner) << TAGGED_SHIFT)
            }
            _ => KindSet(plain),
        }
    }

    /// The sets that segments can be of, as far as these kinds tell them
    /// apart. What is of none of them is left out.
    pub(super) fn outcomes(self) -> Vec<KindSet> {
        let mut outcomes = Vec::new();
        for sample in SAMPLES {
            for segment in [sample.to_owned(), format!("{{{sample}}}")] {
                let kinds = self.of(segment.as_bytes());
                if !kinds.is_empty() && !outcomes.contains(&kinds) {
                    outcomes.push(kinds);
                }
            }
        }
        outcomes
    }
}

/// Those of some kinds that a value which is not empty and has no colon is of.
#[inline]
fn accepting(kinds: u16, value: &[u8]) -> u16 {
    let mut seen = kinds & STR;
    let mut ahead = kinds & !STR;
    while ahead != 0 {
        let bit = ahead.trailing_zeros();
        ahead &= ahead - 1;
        seen |= u16::from(KINDS[bit as usize].accepts(value)) << bit;
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
            segment in "[-{}a-c0-2OlIz]{1,8}|[0-9]{1,22}|-[0-9]{1,22}|\\{[0-9a-f]{1,4}\\}|\
                        [0-2]{4}-[0-1][0-9]|[0-2]{4}-[0-1][0-9]-[0-3][0-9]|\
                        [0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
        ) {
            let all = KindSet(u16::MAX);
            prop_assert!(all.outcomes().contains(&all.of(segment.as_bytes())));
        }
    }

    #[test]
    fn a_tag_is_judged_by_what_it_holds() {
        let tagged_uint = KindSet(1 << 1 << TAGGED_SHIFT);
        assert_eq!(tagged_uint.of(b"{42}"), tagged_uint);
        for other in ["42", "{x}", "{}", "{", "}", "{42", "42}"] {
            assert!(tagged_uint.of(other.as_bytes()).is_empty(), "{other}");
        }
    }
}
