//! The allocator's size classes.
//!
//! Owns one rule: how large an allocation becomes anyway. Whoever rounds up by it
//! need not store a capacity, for it follows from the length of the content.

/// Rounds up to what the allocator would round up to anyway (jemalloc's spacing:
/// 8, multiples of 16 up to 128, then four classes per doubling).
pub const fn size_class(bytes: usize) -> usize {
    let step = match bytes {
        0..=8 => 8,
        9..=128 => 16,
        _ => 1 << ((bytes - 1).ilog2() - 2),
    };
    bytes.next_multiple_of(step)
}

/// The largest class of which the allocator puts several side by side.
const SMALL_BYTES_MAX: usize = 14 * 1024;

/// Whether an allocation of this class lies among others of its class, rather than on
/// pages of its own.
pub(crate) const fn is_small(class: usize) -> bool {
    class <= SMALL_BYTES_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn size_classes_are_the_allocators() {
        let cases = [
            (1, 8),
            (8, 8),
            (9, 16),
            (16, 16),
            (17, 32),
            (128, 128),
            (129, 160),
            (256, 256),
            (257, 320),
            (5000, 5120),
        ];
        for (bytes, class) in cases {
            assert_eq!(size_class(bytes), class);
        }
    }
}
