//! A key that can be read a fixed number of bytes at a time.
//!
//! Invariant: at least `READABLE_BYTES_MIN` bytes can be read, however short
//! the key is; zeros follow a shorter one. So no read needs to ask how much is
//! left.

use super::lane::LANE_BYTES;

/// How many bytes of a text can be read at least.
pub(super) const READABLE_BYTES_MIN: usize = LANE_BYTES;

/// The bytes of a key, with zeros behind a short one.
#[derive(Clone, Copy)]
pub(super) struct Text<'t> {
    readable: &'t [u8],
    length: usize,
}

impl<'t> Text<'t> {
    /// Does something with the text of a key.
    #[inline]
    pub(super) fn with<R>(key: &[u8], run: impl FnOnce(Text<'_>) -> R) -> R {
        let mut padded = [0; READABLE_BYTES_MIN];
        let readable = match padded.get_mut(..key.len()) {
            Some(start) => {
                start.copy_from_slice(key);
                &padded[..]
            }
            None => key,
        };
        run(Text { readable, length: key.len() })
    }

    /// The key itself.
    #[inline]
    pub(super) fn bytes(self) -> &'t [u8] {
        &self.readable[..self.length]
    }

    /// How many bytes the key has.
    #[inline]
    pub(super) fn length(self) -> usize {
        self.length
    }

    /// The key and what can be read behind it.
    #[inline]
    pub(super) fn readable(self) -> &'t [u8] {
        assert!(self.readable.len() >= READABLE_BYTES_MIN, "a text is padded");
        self.readable
    }

    /// The byte there, or the last one that can be read.
    #[inline]
    pub(super) fn byte(self, at: usize) -> u8 {
        let readable = self.readable();
        readable[at.min(readable.len() - 1)]
    }

    /// The sixteen bytes from there on, or the last sixteen if there are fewer; and where they
    /// start.
    #[inline]
    pub(super) fn lane(self, at: usize) -> ([u8; LANE_BYTES], usize) {
        let readable = self.readable();
        let from = at.min(readable.len() - LANE_BYTES);
        (*readable[from..].first_chunk().expect("a lane before the end"), from)
    }

    /// The eight bytes from there on as a number, the first one lowest; zeros where there are
    /// fewer. At least one must be left.
    #[inline]
    pub(super) fn word(self, at: usize) -> u64 {
        let readable = self.readable();
        let from = at.min(readable.len() - size_of::<u64>());
        let bytes = readable[from..].first_chunk().expect("eight bytes before the end");
        u64::from_le_bytes(*bytes).wrapping_shr(8 * (at - from) as u32)
    }
}
