//! SPOP and SRANDMEMBER.
//!
//! Effects: chance is resolved, so SPOP is logged as the SREM of what it took, or
//! as DEL where it took all.

use super::{event, growth};
use crate::engine::context::{Ctx, Outcome};
use keyward_commands::{WireError, args};
use keyward_resp::{ArgBuf, ReplyWriter};
use keyward_store::keyspace::edit::Edit;
use keyward_store::keyspace::event::Event;
use keyward_store::values::packed::Item;
use keyward_store::values::random::Random;
use keyward_store::values::sampling::{self, Selection};
use keyward_store::values::set::{Growth, Set};
use std::borrow::Cow;

const SPOP: Event = event("spop");

/// A pop that takes more than this many times what it leaves builds a new set of
/// what is left. As in Redis, numbers alone are then an intset again.
const REBUILD_RATIO: usize = 5;
/// The most members one SREM of the log takes out.
const LOGGED_MEMBERS_MAX: usize = 1024;

pub(crate) fn spop(ctx: &mut Ctx<'_>) -> Outcome {
    match ctx.args.len() {
        2 => pop_one(ctx),
        3 => pop_many(ctx),
        _ => Err(WireError::Syntax),
    }
}

fn pop_one(ctx: &mut Ctx<'_>) -> Outcome {
    let key = ctx.key(1);
    let mut random = ctx.keys.random.clone();
    let Some(mut set) = ctx.keys.edit::<Set>(key)? else {
        ctx.reply.null();
        return Ok(());
    };
    let mut taken = Vec::new();
    take(&mut set, &mut random, &mut taken);
    set.changed(SPOP, 1);
    ctx.keys.random = random;
    ctx.log_instead([b"SREM".as_slice(), key.bytes, &taken]);
    ctx.reply.bulk(&taken);
    Ok(())
}

/// Takes a member drawn by chance out of a set that is not empty, and writes its
/// text to `taken`.
fn take(set: &mut Edit<'_, Set>, random: &mut Random, taken: &mut Vec<u8>) {
    taken.clear();
    taken.extend_from_slice(set.sample(random).text().as_bytes());
    set.remove(Item::of(taken));
}

fn pop_many(ctx: &mut Ctx<'_>) -> Outcome {
    let count = args::non_negative(ctx.args.at(2))?;
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let growth = growth(ctx);
    let key = ctx.key(1);
    let mut random = ctx.keys.random.clone();
    let is_logged = ctx.keys.effects.is_listening();
    let Some(mut set) = ctx.keys.edit::<Set>(key)? else {
        ctx.reply.set(0);
        return Ok(());
    };
    let len = set.len();
    ctx.reply.set(count.min(len));
    if count == 0 {
        return Ok(());
    }
    if count >= len {
        set.iter().for_each(|member| member.reply_to(&mut ctx.reply));
        set.keep_only(Set::default());
        set.changed(SPOP, len as u64);
        ctx.log_instead([b"DEL".as_slice(), key.bytes]);
        return Ok(());
    }
    let mut popped = Popped { reply: &mut ctx.reply, log: is_logged.then(ArgBuf::new) };
    if (len - count).saturating_mul(REBUILD_RATIO) > count {
        let mut left = count;
        set.remove_each(count, |set| {
            left = left.checked_sub(1)?;
            let taken = set.sample(&mut random).text().as_bytes().to_vec();
            popped.tell(Item::of(&taken));
            Some(Cow::Owned(taken))
        });
    } else {
        let left = split(&set, len - count, &growth, &mut random, |member| popped.tell(member));
        set.keep_only(left);
    }
    let log = popped.log.unwrap_or_default();
    set.changed(SPOP, count as u64);
    ctx.keys.random = random;
    let members: Vec<&[u8]> = log.args().iter().collect();
    for members in members.chunks(LOGGED_MEMBERS_MAX) {
        ctx.log_instead([b"SREM", key.bytes].into_iter().chain(members.iter().copied()));
    }
    Ok(())
}

/// Where the members go that were popped.
struct Popped<'r, 'w> {
    reply: &'r mut ReplyWriter<'w>,
    /// The members, if anybody reads the log of effects.
    log: Option<ArgBuf>,
}

impl Popped<'_, '_> {
    fn tell(&mut self, member: Item<'_>) {
        member.reply_to(self.reply);
        if let Some(log) = &mut self.log {
            log.push(member.text().as_bytes());
        }
    }
}

/// Chooses which members are left by chance; returns them as a new set, and tells
/// the others.
fn split(
    set: &Set,
    left: usize,
    growth: &Growth,
    random: &mut Random,
    mut tell: impl FnMut(Item<'_>),
) -> Set {
    let mut selection = Selection::new(left, set.len());
    let mut kept = Set::default();
    for member in set.iter() {
        if selection.takes_next(random) {
            kept.add(growth, member);
        } else {
            tell(member);
        }
    }
    kept
}

pub(crate) fn srandmember(ctx: &mut Ctx<'_>) -> Outcome {
    match ctx.args.len() {
        2 => show_one(ctx),
        3 => show_many(ctx),
        _ => Err(WireError::Syntax),
    }
}

fn show_one(ctx: &mut Ctx<'_>) -> Outcome {
    let key = ctx.key(1);
    let mut random = ctx.keys.random.clone();
    match ctx.keys.read_as::<Set>(key)? {
        Some(set) => set.sample(&mut random).reply_to(&mut ctx.reply),
        None => ctx.reply.null(),
    }
    ctx.keys.random = random;
    Ok(())
}

/// A negative count asks for that many draws, a positive one for different members.
fn show_many(ctx: &mut Ctx<'_>) -> Outcome {
    let count = args::integer_within(ctx.args.at(2), -i64::MAX, i64::MAX)?;
    let wanted = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
    let key = ctx.key(1);
    let mut random = ctx.keys.random.clone();
    let Some(set) = ctx.keys.read_as::<Set>(key)? else {
        ctx.reply.array(0);
        return Ok(());
    };
    let draw = |random: &mut Random| set.sample(random);
    if count < 0 {
        sampling::check_draws(wanted)?;
        ctx.reply.array(wanted);
        sampling::any(&mut random, wanted, set.iter(), draw, |m| m.reply_to(&mut ctx.reply));
    } else {
        ctx.reply.array(wanted.min(set.len()));
        sampling::distinct(&mut random, wanted, set.iter(), draw, |m| m.reply_to(&mut ctx.reply));
    }
    ctx.keys.random = random;
    Ok(())
}
