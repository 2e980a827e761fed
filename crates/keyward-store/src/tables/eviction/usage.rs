//! What keyspaces take, how much of it may go, and how that stands to their limits.
//!
//! Owns the figures that INFO, KEYWARD STATS and warnings share. Each is a sum over the
//! tables of a keyspace, whatever number of rows they have.
//! Not here: keeping the limits (`quota`), when somebody is warned (the engine).

use super::quota::{self, Share};
use super::standing::Scope;
use crate::tables::database::Database;
use crate::tables::table::Table;

/// How a keyspace stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Usage {
    /// Which one it is.
    pub share: Share,
    /// Bytes of its tables.
    pub bytes: u64,
    /// Those that may be evicted.
    pub evictable_bytes: u64,
    /// `max_memory`, if it has one.
    pub bytes_max: Option<u64>,
}

impl Usage {
    /// How the keyspaces of a database stand; none without a schema.
    pub(crate) fn of(db: usize, database: &Database) -> Vec<Usage> {
        let Some(book) = database.book() else { return Vec::new() };
        let usage = |(share, bytes_max): (Share, Option<u64>)| {
            let tables = &database.tables()[share.tables.clone()];
            let sum = |bytes: fn(&Table) -> usize| tables.iter().map(bytes).sum::<usize>() as u64;
            let (bytes, evictable_bytes) = (sum(Table::heap_bytes), sum(Table::evictable_bytes));
            Usage { share, bytes, evictable_bytes, bytes_max }
        };
        quota::shares(db, book.schema()).into_iter().map(usage).collect()
    }

    /// How many hundredths of its limit it takes; `None` without a limit.
    pub fn percent(&self) -> Option<f64> {
        self.share_of_limit(self.bytes)
    }

    /// How many hundredths of its limit are taken by what may not be evicted.
    pub fn unevictable_percent(&self) -> Option<f64> {
        self.share_of_limit(self.bytes.saturating_sub(self.evictable_bytes))
    }

    fn share_of_limit(&self, bytes: u64) -> Option<f64> {
        self.bytes_max.map(|max| 100.0 * bytes as f64 / max.max(1) as f64)
    }
}

impl Table {
    /// Bytes of its rows that may be evicted, with their part of everything else. Where only
    /// rows with a deadline may, all are taken to be of the same size.
    pub fn evictable_bytes(&self) -> usize {
        match self.standing.map(|standing| standing.scope) {
            None => 0,
            Some(Scope::All) => self.heap_bytes(),
            Some(Scope::Expiring) => {
                let share = self.expiring() as f64 / self.len().max(1) as f64;
                (self.heap_bytes() as f64 * share) as usize
            }
        }
    }
}
