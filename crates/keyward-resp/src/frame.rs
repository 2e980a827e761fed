//! Replies as values: the client's side of the protocol.
//!
//! Owns the tree of a reply and its parser, which is resumable and keeps the open
//! arrays on a stack of its own, so no input can exhaust the thread's.
//! Not here: requests (`request`), writing replies fast (`reply`).

use crate::number::{parse_f64, parse_i64, push_f64, push_i64};

/// One reply.
#[derive(Clone, Debug, PartialEq)]
pub enum Frame {
    /// `+OK`
    Simple(Vec<u8>),
    /// `-ERR …`
    Error(Vec<u8>),
    /// `:1`
    Integer(i64),
    /// `$3`
    Bulk(Vec<u8>),
    /// `$-1`: no value, in RESP2.
    NullBulk,
    /// `*-1`: no array, in RESP2.
    NullArray,
    /// `_`: nothing, in RESP3.
    Null,
    /// `*2`
    Array(Vec<Frame>),
    /// `%1`
    Map(Vec<(Frame, Frame)>),
    /// `~2`
    Set(Vec<Frame>),
    /// `>2`
    Push(Vec<Frame>),
    /// `,0.5`
    Double(f64),
    /// `#t`
    Boolean(bool),
    /// `(123…`
    BigNumber(Vec<u8>),
    /// `=7`, a format and text.
    Verbatim([u8; 3], Vec<u8>),
    /// `!5`: an error with line ends.
    BulkError(Vec<u8>),
    /// `|1`: pairs about the reply that follows them.
    Attributed(Vec<(Frame, Frame)>, Box<Frame>),
}

/// What a server may send.
#[derive(Clone, Copy, Debug)]
pub struct FrameLimits {
    /// Arrays within arrays.
    pub depth_max: usize,
    /// Bytes of one string.
    pub bulk_bytes_max: usize,
    /// Frames of one reply altogether.
    pub frames_max: usize,
}

impl Default for FrameLimits {
    fn default() -> FrameLimits {
        FrameLimits {
            depth_max: 128,
            bulk_bytes_max: 512 * 1024 * 1024,
            frames_max: 64 * 1024 * 1024,
        }
    }
}

/// Why the input is no reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// A frame begins with a byte that marks no type.
    #[error("no reply begins with byte {0:#04x}")]
    UnknownType(u8),
    /// The line after the type is not what the type demands.
    #[error("malformed line in a reply of type '{}'", char::from(*.0))]
    MalformedLine(u8),
    /// A string is not followed by a line end.
    #[error("a string in a reply lacks its line end")]
    MissingLineEnd,
    /// One of [`FrameLimits`].
    #[error("a reply exceeds the limit of {0}")]
    LimitExceeded(&'static str),
}

/// Longest line of a reply that is not a string with a length.
const LINE_BYTES_MAX: usize = 64 * 1024;
/// Room made at once for the elements of an array, whatever length it claims.
const CAPACITY_MAX: usize = 1024;

/// A parser of the replies of one connection.
#[derive(Debug, Default)]
pub struct FrameParser {
    limits: FrameLimits,
    position: usize,
    open: Vec<Open>,
    frames: usize,
}

/// An array whose elements have not all arrived.
#[derive(Debug)]
struct Open {
    kind: u8,
    left: usize,
    elements: Vec<Frame>,
}

impl FrameParser {
    /// A parser at the beginning of a connection.
    pub fn new(limits: FrameLimits) -> FrameParser {
        FrameParser { limits, ..FrameParser::default() }
    }

    /// The next reply in `buffer`, from where the last call stopped; `None` if it has
    /// not arrived completely.
    pub fn next(&mut self, buffer: &[u8]) -> Result<Option<Frame>, FrameError> {
        while let Some(&kind) = buffer.get(self.position) {
            let Some((frame, used)) = self.parse_one(kind, &buffer[self.position..])? else {
                return Ok(None);
            };
            self.position += used;
            self.frames += 1;
            if self.frames > self.limits.frames_max {
                return Err(FrameError::LimitExceeded("frames"));
            }
            let mut done = match frame {
                Part::Whole(frame) => frame,
                Part::Head(open) => {
                    if self.open.len() >= self.limits.depth_max {
                        return Err(FrameError::LimitExceeded("depth"));
                    }
                    self.open.push(open);
                    continue;
                }
            };
            loop {
                let Some(parent) = self.open.last_mut() else {
                    self.frames = 0;
                    return Ok(Some(done));
                };
                parent.elements.push(done);
                parent.left -= 1;
                if parent.left > 0 {
                    break;
                }
                let Open { kind, elements, .. } = self.open.pop().expect("it was there");
                done = closed(kind, elements);
            }
        }
        Ok(None)
    }

    /// Removes from `buffer` what has been parsed.
    pub fn consume(&mut self, buffer: &mut Vec<u8>) {
        buffer.drain(..self.position);
        self.position = 0;
    }

    /// One frame at the start of `input`, or the head of an array, and its length.
    fn parse_one(&self, kind: u8, input: &[u8]) -> Result<Option<(Part, usize)>, FrameError> {
        let Some(line_end) = memchr::memchr(b'\r', input) else {
            let too_long = input.len() > LINE_BYTES_MAX;
            return if too_long { Err(FrameError::LimitExceeded("line bytes")) } else { Ok(None) };
        };
        let used = line_end + 2;
        match input.get(line_end + 1) {
            None => return Ok(None),
            Some(b'\n') => {}
            Some(_) => return Err(FrameError::MalformedLine(kind)),
        }
        let line = &input[1..line_end];
        let malformed = FrameError::MalformedLine(kind);
        let frame = match kind {
            b'+' => Frame::Simple(line.to_vec()),
            b'-' => Frame::Error(line.to_vec()),
            b'(' => Frame::BigNumber(line.to_vec()),
            b':' => Frame::Integer(parse_i64(line).ok_or(malformed)?),
            b',' => Frame::Double(parse_double(line).ok_or(malformed)?),
            b'#' => Frame::Boolean(match line {
                b"t" => true,
                b"f" => false,
                _ => return Err(malformed),
            }),
            b'_' if line.is_empty() => Frame::Null,
            b'_' => return Err(malformed),
            b'$' if line == b"-1" => Frame::NullBulk,
            b'*' if line == b"-1" => Frame::NullArray,
            b'$' | b'=' | b'!' => return self.parse_string(kind, line, &input[used..], used),
            b'*' | b'~' | b'>' | b'%' | b'|' => {
                let len = parse_i64(line).and_then(|len| usize::try_from(len).ok());
                return Ok(Some((self.head(kind, len.ok_or(malformed)?)?, used)));
            }
            other => return Err(FrameError::UnknownType(other)),
        };
        Ok(Some((Part::Whole(frame), used)))
    }

    /// The string of the length that `line` says, at the start of `rest`.
    fn parse_string(
        &self,
        kind: u8,
        line: &[u8],
        rest: &[u8],
        used: usize,
    ) -> Result<Option<(Part, usize)>, FrameError> {
        let len = parse_i64(line)
            .and_then(|len| usize::try_from(len).ok())
            .ok_or(FrameError::MalformedLine(kind))?;
        if len > self.limits.bulk_bytes_max {
            return Err(FrameError::LimitExceeded("string bytes"));
        }
        if rest.len() < len + 2 {
            return Ok(None);
        }
        if &rest[len..len + 2] != b"\r\n" {
            return Err(FrameError::MissingLineEnd);
        }
        let text = &rest[..len];
        let frame = match (kind, text) {
            (b'$', text) => Frame::Bulk(text.to_vec()),
            (b'!', text) => Frame::BulkError(text.to_vec()),
            (_, [a, b, c, b':', text @ ..]) => Frame::Verbatim([*a, *b, *c], text.to_vec()),
            _ => return Err(FrameError::MalformedLine(kind)),
        };
        Ok(Some((Part::Whole(frame), used + len + 2)))
    }

    /// An array to be filled, or an empty one, which is whole already.
    fn head(&self, kind: u8, len: usize) -> Result<Part, FrameError> {
        let left = match kind {
            b'%' => len.checked_mul(2),
            // The reply that the attributes are about comes after them.
            b'|' => len.checked_mul(2).and_then(|len| len.checked_add(1)),
            _ => Some(len),
        };
        let left = left
            .filter(|left| *left <= self.limits.frames_max)
            .ok_or(FrameError::LimitExceeded("frames"))?;
        if left == 0 {
            return Ok(Part::Whole(closed(kind, Vec::new())));
        }
        Ok(Part::Head(Open { kind, left, elements: Vec::with_capacity(left.min(CAPACITY_MAX)) }))
    }
}

enum Part {
    Whole(Frame),
    Head(Open),
}

/// The frame of a type that holds others.
fn closed(kind: u8, mut elements: Vec<Frame>) -> Frame {
    match kind {
        b'*' => Frame::Array(elements),
        b'~' => Frame::Set(elements),
        b'>' => Frame::Push(elements),
        b'%' => Frame::Map(pairs(elements)),
        _ => {
            let reply = elements.pop().expect("attributes are followed by their reply");
            Frame::Attributed(pairs(elements), Box::new(reply))
        }
    }
}

fn pairs(elements: Vec<Frame>) -> Vec<(Frame, Frame)> {
    let mut pairs = Vec::with_capacity(elements.len() / 2);
    let mut elements = elements.into_iter();
    while let (Some(key), Some(value)) = (elements.next(), elements.next()) {
        pairs.push((key, value));
    }
    pairs
}

fn parse_double(line: &[u8]) -> Option<f64> {
    match line {
        b"nan" => Some(f64::NAN),
        b"-nan" => Some(-f64::NAN),
        line => parse_f64(line),
    }
}

impl Frame {
    /// Appends the frame as a server would send it.
    ///
    /// Only for trees whose depth is bounded, as those of [`FrameParser`] are.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Frame::Simple(text) => line(out, b'+', text),
            Frame::Error(text) => line(out, b'-', text),
            Frame::BigNumber(text) => line(out, b'(', text),
            Frame::Integer(value) => head(out, b':', *value),
            Frame::NullBulk => out.extend_from_slice(b"$-1\r\n"),
            Frame::NullArray => out.extend_from_slice(b"*-1\r\n"),
            Frame::Null => out.extend_from_slice(b"_\r\n"),
            Frame::Boolean(value) => line(out, b'#', if *value { b"t" } else { b"f" }),
            Frame::Double(value) => {
                out.push(b',');
                push_f64(out, *value);
                out.extend_from_slice(b"\r\n");
            }
            Frame::Bulk(text) => string(out, b'$', &[text]),
            Frame::BulkError(text) => string(out, b'!', &[text]),
            Frame::Verbatim(format, text) => string(out, b'=', &[format, b":", text]),
            Frame::Array(elements) => encode_all(out, b'*', elements),
            Frame::Set(elements) => encode_all(out, b'~', elements),
            Frame::Push(elements) => encode_all(out, b'>', elements),
            Frame::Map(pairs) => encode_pairs(out, b'%', pairs),
            Frame::Attributed(pairs, reply) => {
                encode_pairs(out, b'|', pairs);
                reply.encode(out);
            }
        }
    }
}

fn head(out: &mut Vec<u8>, kind: u8, number: i64) {
    out.push(kind);
    push_i64(out, number);
    out.extend_from_slice(b"\r\n");
}

fn line(out: &mut Vec<u8>, kind: u8, text: &[u8]) {
    out.push(kind);
    out.extend_from_slice(text);
    out.extend_from_slice(b"\r\n");
}

fn string(out: &mut Vec<u8>, kind: u8, parts: &[&[u8]]) {
    head(out, kind, parts.iter().map(|part| part.len() as i64).sum());
    for part in parts {
        out.extend_from_slice(part);
    }
    out.extend_from_slice(b"\r\n");
}

fn encode_all(out: &mut Vec<u8>, kind: u8, elements: &[Frame]) {
    head(out, kind, elements.len() as i64);
    for element in elements {
        element.encode(out);
    }
}

fn encode_pairs(out: &mut Vec<u8>, kind: u8, pairs: &[(Frame, Frame)]) {
    head(out, kind, pairs.len() as i64);
    for (key, value) in pairs {
        key.encode(out);
        value.encode(out);
    }
}
