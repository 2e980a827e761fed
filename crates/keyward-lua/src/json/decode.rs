//! JSON text to Lua values.
//!
//! As lax as lua-cjson: numbers are what `strtod` reads (`01`, `0x10`, `-inf`), and
//! the text ends at its first zero byte.
#![allow(unsafe_code)]

use super::JsonSettings;
use crate::number::read_prefix;
use crate::runtime::Runtime;
use crate::stack::{Raised, Returned, Stack};
use crate::watch::{COPIED_BYTES_PER_STEP, Watch};

/// What a value is worth, in steps.
const STEPS_PER_VALUE: usize = 20;
/// Deepest nesting, whatever the settings say: the thread's stack must hold it.
const DEPTH_MAX: i32 = 2_500;

/// `cjson.decode(text)`
pub(super) fn decode(stack: Stack, runtime: &mut Runtime) -> Returned {
    if stack.len() != 1 {
        return stack.fail_argument(1, format_args!("expected 1 argument"));
    }
    // SAFETY: the argument stays at its place until this returns: values are pushed above it.
    let text = unsafe { stack.text_argument(1)? };
    if let [0, _, ..] | [_, 0, ..] = text {
        return stack.fail(format_args!("JSON parser does not support UTF-16 or UTF-32"));
    }
    let end = text.iter().position(|&byte| byte == 0).unwrap_or(text.len());
    let settings: JsonSettings = stack.settings();
    let Runtime { scratch, watch, .. } = runtime;
    let text = &text[..end];
    // Values are counted one by one, and one may be a long text.
    watch.spend(text.len() / COPIED_BYTES_PER_STEP).map_err(|_| stack.end_run(watch))?;
    let mut parser = Parser { stack, settings, text, at: 0, depth: 0, scratch, watch };
    let (token, start) = parser.token();
    parser.value(token, start)?;
    match parser.token() {
        (Token::End, _) => Ok(1),
        (token, start) => parser.unexpected("the end", token, start),
    }
}

#[derive(Clone, Copy)]
enum Token {
    ObjectBegin,
    ObjectEnd,
    ArrayBegin,
    ArrayEnd,
    /// Its bytes are in the scratch buffer.
    String,
    Number(f64),
    Boolean(bool),
    Null,
    Colon,
    Comma,
    End,
    Error(&'static str),
}

impl Token {
    /// As error messages call it.
    fn name(self) -> &'static str {
        match self {
            Token::ObjectBegin => "T_OBJ_BEGIN",
            Token::ObjectEnd => "T_OBJ_END",
            Token::ArrayBegin => "T_ARR_BEGIN",
            Token::ArrayEnd => "T_ARR_END",
            Token::String => "T_STRING",
            Token::Number(_) => "T_NUMBER",
            Token::Boolean(_) => "T_BOOLEAN",
            Token::Null => "T_NULL",
            Token::Colon => "T_COLON",
            Token::Comma => "T_COMMA",
            Token::End => "T_END",
            Token::Error(text) => text,
        }
    }
}

struct Parser<'a> {
    stack: Stack,
    settings: JsonSettings,
    text: &'a [u8],
    at: usize,
    depth: i32,
    scratch: &'a mut Vec<u8>,
    watch: &'a mut Watch,
}

impl Parser<'_> {
    fn unexpected<T>(&self, expected: &str, token: Token, start: usize) -> Result<T, Raised> {
        let (found, place) = (token.name(), start + 1);
        self.stack.fail(format_args!("Expected {expected} but found {found} at character {place}"))
    }

    /// Pushes the value that begins with `token`.
    fn value(&mut self, token: Token, start: usize) -> Result<(), Raised> {
        self.watch.spend(STEPS_PER_VALUE).map_err(|_| self.stack.end_run(self.watch))?;
        match token {
            Token::String => self.stack.push_bytes(self.scratch),
            Token::Number(value) => self.stack.push_number(value),
            Token::Boolean(value) => self.stack.push_boolean(value),
            Token::Null => self.stack.push_null(),
            Token::ObjectBegin => return self.object(),
            Token::ArrayBegin => return self.array(),
            other => return self.unexpected("value", other, start),
        }
        Ok(())
    }

    fn descend(&mut self) -> Result<(), Raised> {
        self.depth += 1;
        if self.depth <= self.settings.decode_depth_max.min(DEPTH_MAX) && self.stack.has_room(4) {
            return Ok(());
        }
        let (depth, at) = (self.depth, self.at);
        self.stack
            .fail(format_args!("Found too many nested data structures ({depth}) at character {at}"))
    }

    fn object(&mut self) -> Result<(), Raised> {
        self.descend()?;
        self.stack.push_table();
        let (mut token, mut start) = self.token();
        if !matches!(token, Token::ObjectEnd) {
            loop {
                if !matches!(token, Token::String) {
                    return self.unexpected("object key string", token, start);
                }
                self.stack.push_bytes(self.scratch);
                (token, start) = self.token();
                if !matches!(token, Token::Colon) {
                    return self.unexpected("colon", token, start);
                }
                (token, start) = self.token();
                self.value(token, start)?;
                self.stack.set_pair(-3);
                (token, start) = self.token();
                match token {
                    Token::ObjectEnd => break,
                    Token::Comma => (token, start) = self.token(),
                    other => return self.unexpected("comma or object end", other, start),
                }
            }
        }
        self.depth -= 1;
        Ok(())
    }

    fn array(&mut self) -> Result<(), Raised> {
        self.descend()?;
        self.stack.push_table();
        let (mut token, mut start) = self.token();
        if !matches!(token, Token::ArrayEnd) {
            let mut index = 1;
            loop {
                self.value(token, start)?;
                self.stack.set_element(-2, index);
                index += 1;
                (token, start) = self.token();
                match token {
                    Token::ArrayEnd => break,
                    Token::Comma => (token, start) = self.token(),
                    other => return self.unexpected("comma or array end", other, start),
                }
            }
        }
        self.depth -= 1;
        Ok(())
    }

    /// The next token and where it begins, or where it is wrong.
    fn token(&mut self) -> (Token, usize) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.text.get(self.at) {
            self.at += 1;
        }
        let start = self.at;
        let Some(&first) = self.text.get(start) else { return (Token::End, start) };
        let single = match first {
            b'{' => Token::ObjectBegin,
            b'}' => Token::ObjectEnd,
            b'[' => Token::ArrayBegin,
            b']' => Token::ArrayEnd,
            b',' => Token::Comma,
            b':' => Token::Colon,
            b'"' => return self.string(),
            _ => return (self.word(first), start),
        };
        self.at += 1;
        (single, start)
    }

    /// A number or a name.
    fn word(&mut self, first: u8) -> Token {
        const NAMES: [(&[u8], Token); 3] = [
            (b"true", Token::Boolean(true)),
            (b"false", Token::Boolean(false)),
            (b"null", Token::Null),
        ];
        let rest = &self.text[self.at..];
        if matches!(first, b'-' | b'0'..=b'9') {
            if !self.settings.decode_invalid && is_invalid_number(rest) {
                return Token::Error("invalid number");
            }
            return self.number();
        }
        if let Some((name, token)) = NAMES.iter().find(|(name, _)| rest.starts_with(name)) {
            self.at += name.len();
            return *token;
        }
        let may_be_number = matches!(first, b'+' | b'i' | b'I' | b'n' | b'N');
        if may_be_number && self.settings.decode_invalid && is_invalid_number(rest) {
            return self.number();
        }
        Token::Error("invalid token")
    }

    fn number(&mut self) -> Token {
        match read_prefix(&self.text[self.at..]) {
            Some((value, used)) => {
                self.at += used;
                Token::Number(value)
            }
            None => Token::Error("invalid number"),
        }
    }

    /// A string, decoded into the scratch buffer.
    fn string(&mut self) -> (Token, usize) {
        let start = self.at;
        self.at += 1;
        self.scratch.clear();
        loop {
            let rest = &self.text[self.at..];
            let Some(plain) = rest.iter().position(|byte| matches!(byte, b'"' | b'\\')) else {
                return (Token::Error("unexpected end of string"), self.text.len());
            };
            self.scratch.extend_from_slice(&rest[..plain]);
            self.at += plain;
            if rest[plain] == b'"' {
                self.at += 1;
                return (Token::String, start);
            }
            let (byte, used) = match rest.get(plain + 1) {
                Some(&byte @ (b'"' | b'\\' | b'/')) => (byte, 2),
                Some(b'b') => (8, 2),
                Some(b't') => (b'\t', 2),
                Some(b'n') => (b'\n', 2),
                Some(b'f') => (12, 2),
                Some(b'r') => (b'\r', 2),
                Some(b'u') => match unicode_escape(&rest[plain..]) {
                    Some((character, used)) => {
                        push_utf8(self.scratch, character);
                        self.at += used;
                        continue;
                    }
                    None => return (Token::Error("invalid unicode escape code"), self.at),
                },
                _ => return (Token::Error("invalid escape code"), self.at),
            };
            self.scratch.push(byte);
            self.at += used;
        }
    }
}

/// Whether a number, if it is one, is none in strict JSON.
fn is_invalid_number(text: &[u8]) -> bool {
    let digits = match text {
        [b'+', ..] => return true,
        [b'-', rest @ ..] => rest,
        rest => rest,
    };
    match digits {
        [b'0', b'x' | b'X' | b'0'..=b'9', ..] => true,
        [a, b, c, ..] => {
            let name = [*a, *b, *c].map(|byte| byte.to_ascii_lowercase());
            name == *b"inf" || name == *b"nan"
        }
        _ => false,
    }
}

/// The code point of `\uXXXX` or of a pair of them, and their length.
fn unicode_escape(text: &[u8]) -> Option<(u32, usize)> {
    let high = hex4(text.get(2..6)?)?;
    if high & 0xF800 != 0xD800 {
        return Some((high, 6));
    }
    let [b'\\', b'u', low @ ..] = text.get(6..12)? else { return None };
    let low = hex4(low)?;
    if high & 0x400 != 0 || low & 0xFC00 != 0xDC00 {
        return None;
    }
    Some((((high & 0x3FF) << 10 | (low & 0x3FF)) + 0x1_0000, 12))
}

fn hex4(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |value, &digit| Some(value << 4 | char::from(digit).to_digit(16)?))
}

fn push_utf8(out: &mut Vec<u8>, character: u32) {
    // Surrogates were paired, so this is always a character.
    let character = char::from_u32(character).unwrap_or(char::REPLACEMENT_CHARACTER);
    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
}
