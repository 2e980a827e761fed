//! Non-negative integers of any size: just what reading and printing floats needs.

use std::cmp::Ordering;

/// An integer in little-endian words, without leading zero words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Big {
    words: Vec<u32>,
}

impl From<u64> for Big {
    fn from(value: u64) -> Big {
        Big { words: vec![value as u32, (value >> 32) as u32] }.trimmed()
    }
}

impl Big {
    fn trimmed(mut self) -> Big {
        while self.words.last() == Some(&0) {
            self.words.pop();
        }
        self
    }

    pub(super) fn is_zero(&self) -> bool {
        self.words.is_empty()
    }

    /// How many bits it has from the highest one set.
    pub(super) fn bits(&self) -> usize {
        self.words.last().map_or(0, |word| self.words.len() * 32 - word.leading_zeros() as usize)
    }

    pub(super) fn bit(&self, index: usize) -> bool {
        self.words.get(index / 32).is_some_and(|word| word >> (index % 32) & 1 == 1)
    }

    pub(super) fn has_bits_below(&self, end: usize) -> bool {
        let whole = self.words.iter().take(end / 32).any(|word| *word != 0);
        whole || (end / 32 * 32..end).any(|index| self.bit(index))
    }

    pub(super) fn low_u64(&self) -> u64 {
        let word = |at: usize| u64::from(self.words.get(at).copied().unwrap_or(0));
        word(0) | word(1) << 32
    }

    /// 64 bits from `start` on.
    pub(super) fn bits_from(&self, start: usize) -> u64 {
        (0..64).fold(0, |value, offset| value | u64::from(self.bit(start + offset)) << offset)
    }

    /// Multiplies by one small number and adds another.
    pub(super) fn multiply_add(&mut self, factor: u32, addend: u32) {
        let mut carry = u64::from(addend);
        for word in &mut self.words {
            carry += u64::from(*word) * u64::from(factor);
            *word = carry as u32;
            carry >>= 32;
        }
        if carry != 0 {
            self.words.push(carry as u32);
        }
    }

    pub(super) fn times_power_of_ten(mut self, mut power: usize) -> Big {
        while power >= 9 {
            self.multiply_add(1_000_000_000, 0);
            power -= 9;
        }
        self.multiply_add(10u32.pow(power as u32), 0);
        self
    }

    pub(super) fn plus(&self, other: &Big) -> Big {
        let len = self.words.len().max(other.words.len()) + 1;
        let mut words = Vec::with_capacity(len);
        let mut carry = 0u64;
        for at in 0..len {
            let word = |of: &Big| u64::from(of.words.get(at).copied().unwrap_or(0));
            carry += word(self) + word(other);
            words.push(carry as u32);
            carry >>= 32;
        }
        Big { words }.trimmed()
    }

    /// The difference; `other` must not be larger.
    pub(super) fn minus(&self, other: &Big) -> Big {
        let mut words = Vec::with_capacity(self.words.len());
        let mut borrow = 0i64;
        for (at, word) in self.words.iter().enumerate() {
            let mut difference = i64::from(*word) - borrow;
            difference -= i64::from(other.words.get(at).copied().unwrap_or(0));
            borrow = i64::from(difference < 0);
            words.push(difference as u32);
        }
        assert!(borrow == 0, "a smaller number is subtracted from a larger one");
        Big { words }.trimmed()
    }

    pub(super) fn shifted_left(self, bits: usize) -> Big {
        let mut words = vec![0; bits / 32];
        let shift = bits % 32;
        let mut carry = 0u64;
        for word in &self.words {
            carry |= u64::from(*word) << shift;
            words.push(carry as u32);
            carry >>= 32;
        }
        words.push(carry as u32);
        Big { words }.trimmed()
    }

    fn halve(&mut self) {
        let mut carry = 0;
        for word in self.words.iter_mut().rev() {
            let low = *word & 1;
            *word = *word >> 1 | carry << 31;
            carry = low;
        }
        if self.words.last() == Some(&0) {
            self.words.pop();
        }
    }

    /// Divides by a power of two, half to even.
    pub(super) fn shifted_right_rounded(self, bits: usize) -> Big {
        if bits == 0 {
            return self;
        }
        let half = self.bit(bits - 1);
        let rest = self.has_bits_below(bits - 1);
        let kept = (bits..self.bits()).step_by(32).map(|start| self.bits_from(start) as u32);
        let quotient = Big { words: kept.collect() }.trimmed();
        if half && (rest || quotient.bit(0)) { quotient.plus(&Big::from(1)) } else { quotient }
    }

    /// The quotient, and whether nothing is left over.
    pub(super) fn divided_by(self, divisor: &Big) -> (Big, bool) {
        let mut rest = self;
        let steps = (rest.bits() + 1).saturating_sub(divisor.bits());
        let mut shifted = divisor.clone().shifted_left(steps);
        let mut quotient = Big::default();
        for _ in 0..=steps {
            let fits = rest >= shifted;
            quotient.multiply_add(2, fits.into());
            if fits {
                rest = rest.minus(&shifted);
            }
            shifted.halve();
        }
        (quotient, rest.is_zero())
    }

    /// Decimal digits, at least one.
    pub(super) fn to_decimal(&self) -> Vec<u8> {
        let mut rest = self.words.clone();
        let mut groups = Vec::new();
        while !rest.is_empty() {
            let mut remainder = 0u64;
            for word in rest.iter_mut().rev() {
                let value = remainder << 32 | u64::from(*word);
                *word = (value / 1_000_000_000) as u32;
                remainder = value % 1_000_000_000;
            }
            while rest.last() == Some(&0) {
                rest.pop();
            }
            groups.push(remainder);
        }
        let mut text = groups.pop().unwrap_or(0).to_string();
        for group in groups.iter().rev() {
            text.push_str(&format!("{group:09}"));
        }
        text.into_bytes()
    }
}

impl PartialOrd for Big {
    fn partial_cmp(&self, other: &Big) -> Option<Ordering> {
        let by_words = || self.words.iter().rev().cmp(other.words.iter().rev());
        Some(self.words.len().cmp(&other.words.len()).then_with(by_words))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_agrees_with_128_bits() {
        let big = |value: u128| {
            Big::from((value >> 64) as u64).shifted_left(64).plus(&Big::from(value as u64))
        };
        let cases =
            [(0u128, 1u128), (1, 3), (u128::MAX / 2, 10), (10u128.pow(30), 7), (12345, 1 << 40)];
        for (a, b) in cases {
            assert_eq!(big(a).plus(&big(b)), big(a + b));
            let (quotient, is_exact) = big(a).divided_by(&big(b));
            assert_eq!((quotient, is_exact), (big(a / b), a % b == 0), "{a} / {b}");
            assert_eq!(big(a).to_decimal(), a.to_string().into_bytes());
            assert_eq!(big(a).bits(), 128 - a.leading_zeros() as usize);
        }
    }

    #[test]
    fn halves_are_rounded_to_even() {
        for (value, expected) in
            [(0b0110u64, 0b10u64), (0b1010, 0b10), (0b1011, 0b11), (0b0111, 0b10)]
        {
            assert_eq!(Big::from(value).shifted_right_rounded(2), Big::from(expected));
        }
    }
}
