//! Listpacks, the packed form of Redis 7.
//!
//! ```text
//! listpack = all bytes u32 | elements u16, 0xffff for unknown | entry … | 0xff
//! entry    = code | back: bytes of the code, 7 bits a byte, the lowest last
//! code     = 0xxxxxxx                   a number from 0 to 127
//!          | 10xxxxxx text              a text of up to 63 bytes
//!          | 110xxxxx +1 byte           a number of 13 bits
//!          | 1110xxxx +1 byte text      a text of up to 4095 bytes
//!          | 0xf0 +4 bytes text         a text
//!          | 0xf1..=0xf4 +2, 3, 4, 8    a number
//! ```

use super::{Bytes, Damage, Next};
use crate::Element;

const HEAD_BYTES: usize = 6;
/// Bytes of a listpack without elements.
pub(crate) const EMPTY_BYTES: usize = HEAD_BYTES + 1;
const END: u8 = 0xff;
/// The count of a listpack that has more elements than it can say.
const MANY: u16 = u16::MAX;

/// The elements of a listpack.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    bytes: Bytes<'a>,
    /// How many there are to come, where that is told.
    left: Option<u16>,
}

/// The elements of a listpack, each looked at before it is handed over. Behind one that is
/// damaged there is nothing.
pub fn elements(
    listpack: &[u8],
) -> Result<impl Iterator<Item = Result<Element<'_>, &'static str>>, &'static str> {
    let mut reader = Some(Reader::new(listpack)?);
    Ok(std::iter::from_fn(move || {
        let next = reader.as_mut()?.next();
        if !matches!(next, Some(Ok(_))) {
            reader = None;
        }
        next
    }))
}

impl<'a> Reader<'a> {
    pub(crate) fn new(listpack: &'a [u8]) -> Result<Reader<'a>, Damage> {
        let mut bytes = Bytes { rest: listpack };
        let all = u32::from_le_bytes(bytes.array()?);
        let count = u16::from_le_bytes(bytes.array()?);
        if all as usize != listpack.len() {
            return Err("a listpack of another length than it says");
        }
        Ok(Reader { bytes, left: (count != MANY).then_some(count) })
    }

    fn entry(&mut self) -> Result<Option<Element<'a>>, Damage> {
        let start = self.bytes.rest.len();
        let first = self.bytes.byte()?;
        let bytes = &mut self.bytes;
        let element = match first {
            0x00..=0x7f => Element::Int(first.into()),
            0x80..=0xbf => Element::Bytes(bytes.take(usize::from(first & 0x3f))?),
            0xc0..=0xdf => {
                let number = i16::from(first & 0x1f) << 8 | i16::from(bytes.byte()?);
                Element::Int(i64::from(number << 3 >> 3))
            }
            0xe0..=0xef => {
                let length = usize::from(first & 0x0f) << 8 | usize::from(bytes.byte()?);
                Element::Bytes(bytes.take(length)?)
            }
            0xf0 => {
                let length = u32::from_le_bytes(bytes.array()?);
                Element::Bytes(bytes.take(length as usize)?)
            }
            0xf1 => Element::Int(i16::from_le_bytes(bytes.array()?).into()),
            0xf2 => Element::Int(bytes.i24()?),
            0xf3 => Element::Int(i32::from_le_bytes(bytes.array()?).into()),
            0xf4 => Element::Int(i64::from_le_bytes(bytes.array()?)),
            END => return self.end().map(|()| None),
            _ => return Err("an element of an unknown form in a listpack"),
        };
        let code_bytes = start - bytes.rest.len();
        let mut back = [0; BACK_BYTES_MAX];
        let back = write_back(code_bytes, &mut back);
        if bytes.take(back.len())? != back {
            return Err("an element of another length than it says in a listpack");
        }
        self.left = match self.left {
            Some(left) => Some(left.checked_sub(1).ok_or("a listpack of more elements than told")?),
            None => None,
        };
        Ok(Some(element))
    }

    fn end(&self) -> Result<(), Damage> {
        if !self.bytes.rest.is_empty() {
            return Err("bytes behind the end of a listpack");
        }
        if self.left.is_some_and(|left| left > 0) {
            return Err("a listpack of fewer elements than told");
        }
        Ok(())
    }
}

impl<'a> Iterator for Reader<'a> {
    type Item = Result<Element<'a>, Damage>;

    fn next(&mut self) -> Next<'a> {
        self.entry().transpose()
    }
}

const BACK_BYTES_MAX: usize = 5;

/// Bytes of the last field of an entry. The width changes one number earlier than
/// it had to, as in Redis.
fn back_bytes(code_bytes: usize) -> usize {
    match code_bytes {
        0..=127 => 1,
        128..16_383 => 2,
        16_383..2_097_151 => 3,
        2_097_151..268_435_455 => 4,
        _ => 5,
    }
}

/// Fills in the last field of an entry.
fn write_back(code_bytes: usize, room: &mut [u8; BACK_BYTES_MAX]) -> &[u8] {
    let width = back_bytes(code_bytes);
    let mut left = code_bytes;
    for byte in room[..width].iter_mut().rev() {
        *byte = (left & 0x7f) as u8 | 0x80;
        left >>= 7;
    }
    room[0] &= 0x7f;
    &room[..width]
}

/// Bytes that an element takes.
pub(crate) fn entry_bytes(element: Element<'_>) -> usize {
    let code = match element {
        Element::Int(0..=127) => 1,
        Element::Int(-4096..=4095) => 2,
        Element::Int(number) => 1 + number_form(number).1,
        Element::Bytes(text) => match text.len() {
            length @ 0..=63 => 1 + length,
            length @ 64..=4095 => 2 + length,
            length => 5 + length,
        },
    };
    code + back_bytes(code)
}

/// The first byte of a number that needs more than 13 bits, and how many follow.
fn number_form(number: i64) -> (u8, usize) {
    match number {
        -0x8000..=0x7fff => (0xf1, 2),
        -0x80_0000..=0x7f_ffff => (0xf2, 3),
        -0x8000_0000..=0x7fff_ffff => (0xf3, 4),
        _ => (0xf4, 8),
    }
}

/// A listpack being written.
#[derive(Debug)]
pub(crate) struct Writer {
    bytes: Vec<u8>,
    count: usize,
}

impl Writer {
    pub(crate) fn new() -> Writer {
        Writer { bytes: vec![0; HEAD_BYTES], count: 0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Begins anew.
    pub(crate) fn clear(&mut self) {
        self.bytes.truncate(HEAD_BYTES);
        self.count = 0;
    }

    pub(crate) fn push(&mut self, element: Element<'_>) {
        let start = self.bytes.len();
        match element {
            Element::Int(number) => self.push_number(number),
            Element::Bytes(text) => {
                match text.len() {
                    length @ 0..=63 => self.bytes.push(0x80 | length as u8),
                    length @ 64..=4095 => {
                        self.bytes.extend_from_slice(&(0xe000 | length as u16).to_be_bytes());
                    }
                    length => {
                        self.bytes.push(0xf0);
                        self.bytes.extend_from_slice(&(length as u32).to_le_bytes());
                    }
                }
                self.bytes.extend_from_slice(text);
            }
        }
        let mut back = [0; BACK_BYTES_MAX];
        let back = write_back(self.bytes.len() - start, &mut back);
        self.bytes.extend_from_slice(back);
        self.count += 1;
    }

    fn push_number(&mut self, number: i64) {
        match number {
            0..=127 => self.bytes.push(number as u8),
            -4096..=4095 => {
                let code = 0xc000 | number as u16 & 0x1fff;
                self.bytes.extend_from_slice(&code.to_be_bytes());
            }
            _ => {
                let (first, width) = number_form(number);
                self.bytes.push(first);
                self.bytes.extend_from_slice(&number.to_le_bytes()[..width]);
            }
        }
    }

    /// The listpack; it can be cleared and written again.
    pub(crate) fn finish(&mut self) -> &[u8] {
        self.bytes.push(END);
        let all = self.bytes.len() as u32;
        let count = u16::try_from(self.count).unwrap_or(MANY);
        self.bytes[..4].copy_from_slice(&all.to_le_bytes());
        self.bytes[4..HEAD_BYTES].copy_from_slice(&count.to_le_bytes());
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(listpack: &[u8]) -> Result<Vec<Vec<u8>>, Damage> {
        Reader::new(listpack)?.map(|element| element.map(Element::to_vec)).collect()
    }

    #[test]
    fn texts_and_numbers_of_every_form_come_back() {
        let long = [63, 64, 4095, 4096, 16_380, 20_000].map(|length| vec![b'x'; length]);
        let mut writer = Writer::new();
        let mut expected = Vec::new();
        for shift in 0..64 {
            for number in [i64::MAX >> shift, i64::MIN >> shift] {
                let before = writer.bytes.len();
                writer.push(Element::Int(number));
                assert_eq!(writer.bytes.len() - before, entry_bytes(Element::Int(number)));
                expected.push(number.to_string().into_bytes());
            }
        }
        for text in &long {
            let before = writer.bytes.len();
            writer.push(Element::Bytes(text));
            assert_eq!(writer.bytes.len() - before, entry_bytes(Element::Bytes(text)));
            expected.push(text.clone());
        }
        assert_eq!(read(writer.finish()), Ok(expected));
    }

    #[test]
    fn a_listpack_of_redis_is_read_and_written_alike() {
        let bytes = b"\x14\0\0\0\x04\0\x81a\x02\x01\x01\xdf\xff\x02\x83abc\x04\xff";
        assert_eq!(read(bytes).unwrap(), [&b"a"[..], b"1", b"-1", b"abc"]);
        let mut writer = Writer::new();
        let elements =
            [Element::Bytes(b"a"), Element::Int(1), Element::Int(-1), Element::Bytes(b"abc")];
        elements.into_iter().for_each(|element| writer.push(element));
        assert_eq!(writer.finish(), bytes);
    }

    proptest! {
        #[test]
        fn what_is_read_of_damaged_bytes_can_be_written(at in 0usize..20, byte: u8) {
            let mut bytes = *b"\x14\0\0\0\x04\0\x81a\x02\x01\x01\xdf\xff\x02\x83abc\x04\xff";
            bytes[at] = byte;
            prop_assert!(read(&bytes[..at]).is_err(), "the end is missing");
            if let Ok(elements) = read(&bytes) {
                let mut writer = Writer::new();
                elements.iter().for_each(|element| writer.push(Element::Bytes(element)));
                prop_assert_eq!(read(writer.finish()), Ok(elements));
            }
        }
    }
}
