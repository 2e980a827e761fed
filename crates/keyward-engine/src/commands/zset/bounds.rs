//! The ends of ranges as clients write them.
//!
//! Owns reading ranges of scores (`5`, `(5`, `-inf`), of members (`[a`, `(a`,
//! `-`, `+`) and of ranks (`0`, `-1`).

use keyward_commands::WireError;
use keyward_resp::number::parse_f64;
use keyward_store::values::zset::Cut;
use std::ops::Range;

/// The cuts at the ends of a range of scores.
pub(super) fn scores(min: &[u8], max: &[u8]) -> Result<[Cut<'static>; 2], WireError> {
    let [min, max] = [min, max].map(|bound| match bound {
        [b'(', bound @ ..] => Some((score(bound)?, true)),
        bound => Some((score(bound)?, false)),
    });
    match (min, max) {
        (Some((min, min_open)), Some((max, max_open))) => Ok([
            if min_open { Cut::AfterScore(min) } else { Cut::BeforeScore(min) },
            if max_open { Cut::BeforeScore(max) } else { Cut::AfterScore(max) },
        ]),
        _ => Err(WireError::MinOrMaxNotFloat),
    }
}

/// A bound as C's `strtod` reads it, which here, unlike for the scores of ZADD,
/// is all that Redis asks: an empty text is zero, space may come first, a zero
/// byte ends it, what is too large is infinite.
fn score(text: &[u8]) -> Option<f64> {
    let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
    if text.is_empty() {
        return Some(0.0);
    }
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t'..=b'\r');
    let start = text.iter().position(|byte| !is_space(byte))?;
    let text = &text[start..];
    parse_f64(text).or_else(|| {
        let unsigned = text.strip_prefix(b"-").or(text.strip_prefix(b"+")).unwrap_or(text);
        let is_decimal = matches!(unsigned, [b'0'..=b'9' | b'.', ..]);
        std::str::from_utf8(text).ok().filter(|_| is_decimal)?.parse().ok()
    })
}

/// The cuts at the ends of a range of members.
pub(super) fn members<'a>(min: &'a [u8], max: &'a [u8]) -> Result<[Cut<'a>; 2], WireError> {
    let cut = |bound: &'a [u8], closed: fn(&'a [u8]) -> Cut<'a>, open: fn(&'a [u8]) -> Cut<'a>| {
        match bound {
            [b'-'] | [b'-', 0, ..] => Some(Cut::Start),
            [b'+'] | [b'+', 0, ..] => Some(Cut::End),
            [b'[', member @ ..] => Some(closed(member)),
            [b'(', member @ ..] => Some(open(member)),
            _ => None,
        }
    };
    let min = cut(min, Cut::BeforeMember, Cut::AfterMember);
    let max = cut(max, Cut::AfterMember, Cut::BeforeMember);
    min.zip(max).map(|(min, max)| [min, max]).ok_or(WireError::MinOrMaxNotString)
}

/// The ranks from `start` to `end`, both included, negative ones counted from the
/// end, cut to the length.
pub(super) fn ranks(start: i64, end: i64, len: usize) -> Range<usize> {
    let len = len as i64;
    let absolute = |rank: i64| if rank < 0 { len + rank } else { rank };
    let start = absolute(start).max(0);
    let end = absolute(end).min(len - 1);
    if start > end { 0..0 } else { start as usize..end as usize + 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_read_as_strtod_reads_them() {
        let cases: [(&[u8], Option<f64>); 14] = [
            (b"5", Some(5.0)),
            (b"", Some(0.0)),
            (b" 5", Some(5.0)),
            (b"5 ", None),
            (b" ", None),
            (b"5\0x", Some(5.0)),
            (b"1e400", Some(f64::INFINITY)),
            (b"-1e400", Some(f64::NEG_INFINITY)),
            (b"1e-400", Some(0.0)),
            (b"-inf", Some(f64::NEG_INFINITY)),
            (b"nan", None),
            (b"0x10", Some(16.0)),
            (b"(5", None),
            (b"abc", None),
        ];
        for (text, expected) in cases {
            assert_eq!(score(text), expected, "{}", text.escape_ascii());
        }
    }

    #[test]
    fn ranks_count_from_either_end() {
        let cases = [
            ((0, -1), 0..5),
            ((1, 2), 1..3),
            ((-2, -1), 3..5),
            ((-100, 100), 0..5),
            ((3, 1), 0..0),
            ((5, 9), 0..0),
            ((0, -6), 0..0),
            ((i64::MIN, i64::MIN), 0..0),
            ((i64::MAX, i64::MAX), 0..0),
        ];
        for ((start, end), expected) in cases {
            assert_eq!(ranks(start, end, 5), expected, "{start} {end}");
        }
    }
}
