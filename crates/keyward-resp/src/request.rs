//! The request parser: bytes from a client to commands.
//!
//! Owns the position in a connection's read buffer and the arguments of a command
//! that has only partly arrived. Complete commands go into a [`Batch`], which any
//! number of connections can share, one after the other.
//! Invariants: a byte is looked at once however the input is cut; nothing is copied
//! or allocated per command; memory is bounded by the read buffer (an argument takes
//! at least six bytes there and one [`ArgRange`] here). Limits, tolerance and error
//! texts are those of Redis 7.0: the byte after `\r` and the two bytes after a bulk
//! are not looked at, and a zero byte ends the search for a line's end.
//! Not here: sockets, the size of the read buffer, what commands mean.
//!

use crate::args::{ArgRange, Args};
use crate::inline::split_in_place;
use crate::number::{parse_i64, push_i64};

/// Longest line: a header, or a whole inline command.
pub const LINE_BYTES_MAX: usize = 64 * 1024;
/// Most arguments of a command from a client that has not authenticated.
pub const UNAUTHENTICATED_ARGS_MAX: i64 = 10;
/// Longest argument from a client that has not authenticated.
pub const UNAUTHENTICATED_BULK_BYTES_MAX: i64 = 16_384;
/// Most arguments of any command.
const ARGS_MAX: i64 = i32::MAX as i64;

/// Ranges a batch keeps room for when it is cleared: 1 MiB.
const KEPT_RANGES_MAX: usize = 64 * 1024;
/// Ranges it keeps room for when it is released: 64 KiB.
const RELEASED_RANGES_MAX: usize = 4 * 1024;

/// What a client may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestLimits {
    /// `proto-max-bulk-len`.
    pub bulk_bytes_max: u64,
    /// Commands in a batch before it is to be executed.
    pub batch_commands_max: usize,
    /// Whether the client has authenticated or need not. If not, the limits are
    /// tight and a batch holds one command, because that one may authenticate.
    pub authenticated: bool,
    /// Whether a command may be a line of words, as people type it. A server that is followed
    /// sends none: what looks like one is no command.
    pub inline: bool,
}

impl Default for RequestLimits {
    fn default() -> RequestLimits {
        RequestLimits {
            bulk_bytes_max: 512 * 1024 * 1024,
            batch_commands_max: 1024,
            authenticated: true,
            inline: true,
        }
    }
}

/// Why a connection is to be closed, after the reply `-ERR ` and this text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// The number after `*` is not a number or too large.
    #[error("Protocol error: invalid multibulk length")]
    InvalidMultibulkLength,
    /// More than [`UNAUTHENTICATED_ARGS_MAX`].
    #[error("Protocol error: unauthenticated multibulk length")]
    UnauthenticatedMultibulkLength,
    /// The line that begins with `*` has no end.
    #[error("Protocol error: too big mbulk count string")]
    TooBigMultibulkHeader,
    /// The line that begins with `$` has no end.
    #[error("Protocol error: too big bulk count string")]
    TooBigBulkHeader,
    /// An argument does not begin with `$`.
    #[error("Protocol error: expected '$', got '{}'", char::from(*.0))]
    ExpectedDollar(u8),
    /// The number after `$` is not a number, negative or too large.
    #[error("Protocol error: invalid bulk length")]
    InvalidBulkLength,
    /// More than [`UNAUTHENTICATED_BULK_BYTES_MAX`].
    #[error("Protocol error: unauthenticated bulk length")]
    UnauthenticatedBulkLength,
    /// An inline command has no end.
    #[error("Protocol error: too big inline request")]
    TooBigInlineRequest,
    /// An inline command where there is none.
    #[error("Master using the inline protocol. Desync?")]
    InlineFromPrimary,
    /// An inline command with an open quote, or text right behind a closed one.
    #[error("Protocol error: unbalanced quotes in request")]
    UnbalancedQuotes,
}

/// What [`RequestParser::parse`] stopped at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// The end of the input: read more.
    NeedsInput,
    /// The batch is full: execute it, then parse on.
    BatchFull,
}

/// Complete commands in the order of their arrival.
#[derive(Debug, Default)]
pub struct Batch {
    ranges: Vec<ArgRange>,
    /// For each command, where its ranges end.
    ends: Vec<usize>,
}

impl Batch {
    /// A batch without commands.
    pub fn new() -> Batch {
        Batch::default()
    }

    /// How many commands there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no command.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The command at `index`; `buffer` is the one it was parsed from.
    #[inline]
    pub fn command<'a>(&'a self, index: usize, buffer: &'a [u8]) -> Args<'a> {
        let start = index.checked_sub(1).map_or(0, |previous| self.ends[previous]);
        Args::new(buffer, &self.ranges[start..self.ends[index]])
    }

    /// Where the command at `index` ends in its buffer, the end of its last line included; of an
    /// inline command it is about there.
    pub fn end_of(&self, index: usize) -> usize {
        let last = self.ends[index].checked_sub(1).map(|last| self.ranges[last]);
        last.map_or(0, |last| last.start + last.len + 2)
    }

    /// Adds a command whose arguments are at these places of a buffer.
    pub fn push(&mut self, arguments: &[ArgRange]) {
        self.ranges.extend_from_slice(arguments);
        self.ends.push(self.ranges.len());
    }

    /// All commands; `buffer` is the one they were parsed from.
    pub fn commands<'a>(&'a self, buffer: &'a [u8]) -> impl ExactSizeIterator<Item = Args<'a>> {
        (0..self.len()).map(move |index| self.command(index, buffer))
    }

    /// Forgets the commands, keeps the memory unless it is unusually much.
    #[inline]
    pub fn clear(&mut self) {
        self.ranges.clear();
        if self.ranges.capacity() > KEPT_RANGES_MAX {
            self.ranges.shrink_to(KEPT_RANGES_MAX);
        }
        self.ends.clear();
    }

    /// Gives back what large commands have left; to be called now and then, since the next
    /// large one takes it again.
    pub fn release(&mut self) {
        self.ranges.shrink_to(RELEASED_RANGES_MAX);
    }

    #[inline]
    fn end_command(&mut self) {
        self.ends.push(self.ranges.len());
    }
}

/// Parses what one connection sends. See the module's documentation.
#[derive(Debug, Default)]
pub struct RequestParser {
    /// The next byte to look at.
    position: usize,
    /// Where the command begins that `position` is in.
    command_start: usize,
    /// No line ends between `position` and here.
    searched: usize,
    /// Arguments of the current command still to come; 0 between commands.
    args_left: usize,
    /// The length of the argument at `position`, once its header has been read.
    bulk_len: Option<usize>,
    /// The arguments of a command that an earlier call found unfinished.
    unfinished: Vec<ArgRange>,
}

impl RequestParser {
    /// A parser at the beginning of a connection.
    pub fn new() -> RequestParser {
        RequestParser::default()
    }

    /// Adds the complete commands in `buffer` to `batch`, from where the last call
    /// stopped. After an error the batch still holds the commands before it, which are
    /// to be executed first. An inline command is unquoted in place.
    pub fn parse(
        &mut self,
        buffer: &mut [u8],
        limits: &RequestLimits,
        batch: &mut Batch,
    ) -> Result<Parsed, ProtocolError> {
        let commands_max = if limits.authenticated { limits.batch_commands_max.max(1) } else { 1 };
        while batch.len() < commands_max {
            if self.args_left == 0 {
                self.command_start = self.position;
                let progress = match buffer.get(self.position) {
                    None => return Ok(Parsed::NeedsInput),
                    Some(b'*') => self.parse_count(buffer, limits)?,
                    Some(_) => self.parse_inline(buffer, limits, batch)?,
                };
                match progress {
                    Progress::Stuck => return Ok(Parsed::NeedsInput),
                    Progress::Made => continue,
                }
            }
            // What arrives in one piece goes straight to the batch; an unfinished command
            // grows its own list, however many pieces it comes in.
            let resumed = !self.unfinished.is_empty();
            let batch_start = batch.ranges.len();
            let ranges = if resumed { &mut self.unfinished } else { &mut batch.ranges };
            let mut ranges = std::mem::take(ranges);
            let outcome = self.parse_arguments(buffer, limits, &mut ranges);
            if resumed {
                self.unfinished = ranges;
            } else {
                batch.ranges = ranges;
            }
            match outcome {
                Ok(Progress::Made) => {
                    batch.ranges.append(&mut self.unfinished);
                    batch.end_command();
                }
                Ok(Progress::Stuck) => {
                    self.unfinished.extend(batch.ranges.drain(batch_start..));
                    return Ok(Parsed::NeedsInput);
                }
                Err(error) => {
                    batch.ranges.truncate(batch_start);
                    return Err(error);
                }
            }
        }
        Ok(Parsed::BatchFull)
    }

    /// How many bytes are missing to the end of the argument being received; 0 if that
    /// is not known. Reserving them at once spares a large argument being moved.
    pub fn missing_bytes(&self, buffer: &[u8]) -> usize {
        let end = self.bulk_len.map_or(0, |len| self.position + len + 2);
        end.saturating_sub(buffer.len())
    }

    /// How many bytes of the buffer have been read though their command is not complete.
    pub fn parsed_bytes(&self) -> usize {
        self.position
    }

    /// How many bytes of the buffer belong to complete commands.
    pub fn complete_bytes(&self) -> usize {
        if self.args_left == 0 { self.position } else { self.command_start }
    }

    /// Removes from `buffer` what belongs to complete commands. Their arguments are
    /// gone then: clear the batch first.
    pub fn consume(&mut self, buffer: &mut Vec<u8>) {
        let used = self.complete_bytes();
        if used == 0 {
            return;
        }
        buffer.drain(..used);
        self.position -= used;
        self.searched = self.searched.saturating_sub(used);
        self.command_start = 0;
        for range in &mut self.unfinished {
            range.start -= used;
        }
        if self.unfinished.is_empty() {
            self.unfinished = Vec::new();
        }
    }

    /// Reads `*<count>\r\n`. A count of zero or less is a command without arguments,
    /// which is skipped.
    #[inline]
    fn parse_count(
        &mut self,
        buffer: &[u8],
        limits: &RequestLimits,
    ) -> Result<Progress, ProtocolError> {
        let (count, used) = match short_header(&buffer[self.position..], b'*') {
            Some(found) => found,
            None => {
                let Some(line) = self.header(buffer, ProtocolError::TooBigMultibulkHeader)? else {
                    return Ok(Progress::Stuck);
                };
                let count = parse_i64(&line[1..]).ok_or(ProtocolError::InvalidMultibulkLength)?;
                (count, line.len() + 2)
            }
        };
        if count > ARGS_MAX {
            return Err(ProtocolError::InvalidMultibulkLength);
        }
        if count > UNAUTHENTICATED_ARGS_MAX && !limits.authenticated {
            return Err(ProtocolError::UnauthenticatedMultibulkLength);
        }
        self.position += used;
        self.args_left = usize::try_from(count).unwrap_or(0);
        Ok(Progress::Made)
    }

    /// Reads the arguments that are still to come of the current command.
    fn parse_arguments(
        &mut self,
        buffer: &[u8],
        limits: &RequestLimits,
        ranges: &mut Vec<ArgRange>,
    ) -> Result<Progress, ProtocolError> {
        while self.args_left > 0 {
            let len = match self.bulk_len {
                Some(len) => len,
                None => match self.parse_bulk_len(buffer, limits)? {
                    Some(len) => len,
                    None => return Ok(Progress::Stuck),
                },
            };
            if buffer.len() - self.position < len + 2 {
                self.bulk_len = Some(len);
                return Ok(Progress::Stuck);
            }
            ranges.push(ArgRange { start: self.position, len });
            self.position += len + 2;
            self.bulk_len = None;
            self.args_left -= 1;
        }
        Ok(Progress::Made)
    }

    /// Reads `$<length>\r\n`.
    #[inline]
    fn parse_bulk_len(
        &mut self,
        buffer: &[u8],
        limits: &RequestLimits,
    ) -> Result<Option<usize>, ProtocolError> {
        let (len, used) = match short_header(&buffer[self.position..], b'$') {
            Some(found) => found,
            None => match self.header(buffer, ProtocolError::TooBigBulkHeader)? {
                None => return Ok(None),
                Some(line @ [b'$', digits @ ..]) => {
                    (parse_i64(digits).ok_or(ProtocolError::InvalidBulkLength)?, line.len() + 2)
                }
                Some(_) => return Err(ProtocolError::ExpectedDollar(buffer[self.position])),
            },
        };
        if u64::try_from(len).map_or(true, |len| len > limits.bulk_bytes_max) {
            return Err(ProtocolError::InvalidBulkLength);
        }
        if len > UNAUTHENTICATED_BULK_BYTES_MAX && !limits.authenticated {
            return Err(ProtocolError::UnauthenticatedBulkLength);
        }
        self.position += used;
        usize::try_from(len).map(Some).map_err(|_| ProtocolError::InvalidBulkLength)
    }

    /// The line at `position` without its end, if `\r` and the byte after it are there.
    #[cold]
    fn header<'b>(
        &mut self,
        buffer: &'b [u8],
        too_big: ProtocolError,
    ) -> Result<Option<&'b [u8]>, ProtocolError> {
        let from = self.position.max(self.searched);
        let end = memchr::memchr2(b'\r', 0, &buffer[from..]).map(|at| from + at);
        match end {
            Some(end) if buffer[end] == b'\r' => {
                self.searched = end;
                Ok((end + 1 < buffer.len()).then(|| &buffer[self.position..end]))
            }
            stop => {
                self.searched = stop.unwrap_or(buffer.len());
                let too_long = buffer.len() - self.position > LINE_BYTES_MAX;
                if too_long { Err(too_big) } else { Ok(None) }
            }
        }
    }

    /// Reads a line of words, as people type them into telnet.
    fn parse_inline(
        &mut self,
        buffer: &mut [u8],
        limits: &RequestLimits,
        batch: &mut Batch,
    ) -> Result<Progress, ProtocolError> {
        // An empty line says that somebody is there.
        if !limits.inline && !matches!(buffer[self.position], b'\r' | b'\n') {
            return Err(ProtocolError::InlineFromPrimary);
        }
        let from = self.position.max(self.searched);
        let stop = memchr::memchr2(b'\n', 0, &buffer[from..]).map(|at| from + at);
        let Some(newline) = stop.filter(|&at| buffer[at] == b'\n') else {
            self.searched = stop.unwrap_or(buffer.len());
            if buffer.len() - self.position > LINE_BYTES_MAX {
                return Err(ProtocolError::TooBigInlineRequest);
            }
            return Ok(Progress::Stuck);
        };
        let start = self.position;
        let line = &mut buffer[start..newline];
        let line_len = if line.last() == Some(&b'\r') { line.len() - 1 } else { line.len() };
        let before = batch.ranges.len();
        if !split_in_place(&mut line[..line_len], start, &mut batch.ranges) {
            batch.ranges.truncate(before);
            return Err(ProtocolError::UnbalancedQuotes);
        }
        self.position = newline + 1;
        if batch.ranges.len() > before {
            batch.end_command();
        }
        Ok(Progress::Made)
    }
}

/// The number and the length of a header in the usual form: the mark, one to nine digits,
/// `\r` and one more byte. Anything else is for [`RequestParser::header`] to judge.
#[inline]
fn short_header(input: &[u8], mark: u8) -> Option<(i64, usize)> {
    if *input.first()? != mark {
        return None;
    }
    let mut value = 0;
    for index in 1..=10 {
        let byte = *input.get(index)?;
        let digit = byte.wrapping_sub(b'0');
        if digit <= 9 {
            value = value * 10 + i64::from(digit);
        } else {
            let is_canonical = index == 2 || (index > 2 && input[1] != b'0');
            let is_complete = byte == b'\r' && index + 1 < input.len();
            return (is_canonical && is_complete).then_some((value, index + 2));
        }
    }
    None
}

/// Appends a command as clients send it.
#[inline]
pub fn push_request<T: AsRef<[u8]>>(out: &mut Vec<u8>, args: impl ExactSizeIterator<Item = T>) {
    push_header(out, b'*', args.len());
    for argument in args {
        let argument = argument.as_ref();
        out.reserve(argument.len() + HEADER_BYTES_MAX + 2);
        push_header(out, b'$', argument.len());
        out.extend_from_slice(argument);
        out.extend_from_slice(b"\r\n");
    }
}

/// A header is no longer: its mark, a number, the end of the line.
const HEADER_BYTES_MAX: usize = 23;

/// Appends a header; most are of short texts, and one copy.
#[inline]
fn push_header(out: &mut Vec<u8>, mark: u8, len: usize) {
    let digit = |of: usize| b'0' + (of % 10) as u8;
    match len {
        0..10 => out.extend_from_slice(&[mark, digit(len), b'\r', b'\n']),
        10..100 => out.extend_from_slice(&[mark, digit(len / 10), digit(len), b'\r', b'\n']),
        100..1000 => {
            let digits = [digit(len / 100), digit(len / 10), digit(len)];
            out.extend_from_slice(&[mark, digits[0], digits[1], digits[2], b'\r', b'\n']);
        }
        _ => {
            out.push(mark);
            push_i64(out, len as i64);
            out.extend_from_slice(b"\r\n");
        }
    }
}

/// Whether a step of the parser got to its end.
enum Progress {
    Made,
    Stuck,
}

#[cfg(test)]
mod tests;
