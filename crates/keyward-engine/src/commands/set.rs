//! SADD, SREM, SMOVE, SCARD, SISMEMBER, SMISMEMBER, SSCAN.
//!
//! SPOP and SRANDMEMBER are in `random`, whatever combines sets in `combine`.

pub(crate) mod combine;
pub(crate) mod random;

use crate::commands::generic::scan::{ElementScan, parse_cursor, reply_head};
use crate::engine::context::{Ctx, Outcome};
use keyward_commands::WireError;
use keyward_store::keyspace::event::{Class, Event};
use keyward_store::values::packed::Item;
use keyward_store::values::set::{Growth, Set};
use std::borrow::Cow;

const SADD: Event = event("sadd");
const SREM: Event = event("srem");

/// An event about a set.
const fn event(name: &'static str) -> Event {
    Event::new(Class::Set, name)
}

/// The settings by which sets grow now.
fn growth(ctx: &Ctx<'_>) -> Growth {
    Growth::of(&ctx.shared.tunables.packed, ctx.keys.hasher())
}

pub(crate) fn sadd(ctx: &mut Ctx<'_>) -> Outcome {
    let growth = growth(ctx);
    let key = ctx.key(1);
    let mut set = ctx.keys.edit_or_create::<Set>(key)?;
    let members = ctx.args.from(2);
    let added = members.iter().filter(|member| set.add(&growth, Item::of(member))).count();
    if added > 0 {
        set.changed(SADD, added as u64);
    } else {
        set.unchanged();
    }
    ctx.reply.count(added);
    Ok(())
}

pub(crate) fn srem(ctx: &mut Ctx<'_>) -> Outcome {
    let key = ctx.key(1);
    let Some(mut set) = ctx.keys.edit::<Set>(key)? else {
        ctx.reply.integer(0);
        return Ok(());
    };
    let members = ctx.args.from(2);
    let removed = match members.len() {
        1 => usize::from(set.remove(Item::of(members.at(0)))),
        most => {
            let mut members = members.iter();
            set.remove_each(most, |_| members.next().map(Cow::Borrowed))
        }
    };
    if removed > 0 {
        set.changed(SREM, removed as u64);
    } else {
        set.unchanged();
    }
    ctx.reply.count(removed);
    Ok(())
}

pub(crate) fn smove(ctx: &mut Ctx<'_>) -> Outcome {
    let growth = growth(ctx);
    let (from, to) = (ctx.key(1), ctx.key(2));
    let member = Item::of(ctx.args.at(3));
    let Some(source) = ctx.keys.edit::<Set>(from)? else {
        ctx.reply.integer(0);
        return Ok(());
    };
    let is_there = source.contains(member);
    drop(source);
    // A destination of another type is an error even if there is nothing to move.
    ctx.keys.edit::<Set>(to)?;
    if is_there && from.bytes != to.bytes {
        if let Some(mut source) = ctx.keys.edit::<Set>(from)? {
            source.remove(member);
            source.changed(SREM, 1);
        }
        let mut destination = ctx.keys.edit_or_create::<Set>(to)?;
        if destination.add(&growth, member) {
            destination.changed(SADD, 1);
        } else {
            destination.unchanged();
        }
    }
    ctx.reply.integer(is_there.into());
    Ok(())
}

pub(crate) fn scard(ctx: &mut Ctx<'_>) -> Outcome {
    let key = ctx.key(1);
    let len = ctx.keys.read_as::<Set>(key)?.map_or(0, Set::len);
    ctx.reply.count(len);
    Ok(())
}

pub(crate) fn sismember(ctx: &mut Ctx<'_>) -> Outcome {
    let key = ctx.key(1);
    let member = Item::of(ctx.args.at(2));
    let is_member = ctx.keys.read_as::<Set>(key)?.is_some_and(|set| set.contains(member));
    ctx.reply.integer(is_member.into());
    Ok(())
}

pub(crate) fn smismember(ctx: &mut Ctx<'_>) -> Outcome {
    let key = ctx.key(1);
    let set = ctx.keys.read_as::<Set>(key)?;
    let members = ctx.args.from(2);
    ctx.reply.array(members.len());
    for member in members.iter() {
        let is_member = set.is_some_and(|set| set.contains(Item::of(member)));
        ctx.reply.integer(is_member.into());
    }
    Ok(())
}

pub(crate) fn sscan(ctx: &mut Ctx<'_>) -> Outcome {
    let cursor = parse_cursor(ctx.args.at(2)).ok_or(WireError::InvalidCursor)?;
    let key = ctx.key(1);
    let Some(set) = ctx.keys.read_as::<Set>(key)? else {
        reply_head(&mut ctx.reply, 0, 0);
        return Ok(());
    };
    let scan = ElementScan::parse(ctx.args)?;
    let mut found = Vec::new();
    let cursor = scan.walk(cursor, |cursor| {
        let mut visited = 0;
        let next = set.scan(cursor, |member| {
            visited += 1;
            if scan.wants(member.text().as_bytes()) {
                found.push(member);
            }
        });
        (next, visited)
    });
    reply_head(&mut ctx.reply, cursor, found.len());
    found.into_iter().for_each(|member| member.reply_to(&mut ctx.reply));
    Ok(())
}
