//! What DUMP and FUNCTION DUMP answer: values outside of a file.
//!
//! ```text
//! payload = content | version u16 | CRC-64 of all before, 8 bytes
//! content = type | value, or for each library: 0xf5 | source
//! ```

use crate::decode::Texts;
use crate::file::{REDIS_VERSION_MAX, VALKEY_VERSIONS};
use crate::format::opcode;
use crate::input::Input;
use crate::output::{FileOptions, Output};
use crate::{Build, Element, Error, Form, VERSION, crc64, decode};
use std::io;

const SUM_BYTES: usize = 8;
const VERSION_BYTES: usize = 2;

/// Whether the checksum of a payload is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sum {
    /// It must be right.
    Checked,
    /// It may be anything.
    Ignored,
}

/// The payload of a value, whose content `write` writes in this form.
pub fn write_payload(
    form: Form,
    compresses: bool,
    write: impl FnOnce(&mut Output<Vec<u8>>) -> io::Result<()>,
) -> Vec<u8> {
    in_memory(compresses, |output| {
        output.byte(form.kind());
        write(output)
    })
}

/// The payload of these function libraries.
pub fn write_libraries<'a>(sources: impl Iterator<Item = &'a [u8]>, compresses: bool) -> Vec<u8> {
    in_memory(compresses, |output| {
        for source in sources {
            output.byte(opcode::LIBRARY);
            output.text(Element::Bytes(source))?;
        }
        Ok(())
    })
}

fn in_memory(
    compresses: bool,
    write: impl FnOnce(&mut Output<Vec<u8>>) -> io::Result<()>,
) -> Vec<u8> {
    let mut output = Output::new(Vec::new(), FileOptions { compresses, sums: true });
    let payload = write(&mut output).and_then(|()| {
        output.raw(&VERSION.to_le_bytes());
        output.finish()
    });
    payload.expect("writing to memory does not fail")
}

/// The content of a payload, if it is one.
fn open(payload: &[u8], sum: Sum) -> Result<&[u8], Error> {
    let (content, told) = payload.split_last_chunk::<SUM_BYTES>().ok_or(Error::NotRdb)?;
    let (inner, version) = content.split_last_chunk::<VERSION_BYTES>().ok_or(Error::NotRdb)?;
    let version = u32::from(u16::from_le_bytes(*version));
    if version > REDIS_VERSION_MAX && !VALKEY_VERSIONS.contains(&version) {
        return Err(Error::Version(version));
    }
    let (found, told) = (crc64::update(0, content), u64::from_le_bytes(*told));
    if sum == Sum::Checked && found != told {
        return Err(Error::Checksum { found, told });
    }
    Ok(inner)
}

/// Reads the value of a payload.
pub fn read_payload(payload: &[u8], sum: Sum, build: &mut impl Build) -> Result<(), Error> {
    let mut input = Input::new(open(payload, sum)?);
    let kind = input.byte()?;
    decode::value(&mut input, kind, build, &mut Texts::default())?;
    if !input.source.is_empty() {
        return Err(input.malformed("bytes behind a value"));
    }
    Ok(())
}

/// The sources of the libraries in a payload.
pub fn read_libraries(payload: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
    let mut input = Input::new(open(payload, Sum::Checked)?);
    let mut sources = Vec::new();
    while let Some(opcode) = input.byte_or_end()? {
        if opcode != opcode::LIBRARY {
            return Err(input.unsupported("something that is no library"));
        }
        let mut source = Vec::new();
        input.bytes(&mut source)?;
        sources.push(source);
    }
    Ok(sources)
}

#[cfg(test)]
mod tests;
