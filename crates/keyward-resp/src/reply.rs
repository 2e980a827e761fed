//! The reply writer: appends RESP2 or RESP3 to a byte buffer.
//!
//! Owns the difference between the two protocols: a handler says "a map of three" and
//! never asks which one the client speaks.
//! Invariant: no line end ever gets into a simple string or an error.
//! Not here: which reply a command gives, flushing the buffer.

use crate::number::{push_f64, push_human_f64, push_i64};
use crate::request::ProtocolError;

/// The protocol version a client speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// Version 2, until HELLO says otherwise.
    #[default]
    Resp2,
    /// Version 3.
    Resp3,
}

/// Writes replies to the end of a buffer.
#[derive(Debug)]
pub struct ReplyWriter<'a> {
    out: &'a mut Vec<u8>,
    protocol: Protocol,
}

/// The place of an array, map or set whose length is not known yet.
#[derive(Debug)]
#[must_use = "a deferred length must be written"]
pub struct Deferred(usize);

impl<'a> ReplyWriter<'a> {
    /// A writer to the end of `out`.
    #[inline]
    pub fn new(out: &'a mut Vec<u8>, protocol: Protocol) -> ReplyWriter<'a> {
        ReplyWriter { out, protocol }
    }

    /// The protocol replies are written in.
    #[inline]
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Changes the protocol from the next reply on (HELLO, RESET).
    #[inline]
    pub fn set_protocol(&mut self, protocol: Protocol) {
        self.protocol = protocol;
    }

    /// `+OK`
    #[inline]
    pub fn ok(&mut self) {
        self.raw(b"+OK\r\n");
    }

    /// A simple string; a line end in it becomes two spaces.
    #[inline]
    pub fn simple(&mut self, text: &str) {
        self.line(b'+', text.as_bytes());
    }

    /// An error: its code, a space, its text. A line end in it becomes two spaces.
    pub fn error(&mut self, text: &[u8]) {
        self.line(b'-', text);
    }

    /// The error a connection gets before it is closed.
    pub fn protocol_error(&mut self, error: &ProtocolError) {
        let mut text = b"ERR ".to_vec();
        // A byte is shown as it is, even where it is no character.
        if let ProtocolError::ExpectedDollar(byte) = error {
            text.extend_from_slice(b"Protocol error: expected '$', got '");
            text.extend_from_slice(&[*byte, b'\'']);
        } else {
            text.extend_from_slice(error.to_string().as_bytes());
        }
        self.error(&text);
    }

    /// An integer.
    #[inline]
    pub fn integer(&mut self, value: i64) {
        self.number_line(b':', value);
    }

    /// An integer that counts something.
    #[inline]
    pub fn count(&mut self, value: usize) {
        self.integer(i64::try_from(value).unwrap_or(i64::MAX));
    }

    /// A bulk string.
    #[inline]
    pub fn bulk(&mut self, bytes: &[u8]) {
        // One growth instead of three.
        self.out.reserve(bytes.len() + 26);
        self.number_line(b'$', bytes.len() as i64);
        self.out.extend_from_slice(bytes);
        self.raw(b"\r\n");
    }

    /// A bulk string with an integer in decimal.
    pub fn bulk_integer(&mut self, value: i64) {
        self.bulk(itoa::Buffer::new().format(value).as_bytes());
    }

    /// A bulk string of two parts in a row.
    pub fn bulk_joined(&mut self, first: &[u8], second: &[u8]) {
        self.number_line(b'$', (first.len() + second.len()) as i64);
        self.out.extend_from_slice(first);
        self.out.extend_from_slice(second);
        self.raw(b"\r\n");
    }

    /// The absence of a value.
    #[inline]
    pub fn null(&mut self) {
        self.by_protocol(b"$-1\r\n", b"_\r\n");
    }

    /// The absence of an array.
    #[inline]
    pub fn null_array(&mut self) {
        self.by_protocol(b"*-1\r\n", b"_\r\n");
    }

    /// The head of an array of `len` replies.
    #[inline]
    pub fn array(&mut self, len: usize) {
        self.number_line(b'*', len as i64);
    }

    /// The head of a map of `len` pairs; an array of twice as many in RESP2.
    #[inline]
    pub fn map(&mut self, len: usize) {
        let (mark, len) = self.map_head(len);
        self.number_line(mark, len);
    }

    /// The head of a set of `len` replies; an array in RESP2.
    #[inline]
    pub fn set(&mut self, len: usize) {
        self.number_line(self.set_mark(), len as i64);
    }

    /// The head of a push message of `len` replies; an array in RESP2.
    pub fn push(&mut self, len: usize) {
        let mark = if self.protocol == Protocol::Resp3 { b'>' } else { b'*' };
        self.number_line(mark, len as i64);
    }

    /// The head of `len` attribute pairs of the reply that follows them.
    ///
    /// # Panics
    /// In RESP2, which knows no attributes: the caller must not send any.
    pub fn attribute(&mut self, len: usize) {
        assert!(self.protocol == Protocol::Resp3, "RESP2 has no attributes");
        self.number_line(b'|', len as i64);
    }

    /// A double: 17 significant digits; a bulk string in RESP2.
    pub fn double(&mut self, value: f64) {
        self.float(value, push_f64);
    }

    /// A double for people: no exponent, no trailing zeros; a bulk string in RESP2.
    pub fn human_double(&mut self, value: f64) {
        self.float(value, push_human_f64);
    }

    /// A boolean; 1 or 0 in RESP2.
    pub fn boolean(&mut self, value: bool) {
        match value {
            true => self.by_protocol(b":1\r\n", b"#t\r\n"),
            false => self.by_protocol(b":0\r\n", b"#f\r\n"),
        }
    }

    /// An integer of any size, in decimal; a bulk string in RESP2.
    pub fn big_number(&mut self, digits: &[u8]) {
        match self.protocol {
            Protocol::Resp2 => self.bulk(digits),
            Protocol::Resp3 => self.line(b'(', digits),
        }
    }

    /// Text with a three-letter format (`txt`, `mkd`); a bulk string in RESP2.
    pub fn verbatim(&mut self, format: [u8; 3], text: &[u8]) {
        if self.protocol == Protocol::Resp2 {
            return self.bulk(text);
        }
        self.number_line(b'=', text.len() as i64 + 4);
        self.out.extend_from_slice(&format);
        self.out.push(b':');
        self.out.extend_from_slice(text);
        self.raw(b"\r\n");
    }

    /// Bytes that are a reply already.
    #[inline]
    pub fn raw(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// As `raw`, without a copy where nothing was written before.
    pub fn append(&mut self, bytes: Vec<u8>) {
        if self.out.is_empty() { *self.out = bytes } else { self.raw(&bytes) }
    }

    /// Marks the place of a head whose length is known only after its elements.
    pub fn defer(&mut self) -> Deferred {
        Deferred(self.out.len())
    }

    /// Puts the head of an array of `len` replies at `place`. What has been written
    /// since is moved; of several open places the last must be closed first.
    pub fn end_array(&mut self, place: Deferred, len: usize) {
        self.insert_head(place, b'*', len as i64);
    }

    /// Puts the head of a map of `len` pairs at `place`; see [`ReplyWriter::end_array`].
    pub fn end_map(&mut self, place: Deferred, len: usize) {
        let (mark, len) = self.map_head(len);
        self.insert_head(place, mark, len);
    }

    /// Puts the head of a set of `len` replies at `place`; see [`ReplyWriter::end_array`].
    pub fn end_set(&mut self, place: Deferred, len: usize) {
        self.insert_head(place, self.set_mark(), len as i64);
    }

    /// Takes back everything written since `place`.
    pub fn abandon(&mut self, place: Deferred) {
        self.out.truncate(place.0);
    }

    fn map_head(&self, len: usize) -> (u8, i64) {
        match self.protocol {
            Protocol::Resp2 => (b'*', len as i64 * 2),
            Protocol::Resp3 => (b'%', len as i64),
        }
    }

    fn set_mark(&self) -> u8 {
        if self.protocol == Protocol::Resp3 { b'~' } else { b'*' }
    }

    fn insert_head(&mut self, place: Deferred, mark: u8, len: i64) {
        let before = self.out.len();
        self.number_line(mark, len);
        let head_len = self.out.len() - before;
        self.out[place.0..].rotate_right(head_len);
    }

    fn float(&mut self, value: f64, push: fn(&mut Vec<u8>, f64)) {
        match self.protocol {
            Protocol::Resp2 => {
                let start = self.out.len();
                push(self.out, value);
                let len = self.out.len() - start;
                self.raw(b"\r\n");
                self.insert_head(Deferred(start), b'$', len as i64);
            }
            Protocol::Resp3 => {
                self.out.push(b',');
                push(self.out, value);
                self.raw(b"\r\n");
            }
        }
    }

    #[inline]
    fn by_protocol(&mut self, resp2: &[u8], resp3: &[u8]) {
        self.raw(if self.protocol == Protocol::Resp3 { resp3 } else { resp2 });
    }

    /// A mark, a number and a line end.
    #[inline]
    fn number_line(&mut self, mark: u8, value: i64) {
        // Most numbers are lengths of one to three digits. Arrays of a known size are
        // stored without a call.
        let digit = |power: i64| b'0' + (value / power % 10) as u8;
        match value {
            0..=9 => self.raw(&[mark, digit(1), b'\r', b'\n']),
            10..=99 => self.raw(&[mark, digit(10), digit(1), b'\r', b'\n']),
            100..=999 => self.raw(&[mark, digit(100), digit(10), digit(1), b'\r', b'\n']),
            _ => {
                self.out.push(mark);
                push_i64(self.out, value);
                self.raw(b"\r\n");
            }
        }
    }

    fn line(&mut self, mark: u8, text: &[u8]) {
        self.out.push(mark);
        let start = self.out.len();
        self.out.extend_from_slice(text);
        for byte in &mut self.out[start..] {
            if matches!(byte, b'\r' | b'\n') {
                *byte = b' ';
            }
        }
        self.raw(b"\r\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `write` writes in RESP2 and in RESP3.
    fn check(write: impl Fn(&mut ReplyWriter<'_>), resp2: &[u8], resp3: &[u8]) {
        for (protocol, expected) in [(Protocol::Resp2, resp2), (Protocol::Resp3, resp3)] {
            let mut out = b"before".to_vec();
            write(&mut ReplyWriter::new(&mut out, protocol));
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            assert_eq!(text(&out[6..]), text(expected), "{protocol:?}");
        }
    }

    #[test]
    fn types_that_resp2_lacks_fall_back() {
        check(|w| w.null(), b"$-1\r\n", b"_\r\n");
        check(|w| w.null_array(), b"*-1\r\n", b"_\r\n");
        check(|w| w.map(12), b"*24\r\n", b"%12\r\n");
        check(|w| w.set(3), b"*3\r\n", b"~3\r\n");
        check(|w| w.push(3), b"*3\r\n", b">3\r\n");
        check(|w| w.boolean(true), b":1\r\n", b"#t\r\n");
        check(|w| w.boolean(false), b":0\r\n", b"#f\r\n");
        check(|w| w.big_number(b"123"), b"$3\r\n123\r\n", b"(123\r\n");
        check(|w| w.verbatim(*b"txt", b"hi"), b"$2\r\nhi\r\n", b"=6\r\ntxt:hi\r\n");
        check(|w| w.double(0.5), b"$3\r\n0.5\r\n", b",0.5\r\n");
        check(|w| w.double(f64::NEG_INFINITY), b"$4\r\n-inf\r\n", b",-inf\r\n");
        check(
            |w| w.human_double(0.1),
            b"$19\r\n0.10000000000000001\r\n",
            b",0.10000000000000001\r\n",
        );
    }

    #[test]
    fn types_of_both_protocols_are_the_same() {
        let same = |write: &dyn Fn(&mut ReplyWriter<'_>), expected: &[u8]| {
            check(write, expected, expected);
        };
        same(&|w| w.ok(), b"+OK\r\n");
        same(&|w| w.simple("PONG"), b"+PONG\r\n");
        same(&|w| w.error(b"ERR no"), b"-ERR no\r\n");
        same(&|w| w.integer(i64::MIN), b":-9223372036854775808\r\n");
        same(&|w| w.integer(7), b":7\r\n");
        same(&|w| w.bulk(b""), b"$0\r\n\r\n");
        same(&|w| w.bulk(b"a\r\nb"), b"$4\r\na\r\nb\r\n");
        same(&|w| w.bulk_integer(-12), b"$3\r\n-12\r\n");
        same(&|w| w.bulk_joined(b"a", b"bc"), b"$3\r\nabc\r\n");
        same(&|w| w.array(10), b"*10\r\n");
    }

    #[test]
    fn line_ends_cannot_be_smuggled_into_lines() {
        check(|w| w.error(b"ERR a\r\n+OK\r\n"), b"-ERR a  +OK  \r\n", b"-ERR a  +OK  \r\n");
        check(|w| w.simple("a\nb"), b"+a b\r\n", b"+a b\r\n");
    }

    #[test]
    fn deferred_heads_nest() {
        check(
            |w| {
                let outer = w.defer();
                w.integer(1);
                let inner = w.defer();
                w.integer(2);
                w.integer(3);
                w.end_map(inner, 1);
                w.end_array(outer, 12);
            },
            b"*12\r\n:1\r\n*2\r\n:2\r\n:3\r\n",
            b"*12\r\n:1\r\n%1\r\n:2\r\n:3\r\n",
        );
    }

    #[test]
    fn an_abandoned_reply_leaves_nothing() {
        check(
            |w| {
                let place = w.defer();
                w.integer(2);
                w.abandon(place);
                w.ok();
            },
            b"+OK\r\n",
            b"+OK\r\n",
        );
    }

    #[test]
    fn a_protocol_error_shows_the_byte_as_it_is() {
        let expected = b"-ERR Protocol error: expected '$', got '\xff'\r\n";
        check(|w| w.protocol_error(&ProtocolError::ExpectedDollar(0xff)), expected, expected);
        let expected = b"-ERR Protocol error: expected '$', got ' '\r\n";
        check(|w| w.protocol_error(&ProtocolError::ExpectedDollar(b'\r')), expected, expected);
    }
}
