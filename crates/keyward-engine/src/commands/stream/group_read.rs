//! What reading as a consumer does to a group: entries become pending, or are given again.
//!
//! Effects: an XCLAIM for each entry that became pending; where none did, XGROUP SETID for
//! how far the group has read, and XGROUP CREATECONSUMER for a consumer that came. That a
//! consumer has read its own history is not logged, as in Redis.

use super::log::{Claim, GroupName};
use super::{CONSUMER_CREATED, now_ms, reply_entry, reply_id};
use crate::engine::context::Ctx;
use keyward_resp::ReplyWriter;
use keyward_store::keyspace::edit::Edit;
use keyward_store::values::hasher::Key;
use keyward_store::values::stream::{
    Body, ConsumerNumber, Direction, Group, Pending, Stream, StreamId,
};

/// Who reads what.
pub(super) struct Reading<'a> {
    pub(super) key: Key<'a>,
    pub(super) group: &'a [u8],
    pub(super) consumer: &'a [u8],
    /// From where on the consumer reads again what it has; `None` if it reads what is new.
    pub(super) history_from: Option<StreamId>,
    /// How many entries at most.
    pub(super) count: usize,
}

/// What a reading did.
#[derive(Default)]
struct Done {
    is_consumer_new: bool,
    claims: Vec<Claim>,
    /// Where the group has come to, if it went on.
    progress: Option<(StreamId, Option<u64>)>,
}

/// Replies with the entries that a consumer reads, and does what that does to the group.
/// The group is there.
pub(super) fn read(ctx: &mut Ctx<'_>, reading: &Reading<'_>, is_acknowledged: bool) {
    let now_ms = now_ms(ctx);
    let is_logged = ctx.keys.effects.is_listening();
    let edit: Option<Edit<'_, Stream>> = ctx.keys.edit(reading.key).ok().flatten();
    let mut stream = edit.expect("callers have found the stream");
    let mut done = Done::default();
    let reply = &mut ctx.reply;
    stream.edit_group(reading.group, |body, group| {
        let found = group.find(reading.consumer);
        done.is_consumer_new = found.is_none();
        let consumer = found.or_else(|| group.add_consumer(reading.consumer, now_ms));
        let consumer = consumer.expect("a consumer that is not there can be added");
        group.see(consumer, now_ms);
        match reading.history_from {
            Some(from) => history(reply, (body, group), consumer, from, reading.count, now_ms),
            None => {
                let pending = Pending { delivered_ms: now_ms, deliveries: 1, consumer };
                let pending = (!is_acknowledged).then_some(pending);
                news(reply, (body, group), pending, reading.count, is_logged, &mut done);
            }
        }
    });
    stream.changed_quietly(1 + u64::from(done.is_consumer_new));
    if done.is_consumer_new {
        ctx.keys.notify(CONSUMER_CREATED, reading.key);
    }
    if is_logged {
        let group = GroupName { key: reading.key.bytes, name: reading.group };
        if done.is_consumer_new && done.claims.is_empty() {
            group.log_consumer(ctx, reading.consumer);
        }
        done.claims.iter().for_each(|claim| group.log_claim(ctx, claim));
        if let Some((last_id, read)) = done.progress.filter(|_| is_acknowledged) {
            group.log_progress(ctx, last_id, read);
        }
    }
}

/// Entries that the group has not been given.
fn news(
    reply: &mut ReplyWriter<'_>,
    (body, group): (&Body, &mut Group),
    pending: Option<Pending>,
    count: usize,
    is_logged: bool,
    done: &mut Done,
) {
    let place = reply.defer();
    let mut replied = 0;
    let start = group.last_id.next().unwrap_or(StreamId::MIN);
    for entry in body.range([start, StreamId::MAX], Direction::Forward).take(count) {
        if entry.id > group.last_id {
            advance(body, group, entry.id);
            done.progress = Some((group.last_id, group.entries_read));
        }
        reply_entry(reply, &entry);
        if let Some(pending) = pending {
            group.give(entry.id, pending);
            if is_logged {
                done.claims.push(Claim::new(entry.id.text().as_bytes(), pending, group));
            }
        }
        replied += 1;
    }
    reply.end_array(place, replied);
}

/// A group has been given its next entry.
pub(super) fn advance(body: &Body, group: &mut Group, id: StreamId) {
    group.entries_read = match group.entries_read {
        Some(read) if !body.has_gap_from(id) => Some(read.wrapping_add(1)),
        read if body.facts().added == 0 => read,
        _ => body.added_up_to(id),
    };
    group.last_id = id;
}

/// Entries that the consumer has and did not acknowledge. Of those that are not in the
/// stream any more the id alone.
fn history(
    reply: &mut ReplyWriter<'_>,
    (body, group): (&Body, &mut Group),
    consumer: ConsumerNumber,
    from: StreamId,
    count: usize,
    now_ms: i64,
) {
    let ids: Vec<StreamId> = {
        let owned = group.consumer(consumer).pending().from(from);
        owned.take(count).map(|(id, ())| id).collect()
    };
    reply.array(ids.len());
    for id in ids {
        let Some(entry) = body.get(id) else {
            reply.array(2);
            reply_id(reply, id);
            reply.null_array();
            continue;
        };
        reply_entry(reply, &entry);
        let deliveries = group.pending().get(id).map_or(0, |pending| pending.deliveries);
        let deliveries = deliveries.wrapping_add(1);
        group.give(id, Pending { delivered_ms: now_ms, deliveries, consumer });
    }
}
