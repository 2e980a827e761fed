//! The clocks: the only place that reads the wall clock, the one that the engine is told,
//! and the one by which commands are timed.
//!
//! Everything in this crate asks here for the time, so that a simulation can have a time of
//! its own (`simulated`).

use rustix::time::{ClockId, clock_gettime};
use std::ops::{Add, Sub};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Microseconds since the epoch.
pub(crate) fn now_us() -> i64 {
    #[cfg(test)]
    if let Some(now_ns) = simulated::read() {
        return simulated::EPOCH_US + (now_ns / 1000) as i64;
    }
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

    /// When the clock that never goes back will be at the moment at which this one shows
    /// so many milliseconds, if nobody sets a clock.
    pub(crate) fn monotonic_ns_at(&self, engine_ms: i64) -> u64 {
        let us = engine_ms.saturating_mul(1000) - self.ahead_us - self.wall_ahead_us;
        u64::try_from(us).unwrap_or(0).saturating_mul(1000)
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
    #[cfg(test)]
    if let Some(now_ns) = simulated::read() {
        return now_ns;
    }
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Does nothing for some time.
pub(crate) fn sleep(time: Duration) {
    #[cfg(test)]
    if simulated::read().is_some() {
        return simulated::advance(time.as_nanos() as u64);
    }
    std::thread::sleep(time);
}

/// A moment by the clock that never goes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Instant {
    ns: u64,
}

impl Instant {
    pub(crate) fn now() -> Instant {
        Instant { ns: monotonic_ns() }
    }

    /// So much earlier.
    #[cfg(test)]
    pub(crate) fn before(self, time: Duration) -> Instant {
        Instant { ns: self.ns.saturating_sub(time.as_nanos() as u64) }
    }

    /// How long ago it was.
    pub(crate) fn elapsed(self) -> Duration {
        Instant::now() - self
    }

    /// How long after another moment it is; zero if it is before.
    pub(crate) fn saturating_duration_since(self, earlier: Instant) -> Duration {
        self - earlier
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;

    fn add(self, time: Duration) -> Instant {
        Instant { ns: self.ns.saturating_add(time.as_nanos() as u64) }
    }
}

impl Sub for Instant {
    type Output = Duration;

    fn sub(self, earlier: Instant) -> Duration {
        Duration::from_nanos(self.ns.saturating_sub(earlier.ns))
    }
}

/// The time of a simulation, one for each thread. It passes while somebody waits, and a
/// little whenever it is asked for: so work takes time, the same in every run.
#[cfg(test)]
pub(crate) mod simulated {
    use std::cell::Cell;

    /// What the wall clock shows when a simulation begins.
    pub(crate) const EPOCH_US: i64 = 1_700_000_000_000_000;
    /// What each look at the clock takes.
    const LOOK_NS: u64 = 100;

    thread_local! {
        static NOW_NS: Cell<Option<u64>> = const { Cell::new(None) };
    }

    /// The time from now on; `None` for the true one.
    pub(crate) fn set(now_ns: Option<u64>) {
        NOW_NS.set(now_ns);
    }

    /// The time, if it is simulated, without letting any pass.
    pub(crate) fn peek() -> Option<u64> {
        NOW_NS.get()
    }

    pub(super) fn read() -> Option<u64> {
        let now_ns = NOW_NS.get()? + LOOK_NS;
        NOW_NS.set(Some(now_ns));
        Some(now_ns)
    }

    /// Lets time pass.
    pub(crate) fn advance(ns: u64) {
        NOW_NS.set(NOW_NS.get().map(|now_ns| now_ns + ns));
    }
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
