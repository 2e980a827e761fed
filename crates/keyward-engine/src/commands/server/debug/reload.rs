//! DEBUG RELOAD and DEBUG LOADAOF: everything is loaded again, while everybody waits.

use crate::commands::server::persistence::save_now;
use crate::engine::context::{Ctx, Mode, Outcome};
use crate::engine::runner;
use crate::governed::rebuild::AfterLoad;
use crate::host::{LogBatch, LogFile};
use crate::sessions::session::Session;
use crate::sessions::stream::is_foreign_select;
use crate::snapshot::load::load;
use crate::snapshot::{Coverage, DueRows, SnapshotLoader};
use keyward_commands::{WireError, args, resolve};
use keyward_lua::LogLevel;
use keyward_resp::Args;
use keyward_schema::Persist;
use keyward_store::keyspace::OnConflict;
use keyward_store::keyspace::client_id::ClientId;
use keyward_store::keyspace::loading::Rules;
use keyward_store::tables::reclaim::Freeing;

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
        empty(ctx);
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

/// Removes everything. Nothing is changed by that, so nothing is logged.
fn empty(ctx: &mut Ctx<'_>) {
    let dirty = ctx.keys.changes.dirty;
    (0..ctx.keys.database_count()).for_each(|db| ctx.keys.flush(db, Freeing::AtOnce));
    ctx.shared.scripts.remove_libraries();
    ctx.keys.changes.dirty = dirty;
}

pub(super) fn loadaof(ctx: &mut Ctx<'_>) -> Outcome {
    let mut logged = Vec::new();
    ctx.shared.feed_effects(ctx.keys);
    ctx.shared.log.take(&mut logged);
    // Redis ends the process.
    let failed = WireError::Err("Error trying to load the AOF files, check server logs.");
    let Some(files) = ctx.host.open_log(logged) else { return Err(failed) };
    let (dirty, wanted_snapshot) = (ctx.keys.changes.dirty, ctx.keys.changes.wants_snapshot);
    empty(ctx);
    ctx.keys.effects.listen(false);
    ctx.shared.origin = None;
    let client = std::mem::replace(ctx.session, Session::new(ClientId(0), 0, true));
    let outcome = files.into_iter().try_for_each(|file| load_file(ctx, file));
    let outcome = outcome.and_then(|()| load_beside(ctx));
    *ctx.session = client;
    ctx.shared.listen(ctx.keys);
    let mut after = AfterLoad::default();
    while !after.step(ctx.keys, ctx.shared, ctx.session, ctx.host, usize::MAX) {}
    ctx.keys.changes.dirty = dirty;
    // What the file tells of was saved then.
    ctx.keys.changes.wants_snapshot = wanted_snapshot;
    if let Err(problem) = outcome {
        ctx.host.log(LogLevel::Warning, problem.as_bytes());
        return Err(failed);
    }
    ctx.host.log(LogLevel::Warning, b"Append Only File loaded by DEBUG LOADAOF");
    ctx.reply.ok();
    Ok(())
}

/// Loads one of the files that the append-only file has.
fn load_file(ctx: &mut Ctx<'_>, file: LogFile) -> Result<(), String> {
    let mut offset = 0;
    if let Some(rows) = file.rows {
        let what = (Coverage::Whole, DueRows::Kept);
        let loader = SnapshotLoader::new(ctx.keys, ctx.shared, rows, what, OnConflict::Refuse);
        let mut loader = loader.map_err(|error| error.to_string())?;
        while loader.step(ctx, usize::MAX).map_err(|error| error.to_string())? {}
        offset = loader.offset();
    }
    if offset == file.bytes {
        return Ok(());
    }
    let mut commands = (file.commands)(offset)?;
    let present = ctx.keys.leave_present(Rules::Rest);
    let mut outcome = Ok(());
    while outcome.is_ok() {
        match commands.next() {
            Ok(None) => break,
            Ok(Some(LogBatch { annotations, buffer, batch })) => {
                ctx.shared.recall_annotations(ctx.keys, &annotations);
                let mut all = (0..batch.len()).map(|index| batch.command(index, buffer));
                outcome = all.try_for_each(|args| run_again(ctx, args));
            }
            Err(problem) => outcome = Err(problem),
        }
    }
    ctx.keys.enter_present(present);
    outcome
}

/// Loads rows that the append-only file leaves to the last snapshot. What it tells of those follows
/// nothing.
fn load_beside(ctx: &mut Ctx<'_>) -> Result<(), String> {
    let cover = &ctx.shared.log_cover;
    let is_left = |db: &usize| cover.place(*db) == Persist::Rdb;
    let left: Vec<usize> = (0..ctx.keys.database_count()).filter(is_left).collect();
    if left.is_empty() {
        return Ok(());
    }
    let Some(source) = ctx.host.open_snapshot() else { return Ok(()) };
    left.into_iter().for_each(|db| ctx.keys.flush(db, Freeing::AtOnce));
    let what = (Coverage::SnapshotsOnly, DueRows::Dropped);
    let loader = SnapshotLoader::new(ctx.keys, ctx.shared, source, what, OnConflict::Refuse);
    let mut loader = loader.map_err(|error| error.to_string())?;
    while loader.step(ctx, usize::MAX).map_err(|error| error.to_string())? {}
    Ok(())
}

/// Carries a command out again. Those of a transaction need no bounds: nobody sees them.
fn run_again(ctx: &mut Ctx<'_>, args: Args<'_>) -> Result<(), String> {
    if args::is(args.at(0), "MULTI") || args::is(args.at(0), "EXEC") {
        return Ok(());
    }
    if is_foreign_select(args.at(0)) {
        ctx.shared.note_continued();
    }
    let unknown = |_| format!("a command that is not known: {}", args.at(0).escape_ascii());
    let command = resolve(args).map_err(unknown)?;
    runner::call(ctx, Mode::Queued, command, args, &mut Vec::new());
    Ok(())
}
