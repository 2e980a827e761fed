//! Reading lengths and texts from a source.
//!
//! Owns the position and the lazy checksum. A length is only a claim: bytes are
//! taken as they come, and memory grows with them.

use crate::format::special;
use crate::{Element, Error, crc64, lzf};
use std::borrow::Cow;
use std::io::{self, BufRead, Read};

/// The longest text: the limit of a row.
const TEXT_BYTES_MAX: u64 = u32::MAX as u64;

/// A length, or the form of a text.
enum Length {
    Plain(u64),
    Special(u8),
}

/// A source with the position in it.
pub(crate) struct Input<R> {
    pub(crate) source: R,
    pub(crate) offset: u64,
    /// A compressed text on its way.
    compressed: Vec<u8>,
}

impl<R: BufRead> Input<R> {
    pub(crate) fn new(source: R) -> Input<R> {
        Input { source, offset: 0, compressed: Vec::new() }
    }

    pub(crate) fn malformed(&self, what: &'static str) -> Error {
        Error::Malformed { offset: self.offset, what }
    }

    pub(crate) fn unsupported(&self, what: impl Into<Cow<'static, str>>) -> Error {
        Error::Unsupported { offset: self.offset, what: what.into() }
    }

    /// The next byte, if there is one.
    pub(crate) fn byte_or_end(&mut self) -> Result<Option<u8>, Error> {
        let byte = self.source.fill_buf()?.first().copied();
        if byte.is_some() {
            self.source.consume(1);
            self.offset += 1;
        }
        Ok(byte)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Error> {
        self.byte_or_end()?.ok_or(Error::Truncated { offset: self.offset })
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let available = self.source.fill_buf()?;
        if let Some(array) = available.first_chunk::<N>() {
            let array = *array;
            self.source.consume(N);
            self.offset += N as u64;
            return Ok(array);
        }
        let mut array = [0; N];
        for byte in &mut array {
            *byte = self.byte()?;
        }
        Ok(array)
    }

    /// Appends this many bytes.
    fn append(&mut self, mut count: u64, out: &mut Vec<u8>) -> Result<(), Error> {
        while count > 0 {
            let available = self.source.fill_buf()?;
            if available.is_empty() {
                return Err(Error::Truncated { offset: self.offset });
            }
            let taken = available.len().min(usize::try_from(count).unwrap_or(usize::MAX));
            out.extend_from_slice(&available[..taken]);
            self.source.consume(taken);
            self.offset += taken as u64;
            count -= taken as u64;
        }
        Ok(())
    }

    fn length_or_special(&mut self) -> Result<Length, Error> {
        let first = self.byte()?;
        Ok(Length::Plain(match first >> 6 {
            0 => u64::from(first),
            1 => u64::from(first & 0x3f) << 8 | u64::from(self.byte()?),
            2 if first == 0x80 => u64::from(u32::from_be_bytes(self.array()?)),
            2 if first == 0x81 => u64::from_be_bytes(self.array()?),
            2 => return Err(self.malformed("a length of an unknown form")),
            _ => return Ok(Length::Special(first & 0x3f)),
        }))
    }

    /// A length or a count.
    pub(crate) fn length(&mut self) -> Result<u64, Error> {
        match self.length_or_special()? {
            Length::Plain(length) => Ok(length),
            Length::Special(_) => Err(self.malformed("a text where a length belongs")),
        }
    }

    fn text_length(&mut self) -> Result<u64, Error> {
        let length = self.length()?;
        self.check_text(length)
    }

    fn check_text(&self, length: u64) -> Result<u64, Error> {
        if length > TEXT_BYTES_MAX {
            return Err(self.malformed("a text longer than any"));
        }
        Ok(length)
    }

    /// A text; its bytes are put into `buffer`.
    pub(crate) fn text<'b>(&mut self, buffer: &'b mut Vec<u8>) -> Result<Element<'b>, Error> {
        buffer.clear();
        let form = match self.length_or_special()? {
            Length::Plain(length) => {
                let length = self.check_text(length)?;
                self.append(length, buffer)?;
                return Ok(Element::Bytes(buffer));
            }
            Length::Special(form) => form,
        };
        Ok(Element::Int(match form {
            special::INT_8 => i64::from(i8::from_le_bytes(self.array()?)),
            special::INT_16 => i64::from(i16::from_le_bytes(self.array()?)),
            special::INT_32 => i64::from(i32::from_le_bytes(self.array()?)),
            special::LZF => {
                let (compressed, length) = (self.text_length()?, self.text_length()?);
                let mut bytes = std::mem::take(&mut self.compressed);
                bytes.clear();
                self.append(compressed, &mut bytes)?;
                let whole = lzf::decompress(&bytes, length as usize, buffer);
                self.compressed = bytes;
                whole.ok_or_else(|| self.malformed("a text that was compressed wrongly"))?;
                return Ok(Element::Bytes(buffer));
            }
            _ => return Err(self.malformed("a text of an unknown form")),
        }))
    }

    /// A text written out.
    pub(crate) fn bytes(&mut self, buffer: &mut Vec<u8>) -> Result<(), Error> {
        if let Element::Int(number) = self.text(buffer)? {
            buffer.clear();
            Element::Int(number).push_to(buffer);
        }
        Ok(())
    }
}

/// What one read of the source takes at most.
const CHUNK_BYTES: usize = 64 * 1024;

/// A source whose checksum is taken on the way, a chunk at a time.
pub(crate) struct Summed<R> {
    source: R,
    chunk: Vec<u8>,
    /// Bytes of the chunk that were consumed.
    at: usize,
    /// Bytes of the chunk that are in the sum.
    summed: usize,
    sum: u64,
}

impl<R: Read> Summed<R> {
    pub(crate) fn new(source: R) -> Summed<R> {
        Summed { source, chunk: Vec::new(), at: 0, summed: 0, sum: 0 }
    }

    /// The sum over everything that was consumed.
    pub(crate) fn sum(&mut self) -> u64 {
        self.sum = crc64::update(self.sum, &self.chunk[self.summed..self.at]);
        self.summed = self.at;
        self.sum
    }
}

impl<R: Read> Read for Summed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}

impl<R: Read> BufRead for Summed<R> {
    #[inline]
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.at == self.chunk.len() {
            self.sum();
            self.chunk.resize(CHUNK_BYTES, 0);
            let count = loop {
                match self.source.read(&mut self.chunk) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => {
                        self.chunk.truncate(self.at);
                        return Err(error);
                    }
                    Ok(count) => break count,
                }
            };
            self.chunk.truncate(count);
            (self.at, self.summed) = (0, 0);
        }
        Ok(&self.chunk[self.at..])
    }

    #[inline]
    fn consume(&mut self, count: usize) {
        self.at += count;
    }
}
