//! Reading the commands of an increment back.
//!
//! Owns the position in the file, and up to where it is sound: the end of the last
//! command that is complete and in no unfinished transaction. A file may end anywhere,
//! for the power may have failed; and where file systems fill what was never written with
//! zeros, an end of nothing but zeros is one too. Anything else that is no command is
//! damage, and is told with its place. Lines that begin with `#` are annotations, which are
//! handed out beside the commands and mean nothing here.

use crate::PersistError;
use crate::disk::{Disk, Source};
use keyward_resp::{ArgRange, Batch};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// What one read takes at least.
const CHUNK_BYTES: usize = 1024 * 1024;
/// Commands in a batch.
const BATCH_COMMANDS: usize = 1024;
/// Bytes of annotations beside a batch, or a line more.
const ANNOTATION_BYTES: usize = 1024 * 1024;
/// The longest line: a count, or an annotation.
const LINE_BYTES_MAX: usize = 1024;
/// The most arguments, and the longest: what a client may send.
const NUMBER_MAX: usize = u32::MAX as usize;

/// Why commands cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file could not be read.
    #[error(transparent)]
    Io(#[from] PersistError),
    /// The file ends within a command or a transaction.
    #[error("{} ends within a command or a transaction; it is sound up to byte {sound}", file.display())]
    Truncated {
        /// The file.
        file: PathBuf,
        /// What comes before is complete.
        sound: u64,
    },
    /// There is something that is no command.
    #[error("{} is damaged at byte {offset}: expected {expected}", file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// Where.
        offset: u64,
        /// What should be there.
        expected: &'static str,
    },
}

/// How a step of the parser ended, if not with a command.
enum Stop {
    /// More bytes are needed, so many at least.
    Short(usize),
    /// At this place of the buffer something else was expected.
    Bad(usize, &'static str),
    /// An annotation comes behind commands, or there are enough of them to be looked at.
    Annotated,
}

/// An increment being read.
pub struct Reader {
    source: Box<dyn Read + Send>,
    path: PathBuf,
    buffer: Vec<u8>,
    /// Where the buffer begins in the file.
    start: u64,
    /// How much of the buffer has been handed out.
    at: usize,
    is_at_end: bool,
    in_transaction: bool,
    sound: u64,
    arguments: Vec<ArgRange>,
    annotations: Vec<u8>,
    /// The last annotation, unless a command came after it.
    last_annotation: Vec<u8>,
}

impl Reader {
    /// Begins to read a file; `path` is for errors.
    pub fn new(source: Source, path: &Path) -> Reader {
        Reader::at(source, path, 0)
    }

    /// Begins to read a file behind so many bytes, which were read otherwise.
    pub fn from(disk: &dyn Disk, path: &Path, offset: u64) -> Result<Reader, PersistError> {
        let mut source = disk.open(path).map_err(PersistError::when("open", path))?;
        let skipped = io::copy(&mut source.content.by_ref().take(offset), &mut io::sink());
        skipped.map_err(PersistError::when("read", path))?;
        Ok(Reader::at(source, path, offset))
    }

    fn at(source: Source, path: &Path, offset: u64) -> Reader {
        Reader {
            source: source.content,
            path: path.into(),
            buffer: Vec::new(),
            start: offset,
            at: 0,
            is_at_end: false,
            in_transaction: false,
            sound: offset,
            arguments: Vec::new(),
            annotations: Vec::new(),
            last_annotation: Vec::new(),
        }
    }

    /// Takes the annotations that were read since the last call, as whole lines. Those of a batch
    /// stand before all of its commands.
    pub fn take_annotations(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.annotations)
    }

    /// The annotation that stands behind all commands read so far, as a whole line; empty if
    /// there is none.
    pub fn last_annotation(&self) -> &[u8] {
        &self.last_annotation
    }

    /// How much was read.
    pub fn offset(&self) -> u64 {
        self.start + self.at as u64
    }

    /// The bytes that a batch is about.
    pub fn buffer(&self) -> &[u8] {
        &self.buffer
    }

    /// Reads some commands into an empty batch; whether there is more. The batch is good
    /// until the next call; it ends before an annotation, and may be empty where there are many.
    pub fn next(&mut self, batch: &mut Batch) -> Result<bool, ReadError> {
        while batch.len() < BATCH_COMMANDS {
            match self.command(batch) {
                Ok(()) => {}
                Err(Stop::Annotated) => break,
                // What is complete comes first.
                Err(_) if !batch.is_empty() => break,
                Err(Stop::Short(0)) if self.is_at_end => return self.end(),
                Err(Stop::Short(_)) if self.is_at_end => return Err(self.truncated()),
                Err(Stop::Short(bytes)) => self.fill(bytes)?,
                Err(Stop::Bad(at, expected)) => return Err(self.damaged(at, expected)?),
            }
        }
        Ok(true)
    }

    fn end(&self) -> Result<bool, ReadError> {
        if self.in_transaction { Err(self.truncated()) } else { Ok(false) }
    }

    fn truncated(&self) -> ReadError {
        ReadError::Truncated { file: self.path.clone(), sound: self.sound }
    }

    fn failed(&self, source: io::Error) -> ReadError {
        PersistError::when("read", &self.path)(source).into()
    }

    /// What is wrong with the file, if this place is.
    fn damaged(&mut self, at: usize, expected: &'static str) -> Result<ReadError, ReadError> {
        let offset = self.start + at as u64;
        let mut is_zero = self.buffer[at..].iter().all(|byte| *byte == 0);
        while is_zero && !self.is_at_end {
            self.at = self.buffer.len();
            self.fill(1)?;
            is_zero = self.buffer.iter().all(|byte| *byte == 0);
        }
        if is_zero {
            return Ok(self.truncated());
        }
        Ok(ReadError::Damaged { file: self.path.clone(), offset, expected })
    }

    /// Reads on, until so many bytes are there that were not handed out, or the file ends.
    fn fill(&mut self, bytes: usize) -> Result<(), ReadError> {
        self.buffer.drain(..self.at);
        self.start += self.at as u64;
        self.at = 0;
        // Twice as much each time: a long command is looked at anew after each read.
        let wanted = bytes.max(self.buffer.len() + self.buffer.len().max(CHUNK_BYTES));
        while self.buffer.len() < wanted && !self.is_at_end {
            // A length is only a claim: memory grows with what is there.
            let room = (wanted - self.buffer.len()).min(CHUNK_BYTES);
            let taken = self.source.by_ref().take(room as u64).read_to_end(&mut self.buffer);
            self.is_at_end = taken.map_err(|error| self.failed(error))? < room;
        }
        Ok(())
    }

    /// Puts the next command into the batch.
    fn command(&mut self, batch: &mut Batch) -> Result<(), Stop> {
        loop {
            match self.buffer.get(self.at) {
                None => return Err(Stop::Short(0)),
                Some(b'*') => break,
                Some(b'#') if !batch.is_empty() => return Err(Stop::Annotated),
                Some(b'#') => self.annotation()?,
                Some(_) => return Err(Stop::Bad(self.at, "a command, which begins with *")),
            }
        }
        let (count, mut at) = self.number(self.at, "a number of arguments")?;
        if count == 0 {
            return Err(Stop::Bad(at, "a command with arguments"));
        }
        self.arguments.clear();
        for _ in 0..count {
            match self.buffer.get(at) {
                None => return Err(Stop::Short(at - self.at + 1)),
                Some(b'$') => {}
                Some(_) => return Err(Stop::Bad(at, "an argument, which begins with $")),
            }
            let (bytes, start) = self.number(at, "a length")?;
            let end = start + bytes;
            match self.buffer.get(end..end + 2) {
                None => return Err(Stop::Short(end + 2 - self.at)),
                Some(b"\r\n") => {}
                Some([b'\r', _]) => return Err(Stop::Bad(end + 1, "the end of an argument")),
                Some(_) => return Err(Stop::Bad(end, "the end of an argument")),
            }
            self.arguments.push(ArgRange { start, len: bytes });
            at = end + 2;
        }
        self.last_annotation.clear();
        self.note_transaction();
        batch.push(&self.arguments);
        self.at = at;
        if !self.in_transaction {
            self.sound = self.start + at as u64;
        }
        Ok(())
    }

    /// Takes an annotation, which is as sound as what stands before it.
    fn annotation(&mut self) -> Result<(), Stop> {
        if self.annotations.len() >= ANNOTATION_BYTES {
            return Err(Stop::Annotated);
        }
        let (_, next) = self.line(self.at)?;
        self.annotations.extend_from_slice(&self.buffer[self.at..next]);
        self.last_annotation.clear();
        self.last_annotation.extend_from_slice(&self.buffer[self.at..next]);
        self.at = next;
        if !self.in_transaction {
            self.sound = self.start + next as u64;
        }
        Ok(())
    }

    /// A line, without its end, and where the next one begins.
    fn line(&self, at: usize) -> Result<(&[u8], usize), Stop> {
        let rest = &self.buffer[at..];
        let head = &rest[..rest.len().min(LINE_BYTES_MAX)];
        match head.iter().position(|byte| *byte == b'\n') {
            Some(length) => Ok((&rest[..length], at + length + 1)),
            None if head.len() < LINE_BYTES_MAX && !head.contains(&0) => {
                Err(Stop::Short(at - self.at + rest.len() + 1))
            }
            None => Err(Stop::Bad(
                at + head.iter().position(|byte| *byte == 0).unwrap_or(0),
                "a line of a reasonable length",
            )),
        }
    }

    /// The number of a line that begins with a mark, and where the next line begins.
    fn number(&self, at: usize, expected: &'static str) -> Result<(usize, usize), Stop> {
        let (line, next) = self.line(at)?;
        let digits = line[1..].strip_suffix(b"\r").unwrap_or(&line[1..]);
        let mut number = 0_usize;
        for digit in digits {
            if !digit.is_ascii_digit() || number > NUMBER_MAX {
                return Err(Stop::Bad(at + 1, expected));
            }
            number = number * 10 + usize::from(digit - b'0');
        }
        if digits.is_empty() || number > NUMBER_MAX {
            return Err(Stop::Bad(at + 1, expected));
        }
        Ok((number, next))
    }

    /// Learns whether the command that was read begins or ends a transaction.
    fn note_transaction(&mut self) {
        if let [name] = self.arguments.as_slice() {
            let name = &self.buffer[name.start..name.start + name.len];
            if name.eq_ignore_ascii_case(b"MULTI") {
                self.in_transaction = true;
            } else if name.eq_ignore_ascii_case(b"EXEC") || name.eq_ignore_ascii_case(b"DISCARD") {
                self.in_transaction = false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The commands of a file, and how it ends.
    fn read(bytes: &[u8]) -> (Vec<String>, Result<(), String>) {
        let source = Source {
            content: Box::new(io::Cursor::new(bytes.to_vec())),
            bytes: bytes.len() as u64,
        };
        let mut reader = Reader::new(source, Path::new("f"));
        let (mut commands, mut batch) = (Vec::new(), Batch::new());
        loop {
            batch.clear();
            match reader.next(&mut batch) {
                Ok(true) => commands.extend(batch.commands(reader.buffer()).map(|command| {
                    let words = command.iter().map(|word| word.escape_ascii().to_string());
                    words.collect::<Vec<_>>().join(" ")
                })),
                Ok(false) => return (commands, Ok(())),
                Err(error) => return (commands, Err(error.to_string())),
            }
        }
    }

    const TWO: &[u8] = b"*1\r\n$4\r\nPING\r\n#TS:17\r\n*2\r\n$3\r\nDEL\r\n$4\r\na\r\nb\r\n";

    #[test]
    fn commands_are_read_and_annotations_are_none() {
        assert_eq!(read(b""), (vec![], Ok(())));
        let expected = vec!["PING".to_owned(), "DEL a\\r\\nb".to_owned()];
        assert_eq!(read(TWO), (expected, Ok(())));
    }

    #[test]
    fn a_file_cut_at_any_byte_is_sound_up_to_a_command_or_an_annotation() {
        for cut in 1..TWO.len() {
            let (commands, outcome) = read(&TWO[..cut]);
            assert_eq!(commands.len(), usize::from(cut >= 14), "{cut}");
            if cut == 14 || cut == 22 {
                assert_eq!(outcome, Ok(()));
                continue;
            }
            let sound = match cut {
                23.. => 22,
                15.. => 14,
                _ => 0,
            };
            let expected =
                format!("f ends within a command or a transaction; it is sound up to byte {sound}");
            assert_eq!(outcome, Err(expected.clone()), "{cut}");
            // Zeros in place of the rest say the same.
            let zeros = [&TWO[..cut], &[0; 50]].concat();
            assert_eq!(read(&zeros).1, Err(expected), "{cut}");
        }
    }

    #[test]
    fn annotations_are_handed_out_however_many_there_are() {
        let line = [&b"#"[..], &[b'x'; 900], b"\r\n"].concat();
        let file = [TWO, &line.repeat(3000), TWO].concat();
        let source = Source { content: Box::new(io::Cursor::new(file)), bytes: 0 };
        let mut reader = Reader::new(source, Path::new("f"));
        let (mut batch, mut commands, mut lines, mut most) = (Batch::new(), 0, Vec::new(), 0);
        while reader.next(&mut batch).unwrap() {
            commands += batch.len();
            let taken = reader.take_annotations();
            most = most.max(taken.len());
            lines.extend(taken);
            batch.clear();
        }
        lines.extend(reader.take_annotations());
        assert_eq!(commands, 4);
        assert_eq!(lines, [b"#TS:17\r\n", &line.repeat(3000)[..], b"#TS:17\r\n"].concat());
        assert!(most <= ANNOTATION_BYTES + LINE_BYTES_MAX, "{most}");
    }

    #[test]
    fn annotations_stand_before_all_commands_of_their_batch() {
        let file = [TWO, b"#a\r\n", TWO, b"#b\r\n"].concat();
        let source = Source { content: Box::new(io::Cursor::new(file)), bytes: 0 };
        let mut reader = Reader::new(source, Path::new("f"));
        let (mut batch, mut seen) = (Batch::new(), Vec::new());
        while reader.next(&mut batch).unwrap() {
            let lines = String::from_utf8(reader.take_annotations()).unwrap();
            seen.push((lines, batch.len()));
            batch.clear();
        }
        let lines = String::from_utf8(reader.take_annotations()).unwrap();
        seen.push((lines, 0));
        let expected =
            [("", 1), ("#TS:17\r\n", 1), ("#a\r\n", 1), ("#TS:17\r\n", 1), ("#b\r\n", 0)];
        assert_eq!(seen, expected.map(|(lines, count)| (lines.to_owned(), count)));
    }

    #[test]
    fn an_unfinished_transaction_counts_as_not_there() {
        let file = [TWO, b"*1\r\n$5\r\nMULTI\r\n", TWO].concat();
        let outcome = read(&file).1.unwrap_err();
        assert!(outcome.ends_with(&format!("byte {}", TWO.len())), "{outcome}");
        let whole = [&file[..], b"*1\r\n$4\r\nexec\r\n"].concat();
        assert_eq!(read(&whole).1, Ok(()));
    }

    #[test]
    fn damage_is_told_with_its_place() {
        let check = |bytes: &[u8], offset: usize, expected: &str| {
            let told = read(&[TWO, bytes, TWO].concat()).1.unwrap_err();
            let place = format!("at byte {}: expected {expected}", TWO.len() + offset);
            assert!(told.contains(&place), "{told}");
        };
        check(b"GET a\r\n", 0, "a command");
        check(b"*x\r\n", 1, "a number of arguments");
        check(b"*1\r\n:5\r\n", 4, "an argument");
        check(b"*1\r\n$-1\r\n", 5, "a length");
        check(b"*1\r\n$3\r\nPING\r\n", 11, "the end of an argument");
        check(b"*1\r\n$99999999999\r\n", 5, "a length");
        check(&[0; 9], 0, "a command");
    }
}
