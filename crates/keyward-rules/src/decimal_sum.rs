//! Exact sums of decimal numbers, as text.
//!
//! Owns the addition that INCRBYFLOAT and HINCRBYFLOAT do on a `decimal`. The
//! result is exact at any size, has no exponent and no needless zeros, as Redis
//! prints it. Estimate: one pass over the digits and one allocation.

use std::cmp::Ordering;

use keyward_schema::DecimalText;

/// The sum of two decimal numbers; `None` if one of them is no plain decimal.
pub(crate) fn sum(left: &[u8], right: &[u8]) -> Option<Vec<u8>> {
    let (left, right) = (Number::parse(left)?, Number::parse(right)?);
    let scale = left.fraction.len().max(right.fraction.len());
    let whole = left.whole.len().max(right.whole.len());
    let (negative, digits) = if left.negative == right.negative {
        (left.negative, combine(left, right, whole, scale, |a, b| a + b))
    } else {
        let (larger, smaller) = match left.cmp_magnitude(right, whole, scale) {
            Ordering::Less => (right, left),
            Ordering::Equal | Ordering::Greater => (left, right),
        };
        (larger.negative, combine(larger, smaller, whole, scale, |a, b| a - b))
    };
    Some(written(negative, &digits, scale))
}

/// The parts of a decimal number.
#[derive(Clone, Copy)]
struct Number<'a> {
    negative: bool,
    whole: &'a [u8],
    fraction: &'a [u8],
}

impl<'a> Number<'a> {
    fn parse(text: &'a [u8]) -> Option<Number<'a>> {
        DecimalText::parse(text)?;
        let (negative, digits) = match text {
            [b'-', digits @ ..] => (true, digits),
            digits => (false, digits),
        };
        let point = digits.iter().position(|byte| *byte == b'.').unwrap_or(digits.len());
        let fraction = digits.get(point + 1..).unwrap_or_default();
        Some(Number { negative, whole: &digits[..point], fraction })
    }

    /// Its digit at that power of ten, counted down from `whole` digits before
    /// the point.
    fn digit(self, index: usize, whole: usize) -> i8 {
        let byte = match index.checked_sub(whole) {
            None => (index + self.whole.len()).checked_sub(whole).map(|at| self.whole[at]),
            Some(at) => self.fraction.get(at).copied(),
        };
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
    fn only_plain_decimals_are_added() {
        for bad in ["1e2", "+1", ".5", "5.", "", "nan", "0x1"] {
            assert_eq!(sum(bad.as_bytes(), b"1"), None, "{bad}");
            assert_eq!(sum(b"1", bad.as_bytes()), None, "{bad}");
        }
    }
}
