//! Giving free pages back to the system.
//!
//! This module is `unsafe` because the safe interface to jemalloc's controls has
//! no way to call one that takes and gives nothing.
#![allow(unsafe_code)]

use std::ptr::null_mut;

/// `MALLCTL_ARENAS_ALL`, which stands for every arena, is 4096.
const PURGE_ALL: &std::ffi::CStr = c"arena.4096.purge";

/// Purges the free pages of all arenas; whether that worked.
pub(crate) fn purge() -> bool {
    // SAFETY: the name ends with a zero byte; a control without a value takes no
    // memory to read from or to write to.
    let error = unsafe {
        tikv_jemalloc_sys::mallctl(PURGE_ALL.as_ptr(), null_mut(), null_mut(), null_mut(), 0)
    };
    error == 0
}
