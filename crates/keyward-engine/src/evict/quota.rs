//! How many bytes keyspaces may take: `max_memory` of their schemas.
//!
//! Owns the limits and when bytes are counted. What a database takes is the sum over its
//! tables, too long a sum for every command: between two counts of all tables only the
//! one that changed last is counted anew. Reading a packed row may make it a loose one,
//! which is a change here too.
//! Not here: what goes (`keyspace::victim`).

use crate::database::Database;

/// Changes between two counts of all tables of a database.
const CHANGES_PER_COUNT: u64 = 32;

/// What one database may take.
#[derive(Debug, Clone)]
struct Quota {
    db: usize,
    bytes_max: usize,
    /// Bytes of each table when it was last counted.
    tables: Vec<usize>,
    /// Their sum.
    bytes: usize,
    /// How many changes there had been when all were counted.
    counted_at: u64,
}

impl Quota {
    /// Counts all tables.
    fn count(&mut self, database: &Database) {
        self.tables.clear();
        self.tables.extend(database.tables().iter().map(|table| table.heap_bytes()));
        self.bytes = self.tables.iter().sum();
    }

    /// Counts the table that changed last.
    fn count_changed(&mut self, database: &Database) {
        let table = database.last_changed();
        let bytes = database.tables()[table].heap_bytes();
        let before = std::mem::replace(&mut self.tables[table], bytes);
        self.bytes = self.bytes - before + bytes;
    }

    fn is_exceeded(&self) -> bool {
        self.bytes > self.bytes_max
    }
}

/// What databases may take.
#[derive(Debug, Default)]
pub(crate) struct Quotas {
    quotas: Vec<Quota>,
    /// How many rows were made loose so far.
    loosened: u64,
}

impl Quotas {
    /// Whether there are none.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.quotas.is_empty()
    }

    /// A packed row has become a loose one.
    #[inline(always)]
    pub(crate) fn note_loosened(&mut self) {
        self.loosened += 1;
    }

    /// Limits a database, or no longer.
    pub(crate) fn set(&mut self, db: usize, bytes_max: Option<u64>) {
        self.quotas.retain(|quota| quota.db != db);
        self.quotas.extend(bytes_max.map(|bytes_max| {
            let bytes_max = usize::try_from(bytes_max).unwrap_or(usize::MAX);
            // Nothing is counted yet: the first look counts all.
            Quota { db, bytes_max, tables: Vec::new(), bytes: 0, counted_at: u64::MAX }
        }));
    }

    /// The databases that take more than they may, after so many changes of values in all.
    pub(crate) fn exceeded(&mut self, databases: &[Database], changes: u64) -> Vec<usize> {
        let changes = changes + self.loosened;
        let mut exceeded = Vec::new();
        for quota in &mut self.quotas {
            // Changes that are undone are taken back: the count may be ahead.
            match quota.counted_at.abs_diff(changes) {
                0 => {}
                1..CHANGES_PER_COUNT => quota.count_changed(&databases[quota.db]),
                _ => {
                    quota.count(&databases[quota.db]);
                    quota.counted_at = changes;
                }
            }
            if quota.is_exceeded() {
                exceeded.push(quota.db);
            }
        }
        exceeded
    }

    /// Whether a database takes more than it may, counted now.
    pub(crate) fn is_exceeded(&mut self, databases: &[Database], db: usize) -> bool {
        let quota = self.quotas.iter_mut().find(|quota| quota.db == db);
        quota.is_some_and(|quota| {
            quota.count(&databases[db]);
            quota.is_exceeded()
        })
    }
}
