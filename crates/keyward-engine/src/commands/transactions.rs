//! MULTI, EXEC, DISCARD, WATCH and UNWATCH.
//!
//! Owns how a transaction begins and ends; its queue is the session's. A transaction is
//! one unit: its commands see one time, nobody runs in between, and waiting clients are
//! served only after it. Redis's rule holds: an error of one command leaves the others'
//! effects in place. Only a transaction that breaks a schema at its end is undone whole
//! (`governed::unit`).

use crate::engine::context::{Ctx, Mode, Outcome};
use crate::engine::runner;
use crate::governed::unit;
use crate::sessions::session::Transaction;
use crate::sessions::transaction::{self, Executing};
use keyward_commands::WireError;
use keyward_resp::ReplyWriter;

pub(crate) fn multi(ctx: &mut Ctx<'_>) -> Outcome {
    if ctx.session.transaction.is_some() {
        return Err(WireError::NestedMulti);
    }
    let schema_version = ctx.keys.schema_version();
    ctx.session.transaction = Some(Transaction { schema_version, ..Transaction::default() });
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
    let unit =
        unit::is_formed_by(ctx.keys, &transaction).then(|| unit::begin(ctx.keys, ctx.shared));
    let (db, protocol) = (ctx.session.db, ctx.session.protocol);
    let mut replies = Vec::new();
    ctx.shared.is_unit_begun = true;
    let (count, bytes) = (transaction.queue.len(), transaction.queued_bytes);
    ctx.shared.executing = Some(Executing { client, count, bytes });
    for (command, args) in &transaction.queue {
        if let Err(error) = ctx.check_queued(command, args.args()) {
            ctx.shared.stats.errors.count(error.code());
            error.write_to(&mut ReplyWriter::new(&mut replies, ctx.session.protocol));
            continue;
        }
        runner::call(ctx, Mode::Queued, command, args.args(), &mut replies);
    }
    ctx.shared.is_unit_begun = false;
    ctx.shared.executing = None;
    if let Some(Err(reason)) = unit.map(|unit| unit.end(ctx)) {
        ctx.session.db = db;
        ctx.session.protocol = protocol;
        return Err(transaction::discarded_because_of(&reason));
    }
    ctx.reply.array(transaction.queue.len());
    ctx.reply.raw(&replies);
    ctx.reply.set_protocol(ctx.session.protocol);
    // Each queued command was logged by itself.
    ctx.keys.effects.suppress();
    Ok(())
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
    for position in 1..ctx.args.len() {
        let key = ctx.key(position);
        let row = ctx.keys.table(key).find(key);
        let was_due = row.is_some_and(|row| ctx.keys.is_due(&row));
        ctx.keys.changes.watches.watch(ctx.session.id, ctx.db, key.bytes, was_due);
    }
    ctx.reply.ok();
    Ok(())
}

pub(crate) fn unwatch(ctx: &mut Ctx<'_>) -> Outcome {
    ctx.keys.changes.watches.unwatch(ctx.session.id);
    ctx.reply.ok();
    Ok(())
}
