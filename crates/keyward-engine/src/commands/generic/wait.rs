//! WAIT: until replicas have confirmed.
//!
//! There are no replicas, so the answer is zero: at once where that is enough or
//! the command must not wait, else when its time is over.

use crate::engine::context::{Ctx, Outcome};
use keyward_commands::{WireError, args};

pub(crate) fn wait(ctx: &mut Ctx<'_>) -> Outcome {
    let replicas = args::integer(ctx.args.at(1))?;
    let timeout_ms = args::integer_or(ctx.args.at(2), WireError::TimeoutNotInteger)?;
    let timeout_ms = u64::try_from(timeout_ms).map_err(|_| WireError::TimeoutNegative)?;
    // Redis 7.0 waits for as many as the low 32 bits say.
    if replicas <= 0 || replicas as i32 <= 0 || ctx.mode.is_atomic() {
        ctx.reply.integer(0);
    } else {
        ctx.block_in_vain(timeout_ms);
    }
    Ok(())
}
