//! Strings as numbers: INCR, DECR, INCRBY, DECRBY, INCRBYFLOAT.
//!
//! Effects: INCRBYFLOAT is logged as the SET of its result, so that no rounding
//! elsewhere can differ; so is INCR of a key that was not there and that the schema gives
//! a lifetime.

use crate::commands::long_double::LongDouble;
use crate::commands::string::commands::set_until;
use crate::engine::context::{Ctx, Outcome};
use keyward_commands::{WireError, args};
use keyward_resp::number::parse_i64;
use keyward_store::keyspace::Lifetime;
use keyward_store::keyspace::event::{Class, Event};
use keyward_store::values::row::NewValue;
use keyward_store::values::text::Decimal;

const INCRBY: Event = Event::new(Class::String, "incrby");
const INCRBYFLOAT: Event = Event::new(Class::String, "incrbyfloat");

pub(crate) fn incr(ctx: &mut Ctx<'_>) -> Outcome {
    incr_ending(ctx, None)
}

pub(super) fn incr_ending(ctx: &mut Ctx<'_>, until: Option<i64>) -> Outcome {
    add(ctx, 1, until)
}

pub(crate) fn decr(ctx: &mut Ctx<'_>) -> Outcome {
    decr_ending(ctx, None)
}

pub(super) fn decr_ending(ctx: &mut Ctx<'_>, until: Option<i64>) -> Outcome {
    add(ctx, -1, until)
}

pub(crate) fn incrby(ctx: &mut Ctx<'_>) -> Outcome {
    incrby_ending(ctx, None)
}

pub(super) fn incrby_ending(ctx: &mut Ctx<'_>, until: Option<i64>) -> Outcome {
    let increment = args::integer(ctx.args.at(2))?;
    add(ctx, increment, until)
}

pub(crate) fn decrby(ctx: &mut Ctx<'_>) -> Outcome {
    decrby_ending(ctx, None)
}

pub(super) fn decrby_ending(ctx: &mut Ctx<'_>, until: Option<i64>) -> Outcome {
    let decrement = args::integer(ctx.args.at(2))?;
    let increment = decrement.checked_neg().ok_or(WireError::Err("decrement would overflow"))?;
    add(ctx, increment, until)
}

/// Adds to a number; one that begins here ends at `until`, if there is such a time.
fn add(ctx: &mut Ctx<'_>, increment: i64, until: Option<i64>) -> Outcome {
    let key = ctx.key(1);
    let Some(mut edit) = ctx.keys.edit_text(key)? else {
        let lifetime = until.map_or(Lifetime::Forever, Lifetime::Until);
        ctx.keys.set(key, NewValue::Int(increment), lifetime, INCRBY);
        if let Lifetime::Until(at) = lifetime {
            set_until(ctx, key, Decimal::of(increment).as_bytes(), at);
        }
        ctx.reply.integer(increment);
        return Ok(());
    };
    // A text that is a number is stored as text after it was edited in place.
    let number = edit.number().or_else(|| parse_i64(edit.text().as_bytes()));
    let number = number.ok_or(WireError::NotInteger)?;
    let sum = number.checked_add(increment).ok_or(WireError::IncrementOverflow)?;
    edit.set_number(sum);
    edit.changed(INCRBY);
    ctx.reply.integer(sum);
    Ok(())
}

pub(crate) fn incrbyfloat(ctx: &mut Ctx<'_>) -> Outcome {
    let key = ctx.key(1);
    let old = match ctx.keys.edit_text(key)? {
        Some(edit) => LongDouble::parse(edit.text().as_bytes()).ok_or(WireError::NotFloat)?,
        None => LongDouble::ZERO,
    };
    let increment = LongDouble::parse(ctx.args.at(2)).ok_or(WireError::NotFloat)?;
    let sum = old.add(increment).ok_or(WireError::IncrementNotFinite)?.to_text();
    ctx.keys.set(key, NewValue::Text(&sum), Lifetime::Keep, INCRBYFLOAT);
    ctx.log_instead([b"SET".as_slice(), key.bytes, &sum, b"KEEPTTL"]);
    ctx.reply.bulk(&sum);
    Ok(())
}
