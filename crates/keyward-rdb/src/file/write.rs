//! Writing a file.

use super::{RowHead, Sizes, Usage};
use crate::format::opcode;
use crate::output::{FileOptions, Output};
use crate::{Element, Form, VERSION};
use std::io::{self, Write};

/// A file being written. The order is: facts, libraries, then each database with
/// its rows, then the end.
#[derive(Debug)]
pub struct FileWriter<W> {
    output: Output<W>,
}

impl<W: Write> FileWriter<W> {
    /// Begins a file.
    pub fn new(sink: W, options: FileOptions) -> FileWriter<W> {
        let mut output = Output::new(sink, options);
        output.raw(format!("REDIS{VERSION:04}").as_bytes());
        FileWriter { output }
    }

    /// A fact about the file: who wrote it and when.
    pub fn fact(&mut self, name: &str, value: &(impl AsRef<[u8]> + ?Sized)) -> io::Result<()> {
        self.output.byte(opcode::AUX);
        self.output.text(Element::Bytes(name.as_bytes()))?;
        self.output.text(Element::Bytes(value.as_ref()))
    }

    /// A function library.
    pub fn library(&mut self, source: &[u8]) -> io::Result<()> {
        self.output.byte(opcode::LIBRARY);
        self.output.text(Element::Bytes(source))
    }

    /// Begins a database.
    pub fn database(&mut self, number: u64, sizes: Sizes) -> io::Result<()> {
        self.output.byte(opcode::DATABASE);
        self.output.length(number);
        self.output.byte(opcode::SIZES);
        self.output.length(sizes.rows);
        self.output.length(sizes.expiring);
        self.output.spill()
    }

    /// Begins a row; its content is to be written in this form.
    pub fn row(&mut self, head: RowHead<'_>, form: Form) -> io::Result<&mut Output<W>> {
        begin_row(&mut self.output, head, form)?;
        Ok(&mut self.output)
    }

    /// Bytes written so far.
    pub fn written(&self) -> u64 {
        self.output.written()
    }

    /// Leaves the rest of the file to [`Part`](super::Part) and
    /// [`Ending`](super::Ending); gives the sink back.
    pub fn into_beginning(self) -> io::Result<W> {
        self.output.into_sink()
    }

    /// Ends the file; gives the sink back.
    pub fn finish(mut self) -> io::Result<W> {
        self.output.byte(opcode::END);
        self.output.finish()
    }
}

/// Writes what comes before the content of a row.
pub(super) fn begin_row<W: Write>(
    output: &mut Output<W>,
    head: RowHead<'_>,
    form: Form,
) -> io::Result<()> {
    if let Some(deadline_ms) = head.deadline_ms {
        output.byte(opcode::EXPIRE_MS);
        output.raw(&deadline_ms.to_le_bytes());
    }
    match head.usage {
        Some(Usage::IdleSeconds(seconds)) => {
            output.byte(opcode::IDLE);
            output.length(seconds);
        }
        Some(Usage::Frequency(frequency)) => {
            output.byte(opcode::FREQUENCY);
            output.byte(frequency);
        }
        None => {}
    }
    output.byte(form.kind());
    output.text(Element::Bytes(head.key))
}
