//! The end of the server while it waits for replicas.
//!
//! Owns what is to be done then, and who asked for it.
//! Not here: the wait (`engine::ending`).

use keyward_store::keyspace::client_id::ClientId;

/// How SHUTDOWN ends the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LastWish {
    pub(crate) saves: bool,
    /// Even if nothing can be saved.
    pub(crate) is_forced: bool,
}

/// The end that waits for replicas.
#[derive(Debug)]
pub(crate) struct Ending {
    /// It waits no longer then, in milliseconds since the epoch.
    pub(crate) until_ms: i64,
    /// That of SHUTDOWN; `None` for a signal.
    pub(crate) wish: Option<LastWish>,
    /// Clients that have sent SHUTDOWN.
    pub(crate) clients: Vec<ClientId>,
}
