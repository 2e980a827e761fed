//! How many follow-ups failed where no command could be refused, and when the log is to say so.
//!
//! Invariant: a line every ten seconds at most (rate limit), with the number of those between.
//! Not here: the line (`governed::failures`).

/// How far apart lines of the log are.
const INTERVAL_MS: i64 = 10_000;

/// Follow-ups that failed.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    /// All of them.
    count: u64,
    /// How many the log has not told of.
    untold: u64,
    told_at_ms: Option<i64>,
}

impl Failures {
    /// How many there were since the start.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Counts one; how many others to tell of with it, if it is to be told now.
    pub(crate) fn note(&mut self, now_ms: i64) -> Option<u64> {
        self.count += 1;
        // A clock that was set back does not silence anybody.
        let is_soon = |told_ms: i64| (told_ms..told_ms + INTERVAL_MS).contains(&now_ms);
        if self.told_at_ms.is_some_and(is_soon) {
            self.untold += 1;
            return None;
        }
        self.told_at_ms = Some(now_ms);
        Some(std::mem::take(&mut self.untold))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_every_ten_seconds_tells_of_all_between() {
        let mut failures = Failures::default();
        assert_eq!(failures.note(1_000), Some(0));
        assert_eq!(failures.note(1_000), None);
        assert_eq!(failures.note(10_999), None);
        assert_eq!(failures.note(11_000), Some(2));
        assert_eq!(failures.note(500), Some(0));
        assert_eq!(failures.count(), 5);
    }
}
