//! LLEN, LINDEX, LRANGE, LPOS.

use super::{absolute, span};
use crate::engine::context::{Ctx, Outcome};
use keyward_commands::WireError;
use keyward_commands::args::{self, Options};
use keyward_store::values::list::{End, List};
use keyward_store::values::packed::Item;

pub(crate) fn llen(ctx: &mut Ctx<'_>) -> Outcome {
    let key = ctx.key(1);
    let len = ctx.keys.read_as::<List>(key)?.map_or(0, List::len);
    ctx.reply.count(len);
    Ok(())
}

pub(crate) fn lindex(ctx: &mut Ctx<'_>) -> Outcome {
    let key = ctx.key(1);
    let Some(list) = ctx.keys.read_as::<List>(key)? else {
        ctx.reply.null();
        return Ok(());
    };
    // As in Redis, the index is judged only once there is a list.
    let index = absolute(args::integer(ctx.args.at(2))?, list.len());
    match index.and_then(|index| list.get(index)) {
        Some(element) => element.reply_to(&mut ctx.reply),
        None => ctx.reply.null(),
    }
    Ok(())
}

pub(crate) fn lrange(ctx: &mut Ctx<'_>) -> Outcome {
    let start = args::integer(ctx.args.at(2))?;
    let stop = args::integer(ctx.args.at(3))?;
    let key = ctx.key(1);
    let Some(list) = ctx.keys.read_as::<List>(key)? else {
        ctx.reply.array(0);
        return Ok(());
    };
    let span = span(start, stop, list.len());
    ctx.reply.array(span.len());
    for element in list.forward(span.start).take(span.len()) {
        element.reply_to(&mut ctx.reply);
    }
    Ok(())
}

/// What LPOS looks for.
struct Search {
    /// Which match is the first to be answered, from one on.
    rank: u64,
    /// Where the search begins.
    from: End,
    /// How many matches are answered at most, zero for all; `None` if one is
    /// wanted by itself.
    count: Option<u64>,
    /// How many elements are compared at most.
    compared_max: usize,
}

impl Search {
    fn parse(mut options: Options<'_>) -> Result<Search, WireError> {
        let mut search = Search { rank: 1, from: End::Head, count: None, compared_max: usize::MAX };
        while let Some(word) = options.next() {
            if args::is(word, "RANK") {
                let rank = args::integer(options.value()?)?;
                if rank == 0 {
                    return Err(WireError::Err(
                        "RANK can't be zero: use 1 to start from the first match, 2 from the \
                         second ... or use negative to start from the end of the list",
                    ));
                }
                search.rank = rank.unsigned_abs();
                search.from = if rank > 0 { End::Head } else { End::Tail };
            } else if args::is(word, "COUNT") {
                let error = WireError::Err("COUNT can't be negative");
                search.count = Some(args::non_negative_or(options.value()?, error)?);
            } else if args::is(word, "MAXLEN") {
                let error = WireError::Err("MAXLEN can't be negative");
                let compared_max = args::non_negative_or(options.value()?, error)?;
                search.compared_max = match usize::try_from(compared_max) {
                    Ok(0) | Err(_) => usize::MAX,
                    Ok(compared_max) => compared_max,
                };
            } else {
                return Err(WireError::Syntax);
            }
        }
        Ok(search)
    }

    /// Tells `found` the indexes that match, until it returns that it has enough.
    fn each_match(&self, list: &List, wanted: &[u8], mut found: impl FnMut(usize) -> bool) {
        let wanted = Item::of(wanted);
        let mut rank = 0;
        let mut is_enough = |(index, element): (usize, Item<'_>)| {
            if element != wanted {
                return false;
            }
            rank += 1;
            rank >= self.rank && found(index)
        };
        let len = list.len();
        match self.from {
            End::Head => {
                let mut indexed = list.forward(0).enumerate().take(self.compared_max);
                indexed.any(&mut is_enough);
            }
            End::Tail => {
                let indexed = list.backward(len).enumerate().take(self.compared_max);
                indexed.map(|(index, element)| (len - 1 - index, element)).any(&mut is_enough);
            }
        }
    }
}

pub(crate) fn lpos(ctx: &mut Ctx<'_>) -> Outcome {
    let search = Search::parse(Options::new(ctx.args, 3))?;
    let (key, wanted) = (ctx.key(1), ctx.args.at(2));
    let list = ctx.keys.read_as::<List>(key)?;
    let Some(max) = search.count else {
        let mut first = None;
        if let Some(list) = list {
            search.each_match(list, wanted, |index| {
                first = Some(index);
                true
            });
        }
        match first {
            Some(index) => ctx.reply.count(index),
            None => ctx.reply.null(),
        }
        return Ok(());
    };
    let place = ctx.reply.defer();
    let mut count = 0;
    if let Some(list) = list {
        search.each_match(list, wanted, |index| {
            ctx.reply.count(index);
            count += 1;
            count as u64 == max
        });
    }
    ctx.reply.end_array(place, count);
    Ok(())
}
