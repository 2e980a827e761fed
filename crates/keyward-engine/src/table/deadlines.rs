//! Which rows of a table end, and when.
//!
//! Owns the order of deadlines. The row itself holds its deadline too; this
//! queue is only the way to find what is due without looking at every row.
//! Invariant: it holds exactly one entry for each row with a deadline.
//!
//! Estimate: a B-tree of 16-byte entries, 24 bytes per row that expires (Redis:
//! a second dictionary, 24 for the entry and 8 to 16 for the table). An entry
//! names its row by hash; two rows with one hash are both looked at.

use crate::random::Random;
use std::collections::BTreeSet;

/// Bytes per deadline, in the mean.
pub(crate) const DEADLINE_BYTES: usize = 24;

/// Deadlines in order.
#[derive(Debug, Default)]
pub(crate) struct Deadlines {
    entries: BTreeSet<(i64, u64)>,
    /// The sum of all deadlines, for the average that INFO shows.
    sum_ms: i128,
}

impl Deadlines {
    /// How many rows have a deadline.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The average deadline, in milliseconds since the epoch.
    pub(crate) fn mean_ms(&self) -> Option<i64> {
        let len = self.entries.len() as i128;
        (len > 0).then(|| (self.sum_ms / len) as i64)
    }

    /// Follows a row's deadline from `old` to `new`.
    pub(crate) fn change(&mut self, hash: u64, old: Option<i64>, new: Option<i64>) {
        if old == new {
            return;
        }
        if let Some(old) = old {
            self.entries.remove(&(old, hash));
            self.sum_ms -= i128::from(old);
        }
        if let Some(new) = new {
            self.entries.insert((new, hash));
            self.sum_ms += i128::from(new);
        }
    }

    /// The soonest deadline and the hash of its row.
    pub(crate) fn first(&self) -> Option<(i64, u64)> {
        self.entries.first().copied()
    }

    /// An entry near a moment drawn by chance.
    pub(crate) fn sample(&self, random: &mut Random) -> Option<(i64, u64)> {
        let (first, last) = (self.entries.first()?.0, self.entries.last()?.0);
        let moment = first.saturating_add_unsigned(random.below(last.abs_diff(first) + 1));
        let behind = self.entries.range((moment, random.next_u64())..).next();
        behind.or(self.entries.first()).copied()
    }

    /// Forgets up to `budget` entries; answers how many.
    pub(crate) fn shed(&mut self, budget: usize) -> usize {
        (0..budget).take_while(|_| self.entries.pop_last().is_some()).count()
    }

    /// Bytes of the entries: nodes of eleven, in the mean two thirds full.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.entries.len() * DEADLINE_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soonest_deadline_comes_first() {
        let mut deadlines = Deadlines::default();
        deadlines.change(1, None, Some(50));
        deadlines.change(2, None, Some(20));
        deadlines.change(1, Some(50), Some(10));
        assert_eq!(deadlines.first(), Some((10, 1)));
        deadlines.change(1, Some(10), None);
        assert_eq!(deadlines.first(), Some((20, 2)));
        assert_eq!((deadlines.len(), deadlines.mean_ms()), (1, Some(20)));
    }

    #[test]
    fn every_entry_can_be_drawn_whatever_their_deadlines() {
        let mut random = Random::from_seed(3);
        for spacing in [0, 1, 1000] {
            let mut deadlines = Deadlines::default();
            let mut hashes = Random::from_seed(4);
            for number in 0..20 {
                deadlines.change(hashes.next_u64(), None, Some(number * spacing));
            }
            let drawn: BTreeSet<_> =
                (0..20_000).filter_map(|_| deadlines.sample(&mut random)).collect();
            assert!(drawn.len() >= 19, "{} of 20 with spacing {spacing}", drawn.len());
        }
        assert_eq!(Deadlines::default().sample(&mut random), None);
    }
}
