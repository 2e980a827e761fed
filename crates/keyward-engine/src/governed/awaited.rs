//! Who waits for what large ends have yet to remove.
//!
//! Not here: the removing, and who goes on when (`ends`).

use keyward_store::keyspace::client_id::ClientId;

/// What a client waits for before its command runs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Awaited {
    pub(crate) client: ClientId,
    /// The ends up to this number are over.
    pub(crate) end: u64,
    /// No row is due that others depend on.
    pub(crate) no_due_source: bool,
    /// When it began to wait.
    pub(crate) since_ms: i64,
}
