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

/// The longest decimal: a sign, a number, a point, and the digits behind it.
const TEXT_BYTES_MAX: usize = 1 + DIGITS_MAX + 1 + SCALE_MAX;

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
    if let Some(point) = digits.iter().position(|byte| *byte == b'.') {
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
    // All but the last are less than 64 bits, if there are no more than may be.
    let (last, others) = digits.split_last()?;
    let mut number = 0u64;
    for digit in others {
        number = number * 10 + digit_of(*digit)?;
    }
    number.checked_mul(10)?.checked_add(digit_of(*last)?)
}

#[inline]
fn digit_of(byte: u8) -> Option<u64> {
    let digit = byte.wrapping_sub(b'0');
    (digit <= 9).then_some(u64::from(digit))
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
    let scale = usize::from(head >> 3);
    let mut text = [b'0'; TEXT_BYTES_MAX];
    let end = text.len() - scale;
    let rest = put_digits(number, &mut text[end..]);
    text[end - 1] = b'.';
    let mut start = put_whole(rest, &mut text[..end - 1]);
    if is_negative {
        start -= 1;
        text[start] = b'-';
    }
    sink.put(&text[start..]);
    Ok(())
}

/// Writes a number out.
#[inline]
pub(super) fn put_unsigned(number: u64, sink: &mut impl Sink) {
    let mut text = [b'0'; DIGITS_MAX];
    let start = put_whole(number, &mut text);
    sink.put(&text[start..]);
}

/// Writes a number to the end of a text that has room for it; returns where it begins.
fn put_whole(mut number: u64, text: &mut [u8]) -> usize {
    let mut start = text.len();
    loop {
        start -= 1;
        text[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return start;
        }
    }
}

/// Fills a text with the last digits of a number; returns what is left of it.
fn put_digits(mut number: u64, text: &mut [u8]) -> u64 {
    for place in text.iter_mut().rev() {
        *place = b'0' + (number % 10) as u8;
        number /= 10;
    }
    number
}
