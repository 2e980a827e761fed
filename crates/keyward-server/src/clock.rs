//! The clocks: the only place that reads the wall clock, and the one by which commands
//! are timed.

use rustix::time::{ClockId, clock_gettime};
use std::time::{SystemTime, UNIX_EPOCH};

/// Microseconds since the epoch.
pub(crate) fn now_us() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_micros() as i64)
}

/// Nanoseconds by a clock that never goes back. Asked once per command, so it does no
/// more than read.
#[inline]
pub(crate) fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
