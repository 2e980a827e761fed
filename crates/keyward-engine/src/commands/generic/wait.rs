//! WAIT: until replicas have confirmed.
//!
//! What is waited for is the client's last command, and so all that it wrote or read before.

use crate::engine::context::{Ctx, Outcome};
use crate::sessions::replicas::AckWait;
use keyward_commands::{WireError, args};

pub(crate) fn wait(ctx: &mut Ctx<'_>) -> Outcome {
    let count = args::integer(ctx.args.at(1))?;
    let timeout_ms = args::integer_or(ctx.args.at(2), WireError::TimeoutNotInteger)?;
    let timeout_ms = u64::try_from(timeout_ms).map_err(|_| WireError::TimeoutNegative)?;
    // What is not in the stream yet was written by this client just now.
    if !ctx.keys.effects.is_empty() {
        ctx.shared.feed_effects(ctx.keys);
        ctx.session.offset = ctx.shared.replication.offset();
    }
    let offset = ctx.session.offset;
    let acknowledged = ctx.shared.replicas.acknowledged(offset);
    // Redis 7.0 waits for as many as the low 32 bits say.
    if acknowledged >= count || acknowledged >= i64::from(count as i32) || ctx.mode.is_atomic() {
        ctx.reply.integer(acknowledged);
        return Ok(());
    }
    let client = ctx.session.id;
    ctx.shared.replicas.waits.push(AckWait { client, count: i64::from(count as i32), offset });
    ctx.shared.replicas.wants_acks |= ctx.shared.replicas.count() > 0;
    ctx.block_in_vain(timeout_ms);
    Ok(())
}
