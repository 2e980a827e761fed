//! Running a handler, and logging what it changed (the effect log).

use crate::engine::context::{Ctx, Outcome};
use keyward_resp::ArgBuf;

/// Runs the handler and logs what it changed.
#[inline]
pub(crate) fn attempt(ctx: &mut Ctx<'_>) -> Outcome {
    ctx.keys.effects.begin_command();
    let dirty = ctx.keys.changes.dirty;
    let outcome = (ctx.shared.handlers[ctx.command.id as usize])(ctx);
    if ctx.keys.changes.dirty != dirty {
        log_as_called(ctx);
    }
    outcome
}

/// Logs the command as it was called, but for its name: that is Redis's.
#[inline]
fn log_as_called(ctx: &mut Ctx<'_>) {
    let db = ctx.keys.selected();
    if ctx.shared.names.are_plain() {
        return ctx.keys.effects.end_command(db, ctx.args);
    }
    let name = ctx.command.container.map_or(ctx.command, |it| it.command()).name;
    let rest = ctx.args.from(1);
    let call: ArgBuf = std::iter::once(name.as_bytes()).chain(rest.iter()).collect();
    ctx.keys.effects.end_command(db, call.args());
}
