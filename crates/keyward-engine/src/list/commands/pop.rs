//! LPOP, RPOP, LMPOP, BLPOP, BRPOP, BLMPOP.
//!
//! Effects: whatever pops from the first of several keys, or after waiting, is
//! logged as the LPOP or RPOP it came to.

use crate::blocking::NoWaitReply;
use crate::context::{Ctx, Outcome};
use crate::keyspace::edit::Edit;
use crate::list::{End, List};
use crate::string::Decimal;
use crate::value::Type;
use keyward_commands::WireError;
use keyward_commands::args::{self, Options};
use keyward_resp::ReplyWriter;

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
        list.changed(end.pop_event(), popped as u64);
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

/// Replies with up to `count` elements from an end, takes them away, and answers
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

/// The arguments of LMPOP from its number of keys on.
struct ManyKeys {
    first: usize,
    end_of_keys: usize,
    end: End,
    count: u64,
}

impl ManyKeys {
    fn parse(ctx: &Ctx<'_>, at: usize) -> Result<ManyKeys, WireError> {
        let at_least_one = |argument: &[u8], text: &'static str| {
            let number = args::non_negative_or(argument, WireError::Err(text))?;
            if number == 0 { Err(WireError::Err(text)) } else { Ok(number) }
        };
        let keys = at_least_one(ctx.args.at(at), "numkeys should be greater than 0")?;
        let first = at + 1;
        let end_of_keys = usize::try_from(keys).ok().and_then(|keys| first.checked_add(keys));
        let end_of_keys = end_of_keys.ok_or(WireError::Syntax)?;
        let mut options = Options::new(ctx.args, end_of_keys);
        let end = End::parse(options.value()?)?;
        let mut count = None;
        while let Some(word) = options.next() {
            if count.is_some() || !args::is(word, "COUNT") {
                return Err(WireError::Syntax);
            }
            count = Some(at_least_one(options.value()?, "count should be greater than 0")?);
        }
        Ok(ManyKeys { first, end_of_keys, end, count: count.unwrap_or(1) })
    }

    /// Pops from the first key that is there; answers whether one was.
    fn pop(&self, ctx: &mut Ctx<'_>) -> Result<bool, WireError> {
        for key in ctx.awaited_keys(self.first, self.end_of_keys) {
            let key = ctx.keys.key(key);
            let Some(mut list) = ctx.keys.edit::<List>(key)? else { continue };
            ctx.reply.array(2);
            ctx.reply.bulk(key.bytes);
            let popped = pop_many(&mut list, self.end, self.count, &mut ctx.reply);
            list.changed(self.end.pop_event(), popped as u64);
            let popped = Decimal::of(popped as i64);
            ctx.log_instead([self.end.pop_command(), key.bytes, popped.as_bytes()]);
            return Ok(true);
        }
        Ok(false)
    }
}

pub(crate) fn lmpop(ctx: &mut Ctx<'_>) -> Outcome {
    let keys = ManyKeys::parse(ctx, 1)?;
    if !keys.pop(ctx)? {
        ctx.reply.null_array();
    }
    Ok(())
}

pub(crate) fn blmpop(ctx: &mut Ctx<'_>) -> Outcome {
    let keys = ManyKeys::parse(ctx, 2)?;
    let timeout_ms = args::timeout_ms(ctx.args.at(1))?;
    if !keys.pop(ctx)? {
        block(ctx, keys.first, keys.end_of_keys, timeout_ms);
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
        let key = ctx.keys.key(key);
        let Some(mut list) = ctx.keys.edit::<List>(key)? else { continue };
        ctx.reply.array(2);
        ctx.reply.bulk(key.bytes);
        pop_one(&mut list, end, &mut ctx.reply);
        list.changed(end.pop_event(), 1);
        ctx.log_instead([end.pop_command(), key.bytes]);
        return Ok(());
    }
    block(ctx, 1, last, timeout_ms);
    Ok(())
}

/// Waits for one of the keys among arguments `first..end`.
fn block(ctx: &mut Ctx<'_>, first: usize, end: usize, timeout_ms: u64) {
    let keys: Vec<&[u8]> = ctx.args.from(first).iter().take(end - first).collect();
    ctx.block(&keys, Type::List, timeout_ms, NoWaitReply::NullArray);
}
