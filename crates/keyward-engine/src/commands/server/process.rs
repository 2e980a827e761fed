//! SHUTDOWN, LOLWUT: the server as a whole.

use crate::commands::server::persistence::save_at_the_end;
use crate::commands::server::shutdown::Shutdown;
use crate::engine::context::{Ctx, Outcome};
use crate::sessions::shutdown::{CANNOT_SHUT_DOWN, LastWish};
use keyward_commands::{REDIS_VERSION, WireError, args};
use keyward_lua::LogLevel;

pub(crate) fn shutdown(ctx: &mut Ctx<'_>) -> Outcome {
    let shutdown = Shutdown::parse(ctx.args)?;
    if shutdown.is_abort {
        let was_waiting = ctx.shared.cancel_shutdown(ctx.keys, ctx.host);
        if !ctx.host.abort_shutdown(was_waiting) {
            return Err(WireError::Err("No shutdown in progress."));
        }
        ctx.host.log(LogLevel::Notice, b"Shutdown manually aborted.");
        ctx.reply.ok();
        return Ok(());
    }
    let saves_by_itself = ctx.host.saves_by_itself() && !shutdown.is_without_save;
    // What is loaded so far would take the place of what is being loaded.
    let saves = (shutdown.saves || saves_by_itself) && !ctx.shared.is_loading;
    let wish = LastWish { saves, is_forced: shutdown.is_forced };
    let waits = !shutdown.is_now && ctx.shared.await_replicas(ctx.keys, ctx.host, Some(wish));
    if let Some(shutdown) = ctx.shared.shutdown.as_mut().filter(|_| waits) {
        shutdown.clients.push(ctx.session.id);
        ctx.block_in_vain(0);
        return Ok(());
    }
    if !finish_shutdown(ctx, wish) {
        return Err(CANNOT_SHUT_DOWN);
    }
    ctx.session.is_closing = true;
    Ok(())
}

/// Ends the server, unless what is to be saved cannot be, or what was acknowledged is in no
/// file yet; whether it ends.
pub(crate) fn finish_shutdown(ctx: &mut Ctx<'_>, wish: LastWish) -> bool {
    let mut may_end = ctx.shared.may_end(ctx.host, wish);
    if may_end && wish.saves && !save_at_the_end(ctx) {
        ctx.host.log(LogLevel::Warning, wish.unsaved_line().as_bytes());
        may_end = wish.is_forced;
    }
    match may_end {
        true => ctx.host.shut_down(),
        false => ctx.host.shutdown_failed(),
    }
    may_end
}

pub(crate) fn lolwut(ctx: &mut Ctx<'_>) -> Outcome {
    if ctx.args.len() >= 3 && args::is(ctx.args.at(1), "VERSION") {
        // The art of older versions is theirs; a number must be one all the same.
        args::integer(ctx.args.at(2))?;
    }
    ctx.reply.verbatim(*b"txt", format!("Redis ver. {REDIS_VERSION}\n").as_bytes());
    Ok(())
}
