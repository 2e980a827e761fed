//! Counters and measurements that INFO, SLOWLOG and LATENCY show.
//!
//! Owns what is known about commands that have run: how often, how long, with which
//! errors. Whoever causes something counts it; a command's end is counted in one place
//! (`engine::runner`).
//!
//! The engine has no clock: the host tells the time that durations are made of
//! (`Host::monotonic_ns`). It is asked once per command, since one command's end is
//! the next one's beginning: `clock_ns` is the last answer. Cost per command: that
//! question, four additions in a row of `calls`, one in a histogram.
//! Not here: the replies (`commands::server`, `commands::slowlog`, `commands::latency`).

pub(crate) mod calls;
pub(crate) mod histogram;

use crate::sessions::failures::Failures;
use crate::sessions::latency::Latency;
use crate::sessions::slowlog::SlowLog;
use crate::tunables::Tunables;
use calls::CallStats;
use keyward_commands::ErrorStats;

/// What is done to rows because a schema that came into force, or a start, demands it.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Rebuilt {
    /// Commands that were carried out.
    pub commands: u64,
    /// What is left to do of it now.
    pub left: u64,
}

/// What is known about commands that have run.
#[derive(Debug, Default)]
pub(crate) struct Stats {
    /// Commands executed.
    pub processed: u64,
    /// Per command.
    pub calls: CallStats,
    /// Replies that were errors.
    pub errors: ErrorStats,
    /// Follow-ups that failed.
    pub failures: Failures,
    /// What was done to rows that were there before a schema.
    pub rebuilt: Rebuilt,
    /// Commands that took long.
    pub slow_log: SlowLog,
    /// What took so long that clients noticed.
    pub latency: Latency,
    /// Time spent on removing due rows.
    pub sweep_ns: u64,
    /// What the host's clock said last.
    pub clock_ns: u64,
    /// From here on a command is slow in one sense or the other.
    pub slow_ns: u64,
    /// Whether latencies per command are recorded (`latency-tracking`).
    pub is_tracking: bool,
}

impl Stats {
    pub(crate) fn new(tunables: &Tunables) -> Stats {
        let mut stats = Stats::default();
        stats.obey(tunables);
        stats
    }

    /// Obeys new settings.
    pub(crate) fn obey(&mut self, tunables: &Tunables) {
        let log_ns = tunables.slow_log_us_min.map_or(u64::MAX, |us| us.saturating_mul(1000));
        let latency_ns = match tunables.latency_ms_min {
            0 => u64::MAX,
            ms => ms.saturating_mul(1_000_000),
        };
        self.slow_ns = log_ns.min(latency_ns);
        self.is_tracking = tunables.tracks_latency;
    }

    /// Begins to count anew (CONFIG RESETSTAT). The slow log and the latency events
    /// have commands of their own for that.
    pub(crate) fn reset(&mut self) {
        self.processed = 0;
        self.sweep_ns = 0;
        self.calls = CallStats::default();
        self.errors = ErrorStats::default();
    }
}
