//! The allocator's size classes.
//!
//! Owns one rule: how large an allocation becomes anyway. Whoever rounds up by it
//! need not store a capacity, for it follows from the length of the content. That the rule
//! is the allocator's own is tested where that is linked: `size_classes.rs` of
//! `keyward-server`'s tests.

/// What the allocator rounds large requests up to a multiple of.
const PAGE_BYTES: usize = 4096;

/// Rounds up to what the allocator would round up to anyway (jemalloc's spacing:
/// 8, multiples of 16 up to 128, then four classes per doubling). Beyond 32 KiB, where it
/// would hand out whole pages, the classes go on, so that what grows is moved seldom.
#[inline(always)]
pub const fn size_class(bytes: usize) -> usize {
    bytes.next_multiple_of(step(bytes))
}

/// Bytes that the allocator hands out for a request of so many.
pub const fn allocated(bytes: usize) -> usize {
    let step = step(bytes);
    bytes.next_multiple_of(if step < PAGE_BYTES { step } else { PAGE_BYTES })
}

#[inline(always)]
const fn step(bytes: usize) -> usize {
    match bytes {
        0..=8 => 8,
        9..=128 => 16,
        _ => 1 << ((bytes - 1).ilog2() - 2),
    }
}

/// The largest class of which the allocator puts several side by side.
const SMALL_BYTES_MAX: usize = 14 * 1024;

/// Whether an allocation of this class lies among others of its class, rather than on
/// pages of its own.
pub(crate) const fn is_small(class: usize) -> bool {
    class <= SMALL_BYTES_MAX
}
