//! XACK, XPENDING.

use super::{ids, no_key_or_group, now_ms, reply_id};
use crate::engine::context::{Ctx, Outcome};
use keyward_commands::{WireError, args};
use keyward_resp::ReplyWriter;
use keyward_store::keyspace::edit::Edit;
use keyward_store::values::stream::{Group, Pending, Stream, StreamId};

pub(crate) fn xack(ctx: &mut Ctx<'_>) -> Outcome {
    let (key, name) = (ctx.key(1), ctx.args.at(2));
    if ctx.keys.read_as::<Stream>(key)?.is_none_or(|stream| stream.group(name).is_none()) {
        ctx.reply.integer(0);
        return Ok(());
    }
    let ids = ids::all_strict(ctx.args.from(3).iter())?;
    let mut stream: Edit<'_, Stream> = ctx.keys.edit(key)?.ok_or(WireError::NoSuchKey)?;
    let is_pending = |group: &Group| ids.iter().any(|id| group.pending().get(*id).is_some());
    if !stream.group(name).is_some_and(is_pending) {
        stream.unchanged();
        ctx.reply.integer(0);
        return Ok(());
    }
    let taken = stream
        .edit_group(name, |_, group| ids.iter().filter(|id| group.take(**id).is_some()).count());
    let taken = taken.unwrap_or(0);
    stream.changed_quietly(taken as u64);
    ctx.reply.count(taken);
    Ok(())
}

/// Which pending entries XPENDING lists.
struct Listed<'a> {
    bounds: [StreamId; 2],
    count: u64,
    idle_ms_min: i64,
    consumer: Option<&'a [u8]>,
}

impl<'a> Listed<'a> {
    fn parse(ctx: &Ctx<'a>) -> Result<Option<Listed<'a>>, WireError> {
        let args = ctx.args;
        let (mut at, mut idle_ms_min) = (3, 0);
        match args.len() {
            3 => return Ok(None),
            6..=9 => {}
            _ => return Err(WireError::Syntax),
        }
        if args::is(args.at(3), "IDLE") {
            idle_ms_min = args::integer(args.at(4))?;
            if args.len() < 8 {
                return Err(WireError::Syntax);
            }
            at += 2;
        }
        let count = u64::try_from(args::integer(args.at(at + 2))?).unwrap_or(0);
        let bounds = [ids::range_start(args.at(at))?, ids::range_end(args.at(at + 1))?];
        Ok(Some(Listed { bounds, count, idle_ms_min, consumer: args.get(at + 3) }))
    }

    fn reply(&self, reply: &mut ReplyWriter<'_>, group: &Group, now_ms: i64) {
        let consumer = match self.consumer {
            None => None,
            Some(name) => match group.find(name) {
                Some(consumer) => Some(consumer),
                None => return reply.array(0),
            },
        };
        let [first, last] = self.bounds;
        let place = reply.defer();
        let mut listed = 0;
        let mut list = |(id, pending): (StreamId, &Pending)| -> bool {
            if id > last {
                return false;
            }
            let idle_ms = now_ms.saturating_sub(pending.delivered_ms);
            listed += 1;
            reply.array(4);
            reply_id(reply, id);
            reply.bulk(group.consumer(pending.consumer).name());
            reply.integer(idle_ms.max(0));
            reply.integer(pending.deliveries.cast_signed());
            listed < self.count
        };
        let given_up_to_ms = match self.idle_ms_min {
            0 => i64::MAX,
            idle_ms => now_ms.saturating_sub(idle_ms),
        };
        let pending = group.pending();
        if self.count > 0 {
            match consumer {
                Some(consumer) => {
                    let entries = pending.given_to(consumer, first, given_up_to_ms);
                    entries.take_while(|entry| list(*entry)).for_each(drop);
                }
                None => {
                    let entries = pending.given(first, given_up_to_ms);
                    entries.take_while(|entry| list(*entry)).for_each(drop);
                }
            }
        }
        reply.end_array(place, listed as usize);
    }
}

pub(crate) fn xpending(ctx: &mut Ctx<'_>) -> Outcome {
    let listed = Listed::parse(ctx)?;
    let (key, name) = (ctx.key(1), ctx.args.at(2));
    let now_ms = now_ms(ctx);
    let group = ctx.keys.read_as::<Stream>(key)?.and_then(|stream| stream.group(name));
    let group = group.ok_or_else(|| no_key_or_group(key.bytes, name, b""))?;
    match listed {
        Some(listed) => listed.reply(&mut ctx.reply, group, now_ms),
        None => summary(&mut ctx.reply, group),
    }
    Ok(())
}

/// How many are pending, between which ids, and with whom.
fn summary(reply: &mut ReplyWriter<'_>, group: &Group) {
    reply.array(4);
    reply.count(group.pending().len());
    let Some([first, last]) = group.pending().ends() else {
        reply.null();
        reply.null();
        return reply.null_array();
    };
    reply_id(reply, first);
    reply_id(reply, last);
    let busy = || group.consumers().filter(|(_, consumer)| !consumer.pending().is_empty());
    reply.array(busy().count());
    for (_, consumer) in busy() {
        reply.array(2);
        reply.bulk(consumer.name());
        reply.bulk_integer(i64::try_from(consumer.pending().len()).unwrap_or(i64::MAX));
    }
}
