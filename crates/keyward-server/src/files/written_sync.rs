//! A snapshot for those who follow that was written as a whole, and has yet to be sent.
//!
//! Not here: sending it (`serve/sending/files.rs`).

use keyward_engine::ClientId;
use keyward_persist::disk::Source;

/// A snapshot in a file.
pub(crate) struct Written {
    pub(crate) clients: Vec<ClientId>,
    pub(crate) source: Source,
}

impl std::fmt::Debug for Written {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Written").field("clients", &self.clients).finish_non_exhaustive()
    }
}
