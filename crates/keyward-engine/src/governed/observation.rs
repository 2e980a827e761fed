//! Counting what a schema would have done where it only observes.
//!
//! Owns the figures: what would have been refused, filled in, derived and removed, each in the
//! table that it concerns. A command is judged against the rows as they stand, once it has run.
//! Nothing is carried out.
//! Not here: what would follow (`keyward_rules`, `RuleBook::observed`).

use super::discretion::{self, Call};
use super::{asked, hold_against, remember};
use crate::engine::shared::Shared;
use crate::host::Host;
use crate::sessions::refusals::Outcome;
use crate::sessions::session::Session;
use keyward_rules::{Deed, Objection, RuleBook};
use keyward_store::keyspace::Keyspace;
use keyward_store::keyspace::journal::JournalMark;

/// Counts what the schema of a database would have said of changes since a mark.
#[cold]
pub(super) fn count(
    keys: &mut Keyspace,
    shared: &mut Shared,
    (session, host): (&mut Session, &mut dyn Host),
    (db, book): (usize, &RuleBook),
    since: JournalMark,
    call: Option<Call<'_>>,
) {
    let answer = asked(keys, shared, session, host, db, |keys, sight| {
        keys.report(db, since, |changes| book.observed(sight, changes))
    });
    let would = match answer {
        Ok(Some(would)) => would,
        Ok(None) => return,
        Err(Objection::NotYet | Objection::Refused(_)) => {
            unreachable!("the engine shows all it has at once, and who observes refuses nothing")
        }
    };
    for warning in &would.warnings {
        let shown = discretion::shown(keys, call, warning);
        keys.table_stats(db, warning.table()).would_refuse += 1;
        remember(keys, shared, (session, host), db, call, (&shown, Outcome::Observed));
    }
    hold_against(keys, db, since, book, &would.warnings);
    for command in &would.follow_ups {
        let table = command.args().get(1).and_then(|key| book.table_of(key));
        let stats = keys.table_stats(db, table);
        match Deed::of(command.args()) {
            Deed::Dated => stats.would_date += 1,
            Deed::Derived => stats.would_derive += 1,
            Deed::Removed => stats.would_remove += 1,
        }
    }
}
