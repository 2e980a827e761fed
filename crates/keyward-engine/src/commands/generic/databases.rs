//! DBSIZE, FLUSHDB, FLUSHALL, SWAPDB, SELECT.

use super::relocate::parse_db;
use crate::engine::context::{Ctx, Outcome};
use keyward_commands::{WireError, args};
use keyward_store::tables::reclaim::Freeing;

pub(crate) fn dbsize(ctx: &mut Ctx<'_>) -> Outcome {
    ctx.reply.count(ctx.keys.database_at(ctx.db).len());
    Ok(())
}

pub(crate) fn select(ctx: &mut Ctx<'_>) -> Outcome {
    let db = parse_db(ctx, ctx.args.at(1))?.ok_or(WireError::DbIndexOutOfRange)?;
    ctx.session.db = db;
    ctx.reply.ok();
    Ok(())
}

pub(crate) fn flushdb(ctx: &mut Ctx<'_>) -> Outcome {
    let freeing = flush_mode(ctx)?;
    ctx.keys.flush(ctx.db, freeing);
    // Logged even if there was nothing: a replica may have something.
    ctx.log_instead([b"FLUSHDB".as_slice()]);
    ctx.reply.ok();
    Ok(())
}

pub(crate) fn flushall(ctx: &mut Ctx<'_>) -> Outcome {
    let freeing = flush_mode(ctx)?;
    for db in 0..ctx.keys.database_count() {
        ctx.keys.flush(db, freeing);
    }
    // A restart must not bring back what was flushed.
    ctx.keys.changes.wants_snapshot = true;
    ctx.log_instead([b"FLUSHALL".as_slice()]);
    ctx.reply.ok();
    Ok(())
}

fn flush_mode(ctx: &Ctx<'_>) -> Result<Freeing, WireError> {
    match ctx.args.get(1) {
        None => Ok(Freeing::lazily_if(ctx.keys.lazy.user_flush)),
        Some(_) if ctx.args.len() > 2 => Err(WireError::Syntax),
        Some(mode) if args::is(mode, "SYNC") => Ok(Freeing::AtOnce),
        Some(mode) if args::is(mode, "ASYNC") => Ok(Freeing::Lazily),
        Some(_) => Err(WireError::Syntax),
    }
}

pub(crate) fn swapdb(ctx: &mut Ctx<'_>) -> Outcome {
    let index = |position: usize, text: &'static str| {
        let number = args::integer_or(ctx.args.at(position), WireError::Err(text))?;
        i32::try_from(number).map_err(|_| WireError::Err(text))
    };
    let (a, b) = (index(1, "invalid first DB index")?, index(2, "invalid second DB index")?);
    let known = |db: i32| usize::try_from(db).ok().filter(|db| *db < ctx.keys.database_count());
    let (Some(a), Some(b)) = (known(a), known(b)) else {
        return Err(WireError::DbIndexOutOfRange);
    };
    ctx.keys.swap(a, b);
    ctx.reply.ok();
    Ok(())
}
