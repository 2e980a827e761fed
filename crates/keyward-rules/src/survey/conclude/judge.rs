//! Rows by themselves: what they hold, and when they end.

use super::{Conclusion, Visited};
use crate::book::RuleBook;
use crate::derived::{Contradicted, Entry, Holds};
use crate::lifetime::{LifetimeProblem, Term};
use crate::survey::standing::{CONTRADICTIONS_KEPT, deadline_of};
use crate::survey::{Ground, Occasion, goes_with};
use crate::view::{Element, NotYet, Row, RowType};
use keyward_schema::KeyId;

impl Conclusion {
    /// A row is to end.
    fn end(&mut self, table: Option<KeyId>, key: &[u8], worth: u64) {
        self.queue([b"DEL", key]);
        self.found(table).destroyed += worth;
        self.fates.insert(key.to_vec(), None);
    }

    /// Judges a row by itself: what it holds, and when it ends. What a computed
    /// row holds is all in question; what was computed by a pattern that is gone
    /// goes with it.
    pub(super) fn judge(
        &mut self,
        ground: Ground<'_>,
        left: &mut usize,
        (table, key, row): (Option<KeyId>, &[u8], &dyn Row),
    ) -> Result<Visited, NotYet> {
        let Ground { book, before, view } = ground;
        let Some(table) = table else {
            if before.is_some_and(|before| goes_with(before, book, key)) {
                self.end(None, key, entry_count(row));
                let plain = self.found(None);
                plain.rows = plain.rows.saturating_sub(1);
                plain.moved = plain.moved.saturating_sub(1);
            }
            return Ok(Visited::Whole);
        };
        let is_computed = book.traits(table).is_computed;
        let compared_by = book.compared_by(table);
        let declared = compared_by.unwrap_or(book).traits(table);
        if declared.is_computed && declared.row_type != Some(row.row_type()) {
            let returns = self.occasion == Occasion::Return;
            if is_computed && !returns {
                self.end(Some(table), key, 1);
            }
            if returns || compared_by.is_some() {
                let what = Contradicted { row: Some(row), members: &[], is_all: true };
                let judging = book.judging(table);
                self.misfit(table, key, || judging.contradiction_of(table, key, what));
            }
            return Ok(Visited::Whole);
        }
        if declared.is_computed && self.doubt(ground, left, (table, key, row))? == Visited::Partly {
            return Ok(Visited::Partly);
        }
        let now_ms = view.now_ms();
        let term = self.term(ground, table, key, row)?;
        if book.is_overlong(table, term, now_ms, row) {
            let is_shortened = book.is_renewed(table);
            let found = self.found(Some(table));
            found.overlong += 1;
            found.shortened_later += u64::from(is_shortened);
            self.name(table, || book.refuse_overlong(table, key));
        }
        let mut misfit = None;
        let deadline = deadline_of(term, now_ms, row);
        match deadline {
            Ok(deadline) if deadline == row.deadline() => {}
            _ if self.keeps_end(book, table, deadline, row) => {
                misfit = Some(match deadline {
                    _ if is_computed => book.refuse_contradiction(table, key),
                    Ok(_) => book.refuse_end(table, key),
                    Err(problem) => book.refuse_lifetime(table, key, problem),
                });
            }
            Ok(Some(end)) if end <= now_ms => {
                self.end(Some(table), key, 1);
                return Ok(Visited::Whole);
            }
            Err(LifetimeProblem::Leaderless) => {
                self.end(Some(table), key, 1);
                return Ok(Visited::Whole);
            }
            Ok(deadline) => self.redate(table, key, row.deadline(), deadline),
            Err(problem) => misfit = Some(book.refuse_lifetime(table, key, problem)),
        }
        if !is_computed {
            self.found(Some(table)).cut_later += u64::from(book.is_cut(table, row));
            misfit = book.misfit_of(table, key, row).or(misfit);
        }
        if let Some(declared) = compared_by {
            misfit = misfit.or(declared.stranger_among(view, table, key, row)?);
        }
        if let Some(misfit) = misfit {
            self.misfit(table, key, || misfit);
        }
        Ok(Visited::Whole)
    }

    /// Whether a row keeps the end that it has, though the schema says another one.
    ///
    /// A row that returns was accepted as it is, with a warning if not otherwise. Only one that
    /// lives with another which reads renew may have to live longer, where writes that give it
    /// another end are refused: a log may end between the renewal of its leader and its own.
    fn keeps_end(
        &self,
        book: &RuleBook,
        table: KeyId,
        deadline: Result<Option<i64>, LifetimeProblem>,
        row: &dyn Row,
    ) -> bool {
        let is_later = match (row.deadline(), deadline) {
            (Some(has), Ok(Some(end))) => has < end,
            (Some(_), Ok(None)) => true,
            _ => false,
        };
        let follows = || book.is_enforced(table) && book.traits(table).follows_reads;
        self.occasion == Occasion::Return && !(is_later && follows())
    }

    fn redate(&mut self, table: KeyId, key: &[u8], before: Option<i64>, deadline: Option<i64>) {
        match deadline {
            Some(end) => self.queue([b"PEXPIREAT", key, end.to_string().as_bytes()]),
            None => self.queue([b"PERSIST", key]),
        }
        let found = self.found(Some(table));
        found.redated += 1;
        found.dated += u64::from(before.is_none());
        found.shortened += u64::from(before.is_some_and(|was| deadline.is_some_and(|is| is < was)));
        self.fates.insert(key.to_vec(), Some(deadline));
    }

    /// What the schema demands of a row's lifetime, given what becomes of the row
    /// that it lives with.
    fn term(
        &self,
        ground: Ground<'_>,
        table: KeyId,
        key: &[u8],
        row: &dyn Row,
    ) -> Result<Term, NotYet> {
        let book = ground.book;
        let leader = book.leader(table, key).zip(book.traits(table).leader);
        let fate = leader.and_then(|(leader, leads)| Some((leads, self.fates.get(&leader)?)));
        match fate {
            Some((leads, Some(deadline))) => Ok(book.term_with(leads, *deadline)),
            Some((_, None)) => Ok(Term::Leaderless),
            None => book.term_of_row(ground.view, table, key, row),
        }
    }

    /// Takes every entry of a computed row for lost until a source demands it. Where nobody is
    /// going to take it out, it is held against the row if its source does not.
    fn doubt(
        &mut self,
        ground: Ground<'_>,
        left: &mut usize,
        (table, key, row): (KeyId, &[u8], &dyn Row),
    ) -> Result<Visited, NotYet> {
        let is_computed = ground.book.traits(table).is_computed;
        let lose = |this: &mut Conclusion, member: &[u8], holds: Holds| {
            this.compare(ground, (table, key, row), member)?;
            if is_computed {
                let text = (holds == Holds::Text).then_some(member);
                let (key, member) = (key.to_vec(), member.to_vec());
                this.wanted.lose(Entry { table, key, member, holds }, text);
            }
            Ok(())
        };
        if let Some(text) = row.text() {
            lose(self, &text, Holds::Text)?;
            return Ok(Visited::Whole);
        }
        self.each_element(left, row, |this, element| match element {
            Element::Member(member) => lose(this, member, Holds::Member),
            Element::Scored(member, score) => lose(this, member, Holds::Score(score)),
            Element::Field(..) | Element::Item(_) | Element::Entry(_) => Ok(()),
        })
    }

    /// Holds an entry of a derived row that is only observed against the row, if its source does
    /// not demand it.
    fn compare(
        &mut self,
        ground: Ground<'_>,
        (table, key, row): (KeyId, &[u8], &dyn Row),
        member: &[u8],
    ) -> Result<(), NotYet> {
        let Some(declared) = ground.book.compared_by(table) else { return Ok(()) };
        if declared.agrees(ground.view, (table, key), Some(row), member)? {
            return Ok(());
        }
        let what = Contradicted { row: Some(row), members: &[member], is_all: true };
        self.misfit(table, key, || declared.contradiction_of(table, key, what));
        let members = self.report.contradictions.entry(key.to_vec()).or_default();
        if members.len() <= CONTRADICTIONS_KEPT {
            members.insert(member.to_vec());
        }
        Ok(())
    }
}

/// How many entries a derived row has.
fn entry_count(row: &dyn Row) -> u64 {
    if row.row_type() == RowType::String { 1 } else { row.len() as u64 }
}
