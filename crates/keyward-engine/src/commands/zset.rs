//! The commands of sorted sets, by what they do.
//!
//! Owns when a sorted set grows and how members with scores are answered. Handlers
//! are in the modules below.

pub(crate) mod add;
mod bounds;
pub(crate) mod combine;
pub(crate) mod lookup;
pub(crate) mod pop;
pub(crate) mod random;
pub(crate) mod range;
pub(crate) mod remove;
pub(crate) mod scan;

use crate::engine::context::Ctx;
use keyward_resp::{Protocol, ReplyWriter};
use keyward_store::keyspace::Lifetime;
use keyward_store::keyspace::event::{Class, Event};
use keyward_store::values::hasher::Key;
use keyward_store::values::row::NewValue;
use keyward_store::values::value::Collection;
use keyward_store::values::zset::{Growth, ZSet};

/// The settings by which sorted sets grow now.
pub(crate) fn growth(ctx: &Ctx<'_>) -> Growth {
    Growth::of(&ctx.shared.tunables.packed, ctx.keys.hasher())
}

/// An event about a sorted set.
const fn event(name: &'static str) -> Event {
    Event::new(Class::Zset, name)
}

/// What of the members a client asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Columns {
    Members,
    MembersAndScores,
}

/// Replies with the head of an array of `len` members. With scores, RESP2 has one
/// flat array, RESP3 an array of pairs: a map would lose the order.
fn reply_head(reply: &mut ReplyWriter<'_>, columns: Columns, len: usize) {
    match (columns, reply.protocol()) {
        (Columns::MembersAndScores, Protocol::Resp2) => reply.array(len * 2),
        _ => reply.array(len),
    }
}

/// Replies with a member within an array that `reply_head` began.
fn reply_member(reply: &mut ReplyWriter<'_>, columns: Columns, (member, score): (&[u8], f64)) {
    if columns == Columns::Members {
        return reply.bulk(member);
    }
    if reply.protocol() == Protocol::Resp3 {
        reply.array(2);
    }
    reply.bulk(member);
    reply.double(score);
}

/// Replies with an array of members.
fn reply_members<'m>(
    reply: &mut ReplyWriter<'_>,
    columns: Columns,
    members: impl ExactSizeIterator<Item = (&'m [u8], f64)>,
) {
    reply_head(reply, columns, members.len());
    members.for_each(|member| reply_member(reply, columns, member));
}

/// Stores a result under a key, whatever was there, and replies with its size.
/// An empty result removes the key.
pub(crate) fn store(ctx: &mut Ctx<'_>, key: Key<'_>, zset: ZSet, name: &'static str) {
    let len = zset.len();
    if len == 0 {
        ctx.keys.remove(key, Event::DEL);
    } else {
        let value = NewValue::Object(zset.into_object());
        ctx.keys.set(key, value, Lifetime::Forever, event(name));
    }
    ctx.reply.count(len);
}
