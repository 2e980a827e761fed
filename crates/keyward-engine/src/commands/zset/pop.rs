//! ZPOPMIN, ZPOPMAX, ZMPOP, BZPOPMIN, BZPOPMAX, BZMPOP.
//!
//! Effects: whatever pops from the first of several keys, or after waiting, is
//! logged as the ZPOPMIN or ZPOPMAX it came to.

use super::event;
use crate::commands::first_of::{FirstOf, wait};
use crate::engine::context::{Ctx, Outcome};
use keyward_commands::{WireError, args};
use keyward_resp::{Protocol, ReplyWriter};
use keyward_store::keyspace::event::Event;
use keyward_store::values::hasher::Key;
use keyward_store::values::text::Decimal;
use keyward_store::values::value::Type;
use keyward_store::values::zset::ZSet;

/// Which end of the order is popped from.
#[derive(Clone, Copy)]
enum End {
    Min,
    Max,
}

impl End {
    fn parse(word: &[u8]) -> Result<End, WireError> {
        match (args::is(word, "MIN"), args::is(word, "MAX")) {
            (true, _) => Ok(End::Min),
            (_, true) => Ok(End::Max),
            _ => Err(WireError::Syntax),
        }
    }

    fn event(self) -> Event {
        event(if matches!(self, End::Min) { "zpopmin" } else { "zpopmax" })
    }

    fn command(self) -> &'static [u8] {
        if matches!(self, End::Min) { b"ZPOPMIN" } else { b"ZPOPMAX" }
    }
}

/// How what was popped is answered.
#[derive(Clone, Copy)]
enum Shape<'a> {
    /// Members and scores in one array.
    Flat,
    /// Pairs of member and score.
    Pairs,
    /// The key, then members and scores, in one array.
    KeyAndFlat(&'a [u8]),
    /// The key, then an array of pairs.
    KeyAndPairs(&'a [u8]),
}

impl Shape<'_> {
    fn reply_head(self, reply: &mut ReplyWriter<'_>, count: usize) {
        match self {
            Shape::Flat => reply.array(count * 2),
            Shape::Pairs => reply.array(count),
            Shape::KeyAndFlat(key) => {
                reply.array(count * 2 + 1);
                reply.bulk(key);
            }
            Shape::KeyAndPairs(key) => {
                reply.array(2);
                reply.bulk(key);
                reply.array(count);
            }
        }
    }

    fn reply_member(self, reply: &mut ReplyWriter<'_>, (member, score): (&[u8], f64)) {
        if matches!(self, Shape::Pairs | Shape::KeyAndPairs(_)) {
            reply.array(2);
        }
        reply.bulk(member);
        reply.double(score);
    }
}

pub(crate) fn zpopmin(ctx: &mut Ctx<'_>) -> Outcome {
    pop_one_key(ctx, End::Min)
}

pub(crate) fn zpopmax(ctx: &mut Ctx<'_>) -> Outcome {
    pop_one_key(ctx, End::Max)
}

fn pop_one_key(ctx: &mut Ctx<'_>, end: End) -> Outcome {
    if ctx.args.len() > 3 {
        return Err(WireError::Syntax);
    }
    let count = ctx.args.get(2).map(args::non_negative).transpose()?;
    let shape = match (count, ctx.reply.protocol()) {
        (Some(_), Protocol::Resp3) => Shape::Pairs,
        _ => Shape::Flat,
    };
    let key = ctx.key(1);
    if pop(ctx, key, end, count.unwrap_or(1), shape)?.is_none() {
        ctx.reply.array(0);
    }
    Ok(())
}

/// Pops up to `count` members from a key and replies with them. Returns how many
/// there were; `None` if the key is not there.
fn pop(
    ctx: &mut Ctx<'_>,
    key: Key<'_>,
    end: End,
    count: u64,
    shape: Shape<'_>,
) -> Result<Option<usize>, WireError> {
    let Some(mut zset) = ctx.keys.edit::<ZSet>(key)? else { return Ok(None) };
    let len = zset.len();
    let count = len.min(usize::try_from(count).unwrap_or(usize::MAX));
    shape.reply_head(&mut ctx.reply, count);
    let ranks = match end {
        End::Min => 0..count,
        End::Max => len - count..len,
    };
    let popped = zset.iter(ranks.clone());
    match end {
        End::Min => popped.for_each(|member| shape.reply_member(&mut ctx.reply, member)),
        End::Max => popped.rev().for_each(|member| shape.reply_member(&mut ctx.reply, member)),
    }
    if count > 0 {
        zset.remove_ranks(ranks);
        zset.changed(end.event(), count as u64);
    }
    Ok(Some(count))
}

impl FirstOf<End> {
    /// Pops from the first key that is there; returns whether one was.
    fn pop(&self, ctx: &mut Ctx<'_>) -> Result<bool, WireError> {
        for key in ctx.awaited_keys(self.keys.start, self.keys.end) {
            let key = ctx.key_of(key);
            let shape = Shape::KeyAndPairs(key.bytes);
            if let Some(popped) = pop(ctx, key, self.end, self.count, shape)? {
                let popped = Decimal::of(popped as i64);
                ctx.log_instead([self.end.command(), key.bytes, popped.as_bytes()]);
                return Ok(true);
            }
        }
        Ok(false)
    }
}

pub(crate) fn zmpop(ctx: &mut Ctx<'_>) -> Outcome {
    let first = FirstOf::parse(ctx.args, 1, End::parse)?;
    if !first.pop(ctx)? {
        ctx.reply.null_array();
    }
    Ok(())
}

pub(crate) fn bzmpop(ctx: &mut Ctx<'_>) -> Outcome {
    let first = FirstOf::parse(ctx.args, 2, End::parse)?;
    let timeout_ms = args::timeout_ms(ctx.args.at(1))?;
    if !first.pop(ctx)? {
        wait(ctx, first.keys, Type::ZSet, timeout_ms);
    }
    Ok(())
}

pub(crate) fn bzpopmin(ctx: &mut Ctx<'_>) -> Outcome {
    blocking_pop(ctx, End::Min)
}

pub(crate) fn bzpopmax(ctx: &mut Ctx<'_>) -> Outcome {
    blocking_pop(ctx, End::Max)
}

fn blocking_pop(ctx: &mut Ctx<'_>, end: End) -> Outcome {
    let last = ctx.args.len() - 1;
    let timeout_ms = args::timeout_ms(ctx.args.at(last))?;
    for key in ctx.awaited_keys(1, last) {
        let key = ctx.key_of(key);
        if pop(ctx, key, end, 1, Shape::KeyAndFlat(key.bytes))?.is_some() {
            ctx.log_instead([end.command(), key.bytes]);
            return Ok(());
        }
    }
    wait(ctx, 1..last, Type::ZSet, timeout_ms);
    Ok(())
}
