//! What the log of changes says of ends.
//!
//! Where an end begins, and where it is over, the log has a command that only reads, which no
//! client brings into it and a plain Redis takes for what it is: `EXISTS keyward:ends members
//! 7 KEY`, then `EXISTS keyward:ends done 7`. It comes before the commands that made the row
//! end, in the same unit, so that who loads the log sees the row as it was. Ends are numbered
//! on through the log: one that is open in it is told apart from a later one of the same key.

use super::left::Left;
use super::list::{PendingEnd, Remains};
use crate::keyspace::Keyspace;
use crate::tables::reclaim::Freeing;
use crate::values::text::Text;
use crate::values::value::{ObjectRef, Value};
use keyward_resp::{ArgBuf, Args, number};
use keyward_rules::{Cause, Entry, Holds, LargeEnd, Leavers};

/// The first of the words by which the log tells of ends.
const ENDS: &[u8] = b"keyward:ends";
pub(super) const MEMBERS: &[u8] = b"members";
pub(super) const COMPANIONS: &[u8] = b"companions";
pub(super) const DEADLINES: &[u8] = b"deadlines";
const DONE: &[u8] = b"done";

/// What the log says where an end begins.
pub(super) fn begins(remains: &Remains, number: u64, key: &[u8]) -> ArgBuf {
    let kind = match remains {
        Remains::Members { .. } => MEMBERS,
        Remains::Companions { .. } => COMPANIONS,
        Remains::Deadlines { .. } => DEADLINES,
    };
    let number = number.to_string();
    [b"EXISTS".as_slice(), ENDS, kind, number.as_bytes(), key].iter().collect()
}

impl Keyspace {
    /// Has the log say that an end is over.
    pub(super) fn log_end(&mut self, end: &PendingEnd) {
        let number = end.number.to_string();
        self.effects.beside(end.db, [b"EXISTS".as_slice(), ENDS, DONE, number.as_bytes()]);
    }

    /// Whether commands of the log are carried out again.
    #[inline(always)]
    pub fn is_replaying(&self) -> bool {
        self.is_replaying
    }

    /// Carries out again what a command of the log says of an end; most say nothing of one.
    /// For when it runs, not for when it is queued.
    pub fn replay_end(&mut self, db: usize, words: Args<'_>) {
        let (Some(ENDS), Some(kind), Some(number)) = (words.get(1), words.get(2), words.get(3))
        else {
            return;
        };
        let Some(number) = number::parse_i64(number).and_then(|number| number.try_into().ok())
        else {
            return;
        };
        // Who follows and has a log of its own tells of ends there too.
        self.effects.beside(db, words.iter());
        if kind == DONE {
            if let Some(end) = self.pending.place(number).and_then(|it| self.pending.remove(it)) {
                self.bury(end);
            }
            return;
        }
        self.pending.begun = self.pending.begun.max(number);
        let Some(key) = words.get(4).map(<[u8]>::to_vec) else { return };
        let table = self.databases[db].book().and_then(|book| book.table_of(&key));
        let Some(table) = table.filter(|_| self.pending.place(number).is_none()) else { return };
        let (end, left) = match kind {
            MEMBERS => {
                // It goes with what the log says next, or loses members.
                let left = Left::borrowed(db, &key);
                (LargeEnd::Members { table, key, left: Leavers::All }, Some(left))
            }
            COMPANIONS => (LargeEnd::Companions { table, key }, None),
            DEADLINES => (LargeEnd::Deadlines { table, key }, None),
            _ => return,
        };
        self.begin(db, end, left, (Cause::Expiry, true), (number, None));
    }

    /// Plain commands that take out of derived rows what a row demanded which an end lists, and
    /// which the log is about to write: it was gone before, with all of that. Where the server
    /// was killed amid the end, the log does not say so.
    pub fn replay_loss(&self, db: usize, key: &[u8]) -> Vec<ArgBuf> {
        let database = &self.databases[db];
        let pattern = database.pattern(database.table_of(key));
        let (Some(book), Some(pattern)) = (database.book(), pattern) else { return Vec::new() };
        if !self.going(db, key).is_some_and(|finish| finish.removes(key)) {
            return Vec::new();
        }
        let Some(row) = database.find_of(pattern, key) else { return Vec::new() };
        let removal = |entry: Entry| -> Option<ArgBuf> {
            let derived = database.find_of(entry.table, &entry.key)?;
            let name: &[u8] = match derived.value() {
                Value::Object(ObjectRef::Set(_)) => b"SREM",
                Value::Object(ObjectRef::ZSet(_)) => b"ZREM",
                Value::Object(_) => return None,
                value => {
                    let is_its = |text: Text<'_>| text.as_bytes() == entry.member;
                    let goes = entry.holds == Holds::Value || Text::of(value).is_some_and(is_its);
                    return goes.then(|| [b"DEL".as_slice(), &entry.key].iter().collect());
                }
            };
            Some([name, &entry.key, &entry.member].iter().collect())
        };
        book.lost_with(pattern, key, &*row).into_iter().filter_map(removal).collect()
    }

    /// The log is about to write a key, or to remove it: what an end lists of it was gone
    /// before.
    pub fn replay_write(&mut self, db: usize, key: &[u8], is_removed: bool) {
        if !self.has_pending() {
            return;
        }
        let unfinished = self.unfinished(db, key);
        let of_it = || unfinished.iter().filter(|finish| finish.removes(key));
        let cleaning: Vec<u64> = of_it().filter_map(|finish| finish.cleans).collect();
        if !cleaning.is_empty() {
            let key = self.key_in(db, key);
            self.replay_derived(key, &cleaning, is_removed);
        } else if of_it().next().is_some() {
            let key = self.key_in(db, key);
            self.unlist(key);
            if let Some(row) = self.take_row(key) {
                // The command finds nothing any more: the log of who follows would lack it.
                self.effects.beside(db, [b"DEL".as_slice(), key.bytes]);
                self.reclaim.row(row, Freeing::AtOnce);
            }
        }
    }
}
