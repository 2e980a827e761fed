//! How a row was used, where somebody else remembers it.

use super::{CLOCK_MASK, Keyspace};
use crate::hasher::Key;
pub(crate) use keyward_rdb::Usage;

const MS_PER_MINUTE: i64 = 60_000;
/// The counter of uses stands below the minute it was last changed in.
const MINUTE_SHIFT: u32 = 8;
const MINUTE_MASK: i64 = 0xffff;

impl Keyspace {
    /// Tells how a living row was used. What the policy of eviction has no use for
    /// is forgotten.
    pub(crate) fn set_usage(&mut self, key: Key<'_>, usage: Usage, is_lfu: bool) {
        let clock = match usage {
            Usage::Frequency(frequency) if is_lfu => {
                let minute = (self.now_ms / MS_PER_MINUTE) & MINUTE_MASK;
                (minute as u32) << MINUTE_SHIFT | u32::from(frequency)
            }
            Usage::IdleSeconds(seconds) if !is_lfu => {
                let idle = i64::try_from(seconds).unwrap_or(i64::MAX).min(CLOCK_MASK);
                ((i64::from(self.clock) - idle) & CLOCK_MASK) as u32
            }
            _ => return,
        };
        if let Some(spot) = self.locate(key) {
            self.databases[self.selected].table_mut(key).row_mut(spot).set_clock(clock);
        }
    }
}
