//! CONFIG GET, SET, RESETSTAT, REWRITE, HELP. The settings are the host's.

use crate::engine::context::{Ctx, Mode, Outcome};
use crate::host::Rewrite;
use crate::sessions::replicas::SyncCounters;
use keyward_commands::WireError;

pub(crate) fn get(ctx: &mut Ctx<'_>) -> Outcome {
    let patterns: Vec<&[u8]> = ctx.args.from(2).iter().collect();
    let found = ctx.host.config_get(&patterns);
    ctx.reply.map(found.len());
    for (name, value) in found {
        ctx.reply.bulk(name.as_bytes());
        ctx.reply.bulk(&value);
    }
    Ok(())
}

pub(crate) fn set(ctx: &mut Ctx<'_>) -> Outcome {
    if !ctx.args.len().is_multiple_of(2) {
        return Err(WireError::Syntax);
    }
    let words: Vec<&[u8]> = ctx.args.from(2).iter().collect();
    let pairs: Vec<(&[u8], &[u8])> = words.chunks_exact(2).map(|w| (w[0], w[1])).collect();
    let client = ctx.session.id;
    let is_fixed = |(name, _): &(&[u8], _)| ctx.host.is_fixed_while_loading(client, name);
    if ctx.shared.is_loading && pairs.iter().any(is_fixed) {
        return Err(WireError::Loading);
    }
    let waits = !ctx.mode.is_atomic() && !matches!(ctx.mode, Mode::Woken(_));
    if waits && ctx.host.prepare_config(client, &pairs) {
        ctx.block_in_vain(0);
        return Ok(());
    }
    let tunables = ctx.host.config_set(client, &pairs).map_err(refused)?;
    ctx.shared.set_tunables(ctx.keys, tunables);
    ctx.reply.ok();
    Ok(())
}

fn refused(text: String) -> WireError {
    WireError::line(&[b"ERR ", text.as_bytes()])
}

pub(crate) fn resetstat(ctx: &mut Ctx<'_>) -> Outcome {
    ctx.keys.reset_stats();
    ctx.keys.reclaim.reset_counter();
    ctx.shared.stats.reset();
    ctx.shared.replicas.counters = SyncCounters::default();
    ctx.host.reset_stats();
    ctx.reply.ok();
    Ok(())
}

pub(crate) fn rewrite(ctx: &mut Ctx<'_>) -> Outcome {
    ctx.host
        .config_rewrite(
            Rewrite::Changed,
            &ctx.shared.acl.lines().map(<[u8]>::to_vec).collect::<Vec<_>>(),
        )
        .map_err(refused)?;
    ctx.reply.ok();
    Ok(())
}

pub(crate) fn help(ctx: &mut Ctx<'_>) -> Outcome {
    ctx.reply_help(&[
        "GET <pattern>",
        "    Return parameters matching the glob-like <pattern> and their values.",
        "SET <directive> <value>",
        "    Set the configuration <directive> to <value>.",
        "RESETSTAT",
        "    Reset statistics reported by the INFO command.",
        "REWRITE",
        "    Rewrite the configuration file.",
    ]);
    Ok(())
}
