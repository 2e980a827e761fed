//! DEBUG RELOAD: saves everything and loads it again.

use crate::context::{Ctx, Outcome};
use crate::reclaim::Freeing;
use crate::script::LogLevel;
use crate::server::persistence::save_now;
use crate::snapshot::load::{OnConflict, load};
use keyward_commands::{WireError, args};

pub(super) fn reload(ctx: &mut Ctx<'_>) -> Outcome {
    let (mut saves, mut flushes, mut on_conflict) = (true, true, OnConflict::Refuse);
    for word in ctx.args.from(2).iter() {
        if args::is(word, "MERGE") {
            on_conflict = OnConflict::Replace;
        } else if args::is(word, "NOFLUSH") {
            flushes = false;
        } else if args::is(word, "NOSAVE") {
            saves = false;
        } else {
            return Err(WireError::Err(
                "DEBUG RELOAD only supports the MERGE, NOFLUSH and NOSAVE options.",
            ));
        }
    }
    if saves && !save_now(ctx) {
        return Err(WireError::line(&[b"ERR"]));
    }
    if flushes {
        let dirty = ctx.keys.changes.dirty;
        (0..ctx.keys.database_count()).for_each(|db| ctx.keys.flush(db, Freeing::AtOnce));
        ctx.shared.scripts.remove_libraries();
        // Nothing is changed, so nothing is logged.
        ctx.keys.changes.dirty = dirty;
    }
    let failed = WireError::Err("Error trying to load the RDB dump");
    let Some(mut source) = ctx.host.open_snapshot() else { return Err(failed) };
    match load(ctx, &mut source, on_conflict) {
        Ok(_) => ctx.host.log(LogLevel::Warning, b"DB reloaded by DEBUG RELOAD"),
        Err(error) => {
            ctx.host.log(LogLevel::Warning, error.to_string().as_bytes());
            return Err(failed);
        }
    }
    ctx.reply.ok();
    Ok(())
}
