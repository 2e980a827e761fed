//! Large ends: removing in steps what has gone already, and finishing what is touched.
//!
//! Owns who does the removing. Ticks take steps, each a unit of the log of its own. A command
//! has the keys that it touches finished first; what it would have to know of too many rows
//! for that, it waits for while others are served. Inside a script or a transaction nobody
//! can wait, and all of it is done at once.
//! Not here: what is pending and what it hides (`keyspace::pending`), which ends are large
//! (the rule book).

use super::awaited::Awaited;
use super::{Start, count_companion, depends_on_others, follow, follow_ended, follow_up};
use crate::engine::Engine;
use crate::engine::context::Ctx;
use crate::engine::shared::Shared;
use crate::host::Host;
use crate::sessions::session::Session;
use crate::sessions::transaction;
use keyward_commands::flags::Flag;
use keyward_commands::{Command, CommandId};
use keyward_resp::Args;
use keyward_rules::{Cause, Judged};
use keyward_store::keyspace::client_id::ClientId;
use keyward_store::keyspace::{Finish, Keyspace};

/// Rows of which a tick removes something: a fifth of a millisecond of work.
const ROWS_PER_TICK: usize = 48;
/// Due rows that a command removes before it runs; it waits for more.
const SETTLED_AT_ONCE: usize = 32;
/// While so many ends are pending nothing is written under a schema.
const ENDS_MAX: usize = 256;
/// Who waits for fewer goes on when so many are left.
const ENDS_LEFT: u64 = 128;

/// Does what a pending end has yet to do to a key, or to one of its dependents.
fn finish(
    keys: &mut Keyspace,
    shared: &mut Shared,
    session: &mut Session,
    host: &mut dyn Host,
    finish: &Finish,
) {
    // What stands must stay, whatever becomes of the unit around it.
    let around = (finish.stands && keys.journal.is_on()).then(|| std::mem::take(&mut keys.journal));
    let args = finish.command.args();
    let outcome = match finish.is_followed {
        false => follow_up(keys, shared, session, host, finish.db, args),
        true => {
            let start = Start::recording(keys);
            let outcome = follow_up(keys, shared, session, host, finish.db, args);
            let outcome =
                outcome.and_then(|()| follow(keys, shared, session, host, start, Judged::Rows));
            start.end(keys);
            outcome
        }
    };
    debug_assert!(outcome.is_ok(), "what an end does fits the keyspace");
    keys.finished(finish);
    if finish.cause == Cause::Eviction
        && let Some(book) = keys.book_of(finish.db).cloned()
    {
        count_companion(keys, finish.db, &book, args);
    }
    if let Some(around) = around {
        keys.journal = around;
    }
}

/// Does what pending ends have yet to do to a key.
pub(super) fn finish_key(
    keys: &mut Keyspace,
    shared: &mut Shared,
    session: &mut Session,
    host: &mut dyn Host,
    (db, key): (usize, &[u8]),
) {
    for unfinished in keys.unfinished(db, key) {
        finish(keys, shared, session, host, &unfinished);
    }
}

/// Takes all steps of the ends up to a number, at once.
fn finish_ends(
    keys: &mut Keyspace,
    shared: &mut Shared,
    session: &mut Session,
    host: &mut dyn Host,
    number: u64,
) {
    while keys.ended_up_to() < number {
        for step in keys.next_steps(usize::MAX) {
            finish(keys, shared, session, host, &step);
        }
    }
}

/// Finishes the keys that a command touches.
#[cold]
pub(super) fn finish_touched(ctx: &mut Ctx<'_>) {
    let (selected, command) = (ctx.keys.selected(), ctx.command);
    let mut touched: Vec<Box<[u8]>> = Vec::new();
    match command.id {
        CommandId::Exec => {
            let watched = ctx.keys.changes.watches.watched_by(ctx.session.id);
            touched.extend(watched.map(|(_, key)| key.into()));
        }
        _ => touched.extend(command.keys_in(ctx.args).map(|key| ctx.args.at(key.index).into())),
    }
    let Ctx { keys, session, shared, host, .. } = ctx;
    if reaches_everything(command) {
        let all = keys.ends_begun();
        finish_ends(keys, shared, session, *host, all);
    }
    for db in 0..keys.database_count() {
        for key in &touched {
            let table = keys.database_at(db).table_of(key);
            if let Some(end) = keys.awaited_end(db, table) {
                finish_ends(keys, shared, session, *host, end);
            }
            finish_key(keys, shared, session, *host, (db, key));
        }
    }
    keys.select(selected);
}

/// Takes all steps of all ends at once: what is written next shall have nothing of them.
pub(crate) fn finish_all(ctx: &mut Ctx<'_>) {
    let Ctx { keys, session, shared, host, .. } = ctx;
    let (selected, all) = (keys.selected(), keys.ends_begun());
    finish_ends(keys, shared, session, *host, all);
    keys.select(selected);
}

/// Takes steps of the first end that is pending, for about so many rows.
pub(super) fn advance(
    keys: &mut Keyspace,
    shared: &mut Shared,
    session: &mut Session,
    host: &mut dyn Host,
    budget: usize,
) {
    let selected = keys.selected();
    for step in keys.next_steps(budget) {
        finish(keys, shared, session, host, &step);
    }
    keys.select(selected);
}

/// Takes a step of the first end that is pending; whether there is more to do.
pub(crate) fn step(keys: &mut Keyspace, shared: &mut Shared, host: &mut dyn Host) -> bool {
    if keys.has_pending() {
        let mut nobody = Session::new(ClientId(0), keys.now_ms(), true);
        keys.effects.begin_unit();
        advance(keys, shared, &mut nobody, host, ROWS_PER_TICK);
    }
    keys.has_pending()
}

/// Lets those go on who waited for what is over now.
pub(crate) fn release(keys: &Keyspace, shared: &mut Shared) {
    if shared.awaiting.is_empty() {
        return;
    }
    let is_settled = !keys.has_due_source();
    let ended = keys.ended_up_to();
    let goes_on =
        |awaited: &mut Awaited| awaited.end <= ended && (is_settled || !awaited.no_due_source);
    let clients = shared.awaiting.extract_if(.., goes_on).map(|awaited| awaited.client).collect();
    shared.let_go_on(clients);
}

/// Whether a command looks at rows of which nothing tells beforehand.
fn reaches_everything(command: &Command) -> bool {
    use CommandId::{Debug, KeywardExplain, RandomKey, Save, Sort, SortRo};
    matches!(command.id, Debug | KeywardExplain | RandomKey | Save | Sort | SortRo)
}

/// The number of the end that has to be over before a command by itself can run; zero if
/// none has to.
fn awaited_by(keys: &Keyspace, db: usize, command: &Command, args: Args<'_>) -> u64 {
    match command.id {
        _ if reaches_everything(command) => keys.ends_begun(),
        CommandId::Keys | CommandId::Scan => keys.awaited_by_scans(),
        _ => {
            let awaited = command.keys_in(args).flat_map(|key| {
                let table = |db: usize| keys.database_at(db).table_of(args.at(key.index));
                let of_db = move |db: usize| keys.awaited_end(db, table(db));
                match command.id {
                    CommandId::Copy | CommandId::Move => {
                        (0..keys.database_count()).filter_map(of_db).max()
                    }
                    _ => of_db(db),
                }
            });
            awaited.max().unwrap_or(0)
        }
    }
}

impl Engine {
    /// Removes what a command must not see, if that takes little; has the client wait for it
    /// otherwise, and answers that it does.
    #[cold]
    pub(crate) fn await_ends(
        &mut self,
        host: &mut dyn Host,
        session: &mut Session,
        command: &Command,
        args: Args<'_>,
    ) -> bool {
        let is_exempt = session.id == ClientId(0) || session.is_monitor || session.is_replica;
        if is_exempt || transaction::queues(session, command) {
            return false;
        }
        let Engine { keys, shared, .. } = self;
        let mut is_settled = true;
        if keys.is_unsettled() && depends_on_others(keys, session, command, args) {
            keys.effects.begin_unit();
            is_settled = keys.settle(SETTLED_AT_ONCE);
            follow_ended(keys, shared, session, host);
            shared.spread_news(keys, Some(session));
        }
        let mut end = match (command.id, &session.transaction) {
            (CommandId::Exec, Some(transaction)) => {
                let queued = transaction.queue.iter();
                let awaited = queued
                    .map(|(command, args)| awaited_by(keys, session.db, command, args.args()));
                awaited.max().unwrap_or(0)
            }
            _ => awaited_by(keys, session.db, command, args),
        };
        let writes = command.flags.has(Flag::Write) || command.id == CommandId::Exec;
        if writes && shared.drains_ends {
            end = keys.ends_begun();
        } else if writes && keys.pending_ends() > ENDS_MAX {
            end = end.max(keys.ends_begun() - ENDS_LEFT);
        }
        if is_settled && end <= keys.ended_up_to() {
            return false;
        }
        session.postponed.push_front(args.into());
        session.is_paused = true;
        let (client, no_due_source) = (session.id, !is_settled);
        shared.awaiting.push(Awaited { client, end, no_due_source });
        true
    }

    /// Whether ends are pending: a snapshot of this instant would have what is gone.
    pub fn has_pending_ends(&self) -> bool {
        self.keys.has_pending()
    }

    /// Lets who writes wait until all pending ends are over, or no longer so.
    pub fn drain_ends(&mut self, is_on: bool) {
        self.shared.drains_ends = is_on;
    }

    /// Takes all steps of pending ends at once.
    pub fn finish_ends(&mut self, host: &mut dyn Host) {
        let Engine { keys, shared, .. } = self;
        let mut nobody = Session::new(ClientId(0), keys.now_ms(), true);
        let all = keys.ends_begun();
        keys.effects.begin_unit();
        finish_ends(keys, shared, &mut nobody, host, all);
    }
}
