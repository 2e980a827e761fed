//! SUBSCRIBE, PUBLISH and their kin, and PUBSUB.

use crate::engine::context::{Ctx, Mode, Outcome};
use crate::glob::{self, Case};
use crate::sessions::pubsub::Kind;
use crate::sessions::session::ReplyMode;
use keyward_resp::ReplyWriter;

pub(crate) fn subscribe(ctx: &mut Ctx<'_>) -> Outcome {
    subscribe_to(ctx, Kind::Channel)
}

pub(crate) fn psubscribe(ctx: &mut Ctx<'_>) -> Outcome {
    subscribe_to(ctx, Kind::Pattern)
}

pub(crate) fn ssubscribe(ctx: &mut Ctx<'_>) -> Outcome {
    subscribe_to(ctx, Kind::Shard)
}

fn subscribe_to(ctx: &mut Ctx<'_>, kind: Kind) -> Outcome {
    for name in ctx.args.from(1).iter() {
        ctx.shared.pubsub.subscribe(ctx.session, kind, name);
        confirm(ctx, kind, ["subscribe", "psubscribe", "ssubscribe"], Some(name));
    }
    Ok(())
}

pub(crate) fn unsubscribe(ctx: &mut Ctx<'_>) -> Outcome {
    unsubscribe_from(ctx, Kind::Channel)
}

pub(crate) fn punsubscribe(ctx: &mut Ctx<'_>) -> Outcome {
    unsubscribe_from(ctx, Kind::Pattern)
}

pub(crate) fn sunsubscribe(ctx: &mut Ctx<'_>) -> Outcome {
    unsubscribe_from(ctx, Kind::Shard)
}

fn unsubscribe_from(ctx: &mut Ctx<'_>, kind: Kind) -> Outcome {
    const WORDS: [&str; 3] = ["unsubscribe", "punsubscribe", "sunsubscribe"];
    let all: Vec<Box<[u8]>>;
    let names: Vec<&[u8]> = if ctx.args.len() > 1 {
        ctx.args.from(1).iter().collect()
    } else {
        all = ctx.session.subscriptions.names[kind as usize].iter().cloned().collect();
        all.iter().map(|name| &**name).collect()
    };
    for name in &names {
        ctx.shared.pubsub.unsubscribe(ctx.session, kind, name);
        confirm(ctx, kind, WORDS, Some(name));
    }
    if names.is_empty() {
        confirm(ctx, kind, WORDS, None);
    }
    Ok(())
}

/// Confirms a change of the subscriptions. It is a push message: a client that wants no
/// replies gets it nevertheless.
fn confirm(ctx: &mut Ctx<'_>, kind: Kind, words: [&str; 3], name: Option<&[u8]>) {
    let count = ctx.session.subscriptions.confirmed_count(kind);
    let protocol = ctx.session.protocol;
    let write = |writer: &mut ReplyWriter<'_>| {
        writer.push(3);
        writer.bulk(words[kind as usize].as_bytes());
        match name {
            Some(name) => writer.bulk(name),
            None => writer.null(),
        }
        writer.count(count);
    };
    if ctx.session.reply_mode == ReplyMode::On {
        write(&mut ctx.reply);
    } else {
        write(&mut ReplyWriter::new(&mut ctx.session.pushes, protocol));
    }
}

pub(crate) fn publish(ctx: &mut Ctx<'_>) -> Outcome {
    let (pubsub, mut courier) = ctx.shared.pubsub_and_courier(ctx.session);
    let count = pubsub.publish(ctx.args.at(1), ctx.args.at(2), &mut courier);
    reply_receivers(ctx, count);
    Ok(())
}

pub(crate) fn spublish(ctx: &mut Ctx<'_>) -> Outcome {
    let (pubsub, mut courier) = ctx.shared.pubsub_and_courier(ctx.session);
    let count = pubsub.publish_to_shard(ctx.args.at(1), ctx.args.at(2), &mut courier);
    reply_receivers(ctx, count);
    Ok(())
}

/// Replies how many got the message. A publisher that listens to itself gets its own
/// message first, unless the reply is part of a larger one.
fn reply_receivers(ctx: &mut Ctx<'_>, count: usize) {
    if ctx.shared.replication.is_on() {
        ctx.log_instead(ctx.args.iter());
    }
    if matches!(ctx.mode, Mode::Plain) && ctx.session.reply_mode == ReplyMode::On {
        ctx.reply.raw(&std::mem::take(&mut ctx.session.pushes));
    }
    ctx.reply.count(count);
}

pub(crate) fn channels(ctx: &mut Ctx<'_>) -> Outcome {
    list_channels(ctx, Kind::Channel)
}

pub(crate) fn shardchannels(ctx: &mut Ctx<'_>) -> Outcome {
    list_channels(ctx, Kind::Shard)
}

fn list_channels(ctx: &mut Ctx<'_>, kind: Kind) -> Outcome {
    if ctx.args.len() > 3 {
        return Err(keyward_commands::WireError::subcommand_syntax(ctx.args));
    }
    let pattern = ctx.args.get(2);
    let is_wanted = |name: &&[u8]| pattern.is_none_or(|p| glob::matches(p, name, Case::Sensitive));
    let names: Vec<&[u8]> = ctx.shared.pubsub.names(kind).filter(is_wanted).collect();
    ctx.reply.array(names.len());
    names.iter().for_each(|name| ctx.reply.bulk(name));
    Ok(())
}

pub(crate) fn numsub(ctx: &mut Ctx<'_>) -> Outcome {
    count_subscribers(ctx, Kind::Channel)
}

pub(crate) fn shardnumsub(ctx: &mut Ctx<'_>) -> Outcome {
    count_subscribers(ctx, Kind::Shard)
}

fn count_subscribers(ctx: &mut Ctx<'_>, kind: Kind) -> Outcome {
    let names = ctx.args.from(2);
    ctx.reply.array(names.len() * 2);
    for name in names.iter() {
        ctx.reply.bulk(name);
        ctx.reply.count(ctx.shared.pubsub.subscriber_count(kind, name));
    }
    Ok(())
}

pub(crate) fn numpat(ctx: &mut Ctx<'_>) -> Outcome {
    ctx.reply.count(ctx.shared.pubsub.count(Kind::Pattern));
    Ok(())
}

pub(crate) fn help(ctx: &mut Ctx<'_>) -> Outcome {
    ctx.reply_help(&[
        "CHANNELS [<pattern>]",
        "    Return the currently active channels matching a <pattern> (default: '*').",
        "NUMPAT",
        "    Return number of subscriptions to patterns.",
        "NUMSUB [<channel> ...]",
        "    Return the number of subscribers for the specified channels, excluding",
        "    pattern subscriptions(default: no channels).",
        "SHARDCHANNELS [<pattern>]",
        "    Return the currently active shard level channels matching a <pattern> (default: '*').",
        "SHARDNUMSUB [<shardchannel> ...]",
        "    Return the number of subscribers for the specified shard level channel(s)",
    ]);
    Ok(())
}
