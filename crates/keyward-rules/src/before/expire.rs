//! Giving living rows another deadline: EXPIRE and its kin, PERSIST, GETEX.
//!
//! What the term of a table never allows is refused whether or not there is a
//! row, so that it is refused while it is queued. A time in the past deletes the
//! row, which a lifetime has no say in.

use keyward_schema::Lifetime;

use super::{Case, Judgement, Place, UNJUDGED};
use crate::arguments::Expiry;
use crate::book::RuleBook;
use crate::lifetime::{Situation, Term, Touched, deadline_after};
use crate::term::field_of;
use crate::verdict::{Judged, Verdict};

impl RuleBook {
    pub(super) fn expire(&self, case: Case<'_>, expiry: Expiry) -> Judgement<Verdict> {
        let Some(place) = self.living_place(case) else { return Ok(Verdict::Run(Judged::All)) };
        let now_ms = case.view.now_ms();
        if expiry.end.is_some_and(|end| end <= now_ms) {
            return Ok(Verdict::Run(self.take(case, true)));
        }
        self.never_allowed(case, place, expiry)?;
        let Some(row) = case.view.row_of(place.table, place.key)? else {
            return Ok(Verdict::Run(Judged::All));
        };
        let declared = self.schema().key(place.table);
        let deciding =
            self.deciding_field(place.table).and_then(|field| field_of(declared, row, field));
        let term = self.term(case.view, place.table, place.key, deciding.as_deref())?;
        // An EXPIRE that would extend a window answers as one that does not count.
        if let (Term::Window { .. }, Some(end), Some(window_end)) =
            (term, expiry.end, row.deadline())
            && end > window_end
        {
            return Ok(Verdict::Answer(0));
        }
        self.judged_expiry(case, place, term, row.deadline(), expiry)
    }

    pub(super) fn getex(&self, case: Case<'_>, expiry: Expiry) -> Judgement<Verdict> {
        let Some(place) = self.living_place(case) else { return Ok(Verdict::Run(Judged::All)) };
        if expiry.end.is_none_or(|end| end > case.view.now_ms()) {
            self.never_allowed(case, place, expiry)?;
        }
        Err(UNJUDGED)
    }

    /// The place of key 1, which a call does not bring to be.
    fn living_place<'a>(&self, case: Case<'a>) -> Option<Place<'a>> {
        (case.table_of)(1).map(|table| Place { table, key: case.args.at(1) })
    }

    /// Refuses what no row of the table may have, if that is known without one.
    fn never_allowed(&self, case: Case<'_>, place: Place<'_>, expiry: Expiry) -> Judgement<()> {
        if expiry.only_sooner || self.deciding_field(place.table).is_some() {
            return Ok(());
        }
        let term = match self.schema().key(place.table).lifetime {
            Lifetime::With { .. } => return Ok(()),
            _ => self.term(case.view, place.table, place.key, None)?,
        };
        let now_ms = case.view.now_ms();
        // A row that has a lifetime now; PERSIST changes nothing on any other.
        let before = match term {
            Term::Forever => Some(None),
            _ => Some(Some(now_ms)),
        };
        let situation = Situation { before, now_has: expiry.end, touched: Touched::Lifetime };
        match deadline_after(term, now_ms, situation) {
            Ok(_) => Ok(()),
            Err(problem) => {
                Err(self.stop(place, || self.refuse_lifetime(place.table, place.key, problem)))
            }
        }
    }

    fn judged_expiry(
        &self,
        case: Case<'_>,
        place: Place<'_>,
        term: Term,
        before: Option<i64>,
        expiry: Expiry,
    ) -> Judgement<Verdict> {
        if self.traits(place.table).is_tied() || expiry.only_sooner {
            return Err(UNJUDGED);
        }
        let situation =
            Situation { before: Some(before), now_has: expiry.end, touched: Touched::Lifetime };
        match deadline_after(term, case.view.now_ms(), situation) {
            Ok(end) if end == expiry.end => Ok(Verdict::Run(Judged::All)),
            // It may not count at all, by NX, XX or GT: its effect tells.
            _ => Err(UNJUDGED),
        }
    }
}
