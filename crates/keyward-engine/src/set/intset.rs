//! A small set of whole numbers: in order, all of one width.
//!
//! Owns the encoding and the search, which halves. The run's count is the number
//! of members.
//!
//! ```text
//!  0       1
//!  | width | number | number | ...      each of `width` = 2, 4 or 8 bytes
//! ```
//!
//! Invariants: numbers ascend strictly; the width is that of the widest number
//! that ever was a member, as in Redis.

use crate::thin::{self, ThinBytes};

const NUMBERS_AT: usize = 1;

/// The most numbers a run has room for, whatever their width.
pub(super) const MEMBERS_MAX: usize = (thin::BYTES_MAX - NUMBERS_AT) / 8 - 1;

/// Whether a first byte is the width of numbers.
pub(super) fn is_width(first: u8) -> bool {
    matches!(first, 2 | 4 | 8)
}

/// Bytes that a number needs.
fn width_of(number: i64) -> usize {
    if i16::try_from(number).is_ok() {
        2
    } else if i32::try_from(number).is_ok() {
        4
    } else {
        8
    }
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
        2 => i64::from(i16::from_le_bytes(fixed(numbers, index))),
        4 => i64::from(i32::from_le_bytes(fixed(numbers, index))),
        _ => i64::from_le_bytes(fixed(numbers, index)),
    }
}

fn fixed<const WIDTH: usize>(numbers: &[u8], index: usize) -> [u8; WIDTH] {
    let (numbers, _) = numbers.as_chunks::<WIDTH>();
    numbers[index]
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

/// Adds a number; answers whether it is new.
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

/// Takes a number out; answers whether it was there.
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
    fn the_width_grows_with_the_widest_number() {
        let mut run = of(32_767);
        for (number, width) in [(-32_768, 2), (32_768, 4), (i64::from(i32::MIN), 4), (1 << 31, 8)] {
            assert!(insert(&mut run, number));
            assert_eq!(run.len(), NUMBERS_AT + run.count() * width, "{number}");
        }
        let numbers: Vec<i64> = (0..run.count()).map(|index| at(&run, index)).collect();
        assert_eq!(numbers, [i64::from(i32::MIN), -32_768, 32_767, 32_768, 1 << 31]);
    }

    fn number() -> impl Strategy<Value = i64> {
        prop_oneof![-20i64..20, -40_000i64..40_000, any::<i64>()]
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
