//! Intsets: numbers in order.
//!
//! ```text
//! intset = bytes of a number u32: 2, 4 or 8 | numbers u32 | number …
//! ```

use super::Damage;

const HEAD_BYTES: usize = 8;

/// Calls `visit` with every number.
pub(crate) fn read(
    intset: &[u8],
    mut visit: impl FnMut(i64) -> Result<(), Damage>,
) -> Result<(), Damage> {
    let (head, numbers) = intset.split_at_checked(HEAD_BYTES).ok_or("an intset is cut off")?;
    let half = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let (width, count) = (half(0) as usize, half(4) as usize);
    if !matches!(width, 2 | 4 | 8) || count.checked_mul(width) != Some(numbers.len()) {
        return Err("an intset of another length than it says");
    }
    let mut before = None;
    for number in numbers.chunks_exact(width) {
        let mut wide = [if number[width - 1] & 0x80 == 0 { 0 } else { 0xff }; 8];
        wide[..width].copy_from_slice(number);
        let number = i64::from_le_bytes(wide);
        if before.is_some_and(|before| before >= number) {
            return Err("an intset that is not in order");
        }
        before = Some(number);
        visit(number)?;
    }
    Ok(())
}

/// The intset of numbers that are in order.
pub(crate) fn of(numbers: impl ExactSizeIterator<Item = i64> + Clone) -> Vec<u8> {
    let width = numbers.clone().map(width).max().unwrap_or(2);
    let mut out = Vec::with_capacity(HEAD_BYTES + numbers.len() * width);
    out.extend_from_slice(&(width as u32).to_le_bytes());
    out.extend_from_slice(&(numbers.len() as u32).to_le_bytes());
    numbers.for_each(|number| out.extend_from_slice(&number.to_le_bytes()[..width]));
    out
}

fn width(number: i64) -> usize {
    match number {
        -0x8000..=0x7fff => 2,
        -0x8000_0000..=0x7fff_ffff => 4,
        _ => 8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(intset: &[u8]) -> Result<Vec<i64>, Damage> {
        let mut numbers = Vec::new();
        read(intset, |number| {
            numbers.push(number);
            Ok(())
        })?;
        Ok(numbers)
    }

    #[test]
    fn numbers_of_every_width_come_back() {
        for set in [&[][..], &[-5, 0, 7], &[-70_000, 1], &[i64::MIN, -1, i64::MAX]] {
            assert_eq!(numbers(&of(set.iter().copied())).as_deref(), Ok(set));
        }
    }

    #[test]
    fn damage_is_told() {
        for damaged in [
            &b"\x02\0\0\0\x01\0\0"[..],
            b"\x03\0\0\0\x01\0\0\0abc",
            b"\x02\0\0\0\x02\0\0\0ab",
            b"\x02\0\0\0\x02\0\0\0\x01\0\x01\0",
            b"\x02\0\0\0\xff\xff\xff\xff",
        ] {
            assert!(numbers(damaged).is_err(), "{}", damaged.escape_ascii());
        }
    }
}
