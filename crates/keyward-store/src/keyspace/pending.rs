//! Large ends: rows and elements that have gone for everybody and are removed in steps
//! (incremental deletion).
//!
//! Owns the ends that are pending, and what each has left to remove. What an end hides is
//! looked up, not written down at the rows (`hidden`): the element of a mirror is stale if its
//! set had the member once and has it no more, a companion if the end of its leader lists it.
//! So a source or a leader that is made anew is a new generation by itself, whose elements
//! and companions no step takes. Ticks take ends up in the order in which they began (`steps`);
//! commands finish what they touch, as a part of their own unit, and no end is moved on by
//! that: what is undone is hidden again. The log of changes tells of ends (`replay`), and so do
//! snapshots of a server that follows (`saved`).
//!
//! What is derived from companions that go is told by its key too (`derived`): a lookup names
//! its source; a set whose sources all live with the row that went goes as a whole, once, and
//! the end keeps in mind that it did, for what comes to it later is of others.
//!
//! Invariants: ends that may still be undone have `stands` unset, and are the last ones. A row
//! that leaves its table leaves the end that lists it; undoing the one undoes the other.
//! Not here: carrying the steps out (`governed` of the engine), what is large (the rule
//! book).

mod borrowed;
mod concerned;
mod derived;
mod hidden;
mod left;
mod list;
mod replay;
mod saved;
mod steps;

use super::Keyspace;
use super::journal::{JournalMark, Kept};
use crate::tables::reclaim::Freeing;
use crate::values::hasher::{Key, TableIndex};
use crate::values::packed::Item;
use crate::values::packed_limits::PackedLimits;
use crate::values::row::{NewValue, Row};
use crate::values::set::{self, Set};
use crate::values::value::Collection;
use concerned::Concerned;
use keyward_rules::{Cause, LargeEnd, Leavers};
use keyward_schema::KeyId;
use left::Left;
pub(super) use list::PendingEnd;
use list::Remains;
pub use list::{EndCursor, Finish, Pending};
pub use saved::{END_FACT, SavedEnd};
use std::collections::BTreeSet;
use std::rc::Rc;

/// While so many ends are pending, clients that write under a schema wait, and whoever cannot
/// wait removes what goes at once: what a key costs grows with them.
pub const ENDS_MAX: usize = 256;

impl Keyspace {
    /// Whether an end is pending.
    #[inline(always)]
    pub fn has_pending(&self) -> bool {
        !self.pending.ends.is_empty()
    }

    /// From now on what more rows or elements than this lose is removed in steps. Tests make
    /// every end a large one by it.
    pub fn set_removed_at_once(&mut self, few: usize) {
        self.pending.at_once = few;
    }

    /// What no more rows or elements than this lose is to be removed at once.
    pub(super) fn removed_at_once(&self) -> usize {
        if self.pending.ends.len() >= ENDS_MAX { usize::MAX } else { self.pending.at_once }
    }

    /// How many ends are pending.
    pub fn pending_ends(&self) -> usize {
        self.pending.ends.len()
    }

    /// The number of the last end that is over, all before it being so too.
    pub fn ended_up_to(&self) -> u64 {
        self.pending.ends.front().map_or(self.pending.begun, |end| end.number - 1)
    }

    /// The number of the last end that began.
    pub fn ends_begun(&self) -> u64 {
        self.pending.begun
    }

    /// Begins an end that a command of the running unit brought about. The row that ended is
    /// in the journal since `since`, and the unit's commands in the log since `logged`.
    pub fn begin_end(
        &mut self,
        db: usize,
        end: LargeEnd,
        since: JournalMark,
        logged: usize,
        limits: &PackedLimits,
    ) {
        let left = match &end {
            LargeEnd::Members { key, left: Leavers::All, .. } => {
                self.journal.keep_row(since, db, key).map(|kept| match kept {
                    Kept::Here(row) => Left::own(row),
                    Kept::At { db, key } => Left::borrowed(db, &key),
                })
            }
            LargeEnd::Members { key, left: Leavers::Together, .. } => {
                self.journal.leavers(since, db, key).map(Left::own)
            }
            LargeEnd::Members { key, left: Leavers::These(left), .. } => {
                let mut set = Set::default();
                let growth = set::Growth::of(limits, self.hasher);
                left.iter().for_each(|member| {
                    set.add(&growth, Item::of(member));
                });
                let row = Row::new(key, NewValue::Object(set.into_object()), None);
                Some(Left::own(Rc::new(row)))
            }
            LargeEnd::Companions { .. } | LargeEnd::Deadlines { .. } => None,
        };
        let stands = !self.journal.is_on();
        let number = self.pending.begun + 1;
        self.begin(db, end, left, (Cause::Command, stands), (number, Some(logged)));
    }

    /// Begins an end of a row that went by itself, whose removal is in the log at `logged`.
    /// It gives the row back if that is not needed.
    pub fn begin_own_end(
        &mut self,
        db: usize,
        end: LargeEnd,
        row: &mut Option<Rc<Row>>,
        cause: Cause,
        logged: usize,
    ) {
        let left = match &end {
            LargeEnd::Members { .. } => row.take().map(Left::own),
            LargeEnd::Companions { .. } | LargeEnd::Deadlines { .. } => None,
        };
        let number = self.pending.begun + 1;
        self.begin(db, end, left, (cause, true), (number, Some(logged)));
    }

    /// Begins to give the rows that live with another its end, which a read moved. Where that
    /// is under way it goes on: each gets the end that is there in its turn.
    pub(super) fn begin_renewal(&mut self, db: usize, table: KeyId, leader: &[u8]) {
        let is_dated = |end: &PendingEnd| matches!(end.remains, Remains::Deadlines { .. });
        if self.pending.of(db, leader).any(is_dated) {
            return;
        }
        let end = LargeEnd::Deadlines { table, key: leader.to_vec() };
        let (number, logged) = (self.pending.begun + 1, self.effects.len());
        self.begin(db, end, None, (Cause::Expiry, true), (number, Some(logged)));
    }

    fn begin(
        &mut self,
        db: usize,
        end: LargeEnd,
        left: Option<Left>,
        (cause, stands): (Cause, bool),
        (number, logged): (u64, Option<usize>),
    ) {
        let Some(book) = self.databases[db].book().cloned() else { return };
        let (table, key, remains) = match end {
            LargeEnd::Members { table, key, .. } => {
                let Some(left) = left else { return };
                let mirrored = |member: &[u8]| book.mirrored(table, &key, member);
                let Some(entry) = left.find_map(&self.databases, mirrored) else { return };
                let element = entry.member;
                (table, key, Remains::Members { left, element })
            }
            LargeEnd::Companions { table, key } => {
                let sets = self.databases[db].take_companions(&key);
                (table, key, Remains::Companions { sets })
            }
            LargeEnd::Deadlines { table, key } => {
                let companions = book.traits(table).companions.iter();
                let tables = companions.map(|table| TableIndex::of(*table)).collect();
                (table, key, Remains::Deadlines { tables })
            }
        };
        if let Some(at) = logged {
            let marker = replay::begins(&remains, number, &key);
            self.effects.insert((at, stands), db, marker.args().iter());
        }
        let concerned = match remains {
            Remains::Companions { .. } => {
                Concerned::by_companions(&book, table, self.is_faultless(db))
            }
            Remains::Members { .. } | Remains::Deadlines { .. } => Concerned::default(),
        };
        self.pending.begun = self.pending.begun.max(number);
        let (key, cursor) = (key.into(), EndCursor::default());
        self.pending.push(PendingEnd {
            number,
            db,
            table,
            key,
            cause,
            stands,
            remains,
            cursor,
            concerned,
            cleaned: BTreeSet::new(),
        });
    }

    /// What is about to be undone began after this number of ends: those of members give
    /// their rows back to the journal.
    pub fn begin_undoing_ends(&mut self, begun: u64) {
        self.pending.undone_after = begun;
        if !self.has_pending() {
            return;
        }
        let is_undone = |end: &PendingEnd| end.number > begun && !end.stands;
        self.pending
            .extract(|end| is_undone(end) && matches!(end.remains, Remains::Members { .. }));
    }

    /// It is undone: who has a leader again is listed with that again.
    pub fn end_undoing_ends(&mut self) {
        let begun = std::mem::replace(&mut self.pending.undone_after, u64::MAX);
        self.note_borrowed();
        if !self.has_pending() {
            return;
        }
        for end in self.pending.extract(|end| end.number > begun && !end.stands) {
            if let Remains::Companions { sets } = end.remains {
                self.databases[end.db].give_companions_back(sets);
            }
        }
    }

    /// The unit of the ends that are pending is known to stay.
    pub(super) fn let_ends_stand(&mut self) {
        if !std::mem::take(&mut self.pending.has_fresh) {
            return;
        }
        // Who got another deadline amid getting one gets the last.
        let mut redated: Vec<(usize, Box<[u8]>)> = Vec::new();
        for end in self.pending.ends.iter_mut().filter(|end| !end.stands) {
            end.stands = true;
            if matches!(end.remains, Remains::Deadlines { .. }) {
                redated.push((end.db, end.key.clone()));
            }
        }
        for (db, key) in redated {
            let deadlines = |end: &&PendingEnd| matches!(end.remains, Remains::Deadlines { .. });
            let last = self.pending.of(db, &key).filter(deadlines).map(|end| end.number).max();
            let is_older = |end: &PendingEnd| {
                deadlines(&end) && (end.db, &*end.key) == (db, &*key) && Some(end.number) < last
            };
            for end in self.pending.extract(is_older) {
                self.log_end(&end);
            }
        }
    }

    /// A database is emptied: nothing is left that its ends could remove.
    pub(super) fn take_ends(&mut self, db: usize) -> Vec<PendingEnd> {
        self.pending.extract(|end| end.db == db)
    }

    /// Its emptying was undone.
    pub(super) fn give_ends_back(&mut self, ends: Vec<PendingEnd>) {
        let undone_after = self.pending.undone_after;
        for end in ends {
            // The journal has the row of one that began within what is undone.
            let is_undone = end.number > undone_after && !end.stands;
            if !(is_undone && matches!(end.remains, Remains::Members { .. })) {
                self.pending.push(end);
            }
        }
    }

    /// Frees what an end has kept.
    pub(super) fn bury(&mut self, end: PendingEnd) {
        match end.remains {
            Remains::Members { left, .. } => {
                left.bury(&mut self.reclaim);
                self.note_borrowed();
            }
            Remains::Companions { sets } => {
                let sets = self.keep_for_snapshot(end.number, sets).into_iter().flatten();
                sets.for_each(|(_, row)| self.reclaim.row(row, Freeing::Lazily));
            }
            Remains::Deadlines { .. } => {}
        }
    }

    /// A row leaves its table: no end lists it any more.
    #[cold]
    pub(super) fn unlist(&mut self, key: Key<'_>) {
        let database = &self.databases[key.db()];
        let Some((book, pattern)) = database.book().zip(database.pattern(key.table)) else {
            return;
        };
        let Some(leader) = book.leader(pattern, key.bytes) else { return };
        let Keyspace { pending, journal, snapshot, .. } = self;
        let Some(numbers) = pending.by_key.get(&*leader) else { return };
        for number in numbers {
            let Ok(place) = pending.ends.binary_search_by_key(number, |end| end.number) else {
                continue;
            };
            let end = Some(&mut pending.ends[place]).filter(|end| end.db == key.db());
            let set = end.and_then(|end| end.set_mut(key.table));
            if set.is_some_and(|set| set.remove(Item::of(key.bytes))) {
                let saved = snapshot.as_mut().map(|running| &mut running.ends);
                saved::note_unlisted(saved, *number, key.bytes);
                if journal.is_on() {
                    journal.unlisted(key, *number);
                }
            }
        }
    }

    /// A row is back that an end listed.
    pub(super) fn list_again(&mut self, key: Key<'_>, number: u64) {
        // Keys are no numbers, or are few: there is no line to draw.
        let growth = set::Growth { intset_members_max: usize::MAX, hasher: self.hasher };
        let place = self.pending.place(number);
        let end = place.map(|place| &mut self.pending.ends[place]);
        if let Some(set) = end.and_then(|end| end.set_mut(key.table)) {
            set.add(&growth, Item::of(key.bytes));
            self.databases[key.db()].unlist_companion(key);
        }
    }
}
