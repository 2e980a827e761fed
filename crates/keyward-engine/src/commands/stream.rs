//! Commands of streams, by what they do.
//!
//! Owns what is common to them: events, errors about groups, how an entry is replied. The
//! handlers are below.
//!
//! As in Redis 7.0, WATCH and tracking hear of entries that come and go, not of what becomes
//! of groups; subscribers hear of both.

pub(crate) mod add;
pub(crate) mod claim;
pub(crate) mod group;
pub(crate) mod group_read;
pub(crate) mod ids;
pub(crate) mod info;
pub(crate) mod log;
pub(crate) mod pending;
pub(crate) mod range;
pub(crate) mod read;
pub(crate) mod remove;
pub(crate) mod trim_options;

use crate::engine::context::Ctx;
use keyward_commands::WireError;
use keyward_resp::ReplyWriter;
use keyward_store::keyspace::event::{Class, Event};
use keyward_store::values::row::Row;
use keyward_store::values::stream::{Entry, Group, Stream, StreamId};
use keyward_store::values::value::{Collection, Value};

const fn event(name: &'static str) -> Event {
    Event::new(Class::Stream, name)
}

const CONSUMER_CREATED: Event = event("xgroup-createconsumer");

/// `NOGROUP No such key '…' or consumer group '…'`, and what follows.
fn no_key_or_group(key: &[u8], group: &[u8], tail: &[u8]) -> WireError {
    WireError::line(&[b"NOGROUP No such key '", key, b"' or consumer group '", group, b"'", tail])
}

/// `NOGROUP No such consumer group '…' for key name '…'`.
fn no_group(key: &[u8], group: &[u8]) -> WireError {
    let middle = b"' for key name '";
    WireError::line(&[b"NOGROUP No such consumer group '", group, middle, key, b"'"])
}

/// The time that entries and consumers are given. It goes on while the log is carried out
/// again, when that of rows stands still.
fn now_ms(ctx: &Ctx<'_>) -> i64 {
    ctx.shared.now_us / 1000
}

/// The stream that a row holds.
fn stream_in(row: &Row) -> Option<&Stream> {
    match row.value() {
        Value::Object(object) => Stream::of(object),
        _ => None,
    }
}

fn reply_id(reply: &mut ReplyWriter<'_>, id: StreamId) {
    reply.bulk(id.text().as_bytes());
}

/// An entry: its id, and its fields and values in turn.
#[inline]
fn reply_entry(reply: &mut ReplyWriter<'_>, entry: &Entry<'_>) {
    reply.array(2);
    reply_id(reply, entry.id);
    reply.array(entry.len() * 2);
    for (name, value) in entry.pairs() {
        name.reply_to(reply);
        value.reply_to(reply);
    }
}

/// A number that nobody may know.
fn reply_known(reply: &mut ReplyWriter<'_>, number: Option<i64>) {
    match number {
        Some(number) => reply.integer(number),
        None => reply.null(),
    }
}

/// How many entries a group has read.
fn entries_read(group: &Group) -> Option<i64> {
    group.entries_read.map(u64::cast_signed)
}
