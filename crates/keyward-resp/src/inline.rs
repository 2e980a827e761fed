//! Splitting a line into words with quotes, as Redis does for inline commands.
//!
//! `"…"` knows `\n \r \t \b \a \xHH` and `\` before any other byte; `'…'` knows `\'`
//! only. A closing quote must be followed by a space or the end of the line.
//! Not here: finding the line.

use crate::args::ArgRange;

/// Splits `line` into words and unquotes them where they lie: a word never gets longer.
/// The ranges are offset by `base`, where the line begins in its buffer. Says whether
/// the quotes were balanced.
pub(crate) fn split_in_place(line: &mut [u8], base: usize, words: &mut Vec<ArgRange>) -> bool {
    let mut read = 0;
    loop {
        while line.get(read).is_some_and(is_space) {
            read += 1;
        }
        if read == line.len() {
            return true;
        }
        let start = read;
        let Some((len, next)) = take_word(line, start) else { return false };
        words.push(ArgRange { start: base + start, len });
        read = next;
    }
}

/// The words of a line, unquoted; `None` if the quotes are not balanced.
pub fn split_words(line: &[u8]) -> Option<Vec<Vec<u8>>> {
    let (mut line, mut words) = (line.to_vec(), Vec::new());
    let is_balanced = split_in_place(&mut line, 0, &mut words);
    let words = words.iter().map(|word| line[word.start..word.start + word.len].to_vec());
    is_balanced.then(|| words.collect())
}

/// The C library's `isspace`.
fn is_space(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r')
}

/// Unquotes the word that begins at `start`; its length there and where to go on.
fn take_word(line: &mut [u8], start: usize) -> Option<(usize, usize)> {
    let (mut read, mut write) = (start, start);
    while let Some(&byte) = line.get(read) {
        match byte {
            // A word ends at fewer bytes than are skipped before it: vertical tab and
            // form feed belong to it.
            b' ' | b'\n' | b'\r' | b'\t' => {
                read += 1;
                break;
            }
            b'"' | b'\'' => {
                (read, write) = take_quoted(line, read, write)?;
                break;
            }
            _ => {
                line[write] = byte;
                read += 1;
                write += 1;
            }
        }
    }
    Some((write - start, read))
}

/// Unquotes from the opening quote at `read` to the closing one. `None` if the closing
/// one is missing or something follows it.
fn take_quoted(line: &mut [u8], mut read: usize, mut write: usize) -> Option<(usize, usize)> {
    let quote = line[read];
    read += 1;
    loop {
        let (byte, used) = match (quote, &line[read..]) {
            (_, []) => return None,
            (b'"', [b'\\', b'x', high, low, ..])
                if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
            {
                (hex_digit(*high) * 16 + hex_digit(*low), 4)
            }
            (b'"', [b'\\', escaped, ..]) => (unescaped(*escaped), 2),
            (b'\'', [b'\\', b'\'', ..]) => (b'\'', 2),
            (_, [byte, next, ..]) if *byte == quote => {
                return is_space(next).then_some((read + 1, write));
            }
            (_, [byte]) if *byte == quote => return Some((read + 1, write)),
            (_, [byte, ..]) => (*byte, 1),
        };
        line[write] = byte;
        read += used;
        write += 1;
    }
}

fn hex_digit(byte: u8) -> u8 {
    match byte {
        b'0'..=b'9' => byte - b'0',
        b'a'..=b'f' => byte - b'a' + 10,
        _ => byte - b'A' + 10,
    }
}

fn unescaped(byte: u8) -> u8 {
    match byte {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => 0x08,
        b'a' => 0x07,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Args;

    fn check(line: &str, expected: Option<&[&[u8]]>) {
        let mut bytes = line.as_bytes().to_vec();
        let mut words = Vec::new();
        let balanced = split_in_place(&mut bytes, 0, &mut words);
        let words: Vec<&[u8]> = Args::new(&bytes, &words).iter().collect();
        assert_eq!(balanced.then_some(&words[..]), expected, "{line:?}");
    }

    #[test]
    fn words_are_split_and_unquoted() {
        check("", Some(&[]));
        check(" \t\x0b\x0c", Some(&[]));
        check("set  k v ", Some(&[b"set", b"k", b"v"]));
        check(r#"set k "a b""#, Some(&[b"set", b"k", b"a b"]));
        check(r#""\x41\x4g\n\r\t\b\a\q\"""#, Some(&[b"Ax4g\n\r\t\x08\x07q\""]));
        check(r"'a\'b\n' c", Some(&[b"a'b\\n", b"c"]));
        check(r#"foo"bar" "" ''"#, Some(&[b"foobar", b"", b""]));
        check("a\x0bb\tc", Some(&[b"a\x0bb", b"c"]));
    }

    #[test]
    fn unbalanced_quotes_are_refused() {
        for line in ["\"", "'", "\"a", "'a\\'", "\"a\"b", "'a'b", "\"a\\", "a\"b\"c"] {
            check(line, None);
        }
    }
}
