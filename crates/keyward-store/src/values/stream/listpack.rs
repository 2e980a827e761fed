//! Listpacks: texts and numbers one behind the other, readable from both ends.
//!
//! Owns reading and writing single elements. The layout is Redis's own, byte for byte, so
//! that a node goes into a file or a payload as it is. Elements are also read where nothing
//! but their codes is there (`stripped`).
//!
//! ```text
//! listpack = all bytes u32 | elements u16, 0xffff for many | element … | 0xff
//! element  = code | back: bytes of the code, 7 bits a byte, the lowest last
//! code     = 0xxxxxxx                   a number from 0 to 127
//!          | 10xxxxxx text              a text of up to 63 bytes
//!          | 110xxxxx +1 byte           a number of 13 bits
//!          | 1110xxxx +1 byte text      a text of up to 4095 bytes
//!          | 0xf0 +4 bytes text         a text
//!          | 0xf1..=0xf4 +2, 3, 4, 8    a number
//! ```
//!
//! Invariant: what is read here was written here, or checked when it was loaded
//! (`Node::checked`): whatever is read lies within the bytes.

use crate::values::packed::Item;

/// Bytes before the first element.
pub(super) const HEAD_BYTES: usize = 6;
/// The largest number that is an element's only byte.
pub(super) const BYTE_MAX: u8 = 0x7f;
/// The last byte.
pub(super) const END: u8 = 0xff;
/// The count of a listpack that has more elements than it can say.
const MANY: u16 = u16::MAX;
const BACK_BYTES_MAX: usize = 5;

/// Elements one behind the other, of a listpack or of a stripped node, whose elements are
/// codes alone.
#[derive(Debug, Clone, Copy)]
pub(super) struct Codes<'a> {
    pub(super) bytes: &'a [u8],
    /// One if a listpack's other parts are there, zero if not. A number, so that reading
    /// adds it up and asks nothing.
    wholes: usize,
}

impl<'a> Codes<'a> {
    /// Those of a listpack.
    #[inline]
    pub(super) fn whole(listpack: &'a [u8]) -> Codes<'a> {
        Codes { bytes: listpack, wholes: 1 }
    }

    /// Those of a stripped node.
    #[inline]
    pub(super) fn stripped(codes: &'a [u8]) -> Codes<'a> {
        Codes { bytes: codes, wholes: 0 }
    }

    /// Whether only codes are there.
    #[inline]
    pub(super) fn is_stripped(self) -> bool {
        self.wholes == 0
    }

    /// Where the first one is.
    #[inline]
    pub(super) fn start(self) -> usize {
        HEAD_BYTES * self.wholes
    }

    /// Behind the last one.
    #[inline]
    pub(super) fn end(self) -> usize {
        self.bytes.len() - self.wholes
    }

    /// How many there are that say how many stand before them, of an entry: one, or none if
    /// the node is stripped.
    #[inline]
    pub(super) fn per_entry(self) -> usize {
        self.wholes
    }

    /// The element at a place, and where the next one is.
    #[inline(always)]
    pub(super) fn read(self, at: usize) -> (Item<'a>, usize) {
        let Codes { bytes, wholes } = self;
        let first = bytes[at];
        match first {
            0x00..=0x7f => (Item::Int(i64::from(first)), at + 1 + wholes),
            0x80..=0xbf => {
                let end = at + 1 + usize::from(first & 0x3f);
                (Item::Bytes(&bytes[at + 1..end]), end + wholes)
            }
            0xc0..=0xdf => {
                let number = u16::from_be_bytes([first << 3, 0]) | u16::from(bytes[at + 1]) << 3;
                (Item::Int(i64::from(number.cast_signed() >> 3)), at + 2 + wholes)
            }
            _ => self.read_long(at),
        }
    }

    fn read_long(self, at: usize) -> (Item<'a>, usize) {
        let Codes { bytes, wholes } = self;
        let text = |start: usize, length: usize| {
            let end = start + length;
            (Item::Bytes(&bytes[start..end]), end + wholes * back_bytes(end - at))
        };
        let number = |width: usize| {
            let mut wide = [0; 8];
            wide[8 - width..].copy_from_slice(&bytes[at + 1..at + 1 + width]);
            // Shifting back down repeats the sign.
            (Item::Int(i64::from_le_bytes(wide) >> (64 - 8 * width)), at + 1 + width + wholes)
        };
        match bytes[at] {
            first @ 0xe0..=0xef => {
                text(at + 2, usize::from(first & 0x0f) << 8 | usize::from(bytes[at + 1]))
            }
            0xf0 => {
                let length = bytes[at + 1..].first_chunk().expect("a length is whole");
                text(at + 5, u32::from_le_bytes(*length) as usize)
            }
            0xf1 => number(2),
            0xf2 => number(3),
            0xf3 => number(4),
            _ => number(8),
        }
    }

    /// Where the element behind the one at a place is.
    #[inline(always)]
    pub(super) fn skip(self, at: usize) -> usize {
        match self.bytes[at] {
            0x00..=0x7f => at + 1 + self.wholes,
            first @ 0x80..=0xbf => at + 1 + usize::from(first & 0x3f) + self.wholes,
            0xc0..=0xdf => at + 2 + self.wholes,
            _ => self.read_long(at).1,
        }
    }

    /// Where the element behind so many from a place on is.
    #[inline]
    pub(super) fn skip_many(self, mut at: usize, count: usize) -> usize {
        for _ in 0..count {
            at = self.skip(at);
        }
        at
    }

    /// The number at a place, and where the next element is.
    #[inline(always)]
    pub(super) fn number(self, at: usize) -> (i64, usize) {
        match self.read(at) {
            (Item::Int(number), next) => (number, next),
            (Item::Bytes(_), _) => unreachable!("nodes are checked when they are loaded"),
        }
    }

    /// Appends so many elements from a place on, without what stands behind their codes;
    /// returns where the next one is.
    pub(super) fn strip_to(self, out: &mut Vec<u8>, mut at: usize, count: usize) -> usize {
        for _ in 0..count {
            let end = Codes { wholes: 0, ..self }.skip(at);
            out.extend_from_slice(&self.bytes[at..end]);
            at = end + self.wholes * back_bytes(end - at);
        }
        at
    }

    /// Appends so many elements from a place on as a listpack has them; returns where the
    /// next one is.
    pub(super) fn complete_to(self, out: &mut Vec<u8>, mut at: usize, count: usize) -> usize {
        for _ in 0..count {
            let end = Codes { wholes: 0, ..self }.skip(at);
            out.extend_from_slice(&self.bytes[at..end]);
            push_back(out, end - at);
            at = end + self.wholes * back_bytes(end - at);
        }
        at
    }
}

/// Where the element before a place of a listpack begins.
#[inline]
pub(super) fn back(bytes: &[u8], end: usize) -> usize {
    let (mut at, mut length, mut shift) = (end, 0, 0);
    loop {
        at -= 1;
        length |= usize::from(bytes[at] & 0x7f) << shift;
        if bytes[at] & 0x80 == 0 {
            return at - length;
        }
        shift += 7;
    }
}

/// Bytes of the last part of an element. The width changes one number earlier than it had
/// to, as in Redis.
#[inline]
fn back_bytes(code_bytes: usize) -> usize {
    match code_bytes {
        0..=127 => 1,
        128..16_383 => 2,
        16_383..2_097_151 => 3,
        2_097_151..268_435_455 => 4,
        _ => 5,
    }
}

/// Appends an element.
#[inline]
pub(super) fn push(out: &mut Vec<u8>, item: Item<'_>) {
    match item {
        Item::Int(number) => push_number(out, number),
        Item::Bytes(text) => {
            let start = out.len();
            match text.len() {
                length @ 0..=63 => {
                    out.push(0x80 | length as u8);
                }
                length @ 64..=4095 => {
                    out.extend_from_slice(&(0xe000 | length as u16).to_be_bytes());
                }
                length => {
                    let length = u32::try_from(length).expect("a text has at most 4 GB");
                    out.push(0xf0);
                    out.extend_from_slice(&length.to_le_bytes());
                }
            }
            out.extend_from_slice(text);
            push_back(out, out.len() - start);
        }
    }
}

/// Appends a number.
#[inline]
pub(super) fn push_number(out: &mut Vec<u8>, number: i64) {
    let (code, length) = number_code(number);
    out.extend_from_slice(&code[..length]);
}

/// The most bytes of a number.
pub(super) const NUMBER_BYTES_MAX: usize = 10;

/// A number as an element, and how many of the bytes it has.
#[inline]
pub(super) fn number_code(number: i64) -> ([u8; NUMBER_BYTES_MAX], usize) {
    let mut code = [0; NUMBER_BYTES_MAX];
    let (head, width): (&[u8], usize) = match number {
        0..=127 => (&[number as u8], 0),
        -4096..=4095 => (&(0xc000 | number as u16 & 0x1fff).to_be_bytes(), 0),
        -0x8000..=0x7fff => (&[0xf1], 2),
        -0x80_0000..=0x7f_ffff => (&[0xf2], 3),
        -0x8000_0000..=0x7fff_ffff => (&[0xf3], 4),
        _ => (&[0xf4], 8),
    };
    code[..head.len()].copy_from_slice(head);
    let end = head.len() + width;
    code[head.len()..end].copy_from_slice(&number.to_le_bytes()[..width]);
    code[end] = end as u8;
    (code, end + 1)
}

#[inline]
fn push_back(out: &mut Vec<u8>, code_bytes: usize) {
    if back_bytes(code_bytes) == 1 {
        return out.push(code_bytes as u8);
    }
    let mut room = [0; BACK_BYTES_MAX];
    let width = back_bytes(code_bytes);
    let mut left = code_bytes;
    for byte in room[..width].iter_mut().rev() {
        *byte = (left & 0x7f) as u8 | 0x80;
        left >>= 7;
    }
    room[0] &= 0x7f;
    out.extend_from_slice(&room[..width]);
}

/// The head of a listpack of so many bytes and elements.
pub(super) fn head(bytes: usize, elements: Option<usize>) -> [u8; HEAD_BYTES] {
    let all = u32::try_from(bytes).expect("a node has at most 1 GB").to_le_bytes();
    let elements = elements.and_then(|count| u16::try_from(count).ok()).unwrap_or(MANY);
    let [low, high] = elements.to_le_bytes();
    [all[0], all[1], all[2], all[3], low, high]
}

/// How many elements a listpack says it has.
pub(super) fn elements(bytes: &[u8]) -> Option<usize> {
    let count = u16::from_le_bytes([bytes[4], bytes[5]]);
    (count != MANY).then_some(usize::from(count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A listpack's elements, forwards and backwards.
    fn both_ways(bytes: &[u8]) -> [Vec<Vec<u8>>; 2] {
        let owned = |item: Item<'_>| item.text().as_bytes().to_vec();
        let codes = Codes::whole(bytes);
        let (mut forward, mut at) = (Vec::new(), 0);
        while at < bytes.len() {
            let (item, next) = codes.read(at);
            assert_eq!(codes.skip(at), next);
            forward.push(owned(item));
            at = next;
        }
        let (mut backward, mut end) = (Vec::new(), bytes.len());
        while end > 0 {
            end = back(bytes, end);
            backward.push(owned(codes.read(end).0));
        }
        backward.reverse();
        [forward, backward]
    }

    #[test]
    fn elements_of_every_length_are_read_from_both_ends() {
        let texts = [0, 1, 63, 64, 125, 126, 127, 4095, 4096, 16_377, 16_378, 16_379, 2_100_000];
        let texts: Vec<Vec<u8>> = texts.iter().map(|length| vec![b'x'; *length]).collect();
        let numbers = (0..64).flat_map(|shift| [i64::MAX >> shift, i64::MIN >> shift]);
        let mut out = Vec::new();
        let mut expected = texts.clone();
        texts.iter().for_each(|text| push(&mut out, Item::Bytes(text)));
        for number in numbers {
            push(&mut out, Item::Int(number));
            expected.push(number.to_string().into_bytes());
        }
        let [forward, backward] = both_ways(&out);
        assert!(forward == expected && backward == expected);
        check_stripped(&out, &expected);
    }

    /// Elements that are stripped are read alike, and are what they were when completed.
    fn check_stripped(bytes: &[u8], expected: &[Vec<u8>]) {
        let (mut stripped, mut completed) = (Vec::new(), Vec::new());
        assert_eq!(Codes::whole(bytes).strip_to(&mut stripped, 0, expected.len()), bytes.len());
        let codes = Codes::stripped(&stripped);
        let mut at = 0;
        for text in expected {
            let (item, next) = codes.read(at);
            assert_eq!(item.text().as_bytes(), text);
            assert_eq!(codes.skip(at), next);
            at = next;
        }
        assert_eq!(at, stripped.len());
        assert_eq!(codes.complete_to(&mut completed, 0, expected.len()), at);
        assert!(completed == bytes);
    }

    proptest! {
        #[test]
        fn any_elements_come_back(
            texts in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..200), 0..30),
        ) {
            let mut out = Vec::new();
            texts.iter().for_each(|text| push(&mut out, Item::of(text)));
            let [forward, backward] = both_ways(&out);
            prop_assert_eq!(&forward, &texts);
            prop_assert_eq!(&backward, &texts);
            check_stripped(&out, &texts);
        }
    }
}
