//! How much work comparing patterns may be.
//!
//! Comparing two patterns exactly takes as many steps as their automata have states together,
//! and automata of texts of given lengths are large. So steps are counted, over all comparisons
//! of a check: each state that is built or looked at, for each class of bytes. In a debug build
//! 524,288 take about
//! half a second; the patterns of the library and of the systems together, 265, take 332,509.
//! Invariant: once they are used up, every further comparison is given up at once.

use std::cell::Cell;

/// The most steps that comparing two patterns takes.
pub const MAX_PAIR_STEPS: u64 = 1 << 19;

/// How many more each pattern adds to those of all comparisons.
pub const STEPS_PER_PATTERN: u64 = 1 << 12;

/// Steps that are left.
#[derive(Debug)]
pub struct Steps {
    allowed: u64,
    allowed_for_pair: u64,
    left: Cell<u64>,
    /// Of those, for the two patterns that are being compared.
    left_for_pair: Cell<u64>,
}

/// The steps were used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooLarge;

impl Default for Steps {
    /// For comparing two patterns. They may be compared the other way round than where that was
    /// found to be little enough.
    fn default() -> Steps {
        Steps::of(2 * MAX_PAIR_STEPS, 2 * MAX_PAIR_STEPS)
    }
}

impl Steps {
    fn of(allowed: u64, allowed_for_pair: u64) -> Steps {
        let (left, left_for_pair) = (Cell::new(allowed), Cell::new(allowed_for_pair));
        Steps { allowed, allowed_for_pair, left, left_for_pair }
    }

    /// For comparing so many patterns with each other.
    pub fn among(patterns: usize) -> Steps {
        Steps::of(MAX_PAIR_STEPS + patterns as u64 * STEPS_PER_PATTERN, MAX_PAIR_STEPS)
    }

    /// Begins another comparison of two patterns.
    pub(super) fn begin_pair(&self) {
        self.left_for_pair.set(self.allowed_for_pair);
    }

    /// Whether there are none left.
    pub fn are_used_up(&self) -> bool {
        self.left.get() == 0
    }

    /// How many there were.
    pub fn allowed(&self) -> u64 {
        self.allowed
    }

    /// How many were taken.
    pub fn taken(&self) -> u64 {
        self.allowed - self.left.get()
    }

    /// Takes so many.
    pub(super) fn take(&self, count: usize) -> Result<(), TooLarge> {
        let for_pair = self.left_for_pair.get().saturating_sub(count as u64);
        self.left_for_pair.set(for_pair);
        // Patterns two of which cannot be compared are none that can be told apart.
        let left = if for_pair == 0 { 0 } else { self.left.get().saturating_sub(count as u64) };
        self.left.set(left);
        if left == 0 { Err(TooLarge) } else { Ok(()) }
    }
}
