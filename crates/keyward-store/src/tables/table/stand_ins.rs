//! What stands in a packed collection for texts that are kept elsewhere.
//!
//! Owns two formats. The long values of a hash, or items of a list, are joined to one
//! text, in their order, so that one frame has them all: what repeats itself from item to
//! item is there once. In the place of each a packed row has a stand-in.
//!
//! ```text
//! joined   = (length, seven bits a byte, the lowest first | text) ×
//! stand-in = 0 | digits of the number of the joined text, in the first one?
//! itself   = text, with one 0 before it if it begins with 0
//! ```
//! Invariants: what is read is what was written; a text that stands for itself is never
//! taken for a stand-in. Both hold only in rows that have the number of a text.
//! Not here: which texts are long, and where the joined text is kept (`packed`).

use std::borrow::Cow;
use std::io::Write as _;

/// What a stand-in begins with.
const MARK: u8 = 0;

/// What a packed collection has in the place of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place<'a> {
    /// The text itself.
    Itself(&'a [u8]),
    /// The next one of the joined text, whose number the first one tells.
    Apart(Option<u32>),
}

impl<'a> Place<'a> {
    /// Reads what `itself` or `stand_in` wrote; `None` if it was neither.
    pub(super) fn read(bytes: &'a [u8]) -> Option<Place<'a>> {
        match bytes {
            [MARK] => Some(Place::Apart(None)),
            [MARK, rest @ ..] if rest[0] == MARK => Some(Place::Itself(rest)),
            [MARK, digits @ ..] => {
                let number = std::str::from_utf8(digits).ok()?.parse().ok()?;
                Some(Place::Apart(Some(number)))
            }
            text => Some(Place::Itself(text)),
        }
    }
}

/// A text that stands for itself.
pub(super) fn itself(text: &[u8]) -> Cow<'_, [u8]> {
    match text.first() {
        Some(&MARK) => Cow::Owned([&[MARK], text].concat()),
        _ => Cow::Borrowed(text),
    }
}

/// What stands for a text; for the first one of a row with the number of the joined text.
pub(super) fn stand_in(number: Option<u32>) -> Cow<'static, [u8]> {
    let Some(number) = number else { return Cow::Borrowed(&[MARK]) };
    let mut bytes = vec![MARK];
    write!(bytes, "{number}").expect("writing to memory does not fail");
    Cow::Owned(bytes)
}

/// Adds a text to the joined one.
pub(super) fn join(joined: &mut Vec<u8>, text: &[u8]) {
    let mut length = text.len();
    while length >= 0x80 {
        joined.push(length as u8 | 0x80);
        length >>= 7;
    }
    joined.push(length as u8);
    joined.extend_from_slice(text);
}

/// Takes the next text off a joined one; `None` if there is none.
pub(super) fn next_joined<'a>(joined: &mut &'a [u8]) -> Option<&'a [u8]> {
    let mut length = 0;
    for shift in (0..usize::BITS).step_by(7) {
        let (byte, rest) = joined.split_first()?;
        *joined = rest;
        length |= usize::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            let (text, rest) = joined.split_at_checked(length)?;
            *joined = rest;
            return Some(text);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn stand_ins_are_short_and_tell_their_number() {
        assert_eq!((&*stand_in(None), &*stand_in(Some(17))), (&b"\0"[..], &b"\x0017"[..]));
        assert_eq!(Place::read(b"\0"), Some(Place::Apart(None)));
        assert_eq!(Place::read(b"\x0017"), Some(Place::Apart(Some(17))));
        assert_eq!(Place::read(b"\x0017x"), None);
        assert_eq!(next_joined(&mut &b"\x05abcd"[..]), None, "cut off");
        assert_eq!(next_joined(&mut &[0xff; 20][..]), None, "a length without end");
    }

    proptest! {
        #[test]
        fn a_text_that_stands_for_itself_is_no_stand_in(
            text in proptest::collection::vec(0u8..3, 0..6), digits: u32
        ) {
            let written = itself(&text);
            prop_assert_eq!(Place::read(&written), Some(Place::Itself(&text)));
            let digits = [&[MARK], digits.to_string().as_bytes()].concat();
            let written = itself(&digits);
            prop_assert_eq!(Place::read(&written), Some(Place::Itself(&digits)));
        }

        #[test]
        fn joined_texts_come_apart(
            lengths in proptest::collection::vec(
                prop_oneof![0usize..3, 100usize..300, 16_000usize..17_000], 0..8)
        ) {
            let texts: Vec<Vec<u8>> =
                lengths.iter().enumerate().map(|(at, length)| vec![at as u8; *length]).collect();
            let mut joined = Vec::new();
            texts.iter().for_each(|text| join(&mut joined, text));
            let mut left = &joined[..];
            for text in &texts {
                prop_assert_eq!(next_joined(&mut left), Some(&text[..]));
            }
            prop_assert_eq!(next_joined(&mut left), None);
        }
    }
}
