//! The order of what a search found.
//!
//! Places at the same distance come in the order that Redis's algorithms leave them in: a
//! stable sort where everything is wanted; where only the nearest are, the quicksort of
//! Bentley and McIlroy ("Engineering a sort function", 1993), which leaves parts alone that
//! are not wanted.
//! Invariant: distances are numbers.

use std::cmp::Ordering;

/// Below this many entries a part is sorted by insertion.
const INSERTED_MAX: usize = 7;

/// From this many on the pivot is the median of nine.
const NINE_MIN: usize = 41;

/// A part that was parted so often is sorted otherwise: quicksort may be slow.
const DEPTH_MAX: u32 = 64;

/// Puts the first `wanted` entries in order at the front.
pub(super) fn sort_first<T>(
    entries: &mut [T],
    wanted: usize,
    compare: impl Fn(&T, &T) -> Ordering,
) {
    if wanted >= entries.len() {
        return entries.sort_by(compare);
    }
    // Recursion by a list: it may be deep.
    let mut parts = vec![(0, entries.len(), 0)];
    while let Some((start, len, depth)) = parts.pop() {
        let part = &mut entries[start..start + len];
        if len < INSERTED_MAX || depth > DEPTH_MAX {
            part.sort_by(&compare);
            continue;
        }
        let (below, above) = split(part, &compare);
        for (start, len) in [(start, below), (start + len - above, above)] {
            if len > 1 && start < wanted {
                parts.push((start, len, depth + 1));
            }
        }
    }
}

/// Brings what is less than a pivot to the front and what is greater to the end; how many
/// either are.
fn split<T>(part: &mut [T], compare: &impl Fn(&T, &T) -> Ordering) -> (usize, usize) {
    let len = part.len();
    part.swap(0, pivot(part, compare));
    // Those equal to the pivot are gathered at both ends: part[..equal_low] and
    // part[equal_high + 1..]. What is between `low` and `high` has not been looked at.
    let (mut equal_low, mut low) = (1, 1);
    let (mut high, mut equal_high) = (len - 1, len - 1);
    loop {
        while low <= high {
            match compare(&part[low], &part[0]) {
                Ordering::Greater => break,
                Ordering::Equal => {
                    part.swap(equal_low, low);
                    equal_low += 1;
                }
                Ordering::Less => {}
            }
            low += 1;
        }
        while low <= high {
            match compare(&part[high], &part[0]) {
                Ordering::Less => break,
                Ordering::Equal => {
                    part.swap(high, equal_high);
                    equal_high -= 1;
                }
                Ordering::Greater => {}
            }
            high -= 1;
        }
        if low > high {
            break;
        }
        part.swap(low, high);
        low += 1;
        high -= 1;
    }
    let (below, above) = (low - equal_low, equal_high - high);
    exchange(part, 0, low, equal_low.min(below));
    exchange(part, low, len, above.min(len - equal_high - 1));
    (below, above)
}

/// Swaps the first `count` entries from `start` with the last before `end`.
fn exchange<T>(part: &mut [T], start: usize, end: usize, count: usize) {
    (0..count).for_each(|at| part.swap(start + at, end - count + at));
}

/// Where a value stands that is likely to be in the middle.
fn pivot<T>(part: &[T], compare: &impl Fn(&T, &T) -> Ordering) -> usize {
    let (len, middle) = (part.len(), part.len() / 2);
    let median = |a: usize, b: usize, c: usize| {
        let is = |x: usize, y: usize| compare(&part[x], &part[y]);
        match is(a, b) {
            Ordering::Less if is(b, c) == Ordering::Less => b,
            Ordering::Less => {
                if is(a, c) == Ordering::Less {
                    c
                } else {
                    a
                }
            }
            _ if is(b, c) == Ordering::Greater => b,
            _ => {
                if is(a, c) == Ordering::Less {
                    a
                } else {
                    c
                }
            }
        }
    };
    match len {
        INSERTED_MAX => middle,
        NINE_MIN.. => {
            let d = len / 8;
            let last = len - 1;
            median(
                median(0, d, 2 * d),
                median(middle - d, middle, middle + d),
                median(last - 2 * d, last - d, last),
            )
        }
        _ => median(0, middle, len - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_are_those_of_a_whole_sort(
            numbers in proptest::collection::vec(0u8..20, 0..200),
            wanted in 0usize..200,
        ) {
            let mut sorted = numbers.clone();
            sorted.sort_unstable();
            let mut found = numbers;
            sort_first(&mut found, wanted, u8::cmp);
            let wanted = wanted.min(found.len());
            prop_assert_eq!(&found[..wanted], &sorted[..wanted]);
            found.sort_unstable();
            prop_assert_eq!(found, sorted);
        }
    }
}
