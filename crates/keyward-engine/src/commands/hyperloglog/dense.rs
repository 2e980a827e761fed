//! Registers of six bits each, side by side.
//!
//! ```text
//! byte     0        1        2        3
//!      +--------+--------+--------+--------
//!      |11000000|22221111|33333322|55444444   the number of the register, bit by bit
//!      +--------+--------+--------+--------
//! ```
//! Owns reading and changing single registers, and the walk over all of them, which takes
//! four at a time out of three bytes.
//! Not here: the head before the registers (`form`).

/// How many registers there are.
pub(super) const REGISTERS: usize = 1 << 14;

/// Bytes of all registers.
pub(super) const BYTES: usize = REGISTERS * 6 / 8;

/// The largest number a register can hold.
const MAX: u16 = 63;

/// A register that an element falls to, and the number it brings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) index: usize,
    pub(super) count: u8,
}

/// What a register holds.
#[inline]
pub(super) fn get(registers: &[u8; BYTES], index: usize) -> u8 {
    let (at, shift) = (index * 6 / 8, index * 6 % 8);
    // The last register ends with the last byte.
    let behind = registers.get(at + 1).copied().unwrap_or(0);
    let two = u16::from_le_bytes([registers[at], behind]);
    (two >> shift & MAX) as u8
}

/// Makes a register hold this number.
#[inline]
pub(super) fn put(registers: &mut [u8; BYTES], mark: Mark) {
    let (at, shift) = (mark.index * 6 / 8, mark.index * 6 % 8);
    let behind = registers.get(at + 1).copied().unwrap_or(0);
    let two = u16::from_le_bytes([registers[at], behind]);
    let two = two & !(MAX << shift) | (u16::from(mark.count) & MAX) << shift;
    let [first, second] = two.to_le_bytes();
    registers[at] = first;
    if let Some(behind) = registers.get_mut(at + 1) {
        *behind = second;
    }
}

/// Raises a register to this number; whether it held less.
#[inline]
pub(super) fn raise(registers: &mut [u8; BYTES], mark: Mark) -> bool {
    let is_raised = get(registers, mark.index) < mark.count;
    if is_raised {
        put(registers, mark);
    }
    is_raised
}

/// What all registers hold, in order.
pub(super) fn all(registers: &[u8; BYTES]) -> impl Iterator<Item = [u8; 4]> {
    let (threes, _) = registers.as_chunks::<3>();
    threes.iter().map(|&[a, b, c]| {
        let bits = u32::from_le_bytes([a, b, c, 0]);
        [bits, bits >> 6, bits >> 12, bits >> 18].map(|bits| (bits & 63) as u8)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_do_not_touch_their_neighbours() {
        let mut registers = [0; BYTES];
        let number = |index: usize| (index * 7 % 64) as u8;
        for index in (0..REGISTERS).rev() {
            put(&mut registers, Mark { index, count: number(index) });
        }
        for index in 0..REGISTERS {
            assert_eq!(get(&registers, index), number(index), "{index}");
        }
        let walked: Vec<u8> = all(&registers).flatten().collect();
        assert_eq!(walked, (0..REGISTERS).map(number).collect::<Vec<_>>());
    }

    #[test]
    fn a_register_is_only_raised() {
        let mut registers = [0xff; BYTES];
        put(&mut registers, Mark { index: 1, count: 5 });
        assert!(!raise(&mut registers, Mark { index: 1, count: 5 }));
        assert!(raise(&mut registers, Mark { index: 1, count: 6 }));
        let beside = [0, 1, 2].map(|index| get(&registers, index));
        assert_eq!(beside, [63, 6, 63]);
    }
}
