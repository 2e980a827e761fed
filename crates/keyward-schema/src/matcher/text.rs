//! A key that can be read a fixed number of bytes at a time.
//!
//! Invariant: at least `READABLE_BYTES_MIN` bytes can be read, however short
//! the key is; zeros follow a shorter one. So no read needs to ask how much is
//! left.

/// How many bytes of a text can be read at least.
pub(super) const READABLE_BYTES_MIN: usize = 16;

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
}
