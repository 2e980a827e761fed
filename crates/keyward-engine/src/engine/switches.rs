//! What DEBUG has switched.

use keyward_rdb::Sum;

/// What DEBUG has switched.
#[derive(Debug)]
pub(crate) struct Switches {
    /// Whether RESTORE and loading look at checksums.
    pub(crate) sum: Sum,
    /// Whether due rows go without being asked for.
    pub(crate) sweeps: bool,
    /// Whether the work of ticks rests.
    pub(crate) is_cron_paused: bool,
    /// Whether scripts may call what they may not.
    pub(crate) allows_noscript: bool,
}

impl Default for Switches {
    fn default() -> Switches {
        Switches { sum: Sum::Checked, sweeps: true, is_cron_paused: false, allows_noscript: false }
    }
}
