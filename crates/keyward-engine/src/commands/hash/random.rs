//! HRANDFIELD.

use crate::engine::context::{Ctx, Outcome};
use keyward_commands::{WireError, args};
use keyward_resp::{Protocol, ReplyWriter};
use keyward_store::values::hash::{Hash, Pair};
use keyward_store::values::random::Random;
use keyward_store::values::sampling;

/// What of the fields a client asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Columns {
    Fields,
    FieldsAndValues,
}

pub(crate) fn hrandfield(ctx: &mut Ctx<'_>) -> Outcome {
    if ctx.args.len() == 2 {
        return show_one(ctx);
    }
    let count = args::integer_within(ctx.args.at(2), -i64::MAX, i64::MAX)?;
    let columns = match ctx.args.get(3) {
        None => Columns::Fields,
        Some(word) if ctx.args.len() == 4 && args::is(word, "WITHVALUES") => {
            Columns::FieldsAndValues
        }
        Some(_) => return Err(WireError::Syntax),
    };
    if columns == Columns::FieldsAndValues && count.unsigned_abs() > i64::MAX as u64 / 2 {
        return Err(WireError::OutOfRange);
    }
    show_many(ctx, count, columns)
}

fn show_one(ctx: &mut Ctx<'_>) -> Outcome {
    let key = ctx.key(1);
    let mut random = ctx.keys.random.clone();
    match ctx.keys.read_as::<Hash>(key)? {
        Some(hash) => hash.sample(&mut random).0.reply_to(&mut ctx.reply),
        None => ctx.reply.null(),
    }
    ctx.keys.random = random;
    Ok(())
}

/// A negative count asks for that many draws, a positive one for different fields.
fn show_many(ctx: &mut Ctx<'_>, count: i64, columns: Columns) -> Outcome {
    let wanted = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
    let key = ctx.key(1);
    let mut random = ctx.keys.random.clone();
    let Some(hash) = ctx.keys.read_as::<Hash>(key)? else {
        ctx.reply.array(0);
        return Ok(());
    };
    let reply = &mut ctx.reply;
    let draw = |random: &mut Random| hash.sample(random);
    if count < 0 {
        sampling::check_draws(wanted)?;
        reply_head(reply, columns, wanted);
        let tell = |pair: Pair<'_>| reply_pair(reply, columns, pair);
        sampling::any(&mut random, wanted, hash.iter(), draw, tell);
    } else {
        reply_head(reply, columns, wanted.min(hash.len()));
        let tell = |pair: Pair<'_>| reply_pair(reply, columns, pair);
        sampling::distinct(&mut random, wanted, hash.iter(), draw, tell);
    }
    ctx.keys.random = random;
    Ok(())
}

/// Replies with the head of an array of `len` fields. With values, RESP2 has one
/// flat array, RESP3 an array of pairs: a field may come twice.
fn reply_head(reply: &mut ReplyWriter<'_>, columns: Columns, len: usize) {
    match (columns, reply.protocol()) {
        (Columns::FieldsAndValues, Protocol::Resp2) => reply.array(len * 2),
        _ => reply.array(len),
    }
}

/// Replies with a field within an array that `reply_head` began.
fn reply_pair(reply: &mut ReplyWriter<'_>, columns: Columns, (field, value): Pair<'_>) {
    if columns == Columns::Fields {
        return field.reply_to(reply);
    }
    if reply.protocol() == Protocol::Resp3 {
        reply.array(2);
    }
    field.reply_to(reply);
    value.reply_to(reply);
}
