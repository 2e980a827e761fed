//! Whole databases: emptying, swapping, scanning, sampling.
//!
//! Owns the operations that concern a database rather than a key. Watches of
//! keys that exist are broken; clients waiting for a key that appears by a swap
//! are woken.

use super::Keyspace;
use crate::keyspace::changes::Changes;
use crate::keyspace::watch::Held;
use crate::tables::database::Database;
use crate::tables::eviction::Pools;
use crate::tables::reclaim::Freeing;
use crate::tables::table::Table;
use crate::values::hasher::{Key, KeyHasher};
use crate::values::row::Row;
use crate::values::value::Value;
use std::ops::Range;

/// How often a living row is looked for while due ones must stay.
const HELD_DRAWS_MAX: usize = 100;
/// How often one that is shown is looked for while pending ends hide others.
const SHOWN_DRAWS_MAX: usize = 64;
/// Milliseconds between looks for lists that nobody uses.
const LISTS_EVERY_MS: u64 = 2_000;

/// What a key of a database holds.
fn held(database: &Database, key: &[u8], due_ms: i64) -> Held {
    match database.find(key) {
        None => Held::Nothing,
        Some(row) if row.deadline().is_some_and(|deadline| deadline < due_ms) => Held::Due,
        Some(_) => Held::Living,
    }
}

impl Keyspace {
    /// Empties a database, and frees what it held at once or lazily.
    pub fn flush(&mut self, db: usize, freeing: Freeing) {
        self.changes.flushed();
        self.void_survey(db);
        self.hand_over_all(db);
        let taken = self.databases[db].take();
        if self.changes.waiting.has_group_readers() {
            self.changes.waiting.ready_where(|of, _| of == db);
        }
        self.changes.dirty += taken.len() as u64;
        let ends = self.take_ends(db);
        if self.journal.is_on() {
            self.journal.flushed(db, taken, ends);
        } else {
            self.watched_rows_went(db, &taken);
            ends.into_iter().for_each(|end| self.bury(end));
            self.part_with(taken, freeing);
        }
    }

    /// Breaks the watches of rows that a database had before it was emptied.
    pub(super) fn watched_rows_went(&mut self, db: usize, before: &Database) {
        let (databases, due_ms) = (&self.databases, self.due_ms);
        self.changes.watches.replaced(|of, key| {
            let held = |database| held(database, key, due_ms);
            (of == db).then(|| (held(before), held(&databases[db])))
        });
    }

    /// Swaps the contents of two databases.
    pub fn swap(&mut self, a: usize, b: usize) {
        if a == b {
            return;
        }
        let (databases, due_ms) = (&self.databases, self.due_ms);
        self.changes.watches.replaced(|of, key| {
            let held = |db: usize| held(&databases[db], key, due_ms);
            match of {
                _ if of == a => Some((held(a), held(b))),
                _ if of == b => Some((held(b), held(a))),
                _ => None,
            }
        });
        self.databases.swap(a, b);
        self.weeding.swapped(a, b);
        self.swap_borrowed(a, b);
        self.void_survey(a);
        self.void_survey(b);
        let databases = &self.databases;
        let has_group_readers = self.changes.waiting.has_group_readers();
        self.changes.waiting.ready_where(|db, key| {
            let row = (db == a || db == b).then(|| databases[db].find(key)).flatten();
            let is_ready = row.is_some_and(|row| matches!(row.value(), Value::Object(_)));
            // A stream that somebody waits for as a consumer may have gone.
            is_ready || has_group_readers && (db == a || db == b)
        });
        self.changes.dirty += 1;
    }

    /// Puts a database that was filled elsewhere in the place of one that is empty. Its keys have
    /// to be hashed as here ([`Keyspace::hash_as`]), and no schema governs either.
    pub fn replace_database(&mut self, db: usize, with: Database) {
        let (databases, due_ms) = (&self.databases, self.due_ms);
        self.changes.watches.replaced(|of, key| {
            let held = |database| held(database, key, due_ms);
            (of == db).then(|| (held(&databases[db]), held(&with)))
        });
        let before = std::mem::replace(&mut self.databases[db], with);
        self.part_with(before, Freeing::Lazily);
        self.pools[db] = Pools::default();
        let databases = &self.databases;
        self.changes.waiting.ready_where(|of, key| {
            let row = (of == db).then(|| databases[db].find(key)).flatten();
            row.is_some_and(|row| matches!(row.value(), Value::Object(_)))
        });
        self.changes.dirty += 1;
    }

    /// Takes the databases as they are; empty ones are left.
    pub fn take_databases(&mut self) -> Vec<Database> {
        let empty = (0..self.databases.len()).map(|_| Database::new(self.hasher, None)).collect();
        std::mem::replace(&mut self.databases, empty)
    }

    /// Hashes keys as another keyspace does, so that databases can go there. There must be no
    /// rows yet.
    pub fn hash_as(&mut self, hasher: KeyHasher) {
        assert!(self.databases.iter().all(Database::is_empty), "rows are where their hash says");
        self.hasher = hasher;
        self.changes = Changes::new(hasher);
        self.take_databases();
    }

    /// A living row of a database drawn by chance, due ones removed on the way. While expiry is held
    /// it may be a due one: there may be no other.
    pub fn random_key(&mut self, db: usize) -> Option<Box<[u8]>> {
        for draw in 0.. {
            let row = self.databases[db].sample(&mut self.random)?;
            let key: Box<[u8]> = row.key().into();
            let is_last_draw = self.is_expiry_held && draw == HELD_DRAWS_MAX;
            if self.has_pending() && self.hides(db, &key) {
                continue;
            }
            if self.locate(self.key_in(db, &key)).is_some() || is_last_draw {
                return Some(key);
            }
        }
        None
    }

    /// Whether drawing a row of a database by chance soon comes upon one that is shown, or
    /// there is none at all: otherwise nearly all that is there is hidden by pending ends.
    pub fn draws_shown(&self, db: usize) -> bool {
        let (database, mut random) = (&self.databases[db], self.random.clone());
        (0..SHOWN_DRAWS_MAX).any(|_| {
            let row = database.sample(&mut random);
            row.is_none_or(|row| self.is_shown(db, &row))
        })
    }

    /// Packs rows of these databases that wait for it, idle or not, within a budget of
    /// work: memory is short. Returns how much was done.
    pub fn pack(&mut self, dbs: Range<usize>, budget: usize) -> usize {
        self.packed_by_need_at_ms = self.now_ms;
        let mut work = 0;
        if self.governed > 0 {
            for table in self.databases[dbs].iter_mut().flat_map(Database::tables_mut) {
                work += table.pack(budget.saturating_sub(work));
                work += table.pack_lists(&self.access, budget.saturating_sub(work));
            }
        }
        work
    }

    /// Packs rows that nobody uses, within a budget of work.
    pub fn pack_idle(&mut self, budget: usize) {
        let mut work = 0;
        if self.governed > 0 {
            for table in self.databases.iter_mut().flat_map(Database::tables_mut) {
                work += table.pack_idle(&self.access, budget.saturating_sub(work));
                work += table.pack_lists(&self.access, budget.saturating_sub(work));
            }
        }
    }

    /// Begins to look for lists that nobody uses, if the last time is some time ago.
    pub fn look_at_lists(&mut self) {
        if self.governed > 0 && self.now_ms.abs_diff(self.lists_looked_at_ms) >= LISTS_EVERY_MS {
            self.lists_looked_at_ms = self.now_ms;
            let tables = self.databases.iter_mut().flat_map(Database::tables_mut);
            tables.for_each(Table::look_at_lists);
        }
    }

    /// Whether `pack_idle` has something to do.
    pub fn has_idle(&self) -> bool {
        let mut tables = self.databases.iter().flat_map(Database::tables);
        self.governed > 0 && tables.any(|table| table.has_work(&self.access))
    }

    /// Visits the rows of one bucket of a database, due ones included, as far as their
    /// tables can hold keys that begin with `prefix`; returns the next cursor, zero at the
    /// end.
    pub fn scan(&self, db: usize, cursor: u64, prefix: &[u8], visit: impl FnMut(&Row)) -> u64 {
        self.databases[db].scan(cursor, prefix, visit)
    }

    /// Whether a row's time is over.
    pub fn is_due(&self, row: &Row) -> bool {
        row.deadline().is_some_and(|deadline| deadline < self.due_ms)
    }

    /// Whether a row of a database is shown: its time is not over, and no pending
    /// end has yet to remove it.
    pub fn is_shown(&self, db: usize, row: &Row) -> bool {
        if !self.has_pending() {
            return !self.is_due(row);
        }
        let key = row.key();
        (!self.is_due(row) || self.outlives(db, key)) && !self.hides(db, key)
    }

    /// Removes a key if its time is over, as reading it would.
    pub fn expire_if_due(&mut self, key: Key<'_>) {
        self.locate(key);
    }
}
