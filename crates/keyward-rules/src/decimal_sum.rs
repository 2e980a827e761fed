//! Exact sums of decimal numbers, as text.
//!
//! Owns the addition that INCRBYFLOAT and HINCRBYFLOAT do on a `decimal`. The
//! result is exact at any size, has no exponent and no needless zeros, as Redis
//! prints it. Estimate: one pass over the digits and one allocation, which an
//! exponent makes at most `DECIMAL_EXPONENT_MAX` bytes longer in either direction.

use std::cmp::Ordering;

use keyward_schema::{DecimalParts, DecimalText};

/// The sum of two decimal numbers; `None` if one of them is no decimal.
pub(crate) fn sum(left: &[u8], right: &[u8]) -> Option<Vec<u8>> {
    let (left, right) = (Number::parse(left)?, Number::parse(right)?);
    let scale = left.scale.max(right.scale);
    let whole = left.whole_digits().max(right.whole_digits());
    let (negative, digits) = if left.parts.negative == right.parts.negative {
        (left.parts.negative, combine(left, right, whole, scale, |a, b| a + b))
    } else {
        let (larger, smaller) = match left.cmp_magnitude(right, whole, scale) {
            Ordering::Less => (right, left),
            Ordering::Equal | Ordering::Greater => (left, right),
        };
        (larger.parts.negative, combine(larger, smaller, whole, scale, |a, b| a - b))
    };
    Some(written(negative, &digits, scale))
}

/// A decimal number, and how many digits it has behind the point without its exponent.
#[derive(Clone, Copy)]
struct Number<'a> {
    parts: DecimalParts<'a>,
    scale: usize,
}

impl<'a> Number<'a> {
    fn parse(text: &'a [u8]) -> Option<Number<'a>> {
        let number = DecimalText::parse(text)?;
        Some(Number { parts: number.parts(), scale: number.scale() })
    }

    /// How many digits stand in front of the point without its exponent, at least one.
    fn whole_digits(self) -> usize {
        self.parts.whole.len().saturating_add_signed(self.parts.exponent.into()).max(1)
    }

    /// Its digit at that power of ten, counted down from `whole` digits before
    /// the point.
    fn digit(self, index: usize, whole: usize) -> i8 {
        let DecimalParts { whole: own, fraction, exponent, .. } = self.parts;
        // Where it stands among the digits as they are written.
        let place = (index + own.len()).checked_add_signed(exponent.into());
        let byte = place.and_then(|place| place.checked_sub(whole)).and_then(|place| {
            own.get(place).or_else(|| fraction.get(place.checked_sub(own.len())?))
        });
        byte.map_or(0, |byte| (byte - b'0') as i8)
    }

    fn cmp_magnitude(self, other: Number<'_>, whole: usize, scale: usize) -> Ordering {
        let digits = 0..whole + scale;
        digits
            .map(|at| self.digit(at, whole).cmp(&other.digit(at, whole)))
            .fold(Ordering::Equal, Ordering::then)
    }
}

/// Combines two numbers digit by digit, with one digit in front for the carry.
fn combine(
    left: Number<'_>,
    right: Number<'_>,
    whole: usize,
    scale: usize,
    of: impl Fn(i8, i8) -> i8,
) -> Vec<u8> {
    let mut digits = vec![b'0'; whole + scale + 1];
    let mut carry = 0;
    for at in (0..whole + scale).rev() {
        let digit = of(left.digit(at, whole), right.digit(at, whole)) + carry;
        carry = digit.div_euclid(10);
        digits[at + 1] += digit.rem_euclid(10) as u8;
    }
    digits[0] += carry as u8;
    digits
}

/// Writes digits of which the last `scale` stand behind the point.
fn written(negative: bool, digits: &[u8], scale: usize) -> Vec<u8> {
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    let zeros = |digits: &mut dyn Iterator<Item = &u8>| digits.take_while(|d| **d == b'0').count();
    let whole = &whole[zeros(&mut whole.iter()).min(whole.len() - 1)..];
    let fraction = &fraction[..fraction.len() - zeros(&mut fraction.iter().rev())];
    let is_zero = whole == b"0" && fraction.is_empty();
    let mut text = Vec::with_capacity(whole.len() + fraction.len() + 2);
    text.extend((negative && !is_zero).then_some(b'-'));
    text.extend_from_slice(whole);
    if !fraction.is_empty() {
        text.push(b'.');
        text.extend_from_slice(fraction);
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(left: &str, right: &str, expected: &str) {
        let text = |sum: Option<Vec<u8>>| String::from_utf8(sum.expect("decimals")).expect("ASCII");
        assert_eq!(text(sum(left.as_bytes(), right.as_bytes())), expected, "{left} + {right}");
        assert_eq!(text(sum(right.as_bytes(), left.as_bytes())), expected, "{right} + {left}");
    }

    #[test]
    fn sums_are_exact() {
        check("0.1", "0.2", "0.3");
        check("10.50", "5.00", "15.5");
        check("99.99", "0.01", "100");
        check("0", "-0.001", "-0.001");
        check("1", "-0.999", "0.001");
        check("-1", "0.25", "-0.75");
        check("5", "-5.00", "0");
        check("-0.0", "0", "0");
        check("-2.5", "-2.5", "-5");
        check("1000", "-1", "999");
        check("9007199254740993", "0.1", "9007199254740993.1");
        check(
            "123456789012345678901234567890.123456789",
            "0.000000000000000000000000000001",
            "123456789012345678901234567890.123456789000000000000000000001",
        );
    }

    #[test]
    fn sums_of_small_numbers_agree_with_integers() {
        let text = |hundredths: i64| {
            let sign = if hundredths < 0 { "-" } else { "" };
            let size = hundredths.unsigned_abs();
            format!("{sign}{}.{:02}", size / 100, size % 100)
        };
        for left in (-250..250).step_by(7) {
            for right in -210..210 {
                let found = sum(text(left).as_bytes(), text(right).as_bytes()).expect("decimals");
                let expected = text(left + right);
                let found = std::str::from_utf8(&found).expect("ASCII");
                assert_eq!(found.parse::<f64>(), expected.parse::<f64>(), "{left} {right}");
                assert!(!found.contains('.') || !found.ends_with('0'), "{found}");
            }
        }
    }

    #[test]
    fn exponents_are_written_out() {
        check("1e-05", "1e-5", "0.00002");
        check("0.00002", "-1e-05", "0.00001");
        check("1.5E3", "0.5", "1500.5");
        check("-12.50e1", "125", "0");
        check("9.9999994e-9", "0.09999999", "0.0999999999999994");
        check("0e400", "0e-400", "0");
        let zeros = "0".repeat(399);
        check("1e400", "1e-400", &format!("10{zeros}.{zeros}1"));
    }

    /// Digits, their power of ten, and the number in units of 10^-16.
    fn number() -> impl Strategy<Value = (String, i128)> {
        (any::<bool>(), "0|[1-9][0-9]{0,6}", "[0-9]{0,8}", -8_i32..=8, 0..3).prop_map(
            |(negative, whole, fraction, exponent, form)| {
                let point = if fraction.is_empty() { "" } else { "." };
                let (power, exponent) = match form {
                    0 => (String::new(), 0),
                    1 => (format!("e{exponent:03}"), exponent),
                    _ => (format!("E{exponent:+}"), exponent),
                };
                let shift = 16 + exponent - fraction.len() as i32;
                let digits: i128 = format!("{whole}{fraction}").parse().expect("digits");
                let size = digits * 10_i128.pow(shift as u32);
                let (sign, value) = if negative { ("-", -size) } else { ("", size) };
                (format!("{sign}{whole}{point}{fraction}{power}"), value)
            },
        )
    }

    fn units(text: &str) -> i128 {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        format!("{whole}{fraction:0<16}").parse().expect("digits")
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn sums_agree_with_whole_numbers(left in number(), right in number()) {
            let found = sum(left.0.as_bytes(), right.0.as_bytes()).expect("decimals");
            let found = std::str::from_utf8(&found).expect("ASCII");
            prop_assert_eq!(units(found), left.1 + right.1, "{} + {}", left.0, right.0);
            prop_assert!(!found.contains('.') || !found.ends_with('0'), "{}", found);
        }
    }

    #[test]
    fn only_decimals_are_added() {
        for bad in ["1e401", "+1", ".5", "5.", "", "nan", "0x1", "1e", "1e999999999"] {
            assert_eq!(sum(bad.as_bytes(), b"1"), None, "{bad}");
            assert_eq!(sum(b"1", bad.as_bytes()), None, "{bad}");
        }
    }
}
