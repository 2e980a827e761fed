//! Snapshots and loading that are slowed down on purpose (`rdb-key-save-delay`,
//! `key-load-delay`): for tests of what happens meanwhile.
//!
//! Owns the wait for rows that were done. It ends early when the setting is lowered, or when
//! nobody wants what is waited for.

use crate::clock;
use crate::serve::server::Server;
use crate::settings::table::Id;
use std::time::Duration;

/// How often the setting is looked at again.
const LOOK: Duration = Duration::from_millis(10);

/// How long `rows` rows are to take by a setting of microseconds per row, or of rows per
/// microsecond if it is below zero.
pub(crate) fn delay(setting: i64, rows: u64) -> Duration {
    let us = match setting {
        0.. => rows.saturating_mul(setting.unsigned_abs()),
        _ => rows / setting.unsigned_abs(),
    };
    Duration::from_micros(us)
}

/// How far something is that is slowed down.
#[derive(Debug)]
pub(crate) struct Pace {
    setting: Id,
    rows: u64,
}

impl Pace {
    /// Nothing is done yet.
    pub(crate) fn new(setting: Id) -> Pace {
        Pace { setting, rows: 0 }
    }

    /// Waits for the rows that were done since the last call, while that is wanted.
    pub(crate) async fn keep(&mut self, server: &Server, rows: u64, is_wanted: impl Fn() -> bool) {
        let done = rows.saturating_sub(std::mem::replace(&mut self.rows, rows));
        let began_ns = clock::monotonic_ns();
        loop {
            let delay = delay(server.core.borrow().host.settings.int(self.setting), done);
            let passed = Duration::from_nanos(clock::monotonic_ns().saturating_sub(began_ns));
            let left = delay.saturating_sub(passed);
            if left.is_zero() || !is_wanted() {
                break;
            }
            server.agenda.sleep(left.min(LOOK)).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::delay;
    use std::time::Duration;

    #[test]
    fn a_delay_is_per_row_and_below_zero_per_microsecond() {
        assert_eq!(delay(0, 1_000), Duration::ZERO);
        assert_eq!(delay(200, 10), Duration::from_millis(2));
        assert_eq!(delay(-5, 1_000), Duration::from_micros(200));
        assert_eq!(delay(i64::MAX, u64::MAX), Duration::from_micros(u64::MAX));
    }
}
