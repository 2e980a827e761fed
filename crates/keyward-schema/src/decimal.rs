//! Exact decimal numbers, as text.
//!
//! Owns the canonical form of a decimal and the order of any two, whatever
//! their size: digits are compared, never converted. Not here: arithmetic,
//! which only the engine needs.

use std::cmp::Ordering;
use std::fmt;

/// A decimal number of any size, borrowed from its text.
#[derive(Clone, Copy, Debug)]
pub struct DecimalText<'a> {
    negative: bool,
    /// Without leading zeros: empty for numbers below one.
    whole: &'a [u8],
    /// As written, trailing zeros included.
    fraction: &'a [u8],
}

impl<'a> DecimalText<'a> {
    /// Reads `-12.50`: an optional minus, digits without needless zeros in
    /// front, and where there is a point, digits behind it.
    pub fn parse(text: &'a [u8]) -> Option<DecimalText<'a>> {
        let (negative, digits) = match text {
            [b'-', digits @ ..] => (true, digits),
            digits => (false, digits),
        };
        let (whole, fraction) = match memchr::memchr(b'.', digits) {
            Some(point) if point + 1 == digits.len() => return None,
            Some(point) => (&digits[..point], &digits[point + 1..]),
            None => (digits, &digits[..0]),
        };
        let canonical = match whole {
            [] => false,
            [b'0'] => true,
            [b'0', ..] => false,
            _ => true,
        };
        let digits_only = whole.iter().chain(fraction).all(u8::is_ascii_digit);
        let whole = if whole == b"0" { &whole[..0] } else { whole };
        (canonical && digits_only).then_some(DecimalText { negative, whole, fraction })
    }

    /// How many digits stand behind the point.
    pub fn scale(&self) -> usize {
        self.fraction.len()
    }

    fn magnitude(&self) -> (usize, &'a [u8], &'a [u8]) {
        let zeros = self.fraction.iter().rev().take_while(|&&digit| digit == b'0').count();
        (self.whole.len(), self.whole, &self.fraction[..self.fraction.len() - zeros])
    }

    fn is_zero(&self) -> bool {
        let (length, _, fraction) = self.magnitude();
        length == 0 && fraction.is_empty()
    }
}

impl PartialEq for DecimalText<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for DecimalText<'_> {}

impl PartialOrd for DecimalText<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for DecimalText<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let negative = |number: &Self| number.negative && !number.is_zero();
        match (negative(self), negative(other)) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (false, false) => self.magnitude().cmp(&other.magnitude()),
            (true, true) => other.magnitude().cmp(&self.magnitude()),
        }
    }
}

/// A decimal number that owns its text: a bound in a schema.
#[derive(Clone, Debug)]
pub struct Decimal {
    text: Box<str>,
    float: f64,
}

impl Decimal {
    /// Reads what [`DecimalText::parse`] reads.
    pub fn parse(text: &str) -> Option<Decimal> {
        DecimalText::parse(text.as_bytes())?;
        let float = text.parse().expect("every decimal is a float");
        Some(Decimal { text: text.into(), float })
    }

    /// The number.
    pub fn as_text(&self) -> DecimalText<'_> {
        DecimalText::parse(self.text.as_bytes()).expect("it was parsed when it was made")
    }

    /// Whether it is below zero.
    pub(crate) fn is_negative(&self) -> bool {
        DecimalText::parse(b"0").is_some_and(|zero| self.as_text() < zero)
    }

    /// As a float, for bounds on floats.
    pub fn as_f64(&self) -> f64 {
        self.float
    }
}

impl PartialEq for Decimal {
    fn eq(&self, other: &Self) -> bool {
        self.as_text() == other.as_text()
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_exact_at_any_size() {
        let check = |less: &str, more: &str| {
            let (a, b) = (Decimal::parse(less).expect(less), Decimal::parse(more).expect(more));
            assert!(a.as_text() < b.as_text(), "{less} < {more}");
            assert!(b.as_text() > a.as_text(), "{more} > {less}");
        };
        check("-1", "0");
        check("-2", "-1");
        check("-0.5", "0.5");
        check("9", "10");
        check("0.1", "0.11");
        check("0.0999", "0.1");
        check("99999999999999999999999999999999", "100000000000000000000000000000000");
        check("0.000000000000000000000000000000001", "0.000000000000000000000000000000002");
        assert_eq!(Decimal::parse("-0.0"), Decimal::parse("0"));
        assert_eq!(Decimal::parse("1.50"), Decimal::parse("1.5"));
    }

    #[test]
    fn only_one_way_to_write_the_whole_part() {
        for bad in ["", "-", ".5", "5.", "05", "1e5", "+1", "1.2.3", "--1", "nan", " 1", "00"] {
            assert!(Decimal::parse(bad).is_none(), "{bad}");
        }
    }
}
