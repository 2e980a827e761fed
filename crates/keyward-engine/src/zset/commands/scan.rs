//! ZSCAN.

use crate::context::{Ctx, Outcome};
use crate::generic::scan::parse_cursor;
use crate::glob::{self, Case};
use crate::zset::ZSet;
use keyward_commands::WireError;
use keyward_commands::args::{self, Options};
use keyward_resp::number::{push_f64, push_i64};

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
    let is_packed = zset.is_packed();
    let mut text = Vec::new();
    for (member, score) in found {
        text.clear();
        match whole_number(score).filter(|_| is_packed) {
            Some(whole) => push_i64(&mut text, whole),
            None => push_f64(&mut text, score),
        }
        ctx.reply.bulk(&member);
        ctx.reply.bulk(&text);
    }
    Ok(())
}

/// The number Redis 7.0 keeps in place of this score in a listpack, and prints
/// when it scans one: without an exponent, however large.
fn whole_number(score: f64) -> Option<i64> {
    const WHOLE_MAX: f64 = (1i64 << 62) as f64;
    let whole = score as i64;
    (score.abs() <= WHOLE_MAX && whole as f64 == score).then_some(whole)
}
