//! Where the parts of a row are, and how large it is.
//!
//! Owns the head of a row and the arithmetic on it; touches no memory.

use crate::size_class::size_class;
use crate::value::Object;
use std::alloc::Layout;

const HEAD_BYTES: usize = 12;
pub(super) const OBJECT_AT: usize = 16;
const ALIGN: usize = 8;

const _: () = assert!(size_of::<Head>() == HEAD_BYTES);
const _: () = assert!(align_of::<Object>() <= ALIGN);

/// Longest key and longest text: `u32` holds both, and Redis's limit is 512 MB.
pub(super) const BYTES_MAX: usize = u32::MAX as usize;

#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Head {
    pub(super) key_bytes: u32,
    pub(super) text_bytes: u32,
    pub(super) clock: [u8; 3],
    pub(super) flags: u8,
}

pub(super) const KIND_TEXT: u8 = 0;
pub(super) const KIND_INT: u8 = 1;
pub(super) const KIND_OBJECT: u8 = 2;
pub(super) const KIND_MASK: u8 = 3;
/// There is a deadline.
pub(super) const HAS_DEADLINE: u8 = 4;
/// A text that was edited in place: `OBJECT ENCODING` answers `raw` whatever its length.
pub(super) const EDITED: u8 = 8;

impl Head {
    pub(super) fn has_deadline(self) -> bool {
        self.flags & HAS_DEADLINE != 0
    }

    #[inline(always)]
    pub(super) fn deadline_at(self) -> usize {
        if self.flags & KIND_MASK == KIND_OBJECT {
            OBJECT_AT + size_of::<Object>()
        } else {
            HEAD_BYTES
        }
    }

    #[inline(always)]
    pub(super) fn number_at(self) -> usize {
        self.deadline_at() + usize::from(self.has_deadline()) * 8
    }

    #[inline(always)]
    pub(super) fn key_at(self) -> usize {
        self.number_at() + usize::from(self.flags & KIND_MASK == KIND_INT) * 8
    }

    #[inline(always)]
    pub(super) fn text_at(self) -> usize {
        self.key_at() + self.key_bytes as usize
    }

    pub(super) fn layout(self) -> Layout {
        let bytes = size_class(self.text_at() + self.text_bytes as usize);
        Layout::from_size_align(bytes, ALIGN).expect("a row is far smaller than the address space")
    }
}
