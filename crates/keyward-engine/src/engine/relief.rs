//! How memory stands before a command: what eviction came to.

use keyward_commands::WireError;
use keyward_schema::escape;
use keyward_store::keyspace::Keyspace;
use keyward_store::tables::eviction::Share;

/// What making room came to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Relief {
    /// There is more that can go, and must.
    pub(crate) is_underway: bool,
    /// The server has too little memory, and nothing more can go.
    pub(crate) is_impossible: bool,
    /// The keyspaces that take more than they may, and of which nothing more can go.
    pub(crate) full: Vec<Share>,
}

impl Relief {
    /// Whether commands on a database that take memory may be refused.
    pub(crate) fn refuses(&self, db: usize) -> bool {
        self.is_impossible || self.full.iter().any(|share| share.db == db)
    }

    /// Why commands on a database that take memory are refused, if they are: by the
    /// server's limit, or by that of a keyspace that they concern.
    pub(crate) fn refusal(
        &self,
        keys: &Keyspace,
        db: usize,
        concerns: impl Fn(&Share) -> bool,
    ) -> Option<WireError> {
        if self.is_impossible {
            return Some(WireError::OutOfMemory);
        }
        let full = self.full.iter().find(|share| share.db == db && concerns(share))?;
        let keyspace = keys.book_of(db)?.schema().keyspace_at(full.keyspace);
        let text = format!(
            "OOM command not allowed when used memory > 'max_memory' of the keyspace {} ({} \
             bytes).",
            escape(&keyspace.name),
            keyspace.max_memory.unwrap_or_default()
        );
        Some(WireError::Line(text.into_bytes().into()))
    }
}
