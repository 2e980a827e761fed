//! Where the segments of a key end.
//!
//! Sixty-four bytes are examined at once into a mask of 64 bits, by the same
//! instructions whatever they hold and however many they are. Finding the next
//! end is then a matter of counting zeros: segments of random length cost no
//! mispredicted branch each, as a search byte by byte would.

use super::lane::{LANE_BYTES, colons};
use super::text::Text;

/// How many bytes one mask covers.
const BLOCK_BYTES: usize = u64::BITS as usize;

/// Where the segments of a key end: at its colons, and at its own end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends {
    /// Where the block that the mask covers starts.
    block: usize,
    /// One bit for each byte of the block where a segment still to come ends.
    ahead: u64,
}

impl Ends {
    #[inline]
    pub(super) fn of(key: Text<'_>) -> Ends {
        // The end of the key is a bit like any other, so that the last segment
        // needs no branch of its own.
        let end = 1_u64.checked_shl(key.length().min(BLOCK_BYTES) as u32).unwrap_or(0);
        Ends { block: 0, ahead: mask(key.readable()) | end }
    }

    /// Where the next segment ends. The key must be the one that these are the
    /// ends of, and its last segment still to come.
    #[inline]
    pub(super) fn next(&mut self, key: &[u8]) -> usize {
        if self.ahead == 0 {
            self.advance(key);
        }
        let end = self.block + self.ahead.trailing_zeros() as usize;
        self.ahead &= self.ahead - 1;
        end
    }

    /// Where the segment behind so many others starts, which the key must have.
    #[inline]
    pub(super) fn start_behind(mut self, key: &[u8], segment_count: u8) -> usize {
        (0..segment_count).fold(0, |_, _| self.next(key) + 1)
    }

    /// Goes on to the next block that holds an end.
    #[cold]
    fn advance(&mut self, key: &[u8]) {
        while self.ahead == 0 {
            self.block += BLOCK_BYTES;
            self.ahead = Text::with(&key[self.block..], Ends::of).ahead;
        }
    }
}

/// One bit for each colon among the first `BLOCK_BYTES` bytes.
#[inline]
fn mask(bytes: &[u8]) -> u64 {
    let last = bytes.len().min(BLOCK_BYTES) - LANE_BYTES;
    // Where there are fewer than four lanes, the last one is examined again.
    [0, LANE_BYTES, 2 * LANE_BYTES, 3 * LANE_BYTES].iter().fold(0, |mask, lane| {
        let at = last.min(*lane);
        let lane = bytes[at..].first_chunk().expect("a lane before the end");
        mask | colons(*lane) << at
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn colons_of(key: &[u8]) -> Vec<usize> {
        let mut ends = Text::with(key, Ends::of);
        std::iter::from_fn(|| Some(ends.next(key))).take_while(|&at| at < key.len()).collect()
    }

    #[test]
    fn colons_at_the_edges_of_words_and_blocks_are_found() {
        for length in 0..200 {
            for at in 0..length {
                let mut key = vec![b'9'; length];
                key[at] = b':';
                assert_eq!(colons_of(&key), [at], "of {length} bytes");
            }
            assert_eq!(colons_of(&vec![b':'; length]), (0..length).collect::<Vec<_>>());
            assert_eq!(colons_of(&vec![b':' | 0x80; length]), [0_usize; 0]);
        }
    }

    proptest! {
        #[test]
        fn all_colons_are_found_and_nothing_else(
            key in prop::collection::vec(prop_oneof![Just(b':'), Just(b';'), any::<u8>()], 0..300)
        ) {
            let expected: Vec<usize> =
                (0..key.len()).filter(|&at| key[at] == b':').collect();
            prop_assert_eq!(colons_of(&key), expected);
        }
    }
}
