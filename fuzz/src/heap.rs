//! What a thread has taken of the heap: the bound that inputs are held to.
//!
//! Owns the global allocator of everything in this package: the system's, which
//! AddressSanitizer sees, with a count beside it.
//! This module is `unsafe` because an allocator is.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

thread_local! {
    /// Bytes allocated and not freed by this thread; below zero if it frees others'.
    static HELD: Cell<isize> = const { Cell::new(0) };
    /// The most of it since it was last looked at.
    static MOST: Cell<isize> = const { Cell::new(0) };
}

/// Runs something; returns the most bytes it has held at a time on this thread, beyond
/// those that were held before.
pub fn most_taken<R>(run: impl FnOnce() -> R) -> (R, usize) {
    let before = HELD.get();
    MOST.set(before);
    let result = run();
    let most = MOST.get() - before;
    (result, usize::try_from(most).unwrap_or(0))
}

fn count(bytes: isize) {
    // A thread that ends may have lost its counters already.
    let _ = HELD.try_with(|held| {
        held.set(held.get() + bytes);
        let _ = MOST.try_with(|most| most.set(most.get().max(held.get())));
    });
}

struct Counting;

// SAFETY: every call goes to the system's allocator as it came; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size().cast_signed());
        // SAFETY: the caller's promises are those that are asked for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size().cast_signed());
        // SAFETY: the caller's promises are those that are asked for.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-layout.size().cast_signed());
        // SAFETY: the caller's promises are those that are asked for.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        count(bytes.cast_signed() - layout.size().cast_signed());
        // SAFETY: the caller's promises are those that are asked for.
        unsafe { System.realloc(pointer, layout, bytes) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_at_a_time_is_counted() {
        let (_, taken) = most_taken(|| {
            drop(std::hint::black_box(vec![0_u8; 5000]));
            drop(std::hint::black_box(vec![0_u8; 3000]));
        });
        assert!((5000..6000).contains(&taken), "{taken}");
    }
}
