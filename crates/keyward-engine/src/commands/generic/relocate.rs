//! RENAME, RENAMENX, MOVE, COPY.

use super::dump::payload;
use crate::engine::context::{Ctx, Outcome};
use keyward_commands::WireError;
use keyward_commands::args::{self, Options};
use keyward_store::keyspace::event::{Class, Event};
use keyward_store::values::hasher::Key;

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
        ctx.keys.relocate(from, to, RENAME);
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
        ctx.keys.relocate(from, to, RENAME);
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
    let to_db = parse_db(ctx, ctx.args.at(2))?.ok_or(WireError::DbIndexOutOfRange)?;
    if ctx.db == to_db {
        return Err(WireError::SameObject);
    }
    let to = ctx.keys.key_in(to_db, key.bytes);
    let moves = ctx.keys.find(key).is_some() && ctx.keys.find(to).is_none();
    if moves {
        ctx.keys.relocate(key, to, MOVE);
        if is_logged_by_row(ctx, to_db) {
            ctx.log_instead([b"DEL".as_slice(), key.bytes]);
            log_row(ctx, to);
        }
    }
    ctx.reply.integer(moves.into());
    Ok(())
}

pub(crate) fn copy(ctx: &mut Ctx<'_>) -> Outcome {
    let (from, to) = (ctx.key(1), ctx.key(2));
    let (mut to_db, mut replaces) = (ctx.db, false);
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
    if ctx.db == to_db && from.bytes == to.bytes {
        return Err(WireError::SameObject);
    }
    let is_there = ctx.keys.read(from).is_some();
    let to = ctx.keys.key_in(to_db, to.bytes);
    let is_free = ctx.keys.find(to).is_none();
    let row = ctx.keys.table(from).find(from).filter(|_| is_there && (is_free || replaces));
    let copy = row.map(|row| row.to_value().into_row(to.bytes, row.deadline()));
    let copied = copy.is_some();
    if let Some(copy) = copy {
        ctx.keys.put(to, copy, COPY_TO);
    }
    if copied && is_logged_by_row(ctx, to_db) {
        log_row(ctx, to);
    }
    ctx.reply.integer(copied.into());
    Ok(())
}

/// Whether a row that goes to another database is logged itself: the append-only file has
/// only one of the two, and carrying the command out again would not find the row, or
/// bring it where it is not to outlive a restart.
fn is_logged_by_row(ctx: &Ctx<'_>, to_db: usize) -> bool {
    let is_logged = |db: usize| ctx.shared.log_cover.is_logged(db);
    ctx.keys.effects.is_listening() && is_logged(ctx.db) != is_logged(to_db)
}

/// Logs the row of a key as it is, in place of the command.
fn log_row(ctx: &mut Ctx<'_>, key: Key<'_>) {
    let row = ctx.keys.table(key).find(key).expect("the row has just come");
    let payload = payload(row.value(), ctx.shared.tunables.compresses);
    let deadline = row.deadline().unwrap_or(0).to_string();
    let options = [b"REPLACE".as_slice(), b"ABSTTL"];
    let words = [b"RESTORE".as_slice(), key.bytes, deadline.as_bytes(), &payload];
    ctx.keys.effects.instead(key.db(), words.into_iter().chain(options));
}
