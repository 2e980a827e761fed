//! Replies as values: the client's side of the protocol.
//!
//! Owns the tree of a reply, its bytes and how tests print it; the parser is in
//! `frame/parser.rs`.
//! Not here: requests (`request`), writing replies fast (`reply`).

mod parser;

use std::fmt;

pub use parser::{FrameError, FrameLimits, FrameParser};

use crate::number::{push_f64, push_i64};

/// One reply.
#[derive(Clone, PartialEq)]
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

impl Frame {
    /// The bytes of a string of any kind, errors included.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Frame::Simple(text)
            | Frame::Error(text)
            | Frame::Bulk(text)
            | Frame::BigNumber(text)
            | Frame::Verbatim(_, text)
            | Frame::BulkError(text) => Some(text),
            _ => None,
        }
    }

    /// The elements of an array, set or push message.
    pub fn as_elements(&self) -> Option<&[Frame]> {
        match self {
            Frame::Array(elements) | Frame::Set(elements) | Frame::Push(elements) => Some(elements),
            _ => None,
        }
    }

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

/// Bytes are shown as text with escapes.
impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Frame::Simple(text) => write!(f, "+{}", text.escape_ascii()),
            Frame::Error(text) => write!(f, "-{}", text.escape_ascii()),
            Frame::Integer(value) => write!(f, ":{value}"),
            Frame::Bulk(text) => write!(f, "\"{}\"", text.escape_ascii()),
            Frame::NullBulk => f.write_str("(null bulk)"),
            Frame::NullArray => f.write_str("(null array)"),
            Frame::Null => f.write_str("(null)"),
            Frame::Double(value) => write!(f, ",{value:?}"),
            Frame::Boolean(value) => write!(f, "#{value}"),
            Frame::BigNumber(digits) => write!(f, "({}", digits.escape_ascii()),
            Frame::Verbatim(format, text) => {
                write!(f, "={}:\"{}\"", format.escape_ascii(), text.escape_ascii())
            }
            Frame::BulkError(text) => write!(f, "!\"{}\"", text.escape_ascii()),
            Frame::Array(elements) => f.debug_list().entries(elements).finish(),
            Frame::Set(elements) => {
                f.write_str("~")?;
                f.debug_list().entries(elements).finish()
            }
            Frame::Push(elements) => {
                f.write_str(">")?;
                f.debug_list().entries(elements).finish()
            }
            Frame::Map(pairs) => debug_map(f, pairs),
            Frame::Attributed(pairs, reply) => {
                f.write_str("|")?;
                debug_map(f, pairs)?;
                write!(f, " {reply:?}")
            }
        }
    }
}

fn debug_map(f: &mut fmt::Formatter<'_>, pairs: &[(Frame, Frame)]) -> fmt::Result {
    f.debug_map().entries(pairs.iter().map(|(key, value)| (key, value))).finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_shown_as_text() {
        let frame = Frame::Array(vec![
            Frame::Bulk(b"a\r\n\xff".to_vec()),
            Frame::Error(b"ERR no".to_vec()),
            Frame::Map(vec![(Frame::Integer(1), Frame::Null)]),
            Frame::Attributed(Vec::new(), Box::new(Frame::Set(vec![Frame::Boolean(true)]))),
        ]);
        assert_eq!(format!("{frame:?}"), r#"["a\r\n\xff", -ERR no, {:1: (null)}, |{} ~[#true]]"#);
    }
}
