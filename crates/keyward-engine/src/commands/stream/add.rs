//! XADD, XSETID.
//!
//! Effects: XADD is logged with the id that the entry got, and an exact bound.

use super::ids::{self, Partial};
use super::trim_options::Options;
use super::{event, now_ms, reply_id};
use crate::engine::context::{Ctx, Mode, Outcome};
use crate::governed::changefeed;
use keyward_commands::{WireError, args};
use keyward_store::keyspace::edit::Edit;
use keyward_store::values::stream::{Body, Stream, StreamId};

const NOT_BEHIND: WireError =
    WireError::Err("The ID specified in XADD is equal or smaller than the target stream top item");

pub(crate) fn xadd(ctx: &mut Ctx<'_>) -> Outcome {
    let options = Options::parse(ctx, true)?;
    let fields = ctx.args.from((options.id_at + 1).min(ctx.args.len()));
    if fields.is_empty() || !fields.len().is_multiple_of(2) {
        return Err(WireError::WrongArity(ctx.command.name));
    }
    if options.id == Some(Partial::Whole(StreamId::MIN)) {
        return Err(WireError::Err("The ID specified in XADD must be greater than 0-0"));
    }
    let key = ctx.key(1);
    let mut now_ms = u64::try_from(now_ms(ctx)).unwrap_or(0);
    let unit = matches!(ctx.mode, Mode::FollowUp).then(|| ctx.keys.effects.unit());
    let limits = ctx.shared.tunables.stream_nodes;
    let is_logged = ctx.keys.effects.is_listening();
    let mut stream: Edit<'_, Stream> = if options.makes_none {
        let Some(stream) = ctx.keys.edit(key)? else {
            ctx.reply.null();
            return Ok(());
        };
        stream
    } else {
        ctx.keys.edit_or_create(key)?
    };
    if let Some(unit) = unit {
        now_ms = changefeed::time_of_entry(ctx.shared, unit, stream.facts().last_id, now_ms);
    }
    let id = id_of(&stream, options.id, now_ms)?;
    let too_long = |_| WireError::Err("Elements are too large to be stored");
    stream.append(id, &limits, fields.iter()).map_err(too_long)?;
    let trimmed = options.trim.as_ref().map_or(0, |trim| stream.trim(trim));
    reply_id(&mut ctx.reply, id);
    let is_exact = matches!(options.id, Some(Partial::Whole(_)))
        && !options.trim.as_ref().is_some_and(|trim| trim.is_approximate);
    let logged = (is_logged && !is_exact).then(|| options.exact(ctx.args, &stream, Some(id)));
    stream.changed(event("xadd"), 1);
    if trimmed > 0 {
        ctx.keys.notify(event("xtrim"), key);
    }
    ctx.keys.entries_came(key);
    if let Some(command) = logged {
        ctx.log_instead(command.args().iter());
    }
    Ok(())
}

/// The id of an entry that comes now.
fn id_of(body: &Body, given: Option<Partial>, now_ms: u64) -> Result<StreamId, WireError> {
    let last = body.facts().last_id;
    if last == StreamId::MAX {
        let text = "The stream has exhausted the last possible ID, unable to add more items";
        return Err(WireError::Err(text));
    }
    let id = match given {
        None => body.next_id(now_ms),
        Some(Partial::Whole(id)) => Some(id),
        Some(Partial::Time(ms)) if ms == last.ms => {
            last.seq.checked_add(1).map(|seq| StreamId::new(ms, seq))
        }
        Some(Partial::Time(ms)) => Some(StreamId::new(ms, 0)),
    };
    id.filter(|id| *id > last).ok_or(NOT_BEHIND)
}

pub(crate) fn xsetid(ctx: &mut Ctx<'_>) -> Outcome {
    let id = ids::strict(ctx.args.at(2), 0)?;
    let (mut added, mut removed) = (None, None);
    let mut options = args::Options::new(ctx.args, 3);
    while let Some(word) = options.next() {
        if args::is(word, "ENTRIESADDED") {
            let negative = WireError::Err("entries_added must be positive");
            let count = args::integer(options.value()?)?;
            added = Some(u64::try_from(count).map_err(|_| negative)?);
        } else if args::is(word, "MAXDELETEDID") {
            let highest = ids::strict(options.value()?, 0)?;
            if id < highest {
                let text = "The ID specified in XSETID is smaller than the provided \
                            max_deleted_entry_id";
                return Err(WireError::Err(text));
            }
            removed = Some(highest).filter(|id| !id.is_zero());
        } else {
            return Err(WireError::Syntax);
        }
    }
    let key = ctx.key(1);
    let mut stream: Edit<'_, Stream> = ctx.keys.edit(key)?.ok_or(WireError::NoSuchKey)?;
    if stream.last_live_id().is_some_and(|last| id < last) {
        let text = "The ID specified in XSETID is smaller than the target stream top item";
        return Err(WireError::Err(text));
    }
    let length = stream.facts().length;
    if length > 0 && added.is_some_and(|added| length > added) {
        let text = "The entries_added specified in XSETID is smaller than the target stream length";
        return Err(WireError::Err(text));
    }
    stream.set_last_id(id, added, removed);
    stream.changed_quietly(1);
    ctx.keys.notify(event("xsetid"), key);
    ctx.reply.ok();
    Ok(())
}
