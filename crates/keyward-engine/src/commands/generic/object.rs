//! OBJECT: how a value is stored and used.

use crate::engine::context::{Ctx, Outcome};
use keyward_commands::WireError;
use keyward_store::keyspace::Access;
use keyward_store::tables::eviction::{MemoryLimit, Order};
use keyward_store::values::access::Reading;
use keyward_store::values::row::Row;
use keyward_store::values::text;
use keyward_store::values::value::Value;

/// Numbers below this are one shared object in Redis, which shows in REFCOUNT; unless
/// eviction goes by the use of keys, which a shared object could not keep for each.
const SHARED_NUMBERS: i64 = 10_000;
/// What REFCOUNT says of a shared object.
const SHARED_REFCOUNT: i64 = i32::MAX as i64;

pub(crate) fn encoding(ctx: &mut Ctx<'_>) -> Outcome {
    let key = ctx.key(2);
    let name = ctx.keys.read_with(key, Access::Peek).map(|row| match row.value() {
        Value::Object(object) => object.encoding(),
        text => text::encoding(text, row.is_edited()),
    });
    match name {
        Some(name) => ctx.reply.bulk(name.as_bytes()),
        None => ctx.reply.null(),
    }
    Ok(())
}

pub(crate) fn refcount(ctx: &mut Ctx<'_>) -> Outcome {
    let key = ctx.key(2);
    let MemoryLimit { bytes_max, policy, .. } = ctx.shared.tunables.memory;
    let goes_by_use =
        policy.is_some_and(|policy| matches!(policy.order, Order::Recency | Order::Frequency));
    let are_shared = bytes_max == 0 || !goes_by_use;
    match ctx.keys.read_with(key, Access::Peek).map(Row::value) {
        Some(Value::Int(0..SHARED_NUMBERS)) if are_shared => ctx.reply.integer(SHARED_REFCOUNT),
        Some(_) => ctx.reply.integer(1),
        None => ctx.reply.null(),
    }
    Ok(())
}

pub(crate) fn idletime(ctx: &mut Ctx<'_>) -> Outcome {
    let key = ctx.key(2);
    let Some(mark) = ctx.keys.read_with(key, Access::Peek).map(Row::clock) else {
        ctx.reply.null();
        return Ok(());
    };
    if ctx.keys.reading(key) != Reading::Recency {
        return Err(WireError::Err(
            "An LFU maxmemory policy is selected, idle time not tracked. Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust.",
        ));
    }
    ctx.reply.integer(i64::from(ctx.keys.access.idle_seconds(mark)));
    Ok(())
}

pub(crate) fn freq(ctx: &mut Ctx<'_>) -> Outcome {
    let key = ctx.key(2);
    let Some(mark) = ctx.keys.read_with(key, Access::Peek).map(Row::clock) else {
        ctx.reply.null();
        return Ok(());
    };
    if ctx.keys.reading(key) != Reading::Frequency {
        return Err(WireError::Err(
            "An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust.",
        ));
    }
    ctx.reply.integer(i64::from(ctx.keys.access.frequency(mark)));
    Ok(())
}

pub(crate) fn help(ctx: &mut Ctx<'_>) -> Outcome {
    ctx.reply_help(&[
        "ENCODING <key>",
        "    Return the kind of internal representation used in order to store the value",
        "    associated with a <key>.",
        "FREQ <key>",
        "    Return the access frequency index of the <key>. The returned integer is",
        "    proportional to the logarithm of the recent access frequency of the key.",
        "IDLETIME <key>",
        "    Return the idle time of the <key>, that is the approximated number of",
        "    seconds elapsed since the last access to the key.",
        "REFCOUNT <key>",
        "    Return the number of references of the value associated with the specified",
        "    <key>.",
    ]);
    Ok(())
}
