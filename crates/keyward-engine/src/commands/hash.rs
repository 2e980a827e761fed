//! HSET, HMSET, HSETNX, HGET, HMGET, HGETALL, HKEYS, HVALS, HLEN, HSTRLEN,
//! HEXISTS, HDEL, HSCAN.
//!
//! HINCRBY and HINCRBYFLOAT are in `counters`, HRANDFIELD in `random`.

pub(crate) mod counters;
pub(crate) mod random;

use crate::commands::generic::scan::{ElementScan, parse_cursor, reply_head};
use crate::engine::context::{Ctx, Outcome};
use keyward_commands::WireError;
use keyward_resp::ReplyWriter;
use keyward_store::keyspace::event::{Class, Event};
use keyward_store::values::hash::{Growth, Hash, Pair};
use keyward_store::values::packed::Item;

const HSET: Event = event("hset");
const HDEL: Event = event("hdel");

/// An event about a hash.
const fn event(name: &'static str) -> Event {
    Event::new(Class::Hash, name)
}

/// The settings by which hashes grow now.
fn growth(ctx: &Ctx<'_>) -> Growth {
    Growth::of(&ctx.shared.tunables.packed, ctx.keys.hasher())
}

pub(crate) fn hset(ctx: &mut Ctx<'_>) -> Outcome {
    let added = set_fields(ctx)?;
    ctx.reply.count(added);
    Ok(())
}

pub(crate) fn hmset(ctx: &mut Ctx<'_>) -> Outcome {
    set_fields(ctx)?;
    ctx.reply.ok();
    Ok(())
}

/// Gives the fields of the arguments their values; returns how many are new.
fn set_fields(ctx: &mut Ctx<'_>) -> Result<usize, WireError> {
    let count = ctx.args.len() - 2;
    if !count.is_multiple_of(2) {
        return Err(WireError::WrongArity(ctx.command.name));
    }
    let growth = growth(ctx);
    let key = ctx.key(1);
    let mut hash = ctx.keys.edit_or_create::<Hash>(key)?;
    let mut added = 0;
    for at in (2..ctx.args.len()).step_by(2) {
        let pair = (Item::of(ctx.args.at(at)), Item::of(ctx.args.at(at + 1)));
        added += usize::from(hash.set(&growth, pair));
    }
    hash.changed(HSET, count as u64 / 2);
    Ok(added)
}

pub(crate) fn hsetnx(ctx: &mut Ctx<'_>) -> Outcome {
    let growth = growth(ctx);
    let key = ctx.key(1);
    let (field, value) = (Item::of(ctx.args.at(2)), Item::of(ctx.args.at(3)));
    let mut hash = ctx.keys.edit_or_create::<Hash>(key)?;
    let is_new = hash.get(field).is_none();
    if is_new {
        hash.set(&growth, (field, value));
        hash.changed(HSET, 1);
    }
    ctx.reply.integer(is_new.into());
    Ok(())
}

pub(crate) fn hget(ctx: &mut Ctx<'_>) -> Outcome {
    let key = ctx.key(1);
    let field = Item::of(ctx.args.at(2));
    let value = ctx.keys.read_as::<Hash>(key)?.and_then(|hash| hash.get(field));
    reply_value(&mut ctx.reply, value);
    Ok(())
}

pub(crate) fn hmget(ctx: &mut Ctx<'_>) -> Outcome {
    let key = ctx.key(1);
    let hash = ctx.keys.read_as::<Hash>(key)?;
    let fields = ctx.args.from(2);
    ctx.reply.array(fields.len());
    for field in fields.iter() {
        reply_value(&mut ctx.reply, hash.and_then(|hash| hash.get(Item::of(field))));
    }
    Ok(())
}

fn reply_value(reply: &mut ReplyWriter<'_>, value: Option<Item<'_>>) {
    match value {
        Some(value) => value.reply_to(reply),
        None => reply.null(),
    }
}

pub(crate) fn hgetall(ctx: &mut Ctx<'_>) -> Outcome {
    let key = ctx.key(1);
    let Some(hash) = ctx.keys.read_as::<Hash>(key)? else {
        ctx.reply.map(0);
        return Ok(());
    };
    ctx.reply.map(hash.len());
    for (field, value) in hash.iter() {
        field.reply_to(&mut ctx.reply);
        value.reply_to(&mut ctx.reply);
    }
    Ok(())
}

pub(crate) fn hkeys(ctx: &mut Ctx<'_>) -> Outcome {
    column(ctx, |(field, _)| field)
}

pub(crate) fn hvals(ctx: &mut Ctx<'_>) -> Outcome {
    column(ctx, |(_, value)| value)
}

/// Replies with one half of every pair.
fn column(ctx: &mut Ctx<'_>, half: fn(Pair<'_>) -> Item<'_>) -> Outcome {
    let key = ctx.key(1);
    let Some(hash) = ctx.keys.read_as::<Hash>(key)? else {
        ctx.reply.array(0);
        return Ok(());
    };
    ctx.reply.array(hash.len());
    hash.iter().for_each(|pair| half(pair).reply_to(&mut ctx.reply));
    Ok(())
}

pub(crate) fn hlen(ctx: &mut Ctx<'_>) -> Outcome {
    let key = ctx.key(1);
    let len = ctx.keys.read_as::<Hash>(key)?.map_or(0, Hash::len);
    ctx.reply.count(len);
    Ok(())
}

pub(crate) fn hstrlen(ctx: &mut Ctx<'_>) -> Outcome {
    let key = ctx.key(1);
    let field = Item::of(ctx.args.at(2));
    let value = ctx.keys.read_as::<Hash>(key)?.and_then(|hash| hash.get(field));
    ctx.reply.count(value.map_or(0, Item::text_bytes));
    Ok(())
}

pub(crate) fn hexists(ctx: &mut Ctx<'_>) -> Outcome {
    let key = ctx.key(1);
    let field = Item::of(ctx.args.at(2));
    let exists = ctx.keys.read_as::<Hash>(key)?.is_some_and(|hash| hash.get(field).is_some());
    ctx.reply.integer(exists.into());
    Ok(())
}

pub(crate) fn hdel(ctx: &mut Ctx<'_>) -> Outcome {
    let key = ctx.key(1);
    let Some(mut hash) = ctx.keys.edit::<Hash>(key)? else {
        ctx.reply.integer(0);
        return Ok(());
    };
    let fields = ctx.args.from(2);
    let removed = fields.iter().filter(|field| hash.remove(Item::of(field))).count();
    if removed > 0 {
        hash.changed(HDEL, removed as u64);
    } else {
        hash.unchanged();
    }
    ctx.reply.count(removed);
    Ok(())
}

pub(crate) fn hscan(ctx: &mut Ctx<'_>) -> Outcome {
    let cursor = parse_cursor(ctx.args.at(2)).ok_or(WireError::InvalidCursor)?;
    let key = ctx.key(1);
    let Some(hash) = ctx.keys.read_as::<Hash>(key)? else {
        reply_head(&mut ctx.reply, 0, 0);
        return Ok(());
    };
    let scan = ElementScan::parse(ctx.args)?;
    let mut found = Vec::new();
    let cursor = scan.walk(cursor, |cursor| {
        let mut visited = 0;
        let next = hash.scan(cursor, |(field, value)| {
            visited += 1;
            if scan.wants(field.text().as_bytes()) {
                found.extend([field, value]);
            }
        });
        (next, visited)
    });
    reply_head(&mut ctx.reply, cursor, found.len());
    found.into_iter().for_each(|item| item.reply_to(&mut ctx.reply));
    Ok(())
}
