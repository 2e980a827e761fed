//! LINSERT, LSET, LREM, LTRIM.

use super::{absolute, event, span};
use crate::engine::context::{Ctx, Outcome};
use keyward_commands::{WireError, args};
use keyward_store::values::list::{End, List};
use keyward_store::values::packed::Item;

pub(crate) fn linsert(ctx: &mut Ctx<'_>) -> Outcome {
    let place = ctx.args.at(2);
    let offset = match (args::is(place, "BEFORE"), args::is(place, "AFTER")) {
        (true, _) => 0,
        (_, true) => 1,
        _ => return Err(WireError::Syntax),
    };
    let (key, pivot, element) = (ctx.key(1), Item::of(ctx.args.at(3)), ctx.args.at(4));
    let Some(mut list) = ctx.keys.edit::<List>(key)? else {
        ctx.reply.integer(0);
        return Ok(());
    };
    let Some(index) = list.forward(0).position(|other| other == pivot) else {
        ctx.reply.integer(-1);
        return Ok(());
    };
    list.insert(index + offset, element);
    ctx.reply.count(list.len());
    list.changed(event("linsert"), 1);
    Ok(())
}

pub(crate) fn lset(ctx: &mut Ctx<'_>) -> Outcome {
    let (key, element) = (ctx.key(1), ctx.args.at(3));
    let mut list = ctx.keys.edit::<List>(key)?.ok_or(WireError::NoSuchKey)?;
    // As in Redis, the index is judged only once there is a list.
    let index = absolute(args::integer(ctx.args.at(2))?, list.len());
    let index = index.filter(|index| *index < list.len()).ok_or(WireError::IndexOutOfRange)?;
    list.set(index, element);
    list.changed(event("lset"), 1);
    ctx.reply.ok();
    Ok(())
}

pub(crate) fn lrem(ctx: &mut Ctx<'_>) -> Outcome {
    let count = args::integer(ctx.args.at(2))?;
    let (key, element) = (ctx.key(1), ctx.args.at(3));
    let Some(mut list) = ctx.keys.edit::<List>(key)? else {
        ctx.reply.integer(0);
        return Ok(());
    };
    let max = match usize::try_from(count.unsigned_abs()) {
        Ok(0) | Err(_) => usize::MAX,
        Ok(max) => max,
    };
    let removed = list.remove_equal(element, max, if count < 0 { End::Tail } else { End::Head });
    if removed > 0 {
        list.changed(event("lrem"), removed as u64);
    } else {
        list.unchanged();
    }
    ctx.reply.count(removed);
    Ok(())
}

pub(crate) fn ltrim(ctx: &mut Ctx<'_>) -> Outcome {
    let start = args::integer(ctx.args.at(2))?;
    let stop = args::integer(ctx.args.at(3))?;
    let key = ctx.key(1);
    if let Some(mut list) = ctx.keys.edit::<List>(key)? {
        let len = list.len();
        let kept = span(start, stop, len);
        list.remove(kept.end..len);
        list.remove(0..kept.start);
        // Redis tells of a trim even if it took nothing away.
        list.changed(event("ltrim"), (len - kept.len()) as u64);
    }
    ctx.reply.ok();
    Ok(())
}
