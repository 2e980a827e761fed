//! How a row stands that no command has just touched.
//!
//! Owns what is asked of a row as it is: whether it fits, whether it has the
//! deadline that it must have, whether it has the unique values that it claims.

use super::Faults;
use crate::book::RuleBook;
use crate::derived::{Contradicted, Holds};
use crate::facts::{Facts, Moment};
use crate::lifetime::{LifetimeProblem, Situation, Term, Touched, deadline_after, end_of};
use crate::naming::named_key;
use crate::refusal::Refusal;
use crate::view::{Element, NotYet, Row, View};
use keyward_schema::{Derived, KeyId, Lifetime};

/// Members of a row that are looked at for one that follows nothing: a fraction of a
/// millisecond.
pub const FOLLOWERS_LOOKED_AT: usize = 1000;

/// Elements of a derived row that are kept in mind because their sources do not say so, or say
/// more: as many as can be looked at again while others wait.
pub const CONTRADICTIONS_KEPT: usize = 256;

impl RuleBook {
    /// What is wrong with a row. Of a computed one nothing is: its sources tell.
    ///
    /// # Errors
    /// If the host has to fetch another row first.
    pub fn faults_of(
        &self,
        view: &dyn View,
        table: KeyId,
        key: &[u8],
        row: &dyn Row,
    ) -> Result<Faults, NotYet> {
        if self.traits(table).is_computed {
            return Ok(Faults::default());
        }
        let term = self.term_of_row(view, table, key, row)?;
        // Where nothing is carried out rows lack ends and lookups that they would be given.
        let is_carried_out = !self.is_hypothetical();
        let has_wrong_end = match deadline_of(term, view.now_ms(), row) {
            Ok(deadline) => is_carried_out && deadline != row.deadline(),
            Err(LifetimeProblem::Leaderless) => is_carried_out,
            Err(_) => true,
        };
        let is_misfit = self.misfit_of(table, key, row).is_some()
            || has_wrong_end
            || self.stranger_among(view, table, key, row)?.is_some();
        let mut is_conflict = false;
        for entry in self.entries_of(table, key, row) {
            if entry.holds == Holds::Text {
                let owner = view.row(&entry.key)?.and_then(|row| row.text());
                is_conflict |= owner.map_or(is_carried_out, |owner| *owner != *entry.member);
            }
        }
        Ok(Faults { is_misfit, is_conflict })
    }

    /// What is wrong with a row, in words; nothing if it is as it must be.
    ///
    /// # Errors
    /// If the host has to fetch another row first.
    pub fn problems_of(
        &self,
        view: &dyn View,
        table: KeyId,
        key: &[u8],
        row: &dyn Row,
    ) -> Result<Vec<Refusal>, NotYet> {
        if self.traits(table).is_computed {
            return Ok(vec![self.refuse_standing(table, key, None)]);
        }
        let mut problems: Vec<Refusal> = self.misfit_of(table, key, row).into_iter().collect();
        problems.extend(self.stranger_among(view, table, key, row)?);
        let term = self.term_of_row(view, table, key, row)?;
        match deadline_of(term, view.now_ms(), row) {
            Ok(deadline) if deadline == row.deadline() => {}
            Ok(_) => problems.push(self.refuse_end(table, key)),
            Err(problem) => problems.push(self.refuse_lifetime(table, key, problem)),
        }
        for entry in self.entries_of(table, key, row) {
            if entry.holds == Holds::Text {
                // Where nothing is carried out rows lack lookups that they would be given.
                let is_carried_out = !self.is_hypothetical();
                match view.row(&entry.key)?.and_then(|row| row.text()) {
                    Some(owner) if *owner == *entry.member => {}
                    Some(owner) => {
                        problems.push(self.refuse_taken(table, key, entry.table, &owner));
                    }
                    None if is_carried_out => {
                        problems.push(self.refuse_unnamed(table, key, entry.table));
                    }
                    None => {}
                }
            }
        }
        Ok(problems)
    }

    /// What is said of a computed row that does not hold what its sources demand, or is not there,
    /// by the members in question.
    pub fn contradiction_of(&self, table: KeyId, key: &[u8], what: Contradicted<'_>) -> Refusal {
        match self.is_hypothetical() {
            true => self.refuse_observed(table, key, what),
            false => self.refuse_standing(table, key, what.members.first().copied()),
        }
    }

    /// What is said of the first member found that follows a key which is not there, among so
    /// many as can be looked at while others wait.
    pub(super) fn stranger_among(
        &self,
        view: &dyn View,
        table: KeyId,
        key: &[u8],
        row: &dyn Row,
    ) -> Result<Option<Refusal>, NotYet> {
        let Some(Derived::Follows { of }) = &self.schema().key(table).derived else {
            return Ok(None);
        };
        let (own, pattern) = (self.placeholders(table, key), &self.schema().key(of.key).pattern);
        let (mut looked_at, mut cursor, mut found) = (0, 0, Ok(None));
        loop {
            cursor = row.each_some(cursor, &mut |element| {
                let (Element::Member(member) | Element::Scored(member, _)) = element else {
                    return;
                };
                looked_at += 1;
                if matches!(found, Ok(None)) {
                    found = match named_key(of, pattern, &own, member) {
                        None => Ok(Some(self.refuse_nameless(table, key, member))),
                        Some(named) => view.row(&named).map(|lives| match lives {
                            Some(_) => None,
                            None => Some(self.refuse_stranger(table, key, &named)),
                        }),
                    };
                }
            });
            if cursor == 0 || looked_at >= FOLLOWERS_LOOKED_AT || !matches!(found, Ok(None)) {
                return found;
            }
        }
    }

    /// Whether nothing is to be done about a row by itself, and nothing counted.
    pub(super) fn is_settled(
        &self,
        view: &dyn View,
        table: KeyId,
        key: &[u8],
        row: &dyn Row,
    ) -> Result<bool, NotYet> {
        let term = self.term_of_row(view, table, key, row)?;
        let now_ms = view.now_ms();
        Ok(deadline_of(term, now_ms, row) == Ok(row.deadline())
            && !self.is_overlong(table, term, now_ms, row)
            && self.misfit_of(table, key, row).is_none())
    }

    /// What the schema demands of the lifetime of a row.
    pub(super) fn term_of_row(
        &self,
        view: &dyn View,
        table: KeyId,
        key: &[u8],
        row: &dyn Row,
    ) -> Result<Term, NotYet> {
        let Some(field) = self.deciding_field(table) else {
            return self.term(view, table, key, None);
        };
        let reading = &self.links(table).reading;
        Facts::tell(reading, &[field], Moment::Now(row), |facts| {
            self.term(view, table, key, facts.field(field))
        })
    }

    /// Whether use of a row gives it the end that the schema says, be it a nearer one.
    pub(super) fn is_renewed(&self, table: KeyId) -> bool {
        matches!(self.schema().key(table).lifetime, Lifetime::Renewed { .. })
    }

    /// Whether a row has a deadline that no writer could give it now. It keeps it: it
    /// was promised to whoever wrote the row. The log has later ends of rows that reads renew.
    pub(super) fn is_overlong(&self, table: KeyId, term: Term, now_ms: i64, row: &dyn Row) -> bool {
        let most = match term {
            Term::Within { after, .. } | Term::Window { after } | Term::Renewed { after } => after,
            Term::RenewedUpTo { last, .. } => return row.deadline().is_some_and(|end| end > last),
            Term::Given { max: Some(max), .. } => max,
            Term::Free
            | Term::Forever
            | Term::At(_)
            | Term::With { .. }
            | Term::Leaderless
            | Term::Given { .. } => return false,
        };
        let step = self.traits(table).renewal_step_ms.unwrap_or(0);
        let last = end_of(most, now_ms).saturating_add(step);
        row.deadline().is_some_and(|end| end > last)
    }
}

/// The deadline that a row must have.
pub(super) fn deadline_of(
    term: Term,
    now_ms: i64,
    row: &dyn Row,
) -> Result<Option<i64>, LifetimeProblem> {
    let has = row.deadline();
    let situation = Situation { before: Some(has), now_has: has, touched: Touched::Nothing };
    deadline_after(term, now_ms, situation)
}
