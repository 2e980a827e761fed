//! ZSCAN.

use crate::context::{Ctx, Outcome};
use crate::generic::scan::parse_cursor;
use crate::glob::{self, Case};
use crate::zset::ZSet;
use keyward_commands::WireError;
use keyward_commands::args::{self, Options};
use keyward_resp::number::push_f64;

/// Buckets visited per requested member at most, so that a sparse index cannot
/// hold the core.
const BUCKETS_PER_MEMBER_MAX: i64 = 10;

pub(crate) fn zscan(ctx: &mut Ctx<'_>) -> Outcome {
    let mut cursor = parse_cursor(ctx.args.at(2)).ok_or(WireError::InvalidCursor)?;
    let key = ctx.key(1);
    let Some(zset) = ctx.keys.read_as::<ZSet>(key)? else {
        ctx.reply.array(2);
        ctx.reply.bulk(b"0");
        ctx.reply.array(0);
        return Ok(());
    };
    let (mut count, mut pattern) = (10, None);
    let mut options = Options::new(ctx.args, 3);
    while let Some(word) = options.next() {
        if args::is(word, "COUNT") {
            count = args::integer(options.value()?)?;
            if count < 1 {
                return Err(WireError::Syntax);
            }
        } else if args::is(word, "MATCH") {
            pattern = Some(options.value()?).filter(|pattern| *pattern != b"*");
        } else {
            return Err(WireError::Syntax);
        }
    }
    let (mut found, mut visited) = (Vec::<(Box<[u8]>, f64)>::new(), 0);
    let mut buckets_left = count.saturating_mul(BUCKETS_PER_MEMBER_MAX);
    loop {
        cursor = zset.scan(cursor, |member, score| {
            visited += 1;
            if pattern.is_none_or(|pattern| glob::matches(pattern, member, Case::Sensitive)) {
                found.push((member.into(), score));
            }
        });
        buckets_left -= 1;
        if cursor == 0 || visited >= count || buckets_left < 0 {
            break;
        }
    }
    ctx.reply.array(2);
    ctx.reply.bulk(cursor.to_string().as_bytes());
    ctx.reply.array(found.len() * 2);
    let mut text = Vec::new();
    for (member, score) in found {
        text.clear();
        push_f64(&mut text, score);
        ctx.reply.bulk(&member);
        ctx.reply.bulk(&text);
    }
    Ok(())
}
