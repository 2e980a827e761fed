//! SLOWLOG GET, LEN, RESET, HELP.

use crate::engine::context::{Ctx, Outcome};
use keyward_commands::WireError;
use keyward_resp::number::parse_i64;

/// Entries that GET shows unless told otherwise.
const SHOWN_BY_DEFAULT: i64 = 10;

pub(crate) fn get(ctx: &mut Ctx<'_>) -> Outcome {
    let count = match ctx.args.len() {
        2 => SHOWN_BY_DEFAULT,
        3 => {
            let invalid = WireError::Err("count should be greater than or equal to -1");
            parse_i64(ctx.args.at(2)).filter(|count| *count >= -1).ok_or(invalid)?
        }
        _ => return Err(WireError::subcommand_syntax(ctx.args)),
    };
    let log = &ctx.shared.stats.slow_log;
    // Minus one means all.
    let count = usize::try_from(count).map_or(log.len(), |count| count.min(log.len()));
    ctx.reply.array(count);
    for entry in log.iter().take(count) {
        ctx.reply.array(6);
        ctx.reply.integer(entry.id);
        ctx.reply.integer(entry.time_s);
        ctx.reply.integer(i64::try_from(entry.us).unwrap_or(i64::MAX));
        ctx.reply.array(entry.arguments.len());
        for argument in &entry.arguments {
            ctx.reply.bulk(argument);
        }
        ctx.reply.bulk(entry.address.as_bytes());
        ctx.reply.bulk(&entry.client_name);
    }
    Ok(())
}

pub(crate) fn len(ctx: &mut Ctx<'_>) -> Outcome {
    ctx.reply.count(ctx.shared.stats.slow_log.len());
    Ok(())
}

pub(crate) fn reset(ctx: &mut Ctx<'_>) -> Outcome {
    ctx.shared.stats.slow_log.clear();
    ctx.reply.ok();
    Ok(())
}

pub(crate) fn help(ctx: &mut Ctx<'_>) -> Outcome {
    ctx.reply_help(&[
        "GET [<count>]",
        "    Return top <count> entries from the slowlog (default: 10, -1 mean all).",
        "    Entries are made of:",
        "    id, timestamp, time in microseconds, arguments array, client IP and port,",
        "    client name",
        "LEN",
        "    Return the length of the slowlog.",
        "RESET",
        "    Reset the slowlog.",
    ]);
    Ok(())
}
