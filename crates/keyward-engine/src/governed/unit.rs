//! Units: transactions and scripts under a schema, which are judged at their end (deferred
//! constraints).
//!
//! Owns the life of a unit: it begins with the journal, gathers what its commands leave wrong
//! for the time being, and ends with the book's judgement of that, or is undone whole. What a
//! script within a transaction leaves is judged with the transaction.
//!
//! Invariants: what a part of a unit deferred is forgotten when that part is undone; of a unit
//! that is undone nobody hears anything, for messages, invalidations and wake-ups wait for the
//! journal. What is taken to other databases or servers as a whole (SWAPDB, MIGRATE) cannot be
//! undone, so a unit with such a command is judged command by command.
//! Not here: what is judged at the end (`keyward_rules`), the journal (`keyspace`).

use super::breaches::{refused, warn};
use super::deferred::Unit;
use super::discretion::Call;
use super::{Start, asked, follow_up, observation};
use crate::engine::context::{Ctx, Outcome, Stage};
use crate::engine::shared::Shared;
use crate::sessions::session::Transaction;
use keyward_commands::Command;
use keyward_resp::ArgBuf;
use keyward_rules::host::policy;
use keyward_rules::{Consequences, Deferred, Objection, Refusal, RuleBook};
use keyward_store::keyspace::Keyspace;
use std::collections::BTreeMap;

/// A unit that has begun, or a part of one.
#[must_use = "a unit is ended, or undone and ended"]
pub(crate) struct Begun {
    start: Start,
    /// How much was left to the end of the unit before, and would have been.
    deferred: usize,
    observed: usize,
    is_outermost: bool,
}

/// Whether a transaction is a unit that is judged at its end: its commands may leave something to
/// that, as far as is known, and what they do can be undone. Of others each command is judged
/// by itself, which comes to the same and needs no journal.
pub(crate) fn is_formed_by(keys: &Keyspace, transaction: &Transaction) -> bool {
    if !keys.is_governed() {
        return false;
    }
    let is_known = transaction.schema_version == keys.schema_version();
    let may_defer = |(command, _): &(&Command, ArgBuf)| policy::may_defer_unseen(command);
    let parts = |(command, _): &(&Command, ArgBuf)| policy::parts_units(command);
    let queue = &transaction.queue;
    (transaction.may_defer || !is_known || queue.iter().any(may_defer)) && !queue.iter().any(parts)
}

/// Begins a unit, or a part of the one that is running.
pub(crate) fn begin(keys: &mut Keyspace, shared: &mut Shared) -> Begun {
    let is_outermost = shared.unit.is_none();
    let unit = shared.unit.get_or_insert_default();
    let (deferred, observed) = (unit.deferred.len(), unit.observed.len());
    Begun { start: Start::recording(keys), deferred, observed, is_outermost }
}

impl Begun {
    /// Whether rows under a schema were changed by it.
    pub(crate) fn touched_schemas(&self, keys: &Keyspace) -> bool {
        self.start.touched_schemas(keys)
    }

    /// Leaves everything as it was before, and ends it.
    pub(crate) fn undo(self, keys: &mut Keyspace, shared: &mut Shared) {
        self.start.undo(keys, shared);
        match &mut shared.unit {
            Some(_) if self.is_outermost => shared.unit = None,
            Some(unit) => {
                unit.deferred.truncate(self.deferred);
                unit.observed.truncate(self.observed);
            }
            None => {}
        }
        self.start.end(keys);
    }

    /// Ends it. A unit that breaks the schema at its end is undone whole; a part of one is
    /// judged with that.
    pub(crate) fn end(self, ctx: &mut Ctx<'_>) -> Outcome {
        let unit = if self.is_outermost { ctx.shared.unit.take() } else { None };
        let outcome = unit.map_or(Ok(()), |unit| judge(ctx, &unit));
        if outcome.is_err() {
            self.start.undo(ctx.keys, ctx.shared);
        }
        self.start.end(ctx.keys);
        outcome
    }
}

/// Parts the unit that is running before a command that cannot be undone: what it did so far is
/// judged and stays, what comes is judged command by command.
pub(super) fn part(ctx: &mut Ctx<'_>) -> Outcome {
    let Some(unit) = ctx.shared.unit.take() else { return Ok(()) };
    if let Err(error) = judge(ctx, &unit) {
        ctx.shared.unit = Some(unit);
        return Err(error);
    }
    ctx.keys.journal.turn(false);
    ctx.keys.commit();
    Ok(())
}

/// Judges what a unit left to its end, and carries out what follows.
fn judge(ctx: &mut Ctx<'_>, unit: &Unit) -> Outcome {
    for (db, deferred) in by_database(&unit.deferred) {
        judge_database(ctx, db, &deferred, unit.is_discreet)?;
    }
    let mut is_told = false;
    for (db, deferred) in by_database(&unit.observed) {
        is_told |= observation::count_unit(ctx, db, &deferred, unit.is_discreet, is_told);
    }
    Ok(())
}

/// What was left, database by database.
fn by_database(left: &[(usize, Deferred)]) -> BTreeMap<usize, Vec<Deferred>> {
    let mut parts: BTreeMap<usize, Vec<Deferred>> = BTreeMap::new();
    for (db, deferred) in left {
        parts.entry(*db).or_default().push(deferred.clone());
    }
    parts
}

fn judge_database(
    ctx: &mut Ctx<'_>,
    db: usize,
    deferred: &[Deferred],
    is_discreet: bool,
) -> Outcome {
    let call = Some(Call::of(ctx));
    let Some(book) = ctx.keys.book_of(db).cloned() else { return Ok(()) };
    let end = Start::recording(ctx.keys);
    let mut stage = ctx.stage();
    let mut stage = stage.at(db);
    let answer = asked(&mut stage, |_, sight| book.at_end(sight, deferred));
    let shown = |refusal: Refusal| if is_discreet { refusal.discreet() } else { refusal };
    match answer {
        Ok(Consequences { follow_ups, warnings, ends, .. }) => {
            let warnings: Vec<Refusal> = warnings.into_iter().map(shown).collect();
            warn(&mut stage, call, &warnings);
            let Stage { keys, session, shared, host, .. } = stage;
            hold_against(keys, db, &book, (deferred, &warnings));
            for command in follow_ups {
                follow_up(keys, shared, session, host, db, command.args())?;
            }
            for large in ends {
                keys.begin_end(db, large, end.journal, end.effects, &shared.tunables.packed);
            }
            end.end(keys);
            Ok(())
        }
        Err(Objection::Refused(refusal)) => Err(refused(&mut stage, call, &shown(*refusal))),
        Err(Objection::NotYet) => unreachable!("the engine shows all it has at once"),
    }
}

/// Keeps in mind that something may be wrong with what a unit left to its end and that passed.
pub(super) fn hold_against(
    keys: &mut Keyspace,
    db: usize,
    book: &RuleBook,
    (deferred, warnings): (&[Deferred], &[Refusal]),
) {
    let broken =
        |it: &&Deferred| warnings.iter().any(|warning| warning.table() == Some(it.table()));
    deferred.iter().filter(broken).for_each(|it| hold_one_against(keys, db, book, it));
}

/// The same of one thing that may be wrong. It is looked at again.
pub(super) fn hold_one_against(keys: &mut Keyspace, db: usize, book: &RuleBook, it: &Deferred) {
    match it.contradicted() {
        Some(members) => keys.contradict(db, book, (it.table(), it.key()), members.to_vec()),
        None => keys.suspect(db, it.key()),
    }
}
