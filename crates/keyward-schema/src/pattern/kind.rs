//! Types of placeholders: which bytes a segment of a key may hold.
//!
//! Invariant: no kind accepts an empty value, and none but `Rest` a colon.

use std::fmt;

use super::relation::{Relation, relate_kinds};

/// The type of a placeholder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Anything without a colon.
    Str,
    /// A canonical decimal number of 64 bits: no sign but `-`, no leading zeros.
    Int,
    /// The same, not below zero.
    Uint,
    /// Eight, four, four, four and twelve hexadecimal digits.
    Uuid,
    /// Letters and digits without `0`, `O`, `I`, `l`.
    Base58,
    /// Hexadecimal digits of either case.
    Hex,
    /// A day of the calendar, `2025-12-31`.
    Date,
    /// A month of the calendar, `2025-12`.
    Month,
    /// One of these words.
    Enum(Box<[Box<str>]>),
    /// Anything, colons included; only in the last place.
    Rest,
}

impl Kind {
    /// The names that may follow the colon in `{name:type}`.
    pub const NAMES: [&'static str; 9] =
        ["str", "int", "uint", "uuid", "base58", "hex", "date", "month", "rest"];

    /// The kind of that name.
    pub fn named(name: &str) -> Option<Kind> {
        Some(match name {
            "str" => Kind::Str,
            "int" => Kind::Int,
            "uint" => Kind::Uint,
            "uuid" => Kind::Uuid,
            "base58" => Kind::Base58,
            "hex" => Kind::Hex,
            "date" => Kind::Date,
            "month" => Kind::Month,
            "rest" => Kind::Rest,
            _ => return None,
        })
    }

    /// Whether a value fits. For `Str` the caller has cut at the colons.
    #[inline]
    pub fn accepts(&self, value: &[u8]) -> bool {
        match self {
            Kind::Str => !value.is_empty() && memchr::memchr(b':', value).is_none(),
            Kind::Rest => !value.is_empty(),
            Kind::Uint => is_uint(value),
            Kind::Int => is_int(value),
            Kind::Uuid => is_uuid(value),
            Kind::Base58 => is_all(value, BASE58),
            Kind::Hex => is_all(value, HEX),
            Kind::Date => is_date(value),
            Kind::Month => is_month(value),
            Kind::Enum(words) => words.iter().any(|word| word.as_bytes() == value),
        }
    }

    /// The words of an enum; none for other kinds.
    pub fn words(&self) -> &[Box<str>] {
        match self {
            Kind::Enum(words) => words,
            _ => &[],
        }
    }

    /// Whether every value of this kind is one of `other`.
    pub fn is_within(&self, other: &Kind) -> bool {
        match (self, other) {
            (_, Kind::Rest) => true,
            (Kind::Rest, _) => false,
            _ => matches!(relate_kinds(self, other), Relation::Equal | Relation::Subset),
        }
    }

    /// What it accepts, in words that follow "must be".
    pub fn in_words(&self) -> String {
        match self {
            Kind::Str => "anything without a colon".to_owned(),
            Kind::Int => "a whole number".to_owned(),
            Kind::Uint => "a whole number not below zero".to_owned(),
            Kind::Uuid => "a UUID".to_owned(),
            Kind::Base58 => "base58".to_owned(),
            Kind::Hex => "hexadecimal digits".to_owned(),
            Kind::Date => "a date (YYYY-MM-DD)".to_owned(),
            Kind::Month => "a month (YYYY-MM)".to_owned(),
            Kind::Enum(words) => format!("one of {}", words.join(", ")),
            Kind::Rest => "anything".to_owned(),
        }
    }
}

/// The notation of the schema.
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Str => "str",
            Kind::Int => "int",
            Kind::Uint => "uint",
            Kind::Uuid => "uuid",
            Kind::Base58 => "base58",
            Kind::Hex => "hex",
            Kind::Date => "date",
            Kind::Month => "month",
            Kind::Rest => "rest",
            Kind::Enum(words) => return f.write_str(&words.join("|")),
        })
    }
}

const BASE58: u8 = 1;
const HEX: u8 = 2;

/// For each byte, the alphabets it belongs to.
static ALPHABETS: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let b = byte as u8;
        if b.is_ascii_alphanumeric() && !matches!(b, b'0' | b'O' | b'I' | b'l') {
            table[byte] |= BASE58;
        }
        if b.is_ascii_hexdigit() {
            table[byte] |= HEX;
        }
        byte += 1;
    }
    table
};

#[inline]
fn is_all(value: &[u8], alphabet: u8) -> bool {
    !value.is_empty()
        && value.iter().fold(alphabet, |seen, &byte| seen & ALPHABETS[byte as usize]) != 0
}

/// Canonical, and within the 63 bits that Redis's integers have above zero.
#[inline]
fn is_uint(value: &[u8]) -> bool {
    const MAX: &[u8] = b"9223372036854775807";
    is_canonical(value) && (value.len() < MAX.len() || (value.len() == MAX.len() && value <= MAX))
}

#[inline]
fn is_int(value: &[u8]) -> bool {
    const MIN: &[u8] = b"9223372036854775808";
    match value {
        [b'-', digits @ ..] => {
            is_canonical(digits)
                && digits != b"0"
                && (digits.len() < MIN.len() || (digits.len() == MIN.len() && digits <= MIN))
        }
        digits => is_uint(digits),
    }
}

#[inline]
fn is_canonical(digits: &[u8]) -> bool {
    match digits {
        [] => false,
        [b'0'] => true,
        [b'0', ..] => false,
        _ => digits.iter().all(u8::is_ascii_digit),
    }
}

#[inline]
fn is_uuid(value: &[u8]) -> bool {
    let Ok(value) = <&[u8; 36]>::try_from(value) else { return false };
    [8, 13, 18, 23].iter().all(|&dash| value[dash] == b'-')
        && is_all(&value[..8], HEX)
        && is_all(&value[9..13], HEX)
        && is_all(&value[14..18], HEX)
        && is_all(&value[19..23], HEX)
        && is_all(&value[24..], HEX)
}

fn is_month(value: &[u8]) -> bool {
    let [y1, y2, y3, y4, b'-', m1, m2] = value else { return false };
    [y1, y2, y3, y4, m1, m2].iter().all(|byte| byte.is_ascii_digit())
        && (1..=12).contains(&two_digits(*m1, *m2))
}

fn is_date(value: &[u8]) -> bool {
    let [month @ .., b'-', d1, d2] = value else { return false };
    if !is_month(month) || !d1.is_ascii_digit() || !d2.is_ascii_digit() {
        return false;
    }
    let year =
        u32::from(two_digits(month[0], month[1])) * 100 + u32::from(two_digits(month[2], month[3]));
    let days = days_in_month(year, two_digits(month[5], month[6]));
    (1..=days).contains(&two_digits(*d1, *d2))
}

fn two_digits(tens: u8, ones: u8) -> u8 {
    (tens - b'0') * 10 + (ones - b'0')
}

/// How many days a month of the Gregorian calendar has.
pub(crate) fn days_in_month(year: u32, month: u8) -> u8 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => {
            29
        }
        2 => 28,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(kind: &str, yes: &[&str], no: &[&str]) {
        let kind = Kind::named(kind).expect("a kind");
        for value in yes {
            assert!(kind.accepts(value.as_bytes()), "{kind} should accept {value:?}");
        }
        for value in no {
            assert!(!kind.accepts(value.as_bytes()), "{kind} should not accept {value:?}");
        }
    }

    #[test]
    fn numbers_are_canonical_and_of_64_bits() {
        check(
            "uint",
            &["0", "7", "9223372036854775807"],
            &["", "00", "07", "+7", "-7", "9223372036854775808", "1a", "99999999999999999999"],
        );
        check(
            "int",
            &["0", "-7", "-9223372036854775808", "9223372036854775807"],
            &["-0", "-", "--1", "-07", "-9223372036854775809"],
        );
    }

    #[test]
    fn words_of_an_alphabet() {
        check("hex", &["0", "CAFEcafe99"], &["", "0x1", "g"]);
        check(
            "base58",
            &["9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin"],
            &["", "0", "O", "I", "l", "a-b"],
        );
        check(
            "uuid",
            &["123e4567-e89b-12d3-a456-426614174000", "123E4567-E89B-12D3-A456-426614174000"],
            &[
                "123e4567e89b12d3a456426614174000",
                "123e4567-e89b-12d3-a456-42661417400g",
                "123e4567-e89b-12d3-a456-4266141740000",
            ],
        );
    }

    #[test]
    fn dates_are_of_the_calendar() {
        check(
            "date",
            &["2025-12-31", "2024-02-29", "2000-02-29"],
            &[
                "2025-02-29",
                "1900-02-29",
                "2025-13-01",
                "2025-00-10",
                "2025-1-1",
                "2025-12-32",
                "2025-12",
                "2025-12-00",
            ],
        );
        check(
            "month",
            &["2025-12", "0000-01"],
            &["2025-13", "2025-00", "2025-12-01", "25-12", "2025_12"],
        );
    }

    #[test]
    fn str_and_rest_differ_by_the_colon() {
        check("str", &["a", " ", "ü"], &["", "a:b"]);
        check("rest", &["a", "a:b", ":"], &[""]);
    }
}
