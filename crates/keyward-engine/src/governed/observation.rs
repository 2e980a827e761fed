//! Counting what a schema would have done where it only observes.
//!
//! Owns the figures: what would have been refused, filled in, derived and removed, each in the
//! table that it concerns. A command is judged against the rows as they stand, once it has run;
//! what the rest of its unit may mend at the unit's end. Nothing is carried out.
//! Not here: what would follow (`keyward_rules`, `RuleBook::observed`).

use super::deferred::Unit;
use super::discretion::{self, Call};
use super::{asked, hold_against, remember, unit};
use crate::engine::context::Ctx;
use crate::engine::shared::Shared;
use crate::host::Host;
use crate::sessions::refusals::Outcome;
use crate::sessions::session::Session;
use keyward_resp::ArgBuf;
use keyward_rules::{Consequences, Deed, Deferred, Objection, Refusal, RuleBook};
use keyward_store::keyspace::Keyspace;
use keyward_store::keyspace::journal::JournalMark;

/// Counts what the schema of a database would have said of changes since a mark. What the rest
/// of the unit that is running may mend is left to its end.
#[cold]
pub(super) fn count(
    keys: &mut Keyspace,
    shared: &mut Shared,
    (session, host): (&mut Session, &mut dyn Host),
    (db, book): (usize, &RuleBook),
    since: JournalMark,
    call: Option<Call<'_>>,
) {
    let in_unit = shared.unit.as_ref().map(|unit: &Unit| !unit.observed.is_empty());
    let answer = asked(keys, shared, session, host, db, |keys, sight| {
        keys.report(db, since, |changes| book.observed(sight, changes, in_unit))
    });
    let Some(would) = told(answer) else { return };
    for warning in &would.warnings {
        let shown = discretion::shown(keys, call, warning);
        refuse(keys, shared, (session, host), db, call, &shown);
    }
    hold_against(keys, db, since, book.declared_book(), &would.warnings);
    count_deeds(keys, (db, book), &would.follow_ups);
    if let Some(unit) = &mut shared.unit {
        let shows_found = call.is_some_and(|call| call.shows_found(keys));
        unit.is_discreet |= !would.deferred.is_empty() && !shows_found;
        unit.observed.extend(would.deferred.into_iter().map(|deferred| (db, deferred)));
    }
}

/// Counts what the schema of a database would have said at the end of a unit of what its
/// commands left to that.
pub(super) fn count_unit(ctx: &mut Ctx<'_>, db: usize, deferred: &[Deferred], is_discreet: bool) {
    let call = Some(Call::of(ctx));
    let Ctx { keys, shared, session, host, .. } = ctx;
    let Some(book) = keys.book_of(db).cloned() else { return };
    let answer =
        asked(keys, shared, session, *host, db, |_, sight| book.observed_at_end(sight, deferred));
    let Some(would) = told(answer) else { return };
    for warning in &would.warnings {
        let shown = if is_discreet { warning.clone().discreet() } else { warning.clone() };
        refuse(keys, shared, (session, *host), db, call, &shown);
    }
    unit::hold_against(keys, db, book.declared_book(), (deferred, &would.warnings));
    count_deeds(keys, (db, &book), &would.follow_ups);
}

/// What the book said.
fn told(answer: Result<Option<Consequences>, Objection>) -> Option<Consequences> {
    match answer {
        Ok(would) => would,
        Err(Objection::NotYet | Objection::Refused(_)) => {
            unreachable!("the engine shows all it has at once, and who observes refuses nothing")
        }
    }
}

/// Counts what would have been refused.
pub(super) fn refuse(
    keys: &mut Keyspace,
    shared: &mut Shared,
    (session, host): (&Session, &mut dyn Host),
    db: usize,
    call: Option<Call<'_>>,
    shown: &Refusal,
) {
    keys.table_stats(db, shown.table()).would_refuse += 1;
    remember(keys, shared, (session, host), db, call, (shown, Outcome::Observed));
}

/// Counts what would have been filled in, derived and removed.
fn count_deeds(keys: &mut Keyspace, (db, book): (usize, &RuleBook), follow_ups: &[ArgBuf]) {
    for command in follow_ups {
        let table = command.args().get(1).and_then(|key| book.table_of(key));
        let stats = keys.table_stats(db, table);
        match Deed::of(command.args()) {
            Deed::Dated => stats.would_date += 1,
            Deed::Derived => stats.would_derive += 1,
            Deed::Removed => stats.would_remove += 1,
        }
    }
}
