//! Bytes from outside, made safe for a terminal.
//!
//! Invariant: the answer has no control character, and so no escape sequence
//! and no line break.

use std::borrow::Cow;
use std::fmt::Write;

/// A text with its control characters written as `\n`, `\x1b` or `\u{202e}`.
pub fn escape(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        push(&mut escaped, c);
    }
    Cow::Owned(escaped)
}

/// Bytes that need not be text: what is not UTF-8 is written as `\xff`, and a
/// backslash as `\\`, so that the answer can be read back.
pub fn escape_bytes(bytes: &[u8]) -> String {
    let mut escaped = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\\' => escaped.push_str("\\\\"),
                c if is_unsafe(c) && !c.is_ascii() => {
                    for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                        push_hex(&mut escaped, byte);
                    }
                }
                c => push(&mut escaped, c),
            }
        }
        for byte in chunk.invalid() {
            push_hex(&mut escaped, *byte);
        }
    }
    escaped
}

fn push(escaped: &mut String, c: char) {
    match c {
        '\n' => escaped.push_str("\\n"),
        '\r' => escaped.push_str("\\r"),
        '\t' => escaped.push_str("\\t"),
        c if c.is_ascii_control() => push_hex(escaped, c as u8),
        c if is_unsafe(c) => escaped.extend(c.escape_unicode()),
        c => escaped.push(c),
    }
}

fn push_hex(escaped: &mut String, byte: u8) {
    // Writing to a string cannot fail.
    let _ = write!(escaped, "\\x{byte:02x}");
}

/// Control characters, and the marks that turn the direction of writing.
fn is_unsafe(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_become_visible() {
        let check = |text, expected| assert_eq!(escape(text), expected);
        check("user:ü 7", "user:ü 7");
        check("a\x1b[31m\r\n\t\0", "a\\x1b[31m\\r\\n\\t\\x00");
        check("\u{9b}31m", "\\u{9b}31m");
        check("a\u{202e}b", "a\\u{202e}b");
        check("C:\\dir", "C:\\dir");
    }

    #[test]
    fn bytes_that_are_no_text_become_visible() {
        let check = |bytes: &[u8], expected| assert_eq!(escape_bytes(bytes), expected);
        check(b"user:7", "user:7");
        check(b"a\xff\xfe\\n\n", "a\\xff\\xfe\\\\n\\n");
        check("ü".as_bytes(), "ü");
        check("\u{9b}\u{202e}".as_bytes(), "\\xc2\\x9b\\xe2\\x80\\xae");
    }
}
