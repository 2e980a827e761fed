//! SMEMBERS, SINTER, SINTERSTORE, SINTERCARD, SUNION, SUNIONSTORE, SDIFF,
//! SDIFFSTORE.
//!
//! A key that is not there is an empty set; a key of another type is an error
//! before anything else is looked at.

use super::{event, growth};
use crate::engine::context::{Ctx, Outcome};
use keyward_commands::WireError;
use keyward_commands::args::{self, Options};
use keyward_resp::ReplyWriter;
use keyward_store::keyspace::event::Event;
use keyward_store::keyspace::{Keyspace, Lifetime};
use keyward_store::values::hasher::Key;
use keyward_store::values::packed::Item;
use keyward_store::values::row::{NewValue, Row};
use keyward_store::values::set::{Growth, Set};
use keyward_store::values::value::{Collection, Value};
use std::cmp::Reverse;
use std::ops::{ControlFlow, Range};

pub(crate) fn smembers(ctx: &mut Ctx<'_>) -> Outcome {
    let key = ctx.key(1);
    match ctx.keys.read_as::<Set>(key)? {
        Some(set) => reply_members(&mut ctx.reply, set),
        None => ctx.reply.set(0),
    }
    Ok(())
}

pub(crate) fn sinter(ctx: &mut Ctx<'_>) -> Outcome {
    let keys = look_up(ctx, 1..ctx.args.len())?;
    let place = ctx.reply.defer();
    let mut count = 0;
    intersect(&sources(ctx.keys, &keys), |member| {
        member.reply_to(&mut ctx.reply);
        count += 1;
        ControlFlow::Continue(())
    });
    ctx.reply.end_set(place, count);
    Ok(())
}

pub(crate) fn sinterstore(ctx: &mut Ctx<'_>) -> Outcome {
    let keys = look_up(ctx, 2..ctx.args.len())?;
    if ctx.mode.is_checked() {
        return Ok(());
    }
    let (growth, mut result) = (growth(ctx), Set::default());
    intersect(&sources(ctx.keys, &keys), |member| {
        result.add(&growth, member);
        ControlFlow::Continue(())
    });
    store(ctx, result, event("sinterstore"))
}

pub(crate) fn sintercard(ctx: &mut Ctx<'_>) -> Outcome {
    let error = WireError::Err("numkeys should be greater than 0");
    let key_count = args::non_negative_or(ctx.args.at(1), error.clone())?;
    if key_count == 0 {
        return Err(error);
    }
    if key_count > (ctx.args.len() - 2) as u64 {
        return Err(WireError::NumKeysTooLarge);
    }
    let keys_end = 2 + key_count as usize;
    let mut limit = 0;
    let mut options = Options::new(ctx.args, keys_end);
    while let Some(word) = options.next() {
        if !args::is(word, "LIMIT") {
            return Err(WireError::Syntax);
        }
        let error = WireError::Err("LIMIT can't be negative");
        limit = args::non_negative_or(options.value()?, error)?;
    }
    let keys = look_up(ctx, 2..keys_end)?;
    let mut count = 0;
    intersect(&sources(ctx.keys, &keys), |_| {
        count += 1;
        if count as u64 == limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    ctx.reply.count(count);
    Ok(())
}

pub(crate) fn sunion(ctx: &mut Ctx<'_>) -> Outcome {
    answer(ctx, union)
}

pub(crate) fn sunionstore(ctx: &mut Ctx<'_>) -> Outcome {
    store_result(ctx, union, event("sunionstore"))
}

pub(crate) fn sdiff(ctx: &mut Ctx<'_>) -> Outcome {
    answer(ctx, difference)
}

pub(crate) fn sdiffstore(ctx: &mut Ctx<'_>) -> Outcome {
    store_result(ctx, difference, event("sdiffstore"))
}

/// What becomes of several sets; a key that is not there is `None`.
type Operation = fn(&[Option<&Set>], &Growth) -> Set;

fn answer(ctx: &mut Ctx<'_>, operation: Operation) -> Outcome {
    let keys = look_up(ctx, 1..ctx.args.len())?;
    let result = operation(&sources(ctx.keys, &keys), &growth(ctx));
    reply_members(&mut ctx.reply, &result);
    Ok(())
}

fn store_result(ctx: &mut Ctx<'_>, operation: Operation, event: Event) -> Outcome {
    let keys = look_up(ctx, 2..ctx.args.len())?;
    if ctx.mode.is_checked() {
        return Ok(());
    }
    let result = operation(&sources(ctx.keys, &keys), &growth(ctx));
    store(ctx, result, event)
}

/// Stores a result under the first key, whatever was there, and replies with its
/// size. An empty result removes the key.
fn store(ctx: &mut Ctx<'_>, result: Set, event: Event) -> Outcome {
    let key = ctx.key(1);
    let len = result.len();
    if len == 0 {
        ctx.keys.remove(key, Event::DEL);
    } else {
        let value = NewValue::Object(result.into_object());
        ctx.keys.set(key, value, Lifetime::Forever, event);
    }
    ctx.reply.count(len);
    Ok(())
}

/// Replies with all members.
fn reply_members(reply: &mut ReplyWriter<'_>, set: &Set) {
    reply.set(set.len());
    set.iter().for_each(|member| member.reply_to(reply));
}

/// The keys at these positions, looked up in their order: they count as read, due
/// ones are gone, and what is there is a set.
fn look_up<'a>(ctx: &mut Ctx<'a>, positions: Range<usize>) -> Result<Vec<Key<'a>>, WireError> {
    let keys: Vec<Key<'a>> = positions.map(|position| ctx.key(position)).collect();
    for key in &keys {
        ctx.keys.read_as::<Set>(*key)?;
    }
    Ok(keys)
}

/// The sets of keys that were looked up.
fn sources<'a>(keyspace: &'a Keyspace, keys: &[Key<'_>]) -> Vec<Option<&'a Set>> {
    let find = |key: &Key<'_>| match keyspace.table(*key).find_loose(*key).map(Row::value) {
        Some(Value::Object(object)) => Set::of(object),
        _ => None,
    };
    keys.iter().map(find).collect()
}

/// Visits the members that are in every set, until `visit` has enough.
fn intersect<'a>(sources: &[Option<&'a Set>], mut visit: impl FnMut(Item<'a>) -> ControlFlow<()>) {
    let Some(mut sets) = sources.iter().copied().collect::<Option<Vec<&Set>>>() else { return };
    sets.sort_by_key(|set| set.len());
    let Some((smallest, others)) = sets.split_first() else { return };
    for member in smallest.iter() {
        let is_in = |other: &&Set| std::ptr::eq(*other, *smallest) || other.contains(member);
        if others.iter().all(is_in) && visit(member).is_break() {
            return;
        }
    }
}

fn union(sources: &[Option<&Set>], growth: &Growth) -> Set {
    let mut result = Set::default();
    for member in sources.iter().flatten().flat_map(|set| set.iter()) {
        result.add(growth, member);
    }
    result
}

/// The members of the first set that are in no other.
///
/// Either each of them is looked for in the others, or the others' members are
/// taken out of a copy. As in Redis, the sizes decide; the choice shows in the
/// encoding of a stored result.
fn difference(sources: &[Option<&Set>], growth: &Growth) -> Set {
    let mut result = Set::default();
    let Some((Some(first), others)) = sources.split_first() else { return result };
    let mut others: Vec<&Set> = others.iter().copied().flatten().collect();
    if others.iter().any(|other| std::ptr::eq(*other, *first)) {
        return result;
    }
    let look_ups = first.len() * (1 + others.len());
    let members = first.len() + others.iter().map(|other| other.len()).sum::<usize>();
    if look_ups / 2 <= members {
        // A member that is somewhere is most likely in the largest.
        others.sort_by_key(|other| Reverse(other.len()));
        for member in first.iter().filter(|m| !others.iter().any(|other| other.contains(*m))) {
            result.add(growth, member);
        }
        return result;
    }
    for member in first.iter() {
        result.add(growth, member);
    }
    for member in others.iter().flat_map(|other| other.iter()) {
        if result.is_empty() {
            break;
        }
        result.remove(member);
    }
    result
}
