//! CLIENT ID, GETNAME, SETNAME, REPLY, NO-EVICT, UNBLOCK, KILL, HELP.

use super::client_list::{Kind, parse_kind, session};
use crate::engine::context::{Ctx, Outcome};
use crate::sessions::courier::Delivery;
use crate::sessions::session::ReplyMode;
use keyward_commands::WireError;
use keyward_commands::args::{self, Options};
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
    if !name.iter().all(|byte| (b'!'..=b'~').contains(byte)) {
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
    let was_waiting = ctx.shared.end_wait(ctx.keys, ctx.host, ClientId(id as u64), error);
    ctx.reply.integer(was_waiting.into());
    Ok(())
}

/// Which clients CLIENT KILL means.
struct Victims<'a> {
    address: Option<&'a [u8]>,
    local_address: Option<&'a [u8]>,
    kind: Option<Kind>,
    id: Option<ClientId>,
    user: Option<&'a [u8]>,
    skips_self: bool,
}

impl<'a> Victims<'a> {
    fn parse(ctx: &Ctx<'a>) -> Result<Victims<'a>, WireError> {
        let mut victims = Victims {
            address: None,
            local_address: None,
            kind: None,
            id: None,
            user: None,
            skips_self: true,
        };
        if ctx.args.len() == 3 {
            victims.address = Some(ctx.args.at(2));
            victims.skips_self = false;
            return Ok(victims);
        }
        let mut options = Options::new(ctx.args, 2);
        while let Some(word) = options.next() {
            let value = options.value()?;
            if args::is(word, "ID") {
                let invalid = WireError::Err("client-id should be greater than 0");
                let id = args::non_negative_or(value, invalid.clone())?;
                victims.id = Some(ClientId(id)).filter(|id| id.0 > 0);
                victims.id.ok_or(invalid)?;
            } else if args::is(word, "TYPE") {
                victims.kind = Some(parse_kind(value)?);
            } else if args::is(word, "ADDR") {
                victims.address = Some(value);
            } else if args::is(word, "LADDR") {
                victims.local_address = Some(value);
            } else if args::is(word, "USER") {
                if ctx.shared.acl.user(value).is_none() {
                    return Err(WireError::line(&[b"ERR No such user '", value, b"'"]));
                }
                victims.user = Some(value);
            } else if args::is(word, "SKIPME") {
                victims.skips_self = match (args::is(value, "YES"), args::is(value, "NO")) {
                    (true, _) => true,
                    (_, true) => false,
                    _ => return Err(WireError::Syntax),
                };
            } else {
                return Err(WireError::Syntax);
            }
        }
        Ok(victims)
    }

    fn include(&self, ctx: &Ctx<'_>, id: ClientId) -> bool {
        let connection = ctx.host.connection(id);
        let kind = session(ctx, id).map(Kind::of);
        let user = session(ctx, id).and_then(|session| session.user.as_ref());
        self.kind.is_none_or(|wanted| kind == Some(wanted))
            && self.address.is_none_or(|address| connection.address.as_bytes() == address)
            && self.local_address.is_none_or(|a| connection.local_address.as_bytes() == a)
            && self.id.is_none_or(|wanted| wanted == id)
            && self.user.is_none_or(|wanted| user.is_some_and(|user| *user.name == *wanted))
    }
}

pub(crate) fn kill(ctx: &mut Ctx<'_>) -> Outcome {
    let victims = Victims::parse(ctx)?;
    let own = ctx.session.id;
    let mut killed = 0;
    for id in ctx.shared.sessions.ids() {
        if (id == own && victims.skips_self) || !victims.include(ctx, id) {
            continue;
        }
        killed += 1;
        if id == own {
            ctx.session.is_closing = true;
        } else {
            ctx.shared.outbox.push(Delivery::Close(id));
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
