//! Rows with deadlines that clients of a writable replica have written.
//!
//! Owns which rows these are, in the order of their deadlines. A replica removes no row that is
//! due, since its primary does and says so; but nobody says so of a row that only this server
//! has. Redis remembers the same keys (`slaveKeysWithExpire`).
//!
//! Invariant: while this server follows nobody, while it loads a snapshot, and while the stream of
//! its primary is carried out, nothing is noted. A row that has another deadline by the time noted is left alone.

use super::Keyspace;
use crate::values::hasher::Key;
use std::collections::{BTreeMap, BTreeSet};

/// A key of a database.
type OwnKey = (usize, Box<[u8]>);

/// Deadlines of rows that clients of a replica have written.
#[derive(Debug, Default)]
pub(super) struct OwnDeadlines {
    by_key: BTreeMap<OwnKey, i64>,
    by_time: BTreeSet<(i64, OwnKey)>,
}

impl OwnDeadlines {
    fn note(&mut self, key: OwnKey, deadline: Option<i64>) {
        let before = match deadline {
            Some(deadline) => self.by_key.insert(key.clone(), deadline),
            None => self.by_key.remove(&key),
        };
        if let Some(before) = before {
            self.by_time.remove(&(before, key.clone()));
        }
        if let Some(deadline) = deadline {
            self.by_time.insert((deadline, key));
        }
    }

    /// Takes the first key that is due.
    fn take_due(&mut self, due_ms: i64) -> Option<OwnKey> {
        let (deadline, _) = self.by_time.first()?;
        if *deadline >= due_ms {
            return None;
        }
        let (_, key) = self.by_time.pop_first()?;
        self.by_key.remove(&key);
        Some(key)
    }

    pub(super) fn clear(&mut self) {
        *self = OwnDeadlines::default();
    }
}

impl Keyspace {
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
        self.own_deadlines.by_key.len()
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
