//! How a row was used, where somebody else remembers it.

use super::Keyspace;
use crate::hasher::Key;
pub(crate) use keyward_rdb::Usage;

impl Keyspace {
    /// Tells how a living row was used. What the policy of eviction has no use for
    /// is forgotten.
    pub(crate) fn set_usage(&mut self, key: Key<'_>, usage: Usage) {
        let mark = match usage {
            Usage::Frequency(uses) => self.access.mark_of_frequency(uses),
            Usage::IdleSeconds(seconds) => self.access.mark_of_idle(seconds),
        };
        if let (Some(mark), Some(spot)) = (mark, self.locate(key)) {
            self.databases[self.selected].table_mut(key).set_clock(spot, mark);
        }
    }
}
