//! A string as bytes: those that are stored, or those of a number.
//!
//! Owns writing out a number without an allocation.
//! Not here: which strings are stored as numbers (`text`).

/// Longer texts are no `i64`.
pub(super) const NUMBER_BYTES_MAX: usize = 20;

/// A string as bytes, wherever they come from.
#[derive(Debug, Clone, Copy)]
pub enum Text<'a> {
    /// Stored bytes.
    Bytes(&'a [u8]),
    /// A number written out.
    Number(Decimal),
}

impl Text<'_> {
    /// Its bytes.
    #[inline(always)]
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Text::Bytes(bytes) => bytes,
            Text::Number(decimal) => decimal.as_bytes(),
        }
    }
}

/// The decimal form of a number, without an allocation.
#[derive(Debug, Clone, Copy)]
pub struct Decimal {
    digits: [u8; NUMBER_BYTES_MAX],
    start: u8,
}

impl Decimal {
    /// The decimal form of `number`.
    pub fn of(number: i64) -> Decimal {
        let mut digits = [0; NUMBER_BYTES_MAX];
        let mut start = digits.len();
        let mut rest = number.unsigned_abs();
        loop {
            start -= 1;
            digits[start] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        if number < 0 {
            start -= 1;
            digits[start] = b'-';
        }
        Decimal { digits, start: start as u8 }
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.digits[self.start as usize..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_written_as_read() {
        for number in [0, 7, -7, 1000, i64::MAX, i64::MIN] {
            assert_eq!(Decimal::of(number).as_bytes(), number.to_string().as_bytes());
        }
    }
}
