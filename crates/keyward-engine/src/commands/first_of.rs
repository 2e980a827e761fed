//! Popping from the first of several keys: what LMPOP, ZMPOP and their blocking forms
//! have in common.
//!
//! Owns the arguments from the number of keys on, and the wait for one of the keys.
//! Not here: what an end is, and the popping (`list`, `zset`).

use crate::engine::context::Ctx;
use keyward_commands::WireError;
use keyward_commands::args::{self, Options};
use keyward_resp::Args;
use keyward_store::keyspace::blocking::NoWaitReply;
use keyward_store::values::value::Type;
use std::ops::Range;

/// `numkeys key [key …] end [COUNT count]`.
#[derive(Debug)]
pub(crate) struct FirstOf<End> {
    /// The arguments that are keys.
    pub(crate) keys: Range<usize>,
    /// Where to pop.
    pub(crate) end: End,
    /// How many elements at most.
    pub(crate) count: u64,
}

impl<End> FirstOf<End> {
    /// Reads the arguments from `at` on; `parse_end` reads the word for the end.
    pub(crate) fn parse(
        args: Args<'_>,
        at: usize,
        parse_end: impl FnOnce(&[u8]) -> Result<End, WireError>,
    ) -> Result<FirstOf<End>, WireError> {
        let key_count = at_least_one(args.at(at), "numkeys should be greater than 0")?;
        let first = at + 1;
        let end_of_keys = usize::try_from(key_count).ok().and_then(|n| first.checked_add(n));
        let keys = first..end_of_keys.ok_or(WireError::Syntax)?;
        let mut options = Options::new(args, keys.end);
        let end = parse_end(options.value()?)?;
        let mut count = None;
        while let Some(word) = options.next() {
            if count.is_some() || !args::is(word, "COUNT") {
                return Err(WireError::Syntax);
            }
            count = Some(at_least_one(options.value()?, "count should be greater than 0")?);
        }
        Ok(FirstOf { keys, end, count: count.unwrap_or(1) })
    }
}

fn at_least_one(argument: &[u8], otherwise: &'static str) -> Result<u64, WireError> {
    let number = args::non_negative_or(argument, WireError::Err(otherwise))?;
    if number == 0 { Err(WireError::Err(otherwise)) } else { Ok(number) }
}

/// Waits for one of the keys among these arguments to hold a value of this type.
pub(crate) fn wait(ctx: &mut Ctx<'_>, keys: Range<usize>, wants: Type, timeout_ms: u64) {
    let keys: Vec<&[u8]> = ctx.args.from(keys.start).iter().take(keys.len()).collect();
    ctx.block(&keys, wants, timeout_ms, NoWaitReply::NullArray);
}
