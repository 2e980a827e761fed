//! ZCARD, ZCOUNT, ZLEXCOUNT, ZSCORE, ZMSCORE, ZRANK, ZREVRANK.

use crate::commands::zset::bounds;
use crate::engine::context::{Ctx, Outcome};
use keyward_resp::ReplyWriter;
use keyward_store::values::zset::{Cut, Direction, ZSet};

pub(crate) fn zcard(ctx: &mut Ctx<'_>) -> Outcome {
    let key = ctx.key(1);
    let len = ctx.keys.read_as::<ZSet>(key)?.map_or(0, ZSet::len);
    ctx.reply.count(len);
    Ok(())
}

pub(crate) fn zcount(ctx: &mut Ctx<'_>) -> Outcome {
    let cuts = bounds::scores(ctx.args.at(2), ctx.args.at(3))?;
    count(ctx, cuts)
}

pub(crate) fn zlexcount(ctx: &mut Ctx<'_>) -> Outcome {
    let cuts = bounds::members(ctx.args.at(2), ctx.args.at(3))?;
    count(ctx, cuts)
}

fn count(ctx: &mut Ctx<'_>, cuts: [Cut<'_>; 2]) -> Outcome {
    let key = ctx.key(1);
    let zset = ctx.keys.read_as::<ZSet>(key)?;
    let count = zset.map_or(0, |zset| zset.span(cuts, Direction::Forward).len());
    ctx.reply.count(count);
    Ok(())
}

pub(crate) fn zscore(ctx: &mut Ctx<'_>) -> Outcome {
    let key = ctx.key(1);
    let member = ctx.args.at(2);
    match ctx.keys.read_as::<ZSet>(key)?.and_then(|zset| zset.score(member)) {
        Some(score) => ctx.reply.double(score),
        None => ctx.reply.null(),
    }
    Ok(())
}

pub(crate) fn zmscore(ctx: &mut Ctx<'_>) -> Outcome {
    reply_by_scores(ctx, |reply, score| match score {
        Some(score) => reply.double(score),
        None => reply.null(),
    })
}

/// Replies with what becomes of the score of each member that is asked for.
pub(crate) fn reply_by_scores(
    ctx: &mut Ctx<'_>,
    tell: impl Fn(&mut ReplyWriter<'_>, Option<f64>),
) -> Outcome {
    let key = ctx.key(1);
    let zset = ctx.keys.read_as::<ZSet>(key)?;
    let members = ctx.args.from(2);
    ctx.reply.array(members.len());
    for member in members.iter() {
        tell(&mut ctx.reply, zset.and_then(|zset| zset.score(member)));
    }
    Ok(())
}

pub(crate) fn zrank(ctx: &mut Ctx<'_>) -> Outcome {
    rank(ctx, Direction::Forward)
}

pub(crate) fn zrevrank(ctx: &mut Ctx<'_>) -> Outcome {
    rank(ctx, Direction::Reverse)
}

fn rank(ctx: &mut Ctx<'_>, direction: Direction) -> Outcome {
    let key = ctx.key(1);
    let member = ctx.args.at(2);
    let zset = ctx.keys.read_as::<ZSet>(key)?;
    match zset.and_then(|zset| Some((zset.rank_of(member)?, zset.len()))) {
        Some((rank, _)) if direction == Direction::Forward => ctx.reply.count(rank),
        Some((rank, len)) => ctx.reply.count(len - 1 - rank),
        None => ctx.reply.null(),
    }
    Ok(())
}
