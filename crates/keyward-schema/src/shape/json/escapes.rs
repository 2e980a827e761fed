//! What the escapes of a JSON string stand for.

use std::borrow::Cow;

/// Works out the escapes of a string that was read without an error. Half a
/// surrogate pair becomes the replacement character.
pub(super) fn unescape(inner: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr(b'\\', inner).is_none() {
        return Cow::Borrowed(inner);
    }
    let mut plain = Vec::with_capacity(inner.len());
    let mut at = 0;
    while let Some(&byte) = inner.get(at) {
        at += 1;
        if byte != b'\\' {
            plain.push(byte);
            continue;
        }
        let escape = inner.get(at).copied().unwrap_or(b'\\');
        at += 1;
        match escape {
            b'b' => plain.push(8),
            b'f' => plain.push(12),
            b'n' => plain.push(b'\n'),
            b'r' => plain.push(b'\r'),
            b't' => plain.push(b'\t'),
            b'u' => {
                let (character, length) = unicode_escape(&inner[at..]);
                at += length;
                plain.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            same => plain.push(same),
        }
    }
    Cow::Owned(plain)
}

/// Reads the digits behind `\u`, and a second half where the first needs one.
fn unicode_escape(rest: &[u8]) -> (char, usize) {
    let unit = |digits: Option<&[u8]>| {
        let digits = std::str::from_utf8(digits?).ok()?;
        u32::from_str_radix(digits, 16).ok()
    };
    let first = unit(rest.get(..4)).unwrap_or(0xFFFD);
    if !(0xD800..0xDC00).contains(&first) {
        return (char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER), 4);
    }
    let second = match rest.get(4..6) {
        Some(b"\\u") => unit(rest.get(6..10)),
        _ => None,
    };
    match second {
        Some(second @ 0xDC00..0xE000) => {
            let code = 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
            (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 10)
        }
        _ => (char::REPLACEMENT_CHARACTER, 4),
    }
}
