//! Counting what a schema would have done where it only observes.
//!
//! Owns the figures: what would have been refused, filled in, derived and removed, each in the
//! table that it concerns. A command is judged by its words before it runs, as where the schema
//! is enforced, and against the rows as they stand once it has run; what the rest of its unit may
//! mend at the unit's end. Nothing is carried out.
//! Invariants: a command that would be refused is counted once; one that fails is not counted.
//! Not here: what would follow (`keyward_rules`, `RuleBook::observed`).

use super::breaches::remember;
use super::deferred::Unit;
use super::discretion::{self, Call};
use super::{asked, hold_against, unit};
use crate::engine::context::{Ctx, Stage};
use crate::sessions::refusals::Outcome;
use keyward_resp::ArgBuf;
use keyward_rules::{Consequences, Deed, Deferred, Objection, Refusal, RuleBook};
use keyward_store::keyspace::Keyspace;
use keyward_store::keyspace::journal::JournalMark;

/// Counts what the schema of a database would have said of changes since a mark; whether it
/// would have refused the command, which is counted once, unless it `is_told` already. What the
/// rest of the unit that is running may mend is left to its end.
#[cold]
pub(super) fn count(
    stage: &mut Stage<'_>,
    book: &RuleBook,
    since: JournalMark,
    call: Option<Call<'_>>,
    is_told: bool,
) -> bool {
    let db = stage.db;
    let in_unit = stage.shared.unit.as_ref().map(|unit: &Unit| !unit.observed.is_empty());
    let answer = asked(stage, |keys, sight| {
        keys.report(db, since, |changes| book.observed(sight, changes, in_unit))
    });
    let Some(would) = told(answer) else { return is_told };
    // It would have been refused by the first.
    if let Some(first) = would.warnings.first().filter(|_| !is_told) {
        refuse(stage, call, first);
    }
    let Stage { keys, shared, .. } = stage;
    hold_against(keys, db, since, book.declared_book(), &would.warnings);
    count_deeds(keys, (db, book), &would.follow_ups);
    let is_refused = is_told || !would.warnings.is_empty();
    if is_refused {
        // It would have left nothing to the end of its unit.
        let declared = book.declared_book();
        would.deferred.iter().for_each(|it| unit::hold_one_against(keys, db, declared, it));
    } else if let Some(unit) = &mut shared.unit {
        let shows_found = call.is_some_and(|call| call.shows_found(keys));
        unit.is_discreet |= !would.deferred.is_empty() && !shows_found;
        unit.observed.extend(would.deferred.into_iter().map(|deferred| (db, deferred)));
    }
    is_refused
}

/// Counts what the schema of a database would have said at the end of a unit of what its
/// commands left to that; whether it would have refused the unit, as for [`count`].
pub(super) fn count_unit(
    ctx: &mut Ctx<'_>,
    db: usize,
    deferred: &[Deferred],
    is_discreet: bool,
    is_told: bool,
) -> bool {
    let call = Some(Call::of(ctx));
    let Some(book) = ctx.keys.book_of(db).cloned() else { return false };
    let mut stage = ctx.stage();
    let mut stage = stage.at(db);
    let answer = asked(&mut stage, |_, sight| book.observed_at_end(sight, deferred));
    let Some(would) = told(answer) else { return false };
    if let Some(first) = would.warnings.first().filter(|_| !is_told) {
        let shown = if is_discreet { first.clone().discreet() } else { first.clone() };
        refuse_as_shown(&mut stage, call, &shown);
    }
    unit::hold_against(stage.keys, db, book.declared_book(), (deferred, &would.warnings));
    count_deeds(stage.keys, (db, &book), &would.follow_ups);
    !would.warnings.is_empty()
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

/// Counts a command that would have been refused.
#[cold]
pub(super) fn refuse(stage: &mut Stage<'_>, call: Option<Call<'_>>, refusal: &Refusal) {
    let shown = discretion::shown(stage.keys, call, refusal);
    refuse_as_shown(stage, call, &shown);
}

fn refuse_as_shown(stage: &mut Stage<'_>, call: Option<Call<'_>>, shown: &Refusal) {
    stage.keys.table_stats(stage.db, shown.table()).would_refuse += 1;
    remember(stage, call, std::slice::from_ref(shown), Outcome::Observed);
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
            Deed::Trimmed => {
                stats.would_remove += 1;
                // The row has more than it may, and stands so.
                keys.suspect(db, command.args().at(1));
            }
        }
    }
}
