//! ZREM, ZREMRANGEBYRANK, ZREMRANGEBYSCORE, ZREMRANGEBYLEX.

use super::event;
use crate::commands::zset::bounds;
use crate::engine::context::{Ctx, Outcome};
use keyward_commands::args;
use keyward_store::values::zset::{Direction, ZSet};
use std::ops::Range;

pub(crate) fn zrem(ctx: &mut Ctx<'_>) -> Outcome {
    let key = ctx.key(1);
    let Some(mut zset) = ctx.keys.edit::<ZSet>(key)? else {
        ctx.reply.integer(0);
        return Ok(());
    };
    let mut removed = 0;
    for member in ctx.args.from(2).iter() {
        removed += u64::from(zset.remove(member));
    }
    match removed {
        0 => zset.unchanged(),
        removed => zset.changed(event("zrem"), removed),
    }
    ctx.reply.count(removed as usize);
    Ok(())
}

pub(crate) fn zremrangebyrank(ctx: &mut Ctx<'_>) -> Outcome {
    let start = args::integer(ctx.args.at(2))?;
    let end = args::integer(ctx.args.at(3))?;
    remove_ranks(ctx, "zremrangebyrank", |zset| bounds::ranks(start, end, zset.len()))
}

pub(crate) fn zremrangebyscore(ctx: &mut Ctx<'_>) -> Outcome {
    let cuts = bounds::scores(ctx.args.at(2), ctx.args.at(3))?;
    remove_ranks(ctx, "zremrangebyscore", |zset| zset.span(cuts, Direction::Forward))
}

pub(crate) fn zremrangebylex(ctx: &mut Ctx<'_>) -> Outcome {
    let cuts = bounds::members(ctx.args.at(2), ctx.args.at(3))?;
    remove_ranks(ctx, "zremrangebylex", |zset| zset.span(cuts, Direction::Forward))
}

fn remove_ranks(
    ctx: &mut Ctx<'_>,
    name: &'static str,
    ranks: impl FnOnce(&ZSet) -> Range<usize>,
) -> Outcome {
    let key = ctx.key(1);
    let Some(mut zset) = ctx.keys.edit::<ZSet>(key)? else {
        ctx.reply.integer(0);
        return Ok(());
    };
    let ranks = ranks(&zset);
    let removed = ranks.len();
    if removed > 0 {
        zset.remove_ranks(ranks);
        zset.changed(event(name), removed as u64);
    }
    ctx.reply.count(removed);
    Ok(())
}
