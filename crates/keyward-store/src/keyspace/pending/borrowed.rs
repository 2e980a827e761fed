//! Rows at which ends look for who left another set: what becomes of them.

use super::left::{INTSET_MAX, Left};
use super::list::{EndCursor, PendingEnd, Remains};
use crate::keyspace::Keyspace;
use crate::tables::reclaim::Freeing;
use crate::values::hasher::Key;
use crate::values::packed::Item;
use crate::values::row::Row;
use crate::values::set::Growth;
use std::rc::Rc;

impl PendingEnd {
    /// Who left a set, if it is the end of that.
    pub(super) fn left(&self) -> Option<&Left> {
        match &self.remains {
            Remains::Members { left, .. } => Some(left),
            Remains::Companions { .. } | Remains::Deadlines { .. } => None,
        }
    }

    /// The same, with how far ticks are.
    fn left_mut(&mut self) -> Option<(EndCursor, &mut Left)> {
        match &mut self.remains {
            Remains::Members { left, .. } => Some((self.cursor, left)),
            Remains::Companions { .. } | Remains::Deadlines { .. } => None,
        }
    }
}

/// The database of a key, and its bytes.
fn name<'a>(key: Key<'a>) -> (usize, &'a [u8]) {
    (key.db(), key.bytes)
}

impl Keyspace {
    /// Whether an end looks at the row of a key for who left another.
    #[inline(always)]
    pub(in crate::keyspace) fn is_borrowed(&self, key: Key<'_>) -> bool {
        self.pending.has_borrowed && self.is_borrowed_by_any(key)
    }

    #[cold]
    fn is_borrowed_by_any(&self, key: Key<'_>) -> bool {
        let saved = self.snapshot.iter().flat_map(|running| &running.ends);
        let saved = saved.filter_map(|end| end.left());
        let mut all = self.pending.ends.iter().filter_map(PendingEnd::left).chain(saved);
        all.any(|left| left.is_borrowed_from(name(key)))
    }

    /// Who left sets, as ends have them, those that a snapshot saves included; with how far
    /// somebody is with them.
    fn all_left(&mut self) -> impl Iterator<Item = (EndCursor, &mut Left)> {
        let saved = self.snapshot.iter_mut().flat_map(|running| &mut running.ends);
        let saved = saved.filter_map(|end| end.left_mut());
        self.pending.ends.iter_mut().filter_map(PendingEnd::left_mut).chain(saved)
    }

    /// The same, of ends that look at the row of a key.
    fn left_at(&mut self, key: Key<'_>) -> impl Iterator<Item = (EndCursor, &mut Left)> {
        self.all_left().filter(move |(_, left)| left.is_borrowed_from(name(key)))
    }

    /// An end is over, or was taken back: perhaps none looks at other rows.
    pub(super) fn note_borrowed(&mut self) {
        if self.pending.has_borrowed {
            let has_borrowed = self.all_left().any(|(_, left)| left.is_borrowed());
            self.pending.has_borrowed = has_borrowed;
        }
    }

    /// The row of a key goes, at which ends look: it is theirs from now on.
    pub(in crate::keyspace) fn hand_over(&mut self, key: Key<'_>, row: &Rc<Row>) {
        self.left_at(key).for_each(|(_, left)| left.take(row));
    }

    /// As `hand_over`, of a row that left its table; the journal has it too, if that is on.
    #[cold]
    pub(in crate::keyspace) fn discard_borrowed(&mut self, key: Key<'_>, row: Row) {
        let row = Rc::new(row);
        self.hand_over(key, &row);
        if self.journal.is_on() {
            self.journal.replaced_shared(key, row);
        }
    }

    /// That is undone: the row is about to be that of the key again.
    pub(in crate::keyspace) fn borrow_again(&mut self, key: Key<'_>, row: &Rc<Row>) {
        let mut is_any = false;
        for (_, left) in self.all_left().filter(|(_, left)| left.has(row)) {
            left.borrow(name(key));
            is_any = true;
        }
        self.pending.has_borrowed |= is_any;
    }

    /// The row of a key has gone to another key.
    #[inline(always)]
    pub(in crate::keyspace) fn follow_borrowed(&mut self, from: Key<'_>, to: Key<'_>) {
        if self.is_borrowed(from) {
            self.left_at(from).for_each(|(_, left)| left.borrow(name(to)));
        }
    }

    /// A member leaves the set of a key at which ends look.
    #[cold]
    pub(in crate::keyspace) fn note_leaver(&mut self, key: Key<'_>, member: Item<'_>) {
        let growth = Growth { intset_members_max: INTSET_MAX, hasher: self.hasher };
        self.left_at(key).for_each(|(cursor, left)| left.note(cursor.part, &growth, member));
    }

    /// A database is about to be emptied: the rows at which ends look are theirs.
    #[cold]
    pub(in crate::keyspace) fn hand_over_all(&mut self, of: usize) {
        let borrowed =
            |(_, left): (EndCursor, &mut Left)| left.borrowed_in(of).map(Box::<[u8]>::from);
        let keys: Vec<Box<[u8]>> = self.all_left().filter_map(borrowed).collect();
        for bytes in keys {
            let key = self.key_in(of, &bytes);
            if let Some(row) = self.take_row(key) {
                self.discard(key, row, Freeing::Lazily);
                self.record(key, 1);
            }
        }
    }

    /// Two databases are swapped.
    pub(in crate::keyspace) fn swap_borrowed(&mut self, a: usize, b: usize) {
        for (_, left) in self.all_left() {
            let other = |(here, there)| Some((there, Box::<[u8]>::from(left.borrowed_in(here)?)));
            if let Some((db, key)) = other((a, b)).or_else(|| other((b, a))) {
                left.borrow((db, &key));
            }
        }
    }
}
