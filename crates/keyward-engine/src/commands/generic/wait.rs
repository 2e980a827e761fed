//! WAIT and WAITAOF: until replicas have confirmed, or what was written is safe.
//!
//! What is waited for is the client's last command, and so all that it wrote or read before.

use crate::engine::context::{Ctx, Outcome};
use crate::engine::following::NO_FILE;
use crate::sessions::replicas::{AckWait, Safe};
use keyward_commands::{WireError, args};

/// What clients of a replica hear.
const WAIT_ON_REPLICA: &str = "WAIT cannot be used with replica instances. Please also note that since Redis 4.0 if a replica is configured to be writable (which is not the default) writes to replicas are just local and are not propagated.";
const WAITAOF_ON_REPLICA: &str = "WAITAOF cannot be used with replica instances. Please also note that writes to replicas are just local and are not propagated.";

pub(crate) fn wait(ctx: &mut Ctx<'_>) -> Outcome {
    if ctx.shared.primary.is_some() {
        return Err(WireError::Err(WAIT_ON_REPLICA));
    }
    let count = args::integer(ctx.args.at(1))?;
    let timeout_ms = timeout(ctx.args.at(2))?;
    let offset = place(ctx);
    let acknowledged = ctx.shared.replicas.acknowledged(offset);
    // Redis 7.0 waits for as many as the low 32 bits say.
    if acknowledged >= count || acknowledged >= i64::from(count as i32) || ctx.must_not_wait() {
        ctx.reply.integer(acknowledged);
        return Ok(());
    }
    let (client, count) = (ctx.session.id, i64::from(count as i32));
    block(ctx, AckWait { client, count, offset, safe: None }, timeout_ms);
    Ok(())
}

pub(crate) fn waitaof(ctx: &mut Ctx<'_>) -> Outcome {
    if ctx.shared.primary.is_some() {
        return Err(WireError::Err(WAITAOF_ON_REPLICA));
    }
    let is_local = args::integer_within(ctx.args.at(1), 0, 1)? == 1;
    let count = args::non_negative_or(ctx.args.at(2), WireError::NotPositive)?;
    let count = i64::try_from(count).map_err(|_| WireError::NotPositive)?;
    let timeout_ms = timeout(ctx.args.at(3))?;
    let logged = ctx.host.log_ends();
    if is_local && !ctx.host.keeps_log() {
        return Err(NO_FILE);
    }
    let is_whole = ctx.shared.is_log_whole(ctx.keys);
    let offset = place(ctx);
    let is_safe = is_whole && logged.is_some_and(|(logged, synced)| synced >= logged);
    let synced = ctx.shared.replicas.synced(offset);
    if (synced >= count && (is_safe || !is_local)) || ctx.must_not_wait() {
        ctx.reply.array(2);
        ctx.reply.integer(i64::from(is_safe));
        ctx.reply.integer(synced);
        return Ok(());
    }
    let safe = Some(Safe { is_local, position: None });
    block(ctx, AckWait { client: ctx.session.id, count, offset, safe }, timeout_ms);
    Ok(())
}

fn timeout(argument: &[u8]) -> Result<u64, WireError> {
    let timeout_ms = args::integer_or(argument, WireError::TimeoutNotInteger)?;
    u64::try_from(timeout_ms).map_err(|_| WireError::TimeoutNegative)
}

/// The place in the stream that the client has got to.
fn place(ctx: &mut Ctx<'_>) -> u64 {
    // What is not in the stream yet was written by this client just now; amid a unit it stays
    // with the rest of that.
    if !ctx.keys.effects.is_empty() && !ctx.must_not_wait() {
        ctx.shared.feed_effects(ctx.keys);
        ctx.session.offset = ctx.shared.replication.offset();
    }
    ctx.session.offset
}

fn block(ctx: &mut Ctx<'_>, wait: AckWait, timeout_ms: u64) {
    ctx.shared.replicas.waits.push(wait);
    ctx.shared.replicas.wants_acks |= ctx.shared.replicas.count() > 0;
    ctx.block_in_vain(timeout_ms);
}
