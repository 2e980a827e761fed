//! A few items in one allocation behind a thin pointer.
//!
//! Owns the memory. There is no head: items tell how long they are, so the
//! length, and with it the size class, follows from the content. A member of 15
//! bytes takes 16, a number at most 16.
//!
//! Invariant: the allocation begins with exactly `N` items.
//!
//! This module is `unsafe` inside because a thin pointer to bytes of varying
//! length cannot be expressed otherwise; its interface is safe.
#![allow(unsafe_code)]

use super::{Code, Item, first, head_bytes, item_bytes};
use crate::values::footprint::HeapBytes;
use crate::values::index::Indexed;
use crate::values::size_class::{is_small, size_class};
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;

/// `N` items, owned: one pointer.
pub(crate) struct BoxedItems<const N: usize> {
    at: NonNull<u8>,
}

// SAFETY: it owns its memory alone.
unsafe impl<const N: usize> Send for BoxedItems<N> {}
// SAFETY: a shared reference only reads.
unsafe impl<const N: usize> Sync for BoxedItems<N> {}

fn layout(bytes: usize) -> Layout {
    let layout = Layout::from_size_align(size_class(bytes), 1);
    layout.expect("items are far smaller than the address space")
}

/// Writes an item; returns where it ends.
///
/// # Safety
/// From `at` on there is room for the item that nothing else refers to.
unsafe fn put(at: NonNull<u8>, code: &Code<'_>) -> NonNull<u8> {
    let (head, body) = (code.head(), code.body);
    // SAFETY: by the contract above; the item's parts live elsewhere.
    unsafe {
        at.copy_from_nonoverlapping(NonNull::from(head).cast(), head.len());
        at.add(head.len()).copy_from_nonoverlapping(NonNull::from(body).cast(), body.len());
        at.add(code.len())
    }
}

impl<const N: usize> BoxedItems<N> {
    /// An allocation of these items.
    pub(crate) fn new(codes: [&Code<'_>; N]) -> BoxedItems<N> {
        const { assert!(N > 0, "no items need no allocation") };
        let bytes = codes.iter().map(|code| code.len()).sum();
        let layout = layout(bytes);
        // SAFETY: an item has at least one byte, so the layout is not of size zero.
        let Some(at) = NonNull::new(unsafe { alloc(layout) }) else { handle_alloc_error(layout) };
        let mut end = at;
        for code in codes {
            // SAFETY: the allocation has room for all of them together.
            end = unsafe { put(end, code) };
        }
        BoxedItems { at }
    }

    /// Moves the items to another allocation, if it is a small one.
    pub(crate) fn gather(&mut self) {
        let bytes = self.bytes(N).len();
        let layout = layout(bytes);
        if !is_small(layout.size()) {
            return;
        }
        // SAFETY: an item has at least one byte, so the layout is not of size zero; it is
        // the one that the items were allocated with, since it follows from their length.
        unsafe {
            let Some(at) = NonNull::new(alloc(layout)) else { handle_alloc_error(layout) };
            at.copy_from_nonoverlapping(self.at, bytes);
            dealloc(self.at.as_ptr(), layout);
            self.at = at;
        }
    }

    /// The encoding of the first `count` items.
    #[inline]
    fn bytes(&self, count: usize) -> &[u8] {
        let mut length = 0;
        for _ in 0..count.min(N) {
            // SAFETY: an item begins here, by the invariant; its first byte tells
            // how long its head is, and its head how long the item is.
            length += unsafe {
                let item = self.at.add(length);
                item_bytes(std::slice::from_raw_parts(item.as_ptr(), head_bytes(item.read())))
            };
        }
        // SAFETY: so many bytes are items, hence initialised.
        unsafe { std::slice::from_raw_parts(self.at.as_ptr(), length) }
    }

    /// The items.
    #[inline]
    pub(crate) fn items(&self) -> [Item<'_>; N] {
        let mut rest = self.bytes(N);
        std::array::from_fn(|_| {
            let item = first(rest);
            rest = &rest[item_bytes(rest)..];
            item
        })
    }

    /// The first item, which the others are found by.
    #[inline]
    pub(crate) fn name(&self) -> Item<'_> {
        first(self.bytes(1))
    }

    /// Whether the first item is this one.
    #[inline]
    pub(crate) fn is_named(&self, code: &Code<'_>) -> bool {
        code.begins(self.bytes(1))
    }
}

impl<const N: usize> Indexed for BoxedItems<N> {
    #[inline(always)]
    fn address(&self) -> *const u8 {
        self.at.as_ptr()
    }
}

impl<const N: usize> HeapBytes for BoxedItems<N> {
    fn heap_bytes(&self) -> usize {
        layout(self.bytes(N).len()).size()
    }
}

impl BoxedItems<2> {
    /// Replaces the second item, in place where the size class allows.
    pub(crate) fn set_second(&mut self, code: &Code<'_>) {
        let (start, old_bytes) = (self.bytes(1).len(), self.bytes(2).len());
        let new_bytes = start + code.len();
        if layout(old_bytes) != layout(new_bytes) {
            let name = Code::of(self.name());
            *self = BoxedItems::new([&name, code]);
            return;
        }
        // SAFETY: both contents have the layout of this allocation, so the new one
        // fits, and `&mut self` excludes readers.
        unsafe { put(self.at.add(start), code) };
    }
}

impl<const N: usize> Drop for BoxedItems<N> {
    fn drop(&mut self) {
        let layout = layout(self.bytes(N).len());
        // SAFETY: allocated with this layout, which follows from the content.
        unsafe { dealloc(self.at.as_ptr(), layout) };
    }
}

impl<const N: usize> Clone for BoxedItems<N> {
    fn clone(&self) -> BoxedItems<N> {
        let codes = self.items().map(Code::of);
        BoxedItems::new(codes.each_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boxed(texts: [&[u8]; 2]) -> BoxedItems<2> {
        let codes = texts.map(|text| Code::of(Item::of(text)));
        BoxedItems::new(codes.each_ref())
    }

    #[test]
    fn a_pointer_to_items_is_one_word() {
        assert_eq!(size_of::<Option<BoxedItems<2>>>(), 8);
    }

    #[test]
    fn values_change_in_place_and_by_growing() {
        let mut entry = boxed([b"field", b"1"]);
        for length in [0, 1, 20, 5, 200, 199, 70_000, 3] {
            let value = vec![b'v'; length];
            entry.set_second(&Code::of(Item::Bytes(&value)));
            assert_eq!(entry.items(), [Item::Bytes(b"field"), Item::Bytes(&value)]);
            assert_eq!(entry.clone().items(), entry.items());
        }
    }

    #[test]
    fn only_the_whole_name_is_the_name() {
        let entry = boxed([b"field", b"7"]);
        for (text, expected) in [(b"field".as_slice(), true), (b"fiel", false), (b"7", false)] {
            assert_eq!(entry.is_named(&Code::of(Item::of(text))), expected);
        }
        assert_eq!(entry.name(), Item::Bytes(b"field"));
    }
}
