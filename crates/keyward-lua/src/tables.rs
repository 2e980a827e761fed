//! `table.sort` and `table.insert`, as Lua 5.1 has them (quicksort by Sedgewick, the same
//! comparisons in the same order), but so that a run that is to end also ends within them:
//! Lua's own work in C, where no hook runs. Comparing long texts that are alike takes long,
//! and so does making room at a place far below the first.
//!
//! Invariant: nothing here has a destructor, because Lua leaves a comparison that fails by
//! a long jump.
#![allow(unsafe_code)]

use super::builtins::{READ_ONLY, count_work, push_behind, raise, raise_with_place};
use super::watch::COPIED_BYTES_PER_STEP;
use mlua::ffi::{self, lua_State};
use std::ffi::c_int;

/// The places of the arguments.
const TABLE: c_int = 1;
const ORDER: c_int = 2;
/// What moving an element is worth, in steps.
const STEPS_PER_MOVE: usize = 4;
/// What a comparison is worth, in steps.
const STEPS_PER_COMPARISON: usize = 4;

/// `table.insert(table, [position,] value)`
pub(crate) unsafe extern "C-unwind" fn insert(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with the state of the running function; each element that is
    // moved is pushed and popped, and the value lies on top in the end.
    unsafe {
        if push_behind(state) {
            return raise(state, READ_ONLY);
        }
        ffi::luaL_checktype(state, TABLE, ffi::LUA_TTABLE);
        // As C's int, which Lua uses.
        let mut free = (ffi::lua_objlen(state, TABLE) as c_int).wrapping_add(1);
        let position = match ffi::lua_gettop(state) {
            2 => free,
            3 => {
                let position = ffi::luaL_checkinteger(state, 2) as c_int;
                free = free.max(position);
                while free > position {
                    count_work(state, STEPS_PER_MOVE);
                    ffi::lua_rawgeti_(state, TABLE, free - 1);
                    ffi::lua_rawseti_(state, TABLE, free);
                    free -= 1;
                }
                position
            }
            _ => return raise_with_place(state, c"wrong number of arguments to 'insert'"),
        };
        ffi::lua_rawseti_(state, TABLE, position);
        0
    }
}

/// `table.sort(table [, order])`
pub(crate) unsafe extern "C-unwind" fn sort(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with the state of the running function; `luaL_checkstack`
    // makes the room that the recursion, which halves its range each time, needs.
    unsafe {
        if push_behind(state) {
            return raise(state, READ_ONLY);
        }
        ffi::luaL_checktype(state, TABLE, ffi::LUA_TTABLE);
        let len = ffi::lua_objlen(state, TABLE) as c_int;
        ffi::luaL_checkstack_(state, 40, c"".as_ptr());
        if ffi::lua_isnoneornil(state, ORDER) == 0 {
            ffi::luaL_checktype(state, ORDER, ffi::LUA_TFUNCTION);
        }
        ffi::lua_settop(state, 2);
        sort_range(state, 1, len);
        0
    }
}

/// Pops two values into the table: the upper one at `first`, the lower one at `second`.
///
/// # Safety
/// Two values must lie above the arguments of `sort`.
unsafe fn set_two(state: *mut lua_State, first: c_int, second: c_int) {
    // SAFETY: the first argument is a table, and there are two values to pop.
    unsafe {
        ffi::lua_rawseti_(state, TABLE, first);
        ffi::lua_rawseti_(state, TABLE, second);
    }
}

/// Whether the value at one place, counted from the top, comes before that at another.
///
/// # Safety
/// Both places must exist, and the arguments of `sort` be at theirs.
unsafe fn is_before(state: *mut lua_State, a: c_int, b: c_int) -> bool {
    // SAFETY: as the caller says.
    unsafe {
        if ffi::lua_isnil(state, ORDER) == 0 {
            ffi::lua_pushvalue(state, ORDER);
            // The places count from the top, which has moved.
            ffi::lua_pushvalue(state, a - 1);
            ffi::lua_pushvalue(state, b - 2);
            ffi::lua_call(state, 2, 1);
            let is_before = ffi::lua_toboolean(state, -1) != 0;
            ffi::lua_settop(state, -2);
            return is_before;
        }
        let mut steps = STEPS_PER_COMPARISON;
        if ffi::lua_type(state, a) == ffi::LUA_TSTRING {
            steps += ffi::lua_objlen(state, a) / COPIED_BYTES_PER_STEP;
        }
        count_work(state, steps);
        ffi::lua_lessthan(state, a, b) != 0
    }
}

/// Sorts a range of the table.
///
/// # Safety
/// The arguments of `sort` must be at their places, with room above.
unsafe fn sort_range(state: *mut lua_State, mut low: c_int, mut high: c_int) {
    // SAFETY: every push below is popped again by `set_two` or `lua_settop` before the
    // next round, so that the places named are those of the values pushed last.
    unsafe {
        while low < high {
            order_three(state, low, high);
            if high - low <= 2 {
                break;
            }
            let mut i = partition(state, low, high);
            // The smaller part by recursion, the larger one by the loop.
            let j;
            if i - low < high - i {
                j = low;
                i -= 1;
                low = i + 2;
            } else {
                j = i + 1;
                i = high;
                high = j - 2;
            }
            sort_range(state, j, i);
        }
    }
}

/// Brings the first, the middle and the last element of a range in order.
///
/// # Safety
/// As for [`sort_range`].
unsafe fn order_three(state: *mut lua_State, low: c_int, high: c_int) {
    // SAFETY: as there.
    unsafe {
        ffi::lua_rawgeti_(state, TABLE, low);
        ffi::lua_rawgeti_(state, TABLE, high);
        if is_before(state, -1, -2) {
            set_two(state, low, high);
        } else {
            ffi::lua_settop(state, -3);
        }
        if high - low == 1 {
            return;
        }
        let middle = (low + high) / 2;
        ffi::lua_rawgeti_(state, TABLE, middle);
        ffi::lua_rawgeti_(state, TABLE, low);
        if is_before(state, -2, -1) {
            set_two(state, middle, low);
            return;
        }
        ffi::lua_settop(state, -2);
        ffi::lua_rawgeti_(state, TABLE, high);
        if is_before(state, -1, -2) {
            set_two(state, middle, high);
        } else {
            ffi::lua_settop(state, -3);
        }
    }
}

/// Parts a range of more than three elements by its middle one; returns where that lies
/// then.
///
/// # Safety
/// As for [`sort_range`].
unsafe fn partition(state: *mut lua_State, low: c_int, high: c_int) -> c_int {
    const INVALID: &std::ffi::CStr = c"invalid order function for sorting";
    // SAFETY: as there; during the loop the pivot lies below the element compared.
    unsafe {
        let middle = (low + high) / 2;
        ffi::lua_rawgeti_(state, TABLE, middle);
        ffi::lua_pushvalue(state, -1);
        ffi::lua_rawgeti_(state, TABLE, high - 1);
        set_two(state, middle, high - 1);
        let (mut i, mut j) = (low, high - 1);
        loop {
            i += 1;
            ffi::lua_rawgeti_(state, TABLE, i);
            while is_before(state, -1, -2) {
                if i > high {
                    raise_with_place(state, INVALID);
                }
                ffi::lua_settop(state, -2);
                i += 1;
                ffi::lua_rawgeti_(state, TABLE, i);
            }
            j -= 1;
            ffi::lua_rawgeti_(state, TABLE, j);
            while is_before(state, -3, -1) {
                if j < low {
                    raise_with_place(state, INVALID);
                }
                ffi::lua_settop(state, -2);
                j -= 1;
                ffi::lua_rawgeti_(state, TABLE, j);
            }
            if j < i {
                ffi::lua_settop(state, -4);
                break;
            }
            set_two(state, i, j);
        }
        ffi::lua_rawgeti_(state, TABLE, high - 1);
        ffi::lua_rawgeti_(state, TABLE, i);
        set_two(state, high - 1, i);
        i
    }
}
