//! A member of a large sorted set, in one allocation with its score.
//!
//! Owns the memory layout. A `Member` is a thin owning pointer, which is what
//! the index stores; a `MemberRef` is the same pointer without ownership, which
//! is what the tree stores beside a copy of the score.
//!
//! ```text
//!  0         8          12
//!  | score   | length   | bytes ...
//! ```
//!
//! This module is `unsafe` inside because a thin pointer to bytes of varying
//! length, owned once and seen twice, cannot be expressed otherwise.
#![allow(unsafe_code)]
#![deny(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "a length that is cut off is memory that is not there"
)]

use crate::values::footprint::HeapBytes;
use crate::values::index::Indexed;
use crate::values::size_class::allocated;
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;

const LENGTH_AT: usize = 8;
const BYTES_AT: usize = 12;
const ALIGN: usize = 8;

/// An owned member with its score.
pub(super) struct Member {
    at: NonNull<u8>,
}

/// A member owned elsewhere.
#[derive(Clone, Copy)]
pub(super) struct MemberRef {
    at: NonNull<u8>,
}

// SAFETY: a member owns its memory; whoever holds a `MemberRef` lives in the same
// collection as its owner, and moves between threads together with it.
unsafe impl Send for Member {}
// SAFETY: as above.
unsafe impl Send for MemberRef {}

fn layout(length: usize) -> Layout {
    let layout = Layout::from_size_align(BYTES_AT + length, ALIGN);
    layout.expect("a member is far smaller than the address space")
}

/// The bytes behind the head of a member.
///
/// # Safety
/// `at` is a living member, and stays one for `'a`.
#[inline(always)]
unsafe fn bytes_of<'a>(at: NonNull<u8>) -> &'a [u8] {
    // SAFETY: by the contract above; `new` has initialised both parts.
    unsafe {
        let length = at.add(LENGTH_AT).cast::<u32>().read();
        std::slice::from_raw_parts(at.add(BYTES_AT).as_ptr(), length as usize)
    }
}

impl Member {
    pub(super) fn new(bytes: &[u8], score: f64) -> Member {
        let length = u32::try_from(bytes.len()).expect("a member has at most 4 GB");
        let layout = layout(bytes.len());
        // SAFETY: the layout is not of size zero, and holds what is written here:
        // the head at aligned offsets, then `length` bytes.
        unsafe {
            let Some(at) = NonNull::new(alloc(layout)) else { handle_alloc_error(layout) };
            at.cast::<f64>().write(score);
            at.add(LENGTH_AT).cast::<u32>().write(length);
            at.add(BYTES_AT).copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len());
            Member { at }
        }
    }

    #[inline(always)]
    pub(super) fn bytes(&self) -> &[u8] {
        // SAFETY: alive as long as `self`.
        unsafe { bytes_of(self.at) }
    }

    #[inline(always)]
    pub(super) fn score(&self) -> f64 {
        // SAFETY: initialised by `new`, aligned to 8.
        unsafe { self.at.cast::<f64>().read() }
    }

    pub(super) fn set_score(&mut self, score: f64) {
        // SAFETY: as for `score`. A `MemberRef` never reads the score, so nothing
        // else refers to these bytes.
        unsafe { self.at.cast::<f64>().write(score) };
    }

    /// The same member without ownership.
    ///
    /// # Safety
    /// The reference must not be read after this member is dropped.
    pub(super) unsafe fn share(&self) -> MemberRef {
        MemberRef { at: self.at }
    }

    /// Whether a reference is to this very member.
    pub(super) fn is(&self, other: MemberRef) -> bool {
        self.at == other.at
    }
}

impl Indexed for Member {
    #[inline(always)]
    fn address(&self) -> *const u8 {
        self.at.as_ptr()
    }
}

impl HeapBytes for Member {
    fn heap_bytes(&self) -> usize {
        allocated(layout(self.bytes().len()).size())
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        let layout = layout(self.bytes().len());
        // SAFETY: allocated with this layout, which follows from the length.
        unsafe { dealloc(self.at.as_ptr(), layout) };
    }
}

impl MemberRef {
    /// A filler for places that hold no member yet; it must not be read.
    pub(super) const NONE: MemberRef = MemberRef { at: NonNull::dangling() };

    #[inline(always)]
    pub(super) fn bytes(&self) -> &[u8] {
        // SAFETY: whoever made this reference by `share` keeps the member alive
        // while the reference can be reached.
        unsafe { bytes_of(self.at) }
    }

    /// A member that is never freed, for tests of the tree alone.
    #[cfg(test)]
    pub(super) fn leaked(bytes: &[u8]) -> MemberRef {
        MemberRef { at: std::mem::ManuallyDrop::new(Member::new(bytes, 0.0)).at }
    }
}
