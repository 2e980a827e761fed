//! Types of placeholders: which bytes the value of one may hold.
//!
//! Invariant: no kind accepts an empty value, and none but `Rest` and `Ip` a colon.
//! `machine` has the same languages as automata; a test holds the two against each other.

use std::fmt;
use std::net::Ipv6Addr;

use super::text_kind::TextKind;

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
    /// Twenty-six digits of Crockford's base32, of either case, within 128 bits.
    Ulid,
    /// Lower-case letters and digits with single hyphens between them.
    Slug,
    /// Letters, digits, `-` and `_`, without padding.
    Base64Url,
    /// An IPv4 or IPv6 address; the latter holds colons.
    Ip,
    /// Text of a given alphabet or length.
    Text(TextKind),
    /// One of these words.
    Enum(Box<[Box<str>]>),
    /// Anything, colons included; once in a pattern.
    Rest,
}

impl Kind {
    /// The names that may follow the colon in `{name:type}`, besides `text(…)` and words.
    pub const NAMES: [&'static str; 13] = [
        "str",
        "int",
        "uint",
        "uuid",
        "ulid",
        "base58",
        "base64url",
        "hex",
        "slug",
        "date",
        "month",
        "ip",
        "rest",
    ];

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
            "ulid" => Kind::Ulid,
            "slug" => Kind::Slug,
            "base64url" => Kind::Base64Url,
            "ip" => Kind::Ip,
            "rest" => Kind::Rest,
            _ => return None,
        })
    }

    /// How many bytes every value has, for the kinds that are read by their form.
    pub fn fixed_length(&self) -> Option<usize> {
        match self {
            Kind::Uuid => Some(36),
            Kind::Date => Some(10),
            Kind::Month => Some(7),
            Kind::Ulid => Some(26),
            Kind::Text(text) => text.length(),
            _ => None,
        }
    }

    /// Whether a value may hold this byte; no if none does.
    pub(crate) fn may_hold(&self, byte: u8) -> bool {
        match self {
            Kind::Rest => true,
            Kind::Str | Kind::Hex | Kind::Base58 | Kind::Base64Url => self.accepts(&[byte]),
            Kind::Int | Kind::Date | Kind::Month => byte.is_ascii_digit() || byte == b'-',
            Kind::Uint => byte.is_ascii_digit(),
            Kind::Uuid => byte.is_ascii_hexdigit() || byte == b'-',
            Kind::Ulid => byte.is_ascii_alphanumeric(),
            Kind::Slug => byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-',
            Kind::Ip => byte.is_ascii_hexdigit() || matches!(byte, b'.' | b':'),
            Kind::Text(text) => text.has(byte),
            Kind::Enum(words) => words.iter().any(|word| word.as_bytes().contains(&byte)),
        }
    }

    /// Whether a value may hold a colon.
    pub fn may_hold_colon(&self) -> bool {
        matches!(self, Kind::Rest | Kind::Ip)
    }

    /// Whether a value fits.
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
            Kind::Ulid => is_ulid(value),
            Kind::Slug => is_slug(value),
            Kind::Base64Url => is_all(value, BASE64URL),
            Kind::Ip => is_ip(value),
            Kind::Text(text) => text.accepts(value),
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

    /// What a value that it does not accept must be or not, of a segment by itself.
    pub fn demand(&self) -> String {
        match self {
            // Nothing else is wrong with a segment.
            Kind::Str | Kind::Rest => "must not be empty".to_owned(),
            kind => format!("must be {}", kind.in_words()),
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
            Kind::Ulid => "a ULID".to_owned(),
            Kind::Slug => "lower-case letters and digits with single hyphens between".to_owned(),
            Kind::Base64Url => "base64url".to_owned(),
            Kind::Ip => "an IP address".to_owned(),
            Kind::Text(text) => text.in_words(),
            Kind::Enum(words) => format!("one of {}", words.join(", ")),
            Kind::Rest => "anything but the empty text".to_owned(),
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
            Kind::Ulid => "ulid",
            Kind::Slug => "slug",
            Kind::Base64Url => "base64url",
            Kind::Ip => "ip",
            Kind::Rest => "rest",
            Kind::Text(text) => return text.fmt(f),
            Kind::Enum(words) => return f.write_str(&words.join("|")),
        })
    }
}

const BASE58: u8 = 1;
const HEX: u8 = 2;
const BASE64URL: u8 = 4;
const CROCKFORD: u8 = 8;

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
        if b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_') {
            table[byte] |= BASE64URL;
        }
        if b.is_ascii_alphanumeric() && !matches!(b.to_ascii_lowercase(), b'i' | b'l' | b'o' | b'u')
        {
            table[byte] |= CROCKFORD;
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
    const DASHES: [usize; 4] = [8, 13, 18, 23];
    let Ok(value) = <&[u8; 36]>::try_from(value) else { return false };
    if !DASHES.iter().all(|&dash| value[dash] == b'-') {
        return false;
    }
    // Four dashes are where they belong, so there may be no other. One loop over all bytes
    // without a branch, which compilers turn into vector instructions.
    let mut digits = 0_u8;
    for byte in value {
        let is_digit = byte.wrapping_sub(b'0') < 10;
        let is_letter = (byte | 0x20).wrapping_sub(b'a') < 6;
        digits += u8::from(is_digit | is_letter);
    }
    usize::from(digits) == value.len() - DASHES.len()
}

/// The first digit stands for three bits, so that all fit 128.
fn is_ulid(value: &[u8]) -> bool {
    value.len() == 26 && value[0] <= b'7' && is_all(value, CROCKFORD)
}

fn is_slug(value: &[u8]) -> bool {
    value.split(|byte| *byte == b'-').all(|word| {
        let is_of_slug = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        !word.is_empty() && word.iter().all(is_of_slug)
    })
}

/// The longest address: eight groups, the last two as an IPv4 address.
const IP_BYTES_MAX: usize = 45;

fn is_ip(value: &[u8]) -> bool {
    if value.len() > IP_BYTES_MAX {
        return false;
    }
    match memchr::memchr(b':', value) {
        None => is_ipv4(value),
        Some(_) => std::str::from_utf8(value).is_ok_and(|text| text.parse::<Ipv6Addr>().is_ok()),
    }
}

/// Four numbers up to 255 without zeros in front, with dots between them.
fn is_ipv4(value: &[u8]) -> bool {
    let (mut dots, mut digits, mut number) = (0, 0, 0_u32);
    for &byte in value {
        match byte {
            b'0'..=b'9' => {
                if digits == 3 || (digits == 1 && number == 0) {
                    return false;
                }
                digits += 1;
                number = number * 10 + u32::from(byte - b'0');
            }
            b'.' if digits > 0 && number <= 255 => {
                dots += 1;
                (digits, number) = (0, 0);
            }
            _ => return false,
        }
    }
    dots == 3 && digits > 0 && number <= 255
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
    use proptest::prelude::*;

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
    fn ids_and_addresses() {
        check(
            "ulid",
            &["01ARZ3NDEKTSV4RRFFQ69G5FAV", "7zzzzzzzzzzzzzzzzzzzzzzzzz"],
            &[
                "81ARZ3NDEKTSV4RRFFQ69G5FAV",
                "01ARZ3NDEKTSV4RRFFQ69G5FA",
                "01ARZ3NDEKTSV4RRFFQ69G5FAU",
            ],
        );
        check("slug", &["a", "a-b", "2-c3-d"], &["", "-a", "a-", "a--b", "A", "a_b"]);
        check("base64url", &["a", "-_A9", "SGVsbG8"], &["", "a=", "a+b", "a/b"]);
        check(
            "ip",
            &["127.0.0.1", "::1", "::", "2001:db8::8a2e:370:7334", "::ffff:1.2.3.4"],
            &["", "127.0.0", "127.0.0.01", "1:2", ":::", "fe80::1%eth0", "[::1]", "1.2.3.4:80"],
        );
    }

    proptest! {
        /// Addresses are those of the standard library, however they are judged here.
        #[test]
        fn addresses_are_those_of_the_standard_library(
            value in "[0-9]{1,4}(\\.[0-9]{0,4}){2,4}|[0-9a-f:.]{0,20}|\\PC{0,8}|\
                      ([0-2]?[0-9]{1,2}\\.){3}[0-2]?[0-9]{1,2}"
        ) {
            let expected = value.parse::<std::net::IpAddr>().is_ok();
            prop_assert_eq!(Kind::Ip.accepts(value.as_bytes()), expected, "{}", value);
        }
    }

    #[test]
    fn str_and_rest_differ_by_the_colon() {
        check("str", &["a", " ", "ü"], &["", "a:b"]);
        check("rest", &["a", "a:b", ":"], &[""]);
    }
}
