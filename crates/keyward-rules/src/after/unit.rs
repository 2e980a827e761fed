//! Units: what is judged at the end of a transaction or a script (deferred constraints).
//!
//! Owns what a command of a unit may leave wrong for the time being, and its judgement at the
//! end: what rows need as a whole, the keys that rows live with, the keys that members of
//! followers name, unique values, and what clients wrote to computed keys. A command is judged
//! as if it stood alone; only what that finds wrong and the rest of the unit may mend is
//! written down ([`Deferred`]), so a unit in which nothing is wrong costs nothing more.
//!
//! Invariants: whatever is wrong at the end was deferred by the command that wrote it last: a
//! state in which nothing is wrong but what is deferred stays such a state by every command.
//! What is no longer there at the end, or no longer wrong, is passed over. The first thing that
//! was deferred and is still wrong is what the unit is refused by.
//! Not here: undoing a unit (the host's).

use super::dependents::Demands;
use super::{Aftermath, Cause, Consequences, Fate, Objection};
use crate::book::RuleBook;
use crate::change::{Change, Part, What};
use crate::derived::Holds;
use crate::derived::wanted::Wanted;
use crate::facts::Moment;
use crate::naming::named_key;
use crate::survey::CONTRADICTIONS_KEPT;
use crate::view::{Element, Row, RowType, View};
use keyward_schema::{Derived, KeyId};
use std::collections::{BTreeMap, BTreeSet};

/// Something that a command of a unit left wrong, to be judged again at the unit's end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deferred {
    table: KeyId,
    key: Box<[u8]>,
    wrong: Wrong,
}

/// What may be wrong with a row.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Wrong {
    /// It may not fit, all of it having been written.
    Row,
    /// It may not fit, these elements having been written.
    Elements(Vec<Vec<u8>>),
    /// The key that it lives with was not there.
    Leader,
    /// A unique value of it belonged to another row.
    Tie,
    /// A member of it named a key that was not there.
    Member(Vec<u8>),
    /// A client wrote something else of these members than their sources demanded.
    Agreement(Vec<Vec<u8>>),
}

impl Deferred {
    /// The table of the row that something was wrong with.
    pub fn table(&self) -> KeyId {
        self.table
    }

    /// Its key.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// The members of a computed row that a client wrote, if that is what was wrong.
    pub fn contradicted(&self) -> Option<&[Vec<u8>]> {
        match &self.wrong {
            Wrong::Agreement(members) => Some(members),
            _ => None,
        }
    }
}

/// Writing down what is wrong for now.
impl Aftermath<'_> {
    fn defer(&mut self, table: KeyId, key: &[u8], wrong: Wrong) {
        self.consequences.deferred.push(Deferred { table, key: key.into(), wrong });
    }

    /// What a change left behind does not fit, and may be made to.
    pub(super) fn defer_fit(&mut self, table: KeyId, change: &Change<'_>) {
        let wrong = match change.what {
            What::Parts(parts) => Wrong::Elements(parts.iter().filter_map(came).collect()),
            What::Whole(_) | What::Lifetime => Wrong::Row,
        };
        self.defer(table, change.key, wrong);
    }

    pub(super) fn defer_leader(&mut self, table: KeyId, key: &[u8]) {
        self.defer(table, key, Wrong::Leader);
    }

    pub(super) fn defer_tie(&mut self, table: KeyId, key: &[u8]) {
        self.defer(table, key, Wrong::Tie);
    }

    pub(super) fn defer_member(&mut self, table: KeyId, key: &[u8], member: Vec<u8>) {
        self.defer(table, key, Wrong::Member(member));
    }

    pub(super) fn defer_agreement(&mut self, table: KeyId, change: &Change<'_>) {
        // What is refused by them is judged at the end; else so many are kept in mind.
        let most = if self.book.is_enforced(table) { usize::MAX } else { CONTRADICTIONS_KEPT + 1 };
        let members = self.book.touched_members(table, change, most);
        self.defer(table, change.key, Wrong::Agreement(members));
    }
}

/// The name of an element that came or changed, or of a field that went: a condition may hold
/// without it.
fn came(part: &Part<'_>) -> Option<Vec<u8>> {
    match *part {
        Part::Field { name, .. } => Some(name.to_vec()),
        Part::Pushed(_, item) | Part::Placed(item) => Some(item.to_vec()),
        Part::Member { member, came: true } => Some(member.to_vec()),
        Part::Score { member, after: Some(_), .. } => Some(member.to_vec()),
        _ => None,
    }
}

/// What is to be judged of one row by itself.
struct Suspect<'d> {
    table: KeyId,
    key: &'d [u8],
    /// All of it, rather than the elements.
    is_whole: bool,
    /// Whether it has to fit at all, rather than to live with another.
    is_written: bool,
    elements: BTreeSet<&'d [u8]>,
}

impl RuleBook {
    /// Judges what a unit left wrong; the view shows what is now, at its end. What follows is
    /// carried out as after a command.
    ///
    /// # Errors
    /// If something is still wrong, so that all of the unit must be undone, or the host has to
    /// fetch something first.
    pub fn at_end(
        &self,
        view: &dyn View,
        deferred: &[Deferred],
    ) -> Result<Consequences, Objection> {
        let mut rows = Vec::new();
        for suspect in suspects(deferred) {
            if let Some(row) = view.row_of(suspect.table, suspect.key)? {
                rows.push((parts(&suspect, row), suspect, row));
            }
        }
        let changes: Vec<Change<'_>> =
            rows.iter().map(|(parts, suspect, row)| change(suspect, *row, parts)).collect();
        let mut aftermath = Aftermath::new(self, view, &changes, (true, Cause::Command));
        aftermath.judge_suspects()?;
        aftermath.judge_deferred_members(deferred)?;
        let wanted = aftermath.judge_ties(deferred)?;
        aftermath.judge_agreement(deferred)?;
        let repairs = wanted.repairs(view, |table| aftermath.type_of(table))?;
        let commands = repairs.into_iter().flat_map(|repair| repair.commands);
        aftermath.consequences.follow_ups.extend(commands);
        Ok(aftermath.consequences)
    }
}

/// The rows that have to fit or to live with another, in the order in which that was deferred.
fn suspects(deferred: &[Deferred]) -> Vec<Suspect<'_>> {
    let mut places: BTreeMap<&[u8], usize> = BTreeMap::new();
    let mut suspects: Vec<Suspect<'_>> = Vec::new();
    for Deferred { table, key, wrong } in deferred {
        let (is_written, is_whole, elements): (_, _, &[Vec<u8>]) = match wrong {
            Wrong::Row => (true, true, &[]),
            Wrong::Elements(elements) => (true, false, elements),
            Wrong::Leader => (false, false, &[]),
            Wrong::Tie | Wrong::Member(_) | Wrong::Agreement(_) => continue,
        };
        let place = *places.entry(key).or_insert(suspects.len());
        if place == suspects.len() {
            let elements = BTreeSet::new();
            let (is_whole, is_written) = (false, false);
            suspects.push(Suspect { table: *table, key, is_whole, is_written, elements });
        }
        let suspect = &mut suspects[place];
        suspect.is_written |= is_written;
        suspect.is_whole |= is_whole;
        suspect.elements.extend(elements.iter().map(|element| &element[..]));
    }
    suspects
}

/// The written elements that a row has at the end.
fn parts<'d>(suspect: &Suspect<'d>, row: &dyn Row) -> Vec<Part<'d>> {
    let elements = suspect.elements.iter().copied();
    match row.row_type() {
        // Entries of a stream stay what they are: they were judged when they came.
        RowType::String | RowType::Stream => Vec::new(),
        RowType::Hash => {
            // What it holds is read from the row.
            let part = |name| {
                let after = row.field(name).is_some().then_some(name);
                Part::Field { name, before: None, after }
            };
            elements.map(part).collect()
        }
        RowType::Set => {
            let part = |member| Part::Member { member, came: true };
            elements.filter(|member| row.contains(member)).map(part).collect()
        }
        RowType::Zset => {
            let part = |member| {
                let after = Some(row.score(member)?);
                Some(Part::Score { member, before: None, after })
            };
            elements.filter_map(part).collect()
        }
        RowType::List => {
            // Looking each up would take as long as the list, each time.
            let mut there = BTreeSet::new();
            row.each(&mut |element| {
                if let Element::Item(item) = element
                    && let Some(written) = suspect.elements.get(item)
                {
                    there.insert(*written);
                }
            });
            there.into_iter().map(Part::Placed).collect()
        }
    }
}

fn change<'c>(suspect: &Suspect<'c>, row: &'c dyn Row, parts: &'c [Part<'c>]) -> Change<'c> {
    let what = match (suspect.is_written, row.row_type()) {
        (false, _) => What::Lifetime,
        (true, RowType::String) => What::Whole(Some(row)),
        (true, _) if suspect.is_whole => What::Whole(Some(row)),
        (true, _) => What::Parts(parts),
    };
    Change {
        table: Some(suspect.table),
        key: suspect.key,
        deadline_before: Some(row.deadline()),
        after: Some(row),
        what,
        is_known_to_fit: false,
        is_kept: false,
    }
}

impl<'a> Aftermath<'a> {
    /// Rows have to fit, and to live with keys that are there: those that lead first.
    fn judge_suspects(&mut self) -> Result<(), Objection> {
        let book = self.book;
        let depth_of =
            |change: &Change<'_>| change.table.map_or(0, |table| book.links(table).companion_depth);
        let mut order: Vec<usize> = (0..self.changes.len()).collect();
        order.sort_by_key(|place| depth_of(&self.changes[*place]));
        for place in order {
            let change = &self.changes[place];
            let (Some(table), Some(row)) = (change.table, change.after) else { continue };
            if !matches!(change.what, What::Lifetime)
                && let Some(refusal) = book.refuse_unfit(table, change.key, row, change.what)
            {
                self.object(refusal)?;
            }
            let fate = match book.traits(table).leader {
                Some(_) => self.judge_lifetime(table, change, row)?,
                None => Fate::Lives(row.deadline()),
            };
            self.fates[place] = Some(fate);
            self.lead(change.table, change.key, change.deadline_before, fate)?;
        }
        Ok(())
    }

    /// Members that are still there have to name living keys.
    fn judge_deferred_members(&mut self, deferred: &[Deferred]) -> Result<(), Objection> {
        for Deferred { table, key, wrong } in deferred {
            let Wrong::Member(member) = wrong else { continue };
            let declared = self.book.schema().key(*table);
            let Some(Derived::Follows { of }) = &declared.derived else { continue };
            if !self.view.row_of(*table, key)?.is_some_and(|row| row.contains(member)) {
                continue;
            }
            let own = self.book.placeholders(*table, key);
            let named = named_key(of, &self.book.schema().key(of.key).pattern, &own, member);
            match named {
                Some(named) if self.fate(&named)? == Fate::Gone => {
                    self.object(self.book.refuse_stranger(*table, key, &named))?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// What rows whose unique values were others' demand of lookups now; and what rows no
    /// longer demand that end here.
    fn judge_ties(&mut self, deferred: &'a [Deferred]) -> Result<Wanted, Objection> {
        let mut demands = Demands::default();
        for (place, change) in self.changes.iter().enumerate() {
            if let (Some(table), Some(Fate::Gone)) = (change.table, self.fates[place]) {
                self.take_out(table, change.key, &mut demands)?;
            }
        }
        self.take_companions_out(&mut demands)?;
        let mut seen = BTreeSet::new();
        for Deferred { table, key, wrong } in deferred {
            if *wrong != Wrong::Tie || !seen.insert(key) || self.fate(key)? == Fate::Gone {
                continue;
            }
            let Some(row) = self.view.row_of(*table, key)? else { continue };
            let entries = self.book.computed_entries(*table, key, Moment::Now(row));
            let texts = entries.into_iter().filter(|entry| entry.holds == Holds::Text);
            demands.gained.extend(texts.map(|entry| (entry, *table, &key[..])));
        }
        self.sum_up(demands)
    }

    /// What clients wrote to computed keys has to be what the sources demand by now.
    fn judge_agreement(&mut self, deferred: &[Deferred]) -> Result<(), Objection> {
        let mut refused = BTreeSet::new();
        for Deferred { table, key, wrong } in deferred {
            let Wrong::Agreement(members) = wrong else { continue };
            let row = self.view.row_of(*table, key)?;
            for member in members {
                if !refused.contains(key)
                    && !self.book.agrees(self.view, (*table, key), row, member)?
                {
                    refused.insert(key);
                    self.object(self.book.refuse_contradiction(*table, key))?;
                }
            }
        }
        Ok(())
    }
}
