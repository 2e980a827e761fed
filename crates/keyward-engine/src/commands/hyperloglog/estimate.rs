//! From elements to registers, and from registers to the number of elements.
//!
//! Owns the hash (MurmurHash64A with Redis's seed, the same on every machine) and the
//! estimator of Otmar Ertl, "New cardinality estimation algorithms for HyperLogLog
//! sketches" (2017). Both must give what Redis gives: strings and estimates are exchanged.

use super::dense::{self, Mark, REGISTERS};
use super::form::{self, Corrupt, Form};
use super::sparse;

/// Bits of the hash that choose the register.
const INDEX_BITS: u32 = REGISTERS.trailing_zeros();

/// Bits of the hash that are left.
const COUNT_BITS: usize = 64 - INDEX_BITS as usize;

const SEED: u64 = 0xadc8_3b19;

/// One half by the logarithm of two.
const ALPHA: f64 = 0.721_347_520_444_481_7;

/// Where an element falls to: the register by the lowest bits of its hash, and the place of
/// the first set bit among the others.
pub(super) fn mark_of(element: &[u8]) -> Mark {
    let hash = hash(element);
    let rest = hash >> INDEX_BITS | 1 << COUNT_BITS;
    let index = (hash % REGISTERS as u64) as usize;
    Mark { index, count: rest.trailing_zeros() as u8 + 1 }
}

fn hash(bytes: &[u8]) -> u64 {
    const FACTOR: u64 = 0xc6a4_a793_5bd1_e995;
    let (words, rest) = bytes.as_chunks::<8>();
    let mut hash = SEED ^ (bytes.len() as u64).wrapping_mul(FACTOR);
    for word in words {
        let mut word = u64::from_le_bytes(*word).wrapping_mul(FACTOR);
        word = (word ^ word >> 47).wrapping_mul(FACTOR);
        hash = (hash ^ word).wrapping_mul(FACTOR);
    }
    if !rest.is_empty() {
        let mut word = [0; 8];
        word[..rest.len()].copy_from_slice(rest);
        hash = (hash ^ u64::from_le_bytes(word)).wrapping_mul(FACTOR);
    }
    hash = (hash ^ hash >> 47).wrapping_mul(FACTOR);
    hash ^ hash >> 47
}

/// How many registers hold which number.
pub(super) struct Histogram([u32; 64]);

impl Histogram {
    /// Of a string of this form.
    pub(super) fn of(text: &[u8], form: Form) -> Result<Histogram, Corrupt> {
        let mut counts = [0; 64];
        match form {
            Form::Dense => {
                for four in dense::all(form::registers(text)) {
                    four.iter().for_each(|number| counts[usize::from(*number)] += 1);
                }
            }
            Form::Sparse => {
                let mut covered = 0;
                for run in sparse::runs(text) {
                    covered += run.registers;
                    counts[usize::from(run.value)] += run.registers as u32;
                }
                if covered != REGISTERS {
                    return Err(Corrupt);
                }
            }
        }
        Ok(Histogram(counts))
    }

    /// Of what single registers hold.
    pub(super) fn of_registers(registers: &[u8; REGISTERS]) -> Histogram {
        let mut counts = [0; 64];
        registers.iter().for_each(|number| counts[usize::from(*number & 63)] += 1);
        Histogram(counts)
    }

    /// How many elements there are, about.
    pub(super) fn estimate(&self) -> u64 {
        let registers = REGISTERS as f64;
        let count = |number: usize| f64::from(self.0[number]);
        let mut sum = registers * tau((registers - count(COUNT_BITS + 1)) / registers);
        for number in (1..=COUNT_BITS).rev() {
            sum = (sum + count(number)) * 0.5;
        }
        sum += registers * sigma(count(0) / registers);
        let estimate = (ALPHA * registers * registers / sum).round();
        // Registers that no element can have made may estimate anything. C's conversion
        // gives the lowest number then.
        if estimate < i64::MAX as f64 { estimate as u64 } else { i64::MIN as u64 }
    }
}

fn sigma(mut x: f64) -> f64 {
    if x == 1.0 {
        return f64::INFINITY;
    }
    let (mut y, mut z) = (1.0, x);
    loop {
        x *= x;
        let before = z;
        z += x * y;
        y += y;
        if before == z {
            return z;
        }
    }
}

fn tau(mut x: f64) -> f64 {
    if x == 0.0 || x == 1.0 {
        return 0.0;
    }
    let (mut y, mut z) = (1.0, 1.0 - x);
    loop {
        x = x.sqrt();
        let before = z;
        y *= 0.5;
        z -= (1.0 - x) * (1.0 - x) * y;
        if before == z {
            return z / 3.0;
        }
    }
}
