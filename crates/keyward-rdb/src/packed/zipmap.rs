//! Zipmaps, the packed form of hashes before Redis 2.6.
//!
//! ```text
//! zipmap = fields u8, 254 and more for unknown | field … | 0xff
//! field  = length | name | length | unused bytes u8 | value | unused bytes
//! length = 1 byte up to 253, or 0xfe and 4 bytes
//! ```

use super::{Bytes, Damage, Next};
use crate::Element;

const END: u8 = 0xff;
const WIDE: u8 = 0xfe;

/// The fields and values of a zipmap in turn.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    bytes: Bytes<'a>,
    /// The value of the field that was read last is next.
    is_value_next: bool,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(zipmap: &'a [u8]) -> Result<Reader<'a>, Damage> {
        let mut bytes = Bytes { rest: zipmap };
        bytes.byte()?;
        Ok(Reader { bytes, is_value_next: false })
    }

    fn length(&mut self) -> Result<Option<usize>, Damage> {
        Ok(match self.bytes.byte()? {
            END => None,
            WIDE => Some(u32::from_le_bytes(self.bytes.array()?) as usize),
            narrow => Some(usize::from(narrow)),
        })
    }

    fn text(&mut self) -> Result<Option<Element<'a>>, Damage> {
        let length = self.length()?;
        let text = match (self.is_value_next, length) {
            (false, Some(length)) => self.bytes.take(length)?,
            (true, Some(length)) => {
                let unused = self.bytes.byte()?;
                let text = self.bytes.take(length)?;
                self.bytes.take(usize::from(unused))?;
                text
            }
            (false, None) if self.bytes.rest.is_empty() => return Ok(None),
            (false, None) => return Err("bytes behind the end of a zipmap"),
            (true, None) => return Err("a field without a value in a zipmap"),
        };
        self.is_value_next = !self.is_value_next;
        Ok(Some(Element::Bytes(text)))
    }
}

impl<'a> Iterator for Reader<'a> {
    type Item = Result<Element<'a>, Damage>;

    fn next(&mut self) -> Next<'a> {
        self.text().transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_and_values_are_read_and_damage_is_told() {
        let read = |bytes: &'static [u8]| -> Result<Vec<Element<'_>>, Damage> {
            Reader::new(bytes)?.collect()
        };
        let texts = [&b"foo"[..], b"bar", b"hello", b"world"].map(Element::Bytes);
        assert_eq!(read(b"\x02\x03foo\x03\x02bar..\x05hello\x05\0world\xff").unwrap(), texts);
        for damaged in
            [&b""[..], b"\x01", b"\x01\x03foo\xff", b"\x01\x03foo\x03\x05bar\xff", b"\0\xff\xff"]
        {
            assert!(read(damaged).is_err(), "{}", damaged.escape_ascii());
        }
    }
}
