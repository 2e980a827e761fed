//! The counters that the compiler puts into the edges of the control flow.
//!
//! With SanitizerCoverage's inline counters every object file tells where its own are
//! before `main` (`__sanitizer_cov_8bit_counters_init`). There are none without the
//! feature `guided` and the flags that `cargo xtask sanitize` gives the compiler.
//!
//! Invariant: one thread at a time looks at them; others that run meanwhile may have their
//! edges counted as this one's, which costs a superfluous input in the corpus.
//! This module is `unsafe` because the counters are memory that compiled code writes to.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// Counters that are looked at together.
const WORD_BYTES: usize = size_of::<AtomicU64>();

/// The counters of the object files, of all that is linked together.
static REGIONS: Mutex<Vec<&'static [AtomicU8]>> = Mutex::new(Vec::new());

/// Called by every object file before `main`: its counters are from `start` to `stop`.
///
/// # Safety
/// Both are ends of one array of bytes that is there until the process ends.
#[cfg(feature = "guided")]
#[unsafe(no_mangle)]
unsafe extern "C" fn __sanitizer_cov_8bit_counters_init(
    start: *const AtomicU8,
    stop: *const AtomicU8,
) {
    let bytes = stop.addr() - start.addr();
    if bytes == 0 {
        return;
    }
    // SAFETY: the caller's promise; an atomic byte has the layout of a byte, and code that
    // counts writes single bytes.
    let region = unsafe { std::slice::from_raw_parts(start, bytes) };
    let mut regions = REGIONS.lock().unwrap_or_else(PoisonError::into_inner);
    // All object files of one program announce one section.
    if !regions.iter().any(|known| known.as_ptr() == region.as_ptr()) {
        regions.push(region);
    }
}

/// The tables of addresses that belong to the counters are not needed.
#[cfg(feature = "guided")]
#[unsafe(no_mangle)]
extern "C" fn __sanitizer_cov_pcs_init(_start: *const usize, _stop: *const usize) {}

/// What has been reached so far.
pub(super) struct Coverage {
    regions: Vec<&'static [AtomicU8]>,
    /// For each counter, a bit for every magnitude it has had.
    seen: Vec<u8>,
}

impl Coverage {
    pub(super) fn new() -> Coverage {
        let regions = REGIONS.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let total = regions.iter().map(|region| region.len()).sum();
        Coverage { regions, seen: vec![0; total] }
    }

    /// Counts from zero.
    pub(super) fn reset(&self) {
        for region in &self.regions {
            let (before, words, after) = by_words(region);
            before.iter().chain(after).for_each(|counter| counter.store(0, Relaxed));
            words.iter().for_each(|word| word.store(0, Relaxed));
        }
    }

    /// Takes in what was counted; whether there was anything that was never seen.
    pub(super) fn take_new(&mut self) -> bool {
        let mut rest = self.seen.as_mut_slice();
        let mut is_new = false;
        for region in &self.regions {
            let (before, words, after) = by_words(region);
            let ends = [(before, 0), (after, before.len() + words.len() * WORD_BYTES)];
            let (seen, others) = rest.split_at_mut(region.len());
            rest = others;
            for (counters, start) in ends {
                for (counter, seen) in counters.iter().zip(&mut seen[start..]) {
                    is_new |= note(counter.load(Relaxed), seen);
                }
            }
            let seen = seen[before.len()..].chunks_exact_mut(WORD_BYTES);
            for (word, seen) in words.iter().zip(seen) {
                // Most code is not reached by most inputs.
                let counts = word.load(Relaxed);
                if counts != 0 {
                    for (count, seen) in counts.to_ne_bytes().iter().zip(seen) {
                        is_new |= note(*count, seen);
                    }
                }
            }
        }
        is_new
    }

    /// Counters that were ever not zero.
    pub(super) fn reached(&self) -> usize {
        self.seen.iter().filter(|seen| **seen != 0).count()
    }

    /// Counters there are.
    pub(super) fn total(&self) -> usize {
        self.seen.len()
    }
}

/// Eight counters at a time, and those that are left over at both ends.
fn by_words(region: &[AtomicU8]) -> (&[AtomicU8], &[AtomicU64], &[AtomicU8]) {
    // SAFETY: eight atomic bytes in a row, aligned, have the layout of an atomic word, and
    // any bits are a value of it.
    unsafe { region.align_to() }
}

/// Takes in a count; whether it was never seen.
fn note(count: u8, seen: &mut u8) -> bool {
    let magnitude = magnitude(count);
    let is_new = magnitude & !*seen != 0;
    *seen |= magnitude;
    is_new
}

/// The bit for a count: 1, 2, 3, up to 7, 15, 31, 127 and beyond.
fn magnitude(count: u8) -> u8 {
    match count {
        0 => 0,
        1 => 1,
        2 => 2,
        3 => 4,
        4..=7 => 8,
        8..=15 => 16,
        16..=31 => 32,
        32..=127 => 64,
        128..=255 => 128,
    }
}
