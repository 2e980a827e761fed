//! ZUNION, ZINTER, ZDIFF, ZUNIONSTORE, ZINTERSTORE, ZDIFFSTORE, ZINTERCARD.
//!
//! Results are collected as members borrowed from their sources and sorted once;
//! only a stored result is copied.

mod source;

use super::{Columns, growth, reply_members, store};
use crate::engine::context::{Ctx, Outcome};
use hashbrown::HashMap;
use keyward_commands::WireError;
use keyward_commands::args::{self, Options};
use keyward_store::keyspace::Keyspace;
use keyward_store::values::hasher::KeyHasher;
use keyward_store::values::zset::ZSet;
use keyward_store::values::zset::cut::compare;
use source::{Member, Source};
use std::ops::ControlFlow;

/// How sources are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    Union,
    Inter,
    Diff,
}

/// What the options may say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Reply,
    Store,
    Count,
}

/// What becomes of the scores of a member that is in several sources.
#[derive(Debug, Clone, Copy)]
enum Aggregate {
    Sum,
    Min,
    Max,
}

impl Aggregate {
    fn parse(word: &[u8]) -> Result<Aggregate, WireError> {
        match word {
            word if args::is(word, "SUM") => Ok(Aggregate::Sum),
            word if args::is(word, "MIN") => Ok(Aggregate::Min),
            word if args::is(word, "MAX") => Ok(Aggregate::Max),
            _ => Err(WireError::Syntax),
        }
    }

    /// Where infinities of both signs meet in a sum, the result is zero.
    fn of(self, score: f64, other: f64) -> f64 {
        match self {
            Aggregate::Sum => zero_if_nan(score + other),
            Aggregate::Min if other < score => other,
            Aggregate::Max if other > score => other,
            Aggregate::Min | Aggregate::Max => score,
        }
    }
}

/// An infinite score times a weight of zero counts as zero.
fn zero_if_nan(score: f64) -> f64 {
    if score.is_nan() { 0.0 } else { score }
}

/// The arguments of a command, read.
struct Plan {
    weights: Vec<f64>,
    aggregate: Aggregate,
    columns: Columns,
    /// The most members to count; zero is no limit.
    limit: u64,
}

/// A member of a result.
type Pair<'a> = (f64, Member<'a>);

pub(crate) fn zunion(ctx: &mut Ctx<'_>) -> Outcome {
    answer(ctx, Operation::Union)
}

pub(crate) fn zinter(ctx: &mut Ctx<'_>) -> Outcome {
    answer(ctx, Operation::Inter)
}

pub(crate) fn zdiff(ctx: &mut Ctx<'_>) -> Outcome {
    answer(ctx, Operation::Diff)
}

fn answer(ctx: &mut Ctx<'_>, operation: Operation) -> Outcome {
    let plan = Plan::parse(ctx, 1, operation, Purpose::Reply)?;
    let sources = plan.sources((ctx.keys, ctx.db), ctx.args.from(2).iter());
    let pairs = plan.combine(operation, sources, ctx.keys.hasher());
    let members = pairs.iter().map(|(score, member)| (&**member, *score));
    reply_members(&mut ctx.reply, plan.columns, members);
    Ok(())
}

pub(crate) fn zunionstore(ctx: &mut Ctx<'_>) -> Outcome {
    store_result(ctx, Operation::Union, "zunionstore")
}

pub(crate) fn zinterstore(ctx: &mut Ctx<'_>) -> Outcome {
    store_result(ctx, Operation::Inter, "zinterstore")
}

pub(crate) fn zdiffstore(ctx: &mut Ctx<'_>) -> Outcome {
    store_result(ctx, Operation::Diff, "zdiffstore")
}

fn store_result(ctx: &mut Ctx<'_>, operation: Operation, event: &'static str) -> Outcome {
    let plan = Plan::parse(ctx, 2, operation, Purpose::Store)?;
    if ctx.mode.is_checked() {
        return Ok(());
    }
    let growth = growth(ctx);
    let sources = plan.sources((ctx.keys, ctx.db), ctx.args.from(3).iter());
    let pairs = plan.combine(operation, sources, ctx.keys.hasher());
    let members = pairs.iter().map(|(score, member)| (&**member, *score));
    let result = ZSet::from_ordered(&growth, members);
    let key = ctx.key(1);
    store(ctx, key, result, event);
    Ok(())
}

pub(crate) fn zintercard(ctx: &mut Ctx<'_>) -> Outcome {
    let plan = Plan::parse(ctx, 1, Operation::Inter, Purpose::Count)?;
    let sources = plan.sources((ctx.keys, ctx.db), ctx.args.from(2).iter());
    let mut count = 0;
    plan.intersect(sources, |_| {
        count += 1;
        if count as u64 == plan.limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    ctx.reply.count(count);
    Ok(())
}

impl Plan {
    /// Reads the arguments from the number of keys on, and looks at each key once:
    /// a wrong type comes before an error in the options.
    fn parse(
        ctx: &mut Ctx<'_>,
        at: usize,
        operation: Operation,
        purpose: Purpose,
    ) -> Result<Plan, WireError> {
        let keys = args::integer(ctx.args.at(at))?;
        if keys < 1 {
            let name = ctx.command.name.as_bytes();
            return Err(WireError::line(&[
                b"ERR at least 1 input key is needed for '",
                name,
                b"' command",
            ]));
        }
        let first = at + 1;
        let keys = usize::try_from(keys).unwrap_or(usize::MAX);
        if keys > ctx.args.len() - first {
            return Err(WireError::Syntax);
        }
        for position in first..first + keys {
            Source::check(ctx, position)?;
        }
        let mut plan = Plan {
            weights: vec![1.0; keys],
            aggregate: Aggregate::Sum,
            columns: Columns::Members,
            limit: 0,
        };
        let has_scores = operation != Operation::Diff && purpose != Purpose::Count;
        let mut options = Options::new(ctx.args, first + keys);
        while let Some(word) = options.next() {
            if has_scores && args::is(word, "WEIGHTS") && options.left() >= keys {
                let error = WireError::Err("weight value is not a float");
                for weight in &mut plan.weights {
                    *weight = args::float_or(options.value()?, error.clone())?;
                }
            } else if has_scores && args::is(word, "AGGREGATE") {
                plan.aggregate = Aggregate::parse(options.value()?)?;
            } else if purpose == Purpose::Reply && args::is(word, "WITHSCORES") {
                plan.columns = Columns::MembersAndScores;
            } else if purpose == Purpose::Count && args::is(word, "LIMIT") {
                let error = WireError::Err("LIMIT can't be negative");
                plan.limit = args::non_negative_or(options.value()?, error)?;
            } else {
                return Err(WireError::Syntax);
            }
        }
        Ok(plan)
    }

    /// The inputs, in the order of their keys.
    fn sources<'a, 'k>(
        &self,
        (keyspace, db): (&'a Keyspace, usize),
        keys: impl Iterator<Item = &'k [u8]>,
    ) -> Vec<Source<'a>> {
        let weighted = self.weights.iter().zip(keys);
        weighted
            .map(|(weight, key)| Source::find(keyspace, keyspace.key_in(db, key), *weight))
            .collect()
    }

    /// The result in order.
    fn combine<'a>(
        &self,
        operation: Operation,
        sources: Vec<Source<'a>>,
        hasher: KeyHasher,
    ) -> Vec<Pair<'a>> {
        let mut pairs = match operation {
            Operation::Union => self.union(sources, hasher),
            Operation::Diff => difference(sources),
            Operation::Inter => {
                let mut pairs = Vec::new();
                self.intersect(sources, |pair| {
                    pairs.push(pair);
                    ControlFlow::Continue(())
                });
                pairs
            }
        };
        pairs.sort_unstable_by(|(a, m), (b, n)| compare((*a, m), (*b, n)));
        pairs
    }

    /// Sums of doubles depend on their order: as in Redis, small sources come first.
    fn union<'a>(&self, mut sources: Vec<Source<'a>>, hasher: KeyHasher) -> Vec<Pair<'a>> {
        sources.sort_by_key(Source::len);
        let largest = sources.last().map_or(0, Source::len);
        let mut scores: HashMap<Member<'a>, f64, KeyHasher> =
            HashMap::with_capacity_and_hasher(largest, hasher);
        for source in sources {
            for (member, score) in source.iter() {
                let score = zero_if_nan(source.weight * score);
                scores
                    .entry(member)
                    .and_modify(|known| *known = self.aggregate.of(*known, score))
                    .or_insert(score);
            }
        }
        scores.into_iter().map(|(member, score)| (score, member)).collect()
    }

    /// Visits the members that are in every source until `visit` has enough.
    fn intersect<'a>(
        &self,
        mut sources: Vec<Source<'a>>,
        mut visit: impl FnMut(Pair<'a>) -> ControlFlow<()>,
    ) {
        sources.sort_by_key(Source::len);
        let Some((smallest, others)) = sources.split_first() else { return };
        for (member, score) in smallest.iter() {
            let first = zero_if_nan(smallest.weight * score);
            let combined = others.iter().try_fold(first, |score, other| {
                Some(self.aggregate.of(score, other.score(&member)? * other.weight))
            });
            if let Some(score) = combined
                && visit((score, member)).is_break()
            {
                return;
            }
        }
    }
}

/// The members of the first source that are in no other.
fn difference<'a>(mut sources: Vec<Source<'a>>) -> Vec<Pair<'a>> {
    let Some((first, others)) = sources.split_first_mut() else { return Vec::new() };
    // A member that is somewhere is most likely in the largest.
    others.sort_by_key(|other| std::cmp::Reverse(other.len()));
    let is_elsewhere = |member: &[u8]| others.iter().any(|other| other.score(member).is_some());
    let left = first.iter().filter(|(member, _)| !is_elsewhere(member));
    left.map(|(member, score)| (score, member)).collect()
}
