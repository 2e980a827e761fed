//! The clocks: the only place that reads the wall clock, the one that the engine is told,
//! and the one by which commands are timed.

use rustix::time::{ClockId, clock_gettime};
use std::time::{SystemTime, UNIX_EPOCH};

/// Microseconds since the epoch.
pub(crate) fn now_us() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_micros() as i64)
}

/// The time that the engine is told: the wall clock, moved ahead by DEBUG CLOCK.
///
/// Connections, snapshots and the log go by the wall clock itself: a client is not idle
/// since a test has passed two weeks over.
#[derive(Debug)]
pub(crate) struct EngineClock {
    ahead_us: i64,
    /// What the wall clock showed beyond the one that never goes back, at the last tick.
    wall_ahead_us: i64,
}

impl EngineClock {
    /// Shows what the wall clock shows.
    pub(crate) fn new() -> EngineClock {
        let mut clock = EngineClock { ahead_us: 0, wall_ahead_us: 0 };
        clock.look_at_wall();
        clock
    }

    /// Microseconds since the epoch.
    #[inline]
    pub(crate) fn now_us(&self) -> i64 {
        self.at(now_us())
    }

    /// What it shows when the wall clock shows this.
    #[inline]
    pub(crate) fn at(&self, wall_us: i64) -> i64 {
        wall_us.saturating_add(self.ahead_us)
    }

    /// Looks whether somebody has set the wall clock.
    pub(crate) fn look_at_wall(&mut self) {
        self.wall_ahead_us = now_us() - (monotonic_ns() / 1000) as i64;
    }

    /// What the wall clock shows at a moment of the other clock. A clock costs a hundredth
    /// of a command that comes alone, so one is read for both.
    #[inline]
    pub(crate) fn wall_us_at(&self, monotonic_ns: u64) -> i64 {
        (monotonic_ns / 1000) as i64 + self.wall_ahead_us
    }

    /// Moves it ahead, and never back.
    pub(crate) fn advance(&mut self, microseconds: u64) {
        self.ahead_us = self.ahead_us.saturating_add_unsigned(microseconds);
    }
}

/// Nanoseconds by a clock that never goes back. Asked once per command, so it does no
/// more than read.
#[inline]
pub(crate) fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
