//! Reading packed bytes without trusting them.
//!
//! Owns the bounds checks: whoever reads a row reads it through here, so that no
//! bytes, however damaged, can make it read beyond their end.

/// Packed bytes that no packer made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("these are no packed bytes")]
pub struct Broken;

/// Bytes that are left to read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<'a> {
    left: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { left: bytes }
    }

    /// What has not been read.
    pub(crate) fn left(&self) -> &'a [u8] {
        self.left
    }

    /// The next byte.
    #[inline]
    pub(crate) fn byte(&mut self) -> Result<u8, Broken> {
        let (first, left) = self.left.split_first().ok_or(Broken)?;
        self.left = left;
        Ok(*first)
    }

    /// The next so many bytes.
    #[inline]
    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], Broken> {
        let (taken, left) = self.left.split_at_checked(count).ok_or(Broken)?;
        self.left = left;
        Ok(taken)
    }

    /// A number of so many bytes, at most eight, the least significant first.
    #[inline]
    pub(crate) fn number(&mut self, bytes: usize) -> Result<u64, Broken> {
        let mut whole = [0; 8];
        let place = whole.get_mut(..bytes).ok_or(Broken)?;
        place.copy_from_slice(self.take(bytes)?);
        Ok(u64::from_le_bytes(whole))
    }

    /// A number in groups of seven bits, the least significant first.
    pub(crate) fn varint(&mut self) -> Result<u64, Broken> {
        let mut number = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f).checked_shl(shift).ok_or(Broken)?;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(Broken)
    }
}

/// Appends a number in groups of seven bits.
pub(crate) fn push_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends the lowest `bytes` bytes of a number, the least significant first.
pub(crate) fn push_number(out: &mut Vec<u8>, number: u64, bytes: usize) {
    out.extend_from_slice(&number.to_le_bytes()[..bytes]);
}

/// How many bytes a number needs: at least one.
pub(crate) fn bytes_of(number: u64) -> usize {
    (u64::BITS - number.leading_zeros()).div_ceil(8).max(1) as usize
}
