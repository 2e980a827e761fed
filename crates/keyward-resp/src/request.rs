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
}

impl Default for RequestLimits {
    fn default() -> RequestLimits {
        RequestLimits {
            bulk_bytes_max: 512 * 1024 * 1024,
            batch_commands_max: 1024,
            authenticated: true,
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

    /// All commands; `buffer` is the one they were parsed from.
    pub fn commands<'a>(&'a self, buffer: &'a [u8]) -> impl ExactSizeIterator<Item = Args<'a>> {
        (0..self.len()).map(move |index| self.command(index, buffer))
    }

    /// Forgets the commands, keeps the memory.
    #[inline]
    pub fn clear(&mut self) {
        self.ranges.clear();
        self.ends.clear();
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
                    Some(_) => self.parse_inline(buffer, batch)?,
                };
                match progress {
                    Progress::Stuck => return Ok(Parsed::NeedsInput),
                    Progress::Made => continue,
                }
            }
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

    /// Removes from `buffer` what belongs to complete commands. Their arguments are
    /// gone then: clear the batch first.
    pub fn consume(&mut self, buffer: &mut Vec<u8>) {
        let used = if self.args_left == 0 { self.position } else { self.command_start };
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
        batch: &mut Batch,
    ) -> Result<Progress, ProtocolError> {
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
pub fn push_request<T: AsRef<[u8]>>(out: &mut Vec<u8>, args: impl ExactSizeIterator<Item = T>) {
    push_header(out, b'*', args.len());
    for argument in args {
        push_header(out, b'$', argument.as_ref().len());
        out.extend_from_slice(argument.as_ref());
        out.extend_from_slice(b"\r\n");
    }
}

fn push_header(out: &mut Vec<u8>, mark: u8, len: usize) {
    out.push(mark);
    push_i64(out, len as i64);
    out.extend_from_slice(b"\r\n");
}

/// Whether a step of the parser got to its end.
enum Progress {
    Made,
    Stuck,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Commands = Vec<Vec<Vec<u8>>>;

    const UNAUTHENTICATED: RequestLimits = RequestLimits {
        bulk_bytes_max: 512 * 1024 * 1024,
        batch_commands_max: 1024,
        authenticated: false,
    };

    /// Feeds `pieces` one by one, consuming after each, and collects the commands.
    fn parse_pieces<'a>(
        pieces: impl IntoIterator<Item = &'a [u8]>,
        limits: &RequestLimits,
    ) -> (Commands, Option<ProtocolError>) {
        let (mut parser, mut batch) = (RequestParser::new(), Batch::new());
        let (mut buffer, mut commands) = (Vec::new(), Commands::new());
        for piece in pieces {
            buffer.extend_from_slice(piece);
            loop {
                let parsed = parser.parse(&mut buffer, limits, &mut batch);
                for command in batch.commands(&buffer) {
                    commands.push(command.iter().map(<[u8]>::to_vec).collect());
                }
                batch.clear();
                match parsed {
                    Ok(Parsed::BatchFull) => {}
                    Ok(Parsed::NeedsInput) => break,
                    Err(error) => return (commands, Some(error)),
                }
            }
            parser.consume(&mut buffer);
        }
        (commands, None)
    }

    fn check(input: &[u8], expected: &[&[&str]]) {
        let (commands, error) = parse_pieces([input], &RequestLimits::default());
        assert_eq!(error, None, "{}", input.escape_ascii());
        let text: Vec<Vec<String>> = commands
            .iter()
            .map(|c| c.iter().map(|a| String::from_utf8_lossy(a).into_owned()).collect())
            .collect();
        assert_eq!(text, expected, "{}", input.escape_ascii());
    }

    fn check_error(input: &[u8], limits: &RequestLimits, expected: ProtocolError) {
        let (_, error) = parse_pieces([input], limits);
        assert_eq!(error, Some(expected), "{}", input.escape_ascii());
    }

    #[test]
    fn commands_are_cut_out_of_the_buffer() {
        check(b"*1\r\n$4\r\nPING\r\n", &[&["PING"]]);
        check(b"PING\r\n", &[&["PING"]]);
        check(b"ping\n*2\r\n$3\r\nGET\r\n$0\r\n\r\n", &[&["ping"], &["GET", ""]]);
        check(
            b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\nset k 'a b'\r\n",
            &[&["GET", "k"], &["set", "k", "a b"]],
        );
    }

    #[test]
    fn commands_without_arguments_are_skipped() {
        check(b"\r\n\n*0\r\n*-1\r\n*-9\r\n  \r\nPING\r\n", &[&["PING"]]);
    }

    #[test]
    fn the_bytes_at_line_ends_are_not_judged() {
        check(b"*1\rX$4\rXPINGxx", &[&["PING"]]);
    }

    #[test]
    fn malformed_requests_are_refused_as_redis_does() {
        use ProtocolError::*;
        let limits = RequestLimits { bulk_bytes_max: 100, ..RequestLimits::default() };
        for (input, error) in [
            (&b"*x\r\n"[..], InvalidMultibulkLength),
            (b"*\r\n", InvalidMultibulkLength),
            (b"*01\r\n", InvalidMultibulkLength),
            (b"*2147483648\r\n", InvalidMultibulkLength),
            (b"*1\r\n+OK\r\n", ExpectedDollar(b'+')),
            (b"*1\r\n\r\n", ExpectedDollar(b'\r')),
            (b"*1\r\n$\r\n", InvalidBulkLength),
            (b"*1\r\n$-1\r\n", InvalidBulkLength),
            (b"*1\r\n$101\r\n", InvalidBulkLength),
            (b"*1\r\n$99999999999999999999\r\n", InvalidBulkLength),
            (b"get \"a\r\n", UnbalancedQuotes),
        ] {
            check_error(input, &limits, error);
        }
    }

    #[test]
    fn lines_without_an_end_are_refused() {
        let endless = |start: &[u8]| [start, &vec![b'1'; LINE_BYTES_MAX]].concat();
        let limits = RequestLimits::default();
        check_error(&endless(b"*"), &limits, ProtocolError::TooBigMultibulkHeader);
        check_error(&endless(b"*1\r\n$"), &limits, ProtocolError::TooBigBulkHeader);
        check_error(&endless(b"a"), &limits, ProtocolError::TooBigInlineRequest);
        // One byte less is still waited for.
        let (_, error) = parse_pieces([&endless(b"")[..]], &limits);
        assert_eq!(error, None);
    }

    #[test]
    fn a_zero_byte_hides_the_end_of_a_line() {
        check(b"*1\0\r\n$4\r\nPING\r\n", &[]);
        check(b"PING\0\r\n", &[]);
    }

    #[test]
    fn an_unauthenticated_client_is_kept_small() {
        check_error(b"*11\r\n", &UNAUTHENTICATED, ProtocolError::UnauthenticatedMultibulkLength);
        check_error(
            b"*1\r\n$16385\r\n",
            &UNAUTHENTICATED,
            ProtocolError::UnauthenticatedBulkLength,
        );
        let (_, error) = parse_pieces([&b"*10\r\n$16384\r\n"[..]], &UNAUTHENTICATED);
        assert_eq!(error, None);
    }

    #[test]
    fn a_batch_of_an_unauthenticated_client_holds_one_command() {
        let (mut parser, mut batch) = (RequestParser::new(), Batch::new());
        let mut buffer = b"AUTH x\r\n*11\r\n".to_vec();
        let parsed = parser.parse(&mut buffer, &UNAUTHENTICATED, &mut batch);
        assert_eq!((parsed, batch.len()), (Ok(Parsed::BatchFull), 1));
        batch.clear();
        // Authenticated by that command, the client may send the next one.
        let parsed = parser.parse(&mut buffer, &RequestLimits::default(), &mut batch);
        assert_eq!((parsed, batch.len()), (Ok(Parsed::NeedsInput), 0));
    }

    #[test]
    fn commands_before_an_error_are_kept() {
        let (commands, error) =
            parse_pieces([&b"PING\r\n*1\r\n$1\r\na\r\n*x\r\n"[..]], &RequestLimits::default());
        assert_eq!(commands, [[b"PING".to_vec()], [b"a".to_vec()]]);
        assert_eq!(error, Some(ProtocolError::InvalidMultibulkLength));
    }

    #[test]
    fn the_missing_bytes_of_a_large_argument_are_known() {
        let (mut parser, mut batch) = (RequestParser::new(), Batch::new());
        let mut buffer = b"*1\r\n$100000\r\nabc".to_vec();
        parser.parse(&mut buffer, &RequestLimits::default(), &mut batch).unwrap();
        assert_eq!(parser.missing_bytes(&buffer), 100_000 + 2 - 3);
        buffer.resize(buffer.len() + 100_000 - 1, b'x');
        parser.parse(&mut buffer, &RequestLimits::default(), &mut batch).unwrap();
        assert_eq!((batch.len(), parser.missing_bytes(&buffer)), (1, 0));
    }

    #[test]
    fn consuming_keeps_the_unfinished_command() {
        let (mut parser, mut batch) = (RequestParser::new(), Batch::new());
        let mut buffer = b"PING\r\n*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$5\r\nab".to_vec();
        parser.parse(&mut buffer, &RequestLimits::default(), &mut batch).unwrap();
        assert_eq!(batch.len(), 1);
        batch.clear();
        parser.consume(&mut buffer);
        assert_eq!(buffer, b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$5\r\nab");
        buffer.extend_from_slice(b"cde\r\n");
        parser.parse(&mut buffer, &RequestLimits::default(), &mut batch).unwrap();
        let words: Vec<&[u8]> = batch.command(0, &buffer).iter().collect();
        assert_eq!(words, [&b"SET"[..], b"k", b"abcde"]);
    }

    fn commands() -> impl Strategy<Value = Commands> {
        let argument = prop::collection::vec(any::<u8>(), 0..12);
        prop::collection::vec(prop::collection::vec(argument, 1..6), 0..6)
    }

    proptest! {
        #[test]
        fn encoded_commands_are_parsed_back(commands in commands()) {
            let mut bytes = Vec::new();
            commands.iter().for_each(|command| push_request(&mut bytes, command.iter()));
            let whole = parse_pieces([&bytes[..]], &RequestLimits::default());
            prop_assert_eq!(&whole, &(commands, None));
            let cut = parse_pieces(bytes.chunks(1), &RequestLimits::default());
            prop_assert_eq!(cut, whole);
        }

        #[test]
        fn input_cut_anywhere_gives_the_same_commands(
            text in "(\\*[0-3]\r\n|\\$[0-3]\r\n|[a\"' \0]{1,3}|\r\n){0,20}",
            sizes in prop::collection::vec(1usize..7, 1..40),
        ) {
            let bytes = text.as_bytes();
            let whole = parse_pieces([bytes], &RequestLimits::default());
            let mut rest = bytes;
            let pieces = sizes.iter().cycle().map_while(|size| {
                let (piece, left) = rest.split_at_checked(*size).unwrap_or((rest, b""));
                rest = left;
                (!piece.is_empty()).then_some(piece)
            });
            prop_assert_eq!(parse_pieces(pieces, &RequestLimits::default()), whole);
        }

        #[test]
        fn any_bytes_are_parsed_without_panic(
            bytes in prop::collection::vec(any::<u8>(), 0..80),
            authenticated: bool,
        ) {
            let limits = RequestLimits { authenticated, ..RequestLimits::default() };
            let whole = parse_pieces([&bytes[..]], &limits);
            prop_assert_eq!(parse_pieces(bytes.chunks(3), &limits), whole);
        }
    }
}
