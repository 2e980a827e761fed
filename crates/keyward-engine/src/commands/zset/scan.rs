//! ZSCAN.

use crate::commands::generic::scan::{ElementScan, parse_cursor, reply_head};
use crate::engine::context::{Ctx, Outcome};
use keyward_commands::WireError;
use keyward_resp::number::{push_f64, push_i64};
use keyward_store::values::zset::ZSet;

pub(crate) fn zscan(ctx: &mut Ctx<'_>) -> Outcome {
    let cursor = parse_cursor(ctx.args.at(2)).ok_or(WireError::InvalidCursor)?;
    let key = ctx.key(1);
    let Some(zset) = ctx.keys.read_as::<ZSet>(key)? else {
        reply_head(&mut ctx.reply, 0, 0);
        return Ok(());
    };
    let scan = ElementScan::parse(ctx.args)?;
    let mut found = Vec::<(Box<[u8]>, f64)>::new();
    let cursor = scan.walk(cursor, |cursor| {
        let mut visited = 0;
        let next = zset.scan(cursor, |member, score| {
            visited += 1;
            if scan.wants(member) {
                found.push((member.into(), score));
            }
        });
        (next, visited)
    });
    reply_head(&mut ctx.reply, cursor, found.len() * 2);
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
