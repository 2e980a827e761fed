//! Running commands: alone, or within another (EXEC, scripts).
//!
//! Owns what every command passes: the rule book where there is one, errors, what others
//! are told, and the one place where a command's end is counted.
//! Not here: what a handler sees (`context`), which is whose (`dispatch`).

use crate::engine::attempt::attempt;
use crate::engine::context::{Ctx, Ending, Mode, Outcome};
use crate::engine::observers;
use crate::governed;
use keyward_commands::{Command, CommandId};
use keyward_resp::Args;

/// Runs another command within this one (EXEC, scripts); its reply, or its
/// error as a reply, goes to `out`.
pub(crate) fn call(
    ctx: &mut Ctx<'_>,
    mode: Mode<'_>,
    command: &'static Command,
    args: Args<'_>,
    out: &mut Vec<u8>,
) {
    let mut inner = ctx.inner(mode, command, args, out);
    run(&mut inner);
    let captured = ctx.keys.captured_bytes();
    if captured > 0 && captured > ctx.host.captured_bytes_max() {
        let mut parts = Vec::new();
        ctx.keys.hand_over_captured(&mut |bytes| parts.push(bytes));
        ctx.host.take_captured(parts);
    }
}

/// Runs the command, writes an error it returns, logs what it changed and counts
/// what it took.
#[inline]
pub(crate) fn run(ctx: &mut Ctx<'_>) {
    let begun_ns = ctx.shared.stats.clock_ns;
    // One branch for all that is not the plain way.
    let is_plain = !(ctx.session.no_touch | ctx.keys.is_governed() | ctx.keys.is_replaying());
    let outcome = if is_plain { attempt(ctx) } else { run_specially(ctx) };
    if let Err(error) = outcome {
        error.write_to(&mut ctx.reply);
        ctx.shared.stats.errors.count(error.code());
        ctx.ending = Ending::Failed;
    }
    let has_news = !ctx.keys.changes.news.is_empty() || ctx.shared.is_observed();
    if has_news {
        tell_others(ctx);
    }
    count(ctx, begun_ns);
}

/// Runs the command under a schema, for a client that leaves no traces, or out of the log.
fn run_specially(ctx: &mut Ctx<'_>) -> Outcome {
    // What such a client does is no use of a row, unless it says so by TOUCH.
    let held =
        ctx.session.no_touch.then(|| ctx.keys.hold_marks(ctx.command.id != CommandId::Touch));
    let outcome = match ctx.keys.is_governed() {
        true => governed::run_under_schema(ctx),
        false => {
            if ctx.keys.is_replaying() {
                governed::ends::replay(ctx);
            }
            attempt(ctx)
        }
    };
    if let Some(before) = held {
        ctx.keys.hold_marks(before);
    }
    outcome
}

/// Tells others what the command has done to keys, unless it may still be undone, and those
/// who watch of the command.
#[cold]
fn tell_others(ctx: &mut Ctx<'_>) {
    if !ctx.keys.journal.is_on() {
        ctx.shared.spread_news(ctx.keys, Some(ctx.session));
    }
    if ctx.shared.is_observed() {
        observers::show_after(ctx);
        observers::remember(ctx);
        ctx.shared.limit_tracking(ctx.keys, Some(ctx.session));
    }
}

/// Counts the command. One that waits is a call at once, and has its latency when
/// its client goes on.
#[inline]
fn count(ctx: &mut Ctx<'_>, begun_ns: u64) {
    let stats = &mut ctx.shared.stats;
    stats.clock_ns = ctx.host.monotonic_ns();
    let ns = stats.clock_ns.saturating_sub(begun_ns);
    let is_new = u64::from(!matches!(ctx.mode, Mode::Woken(_)));
    stats.processed += is_new;
    let counters = stats.calls.of_mut(ctx.command.id);
    counters.calls += is_new;
    counters.ns += ns;
    let whole_ns = ns + std::mem::take(&mut ctx.session.spent_ns);
    match ctx.ending {
        Ending::Waiting => {
            ctx.session.spent_ns = whole_ns;
            return;
        }
        Ending::Failed => counters.failed += 1,
        Ending::Answered => {}
    }
    if stats.is_tracking {
        counters.record(whole_ns);
    }
    if whole_ns >= stats.slow_ns {
        let place = (&*ctx.keys, ctx.session.db);
        let call = (ctx.command, ctx.args, ctx.mode.sender());
        ctx.shared.note_slow(ctx.host, place, ctx.session, call, whole_ns);
    }
}
