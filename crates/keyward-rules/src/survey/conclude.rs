//! From notes to what is to be done, by the rows as they are now.

use std::collections::BTreeMap;

use super::standing::{deadline_of, is_overlong};
use super::{Faults, Findings, Ground, Met, Note, Report, Survey, was_computed};
use crate::book::RuleBook;
use crate::derived::repair::Repair;
use crate::derived::wanted::Wanted;
use crate::derived::{Entry, Holds};
use crate::lifetime::{LifetimeProblem, Term};
use crate::naming::named_key;
use crate::refusal::Refusal;
use crate::view::{Element, NotYet, Row, RowType, View};
use keyward_resp::ArgBuf;
use keyward_schema::{Derived, KeyId};

/// How many problems a report names.
const NAMED_PROBLEMS: usize = 16;

impl Survey {
    /// What all that was noted comes to.
    ///
    /// # Errors
    /// If the host has to fetch a row first.
    pub fn conclude(&self, ground: Ground<'_>) -> Result<Report, NotYet> {
        let found =
            |met: &Met| Findings { rows: met.rows, moved: met.moved, ..Findings::default() };
        let report = Report {
            commands: Vec::new(),
            tables: self.met.iter().map(found).collect(),
            faults: BTreeMap::new(),
            problems: Vec::new(),
        };
        let Ground { book, before, view } = ground;
        let mut surveyor = Surveyor {
            book,
            before,
            view,
            fates: BTreeMap::new(),
            wanted: Wanted::default(),
            claims: BTreeMap::new(),
            report,
        };
        let depth_of = |table: Option<KeyId>| table.map_or(0, |id| book.links(id).companion_depth);
        let deepest = book.schema().ids().map(|id| depth_of(Some(id))).max().unwrap_or(0);
        for depth in 0..=deepest {
            let is_next = |note: Note, table| note.judge && depth_of(table) == depth;
            surveyor.each(self, is_next, Surveyor::judge)?;
        }
        surveyor.each(self, |note, _| note.relate, Surveyor::relate)?;
        surveyor.conclude()
    }
}

/// A source row's claim to a unique value.
struct Claim {
    entry: Entry,
    source: KeyId,
    key: Vec<u8>,
}

struct Surveyor<'a> {
    book: &'a RuleBook,
    before: Option<&'a RuleBook>,
    view: &'a dyn View,
    /// Rows whose deadline changes, with the new one; `None` for those that end.
    fates: BTreeMap<Vec<u8>, Option<Option<i64>>>,
    wanted: Wanted,
    /// By the unique key and who claims it.
    claims: BTreeMap<(Vec<u8>, Vec<u8>), Claim>,
    report: Report,
}

impl<'a> Surveyor<'a> {
    /// Visits the rows that were noted and are still there.
    fn each(
        &mut self,
        survey: &Survey,
        is_meant: impl Fn(Note, Option<KeyId>) -> bool,
        visit: impl Fn(&mut Self, Option<KeyId>, &[u8], &dyn Row) -> Result<(), NotYet>,
    ) -> Result<(), NotYet> {
        let view = self.view;
        for (key, note) in &survey.notes {
            let table = self.book.table_of(key);
            if is_meant(*note, table) {
                let mut visited = Ok(());
                view.glance(key, &mut |row| {
                    visited = row.map_or(Ok(()), |row| visit(self, table, key, row));
                })?;
                visited?;
            }
        }
        Ok(())
    }

    fn found(&mut self, table: Option<KeyId>) -> &mut Findings {
        &mut self.report.tables[table.map_or(0, |table| table.index() + 1)]
    }

    fn run<const N: usize>(&mut self, command: [&[u8]; N]) {
        self.report.commands.push(command.iter().collect());
    }

    fn name(&mut self, problem: impl FnOnce(&Self) -> Refusal) {
        if self.report.problems.len() < NAMED_PROBLEMS {
            let problem = problem(self);
            self.report.problems.push(problem);
        }
    }

    fn fault(&mut self, key: &[u8], fault: impl FnOnce(&mut Faults)) {
        fault(self.report.faults.entry(key.to_vec()).or_default());
    }

    /// A row is to end.
    fn end(&mut self, table: Option<KeyId>, key: &[u8], worth: u64) {
        self.run([b"DEL", key]);
        self.found(table).destroyed += worth;
        self.fates.insert(key.to_vec(), None);
    }

    /// Judges a row by itself: what it holds, and when it ends. What a computed
    /// row holds is all in question; what was computed by a pattern that is gone
    /// goes with it.
    fn judge(&mut self, table: Option<KeyId>, key: &[u8], row: &dyn Row) -> Result<(), NotYet> {
        let Some(table) = table else {
            if self.before.is_some_and(|before| was_computed(before, key)) {
                self.end(None, key, entry_count(row));
                let plain = self.found(None);
                plain.rows = plain.rows.saturating_sub(1);
                plain.moved = plain.moved.saturating_sub(1);
            }
            return Ok(());
        };
        let is_computed = self.book.traits(table).is_computed;
        if is_computed && self.book.traits(table).row_type != Some(row.row_type()) {
            self.end(Some(table), key, 1);
            return Ok(());
        }
        if is_computed {
            self.doubt(table, key, row);
        }
        let now_ms = self.view.now_ms();
        let term = self.term(table, key, row)?;
        self.found(Some(table)).overlong += u64::from(is_overlong(term, now_ms, row));
        let mut misfit = None;
        match deadline_of(term, now_ms, row) {
            Ok(Some(end)) if end <= now_ms => {
                self.end(Some(table), key, 1);
                return Ok(());
            }
            Err(LifetimeProblem::Leaderless) => {
                self.end(Some(table), key, 1);
                return Ok(());
            }
            Ok(deadline) if deadline == row.deadline() => {}
            Ok(deadline) => self.redate(table, key, deadline),
            Err(problem) => misfit = Some(self.book.refuse_lifetime(table, key, problem)),
        }
        if !is_computed {
            misfit = self.book.misfit_of(table, key, row).or(misfit);
        }
        if let Some(misfit) = misfit {
            self.fault(key, |faults| faults.is_misfit = true);
            self.name(|_| misfit);
        }
        Ok(())
    }

    fn redate(&mut self, table: KeyId, key: &[u8], deadline: Option<i64>) {
        match deadline {
            Some(end) => self.run([b"PEXPIREAT", key, end.to_string().as_bytes()]),
            None => self.run([b"PERSIST", key]),
        }
        self.found(Some(table)).redated += 1;
        self.fates.insert(key.to_vec(), Some(deadline));
    }

    /// What the schema demands of a row's lifetime, given what becomes of the row
    /// that it lives with.
    fn term(&self, table: KeyId, key: &[u8], row: &dyn Row) -> Result<Term, NotYet> {
        let leader = self.book.leader(table, key);
        match leader.and_then(|leader| self.fates.get(&leader)) {
            Some(fate) => Ok(fate.map_or(Term::Leaderless, Term::At)),
            None => self.book.term_of_row(self.view, table, key, row),
        }
    }

    /// Takes every entry of a computed row for lost until a source demands it.
    fn doubt(&mut self, table: KeyId, key: &[u8], row: &dyn Row) {
        let entry = |member: &[u8], holds| Entry {
            table,
            key: key.to_vec(),
            member: member.to_vec(),
            holds,
        };
        if let Some(text) = row.text() {
            self.wanted.lose(entry(&text, Holds::Text), Some(&text));
        }
        let wanted = &mut self.wanted;
        row.each(&mut |element| match element {
            Element::Member(member) => wanted.lose(entry(member, Holds::Member), None),
            Element::Scored(member, score) => wanted.lose(entry(member, Holds::Score(score)), None),
            Element::Field(..) | Element::Item(_) => {}
        });
    }

    /// Notes what a row that stays demands of others, and others of it.
    fn relate(&mut self, table: Option<KeyId>, key: &[u8], row: &dyn Row) -> Result<(), NotYet> {
        let Some(table) = table.filter(|_| !self.is_to_end(key)) else { return Ok(()) };
        for entry in self.book.entries_of(table, key, row) {
            if entry.holds == Holds::Text && !self.is_owner(&entry)? {
                let claim = (entry.key.clone(), entry.member.clone());
                self.claims.insert(claim, Claim { entry, source: table, key: key.to_vec() });
            } else {
                let gained = self.wanted.gain(entry, None);
                debug_assert!(gained.is_ok(), "there is one owner, and others only claim");
            }
        }
        self.dismiss_strangers(table, key, row)
    }

    fn is_to_end(&self, key: &[u8]) -> bool {
        self.fates.get(key).is_some_and(Option::is_none)
    }

    /// Whether a unique value belongs to who demands it already.
    fn is_owner(&self, entry: &Entry) -> Result<bool, NotYet> {
        let text = self.view.row(&entry.key)?.and_then(|row| row.text());
        Ok(text.is_some_and(|text| *text == *entry.member))
    }

    /// Members that follow keys which are not there leave.
    fn dismiss_strangers(&mut self, table: KeyId, key: &[u8], row: &dyn Row) -> Result<(), NotYet> {
        let book = self.book;
        let Some(Derived::Follows { of }) = &book.schema().key(table).derived else {
            return Ok(());
        };
        let Some(own) = book.placeholders(table, key) else { return Ok(()) };
        let pattern = &book.schema().key(of.key).pattern;
        let take: &[u8] = match row.row_type() {
            RowType::Set => b"SREM",
            RowType::Zset => b"ZREM",
            RowType::String | RowType::List | RowType::Hash => return Ok(()),
        };
        let mut members = Vec::new();
        row.each(&mut |element| {
            if let Element::Member(member) | Element::Scored(member, _) = element {
                members.push(member.to_vec());
            }
        });
        let mut command: ArgBuf = [take, key].iter().collect();
        let mut count = 0;
        members.sort_unstable();
        for member in members {
            let named = named_key(of, pattern, &own, &member);
            if self.is_to_end(&named) || self.view.row(&named)?.is_none() {
                command.push(&member);
                count += 1;
            }
        }
        if count > 0 {
            self.report.commands.push(command);
            self.found(Some(table)).destroyed += count;
        }
        Ok(())
    }

    /// Settles claims, has derived rows repaired, and counts.
    fn conclude(mut self) -> Result<Report, NotYet> {
        for Claim { entry, source, key } in std::mem::take(&mut self.claims).into_values() {
            let derived = entry.table;
            if let Err(taken) = self.wanted.gain(entry, None) {
                self.fault(&key, |faults| faults.is_conflict = true);
                self.name(|this| this.book.refuse_taken(source, &key, derived, &taken.owner));
            }
        }
        let book = self.book;
        let type_of = |table: KeyId| {
            let row_type = book.traits(table).row_type;
            row_type.expect("derived keys are strings, sets and sorted sets")
        };
        for repair in std::mem::take(&mut self.wanted).repairs(self.view, type_of)? {
            self.repair(repair, type_of)?;
        }
        for (key, faults) in std::mem::take(&mut self.report.faults) {
            let found = self.found(book.table_of(&key));
            found.misfits += u64::from(faults.is_misfit);
            found.conflicts += u64::from(faults.is_conflict);
            self.report.faults.insert(key, faults);
        }
        Ok(self.report)
    }

    /// Has a derived row repaired. A mirror that grows beyond its bound by that is
    /// kept like any other row that is too large.
    fn repair(&mut self, repair: Repair, type_of: impl Fn(KeyId) -> RowType) -> Result<(), NotYet> {
        let stays = !self.is_to_end(&repair.key);
        let row = self.view.row(&repair.key)?.filter(|_| stays);
        let is_of_type = |row: &&dyn Row| row.row_type() == type_of(repair.table);
        let makes_way = row.is_some_and(|row| !is_of_type(&row));
        let count = row.filter(is_of_type).map_or(0, Row::len) + repair.added - repair.taken;
        let most = self.book.schema().key(repair.table).bounds.max_members;
        if most.is_some_and(|most| count as u64 > most && repair.added > 0) {
            self.fault(&repair.key, |faults| faults.is_misfit = true);
            let (table, count) = (repair.table, count as u64);
            self.name(|this| this.book.refuse_count(table, &repair.key, count));
        }
        let found = self.found(Some(repair.table));
        found.built += repair.added as u64;
        found.destroyed += repair.taken as u64 + u64::from(makes_way);
        self.report.commands.extend(repair.commands);
        Ok(())
    }
}

/// How many entries a derived row has.
fn entry_count(row: &dyn Row) -> u64 {
    if row.row_type() == RowType::String { 1 } else { row.len() as u64 }
}
