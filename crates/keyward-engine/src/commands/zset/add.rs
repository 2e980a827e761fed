//! ZADD and ZINCRBY.

use super::{event, growth};
use crate::engine::context::{Ctx, Outcome};
use keyward_commands::{WireError, args};
use keyward_resp::Args;
use keyward_store::values::zset::{Change, ZSet};

/// The options of ZADD, in the words of the protocol.
#[derive(Default)]
pub(crate) struct Rules {
    pub(crate) nx: bool,
    pub(crate) xx: bool,
    gt: bool,
    lt: bool,
    pub(crate) ch: bool,
    incr: bool,
}

/// What the rules make of a member.
#[derive(Clone, Copy)]
enum Verdict {
    Score(f64),
    Refused,
    NotANumber,
}

impl Rules {
    /// Reads the options, and returns where the pairs begin.
    fn parse(&mut self, args: Args<'_>) -> usize {
        for index in 2..args.len() {
            let word = args.at(index);
            let rule = match () {
                () if args::is(word, "NX") => &mut self.nx,
                () if args::is(word, "XX") => &mut self.xx,
                () if args::is(word, "CH") => &mut self.ch,
                () if args::is(word, "INCR") => &mut self.incr,
                () if args::is(word, "GT") => &mut self.gt,
                () if args::is(word, "LT") => &mut self.lt,
                () => return index,
            };
            *rule = true;
        }
        args.len()
    }

    fn check(&self, pairs: usize) -> Outcome {
        if self.nx && self.xx {
            return Err(WireError::Err("XX and NX options at the same time are not compatible"));
        }
        if self.nx && (self.gt || self.lt) || self.gt && self.lt {
            return Err(WireError::Err(
                "GT, LT, and/or NX options at the same time are not compatible",
            ));
        }
        if self.incr && pairs > 1 {
            return Err(WireError::Err("INCR option supports a single increment-element pair"));
        }
        Ok(())
    }

    /// The score of a member that has `old`, or is new, and is given this one.
    fn score_of(&self, old: Option<f64>, given: f64) -> Verdict {
        let Some(old) = old else {
            return if self.xx { Verdict::Refused } else { Verdict::Score(given) };
        };
        let new = if self.incr { old + given } else { given };
        match new {
            _ if self.nx => Verdict::Refused,
            new if new.is_nan() => Verdict::NotANumber,
            new if (self.lt && new >= old) || (self.gt && new <= old) => Verdict::Refused,
            new => Verdict::Score(new),
        }
    }
}

pub(crate) fn zadd(ctx: &mut Ctx<'_>) -> Outcome {
    add(ctx, Rules::default())
}

pub(crate) fn zincrby(ctx: &mut Ctx<'_>) -> Outcome {
    add(ctx, Rules { incr: true, ..Rules::default() })
}

fn add(ctx: &mut Ctx<'_>, mut rules: Rules) -> Outcome {
    let pairs = ctx.args.from(rules.parse(ctx.args));
    if pairs.is_empty() || !pairs.len().is_multiple_of(2) {
        return Err(WireError::Syntax);
    }
    rules.check(pairs.len() / 2)?;
    // Every score is judged before anything changes; most often there is one, and
    // it is read once.
    let first = args::float(pairs.at(0))?;
    for index in (2..pairs.len()).step_by(2) {
        args::float(pairs.at(index))?;
    }
    let scored = (0..pairs.len()).step_by(2).map(|index| {
        let again = || args::float(pairs.at(index)).expect("every score was judged above");
        (if index == 0 { first } else { again() }, pairs.at(index + 1))
    });
    insert(ctx, &rules, scored)?;
    Ok(())
}

/// Gives members these scores as far as the rules let them, and replies; whether that changed
/// anything.
pub(crate) fn insert<'m>(
    ctx: &mut Ctx<'_>,
    rules: &Rules,
    scored: impl Iterator<Item = (f64, &'m [u8])>,
) -> Result<bool, WireError> {
    let key = ctx.key(1);
    if rules.xx && ctx.keys.edit::<ZSet>(key)?.is_none() {
        reply(ctx, rules, 0, Verdict::Refused);
        return Ok(false);
    }
    let growth = growth(ctx);
    let mut zset = ctx.keys.edit_or_create::<ZSet>(key)?;
    let (mut added, mut rescored) = (0, 0);
    let mut verdict = Verdict::Refused;
    for (given, member) in scored {
        let change = zset.update(&growth, member, |old| {
            verdict = rules.score_of(old, given);
            match verdict {
                Verdict::Score(score) => Some(score),
                Verdict::Refused | Verdict::NotANumber => None,
            }
        });
        match change {
            Change::Added => added += 1,
            Change::Rescored => rescored += 1,
            Change::None => {}
        }
    }
    match added + rescored {
        0 => zset.unchanged(),
        count => zset.changed(event(if rules.incr { "zincr" } else { "zadd" }), count),
    }
    if matches!(verdict, Verdict::NotANumber) {
        return Err(WireError::Err("resulting score is not a number (NaN)"));
    }
    reply(ctx, rules, if rules.ch { added + rescored } else { added }, verdict);
    Ok(added + rescored > 0)
}

/// An increment is answered by the new score, or by nothing if a rule refused it;
/// anything else by a count.
fn reply(ctx: &mut Ctx<'_>, rules: &Rules, count: u64, verdict: Verdict) {
    match verdict {
        _ if !rules.incr => ctx.reply.count(count as usize),
        Verdict::Score(score) => ctx.reply.double(score),
        Verdict::Refused | Verdict::NotANumber => ctx.reply.null(),
    }
}
