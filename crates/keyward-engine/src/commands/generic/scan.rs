//! KEYS, SCAN, and what the scans over the elements of one key share.
//!
//! Owns the options and the filtering; the order and its guarantees are the
//! index's.

use crate::engine::context::{Ctx, Outcome};
use crate::glob::{self, Case};
use keyward_commands::WireError;
use keyward_commands::args::{self, Options};
use keyward_resp::number::parse_u64_wrapping;
use keyward_resp::{Args, ReplyWriter};
use keyward_store::values::row::Row;
use keyward_store::values::value::Type;

/// Buckets visited per requested key at most, so that a sparse table cannot hold
/// the core.
const BUCKETS_PER_KEY_MAX: i64 = 10;

pub(crate) fn keys(ctx: &mut Ctx<'_>) -> Outcome {
    let pattern = ctx.args.at(1);
    let place = ctx.reply.defer();
    let mut count = 0;
    for row in ctx.keys.database_at(ctx.db).rows_beginning(glob::literal_prefix(pattern)) {
        let is_match = pattern == b"*" || glob::matches(pattern, row.key(), Case::Sensitive);
        if is_match && ctx.keys.is_shown(ctx.db, &row) {
            ctx.reply.bulk(row.key());
            count += 1;
        }
    }
    ctx.reply.end_array(place, count);
    Ok(())
}

/// What a scan returns of what it visits.
struct Filter<'a> {
    pattern: Option<&'a [u8]>,
    /// The type wanted; `Some(None)` is a type that does not exist.
    kind: Option<Option<Type>>,
}

impl Filter<'_> {
    fn accepts(&self, row: &Row) -> bool {
        self.pattern.is_none_or(|pattern| glob::matches(pattern, row.key(), Case::Sensitive))
            && self.kind.is_none_or(|kind| kind == Some(row.value().kind()))
    }
}

pub(crate) fn scan(ctx: &mut Ctx<'_>) -> Outcome {
    let mut cursor = parse_cursor(ctx.args.at(1)).ok_or(WireError::InvalidCursor)?;
    let mut filter = Filter { pattern: None, kind: None };
    let mut count = 10;
    let mut options = Options::new(ctx.args, 2);
    while let Some(word) = options.next() {
        if args::is(word, "COUNT") {
            count = args::integer(options.value()?)?;
            if count < 1 {
                return Err(WireError::Syntax);
            }
        } else if args::is(word, "MATCH") {
            filter.pattern = Some(options.value()?).filter(|pattern| *pattern != b"*");
        } else if args::is(word, "TYPE") {
            filter.kind = Some(Type::from_name(options.value()?));
        } else {
            return Err(WireError::Syntax);
        }
    }
    let prefix = filter.pattern.map_or(b"".as_slice(), glob::literal_prefix);
    let (mut found, mut due) = (Vec::<Box<[u8]>>::new(), Vec::<Box<[u8]>>::new());
    let mut visited = 0;
    let mut buckets_left = count.saturating_mul(BUCKETS_PER_KEY_MAX);
    loop {
        cursor = ctx.keys.scan(ctx.db, cursor, prefix, |row| {
            visited += 1;
            if filter.accepts(row) {
                let list = if ctx.keys.is_shown(ctx.db, row) { &mut found } else { &mut due };
                list.push(row.key().into());
            }
        });
        buckets_left -= 1;
        if cursor == 0 || visited >= count || buckets_left < 0 {
            break;
        }
    }
    for key in due {
        ctx.keys.expire_if_due(ctx.key_of(&key));
    }
    reply_head(&mut ctx.reply, cursor, found.len());
    for key in found {
        ctx.reply.bulk(&key);
    }
    Ok(())
}

/// What HSCAN, SSCAN and ZSCAN say after the key and the cursor.
pub(crate) struct ElementScan<'a> {
    pattern: Option<&'a [u8]>,
    count: i64,
}

impl<'a> ElementScan<'a> {
    /// Reads the options. Redis looks at them only if the key is there.
    pub(crate) fn parse(args: Args<'a>) -> Result<ElementScan<'a>, WireError> {
        let mut scan = ElementScan { pattern: None, count: 10 };
        let mut options = Options::new(args, 3);
        while let Some(word) = options.next() {
            if args::is(word, "COUNT") {
                scan.count = args::integer(options.value()?)?;
                if scan.count < 1 {
                    return Err(WireError::Syntax);
                }
            } else if args::is(word, "MATCH") {
                scan.pattern = Some(options.value()?).filter(|pattern| *pattern != b"*");
            } else {
                return Err(WireError::Syntax);
            }
        }
        Ok(scan)
    }

    /// Whether an element of this name is asked for.
    pub(crate) fn wants(&self, name: &[u8]) -> bool {
        self.pattern.is_none_or(|pattern| glob::matches(pattern, name, Case::Sensitive))
    }

    /// Takes steps from a cursor until enough elements were visited; returns the
    /// cursor to go on from. A step returns the next cursor and how many elements
    /// it visited.
    pub(crate) fn walk(&self, mut cursor: u64, mut step: impl FnMut(u64) -> (u64, usize)) -> u64 {
        let (mut visited, mut buckets_left) = (0, self.count.saturating_mul(BUCKETS_PER_KEY_MAX));
        loop {
            let (next, added) = step(cursor);
            cursor = next;
            visited += added as i64;
            buckets_left -= 1;
            if cursor == 0 || visited >= self.count || buckets_left < 0 {
                return cursor;
            }
        }
    }
}

/// Replies with the head of what a scan found: the cursor and an array of `len`.
pub(crate) fn reply_head(reply: &mut ReplyWriter<'_>, cursor: u64, len: usize) {
    reply.array(2);
    reply.bulk(cursor.to_string().as_bytes());
    reply.array(len);
}

/// A cursor as `strtoul` reads it: a sign is allowed, nothing at all is zero.
pub(crate) fn parse_cursor(text: &[u8]) -> Option<u64> {
    if text.is_empty() { Some(0) } else { parse_u64_wrapping(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_are_read_as_strtoul_reads_them() {
        let cases: [(&[u8], Option<u64>); 8] = [
            (b"0", Some(0)),
            (b"", Some(0)),
            (b"007", Some(7)),
            (b"-1", Some(u64::MAX)),
            (b"18446744073709551615", Some(u64::MAX)),
            (b"18446744073709551616", None),
            (b"1a", None),
            (b"-", None),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_cursor(text), expected, "{}", text.escape_ascii());
        }
    }
}
