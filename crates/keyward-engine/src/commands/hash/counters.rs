//! HINCRBY and HINCRBYFLOAT.
//!
//! Effects: HINCRBYFLOAT is logged as the HSET of its result, so that no rounding
//! elsewhere can differ.

use super::{event, growth};
use crate::commands::long_double::LongDouble;
use crate::engine::context::{Ctx, Outcome};
use keyward_commands::{WireError, args};
use keyward_store::keyspace::event::Event;
use keyward_store::values::hash::Hash;
use keyward_store::values::packed::Item;

const HINCRBY: Event = event("hincrby");
const HINCRBYFLOAT: Event = event("hincrbyfloat");

pub(crate) fn hincrby(ctx: &mut Ctx<'_>) -> Outcome {
    let increment = args::integer(ctx.args.at(3))?;
    let growth = growth(ctx);
    let key = ctx.key(1);
    let field = Item::of(ctx.args.at(2));
    let mut hash = ctx.keys.edit_or_create::<Hash>(key)?;
    let old = match hash.get(field) {
        Some(Item::Int(number)) => number,
        Some(Item::Bytes(_)) => return Err(WireError::Err("hash value is not an integer")),
        None => 0,
    };
    let sum = old.checked_add(increment).ok_or(WireError::IncrementOverflow)?;
    hash.set(&growth, (field, Item::Int(sum)));
    hash.changed(HINCRBY, 1);
    ctx.reply.integer(sum);
    Ok(())
}

pub(crate) fn hincrbyfloat(ctx: &mut Ctx<'_>) -> Outcome {
    let increment = LongDouble::parse(ctx.args.at(3)).ok_or(WireError::NotFloat)?;
    if !increment.is_finite() {
        return Err(WireError::NotFinite);
    }
    let growth = growth(ctx);
    let key = ctx.key(1);
    let name = ctx.args.at(2);
    let field = Item::of(name);
    let mut hash = ctx.keys.edit_or_create::<Hash>(key)?;
    let old = match hash.get(field) {
        Some(value) => LongDouble::parse(value.text().as_bytes())
            .ok_or(WireError::Err("hash value is not a float"))?,
        None => LongDouble::ZERO,
    };
    let sum = old.add(increment).ok_or(WireError::IncrementNotFinite)?.to_text();
    hash.set(&growth, (field, Item::of(&sum)));
    hash.changed(HINCRBYFLOAT, 1);
    ctx.log_instead([b"HSET".as_slice(), key.bytes, name, &sum]);
    ctx.reply.bulk(&sum);
    Ok(())
}
