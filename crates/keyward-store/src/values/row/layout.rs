//! Where the parts of a row are, and how large it is.
//!
//! Owns the head of a row and the arithmetic on it; touches no memory.

use super::slot::SLOT_BYTES;
use crate::values::size_class::size_class;
use crate::values::value::Type;
use std::alloc::Layout;

const HEAD_BYTES: usize = 8;
/// Where the text's length, the number or the collection is.
pub(super) const BODY_AT: usize = HEAD_BYTES;
const TEXT_LENGTH_BYTES: usize = size_of::<u32>();
const NUMBER_BYTES: usize = size_of::<i64>();
const DEADLINE_BYTES: usize = size_of::<i64>();
const ALIGN: usize = 8;

const _: () = assert!(size_of::<Head>() == HEAD_BYTES);
const _: () = assert!(BODY_AT.is_multiple_of(SLOT_BYTES) && SLOT_BYTES <= ALIGN);

/// Longest key and longest text: a row stores their lengths in 32 bits.
pub const BYTES_MAX: usize = u32::MAX as usize;

/// The length of a key or a text, as a row stores it.
///
/// # Panics
/// If it is above [`BYTES_MAX`]. Commands refuse what would grow beyond that; a
/// length that was cut off would make a row that is shorter than what is written to it.
#[inline(always)]
pub(super) fn stored_length(bytes: usize) -> u32 {
    match u32::try_from(bytes) {
        Ok(length) => length,
        Err(_) => panic!("a key or a string has at most {BYTES_MAX} bytes, not {bytes}"),
    }
}

/// What every row begins with.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Head {
    pub(super) key_bytes: u32,
    pub(super) clock: [u8; 3],
    pub(super) flags: u8,
}

pub(super) const KIND_TEXT: u8 = 0;
pub(super) const KIND_INT: u8 = 1;
pub(super) const KIND_OBJECT: u8 = 2;
const KIND_MASK: u8 = 3;
/// There is a deadline.
pub(super) const HAS_DEADLINE: u8 = 4;
/// A text that was edited in place: `OBJECT ENCODING` returns `raw` whatever its length.
pub(super) const EDITED: u8 = 8;
/// The type of a collection is in three bits from here on.
const TYPE_SHIFT: u32 = 4;
const TYPE_MASK: u8 = 7;
/// The log has a later end of the row than its deadline: a bit that strings, and one that
/// collections have no use for.
const TOLD_LATER_STRING: u8 = 1 << TYPE_SHIFT;
const TOLD_LATER_OBJECT: u8 = EDITED;
/// The epoch of snapshots that the row has reached; its meaning belongs to the table.
pub(super) const EPOCH: u8 = 0x80;

const _: () = assert!(Type::ALL.len() <= TYPE_MASK as usize + 1);

/// The flags of a row that holds a collection of this type.
pub(super) fn object_flags(kind: Type) -> u8 {
    KIND_OBJECT | (kind as u8) << TYPE_SHIFT
}

impl Head {
    #[inline(always)]
    pub(super) fn kind(self) -> u8 {
        self.flags & KIND_MASK
    }

    /// The bit that says that the log has a later end of the row than its deadline.
    #[inline(always)]
    pub(super) fn told_later(self) -> u8 {
        if self.kind() == KIND_OBJECT { TOLD_LATER_OBJECT } else { TOLD_LATER_STRING }
    }

    /// The type of the collection in an object row.
    #[inline(always)]
    pub(super) fn object_type(self) -> Type {
        Type::ALL[usize::from(self.flags >> TYPE_SHIFT & TYPE_MASK)]
    }

    #[inline(always)]
    pub(super) fn has_deadline(self) -> bool {
        self.flags & HAS_DEADLINE != 0
    }

    #[inline(always)]
    pub(super) fn deadline_at(self) -> usize {
        BODY_AT
            + match self.kind() {
                KIND_TEXT => TEXT_LENGTH_BYTES,
                KIND_INT => NUMBER_BYTES,
                _ => SLOT_BYTES,
            }
    }

    #[inline(always)]
    pub(super) fn key_at(self) -> usize {
        self.deadline_at() + usize::from(self.has_deadline()) * DEADLINE_BYTES
    }

    #[inline(always)]
    pub(super) fn text_at(self) -> usize {
        self.key_at() + self.key_bytes as usize
    }

    /// The allocation of a row with this head and a text of so many bytes, none
    /// if it holds something else.
    #[inline(always)]
    pub(super) fn layout(self, text_bytes: u32) -> Layout {
        let bytes = size_class(self.text_at() + text_bytes as usize);
        Layout::from_size_align(bytes, ALIGN).expect("a row is far smaller than the address space")
    }
}
