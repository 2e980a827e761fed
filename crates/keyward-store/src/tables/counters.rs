//! What is counted about rows: of the keyspace, and of each table.
//!
//! Owns plain counters; whoever causes something counts it.
//! Not here: what is known about commands (`stats`).

use keyward_rules::ByReason;

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

/// Counters of one table.
#[derive(Debug, Clone, Copy, Default)]
pub struct TableStats {
    /// Reads that found their key.
    pub hits: u64,
    /// Reads that did not.
    pub misses: u64,
    /// Changes of rows.
    pub writes: u64,
    /// Rows whose time was over.
    pub expired: u64,
    /// Rows that went because memory was needed.
    pub evicted: u64,
    /// Commands that broke the schema and were refused.
    pub refused: ByReason,
    /// Commands that broke the schema and were let pass.
    pub warned: ByReason,
    /// Entries of a changefeed that told of its rows.
    pub told: u64,
    /// Rows that were stored in its table of PostgreSQL, as whoever stores them reports.
    pub stored: u64,
    /// Items that the database refused.
    pub dead_letters: u64,
    /// How far its clock and the server's are apart, in milliseconds, if rows are not deleted there
    /// for that; else zero.
    pub clocks_apart_ms: u64,
    /// What a schema would have refused where it only observes.
    pub would_refuse: u64,
    /// Rows that it would have given another end.
    pub would_date: u64,
    /// Changes of derived keys that it would have made.
    pub would_derive: u64,
    /// Rows and parts of rows that it would have removed.
    pub would_remove: u64,
    /// Rows that do not fit, and are kept.
    pub misfits: u64,
    /// Rows whose claim to a unique value fails.
    pub conflicts: u64,
}

impl TableStats {
    /// Begins to count anew. Rows that do not fit, or whose claim fails, are still there.
    pub(crate) fn reset(&mut self) {
        let TableStats { misfits, conflicts, .. } = *self;
        *self = TableStats { misfits, conflicts, ..TableStats::default() };
    }
}
