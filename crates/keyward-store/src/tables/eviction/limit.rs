//! `maxmemory` and what belongs to it.
//!
//! Owns the values, and how much work they allow at a time.

use super::Policy;
use crate::values::access::FrequencyRates;

/// Work per call at the lowest tenacity.
const WORK_MIN: usize = 16;
/// Microseconds a piece of work takes, about: one row found and removed.
const WORK_US: usize = 2;

/// How much memory may be used, and what happens then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryLimit {
    /// `maxmemory`; 0 for no limit.
    pub bytes_max: u64,
    /// `maxmemory-policy`; `None` if nothing may go.
    pub policy: Option<Policy>,
    /// `maxmemory-samples`: rows of each database looked at to find one that goes.
    pub samples: usize,
    /// `maxmemory-eviction-tenacity`: how much work is done before a command, from
    /// 0 to 100.
    pub tenacity: u32,
    /// How often-used rows are told from others.
    pub rates: FrequencyRates,
}

impl Default for MemoryLimit {
    fn default() -> MemoryLimit {
        MemoryLimit {
            bytes_max: 0,
            policy: None,
            samples: 5,
            tenacity: 10,
            rates: FrequencyRates { log_factor: 10, decay_minutes: 1 },
        }
    }
}

impl MemoryLimit {
    /// The most pieces of work done at a time. Redis's scale of time: linear to
    /// half a millisecond at 10, then 15 % more per step, at 100 without end.
    pub fn work_max(&self) -> usize {
        let microseconds = match self.tenacity {
            0..=10 => 50.0 * f64::from(self.tenacity),
            11..=99 => 500.0 * 1.15f64.powi(self.tenacity as i32 - 10),
            _ => return usize::MAX,
        };
        (microseconds as usize / WORK_US).max(WORK_MIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_tenacity_is_more_work() {
        let work = |tenacity| MemoryLimit { tenacity, ..MemoryLimit::default() }.work_max();
        assert_eq!((work(0), work(10), work(11), work(100)), (WORK_MIN, 250, 287, usize::MAX));
        assert!((0..100).all(|tenacity| work(tenacity) <= work(tenacity + 1)));
    }
}
