//! ZRANGE, ZRANGESTORE, and their elder sisters ZREVRANGE, ZRANGEBYSCORE,
//! ZREVRANGEBYSCORE, ZRANGEBYLEX, ZREVRANGEBYLEX.
//!
//! All are one query: what the range is of, from where it is walked, how much of
//! it is wanted. The elder ones come with the first two decided.

use super::{Columns, growth, reply_members, store};
use crate::commands::zset::bounds;
use crate::engine::context::{Ctx, Outcome};
use keyward_commands::WireError;
use keyward_commands::args::{self, Options};
use keyward_resp::Args;
use keyward_store::values::zset::{Cut, Direction, ZSet};
use std::ops::Range;

/// What the ends of a range are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Rank,
    Score,
    Member,
}

/// What a command decides before its options; `None` is left to them.
#[derive(Clone, Copy, Default)]
struct Preset {
    by: Option<By>,
    direction: Option<Direction>,
    is_store: bool,
}

/// A range, its ends read.
enum Ends<'a> {
    Ranks(i64, i64),
    Cuts([Cut<'a>; 2]),
}

/// How much of a range is wanted: everything, unless LIMIT says otherwise.
#[derive(Clone, Copy)]
struct Limit {
    offset: i64,
    count: i64,
}

struct Query<'a> {
    ends: Ends<'a>,
    direction: Direction,
    limit: Limit,
    columns: Columns,
}

pub(crate) fn zrange(ctx: &mut Ctx<'_>) -> Outcome {
    answer(ctx, Preset::default())
}

pub(crate) fn zrevrange(ctx: &mut Ctx<'_>) -> Outcome {
    answer_by(ctx, By::Rank, Direction::Reverse)
}

pub(crate) fn zrangebyscore(ctx: &mut Ctx<'_>) -> Outcome {
    answer_by(ctx, By::Score, Direction::Forward)
}

pub(crate) fn zrevrangebyscore(ctx: &mut Ctx<'_>) -> Outcome {
    answer_by(ctx, By::Score, Direction::Reverse)
}

pub(crate) fn zrangebylex(ctx: &mut Ctx<'_>) -> Outcome {
    answer_by(ctx, By::Member, Direction::Forward)
}

pub(crate) fn zrevrangebylex(ctx: &mut Ctx<'_>) -> Outcome {
    answer_by(ctx, By::Member, Direction::Reverse)
}

fn answer_by(ctx: &mut Ctx<'_>, by: By, direction: Direction) -> Outcome {
    answer(ctx, Preset { by: Some(by), direction: Some(direction), is_store: false })
}

fn answer(ctx: &mut Ctx<'_>, preset: Preset) -> Outcome {
    let query = Query::parse(ctx.args.from(2), preset)?;
    let key = ctx.key(1);
    let Some(zset) = ctx.keys.read_as::<ZSet>(key)? else {
        ctx.reply.array(0);
        return Ok(());
    };
    let members = zset.iter(query.ranks(zset));
    match query.direction {
        Direction::Forward => reply_members(&mut ctx.reply, query.columns, members),
        Direction::Reverse => reply_members(&mut ctx.reply, query.columns, members.rev()),
    }
    Ok(())
}

pub(crate) fn zrangestore(ctx: &mut Ctx<'_>) -> Outcome {
    let query = Query::parse(ctx.args.from(3), Preset { is_store: true, ..Preset::default() })?;
    let (to, from) = (ctx.key(1), ctx.key(2));
    let growth = growth(ctx);
    let is_checked = ctx.mode.is_checked();
    let result = match ctx.keys.read_as::<ZSet>(from)? {
        _ if is_checked => return Ok(()),
        Some(zset) => ZSet::from_ordered(&growth, zset.iter(query.ranks(zset))),
        None => ZSet::default(),
    };
    store(ctx, to, result, "zrangestore");
    Ok(())
}

impl<'a> Query<'a> {
    /// Reads the two ends and the options behind them.
    fn parse(args: Args<'a>, preset: Preset) -> Result<Query<'a>, WireError> {
        let Preset { mut by, mut direction, is_store } = preset;
        let mut limit = Limit { offset: 0, count: -1 };
        let mut columns = Columns::Members;
        let mut options = Options::new(args, 2);
        while let Some(word) = options.next() {
            if !is_store && args::is(word, "WITHSCORES") {
                columns = Columns::MembersAndScores;
            } else if args::is(word, "LIMIT") && options.left() >= 2 {
                limit.offset = args::integer(options.value()?)?;
                limit.count = args::integer(options.value()?)?;
            } else if direction.is_none() && args::is(word, "REV") {
                direction = Some(Direction::Reverse);
            } else if by.is_none() && args::is(word, "BYLEX") {
                by = Some(By::Member);
            } else if by.is_none() && args::is(word, "BYSCORE") {
                by = Some(By::Score);
            } else {
                return Err(WireError::Syntax);
            }
        }
        let by = by.unwrap_or(By::Rank);
        let direction = direction.unwrap_or(Direction::Forward);
        if limit.count != -1 && by == By::Rank {
            return Err(WireError::Err(
                "syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX",
            ));
        }
        if columns == Columns::MembersAndScores && by == By::Member {
            return Err(WireError::Err(
                "syntax error, WITHSCORES not supported in combination with BYLEX",
            ));
        }
        let ends = Ends::parse([args.at(0), args.at(1)], by, direction)?;
        Ok(Query { ends, direction, limit, columns })
    }

    /// The ranks it selects, in ascending order whatever the direction.
    fn ranks(&self, zset: &ZSet) -> Range<usize> {
        match (&self.ends, self.direction) {
            (Ends::Ranks(start, end), Direction::Forward) => {
                bounds::ranks(*start, *end, zset.len())
            }
            (Ends::Ranks(start, end), Direction::Reverse) => {
                let Range { start, end } = bounds::ranks(*start, *end, zset.len());
                zset.len() - end..zset.len() - start
            }
            (Ends::Cuts(cuts), direction) => {
                self.limit.within(zset.span(*cuts, direction), direction)
            }
        }
    }
}

impl<'a> Ends<'a> {
    /// Reads the ends. Walked backwards, a range is given with its maximum first,
    /// except by rank.
    fn parse(ends: [&'a [u8]; 2], by: By, direction: Direction) -> Result<Ends<'a>, WireError> {
        let [first, second] = ends;
        let (min, max) = match direction {
            Direction::Forward => (first, second),
            Direction::Reverse => (second, first),
        };
        match by {
            By::Rank => Ok(Ends::Ranks(args::integer(first)?, args::integer(second)?)),
            By::Score => bounds::scores(min, max).map(Ends::Cuts),
            By::Member => bounds::members(min, max).map(Ends::Cuts),
        }
    }
}

impl Limit {
    /// The part of a range that is wanted. A negative offset skips everything, a
    /// negative count wants everything.
    fn within(self, range: Range<usize>, direction: Direction) -> Range<usize> {
        let skipped = usize::try_from(self.offset).unwrap_or(usize::MAX).min(range.len());
        let left = range.len() - skipped;
        let wanted = usize::try_from(self.count).unwrap_or(left).min(left);
        match direction {
            Direction::Forward => range.start + skipped..range.start + skipped + wanted,
            Direction::Reverse => range.end - skipped - wanted..range.end - skipped,
        }
    }
}
