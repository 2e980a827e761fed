//! Strings as arrays of bits: SETBIT, GETBIT, BITCOUNT, BITPOS, BITOP.
//!
//! Bit 0 is the highest bit of the first byte. What is beyond the end reads as
//! zero. Not here: numbers of several bits (`string::bitfield`).

use crate::engine::context::{Ctx, Outcome};
use keyward_commands::{WireError, args};
use keyward_store::keyspace::Lifetime;
use keyward_store::keyspace::event::{Class, Event};
use keyward_store::values::row::NewValue;
use std::ops::Range;

const SET: Event = Event::new(Class::String, "set");
pub(super) const SETBIT: Event = Event::new(Class::String, "setbit");

/// Where a bit is, of a string that may have `text_bytes_max` bytes.
pub(super) fn parse_offset(argument: &[u8], text_bytes_max: u64) -> Result<u64, WireError> {
    let offset = args::non_negative_or(argument, WireError::BitOffset)?;
    if offset >> 3 < text_bytes_max { Ok(offset) } else { Err(WireError::BitOffset) }
}

pub(crate) fn setbit(ctx: &mut Ctx<'_>) -> Outcome {
    const ERROR: WireError = WireError::Err("bit is not an integer or out of range");
    let offset = parse_offset(ctx.args.at(2), ctx.shared.tunables.grown_bytes_max())?;
    let is_set = match args::integer_or(ctx.args.at(3), ERROR)? {
        0 => false,
        1 => true,
        _ => return Err(ERROR),
    };
    let key = ctx.key(1);
    let mut edit = ctx.keys.edit_text_or_create(key)?;
    let (at, mask) = ((offset >> 3) as usize, 0x80 >> (offset & 7));
    let old = edit.text().as_bytes().get(at).copied();
    let byte = old.unwrap_or(0);
    let was_set = byte & mask != 0;
    edit.patch(at, &[if is_set { byte | mask } else { byte & !mask }]);
    if old.is_none() || was_set != is_set {
        edit.changed(SETBIT);
    } else {
        edit.untold();
    }
    ctx.reply.integer(was_set.into());
    Ok(())
}

pub(crate) fn getbit(ctx: &mut Ctx<'_>) -> Outcome {
    let offset = parse_offset(ctx.args.at(2), ctx.shared.tunables.grown_bytes_max())?;
    let key = ctx.key(1);
    let text = ctx.keys.read_text(key)?;
    let byte = text.and_then(|text| text.as_bytes().get((offset >> 3) as usize).copied());
    ctx.reply.integer((byte.unwrap_or(0) << (offset & 7) >> 7).into());
    Ok(())
}

/// What a range of a string is counted in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Byte,
    Bit,
}

impl Unit {
    fn parse(word: &[u8]) -> Result<Unit, WireError> {
        match (args::is(word, "BYTE"), args::is(word, "BIT")) {
            (true, _) => Ok(Unit::Byte),
            (_, true) => Ok(Unit::Bit),
            _ => Err(WireError::Syntax),
        }
    }

    /// The bits of a text from `start` to `end`, both included and possibly
    /// negative, in this unit.
    fn bits(self, text: &[u8], start: i64, end: i64) -> Range<usize> {
        let unit_bits = if self == Unit::Byte { 8 } else { 1 };
        let len = (text.len() * 8 / unit_bits) as i64;
        let absolute = |index: i64| if index < 0 { (len + index).max(0) } else { index };
        let (start, end) = (absolute(start), absolute(end).min(len - 1));
        if start > end {
            return 0..0;
        }
        start as usize * unit_bits..(end as usize + 1) * unit_bits
    }
}

pub(crate) fn bitcount(ctx: &mut Ctx<'_>) -> Outcome {
    let key = ctx.key(1);
    let Some(text) = ctx.keys.read_text(key)? else {
        ctx.reply.integer(0);
        return Ok(());
    };
    let text = text.as_bytes();
    let bits = match ctx.args.len() {
        2 => 0..text.len() * 8,
        4 | 5 => {
            let (start, end) = (args::integer(ctx.args.at(2))?, args::integer(ctx.args.at(3))?);
            // Redis 7.0 answers before it looks at the unit.
            if start < 0 && end < 0 && start > end {
                ctx.reply.integer(0);
                return Ok(());
            }
            let unit = ctx.args.get(4).map_or(Ok(Unit::Byte), Unit::parse)?;
            unit.bits(text, start, end)
        }
        _ => return Err(WireError::Syntax),
    };
    ctx.reply.count(count_ones(text, bits));
    Ok(())
}

/// How many bits of a range are set.
fn count_ones(text: &[u8], bits: Range<usize>) -> usize {
    if bits.is_empty() {
        return 0;
    }
    let bytes = &text[bits.start / 8..bits.end.div_ceil(8)];
    let (words, rest) = bytes.as_chunks::<8>();
    let ones = |byte: u8| byte.count_ones() as usize;
    let of_words: usize =
        words.iter().map(|word| u64::from_ne_bytes(*word).count_ones() as usize).sum();
    let of_rest: usize = rest.iter().map(|byte| ones(*byte)).sum();
    // The first and the last byte may be in the range only in part.
    let before = ones(bytes[0] & !(0xff >> (bits.start % 8)));
    let behind = ones(bytes[bytes.len() - 1] & ((1u16 << ((8 - bits.end % 8) % 8)) - 1) as u8);
    of_words + of_rest - before - behind
}

pub(crate) fn bitpos(ctx: &mut Ctx<'_>) -> Outcome {
    let is_set = match args::integer(ctx.args.at(2))? {
        0 => false,
        1 => true,
        _ => return Err(WireError::Err("The bit argument must be 1 or 0.")),
    };
    let key = ctx.key(1);
    let Some(text) = ctx.keys.read_text(key)? else {
        ctx.reply.integer(if is_set { -1 } else { 0 });
        return Ok(());
    };
    let text = text.as_bytes();
    let has_end = ctx.args.len() > 4;
    let bits = match ctx.args.len() {
        3 => 0..text.len() * 8,
        4..=6 => {
            let start = args::integer(ctx.args.at(3))?;
            let unit = ctx.args.get(5).map_or(Ok(Unit::Byte), Unit::parse)?;
            let end = ctx.args.get(4).map_or(Ok(-1), args::integer)?;
            unit.bits(text, start, end)
        }
        _ => return Err(WireError::Syntax),
    };
    // Without an end of its own, a range is followed by zeros without end.
    let beyond = (!is_set && !has_end && !bits.is_empty()).then_some(text.len() * 8);
    match position(text, bits, is_set).or(beyond) {
        Some(at) => ctx.reply.count(at),
        None => ctx.reply.integer(-1),
    }
    Ok(())
}

/// The first bit of a range that is set or clear.
fn position(text: &[u8], bits: Range<usize>, is_set: bool) -> Option<usize> {
    if bits.is_empty() {
        return None;
    }
    // Complemented where a clear bit is wanted, a one is searched in either case.
    let flip = if is_set { 0 } else { 0xff };
    let first = bits.start / 8;
    let byte = (text[first] ^ flip) & (0xff >> (bits.start % 8));
    let rest = &text[first + 1..bits.end.div_ceil(8)];
    let found = if byte != 0 {
        Some((first, byte))
    } else {
        let at = rest.iter().position(|byte| byte ^ flip != 0);
        at.map(|at| (first + 1 + at, rest[at] ^ flip))
    };
    let at = found.map(|(at, byte)| at * 8 + byte.leading_zeros() as usize);
    at.filter(|at| *at < bits.end)
}

/// How BITOP combines bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    And,
    Or,
    Xor,
    Not,
}

impl Operation {
    fn parse(word: &[u8]) -> Result<Operation, WireError> {
        let words = [
            ("AND", Operation::And),
            ("OR", Operation::Or),
            ("XOR", Operation::Xor),
            ("NOT", Operation::Not),
        ];
        let found = words.into_iter().find(|(name, _)| args::is(word, name));
        found.map(|(_, operation)| operation).ok_or(WireError::Syntax)
    }

    /// Combines a text into the result; the shorter one counts as followed by
    /// zeros.
    fn combine(self, result: &mut Vec<u8>, text: &[u8]) {
        result.resize(result.len().max(text.len()), 0);
        let pairs = result.iter_mut().zip(text);
        match self {
            Operation::And => {
                pairs.for_each(|(byte, other)| *byte &= other);
                result[text.len()..].fill(0);
            }
            Operation::Or => pairs.for_each(|(byte, other)| *byte |= other),
            Operation::Xor => pairs.for_each(|(byte, other)| *byte ^= other),
            Operation::Not => pairs.for_each(|(byte, other)| *byte = !other),
        }
    }
}

pub(crate) fn bitop(ctx: &mut Ctx<'_>) -> Outcome {
    let operation = Operation::parse(ctx.args.at(1))?;
    if operation == Operation::Not && ctx.args.len() != 4 {
        return Err(WireError::Err("BITOP NOT must be called with a single source key."));
    }
    let (mut result, is_checked) = (Vec::new(), ctx.mode.is_checked());
    for position in 3..ctx.args.len() {
        let key = ctx.key(position);
        let text = ctx.keys.read_text(key)?;
        let text = text.as_ref().map_or(&[][..], |text| text.as_bytes());
        if is_checked {
            continue;
        }
        if position == 3 && operation != Operation::Not {
            result.extend_from_slice(text);
        } else {
            operation.combine(&mut result, text);
        }
    }
    if is_checked {
        return Ok(());
    }
    let target = ctx.key(2);
    if result.is_empty() {
        ctx.keys.remove(target, Event::DEL);
    } else {
        ctx.keys.set(target, NewValue::Edited(&result), Lifetime::Forever, SET);
    }
    ctx.reply.count(result.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bit(text: &[u8], at: usize) -> bool {
        text[at / 8] & (0x80 >> (at % 8)) != 0
    }

    proptest! {
        #[test]
        fn ranges_are_counted_and_searched_bit_by_bit(
            text in proptest::collection::vec(prop_oneof![Just(0u8), Just(0xff), any::<u8>()], 1..40),
            start: usize,
            end: usize,
        ) {
            let bits = text.len() * 8;
            let (start, end) = (start % bits, end % (bits + 1));
            let ones = (start..end).filter(|at| bit(&text, *at)).count();
            prop_assert_eq!(count_ones(&text, start..end), ones);
            for is_set in [false, true] {
                let first = (start..end).find(|at| bit(&text, *at) == is_set);
                prop_assert_eq!(position(&text, start..end, is_set), first);
            }
        }

        #[test]
        fn texts_are_combined_as_if_padded_with_zeros(
            one in proptest::collection::vec(any::<u8>(), 0..80),
            other in proptest::collection::vec(any::<u8>(), 0..80),
        ) {
            let at = |text: &[u8], index: usize| text.get(index).copied().unwrap_or(0);
            let check = |operation: Operation, combine: fn(u8, u8) -> u8| {
                let mut result = one.clone();
                operation.combine(&mut result, &other);
                let len = one.len().max(other.len());
                let expected = (0..len).map(|index| combine(at(&one, index), at(&other, index)));
                assert_eq!(result, expected.collect::<Vec<u8>>());
            };
            check(Operation::And, |a, b| a & b);
            check(Operation::Or, |a, b| a | b);
            check(Operation::Xor, |a, b| a ^ b);
        }
    }
}
