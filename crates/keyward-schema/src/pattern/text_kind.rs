//! Text of a given alphabet or length: `text(32)`, `text(a-z0-9)`, `text(a-z0-9, 32)`.
//!
//! Owns the notation. An alphabet is characters and ranges of printable ASCII; `-` is itself
//! at either end and nowhere else. Digits alone are a length, which begins with no zero, so the
//! alphabet of `0` and `1` is `0-1`.
//! Invariants: an alphabet has at least two characters, so that a value can end before any
//! text; it holds no colon, brace, parenthesis, comma, bar or space; a length is counted in
//! bytes and is 1 to `LENGTH_MAX`; at least one of the two is given.

use std::fmt;

/// The longest text that can be demanded.
const LENGTH_MAX: u16 = 256;

/// Text of a given alphabet or length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TextKind {
    /// One bit for each character of ASCII; none if anything but a colon will do.
    alphabet: u128,
    /// How many bytes it has; zero if any number.
    length: u16,
}

impl TextKind {
    /// Reads what stands between the parentheses of `text(…)`.
    pub(crate) fn parse(inner: &str) -> Option<TextKind> {
        let (alphabet, length) = match inner.split_once(',') {
            Some((alphabet, length)) => (Some(alphabet.trim()), Some(length.trim())),
            None if inner.bytes().all(|byte| byte.is_ascii_digit()) => (None, Some(inner)),
            None => (Some(inner.trim()), None),
        };
        let alphabet = match alphabet {
            Some(text) => parse_alphabet(text.as_bytes())?,
            None => 0,
        };
        let length = match length {
            // `01` may be meant as an alphabet.
            Some(text) if text.starts_with(['+', '0']) => return None,
            Some(text) => text.parse().ok().filter(|length| (1..=LENGTH_MAX).contains(length))?,
            None => 0,
        };
        Some(TextKind { alphabet, length })
    }

    /// How many bytes every value has, if the schema says so.
    pub fn length(&self) -> Option<usize> {
        (self.length > 0).then_some(usize::from(self.length))
    }

    /// Whether a value may hold this byte.
    pub fn has(&self, byte: u8) -> bool {
        match self.alphabet {
            0 => byte != b':',
            alphabet => byte.is_ascii() && alphabet >> byte & 1 == 1,
        }
    }

    /// Whether a value fits.
    pub fn accepts(&self, value: &[u8]) -> bool {
        let has_length = self.length().map_or(!value.is_empty(), |length| value.len() == length);
        has_length && self.has_all(value)
    }

    /// Whether all bytes are of the alphabet, with one branch for eight of them.
    #[inline]
    fn has_all(&self, value: &[u8]) -> bool {
        if self.alphabet == 0 {
            return memchr::memchr(b':', value).is_none();
        }
        let halves = [self.alphabet as u64, (self.alphabet >> 64) as u64, 0, 0];
        let is_of = |seen, byte: &u8| seen & halves[usize::from(byte >> 6)] >> (byte & 63);
        value.chunks(8).all(|chunk| chunk.iter().fold(1, is_of) == 1)
    }

    /// The characters of its alphabet in order; none if anything will do.
    pub fn characters(&self) -> impl Iterator<Item = u8> {
        let alphabet = self.alphabet;
        (0..128).filter(move |byte| alphabet >> byte & 1 == 1)
    }

    pub(super) fn in_words(&self) -> String {
        match (self.alphabet, self.length()) {
            (0, Some(1)) => "1 byte without a colon".to_owned(),
            (0, Some(length)) => format!("{length} bytes without a colon"),
            (_, Some(1)) => format!("1 character of {}", self.alphabet_form()),
            (_, Some(length)) => format!("{length} characters of {}", self.alphabet_form()),
            (_, None) => format!("characters of {}", self.alphabet_form()),
        }
    }

    /// The alphabet as ranges; the hyphen comes last.
    fn alphabet_form(&self) -> String {
        let mut form = String::new();
        let mut characters = self.characters().filter(|byte| *byte != b'-').peekable();
        while let Some(first) = characters.next() {
            let mut last = first;
            while characters.next_if_eq(&(last + 1)).is_some() {
                last += 1;
            }
            form.push(first.into());
            match last - first {
                0 => {}
                1 if !last.is_ascii_digit() => form.push(last.into()),
                _ => form.extend(['-', last.into()]),
            }
        }
        let has_hyphen = self.alphabet >> b'-' & 1 == 1;
        form.extend(has_hyphen.then_some('-'));
        // Digits alone would be read as a length.
        match form.bytes().all(|byte| byte.is_ascii_digit()) {
            true => format!("{}-{form}", &form[..1]),
            false => form,
        }
    }
}

/// The notation of the schema.
impl fmt::Display for TextKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.alphabet, self.length) {
            (0, length) => write!(f, "text({length})"),
            (_, 0) => write!(f, "text({})", self.alphabet_form()),
            (_, length) => write!(f, "text({}, {length})", self.alphabet_form()),
        }
    }
}

fn parse_alphabet(text: &[u8]) -> Option<u128> {
    let mut alphabet: u128 = 0;
    let mut left = text;
    while let [first, behind @ ..] = left {
        let (last, behind) = match behind {
            [b'-', last, behind @ ..] => (last, behind),
            _ => (first, behind),
        };
        let is_sound = |byte: &u8| {
            byte.is_ascii_graphic()
                && !matches!(byte, b':' | b'{' | b'}' | b'(' | b')' | b',' | b'|')
        };
        // A hyphen between others would be one, or a range that is not finished.
        let is_between = left.len() < text.len() && !behind.is_empty();
        if (*first == b'-' && is_between)
            || first > last
            || !(*first..=*last).all(|byte| is_sound(&byte))
        {
            return None;
        }
        (*first..=*last).for_each(|byte| alphabet |= 1 << byte);
        left = behind;
    }
    (alphabet.count_ones() > 1).then_some(alphabet)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alphabets_and_lengths_are_read_and_written() {
        for (text, written) in [
            ("32", "text(32)"),
            ("a-z0-9", "text(0-9a-z)"),
            ("a-zA-Z0-9, 32", "text(0-9A-Za-z, 32)"),
            ("ab_-", "text(_ab-)"),
            ("-._~,8", "text(._~-, 8)"),
            ("0-1", "text(0-1)"),
            ("1-2, 4", "text(1-2, 4)"),
            ("135x", "text(135x)"),
            ("1-135", "text(1-135)"),
        ] {
            let kind = TextKind::parse(text).expect(text);
            assert_eq!(kind.to_string(), written);
            let inner = &written["text(".len()..written.len() - 1];
            assert_eq!(TextKind::parse(inner), Some(kind), "{written}");
        }
        for text in [
            "", "0", "257", "a", "z-a", "a:b", "ab, ", ", 3", "a b", "ä-ö", "ab, +3", "a-~", "01",
            "012", "ab, 03", "a-c-e", "a-c-ef",
        ] {
            assert_eq!(TextKind::parse(text), None, "{text}");
        }
    }

    #[test]
    fn lengths_are_told_in_bytes() {
        let words = |text| TextKind::parse(text).expect(text).in_words();
        assert_eq!(words("3"), "3 bytes without a colon");
        assert_eq!(words("1"), "1 byte without a colon");
        assert_eq!(words("ab, 1"), "1 character of ab");
    }

    #[test]
    fn values_are_of_the_alphabet_and_of_the_length() {
        let kind = TextKind::parse("a-f0-9, 4").expect("sound");
        assert!(kind.accepts(b"ca7e"));
        for value in [&b"ca7"[..], b"ca7eb", b"ca7g", b""] {
            assert!(!kind.accepts(value), "{value:?}");
        }
        let any = TextKind::parse("2").expect("sound");
        assert!(any.accepts(b"\xff ") && !any.accepts(b"a:"));
    }
}
