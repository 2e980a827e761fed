//! Setting strings: SET and its kin, MSET.
//!
//! The way that must cost next to nothing: the value is checked, its lifetime
//! filled in, and the host has nothing to report unless other keys depend on it.

use std::borrow::Cow;

use keyward_schema::{Content, DataType, KeyId, Lifetime, Misfit, check_hyperloglog};

use super::{Case, Judgement, Place, Stop, UNJUDGED};
use crate::arguments::Asked;
use crate::book::RuleBook;
use crate::lifetime::{LifetimeProblem, Situation, Term, Touched, deadline_after};
use crate::verdict::{Judged, Verdict};
use crate::view::RowType;

impl RuleBook {
    pub(super) fn set(&self, case: Case<'_>, value: &[u8], asked: Asked) -> Judgement<Verdict> {
        let place = self.place(case, 1, Some(RowType::String))?;
        if self.traits(place.table).source.is_some() {
            return Err(UNJUDGED);
        }
        let deciding = self.value(case, place, value)?;
        let term = self.term(case.view, place.table, place.key, deciding.as_deref())?;
        let judged = self.judged_set(place.table);
        let now_ms = case.view.now_ms();
        let situation = match (term, asked) {
            // Whether the deciding value changed is to be seen by the second stage.
            (Term::Within { .. } | Term::Window { .. }, Asked::Keep) if deciding.is_some() => {
                return Err(UNJUDGED);
            }
            // So is whether its birth is the same.
            (Term::RenewedUpTo { .. }, _) => return Err(UNJUDGED),
            (_, Asked::Keep) => {
                let before = case.view.row_of(place.table, place.key)?.map(|row| row.deadline());
                Situation { before, now_has: before.flatten(), touched: Touched::Content }
            }
            (Term::Window { after }, asked) => {
                self.refuse_whole_window(place, Term::Window { after }, now_ms, asked)?;
                let before = case.view.row_of(place.table, place.key)?.map(|row| row.deadline());
                Situation { before, now_has: asked.end(), touched: Touched::Subject }
            }
            // Replacing and creating come to the same.
            (_, asked) => {
                Situation { before: None, now_has: asked.end(), touched: Touched::Subject }
            }
        };
        match deadline_after(term, now_ms, situation) {
            // The key that it lives with may come yet.
            Err(LifetimeProblem::Leaderless) if case.is_in_unit => Err(UNJUDGED),
            Err(problem) => {
                Err(self.stop(place, || self.refuse_lifetime(place.table, place.key, problem)))
            }
            Ok(end) if end == situation.now_has => Ok(Verdict::Run(judged)),
            Ok(Some(end)) if end > now_ms => Ok(Verdict::RunUntil(end, judged)),
            // A row that ends at once, or loses a lifetime that it must not have.
            Ok(_) => Err(UNJUDGED),
        }
    }

    /// A string that fits comes to be, and its writer says nothing of its lifetime.
    pub(super) fn begin(&self, case: Case<'_>, place: Place<'_>) -> Judgement<Verdict> {
        if self.traits(place.table).source.is_some() {
            return Err(UNJUDGED);
        }
        let term = self.term(case.view, place.table, place.key, None)?;
        let judged = self.judged_set(place.table);
        let now_ms = case.view.now_ms();
        let situation = Situation { before: None, now_has: None, touched: Touched::Content };
        match deadline_after(term, now_ms, situation) {
            Ok(None) => Ok(Verdict::Run(judged)),
            Ok(Some(end)) if end > now_ms => Ok(Verdict::RunUntil(end, judged)),
            _ => Err(UNJUDGED),
        }
    }

    /// Refuses what asks for more than a whole window, whether or not there is
    /// a row: the arguments alone decide that.
    fn refuse_whole_window(
        &self,
        place: Place<'_>,
        term: Term,
        now_ms: i64,
        asked: Asked,
    ) -> Judgement<()> {
        let situation = Situation { before: None, now_has: asked.end(), touched: Touched::Subject };
        match deadline_after(term, now_ms, situation) {
            Ok(_) => Ok(()),
            Err(problem) => {
                Err(self.stop(place, || self.refuse_lifetime(place.table, place.key, problem)))
            }
        }
    }

    pub(super) fn set_many(&self, case: Case<'_>) -> Judgement<Verdict> {
        let mut all = Judged::All;
        for position in (1..case.args.len()).step_by(2) {
            let place = match self.place(case, position, Some(RowType::String)) {
                Ok(place) => place,
                Err(Stop::At(Verdict::Run(judged))) => {
                    all = all.and(judged);
                    continue;
                }
                Err(stop) => return Err(stop),
            };
            let declared = self.schema().key(place.table);
            if self.traits(place.table).source.is_some() {
                all = Judged::Nothing;
                continue;
            }
            match self.value(case, place, case.args.at(position + 1)) {
                Ok(_) => {}
                Err(stop @ Stop::At(Verdict::Refuse(_))) => return Err(stop),
                Err(_) => {
                    all = Judged::Nothing;
                    continue;
                }
            }
            let judged = match declared.lifetime {
                Lifetime::Free | Lifetime::Forever if self.would_enforce(place.table) => {
                    self.judged_set(place.table)
                }
                _ => Judged::Nothing,
            };
            all = all.and(judged);
        }
        Ok(Verdict::Run(all))
    }

    /// Checks a string against its table, and returns the text of the field that
    /// decides on its lifetime, where there is one.
    fn value<'v>(
        &self,
        case: Case<'_>,
        place: Place<'_>,
        value: &'v [u8],
    ) -> Judgement<Option<Cow<'v, [u8]>>> {
        let Place { table, key } = place;
        if let Some(most) = self.schema().key(table).bounds.max_size
            && value.len() as u64 > most
        {
            return Err(self.stop(place, || self.refuse_size(table, key, value.len(), most)));
        }
        self.fitting(place, value).map_err(|misfit| {
            self.stop_unfit(case, place, misfit, |content| match content {
                Content::Value(shape) => shape.check(value),
                Content::Json(shape) => shape.check_json(value),
                _ => Ok(()),
            })
        })
    }

    fn fitting<'v>(
        &self,
        place: Place<'_>,
        value: &'v [u8],
    ) -> Result<Option<Cow<'v, [u8]>>, Misfit> {
        let table = place.table;
        let content = &self.schema().key(table).content;
        let shape = match content {
            Content::Value(shape) => return shape.check(value).map(|()| None),
            Content::Json(shape) => shape,
            Content::Opaque if self.schema().key(table).data == DataType::Hll => {
                return check_hyperloglog(value).map(|()| None);
            }
            Content::Fields(_)
            | Content::Items(_)
            | Content::Scored { .. }
            | Content::Entries(_)
            | Content::Opaque => return Ok(None),
        };
        let (Some(field), Some(object)) = (self.deciding_field(table), shape.object()) else {
            let names = self.names(table, place.key);
            return shape.check_json_under(names.values(), value).map(|()| None);
        };
        if self.traits(table).has_same {
            let names = self.names(table, place.key);
            shape.check_json_under(names.values(), value)?;
        }
        let mut deciding = None;
        object.check_json(value, |found| {
            if found.index == field {
                deciding = Some(found.text());
            }
        })?;
        Ok(deciding)
    }

    /// How much is judged of a string that fits and gets its lifetime.
    fn judged_set(&self, table: KeyId) -> Judged {
        if self.traits(table).leads() { Judged::Rows } else { Judged::All }
    }
}

impl Asked {
    fn end(self) -> Option<i64> {
        match self {
            Asked::At(end) => Some(end),
            Asked::Silent | Asked::Keep => None,
        }
    }
}

impl Judged {
    /// What is judged of both.
    fn and(self, other: Judged) -> Judged {
        match (self, other) {
            (Judged::Nothing, _) | (_, Judged::Nothing) => Judged::Nothing,
            (Judged::Rows, _) | (_, Judged::Rows) => Judged::Rows,
            (Judged::All, Judged::All) => Judged::All,
        }
    }
}
