//! XGROUP.

use super::{CONSUMER_CREATED, event, ids, no_group, now_ms};
use crate::engine::context::{Ctx, Outcome};
use keyward_commands::{WireError, args};
use keyward_store::keyspace::edit::Edit;
use keyward_store::values::hasher::Key;
use keyward_store::values::stream::{EntriesRead, Group, Stream, StreamId};

const NO_KEY: WireError = WireError::Err(
    "The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to use \
     the MKSTREAM option to create an empty stream automatically.",
);

/// What CREATE and SETID are told besides key, name and id.
#[derive(Default)]
struct Options {
    makes_stream: bool,
    entries_read: EntriesRead,
}

impl Options {
    fn parse(ctx: &Ctx<'_>, is_create: bool) -> Result<Options, WireError> {
        let mut parsed = Options::default();
        let mut options = args::Options::new(ctx.args, 5);
        while let Some(word) = options.next() {
            if is_create && args::is(word, "MKSTREAM") {
                parsed.makes_stream = true;
            } else if args::is(word, "ENTRIESREAD") && options.left() > 0 {
                let invalid = WireError::Err("value for ENTRIESREAD must be positive or -1");
                parsed.entries_read = match args::integer(options.value()?)? {
                    -1 => None,
                    count => Some(u64::try_from(count).map_err(|_| invalid)?),
                };
            } else {
                return Err(WireError::subcommand_syntax(ctx.args));
            }
        }
        Ok(parsed)
    }
}

/// The stream of a key that must be there.
fn stream_of<'a>(ctx: &'a mut Ctx<'_>, key: Key<'a>) -> Result<Edit<'a, Stream>, WireError> {
    ctx.keys.edit(key)?.ok_or(NO_KEY)
}

/// The same, with this group in it.
fn stream_with_group<'a>(
    ctx: &'a mut Ctx<'_>,
    key: Key<'a>,
    name: &[u8],
) -> Result<Edit<'a, Stream>, WireError> {
    let stream = stream_of(ctx, key)?;
    match stream.group(name) {
        Some(_) => Ok(stream),
        None => Err(no_group(key.bytes, name)),
    }
}

pub(crate) fn create(ctx: &mut Ctx<'_>) -> Outcome {
    let options = Options::parse(ctx, true)?;
    let (key, name, id) = (ctx.key(2), ctx.args.at(3), ctx.args.at(4));
    let last_id = match ctx.keys.edit::<Stream>(key)? {
        Some(stream) => stream.facts().last_id,
        None if !options.makes_stream => return Err(NO_KEY),
        None => StreamId::MIN,
    };
    // MKSTREAM and ENTRIESREAD, once each, are the longest call that Redis takes.
    if ctx.args.len() > 8 {
        return Err(WireError::subcommand_syntax(ctx.args));
    }
    let last_id = match ids::c_text(id) {
        b"$" => last_id,
        _ => ids::strict(id, 0)?,
    };
    let is_there = ctx.keys.edit::<Stream>(key)?.is_some();
    let mut stream: Edit<'_, Stream> = ctx.keys.edit_or_create(key)?;
    if !stream.add_group(name, Group::new(last_id, options.entries_read)) {
        stream.unchanged();
        return Err(WireError::line(&[b"BUSYGROUP Consumer Group name already exists"]));
    }
    if is_there {
        stream.changed_quietly(1);
        ctx.keys.notify(event("xgroup-create"), key);
    } else {
        stream.changed(event("xgroup-create"), 1);
    }
    ctx.reply.ok();
    Ok(())
}

pub(crate) fn setid(ctx: &mut Ctx<'_>) -> Outcome {
    let options = Options::parse(ctx, false)?;
    let (key, name, id) = (ctx.key(2), ctx.args.at(3), ctx.args.at(4));
    let args = ctx.args;
    let mut stream = stream_with_group(ctx, key, name)?;
    if args.len() > 7 {
        return Err(WireError::subcommand_syntax(args));
    }
    let last_id = match ids::c_text(id) {
        b"$" => stream.facts().last_id,
        _ => ids::id(id, 0)?,
    };
    stream.edit_group(name, |_, group| {
        (group.last_id, group.entries_read) = (last_id, options.entries_read);
    });
    stream.changed_quietly(1);
    ctx.keys.notify(event("xgroup-setid"), key);
    ctx.reply.ok();
    Ok(())
}

pub(crate) fn destroy(ctx: &mut Ctx<'_>) -> Outcome {
    let (key, name) = (ctx.key(2), ctx.args.at(3));
    let mut stream = stream_of(ctx, key)?;
    if !stream.remove_group(name) {
        stream.unchanged();
        ctx.reply.integer(0);
        return Ok(());
    }
    stream.changed_quietly(1);
    ctx.keys.notify(event("xgroup-destroy"), key);
    // Who waits as a consumer of it is told that it has gone.
    ctx.keys.entries_came(key);
    ctx.reply.integer(1);
    Ok(())
}

pub(crate) fn createconsumer(ctx: &mut Ctx<'_>) -> Outcome {
    let (key, name, consumer) = (ctx.key(2), ctx.args.at(3), ctx.args.at(4));
    let now_ms = now_ms(ctx);
    let mut stream = stream_with_group(ctx, key, name)?;
    if stream.group(name).is_some_and(|group| group.find(consumer).is_some()) {
        stream.unchanged();
        ctx.reply.integer(0);
        return Ok(());
    }
    stream.edit_group(name, |_, group| group.add_consumer(consumer, now_ms));
    stream.changed_quietly(1);
    ctx.keys.notify(CONSUMER_CREATED, key);
    ctx.reply.integer(1);
    Ok(())
}

pub(crate) fn delconsumer(ctx: &mut Ctx<'_>) -> Outcome {
    let (key, name, consumer) = (ctx.key(2), ctx.args.at(3), ctx.args.at(4));
    let mut stream = stream_with_group(ctx, key, name)?;
    if stream.group(name).is_none_or(|group| group.find(consumer).is_none()) {
        stream.unchanged();
        ctx.reply.integer(0);
        return Ok(());
    }
    let removed = stream.remove_consumer(name, consumer);
    stream.changed_quietly(1);
    ctx.keys.notify(event("xgroup-delconsumer"), key);
    ctx.reply.count(removed.unwrap_or(0));
    Ok(())
}

pub(crate) fn help(ctx: &mut Ctx<'_>) -> Outcome {
    ctx.reply_help(&[
        "CREATE <key> <groupname> <id|$> [option]",
        "    Create a new consumer group. Options are:",
        "    * MKSTREAM",
        "      Create the empty stream if it does not exist.",
        "    * ENTRIESREAD entries_read",
        "      Set the group's entries_read counter (internal use).",
        "CREATECONSUMER <key> <groupname> <consumer>",
        "    Create a new consumer in the specified group.",
        "DELCONSUMER <key> <groupname> <consumer>",
        "    Remove the specified consumer.",
        "DESTROY <key> <groupname>",
        "    Remove the specified group.",
        "SETID <key> <groupname> <id|$> [ENTRIESREAD entries_read]",
        "    Set the current group ID and entries_read counter.",
    ]);
    Ok(())
}
