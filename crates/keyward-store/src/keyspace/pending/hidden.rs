//! What pending ends hide, looked up key by key.
//!
//! A key costs little more than it has ends: those of its leader are found by the leader's
//! key; of a mirror either its elements are looked up, or the ends of sets, whichever are
//! fewer.

use super::left::{holds, set_of};
use super::list::{Finish, PendingEnd, Remains};
use crate::keyspace::Keyspace;
use crate::tables::database::Database;
use crate::values::set::Set;
use keyward_rules::RuleBook;
use keyward_schema::{KeyId, MAX_LEADERS};

/// What becomes of a companion.
enum Fate {
    /// The time of its leader is over.
    Over,
    /// It gets this deadline.
    Until(Option<i64>),
}

impl Keyspace {
    /// What is to be done before a key can be touched, as the ends that are pending have it.
    pub fn unfinished(&self, db: usize, key: &[u8]) -> Vec<Finish> {
        let mut found = Vec::new();
        let database = &self.databases[db];
        let key = self.key_in(db, key);
        let Some((book, pattern)) = database.book().zip(database.pattern(key.table)) else {
            return found;
        };
        if self.pending.members > 0 && book.mirror_of(pattern).is_some() {
            self.stale_elements(book, pattern, (db, key.bytes), &mut found);
        }
        self.going_sources(book, pattern, (db, key.bytes), &mut found);
        if book.traits(pattern).leader.is_some() {
            let going = self.going(db, key.bytes);
            found.extend(going.or_else(|| self.redating(db, key.bytes)));
        }
        found
    }

    /// The elements of a mirror that ends of sets have yet to take out.
    fn stale_elements(
        &self,
        book: &RuleBook,
        pattern: KeyId,
        (db, key): (usize, &[u8]),
        found: &mut Vec<Finish>,
    ) {
        let row = self.databases[db].find_of(pattern, key);
        let Some(set) = row.as_deref().and_then(set_of) else { return };
        if set.len() <= self.pending.members {
            for element in set.iter() {
                let element = element.text();
                let Some(source) = book.mirrored(pattern, key, element.as_bytes()) else {
                    continue;
                };
                let mut ends = self.pending.of(db, &source.key);
                if let Some(end) = ends.find(|end| self.is_stale(end, &source.member)) {
                    found.push(end.finish(&[b"SREM", key, element.as_bytes()]));
                }
            }
            return;
        }
        for end in self.pending.ends.iter().filter(|end| end.db == db) {
            let Remains::Members { element, .. } = &end.remains else { continue };
            if book.mirror_of(end.table) != Some(pattern) || !holds(Some(set), element) {
                continue;
            }
            let Some(source) = book.mirrored(pattern, key, element) else { continue };
            let is_its = (source.table, &*source.key) == (end.table, &*end.key);
            if is_its && self.is_stale(end, &source.member) {
                found.push(end.finish(&[b"SREM", key, element]));
            }
        }
    }

    /// Whether a member was in the set of an end and is there no more.
    fn is_stale(&self, end: &PendingEnd, member: &[u8]) -> bool {
        let Remains::Members { left, .. } = &end.remains else { return false };
        left.contains(&self.databases, member) && !self.contains_now(end, member)
    }

    /// Whether the set of an end has a member now: again, or still.
    pub(super) fn contains_now(&self, end: &PendingEnd, member: &[u8]) -> bool {
        let row = self.databases[end.db].find_of(end.table, &end.key);
        row.is_some_and(|row| !self.is_due(&row) && holds(set_of(&row), member))
    }

    /// What gives a companion the end of its leader, if an end has yet to do so.
    pub(super) fn redating(&self, db: usize, key: &[u8]) -> Option<Finish> {
        let (end, fate) = self.later_fate(db, key)?;
        let deadline = match fate {
            Fate::Over => return Some(end.finish(&[b"DEL", key])),
            Fate::Until(deadline) => deadline,
        };
        // In the last millisecond of its leader it lives on as it is: to give it that as its
        // deadline would remove it.
        if deadline.is_some_and(|at| at <= self.due_ms) {
            return None;
        }
        Some(match deadline {
            Some(at) => end.finish(&[b"PEXPIREAT", key, at.to_string().as_bytes()]),
            None => end.finish(&[b"PERSIST", key]),
        })
    }

    /// What an end has yet to make of a companion, by way of all that lead it: it has the
    /// deadline of the first of them.
    fn later_fate(&self, db: usize, key: &[u8]) -> Option<(&PendingEnd, Fate)> {
        if self.pending.deadlines == 0 {
            return None;
        }
        let database = &self.databases[db];
        let book = database.book()?;
        let (mut first, mut end) = (key.to_vec(), None);
        for _ in 0..MAX_LEADERS {
            let pattern = database.pattern(database.table_of(&first))?;
            let Some(leader) = book.leader(pattern, &first) else { break };
            let is_dated = |end: &&PendingEnd| matches!(end.remains, Remains::Deadlines { .. });
            end = end.or(self.pending.of(db, &leader).find(is_dated));
            first = leader;
        }
        let end = end?;
        let table = database.pattern(database.table_of(&first))?;
        let first = database.find(&first)?;
        let own = database.find(key)?;
        if self.is_due(&first) {
            // It goes when somebody gets to it; whoever lives with it has gone before that.
            return (!self.is_due(&own)).then_some((end, Fate::Over));
        }
        let wanted = first.deadline().map(|end| book.rounded_end(table, end));
        (wanted != own.deadline()).then_some((end, Fate::Until(wanted)))
    }

    /// Whether a key is there only as what an end has yet to remove.
    pub fn hides(&self, db: usize, key: &[u8]) -> bool {
        let unfinished = self.unfinished(db, key);
        let does = |finish: &&Finish, name: &[u8]| finish.command.args().at(0) == name;
        if unfinished.iter().any(|finish| finish.removes(key)) || self.going(db, key).is_some() {
            return true;
        }
        let sources = unfinished.iter().filter(|finish| does(finish, b"DEL")).count();
        if self.goes_with(db, key, sources) {
            return true;
        }
        let going = unfinished.iter().filter(|finish| does(finish, b"SREM")).count();
        let row = self.databases[db].find(key);
        going > 0 && row.as_deref().and_then(set_of).is_some_and(|set| set.len() == going)
    }

    /// Whether a companion that seems to be due has yet to get the deadline of its leader, and
    /// lives on.
    #[cold]
    pub(in crate::keyspace) fn outlives(&self, db: usize, key: &[u8]) -> bool {
        let is_dated = matches!(self.later_fate(db, key), Some((_, Fate::Until(_))));
        is_dated && !self.hides(db, key)
    }
}

impl PendingEnd {
    pub(super) fn finish(&self, words: &[&[u8]]) -> Finish {
        Finish {
            db: self.db,
            command: words.iter().collect(),
            is_followed: !matches!(self.remains, Remains::Members { .. }),
            cause: self.cause,
            cleans: None,
        }
    }
}

impl Finish {
    /// Whether it removes this key, rather than something that goes with it.
    pub(super) fn removes(&self, key: &[u8]) -> bool {
        let args = self.command.args();
        args.at(0) == b"DEL" && args.at(1) == key
    }
}

/// Whether a set of a table has a member.
pub(super) fn has_member(database: &Database, table: KeyId, key: &[u8], member: &[u8]) -> bool {
    let row = database.find_of(table, key);
    row.as_deref().and_then(set_of).is_some_and(|set: &Set| holds(Some(set), member))
}
