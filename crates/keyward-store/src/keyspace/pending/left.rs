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
//! Not here: what becomes of rows at which ends look (`borrowed`), what is hidden (`hidden`).

use crate::tables::database::Database;
use crate::tables::reclaim::{Freeing, Reclaim};
use crate::values::packed::Item;
use crate::values::row::{LentRow, NewValue, Row};
use crate::values::set::{Growth, Set};
use crate::values::value::{Collection, ObjectMut, ObjectRef, Value};
use std::rc::Rc;

/// Numbers that a set of members has in order, at most.
pub(super) const INTSET_MAX: usize = 512;
/// The part of who left that is the row; the next one is who has left that since.
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
    Borrowed { db: usize, key: Box<[u8]> },
}

impl Left {
    /// All members of a row.
    pub(super) fn own(row: Rc<Row>) -> Left {
        Left { row: Held::Own(row), since: Set::default() }
    }

    /// All members of the set that a key has now.
    pub(super) fn borrowed(db: usize, key: &[u8]) -> Left {
        Left { row: Held::Borrowed { db, key: key.into() }, since: Set::default() }
    }

    /// Whether the row is that of a key.
    pub(super) fn is_borrowed(&self) -> bool {
        matches!(self.row, Held::Borrowed { .. })
    }

    /// Whether it is that of this one.
    pub(super) fn is_borrowed_from(&self, of: (usize, &[u8])) -> bool {
        matches!(&self.row, Held::Borrowed { db, key } if (*db, &**key) == of)
    }

    /// The key whose row it is, if that is one of this database.
    pub(super) fn borrowed_in(&self, of: usize) -> Option<&[u8]> {
        match &self.row {
            Held::Borrowed { db, key } if *db == of => Some(key),
            Held::Borrowed { .. } | Held::Own(_) => None,
        }
    }

    /// Whether it has this row itself.
    pub(super) fn has(&self, row: &Rc<Row>) -> bool {
        matches!(&self.row, Held::Own(own) if Rc::ptr_eq(own, row))
    }

    /// The row is its own from now on.
    pub(super) fn take(&mut self, row: &Rc<Row>) {
        self.row = Held::Own(Rc::clone(row));
    }

    /// The row is that of a key from now on.
    pub(super) fn borrow(&mut self, (db, key): (usize, &[u8])) {
        self.row = Held::Borrowed { db, key: key.into() };
    }

    fn row<'a>(&'a self, databases: &'a [Database]) -> Option<LentRow<'a>> {
        match &self.row {
            Held::Own(row) => Some(LentRow::Loose(row)),
            Held::Borrowed { db, key } => databases[*db].find(key),
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

    /// Visits some of them, of a part and from a place in it on; returns the place for the next
    /// ones, zero at the end of the part. `None` if there are no more parts.
    pub(super) fn scan(
        &self,
        databases: &[Database],
        (part, place): (usize, u64),
        visit: &mut dyn FnMut(Item<'_>),
    ) -> Option<u64> {
        match part {
            ROW => {
                let row = self.row(databases);
                let set = row.as_deref().and_then(set_of);
                Some(set.map_or(0, |set| set.scan(place, visit)))
            }
            1 => Some(self.since.scan(place, visit)),
            _ => None,
        }
    }

    /// Adds a member, while nobody has begun to walk through them.
    pub(super) fn add(&mut self, growth: &Growth, member: &[u8]) {
        let own = match &mut self.row {
            Held::Own(row) => Rc::get_mut(row),
            Held::Borrowed { .. } => None,
        };
        let set = own.map_or(&mut self.since, set_of_mut);
        set.add(growth, Item::of(member));
    }

    /// A member leaves the row, through which somebody walks who is in a part. Who is through has
    /// met it.
    pub(super) fn note(&mut self, part: usize, growth: &Growth, member: Item<'_>) {
        if part == ROW {
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
        let since = NewValue::Object(self.since.into_object());
        reclaim.row(Row::new(&[], since, None), Freeing::Lazily);
    }
}

/// The set of a row.
pub(super) fn set_of(row: &Row) -> Option<&Set> {
    match row.value() {
        Value::Object(ObjectRef::Set(set)) => Some(set),
        _ => None,
    }
}

/// The set of a row that has one.
pub(super) fn set_of_mut(row: &mut Row) -> &mut Set {
    match row.object_mut() {
        Some(ObjectMut::Set(set)) => set,
        _ => unreachable!("who goes with another is listed in sets"),
    }
}

/// Whether a set has a member.
pub(super) fn holds(set: Option<&Set>, member: &[u8]) -> bool {
    set.is_some_and(|set| set.contains(Item::of(member)))
}
