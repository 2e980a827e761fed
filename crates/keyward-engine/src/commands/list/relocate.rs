//! LMOVE, RPOPLPUSH, BLMOVE, BRPOPLPUSH.
//!
//! Effects: what BLMOVE moves is logged as LMOVE, what BRPOPLPUSH moves as RPOPLPUSH.

use super::{parse_end, pop_event, push_event, word};
use crate::engine::context::{Ctx, Outcome};
use keyward_commands::{CommandId, WireError, args};
use keyward_store::keyspace::blocking::NoWaitReply;
use keyward_store::values::list::{End, List};
use keyward_store::values::value::Type;

pub(crate) fn lmove(ctx: &mut Ctx<'_>) -> Outcome {
    let ends = (parse_end(ctx.args.at(3))?, parse_end(ctx.args.at(4))?);
    move_or_null(ctx, ends)
}

pub(crate) fn rpoplpush(ctx: &mut Ctx<'_>) -> Outcome {
    move_or_null(ctx, (End::Tail, End::Head))
}

fn move_or_null(ctx: &mut Ctx<'_>, ends: (End, End)) -> Outcome {
    if !move_element(ctx, ends)? {
        ctx.reply.null();
    }
    Ok(())
}

pub(crate) fn blmove(ctx: &mut Ctx<'_>) -> Outcome {
    let ends = (parse_end(ctx.args.at(3))?, parse_end(ctx.args.at(4))?);
    blocking_move(ctx, ends, 5)
}

pub(crate) fn brpoplpush(ctx: &mut Ctx<'_>) -> Outcome {
    blocking_move(ctx, (End::Tail, End::Head), 3)
}

fn blocking_move(ctx: &mut Ctx<'_>, ends: (End, End), timeout_at: usize) -> Outcome {
    let timeout_ms = args::timeout_ms(ctx.args.at(timeout_at))?;
    if move_element(ctx, ends)? {
        let (from, to) = (ctx.args.at(1), ctx.args.at(2));
        match ctx.command.id {
            CommandId::BRPopLPush => ctx.log_instead([b"RPOPLPUSH".as_slice(), from, to]),
            _ => ctx.log_instead([b"LMOVE".as_slice(), from, to, word(ends.0), word(ends.1)]),
        }
    } else {
        ctx.block(&[ctx.args.at(1)], Type::List, timeout_ms, NoWaitReply::Null);
    }
    Ok(())
}

/// Moves an element from one list to another, or within one, and replies with
/// it. Returns whether there was one. As in Redis, the push is told first.
fn move_element(ctx: &mut Ctx<'_>, (take, put): (End, End)) -> Result<bool, WireError> {
    let (from, to) = (ctx.key(1), ctx.key(2));
    let Some(list) = ctx.keys.edit::<List>(from)? else { return Ok(false) };
    let element = list.peek(take).expect("a list is never empty");
    let element: Box<[u8]> = element.text().as_bytes().into();
    drop(list);
    if from.bytes == to.bytes {
        let Some(mut list) = ctx.keys.edit::<List>(from)? else { return Ok(false) };
        list.pop(take);
        list.push(put, &element);
        list.changed(push_event(put), 1);
        ctx.keys.notify(pop_event(take), from);
    } else {
        let mut list = ctx.keys.edit_or_create::<List>(to)?;
        list.push(put, &element);
        list.changed(push_event(put), 0);
        let Some(mut list) = ctx.keys.edit::<List>(from)? else { return Ok(false) };
        list.pop(take);
        list.changed(pop_event(take), 1);
    }
    ctx.reply.bulk(&element);
    Ok(true)
}
