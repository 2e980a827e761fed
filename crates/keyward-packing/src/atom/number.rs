//! Atoms that are numbers: whole ones of 64 bits, and decimals of up to 18 digits.
//!
//! ```text
//! decimal = (scale << 3 | bytes − 1) | digits as one number
//! ```

use super::{DECIMAL, DECIMAL_NEGATIVE, NEGATIVE, POSITIVE, SMALL, SMALL_NUMBERS};
use crate::reader::{Broken, Reader, bytes_of, push_number};
use crate::sink::Sink;

/// The most digits of a number of 64 bits.
const DIGITS_MAX: usize = 20;
/// The most digits of a decimal.
const DECIMAL_DIGITS_MAX: usize = 18;
/// The most digits behind the point.
const SCALE_MAX: usize = 31;

/// Packs a number in its canonical form; whether the text is one.
pub(super) fn pack(text: &[u8], out: &mut Vec<u8>) -> bool {
    let (is_negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    // Most texts are none, and are told by their first byte.
    if !digits.first().is_some_and(u8::is_ascii_digit) {
        return false;
    }
    if let Some(point) = memchr::memchr(b'.', digits) {
        return pack_decimal(digits, point, is_negative, out);
    }
    match whole(digits) {
        Some(0) if is_negative => return false,
        Some(number) if number < SMALL_NUMBERS && !is_negative => out.push(SMALL + number as u8),
        Some(number) => {
            let bytes = bytes_of(number);
            let form = if is_negative { NEGATIVE } else { POSITIVE };
            out.push(form + (bytes - 1) as u8);
            push_number(out, number, bytes);
        }
        None => return false,
    }
    true
}

/// The number of these digits, if they have no needless zeros.
fn whole(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > DIGITS_MAX || (digits[0] == b'0' && digits.len() > 1) {
        return None;
    }
    value(digits)
}

fn value(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0u64, |number, digit| {
        let digit = u64::from(digit.wrapping_sub(b'0'));
        if digit > 9 { None } else { number.checked_mul(10)?.checked_add(digit) }
    })
}

fn pack_decimal(digits: &[u8], point: usize, is_negative: bool, out: &mut Vec<u8>) -> bool {
    let (before, after) = (&digits[..point], &digits[point + 1..]);
    if after.is_empty()
        || after.len() > SCALE_MAX
        || before.len() + after.len() > DECIMAL_DIGITS_MAX
    {
        return false;
    }
    let Some((before, fraction)) = whole(before).zip(value(after)) else { return false };
    // Eighteen digits are less than 64 bits.
    let number = before * 10u64.pow(after.len() as u32) + fraction;
    let bytes = bytes_of(number);
    out.push(if is_negative { DECIMAL_NEGATIVE } else { DECIMAL });
    out.push((after.len() as u8) << 3 | (bytes - 1) as u8);
    push_number(out, number, bytes);
    true
}

/// How many bytes follow the head of a decimal.
pub(super) fn decimal_bytes(head: u8) -> usize {
    usize::from(head & 7) + 1
}

/// Writes a decimal out.
pub(super) fn put_decimal(
    packed: &mut Reader<'_>,
    is_negative: bool,
    sink: &mut impl Sink,
) -> Result<(), Broken> {
    let head = packed.byte()?;
    let number = packed.number(decimal_bytes(head))?;
    let scale = u32::from(head >> 3);
    let unit = 10u64.checked_pow(scale).ok_or(Broken)?;
    if is_negative {
        sink.put(b"-");
    }
    put_unsigned(number / unit, sink);
    sink.put(b".");
    put_padded(number % unit, scale as usize, sink);
    Ok(())
}

/// Writes a number out.
#[inline]
pub(super) fn put_unsigned(number: u64, sink: &mut impl Sink) {
    put_padded(number, 1, sink);
}

/// Writes a number out with zeros before it, so that it has at least `digits`.
pub(super) fn put_padded(mut number: u64, digits: usize, sink: &mut impl Sink) {
    let mut text = [b'0'; SCALE_MAX + 1];
    let mut start = text.len();
    while number > 0 {
        start -= 1;
        text[start] = b'0' + (number % 10) as u8;
        number /= 10;
    }
    sink.put(&text[start.min(text.len() - digits)..]);
}
