//! A schema on the way into force: what is kept of that between ticks.
//!
//! Not here: the way (`apply`).

use super::hold::Hold;
use super::plan::Plan;
use super::telling::{Listener, Telling};
use keyward_commands::WireError;
use keyward_rules::{Conclusion, Report, RuleBook, Survey};
use keyward_store::keyspace::client_id::ClientId;
use std::sync::Arc;

/// A schema on the way into force.
#[derive(Debug)]
pub(crate) struct Changeover {
    pub(crate) db: usize,
    /// Who waits for it.
    pub(crate) asker: ClientId,
    pub(crate) listener: Listener,
    /// The keyspace that it concerns; all of them unless it is one of several.
    pub(crate) keyspace: Option<usize>,
    /// The book before, until no row is kept by it.
    pub(crate) before: Option<Arc<RuleBook>>,
    pub(crate) stage: Stage,
    /// What waits for it, from the conclusion on.
    pub(crate) hold: Option<Hold>,
}

#[derive(Debug)]
pub(crate) enum Stage {
    /// A snapshot is being taken, or rows are due.
    Await(Announced),
    /// The time of the rows is `at_ms`.
    Conclude { announced: Announced, conclusion: Box<Conclusion>, at_ms: i64 },
    /// The new schema is in force; rows come to their tables.
    Bring { survey: Survey, report: Box<Report>, at_ms: i64 },
    /// What rows need is done.
    CarryOut { survey: Survey, report: Box<Report>, at_ms: i64 },
    /// The reply is written.
    Write { report: Box<Report>, telling: Box<Telling> },
    /// All that is left is to tell.
    Tell(Result<Box<Telling>, WireError>),
}

/// A plan, and how much it is to destroy.
#[derive(Debug)]
pub(crate) struct Announced {
    pub(crate) plan: Box<Plan>,
    pub(crate) destroyed: u64,
}
