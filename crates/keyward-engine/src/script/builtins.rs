//! Lua's own functions where they must behave otherwise than in plain Lua.
//!
//! Owns three kinds of replacements:
//! - Redis's Lua has read-only tables, plain Lua 5.1 has not. Here a read-only table
//!   is an empty *front* whose metatable finds everything in a table *behind* it
//!   and refuses writes. Functions that bypass metatables (`rawset`, `next`,
//!   `table.insert` …) are told about fronts by the map of all of them.
//! - `load`, `loadstring` and `unpack` close known holes of Lua 5.1 (bytecode,
//!   CVE-2025-49844, CVE-2025-46817); the pattern functions and `string.rep` bound
//!   what a C function does that cannot be interrupted.
//! - `pcall` shows a script the message of an error, not Redis's table.
//!
//! A replacement checks, then runs the original in its own frame, so that messages
//! name the right function and the right line.
//! Not here: which functions are replaced (`globals`).
#![allow(unsafe_code)]

use super::pattern::{self, Search};
use mlua::ffi::{self, lua_State};
use std::ffi::{CStr, c_int};

/// Longest pattern: matching recurses once per item on the thread's stack.
const PATTERN_BYTES_MAX: usize = 4 * 1024;
/// Longest result of `string.rep`: what a string value may have.
const REP_BYTES_MAX: u64 = 512 * 1024 * 1024;
/// Most results of `unpack`: Lua's own limit.
const UNPACK_RESULTS_MAX: i64 = 8_000;

/// The places of a replacement's upvalues.
const ORIGINAL: c_int = ffi::lua_upvalueindex(1);
const FRONTS: c_int = ffi::lua_upvalueindex(2);

/// Runs the function that was replaced, in this frame.
///
/// # Safety
/// The first upvalue must be a C function without upvalues of its own.
unsafe fn run_original(state: *mut lua_State) -> c_int {
    unsafe {
        match ffi::lua_tocfunction(state, ORIGINAL) {
            Some(original) => original(state),
            None => 0,
        }
    }
}

/// Pushes what is behind the first argument and answers true, if that is a front.
unsafe fn push_behind(state: *mut lua_State) -> bool {
    unsafe {
        if ffi::lua_type(state, 1) != ffi::LUA_TTABLE {
            return false;
        }
        ffi::lua_pushvalue(state, 1);
        if ffi::lua_rawget(state, FRONTS) == ffi::LUA_TNIL {
            ffi::lua_pop(state, 1);
            return false;
        }
        true
    }
}

unsafe fn raise(state: *mut lua_State, message: &CStr) -> c_int {
    unsafe {
        ffi::lua_pushstring_(state, message.as_ptr());
        ffi::lua_error(state)
    }
}

unsafe fn raise_with_place(state: *mut lua_State, message: &CStr) -> c_int {
    unsafe {
        ffi::luaL_where(state, 1);
        ffi::lua_pushstring_(state, message.as_ptr());
        ffi::lua_concat(state, 2);
        ffi::lua_error(state)
    }
}

const READ_ONLY: &CStr = c"Attempt to modify a readonly table";

/// `__newindex` of a front.
pub(super) unsafe extern "C-unwind" fn refuse_write(state: *mut lua_State) -> c_int {
    unsafe { raise_with_place(state, READ_ONLY) }
}

/// `__index` of the globals: a name that is none.
pub(super) unsafe extern "C-unwind" fn refuse_name(state: *mut lua_State) -> c_int {
    unsafe {
        if ffi::lua_gettop(state) != 2 {
            let message = c"Wrong number of arguments to luaProtectedTableError";
            return raise_with_place(state, message);
        }
        if ffi::lua_isstring(state, 2) == 0 {
            let message = c"Second argument to luaProtectedTableError must be a string or number";
            return raise_with_place(state, message);
        }
        let message = c"Script attempted to access nonexistent global variable '%s'";
        ffi::luaL_error(state, message.as_ptr(), ffi::lua_tostring(state, 2))
    }
}

/// Functions that write to their first argument without asking its metatable.
pub(super) unsafe extern "C-unwind" fn checked_writer(state: *mut lua_State) -> c_int {
    unsafe {
        if push_behind(state) {
            return raise(state, READ_ONLY);
        }
        run_original(state)
    }
}

/// Functions that read their first argument without asking its metatable.
pub(super) unsafe extern "C-unwind" fn checked_reader(state: *mut lua_State) -> c_int {
    unsafe {
        if push_behind(state) {
            ffi::lua_replace(state, 1);
        }
        run_original(state)
    }
}

/// `getmetatable`: a front shows the metatable of what is behind it.
pub(super) unsafe extern "C-unwind" fn getmetatable(state: *mut lua_State) -> c_int {
    unsafe {
        if !push_behind(state) {
            return run_original(state);
        }
        ffi::lua_getmetatable(state, 1);
        ffi::lua_pushstring_(state, c"__metatable".as_ptr());
        ffi::lua_rawget(state, -2);
        1
    }
}

/// `pairs`; its first upvalue is our `next`.
pub(super) unsafe extern "C-unwind" fn pairs(state: *mut lua_State) -> c_int {
    unsafe {
        ffi::luaL_checktype(state, 1, ffi::LUA_TTABLE);
        ffi::lua_pushvalue(state, ORIGINAL);
        ffi::lua_pushvalue(state, 1);
        ffi::lua_pushnil(state);
        3
    }
}

/// `unpack`: its own check for too many results is undone by optimizing compilers.
pub(super) unsafe extern "C-unwind" fn unpack(state: *mut lua_State) -> c_int {
    unsafe {
        ffi::luaL_checktype(state, 1, ffi::LUA_TTABLE);
        // As C's int, which the original uses.
        let first = ffi::luaL_optinteger(state, 2, 1) as i32;
        let last = match ffi::lua_isnoneornil(state, 3) {
            0 => ffi::luaL_checkinteger(state, 3) as i32,
            _ => ffi::lua_objlen(state, 1) as i32,
        };
        if i64::from(last) - i64::from(first) >= UNPACK_RESULTS_MAX {
            return raise_with_place(state, c"too many results to unpack");
        }
        run_original(state)
    }
}

/// `string.rep`: bounded, and without a loop when there is nothing to repeat.
pub(super) unsafe extern "C-unwind" fn rep(state: *mut lua_State) -> c_int {
    unsafe {
        let mut len = 0;
        ffi::luaL_checklstring(state, 1, &mut len);
        let count = ffi::luaL_checkinteger(state, 2).max(0) as u64;
        if (len as u64).saturating_mul(count) > REP_BYTES_MAX {
            return raise_with_place(state, c"resulting string too large");
        }
        if len == 0 {
            ffi::lua_settop(state, 1);
            return 1;
        }
        run_original(state)
    }
}

/// `string.find` and `match`: the first match from a place on.
pub(super) unsafe extern "C-unwind" fn first_match(state: *mut lua_State) -> c_int {
    unsafe { check_pattern(state, Search::First) }
}

/// `string.gmatch` and `gsub`: all matches.
pub(super) unsafe extern "C-unwind" fn all_matches(state: *mut lua_State) -> c_int {
    unsafe { check_pattern(state, Search::All) }
}

/// Runs a function whose arguments begin with a text and a pattern, unless that would
/// take too long. What is no string is left to the function to complain about.
unsafe fn check_pattern(state: *mut lua_State, search: Search) -> c_int {
    unsafe {
        if let (Some(text), Some(pattern)) = (string(state, 1), string(state, 2)) {
            let skipped = match search {
                Search::All => 0,
                Search::First => start(ffi::lua_tointeger(state, 3) as i64, text.len()),
            };
            if pattern.len() > PATTERN_BYTES_MAX
                || !pattern::is_affordable(&text[skipped..], pattern, search)
            {
                return raise_with_place(state, c"pattern too complex");
            }
        }
        run_original(state)
    }
}

/// The bytes of an argument that is a string; it stays on the stack meanwhile.
unsafe fn string<'a>(state: *mut lua_State, index: c_int) -> Option<&'a [u8]> {
    unsafe {
        if ffi::lua_type(state, index) != ffi::LUA_TSTRING {
            return None;
        }
        let mut len = 0;
        let bytes = ffi::lua_tolstring(state, index, &mut len);
        Some(std::slice::from_raw_parts(bytes.cast(), len))
    }
}

/// Where a search begins that is told to at a place from 1, or from the end if negative.
fn start(place: i64, len: usize) -> usize {
    let from_end = place.unsigned_abs() as usize;
    let start = if place < 0 { len.saturating_sub(from_end) } else { from_end.saturating_sub(1) };
    start.min(len)
}

/// `pcall`: an error that is a table with a field `err` becomes that.
pub(super) unsafe extern "C-unwind" fn pcall(state: *mut lua_State) -> c_int {
    unsafe {
        ffi::luaL_checkany(state, 1);
        let arguments = ffi::lua_gettop(state) - 1;
        ffi::lua_pushboolean(state, 1);
        ffi::lua_insert(state, 1);
        if ffi::lua_pcall(state, arguments, ffi::LUA_MULTRET, 0) != ffi::LUA_OK {
            if ffi::lua_type(state, -1) == ffi::LUA_TTABLE {
                ffi::lua_pushstring_(state, c"err".as_ptr());
                ffi::lua_rawget(state, -2);
                if ffi::lua_isstring(state, -1) != 0 {
                    ffi::lua_replace(state, -2);
                } else {
                    ffi::lua_pop(state, 1);
                }
            }
            ffi::lua_pushboolean(state, 0);
            ffi::lua_replace(state, 1);
        }
        ffi::lua_gettop(state)
    }
}

/// `loadstring(text [, name])`
pub(super) unsafe extern "C-unwind" fn loadstring(state: *mut lua_State) -> c_int {
    unsafe {
        ffi::luaL_checklstring(state, 1, std::ptr::null_mut());
        ffi::luaL_optlstring(state, 2, c"".as_ptr(), std::ptr::null_mut());
        ffi::lua_settop(state, 2);
        if ffi::lua_isnil(state, 2) != 0 {
            ffi::lua_pushvalue(state, 1);
            ffi::lua_replace(state, 2);
        }
        load_text(state)
    }
}

/// `load(reader [, name])`
pub(super) unsafe extern "C-unwind" fn load(state: *mut lua_State) -> c_int {
    unsafe {
        ffi::luaL_optlstring(state, 2, c"".as_ptr(), std::ptr::null_mut());
        ffi::luaL_checktype(state, 1, ffi::LUA_TFUNCTION);
        ffi::lua_settop(state, 2);
        if ffi::lua_isnil(state, 2) != 0 {
            ffi::lua_pushstring_(state, c"=(load)".as_ptr());
            ffi::lua_replace(state, 2);
        }
        // The whole text first: bytecode shows in its first byte only.
        ffi::lua_pushstring_(state, c"".as_ptr());
        loop {
            ffi::lua_pushvalue(state, 1);
            if ffi::lua_pcall(state, 0, 1, 0) != ffi::LUA_OK {
                ffi::lua_pushnil(state);
                ffi::lua_insert(state, -2);
                return 2;
            }
            if ffi::lua_isnil(state, -1) != 0 {
                break;
            }
            if ffi::lua_isstring(state, -1) == 0 {
                ffi::lua_pushnil(state);
                ffi::luaL_where(state, 1);
                ffi::lua_pushstring_(state, c"reader function must return a string".as_ptr());
                ffi::lua_concat(state, 2);
                return 2;
            }
            if ffi::lua_objlen(state, -1) == 0 {
                break;
            }
            ffi::lua_concat(state, 2);
        }
        ffi::lua_pop(state, 1);
        ffi::lua_replace(state, 1);
        load_text(state)
    }
}

/// Compiles the text at 1 under the name at 2: a function, or nil and a message.
unsafe fn load_text(state: *mut lua_State) -> c_int {
    unsafe {
        let mut len = 0;
        let mut text = ffi::lua_tolstring(state, 1, &mut len);
        if len > 0 && *text.cast::<u8>() == ffi::LUA_SIGNATURE[0] {
            // Bytecode is not run. Behind a space it is text with a syntax error, which
            // is what Redis makes of it.
            ffi::lua_pushstring_(state, c" ".as_ptr());
            ffi::lua_pushvalue(state, 1);
            ffi::lua_concat(state, 2);
            ffi::lua_replace(state, 1);
            text = ffi::lua_tolstring(state, 1, &mut len);
        }
        let name = ffi::lua_tolstring(state, 2, std::ptr::null_mut());
        // The parser does not anchor what it is working on (CVE-2025-49844).
        ffi::lua_gc(state, ffi::LUA_GCSTOP, 0);
        let status = ffi::luaL_loadbuffer(state, text, len, name);
        ffi::lua_gc(state, ffi::LUA_GCRESTART, 0);
        if status == ffi::LUA_OK {
            return 1;
        }
        ffi::lua_pushnil(state);
        ffi::lua_insert(state, -2);
        2
    }
}

/// Sees an uncaught error: makes it a table with the place where it was raised. An
/// error raised by a C function belongs to the one that called it. Its second upvalue
/// is the map of fronts.
pub(super) unsafe extern "C-unwind" fn error_handler(state: *mut lua_State) -> c_int {
    unsafe {
        let mut frame: ffi::lua_Debug = std::mem::zeroed();
        let what = c"Sl".as_ptr();
        let mut is_known = ffi::lua_getstack(state, 1, &mut frame) != 0;
        if is_known {
            ffi::lua_getinfo(state, what, &mut frame);
            if CStr::from_ptr(frame.what) == c"C" {
                is_known = ffi::lua_getstack(state, 2, &mut frame) != 0;
                if is_known {
                    ffi::lua_getinfo(state, what, &mut frame);
                }
            }
        }
        ffi::lua_settop(state, 1);
        if push_behind(state) {
            // What cannot be written to cannot carry a place.
            ffi::lua_pushstring_(state, READ_ONLY.as_ptr());
            ffi::lua_replace(state, 1);
            ffi::lua_settop(state, 1);
        }
        if ffi::lua_type(state, 1) != ffi::LUA_TTABLE {
            ffi::lua_createtable(state, 0, 3);
            ffi::lua_pushstring_(state, c"ERR ".as_ptr());
            ffi::luaL_tolstring(state, 1, std::ptr::null_mut());
            ffi::lua_concat(state, 2);
            ffi::lua_setfield(state, 2, c"err".as_ptr());
            ffi::lua_replace(state, 1);
        }
        if is_known {
            ffi::lua_pushstring_(state, c"source".as_ptr());
            ffi::lua_pushstring_(state, frame.source);
            ffi::lua_rawset(state, 1);
            ffi::lua_pushstring_(state, c"line".as_ptr());
            ffi::lua_pushnumber(state, f64::from(frame.currentline));
            ffi::lua_rawset(state, 1);
        }
        1
    }
}
