//! SHUTDOWN, LOLWUT: the server as a whole.

use crate::commands::server::persistence::save_at_the_end;
use crate::commands::server::shutdown::Shutdown;
use crate::engine::context::{Ctx, Outcome};
use keyward_commands::{REDIS_VERSION, WireError, args};

pub(crate) fn shutdown(ctx: &mut Ctx<'_>) -> Outcome {
    let shutdown = Shutdown::parse(ctx.args)?;
    if shutdown.is_abort {
        // It ends within the command that asks for it.
        return Err(WireError::Err("No shutdown in progress."));
    }
    let saves_by_itself = ctx.host.saves_by_itself() && !shutdown.is_without_save;
    let must_save = shutdown.saves || saves_by_itself;
    ctx.host.begin_shutdown(must_save);
    if must_save && !save_at_the_end(ctx) && !shutdown.is_forced {
        return Err(WireError::Err("Errors trying to SHUTDOWN. Check logs."));
    }
    ctx.host.shut_down();
    ctx.session.is_closing = true;
    Ok(())
}

pub(crate) fn lolwut(ctx: &mut Ctx<'_>) -> Outcome {
    if ctx.args.len() >= 3 && args::is(ctx.args.at(1), "VERSION") {
        // The art of older versions is theirs; a number must be one all the same.
        args::integer(ctx.args.at(2))?;
    }
    ctx.reply.verbatim(*b"txt", format!("Redis ver. {REDIS_VERSION}\n").as_bytes());
    Ok(())
}
