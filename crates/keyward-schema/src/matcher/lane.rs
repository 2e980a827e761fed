//! Sixteen bytes examined at once (SIMD): which of them are colons, or of an alphabet.
//!
//! Owns the vector instructions of the matcher and the plain arithmetic for processors
//! other than x86-64; tests compare the two. The `unsafe` below is only the price of the
//! intrinsics.
//! Not here: which bytes are examined (`ends`, `alphabet`).
#![allow(unsafe_code)]

/// How many bytes are examined at once.
pub(super) const LANE_BYTES: usize = 16;

/// One bit for each byte of a lane that is a colon, the first byte's lowest.
#[inline]
pub(super) fn colons(lane: [u8; LANE_BYTES]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE2 is part of x86-64, and an unaligned load reads the 16 bytes of the array.
    let mask = unsafe {
        use core::arch::x86_64::{
            _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8,
        };
        let bytes = _mm_loadu_si128(lane.as_ptr().cast());
        _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(b':' as i8))) as u64
    };
    #[cfg(not(target_arch = "x86_64"))]
    let mask = colons_by_words(lane);
    mask
}

/// The bytes from `first` on, and `more` that follow it, each once for every byte of a lane.
#[derive(Clone, Copy, Debug)]
#[repr(align(16))]
pub(super) struct ByteRange {
    first: [u8; LANE_BYTES],
    more: [u8; LANE_BYTES],
}

impl ByteRange {
    pub(super) const fn new(first: u8, more: u8) -> ByteRange {
        ByteRange { first: [first; LANE_BYTES], more: [more; LANE_BYTES] }
    }
}

/// One bit for each byte of a lane that is in one of the ranges, the first byte's lowest.
#[inline]
pub(super) fn members<const N: usize>(lane: [u8; LANE_BYTES], ranges: &[ByteRange; N]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE2 is part of x86-64, and an unaligned load reads the 16 bytes of an array.
    let mask = unsafe {
        use core::arch::x86_64::{
            _mm_cmpeq_epi8, _mm_loadu_si128, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128,
            _mm_setzero_si128, _mm_sub_epi8,
        };
        let load = |bytes: &[u8; LANE_BYTES]| _mm_loadu_si128(bytes.as_ptr().cast());
        let bytes = load(&lane);
        let seen = ranges.iter().fold(_mm_setzero_si128(), |seen, range| {
            let above = _mm_sub_epi8(bytes, load(&range.first));
            let most = _mm_min_epu8(above, load(&range.more));
            _mm_or_si128(seen, _mm_cmpeq_epi8(above, most))
        });
        _mm_movemask_epi8(seen) as u32
    };
    #[cfg(not(target_arch = "x86_64"))]
    let mask = members_by_bytes(lane, ranges);
    mask
}

/// The same byte by byte.
#[cfg(any(test, not(target_arch = "x86_64")))]
#[inline]
fn members_by_bytes(lane: [u8; LANE_BYTES], ranges: &[ByteRange]) -> u32 {
    let is_in =
        |byte: u8| ranges.iter().any(|range| byte.wrapping_sub(range.first[0]) <= range.more[0]);
    lane.iter().rev().fold(0, |mask, byte| mask << 1 | u32::from(is_in(*byte)))
}

/// The same as `colons` by arithmetic on words of eight bytes (SWAR).
#[cfg(any(test, not(target_arch = "x86_64")))]
#[inline]
fn colons_by_words(lane: [u8; LANE_BYTES]) -> u64 {
    let (words, _) = lane.as_chunks();
    words.iter().rev().fold(0, |mask, word| mask << 8 | colons_of_word(u64::from_le_bytes(*word)))
}

#[cfg(any(test, not(target_arch = "x86_64")))]
#[inline]
fn colons_of_word(word: u64) -> u64 {
    const LOW_BITS: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    const COLONS: u64 = u64::from_ne_bytes([b':'; 8]);
    // Brings the lowest bit of each byte to the highest byte, the first one's lowest.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let differs = word ^ COLONS;
    // No carry leaves a byte, so that a byte's highest bit is set where it differs.
    let equal = !(((differs & LOW_BITS) + LOW_BITS) | differs | LOW_BITS) >> 7;
    equal.wrapping_mul(GATHER) >> 56
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The definition.
    fn expected(lane: [u8; LANE_BYTES]) -> u64 {
        (0..LANE_BYTES).filter(|&at| lane[at] == b':').map(|at| 1 << at).sum()
    }

    fn check(lane: [u8; LANE_BYTES]) {
        assert_eq!(colons(lane), expected(lane), "{lane:?}");
        assert_eq!(colons_by_words(lane), expected(lane), "{lane:?}, by words");
    }

    #[test]
    fn each_byte_beside_each_neighbour_is_told_from_a_colon() {
        for byte in 0..=u8::MAX {
            for at in 0..LANE_BYTES {
                for other in [b':', b';', b'9', b':' | 0x80, 0, u8::MAX] {
                    let mut lane = [other; LANE_BYTES];
                    lane[at] = byte;
                    check(lane);
                }
            }
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_told_by_ranges(
            lane in any::<[u8; LANE_BYTES]>(),
            ends in any::<[(u8, u8); 5]>(),
        ) {
            let ranges = ends.map(|(a, b)| ByteRange::new(a.min(b), a.abs_diff(b)));
            let is_in =
                |byte: u8| ends.iter().any(|(a, b)| (*a.min(b)..=*a.max(b)).contains(&byte));
            let expected: u32 =
                (0..LANE_BYTES).filter(|&at| is_in(lane[at])).map(|at| 1 << at).sum();
            prop_assert_eq!(members(lane, &ranges), expected);
            prop_assert_eq!(members_by_bytes(lane, &ranges), expected);
        }

        #[test]
        fn any_bytes_are_told_from_colons(
            lane in prop::array::uniform16(prop_oneof![Just(b':'), any::<u8>()])
        ) {
            check(lane);
        }
    }
}
