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
        self.at(self.wall_us_at(monotonic_ns()))
    }

    /// What it shows when the wall clock shows this.
    #[inline]
    pub(crate) fn at(&self, wall_us: i64) -> i64 {
        wall_us.saturating_add(self.ahead_us)
    }

    /// Looks whether somebody has set the wall clock.
    pub(crate) fn look_at_wall(&mut self) {
        let before_us = (monotonic_ns() / 1000) as i64;
        let wall_us = now_us();
        let after_us = (monotonic_ns() / 1000) as i64;
        self.see_wall(before_us, wall_us, after_us);
    }

    /// Takes what the wall clock showed between two moments of the other clock. As long as
    /// that can be what it was to show, nothing changes: however long this thread was kept
    /// from the processor in between, the time does not go back.
    fn see_wall(&mut self, before_us: i64, wall_us: i64, after_us: i64) {
        // Each moment has lost what it had beyond a microsecond.
        let possible = wall_us - after_us - 1..=wall_us - before_us + 1;
        if !possible.contains(&self.wall_ahead_us) {
            self.wall_ahead_us = wall_us - after_us;
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn clock() -> EngineClock {
        let mut clock = EngineClock { ahead_us: 0, wall_ahead_us: 0 };
        clock.see_wall(100, 5_100, 100);
        clock
    }

    #[test]
    fn a_look_that_takes_long_does_not_turn_the_time_back() {
        let mut clock = clock();
        clock.see_wall(200, 5_200, 90_000);
        assert_eq!(clock.wall_us_at(300_000), 5_300);
        clock.see_wall(200, 85_000, 80_001);
        assert_eq!(clock.wall_us_at(300_000), 5_300);
    }

    #[test]
    fn a_clock_that_was_set_is_followed_both_ways() {
        let mut clock = clock();
        clock.see_wall(200, 60_000_200, 200);
        assert_eq!(clock.wall_us_at(300_000), 60_000_300);
        clock.see_wall(400, 1_400, 400);
        assert_eq!(clock.wall_us_at(500_000), 1_500);
    }
}
