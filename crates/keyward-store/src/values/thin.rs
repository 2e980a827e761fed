//! A growable run of bytes behind a thin pointer, for collections packed into
//! one allocation.
//!
//! Owns the memory of the run: a head of eight bytes (how long it is, and a count
//! its owner keeps), then the bytes. The capacity is not stored: it is the size
//! class of the content. An empty run owns no memory.
//!
//! ```text
//!  0          4          8
//!  | length   | count    | bytes ...
//! ```
//!
//! Invariants: at most `BYTES_MAX` bytes; the count of an empty run is zero.
//!
//! This module is `unsafe` inside because a thin pointer to bytes of varying
//! length cannot be expressed otherwise; its interface is safe.
//! Not here: what the bytes mean (`packed`, `set::intset`, `zset::packed`).
#![allow(unsafe_code)]
#![deny(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "a length that is cut off is memory that is not there"
)]

pub(crate) mod either;
mod head;

pub(crate) use either::Form;
pub(crate) use either::{FormMut, ThinOr};
pub(crate) use head::thin_head;

use crate::values::footprint::HeapBytes;
use crate::values::size_class::size_class;
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error, realloc};
use std::ops::Range;
use std::ptr::NonNull;

/// The longest run, as long as Redis lets a listpack grow.
pub(crate) const BYTES_MAX: usize = 1 << 30;

const ALIGN: usize = 8;

#[derive(Debug, Clone, Copy)]
#[repr(C, align(8))]
struct Head {
    length: u32,
    count: u32,
}

const HEAD_BYTES: usize = size_of::<Head>();

/// What every empty run points to. It is never written to.
static EMPTY: Head = Head { length: 0, count: 0 };

/// An owned run of bytes: one pointer, whose lowest bits are zero.
#[repr(transparent)]
pub(crate) struct ThinBytes {
    at: NonNull<u8>,
}

// SAFETY: a run owns its memory alone; the shared empty head is never written to.
unsafe impl Send for ThinBytes {}
// SAFETY: a shared reference only reads.
unsafe impl Sync for ThinBytes {}

impl Default for ThinBytes {
    fn default() -> ThinBytes {
        ThinBytes { at: NonNull::from(&EMPTY).cast() }
    }
}

impl ThinBytes {
    #[inline(always)]
    fn head(&self) -> Head {
        // SAFETY: every run begins with an initialised head, the empty one included.
        unsafe { self.at.cast::<Head>().read() }
    }

    /// How many bytes there are.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.head().length as usize
    }

    /// The number its owner keeps.
    #[inline(always)]
    pub(crate) fn count(&self) -> usize {
        self.head().count as usize
    }

    /// Sets the number its owner keeps.
    pub(crate) fn set_count(&mut self, count: usize) {
        let head = self.head();
        assert!(head.length > 0 || count == 0, "an empty run counts nothing");
        if head.length > 0 {
            let count = u32::try_from(count).expect("a run counts at most its bytes");
            // SAFETY: a run that is not empty owns its head.
            unsafe { self.at.cast::<Head>().write(Head { count, ..head }) };
        }
    }

    /// The bytes.
    #[inline(always)]
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: `length` bytes after the head are initialised.
        unsafe { std::slice::from_raw_parts(self.at.add(HEAD_BYTES).as_ptr(), self.len()) }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as for `bytes`; of an empty run this is an empty slice.
        unsafe { std::slice::from_raw_parts_mut(self.at.add(HEAD_BYTES).as_ptr(), self.len()) }
    }

    /// Makes room for `length` bytes at `at`, moving what follows, and returns
    /// the room, to be filled by the caller.
    pub(crate) fn insert(&mut self, at: usize, length: usize) -> &mut [u8] {
        self.replace(at..at, length)
    }

    /// Takes out a range of bytes, moving what follows.
    pub(crate) fn remove(&mut self, range: Range<usize>) {
        self.replace(range, 0);
    }

    /// Makes room for `length` bytes in place of a range, moving what follows,
    /// and returns the room, to be filled by the caller.
    pub(crate) fn replace(&mut self, range: Range<usize>, length: usize) -> &mut [u8] {
        let old = self.len();
        assert!(range.start <= range.end && range.end <= old, "a change stays within the run");
        let (start, end) = (range.start, range.start + length);
        if length > range.len() {
            self.resize(old - range.len() + length);
            self.bytes_mut().copy_within(range.end..old, end);
        } else if length < range.len() {
            self.bytes_mut().copy_within(range.end..old, end);
            self.resize(old - range.len() + length);
        }
        &mut self.bytes_mut()[start..end]
    }

    /// Changes the length; new bytes are zero.
    fn resize(&mut self, length: usize) {
        let stored = u32::try_from(length).ok().filter(|_| length <= BYTES_MAX);
        let stored = stored.expect("callers give up packing before it gets this long");
        let old = self.head();
        let (before, after) = (layout(old.length as usize), layout(length));
        self.at = match (before, after) {
            (None, None) => return,
            // SAFETY: the layout is not of size zero.
            (None, Some(after)) => unsafe { checked(alloc(after), after) },
            (Some(before), None) => {
                // SAFETY: allocated with this layout, which follows from the length.
                unsafe { dealloc(self.at.as_ptr(), before) };
                self.at = NonNull::from(&EMPTY).cast();
                return;
            }
            (Some(before), Some(after)) if before == after => self.at,
            // SAFETY: allocated with `before`; the new size is not zero and far
            // below the address space.
            (Some(before), Some(after)) => unsafe {
                checked(realloc(self.at.as_ptr(), before, after.size()), after)
            },
        };
        let head = Head { length: stored, count: old.count };
        // SAFETY: the allocation is aligned to 8 and holds the head and `length`
        // bytes, of which those beyond the old length are written here.
        unsafe {
            self.at.cast::<Head>().write(head);
            let added = length.saturating_sub(old.length as usize);
            self.at.add(HEAD_BYTES + length - added).write_bytes(0, added);
        }
    }
}

/// The allocation of a run of this length; none if it is empty.
#[inline]
fn layout(length: usize) -> Option<Layout> {
    let bytes = size_class(HEAD_BYTES + length);
    let layout = Layout::from_size_align(bytes, ALIGN);
    (length > 0).then(|| layout.expect("a run is far smaller than the address space"))
}

fn checked(at: *mut u8, layout: Layout) -> NonNull<u8> {
    NonNull::new(at).unwrap_or_else(|| handle_alloc_error(layout))
}

impl HeapBytes for ThinBytes {
    #[inline(always)]
    fn heap_bytes(&self) -> usize {
        layout(self.len()).map_or(0, |layout| layout.size())
    }
}

impl Drop for ThinBytes {
    fn drop(&mut self) {
        if let Some(layout) = layout(self.len()) {
            // SAFETY: allocated with this layout, which follows from the length.
            unsafe { dealloc(self.at.as_ptr(), layout) };
        }
    }
}

impl Clone for ThinBytes {
    fn clone(&self) -> ThinBytes {
        let mut copy = ThinBytes::default();
        copy.insert(0, self.len()).copy_from_slice(self.bytes());
        copy.set_count(self.count());
        copy
    }
}

impl std::fmt::Debug for ThinBytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}×\"{}\"", self.count(), self.bytes().escape_ascii())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_empty_run_is_shared_and_counts_nothing() {
        let mut run = ThinBytes::default();
        run.set_count(0);
        run.remove(0..0);
        assert_eq!((run.len(), run.count(), run.bytes()), (0, 0, &[] as &[u8]));
        run.insert(0, 1)[0] = 7;
        run.set_count(1);
        run.remove(0..1);
        assert_eq!((run.len(), run.count()), (0, 0));
    }

    proptest! {
        #[test]
        fn runs_change_as_vectors_do(
            steps in proptest::collection::vec((0usize..200, 0usize..90, 0usize..90), 0..60),
        ) {
            let (mut run, mut model) = (ThinBytes::default(), Vec::new());
            for (step, (start, removed, added)) in steps.into_iter().enumerate() {
                let start = start.min(model.len());
                let range = start..(start + removed).min(model.len());
                let added = vec![step.to_le_bytes()[0]; added];
                run.replace(range.clone(), added.len()).copy_from_slice(&added);
                model.splice(range, added);
                run = run.clone();
                prop_assert_eq!(run.bytes(), &model);
            }
        }
    }
}
