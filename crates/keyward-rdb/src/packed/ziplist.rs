//! Ziplists, the packed form of Redis before 7.
//!
//! ```text
//! ziplist = all bytes u32 | offset of the last u32 | elements u16 | entry … | 0xff
//! entry   = bytes of the entry before: 1 byte, or 0xfe and 4 bytes | code
//! code    = 00xxxxxx text              a text of up to 63 bytes
//!         | 01xxxxxx +1 byte text      a text of up to 16383 bytes
//!         | 0x80 +4 bytes text         a text; its length is big endian, as above
//!         | 0xc0 +2 | 0xd0 +4 | 0xe0 +8 | 0xf0 +3 | 0xfe +1     a number
//!         | 0xf1..=0xfd                a number from 0 to 12
//! ```

use super::{Bytes, Damage, Next};
use crate::Element;

const END: u8 = 0xff;
const WIDE: u8 = 0xfe;
/// The count of a ziplist that has more elements than it can say.
const MANY: u16 = u16::MAX;

/// The elements of a ziplist.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    bytes: Bytes<'a>,
    left: Option<u16>,
    /// Bytes of the entry before.
    before: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(ziplist: &'a [u8]) -> Result<Reader<'a>, Damage> {
        let mut bytes = Bytes { rest: ziplist };
        let all = u32::from_le_bytes(bytes.array()?);
        let _offset_of_last: [u8; 4] = bytes.array()?;
        let count = u16::from_le_bytes(bytes.array()?);
        if all as usize != ziplist.len() {
            return Err("a ziplist of another length than it says");
        }
        Ok(Reader { bytes, left: (count != MANY).then_some(count), before: 0 })
    }

    fn entry(&mut self) -> Result<Option<Element<'a>>, Damage> {
        let start = self.bytes.rest.len();
        let before = match self.bytes.byte()? {
            END => return self.end().map(|()| None),
            WIDE => u32::from_le_bytes(self.bytes.array()?) as usize,
            narrow => usize::from(narrow),
        };
        if before != self.before {
            return Err("an element after one of another length in a ziplist");
        }
        let element = self.element()?;
        self.before = start - self.bytes.rest.len();
        self.left = match self.left {
            Some(left) => Some(left.checked_sub(1).ok_or("a ziplist of more elements than told")?),
            None => None,
        };
        Ok(Some(element))
    }

    fn element(&mut self) -> Result<Element<'a>, Damage> {
        let bytes = &mut self.bytes;
        let first = bytes.byte()?;
        Ok(match first {
            0x00..=0x3f => Element::Bytes(bytes.take(usize::from(first))?),
            0x40..=0x7f => {
                let length = usize::from(first & 0x3f) << 8 | usize::from(bytes.byte()?);
                Element::Bytes(bytes.take(length)?)
            }
            0x80 => {
                let length = u32::from_be_bytes(bytes.array()?);
                Element::Bytes(bytes.take(length as usize)?)
            }
            0xc0 => Element::Int(i16::from_le_bytes(bytes.array()?).into()),
            0xd0 => Element::Int(i32::from_le_bytes(bytes.array()?).into()),
            0xe0 => Element::Int(i64::from_le_bytes(bytes.array()?)),
            0xf0 => Element::Int(bytes.i24()?),
            0xfe => Element::Int(i8::from_le_bytes(bytes.array()?).into()),
            0xf1..=0xfd => Element::Int(i64::from(first - 0xf1)),
            _ => return Err("an element of an unknown form in a ziplist"),
        })
    }

    fn end(&self) -> Result<(), Damage> {
        if !self.bytes.rest.is_empty() {
            return Err("bytes behind the end of a ziplist");
        }
        if self.left.is_some_and(|left| left > 0) {
            return Err("a ziplist of fewer elements than told");
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_numbers_are_read() {
        let bytes = b"\x1d\0\0\0\x17\0\0\0\x05\0\x00\x02hi\x04\xf3\x02\xc0\x00\x01\x04\xfe\xff\x03\xf0\xff\xff\x7f\xff";
        let read: Vec<_> = Reader::new(bytes).unwrap().map(Result::unwrap).collect();
        let numbers = [2, 256, -1, 0x7f_ffff].map(Element::Int);
        assert_eq!(read[0], Element::Bytes(b"hi"));
        assert_eq!(read[1..], numbers);
    }

    #[test]
    fn damage_is_told() {
        let all = |bytes: &'static [u8]| -> Result<Vec<Element<'_>>, Damage> {
            Reader::new(bytes)?.collect()
        };
        assert_eq!(all(b"\x0d\0\0\0\x0a\0\0\0\x01\0\x00\xf3\xff"), Ok(vec![Element::Int(2)]));
        for damaged in [
            &b"\x0d\0\0\0\x0a\0\0\0\x02\0\x00\xf3\xff"[..],
            b"\x0d\0\0\0\x0a\0\0\0\x00\0\x00\xf3\xff",
            b"\x0d\0\0\0\x0a\0\0\0\x01\0\x07\xf3\xff",
            b"\x0d\0\0\0\x0a\0\0\0\x01\0\x00\x05\xff",
            b"\x0d\0\0\0\x0a\0\0\0\x01\0\x00\x85\xff",
            b"\x0c\0\0\0\x0a\0\0\0\x01\0\x00\xf3\xff",
            b"\x0c\0\0\0\x0a\0\0\0\x01\0\x00\xf3",
        ] {
            assert!(all(damaged).is_err(), "{}", damaged.escape_ascii());
        }
    }
}
