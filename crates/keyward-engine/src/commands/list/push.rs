//! LPUSH, RPUSH, LPUSHX, RPUSHX.

use super::push_event;
use crate::engine::context::{Ctx, Outcome};
use keyward_store::values::list::{End, List};

pub(crate) fn lpush(ctx: &mut Ctx<'_>) -> Outcome {
    push(ctx, End::Head)
}

pub(crate) fn rpush(ctx: &mut Ctx<'_>) -> Outcome {
    push(ctx, End::Tail)
}

fn push(ctx: &mut Ctx<'_>, end: End) -> Outcome {
    let key = ctx.key(1);
    let mut list = ctx.keys.edit_or_create::<List>(key)?;
    let elements = ctx.args.from(2);
    for element in elements.iter() {
        list.push(end, element);
    }
    let len = list.len();
    list.changed(push_event(end), elements.len() as u64);
    ctx.reply.count(len);
    Ok(())
}

pub(crate) fn lpushx(ctx: &mut Ctx<'_>) -> Outcome {
    push_existing(ctx, End::Head)
}

pub(crate) fn rpushx(ctx: &mut Ctx<'_>) -> Outcome {
    push_existing(ctx, End::Tail)
}

fn push_existing(ctx: &mut Ctx<'_>, end: End) -> Outcome {
    let key = ctx.key(1);
    if ctx.keys.edit::<List>(key)?.is_some() {
        return push(ctx, end);
    }
    ctx.reply.integer(0);
    Ok(())
}
