//! LZF, the compression of texts.
//!
//! ```text
//! 000LLLLL                       L + 1 bytes follow as they are
//! LLLooooo oooooooo              L + 2 bytes (L = 1..=6) from o + 1 bytes before
//! 111ooooo LLLLLLLL oooooooo     L + 9 bytes from o + 1 bytes before
//! ```
//! The same input always gives the same output: the table is made anew for each.

const LITERAL_MAX: usize = 32;
const MATCH_MIN: usize = 3;
const MATCH_MAX: usize = 264;
const DISTANCE_MAX: usize = 1 << 13;
/// Matches of this length and more have a byte for it.
const MATCH_LONG: usize = 9;

/// Entries of the table of places: the square of the length, within these bits.
const TABLE_BITS_MIN: u32 = 8;
const TABLE_BITS_MAX: u32 = 14;

/// Appends the compressed form, if it has at most `bytes_max` bytes; returns whether
/// it has. Otherwise `out` is as it was.
pub(crate) fn compress(input: &[u8], bytes_max: usize, out: &mut Vec<u8>) -> bool {
    let start = out.len();
    let bits = (usize::BITS - input.len().leading_zeros()).clamp(TABLE_BITS_MIN, TABLE_BITS_MAX);
    // Where three bytes of this hash were seen last, plus one.
    let mut places = vec![0u32; 1 << bits];
    let (mut at, mut literal_from) = (0, 0);
    while at + MATCH_MIN <= input.len() {
        let hash = hash(&input[at..at + MATCH_MIN], bits);
        let candidate = std::mem::replace(&mut places[hash], at as u32 + 1) as usize;
        let length = match candidate.checked_sub(1) {
            Some(before) if at - before <= DISTANCE_MAX => common(input, before, at),
            _ => 0,
        };
        if length < MATCH_MIN {
            at += 1;
            continue;
        }
        push_literals(out, &input[literal_from..at]);
        push_match(out, at - candidate, length);
        at += length;
        literal_from = at;
        if out.len() - start > bytes_max {
            break;
        }
    }
    push_literals(out, &input[literal_from..]);
    let fits = out.len() - start <= bytes_max;
    if !fits {
        out.truncate(start);
    }
    fits
}

fn hash(three: &[u8], bits: u32) -> usize {
    let number = u32::from_le_bytes([three[0], three[1], three[2], 0]);
    (number.wrapping_mul(0x9e37_79b1) >> (32 - bits)) as usize
}

/// How many bytes from two places on are the same, up to what a match can hold.
fn common(input: &[u8], before: usize, at: usize) -> usize {
    let pairs = input[before..].iter().zip(&input[at..]).take(MATCH_MAX);
    pairs.take_while(|(a, b)| a == b).count()
}

fn push_literals(out: &mut Vec<u8>, literals: &[u8]) {
    for run in literals.chunks(LITERAL_MAX) {
        out.push(run.len() as u8 - 1);
        out.extend_from_slice(run);
    }
}

/// `offset` is the distance minus one.
fn push_match(out: &mut Vec<u8>, offset: usize, length: usize) {
    let (high, low) = ((offset >> 8) as u8, offset as u8);
    if length < MATCH_LONG {
        out.extend_from_slice(&[(length as u8 - 2) << 5 | high, low]);
    } else {
        out.extend_from_slice(&[7 << 5 | high, (length - MATCH_LONG) as u8, low]);
    }
}

/// Appends what was compressed; `None` if it is not exactly `len` bytes or was not
/// compressed at all.
pub(crate) fn decompress(mut input: &[u8], len: usize, out: &mut Vec<u8>) -> Option<()> {
    let start = out.len();
    while let Some((&control, rest)) = input.split_first() {
        input = rest;
        let left = len - (out.len() - start);
        if control < 1 << 5 {
            let (literals, rest) = input.split_at_checked(usize::from(control) + 1)?;
            if literals.len() > left {
                return None;
            }
            out.extend_from_slice(literals);
            input = rest;
            continue;
        }
        let mut count = usize::from(control >> 5) + 2;
        if count == MATCH_LONG {
            let (&more, rest) = input.split_first()?;
            count += usize::from(more);
            input = rest;
        }
        let (&low, rest) = input.split_first()?;
        input = rest;
        let distance = (usize::from(control & 0x1f) << 8 | usize::from(low)) + 1;
        let from = out.len().checked_sub(distance).filter(|from| *from >= start)?;
        if count > left {
            return None;
        }
        let end = out.len() + count;
        while out.len() < end {
            // The copy may reach into itself: what is there repeats, twice as much each time.
            let part = (out.len() - from).min(end - out.len());
            out.extend_from_within(from..from + part);
        }
    }
    (out.len() - start == len).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check_back(input: &[u8]) -> usize {
        let mut compressed = b"before".to_vec();
        assert!(compress(input, 2 * input.len() + 2, &mut compressed));
        let mut back = b"kept".to_vec();
        decompress(&compressed[6..], input.len(), &mut back).expect("it was compressed");
        assert_eq!(&back[4..], input);
        compressed.len() - 6
    }

    #[test]
    fn what_repeats_becomes_short() {
        assert_eq!(check_back(b""), 0);
        assert!(check_back(&[b'a'; 1000]) < 20);
        assert!(check_back(&b"key:value,".repeat(100)) < 60);
        assert_eq!(check_back(b"abcdefghij"), 11);
    }

    #[test]
    fn what_does_not_become_short_is_left() {
        let mut out = b"kept".to_vec();
        assert!(!compress(b"abcdefghijklmnopqrstuvwxyz", 22, &mut out));
        assert_eq!(out, b"kept");
    }

    #[test]
    fn damage_is_refused() {
        for (input, len) in [
            (&b"\x05abc"[..], 6),
            (b"\x20\x00", 3),
            (b"\x00a\x20\x01", 4),
            (b"\x00a\xe0", 20),
            (b"\x00a\xe0\xff\x00", 20),
            (b"\x00a", 2),
            (b"\x01ab", 1),
        ] {
            // What stood in `out` before is out of reach.
            let mut out = b"before".to_vec();
            assert_eq!(decompress(input, len, &mut out), None, "{}", input.escape_ascii());
        }
    }

    proptest! {
        #[test]
        fn any_text_comes_back(words in proptest::collection::vec("[a-c]{0,9}", 0..200)) {
            check_back(words.concat().as_bytes());
        }

        #[test]
        fn any_bytes_come_back(bytes: Vec<u8>) {
            check_back(&bytes);
        }
    }
}
