//! ROLE, SHUTDOWN, LOLWUT: the server as a whole.

use crate::REDIS_VERSION;
use crate::context::{Ctx, Outcome};
use crate::server::persistence::save_now;
use keyward_commands::{WireError, args};

pub(crate) fn role(ctx: &mut Ctx<'_>) -> Outcome {
    // A master at offset zero, without replicas.
    ctx.reply.array(3);
    ctx.reply.bulk(b"master");
    ctx.reply.integer(0);
    ctx.reply.array(0);
    Ok(())
}

pub(crate) fn shutdown(ctx: &mut Ctx<'_>) -> Outcome {
    let has = |word: &str| ctx.args.from(1).iter().any(|argument| args::is(argument, word));
    let words = ["NOSAVE", "SAVE", "NOW", "FORCE", "ABORT"];
    let is_known = |argument: &[u8]| words.iter().any(|word| args::is(argument, word));
    let (is_abort, saves) = (has("ABORT"), has("SAVE"));
    let contradicts = saves && has("NOSAVE")
        || is_abort && !ctx.args.from(1).iter().all(|a| args::is(a, "ABORT"));
    if !ctx.args.from(1).iter().all(is_known) || contradicts {
        return Err(WireError::Syntax);
    }
    if is_abort {
        // It ends within the command that asks for it.
        return Err(WireError::Err("No shutdown in progress."));
    }
    let must_save = saves || ctx.host.saves_by_itself() && !has("NOSAVE");
    let is_forced = has("FORCE");
    if must_save && !save_now(ctx) && !is_forced {
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
