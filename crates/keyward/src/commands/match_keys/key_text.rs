//! Keys as they are typed: bytes that no keyboard has are escaped.

/// Reads `\xNN`, `\n`, `\r`, `\t` and `\\`; any other backslash is itself.
/// This is the way back from [`keyward_schema::escape_bytes`].
pub(super) fn unescape(text: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(text.len());
    let mut rest = text;
    loop {
        rest = match rest {
            [] => return key,
            [b'\\', b'x', high, low, rest @ ..]
                if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
            {
                key.push(digit(*high) << 4 | digit(*low));
                rest
            }
            [b'\\', escaped @ (b'n' | b'r' | b't' | b'\\'), rest @ ..] => {
                key.push(match escaped {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    _ => b'\\',
                });
                rest
            }
            [byte, rest @ ..] => {
                key.push(*byte);
                rest
            }
        };
    }
}

/// The value of a hexadecimal digit.
fn digit(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        b'a'..=b'f' => digit - b'a' + 10,
        _ => digit - b'A' + 10,
    }
}

#[cfg(test)]
mod tests {
    use keyward_schema::escape_bytes;

    use super::*;

    #[test]
    fn escapes_stand_for_bytes() {
        let check = |text: &str, expected: &[u8]| {
            assert_eq!(unescape(text.as_bytes()), expected, "{text}");
        };
        check("user:7", b"user:7");
        check(r"a\xff\xFE", b"a\xff\xfe");
        check(r"a\n\r\t\\x41", b"a\n\r\t\\x41");
        check(r"\x4", br"\x4");
        check(r"\q\", br"\q\");
        check("ü", "ü".as_bytes());
    }

    #[test]
    fn what_is_shown_can_be_typed() {
        let every_byte: Vec<u8> = (0..=255).chain([b'\\', b'x', b'4', b'1']).collect();
        for key in [&every_byte[..], "\u{9b}\u{202e}\u{7f}ü".as_bytes()] {
            assert_eq!(unescape(escape_bytes(key).as_bytes()), key);
        }
    }
}
