//! Counters that INFO shows.
//!
//! Owns plain numbers; whoever causes something counts it.

/// Counters of the keyspace.
#[derive(Debug, Clone, Copy, Default)]
pub struct KeyStats {
    /// Reads that found their key.
    pub hits: u64,
    /// Reads that did not.
    pub misses: u64,
    /// Rows whose time was over.
    pub expired: u64,
    /// Rows that went because memory was needed.
    pub evicted: u64,
}

/// Counters of commands.
#[derive(Debug, Clone, Copy, Default)]
pub struct CommandStats {
    /// Commands executed.
    pub processed: u64,
    /// Replies that were errors.
    pub errors: u64,
}
