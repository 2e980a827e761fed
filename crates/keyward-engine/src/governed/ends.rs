//! Large ends: removing in steps what has gone already, and finishing what is touched.
//!
//! Owns who does the removing. Ticks take steps, each a unit of the log of its own. A command
//! has the keys that it touches finished first; what it would have to know of too many rows
//! for that, it waits for while others are served. Inside a script or a transaction nobody
//! can wait, and all of it is done at once.
//! Not here: who has to wait (`awaiting`), what is pending and what it hides
//! (`keyspace::pending`), which ends are large (the rule book).

use super::awaited::Awaited;
use super::failures;
use super::{Start, count_companion, depends_on_others, follow, follow_up, sorted_by};
use crate::engine::context::{Ctx, Stage};
use crate::engine::shared::Shared;
use crate::host::Host;
use crate::sessions::session::Session;
use crate::sessions::transaction;
use keyward_commands::{Command, CommandId};
use keyward_resp::Args;
use keyward_rules::host::policy::{self, FinishedFirst};
use keyward_rules::{Cause, Judged};
use keyward_store::keyspace::client_id::ClientId;
use keyward_store::keyspace::{EndCursor, Finish, Keyspace};

/// Rows of which a tick removes something, or changes that come to as many with all that
/// follows: a fifth of a millisecond of work.
const ROWS_PER_TICK: usize = 48;
/// After about so many rows a tick looks what has followed from them.
const ROWS_AT_A_TIME: usize = 8;
/// Steps that are gathered at a time where all are taken at once.
pub(super) const STEPS_AT_ONCE: usize = 1024;
/// Who has waited so long for due rows to go removes more of them itself: others become due.
pub(super) const DUE_PATIENCE_MS: i64 = 100;

/// Does what a pending end has yet to do to a key, or to one of its dependents. It is a part
/// of the unit around it, if there is one, and is undone with it; what that changed itself is
/// not asked about here.
fn finish(
    keys: &mut Keyspace,
    shared: &mut Shared,
    session: &mut Session,
    host: &mut dyn Host,
    finish: &Finish,
) {
    let args = finish.command.args();
    keys.journal.enter();
    let outcome = match finish.is_followed {
        false => {
            let outcome = follow_up(keys, shared, session, host, finish.db, args);
            keys.finished(finish);
            outcome
        }
        true => {
            let start = Start::recording(keys);
            let outcome = follow_up(keys, shared, session, host, finish.db, args);
            let outcome = outcome.and_then(|()| {
                let mut stage = Stage { keys, db: finish.db, session, shared, host };
                follow(&mut stage, start, Judged::Rows)
            });
            keys.finished(finish);
            start.end(keys);
            outcome
        }
    };
    keys.journal.leave();
    failures::look_at(keys, shared, host, (finish.db, args), outcome);
    if finish.cause == Cause::Eviction
        && let Some(book) = keys.book_of(finish.db).cloned()
    {
        count_companion(keys, finish.db, &book, args);
    }
}

/// Does what pending ends have yet to do to a key; whether there was anything.
pub(super) fn finish_key(
    keys: &mut Keyspace,
    shared: &mut Shared,
    session: &mut Session,
    host: &mut dyn Host,
    (db, key): (usize, &[u8]),
) -> bool {
    let unfinished = keys.unfinished(db, key);
    for it in &unfinished {
        finish(keys, shared, session, host, it);
    }
    !unfinished.is_empty()
}

/// Does all that these ends have yet to do, at once; whether there was anything. The ends
/// themselves stay pending: what is done may be undone.
fn finish_ends(
    keys: &mut Keyspace,
    shared: &mut Shared,
    session: &mut Session,
    host: &mut dyn Host,
    numbers: Vec<u64>,
) -> bool {
    let mut is_any = false;
    for number in numbers {
        let mut cursor = EndCursor::default();
        while let Some(steps) = keys.steps_of(number, &mut cursor, STEPS_AT_ONCE) {
            is_any |= !steps.is_empty();
            for step in &steps {
                finish(keys, shared, session, host, step);
            }
        }
    }
    is_any
}

/// Finishes the keys that a command touches. What is finished may begin other ends, of which
/// the same is true.
#[cold]
pub(super) fn finish_touched(ctx: &mut Ctx<'_>) {
    let (own_db, command, args) = (ctx.db, ctx.command, ctx.args);
    let mut touched: Vec<Box<[u8]>> = Vec::new();
    if policy::runs_queue(command) {
        let watched = ctx.keys.changes.watches.watched_by(ctx.session.id);
        touched.extend(watched.map(|(_, key)| key.into()));
    } else {
        touched.extend(command.keys_in(ctx.args).map(|key| ctx.args.at(key.index).into()));
    }
    let reaches_all_databases =
        policy::reaches_other_databases(command) || policy::runs_queue(command);
    let is_written = policy::may_begin_ends(command) && !policy::runs_queue(command);
    let Ctx { keys, session, shared, host, .. } = ctx;
    loop {
        let awaited = match policy::finished_first(command, args) {
            FinishedFirst::All => keys.pending_up_to(u64::MAX, true),
            FinishedFirst::BeyondKeys => keys.pending_up_to(u64::MAX, false),
            FinishedFirst::OfDraw => keys.pending_up_to(u64::MAX, !keys.draws_shown(own_db)),
            FinishedFirst::OfKeys => Vec::new(),
        };
        let mut is_any = finish_ends(keys, shared, session, *host, awaited);
        for db in 0..keys.database_count() {
            if db != own_db && !reaches_all_databases {
                continue;
            }
            for key in &touched {
                if let Some(end) = keys.awaited_end(db, key, is_written) {
                    let awaited = keys.pending_up_to(end, false);
                    is_any |= finish_ends(keys, shared, session, *host, awaited);
                }
                is_any |= finish_key(keys, shared, session, *host, (db, key));
            }
        }
        if policy::reads_unnamed(command, args) {
            for key in sorted_by::keys_read(keys, own_db, args) {
                is_any |= finish_key(keys, shared, session, *host, (own_db, &key));
            }
        }
        if !is_any {
            break;
        }
    }
}

/// Does all that pending ends have yet to do, at once: what is written next shall have nothing
/// of it.
pub(crate) fn finish_all(ctx: &mut Ctx<'_>) {
    let Ctx { keys, session, shared, host, .. } = ctx;
    while finish_ends(keys, shared, session, *host, keys.pending_up_to(u64::MAX, true)) {}
}

/// Does again what a command of the log says of ends, and what they mean for it.
#[cold]
pub(crate) fn replay(ctx: &mut Ctx<'_>) {
    let db = ctx.db;
    if ctx.command.id == CommandId::Exists {
        ctx.keys.replay_end(db, ctx.args);
    } else if ctx.keys.has_pending() {
        let is_removed = matches!(ctx.command.id, CommandId::Del | CommandId::Unlink);
        let (command, args) = (ctx.command, ctx.args);
        let Ctx { keys, session, shared, host, .. } = ctx;
        for key in command.keys_in(args) {
            let key = args.at(key.index);
            for lost in keys.replay_loss(db, key) {
                let outcome = follow_up(keys, shared, session, *host, db, lost.args());
                failures::look_at(keys, shared, *host, (db, lost.args()), outcome);
            }
            keys.replay_write(db, key, is_removed);
        }
    }
}

/// Takes steps of the first end that is pending, for about so many rows. Not for a unit that
/// may be undone.
pub(super) fn advance(
    keys: &mut Keyspace,
    shared: &mut Shared,
    session: &mut Session,
    host: &mut dyn Host,
    budget: usize,
) {
    for step in keys.next_steps(budget) {
        finish(keys, shared, session, host, &step);
    }
}

/// Takes a step of the first end that is pending; whether there is more to do.
pub(crate) fn step(keys: &mut Keyspace, shared: &mut Shared, host: &mut dyn Host) -> bool {
    if keys.has_pending() {
        let mut nobody = Session::new(ClientId(0), keys.now_ms(), true);
        keys.effects.begin_unit();
        let (begun, mut rows) = (keys.changes.dirty, 0);
        while rows < ROWS_PER_TICK
            && keys.changes.dirty.saturating_sub(begun) < ROWS_PER_TICK as u64
            && keys.has_pending()
        {
            advance(keys, shared, &mut nobody, host, ROWS_AT_A_TIME);
            rows += ROWS_AT_A_TIME;
        }
    }
    keys.has_pending()
}

/// Lets those go on who waited for what is over now.
pub(crate) fn release(keys: &Keyspace, shared: &mut Shared) {
    if shared.awaiting.is_empty() {
        return;
    }
    let is_settled = !keys.has_due_source();
    let (ended, now_ms) = (keys.ended_up_to(), keys.now_ms());
    let goes_on = |awaited: &mut Awaited| {
        let has_waited = now_ms - awaited.since_ms >= DUE_PATIENCE_MS;
        awaited.end <= ended && (is_settled || has_waited || !awaited.no_due_source)
    };
    let clients = shared.awaiting.extract_if(.., goes_on).map(|awaited| awaited.client).collect();
    shared.let_go_on(clients);
}

/// The number of the end that has to be over before a command by itself can run; zero if
/// none has to.
pub(super) fn awaited_by(keys: &Keyspace, db: usize, command: &Command, args: Args<'_>) -> u64 {
    match policy::finished_first(command, args) {
        FinishedFirst::OfDraw if keys.has_pending() && !keys.draws_shown(db) => keys.ends_begun(),
        FinishedFirst::All => keys.ends_begun(),
        FinishedFirst::BeyondKeys | FinishedFirst::OfDraw => keys.awaited_by_scans(),
        FinishedFirst::OfKeys => {
            let awaited = command.keys_in(args).flat_map(|key| {
                let is_written = policy::may_begin_ends(command);
                let of_db = move |db| keys.awaited_end(db, args.at(key.index), is_written);
                match policy::reaches_other_databases(command) {
                    true => (0..keys.database_count()).filter_map(of_db).max(),
                    false => of_db(db),
                }
            });
            awaited.max().unwrap_or(0)
        }
    }
}

/// Whether something would have to be removed before a command can run: what it names is in
/// part gone already, or depends on rows whose time is over. Where nothing may be written it
/// has to wait, be it that it only reads.
pub(crate) fn removes_first(
    keys: &Keyspace,
    session: &Session,
    command: &Command,
    args: Args<'_>,
) -> bool {
    if !keys.is_governed() || transaction::queues(session, command) {
        return false;
    }
    if keys.has_due_source() && depends_on_others(keys, session, command, args) {
        return true;
    }
    let touches = |command: &Command, args: Args<'_>| {
        policy::runs_script(command)
            || policy::reads_unnamed(command, args)
            || awaited_by(keys, session.db, command, args) > keys.ended_up_to()
            || command
                .keys_in(args)
                .any(|key| !keys.unfinished(session.db, args.at(key.index)).is_empty())
    };
    keys.has_pending()
        && match &session.transaction {
            Some(transaction) if policy::runs_queue(command) => {
                let mut watched = keys.changes.watches.watched_by(session.id);
                let mut queue = transaction.queue.iter();
                watched.any(|(db, key)| !keys.unfinished(db, key).is_empty())
                    || queue.any(|(command, args)| {
                        policy::leaves_database(command) || touches(command, args.args())
                    })
            }
            _ => touches(command, args),
        }
}
