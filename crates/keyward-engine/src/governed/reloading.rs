//! Files of schemas on the way into force: what is kept of that between ticks.
//!
//! Not here: the way (`reload`).

use super::hold::Hold;
use super::proposal::Draft;
use super::survey::Walk;
use crate::host::Library;
use keyward_rules::{Conclusion, Report, RuleBook, Survey};

/// Why a reload of a server that follows another comes to nothing.
pub(crate) const IS_REPLICA: &str = "a replica is under the schemas of its primary";

/// Files of schemas on the way into force.
#[derive(Debug)]
pub(crate) struct Reloading {
    pub(crate) drafts: Vec<Draft>,
    pub(crate) libraries: Vec<Library>,
    pub(crate) parts: Vec<Part>,
    pub(crate) stage: Stage,
    /// What else is to be told if it succeeds.
    pub(crate) remarks: Vec<String>,
    /// What waits for it, from the last conclusion on.
    pub(crate) hold: Option<Hold>,
}

/// One of them.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) db: usize,
    /// Until it is in force.
    pub(crate) book: Option<RuleBook>,
    pub(crate) survey: Survey,
    pub(crate) walk: Walk,
    pub(crate) is_met: bool,
    pub(crate) conclusion: Option<Conclusion>,
    pub(crate) report: Option<Report>,
    /// The row with faults that was looked at last, and how many have new ones so far.
    pub(crate) looked_at: Option<Vec<u8>>,
    pub(crate) misfits: u64,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Stage {
    /// Others plan or apply schemas.
    Wait,
    /// What rows need is concluded for the first time, of the part at this place.
    Preview(usize),
    /// A snapshot is being taken, rows are due, or clients are paused.
    Await,
    /// The same with rows that stay as they were at this time.
    Conclude(usize, i64),
    /// The book of this part comes into force.
    Govern(usize, i64),
    /// Its rows come to their tables.
    Bring(usize, i64),
    /// What is known of rows is kept in mind.
    CarryOut(usize, i64),
}
