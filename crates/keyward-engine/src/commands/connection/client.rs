//! CLIENT ID, GETNAME, SETNAME, SETINFO, REPLY, NO-EVICT, NO-TOUCH, UNBLOCK, KILL, HELP.

use super::client_filter::Filter;
use crate::engine::context::{Ctx, Outcome};
use crate::sessions::session::ReplyMode;
use keyward_commands::WireError;
use keyward_commands::args;
use keyward_store::keyspace::client_id::ClientId;

pub(crate) fn id(ctx: &mut Ctx<'_>) -> Outcome {
    ctx.reply.integer(ctx.session.id.0 as i64);
    Ok(())
}

pub(crate) fn getname(ctx: &mut Ctx<'_>) -> Outcome {
    match &ctx.session.name {
        Some(name) => ctx.reply.bulk(name),
        None => ctx.reply.null(),
    }
    Ok(())
}

pub(crate) fn setname(ctx: &mut Ctx<'_>) -> Outcome {
    set_name(ctx, ctx.args.at(2))?;
    ctx.reply.ok();
    Ok(())
}

/// Names the client; an empty name takes the name away.
pub(super) fn set_name(ctx: &mut Ctx<'_>, name: &[u8]) -> Outcome {
    if !is_printable(name) {
        let text = "Client names cannot contain spaces, newlines or special characters.";
        return Err(WireError::Err(text));
    }
    ctx.session.name = (!name.is_empty()).then(|| name.into());
    Ok(())
}

pub(crate) fn reply(ctx: &mut Ctx<'_>) -> Outcome {
    let word = ctx.args.at(2);
    if args::is(word, "ON") {
        ctx.session.reply_mode = ReplyMode::On;
        ctx.reply.ok();
    } else if args::is(word, "OFF") {
        ctx.session.reply_mode = ReplyMode::Off;
    } else if args::is(word, "SKIP") {
        if ctx.session.reply_mode != ReplyMode::Off {
            ctx.session.reply_mode = ReplyMode::SkipNext;
        }
    } else {
        return Err(WireError::Syntax);
    }
    Ok(())
}

pub(crate) fn no_evict(ctx: &mut Ctx<'_>) -> Outcome {
    let word = ctx.args.at(2);
    ctx.session.no_evict = match (args::is(word, "ON"), args::is(word, "OFF")) {
        (true, _) => true,
        (_, true) => false,
        _ => return Err(WireError::Syntax),
    };
    ctx.reply.ok();
    Ok(())
}

pub(crate) fn no_touch(ctx: &mut Ctx<'_>) -> Outcome {
    let word = ctx.args.at(2);
    ctx.session.no_touch = match (args::is(word, "ON"), args::is(word, "OFF")) {
        (true, _) => true,
        (_, true) => false,
        _ => return Err(WireError::Syntax),
    };
    ctx.reply.ok();
    Ok(())
}

/// Notes which library a client uses; an empty text takes the note away.
pub(crate) fn setinfo(ctx: &mut Ctx<'_>) -> Outcome {
    let (word, text) = (ctx.args.at(2), ctx.args.at(3));
    let library = &mut ctx.session.library;
    let place = match (args::is(word, "LIB-NAME"), args::is(word, "LIB-VER")) {
        (true, _) => &mut library.name,
        (_, true) => &mut library.version,
        _ => return Err(WireError::line(&[b"ERR Unrecognized option '", word, b"'"])),
    };
    if !is_printable(text) {
        let problem = b" cannot contain spaces, newlines or special characters.";
        return Err(WireError::line(&[b"ERR ", word, problem]));
    }
    *place = (!text.is_empty()).then(|| text.into());
    ctx.reply.ok();
    Ok(())
}

/// Whether a text leaves a line of CLIENT LIST readable.
fn is_printable(text: &[u8]) -> bool {
    text.iter().all(|byte| (b'!'..=b'~').contains(byte))
}

pub(crate) fn unblock(ctx: &mut Ctx<'_>) -> Outcome {
    let error = match ctx.args.get(3) {
        None => None,
        Some(word) if args::is(word, "TIMEOUT") => None,
        Some(word) if args::is(word, "ERROR") => {
            Some(WireError::line(&[b"UNBLOCKED client unblocked via CLIENT UNBLOCK"]))
        }
        Some(_) => {
            return Err(WireError::Err("CLIENT UNBLOCK reason should be TIMEOUT or ERROR"));
        }
    };
    let id = args::integer(ctx.args.at(2))?;
    let client = ClientId(id as u64);
    // Keys that are on their way to another server cannot be called back.
    let was_waiting = !ctx.shared.awaits_exchange(client)
        && ctx.shared.end_wait(ctx.keys, ctx.host, client, error);
    ctx.reply.integer(was_waiting.into());
    Ok(())
}

pub(crate) fn kill(ctx: &mut Ctx<'_>) -> Outcome {
    let is_address = ctx.args.len() == 3;
    let mut victims = if is_address { Filter::at(ctx.args.at(2)) } else { Filter::parse(ctx, 2)? };
    victims.skips_self.get_or_insert(!is_address);
    let own = ctx.session.id;
    let mut killed = 0;
    for id in ctx.shared.sessions.ids() {
        if !victims.includes(ctx, id) {
            continue;
        }
        killed += 1;
        if id == own {
            ctx.session.is_closing = true;
        } else {
            if ctx.mode.is_atomic() {
                // It goes now, be it that the rest of the unit takes long.
                ctx.host.hang_up(id);
            }
            ctx.shared.end_client(ctx.keys, id);
        }
    }
    match (ctx.args.len(), killed) {
        (3, 0) => return Err(WireError::Err("No such client")),
        (3, _) => ctx.reply.ok(),
        _ => ctx.reply.integer(killed),
    }
    Ok(())
}

pub(crate) fn help(ctx: &mut Ctx<'_>) -> Outcome {
    ctx.reply_help(&[
        "CACHING (YES|NO)",
        "    Enable/disable tracking of the keys for next command in OPTIN/OPTOUT modes.",
        "GETREDIR",
        "    Return the client ID we are redirecting to when tracking is enabled.",
        "GETNAME",
        "    Return the name of the current connection.",
        "ID",
        "    Return the ID of the current connection.",
        "INFO",
        "    Return information about the current client connection.",
        "KILL <ip:port>",
        "    Kill connection made from <ip:port>.",
        "KILL <option> <value> [<option> <value> [...]]",
        "    Kill connections. Options are:",
        "    * ADDR (<ip:port>|<unixsocket>:0)",
        "      Kill connections made from the specified address",
        "    * LADDR (<ip:port>|<unixsocket>:0)",
        "      Kill connections made to specified local address",
        "    * TYPE (NORMAL|MASTER|REPLICA|PUBSUB)",
        "      Kill connections by type.",
        "    * USER <username>",
        "      Kill connections authenticated by <username>.",
        "    * SKIPME (YES|NO)",
        "      Skip killing current connection (default: yes).",
        "LIST [options ...]",
        "    Return information about client connections. Options:",
        "    * TYPE (NORMAL|MASTER|REPLICA|PUBSUB)",
        "      Return clients of specified type.",
        "UNPAUSE",
        "    Stop the current client pause, resuming traffic.",
        "PAUSE <timeout> [WRITE|ALL]",
        "    Suspend all, or just write, clients for <timeout> milliseconds.",
        "REPLY (ON|OFF|SKIP)",
        "    Control the replies sent to the current connection.",
        "SETNAME <name>",
        "    Assign the name <name> to the current connection.",
        "UNBLOCK <clientid> [TIMEOUT|ERROR]",
        "    Unblock the specified blocked client.",
        "TRACKING (ON|OFF) [REDIRECT <id>] [BCAST] [PREFIX <prefix> [...]]",
        "         [OPTIN] [OPTOUT] [NOLOOP]",
        "    Control server assisted client side caching.",
        "TRACKINGINFO",
        "    Report tracking status for the current connection.",
        "NO-EVICT (ON|OFF)",
        "    Protect current client connection from eviction.",
    ]);
    Ok(())
}
