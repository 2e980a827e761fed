//! Writing lengths and texts to a sink.
//!
//! Owns a buffer, the checksum over what left it, and the choice of a text's form,
//! which is Redis's: a number that fits 32 bits as a number, a text above 20 bytes
//! compressed if that saves 4.

use crate::format::special;
use crate::{Element, crc64, lzf};
use keyward_resp::number::{parse_i64, push_i64};
use std::io::{self, Write};

/// The buffer goes to the sink when it has grown to this.
const CHUNK_BYTES: usize = 64 * 1024;
/// Shorter texts are not compressed.
const COMPRESSED_BYTES_MIN: usize = 21;
/// What compression must save.
const SAVED_BYTES_MIN: usize = 4;
/// The longest text that may be a number of 32 bits.
const NUMBER_BYTES_MAX: usize = 11;
const SPECIAL: u8 = 0xc0;

/// What is written besides the bare content.
#[derive(Debug, Clone, Copy)]
pub struct FileOptions {
    /// `rdbcompression`: long texts are compressed.
    pub compresses: bool,
    /// `rdbchecksum`: the checksum at the end is a true one, not zero.
    pub sums: bool,
}

/// A sink and what is on its way there.
#[derive(Debug)]
pub struct Output<W> {
    sink: W,
    buffer: Vec<u8>,
    sum: Option<u64>,
    compresses: bool,
    /// Bytes that have gone to the sink.
    sent: u64,
}

impl Output<Vec<u8>> {
    /// Everything that was written, without a sum.
    pub(crate) fn into_bytes(self) -> io::Result<Vec<u8>> {
        // What never left the buffer need not be copied.
        if self.sink.is_empty() { Ok(self.buffer) } else { self.into_sink() }
    }
}

impl<W: Write> Output<W> {
    pub(crate) fn new(sink: W, options: FileOptions) -> Output<W> {
        let FileOptions { compresses, sums } = options;
        Output { sink, buffer: Vec::new(), sum: sums.then_some(0), compresses, sent: 0 }
    }

    pub(crate) fn compresses(&self) -> bool {
        self.compresses
    }

    /// Sends what is left; gives the sink back, without a sum.
    pub(crate) fn into_sink(mut self) -> io::Result<W> {
        self.flush()?;
        Ok(self.sink)
    }

    /// Makes room for so many bytes.
    pub(crate) fn reserve(&mut self, bytes: usize) {
        self.buffer.reserve(bytes);
    }

    /// Bytes written so far.
    pub(crate) fn written(&self) -> u64 {
        self.sent + self.buffer.len() as u64
    }

    /// Sends what is in the buffer, if that is worth it.
    #[inline]
    pub(crate) fn spill(&mut self) -> io::Result<()> {
        if self.buffer.len() >= CHUNK_BYTES { self.flush() } else { Ok(()) }
    }

    /// Sends what is in the buffer.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if let Some(sum) = &mut self.sum {
            *sum = crc64::update(*sum, &self.buffer);
        }
        self.sink.write_all(&self.buffer)?;
        self.sent += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Ends with the sum of everything before it, or zero where none is taken.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        self.flush()?;
        let sum = self.sum.unwrap_or(0);
        self.raw(&sum.to_le_bytes());
        self.flush()?;
        Ok(self.sink)
    }

    pub(crate) fn byte(&mut self, byte: u8) {
        self.buffer.push(byte);
    }

    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    pub(crate) fn length(&mut self, length: u64) {
        match length {
            0..=0x3f => self.byte(length as u8),
            0x40..=0x3fff => self.raw(&(0x4000 | length as u16).to_be_bytes()),
            0x4000..=0xffff_ffff => {
                self.byte(0x80);
                self.raw(&(length as u32).to_be_bytes());
            }
            _ => {
                self.byte(0x81);
                self.raw(&length.to_be_bytes());
            }
        }
    }

    /// A text in the form Redis would choose.
    pub(crate) fn text(&mut self, text: Element<'_>) -> io::Result<()> {
        match text {
            Element::Int(number) => {
                if !self.small_number(number) {
                    let mut digits = Vec::with_capacity(20);
                    push_i64(&mut digits, number);
                    self.plain(&digits);
                }
            }
            Element::Bytes(bytes) => {
                let number = (bytes.len() <= NUMBER_BYTES_MAX).then(|| parse_i64(bytes)).flatten();
                let is_done = number.is_some_and(|number| self.small_number(number))
                    || bytes.len() >= COMPRESSED_BYTES_MIN && self.compressed(bytes);
                if !is_done {
                    self.plain(bytes);
                }
            }
        }
        self.spill()
    }

    /// A text as it is.
    fn plain(&mut self, bytes: &[u8]) {
        self.length(bytes.len() as u64);
        self.raw(bytes);
    }

    /// A number as such, if it is small enough.
    fn small_number(&mut self, number: i64) -> bool {
        if let Ok(number) = i8::try_from(number) {
            self.byte(SPECIAL | special::INT_8);
            self.raw(&number.to_le_bytes());
        } else if let Ok(number) = i16::try_from(number) {
            self.byte(SPECIAL | special::INT_16);
            self.raw(&number.to_le_bytes());
        } else if let Ok(number) = i32::try_from(number) {
            self.byte(SPECIAL | special::INT_32);
            self.raw(&number.to_le_bytes());
        } else {
            return false;
        }
        true
    }

    /// A text compressed, if it is to be and that saves enough.
    fn compressed(&mut self, bytes: &[u8]) -> bool {
        // Places in the text are numbers of 32 bits.
        if !self.compresses || u32::try_from(bytes.len()).is_err() {
            return false;
        }
        let mut short = Vec::new();
        let fits = lzf::compress(bytes, bytes.len() - SAVED_BYTES_MIN, &mut short);
        if fits {
            self.byte(SPECIAL | special::LZF);
            self.length(short.len() as u64);
            self.length(bytes.len() as u64);
            self.raw(&short);
        }
        fits
    }
}
