//! Who left a set, as the end has them that takes them out of its mirrors.
//!
//! The members of a set that went are in its row, which the end keeps. A set that lives on under
//! another key (RENAME, MOVE) is not copied: the end looks there, whatever becomes of that key. It
//! gets the row itself when that goes, follows it when it is renamed once more, and notes the
//! members that leave it meanwhile. So the time that RENAME takes does not depend on the set.
//!
//! Invariant: nobody is missing who left the set of the end and is still in a mirror for it. Others
//! may be there, who came to the other key later: of a mirror only those are taken out that
//! the set of the end does not have now, and those had to leave it anyway.
//! Not here: what is hidden by that (`hidden`), and the steps (`steps`).

use super::{EndCursor, PendingEnd, Remains, holds, set_of, set_of_mut};
use crate::keyspace::Keyspace;
use crate::keyspace::journal::row_of;
use crate::tables::database::Database;
use crate::tables::reclaim::{Freeing, Reclaim};
use crate::values::hasher::Key;
use crate::values::packed::Item;
use crate::values::row::{LentRow, Row};
use crate::values::set::{Growth, Set};
use std::rc::Rc;

/// Numbers that a set of members has in order, at most.
pub(super) const INTSET_MAX: usize = 512;
/// The part of a cursor that is in the row; the next one is in what has left it since.
const ROW: usize = 0;

/// Members that left a set.
#[derive(Clone, Debug)]
pub(super) struct Left {
    row: Held,
    /// Who has left that row since, before its turn came.
    since: Set,
}

/// Where the row is that has them.
#[derive(Clone, Debug)]
enum Held {
    /// Here; the journal may have it too.
    Own(Rc<Row>),
    /// In the table of this key.
    Lent { db: usize, key: Box<[u8]> },
}

impl Left {
    /// All members of a row.
    pub(super) fn own(row: Rc<Row>) -> Left {
        Left { row: Held::Own(row), since: Set::default() }
    }

    /// All members of the set that a key has now.
    pub(super) fn lent(db: usize, key: &[u8]) -> Left {
        Left { row: Held::Lent { db, key: key.into() }, since: Set::default() }
    }

    /// Whether the row is that of a key.
    pub(super) fn is_lent(&self) -> bool {
        matches!(self.row, Held::Lent { .. })
    }

    fn is_lent_by(&self, of: Key<'_>) -> bool {
        matches!(&self.row, Held::Lent { db, key } if *db == of.db() && **key == *of.bytes)
    }

    fn row<'a>(&'a self, databases: &'a [Database]) -> Option<LentRow<'a>> {
        match &self.row {
            Held::Own(row) => Some(LentRow::Loose(row)),
            Held::Lent { db, key } => databases[*db].find(key),
        }
    }

    /// Whether a member is among them.
    pub(super) fn contains(&self, databases: &[Database], member: &[u8]) -> bool {
        let row = self.row(databases);
        holds(row.as_deref().and_then(set_of), member) || holds(Some(&self.since), member)
    }

    /// The first thing that can be made of a member.
    pub(super) fn find_map<T>(
        &self,
        databases: &[Database],
        mut make: impl FnMut(&[u8]) -> Option<T>,
    ) -> Option<T> {
        let mut make = |item: Item<'_>| make(item.text().as_bytes());
        let row = self.row(databases);
        let set = row.as_deref().and_then(set_of);
        let found = set.and_then(|set| set.iter().find_map(&mut make));
        found.or_else(|| self.since.iter().find_map(&mut make))
    }

    /// Visits some of them; returns the place for the next ones, zero at the end of a part.
    /// `None` if there are no more parts.
    pub(super) fn scan(
        &self,
        databases: &[Database],
        cursor: EndCursor,
        visit: &mut dyn FnMut(Item<'_>),
    ) -> Option<u64> {
        match cursor.part {
            ROW => {
                let row = self.row(databases);
                let set = row.as_deref().and_then(set_of);
                Some(set.map_or(0, |set| set.scan(cursor.place, visit)))
            }
            1 => Some(self.since.scan(cursor.place, visit)),
            _ => None,
        }
    }

    /// Adds a member, while nobody has begun to walk through them.
    pub(super) fn add(&mut self, growth: &Growth, member: &[u8]) {
        let own = match &mut self.row {
            Held::Own(row) => Rc::get_mut(row),
            Held::Lent { .. } => None,
        };
        let set = own.map_or(&mut self.since, set_of_mut);
        set.add(growth, Item::of(member));
    }

    /// A member leaves the row where somebody walks through it who is at a cursor. Who is through
    /// has met it.
    fn note(&mut self, cursor: EndCursor, growth: &Growth, member: Item<'_>) {
        if cursor.part == ROW {
            self.since.add(growth, member);
        }
    }

    /// Frees what it has.
    pub(super) fn bury(self, reclaim: &mut Reclaim) {
        // If the journal or another end has the row too, that frees it.
        if let Held::Own(row) = self.row
            && let Ok(row) = Rc::try_unwrap(row)
        {
            reclaim.row(row, Freeing::Lazily);
        }
        reclaim.row(row_of(self.since), Freeing::Lazily);
    }
}

impl PendingEnd {
    pub(super) fn left(&self) -> Option<&Left> {
        match &self.remains {
            Remains::Members { left, .. } => Some(left),
            Remains::Companions { .. } | Remains::Deadlines { .. } => None,
        }
    }

    fn left_mut(&mut self) -> Option<(EndCursor, &mut Left)> {
        match &mut self.remains {
            Remains::Members { left, .. } => Some((self.cursor, left)),
            Remains::Companions { .. } | Remains::Deadlines { .. } => None,
        }
    }
}

impl Keyspace {
    /// Whether an end looks at the row of a key for who left another.
    #[inline(always)]
    pub(in crate::keyspace) fn is_lent(&self, key: Key<'_>) -> bool {
        self.pending.has_lent && self.lends(key)
    }

    #[cold]
    fn lends(&self, key: Key<'_>) -> bool {
        let saved = self.snapshot.iter().flat_map(|running| &running.ends);
        let saved = saved.filter_map(|end| end.left());
        let mut all = self.pending.ends.iter().filter_map(PendingEnd::left).chain(saved);
        all.any(|left| left.is_lent_by(key))
    }

    /// Who left sets, as ends have them, those that a snapshot saves included; with how far
    /// somebody is with them.
    fn all_left(&mut self) -> impl Iterator<Item = (EndCursor, &mut Left)> {
        let saved = self.snapshot.iter_mut().flat_map(|running| &mut running.ends);
        let saved = saved.filter_map(|end| end.left_mut());
        self.pending.ends.iter_mut().filter_map(PendingEnd::left_mut).chain(saved)
    }

    /// An end is over, or has its own row: perhaps none looks at others.
    pub(super) fn note_lent(&mut self) {
        if self.pending.has_lent {
            let has_lent = self.all_left().any(|(_, left)| left.is_lent());
            self.pending.has_lent = has_lent;
        }
    }

    /// The row of a key goes, at which ends look: it is theirs from now on.
    pub(in crate::keyspace) fn hand_over(&mut self, key: Key<'_>, row: &Rc<Row>) {
        for (_, left) in self.all_left().filter(|(_, left)| left.is_lent_by(key)) {
            left.row = Held::Own(Rc::clone(row));
        }
    }

    /// As `hand_over`, of a row that left its table; the journal has it too, if that is on.
    #[cold]
    pub(in crate::keyspace) fn discard_lent(&mut self, key: Key<'_>, row: Row) {
        let row = Rc::new(row);
        self.hand_over(key, &row);
        if self.journal.is_on() {
            self.journal.replaced_shared(key, row);
        }
    }

    /// That is undone: the row is about to be that of the key again.
    pub(in crate::keyspace) fn lend_again(&mut self, key: Key<'_>, row: &Rc<Row>) {
        let is_it = |left: &Left| matches!(&left.row, Held::Own(own) if Rc::ptr_eq(own, row));
        let mut is_any = false;
        for (_, left) in self.all_left().filter(|(_, left)| is_it(left)) {
            left.row = Held::Lent { db: key.db(), key: key.bytes.into() };
            is_any = true;
        }
        self.pending.has_lent |= is_any;
    }

    /// The row of a key has gone to another key.
    #[inline(always)]
    pub(in crate::keyspace) fn follow_lent(&mut self, from: Key<'_>, to: Key<'_>) {
        if self.is_lent(from) {
            for (_, left) in self.all_left().filter(|(_, left)| left.is_lent_by(from)) {
                left.row = Held::Lent { db: to.db(), key: to.bytes.into() };
            }
        }
    }

    /// A member leaves the set of a key at which ends look.
    #[cold]
    pub(in crate::keyspace) fn note_leaver(&mut self, key: Key<'_>, member: Item<'_>) {
        let growth = Growth { intset_members_max: INTSET_MAX, hasher: self.hasher };
        for (cursor, left) in self.all_left().filter(|(_, left)| left.is_lent_by(key)) {
            left.note(cursor, &growth, member);
        }
    }

    /// A database is about to be emptied: the rows at which ends look are theirs.
    #[cold]
    pub(in crate::keyspace) fn hand_over_all(&mut self, of: usize) {
        let lent = |(_, left): (EndCursor, &mut Left)| match &left.row {
            Held::Lent { db, key } if *db == of => Some(key.clone()),
            _ => None,
        };
        let names: Vec<Box<[u8]>> = self.all_left().filter_map(lent).collect();
        for name in names {
            let key = self.key_in(of, &name);
            if let Some(row) = self.take_row(key) {
                self.discard(key, row, Freeing::Lazily);
                self.record(key, 1);
            }
        }
    }

    /// Two databases are swapped.
    pub(in crate::keyspace) fn swap_lent(&mut self, a: usize, b: usize) {
        for (_, left) in self.all_left() {
            if let Held::Lent { db, .. } = &mut left.row {
                *db = match *db {
                    db if db == a => b,
                    db if db == b => a,
                    db => db,
                };
            }
        }
    }
}
