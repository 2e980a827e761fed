//! How many bytes keyspaces may take: `max_memory` of their schemas.
//!
//! Owns the limits and when bytes are counted. What a database takes is the sum over its
//! tables, too long a sum for every command: between two counts of all tables only the
//! one that changed last is counted anew, and nothing while the database does not change.
//! Reading a packed row may make it a loose one, which is a change here too.
//! Not here: what goes (`keyspace::victim`).

use crate::tables::database::Database;

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
    /// How many changes of the database there had been when all were counted.
    counted_at: u64,
    /// How many when the last was.
    seen: u64,
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
}

impl Quotas {
    /// Limits a database, or no longer.
    pub(crate) fn set(&mut self, db: usize, bytes_max: Option<u64>) {
        self.quotas.retain(|quota| quota.db != db);
        self.quotas.extend(bytes_max.map(|bytes_max| {
            let bytes_max = usize::try_from(bytes_max).unwrap_or(usize::MAX);
            // Nothing is counted yet: the first look counts all.
            let (counted_at, seen) = (u64::MAX, u64::MAX);
            Quota { db, bytes_max, tables: Vec::new(), bytes: 0, counted_at, seen }
        }));
    }

    /// Whether nothing has changed since every database was seen to be within its limit.
    #[inline]
    pub(crate) fn are_kept(&self, databases: &[Database]) -> bool {
        let is_kept =
            |quota: &Quota| quota.seen == databases[quota.db].changes() && !quota.is_exceeded();
        self.quotas.iter().all(is_kept)
    }

    /// The databases that take more than they may.
    pub(crate) fn exceeded(&mut self, databases: &[Database]) -> Vec<usize> {
        let mut exceeded = Vec::new();
        for quota in &mut self.quotas {
            let database = &databases[quota.db];
            let changes = database.changes();
            if quota.seen != changes {
                quota.seen = changes;
                // A database that was emptied begins to count anew: the count may be ahead.
                if quota.counted_at.abs_diff(changes) < CHANGES_PER_COUNT {
                    quota.count_changed(database);
                } else {
                    quota.count(database);
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
