//! From notes to what is to be done, in steps of bounded work.
//!
//! Owns how far the conclusion is. Its stages come one after the other: each row by
//! itself, those that others live with before those; then what rows demand of others;
//! then who gets a unique value; then what derived rows lack and have too much, of which what
//! goes with a row that is due, and what returns, is left alone. A row
//! with many elements is worked off some elements at a time, and repaired by commands
//! of no more than [`PORTION`].
//! Invariant: a step that ends with [`NotYet`] can be repeated.

mod judge;
mod relate;

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;

use super::{Findings, Ground, Met, Note, Occasion, Report, Survey};
use crate::book::RuleBook;
use crate::derived::Entry;
use crate::derived::repair::Repair;
use crate::derived::wanted::{Portion, Wanted};
use crate::refusal::Refusal;
use crate::view::{Element, NotYet, Row};
use keyward_schema::KeyId;

/// How many problems a report names.
const NAMED_PROBLEMS: usize = 16;
/// How many of them are of one pattern.
const NAMED_PER_PATTERN: usize = 4;
/// How many elements of a derived row one command brings or takes.
const PORTION: usize = 256;

/// What all that was noted comes to, as far as it is known.
#[derive(Debug)]
pub struct Conclusion {
    stage: Stage,
    occasion: Occasion,
    /// The row that was visited last in this stage.
    visited: Option<Box<[u8]>>,
    /// The row that was visited in part.
    begun: Option<Box<[u8]>>,
    /// How far its elements are visited.
    cursor: u64,
    /// Rows whose deadline changes, with the new one; `None` for those that end.
    fates: BTreeMap<Vec<u8>, Option<Option<i64>>>,
    wanted: Wanted,
    /// By the unique key and who claims it.
    claims: BTreeMap<(Vec<u8>, Vec<u8>), Claim>,
    /// What was done already about the derived row whose turn it is.
    mended: Mended,
    report: Report,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Rows by themselves, so many tables away from one that lives by itself.
    Judge(usize),
    /// What rows demand of others.
    Relate,
    /// Who gets a unique value.
    Settle,
    /// What derived rows lack and have too much.
    Repair,
    /// What nobody needs any more goes.
    Clear,
    Over,
}

/// A source row's claim to a unique value.
#[derive(Debug)]
struct Claim {
    entry: Entry,
    source: KeyId,
    key: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Mended {
    added: usize,
    taken: usize,
    /// A row of another type made way for it.
    made_way: bool,
    /// Elements of the last portion that go with their sources, and are another's now.
    superseded: usize,
}

/// Whether all of a row was visited.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Visited {
    Whole,
    Partly,
}

impl Survey {
    /// Begins to conclude what was noted.
    pub fn begin_conclusion(&self) -> Conclusion {
        let found =
            |met: &Met| Findings { rows: met.rows, moved: met.moved, ..Findings::default() };
        let report = Report {
            commands: VecDeque::new(),
            tables: self.met.iter().map(found).collect(),
            faults: BTreeMap::new(),
            contradictions: BTreeMap::new(),
            problems: Vec::new(),
            excesses: Vec::new(),
            memory_max: None,
        };
        Conclusion {
            stage: Stage::Judge(0),
            occasion: self.occasion,
            visited: None,
            begun: None,
            cursor: 0,
            fates: BTreeMap::new(),
            wanted: Wanted::default(),
            claims: BTreeMap::new(),
            mended: Mended::default(),
            report,
        }
    }
}

impl Conclusion {
    /// Goes on by about `budget` rows and elements; whether it is over.
    ///
    /// # Errors
    /// If the host has to fetch a row first.
    pub fn step(
        &mut self,
        survey: &Survey,
        ground: Ground<'_>,
        mut budget: usize,
    ) -> Result<bool, NotYet> {
        while budget > 0 {
            let left = &mut budget;
            let (is_over, next) = match self.stage {
                Stage::Judge(depth) => {
                    let book = ground.book;
                    let depth_of =
                        |table: Option<KeyId>| table.map_or(0, |id| book.links(id).companion_depth);
                    let is_next = |note: Note, table| note.judge && depth_of(table) == depth;
                    let is_over = self.each(survey, ground, left, is_next, Conclusion::judge)?;
                    let deepest = book.schema().ids().map(|id| depth_of(Some(id))).max();
                    let is_last = depth >= deepest.unwrap_or(0);
                    (is_over, if is_last { Stage::Relate } else { Stage::Judge(depth + 1) })
                }
                Stage::Relate => {
                    let relate = Conclusion::relate;
                    let is_over = self.each(survey, ground, left, |note, _| note.relate, relate)?;
                    (is_over, Stage::Settle)
                }
                Stage::Settle => (self.settle(ground, left)?, Stage::Repair),
                Stage::Repair => (self.repair(ground, left)?, Stage::Clear),
                Stage::Clear => {
                    let fates = std::iter::from_fn(|| self.fates.pop_first());
                    *left -= fates.take(*left).count();
                    (self.fates.is_empty(), Stage::Over)
                }
                Stage::Over => return Ok(true),
            };
            if is_over {
                (self.stage, self.visited) = (next, None);
            }
        }
        Ok(self.stage == Stage::Over)
    }

    /// What it says; all of it once it is over.
    pub fn report(&mut self) -> &mut Report {
        &mut self.report
    }

    /// As `report`, for who does not go on.
    pub fn into_report(self) -> Report {
        self.report
    }

    /// Visits rows that were noted and are still there; whether there are no more.
    fn each(
        &mut self,
        survey: &Survey,
        ground: Ground<'_>,
        left: &mut usize,
        is_meant: impl Fn(Note, Option<KeyId>) -> bool,
        visit: impl Fn(
            &mut Self,
            Ground<'_>,
            &mut usize,
            (Option<KeyId>, &[u8], &dyn Row),
        ) -> Result<Visited, NotYet>,
    ) -> Result<bool, NotYet> {
        let from = self.visited.take();
        let start = from.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let mut last: Option<&Box<[u8]>> = None;
        for (key, note) in survey.notes.range::<[u8], _>((start, Bound::Unbounded)) {
            if *left == 0 {
                self.visited = last.cloned().or(from);
                return Ok(false);
            }
            *left -= 1;
            let table = ground.book.table_of(key);
            if self.begun.take().is_none_or(|begun| begun != *key) {
                self.cursor = 0;
            }
            let mut visited = Ok(Visited::Whole);
            if is_meant(*note, table) {
                let looked = ground.view.glance(key, &mut |row| {
                    if let Some(row) = row {
                        visited = visit(self, ground, left, (table, key, row));
                    }
                });
                visited = looked.and(visited);
            }
            if visited != Ok(Visited::Whole) {
                self.visited = last.cloned().or(from);
                self.begun = Some(key.clone());
                return visited.map(|_| false);
            }
            last = Some(key);
        }
        Ok(true)
    }

    /// Visits elements of a row, from where it was left.
    fn each_element(
        &mut self,
        left: &mut usize,
        row: &dyn Row,
        mut visit: impl FnMut(&mut Self, Element<'_>) -> Result<(), NotYet>,
    ) -> Result<Visited, NotYet> {
        loop {
            let (mut seen, mut outcome) = (0, Ok(()));
            let next = row.each_some(self.cursor, &mut |element| {
                seen += 1;
                if outcome.is_ok() {
                    outcome = visit(self, element);
                }
            });
            outcome?;
            *left = left.saturating_sub(seen.max(1));
            self.cursor = next;
            if next == 0 {
                return Ok(Visited::Whole);
            }
            if *left == 0 {
                return Ok(Visited::Partly);
            }
        }
    }

    fn found(&mut self, table: Option<KeyId>) -> &mut Findings {
        &mut self.report.tables[table.map_or(0, |table| table.index() + 1)]
    }

    fn queue<const N: usize>(&mut self, command: [&[u8]; N]) {
        self.report.commands.push_back(command.iter().collect());
    }

    /// Keeps a problem for the log. Where a row came from nobody knows, nor what the schema
    /// before this one called secret: what it holds is not shown.
    /// One pattern leaves room for others.
    fn name(&mut self, table: KeyId, problem: impl FnOnce() -> Refusal) {
        let problems = &mut self.report.problems;
        let of_table = problems.iter().filter(|problem| problem.table() == Some(table)).count();
        if problems.len() < NAMED_PROBLEMS && of_table < NAMED_PER_PATTERN {
            problems.push(problem());
        }
    }

    /// A row is kept though it does not fit.
    fn misfit(&mut self, table: KeyId, key: &[u8], problem: impl FnOnce() -> Refusal) {
        let faults = self.report.faults.entry(key.to_vec()).or_default();
        let was = std::mem::replace(&mut faults.is_misfit, true);
        self.found(Some(table)).misfits += u64::from(!was);
        self.name(table, problem);
    }

    /// A row is kept though another has what it claims.
    fn conflict(&mut self, table: KeyId, key: &[u8], problem: impl FnOnce() -> Refusal) {
        let faults = self.report.faults.entry(key.to_vec()).or_default();
        let was = std::mem::replace(&mut faults.is_conflict, true);
        self.found(Some(table)).conflicts += u64::from(!was);
        self.name(table, problem);
    }

    /// Has derived rows repaired, and counts; whether all are.
    fn repair(&mut self, ground: Ground<'_>, left: &mut usize) -> Result<bool, NotYet> {
        let book = ground.book;
        while *left > 0 {
            let Some(key) = self.wanted.first_key() else { return Ok(true) };
            let row = ground.view.row(key)?;
            let Some(portion) = self.wanted.take_first(PORTION.min(*left)) else {
                return Ok(true);
            };
            let Portion { table, key, elements, is_last } = portion;
            *left = left.saturating_sub(elements.len().max(1));
            let row_type = book.traits(table).row_type;
            let row_type = row_type.expect("derived keys are strings, sets and sorted sets");
            let is_of_type = |row: &&dyn Row| row.row_type() == row_type;
            // What stood in its place made way for the first portion.
            let there = row.filter(|row| !self.mended.made_way || is_of_type(row));
            let elements = self.changing(ground, (table, &key), there, elements);
            let makes_way = there.is_some_and(|row| !is_of_type(&row));
            if let Some(repair) = Repair::of(table, key.clone(), there, row_type, elements) {
                let stays = !self.is_to_end(&key);
                // An entry that is another one now has left, and one has come.
                let overwritten = repair.changed - repair.added - repair.taken;
                // What went with its source is not destroyed by that.
                let superseded = overwritten.min(self.mended.superseded);
                let found = self.found(Some(table));
                found.built += (repair.added + overwritten) as u64;
                found.destroyed += (repair.taken + overwritten - superseded) as u64;
                found.destroyed += u64::from(makes_way && stays);
                self.mended.made_way |= makes_way;
                self.mended.added += repair.added;
                self.mended.taken += repair.taken;
                self.report.commands.extend(repair.commands);
            }
            if is_last {
                let row = row.filter(is_of_type).filter(|_| !self.is_to_end(&key));
                self.bound(book, table, &key, row.map_or(0, Row::len));
            }
        }
        Ok(false)
    }

    /// A derived row that had so many elements is repaired. A mirror that grows beyond
    /// its bound by that is kept like any other row that is too large.
    fn bound(&mut self, book: &RuleBook, table: KeyId, key: &[u8], before: usize) {
        let Mended { added, taken, .. } = std::mem::take(&mut self.mended);
        let count = (before + added).saturating_sub(taken) as u64;
        let most = book.schema().key(table).bounds.max_members;
        if most.is_some_and(|most| count > most && added > 0) {
            self.misfit(table, key, || book.refuse_count(table, key, count));
        }
    }
}
