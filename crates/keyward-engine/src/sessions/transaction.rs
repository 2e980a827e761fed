//! MULTI, EXEC, DISCARD, WATCH, UNWATCH.
//!
//! Owns queueing and running a transaction. A transaction is one unit: its
//! commands see one time, nobody runs in between, and waiting clients are served
//! only after it. Redis's rule holds: an error of one command leaves the others'
//! effects in place.
//! Not here: which keys are watched (`watch`).

use crate::engine::context::{Ctx, Mode, Outcome};
use crate::sessions::session::{Session, Transaction};
use keyward_commands::flags::Flag;
use keyward_commands::{Command, CommandId, WireError};
use keyward_resp::{ArgBuf, Args};
use keyward_store::keyspace::Keyspace;

/// Whether a client's command goes to the queue instead of running.
#[inline]
pub(crate) fn queues(session: &Session, command: &Command) -> bool {
    session.transaction.is_some()
        && !matches!(
            command.id,
            CommandId::Exec
                | CommandId::Discard
                | CommandId::Multi
                | CommandId::Watch
                | CommandId::Quit
                | CommandId::Reset
        )
}

/// Puts a command into the queue.
pub(crate) fn queue(session: &mut Session, command: &'static Command, args: Args<'_>) {
    if let Some(transaction) = &mut session.transaction {
        // A transaction that cannot commit any more keeps nothing.
        if !transaction.is_aborted {
            let args = ArgBuf::from(args);
            transaction.queued_bytes += args.heap_bytes();
            transaction.queue.push((command, args));
        }
    }
}

pub(crate) fn multi(ctx: &mut Ctx<'_>) -> Outcome {
    if ctx.session.transaction.is_some() {
        return Err(WireError::NestedMulti);
    }
    ctx.session.transaction = Some(Transaction::default());
    ctx.reply.ok();
    Ok(())
}

pub(crate) fn discard(ctx: &mut Ctx<'_>) -> Outcome {
    if ctx.session.transaction.take().is_none() {
        return Err(WireError::DiscardWithoutMulti);
    }
    ctx.keys.changes.watches.unwatch(ctx.session.id);
    ctx.reply.ok();
    Ok(())
}

pub(crate) fn exec(ctx: &mut Ctx<'_>) -> Outcome {
    let Some(transaction) = ctx.session.transaction.take() else {
        return Err(WireError::ExecWithoutMulti);
    };
    let client = ctx.session.id;
    let is_broken = ctx.keys.changes.watches.is_broken(client) || watches_a_due_key(ctx);
    ctx.keys.changes.watches.unwatch(client);
    if transaction.is_aborted {
        return Err(WireError::ExecAborted);
    }
    if is_broken {
        ctx.reply.null_array();
        return Ok(());
    }
    ctx.reply.array(transaction.queue.len());
    let mut replies = Vec::new();
    for (command, args) in &transaction.queue {
        ctx.call(Mode::Queued, command, args.args(), &mut replies);
    }
    ctx.reply.raw(&replies);
    ctx.reply.set_protocol(ctx.session.protocol);
    // Each queued command was logged by itself.
    ctx.keys.effects.suppress();
    Ok(())
}

/// Whether a command writes, or is the EXEC of one that does.
pub(crate) fn writes(session: &Session, command: &Command) -> bool {
    match (command.id, &session.transaction) {
        (CommandId::Exec, Some(transaction)) => {
            transaction.queue.iter().any(|(queued, _)| queued.flags.has(Flag::Write))
        }
        _ => command.flags.has(Flag::Write),
    }
}

/// What a client gets whose EXEC is refused: the transaction is gone.
pub(crate) fn refuse_exec(
    keys: &mut Keyspace,
    session: &mut Session,
    reason: &WireError,
) -> WireError {
    session.transaction = None;
    keys.changes.watches.unwatch(session.id);
    let text = reason.text();
    let text = match reason {
        WireError::WrongArity(_) => text.strip_prefix(b"ERR ").unwrap_or(&text),
        _ => &text,
    };
    WireError::line(&[b"EXECABORT Transaction discarded because of: ", text])
}

/// Whether a watched key's time is over though nobody has removed it yet.
fn watches_a_due_key(ctx: &Ctx<'_>) -> bool {
    ctx.keys.changes.watches.keys_of(ctx.session.id).any(|(db, key)| {
        let row = ctx.keys.database_at(db).find(key);
        row.is_some_and(|row| ctx.keys.is_due(&row))
    })
}

pub(crate) fn watch(ctx: &mut Ctx<'_>) -> Outcome {
    if ctx.session.transaction.is_some() {
        return Err(WireError::WatchInsideMulti);
    }
    let db = ctx.keys.selected();
    for position in 1..ctx.args.len() {
        let key = ctx.key(position);
        let row = ctx.keys.database().table(key).find(key);
        let was_due = row.is_some_and(|row| ctx.keys.is_due(&row));
        ctx.keys.changes.watches.watch(ctx.session.id, db, key.bytes, was_due);
    }
    ctx.reply.ok();
    Ok(())
}

pub(crate) fn unwatch(ctx: &mut Ctx<'_>) -> Outcome {
    ctx.keys.changes.watches.unwatch(ctx.session.id);
    ctx.reply.ok();
    Ok(())
}
