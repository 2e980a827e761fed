//! Reading a file.

use super::{REDIS_VERSION_MAX, RowHead, SUM_VERSION_MIN, Sizes, Usage, VALKEY_VERSIONS};
use crate::decode::Texts;
use crate::decode::skip::{self, Dialect, can_skip, module_name};
use crate::format::{kind, opcode};
use crate::input::{Input, Summed};
use crate::payload::Sum;
use crate::{Build, Error, decode};
use std::io::Read;

/// Something in a file.
#[derive(Debug, PartialEq, Eq)]
pub enum Record<'a> {
    /// A fact about the file.
    Fact(&'a [u8], &'a [u8]),
    /// The source of a function library.
    Library(&'a [u8]),
    /// The rows from here on are in the database of this number.
    Database(u64),
    /// How many rows that database has, so it is said.
    Sizes(Sizes),
    /// A row. Its value has been built.
    Row(RowHead<'a>),
    /// A row with an empty collection, which some old Redis wrote: there is no
    /// such row.
    EmptyRow,
    /// A row of this key whose value is not supported, and what it is. It was read over.
    Unsupported(&'a [u8], String),
}

/// A file being read.
pub struct FileReader<R> {
    input: Input<Summed<R>>,
    version: u32,
    dialect: Dialect,
    sum: Sum,
    key: Vec<u8>,
    texts: Texts,
}

impl<R: Read> FileReader<R> {
    /// Begins to read a file.
    pub fn new(source: R, sum: Sum) -> Result<FileReader<R>, Error> {
        let mut input = Input::new(Summed::new(source));
        let magic = input.array::<9>().map_err(|error| match error {
            Error::Truncated { .. } => Error::NotRdb,
            other => other,
        })?;
        let digits = magic.strip_prefix(b"REDIS").or_else(|| magic.strip_prefix(b"VALKEY"));
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let version = digits.and_then(|digits| digits.parse().ok()).ok_or(Error::NotRdb)?;
        let dialect = if magic[0] == b'R' { Dialect::Redis } else { Dialect::Valkey };
        let is_known = match dialect {
            Dialect::Redis => (1..=REDIS_VERSION_MAX).contains(&version),
            Dialect::Valkey => VALKEY_VERSIONS.contains(&version),
        };
        if !is_known {
            return Err(Error::Version(version));
        }
        Ok(FileReader { input, version, dialect, sum, key: Vec::new(), texts: Texts::default() })
    }

    /// How many bytes have been read.
    pub fn offset(&self) -> u64 {
        self.input.offset
    }

    /// Reads the next entry; `None` at the end. The value of a row goes to `build`
    /// before the answer.
    pub fn next(&mut self, build: &mut impl Build) -> Result<Option<Record<'_>>, Error> {
        let (mut deadline_ms, mut usage) = (None, None);
        let kind = loop {
            let input = &mut self.input;
            match input.byte()? {
                opcode::EXPIRE_S => {
                    deadline_ms = Some(i64::from(i32::from_le_bytes(input.array()?)) * 1000);
                }
                opcode::EXPIRE_MS => deadline_ms = Some(i64::from_le_bytes(input.array()?)),
                opcode::IDLE => usage = Some(Usage::IdleSeconds(input.length()?)),
                opcode::FREQUENCY => usage = Some(Usage::Frequency(input.byte()?)),
                opcode::END => return self.end().map(|()| None),
                opcode::AUX => {
                    input.bytes(&mut self.key)?;
                    input.bytes(&mut self.texts[0])?;
                    return Ok(Some(Record::Fact(&self.key, &self.texts[0])));
                }
                opcode::LIBRARY => {
                    input.bytes(&mut self.texts[0])?;
                    return Ok(Some(Record::Library(&self.texts[0])));
                }
                opcode::DATABASE => return Ok(Some(Record::Database(input.length()?))),
                opcode::SIZES => {
                    let (rows, expiring) = (input.length()?, input.length()?);
                    return Ok(Some(Record::Sizes(Sizes { rows, expiring })));
                }
                opcode::SLOT_INFO => {
                    // Sizes of a slot of a cluster: nothing that needs to be kept.
                    for _ in 0..3 {
                        input.length()?;
                    }
                }
                opcode::MODULE => {
                    let module = module_name(input.length()?);
                    return Err(input.unsupported(format!("data of the module {module}")));
                }
                opcode::LIBRARY_EARLY => {
                    return Err(input.unsupported("a function of Redis 7.0's release candidates"));
                }
                kind => break kind,
            }
        };
        self.input.bytes(&mut self.key)?;
        if can_skip(kind, self.dialect) {
            let what = skip::value(&mut self.input, kind)?;
            return Ok(Some(Record::Unsupported(&self.key, what)));
        }
        let built = match kind {
            ..=kind::LAST => decode::value(&mut self.input, kind, build, &mut self.texts),
            _ => Err(self.input.unsupported(format!("a value of type {kind}"))),
        };
        match built {
            Err(Error::Empty { .. }) => Ok(Some(Record::EmptyRow)),
            Err(Error::Unsupported { what, offset }) => {
                let what = format!("{what}, the key \"{}\"", self.key.escape_ascii()).into();
                Err(Error::Unsupported { what, offset })
            }
            other => {
                other?;
                Ok(Some(Record::Row(RowHead { key: &self.key, deadline_ms, usage })))
            }
        }
    }

    /// Checks the sum at the end. Zero says that none was taken.
    fn end(&mut self) -> Result<(), Error> {
        if self.version < SUM_VERSION_MIN {
            return Ok(());
        }
        let found = self.input.source.sum();
        let told = u64::from_le_bytes(self.input.array()?);
        if self.sum == Sum::Checked && told != 0 && told != found {
            return Err(Error::Checksum { found, told });
        }
        Ok(())
    }
}
