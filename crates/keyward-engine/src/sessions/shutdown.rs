//! The end of the server while it waits for replicas.
//!
//! Owns what is to be done then, and who asked for it.
//! Not here: the wait (`engine::shutdown`).

use keyward_commands::WireError;
use keyward_store::keyspace::client_id::ClientId;

/// Who sent SHUTDOWN to a server that goes on.
pub(crate) const CANNOT_SHUT_DOWN: WireError =
    WireError::Err("Errors trying to SHUTDOWN. Check logs.");

/// How SHUTDOWN ends the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastWish {
    /// Whether a last snapshot is written.
    pub saves: bool,
    /// Even if nothing can be saved.
    pub is_forced: bool,
}

impl LastWish {
    /// What is logged when the last snapshot cannot be written.
    pub fn unsaved_line(self) -> &'static str {
        match self.is_forced {
            true => "Error trying to save the DB. Exit anyway.",
            false => "Error trying to save the DB, can't exit.",
        }
    }
}

/// The end that waits for replicas.
#[derive(Debug)]
pub(crate) struct Shutdown {
    /// It waits no longer then, in milliseconds since the epoch.
    pub(crate) until_ms: i64,
    /// That of SHUTDOWN; `None` for a signal.
    pub(crate) wish: Option<LastWish>,
    /// Clients that have sent SHUTDOWN.
    pub(crate) clients: Vec<ClientId>,
}
