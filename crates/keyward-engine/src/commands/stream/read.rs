//! XREAD, XREADGROUP: what came behind an id, with or without waiting for it.
//!
//! A client that waits goes on when an entry comes to one of its streams: its command runs
//! again for that one (`Mode::Woken`), from the id on that was the last one when it began to
//! wait. Not here: what a read does to a group (`group_read`).

use super::group_read::{self, Reading};
use super::range::reply_entries;
use super::{ids, no_key_or_group, stream_in};
use crate::engine::context::{Ctx, Mode, Outcome};
use keyward_commands::{WireError, args};
use keyward_resp::{ArgBuf, Protocol, ReplyWriter};
use keyward_store::keyspace::blocking::NoWaitReply;
use keyward_store::values::stream::{Direction, Stream, StreamId};
use keyward_store::values::value::Type;

/// How many entries a client that has waited gets at most, unless it says.
const WOKEN_COUNT_DEFAULT: usize = 1000;

/// What XREAD and XREADGROUP are told.
pub(super) struct Call<'a> {
    /// Zero for all.
    count: usize,
    /// How long to wait, zero for ever; `None` if not at all.
    block_ms: Option<u64>,
    /// The name of the group and of the consumer.
    pub(super) group: Option<(&'a [u8], &'a [u8])>,
    /// What is read is not pending then.
    pub(super) is_acknowledged: bool,
    /// Where the first key stands, and how many there are; as many ids follow.
    keys_at: usize,
    keys: usize,
}

impl<'a> Call<'a> {
    fn parse(ctx: &Ctx<'a>, takes_group: bool) -> Result<Call<'a>, WireError> {
        let args = ctx.args;
        let mut call = Call {
            count: 0,
            block_ms: None,
            group: None,
            is_acknowledged: false,
            keys_at: 0,
            keys: 0,
        };
        let mut options = args::Options::new(args, 1);
        while let Some(word) = options.next() {
            let left = options.left();
            if args::is(word, "BLOCK") && left > 0 {
                call.block_ms = Some(parse_block(ctx, options.value()?)?);
            } else if args::is(word, "COUNT") && left > 0 {
                let count = args::integer(options.value()?)?;
                call.count = usize::try_from(count).unwrap_or(0);
            } else if args::is(word, "STREAMS") && left > 0 {
                if !left.is_multiple_of(2) {
                    let text = "Unbalanced XREAD list of streams: for each stream key an ID or \
                                '$' must be specified.";
                    return Err(WireError::Err(text));
                }
                (call.keys_at, call.keys) = (options.index(), left / 2);
                break;
            } else if args::is(word, "GROUP") && left >= 2 {
                if !takes_group {
                    let text = "The GROUP option is only supported by XREADGROUP. You called \
                                XREAD instead.";
                    return Err(WireError::Err(text));
                }
                call.group = Some((options.value()?, options.value()?));
            } else if args::is(word, "NOACK") {
                if !takes_group {
                    let text = "The NOACK option is only supported by XREADGROUP. You called \
                                XREAD instead.";
                    return Err(WireError::Err(text));
                }
                call.is_acknowledged = true;
            } else {
                return Err(WireError::Syntax);
            }
        }
        if call.keys == 0 {
            return Err(WireError::Syntax);
        }
        if takes_group && call.group.is_none() {
            return Err(WireError::Err("Missing GROUP option for XREADGROUP"));
        }
        Ok(call)
    }

    /// The most entries that are replied of a stream.
    fn count_max(&self, default: usize) -> usize {
        if self.count > 0 { self.count } else { default }
    }
}

fn parse_block(ctx: &Ctx<'_>, argument: &[u8]) -> Result<u64, WireError> {
    if let Mode::Scripted(..) = ctx.mode {
        let tail = b" command is not allowed with BLOCK option from scripts";
        return Err(WireError::line(&[b"ERR ", ctx.args.at(0), tail]));
    }
    let ms = args::integer_or(argument, WireError::TimeoutNotInteger)?;
    u64::try_from(ms).map_err(|_| WireError::TimeoutNegative)
}

/// What of a stream is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    /// What lies behind an id.
    Behind(StreamId),
    /// What the group has not been given: `>`.
    New,
}

pub(crate) fn xread(ctx: &mut Ctx<'_>) -> Outcome {
    read(ctx, false)
}

pub(crate) fn xreadgroup(ctx: &mut Ctx<'_>) -> Outcome {
    // What it changes is logged entry by entry.
    let outcome = read(ctx, true);
    ctx.keys.effects.suppress();
    outcome
}

fn read(ctx: &mut Ctx<'_>, takes_group: bool) -> Outcome {
    let call = Call::parse(ctx, takes_group)?;
    if let Mode::Woken(key) = ctx.mode {
        return go_on(ctx, &call, key);
    }
    let mut wanted = Vec::with_capacity(call.keys);
    for index in 0..call.keys {
        wanted.push(parse_wanted(ctx, &call, index)?);
    }
    let place = ctx.reply.defer();
    let mut served = 0;
    for (index, wanted) in wanted.iter().enumerate() {
        served += usize::from(serve(ctx, &call, index, *wanted)?);
    }
    if served > 0 {
        match ctx.reply.protocol() {
            Protocol::Resp2 => ctx.reply.end_array(place, served),
            Protocol::Resp3 => ctx.reply.end_map(place, served),
        }
        return Ok(());
    }
    ctx.reply.abandon(place);
    match call.block_ms {
        Some(block_ms) => wait(ctx, &call, &wanted, block_ms),
        None => ctx.reply.null_array(),
    }
    Ok(())
}

/// Reads what is wanted of a stream, after a look at the stream and the group.
fn parse_wanted(ctx: &mut Ctx<'_>, call: &Call<'_>, index: usize) -> Result<Wanted, WireError> {
    let key = ctx.key(call.keys_at + index);
    let id = ctx.args.at(call.keys_at + call.keys + index);
    let stream = ctx.keys.read_as::<Stream>(key)?;
    if let Some((group, _)) = call.group
        && stream.is_none_or(|stream| stream.group(group).is_none())
    {
        return Err(no_key_or_group(key.bytes, group, b" in XREADGROUP with GROUP option"));
    }
    match (ids::c_text(id), call.group) {
        (b"$", Some(_)) => Err(WireError::Err(
            "The $ ID is meaningless in the context of XREADGROUP: you want to read the history \
             of this consumer by specifying a proper ID, or use the > ID to get new messages. The \
             $ ID would just return an empty result set.",
        )),
        (b"$", None) => {
            let last = stream.map_or(StreamId::MIN, |stream| stream.facts().last_id);
            Ok(Wanted::Behind(last))
        }
        (b">", None) => Err(WireError::Err(
            "The > ID can be specified only when calling XREADGROUP using the GROUP <group> \
             <consumer> option.",
        )),
        (b">", Some(_)) => Ok(Wanted::New),
        _ => match (ids::strict(id, 0)?, call.group) {
            // Redis takes the highest id for `>`.
            (StreamId::MAX, Some(_)) => Ok(Wanted::New),
            (id, _) => Ok(Wanted::Behind(id)),
        },
    }
}

/// Replies with what is wanted of a stream, if there is anything; whether there was.
fn serve(
    ctx: &mut Ctx<'_>,
    call: &Call<'_>,
    index: usize,
    wanted: Wanted,
) -> Result<bool, WireError> {
    let key = ctx.key(call.keys_at + index);
    let Some(stream) = ctx.keys.read_as::<Stream>(key)? else { return Ok(false) };
    let has_behind = |id: StreamId| stream.last_live_id().is_some_and(|last| last > id);
    let count = call.count_max(usize::MAX);
    let Some((group, consumer)) = call.group else {
        let Wanted::Behind(id) = wanted else { return Ok(false) };
        let Some(start) = id.next().filter(|_| has_behind(id)) else { return Ok(false) };
        begin_stream(&mut ctx.reply, key.bytes);
        let entries = stream.range([start, StreamId::MAX], Direction::Forward);
        reply_entries(&mut ctx.reply, entries.take(count));
        return Ok(true);
    };
    let history_from = match wanted {
        // Behind the highest id Redis goes on with the lowest.
        Wanted::Behind(id) => Some(id.next().unwrap_or(StreamId::MIN)),
        Wanted::New => {
            let last = stream.group(group).map(|group| group.last_id);
            if !last.is_some_and(has_behind) {
                return Ok(false);
            }
            None
        }
    };
    begin_stream(&mut ctx.reply, key.bytes);
    let reading = Reading { key, group, consumer, history_from, count };
    group_read::read(ctx, &reading, call.is_acknowledged);
    Ok(true)
}

/// What stands before the entries of a stream.
fn begin_stream(reply: &mut ReplyWriter<'_>, key: &[u8]) {
    if reply.protocol() == Protocol::Resp2 {
        reply.array(2);
    }
    reply.bulk(key);
}

/// Waits for entries. What lies behind the last entry is what lies behind it now.
fn wait(ctx: &mut Ctx<'_>, call: &Call<'_>, wanted: &[Wanted], block_ms: u64) {
    let keys: Vec<&[u8]> = ctx.args.from(call.keys_at).iter().take(call.keys).collect();
    let ids_at = call.keys_at + call.keys;
    let mut args = ArgBuf::new();
    for (at, argument) in ctx.args.iter().enumerate() {
        match at.checked_sub(ids_at).and_then(|index| wanted.get(index)) {
            Some(Wanted::Behind(id)) => args.push(id.text().as_bytes()),
            _ => args.push(argument),
        }
    }
    ctx.block_with(args, &keys, Type::Stream, block_ms, NoWaitReply::NullArray);
}

/// Goes on for a client that waited for this stream.
fn go_on(ctx: &mut Ctx<'_>, call: &Call<'_>, woken_by: &[u8]) -> Outcome {
    let keys = ctx.args.from(call.keys_at);
    let index = keys.iter().take(call.keys).position(|key| key == woken_by);
    let Some(index) = index else { return ctx.wait_on() };
    let key = ctx.key(call.keys_at + index);
    let Some(stream) = ctx.keys.find(key).and_then(stream_in) else { return ctx.wait_on() };
    let last_id = stream.facts().last_id;
    let behind = match call.group {
        Some((name, _)) => {
            let gone = b"NOGROUP the consumer group this client was blocked on no longer exists";
            stream.group(name).ok_or_else(|| WireError::line(&[gone]))?.last_id
        }
        None => ids::strict(ctx.args.at(call.keys_at + call.keys + index), 0)?,
    };
    let Some(start) = behind.next().filter(|_| last_id > behind) else { return ctx.wait_on() };
    match ctx.reply.protocol() {
        Protocol::Resp2 => ctx.reply.array(1),
        Protocol::Resp3 => ctx.reply.map(1),
    }
    begin_stream(&mut ctx.reply, key.bytes);
    let count = call.count_max(WOKEN_COUNT_DEFAULT);
    match call.group {
        Some((group, consumer)) => {
            let reading = Reading { key, group, consumer, history_from: None, count };
            group_read::read(ctx, &reading, call.is_acknowledged);
        }
        None => {
            let entries = stream.range([start, StreamId::MAX], Direction::Forward);
            reply_entries(&mut ctx.reply, entries.take(count));
        }
    }
    Ok(())
}
