//! Ends in snapshots: what a file says of those that are pending.
//!
//! A server that leads takes its snapshots while nothing is pending. One that follows cannot
//! choose: its ends are its primary's, which may be out of reach, and without them whoever loads
//! the file shows what is gone, and keeps it if it is to lead. So the file has them, behind all
//! rows, in facts (AUX fields, which a plain Redis passes over) of some names each:
//!
//! ```text
//! keyward-end  *N  DB NUMBER KIND KEY NAME…      as a request of RESP
//! ```
//!
//! Owns the copy of an end while a snapshot is taken in steps. What it lists is what it listed at
//! the instant of the snapshot: members that left a set are shared, or looked up where the set
//! lives on; of companions those that leave the list meanwhile are kept.
//! Not here: rows (`keyspace::snapshot`).

use super::left::{INTSET_MAX, Left, set_of};
use super::list::{EndCursor, PendingEnd, Remains};
use super::replay;
use crate::keyspace::Keyspace;
use crate::tables::reclaim::{Freeing, Reclaim};
use crate::values::hasher::TableIndex;
use crate::values::packed::Item;
use crate::values::row::{NewValue, Row};
use crate::values::set::{self, Set};
use crate::values::value::Collection;
use keyward_resp::{ArgBuf, Batch, RequestLimits, RequestParser, push_request};
use keyward_rules::{Cause, LargeEnd, Leavers};
use std::rc::Rc;

/// What the facts are called.
pub const END_FACT: &str = "keyward-end";
/// Names that a fact has, or a few more.
const NAMES_PER_FACT: usize = 128;

/// An end as it was when a snapshot began.
#[derive(Debug)]
pub struct SavedEnd {
    number: u64,
    db: usize,
    key: Box<[u8]>,
    names: Names,
    cursor: EndCursor,
    /// Companions that have left the list since.
    since: Vec<Box<[u8]>>,
    is_walked: bool,
    is_begun: bool,
}

/// Where the names are.
#[derive(Debug)]
enum Names {
    /// Members that left a set.
    Members(Left),
    /// Companions, which the end lists that is still pending.
    Listed,
    /// Companions: the end is over.
    Kept(Vec<(TableIndex, Row)>),
    /// It lists nobody.
    Nobody,
}

impl SavedEnd {
    fn of(end: &PendingEnd) -> SavedEnd {
        let names = match &end.remains {
            Remains::Members { left, .. } => Names::Members(left.clone()),
            Remains::Companions { .. } => Names::Listed,
            Remains::Deadlines { .. } => Names::Nobody,
        };
        SavedEnd {
            number: end.number,
            db: end.db,
            key: end.key.clone(),
            names,
            cursor: EndCursor::default(),
            since: Vec::new(),
            is_walked: false,
            is_begun: false,
        }
    }

    fn kind(&self) -> &'static [u8] {
        match self.names {
            Names::Members(_) => replay::MEMBERS,
            Names::Listed | Names::Kept(_) => replay::COMPANIONS,
            Names::Nobody => replay::DEADLINES,
        }
    }

    /// Its database.
    pub fn db(&self) -> usize {
        self.db
    }

    /// The value of its next fact; `None` if there are no more.
    pub fn next(&mut self, keys: &Keyspace) -> Option<Vec<u8>> {
        let mut names: Vec<Box<[u8]>> = Vec::new();
        while names.len() < NAMES_PER_FACT && !self.is_walked {
            self.walk(keys, &mut names);
        }
        while names.len() < NAMES_PER_FACT
            && let Some(name) = self.since.pop()
        {
            names.push(name);
        }
        if names.is_empty() && self.is_begun {
            return None;
        }
        self.is_begun = true;
        let (db, number) = (self.db.to_string(), self.number.to_string());
        let head = [db.as_bytes(), number.as_bytes(), self.kind(), &self.key];
        let mut words: ArgBuf = head.iter().collect();
        names.iter().for_each(|name| words.push(name));
        let mut fact = Vec::new();
        push_request(&mut fact, words.args().iter());
        Some(fact)
    }

    /// Visits some names.
    fn walk(&mut self, keys: &Keyspace, names: &mut Vec<Box<[u8]>>) {
        let mut name = |item: Item<'_>| names.push(item.text().as_bytes().into());
        let (part, place) = (self.cursor.part, self.cursor.place);
        let mut down = |sets: &[(TableIndex, Row)]| {
            let (_, row) = sets.get(part)?;
            Some(set_of(row).map_or(0, |set| set.scan_down(place, &mut name)))
        };
        let scanned = match &self.names {
            Names::Kept(sets) => down(sets),
            Names::Listed => {
                let end = keys.pending.place(self.number).map(|place| &keys.pending.ends[place]);
                match end.map(|end| &end.remains) {
                    Some(Remains::Companions { sets }) => down(sets),
                    _ => None,
                }
            }
            Names::Members(left) => left.scan(&keys.databases, (part, place), &mut name),
            Names::Nobody => None,
        };
        match scanned {
            None => self.is_walked = true,
            Some(place) => {
                self.cursor.place = place;
                self.cursor.part += usize::from(place == 0);
            }
        }
    }

    /// Frees what it has kept.
    pub(in crate::keyspace) fn bury(self, reclaim: &mut Reclaim) {
        match self.names {
            Names::Members(left) => left.bury(reclaim),
            Names::Kept(sets) => {
                sets.into_iter().for_each(|(_, row)| reclaim.row(row, Freeing::Lazily));
            }
            Names::Listed | Names::Nobody => {}
        }
    }

    /// Who left a set, if it is the end of that.
    pub(super) fn left(&self) -> Option<&Left> {
        match &self.names {
            Names::Members(left) => Some(left),
            Names::Listed | Names::Kept(_) | Names::Nobody => None,
        }
    }

    /// The same, with how far they are saved.
    pub(super) fn left_mut(&mut self) -> Option<(EndCursor, &mut Left)> {
        match &mut self.names {
            Names::Members(left) => Some((self.cursor, left)),
            Names::Listed | Names::Kept(_) | Names::Nobody => None,
        }
    }

    /// Whether this is the copy of an end whose companions are listed there.
    fn is_listed_by(&self, number: u64) -> bool {
        self.number == number && matches!(self.names, Names::Listed)
    }
}

/// A companion has left the list of an end, of which there may be a copy.
pub(super) fn note_unlisted(saved: Option<&mut Vec<SavedEnd>>, number: u64, name: &[u8]) {
    let copy = saved.and_then(|saved| saved.iter_mut().find(|end| end.is_listed_by(number)));
    if let Some(copy) = copy {
        copy.since.push(name.into());
    }
}

impl Keyspace {
    /// The ends that are pending, to be saved with the rows of this instant.
    pub fn saved_ends(&self) -> Vec<SavedEnd> {
        self.pending.ends.iter().map(SavedEnd::of).collect()
    }

    /// The companions that an end has listed to its last are kept if a snapshot has yet to save
    /// them; else they are given back.
    pub(super) fn keep_for_snapshot(
        &mut self,
        number: u64,
        sets: Vec<(TableIndex, Row)>,
    ) -> Option<Vec<(TableIndex, Row)>> {
        let saved = self.snapshot.as_mut().map(|running| &mut running.ends);
        let copy = saved.and_then(|saved| saved.iter_mut().find(|end| end.is_listed_by(number)));
        let Some(copy) = copy else { return Some(sets) };
        copy.names = Names::Kept(sets);
        None
    }

    /// Takes up an end that a snapshot has, or more of what it lists. All rows are there.
    pub fn load_end(&mut self, fact: &[u8]) {
        let limits = RequestLimits { bulk_bytes_max: u64::MAX, ..RequestLimits::default() };
        let (mut buffer, mut batch) = (fact.to_vec(), Batch::new());
        let parsed = RequestParser::new().parse(&mut buffer, &limits, &mut batch);
        if parsed.is_err() || batch.len() != 1 {
            return;
        }
        let words = batch.command(0, &buffer);
        let (Some(db), Some(number), Some(kind), Some(key)) =
            (words.get(0), words.get(1), words.get(2), words.get(3))
        else {
            return;
        };
        let parse = |word: &[u8]| std::str::from_utf8(word).ok()?.parse::<u64>().ok();
        let db = parse(db).and_then(|db| usize::try_from(db).ok());
        let Some((db, number)) = db.filter(|db| *db < self.databases.len()).zip(parse(number))
        else {
            return;
        };
        let names = words.from(4);
        match self.pending.place(number) {
            None => self.take_end_up((db, number), kind, key, names.iter()),
            Some(_) => self.extend_end(number, names.iter()),
        }
    }

    fn take_end_up<'a>(
        &mut self,
        (db, number): (usize, u64),
        kind: &[u8],
        key: &[u8],
        names: impl Iterator<Item = &'a [u8]>,
    ) {
        let table = self.databases[db].book().and_then(|book| book.table_of(key));
        let Some(table) = table else { return };
        let growth = set::Growth { intset_members_max: INTSET_MAX, hasher: self.hasher };
        let key = key.to_vec();
        let how = ((Cause::Expiry, true), (number, None));
        match kind {
            replay::MEMBERS => {
                let nobody = NewValue::Object(Set::default().into_object());
                let mut left = Left::own(Rc::new(Row::new(&key, nobody, None)));
                names.for_each(|name| left.add(&growth, name));
                let end = LargeEnd::Members { table, key, left: Leavers::All };
                self.begin(db, end, Some(left), how.0, how.1);
            }
            replay::COMPANIONS => {
                // Those of a leader that was made anew stay with that.
                let held = self.databases[db].take_companions(&key);
                self.begin(db, LargeEnd::Companions { table, key }, None, how.0, how.1);
                self.databases[db].give_companions_back(held);
                self.extend_end(number, names);
            }
            replay::DEADLINES => {
                self.begin(db, LargeEnd::Deadlines { table, key }, None, how.0, how.1);
            }
            _ => {}
        }
    }

    fn extend_end<'a>(&mut self, number: u64, names: impl Iterator<Item = &'a [u8]>) {
        let Some(place) = self.pending.place(number) else { return };
        let db = self.pending.ends[place].db;
        let growth = set::Growth { intset_members_max: INTSET_MAX, hasher: self.hasher };
        for name in names {
            let in_table = self.key_in(db, name);
            let end = &mut self.pending.ends[place];
            match &mut end.remains {
                Remains::Members { left, .. } => left.add(&growth, name),
                Remains::Companions { sets } => {
                    if !sets.iter().any(|(table, _)| *table == in_table.table) {
                        let set = NewValue::Object(Set::default().into_object());
                        sets.push((in_table.table, Row::new(&end.key, set, None)));
                    }
                    // What goes as a whole, and what has gone, the file does not say.
                    end.concerned.takes_elements_of_all();
                    self.list_again(in_table, number);
                }
                Remains::Deadlines { .. } => {}
            }
        }
    }
}
