//! Running a handler, and logging what it changed (the effect log).

use crate::engine::context::{Ctx, Outcome};
use keyward_resp::ArgBuf;

/// Runs the handler and logs what it changed.
#[inline]
pub(crate) fn attempt(ctx: &mut Ctx<'_>) -> Outcome {
    let handler = ctx.shared.handlers.plain[ctx.command.id as usize];
    run_logged(ctx, handler)
}

/// As `attempt`; a string that the command sets, or counts up from nothing, ends at a time
/// that the rule book says, if any, whatever the command says of that.
#[inline]
pub(crate) fn attempt_until(ctx: &mut Ctx<'_>, until: Option<i64>) -> Outcome {
    let Some(at) = until else { return attempt(ctx) };
    let handler = ctx.shared.handlers.until;
    run_logged(ctx, |ctx| handler(ctx, at))
}

#[inline(always)]
fn run_logged(ctx: &mut Ctx<'_>, handler: impl FnOnce(&mut Ctx<'_>) -> Outcome) -> Outcome {
    ctx.keys.effects.begin_command();
    let dirty = ctx.keys.changes.dirty;
    let outcome = handler(ctx);
    if ctx.keys.changes.dirty != dirty && ctx.keys.effects.is_listening() {
        log_as_called(ctx);
    }
    outcome
}

/// Logs the command as it was called, but for its name: that is Redis's.
#[inline(never)]
fn log_as_called(ctx: &mut Ctx<'_>) {
    let db = ctx.db;
    if ctx.shared.names.are_plain() {
        return ctx.keys.effects.end_command(db, ctx.args);
    }
    let name = ctx.command.container.map_or(ctx.command, |it| it.command()).name;
    let rest = ctx.args.from(1);
    let call: ArgBuf = std::iter::once(name.as_bytes()).chain(rest.iter()).collect();
    ctx.keys.effects.end_command(db, call.args());
}
