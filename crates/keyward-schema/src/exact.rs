//! Numbers and times compared exactly, as they are written.
//!
//! Owns the order of any two numbers in the notations that shapes accept, exponents
//! included, and of any two times with all digits of their fractions: digits are compared,
//! never converted, so nothing is rounded. Nothing is allocated.
//! Not here: which values are compared (`shape::comparison`), which are decimals (`decimal`).

use std::cmp::Ordering;

/// A number as it is written: `-12.50`, `.5`, `1e-3`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Number<'a> {
    pub(crate) negative: bool,
    pub(crate) whole: &'a [u8],
    pub(crate) fraction: &'a [u8],
    /// The power of ten behind `e`. One beyond 64 bits is the nearest that fits: such
    /// numbers exist only as floats that are zero.
    pub(crate) exponent: i64,
    /// Whether there is a point without digits behind it.
    pub(crate) ends_in_point: bool,
}

impl<'a> Number<'a> {
    /// Reads a number in any notation that both JSON and Redis's clients use.
    pub(crate) fn parse(text: &'a [u8]) -> Option<Number<'a>> {
        let (negative, text) = match text {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            rest => (false, rest),
        };
        let (digits, exponent) = match text.iter().position(|byte| matches!(byte, b'e' | b'E')) {
            Some(at) => (&text[..at], exponent(&text[at + 1..])?),
            None => (text, 0),
        };
        let (whole, fraction) = match memchr::memchr(b'.', digits) {
            Some(point) => (&digits[..point], &digits[point + 1..]),
            None => (digits, &digits[..0]),
        };
        let mut all = whole.iter().chain(fraction);
        let is_number = !(whole.is_empty() && fraction.is_empty()) && all.all(u8::is_ascii_digit);
        let ends_in_point = digits.last() == Some(&b'.');
        is_number.then_some(Number { negative, whole, fraction, exponent, ends_in_point })
    }

    /// Its digits from the first that is not zero on; none of zero.
    fn significant(&self) -> impl Iterator<Item = u8> + use<'a> {
        self.whole.iter().chain(self.fraction).copied().skip_while(|digit| *digit == b'0')
    }

    /// How many digits its first one is in front of the point, if it is not zero.
    fn magnitude(&self) -> Option<i64> {
        let zeros =
            self.whole.iter().chain(self.fraction).take_while(|digit| **digit == b'0').count();
        let is_zero = zeros == self.whole.len() + self.fraction.len();
        let place = self.whole.len() as i64 - zeros as i64;
        (!is_zero).then(|| self.exponent.saturating_add(place))
    }

    /// The order of the two without their signs.
    fn cmp_size(&self, other: &Number<'_>) -> Ordering {
        let by_magnitude = match (self.magnitude(), other.magnitude()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => return Ordering::Less,
            (Some(_), None) => return Ordering::Greater,
            (Some(own), Some(others)) => own.cmp(&others),
        };
        by_magnitude.then_with(|| cmp_digits(self.significant(), other.significant()))
    }

    pub(crate) fn cmp(&self, other: &Number<'_>) -> Ordering {
        let is_negative = |number: &Number<'_>| number.negative && number.magnitude().is_some();
        match (is_negative(self), is_negative(other)) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (false, false) => self.cmp_size(other),
            (true, true) => other.cmp_size(self),
        }
    }
}

/// Digits one by one; those that are missing behind are zeros.
fn cmp_digits(mut left: impl Iterator<Item = u8>, mut right: impl Iterator<Item = u8>) -> Ordering {
    loop {
        match (left.next(), right.next()) {
            (None, None) => return Ordering::Equal,
            (left, right) => match left.unwrap_or(b'0').cmp(&right.unwrap_or(b'0')) {
                Ordering::Equal => {}
                unequal => return unequal,
            },
        }
    }
}

fn exponent(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    let size = digits.iter().fold(0_i64, |size, digit| {
        size.saturating_mul(10).saturating_add(i64::from(digit.wrapping_sub(b'0')))
    });
    is_number.then_some(if negative { -size } else { size })
}

/// A time: whole seconds since 1970, and the digits of what is beyond them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instant<'a> {
    pub(crate) seconds: i64,
    pub(crate) fraction: Fraction<'a>,
}

/// What of a time is beyond its seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fraction<'a> {
    /// Digits as written.
    Digits(&'a [u8]),
    /// Milliseconds, as three digits.
    Ms([u8; 3]),
}

impl Instant<'_> {
    /// A time in milliseconds since 1970.
    pub(crate) fn of_ms(ms: i64) -> Instant<'static> {
        let rest = ms.rem_euclid(1000) as u16;
        let digit = |number: u16| b'0' + (number % 10) as u8;
        let fraction = Fraction::Ms([digit(rest / 100), digit(rest / 10), digit(rest)]);
        Instant { seconds: ms.div_euclid(1000), fraction }
    }

    fn digits(&self) -> &[u8] {
        match &self.fraction {
            Fraction::Digits(digits) => digits,
            Fraction::Ms(digits) => digits,
        }
    }

    pub(crate) fn cmp(&self, other: &Instant<'_>) -> Ordering {
        let fractions =
            || cmp_digits(self.digits().iter().copied(), other.digits().iter().copied());
        self.seconds.cmp(&other.seconds).then_with(fractions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number as a fraction over a power of ten, made by long arithmetic on digits.
    fn naive(text: &str, scale: usize) -> (bool, Vec<u8>) {
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.trim_start_matches('+')),
        };
        let (digits, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let exponent: i64 = exponent.parse().expect("a small exponent");
        let mut all: Vec<u8> = format!("{whole}{fraction}").bytes().map(|b| b - b'0').collect();
        // As a whole number of units of 10^-scale.
        let shift = scale as i64 + exponent - fraction.len() as i64;
        assert!(shift >= 0, "{text} has more digits than the scale");
        all.extend(std::iter::repeat_n(0, shift as usize));
        let zeros = all.iter().take_while(|digit| **digit == 0).count();
        all.drain(..zeros);
        (negative && !all.is_empty(), all)
    }

    fn naive_order(left: &str, right: &str) -> Ordering {
        let size = |number: &(bool, Vec<u8>)| (number.1.len(), number.1.clone());
        let (left, right) = (naive(left, 120), naive(right, 120));
        match (left.0, right.0) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (false, false) => size(&left).cmp(&size(&right)),
            (true, true) => size(&right).cmp(&size(&left)),
        }
    }

    fn order(left: &str, right: &str) -> Ordering {
        let read = |text: &str| Number::parse(text.as_bytes()).map(|_| ());
        assert_eq!((read(left), read(right)), (Some(()), Some(())), "{left}, {right}");
        let (left, right) = (Number::parse(left.as_bytes()), Number::parse(right.as_bytes()));
        left.zip(right).expect("both are numbers").0.cmp(&right.expect("a number"))
    }

    /// Its own generator: what tests share depends on this crate.
    struct Chance(u64);

    impl Chance {
        fn below(&mut self, end: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (self.0 >> 33) % end
        }

        fn digits(&mut self, most: u64) -> String {
            // Few different digits, so that numbers begin alike.
            (0..self.below(most + 1))
                .map(|_| ['0', '0', '1', '9'][self.below(4) as usize])
                .collect()
        }

        fn number(&mut self) -> String {
            let sign = ["", "-", ""][self.below(3) as usize];
            let (mut whole, fraction) = (self.digits(25), self.digits(25));
            if fraction.is_empty() || self.below(4) > 0 {
                whole.push(['0', '7'][self.below(2) as usize]);
            }
            let point = if fraction.is_empty() { "" } else { "." };
            let exponent = match self.below(3) {
                0 => format!("e{}", self.below(60) as i64 - 30),
                _ => String::new(),
            };
            format!("{sign}{whole}{point}{fraction}{exponent}")
        }
    }

    #[test]
    fn numbers_are_ordered_as_long_arithmetic_orders_them() {
        let mut chance = Chance(11);
        let mut equal = 0;
        for _ in 0..50_000 {
            let left = chance.number();
            let right = match chance.below(3) {
                // The same number, written otherwise.
                0 if !left.contains('e') && left.contains('.') => format!("{left}00e0"),
                0 => left.clone(),
                _ => chance.number(),
            };
            let expected = naive_order(&left, &right);
            equal += usize::from(expected == Ordering::Equal);
            assert_eq!(order(&left, &right), expected, "{left} {right}");
        }
        assert!(equal > 5_000 && equal < 45_000, "{equal}");
    }

    #[test]
    fn numbers_beyond_floats_and_in_other_notations_are_exact() {
        let check = |less: &str, more: &str| {
            assert_eq!(order(less, more), Ordering::Less, "{less} < {more}");
            assert_eq!(order(more, less), Ordering::Greater, "{more} > {less}");
        };
        check("9007199254740992", "9007199254740993");
        check("0.1", "0.10000000000000000000000000001");
        check("-9223372036854775808", "-9223372036854775807");
        check("1e2", "100.1");
        check(".5", "0.51");
        check("1e-99999999999999999999", "1e-3");
        for (left, right) in [("1e2", "100"), ("-0.0", "0"), ("00.50", ".5"), ("+7", "7.0")] {
            assert_eq!(order(left, right), Ordering::Equal, "{left} {right}");
        }
        for bad in ["", "-", ".", "e5", "1e", "1e+", "1.2.3", "0x1", "nan", "1 "] {
            assert!(Number::parse(bad.as_bytes()).is_none(), "{bad}");
        }
    }
}
