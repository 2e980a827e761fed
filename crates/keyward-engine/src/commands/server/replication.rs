//! SYNC and REPLCONF: what a replica, or a backup, says.

use crate::engine::context::{Ctx, Outcome};
use crate::sessions::replicas::Wishes;
use crate::snapshot::{Coverage, Snapshot, SnapshotOptions};
use keyward_commands::{WireError, args};

/// An address is shorter. The number is Redis's.
const ADDRESS_BYTES: usize = 256;

pub(crate) fn sync(ctx: &mut Ctx<'_>) -> Outcome {
    // Redis answers nothing at all to one who follows already.
    if ctx.session.is_replica {
        return Ok(());
    }
    let Wishes { takes_mark, is_last } = ctx.session.wishes;
    if takes_mark && is_last && ctx.host.send_snapshot(ctx.session.id) {
        ctx.session.is_replica = true;
        ctx.shared.replicas.snapshots += 1;
        return Ok(());
    }
    let shared = &mut *ctx.shared;
    shared.feed_effects(ctx.keys);
    let used_bytes = ctx.host.used_memory();
    let options = SnapshotOptions { coverage: Coverage::Everything, sums: true, used_bytes };
    let written =
        Snapshot::new(ctx.keys, shared.snapshot_head(ctx.keys)).write_to(Vec::new(), options);
    let snapshot = written.map_err(|_| WireError::Err("Unable to write a snapshot"))?;
    ctx.reply.raw(format!("${}\r\n", snapshot.len()).as_bytes());
    ctx.reply.raw(&snapshot);
    shared.replicas.add(ctx.session);
    shared.replicas.snapshots += 1;
    shared.listen(ctx.keys);
    Ok(())
}

pub(crate) fn replconf(ctx: &mut Ctx<'_>) -> Outcome {
    if ctx.args.len().is_multiple_of(2) {
        return Err(WireError::Syntax);
    }
    for index in (1..ctx.args.len()).step_by(2) {
        let (option, value) = (ctx.args.at(index), ctx.args.at(index + 1));
        match option.to_ascii_lowercase().as_slice() {
            b"listening-port" => drop(args::integer(value)?),
            b"ip-address" if value.len() < ADDRESS_BYTES => {}
            b"ip-address" => {
                let text = b"ERR REPLCONF ip-address provided by replica instance is too long: ";
                let length = value.len().to_string();
                return Err(WireError::line(&[text, length.as_bytes(), b" bytes"]));
            }
            b"capa" => ctx.session.wishes.takes_mark |= args::is(value, "eof"),
            // What a replica tells of its progress is not answered.
            b"ack" | b"getack" => return Ok(()),
            b"rdb-only" => ctx.session.wishes.is_last = args::integer_within(value, 0, 1)? == 1,
            _ => return Err(WireError::line(&[b"ERR Unrecognized REPLCONF option: ", option])),
        }
    }
    ctx.reply.ok();
    Ok(())
}
