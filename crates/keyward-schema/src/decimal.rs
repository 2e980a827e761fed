//! Exact decimal numbers, as text.
//!
//! Owns the canonical form of a decimal, with an exponent too (`1e-05`, as Lua and Python
//! write small floats), and the order of any two: digits are compared, never converted.
//! Invariant: written out without its exponent, a decimal has at most
//! [`DECIMAL_EXPONENT_MAX`] digits more than its text.
//! Not here: comparing digits (`exact`), arithmetic, which only the engine needs.

use std::cmp::Ordering;
use std::fmt;

use crate::exact::Number;

/// The largest exponent of a decimal, of either sign: beyond that of any float.
pub const DECIMAL_EXPONENT_MAX: u16 = 400;

/// A decimal number of any size, borrowed from its text.
#[derive(Clone, Copy, Debug)]
pub struct DecimalText<'a> {
    number: Number<'a>,
}

/// What a decimal number consists of.
#[derive(Clone, Copy, Debug)]
pub struct DecimalParts<'a> {
    /// Whether a minus stands in front.
    pub negative: bool,
    /// The digits in front of the point: at least one.
    pub whole: &'a [u8],
    /// The digits behind it, trailing zeros included.
    pub fraction: &'a [u8],
    /// The power of ten it is multiplied by, at most [`DECIMAL_EXPONENT_MAX`] of either sign.
    pub exponent: i16,
}

impl<'a> DecimalText<'a> {
    /// Reads `-12.50` and `1.5e-05`: an optional minus, digits without needless zeros in
    /// front, where there is a point, digits behind it, and perhaps an exponent.
    pub fn parse(text: &'a [u8]) -> Option<DecimalText<'a>> {
        if text.first() == Some(&b'+') {
            return None;
        }
        let number = Number::parse(text)?;
        let canonical = match number.whole {
            [] => false,
            [b'0'] => true,
            [b'0', ..] => false,
            _ => true,
        };
        let allowed = number.exponent.unsigned_abs() <= DECIMAL_EXPONENT_MAX.into();
        (canonical && !number.ends_in_point && allowed).then_some(DecimalText { number })
    }

    /// How many digits stand behind the point when it is written without an exponent.
    pub fn scale(&self) -> usize {
        let DecimalParts { fraction, exponent, .. } = self.parts();
        fraction.len().saturating_add_signed(-isize::from(exponent))
    }

    /// What it consists of.
    pub fn parts(&self) -> DecimalParts<'a> {
        let Number { negative, whole, fraction, exponent, .. } = self.number;
        DecimalParts { negative, whole, fraction, exponent: exponent as i16 }
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
        self.number.cmp(&other.number)
    }
}

/// A decimal number that owns its text: a bound in a schema.
#[derive(Clone, Debug)]
pub struct Decimal {
    text: Box<str>,
    float: f64,
}

impl Decimal {
    /// Reads what [`DecimalText::parse`] reads, but no exponent: a bound is written out.
    pub fn parse(text: &str) -> Option<Decimal> {
        DecimalText::parse(text.as_bytes()).filter(|_| !text.contains(['e', 'E']))?;
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
        for bad in ["", "-", ".5", "5.", "05", "+1", "1.2.3", "--1", "nan", " 1", "00"] {
            assert!(Decimal::parse(bad).is_none(), "{bad}");
            assert!(DecimalText::parse(bad.as_bytes()).is_none(), "{bad}");
        }
        assert!(Decimal::parse("1e5").is_none(), "a bound is written out");
    }

    #[test]
    fn an_exponent_moves_the_point() {
        let read = |text: &'static str| DecimalText::parse(text.as_bytes());
        let same = [
            ("1e-05", "0.00001", 5),
            ("1.5E3", "1500", 0),
            ("-1e-05", "-0.00001", 5),
            ("12.50e1", "125.0", 1),
            ("100e-2", "1.00", 2),
            ("1e+2", "100", 0),
            ("0e400", "0", 0),
            ("9.99999983e-09", "0.00000000999999983", 17),
        ];
        for (short, long, scale) in same {
            let (short, long) = (read(short).expect(short), read(long).expect(long));
            assert_eq!(short, long);
            assert_eq!((short.scale(), long.scale()), (scale, scale), "{long:?}");
        }
        assert!(read("1e-400") > read("0") && read("1e-400") < read("1e-399"));
        assert!(read("-1e400") < read("-9.9e399"));
        for bad in ["1e", "e5", "1e+", "1.e5", ".5e1", "05e1", "1e5.0", "1e 5", "1e5e5", "1e--5"] {
            assert!(read(bad).is_none(), "{bad}");
        }
        for far in ["1e401", "1e-401", "0e401", "1e999999999", "-1E-99999999999999999999"] {
            assert!(read(far).is_none(), "{far}");
        }
    }
}
