//! EXPIRE and its family, TTL and its family, PERSIST.
//!
//! Effects: every deadline is logged as an absolute PEXPIREAT; a deadline in the
//! past as the DEL it is.

use crate::engine::context::{Ctx, Outcome};
use keyward_commands::WireError;
use keyward_commands::args::{self, Options};
use keyward_store::keyspace::Access;
use keyward_store::keyspace::event::Event;
use keyward_store::values::text::Decimal;

/// The conditions of EXPIRE on the present deadline.
#[derive(Default)]
struct Conditions {
    if_none: bool,
    if_some: bool,
    if_later: bool,
    if_earlier: bool,
}

impl Conditions {
    fn parse(ctx: &Ctx<'_>) -> Result<Conditions, WireError> {
        let mut parsed = Conditions::default();
        for word in Options::new(ctx.args, 3) {
            let field = [
                ("NX", &mut parsed.if_none),
                ("XX", &mut parsed.if_some),
                ("GT", &mut parsed.if_later),
                ("LT", &mut parsed.if_earlier),
            ];
            let Some((_, field)) = field.into_iter().find(|(name, _)| args::is(word, name)) else {
                return Err(WireError::line(&[b"ERR Unsupported option ", word]));
            };
            *field = true;
        }
        if parsed.if_none && (parsed.if_some || parsed.if_later || parsed.if_earlier) {
            let text = "NX and XX, GT or LT options at the same time are not compatible";
            return Err(WireError::Err(text));
        }
        if parsed.if_later && parsed.if_earlier {
            let text = "GT and LT options at the same time are not compatible";
            return Err(WireError::Err(text));
        }
        Ok(parsed)
    }

    /// Whether the deadline may move from `old` to `new`. No deadline is later
    /// than any.
    fn allow(&self, old: Option<i64>, new: i64) -> bool {
        !(self.if_none && old.is_some()
            || self.if_some && old.is_none()
            || self.if_later && old.is_none_or(|old| new <= old)
            || self.if_earlier && old.is_some_and(|old| new >= old))
    }
}

/// How the argument of an EXPIRE command counts.
#[derive(Clone, Copy)]
struct Scale {
    ms_per_unit: i64,
    is_absolute: bool,
}

pub(crate) fn expire(ctx: &mut Ctx<'_>) -> Outcome {
    set_deadline(ctx, Scale { ms_per_unit: 1000, is_absolute: false })
}

pub(crate) fn pexpire(ctx: &mut Ctx<'_>) -> Outcome {
    set_deadline(ctx, Scale { ms_per_unit: 1, is_absolute: false })
}

pub(crate) fn expireat(ctx: &mut Ctx<'_>) -> Outcome {
    set_deadline(ctx, Scale { ms_per_unit: 1000, is_absolute: true })
}

pub(crate) fn pexpireat(ctx: &mut Ctx<'_>) -> Outcome {
    set_deadline(ctx, Scale { ms_per_unit: 1, is_absolute: true })
}

fn set_deadline(ctx: &mut Ctx<'_>, scale: Scale) -> Outcome {
    let conditions = Conditions::parse(ctx)?;
    let amount = args::integer(ctx.args.at(2))?;
    let base = if scale.is_absolute { 0 } else { ctx.keys.now_ms() };
    let deadline = amount.checked_mul(scale.ms_per_unit).and_then(|ms| ms.checked_add(base));
    let deadline = deadline.ok_or(WireError::InvalidExpire(ctx.command.name))?;
    let key = ctx.key(1);
    let old = ctx.keys.find(key).map(|row| row.deadline());
    let is_allowed = old.is_some_and(|old| conditions.allow(old, deadline));
    if is_allowed {
        if ctx.keys.is_past(deadline) {
            ctx.keys.remove(key, Event::DEL);
            ctx.log_instead([b"DEL".as_slice(), key.bytes]);
        } else {
            ctx.keys.set_deadline(key, Some(deadline), Event::EXPIRE);
            let at = Decimal::of(deadline);
            ctx.log_instead([b"PEXPIREAT".as_slice(), key.bytes, at.as_bytes()]);
        }
    }
    ctx.reply.integer(is_allowed.into());
    Ok(())
}

pub(crate) fn persist(ctx: &mut Ctx<'_>) -> Outcome {
    let key = ctx.key(1);
    let has_deadline = ctx.keys.find(key).is_some_and(|row| row.deadline().is_some());
    if has_deadline {
        ctx.keys.set_deadline(key, None, Event::PERSIST);
    }
    ctx.reply.integer(has_deadline.into());
    Ok(())
}

pub(crate) fn ttl(ctx: &mut Ctx<'_>) -> Outcome {
    reply_deadline(ctx, |deadline, now| (deadline - now + 500) / 1000)
}

pub(crate) fn pttl(ctx: &mut Ctx<'_>) -> Outcome {
    reply_deadline(ctx, |deadline, now| deadline - now)
}

pub(crate) fn expiretime(ctx: &mut Ctx<'_>) -> Outcome {
    reply_deadline(ctx, |deadline, _| deadline.saturating_add(500) / 1000)
}

pub(crate) fn pexpiretime(ctx: &mut Ctx<'_>) -> Outcome {
    reply_deadline(ctx, |deadline, _| deadline)
}

/// Replies −2 without the key, −1 without a deadline, else what `show` makes of
/// the deadline and the time.
fn reply_deadline(ctx: &mut Ctx<'_>, show: fn(i64, i64) -> i64) -> Outcome {
    let now = ctx.keys.now_ms();
    let key = ctx.key(1);
    let answer = match ctx.keys.read_deadline(key, Access::Peek) {
        None => -2,
        Some(None) => -1,
        Some(Some(deadline)) => show(deadline, now),
    };
    ctx.reply.integer(answer);
    Ok(())
}
