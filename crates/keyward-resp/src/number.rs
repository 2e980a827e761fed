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
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn printed(value: f64) -> String {
        let mut out = Vec::new();
        push_f64(&mut out, value);
        String::from_utf8(out).unwrap()
    }

    fn human(value: f64) -> String {
        let mut out = Vec::new();
        push_human_f64(&mut out, value);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn only_canonical_integers_are_accepted() {
        for (text, value) in [
            ("0", 0),
            ("-1", -1),
            ("9223372036854775807", i64::MAX),
            ("-9223372036854775808", i64::MIN),
        ] {
            assert_eq!(parse_i64(text.as_bytes()), Some(value), "{text}");
        }
        for text in [
            "",
            "-",
            "+1",
            "01",
            "-0",
            "00",
            " 1",
            "1 ",
            "1.0",
            "0x1",
            "9223372036854775808",
            "-9223372036854775809",
            "99999999999999999999999",
        ] {
            assert_eq!(parse_i64(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn doubles_are_read_as_strtod_does() {
        for (text, value) in [
            ("3", 3.0),
            ("+3.5", 3.5),
            ("-.5", -0.5),
            ("5.", 5.0),
            ("1e3", 1000.0),
            ("1E-3", 0.001),
            ("007", 7.0),
            ("inf", f64::INFINITY),
            ("+INF", f64::INFINITY),
            ("-Infinity", f64::NEG_INFINITY),
            ("0x1p3", 8.0),
            ("0X1.8", 1.5),
            ("-0x.8p1", -1.0),
            ("0x0p99999999999999999999", 0.0),
            ("0x1p-1074", 5e-324),
            ("0x1.00000000000008p0", 1.0),
            ("0x1.000000000000080001p0", 1.0000000000000002),
            ("0x123456789abcdef01", 2.0988295479420645e19),
            ("4.9e-324", 5e-324),
            ("0e99999", 0.0),
        ] {
            assert_eq!(parse_f64(text.as_bytes()), Some(value), "{text}");
        }
        for text in [
            "",
            ".",
            "-",
            "+",
            "e5",
            "1e",
            "1e+",
            "nan",
            "-nan",
            "NaN",
            " 1",
            "1 ",
            "1\0",
            "infi",
            "0x",
            "0x.",
            "0x1p",
            "0x1p+",
            "0xg",
            "1e999",
            "-1e999",
            "1e-999",
            "0x1p-1075",
            "0x1p99999999999999999999",
            "0x1p1024",
            "--1",
            "+-1",
            "1_000",
            "1,5",
        ] {
            assert_eq!(parse_f64(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn doubles_are_printed_with_17_significant_digits() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (3.0, "3"),
            (0.1, "0.10000000000000001"),
            (-2.5, "-2.5"),
            (1e15, "1000000000000000"),
            (1e16, "10000000000000000"),
            (1e17, "1e+17"),
            (123456789012345680.0, "1.2345678901234568e+17"),
            (0.0001, "0.0001"),
            (0.00001, "1.0000000000000001e-05"),
            (1e300, "1.0000000000000001e+300"),
            (5e-324, "4.9406564584124654e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(printed(value), text);
        }
    }

    #[test]
    fn human_doubles_have_no_exponent_and_no_trailing_zeros() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (10.0, "10"),
            (0.5, "0.5"),
            (1e20, "100000000000000000000"),
            (-1e-30, "0"),
            (0.1, "0.10000000000000001"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(human(value), text);
        }
        assert_eq!(human(f64::MAX).len(), 309);
    }

    proptest! {
        #[test]
        fn printed_integers_are_read_back(value: i64) {
            let mut out = Vec::new();
            push_i64(&mut out, value);
            prop_assert_eq!(parse_i64(&out), Some(value));
        }

        #[test]
        fn an_accepted_integer_is_canonical(text in "-?[0-9]{0,21}") {
            if let Some(value) = parse_i64(text.as_bytes()) {
                prop_assert_eq!(value.to_string(), text);
            }
        }

        #[test]
        fn printed_doubles_are_read_back(bits: u64) {
            let value = f64::from_bits(bits);
            prop_assume!(!value.is_nan());
            prop_assert_eq!(parse_f64(printed(value).as_bytes()), Some(value));
        }

        #[test]
        fn hexadecimal_floats_are_exact(mantissa in 1u64.., power in -1150i32..1000) {
            // Scaling by a power of two in two exact steps rounds once, at the end,
            // whenever the first step leaves a normal number.
            let text = format!("0x{mantissa:x}p{power}");
            let expected = match power {
                -1021.. => mantissa as f64 * 2f64.powi(power),
                _ => return Ok(()),
            };
            let expected = (expected.is_finite() && expected != 0.0).then_some(expected);
            prop_assert_eq!(parse_f64(text.as_bytes()), expected);
        }

        #[test]
        fn any_bytes_are_read_without_panic(text in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = parse_f64(&text);
            let _ = parse_i64(&text);
        }
    }
}
