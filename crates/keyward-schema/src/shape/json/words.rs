//! Looking at eight bytes of a text at a time.
//!
//! Owns the marking of bytes within a word by their highest bits, and the searches and
//! comparisons that rest on it.

/// A one in each byte.
const ONES: u64 = u64::from_le_bytes([1; 8]);
/// The highest bit of each byte.
const HIGH: u64 = ONES << 7;

/// Marks the bytes of a word that are below a limit of ASCII, by their highest bits. One
/// that is marked falsely lies behind one that is marked rightly.
#[inline]
pub(super) fn below(word: u64, limit: u8) -> u64 {
    word.wrapping_sub(ONES * u64::from(limit)) & !word & HIGH
}

/// Marks the bytes of a word that are this one, as `below` does.
#[inline]
pub(super) fn is(word: u64, byte: u8) -> u64 {
    below(word ^ (ONES * u64::from(byte)), 1)
}

/// Marks its quotes.
#[inline]
pub(super) fn is_quote(word: u64) -> u64 {
    is(word, b'"')
}

/// Where the next quote is, eight bytes looked at at a time.
#[inline(always)]
pub(super) fn quote_from(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    while let Some(word) = bytes.get(at..)?.first_chunk::<8>() {
        let marks = is_quote(u64::from_le_bytes(*word));
        if marks != 0 {
            return Some(at + marks.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    bytes[at..].iter().position(|byte| *byte == b'"').map(|place| at + place)
}

/// Whether two texts, which are short mostly, are the same: for eight bytes calling the
/// general comparison takes longer than comparing.
#[inline(always)]
pub(super) fn is_same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    if let (Some(first_a), Some(last_a), Some(first_b), Some(last_b)) =
        (a.first_chunk::<8>(), a.last_chunk::<8>(), b.first_chunk::<8>(), b.last_chunk::<8>())
    {
        return first_a == first_b && last_a == last_b && (a.len() <= 16 || a == b);
    }
    if let (Some(first_a), Some(last_a), Some(first_b), Some(last_b)) =
        (a.first_chunk::<4>(), a.last_chunk::<4>(), b.first_chunk::<4>(), b.last_chunk::<4>())
    {
        return first_a == first_b && last_a == last_b;
    }
    a.iter().zip(b).all(|(a, b)| a == b)
}

/// How many bytes come before the first that is marked, eight looked at at a time; all of
/// them if none is. A quote must be marked.
#[inline]
pub(super) fn bytes_before(bytes: &[u8], marked: impl Fn(u64) -> u64) -> usize {
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let marks = marked(u64::from_le_bytes(*word));
        if marks != 0 {
            return index * 8 + marks.trailing_zeros() as usize / 8;
        }
    }
    let mut last = [b'"'; 8];
    last[..rest.len()].copy_from_slice(rest);
    let marks = marked(u64::from_le_bytes(last));
    bytes.len() - rest.len() + marks.trailing_zeros() as usize / 8
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST_PLAIN: u8 = 0x20;

    #[test]
    fn bytes_are_counted_up_to_the_first_that_is_marked() {
        let marked = |word| is_quote(word) | is(word, b'\\') | below(word, FIRST_PLAIN);
        for length in 0..20 {
            for other in [b'x', 0x20, 0x7f, 0x80, 0xff] {
                let mut text = vec![other; length];
                assert_eq!(bytes_before(&text, marked), length);
                for byte in 0..=u8::MAX {
                    let is_marked = byte < FIRST_PLAIN || matches!(byte, b'"' | b'\\');
                    for at in 0..length {
                        text[at] = byte;
                        let expected = if is_marked { at } else { length };
                        assert_eq!(bytes_before(&text, marked), expected);
                        text[at] = other;
                    }
                }
            }
        }
    }
}
