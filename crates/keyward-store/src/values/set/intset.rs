//! A small set of whole numbers: in order, all of one width.
//!
//! Owns the encoding and the search, which halves. The run's count is the number
//! of members.
//!
//! ```text
//!  0       1
//!  | width | number | number | ...      each of `width` = 1..=8 bytes, little-endian
//! ```
//!
//! Invariants: numbers ascend strictly; the width is that of the widest number
//! that ever was a member (Redis knows the widths 2, 4 and 8).

use crate::values::thin::{self, ThinBytes};

const NUMBERS_AT: usize = 1;

/// The most numbers a run has room for, whatever their width.
pub(super) const MEMBERS_MAX: usize = (thin::BYTES_MAX - NUMBERS_AT) / 8 - 1;

/// Whether a first byte is the width of numbers.
pub(super) fn is_width(first: u8) -> bool {
    (1..=8).contains(&first)
}

/// Bytes that a number needs.
fn width_of(number: i64) -> usize {
    // One bit of a number is its sign.
    let sign = if number < 0 { number.leading_ones() } else { number.leading_zeros() };
    8 - (sign as usize - 1) / 8
}

fn width(run: &ThinBytes) -> usize {
    usize::from(run.bytes()[0])
}

/// A set of one number.
pub(super) fn of(number: i64) -> ThinBytes {
    let mut run = with_width(width_of(number), 1);
    put(&mut run, 0, number);
    run
}

/// Room for `count` numbers, in a run whose numbers are to be filled in.
fn with_width(width: usize, count: usize) -> ThinBytes {
    let mut run = ThinBytes::default();
    run.insert(0, NUMBERS_AT + width * count)[0] = width as u8;
    run.set_count(count);
    run
}

fn put(run: &mut ThinBytes, index: usize, number: i64) {
    let width = width(run);
    let at = NUMBERS_AT + index * width;
    run.replace(at..at + width, width).copy_from_slice(&number.to_le_bytes()[..width]);
}

/// The number at an index, which must be below the count.
#[inline]
pub(super) fn at(run: &ThinBytes, index: usize) -> i64 {
    let numbers = &run.bytes()[NUMBERS_AT..];
    match width(run) {
        1 => read::<1>(numbers, index),
        2 => read::<2>(numbers, index),
        3 => read::<3>(numbers, index),
        4 => read::<4>(numbers, index),
        5 => read::<5>(numbers, index),
        6 => read::<6>(numbers, index),
        7 => read::<7>(numbers, index),
        _ => read::<8>(numbers, index),
    }
}

#[inline]
fn read<const WIDTH: usize>(numbers: &[u8], index: usize) -> i64 {
    let (numbers, _) = numbers.as_chunks::<WIDTH>();
    let mut bytes = [0; 8];
    bytes[8 - WIDTH..].copy_from_slice(&numbers[index]);
    // Shifting back down repeats the sign.
    i64::from_le_bytes(bytes) >> (64 - 8 * WIDTH)
}

/// Where a number is, or where it would be.
pub(super) fn search(run: &ThinBytes, number: i64) -> Result<usize, usize> {
    let (mut low, mut high) = (0, run.count());
    while low < high {
        let middle = low.midpoint(high);
        match at(run, middle).cmp(&number) {
            std::cmp::Ordering::Equal => return Ok(middle),
            std::cmp::Ordering::Less => low = middle + 1,
            std::cmp::Ordering::Greater => high = middle,
        }
    }
    Err(low)
}

/// Adds a number; returns whether it is new.
pub(super) fn insert(run: &mut ThinBytes, number: i64) -> bool {
    let Err(index) = search(run, number) else { return false };
    if width_of(number) > width(run) {
        widen(run, width_of(number));
    }
    let (width, count) = (width(run), run.count());
    run.insert(NUMBERS_AT + index * width, width);
    put(run, index, number);
    run.set_count(count + 1);
    true
}

fn widen(run: &mut ThinBytes, width: usize) {
    let mut wide = with_width(width, run.count());
    (0..run.count()).for_each(|index| put(&mut wide, index, at(run, index)));
    *run = wide;
}

/// Takes a number out; returns whether it was there.
pub(super) fn remove(run: &mut ThinBytes, number: i64) -> bool {
    let Ok(index) = search(run, number) else { return false };
    let (width, count) = (width(run), run.count());
    run.set_count(count - 1);
    let at = NUMBERS_AT + index * width;
    run.remove(at..at + width);
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_width_is_that_of_the_widest_number() {
        let mut run = of(127);
        let cases = [(-128, 1), (128, 2), (-32_769, 3), (1 << 23, 4), (1 << 31, 5), (i64::MIN, 8)];
        for (number, width) in cases {
            assert!(insert(&mut run, number));
            assert_eq!(run.len(), NUMBERS_AT + run.count() * width, "{number}");
        }
        let numbers: Vec<i64> = (0..run.count()).map(|index| at(&run, index)).collect();
        assert_eq!(numbers, [i64::MIN, -32_769, -128, 127, 128, 1 << 23, 1 << 31]);
    }

    fn number() -> impl Strategy<Value = i64> {
        prop_oneof![-20i64..20, -40_000i64..40_000, (0u32..63).prop_map(|bits| -(1i64 << bits))]
    }

    proptest! {
        #[test]
        fn numbers_stay_in_order(
            first in number(),
            steps in proptest::collection::vec((any::<bool>(), number()), 0..200),
        ) {
            let (mut run, mut model) = (of(first), BTreeSet::from([first]));
            for (adds, number) in steps {
                if adds {
                    prop_assert_eq!(insert(&mut run, number), model.insert(number));
                } else {
                    prop_assert_eq!(remove(&mut run, number), model.remove(&number));
                }
                let numbers = (0..run.count()).map(|index| at(&run, index));
                prop_assert!(numbers.eq(model.iter().copied()));
            }
        }
    }
}
