//! A survey: what rows that no command was judged by need to be as the book says.
//!
//! Rows come from a snapshot, or were there before the schema. Owns the decision
//! what becomes of them:
//! - a row that does not fit is kept and counted; its next write must conform;
//! - a deadline that the schema demands and the row lacks begins now, one that it
//!   forbids goes; a row ends whose own time is over, or that lives with a key
//!   which is not there;
//! - computed rows come to hold exactly what their sources demand, mirrors agree
//!   by what either has, members that follow a key leave if it is not there;
//! - of several rows that claim a unique value the present owner keeps it, or
//!   else the first by its bytes; the others are counted as conflicts.
//!
//! Pure, so that planning a change of the schema and making it cannot disagree:
//! both are this survey. Its memory is that of the derived rows.
//! Invariant: what is left does not depend on the order in which rows come.
//! Not here: carrying it out, which is the host's.

use std::collections::BTreeMap;

use crate::book::RuleBook;
use crate::derived::wanted::Wanted;
use crate::derived::{Entry, Holds};
use crate::facts::{Facts, Moment};
use crate::lifetime::{LifetimeProblem, Situation, Term, Touched, deadline_after};
use crate::naming::named_key;
use crate::refusal::Refusal;
use crate::view::{Element, NotYet, Row, RowType, View};
use keyward_resp::ArgBuf;
use keyward_schema::{Derived, KeyId};

/// How many problems a survey names.
const NAMED_PROBLEMS: usize = 16;

/// A keyspace all of whose rows can be visited.
pub trait Rows: View {
    /// Visits every living row.
    fn each_row(&self, visit: &mut dyn FnMut(&[u8], &dyn Row));
}

/// What the rows of a keyspace need.
#[derive(Debug)]
pub struct Survey {
    /// What is to be done, as plain commands in this order.
    pub commands: Vec<ArgBuf>,
    /// What was found: of keys without a pattern first, then of each pattern in
    /// the schema's order.
    pub tables: Vec<Findings>,
    /// Some of the rows that do not fit or claim what another has.
    pub problems: Vec<Refusal>,
}

impl Survey {
    /// How much goes for good.
    pub fn destroyed(&self) -> u64 {
        self.tables.iter().map(|table| table.destroyed).sum()
    }
}

/// What was found in one table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Rows that belong to it.
    pub rows: u64,
    /// Those among them that belonged to another pattern, or to none.
    pub moved: u64,
    /// Rows that do not fit, and are kept.
    pub misfits: u64,
    /// Rows whose claim to a unique value fails.
    pub conflicts: u64,
    /// Rows that get another deadline, or none.
    pub redated: u64,
    /// Entries that come to derived rows.
    pub built: u64,
    /// Rows of clients that end, and entries that leave derived rows.
    pub destroyed: u64,
}

impl RuleBook {
    /// Surveys rows, which were kept by the book `before` until now, if any.
    ///
    /// # Errors
    /// If the host has to fetch a row first.
    pub fn survey(&self, rows: &dyn Rows, before: Option<&RuleBook>) -> Result<Survey, NotYet> {
        let tables = vec![Findings::default(); self.schema().keys.len() + 1];
        let survey = Survey { commands: Vec::new(), tables, problems: Vec::new() };
        let mut surveyor = Surveyor {
            book: self,
            view: rows,
            fates: BTreeMap::new(),
            wanted: Wanted::default(),
            claims: BTreeMap::new(),
            survey,
        };
        let depths = self.schema().ids().map(|id| self.links(id).companion_depth);
        let deepest = depths.max().unwrap_or(0);
        for depth in 0..=deepest {
            surveyor.each(rows, |surveyor, table, key, row| {
                if depth == 0 {
                    surveyor.arrive(before, table, key, row);
                }
                match table {
                    Some(table) if self.links(table).companion_depth == depth => {
                        surveyor.judge(table, key, row)
                    }
                    _ => Ok(()),
                }
            })?;
        }
        surveyor.each(rows, |surveyor, table, key, row| match table {
            Some(table) => surveyor.relate(table, key, row),
            None => Ok(()),
        })?;
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
    view: &'a dyn View,
    /// Rows whose deadline changes, with the new one; `None` for those that end.
    fates: BTreeMap<Vec<u8>, Option<Option<i64>>>,
    wanted: Wanted,
    /// By the unique key and who claims it.
    claims: BTreeMap<(Vec<u8>, Vec<u8>), Claim>,
    survey: Survey,
}

impl Surveyor<'_> {
    fn each(
        &mut self,
        rows: &dyn Rows,
        mut visit: impl FnMut(&mut Self, Option<KeyId>, &[u8], &dyn Row) -> Result<(), NotYet>,
    ) -> Result<(), NotYet> {
        let mut outcome = Ok(());
        rows.each_row(&mut |key, row| {
            if outcome.is_ok() {
                outcome = visit(self, self.book.table_of(key), key, row);
            }
        });
        outcome
    }

    fn found(&mut self, table: Option<KeyId>) -> &mut Findings {
        &mut self.survey.tables[table.map_or(0, |table| table.index() + 1)]
    }

    fn run<const N: usize>(&mut self, command: [&[u8]; N]) {
        self.survey.commands.push(command.iter().collect());
    }

    fn name(&mut self, problem: Refusal) {
        if self.survey.problems.len() < NAMED_PROBLEMS {
            self.survey.problems.push(problem);
        }
    }

    /// Counts a row where it belongs now. What was computed by a pattern that is
    /// gone has no keeper any more, and would only grow old.
    fn arrive(
        &mut self,
        before: Option<&RuleBook>,
        table: Option<KeyId>,
        key: &[u8],
        row: &dyn Row,
    ) {
        let Some(before) = before else {
            self.found(table).rows += 1;
            return;
        };
        let old = before.table_of(key);
        if table.is_none() && old.is_some_and(|old| before.traits(old).is_computed) {
            self.end(table, key, entry_count(row));
            return;
        }
        let text = |book: &RuleBook, id: KeyId| book.schema().key(id).pattern.text().to_owned();
        let has_moved = old.map(|id| text(before, id)) != table.map(|id| text(self.book, id));
        let found = self.found(table);
        found.rows += 1;
        found.moved += u64::from(has_moved);
    }

    /// A row is to end.
    fn end(&mut self, table: Option<KeyId>, key: &[u8], worth: u64) {
        self.run([b"DEL", key]);
        self.found(table).destroyed += worth;
        self.fates.insert(key.to_vec(), None);
    }

    /// Judges a row by itself: what it holds, and when it ends. What a computed
    /// row holds is all in question.
    fn judge(&mut self, table: KeyId, key: &[u8], row: &dyn Row) -> Result<(), NotYet> {
        let is_computed = self.book.traits(table).is_computed;
        if is_computed && self.book.traits(table).row_type != Some(row.row_type()) {
            self.end(Some(table), key, 1);
            return Ok(());
        }
        if is_computed {
            self.doubt(table, key, row);
        }
        let has = row.deadline();
        let situation = Situation { before: Some(has), now_has: has, touched: Touched::Lifetime };
        let now_ms = self.view.now_ms();
        let mut misfit = None;
        match deadline_after(self.term(table, key, row)?, now_ms, situation) {
            Ok(Some(end)) if end <= now_ms => {
                self.end(Some(table), key, 1);
                return Ok(());
            }
            Err(LifetimeProblem::Leaderless) => {
                self.end(Some(table), key, 1);
                return Ok(());
            }
            Ok(deadline) if deadline == has => {}
            Ok(deadline) => self.redate(table, key, deadline),
            Err(problem) => misfit = Some(self.book.refuse_lifetime(table, key, problem)),
        }
        if !is_computed {
            misfit = self.book.misfit_of(table, key, row).or(misfit);
        }
        if let Some(misfit) = misfit {
            self.found(Some(table)).misfits += 1;
            self.name(misfit);
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
        if let Some(leader) = self.book.leader(table, key)
            && let Some(fate) = self.fates.get(&leader)
        {
            return Ok(fate.map_or(Term::Leaderless, Term::At));
        }
        let Some(field) = self.book.deciding_field(table) else {
            return self.book.term(self.view, table, key, None);
        };
        let reading = &self.book.links(table).reading;
        Facts::tell(reading, &[field], Moment::Now(row), |facts| {
            self.book.term(self.view, table, key, facts.field(field))
        })
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
    fn relate(&mut self, table: KeyId, key: &[u8], row: &dyn Row) -> Result<(), NotYet> {
        if self.is_to_end(key) {
            return Ok(());
        }
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
            self.survey.commands.push(command);
            self.found(Some(table)).destroyed += count;
        }
        Ok(())
    }

    /// Settles claims, and has derived rows repaired.
    fn conclude(mut self) -> Result<Survey, NotYet> {
        for Claim { entry, source, key } in std::mem::take(&mut self.claims).into_values() {
            let derived = entry.table;
            if let Err(taken) = self.wanted.gain(entry, None) {
                self.found(Some(source)).conflicts += 1;
                self.name(self.book.refuse_taken(source, &key, derived, &taken.owner));
            }
        }
        let type_of = |table: KeyId| {
            let row_type = self.book.traits(table).row_type;
            row_type.expect("derived keys are strings, sets and sorted sets")
        };
        for repair in std::mem::take(&mut self.wanted).repairs(self.view, type_of)? {
            let makes_way = !self.is_to_end(&repair.key)
                && self
                    .view
                    .row(&repair.key)?
                    .is_some_and(|row| row.row_type() != type_of(repair.table));
            let found = self.found(Some(repair.table));
            found.built += repair.added as u64;
            found.destroyed += repair.taken as u64 + u64::from(makes_way);
            self.survey.commands.extend(repair.commands);
        }
        Ok(self.survey)
    }
}

/// How many entries a derived row has.
fn entry_count(row: &dyn Row) -> u64 {
    if row.row_type() == RowType::String { 1 } else { row.len() as u64 }
}
