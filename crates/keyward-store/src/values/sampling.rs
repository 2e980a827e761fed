//! Drawing several elements of a collection by chance.
//!
//! Owns the choice of method: one draw after the other while few are wanted of
//! many, a walk over all otherwise. Collections bring an iterator over all
//! elements and a fair draw of one.

use crate::values::random::Random;
use keyward_commands::WireError;
use std::collections::BTreeSet;

/// More than one in this many elements is drawn by a walk over all.
const DENSE_SHARE: usize = 3;

/// The most draws of one command. A client may ask for more than the memory holds,
/// since elements may come again.
const DRAWS_MAX: usize = 1 << 24;

/// Refuses to draw more often than is sensible.
pub fn check_draws(wanted: usize) -> Result<(), WireError> {
    if wanted <= DRAWS_MAX { Ok(()) } else { Err(WireError::OutOfRange) }
}

/// A walk over elements that takes a given number of them, each choice of them
/// as likely as any other.
#[derive(Debug)]
pub struct Selection {
    /// Elements not looked at yet.
    left: usize,
    /// Elements not taken yet.
    missing: usize,
}

impl Selection {
    /// Takes `wanted` of `len` elements.
    pub fn new(wanted: usize, len: usize) -> Selection {
        assert!(wanted <= len, "no more can be taken than there is");
        Selection { left: len, missing: wanted }
    }

    /// Whether the next element is taken.
    pub fn takes_next(&mut self, random: &mut Random) -> bool {
        let takes = (random.below(self.left as u64) as usize) < self.missing;
        self.left -= 1;
        self.missing -= usize::from(takes);
        takes
    }
}

/// Visits `wanted` different elements, or all there are.
pub fn distinct<T: Copy + Ord>(
    random: &mut Random,
    wanted: usize,
    all: impl ExactSizeIterator<Item = T>,
    mut draw: impl FnMut(&mut Random) -> T,
    mut visit: impl FnMut(T),
) {
    let len = all.len();
    if wanted >= len {
        all.for_each(visit);
    } else if wanted.saturating_mul(DENSE_SHARE) > len {
        let mut selection = Selection::new(wanted, len);
        all.filter(|_| selection.takes_next(random)).for_each(visit);
    } else {
        let mut drawn = BTreeSet::new();
        while drawn.len() < wanted {
            let element = draw(random);
            if drawn.insert(element) {
                visit(element);
            }
        }
    }
}

/// Visits `wanted` elements, each drawn from all. There must be one, and callers
/// ask `check_draws` first.
pub fn any<T: Copy>(
    random: &mut Random,
    wanted: usize,
    all: impl ExactSizeIterator<Item = T>,
    mut draw: impl FnMut(&mut Random) -> T,
    mut visit: impl FnMut(T),
) {
    if wanted < all.len() {
        (0..wanted).for_each(|_| visit(draw(random)));
    } else {
        let all: Vec<T> = all.collect();
        (0..wanted).for_each(|_| visit(all[random.below(all.len() as u64) as usize]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(random: &mut Random) -> u64 {
        random.below(30)
    }

    #[test]
    fn distinct_elements_are_as_many_as_wanted_and_fair() {
        let mut random = Random::from_seed(5);
        for wanted in [1, 5, 15, 29] {
            let mut times = [0; 30];
            for _ in 0..3000 {
                let mut drawn = BTreeSet::new();
                distinct(
                    &mut random,
                    wanted,
                    0..30u32,
                    |r| draw(r) as u32,
                    |element| {
                        assert!(drawn.insert(element));
                        times[element as usize] += 1;
                    },
                );
                assert_eq!(drawn.len(), wanted);
            }
            let expected = 3000 * wanted / 30;
            let near = expected * 6 / 10..=expected * 14 / 10;
            assert!(times.iter().all(|times| near.contains(times)), "{wanted}: {times:?}");
        }
    }

    #[test]
    fn all_elements_come_in_their_order() {
        let mut visited = Vec::new();
        let mut random = Random::from_seed(5);
        distinct(&mut random, 30, 0..30u32, |r| draw(r) as u32, |element| visited.push(element));
        assert!(visited.into_iter().eq(0..30));
    }

    #[test]
    fn draws_from_all_may_repeat() {
        let mut random = Random::from_seed(5);
        for wanted in [10, 500] {
            let mut visited = Vec::new();
            any(&mut random, wanted, 0..30u32, |r| draw(r) as u32, |element| visited.push(element));
            assert_eq!(visited.len(), wanted);
            let different: BTreeSet<u32> = visited.into_iter().collect();
            assert!(different.len() > 5 && different.len() <= 30);
        }
    }
}
