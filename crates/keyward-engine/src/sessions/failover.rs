//! A failover that a client has asked for (FAILOVER): a replica takes over, with everything.
//!
//! ```text
//! WaitingForSync ──a replica has everything──▶ InProgress ──it leads──▶ over
//!       └────────────── too late, ABORT ────────────┴──▶ this server leads on
//! ```
//! Not here: what is done in each stage (`engine::failover`).

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailoverStage {
    /// Writes wait, and so does the failover, for a replica that has everything.
    WaitingForSync,
    /// The replica is asked to lead.
    InProgress,
}

impl FailoverStage {
    /// What INFO calls it.
    pub(crate) fn name(stage: Option<FailoverStage>) -> &'static str {
        match stage {
            None => "no-failover",
            Some(FailoverStage::WaitingForSync) => "waiting-for-sync",
            Some(FailoverStage::InProgress) => "failover-in-progress",
        }
    }
}

/// A failover.
#[derive(Debug)]
pub(crate) struct Failover {
    pub(crate) stage: FailoverStage,
    /// Who is to lead: a name and a port; whoever is ready first if `None`.
    pub(crate) target: Option<(Vec<u8>, u16)>,
    /// When it is given up, or forced.
    pub(crate) until_ms: Option<i64>,
    /// It goes on when the time is over, be it that something is lost.
    pub(crate) is_forced: bool,
}
