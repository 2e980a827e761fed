//! Giving free pages back to the system.
//!
//! This module is `unsafe` because the safe interface to jemalloc's controls has
//! no way to call one that takes and gives nothing.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::ptr::null_mut;

/// `MALLCTL_ARENAS_ALL`, which stands for every arena, is 4096.
const PURGE_ALL: &CStr = c"arena.4096.purge";
const DECAY_ALL: &CStr = c"arena.4096.decay";

/// Purges the free pages of all arenas; whether that worked.
pub(crate) fn purge() -> bool {
    control(PURGE_ALL)
}

/// Purges the free pages of all arenas whose time has come: within ten seconds each goes,
/// a few at a time. By itself the allocator does so only while it is asked for memory.
pub(crate) fn decay() {
    control(DECAY_ALL);
}

fn control(name: &CStr) -> bool {
    // SAFETY: the name ends with a zero byte; a control without a value takes no
    // memory to read from or to write to.
    let error =
        unsafe { tikv_jemalloc_sys::mallctl(name.as_ptr(), null_mut(), null_mut(), null_mut(), 0) };
    error == 0
}
