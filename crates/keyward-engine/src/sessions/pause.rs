//! CLIENT PAUSE and UNPAUSE: holding commands back for a time.
//!
//! Owns what is held back until when, and who is held. A held command has not begun: it
//! is kept with what its client sends after it, and runs when the pause ends. While a
//! pause lasts no row goes because its time is over; reads do not see such rows. A read that would
//! have to remove something first, a large end or what a due row leaves behind, is held as well.
//! Not here: which commands are held (`engine::paused`), holding expiry (`keyspace`).

use keyward_store::keyspace::client_id::ClientId;

/// What is held back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Held {
    /// Commands that may write.
    Writes,
    /// All commands.
    Everything,
}

/// A pause.
#[derive(Debug)]
pub(crate) struct Pause {
    pub(crate) held: Held,
    /// The last millisecond of it, since the epoch.
    pub(crate) until_ms: i64,
    /// Who has a command that is held back.
    pub(crate) clients: Vec<ClientId>,
}
