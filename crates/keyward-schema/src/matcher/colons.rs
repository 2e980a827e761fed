//! Where the colons of a key are.
//!
//! Sixty-four bytes are examined at once into a mask of 64 bits, eight bytes
//! by a handful of instructions that do not depend on what they hold. Finding
//! the next colon is then a matter of counting zeros: short segments of random
//! length cost no mispredicted branch each, as a search byte by byte would.

/// How many bytes one mask covers.
const BLOCK_BYTES: usize = u64::BITS as usize;

/// The positions of the colons in a key, in order.
pub(super) struct Colons<'k> {
    key: &'k [u8],
    /// Where the block that the mask covers starts.
    block: usize,
    /// One bit for each byte of the block that is a colon still to come.
    ahead: u64,
}

impl<'k> Colons<'k> {
    #[inline]
    pub(super) fn of(key: &'k [u8]) -> Colons<'k> {
        Colons { key, block: 0, ahead: mask(key) }
    }

    #[inline]
    pub(super) fn next(&mut self) -> Option<usize> {
        while self.ahead == 0 {
            let rest = self.key.get(self.block + BLOCK_BYTES..).filter(|rest| !rest.is_empty())?;
            self.block += BLOCK_BYTES;
            self.ahead = mask(rest);
        }
        let at = self.block + self.ahead.trailing_zeros() as usize;
        self.ahead &= self.ahead - 1;
        Some(at)
    }
}

/// One bit for each colon among the first `BLOCK_BYTES` bytes.
#[inline]
fn mask(bytes: &[u8]) -> u64 {
    let bytes = &bytes[..bytes.len().min(BLOCK_BYTES)];
    let (words, _) = bytes.as_chunks();
    let whole = words.iter().rev().fold(0, |mask, word| mask << 8 | mask_of_word(*word));
    match bytes.last_chunk() {
        // The last eight bytes overlap what is covered already, which does no harm.
        Some(last) => whole | mask_of_word(*last) << (bytes.len() - 8),
        None => bytes.iter().rev().fold(0, |mask, &byte| mask << 1 | u64::from(byte == b':')),
    }
}

/// One bit for each of eight bytes that is a colon.
#[inline]
fn mask_of_word(word: [u8; 8]) -> u64 {
    const LOW_BITS: u64 = u64::from_le_bytes([0x7f; 8]);
    // A colon becomes zero, and zero is what has neither a high bit nor a low
    // bit that would carry into the high one.
    let word = u64::from_le_bytes(word) ^ u64::from_le_bytes([b':'; 8]);
    let high_bits = !(((word & LOW_BITS) + LOW_BITS) | word | LOW_BITS);
    // The multiplication gathers the eight high bits in the highest byte.
    (high_bits >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn colons(key: &[u8]) -> Vec<usize> {
        let mut colons = Colons::of(key);
        std::iter::from_fn(|| colons.next()).collect()
    }

    #[test]
    fn colons_at_the_edges_of_words_and_blocks_are_found() {
        for length in 0..200 {
            for at in 0..length {
                let mut key = vec![b'9'; length];
                key[at] = b':';
                assert_eq!(colons(&key), [at], "of {length} bytes");
            }
            assert_eq!(colons(&vec![b':'; length]), (0..length).collect::<Vec<_>>());
            assert_eq!(colons(&vec![b':' | 0x80; length]), [0_usize; 0]);
        }
    }

    proptest! {
        #[test]
        fn all_colons_are_found_and_nothing_else(
            key in prop::collection::vec(prop_oneof![Just(b':'), Just(b';'), any::<u8>()], 0..300)
        ) {
            let expected: Vec<usize> =
                (0..key.len()).filter(|&at| key[at] == b':').collect();
            prop_assert_eq!(colons(&key), expected);
        }
    }
}
