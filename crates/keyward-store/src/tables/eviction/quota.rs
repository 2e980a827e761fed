//! How many bytes keyspaces may take: `max_memory` of their schemas.
//!
//! Owns the limits and when bytes are counted. What a keyspace takes is the sum over its
//! tables, those of its patterns; keys without one are nobody's. That is too long a sum for every
//! command: between two counts of all tables only the one that changed last is counted anew, and nothing while the database does not change.
//! Reading a packed row may make it a loose one, which is a change here too.
//! Not here: what goes (`keyspace::victim`).

use crate::tables::database::Database;
use keyward_schema::Schema;
use std::ops::Range;

/// Changes between two counts of all tables of a database.
const CHANGES_PER_COUNT: u64 = 32;

/// A keyspace: a database, or its share of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    /// The database.
    pub db: usize,
    /// Its place among the keyspaces of that database.
    pub keyspace: usize,
    /// Its tables.
    pub tables: Range<usize>,
}

/// The shares of a database under a schema, and what each may take. Keys without a pattern
/// belong to none of them.
pub(super) fn shares(db: usize, schema: &Schema) -> Vec<(Share, Option<u64>)> {
    let mut start = 1;
    if schema.parts.is_empty() {
        let share = Share { db, keyspace: 0, tables: start..start + schema.keys.len() };
        return vec![(share, schema.keyspace.max_memory)];
    }
    let share = |(keyspace, part): (usize, &Schema)| {
        let tables = start..start + part.keys.len();
        start = tables.end;
        (Share { db, keyspace, tables }, part.keyspace.max_memory)
    };
    schema.parts.iter().enumerate().map(share).collect()
}

/// What one keyspace may take.
#[derive(Debug, Clone)]
struct Quota {
    share: Share,
    bytes_max: usize,
    /// Bytes of each of its tables when it was last counted.
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
        let tables = &database.tables()[self.share.tables.clone()];
        self.tables.extend(tables.iter().map(|table| table.heap_bytes()));
        self.bytes = self.tables.iter().sum();
    }

    /// Counts the table that changed last.
    fn count_changed(&mut self, database: &Database) {
        let table = database.last_changed();
        let Some(own) = table.checked_sub(self.share.tables.start) else { return };
        let Some(known) = self.tables.get_mut(own) else { return };
        let bytes = database.tables()[table].heap_bytes();
        let before = std::mem::replace(known, bytes);
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
    /// Limits the keyspaces of a database as its schema says.
    pub(crate) fn set(&mut self, db: usize, schema: &Schema) {
        self.quotas.retain(|quota| quota.share.db != db);
        self.quotas.extend(shares(db, schema).into_iter().filter_map(|(share, bytes_max)| {
            let bytes_max = usize::try_from(bytes_max?).unwrap_or(usize::MAX);
            // Nothing is counted yet: the first look counts all.
            let (counted_at, seen) = (u64::MAX, u64::MAX);
            Some(Quota { share, bytes_max, tables: Vec::new(), bytes: 0, counted_at, seen })
        }));
    }

    /// A database has no schema any more.
    pub(crate) fn forget(&mut self, db: usize) {
        self.quotas.retain(|quota| quota.share.db != db);
    }

    /// Whether nothing has changed since every keyspace was seen to be within its limit.
    #[inline]
    pub(crate) fn are_kept(&self, databases: &[Database]) -> bool {
        let is_kept = |quota: &Quota| {
            quota.seen == databases[quota.share.db].changes() && !quota.is_exceeded()
        };
        self.quotas.iter().all(is_kept)
    }

    /// The keyspaces that take more than they may.
    pub(crate) fn exceeded(&mut self, databases: &[Database]) -> Vec<Share> {
        let mut exceeded = Vec::new();
        for quota in &mut self.quotas {
            let database = &databases[quota.share.db];
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
                exceeded.push(quota.share.clone());
            }
        }
        exceeded
    }

    /// Whether a keyspace takes more than it may, counted now.
    pub(crate) fn is_exceeded(&mut self, databases: &[Database], share: &Share) -> bool {
        let quota = self.quotas.iter_mut().find(|quota| quota.share == *share);
        quota.is_some_and(|quota| {
            quota.count(&databases[share.db]);
            quota.is_exceeded()
        })
    }
}
