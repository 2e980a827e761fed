//! Ids as clients write them.
//!
//! `ms-seq`, or `ms` alone, whose number the command fills in; `-` and `+` for the ends,
//! `(id` for what lies beyond an id. Numbers are read as Redis reads them, with the C
//! library's `strtoull` where they are not in their plain form: `007`, ` 5` and `+5` are
//! numbers, and `5--03` is one too, counted down from the highest.

use keyward_commands::WireError;
use keyward_resp::number::{parse_i64, parse_u64_wrapping};
use keyward_store::values::stream::StreamId;

pub(super) use keyward_commands::args::c_text;

/// Longer texts are no ids.
const TEXT_BYTES_MAX: usize = 127;

pub(super) const INVALID: WireError =
    WireError::Err("Invalid stream ID specified as stream command argument");

/// An id of which the number may be left to the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Partial {
    /// All of it.
    Whole(StreamId),
    /// `ms-*`
    Time(u64),
}

/// An id, which is neither end; where it has no number it gets this one.
pub(super) fn strict(argument: &[u8], seq: u64) -> Result<StreamId, WireError> {
    parse(argument, seq, false, false).map(|id| match id {
        Partial::Whole(id) => id,
        Partial::Time(ms) => StreamId::new(ms, 0),
    })
}

/// An id or an end; where it has no number it gets this one.
pub(super) fn id(argument: &[u8], seq: u64) -> Result<StreamId, WireError> {
    parse(argument, seq, true, false).map(|id| match id {
        Partial::Whole(id) => id,
        Partial::Time(ms) => StreamId::new(ms, 0),
    })
}

/// An id for an entry that is to come.
pub(super) fn partial(argument: &[u8]) -> Result<Partial, WireError> {
    parse(argument, 0, false, true)
}

/// Where a range begins.
pub(super) fn range_start(argument: &[u8]) -> Result<StreamId, WireError> {
    match beyond(argument) {
        Some(rest) => {
            strict(rest, 0)?.next().ok_or(WireError::Err("invalid start ID for the interval"))
        }
        None => id(argument, 0),
    }
}

/// Where a range ends.
pub(super) fn range_end(argument: &[u8]) -> Result<StreamId, WireError> {
    match beyond(argument) {
        Some(rest) => strict(rest, u64::MAX)?
            .previous()
            .ok_or(WireError::Err("invalid end ID for the interval")),
        None => id(argument, u64::MAX),
    }
}

fn beyond(argument: &[u8]) -> Option<&[u8]> {
    argument.strip_prefix(b"(").filter(|rest| !rest.is_empty())
}

/// The ids of all these arguments.
pub(super) fn all_strict<'a>(
    arguments: impl Iterator<Item = &'a [u8]>,
) -> Result<Vec<StreamId>, WireError> {
    arguments.map(|argument| strict(argument, 0)).collect()
}

fn parse(
    argument: &[u8],
    seq: u64,
    takes_ends: bool,
    takes_star: bool,
) -> Result<Partial, WireError> {
    if argument.len() > TEXT_BYTES_MAX {
        return Err(INVALID);
    }
    let text = c_text(argument);
    match text {
        b"-" if takes_ends => return Ok(Partial::Whole(StreamId::MIN)),
        b"+" if takes_ends => return Ok(Partial::Whole(StreamId::MAX)),
        b"-" | b"+" => return Err(INVALID),
        _ => {}
    }
    let mut parts = text.splitn(2, |byte| *byte == b'-');
    let ms = number(parts.next().unwrap_or_default()).ok_or(INVALID)?;
    match parts.next() {
        None => Ok(Partial::Whole(StreamId::new(ms, seq))),
        Some(b"*") if takes_star => Ok(Partial::Time(ms)),
        Some(text) => {
            let seq = number(text).ok_or(INVALID)?;
            Ok(Partial::Whole(StreamId::new(ms, seq)))
        }
    }
}

/// A number as Redis's `string2ull` reads it.
fn number(text: &[u8]) -> Option<u64> {
    if let Some(number) = parse_i64(text) {
        return u64::try_from(number).ok();
    }
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t'..=b'\r');
    let start = text.iter().position(|byte| !is_space(byte))?;
    parse_u64_wrapping(&text[start..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_as_redis_reads_them() {
        let whole = |ms, seq| Ok(Partial::Whole(StreamId::new(ms, seq)));
        let cases: [(&[u8], Result<Partial, WireError>); 14] = [
            (b"5-3", whole(5, 3)),
            (b"5", whole(5, 0)),
            (b"5-*", Ok(Partial::Time(5))),
            (b"18446744073709551615-18446744073709551615", whole(u64::MAX, u64::MAX)),
            (b"18446744073709551616-0", Err(INVALID)),
            (b"007- 8", whole(7, 8)),
            (b"5--03", whole(5, u64::MAX - 2)),
            (b"5--3", Err(INVALID)),
            (b"-", Err(INVALID)),
            (b"", Err(INVALID)),
            (b"5-", Err(INVALID)),
            (b"-5", Err(INVALID)),
            (b"5\0x", whole(5, 0)),
            (b"5-3-1", Err(INVALID)),
        ];
        for (text, expected) in cases {
            assert_eq!(partial(text), expected, "{}", text.escape_ascii());
        }
        assert_eq!(strict(b"5-*", 0), Err(INVALID));
        assert_eq!(id(b"+", 0), Ok(StreamId::MAX));
        assert_eq!(range_start(b"(5-3"), Ok(StreamId::new(5, 4)));
        assert_eq!(range_end(b"(5"), Ok(StreamId::new(5, u64::MAX - 1)));
        assert!(range_start(b"(+").is_err() && range_end(b"(0-0").is_err());
    }
}
