//! Asking the processor to fetch a cache line before it is needed.
//!
//! Owns the one hint the batch pipeline uses. A prefetch never faults and never
//! changes memory, so these functions are safe to call with any address; the
//! `unsafe` below is only the price of the intrinsic.
//! Not here: which addresses are worth fetching (`index`, and `batch` of the engine).
#![allow(unsafe_code)]

const CACHE_LINE_BYTES: usize = 64;
/// More than this is fetched by the processor itself, which has seen where it leads.
const LINES_MAX: usize = 24;

/// Hints that these bytes will be read soon.
#[inline]
pub(crate) fn prefetch_bytes(address: *const u8, bytes: usize) {
    for line in 0..bytes.div_ceil(CACHE_LINE_BYTES).min(LINES_MAX) {
        prefetch(address.wrapping_add(line * CACHE_LINE_BYTES));
    }
}

/// Hints that the cache line at `address` will be read soon.
#[inline(always)]
pub fn prefetch<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: prefetching is defined for every address, mapped or not.
    unsafe {
        core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T0 }>(address.cast());
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: `prfm` is a hint: it cannot fault and writes no register or memory.
    unsafe {
        core::arch::asm!("prfm pldl1keep, [{0}]", in(reg) address, options(nostack, readonly, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = address;
}
