//! LPOP, RPOP, LMPOP, BLPOP, BRPOP, BLMPOP.
//!
//! Effects: whatever pops from the first of several keys, or after waiting, is
//! logged as the LPOP or RPOP it came to.

use super::{parse_end, pop_command, pop_event};
use crate::commands::first_of::{FirstOf, wait};
use crate::engine::context::{Ctx, Outcome};
use keyward_commands::{WireError, args};
use keyward_resp::ReplyWriter;
use keyward_store::keyspace::edit::Edit;
use keyward_store::values::list::{End, List};
use keyward_store::values::text::Decimal;
use keyward_store::values::value::Type;

pub(crate) fn lpop(ctx: &mut Ctx<'_>) -> Outcome {
    pop(ctx, End::Head)
}

pub(crate) fn rpop(ctx: &mut Ctx<'_>) -> Outcome {
    pop(ctx, End::Tail)
}

fn pop(ctx: &mut Ctx<'_>, end: End) -> Outcome {
    if ctx.args.len() > 3 {
        return Err(WireError::WrongArity(ctx.command.name));
    }
    let count = ctx.args.get(2).map(args::non_negative).transpose()?;
    let key = ctx.key(1);
    let Some(mut list) = ctx.keys.edit::<List>(key)? else {
        match count {
            Some(_) => ctx.reply.null_array(),
            None => ctx.reply.null(),
        }
        return Ok(());
    };
    let popped = match count {
        Some(count) => pop_many(&mut list, end, count, &mut ctx.reply),
        None => {
            pop_one(&mut list, end, &mut ctx.reply);
            1
        }
    };
    if popped > 0 {
        list.changed(pop_event(end), popped as u64);
    } else {
        list.unchanged();
    }
    Ok(())
}

/// Replies with the element at an end and takes it away.
fn pop_one(list: &mut Edit<'_, List>, end: End, reply: &mut ReplyWriter<'_>) {
    list.peek(end).expect("a list is never empty").reply_to(reply);
    list.pop(end);
}

/// Replies with up to `count` elements from an end, takes them away, and returns
/// how many they are.
fn pop_many(list: &mut Edit<'_, List>, end: End, count: u64, reply: &mut ReplyWriter<'_>) -> usize {
    let len = list.len();
    let popped = len.min(usize::try_from(count).unwrap_or(usize::MAX));
    reply.array(popped);
    match end {
        End::Head => list.forward(0).take(popped).for_each(|element| element.reply_to(reply)),
        End::Tail => list.backward(len).take(popped).for_each(|element| element.reply_to(reply)),
    }
    if popped > 0 {
        list.remove(if end == End::Head { 0..popped } else { len - popped..len });
    }
    popped
}

impl FirstOf<End> {
    /// Pops from the first key that is there; returns whether one was.
    fn pop(&self, ctx: &mut Ctx<'_>) -> Result<bool, WireError> {
        for key in ctx.awaited_keys(self.keys.start, self.keys.end) {
            let key = ctx.key_of(key);
            let Some(mut list) = ctx.keys.edit::<List>(key)? else { continue };
            ctx.reply.array(2);
            ctx.reply.bulk(key.bytes);
            let popped = pop_many(&mut list, self.end, self.count, &mut ctx.reply);
            list.changed(pop_event(self.end), popped as u64);
            let popped = Decimal::of(popped as i64);
            ctx.log_instead([pop_command(self.end), key.bytes, popped.as_bytes()]);
            return Ok(true);
        }
        Ok(false)
    }
}

pub(crate) fn lmpop(ctx: &mut Ctx<'_>) -> Outcome {
    let first = FirstOf::parse(ctx.args, 1, parse_end)?;
    if !first.pop(ctx)? {
        ctx.reply.null_array();
    }
    Ok(())
}

pub(crate) fn blmpop(ctx: &mut Ctx<'_>) -> Outcome {
    let first = FirstOf::parse(ctx.args, 2, parse_end)?;
    let timeout_ms = args::timeout_ms(ctx.args.at(1))?;
    if !first.pop(ctx)? {
        wait(ctx, first.keys, Type::List, timeout_ms);
    }
    Ok(())
}

pub(crate) fn blpop(ctx: &mut Ctx<'_>) -> Outcome {
    blocking_pop(ctx, End::Head)
}

pub(crate) fn brpop(ctx: &mut Ctx<'_>) -> Outcome {
    blocking_pop(ctx, End::Tail)
}

fn blocking_pop(ctx: &mut Ctx<'_>, end: End) -> Outcome {
    let last = ctx.args.len() - 1;
    let timeout_ms = args::timeout_ms(ctx.args.at(last))?;
    for key in ctx.awaited_keys(1, last) {
        let key = ctx.key_of(key);
        let Some(mut list) = ctx.keys.edit::<List>(key)? else { continue };
        ctx.reply.array(2);
        ctx.reply.bulk(key.bytes);
        pop_one(&mut list, end, &mut ctx.reply);
        list.changed(pop_event(end), 1);
        ctx.log_instead([pop_command(end), key.bytes]);
        return Ok(());
    }
    wait(ctx, 1..last, Type::List, timeout_ms);
    Ok(())
}
