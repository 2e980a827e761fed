//! Which rows of a table end, and when.
//!
//! Owns the order of deadlines. The row itself holds its deadline too; this
//! queue is only the way to find what is due without looking at every row.
//! Invariant: it holds exactly one entry for each row with a deadline.
//!
//! Estimate: a B-tree of 16-byte entries, 24 bytes per row that expires (Redis:
//! a second dictionary, 24 for the entry and 8 to 16 for the table). An entry
//! names its row by hash; two rows with one hash are both looked at.

use std::collections::BTreeSet;

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

    /// The hash of a row that ends before `now_ms`, the longest overdue first.
    pub(crate) fn due(&self, now_ms: i64) -> Option<u64> {
        let (deadline, hash) = *self.entries.first()?;
        (deadline < now_ms).then_some(hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_overdue_comes_first() {
        let mut deadlines = Deadlines::default();
        deadlines.change(1, None, Some(50));
        deadlines.change(2, None, Some(20));
        deadlines.change(1, Some(50), Some(10));
        assert_eq!(deadlines.due(10), None);
        assert_eq!(deadlines.due(11), Some(1));
        deadlines.change(1, Some(10), None);
        assert_eq!(deadlines.due(100), Some(2));
        assert_eq!((deadlines.len(), deadlines.mean_ms()), (1, Some(20)));
    }
}
