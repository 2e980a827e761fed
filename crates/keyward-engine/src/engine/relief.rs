//! How memory stands before a command.

use keyward_commands::WireError;
use keyward_schema::escape;
use keyward_store::keyspace::Keyspace;

/// What making room came to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Relief {
    /// There is more that can go, and must.
    pub(crate) is_underway: bool,
    /// The server has too little memory, and nothing more can go.
    pub(crate) is_impossible: bool,
    /// The databases that take more than they may, and of which nothing more can go.
    pub(crate) full: Vec<usize>,
}

impl Relief {
    /// Whether commands on a database that take memory are refused.
    pub(crate) fn refuses(&self, db: usize) -> bool {
        self.is_impossible || self.full.contains(&db)
    }

    /// Why commands on a database that take memory are refused, if they are: by the
    /// server's limit, or by that of the keyspace.
    pub(crate) fn refusal(&self, keys: &Keyspace, db: usize) -> Option<WireError> {
        if self.is_impossible {
            return Some(WireError::OutOfMemory);
        }
        let book = self.full.contains(&db).then(|| keys.book_of(db)).flatten()?;
        let keyspace = &book.schema().keyspace;
        let text = format!(
            "OOM command not allowed when used memory > 'max_memory' of the keyspace {} ({} \
             bytes).",
            escape(&keyspace.name),
            keyspace.max_memory.unwrap_or_default()
        );
        Some(WireError::Line(text.into_bytes().into()))
    }
}
