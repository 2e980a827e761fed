//! LPUSH, RPUSH, LPUSHX, RPUSHX, LPOP, RPOP, LLEN, LRANGE, LMOVE, RPOPLPUSH,
//! BLPOP, BRPOP, BLMOVE, BRPOPLPUSH.
//!
//! Effects: a blocking command is logged as the plain one it came to.

use super::List;
use crate::blocking::NoWaitReply;
use crate::context::{Ctx, Outcome};
use crate::event::{Class, Event};
use crate::keyspace::edit::Collection;
use crate::value::{Object, Type};
use keyward_commands::WireError;
use keyward_commands::args;

impl Collection for List {
    fn of(object: &Object) -> Option<&List> {
        match object {
            Object::List(list) => Some(list),
            _ => None,
        }
    }

    fn of_mut(object: &mut Object) -> Option<&mut List> {
        match object {
            Object::List(list) => Some(list),
            _ => None,
        }
    }

    fn into_object(self) -> Object {
        Object::List(Box::new(self))
    }
}

/// An end of a list.
#[derive(Clone, Copy)]
enum End {
    Head,
    Tail,
}

impl End {
    fn parse(word: &[u8]) -> Result<End, WireError> {
        match (args::is(word, "LEFT"), args::is(word, "RIGHT")) {
            (true, _) => Ok(End::Head),
            (_, true) => Ok(End::Tail),
            _ => Err(WireError::Syntax),
        }
    }

    fn word(self) -> &'static [u8] {
        if matches!(self, End::Head) { b"LEFT" } else { b"RIGHT" }
    }

    fn push(self, list: &mut List, element: &[u8]) {
        match self {
            End::Head => list.push_front(element),
            End::Tail => list.push_back(element),
        }
    }

    fn peek(self, list: &List) -> &[u8] {
        let last = list.len() - 1;
        let at = if matches!(self, End::Head) { 0 } else { last };
        list.range(at, at + 1).next().expect("a list is never empty")
    }

    fn pop(self, list: &mut List) -> Option<Box<[u8]>> {
        match self {
            End::Head => list.pop_front(),
            End::Tail => list.pop_back(),
        }
    }

    fn push_event(self) -> Event {
        Event::new(Class::List, if matches!(self, End::Head) { "lpush" } else { "rpush" })
    }

    fn pop_event(self) -> Event {
        Event::new(Class::List, if matches!(self, End::Head) { "lpop" } else { "rpop" })
    }

    fn pop_command(self) -> &'static [u8] {
        if matches!(self, End::Head) { b"LPOP" } else { b"RPOP" }
    }
}

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
        end.push(&mut list, element);
    }
    let len = list.len();
    list.changed(end.push_event(), elements.len() as u64);
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
    let count = match ctx.args.get(2) {
        Some(count) => Some(args::non_negative(count)?),
        None => None,
    };
    let key = ctx.key(1);
    let Some(mut list) = ctx.keys.edit::<List>(key)? else {
        match count {
            Some(_) => ctx.reply.null_array(),
            None => ctx.reply.null(),
        }
        return Ok(());
    };
    let popped = match count {
        Some(count) => {
            let popped = list.len().min(usize::try_from(count).unwrap_or(usize::MAX));
            ctx.reply.array(popped);
            popped
        }
        None => 1,
    };
    for _ in 0..popped {
        let element = end.pop(&mut list).expect("no more is popped than there is");
        ctx.reply.bulk(&element);
    }
    if popped > 0 {
        list.changed(end.pop_event(), popped as u64);
    }
    Ok(())
}

pub(crate) fn llen(ctx: &mut Ctx<'_>) -> Outcome {
    let key = ctx.key(1);
    let len = ctx.keys.read_as::<List>(key)?.map_or(0, List::len);
    ctx.reply.count(len);
    Ok(())
}

pub(crate) fn lrange(ctx: &mut Ctx<'_>) -> Outcome {
    let start = args::integer(ctx.args.at(2))?;
    let end = args::integer(ctx.args.at(3))?;
    let key = ctx.key(1);
    let Some(list) = ctx.keys.read_as::<List>(key)? else {
        ctx.reply.array(0);
        return Ok(());
    };
    let len = list.len() as i64;
    let absolute = |index: i64| if index < 0 { len.saturating_add(index).max(0) } else { index };
    let start = absolute(start).min(len) as usize;
    let end = if end < 0 { len.saturating_add(end) } else { end.min(len - 1) };
    let end = usize::try_from(end + 1).unwrap_or(0).max(start);
    ctx.reply.array(end - start);
    for element in list.range(start, end) {
        ctx.reply.bulk(element);
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
        let Some(mut list) = ctx.keys.edit::<List>(key)? else { continue };
        let element = end.pop(&mut list).expect("a list is never empty");
        list.changed(end.pop_event(), 1);
        ctx.log_instead([end.pop_command(), key.bytes]);
        ctx.reply.array(2);
        ctx.reply.bulk(key.bytes);
        ctx.reply.bulk(&element);
        return Ok(());
    }
    let keys: Vec<&[u8]> = ctx.args.from(1).iter().take(last - 1).collect();
    ctx.block(&keys, Type::List, timeout_ms, NoWaitReply::NullArray);
    Ok(())
}

pub(crate) fn lmove(ctx: &mut Ctx<'_>) -> Outcome {
    let ends = (End::parse(ctx.args.at(3))?, End::parse(ctx.args.at(4))?);
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
    let ends = (End::parse(ctx.args.at(3))?, End::parse(ctx.args.at(4))?);
    blocking_move(ctx, ends, 5)
}

pub(crate) fn brpoplpush(ctx: &mut Ctx<'_>) -> Outcome {
    blocking_move(ctx, (End::Tail, End::Head), 3)
}

fn blocking_move(ctx: &mut Ctx<'_>, ends: (End, End), timeout_at: usize) -> Outcome {
    let timeout_ms = args::timeout_ms(ctx.args.at(timeout_at))?;
    if move_element(ctx, ends)? {
        let (from, to) = (ctx.args.at(1), ctx.args.at(2));
        ctx.log_instead([b"LMOVE".as_slice(), from, to, ends.0.word(), ends.1.word()]);
    } else {
        ctx.block(&[ctx.args.at(1)], Type::List, timeout_ms, NoWaitReply::Null);
    }
    Ok(())
}

/// Moves an element from one list to another, or within one, and replies with
/// it. Answers whether there was one. As in Redis, the push is told first.
fn move_element(ctx: &mut Ctx<'_>, (take, put): (End, End)) -> Result<bool, WireError> {
    let (from, to) = (ctx.key(1), ctx.key(2));
    let Some(list) = ctx.keys.edit::<List>(from)? else { return Ok(false) };
    let element: Box<[u8]> = take.peek(&list).into();
    drop(list);
    if from.bytes == to.bytes {
        let Some(mut list) = ctx.keys.edit::<List>(from)? else { return Ok(false) };
        take.pop(&mut list);
        put.push(&mut list, &element);
        list.changed(put.push_event(), 1);
        ctx.keys.notify(take.pop_event(), from.bytes);
    } else {
        let mut list = ctx.keys.edit_or_create::<List>(to)?;
        put.push(&mut list, &element);
        list.changed(put.push_event(), 0);
        let Some(mut list) = ctx.keys.edit::<List>(from)? else { return Ok(false) };
        take.pop(&mut list);
        list.changed(take.pop_event(), 1);
    }
    ctx.reply.bulk(&element);
    Ok(true)
}
