//! ZRANDMEMBER.

use super::{Columns, reply_head, reply_member, reply_members};
use crate::engine::context::{Ctx, Outcome};
use keyward_commands::{WireError, args};
use keyward_resp::ReplyWriter;
use keyward_store::values::random::Random;
use keyward_store::values::sampling;
use keyward_store::values::zset::ZSet;
use std::collections::BTreeSet;

/// A sample of more than one in this many members is drawn by a walk over all.
const DENSE_SHARE: usize = 3;

pub(crate) fn zrandmember(ctx: &mut Ctx<'_>) -> Outcome {
    let Some(count) = ctx.args.get(2) else { return one(ctx) };
    let count = args::integer_within(count, -i64::MAX, i64::MAX)?;
    let columns = match ctx.args.get(3) {
        None => Columns::Members,
        Some(word) if ctx.args.len() == 4 && args::is(word, "WITHSCORES") => {
            Columns::MembersAndScores
        }
        Some(_) => return Err(WireError::Syntax),
    };
    if columns == Columns::MembersAndScores && count.unsigned_abs() > i64::MAX as u64 / 2 {
        return Err(WireError::OutOfRange);
    }
    let key = ctx.key(1);
    let mut random = ctx.keys.random.clone();
    let wanted = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
    match ctx.keys.read_as::<ZSet>(key)? {
        Some(zset) if count < 0 || wanted == 1 => {
            sampling::check_draws(wanted)?;
            reply_any(&mut ctx.reply, zset, wanted, columns, &mut random);
        }
        Some(zset) => reply_distinct(&mut ctx.reply, zset, wanted, columns, &mut random),
        None => ctx.reply.array(0),
    }
    ctx.keys.random = random;
    Ok(())
}

fn one(ctx: &mut Ctx<'_>) -> Outcome {
    let key = ctx.key(1);
    let mut random = ctx.keys.random.clone();
    match ctx.keys.read_as::<ZSet>(key)? {
        Some(zset) => ctx.reply.bulk(zset.at(draw(&mut random, zset.len())).0),
        None => ctx.reply.null(),
    }
    ctx.keys.random = random;
    Ok(())
}

fn draw(random: &mut Random, len: usize) -> usize {
    random.below(len as u64) as usize
}

/// Replies with as many members as wanted, each drawn from all.
fn reply_any(
    reply: &mut ReplyWriter<'_>,
    zset: &ZSet,
    wanted: usize,
    columns: Columns,
    random: &mut Random,
) {
    reply_head(reply, columns, wanted);
    if wanted < zset.len() {
        for _ in 0..wanted {
            reply_member(reply, columns, zset.at(draw(random, zset.len())));
        }
    } else {
        let members: Vec<(&[u8], f64)> = zset.iter(0..zset.len()).collect();
        for _ in 0..wanted {
            reply_member(reply, columns, members[draw(random, members.len())]);
        }
    }
}

/// Replies with as many different members as wanted, or with all there are.
fn reply_distinct(
    reply: &mut ReplyWriter<'_>,
    zset: &ZSet,
    wanted: usize,
    columns: Columns,
    random: &mut Random,
) {
    let len = zset.len();
    if wanted >= len {
        // Redis answers from the highest score down here.
        return reply_members(reply, columns, zset.iter(0..len).rev());
    }
    reply_head(reply, columns, wanted);
    if wanted.saturating_mul(DENSE_SHARE) > len {
        let mut missing = wanted;
        for (rank, member) in zset.iter(0..len).enumerate() {
            if draw(random, len - rank) < missing {
                reply_member(reply, columns, member);
                missing -= 1;
            }
        }
    } else {
        // Robert Floyd's sample: one draw for each member, no draw in vain.
        let mut ranks = BTreeSet::new();
        for last in len - wanted..len {
            let rank = draw(random, last + 1);
            if !ranks.insert(rank) {
                ranks.insert(last);
            }
        }
        ranks.iter().for_each(|rank| reply_member(reply, columns, zset.at(*rank)));
    }
}
