//! BITFIELD and BITFIELD_RO: numbers of up to 64 bits anywhere in a string.
//!
//! A number lies in at most nine bytes. They are read, padded with zeros, into a
//! window, and written back from there.

use super::bits::SETBIT;
use crate::commands::string::bits;
use crate::engine::context::{Ctx, Outcome};
use keyward_commands::WireError;
use keyward_commands::args::{self, Options};
use keyward_resp::number::parse_i64;
use keyward_store::values::row;

/// A number of 64 bits that begins at any bit of a byte.
const WINDOW_BYTES: usize = 9;

/// The type of a number: its width, and whether it has a sign.
#[derive(Debug, Clone, Copy)]
struct Width {
    bits: u32,
    is_signed: bool,
}

impl Width {
    fn parse(word: &[u8]) -> Result<Width, WireError> {
        const ERROR: WireError = WireError::Err(
            "Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but \
             i64 is.",
        );
        let (is_signed, digits) = match word {
            [b'i', digits @ ..] => (true, digits),
            [b'u', digits @ ..] => (false, digits),
            _ => return Err(ERROR),
        };
        match parse_i64(digits) {
            Some(bits @ 1..=63) => Ok(Width { bits: bits as u32, is_signed }),
            Some(64) if is_signed => Ok(Width { bits: 64, is_signed }),
            _ => Err(ERROR),
        }
    }

    fn min(self) -> i128 {
        if self.is_signed { -(1 << (self.bits - 1)) } else { 0 }
    }

    fn max(self) -> i128 {
        (1 << (self.bits - u32::from(self.is_signed))) - 1
    }

    /// The number whose lowest bits these are.
    fn wrap(self, number: i128) -> i128 {
        let unused_bits = i128::BITS - self.bits;
        let shifted = number << unused_bits;
        if self.is_signed {
            shifted >> unused_bits
        } else {
            (shifted as u128 >> unused_bits) as i128
        }
    }

    /// Reads the number that begins at a bit of the window's first byte.
    fn read(self, window: &[u8; WINDOW_BYTES], bit: u32) -> i128 {
        let whole = window.iter().fold(0u128, |whole, byte| whole << 8 | u128::from(*byte));
        let behind = WINDOW_BYTES as u32 * 8 - bit - self.bits;
        self.wrap((whole >> behind) as i128)
    }

    /// Writes the number there.
    fn write(self, window: &mut [u8; WINDOW_BYTES], bit: u32, number: i128) {
        let behind = WINDOW_BYTES as u32 * 8 - bit - self.bits;
        let mask = ((1u128 << self.bits) - 1) << behind;
        let whole = window.iter().fold(0u128, |whole, byte| whole << 8 | u128::from(*byte));
        let whole = whole & !mask | ((number as u128) << behind) & mask;
        window.copy_from_slice(&whole.to_be_bytes()[size_of::<u128>() - WINDOW_BYTES..]);
    }
}

/// What becomes of a number that its width cannot hold.
#[derive(Debug, Clone, Copy)]
enum Overflow {
    Wrap,
    Saturate,
    Fail,
}

impl Overflow {
    fn parse(word: &[u8]) -> Result<Overflow, WireError> {
        let words =
            [("WRAP", Overflow::Wrap), ("SAT", Overflow::Saturate), ("FAIL", Overflow::Fail)];
        let found = words.into_iter().find(|(name, _)| args::is(word, name));
        let error = WireError::Err("Invalid OVERFLOW type specified");
        found.map(|(_, overflow)| overflow).ok_or(error)
    }

    /// The number as it can be stored; `None` if it must not be.
    fn fit(self, number: i128, width: Width) -> Option<i128> {
        if (width.min()..=width.max()).contains(&number) {
            return Some(number);
        }
        match self {
            Overflow::Wrap => Some(width.wrap(number)),
            Overflow::Saturate => Some(number.clamp(width.min(), width.max())),
            Overflow::Fail => None,
        }
    }
}

/// What is done to a number.
#[derive(Debug, Clone, Copy)]
enum Action {
    Get,
    Set(i64, Overflow),
    IncrBy(i64, Overflow),
}

/// One operation of the command.
#[derive(Debug, Clone, Copy)]
struct Operation {
    action: Action,
    width: Width,
    offset: u64,
}

impl Operation {
    /// The byte where its number begins, and the bit within it.
    fn place(&self) -> (usize, u32) {
        ((self.offset >> 3) as usize, (self.offset & 7) as u32)
    }

    /// How long a string is that holds the whole number.
    fn bytes_needed(&self) -> u64 {
        (self.offset + u64::from(self.width.bits)).div_ceil(8)
    }
}

fn parse(ctx: &Ctx<'_>) -> Result<Vec<Operation>, WireError> {
    let bytes_max = ctx.shared.tunables.grown_bytes_max();
    let mut operations = Vec::new();
    let mut overflow = Overflow::Wrap;
    let mut options = Options::new(ctx.args, 2);
    while let Some(word) = options.next() {
        let left = options.left();
        if args::is(word, "OVERFLOW") && left >= 1 {
            overflow = Overflow::parse(options.value()?)?;
            continue;
        }
        let is_get = args::is(word, "GET") && left >= 2;
        let is_set = args::is(word, "SET") && left >= 3;
        let is_incrby = args::is(word, "INCRBY") && left >= 3;
        if !is_get && !is_set && !is_incrby {
            return Err(WireError::Syntax);
        }
        let width = Width::parse(options.value()?)?;
        let offset = parse_offset(options.value()?, width, bytes_max)?;
        let action = if is_get {
            Action::Get
        } else if is_set {
            // A negative number in an unsigned field is a very large one.
            Action::Set(args::integer(options.value()?)?, overflow)
        } else {
            Action::IncrBy(args::integer(options.value()?)?, overflow)
        };
        operations.push(Operation { action, width, offset });
    }
    Ok(operations)
}

/// An offset in bits, or after `#` in numbers of this width.
fn parse_offset(word: &[u8], width: Width, bytes_max: u64) -> Result<u64, WireError> {
    let Some(index) = word.strip_prefix(b"#") else {
        return bits::parse_offset(word, bytes_max);
    };
    let index = args::non_negative_or(index, WireError::BitOffset)?;
    let offset = index.checked_mul(width.bits.into()).ok_or(WireError::BitOffset)?;
    if offset >> 3 < bytes_max { Ok(offset) } else { Err(WireError::BitOffset) }
}

/// Up to nine bytes of a text, followed by zeros.
fn window(text: &[u8], at: usize) -> [u8; WINDOW_BYTES] {
    let mut window = [0; WINDOW_BYTES];
    let bytes = text.get(at..).unwrap_or_default();
    let len = bytes.len().min(WINDOW_BYTES);
    window[..len].copy_from_slice(&bytes[..len]);
    window
}

pub(crate) fn bitfield_ro(ctx: &mut Ctx<'_>) -> Outcome {
    let operations = parse(ctx)?;
    if operations.iter().any(|operation| !matches!(operation.action, Action::Get)) {
        return Err(WireError::Err("BITFIELD_RO only supports the GET subcommand"));
    }
    read(ctx, &operations)
}

pub(crate) fn bitfield(ctx: &mut Ctx<'_>) -> Outcome {
    let operations = parse(ctx)?;
    let writes = operations.iter().filter(|operation| !matches!(operation.action, Action::Get));
    match writes.map(Operation::bytes_needed).max() {
        Some(bytes) => write(ctx, &operations, writable(bytes)?),
        None => read(ctx, &operations),
    }
}

/// The length a string must have, if a row can hold it. Redis 7.0 bounds where a number
/// begins and not where it ends: one that begins in the last byte that
/// `proto-max-bulk-len` allows makes a string some bytes longer than that.
fn writable(bytes_needed: u64) -> Result<usize, WireError> {
    let bytes = usize::try_from(bytes_needed).ok();
    bytes.filter(|bytes| *bytes <= row::BYTES_MAX).ok_or(WireError::StringTooLong)
}

/// Replies to operations that only read.
fn read(ctx: &mut Ctx<'_>, operations: &[Operation]) -> Outcome {
    let key = ctx.key(1);
    let text = ctx.keys.read_text(key)?;
    let text = text.as_ref().map_or(&[][..], |text| text.as_bytes());
    ctx.reply.array(operations.len());
    for operation in operations {
        let (at, bit) = operation.place();
        ctx.reply.integer(operation.width.read(&window(text, at), bit) as i64);
    }
    Ok(())
}

/// Carries operations out on a string that is at least this long then.
fn write(ctx: &mut Ctx<'_>, operations: &[Operation], bytes_needed: usize) -> Outcome {
    let key = ctx.key(1);
    let mut edit = ctx.keys.edit_text_or_create(key)?;
    let bytes = edit.text().as_bytes().len();
    let is_longer = bytes < bytes_needed;
    let last = edit.text().as_bytes().get(bytes_needed - 1).copied();
    edit.patch(bytes_needed - 1, &[last.unwrap_or(0)]);
    ctx.reply.array(operations.len());
    let mut changes = 0;
    for operation in operations {
        let Operation { action, width, .. } = *operation;
        let (at, bit) = operation.place();
        let mut window = window(edit.text().as_bytes(), at);
        let old = width.read(&window, bit);
        let (new, answers_new) = match action {
            Action::Get => {
                ctx.reply.integer(old as i64);
                continue;
            }
            Action::Set(value, overflow) if width.is_signed => {
                (overflow.fit(value.into(), width), false)
            }
            Action::Set(value, overflow) => (overflow.fit((value as u64).into(), width), false),
            Action::IncrBy(by, overflow) => (overflow.fit(old + i128::from(by), width), true),
        };
        let Some(new) = new else {
            ctx.reply.null();
            continue;
        };
        width.write(&mut window, bit, new);
        let len = operation.bytes_needed() as usize - at;
        edit.patch(at, &window[..len]);
        changes += u64::from(is_longer || old != new);
        ctx.reply.integer(if answers_new { new } else { old } as i64);
    }
    if changes > 0 {
        edit.changed_by(SETBIT, changes);
    } else {
        edit.untold();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_number_that_does_not_fit_wraps_saturates_or_fails() {
        let check = |word: &str, number: i128, expected: [Option<i128>; 3]| {
            let width = Width::parse(word.as_bytes()).unwrap();
            let ways = [Overflow::Wrap, Overflow::Saturate, Overflow::Fail];
            assert_eq!(ways.map(|way| way.fit(number, width)), expected, "{word} {number}");
        };
        check("u8", 257, [Some(1), Some(255), None]);
        check("u8", -1, [Some(255), Some(0), None]);
        check("i8", 128, [Some(-128), Some(127), None]);
        check("i8", -129, [Some(127), Some(-128), None]);
        check("i64", 1 << 63, [Some(i64::MIN.into()), Some(i64::MAX.into()), None]);
        check("u63", 1 << 63, [Some(0), Some((1 << 63) - 1), None]);
        for word in ["u64", "i65", "i0", "u", "8", "U8", "i-1", ""] {
            assert!(Width::parse(word.as_bytes()).is_err(), "{word}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_and_nothing_around_it_changes(
            before: [u8; WINDOW_BYTES],
            bit in 0u32..8,
            bits in 1u32..=64,
            is_signed: bool,
            number: i64,
        ) {
            let width = Width { bits: if is_signed { bits } else { bits.min(63) }, is_signed };
            let number = width.wrap(number.into());
            let mut window = before;
            width.write(&mut window, bit, number);
            prop_assert_eq!(width.read(&window, bit), number);
            width.write(&mut window, bit, width.read(&before, bit));
            prop_assert_eq!(window, before);
        }
    }
}
