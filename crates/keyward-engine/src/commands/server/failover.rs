//! FAILOVER: a replica takes over.

use crate::engine::context::{Ctx, Outcome};
use crate::sessions::failover::{Failover, FailoverStage};
use crate::sessions::replicas::Stage;
use keyward_commands::{WireError, args};
use keyward_lua::LogLevel;

pub(crate) fn failover(ctx: &mut Ctx<'_>) -> Outcome {
    if ctx.args.len() == 2 && args::is(ctx.args.at(1), "ABORT") {
        if ctx.shared.failover.is_none() {
            return Err(WireError::Err("No failover in progress."));
        }
        ctx.shared.abort_failover(ctx.keys, ctx.host, "Failover manually aborted");
        ctx.reply.ok();
        return Ok(());
    }
    let failover = parse(ctx)?;
    if ctx.shared.failover.is_some() {
        return Err(WireError::Err("FAILOVER already in progress."));
    }
    if ctx.shared.primary.is_some() {
        return Err(WireError::Err("FAILOVER is not valid when server is a replica."));
    }
    if ctx.shared.replicas.count() == 0 {
        return Err(WireError::Err("FAILOVER requires connected replicas."));
    }
    if failover.is_forced && (failover.until_ms.is_none() || failover.target.is_none()) {
        return Err(WireError::Err(
            "FAILOVER with force option requires both a timeout and target HOST and IP.",
        ));
    }
    if let Some(target) = &failover.target {
        let client = ctx.shared.replica_at(ctx.host, target);
        let replica = client.and_then(|client| ctx.shared.replicas.get(client));
        match replica.map(|replica| replica.stage) {
            Some(Stage::Online) => {}
            Some(_) => return Err(WireError::Err("FAILOVER target replica is not online.")),
            None => {
                return Err(WireError::Err("FAILOVER target HOST and PORT is not a replica."));
            }
        }
    }
    if ctx.shared.changeover.is_some() || ctx.shared.reloading.is_some() {
        return Err(WireError::Err("a schema is on its way into force; try again when it is"));
    }
    let line = match &failover.target {
        Some((name, port)) => {
            format!("FAILOVER requested to {}:{port}.", String::from_utf8_lossy(name))
        }
        None => "FAILOVER requested.".to_owned(),
    };
    ctx.host.log(LogLevel::Notice, line.as_bytes());
    ctx.shared.begin_failover(ctx.keys, failover);
    ctx.reply.ok();
    Ok(())
}

fn parse(ctx: &Ctx<'_>) -> Result<Failover, WireError> {
    let stage = FailoverStage::WaitingForSync;
    let mut failover = Failover { stage, target: None, until_ms: None, is_forced: false };
    let (args, mut index) = (ctx.args, 1);
    while index < args.len() {
        let word = args.at(index);
        if args::is(word, "TIMEOUT") && index + 1 < args.len() && failover.until_ms.is_none() {
            let timeout_ms = args::integer(args.at(index + 1))?;
            if timeout_ms <= 0 {
                return Err(WireError::Err("FAILOVER timeout must be greater than 0"));
            }
            failover.until_ms = Some(ctx.keys.now_ms().saturating_add(timeout_ms));
            index += 2;
        } else if args::is(word, "TO") && index + 2 < args.len() && failover.target.is_none() {
            let port = args::integer(args.at(index + 2))?;
            // No replica has another one.
            let port = u16::try_from(port).unwrap_or(0);
            failover.target = Some((args.at(index + 1).to_vec(), port));
            index += 3;
        } else if args::is(word, "FORCE") && !failover.is_forced {
            failover.is_forced = true;
            index += 1;
        } else {
            return Err(WireError::Syntax);
        }
    }
    Ok(failover)
}
