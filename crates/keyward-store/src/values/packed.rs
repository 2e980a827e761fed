//! Texts packed one behind the other, numbers as numbers.
//!
//! Owns the encoding of one text (an *item*) and the search over a run of them.
//! Small hashes and sets are such runs in one allocation (`thin`); large ones
//! keep each member or field in an allocation of its own (`boxed`), encoded the
//! same way.
//!
//! ```text
//! 0x00..=0x7f                    that many bytes of text follow
//! 0x80..=0xef                    a whole number from 0 to 111
//! 0xf0 + n, n bytes              a whole number of n = 1..=8 bytes, little-endian
//! 0xf8 + n, n bytes              a text whose length takes n = 1..=4 bytes
//! ```
//!
//! Invariant: a text has exactly one encoding (that of a number if it is the
//! canonical decimal form of an `i64`, the shortest in any case). So texts are
//! equal exactly if their encodings are, and a search compares encoded bytes: a
//! first byte that differs rules an item out, whether by its length or its value.
//!
//! Estimate: a text of up to 127 bytes takes one byte more than itself (Redis's
//! listpack: two), a number of six digits four (five).

#![deny(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "a length that is cut off is memory that is not there"
)]

pub(crate) mod boxed;

pub(crate) use boxed::BoxedItems;

use crate::values::decimal::{Decimal, Text};
use keyward_resp::ReplyWriter;
use keyward_resp::number::parse_i64;

const SHORT_MAX: u8 = 0x7f;
const SMALL: u8 = 0x80;
const SMALL_MAX: u8 = 0xef;
const INT: u8 = 0xf0;
const INT_MIN: u8 = INT + 1;
const INT_MAX: u8 = INT + 8;
const LONG: u8 = 0xf8;
const LONG_MIN: u8 = LONG + 1;
const LONG_MAX: u8 = LONG + 4;

/// Bytes before the text of an item at most; a number is all head.
const HEAD_BYTES_MAX: usize = 9;

/// A text: the number it is the canonical decimal form of, or its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Item<'a> {
    /// The decimal form of this number.
    Int(i64),
    /// These bytes, which are no number.
    Bytes(&'a [u8]),
}

impl<'a> Item<'a> {
    /// A text as an item.
    #[inline]
    pub fn of(text: &'a [u8]) -> Item<'a> {
        match parse_i64(text) {
            Some(number) => Item::Int(number),
            None => Item::Bytes(text),
        }
    }

    /// The text, a number written out.
    #[inline]
    pub fn text(self) -> Text<'a> {
        match self {
            Item::Int(number) => Text::Number(Decimal::of(number)),
            Item::Bytes(bytes) => Text::Bytes(bytes),
        }
    }

    /// How many bytes the text has.
    #[inline]
    pub fn text_bytes(self) -> usize {
        match self {
            Item::Int(number) => {
                let digits = 1 + number.unsigned_abs().checked_ilog10().unwrap_or(0) as usize;
                digits + usize::from(number < 0)
            }
            Item::Bytes(bytes) => bytes.len(),
        }
    }

    /// Replies with the text.
    #[inline]
    pub fn reply_to(self, reply: &mut ReplyWriter<'_>) {
        match self {
            Item::Int(number) => reply.bulk_integer(number),
            Item::Bytes(bytes) => reply.bulk(bytes),
        }
    }
}

/// An item's encoding: what comes before the text, and the text itself.
pub struct Code<'a> {
    head: [u8; HEAD_BYTES_MAX],
    head_bytes: u8,
    body: &'a [u8],
}

impl<'a> Code<'a> {
    /// The encoding of an item.
    #[inline]
    pub fn of(item: Item<'a>) -> Code<'a> {
        let mut head = [0; HEAD_BYTES_MAX];
        let (first, width, follow, body): (u8, u8, [u8; 8], &[u8]) = match item {
            Item::Bytes(bytes) => match u8::try_from(bytes.len()) {
                Ok(length @ 0..=SHORT_MAX) => (length, 0, [0; 8], bytes),
                _ => {
                    let length = u32::try_from(bytes.len()).expect("a text has at most 4 GB");
                    let width = 4 - low_byte(length.leading_zeros() / 8);
                    (LONG + width, width, u64::from(length).to_le_bytes(), bytes)
                }
            },
            Item::Int(number @ 0..=0x6f) => (SMALL + number.to_le_bytes()[0], 0, [0; 8], &[]),
            Item::Int(number) => {
                // One bit of a number is its sign.
                let sign = if number < 0 { number.leading_ones() } else { number.leading_zeros() };
                let width = 8 - low_byte((sign - 1) / 8);
                (INT + width, width, number.to_le_bytes(), &[])
            }
        };
        head[0] = first;
        // Only the first `width` bytes of what follows belong to the head.
        head[1..].copy_from_slice(&follow);
        Code { head, head_bytes: 1 + width, body }
    }

    /// How many bytes the encoding has.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        usize::from(self.head_bytes) + self.body.len()
    }

    #[inline(always)]
    fn head(&self) -> &[u8] {
        &self.head[..usize::from(self.head_bytes)]
    }

    /// Writes the encoding to the beginning of `room`; returns the rest of it.
    #[inline]
    pub fn write_to<'r>(&self, room: &'r mut [u8]) -> &'r mut [u8] {
        let (head, room) = room.split_at_mut(self.head().len());
        head.copy_from_slice(self.head());
        let (body, room) = room.split_at_mut(self.body.len());
        body.copy_from_slice(self.body);
        room
    }

    /// Whether these encoded items begin with this one.
    #[inline]
    pub fn begins(&self, bytes: &[u8]) -> bool {
        // Names tend to have the same length and to differ at their end.
        bytes.first() == self.head.first()
            && bytes.get(self.len() - 1) == self.body.last().or(self.head().last())
            && bytes.starts_with(self.head())
            && bytes[self.head().len()..].starts_with(self.body)
    }
}

/// The lowest byte of a number that has no other.
#[inline(always)]
fn low_byte(number: u32) -> u8 {
    debug_assert!(number <= u32::from(u8::MAX), "{number} has other bytes too");
    number.to_le_bytes()[0]
}

/// How many bytes the head of an item has, by its first byte: all that tells how
/// long the item is.
#[inline]
fn head_bytes(first: u8) -> usize {
    match first {
        LONG_MIN..=LONG_MAX => 1 + usize::from(first - LONG),
        _ => 1,
    }
}

/// How many bytes the item has whose head `bytes` begins with.
#[inline]
pub(crate) fn item_bytes(bytes: &[u8]) -> usize {
    match bytes[0] {
        length @ 0..=SHORT_MAX => 1 + usize::from(length),
        SMALL..=SMALL_MAX => 1,
        first @ INT_MIN..=INT_MAX => 1 + usize::from(first - INT),
        first => {
            let head_bytes = head_bytes(first);
            head_bytes + long_text_bytes(&bytes[1..head_bytes])
        }
    }
}

fn long_text_bytes(length: &[u8]) -> usize {
    let mut bytes = [0; 4];
    bytes[..length.len()].copy_from_slice(length);
    u32::from_le_bytes(bytes) as usize
}

/// The item that encoded bytes begin with.
#[inline]
pub fn first(bytes: &[u8]) -> Item<'_> {
    let code = &bytes[..item_bytes(bytes)];
    match code[0] {
        SMALL..=SMALL_MAX => Item::Int(i64::from(code[0] - SMALL)),
        INT_MIN..=INT_MAX => {
            let (number, width) = (&code[1..], code.len() - 1);
            let mut bytes = [0; 8];
            bytes[8 - width..].copy_from_slice(number);
            // Shifting back down repeats the sign.
            Item::Int(i64::from_le_bytes(bytes) >> (64 - 8 * width))
        }
        first => Item::Bytes(&code[head_bytes(first)..]),
    }
}

/// Where an item begins, if every `STRIDE`-th item of `bytes` is looked at.
#[inline]
pub fn find<const STRIDE: usize>(bytes: &[u8], code: &Code<'_>) -> Option<usize> {
    let mut at = 0;
    while at < bytes.len() {
        if code.begins(&bytes[at..]) {
            return Some(at);
        }
        at = skip(bytes, at, STRIDE);
    }
    None
}

/// Where the item is that comes `count` items behind the one at `at`. Always in line: a call
/// for each item of a walk costs more than the step.
#[inline(always)]
pub fn skip(bytes: &[u8], mut at: usize, count: usize) -> usize {
    for _ in 0..count {
        at += item_bytes(&bytes[at..]);
    }
    at
}

/// The items of encoded bytes, in order.
#[derive(Debug, Clone)]
pub struct Items<'a> {
    rest: &'a [u8],
}

impl<'a> Items<'a> {
    /// The items these bytes are made of.
    pub fn new(bytes: &'a [u8]) -> Items<'a> {
        Items { rest: bytes }
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = Item<'a>;

    #[inline]
    fn next(&mut self) -> Option<Item<'a>> {
        if self.rest.is_empty() {
            return None;
        }
        let item = first(self.rest);
        self.rest = &self.rest[item_bytes(self.rest)..];
        Some(item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encoded(text: &[u8]) -> Vec<u8> {
        let code = Code::of(Item::of(text));
        let mut bytes = vec![0; code.len()];
        assert!(code.write_to(&mut bytes).is_empty());
        bytes
    }

    #[test]
    fn each_kind_of_item_has_its_length() {
        let long = |length: usize| vec![b'x'; length];
        let cases = [
            (b"".to_vec(), 1),
            (b"hello".to_vec(), 6),
            (b"0".to_vec(), 1),
            (b"111".to_vec(), 1),
            (b"112".to_vec(), 2),
            (b"127".to_vec(), 2),
            (b"128".to_vec(), 3),
            (b"-1".to_vec(), 2),
            (b"-128".to_vec(), 2),
            (b"-129".to_vec(), 3),
            (b"1700000000".to_vec(), 5),
            (b"9223372036854775807".to_vec(), 9),
            (b"-9223372036854775808".to_vec(), 9),
            (b"007".to_vec(), 4),
            (long(127), 128),
            (long(128), 130),
            (long(256), 259),
            (long(70_000), 70_004),
            (long(1 << 24), (1 << 24) + 5),
        ];
        for (text, length) in cases {
            let bytes = encoded(&text);
            let shown = text.iter().take(20).copied().collect::<Vec<_>>();
            assert_eq!(bytes.len(), length, "{}", shown.escape_ascii());
            assert_eq!(item_bytes(&bytes), length);
            assert_eq!(first(&bytes).text().as_bytes(), text);
            assert_eq!(first(&bytes).text_bytes(), text.len());
        }
    }

    #[test]
    fn a_search_looks_at_every_second_item_of_pairs() {
        let bytes = [encoded(b"a"), encoded(b"b"), encoded(b"b"), encoded(b"7")].concat();
        let at = |text| find::<2>(&bytes, &Code::of(Item::of(text)));
        assert_eq!((at(b"a"), at(b"b"), at(b"7"), at(b"")), (Some(0), Some(4), None, None));
    }

    fn text() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            any::<i64>().prop_map(|number| number.to_string().into_bytes()),
            (-300i64..300).prop_map(|number| number.to_string().into_bytes()),
            proptest::collection::vec(any::<u8>(), 0..20),
            proptest::collection::vec(any::<u8>(), 120..300),
        ]
    }

    proptest! {
        #[test]
        fn items_come_back_in_order(texts in proptest::collection::vec(text(), 0..20)) {
            let bytes: Vec<u8> = texts.iter().flat_map(|text| encoded(text)).collect();
            let back: Vec<Vec<u8>> =
                Items::new(&bytes).map(|item| item.text().as_bytes().to_vec()).collect();
            prop_assert_eq!(back, texts);
        }

        #[test]
        fn an_item_is_found_exactly_where_it_first_is(
            texts in proptest::collection::vec(text(), 1..20),
            wanted in text(),
            there in any::<proptest::sample::Index>(),
        ) {
            let bytes: Vec<u8> = texts.iter().flat_map(|text| encoded(text)).collect();
            for wanted in [&wanted, there.get(&texts)] {
                let found = find::<1>(&bytes, &Code::of(Item::of(wanted)));
                let place = texts.iter().position(|text| text == wanted);
                prop_assert_eq!(found, place.map(|place| skip(&bytes, 0, place)));
            }
        }
    }
}
