//! Reading JSON: its tokens, and values of any form without recursion.
//!
//! Owns the place in the text. Not here: what a schema wants of it (`json`).

use super::escapes::unescape;
use super::words::{below, bytes_before, is, is_quote, quote_from};
use crate::shape::fit::Misfit;
use std::borrow::Cow;

/// How deep undeclared JSON may nest.
pub const MAX_JSON_DEPTH: usize = 128;

/// Bytes below this must be written as escapes.
const FIRST_PLAIN: u8 = 0x20;

/// A text that is read from its beginning to its end.
pub(super) struct Reader<'v> {
    pub(super) bytes: &'v [u8],
    pub(super) at: usize,
    /// Whether no string of it has anything but plain text, so that each ends at the next
    /// quote.
    is_plain: bool,
    /// What the placeholders of its key hold; nothing where that is not known.
    pub(super) names: &'v [&'v [u8]],
}

/// A string token: what stands between its quotes.
#[derive(Clone, Copy)]
pub(super) struct Text<'v> {
    pub(super) inner: &'v [u8],
    pub(super) escaped: bool,
}

impl<'v> Text<'v> {
    /// What it stands for.
    pub(super) fn plain(self) -> Cow<'v, [u8]> {
        if self.escaped { unescape(self.inner) } else { Cow::Borrowed(self.inner) }
    }
}

impl<'v> Reader<'v> {
    /// JSON is UTF-8 throughout.
    pub(super) fn new(bytes: &'v [u8]) -> Result<Reader<'v>, Misfit> {
        // All bytes are looked at, so that many can be at once.
        let is_plain = bytes.iter().fold(true, |is_plain, byte| is_plain & is_plain_text(*byte));
        if !is_plain && let Err(error) = std::str::from_utf8(bytes) {
            return Err(not_json("UTF-8", error.valid_up_to()));
        }
        Ok(Reader { bytes, at: 0, is_plain, names: &[] })
    }

    /// The same, of a key whose placeholders have these values.
    pub(super) fn under(self, names: &'v [&'v [u8]]) -> Reader<'v> {
        Reader { names, ..self }
    }

    /// Nothing but spaces may follow.
    pub(super) fn end(&mut self) -> Result<(), Misfit> {
        self.skip_spaces();
        if self.at < self.bytes.len() { Err(self.broken("the end of the JSON")) } else { Ok(()) }
    }

    /// Walks `{"name": value, …}`; `member` reads each name and what follows it.
    #[inline]
    pub(super) fn members<E: From<Misfit>>(
        &mut self,
        mut member: impl FnMut(&mut Self) -> Result<(), E>,
    ) -> Result<(), E> {
        self.expect(b'{', "`{`")?;
        if self.take(b'}') {
            return Ok(());
        }
        loop {
            self.skip_spaces();
            member(self)?;
            self.skip_spaces();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(self.broken("`,` or `}`").into()),
            }
        }
    }

    /// Skips one value of any form without recursion.
    pub(super) fn skip(&mut self) -> Result<(), Misfit> {
        // One bit per open bracket: set for an object.
        let mut open: u128 = 0;
        let mut depth = 0;
        loop {
            self.skip_spaces();
            match self.peek() {
                Some(bracket @ (b'{' | b'[')) => {
                    self.at += 1;
                    let close = if bracket == b'{' { b'}' } else { b']' };
                    if !self.take(close) {
                        if depth == MAX_JSON_DEPTH {
                            return Err(Misfit::new(format!("nests deeper than {MAX_JSON_DEPTH}")));
                        }
                        depth += 1;
                        open = open << 1 | u128::from(bracket == b'{');
                        if bracket == b'{' {
                            self.name()?;
                        }
                        continue;
                    }
                }
                Some(b'"') => drop(self.string()?),
                Some(b't') => self.word(b"true")?,
                Some(b'f') => self.word(b"false")?,
                Some(b'n') => self.word(b"null")?,
                Some(b'-' | b'0'..=b'9') => drop(self.number()?),
                _ => return Err(self.broken("a JSON value")),
            }
            // A value is complete: close what ends here, or go on to the next.
            loop {
                if depth == 0 {
                    return Ok(());
                }
                let in_object = open & 1 == 1;
                if self.take(if in_object { b'}' } else { b']' }) {
                    depth -= 1;
                    open >>= 1;
                    continue;
                }
                self.expect(b',', "`,` or a closing bracket")?;
                if in_object {
                    self.name()?;
                }
                break;
            }
        }
    }

    fn name(&mut self) -> Result<(), Misfit> {
        self.skip_spaces();
        self.string()?;
        self.expect(b':', "`:`")
    }

    /// Reads a string; what its escapes stand for is not worked out yet.
    #[inline(always)]
    pub(super) fn string(&mut self) -> Result<Text<'v>, Misfit> {
        match self.plain_string() {
            Some(inner) => Ok(Text { inner, escaped: false }),
            None => self.unusual_string(),
        }
    }

    /// Reads a string, if it is known that it has no escapes.
    #[inline(always)]
    pub(super) fn plain_string(&mut self) -> Option<&'v [u8]> {
        if !self.is_plain || self.peek() != Some(b'"') {
            return None;
        }
        let start = self.at + 1;
        let end = quote_from(self.bytes, start)?;
        self.at = end + 1;
        Some(&self.bytes[start..end])
    }

    /// A string that is none, that does not end, or that may have escapes.
    #[inline(never)]
    fn unusual_string(&mut self) -> Result<Text<'v>, Misfit> {
        match self.peek() {
            Some(b'"') => self.string_with_escapes(self.at + 1),
            _ => Err(self.broken("`\"`")),
        }
    }

    fn string_with_escapes(&mut self, start: usize) -> Result<Text<'v>, Misfit> {
        let mut escaped = false;
        self.at = start;
        loop {
            self.at += bytes_before(&self.bytes[self.at..], |word| {
                is_quote(word) | is(word, b'\\') | below(word, FIRST_PLAIN)
            });
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(Text { inner: &self.bytes[start..self.at - 1], escaped });
                }
                Some(b'\\') => {
                    escaped = true;
                    self.escape()?;
                }
                _ => return Err(self.broken("the rest of a string")),
            }
        }
    }

    fn escape(&mut self) -> Result<(), Misfit> {
        match self.bytes.get(self.at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 2,
            Some(b'u') => {
                let digits = self.bytes.get(self.at + 2..self.at + 6);
                if !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) {
                    return Err(self.broken("four hexadecimal digits"));
                }
                self.at += 6;
            }
            _ => return Err(self.broken("an escape")),
        }
        Ok(())
    }

    /// Reads a number.
    pub(super) fn number(&mut self) -> Result<&'v [u8], Misfit> {
        let start = self.at;
        self.at += usize::from(self.peek() == Some(b'-'));
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            self.digits()?;
        }
        Ok(&self.bytes[start..self.at])
    }

    fn digits(&mut self) -> Result<(), Misfit> {
        let count = self.bytes[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        if count == 0 { Err(self.broken("a digit")) } else { Ok(()) }
    }

    /// Reads a word.
    pub(super) fn word(&mut self, word: &'static [u8]) -> Result<(), Misfit> {
        if !self.bytes[self.at..].starts_with(word) {
            return Err(self.broken("a JSON value"));
        }
        self.at += word.len();
        Ok(())
    }

    /// The next byte.
    #[inline]
    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Takes a byte behind spaces, if it is this one.
    #[inline]
    pub(super) fn take(&mut self, wanted: u8) -> bool {
        self.skip_spaces();
        let found = self.peek() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    /// Takes a byte behind spaces that must be this one.
    #[inline]
    pub(super) fn expect(&mut self, wanted: u8, what: &str) -> Result<(), Misfit> {
        if self.take(wanted) { Ok(()) } else { Err(self.broken(what)) }
    }

    /// Skips spaces.
    #[inline]
    pub(super) fn skip_spaces(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    /// It is no JSON here.
    pub(super) fn broken(&self, expected: &str) -> Misfit {
        not_json(expected, self.at)
    }
}

fn not_json(expected: &str, offset: usize) -> Misfit {
    Misfit::new(format!("is not valid JSON: expected {expected} at byte {offset}"))
}

/// Whether a byte is text of a string as it stands, or ends one.
fn is_plain_text(byte: u8) -> bool {
    (FIRST_PLAIN..0x80).contains(&byte) && byte != b'\\'
}
