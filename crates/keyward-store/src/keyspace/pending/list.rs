//! The ends that are pending, and what each has left to remove.
//!
//! Owns their list and how they are found by key and by number. Not here: rows.

use super::concerned::Concerned;
use super::left::{Left, set_of, set_of_mut};
use crate::values::hasher::TableIndex;
use crate::values::row::Row;
use crate::values::set::Set;
use keyward_resp::ArgBuf;
use keyward_rules::Cause;
use keyward_schema::KeyId;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// What so few rows or elements lose is removed at once: a fraction of a millisecond.
const FEW: usize = 64;

/// The ends that are pending.
#[derive(Debug)]
pub struct Pending {
    /// What so few lose is no large end.
    pub(super) at_once: usize,
    pub(super) ends: VecDeque<PendingEnd>,
    /// The numbers of the ends of a key, in any database.
    pub(super) by_key: BTreeMap<Box<[u8]>, Vec<u64>>,
    /// How many of them are of members, of companions, and of deadlines.
    pub(super) members: usize,
    pub(super) companions: usize,
    pub(super) deadlines: usize,
    /// How many began since the log of changes began.
    pub(super) begun: u64,
    /// Those after this one, of members, are being undone.
    pub(super) undone_after: u64,
    /// Some may still be undone.
    pub(super) has_fresh: bool,
    /// Some may look at rows of keys for who left a set.
    pub(super) has_borrowed: bool,
}

impl Default for Pending {
    fn default() -> Pending {
        Pending {
            at_once: FEW,
            ends: VecDeque::new(),
            by_key: BTreeMap::new(),
            members: 0,
            companions: 0,
            deadlines: 0,
            begun: 0,
            undone_after: u64::MAX,
            has_fresh: false,
            has_borrowed: false,
        }
    }
}

/// An end that is pending.
#[derive(Debug)]
pub(in crate::keyspace) struct PendingEnd {
    /// They are counted.
    pub(super) number: u64,
    pub(super) db: usize,
    /// The table and the key of the row that ended, shrank or has another deadline.
    pub(super) table: KeyId,
    pub(super) key: Box<[u8]>,
    pub(super) cause: Cause,
    /// It is known to stay.
    pub(super) stands: bool,
    pub(super) remains: Remains,
    /// How far ticks are.
    pub(super) cursor: EndCursor,
    /// The tables whose rows it concerns by way of others.
    pub(super) concerned: Concerned,
    /// Derived rows of which nothing is left that the sources demanded which it ends.
    pub(super) cleaned: BTreeSet<Box<[u8]>>,
}

/// What is left to do.
#[derive(Debug)]
pub(super) enum Remains {
    /// To take `element` out of the mirrors that these members of a set name.
    Members { left: Left, element: Vec<u8> },
    /// To remove these companions, a set of keys for each table.
    Companions { sets: Vec<(TableIndex, Row)> },
    /// To give companions the deadline of their leader: those of these tables.
    Deadlines { tables: Vec<TableIndex> },
}

/// A command that removes what an end has hidden, or a part of it.
#[derive(Debug)]
pub struct Finish {
    /// Its database.
    pub db: usize,
    /// A plain command.
    pub command: ArgBuf,
    /// Whether rows may follow the one it changes.
    pub is_followed: bool,
    /// Why the end began.
    pub cause: Cause,
    /// The end by which a derived row goes that has nothing but what was demanded by rows that
    /// it ends.
    pub(super) cleans: Option<u64>,
}

impl Pending {
    pub(super) fn push(&mut self, end: PendingEnd) {
        match end.remains {
            Remains::Members { .. } => self.members += 1,
            Remains::Companions { .. } => self.companions += 1,
            Remains::Deadlines { .. } => self.deadlines += 1,
        }
        self.has_fresh |= !end.stands;
        self.has_borrowed |= end.left().is_some_and(Left::is_borrowed);
        self.by_key.entry(end.key.clone()).or_default().push(end.number);
        let place = self.ends.partition_point(|other| other.number < end.number);
        self.ends.insert(place, end);
    }

    pub(super) fn remove(&mut self, place: usize) -> Option<PendingEnd> {
        let end = self.ends.remove(place)?;
        match end.remains {
            Remains::Members { .. } => self.members -= 1,
            Remains::Companions { .. } => self.companions -= 1,
            Remains::Deadlines { .. } => self.deadlines -= 1,
        }
        if let Some(numbers) = self.by_key.get_mut(&end.key) {
            numbers.retain(|number| *number != end.number);
            if numbers.is_empty() {
                self.by_key.remove(&end.key);
            }
        }
        Some(end)
    }

    /// Takes out the ends of which this is true.
    pub(super) fn extract(
        &mut self,
        mut is_wanted: impl FnMut(&PendingEnd) -> bool,
    ) -> Vec<PendingEnd> {
        let mut taken = Vec::new();
        for place in (0..self.ends.len()).rev() {
            if is_wanted(&self.ends[place]) {
                taken.extend(self.remove(place));
            }
        }
        taken
    }

    pub(super) fn place(&self, number: u64) -> Option<usize> {
        self.ends.binary_search_by_key(&number, |end| end.number).ok()
    }

    /// The ends of a key.
    pub(super) fn of<'a>(
        &'a self,
        db: usize,
        key: &[u8],
    ) -> impl Iterator<Item = &'a PendingEnd> + use<'a> {
        let numbers = self.by_key.get(key).into_iter().flatten();
        let ends = numbers.filter_map(|number| self.place(*number));
        ends.map(|place| &self.ends[place]).filter(move |end| end.db == db)
    }
}

impl PendingEnd {
    pub(super) fn set(&self, table: TableIndex) -> Option<&Set> {
        let Remains::Companions { sets } = &self.remains else { return None };
        sets.iter().find(|(of, _)| *of == table).and_then(|(_, row)| set_of(row))
    }

    pub(super) fn set_mut(&mut self, table: TableIndex) -> Option<&mut Set> {
        let Remains::Companions { sets } = &mut self.remains else { return None };
        sets.iter_mut().find(|(of, _)| *of == table).map(|(_, row)| set_of_mut(row))
    }
}

/// How far somebody is with an end: a part of it, and a place there.
#[derive(Clone, Copy, Debug, Default)]
pub struct EndCursor {
    pub(super) part: usize,
    pub(super) place: u64,
}
