//! The x87 extended float, in software.
//!
//! INCRBYFLOAT and HINCRBYFLOAT of Redis compute with C's `long double`: a 64-bit
//! mantissa on x86-64. To answer byte for byte the same, on every machine, this
//! module reads, adds (rounding half to even) and prints such numbers itself.
//!
//! Invariant: the mantissa's highest bit is set, except for zero.
//! Not here: exact decimals, which know no rounding at all.

mod big;

use big::Big;

/// The longest text Redis reads as a long double.
const TEXT_BYTES_MAX: usize = 5 * 1024 - 1;
/// The exponent of the highest bit of the largest number.
const EXPONENT_MAX: i64 = 16_383;
/// The exponent of the lowest bit of the smallest number.
const EXPONENT_MIN: i64 = -16_445;
/// Digits after the point that are printed.
const PRINTED_DIGITS: usize = 17;
/// Beyond this decimal exponent nothing is finite or above zero.
const DECIMAL_EXPONENT_MAX: i64 = 10_000;

/// A finite or infinite number with a 64-bit mantissa.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LongDouble {
    is_negative: bool,
    magnitude: Magnitude,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Magnitude {
    /// `mantissa × 2^exponent`.
    Finite {
        mantissa: u64,
        exponent: i64,
    },
    Infinite,
}

impl LongDouble {
    /// Zero.
    pub(crate) const ZERO: LongDouble = LongDouble {
        is_negative: false,
        magnitude: Magnitude::Finite { mantissa: 0, exponent: 0 },
    };

    /// Reads what `strtold` reads and Redis accepts: a whole text without spaces,
    /// decimal or hexadecimal, or an infinity; not NaN, nothing out of range.
    pub(crate) fn parse(text: &[u8]) -> Option<LongDouble> {
        if text.len() > TEXT_BYTES_MAX {
            return None;
        }
        let (is_negative, text) = match text {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            rest => (false, rest),
        };
        let magnitude = match text {
            [b'0', b'x' | b'X', rest @ ..] => parse_digits(rest, Radix::Hexadecimal)?,
            t if t.eq_ignore_ascii_case(b"inf") || t.eq_ignore_ascii_case(b"infinity") => {
                Magnitude::Infinite
            }
            rest => parse_digits(rest, Radix::Decimal)?,
        };
        Some(LongDouble { is_negative, magnitude })
    }

    /// Whether it is not an infinity.
    pub(crate) fn is_finite(self) -> bool {
        self.finite().is_some()
    }

    /// The sum, rounded; `None` if it is not finite.
    pub(crate) fn add(self, other: LongDouble) -> Option<LongDouble> {
        let (a, a_exponent) = self.finite()?;
        let (b, b_exponent) = other.finite()?;
        if a == 0 {
            return Some(other);
        }
        if b == 0 {
            return Some(self);
        }
        // A number this far below the other's last bit cannot change it.
        const REACH: i64 = 130;
        if a_exponent - b_exponent > REACH {
            return Some(self);
        }
        if b_exponent - a_exponent > REACH {
            return Some(other);
        }
        let exponent = a_exponent.min(b_exponent);
        let a = Big::from(a).shifted_left((a_exponent - exponent) as usize);
        let b = Big::from(b).shifted_left((b_exponent - exponent) as usize);
        let (sum, is_negative) = if self.is_negative == other.is_negative {
            (a.plus(&b), self.is_negative)
        } else if a >= b {
            (a.minus(&b), self.is_negative)
        } else {
            (b.minus(&a), other.is_negative)
        };
        let is_negative = is_negative && !sum.is_zero();
        Some(LongDouble { is_negative, magnitude: round(&sum, exponent, false)? })
    }

    fn finite(self) -> Option<(u64, i64)> {
        match self.magnitude {
            Magnitude::Finite { mantissa, exponent } => Some((mantissa, exponent)),
            Magnitude::Infinite => None,
        }
    }

    /// The number without an exponent, rounded to 17 digits after the point,
    /// trailing zeros cut off. Infinities print as C does.
    pub(crate) fn to_text(self) -> Vec<u8> {
        let Magnitude::Finite { mantissa, exponent } = self.magnitude else {
            return if self.is_negative { b"-inf".to_vec() } else { b"inf".to_vec() };
        };
        let scaled = Big::from(mantissa).times_power_of_ten(PRINTED_DIGITS);
        let scaled = match usize::try_from(exponent) {
            Ok(bits) => scaled.shifted_left(bits),
            Err(_) => scaled.shifted_right_rounded(exponent.unsigned_abs() as usize),
        };
        let mut digits = scaled.to_decimal();
        while digits.len() <= PRINTED_DIGITS {
            digits.insert(0, b'0');
        }
        digits.insert(digits.len() - PRINTED_DIGITS, b'.');
        while digits.last() == Some(&b'0') {
            digits.pop();
        }
        if digits.last() == Some(&b'.') {
            digits.pop();
        }
        if self.is_negative && digits != b"0" {
            digits.insert(0, b'-');
        }
        digits
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Radix {
    Decimal,
    Hexadecimal,
}

impl Radix {
    fn digit(self, byte: u8) -> Option<u32> {
        let radix = if self == Radix::Decimal { 10 } else { 16 };
        char::from(byte).to_digit(radix)
    }

    fn exponent_mark(self) -> u8 {
        if self == Radix::Decimal { b'e' } else { b'p' }
    }
}

/// Reads digits, a point, digits, an exponent; all of `text`.
fn parse_digits(text: &[u8], radix: Radix) -> Option<Magnitude> {
    let base = if radix == Radix::Decimal { 10 } else { 16 };
    let (mut number, mut digit_count, mut after_point) = (Big::default(), 0, 0i64);
    let (mut has_point, mut at) = (false, 0);
    while let Some(&byte) = text.get(at) {
        if let Some(digit) = radix.digit(byte) {
            number.multiply_add(base, digit);
            digit_count += 1;
            after_point += i64::from(has_point);
        } else if byte == b'.' && !has_point {
            has_point = true;
        } else {
            break;
        }
        at += 1;
    }
    let exponent = match &text[at..] {
        [] => 0,
        [mark, rest @ ..] if mark.to_ascii_lowercase() == radix.exponent_mark() => {
            parse_exponent(rest)?
        }
        _ => return None,
    };
    if digit_count == 0 {
        return None;
    }
    if number.is_zero() {
        return LongDouble::ZERO.magnitude.into();
    }
    match radix {
        Radix::Hexadecimal => round(&number, exponent - 4 * after_point, false),
        Radix::Decimal => scale(&number, exponent - after_point),
    }
}

/// A decimal exponent with an optional sign; far too large ones saturate.
fn parse_exponent(text: &[u8]) -> Option<i64> {
    let (is_negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let value = digits
        .iter()
        .fold(0i64, |value, digit| (value * 10 + i64::from(digit - b'0')).min(1_000_000_000));
    Some(if is_negative { -value } else { value })
}

/// `number × 10^exponent`, rounded; `None` if out of range.
fn scale(number: &Big, exponent: i64) -> Option<Magnitude> {
    // The number has up to five thousand digits of its own.
    if exponent.abs() > DECIMAL_EXPONENT_MAX + TEXT_BYTES_MAX as i64 {
        return None;
    }
    let power = exponent.unsigned_abs() as usize;
    if exponent >= 0 {
        return round(&number.clone().times_power_of_ten(power), 0, false);
    }
    let divisor = Big::from(1).times_power_of_ten(power);
    // Enough bits for the mantissa, a rounding bit and a spare one.
    let shift = (divisor.bits() + 66).saturating_sub(number.bits());
    let (quotient, is_exact) = number.clone().shifted_left(shift).divided_by(&divisor);
    round(&quotient, -(shift as i64), !is_exact)
}

/// `number × 2^exponent` as a mantissa of 64 bits, half to even. `has_more` says
/// that the true value lies a little above. `None` if out of range.
fn round(number: &Big, exponent: i64, has_more: bool) -> Option<Magnitude> {
    if number.is_zero() {
        return Some(LongDouble::ZERO.magnitude);
    }
    let dropped = number.bits() as i64 - 64;
    let mut exponent = exponent + dropped;
    let mantissa = match usize::try_from(dropped) {
        Err(_) | Ok(0) => number.low_u64() << dropped.unsigned_abs(),
        Ok(dropped) => {
            let kept = number.bits_from(dropped);
            let half = number.bit(dropped - 1);
            let rest = has_more || number.has_bits_below(dropped - 1);
            let up = half && (rest || kept & 1 == 1);
            kept.checked_add(up.into()).unwrap_or_else(|| {
                exponent += 1;
                1 << 63
            })
        }
    };
    let is_in_range = exponent + 63 <= EXPONENT_MAX && exponent + 63 >= EXPONENT_MIN;
    is_in_range.then_some(Magnitude::Finite { mantissa, exponent })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(a: &str, b: &str) -> String {
        let [a, b] = [a, b].map(|text| LongDouble::parse(text.as_bytes()).expect(text));
        String::from_utf8(a.add(b).expect("finite").to_text()).unwrap()
    }

    /// The expected texts were answered by redis-server 7.0.15 on x86-64.
    #[test]
    fn sums_are_those_of_redis() {
        let cases = [
            ("0.1", "0.2", "0.3"),
            ("3.0e3", "200", "3200"),
            ("10.5", "0.1", "10.6"),
            ("1", "-1", "0"),
            ("17179869184", "1", "17179869185"),
            ("9223372036854775807", "1", "9223372036854775808"),
            ("1.23", "1.1", "2.33"),
            ("0", "1e-17", "0.00000000000000001"),
            ("0", "1e-18", "0"),
            ("-0.5", "0.25", "-0.25"),
            ("1e20", "1", "100000000000000000000"),
            ("0x1p3", "0", "8"),
        ];
        for (a, b, expected) in cases {
            assert_eq!(sum(a, b), expected, "{a} + {b}");
        }
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in
            ["", "-", ".", "1.2.3", "1e", "e5", " 1", "1 ", "nan", "1e5000", "1e-6000", "0x", "abc"]
        {
            assert_eq!(LongDouble::parse(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn infinity_is_read_but_has_no_finite_sum() {
        let infinity = LongDouble::parse(b"-inf").unwrap();
        assert_eq!(infinity.add(LongDouble::ZERO), None);
        let largest = LongDouble::parse(b"1.18e4932").unwrap();
        assert_eq!(largest.add(largest), None);
    }
}
