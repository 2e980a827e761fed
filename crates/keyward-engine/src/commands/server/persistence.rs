//! SAVE, BGSAVE, BGREWRITEAOF, LASTSAVE. Files are the host's.

use crate::engine::context::{Ctx, Mode, Outcome};
use crate::engine::shared::Shared;
use crate::governed::ends;
use crate::host::BackgroundSave;
use crate::snapshot::Snapshot;
use keyward_commands::{WireError, args};

/// A snapshot is being taken already.
const IN_PROGRESS: WireError = WireError::Err("Background save already in progress");

/// Lets the host write a snapshot; whether it could.
pub(crate) fn save_now(ctx: &mut Ctx<'_>) -> bool {
    ends::finish_all(ctx);
    let head = ctx.shared.snapshot_head(ctx.keys);
    let is_saved = ctx.host.save(&Snapshot::new(ctx.keys, head));
    note_saved(ctx.shared, is_saved);
    is_saved
}

/// As [`save_now`], before the end.
pub(crate) fn save_at_the_end(ctx: &mut Ctx<'_>) -> bool {
    ends::finish_all(ctx);
    ctx.shared.feed_effects(ctx.keys);
    let head = ctx.shared.last_snapshot_head(ctx.keys);
    let is_saved = ctx.host.save(&Snapshot::new(ctx.keys, head));
    note_saved(ctx.shared, is_saved);
    is_saved
}

fn note_saved(shared: &mut Shared, is_saved: bool) {
    shared.write_refusal.take_if(|refusal| is_saved && *refusal == WireError::SaveFailed);
    if is_saved {
        shared.log_cover.capture_snapshot();
        shared.snapshot_ended(true);
    }
}

pub(crate) fn save(ctx: &mut Ctx<'_>) -> Outcome {
    if ctx.host.is_saving() {
        return Err(IN_PROGRESS);
    }
    if let Err(reason) = ctx.host.may_save() {
        return Err(WireError::line(&[b"ERR ", reason.as_bytes()]));
    }
    if !save_now(ctx) {
        // Redis's text, to the last letter: the log has the reason.
        return Err(WireError::line(&[b"ERR"]));
    }
    ctx.reply.ok();
    Ok(())
}

pub(crate) fn bgsave(ctx: &mut Ctx<'_>) -> Outcome {
    let is_plain = ctx.args.len() == 1;
    let schedules = ctx.args.len() == 2 && args::is(ctx.args.at(1), "SCHEDULE");
    if !is_plain && !schedules {
        return Err(WireError::Syntax);
    }
    // Within a transaction Redis puts it off, and says so.
    let may_wait = schedules || matches!(ctx.mode, Mode::Queued);
    match ctx.host.save_in_background(may_wait) {
        BackgroundSave::AlreadyRunning if ctx.host.is_saving() => return Err(IN_PROGRESS),
        BackgroundSave::AlreadyRunning => {
            return Err(WireError::Err(
                "Another child process is active (AOF?): can't BGSAVE right now. Use BGSAVE \
                 SCHEDULE in order to schedule a BGSAVE whenever possible.",
            ));
        }
        BackgroundSave::Begun if matches!(ctx.mode, Mode::Queued) => {
            ctx.reply.simple("Background saving scheduled");
        }
        BackgroundSave::Scheduled => ctx.reply.simple("Background saving scheduled"),
        BackgroundSave::Begun => ctx.reply.simple("Background saving started"),
    }
    Ok(())
}

pub(crate) fn bgrewriteaof(ctx: &mut Ctx<'_>) -> Outcome {
    match ctx.host.rewrite_log(matches!(ctx.mode, Mode::Queued)) {
        BackgroundSave::AlreadyRunning => {
            Err(WireError::Err("Background append only file rewriting already in progress"))
        }
        BackgroundSave::Scheduled => {
            ctx.reply.simple("Background append only file rewriting scheduled");
            Ok(())
        }
        BackgroundSave::Begun => {
            ctx.reply.simple("Background append only file rewriting started");
            Ok(())
        }
    }
}

pub(crate) fn lastsave(ctx: &mut Ctx<'_>) -> Outcome {
    ctx.reply.integer(ctx.host.last_save_s());
    Ok(())
}
