//! CLIENT PAUSE and UNPAUSE.

use crate::engine::context::{Ctx, Outcome};
use crate::sessions::pause::{Held, Pause};
use keyward_commands::{WireError, args};

pub(crate) fn pause(ctx: &mut Ctx<'_>) -> Outcome {
    let held = match ctx.args.get(3) {
        _ if ctx.args.len() > 4 => {
            return Err(WireError::subcommand_syntax(ctx.args));
        }
        None => Held::Everything,
        Some(word) if args::is(word, "ALL") => Held::Everything,
        Some(word) if args::is(word, "WRITE") => Held::Writes,
        Some(_) => return Err(WireError::Err("CLIENT PAUSE mode must be WRITE or ALL")),
    };
    let timeout_ms = args::integer_or(ctx.args.at(2), WireError::TimeoutNotInteger)?;
    if timeout_ms < 0 {
        return Err(WireError::TimeoutNegative);
    }
    let until_ms = match timeout_ms {
        0 => 0,
        _ => {
            let until = ctx.keys.now_ms().checked_add(timeout_ms);
            until.ok_or(WireError::Err("timeout is out of range"))?
        }
    };
    // A second pause can only hold more and longer.
    let pause = Pause { held, until_ms, clients: Vec::new() };
    let pause = match ctx.shared.pause.take() {
        None => pause,
        Some(old) => Pause {
            held: old.held.max(held),
            until_ms: old.until_ms.max(until_ms),
            clients: old.clients,
        },
    };
    ctx.shared.pause = Some(pause);
    ctx.reply.ok();
    Ok(())
}

pub(crate) fn unpause(ctx: &mut Ctx<'_>) -> Outcome {
    ctx.shared.end_pause(ctx.keys);
    ctx.reply.ok();
    Ok(())
}
