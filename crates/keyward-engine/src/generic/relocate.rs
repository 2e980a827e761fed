//! RENAME, RENAMENX, MOVE, COPY.

use crate::context::{Ctx, Outcome};
use crate::event::{Class, Event};
use keyward_commands::WireError;
use keyward_commands::args::{self, Options};

const RENAME: [Event; 2] =
    [Event::new(Class::Generic, "rename_from"), Event::new(Class::Generic, "rename_to")];
const MOVE: [Event; 2] =
    [Event::new(Class::Generic, "move_from"), Event::new(Class::Generic, "move_to")];
const COPY_TO: Event = Event::new(Class::Generic, "copy_to");

pub(crate) fn rename(ctx: &mut Ctx<'_>) -> Outcome {
    let (from, to) = (ctx.key(1), ctx.key(2));
    if ctx.keys.find(from).is_none() {
        return Err(WireError::NoSuchKey);
    }
    if from.bytes != to.bytes {
        let db = ctx.keys.selected();
        ctx.keys.relocate(from, (db, to.bytes), RENAME);
    }
    ctx.reply.ok();
    Ok(())
}

pub(crate) fn renamenx(ctx: &mut Ctx<'_>) -> Outcome {
    let (from, to) = (ctx.key(1), ctx.key(2));
    if ctx.keys.find(from).is_none() {
        return Err(WireError::NoSuchKey);
    }
    let is_free = ctx.keys.find(to).is_none();
    if is_free {
        let db = ctx.keys.selected();
        ctx.keys.relocate(from, (db, to.bytes), RENAME);
    }
    ctx.reply.integer(is_free.into());
    Ok(())
}

/// Reads a database number; `None` if there is no such database.
pub(super) fn parse_db(ctx: &Ctx<'_>, argument: &[u8]) -> Result<Option<usize>, WireError> {
    let number = args::integer_within(argument, i32::MIN.into(), i32::MAX.into())?;
    let db = usize::try_from(number).ok().filter(|db| *db < ctx.keys.database_count());
    Ok(db)
}

pub(crate) fn move_key(ctx: &mut Ctx<'_>) -> Outcome {
    let key = ctx.key(1);
    let to = parse_db(ctx, ctx.args.at(2))?.ok_or(WireError::DbIndexOutOfRange)?;
    let from = ctx.keys.selected();
    if from == to {
        return Err(WireError::SameObject);
    }
    let is_there = ctx.keys.find(key).is_some();
    ctx.keys.select(to);
    let moves = is_there && ctx.keys.find(ctx.keys.key(key.bytes)).is_none();
    ctx.keys.select(from);
    if moves {
        ctx.keys.relocate(key, (to, key.bytes), MOVE);
    }
    ctx.reply.integer(moves.into());
    Ok(())
}

pub(crate) fn copy(ctx: &mut Ctx<'_>) -> Outcome {
    let (from, to) = (ctx.key(1), ctx.key(2));
    let from_db = ctx.keys.selected();
    let (mut to_db, mut replaces) = (from_db, false);
    let mut options = Options::new(ctx.args, 3);
    while let Some(word) = options.next() {
        if args::is(word, "REPLACE") {
            replaces = true;
        } else if args::is(word, "DB") {
            let db = parse_db(ctx, options.value()?)?;
            to_db = db.ok_or(WireError::DbIndexOutOfRange)?;
        } else {
            return Err(WireError::Syntax);
        }
    }
    if from_db == to_db && from.bytes == to.bytes {
        return Err(WireError::SameObject);
    }
    let copy = ctx.keys.read(from).map(|row| (row.to_value(), row.deadline()));
    ctx.keys.select(to_db);
    let to = ctx.keys.key(to.bytes);
    let is_free = ctx.keys.find(to).is_none();
    let copied = match copy {
        Some((value, deadline)) if is_free || replaces => {
            ctx.keys.put(to, value, deadline, COPY_TO);
            true
        }
        _ => false,
    };
    ctx.keys.select(from_db);
    ctx.reply.integer(copied.into());
    Ok(())
}
