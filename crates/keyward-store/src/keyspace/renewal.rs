//! Renewal by reading.
//!
//! Owns what a read does to the lifetime of a row, to those that live with it, and to the log.
//! A read moves the end of its row exactly, and mostly nothing else. The log, and the rows that
//! live with it, have its end rounded up to one of few (`RuleBook::rounded_end`) and hear of the
//! next one only: a copy may live a little longer, never shorter, and companions end when their
//! leader does, since that takes them along.
//!
//! Who stops leading takes over the ends that the log has (`adopt_told_ends`).
//!
//! Invariants: the log has an end of a row that is not before its deadline. A row of which it
//! has a later one is marked so (`Row::is_told_later`); what is written is logged with its exact
//! end, and the next read tells the log another one. Nobody is notified of a renewal, no watch
//! breaks, and it is not undone. A companion that is behind all the same, because what wrote it
//! was undone or its turn has not come, does not end before its leader.
//! Not here: which end that is (the rule book).

use super::Keyspace;
use crate::values::hasher::Key;
use crate::values::index::Spot;
use keyward_rules::RuleBook;
use keyward_schema::{KeyId, MAX_LEADERS};
use std::sync::Arc;

impl Keyspace {
    /// Whether reading a row of this key renews its lifetime.
    #[inline]
    pub(super) fn renews_on_read(&self, key: Key<'_>) -> bool {
        let db = &self.databases[key.db()];
        let governed = db.book().zip(db.pattern(key.table));
        governed.is_some_and(|(book, pattern)| book.traits(pattern).renews_on_read)
    }

    /// Renews the lifetime of a row that was read.
    pub(super) fn renew(&mut self, key: Key<'_>, spot: Spot) {
        let db = key.db();
        let database = &self.databases[db];
        let Some((book, pattern)) = database.book().zip(database.pattern(key.table)) else {
            return;
        };
        let row = database.table(key).row(spot);
        let before = row.deadline();
        let until = book.renewal(pattern, key.bytes, row, self.now_ms);
        let Some(until) = until.filter(|until| before != Some(*until)) else { return };
        let rounded = book.rounded_end(pattern, until);
        let is_moved = before.is_none_or(|had| book.rounded_end(pattern, had) != rounded);
        let told = book.told_end(pattern, row, until);
        let leads = is_moved && !book.traits(pattern).companions.is_empty();
        let table = self.databases[db].table_mut(key);
        let is_told = table.renew(spot, key.hash, until) && !is_moved;
        if self.effects.is_listening() {
            table.mark_told_later(spot);
        }
        self.heed(db, key.bytes);
        if !is_told {
            self.log_end_of_row(key, told);
        }
        if leads {
            self.renew_companions((db, pattern), key.bytes, rounded);
        }
    }

    fn log_end_of_row(&mut self, key: Key<'_>, end: i64) {
        let end = end.to_string();
        self.effects.beside(key.db(), [b"PEXPIREAT".as_slice(), key.bytes, end.as_bytes()]);
    }

    /// Gives rows that reads have renewed the end that the log has of them: who follows another
    /// server from now on has the same ends as all others who followed this one. So many buckets
    /// are looked at; whether there are more.
    pub fn adopt_told_ends(&mut self, buckets: usize) -> bool {
        for _ in 0..buckets {
            let Some((db, cursor)) = self.told_ends else { return false };
            let mut told = Vec::new();
            let next = self.databases[db].scan_renewed(cursor, |row, end| {
                told.push((Box::<[u8]>::from(row.key()), end));
            });
            self.told_ends = match next {
                0 if db + 1 < self.databases.len() => Some((db + 1, 0)),
                0 => None,
                next => Some((db, next)),
            };
            for (key, end) in told {
                let key = self.key_in(db, &key);
                if let Some(found) = self.databases[db].table(key).seek(key) {
                    let spot = self.loosen(key, found);
                    self.databases[db].table_mut(key).set_deadline(spot, key.hash, Some(end));
                    self.heed(db, key.bytes);
                }
            }
        }
        self.told_ends.is_some()
    }

    /// Gives the rows that live with another an end, and those that live with these: at once,
    /// or in steps if they are many.
    fn renew_companions(&mut self, (db, table): (usize, KeyId), leader: &[u8], end: i64) {
        let count = self.databases[db].companion_count(leader);
        if count > self.removed_at_once() {
            self.begin_renewal(db, table, leader);
            return;
        }
        let mut companions: Vec<Box<[u8]>> = Vec::with_capacity(count);
        self.databases[db].each_companion(leader, &mut |key| companions.push(key.into()));
        for companion in companions {
            let key = self.key_in(db, &companion);
            if self.set_own_end(key, end)
                && let Some(table) = self.databases[db].pattern(key.table)
            {
                self.renew_companions((db, table), &companion, end);
            }
        }
    }

    /// Gives a companion an end; whether it is there.
    fn set_own_end(&mut self, key: Key<'_>, end: i64) -> bool {
        let db = key.db();
        let Some(found) = self.databases[db].table(key).seek(key) else { return false };
        let spot = self.loosen(key, found);
        let table = self.databases[db].table_mut(key);
        if table.row(spot).deadline() != Some(end) {
            table.set_deadline(spot, key.hash, Some(end));
            self.heed(db, key.bytes);
            self.log_end_of_row(key, end);
        }
        true
    }

    /// The key that another lives with, by way of others if need be, and its table, if a read
    /// renews those.
    fn first_leader(&self, key: Key<'_>) -> Option<(&Arc<RuleBook>, KeyId, Vec<u8>)> {
        let database = &self.databases[key.db()];
        let book = database.book()?;
        let mut table = database.pattern(key.table)?;
        if !book.traits(table).follows_reads {
            return None;
        }
        let mut first = key.bytes.to_vec();
        for _ in 0..MAX_LEADERS {
            let Some(leader) = book.leader(table, &first) else { break };
            table = book.traits(table).leader?;
            first = leader;
        }
        Some((book, table, first))
    }

    /// The table and the end of that row, if it is there.
    fn renewed_leader(&self, key: Key<'_>) -> Option<(&Arc<RuleBook>, KeyId, i64)> {
        let (book, table, first) = self.first_leader(key)?;
        let row = self.databases[key.db()].find_of(table, &first);
        let row = row.filter(|row| !self.is_due(row))?;
        Some((book, table, row.deadline()?))
    }

    /// Removes the row that a key lives with if its time is over: the key itself has a later
    /// end than that.
    pub fn end_due_leader(&mut self, key: Key<'_>) {
        if let Some((_, _, first)) = self.first_leader(key) {
            let leader = self.key_in(key.db(), &first);
            if self.is_still_due(leader) {
                self.end_due(leader);
            }
        }
    }

    /// The end of the row that a key lives with, if a read renews that.
    pub(super) fn end_with_leader(&self, key: Key<'_>) -> Option<i64> {
        self.renewed_leader(key).map(|(_, _, end)| end)
    }

    /// Whether a companion that is due lives on with a leader that a read renewed: it has its
    /// end now.
    pub(super) fn lives_on(&mut self, key: Key<'_>) -> bool {
        if self.has_pending() && self.hides(key.db(), key.bytes) {
            return false;
        }
        let leader = self.renewed_leader(key);
        let end = leader.map(|(book, table, end)| book.rounded_end(table, end));
        end.is_some_and(|end| self.set_own_end(key, end))
    }

    /// Whether the deadline of a row has passed.
    pub(super) fn is_still_due(&self, key: Key<'_>) -> bool {
        self.databases[key.db()].table(key).deadline_of(key).is_some_and(|end| end < self.due_ms)
    }
}
