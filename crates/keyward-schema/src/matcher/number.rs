//! Judging whole numbers sixteen digits at once.
//!
//! Numbers are the most frequent kind of value, and their lengths are as good as random: a loop
//! over their digits mispredicts its end.
//! Not here: what a number is (`pattern::kind`), which tests compare this with.

use super::lane::{ByteRange, LANE_BYTES, members};
use super::text::Text;
use crate::Kind;

static DIGITS: [ByteRange; 1] = [ByteRange::new(b'0', 9)];

/// Whether an `int` stands from `from` to `to`, which must not be the same.
#[inline]
pub(super) fn is_int(key: Text<'_>, from: usize, to: usize) -> bool {
    let is_negative = key.byte(from) == b'-';
    let digits = from + usize::from(is_negative);
    let length = to - digits;
    if length > LANE_BYTES {
        return Kind::Int.accepts(&key.bytes()[from..to]);
    }
    let (lane, start) = key.lane(digits);
    let all = (1_u32 << length) - 1;
    let are_digits = members(lane, &DIGITS) >> (digits - start) & all == all;
    // A zero is a number by itself alone.
    let has_zero_in_front = (key.byte(digits) == b'0') & (is_negative | (length > 1));
    are_digits & (length > 0) & !has_zero_in_front
}

/// Whether a `uint` stands from `from` to `to`, which must not be the same.
#[inline]
pub(super) fn is_uint(key: Text<'_>, from: usize, to: usize) -> bool {
    (key.byte(from) != b'-') & is_int(key, from, to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]

        #[test]
        fn numbers_are_those_that_their_kinds_accept(
            before in "[a-z:]{0,20}",
            value in "-?[0-9]{1,21}|-?0[0-9]?|[-0-9a:]{1,20}|-?922337203685477580[0-9]",
            after in "[0-9:]{0,20}",
        ) {
            let key = [&before, &value, &after].map(String::as_str).concat();
            let (from, to) = (before.len(), before.len() + value.len());
            let [int, uint] = [Kind::Int, Kind::Uint].map(|kind| kind.accepts(value.as_bytes()));
            Text::with(key.as_bytes(), |key| {
                assert_eq!(is_int(key, from, to), int, "{value}");
                assert_eq!(is_uint(key, from, to), uint, "{value}");
            });
        }
    }
}
