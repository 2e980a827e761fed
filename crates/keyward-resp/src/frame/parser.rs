//! The parser of replies.
//!
//! Owns the arrays that are not complete yet, on a stack of its own, so no input can
//! exhaust the thread's. Resumable: what is complete is not read again.

use super::Frame;
use crate::number::{parse_f64, parse_i64};

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

/// The bytes that replies begin with.
const TYPES: &[u8] = b"+-:$*_,#(=!%~>|";

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

    /// How many bytes of the buffer have been parsed since they were last removed.
    pub fn parsed_bytes(&self) -> usize {
        self.position
    }

    /// Removes from `buffer` what has been parsed.
    pub fn consume(&mut self, buffer: &mut Vec<u8>) {
        buffer.drain(..self.position);
        self.position = 0;
    }

    /// One frame at the start of `input`, or the head of an array, and its length.
    fn parse_one(&self, kind: u8, input: &[u8]) -> Result<Option<(Part, usize)>, FrameError> {
        if !TYPES.contains(&kind) {
            return Err(FrameError::UnknownType(kind));
        }
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
            _ => {
                let len = parse_i64(line).and_then(|len| usize::try_from(len).ok());
                return Ok(Some((self.head(kind, len.ok_or(malformed)?)?, used)));
            }
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(input: &[u8]) -> Result<Vec<Frame>, FrameError> {
        let mut parser = FrameParser::default();
        let mut frames = Vec::new();
        while let Some(frame) = parser.next(input)? {
            frames.push(frame);
        }
        Ok(frames)
    }

    /// As `all`, of input that comes a byte at a time.
    fn by_bytes(input: &[u8]) -> Result<Vec<Frame>, FrameError> {
        let mut parser = FrameParser::default();
        let mut frames = Vec::new();
        for end in 0..=input.len() {
            while let Some(frame) = parser.next(&input[..end])? {
                frames.push(frame);
            }
        }
        Ok(frames)
    }

    /// Comparable, for NaN equals nothing.
    fn shown(frames: Result<Vec<Frame>, FrameError>) -> String {
        format!("{frames:?}")
    }

    fn frame() -> impl Strategy<Value = Frame> {
        let bytes = || prop::collection::vec(any::<u8>(), 0..20);
        let line = || prop::collection::vec(32u8..127, 0..20);
        let leaf = prop_oneof![
            line().prop_map(Frame::Simple),
            line().prop_map(Frame::Error),
            line().prop_map(Frame::BigNumber),
            any::<i64>().prop_map(Frame::Integer),
            bytes().prop_map(Frame::Bulk),
            bytes().prop_map(Frame::BulkError),
            (any::<[u8; 3]>(), bytes()).prop_map(|(format, text)| Frame::Verbatim(format, text)),
            any::<f64>().prop_filter("NaN equals nothing", |f| !f.is_nan()).prop_map(Frame::Double),
            any::<bool>().prop_map(Frame::Boolean),
            Just(Frame::NullBulk),
            Just(Frame::NullArray),
            Just(Frame::Null),
        ];
        leaf.prop_recursive(5, 64, 6, |inner| {
            let list = || prop::collection::vec(inner.clone(), 0..6);
            let map = || prop::collection::vec((inner.clone(), inner.clone()), 0..4);
            prop_oneof![
                list().prop_map(Frame::Array),
                list().prop_map(Frame::Set),
                list().prop_map(Frame::Push),
                map().prop_map(Frame::Map),
                (map(), inner.clone())
                    .prop_map(|(pairs, reply)| Frame::Attributed(pairs, Box::new(reply))),
            ]
        })
    }

    proptest! {
        #[test]
        fn encoded_frames_are_parsed_back(frames in prop::collection::vec(frame(), 0..4)) {
            let mut bytes = Vec::new();
            frames.iter().for_each(|frame| frame.encode(&mut bytes));
            prop_assert_eq!(all(&bytes).unwrap(), frames);
        }

        #[test]
        fn input_cut_at_every_byte_gives_the_same_frame(frame in frame()) {
            let mut bytes = Vec::new();
            frame.encode(&mut bytes);
            let mut parser = FrameParser::default();
            for end in 0..bytes.len() {
                prop_assert_eq!(parser.next(&bytes[..end]), Ok(None));
            }
            prop_assert_eq!(parser.next(&bytes), Ok(Some(frame)));
        }

        #[test]
        fn any_bytes_are_parsed_alike_at_once_and_by_bytes(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            prop_assert_eq!(shown(by_bytes(&bytes)), shown(all(&bytes)));
        }

        #[test]
        fn bytes_like_frames_are_parsed_alike_at_once_and_by_bytes(text in "[-+:$*~>%|,#_(=!0-9tf\r\n]{0,40}") {
            prop_assert_eq!(shown(by_bytes(text.as_bytes())), shown(all(text.as_bytes())));
        }
    }

    #[test]
    fn a_huge_length_reserves_no_memory() {
        assert_eq!(all(b"*60000000\r\n"), Ok(vec![]));
        assert_eq!(all(b"$500000000\r\n"), Ok(vec![]));
        assert_eq!(all(b"*9223372036854775807\r\n"), Err(FrameError::LimitExceeded("frames")));
    }

    #[test]
    fn depth_is_limited() {
        let limits = FrameLimits { depth_max: 3, ..FrameLimits::default() };
        let parse = |input: &[u8]| FrameParser::new(limits).next(input);
        assert!(matches!(parse(b"*1\r\n*1\r\n*1\r\n_\r\n"), Ok(Some(_))));
        assert_eq!(
            parse(b"*1\r\n*1\r\n*1\r\n*1\r\n_\r\n"),
            Err(FrameError::LimitExceeded("depth"))
        );
    }

    #[test]
    fn malformed_replies_are_errors() {
        for (input, error) in [
            (&b"?x\r\n"[..], FrameError::UnknownType(b'?')),
            (b"\r\n", FrameError::UnknownType(b'\r')),
            (b":x\r\n", FrameError::MalformedLine(b':')),
            (b"#x\r\n", FrameError::MalformedLine(b'#')),
            (b"_x\r\n", FrameError::MalformedLine(b'_')),
            (b"=2\r\nab\r\n", FrameError::MalformedLine(b'=')),
            (b"+a\rb", FrameError::MalformedLine(b'+')),
            (b"$1\r\nabc", FrameError::MissingLineEnd),
            (b"*-2\r\n", FrameError::MalformedLine(b'*')),
        ] {
            assert_eq!(all(input), Err(error));
        }
    }
}
