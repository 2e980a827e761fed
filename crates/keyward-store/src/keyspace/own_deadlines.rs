//! Rows with deadlines that clients of a writable replica have written.
//!
//! Owns which rows these are, in the order of their deadlines. A replica removes no row that is
//! due, since its primary does and says so; but nobody says so of a row that only this server
//! has. Redis remembers the same keys (`slaveKeysWithExpire`).
//!
//! Invariant: while this server follows nobody, while it loads a snapshot, and while the stream of
//! its primary is carried out, nothing is noted. A row that has another deadline by the time noted is left alone.

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
    pub(super) fn note(&mut self, key: OwnKey, deadline: Option<i64>) {
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
    pub(super) fn take_due(&mut self, due_ms: i64) -> Option<OwnKey> {
        let (deadline, _) = self.by_time.first()?;
        if *deadline >= due_ms {
            return None;
        }
        let (_, key) = self.by_time.pop_first()?;
        self.by_key.remove(&key);
        Some(key)
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.by_key.len()
    }

    pub(super) fn clear(&mut self) {
        *self = OwnDeadlines::default();
    }
}
