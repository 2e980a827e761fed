//! XINFO.

use super::range::reply_entries;
use super::{entries_read, no_group, now_ms, reply_entry, reply_id, reply_known, stream_in};
use crate::engine::context::{Ctx, Outcome};
use keyward_commands::{WireError, args};
use keyward_resp::ReplyWriter;
use keyward_store::values::stream::group::Consumer;
use keyward_store::values::stream::{Body, Direction, Group, Stream, StreamId};

/// How much of each list FULL shows if nobody says.
const COUNT_DEFAULT: i64 = 10;

/// The number of entries and pending entries that FULL shows; none without FULL.
fn parse_full(ctx: &Ctx<'_>) -> Result<Option<usize>, WireError> {
    let args = ctx.args;
    let syntax = || WireError::subcommand_syntax(args);
    let count = match args.len() {
        3 => return Ok(None),
        4 if args::is(args.at(3), "FULL") => COUNT_DEFAULT,
        6 if args::is(args.at(3), "FULL") && args::is(args.at(4), "COUNT") => {
            args::integer(args.at(5))?
        }
        _ => return Err(syntax()),
    };
    Ok(Some(match count {
        0 => usize::MAX,
        ..0 => COUNT_DEFAULT as usize,
        count => usize::try_from(count).unwrap_or(usize::MAX),
    }))
}

pub(crate) fn stream(ctx: &mut Ctx<'_>) -> Outcome {
    let key = ctx.key(2);
    // Redis looks the key up before it reads the options.
    let found = ctx.keys.read_as::<Stream>(key)?.is_some();
    let full = if found { parse_full(ctx)? } else { None };
    let stream = ctx.keys.find(key).and_then(stream_in).ok_or(WireError::NoSuchKey)?;
    let reply = &mut ctx.reply;
    reply.map(if full.is_some() { 9 } else { 10 });
    facts(reply, stream);
    match full {
        None => {
            reply.bulk(b"groups");
            reply.count(stream.group_count());
            for (name, direction) in
                [("first-entry", Direction::Forward), ("last-entry", Direction::Backward)]
            {
                reply.bulk(name.as_bytes());
                match stream.range([StreamId::MIN, StreamId::MAX], direction).next() {
                    Some(entry) => reply_entry(reply, &entry),
                    None => reply.null(),
                }
            }
        }
        Some(count) => {
            reply.bulk(b"entries");
            reply_entries(reply, stream.all().take(count));
            reply.bulk(b"groups");
            reply.array(stream.group_count());
            for (name, group) in stream.groups() {
                full_group(reply, stream, (name, group), count);
            }
        }
    }
    Ok(())
}

fn facts(reply: &mut ReplyWriter<'_>, stream: &Stream) {
    let facts = stream.facts();
    let number = |number: u64| number.cast_signed();
    reply.bulk(b"length");
    reply.integer(number(facts.length));
    reply.bulk(b"radix-tree-keys");
    reply.count(stream.node_count());
    reply.bulk(b"radix-tree-nodes");
    reply.count(stream.radix_nodes());
    reply.bulk(b"last-generated-id");
    reply_id(reply, facts.last_id);
    reply.bulk(b"max-deleted-entry-id");
    reply_id(reply, facts.removed_id);
    reply.bulk(b"entries-added");
    reply.integer(number(facts.added));
    reply.bulk(b"recorded-first-entry-id");
    reply_id(reply, facts.first_id);
}

fn full_group(
    reply: &mut ReplyWriter<'_>,
    body: &Body,
    (name, group): (&[u8], &Group),
    count: usize,
) {
    reply.map(7);
    reply.bulk(b"name");
    reply.bulk(name);
    reply.bulk(b"last-delivered-id");
    reply_id(reply, group.last_id);
    reply.bulk(b"entries-read");
    reply_known(reply, entries_read(group));
    reply.bulk(b"lag");
    reply_known(reply, body.lag(group));
    reply.bulk(b"pel-count");
    reply.count(group.pending().len());
    reply.bulk(b"pending");
    reply.array(group.pending().len().min(count));
    for (id, pending) in group.pending().iter().take(count) {
        reply.array(4);
        reply_id(reply, id);
        reply.bulk(group.consumer(pending.consumer).name());
        reply.integer(pending.delivered_ms);
        reply.integer(pending.deliveries.cast_signed());
    }
    reply.bulk(b"consumers");
    reply.array(group.consumers().len());
    for (_, consumer) in group.consumers() {
        full_consumer(reply, group, consumer, count);
    }
}

fn full_consumer(reply: &mut ReplyWriter<'_>, group: &Group, consumer: &Consumer, count: usize) {
    reply.map(4);
    reply.bulk(b"name");
    reply.bulk(consumer.name());
    reply.bulk(b"seen-time");
    reply.integer(consumer.seen_ms());
    reply.bulk(b"pel-count");
    reply.count(consumer.pending().len());
    reply.bulk(b"pending");
    reply.array(consumer.pending().len().min(count));
    for (id, ()) in consumer.pending().iter().take(count) {
        let pending = group.pending().get(id);
        reply.array(3);
        reply_id(reply, id);
        reply.integer(pending.map_or(0, |pending| pending.delivered_ms));
        reply.integer(pending.map_or(0, |pending| pending.deliveries.cast_signed()));
    }
}

pub(crate) fn groups(ctx: &mut Ctx<'_>) -> Outcome {
    let key = ctx.key(2);
    let stream = ctx.keys.read_as::<Stream>(key)?.ok_or(WireError::NoSuchKey)?;
    let reply = &mut ctx.reply;
    reply.array(stream.group_count());
    for (name, group) in stream.groups() {
        reply.map(6);
        reply.bulk(b"name");
        reply.bulk(name);
        reply.bulk(b"consumers");
        reply.count(group.consumers().len());
        reply.bulk(b"pending");
        reply.count(group.pending().len());
        reply.bulk(b"last-delivered-id");
        reply_id(reply, group.last_id);
        reply.bulk(b"entries-read");
        reply_known(reply, entries_read(group));
        reply.bulk(b"lag");
        reply_known(reply, stream.lag(group));
    }
    Ok(())
}

pub(crate) fn consumers(ctx: &mut Ctx<'_>) -> Outcome {
    let (key, name) = (ctx.key(2), ctx.args.at(3));
    let now_ms = now_ms(ctx);
    let stream = ctx.keys.read_as::<Stream>(key)?.ok_or(WireError::NoSuchKey)?;
    let group = stream.group(name).ok_or_else(|| no_group(key.bytes, name))?;
    let reply = &mut ctx.reply;
    reply.array(group.consumers().len());
    for (_, consumer) in group.consumers() {
        reply.map(3);
        reply.bulk(b"name");
        reply.bulk(consumer.name());
        reply.bulk(b"pending");
        reply.count(consumer.pending().len());
        reply.bulk(b"idle");
        reply.integer(now_ms.saturating_sub(consumer.seen_ms()).max(0));
    }
    Ok(())
}

pub(crate) fn help(ctx: &mut Ctx<'_>) -> Outcome {
    ctx.reply_help(&[
        "CONSUMERS <key> <groupname>",
        "    Show consumers of <groupname>.",
        "GROUPS <key>",
        "    Show the stream consumer groups.",
        "STREAM <key> [FULL [COUNT <count>]",
        "    Show information about the stream.",
    ]);
    Ok(())
}
