//! GET, SET and the commands that are variants of them.
//!
//! Owns reading and replacing whole strings. Effects: a relative lifetime is
//! logged as `PXAT`, GETEX and GETDEL as what they did to the key.

use crate::engine::context::{Ctx, Outcome};
use keyward_commands::WireError;
use keyward_commands::args::{self, Options};
use keyward_store::keyspace::Lifetime;
use keyward_store::keyspace::event::{Class, Event};
use keyward_store::values::hasher::Key;
use keyward_store::values::text::{Decimal, Text};

const SET: Event = Event::new(Class::String, "set");

/// Whether a key must be there or must not.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Condition {
    Always,
    IfAbsent,
    IfPresent,
}

/// How a lifetime option counts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Seconds,
    Milliseconds,
    SecondsAt,
    MillisecondsAt,
}

impl Unit {
    fn of_keyword(word: &[u8]) -> Option<Unit> {
        let units = [
            ("EX", Unit::Seconds),
            ("PX", Unit::Milliseconds),
            ("EXAT", Unit::SecondsAt),
            ("PXAT", Unit::MillisecondsAt),
        ];
        units.into_iter().find(|(keyword, _)| args::is(word, keyword)).map(|(_, unit)| unit)
    }

    fn is_absolute(self) -> bool {
        matches!(self, Unit::SecondsAt | Unit::MillisecondsAt)
    }

    /// The deadline that `amount` of this unit means.
    fn deadline(self, ctx: &Ctx<'_>, amount: &[u8]) -> Result<i64, WireError> {
        let invalid = || WireError::InvalidExpire(ctx.command.name);
        let amount = args::integer(amount)?;
        if amount <= 0 {
            return Err(invalid());
        }
        let in_ms = match self {
            Unit::Seconds | Unit::SecondsAt => amount.checked_mul(1000).ok_or_else(invalid)?,
            Unit::Milliseconds | Unit::MillisecondsAt => amount,
        };
        if self.is_absolute() {
            return Ok(in_ms);
        }
        in_ms.checked_add(ctx.keys.now_ms()).ok_or_else(invalid)
    }
}

/// The options of SET.
struct SetOptions<'a> {
    condition: Condition,
    wants_old: bool,
    keeps_lifetime: bool,
    lifetime: Option<(Unit, &'a [u8])>,
}

impl<'a> SetOptions<'a> {
    fn parse(ctx: &Ctx<'a>) -> Result<SetOptions<'a>, WireError> {
        let mut parsed = SetOptions {
            condition: Condition::Always,
            wants_old: false,
            keeps_lifetime: false,
            lifetime: None,
        };
        let mut options = Options::new(ctx.args, 3);
        while let Some(word) = options.next() {
            if args::is(word, "NX") && parsed.condition != Condition::IfPresent {
                parsed.condition = Condition::IfAbsent;
            } else if args::is(word, "XX") && parsed.condition != Condition::IfAbsent {
                parsed.condition = Condition::IfPresent;
            } else if args::is(word, "GET") {
                parsed.wants_old = true;
            } else if args::is(word, "KEEPTTL") && parsed.lifetime.is_none() {
                parsed.keeps_lifetime = true;
            } else if let Some(unit) = Unit::of_keyword(word)
                && !parsed.keeps_lifetime
                && parsed.lifetime.is_none_or(|(earlier, _)| earlier == unit)
            {
                parsed.lifetime = Some((unit, options.value()?));
            } else {
                return Err(WireError::Syntax);
            }
        }
        Ok(parsed)
    }
}

pub(crate) fn set(ctx: &mut Ctx<'_>) -> Outcome {
    set_ending(ctx, None)
}

/// As `set`; what is set ends at `until`, if there is such a time.
#[inline(always)]
pub(super) fn set_ending(ctx: &mut Ctx<'_>, until: Option<i64>) -> Outcome {
    let key = ctx.key(1);
    let value = ctx.args.at(2);
    if ctx.args.len() == 3 {
        // The plain form is most of all SETs.
        store(ctx, key, value, Lifetime::Forever, until);
        ctx.reply.ok();
        return Ok(());
    }
    let options = SetOptions::parse(ctx)?;
    let deadline = match options.lifetime {
        Some((unit, amount)) => Some(unit.deadline(ctx, amount)?),
        None => None,
    };
    if options.wants_old {
        reply_text(ctx, key)?;
    }
    let is_there = ctx.keys.is_there(key);
    let is_met = match options.condition {
        Condition::Always => true,
        Condition::IfAbsent => !is_there,
        Condition::IfPresent => is_there,
    };
    if is_met {
        let lifetime = match deadline {
            Some(at) => Lifetime::Until(at),
            None if options.keeps_lifetime => Lifetime::Keep,
            None => Lifetime::Forever,
        };
        let is_logged = store(ctx, key, value, lifetime, until);
        if !is_logged && options.wants_old {
            let words = ctx.args;
            let is_get = |(index, word): &(usize, &[u8])| *index >= 3 && args::is(word, "GET");
            let kept = words.iter().enumerate().filter(|word| !is_get(word));
            ctx.log_instead(kept.map(|(_, word)| word));
        }
    }
    match (options.wants_old, is_met) {
        (true, _) => {}
        (false, true) => ctx.reply.ok(),
        (false, false) => ctx.reply.null(),
    }
    Ok(())
}

/// Sets a string, with the end that the schema demands or else the lifetime that was said.
/// One that is set together with a deadline is told and logged so; returns whether.
fn store(
    ctx: &mut Ctx<'_>,
    key: Key<'_>,
    value: &[u8],
    said: Lifetime,
    until: Option<i64>,
) -> bool {
    let lifetime = until.map_or(said, Lifetime::Until);
    ctx.keys.set_text(key, value, lifetime, SET);
    let Lifetime::Until(at) = lifetime else { return false };
    set_until(ctx, key, value, at);
    true
}

/// Tells and logs that a string was set together with a deadline.
pub(super) fn set_until(ctx: &mut Ctx<'_>, key: Key<'_>, value: &[u8], at: i64) {
    ctx.keys.notify(Event::EXPIRE, key);
    if ctx.keys.effects.is_listening() {
        let at = Decimal::of(at);
        ctx.log_instead([b"SET".as_slice(), key.bytes, value, b"PXAT", at.as_bytes()]);
    }
}

/// Replies with the string of a key, or null.
fn reply_text(ctx: &mut Ctx<'_>, key: Key<'_>) -> Outcome {
    match ctx.keys.read_text(key)? {
        Some(text) => ctx.reply.bulk(text.as_bytes()),
        None => ctx.reply.null(),
    }
    Ok(())
}

pub(crate) fn get(ctx: &mut Ctx<'_>) -> Outcome {
    let key = ctx.key(1);
    reply_text(ctx, key)
}

pub(crate) fn setnx(ctx: &mut Ctx<'_>) -> Outcome {
    setnx_ending(ctx, None)
}

/// As `setnx`; what is set ends at `until`, if there is such a time.
pub(super) fn setnx_ending(ctx: &mut Ctx<'_>, until: Option<i64>) -> Outcome {
    let key = ctx.key(1);
    let is_new = !ctx.keys.is_there(key);
    if is_new {
        store(ctx, key, ctx.args.at(2), Lifetime::Forever, until);
    }
    ctx.reply.integer(is_new.into());
    Ok(())
}

pub(crate) fn setex(ctx: &mut Ctx<'_>) -> Outcome {
    set_with_lifetime(ctx, Unit::Seconds, None)
}

pub(crate) fn psetex(ctx: &mut Ctx<'_>) -> Outcome {
    set_with_lifetime(ctx, Unit::Milliseconds, None)
}

/// SETEX and PSETEX; what is set ends at `until` instead, if there is such a time.
pub(super) fn set_with_lifetime(ctx: &mut Ctx<'_>, unit: Unit, until: Option<i64>) -> Outcome {
    let (key, value) = (ctx.key(1), ctx.args.at(3));
    let at = unit.deadline(ctx, ctx.args.at(2))?;
    store(ctx, key, value, Lifetime::Until(at), until);
    ctx.reply.ok();
    Ok(())
}

pub(crate) fn getset(ctx: &mut Ctx<'_>) -> Outcome {
    getset_ending(ctx, None)
}

/// As `getset`; what is set ends at `until`, if there is such a time.
pub(super) fn getset_ending(ctx: &mut Ctx<'_>, until: Option<i64>) -> Outcome {
    let (key, value) = (ctx.key(1), ctx.args.at(2));
    reply_text(ctx, key)?;
    if !store(ctx, key, value, Lifetime::Forever, until) {
        ctx.log_instead([b"SET".as_slice(), key.bytes, value]);
    }
    Ok(())
}

pub(crate) fn getdel(ctx: &mut Ctx<'_>) -> Outcome {
    let key = ctx.key(1);
    reply_text(ctx, key)?;
    if ctx.keys.remove(key, Event::DEL) {
        ctx.log_instead([b"DEL".as_slice(), key.bytes]);
    }
    Ok(())
}

/// What GETEX does to the lifetime.
enum Renewal<'a> {
    None,
    Persist,
    Deadline(Unit, &'a [u8]),
}

pub(crate) fn getex(ctx: &mut Ctx<'_>) -> Outcome {
    let key = ctx.key(1);
    let mut options = Options::new(ctx.args, 2);
    let mut renewal = Renewal::None;
    while let Some(word) = options.next() {
        renewal = match (&renewal, Unit::of_keyword(word)) {
            (Renewal::None | Renewal::Persist, None) if args::is(word, "PERSIST") => {
                Renewal::Persist
            }
            (Renewal::None, Some(unit)) => Renewal::Deadline(unit, options.value()?),
            (Renewal::Deadline(earlier, _), Some(unit)) if *earlier == unit => {
                Renewal::Deadline(unit, options.value()?)
            }
            _ => return Err(WireError::Syntax),
        };
    }
    if ctx.keys.read_text(key)?.is_none() {
        ctx.reply.null();
        return Ok(());
    }
    let deadline = match renewal {
        Renewal::Deadline(unit, amount) => Some((unit, unit.deadline(ctx, amount)?)),
        Renewal::None | Renewal::Persist => None,
    };
    if let Some(text) = ctx.keys.find(key).and_then(|row| Text::of(row.value())) {
        ctx.reply.bulk(text.as_bytes());
    }
    match (renewal, deadline) {
        (Renewal::Persist, _) => {
            if ctx.keys.find(key).is_some_and(|row| row.deadline().is_some()) {
                ctx.keys.set_deadline(key, None, Event::PERSIST);
                ctx.log_instead([b"PERSIST".as_slice(), key.bytes]);
            }
        }
        (_, Some((unit, at))) if unit.is_absolute() && ctx.keys.is_past(at) => {
            ctx.keys.remove(key, Event::DEL);
            ctx.log_instead([b"DEL".as_slice(), key.bytes]);
        }
        (_, Some((_, at))) => {
            ctx.keys.set_deadline(key, Some(at), Event::EXPIRE);
            let at = Decimal::of(at);
            ctx.log_instead([b"PEXPIREAT".as_slice(), key.bytes, at.as_bytes()]);
        }
        (_, None) => {}
    }
    Ok(())
}

pub(crate) fn mget(ctx: &mut Ctx<'_>) -> Outcome {
    ctx.reply.array(ctx.args.len() - 1);
    for position in 1..ctx.args.len() {
        let key = ctx.key(position);
        match ctx.keys.read_text(key) {
            Ok(Some(text)) => ctx.reply.bulk(text.as_bytes()),
            Ok(None) | Err(_) => ctx.reply.null(),
        }
    }
    Ok(())
}

pub(crate) fn mset(ctx: &mut Ctx<'_>) -> Outcome {
    check_pairs(ctx)?;
    set_pairs(ctx);
    ctx.reply.ok();
    Ok(())
}

pub(crate) fn msetnx(ctx: &mut Ctx<'_>) -> Outcome {
    check_pairs(ctx)?;
    for position in (1..ctx.args.len()).step_by(2) {
        if ctx.keys.is_there(ctx.key(position)) {
            ctx.reply.integer(0);
            return Ok(());
        }
    }
    set_pairs(ctx);
    ctx.reply.integer(1);
    Ok(())
}

fn check_pairs(ctx: &Ctx<'_>) -> Outcome {
    let is_paired = ctx.args.len() % 2 == 1;
    if is_paired { Ok(()) } else { Err(WireError::WrongArity(ctx.command.name)) }
}

fn set_pairs(ctx: &mut Ctx<'_>) {
    for position in (1..ctx.args.len()).step_by(2) {
        let key = ctx.key(position);
        ctx.keys.set_text(key, ctx.args.at(position + 1), Lifetime::Forever, SET);
    }
}
