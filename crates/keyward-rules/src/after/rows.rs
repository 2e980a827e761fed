//! Each changed row by itself: what it holds, how large it is, when it ends.
//!
//! A list that a push made too long is trimmed at the far end of the push. What
//! made it too long otherwise (LINSERT, SORT … STORE, RENAME, COPY, RESTORE) has
//! no far end, and is refused rather than cut at a guess.

use super::{Aftermath, Fate, Objection};
use crate::change::{Change, End, Part, What};
use crate::facts::{Facts, Moment};
use crate::lifetime::{LifetimeProblem, Situation, Term, Touched, deadline_after};
use crate::view::{NotYet, Row};
use keyward_schema::{DataType, KeyId, Lifetime, Unknown};

impl<'a> Aftermath<'a> {
    /// Judges all changed rows, those that live with others after those.
    pub(super) fn judge_rows(&mut self) -> Result<(), Objection> {
        let book = self.book;
        let depth_of =
            |change: &Change<'_>| change.table.map_or(0, |table| book.links(table).companion_depth);
        let deepest = self.changes.iter().map(depth_of).max().unwrap_or(0);
        for depth in 0..=deepest {
            for (place, change) in self.changes.iter().enumerate() {
                if depth_of(change) == depth {
                    let fate = self.judge_change(change)?;
                    self.fates[place] = Some(fate);
                    self.lead(change.table, change.key, change.deadline_before, fate)?;
                }
            }
        }
        Ok(())
    }

    fn judge_change(&mut self, change: &Change<'_>) -> Result<Fate, Objection> {
        let Some(row) = change.after else { return Ok(Fate::Gone) };
        let fate = Fate::Lives(row.deadline());
        if !self.judges_rows {
            return Ok(fate);
        }
        let Some(table) = change.table else {
            // A lifetime brings no key to be, and may help to get rid of one.
            let is_written = !matches!(change.what, What::Lifetime);
            if is_written && self.book.unknown() != Unknown::Allow {
                self.object(self.book.refuse_unknown(change.key))?;
            }
            return Ok(fate);
        };
        // What a computed row holds is compared with its sources later on.
        if self.book.traits(table).is_computed || self.book.observes(table) {
            return Ok(fate);
        }
        // What fitted under one key need not be the same as another.
        let is_known_to_fit =
            change.is_known_to_fit && self.heeds_known_fit && !self.book.traits(table).has_same;
        if !matches!(change.what, What::Lifetime) && !is_known_to_fit {
            let mut unfit = self.book.refuse_unfit(table, change.key, row, change.what);
            if unfit.is_some() && self.is_in_unit {
                unfit = self.book.refuse_unfit_at_once(table, change.key, row, change.what);
                if unfit.is_none() {
                    self.defer_fit(table, change);
                }
            }
            if let Some(refusal) = unfit {
                self.object(refusal)?;
            }
            // What passes with a warning is kept within its bounds all the same.
            if self.book.traits(table).takes(row.row_type()) {
                self.judge_bounds(table, change, row.len() as u64)?;
            }
        }
        self.judge_lifetime(table, change, row)
    }

    fn judge_bounds(
        &mut self,
        table: KeyId,
        change: &Change<'_>,
        count: u64,
    ) -> Result<(), Objection> {
        let declared = self.book.schema().key(table);
        let key = change.key;
        if let Some(most) = declared.bounds.max_len.filter(|most| count > *most) {
            match near_end(change.what) {
                Some(End::Tail) if declared.data == DataType::Stream => {
                    self.follow_up([b"XTRIM", key, b"MAXLEN", b"=", most.to_string().as_bytes()]);
                }
                Some(End::Head) => {
                    self.follow_up([b"LTRIM", key, b"0", (most - 1).to_string().as_bytes()]);
                }
                Some(End::Tail) => {
                    self.follow_up([b"LTRIM", key, format!("-{most}").as_bytes(), b"-1"]);
                }
                None if grew(change.what) => {
                    self.object(self.book.refuse_count(table, key, count))?;
                }
                None => {}
            }
        }
        if let Some(most) = declared.bounds.max_members.filter(|most| count > *most) {
            if declared.data == DataType::Zset {
                let last = (count - most - 1).to_string();
                self.follow_up([b"ZREMRANGEBYRANK", key, b"0", last.as_bytes()]);
            } else if grew(change.what) {
                self.object(self.book.refuse_count(table, key, count))?;
            }
        }
        Ok(())
    }

    pub(super) fn judge_lifetime(
        &mut self,
        table: KeyId,
        change: &Change<'_>,
        row: &dyn Row,
    ) -> Result<Fate, Objection> {
        let situation = Situation {
            before: change.deadline_before,
            now_has: row.deadline(),
            touched: self.touched(table, change, row),
        };
        let term = self.term(table, change.key, row)?;
        if self.is_reborn(table, change, row) {
            let refusal = self.book.refuse_lifetime(table, change.key, LifetimeProblem::Reborn);
            self.object(refusal)?;
        }
        match deadline_after(term, self.view.now_ms(), situation) {
            Ok(deadline) if deadline == row.deadline() => Ok(Fate::Lives(deadline)),
            Ok(deadline) => Ok(self.set_deadline(change.key, deadline)),
            Err(LifetimeProblem::Leaderless) if self.is_in_unit => {
                self.defer_leader(table, change.key);
                Ok(Fate::Lives(row.deadline()))
            }
            Err(problem) => {
                self.object(self.book.refuse_lifetime(table, change.key, problem))?;
                Ok(Fate::Lives(row.deadline()))
            }
        }
    }

    /// What the schema demands of a row's lifetime, given what the command and its
    /// follow-ups so far made of the row that it lives with.
    fn term(&self, table: KeyId, key: &[u8], row: &dyn Row) -> Result<Term, NotYet> {
        let leads = self.book.traits(table).leader;
        if let Some((leader, leads)) = self.book.leader(table, key).zip(leads) {
            return Ok(match self.fate(&leader)? {
                Fate::Lives(deadline) => self.book.term_with(leads, deadline),
                Fate::Gone => Term::Leaderless,
            });
        }
        self.with_deciding_field(table, Moment::Now(row), |value| {
            self.book.term(self.view, table, key, value)
        })
    }

    fn touched(&self, table: KeyId, change: &Change<'_>, row: &dyn Row) -> Touched {
        if matches!(change.what, What::Lifetime) {
            return Touched::Lifetime;
        }
        if self.book.deciding_field(table).is_none() {
            return Touched::Content;
        }
        let value =
            |moment| self.with_deciding_field(table, moment, |value| value.map(<[u8]>::to_vec));
        let before = Moment::before(change).and_then(value);
        if before == value(Moment::Now(row)) { Touched::Content } else { Touched::Subject }
    }

    /// Whether the time of a row's birth, from which its total counts, is another one than it
    /// was, or is gone: a later command of the unit could give it another.
    fn is_reborn(&self, table: KeyId, change: &Change<'_>, row: &dyn Row) -> bool {
        let lifetime = &self.book.schema().key(table).lifetime;
        if !matches!(lifetime, Lifetime::Renewed { total: Some(_), .. }) {
            return false;
        }
        let birth =
            |moment| self.with_deciding_field(table, moment, |value| value.map(<[u8]>::to_vec));
        let before = Moment::before(change).and_then(birth);
        before.is_some() && before != birth(Moment::Now(row))
    }

    fn with_deciding_field<T>(
        &self,
        table: KeyId,
        moment: Moment<'_>,
        told: impl FnOnce(Option<&[u8]>) -> T,
    ) -> T {
        let Some(field) = self.book.deciding_field(table) else { return told(None) };
        let reading = &self.book.links(table).reading;
        Facts::tell(reading, &[field], moment, |facts| told(facts.field(field)))
    }
}

/// The end of a list that was pushed to last; entries come to the tail of a stream.
fn near_end(what: What<'_>) -> Option<End> {
    let What::Parts(parts) = what else { return None };
    parts.iter().rev().find_map(|part| match part {
        Part::Pushed(end, _) => Some(*end),
        Part::Entry(_) => Some(End::Tail),
        _ => None,
    })
}

/// Whether anything came that was not there.
fn grew(what: What<'_>) -> bool {
    match what {
        What::Whole(_) => true,
        What::Lifetime => false,
        What::Parts(parts) => parts.iter().any(|part| {
            matches!(
                part,
                Part::Pushed(..)
                    | Part::Placed(_)
                    | Part::Entry(_)
                    | Part::Member { came: true, .. }
                    | Part::Score { before: None, .. }
            )
        }),
    }
}
