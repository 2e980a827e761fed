//! DEL, UNLINK, EXISTS, TYPE, TOUCH, RANDOMKEY.

use crate::engine::context::{Ctx, Outcome};
use keyward_store::keyspace::Access;
use keyward_store::keyspace::event::Event;
use keyward_store::tables::reclaim::Freeing;

pub(crate) fn del(ctx: &mut Ctx<'_>) -> Outcome {
    let freeing = Freeing::lazily_if(ctx.keys.lazy.user_del);
    delete(ctx, freeing)
}

pub(crate) fn unlink(ctx: &mut Ctx<'_>) -> Outcome {
    delete(ctx, Freeing::Lazily)
}

fn delete(ctx: &mut Ctx<'_>, freeing: Freeing) -> Outcome {
    let mut removed = 0;
    for position in 1..ctx.args.len() {
        removed += usize::from(ctx.keys.delete(ctx.key(position), Event::DEL, freeing));
    }
    ctx.reply.count(removed);
    Ok(())
}

pub(crate) fn exists(ctx: &mut Ctx<'_>) -> Outcome {
    let mut found = 0;
    for position in 1..ctx.args.len() {
        let key = ctx.key(position);
        found += usize::from(ctx.keys.read_deadline(key, Access::Peek).is_some());
    }
    ctx.reply.count(found);
    Ok(())
}

pub(crate) fn touch(ctx: &mut Ctx<'_>) -> Outcome {
    let mut found = 0;
    for position in 1..ctx.args.len() {
        found += usize::from(ctx.keys.read_deadline(ctx.key(position), Access::Touch).is_some());
    }
    ctx.reply.count(found);
    Ok(())
}

pub(crate) fn type_of(ctx: &mut Ctx<'_>) -> Outcome {
    let key = ctx.key(1);
    let row = ctx.keys.read_with(key, Access::Peek);
    ctx.reply.simple(row.map_or("none", |row| row.value().kind().name()));
    Ok(())
}

pub(crate) fn randomkey(ctx: &mut Ctx<'_>) -> Outcome {
    match ctx.keys.random_key(ctx.db) {
        Some(key) => ctx.reply.bulk(&key),
        None => ctx.reply.null(),
    }
    Ok(())
}
