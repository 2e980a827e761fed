//! MONITOR.

use crate::engine::context::{Ctx, Outcome};
use keyward_commands::WireError;

pub(crate) fn monitor(ctx: &mut Ctx<'_>) -> Outcome {
    if ctx.mode.is_atomic() {
        return Err(WireError::Err("MONITOR isn't allowed for DENY BLOCKING client"));
    }
    // Redis answers nothing at all to one who watches already.
    if !ctx.session.is_monitor {
        ctx.session.is_monitor = true;
        ctx.shared.monitors.push(ctx.session.id);
        ctx.reply.ok();
    }
    Ok(())
}
