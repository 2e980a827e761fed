//! XCLAIM, XAUTOCLAIM: entries that are pending go to another consumer.
//!
//! Effects: an XCLAIM for each entry that changed hands or was found gone, with all that is
//! known of it; XGROUP SETID where the last id of the group changed.

use super::group_read::advance;
use super::log::{Claim, GroupName};
use super::{CONSUMER_CREATED, ids, no_key_or_group, now_ms, reply_entry, reply_id};
use crate::engine::context::{Ctx, Outcome};
use keyward_commands::args::{self, Options};
use keyward_commands::{Command, WireError};
use keyward_resp::{Args, ReplyWriter};
use keyward_store::keyspace::edit::Edit;
use keyward_store::values::stream::{Body, ConsumerNumber, Group, Pending, Stream, StreamId};
use std::collections::VecDeque;

/// The most entries that XAUTOCLAIM may be asked for.
const COUNT_MAX: i64 = i64::MAX / 16;
/// For each entry that XAUTOCLAIM may claim it looks at so many.
const LOOKS_PER_CLAIM: i64 = 10;
/// Entries that it looks up at a time.
const UPCOMING_MAX: usize = 64;

/// Claiming entries of a group for a consumer.
struct Claiming<'c> {
    now_ms: i64,
    idle_ms_min: i64,
    name: &'c [u8],
    /// The consumer, once it is known to be there.
    consumer: Option<ConsumerNumber>,
    is_consumer_new: bool,
    /// Entries are replied by their ids alone, and are not counted as delivered.
    just_ids: bool,
    /// When the entries are said to have been delivered.
    delivered_ms: i64,
    deliveries: Option<u64>,
    /// What is to be logged.
    claims: Vec<Claim>,
    /// How many pending entries changed.
    changed: u64,
}

impl<'c> Claiming<'c> {
    fn new(ctx: &Ctx<'c>, idle_ms_min: i64) -> Claiming<'c> {
        let now_ms = now_ms(ctx);
        Claiming {
            now_ms,
            idle_ms_min: idle_ms_min.max(0),
            name: ctx.args.at(3),
            consumer: None,
            is_consumer_new: false,
            just_ids: false,
            delivered_ms: now_ms,
            deliveries: None,
            claims: Vec::new(),
            changed: 0,
        }
    }

    /// An entry that is pending and not in the stream any more.
    fn drop_gone(&mut self, group: &mut Group, id: StreamId, text: &[u8]) {
        let Some(pending) = group.pending().get(id).copied() else { return };
        self.claims.push(Claim::new(text, pending, group));
        group.take(id);
        self.changed += 1;
    }

    /// Whether an entry has been idle for as long as is asked for.
    fn is_idle(&self, pending: &Pending) -> bool {
        self.idle_ms_min == 0
            || self.now_ms.saturating_sub(pending.delivered_ms) >= self.idle_ms_min
    }

    /// Gives an entry, of which so much is known, to the consumer, and replies with it.
    fn claim(
        &mut self,
        (body, group): (&Body, &mut Group),
        id: StreamId,
        text: &[u8],
        deliveries: u64,
        reply: &mut ReplyWriter<'_>,
    ) {
        let consumer = self.consumer.unwrap_or_else(|| {
            let found = group.find(self.name);
            self.is_consumer_new = found.is_none();
            let found = found.or_else(|| group.add_consumer(self.name, self.now_ms));
            found.expect("a consumer that is not there can be added")
        });
        if self.consumer.replace(consumer).is_none() {
            group.see(consumer, self.now_ms);
        }
        let counted = deliveries.wrapping_add(u64::from(!self.just_ids));
        let deliveries = self.deliveries.unwrap_or(counted);
        let pending = Pending { delivered_ms: self.delivered_ms, deliveries, consumer };
        group.give(id, pending);
        match body.get(id).filter(|_| !self.just_ids) {
            Some(entry) => reply_entry(reply, &entry),
            None => reply_id(reply, id),
        }
        self.claims.push(Claim::new(text, pending, group));
        self.changed += 1;
    }
}

/// The stream that has this group, or Redis's error.
fn check_group(ctx: &mut Ctx<'_>) -> Outcome {
    let (key, name) = (ctx.key(1), ctx.args.at(2));
    let stream = ctx.keys.read_as::<Stream>(key)?;
    match stream.and_then(|stream| stream.group(name)) {
        Some(_) => Ok(()),
        None => Err(no_key_or_group(key.bytes, name, b"")),
    }
}

/// The error of a minimal time that is no number.
fn invalid_idle(command: &Command) -> WireError {
    match command.name {
        "xclaim" => WireError::Err("Invalid min-idle-time argument for XCLAIM"),
        _ => WireError::Err("Invalid min-idle-time argument for XAUTOCLAIM"),
    }
}

/// What XCLAIM is told behind the ids.
struct ClaimOptions {
    forces: bool,
    last_id: StreamId,
}

fn parse_claim_options(
    args: Args<'_>,
    first: usize,
    claiming: &mut Claiming<'_>,
) -> Result<ClaimOptions, WireError> {
    let mut parsed = ClaimOptions { forces: false, last_id: StreamId::MIN };
    let mut delivered_ms = None;
    let mut options = Options::new(args, first);
    while let Some(word) = options.next() {
        let has_more = options.left() > 0;
        if args::is(word, "FORCE") {
            parsed.forces = true;
        } else if args::is(word, "JUSTID") {
            claiming.just_ids = true;
        } else if args::is(word, "IDLE") && has_more {
            let invalid = WireError::Err("Invalid IDLE option argument for XCLAIM");
            let idle_ms = args::integer_or(options.value()?, invalid)?;
            delivered_ms = Some(claiming.now_ms.wrapping_sub(idle_ms));
        } else if args::is(word, "TIME") && has_more {
            let invalid = WireError::Err("Invalid TIME option argument for XCLAIM");
            delivered_ms = Some(args::integer_or(options.value()?, invalid)?);
        } else if args::is(word, "RETRYCOUNT") && has_more {
            let invalid = WireError::Err("Invalid RETRYCOUNT option argument for XCLAIM");
            let count = args::integer_or(options.value()?, invalid)?;
            claiming.deliveries = u64::try_from(count).ok();
        } else if args::is(word, "LASTID") && has_more {
            parsed.last_id = ids::strict(options.value()?, 0)?;
        } else {
            let start = b"ERR Unrecognized XCLAIM option '";
            return Err(WireError::line(&[start, ids::c_text(word), b"'"]));
        }
    }
    // A time that makes no sense is taken for now.
    let is_past = |ms: &i64| (0..=claiming.now_ms).contains(ms);
    claiming.delivered_ms = delivered_ms.filter(is_past).unwrap_or(claiming.now_ms);
    Ok(parsed)
}

pub(crate) fn xclaim(ctx: &mut Ctx<'_>) -> Outcome {
    check_group(ctx)?;
    let idle = args::integer_or(ctx.args.at(4), invalid_idle(ctx.command))?;
    let mut claiming = Claiming::new(ctx, idle);
    let texts = ctx.args.from(5);
    let ids: Vec<StreamId> = texts.iter().map_while(|text| ids::strict(text, 0).ok()).collect();
    let options = parse_claim_options(ctx.args, 5 + ids.len(), &mut claiming)?;
    let (key, name) = (ctx.key(1), ctx.args.at(2));
    let is_replayed = ctx.shared.is_loading || ctx.keys.is_following();
    let mut stream: Edit<'_, Stream> = ctx.keys.edit(key)?.ok_or(WireError::NoSuchKey)?;
    let place = ctx.reply.defer();
    let mut replied = 0;
    let mut progress = None;
    stream.edit_group(name, |body, group| {
        if options.last_id > group.last_id {
            // In a log it is what XREADGROUP gave: an entry, and the last that the group has.
            match is_replayed && ids == [options.last_id] && body.get(options.last_id).is_some() {
                true => advance(body, group, options.last_id),
                false => group.last_id = options.last_id,
            }
            progress = Some((group.last_id, group.entries_read));
        }
        for (id, text) in ids.iter().copied().zip(texts.iter()) {
            if body.get(id).is_none() {
                claiming.drop_gone(group, id, text);
                continue;
            }
            let deliveries = match group.pending().get(id) {
                Some(pending) if !claiming.is_idle(pending) => continue,
                Some(pending) => pending.deliveries,
                None if options.forces => 1,
                None => continue,
            };
            claiming.claim((body, group), id, text, deliveries, &mut ctx.reply);
            replied += 1;
        }
    });
    let is_progress_alone = progress.is_some() && claiming.claims.is_empty();
    let changed = claiming.changed + u64::from(is_progress_alone);
    finish(stream, changed + u64::from(claiming.is_consumer_new));
    ctx.reply.end_array(place, replied);
    log(ctx, &claiming);
    // Who replays the claims would count an entry that nobody was given.
    let is_told = claiming.claims.is_empty() || !is_replayed;
    if let Some((last_id, read)) = progress.filter(|_| is_told) {
        GroupName { key: key.bytes, name }.log_progress(ctx, last_id, read);
    }
    Ok(())
}

fn finish(stream: Edit<'_, Stream>, changed: u64) {
    if changed > 0 { stream.changed_quietly(changed) } else { stream.unchanged() }
}

/// Logs what became of entries, and tells of a consumer that came.
fn log(ctx: &mut Ctx<'_>, claiming: &Claiming<'_>) {
    let key = ctx.key(1);
    let group = GroupName { key: key.bytes, name: ctx.args.at(2) };
    ctx.keys.effects.suppress();
    if ctx.keys.effects.is_listening() {
        claiming.claims.iter().for_each(|claim| group.log_claim(ctx, claim));
    }
    if claiming.is_consumer_new {
        ctx.keys.notify(CONSUMER_CREATED, key);
    }
}

/// The entries that XAUTOCLAIM comes to, looked up some at a time: what it does to one leaves the
/// others as they are.
#[derive(Default)]
struct Upcoming {
    entries: VecDeque<(StreamId, Pending)>,
}

impl Upcoming {
    /// The next entry that is pending; from `behind` on if none has been looked up.
    fn next(&mut self, group: &Group, behind: Option<StreamId>) -> Option<(StreamId, Pending)> {
        if self.entries.is_empty() {
            let entries = group.pending().from(behind?).take(UPCOMING_MAX);
            self.entries.extend(entries.map(|(id, pending)| (id, *pending)));
        }
        self.entries.pop_front()
    }
}

pub(crate) fn xautoclaim(ctx: &mut Ctx<'_>) -> Outcome {
    let idle = args::integer_or(ctx.args.at(4), invalid_idle(ctx.command))?;
    let start = ids::range_start(ctx.args.at(5))?;
    let mut claiming = Claiming::new(ctx, idle);
    let mut count = 100;
    let mut options = Options::new(ctx.args, 6);
    while let Some(word) = options.next() {
        if args::is(word, "COUNT") && options.left() > 0 {
            let invalid = WireError::Err("COUNT must be > 0");
            count = args::integer_or(options.value()?, invalid.clone())?;
            if !(1..=COUNT_MAX).contains(&count) {
                return Err(invalid);
            }
        } else if args::is(word, "JUSTID") {
            claiming.just_ids = true;
        } else {
            return Err(WireError::Syntax);
        }
    }
    check_group(ctx)?;
    let (key, name) = (ctx.key(1), ctx.args.at(2));
    let mut stream: Edit<'_, Stream> = ctx.keys.edit(key)?.ok_or(WireError::NoSuchKey)?;
    ctx.reply.array(3);
    let place = ctx.reply.defer();
    let (mut next, mut replied, mut gone) = (None, 0, Vec::new());
    let mut entries = Vec::new();
    let mut reply = ReplyWriter::new(&mut entries, ctx.reply.protocol());
    stream.edit_group(name, |body, group| {
        let mut looks = count.saturating_mul(LOOKS_PER_CLAIM);
        let (mut upcoming, mut stored) = (Upcoming::default(), body.lookups());
        next = upcoming.next(group, Some(start));
        while let Some((id, pending)) = next
            && looks > 0
            && count > 0
        {
            looks -= 1;
            if stored.get(id).is_none() {
                claiming.drop_gone(group, id, id.text().as_bytes());
                gone.push(id);
                count -= 1;
            } else if claiming.is_idle(&pending) {
                let text = id.text();
                let text = text.as_bytes();
                claiming.claim((body, group), id, text, pending.deliveries, &mut reply);
                replied += 1;
                count -= 1;
            }
            next = upcoming.next(group, id.next());
        }
    });
    finish(stream, claiming.changed + u64::from(claiming.is_consumer_new));
    ctx.reply.abandon(place);
    reply_id(&mut ctx.reply, next.map_or(StreamId::MIN, |(id, _)| id));
    ctx.reply.array(replied);
    ctx.reply.raw(&entries);
    ctx.reply.array(gone.len());
    gone.into_iter().for_each(|id| reply_id(&mut ctx.reply, id));
    log(ctx, &claiming);
    Ok(())
}
