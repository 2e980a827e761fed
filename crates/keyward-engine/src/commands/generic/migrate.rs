//! MIGRATE: keys moved to another server, as RESTORE takes them.
//!
//! A key goes from here when the other server has acknowledged it, so whatever happens
//! meanwhile it is in one place at least. One that is no longer what was sent stays. Nobody waits for the other server but the client,
//! and who would use these keys (`engine::errands`).
//! Not here: the connection, which is the host's.

use super::dump::payload;
use crate::engine::context::{Ctx, Outcome};
use crate::engine::migrating::Errand;
use crate::host::{Exchange, ExchangeFailure, Remote};
use keyward_commands::WireError;
use keyward_commands::migrate::Migrate;
use keyward_resp::push_request;
use keyward_store::keyspace::event::Event;
use keyward_store::tables::reclaim::Freeing;

/// Something is no longer what was sent, and stays.
const CHANGED: WireError = WireError::Err(
    "a key was changed while it was on its way: it stays, and the other server has what it was",
);

pub(crate) fn migrate(ctx: &mut Ctx<'_>) -> Outcome {
    let call = Migrate::parse(ctx.args)?;
    if let Some((errand, answer)) = ctx.shared.migrating.take_answered(ctx.session.id) {
        let watches = &ctx.keys.changes.watches;
        let watched = errand.positions.iter().zip(&errand.watches);
        let changed = watched.filter(|(_, watch)| watches.is_broken(**watch));
        let changed: Vec<usize> = changed.map(|(position, _)| *position).collect();
        ctx.shared.end_errand(ctx.keys, &errand);
        return conclude(ctx, &call, Sent { positions: &errand.positions, changed }, &answer);
    }
    let (mut requests, preliminaries) = preliminaries(&call);
    let mut positions = Vec::new();
    for position in call.keys.clone() {
        if push_restore(ctx, &call, position, &mut requests) {
            positions.push(position);
        }
    }
    if positions.is_empty() {
        ctx.reply.simple("NOKEY");
        return Ok(());
    }
    let remote = Remote { host: call.host, port: call.port, timeout_ms: call.timeout_ms };
    let reply_count = preliminaries + positions.len();
    let requests = match ctx.must_not_wait() {
        true => Some(requests),
        false => ctx.host.exchange_elsewhere(ctx.session.id, remote, requests, reply_count),
    };
    let Some(requests) = requests else {
        wait_for_answer(ctx, positions);
        return Ok(());
    };
    let answer = ctx.host.exchange(remote, &requests, reply_count);
    conclude(ctx, &call, Sent { positions: &positions, changed: Vec::new() }, &answer)
}

/// Keys that were sent, by their positions among the arguments.
struct Sent<'a> {
    positions: &'a [usize],
    /// Those that are no longer what was sent, in order.
    changed: Vec<usize>,
}

/// Has the client wait while its keys are on their way.
fn wait_for_answer(ctx: &mut Ctx<'_>, positions: Vec<usize>) {
    let keys = positions.iter().map(|position| ctx.args.at(*position).into()).collect();
    let (client, db, args) = (ctx.session.id, ctx.db, ctx.args.into());
    let watches = positions.iter().map(|position| {
        let watch = ctx.shared.migrating.new_watch();
        ctx.keys.changes.watches.watch(watch, db, ctx.args.at(*position), false);
        watch
    });
    let watches = watches.collect();
    let errand = Errand { client, db, args, positions, keys, watches, answer: None };
    ctx.shared.migrating.begin(errand);
    ctx.block_in_vain(0);
}

/// Does what the other server's answer says.
fn conclude(ctx: &mut Ctx<'_>, call: &Migrate<'_>, sent: Sent<'_>, answer: &Exchange) -> Outcome {
    let (_, preliminaries) = preliminaries(call);
    let (first, restored) = answer.lines.split_at(preliminaries.min(answer.lines.len()));
    let is_refused = first.iter().any(|line| is_error(line));
    let restored = sent.positions.iter().zip(restored);
    let taken = restored.filter(|(_, line)| !is_refused && !is_error(line));
    let mut taken: Vec<usize> = taken.map(|(position, _)| *position).collect();
    let mut stays = false;
    if !call.copies {
        taken.retain(|position| {
            let is_other = sent.changed.binary_search(position).is_ok();
            let is_there = is_other && ctx.keys.read(ctx.key(*position)).is_some();
            stays |= is_there;
            !is_there
        });
        if !taken.is_empty() {
            remove(ctx, &taken);
        }
    }
    match complaint(answer).or(stays.then_some(CHANGED)) {
        None => ctx.reply.ok(),
        Some(error) if taken.is_empty() || call.copies => return Err(error),
        // What has gone is gone: the command has changed something, and is logged.
        Some(error) => error.write_to(&mut ctx.reply),
    }
    Ok(())
}

/// What comes before the keys, and how many replies that has.
fn preliminaries(call: &Migrate<'_>) -> (Vec<u8>, usize) {
    let mut requests = Vec::new();
    if !call.credentials.is_empty() {
        push_request(&mut requests, [&[b"AUTH".as_slice()], &*call.credentials].concat().iter());
    }
    push_request(&mut requests, ["SELECT", &call.db.to_string()].iter());
    (requests, 1 + usize::from(!call.credentials.is_empty()))
}

/// Adds the request that makes a key there what it is here; whether it is here at all.
fn push_restore(
    ctx: &mut Ctx<'_>,
    call: &Migrate<'_>,
    position: usize,
    requests: &mut Vec<u8>,
) -> bool {
    let key = ctx.key(position);
    let (now_ms, compresses) = (ctx.keys.now_ms(), ctx.shared.tunables.compresses);
    let Some(row) = ctx.keys.read(key) else { return false };
    let left_ms = row.deadline().map_or(0, |end| end.saturating_sub(now_ms).max(1)).to_string();
    let payload = payload(row.value(), compresses);
    let mut words = vec![b"RESTORE".as_slice(), key.bytes, left_ms.as_bytes(), &payload];
    if call.replaces {
        words.push(b"REPLACE");
    }
    push_request(requests, words.iter());
    true
}

fn remove(ctx: &mut Ctx<'_>, positions: &[usize]) {
    let freeing = Freeing::lazily_if(ctx.keys.lazy.server_del);
    for position in positions {
        ctx.keys.delete(ctx.key(*position), Event::DEL, freeing);
    }
    let args = ctx.args;
    let keys = positions.iter().map(|position| args.at(*position));
    ctx.log_instead([b"DEL".as_slice()].into_iter().chain(keys));
}

fn is_error(line: &[u8]) -> bool {
    line.first() == Some(&b'-')
}

/// What the client is told if not everything went well.
fn complaint(answer: &Exchange) -> Option<WireError> {
    if let Some([_, error @ ..]) = answer.lines.iter().map(Vec::as_slice).find(|l| is_error(l)) {
        return Some(WireError::line(&[b"ERR Target instance replied with error: ", error]));
    }
    let what: &[u8] = match answer.failure? {
        ExchangeFailure::Connecting => b"connecting to the client",
        ExchangeFailure::Writing => b"writing to target instance",
        ExchangeFailure::Reading => b"reading to target instance",
    };
    Some(WireError::line(&[b"IOERR error or timeout ", what]))
}
