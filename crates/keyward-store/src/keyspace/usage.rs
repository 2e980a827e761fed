//! How a row was used, where somebody else remembers it.

use super::Keyspace;
use crate::tables::table::Found;
use crate::values::access::Reading;
use crate::values::hasher::Key;
pub use keyward_rdb::Usage;

impl Keyspace {
    /// Bytes that a living row takes. That is no use of it.
    pub fn usage(&mut self, key: Key<'_>) -> Option<usize> {
        if self.deadline_of(key).is_some_and(|deadline| deadline < self.due_ms) {
            self.expire_if_due(key);
        }
        self.table(key).usage(key)
    }

    /// What the mark of a row's use says.
    pub fn reading(&self, key: Key<'_>) -> Reading {
        self.table(key).reading()
    }

    fn deadline_of(&self, key: Key<'_>) -> Option<i64> {
        self.table(key).deadline_of(key)
    }

    /// The mark of a row that was used like this, where its table has use for that.
    pub(super) fn mark_of(&self, key: Key<'_>, usage: Usage) -> Option<u32> {
        match (usage, self.reading(key)) {
            (Usage::Frequency(uses), Reading::Frequency) => {
                Some(self.access.mark_of_frequency(uses))
            }
            (Usage::IdleSeconds(seconds), Reading::Recency) => {
                Some(self.access.mark_of_idle(seconds))
            }
            _ => None,
        }
    }

    /// Tells how a living row was used. What the table's order of eviction has no use for
    /// is forgotten.
    pub fn set_usage(&mut self, key: Key<'_>, usage: Usage) {
        let Some(mark) = self.mark_of(key, usage) else { return };
        if let Some(spot) = self.locate(key) {
            self.databases[key.db()].table_mut(key).set_clock_at(Found::Loose(spot), mark);
        }
    }
}
