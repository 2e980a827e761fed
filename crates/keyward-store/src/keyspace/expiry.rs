//! The end of rows whose time is over.
//!
//! Owns removal of due rows, on access and by sweeping, those that clients of a replica
//! have written (`own_deadlines`) too. All leave the same
//! traces: the effect log says DEL (or UNLINK), subscribers hear `expired`, watches break.

use super::Keyspace;
use crate::keyspace::event::{Class, Event};
use crate::tables::reclaim::Freeing;
use crate::tables::table::WORK_OF_PACKED;
use crate::values::hasher::Key;
use keyward_rules::Cause;

/// What the end of a row takes on which others depend: they follow.
pub(super) const WORK_OF_LEADERS: usize = 32;

/// Nothing is swept while so many ends are pending: first they are to be over.
const SWEPT_ENDS_MAX: usize = 16;

impl Keyspace {
    /// Removes a row that was found to be due, unless expiry is held; whether it is gone for
    /// who asks.
    #[cold]
    pub(super) fn end_due(&mut self, key: Key<'_>) -> bool {
        if self.has_pending() && self.outlives(key.db(), key.bytes) {
            return false;
        }
        if self.lives_on(key) {
            return false;
        }
        if !self.is_expiry_held {
            self.remove_due(key);
        }
        true
    }

    /// Removes a row whose deadline has passed.
    pub(super) fn remove_due(&mut self, key: Key<'_>) {
        let db = key.db();
        let freeing = Freeing::lazily_if(self.lazy.expire);
        self.yield_large(key);
        let is_wanted = self.databases[db].leads(key.table);
        if !is_wanted && self.remove_packed(key) {
            // There is nothing to free, and nobody follows it.
        } else if let Some(row) = self.take_row(key) {
            self.end_row(key, row, (Cause::Expiry, freeing));
        }
        self.databases[db].table_mut(key).stats.expired += 1;
        self.stats.expired += 1;
        self.changes.expired(db, key.bytes);
        self.heed(db, key.bytes);
        let removal: &[u8] = match freeing {
            Freeing::AtOnce => b"DEL",
            Freeing::Lazily => b"UNLINK",
        };
        self.effects.beside(db, [removal, key.bytes]);
        self.notify(Event::new(Class::Expired, "expired"), key);
    }

    /// Makes the removal of each due row that the last unit came upon a unit of its own:
    /// they have nothing to do with each other. Under a schema other rows may have
    /// changed with one of them.
    pub fn part_due_rows(&mut self) {
        if !self.is_governed() {
            self.effects.part_unit();
        }
    }

    /// How much work the end of a row is.
    fn work_of_end(&self, key: Key<'_>) -> usize {
        match self.table(key).packs() {
            _ if self.databases[key.db()].leads(key.table) => WORK_OF_LEADERS,
            true => WORK_OF_PACKED,
            false => 1,
        }
    }

    /// Removes due rows, the longest overdue of each database first, until none
    /// is left or `budget` pieces of work are done. Returns whether they are.
    pub fn sweep(&mut self, budget: usize) -> bool {
        let mut work = 0;
        for db in 0..self.databases.len() {
            while work < budget
                && self.pending_ends() < SWEPT_ENDS_MAX
                && let Some(key) = self.databases[db].due_key(self.due_ms)
            {
                // Under a schema other rows may change with it: those belong to its unit.
                if !self.is_governed() {
                    self.effects.begin_unit();
                }
                let key = self.key_in(db, &key);
                work += self.work_of_end(key);
                if !self.end_due(key) && self.is_still_due(key) {
                    // The end of which it gets its deadline comes first.
                    break;
                }
            }
        }
        self.look_ahead();
        work >= budget
    }

    /// Notes the deadline that a command has given to a row.
    #[inline]
    pub(super) fn note_deadline(&mut self, key: Key<'_>) {
        if self.is_following && !self.is_replaying {
            self.note_own_deadline(key);
        }
        self.note_source_deadline(key);
    }

    /// Notes the deadline of a row that a client has written while this server follows another.
    #[cold]
    fn note_own_deadline(&mut self, key: Key<'_>) {
        let deadline = self.databases[key.db()].table(key).deadline_of(key);
        self.own_deadlines.note((key.db(), key.bytes.into()), deadline);
    }

    /// Forgets which rows clients of this replica have written: all of them go.
    pub fn forget_own_deadlines(&mut self) {
        self.own_deadlines.clear();
    }

    /// How many rows with deadlines clients of this replica have written.
    pub fn own_deadline_count(&self) -> usize {
        self.own_deadlines.count()
    }

    /// Removes rows that are due and that clients of this replica have written, up to so many;
    /// whether there may be more.
    pub fn sweep_own(&mut self, budget: usize) -> bool {
        for _ in 0..budget {
            let Some((db, key)) = self.own_deadlines.take_due(self.due_ms) else { return false };
            let key = self.key_in(db, &key);
            if self.is_still_due(key) {
                self.effects.begin_unit();
                self.remove_due(key);
            }
        }
        true
    }
}
