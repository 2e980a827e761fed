//! Giving free pages back to the system, and freeing what threads keep for themselves.
//!
//! This module is `unsafe` because the safe interface to jemalloc's controls has
//! no way to call one that takes and gives nothing, nor to set one of a thread.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_void};
use std::ptr::null_mut;

/// `MALLCTL_ARENAS_ALL`, which stands for every arena, is 4096.
const PURGE_ALL: &CStr = c"arena.4096.purge";
const DECAY_ALL: &CStr = c"arena.4096.decay";
const THREAD_CACHE: &CStr = c"thread.tcache.enabled";

/// Purges the free pages of all arenas; whether that worked.
pub(crate) fn purge() -> bool {
    control(PURGE_ALL)
}

/// Purges the free pages of all arenas whose time has come: within ten seconds each goes,
/// a few at a time. By itself the allocator does so only while it is asked for memory.
pub(crate) fn decay() {
    control(DECAY_ALL);
}

/// Runs something without what this thread keeps of the memory it has freed: otherwise
/// what is allocated would come to lie where something was just freed, instead of where
/// the allocator would like to have it.
pub(crate) fn without_thread_cache<R>(run: impl FnOnce() -> R) -> R {
    set_thread_cache(false);
    let result = run();
    set_thread_cache(true);
    result
}

fn set_thread_cache(mut is_on: bool) {
    let value = (&raw mut is_on).cast::<c_void>();
    // SAFETY: the name ends with a zero byte; this control takes a `bool`, which is only
    // read. Without jemalloc there is nothing to set, and it fails.
    unsafe {
        tikv_jemalloc_sys::mallctl(
            THREAD_CACHE.as_ptr(),
            null_mut(),
            null_mut(),
            value,
            size_of::<bool>(),
        );
    }
}

fn control(name: &CStr) -> bool {
    // SAFETY: the name ends with a zero byte; a control without a value takes no
    // memory to read from or to write to.
    let error =
        unsafe { tikv_jemalloc_sys::mallctl(name.as_ptr(), null_mut(), null_mut(), null_mut(), 0) };
    error == 0
}
