//! What is to be shown.

use std::time::Duration;

use crate::system::System;

/// The most commands a second that may be asked for.
pub const RATE_MAX: u32 = 100_000;

/// What is to be shown.
pub struct Plan {
    /// The systems; at least one.
    pub systems: Vec<&'static System>,
    /// Where to listen; a free port if none is said.
    pub port: Option<u16>,
    /// Commands a second, over all systems.
    pub rate: u32,
    /// What the users do is decided by this number.
    pub seed: u64,
    /// How often the table is shown.
    pub interval: Duration,
    /// When it ends, unless a signal ends it before.
    pub length: Option<Duration>,
}
