//! A file written in parts, by several hands and in any order.
//!
//! Rows do not depend on each other, and a database may be begun more than once. So a
//! file is its beginning, then parts, each of one database, then its end, whose checksum
//! is that of all the bytes before it. Only a row that is written in several parts is not
//! to be interrupted by others.

use super::write::begin_row;
use super::{RowHead, Sizes};
use crate::format::opcode;
use crate::output::{FileOptions, Output};
use crate::{Element, Form, crc64};
use std::io;

/// The room that a part has from the start, at most.
const RESERVED_BYTES_MAX: usize = 64 * 1024;

/// Rows of one database, on their way into a file.
#[derive(Debug)]
pub struct Part {
    output: Output<Vec<u8>>,
    database: u64,
    /// What a part begins with.
    head_bytes: u64,
}

impl Part {
    /// A part without rows.
    pub fn new(database: u64, compresses: bool) -> Part {
        let options = FileOptions { compresses, sums: false };
        let mut output = Output::new(Vec::new(), options);
        output.byte(opcode::DATABASE);
        output.length(database);
        Part { head_bytes: output.written(), output, database }
    }

    /// Says how many rows the database has, before any of them.
    pub fn sizes(&mut self, sizes: Sizes) {
        self.output.byte(opcode::SIZES);
        self.output.length(sizes.rows);
        self.output.length(sizes.expiring);
    }

    /// Begins a row; its content is to be written in this form.
    pub fn row(&mut self, head: RowHead<'_>, form: Form) -> io::Result<&mut Output<Vec<u8>>> {
        begin_row(&mut self.output, head, form)?;
        Ok(&mut self.output)
    }

    /// Bytes of it so far; zero if there is nothing in it.
    pub fn bytes(&self) -> usize {
        match self.output.written() {
            written if written == self.head_bytes => 0,
            written => usize::try_from(written).unwrap_or(usize::MAX),
        }
    }

    /// Takes what is there, and begins another part of the same database.
    pub fn take(&mut self) -> io::Result<Vec<u8>> {
        let mut next = Part::new(self.database, self.output.compresses());
        // Parts are about as long as each other where somebody takes them in steps.
        next.output.reserve(self.bytes().min(RESERVED_BYTES_MAX));
        std::mem::replace(self, next).output.into_bytes()
    }
}

/// A fact as a part of its own: what is known of rows when they are written.
pub fn fact(name: &str, value: &[u8]) -> Vec<u8> {
    let mut output = Output::new(Vec::new(), FileOptions { compresses: false, sums: false });
    output.byte(opcode::AUX);
    let texts = [name.as_bytes(), value].map(Element::Bytes);
    let written = texts.into_iter().try_for_each(|text| output.text(text));
    written.and_then(|()| output.into_bytes()).expect("writing to memory succeeds")
}

/// A row of a large collection, on its way into a file in several parts that follow each
/// other. Each ends behind an element.
#[derive(Debug)]
pub struct OpenRow {
    output: Output<Vec<u8>>,
}

impl OpenRow {
    /// Begins a row of a database that has so many elements, in a form that has them one
    /// by one: not a packed one, nor [`Form::List`].
    pub fn begin(
        database: u64,
        head: RowHead<'_>,
        form: Form,
        count: usize,
    ) -> io::Result<OpenRow> {
        let options = FileOptions { compresses: false, sums: false };
        let mut output = Output::new(Vec::new(), options);
        output.byte(opcode::DATABASE);
        output.length(database);
        begin_row(&mut output, head, form)?;
        output.length(count as u64);
        Ok(OpenRow { output })
    }

    /// Where the next element goes.
    pub fn output(&mut self) -> &mut Output<Vec<u8>> {
        &mut self.output
    }

    /// Bytes that are there.
    pub fn bytes(&self) -> usize {
        usize::try_from(self.output.written()).unwrap_or(usize::MAX)
    }

    /// Takes what is there; the row goes on behind it.
    pub fn take(&mut self) -> io::Result<Vec<u8>> {
        let options = FileOptions { compresses: false, sums: false };
        std::mem::replace(&mut self.output, Output::new(Vec::new(), options)).into_bytes()
    }
}

/// The end of a file that was written in parts.
#[derive(Debug, Clone, Copy)]
pub struct Ending {
    sum: Option<u64>,
}

impl Ending {
    /// Of a file without bytes so far; with a checksum or zero in its place.
    pub fn new(sums: bool) -> Ending {
        Ending { sum: sums.then_some(0) }
    }

    /// Adds bytes, in the order in which they are in the file.
    pub fn add(&mut self, bytes: &[u8]) {
        if let Some(sum) = &mut self.sum {
            *sum = crc64::update(*sum, bytes);
        }
    }

    /// The last bytes.
    pub fn end(mut self) -> [u8; 9] {
        let mut end = [0; 9];
        end[0] = opcode::END;
        self.add(&[opcode::END]);
        end[1..].copy_from_slice(&self.sum.unwrap_or(0).to_le_bytes());
        end
    }
}
