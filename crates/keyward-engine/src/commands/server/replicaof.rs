//! REPLICAOF and SLAVEOF: whom this server follows.
//!
//! Not here: what follows from it (`engine::primary`).

use crate::engine::context::{Ctx, Outcome};
use keyward_commands::{WireError, args};
use keyward_lua::LogLevel;

pub(crate) fn replicaof(ctx: &mut Ctx<'_>) -> Outcome {
    if ctx.shared.failover.is_some() {
        return Err(WireError::Err("REPLICAOF not allowed while failing over."));
    }
    if args::is(ctx.args.at(1), "NO") && args::is(ctx.args.at(2), "ONE") {
        if ctx.shared.primary.is_some() {
            ctx.shared.lead(ctx.keys, ctx.host);
            log_role(ctx, "MASTER MODE enabled (user request");
        }
        ctx.reply.ok();
        return Ok(());
    }
    if ctx.session.is_replica {
        return Err(WireError::Err("Command is not valid when client is a replica."));
    }
    let invalid = WireError::Err("Invalid master port");
    let port = args::integer_or(ctx.args.at(2), invalid.clone())?;
    let port = u16::try_from(port).map_err(|_| invalid)?;
    let host = ctx.args.at(1);
    let is_same = |host: &[u8], other: &[u8]| host.eq_ignore_ascii_case(other);
    if let Some(primary) = &ctx.shared.primary
        && is_same(&primary.host, host)
        && primary.port == port
    {
        ctx.host.log(
            LogLevel::Notice,
            b"REPLICAOF would result into synchronization with the master we are already connected with. No operation performed.",
        );
        ctx.reply.simple("OK Already connected to specified master");
        return Ok(());
    }
    if ctx.shared.changeover.is_some() || ctx.shared.reloading.is_some() {
        return Err(WireError::Err("a schema is on its way into force; try again when it is"));
    }
    ctx.shared.follow(ctx.keys, ctx.host, (host, port));
    let name = String::from_utf8_lossy(host).into_owned();
    log_role(ctx, &format!("REPLICAOF {name}:{port} enabled (user request"));
    ctx.reply.ok();
    Ok(())
}

/// Says what was done, and on whose behalf.
pub(super) fn log_role(ctx: &mut Ctx<'_>, what: &str) {
    let client = ctx.shared.handlers.describe_client;
    let running = (ctx.session.id, ctx.args);
    let onlooker = crate::engine::context::Onlooker {
        keys: ctx.keys,
        shared: ctx.shared,
        host: ctx.host,
        running,
    };
    let client = client(&onlooker, ctx.session);
    let line = format!("{what} from '{}')", client.trim_end());
    ctx.host.log(LogLevel::Notice, line.as_bytes());
}
