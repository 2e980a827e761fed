//! XRANGE, XREVRANGE, XLEN.

use super::{ids, reply_entry};
use crate::engine::context::{Ctx, Outcome};
use keyward_commands::WireError;
use keyward_commands::args::{self, Options};
use keyward_resp::ReplyWriter;
use keyward_store::values::stream::{Direction, Entry, Stream};

pub(crate) fn xlen(ctx: &mut Ctx<'_>) -> Outcome {
    let key = ctx.key(1);
    let length = ctx.keys.read_as::<Stream>(key)?.map_or(0, |stream| stream.len());
    ctx.reply.count(length);
    Ok(())
}

pub(crate) fn xrange(ctx: &mut Ctx<'_>) -> Outcome {
    range(ctx, Direction::Forward)
}

pub(crate) fn xrevrange(ctx: &mut Ctx<'_>) -> Outcome {
    range(ctx, Direction::Backward)
}

fn range(ctx: &mut Ctx<'_>, direction: Direction) -> Outcome {
    let [start, end] = match direction {
        Direction::Forward => [2, 3],
        Direction::Backward => [3, 2],
    };
    let bounds = [ids::range_start(ctx.args.at(start))?, ids::range_end(ctx.args.at(end))?];
    let mut count = None;
    let mut options = Options::new(ctx.args, 4);
    while let Some(word) = options.next() {
        if !args::is(word, "COUNT") || options.left() == 0 {
            return Err(WireError::Syntax);
        }
        count = Some(args::integer(options.value()?)?.max(0));
    }
    let key = ctx.key(1);
    let Some(stream) = ctx.keys.read_as::<Stream>(key)? else {
        ctx.reply.array(0);
        return Ok(());
    };
    match count {
        Some(0) => ctx.reply.null_array(),
        count => {
            let max =
                count.map_or(usize::MAX, |count| usize::try_from(count).unwrap_or(usize::MAX));
            reply_entries(&mut ctx.reply, stream.range(bounds, direction).take(max));
        }
    }
    Ok(())
}

/// An array of these entries.
pub(super) fn reply_entries<'a>(
    reply: &mut ReplyWriter<'_>,
    entries: impl Iterator<Item = Entry<'a>>,
) {
    let place = reply.defer();
    let mut count = 0;
    for entry in entries {
        reply_entry(reply, &entry);
        count += 1;
    }
    reply.end_array(place, count);
}
