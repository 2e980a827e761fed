//! RENAME, RENAMENX, MOVE, COPY.

use super::dump::payload;
use crate::engine::context::{Ctx, Outcome};
use keyward_commands::WireError;
use keyward_commands::args::{self, Options};
use keyward_store::keyspace::Keyspace;
use keyward_store::keyspace::event::{Class, Event};

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
    let is_free = |keys: &mut Keyspace| keys.find(keys.key(key.bytes)).is_none();
    let moves = is_there && ctx.keys.in_database(to, is_free);
    if moves {
        ctx.keys.relocate(key, (to, key.bytes), MOVE);
        if is_logged_by_row(ctx, to) {
            ctx.log_instead([b"DEL".as_slice(), key.bytes]);
            log_row(ctx, (to, key.bytes));
        }
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
    let copied = ctx.keys.in_database(to_db, |keys| {
        let to = keys.key(to.bytes);
        let is_free = keys.find(to).is_none();
        match copy {
            Some((value, deadline)) if is_free || replaces => {
                keys.put(to, value.into_row(to.bytes, deadline), COPY_TO);
                true
            }
            _ => false,
        }
    });
    if copied && is_logged_by_row(ctx, to_db) {
        log_row(ctx, (to_db, to.bytes));
    }
    ctx.reply.integer(copied.into());
    Ok(())
}

/// Whether a row that goes to another database is logged itself: the append-only file has
/// only one of the two, and carrying the command out again would not find the row, or
/// bring it where it is not to outlive a restart.
fn is_logged_by_row(ctx: &Ctx<'_>, to_db: usize) -> bool {
    let persist = |db: usize| ctx.keys.database_at(db).persist();
    ctx.keys.effects.is_listening() && persist(ctx.keys.selected()) != persist(to_db)
}

/// Logs the row of a key of some database as it is, in place of the command.
fn log_row(ctx: &mut Ctx<'_>, (db, key): (usize, &[u8])) {
    let row = ctx.keys.database_at(db).find(key).expect("the row has just come");
    let payload = payload(row.value(), ctx.shared.tunables.compresses);
    let deadline = row.deadline().unwrap_or(0).to_string();
    let options = [b"REPLACE".as_slice(), b"ABSTTL"];
    let words = [b"RESTORE".as_slice(), key, deadline.as_bytes(), &payload];
    ctx.keys.effects.instead(db, words.into_iter().chain(options));
}
