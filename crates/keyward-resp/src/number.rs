//! Numbers as Redis reads and prints them on the wire.
//!
//! Invariant: what [`parse_i64`] accepts, [`push_i64`] prints back byte for byte.
//! Not here: ranges and error texts of single commands.

use std::fmt::Write as _;

/// Digits of the largest `u64`.
const U64_DIGITS_MAX: usize = 20;

/// Reads a decimal integer in canonical form only: no plus sign, no leading zero,
/// no space, no `-0`.
#[inline]
pub fn parse_i64(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'0'] => return Some(0),
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if !matches!(digits.first(), Some(b'1'..=b'9')) || digits.len() > U64_DIGITS_MAX {
        return None;
    }
    let mut magnitude: u64 = 0;
    // Only the last of the most digits possible can overflow.
    let (safe, rest) = digits.split_at(digits.len().min(U64_DIGITS_MAX - 1));
    for &byte in safe {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        magnitude = magnitude * 10 + u64::from(digit);
    }
    if let &[byte] = rest {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        magnitude = magnitude.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    if negative { 0i64.checked_sub_unsigned(magnitude) } else { i64::try_from(magnitude).ok() }
}

/// Reads an unsigned integer as C's `strtoull` does, but for spaces before it: a sign may
/// stand there, zeros too, and what is negative counts down from the highest.
pub fn parse_u64_wrapping(text: &[u8]) -> Option<u64> {
    let (is_negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if digits.is_empty() {
        return None;
    }
    let value = digits.iter().try_fold(0u64, |value, digit| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        value.checked_mul(10)?.checked_add(digit)
    })?;
    Some(if is_negative { value.wrapping_neg() } else { value })
}

/// Appends a decimal integer.
#[inline]
pub fn push_i64(out: &mut Vec<u8>, value: i64) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Reads a double the way `strtod` in the C locale does, where Redis accepts it: the
/// whole text must be used, no leading space, no NaN, no overflow and no underflow to
/// zero. Infinities by name and hexadecimal floats (`0x1p3`) are accepted.
pub fn parse_f64(text: &[u8]) -> Option<f64> {
    let (negative, magnitude) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let value = match magnitude {
        [b'0', b'x' | b'X', digits @ ..] => parse_hexadecimal(digits)?,
        [b'0'..=b'9' | b'.', ..] => parse_decimal(magnitude)?,
        name if name.eq_ignore_ascii_case(b"inf") => f64::INFINITY,
        name if name.eq_ignore_ascii_case(b"infinity") => f64::INFINITY,
        _ => return None,
    };
    Some(if negative { -value } else { value })
}

/// Digits, a point, an exponent. Overflow and underflow to zero are errors.
fn parse_decimal(text: &[u8]) -> Option<f64> {
    let value: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    if value.is_infinite() {
        return None;
    }
    let mantissa_end = text.iter().position(|b| b.eq_ignore_ascii_case(&b'e'));
    let mantissa = &text[..mantissa_end.unwrap_or(text.len())];
    let is_zero = !mantissa.iter().any(|b| matches!(b, b'1'..=b'9'));
    (value != 0.0 || is_zero).then_some(value)
}

/// What follows `0x`: hexadecimal digits, a point, a binary exponent after `p`.
fn parse_hexadecimal(text: &[u8]) -> Option<f64> {
    let mut mantissa: u64 = 0;
    let mut exponent: i64 = 0;
    let (mut any_digit, mut after_point, mut sticky) = (false, false, false);
    let mut index = 0;
    while let Some(&byte) = text.get(index) {
        if byte == b'.' && !after_point {
            after_point = true;
        } else if let Some(digit) = char::from(byte).to_digit(16) {
            any_digit = true;
            if mantissa >> 60 == 0 {
                mantissa = mantissa << 4 | u64::from(digit);
                exponent -= if after_point { 4 } else { 0 };
            } else {
                sticky |= digit != 0;
                exponent += if after_point { 0 } else { 4 };
            }
        } else {
            break;
        }
        index += 1;
    }
    if !any_digit {
        return None;
    }
    match &text[index..] {
        [] => {}
        [b'p' | b'P', power @ ..] => exponent = exponent.saturating_add(parse_power(power)?),
        _ => return None,
    }
    if mantissa == 0 {
        return Some(0.0);
    }
    // The lowest bit is never one that decides a rounding on its own, so it can
    // carry "something non-zero was cut off here".
    let value = scale(mantissa | u64::from(sticky), exponent);
    (value != 0.0 && value.is_finite()).then_some(value)
}

/// A signed decimal exponent; beyond any double's range it saturates.
fn parse_power(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let power = digits.iter().fold(0i64, |power, digit| {
        power.saturating_mul(10).saturating_add(i64::from(digit - b'0'))
    });
    Some(if negative { -power } else { power })
}

/// `mantissa × 2^exponent`, rounded once, to nearest and ties to even.
fn scale(mantissa: u64, exponent: i64) -> f64 {
    const MANTISSA_BITS: i64 = 53;
    const EXPONENT_MIN: i64 = -1074;
    let bits = i64::from(64 - mantissa.leading_zeros());
    let exponent = exponent.clamp(-100_000, 100_000);
    // Drop what a double cannot hold at this magnitude: more when it is subnormal.
    let drop = (bits - MANTISSA_BITS).max(EXPONENT_MIN - exponent);
    if drop > 64 {
        return 0.0;
    }
    let (kept, exponent) = if drop <= 0 {
        (mantissa, exponent)
    } else {
        let wide = u128::from(mantissa);
        let (kept, rest) = ((wide >> drop) as u64, wide & ((1 << drop) - 1));
        let half = 1u128 << (drop - 1);
        let round_up = rest > half || (rest == half && kept & 1 == 1);
        (kept + u64::from(round_up), exponent + drop)
    };
    if bits + exponent.max(0) > 2_000 {
        return f64::INFINITY;
    }
    // Both steps are exact, or overflow to infinity: `kept` has at most 54 bits and
    // its last one is representable at this exponent.
    let step = exponent / 2;
    kept as f64 * power_of_two(step) * power_of_two(exponent - step)
}

fn power_of_two(exponent: i64) -> f64 {
    2f64.powi(exponent as i32)
}

/// Appends a double as C's `%.17g` prints it, which is how Redis 7.0 prints scores.
pub fn push_f64(out: &mut Vec<u8>, value: f64) {
    if value.is_nan() {
        out.extend_from_slice(if value.is_sign_negative() { b"-nan" } else { b"nan" });
    } else if value.is_infinite() {
        out.extend_from_slice(if value < 0.0 { b"-inf" } else { b"inf" });
    } else if value == value.trunc() && value.abs() < 1e15 {
        if value == 0.0 && value.is_sign_negative() {
            out.push(b'-');
        }
        push_i64(out, value as i64);
    } else {
        push_17_digits(out, value);
    }
}

/// `%.17g` of a finite value: 17 significant digits, trailing zeros cut, plain
/// notation for exponents from -5 to 16.
fn push_17_digits(out: &mut Vec<u8>, value: f64) {
    let mut text = Text::<32>::new();
    write!(text, "{value:.16e}").expect("17 digits and an exponent fit");
    let bytes = text.as_bytes();
    let (negative, bytes) = match bytes {
        [b'-', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let e = bytes.iter().position(|&b| b == b'e').expect("scientific notation has an e");
    let exponent = parse_exponent(&bytes[e + 1..]);
    let mut digits = [b'0'; 17];
    digits[0] = bytes[0];
    digits[1..].copy_from_slice(&bytes[2..e]);
    let significant = 17 - digits.iter().rev().take_while(|&&d| d == b'0').count();
    let digits = &digits[..significant.max(1)];

    if negative {
        out.push(b'-');
    }
    match exponent {
        -4..0 => {
            out.extend_from_slice(b"0.");
            out.extend(std::iter::repeat_n(b'0', (-exponent - 1) as usize));
            out.extend_from_slice(digits);
        }
        0..17 => {
            let whole = exponent as usize + 1;
            for index in 0..whole.max(digits.len()) {
                if index == whole {
                    out.push(b'.');
                }
                out.push(digits.get(index).copied().unwrap_or(b'0'));
            }
        }
        _ => {
            out.push(digits[0]);
            if digits.len() > 1 {
                out.push(b'.');
                out.extend_from_slice(&digits[1..]);
            }
            out.extend_from_slice(if exponent < 0 { b"e-" } else { b"e+" });
            if exponent.abs() < 10 {
                out.push(b'0');
            }
            push_i64(out, i64::from(exponent.abs()));
        }
    }
}

fn parse_exponent(text: &[u8]) -> i32 {
    let (sign, digits) = match text {
        [b'-', digits @ ..] => (-1, digits),
        digits => (1, digits),
    };
    sign * digits.iter().fold(0, |value, digit| value * 10 + i32::from(digit - b'0'))
}

/// Appends a double as Redis prints numbers for people: up to 17 decimals, no
/// exponent, trailing zeros cut, never `-0`.
pub fn push_human_f64(out: &mut Vec<u8>, value: f64) {
    if value.is_nan() || value.is_infinite() {
        return push_f64(out, value);
    }
    // The largest double has 309 digits before the point.
    let mut text = Text::<340>::new();
    write!(text, "{value:.17}").expect("a double fits in 340 bytes");
    let mut bytes = text.as_bytes();
    while let [rest @ .., b'0'] = bytes {
        bytes = rest;
    }
    if let [rest @ .., b'.'] = bytes {
        bytes = rest;
    }
    out.extend_from_slice(if bytes == b"-0" { b"0" } else { bytes });
}

/// A formatting target on the stack.
struct Text<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Text<N> {
    fn new() -> Text<N> {
        Text { bytes: [0; N], len: 0 }
    }

    fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl<const N: usize> std::fmt::Write for Text<N> {
    fn write_str(&mut self, part: &str) -> std::fmt::Result {
        let end = self.len + part.len();
        let room = self.bytes.get_mut(self.len..end).ok_or(std::fmt::Error)?;
        room.copy_from_slice(part.as_bytes());
        self.len = end;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
