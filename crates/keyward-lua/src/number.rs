//! Numbers as C prints and reads them: `%.*g` and `strtod`.
//!
//! Not here: numbers of the wire protocol (`keyward_resp::number`).

use keyward_resp::number::parse_f64;
use std::io::Write as _;

/// Appends a finite number with up to `digits` significant digits, trailing zeros
/// cut, as C's `%.<digits>g` does.
pub(crate) fn push_general(out: &mut Vec<u8>, value: f64, digits: usize) {
    let mut text = [0u8; 40];
    let mut rest = &mut text[..];
    // The exponent decides the notation, and rounding decides the exponent.
    let written = write!(rest, "{value:.precision$e}", precision = digits - 1);
    debug_assert!(written.is_ok(), "17 digits and an exponent fit into 40 bytes");
    let left = rest.len();
    let text = &text[..text.len() - left];
    let Some(e) = text.iter().position(|&byte| byte == b'e') else { return };
    let exponent = std::str::from_utf8(&text[e + 1..]).ok().and_then(|text| text.parse().ok());
    let exponent: i32 = exponent.unwrap_or_default();
    if value.is_sign_negative() {
        out.push(b'-');
    }
    let mut mantissa = [b'0'; 40];
    let mut len = 0;
    for &digit in text[..e].iter().filter(|byte| byte.is_ascii_digit()) {
        mantissa[len] = digit;
        len += 1;
    }
    while len > 1 && mantissa[len - 1] == b'0' {
        len -= 1;
    }
    push_digits(out, &mantissa[..len], exponent, digits);
}

/// Digits, the first of which stands before the point, times ten to the exponent.
fn push_digits(out: &mut Vec<u8>, digits: &[u8], exponent: i32, precision: usize) {
    if exponent < -4 || exponent >= precision as i32 {
        out.push(digits[0]);
        if digits.len() > 1 {
            out.push(b'.');
            out.extend_from_slice(&digits[1..]);
        }
        let sign = if exponent < 0 { '-' } else { '+' };
        // Writing to a vector cannot fail.
        let _ = write!(out, "e{sign}{:02}", exponent.unsigned_abs());
    } else if exponent < 0 {
        out.extend_from_slice(b"0.");
        out.resize(out.len() + (-exponent - 1) as usize, b'0');
        out.extend_from_slice(digits);
    } else {
        let whole = exponent as usize + 1;
        out.extend_from_slice(&digits[..whole.min(digits.len())]);
        if digits.len() > whole {
            out.push(b'.');
            out.extend_from_slice(&digits[whole..]);
        } else {
            out.resize(out.len() + whole - digits.len(), b'0');
        }
    }
}

/// The number at the start of a text and its length, as C's `strtod` reads it.
pub(crate) fn read_prefix(text: &[u8]) -> Option<(f64, usize)> {
    let sign = usize::from(matches!(text.first(), Some(b'+' | b'-')));
    let magnitude = &text[sign..];
    let (value, used) = read_name(magnitude)
        .or_else(|| read_hexadecimal(magnitude))
        .or_else(|| read_decimal(magnitude))?;
    let value = if text[0] == b'-' { -value } else { value };
    Some((value, sign + used))
}

fn read_name(text: &[u8]) -> Option<(f64, usize)> {
    let is = |name: &[u8]| text.get(..name.len()).is_some_and(|t| t.eq_ignore_ascii_case(name));
    if is(b"infinity") {
        Some((f64::INFINITY, 8))
    } else if is(b"inf") {
        Some((f64::INFINITY, 3))
    } else if is(b"nan") {
        Some((f64::NAN, 3))
    } else {
        None
    }
}

fn read_decimal(text: &[u8]) -> Option<(f64, usize)> {
    let mantissa = mantissa_len(text, u8::is_ascii_digit)?;
    let used = mantissa + exponent_len(&text[mantissa..], b'e');
    let value = std::str::from_utf8(&text[..used]).ok()?.parse().ok()?;
    Some((value, used))
}

fn read_hexadecimal(text: &[u8]) -> Option<(f64, usize)> {
    let [b'0', b'x' | b'X', digits @ ..] = text else { return None };
    let mantissa = mantissa_len(digits, u8::is_ascii_hexdigit)?;
    let used = 2 + mantissa + exponent_len(&digits[mantissa..], b'p');
    // Out of range only with an absurd exponent.
    Some((parse_f64(&text[..used]).unwrap_or(f64::INFINITY), used))
}

/// Digits with at most one point among them; `None` without a digit.
fn mantissa_len(text: &[u8], is_digit: fn(&u8) -> bool) -> Option<usize> {
    let whole = text.iter().take_while(|byte| is_digit(byte)).count();
    let fraction = match text.get(whole) {
        Some(b'.') => 1 + text[whole + 1..].iter().take_while(|byte| is_digit(byte)).count(),
        _ => 0,
    };
    (whole + fraction > usize::from(fraction > 0)).then_some(whole + fraction)
}

/// A letter, a sign if there is one, digits; zero if it is not all there.
fn exponent_len(text: &[u8], letter: u8) -> usize {
    let Some((first, rest)) = text.split_first() else { return 0 };
    if !first.eq_ignore_ascii_case(&letter) {
        return 0;
    }
    let sign = usize::from(matches!(rest.first(), Some(b'+' | b'-')));
    match rest[sign..].iter().take_while(|byte| byte.is_ascii_digit()).count() {
        0 => 0,
        digits => 1 + sign + digits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn general_notation_is_that_of_c() {
        for (value, digits, expected) in [
            (0.0, 14, "0"),
            (-0.0, 14, "-0"),
            (0.1, 14, "0.1"),
            (100.0, 14, "100"),
            (1e14, 14, "1e+14"),
            (123456789012345.0, 14, "1.2345678901234e+14"),
            (99999999999999.9, 14, "1e+14"),
            (1e-4, 14, "0.0001"),
            (1.5e-5, 14, "1.5e-05"),
            (1e100, 14, "1e+100"),
            (2.34567, 3, "2.35"),
            (-2.0 / 3.0, 14, "-0.66666666666667"),
        ] {
            let mut out = Vec::new();
            push_general(&mut out, value, digits);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }

    #[test]
    fn a_prefix_is_read_as_far_as_it_is_a_number() {
        for (text, expected) in [
            ("12]", Some((12.0, 2))),
            ("-1.5e3,", Some((-1500.0, 6))),
            ("1e", Some((1.0, 1))),
            ("1e+", Some((1.0, 1))),
            ("1.", Some((1.0, 2))),
            (".5", Some((0.5, 2))),
            (".", None),
            ("-", None),
            ("0x", Some((0.0, 1))),
            ("0x1F", Some((31.0, 4))),
            ("0x1p4", Some((16.0, 5))),
            ("-inf", Some((f64::NEG_INFINITY, 4))),
            ("1e999", Some((f64::INFINITY, 5))),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(read_prefix(text.as_bytes()), expected, "{text}");
        }
    }
}
