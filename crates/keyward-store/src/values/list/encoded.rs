//! One element of a list as bytes, readable from either end.
//!
//! Owns the field that follows an item (`packed`): the length that makes the
//! entry before a position findable without walking from the start.
//!
//! ```text
//! entry    | item | back |
//! back     bytes of the item, seven bits per byte, the lowest in the last byte;
//!          the highest bit of a byte says that the one before it belongs too
//! ```
//!
//! Estimate: a text of up to 126 bytes costs two bytes more than itself (Redis's
//! listpack: two up to 63 bytes, then three), a number 2 to 10 bytes.

use crate::values::packed::{self, Code, Item};

/// An element ready to be written.
pub(super) struct Encoded<'a> {
    code: Code<'a>,
}

impl<'a> Encoded<'a> {
    #[inline]
    pub(super) fn of(text: &'a [u8]) -> Encoded<'a> {
        Encoded { code: Code::of(Item::of(text)) }
    }

    /// Bytes it takes.
    #[inline]
    pub(super) fn len(&self) -> usize {
        let item = self.code.len();
        item + back_bytes(item)
    }

    /// Fills `room`, which is as long as this.
    #[inline]
    pub(super) fn write(&self, room: &mut [u8]) {
        let back = self.code.write_to(room);
        let mut left = self.code.len();
        for byte in back.iter_mut().rev() {
            let more = if left >> 7 > 0 { 0x80 } else { 0 };
            *byte = (left & 0x7f) as u8 | more;
            left >>= 7;
        }
    }
}

/// Bytes of the last field of an entry whose item takes `item` bytes.
#[inline]
fn back_bytes(item: usize) -> usize {
    if item < 1 << 7 { 1 } else { (usize::BITS - item.leading_zeros()).div_ceil(7) as usize }
}

/// The entry at the start of `bytes`, and how many bytes it takes.
#[inline]
pub(super) fn first(bytes: &[u8]) -> Option<(Item<'_>, usize)> {
    if bytes.is_empty() {
        return None;
    }
    let item = packed::item_bytes(bytes);
    Some((packed::first(bytes), item + back_bytes(item)))
}

/// The entry at the end of `bytes`, and how many bytes it takes.
#[inline]
pub(super) fn last(bytes: &[u8]) -> Option<(Item<'_>, usize)> {
    let (mut item, mut shift, mut back) = (0usize, 0, 0);
    for &byte in bytes.iter().rev() {
        item |= usize::from(byte & 0x7f) << shift;
        shift += 7;
        back += 1;
        if byte & 0x80 == 0 {
            break;
        }
    }
    let start = bytes.len().checked_sub(item + back)?;
    first(&bytes[start..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check_read_from_both_ends(text: &[u8]) {
        let entry = Encoded::of(text);
        let mut bytes = vec![0; entry.len()];
        entry.write(&mut bytes);
        let expected = Some((Item::of(text), bytes.len()));
        assert_eq!(first(&bytes), expected);
        assert_eq!(last(&[b"\xff\xff", &*bytes].concat()), expected);
    }

    #[test]
    fn texts_are_read_from_both_ends_at_every_width_of_their_length() {
        for length in [0, 1, 63, 64, 125, 126, 127, 255, 256, 16_380, 16_384, 65_536, 2_100_000] {
            check_read_from_both_ends(&vec![b'x'; length]);
        }
        assert_eq!((first(b""), last(b"")), (None, None));
    }

    proptest! {
        #[test]
        fn any_number_comes_back(number: i64, shift in 0u32..64) {
            check_read_from_both_ends((number >> shift).to_string().as_bytes());
        }
    }
}
