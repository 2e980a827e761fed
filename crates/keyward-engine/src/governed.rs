//! Running a command under a schema.
//!
//! Owns the way of a writing command through the rule book: what the book says
//! before, the run with a journal, what the book says after, the follow-ups, and
//! undoing it all when the answer is no. Every command passes here, whoever runs
//! it: a client, EXEC, a script, a wait that ended. Within a unit (EXEC, a script) the book
//! leaves some of it to the unit's end (`unit`).
//!
//! Invariants: a refused command leaves no trace in keys, log, notifications and
//! watches; Redis's own errors come before a refusal; follow-ups are in the same
//! unit of the log as what they follow.
//! Not here: which commands are treated how (`keyward_rules::host::policy`), what the rules are (`keyward-rules`),
//! the journal (`keyspace`).

pub(crate) mod announcement;
pub(crate) mod apply;
pub(crate) mod arrival;
pub(crate) mod awaited;
mod awaiting;
pub(crate) mod beside;
mod breaches;
pub(crate) mod changefeed;
pub(crate) mod changeover;
pub(crate) mod deferred;
mod discretion;
pub(crate) mod ends;
pub(crate) mod failures;
pub(crate) mod feed_history;
pub(crate) mod hold;
pub(crate) mod in_force;
pub(crate) mod libraries;
mod losses;
pub(crate) mod memory;
mod observation;
pub(crate) mod plan;
pub(crate) mod planning;
pub(crate) mod proposal;
pub(crate) mod rebuild;
mod recollection;
pub(crate) mod reload;
pub(crate) mod reloading;
mod relocation;
mod replicated;
pub(crate) mod settlement;
pub(crate) mod sorted_by;
pub(crate) mod strangers;
pub(crate) mod survey;
mod telling;
pub(crate) mod told;
pub(crate) mod trial;
pub(crate) mod unit;
pub(crate) mod walking;

use crate::engine::attempt::{attempt, attempt_until};
use crate::engine::context::{Ctx, Mode, Outcome, Stage};
use crate::engine::shared::Shared;
use crate::host::Host;
use crate::sessions::session::Session;
use breaches::{refused, warn};
use deferred::Unit;
use discretion::Call;
use keyward_commands::{Command, CommandId, WireError, resolve};
use keyward_resp::{ArgBuf, Args, number};
use keyward_rules::host::policy;
use keyward_rules::{
    CONTRADICTIONS_KEPT, Cause, Change, Consequences, Judged, Objection, Refusal, RowType,
    RuleBook, Sender, Verdict, View as _, What,
};
use keyward_schema::KeyId;
use keyward_store::keyspace::client_id::ClientId;
use keyward_store::keyspace::journal::JournalMark;
use keyward_store::keyspace::sight::Sight;
use keyward_store::keyspace::{Ended, Keyspace};
use keyward_store::tables::reclaim::Freeing;
use policy::{Course, SettledFirst, Tried};
use std::cell::Cell;
use std::rc::Rc;

/// Where everything stood before a command.
#[derive(Clone, Copy)]
#[must_use = "recording is ended by `end`"]
pub(crate) struct Start {
    journal: JournalMark,
    /// Whether somebody around this command may want to undo it.
    was_on: bool,
    dirty: u64,
    wanted_snapshot: bool,
    effects: usize,
    news: usize,
    /// How many large ends had begun.
    ends: u64,
}

impl Start {
    /// Begins to record.
    pub(crate) fn recording(keys: &mut Keyspace) -> Start {
        Start {
            was_on: keys.journal.turn(true),
            journal: keys.journal.mark(),
            dirty: keys.changes.dirty,
            wanted_snapshot: keys.changes.wants_snapshot,
            effects: keys.effects.len(),
            news: keys.changes.news.len(),
            ends: keys.ends_begun(),
        }
    }

    /// Whether rows under a schema were changed since. What only observes does not count.
    pub(crate) fn touched_schemas(&self, keys: &Keyspace) -> bool {
        let governs = |db: usize| match keys.book_of(db) {
            None => false,
            Some(book) if !book.observes_any() => true,
            Some(book) => keys.report(db, self.journal, |changes| {
                let is_governed = |change: &Change<'_>| match change.table {
                    Some(table) => !book.observes(table),
                    None => !book.observes_all(),
                };
                changes.iter().any(is_governed)
            }),
        };
        keys.journal.reaches(self.journal)
            && keys.databases_touched(self.journal).into_iter().any(governs)
    }

    /// Leaves everything as it was, but for rows whose time was over: those stay ended. What
    /// became known to stay since cannot be undone.
    pub(crate) fn undo(self, keys: &mut Keyspace, shared: &Shared) {
        if !keys.journal.reaches(self.journal) {
            return;
        }
        keys.begin_undoing_ends(self.ends);
        keys.undo(self.journal, &shared.tunables.packed);
        keys.end_undoing_ends();
        keys.changes.dirty = self.dirty;
        keys.changes.wants_snapshot = self.wanted_snapshot;
        keys.effects.undo(self.effects);
        keys.changes.undo_news(self.news);
    }

    /// Ends recording, unless somebody around this command goes on.
    pub(crate) fn end(self, keys: &mut Keyspace) {
        if !self.was_on {
            keys.journal.turn(false);
            keys.commit();
        }
    }
}

/// Runs a command while some database is under a schema.
pub(crate) fn run_under_schema(ctx: &mut Ctx<'_>) -> Outcome {
    if ctx.keys.is_unsettled() && depends_on_others(ctx.keys, ctx.session, ctx.command, ctx.args) {
        // Who could wait for this has done so.
        ctx.keys.settle(usize::MAX);
    }
    if ctx.keys.is_unsettled() {
        for key in ctx.command.keys_in(ctx.args) {
            ctx.keys.end_due_leader(ctx.key(key.index));
        }
    }
    follow_ended(ctx.keys, ctx.shared, ctx.session, ctx.host);
    if ctx.keys.has_pending() {
        ends::finish_touched(ctx);
    }
    let logged = ctx.keys.effects.len();
    let outcome = if policy::is_judged(ctx.command) { run_judged(ctx) } else { attempt(ctx) };
    if ctx.keys.journal.is_on() && policy::cannot_be_undone(ctx.command) {
        ctx.keys.effects.keep_from(logged);
    }
    follow_ended(ctx.keys, ctx.shared, ctx.session, ctx.host);
    outcome
}

/// Whether rows that may be due have to go before a command runs.
fn depends_on_others(
    keys: &Keyspace,
    session: &Session,
    command: &Command,
    args: Args<'_>,
) -> bool {
    let depends = |db: usize, key: &[u8]| {
        let database = keys.database_at(db);
        let governed = database.book().zip(database.pattern(database.table_of(key)));
        governed.is_some_and(|(book, table)| !book.traits(table).due_first.is_empty())
    };
    match policy::settled_first(command) {
        SettledFirst::All => true,
        SettledFirst::OfQueue => {
            let mut watched = keys.changes.watches.watched_by(session.id);
            let queue = session.transaction.iter().flat_map(|transaction| &transaction.queue);
            // What is undone must not have the end of a row in it.
            session.transaction.as_ref().is_some_and(|queued| unit::is_formed_by(keys, queued))
                || watched.any(|(db, key)| depends(db, key))
                || queue
                    .into_iter()
                    .any(|(command, args)| depends_on_others(keys, session, command, args.args()))
        }
        SettledFirst::OfKeys => {
            command.keys_in(args).any(|key| depends(session.db, args.at(key.index)))
        }
    }
}

/// Whether a command edits the number that a string is.
fn counts(command: CommandId) -> bool {
    matches!(command, CommandId::Incr | CommandId::IncrBy | CommandId::Decr | CommandId::DecrBy)
}

/// Runs a command that is judged, if the books let it.
fn run_judged(ctx: &mut Ctx<'_>) -> Outcome {
    if counts(ctx.command.id) {
        // The book looks at the row that is edited next: it is unpacked once for both.
        ctx.keys.loosen_ahead(ctx.key(1));
    }
    changefeed::guard_flush(ctx)?;
    if policy::parts_units(ctx.command) && ctx.command.id != CommandId::SwapDb {
        unit::part(ctx)?;
    }
    relocation::judge(ctx)?;
    match policy::course(ctx.command, ctx.keys.book_of(ctx.db).is_some()) {
        Course::AskBook => ask_book(ctx),
        Course::RunAndFollow => run_and_follow(ctx, Judged::Nothing, None, false),
        Course::Swap => swap(ctx),
        Course::Run => attempt(ctx),
    }
}

/// Asks the book of its database about a command, and does what it says.
fn ask_book(ctx: &mut Ctx<'_>) -> Outcome {
    let db = ctx.db;
    let (verdict, would_refuse) = loop {
        let (verdict, would_refuse, unfinished) = {
            let database = ctx.keys.database_at(db);
            let book = database.book().expect("who has no book asks none");
            let table_of = |position: usize| database.pattern(ctx.key(position).table);
            let sight = ctx.keys.sight(db);
            let verdict = match ctx.shared.unit {
                None => book.before(&sight, ctx.command, ctx.args, &table_of),
                Some(_) => book.before_in_unit(&sight, ctx.command, ctx.args, &table_of),
            };
            let would_refuse = if book.observes_any() {
                let call = (ctx.command, ctx.args);
                book.observed_before(&sight, call, &table_of, ctx.shared.unit.is_some())
            } else {
                Ok(None)
            };
            (verdict, would_refuse, sight.into_unfinished())
        };
        if unfinished.is_empty() {
            break (verdict, would_refuse);
        }
        // It was shown keys that are going.
        let Ctx { keys, session, shared, host, .. } = ctx;
        for key in unfinished {
            ends::finish_key(keys, shared, session, *host, (db, &key));
        }
    };
    let verdict = verdict.expect("the engine shows all it has at once");
    match would_refuse.expect("the engine shows all it has at once") {
        None => carry_out(ctx, verdict, false),
        Some(refusal) => {
            carry_out(ctx, verdict, true)?;
            // Who waited was counted when that began.
            if !matches!(ctx.mode, Mode::Woken(_)) {
                let call = Some(Call::of(ctx));
                observation::refuse(&mut ctx.stage(), call, &refusal);
            }
            Ok(())
        }
    }
}

/// Does what the book of its database says of a command. `is_told` if it is counted as one
/// that would be refused whatever it does.
#[inline(always)]
fn carry_out(ctx: &mut Ctx<'_>, verdict: Verdict, is_told: bool) -> Outcome {
    match verdict {
        Verdict::Run(Judged::All) => attempt(ctx),
        Verdict::Run(judged) => run_and_follow(ctx, judged, None, is_told),
        Verdict::RunUntil(at, Judged::All) => attempt_until(ctx, Some(at)),
        Verdict::RunUntil(at, judged) => run_and_follow(ctx, judged, Some(at), is_told),
        Verdict::Instead(other) => run_instead(ctx, &other.command, &other.reply),
        Verdict::Answer(number) => {
            ctx.reply.integer(number);
            Ok(())
        }
        Verdict::Refuse(refusal) => {
            try_before_refusal(ctx)?;
            let call = Some(Call::of(ctx));
            Err(refused(&mut ctx.stage(), call, &refusal))
        }
    }
}

/// Redis's own error for a command that the book refuses, which comes first.
fn try_before_refusal(ctx: &mut Ctx<'_>) -> Outcome {
    match policy::tried_before_refusal(ctx.command, ctx.args) {
        Tried::Whole => try_and_undo(ctx, Mode::Queued),
        Tried::Checks => try_and_undo(ctx, Mode::Checked),
        Tried::Type => check_string(ctx),
        Tried::Nothing => Ok(()),
    }
}

/// Runs a command to see whether Redis has an error for it, and undoes what it did.
fn try_and_undo<'a>(ctx: &mut Ctx<'a>, mode: Mode<'a>) -> Outcome {
    let start = Start::recording(ctx.keys);
    let reply = ctx.reply.defer();
    let mode = std::mem::replace(&mut ctx.mode, mode);
    let outcome = attempt(ctx);
    ctx.mode = mode;
    start.undo(ctx.keys, ctx.shared);
    start.end(ctx.keys);
    ctx.reply.abandon(reply);
    outcome
}

/// Redis's own error where the key of a command is no string.
fn check_string(ctx: &Ctx<'_>) -> Outcome {
    let sight = ctx.keys.sight(ctx.db);
    let row = sight.row(ctx.args.at(1)).expect("the engine shows all it has at once");
    match row.is_some_and(|row| row.row_type() != RowType::String) {
        true => Err(WireError::WrongType),
        false => Ok(()),
    }
}

/// The rows of a database under a schema belong to it: they cannot be swapped.
fn swap(ctx: &mut Ctx<'_>) -> Outcome {
    let known = policy::swapped(ctx.args).filter(|db| *db < ctx.keys.database_count());
    let mut governed = known.filter_map(|db| Some((db, ctx.keys.book_of(db)?)));
    match governed.next() {
        Some((db, book)) => {
            let text = policy::swap_refusal(db, &book.schema().keyspace.name);
            Err(WireError::Line(text.into_bytes().into()))
        }
        None => {
            unit::part(ctx)?;
            attempt(ctx)
        }
    }
}

/// Runs the command with the journal on, then what the book says follows. A string that it
/// sets ends at `until`, if the book says so.
fn run_and_follow(ctx: &mut Ctx<'_>, judged: Judged, until: Option<i64>, is_told: bool) -> Outcome {
    let start = Start::recording(ctx.keys);
    let reply = ctx.reply.defer();
    let mut outcome = attempt_until(ctx, until);
    if outcome.is_ok() {
        let call = Call::of(ctx);
        outcome = follow_call(&mut ctx.stage(), start, judged, Some(call), is_told);
    }
    if outcome.is_err() {
        start.undo(ctx.keys, ctx.shared);
        ctx.reply.abandon(reply);
    }
    start.end(ctx.keys);
    outcome
}

/// Runs another command in place of this one.
fn run_instead(ctx: &mut Ctx<'_>, command: &ArgBuf, reply: &[u8]) -> Outcome {
    let mut ignored = Vec::new();
    let args = command.args();
    let mode = if ctx.mode.is_atomic() { ctx.mode } else { Mode::Queued };
    let mut inner = ctx.inner(mode, resolve(args)?, args, &mut ignored);
    run_and_follow(&mut inner, Judged::Nothing, None, false)?;
    ctx.reply.bulk(reply);
    Ok(())
}

/// What a command would do, and why. Everything it does is undone.
pub(crate) fn explain(
    ctx: &mut Ctx<'_>,
    book: &RuleBook,
    command: &'static Command,
    args: Args<'_>,
) -> Vec<String> {
    let db = ctx.db;
    let now_ms = ctx.keys.now_ms();
    let mut lines = Vec::new();
    for key in command.keys_in(args) {
        let key = args.at(key.index);
        for (heading, about) in book.about(key) {
            lines.extend(about.into_iter().map(|line| format!("{heading}: {line}")));
        }
    }
    if let Some(reason) = policy::untried_by_explain(command) {
        lines.push(format!("Command: {reason}"));
        return lines;
    }
    let table_of = |position: usize| args.get(position).and_then(|key| book.table_of(key));
    // Where it only observes, it is told what the schema would do.
    let mut tables = command.keys_in(args).filter_map(|key| book.table_of(args.at(key.index)));
    let is_suspended = tables.any(|table| book.is_suspended(table));
    let book = if is_suspended { book.declared_book() } else { book };
    let verdict = book.before(&ctx.keys.sight(db), command, args, &table_of);
    let verdict = verdict.expect("the engine shows all it has at once");
    let sender = ctx.mode.sender();
    // What follows from a command is about keys that it does not name.
    let is_open = Call { db, command, args, sender }.shows_found(ctx.keys)
        && ctx.restricted_reader().is_none();
    let verdict = if is_open { verdict } else { verdict.discreet() };
    lines.push(format!("Before: {}", verdict.in_words(now_ms)));
    let (until, judged) = match verdict {
        Verdict::Run(judged) => (None, judged),
        Verdict::RunUntil(at, judged) => (Some(at), judged),
        Verdict::Refuse(_) => {
            let mut ignored = Vec::new();
            let mut trial = ctx.inner(Mode::Queued, command, args, &mut ignored);
            if let Err(error) = try_before_refusal(&mut trial) {
                lines.push(format!("Redis: {}", String::from_utf8_lossy(&error.text())));
            }
            return lines;
        }
        Verdict::Instead(_) | Verdict::Answer(_) => return lines,
    };
    let start = Start::recording(ctx.keys);
    let mut ignored = Vec::new();
    let mut trial = ctx.inner(Mode::Queued, command, args, &mut ignored);
    match attempt_until(&mut trial, until) {
        Err(error) => lines.push(format!("Redis: {}", String::from_utf8_lossy(&error.text()))),
        Ok(()) => {
            let answer = ctx.keys.report(db, start.journal, |changes| {
                book.after(&ctx.keys.sight(db), changes, judged, Cause::Command)
            });
            let after = match answer {
                Ok(consequences) if is_open => consequences.in_words(book, now_ms),
                Ok(consequences) => consequences.in_discreet_words(book),
                Err(objection) if is_open => vec![objection.in_words()],
                Err(objection) => vec![objection.discreet().in_words()],
            };
            lines.extend(after.into_iter().map(|line| format!("After: {line}")));
        }
    }
    start.undo(ctx.keys, ctx.shared);
    start.end(ctx.keys);
    lines
}

/// As [`follow_call`], where nobody's command did it.
fn follow(stage: &mut Stage<'_>, start: Start, judged: Judged) -> Outcome {
    follow_call(stage, start, judged, None, false)
}

/// Reports what a command did since a mark, and carries out what follows. The book
/// has thought of what follows from that in turn. `is_told` as for [`carry_out`].
fn follow_call(
    stage: &mut Stage<'_>,
    start: Start,
    judged: Judged,
    call: Option<Call<'_>>,
    mut is_told: bool,
) -> Outcome {
    let since = start.journal;
    let (mut all, mut all_ends, mut all_deferred) = (Vec::new(), Vec::new(), Vec::new());
    let unit = stage.shared.unit.as_ref().map(Unit::has_deferred);
    for db in stage.keys.databases_touched(since) {
        let Some(book) = stage.keys.book_of(db).cloned() else { continue };
        let stage = &mut stage.at(db);
        let answer = asked(stage, |keys, sight| {
            keys.report(db, since, |changes| match unit {
                None => book.after(sight, changes, judged, Cause::Command),
                Some(has_deferred) => book.after_in_unit(sight, changes, judged, has_deferred),
            })
        });
        match answer {
            Ok(Consequences { follow_ups, warnings, ends, deferred }) => {
                warn(stage, call, &warnings);
                hold_against(stage.keys, db, since, &book, &warnings);
                all.extend(follow_ups.into_iter().map(|command| (db, command)));
                all_ends.extend(ends.into_iter().map(|end| (db, end)));
                all_deferred.extend(deferred.into_iter().map(|deferred| (db, deferred)));
                if book.observes_any() {
                    is_told = observation::count(stage, &book, since, call, is_told);
                }
            }
            Err(Objection::Refused(refusal)) => return Err(refused(stage, call, &refusal)),
            Err(Objection::NotYet) => unreachable!("the engine shows all it has at once"),
        }
    }
    let Stage { keys, session, shared, host, .. } = stage;
    // What has begun is carried out.
    if !shared.is_unit_begun {
        changefeed::check_room(keys, shared, &all)?;
    }
    for (db, command) in &all {
        changefeed::begin_history(keys, shared, session, *host, (*db, command.args()))?;
        follow_up(keys, shared, session, *host, *db, command.args())?;
        changefeed::count(keys, *db, command.args());
    }
    for (db, end) in all_ends {
        keys.begin_end(db, end, since, start.effects, &shared.tunables.packed);
    }
    if let Some(unit) = shared.unit.as_mut().filter(|_| !all_deferred.is_empty()) {
        unit.defer(all_deferred, call.is_some_and(|call| call.shows_found(keys)));
    }
    Ok(())
}

/// What the book answers about a database. Where it was shown keys of which a pending end
/// has yet to remove something, those are finished and it is asked again.
fn asked<T>(stage: &mut Stage<'_>, ask: impl Fn(&Keyspace, &Sight<'_>) -> T) -> T {
    let Stage { keys, db, session, shared, host } = stage;
    loop {
        let sight = keys.sight(*db);
        let answer = ask(keys, &sight);
        let unfinished = sight.into_unfinished();
        if unfinished.is_empty() {
            return answer;
        }
        for key in unfinished {
            ends::finish_key(keys, shared, session, *host, (*db, &key));
        }
    }
}

/// Runs a follow-up: a plain command that no rule is asked about.
pub(crate) fn follow_up(
    keys: &mut Keyspace,
    shared: &mut Shared,
    session: &mut Session,
    host: &mut dyn Host,
    db: usize,
    args: Args<'_>,
) -> Outcome {
    let command = resolve(args)?;
    let mut ignored = Vec::new();
    let stage = Stage { keys, db, session, shared, host };
    attempt(&mut Ctx::new(stage, Mode::FollowUp, command, args, &mut ignored))
}

/// Carries out what follows from rows that went by themselves.
#[inline(always)]
pub(crate) fn follow_ended(
    keys: &mut Keyspace,
    shared: &mut Shared,
    session: &mut Session,
    host: &mut dyn Host,
) {
    if keys.has_ended() {
        follow_all_ended(keys, shared, session, host);
    }
}

fn follow_all_ended(
    keys: &mut Keyspace,
    shared: &mut Shared,
    session: &mut Session,
    host: &mut dyn Host,
) {
    let start = Start::recording(keys);
    while keys.has_ended() {
        // Each mark in the log moves those after it.
        let mut marks = 0;
        for ended in keys.take_ended() {
            let Some(book) = keys.book_of(ended.db).cloned() else { continue };
            let Ended { db, pattern, key, row, cause, logged } = ended;
            let mut stage = Stage { keys, db, session, shared, host };
            let answer = asked(&mut stage, |_, sight| {
                let change = Change {
                    table: Some(pattern),
                    key: &key,
                    deadline_before: Some(row.deadline()),
                    after: None,
                    what: What::Whole(Some(&*row)),
                    is_known_to_fit: false,
                    is_kept: true,
                };
                book.after(sight, &[change], Judged::Rows, cause)
            });
            let consequences = answer.unwrap_or_else(|objection| {
                // The book refuses nothing that happened by itself.
                let reason = objection.discreet().in_words();
                failures::note(keys, shared, host, db, "what the schema says", reason.as_bytes());
                Consequences::default()
            });
            for command in consequences.follow_ups {
                let outcome =
                    changefeed::begin_history(keys, shared, session, host, (db, command.args()))
                        .and_then(|()| follow_up(keys, shared, session, host, db, command.args()));
                if outcome.is_ok() {
                    changefeed::count(keys, db, command.args());
                }
                failures::look_at(keys, shared, host, (db, command.args()), outcome);
                if cause == Cause::Eviction {
                    count_companion(keys, db, &book, command.args());
                }
            }
            let mut row = Some(row);
            for end in consequences.ends {
                let recorded = keys.effects.len();
                keys.begin_own_end(db, end, &mut row, cause, logged + marks);
                marks += keys.effects.len() - recorded;
            }
            if let Some(row) = row.and_then(Rc::into_inner) {
                keys.reclaim.row(row, Freeing::AtOnce);
            }
        }
    }
    start.end(keys);
}

/// Counts a row that was removed because the one it lived with was evicted.
fn count_companion(keys: &mut Keyspace, db: usize, book: &RuleBook, follow_up: Args<'_>) {
    let removed = follow_up.get(1).filter(|_| follow_up.at(0) == b"DEL");
    let table = removed.and_then(|key| book.table_of(key));
    if let Some(table) = table.filter(|table| book.traits(*table).leader.is_some()) {
        keys.table_stats(db, Some(table)).evicted += 1;
        keys.stats.evicted += 1;
    }
}

/// As [`follow_ended`], outside of any command.
pub(crate) fn follow_ended_by_itself(
    keys: &mut Keyspace,
    shared: &mut Shared,
    host: &mut dyn Host,
) {
    if keys.has_ended() {
        let mut nobody = Session::new(ClientId(0), keys.now_ms(), true);
        follow_ended(keys, shared, &mut nobody, host);
    }
}

/// Keeps in mind that something may be wrong with what a command changed since a mark
/// and was let pass.
fn hold_against(
    keys: &mut Keyspace,
    db: usize,
    since: JournalMark,
    book: &RuleBook,
    warnings: &[Refusal],
) {
    if warnings.is_empty() {
        return;
    }
    let is_computed = |table: &KeyId| book.traits(*table).is_computed;
    let changed = keys.report(db, since, |changes| -> Vec<_> {
        let seen = changes.iter().map(|change| {
            let computed = change.table.filter(is_computed);
            let members = computed
                .map(|table| (table, book.touched_members(table, change, CONTRADICTIONS_KEPT + 1)));
            (Box::<[u8]>::from(change.key), members)
        });
        seen.collect()
    });
    for (key, members) in changed {
        match members {
            None => keys.suspect(db, &key),
            Some((table, members)) => {
                if warnings.iter().any(|warning| warning.table() == Some(table)) {
                    keys.contradict(db, book, (table, &key), members);
                }
            }
        }
    }
}

/// Refuses a command that is about to be queued if its arguments alone break the
/// schema, and notes whether it may leave something to the end of its unit.
pub(crate) fn check_arguments(
    keys: &mut Keyspace,
    shared: &mut Shared,
    (session, host): (&mut Session, &mut dyn Host),
    command: &'static Command,
    args: Args<'_>,
) -> Outcome {
    if command.id == CommandId::Select {
        note_selected(keys, session, args);
    }
    let selected = session.transaction.as_ref().and_then(|transaction| transaction.selected);
    let db = selected.unwrap_or(session.db);
    changefeed::check_part(keys, shared, db, (command, args))?;
    if !policy::is_judged_when_queued(command) {
        return Ok(());
    }
    let reaches_further = policy::reaches_other_databases(command);
    let Some(book) = keys.book_of(db).cloned() else {
        note_may_defer(session, reaches_further);
        return Ok(());
    };
    // Looking a key's table up is most of the work: what is looked up anyway is noted.
    let (looked_up, may_defer) = (Cell::new(0), Cell::new(false));
    let table_of = |position: usize| {
        let table = args.get(position).and_then(|key| book.table_of(key));
        looked_up.set(looked_up.get() + 1);
        may_defer.set(may_defer.get() | table.is_some_and(|table| book.is_judged_at_end(table)));
        table
    };
    if let Some(refusal) = book.arguments(keys.now_ms(), command, args, &table_of) {
        let call = Some(Call { db, command, args, sender: Sender::Client });
        return Err(refused(&mut Stage { keys, db, session, shared, host }, call, &refusal));
    }
    let mut keys_named = command.keys_in(args);
    if keys_named.len() != 1 || looked_up.get() == 0 {
        keys_named.any(|key| {
            table_of(key.index);
            may_defer.get()
        });
    }
    note_may_defer(session, may_defer.get() || reaches_further);
    Ok(())
}

/// Notes the database that commands are queued for behind a SELECT. One that will fail selects
/// none.
fn note_selected(keys: &Keyspace, session: &mut Session, args: Args<'_>) {
    if let (Some(transaction), Some(db)) = (&mut session.transaction, selected(keys, args)) {
        transaction.selected = Some(db);
    }
}

/// The database that a SELECT selects, if it will not fail.
fn selected(keys: &Keyspace, args: Args<'_>) -> Option<usize> {
    let db = args.get(1).and_then(number::parse_i64).and_then(|db| usize::try_from(db).ok());
    db.filter(|db| *db < keys.database_count())
}

/// Notes of the transaction that a command is queued for.
fn note_may_defer(session: &mut Session, may_defer: bool) {
    if let Some(transaction) = &mut session.transaction {
        transaction.may_defer |= may_defer;
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::{Engine, EngineOptions};
    use crate::host::Nobody;
    use crate::tunables::Tunables;

    const SCHEMA: &[u8] = br#"
        [keyspace]
        name = "shop"

        [key."user:{id:uint}"]
        type   = "json"
        ttl    = "1h"
        fields = { email = "str" }

        [key."by_email:{email}"]
        type   = "string"
        lookup = { of = "user:{id}", field = "email" }
    "#;

    #[test]
    fn once_due_rows_are_swept_commands_need_not_look_for_them() {
        let options = EngineOptions { seed: 1, databases: 1, tunables: Tunables::default() };
        let mut engine = Engine::new(options);
        engine.set_time(1_000_000);
        let checked = keyward_schema::check("keyward.toml", SCHEMA);
        engine.govern(0, checked.schema.expect("the schema here is sound"));
        let rows = [("user:1", r#"{"email":"a"}"#, "1"), ("user:2", r#"{"email":"b"}"#, "60")];
        for (key, value, seconds) in rows {
            let words = ["SET", key, value, "EX", seconds].map(str::as_bytes);
            assert_eq!(engine.call_trusted(&mut Nobody, &words), b"+OK\r\n");
        }
        engine.set_time(5_000_000);
        assert!(engine.keys.has_due_source());
        engine.tick(&mut Nobody);
        assert!(!engine.keys.has_due_source());
        engine.set_time(70_000_000);
        assert!(engine.keys.has_due_source());
    }
}
