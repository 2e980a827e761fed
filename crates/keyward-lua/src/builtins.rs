//! Lua's own functions where they must behave otherwise than in plain Lua.
//!
//! Owns four kinds of replacements:
//! - Redis's Lua has read-only tables, plain Lua 5.1 has not. Here a read-only table
//!   is an empty *front* whose metatable finds everything in a table *behind* it
//!   and refuses writes. Functions that bypass metatables (`rawset`, `next`,
//!   `table.insert` …) are told about fronts by the map of all of them.
//! - `load`, `loadstring` and `unpack` close known holes of Lua 5.1 (bytecode,
//!   CVE-2025-49844, CVE-2025-46817).
//! - Functions that take long on large arguments, where no hook runs, count that work
//!   beforehand (`watch`), so that a run that is to end gets no further.
//! - `pcall` shows a script the message of an error, not Redis's table.
//!
//! A replacement checks, then runs the original in its own frame, so that messages
//! name the right function and the right line.
//! Invariant: Lua leaves these functions by a long jump, which runs no destructors, so none
//! of them owns anything that has one.
//! Not here: which functions are replaced (`globals`); those that are written anew because
//! they can be endless (`strings`, `tables`).
#![allow(unsafe_code)]

use super::runtime::Runtime;
use super::stack::raise_ended;
use super::watch::{COPIED_BYTES_PER_STEP, PIECE_BYTES, STEPS_PER_LOOK};
use mlua::ffi::{self, lua_State};
use std::ffi::{CStr, c_char, c_int, c_void};

/// Most results of `unpack`: Lua's own limit.
const UNPACK_RESULTS_MAX: i64 = 8_000;
/// What parsing a byte is worth, in steps.
const STEPS_PER_PARSED_BYTE: usize = 2;

/// The places of a replacement's upvalues.
const ORIGINAL: c_int = ffi::lua_upvalueindex(1);
const FRONTS: c_int = ffi::lua_upvalueindex(2);

const RUNTIME: c_int = ffi::lua_upvalueindex(3);

/// The runtime of the running function's state.
///
/// # Safety
/// The running function must be a replacement, whose third upvalue is the runtime.
pub(crate) unsafe fn runtime_of(state: *mut lua_State) -> *mut Runtime {
    // SAFETY: reading an upvalue of the running function is always allowed.
    unsafe { ffi::lua_touserdata(state, RUNTIME).cast() }
}

/// Runs the function that was replaced, in this frame.
///
/// # Safety
/// The first upvalue must be a C function without upvalues of its own.
unsafe fn run_original(state: *mut lua_State) -> c_int {
    // SAFETY: it sees the arguments as if Lua had called it.
    unsafe {
        match ffi::lua_tocfunction(state, ORIGINAL) {
            Some(original) => original(state),
            None => 0,
        }
    }
}

/// Pushes what is behind the first argument and returns true, if that is a front.
///
/// # Safety
/// The running function must be a replacement, whose second upvalue is the map of fronts,
/// with room for a value.
pub(crate) unsafe fn push_behind(state: *mut lua_State) -> bool {
    // SAFETY: the map is a table, and each push is popped unless its value is returned.
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

/// Raises an error with this message.
///
/// # Safety
/// `state` is that of the running function, with room for a value; nothing with a
/// destructor may be alive in the frames up to Lua's.
pub(crate) unsafe fn raise(state: *mut lua_State, message: &CStr) -> c_int {
    // SAFETY: Lua copies the message before it jumps.
    unsafe {
        ffi::lua_pushstring_(state, message.as_ptr());
        ffi::lua_error(state)
    }
}

/// As [`raise`]; the message begins with the place in the script.
///
/// # Safety
/// As for [`raise`].
pub(crate) unsafe fn raise_with_place(state: *mut lua_State, message: &CStr) -> c_int {
    // SAFETY: as there; the place and the message are the two values joined.
    unsafe {
        ffi::luaL_where(state, 1);
        ffi::lua_pushstring_(state, message.as_ptr());
        ffi::lua_concat(state, 2);
        ffi::lua_error(state)
    }
}

pub(crate) const READ_ONLY: &CStr = c"Attempt to modify a readonly table";

/// `__newindex` of a front.
pub(crate) unsafe extern "C-unwind" fn refuse_write(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with the state of the running function.
    unsafe { raise_with_place(state, READ_ONLY) }
}

/// `__index` of the globals: a name that is none.
pub(crate) unsafe extern "C-unwind" fn refuse_name(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with the state of the running function; that the second
    // argument is a string, which `%s` needs, has been seen.
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
pub(crate) unsafe extern "C-unwind" fn checked_writer(state: *mut lua_State) -> c_int {
    // SAFETY: `globals` gives every replacement its upvalues.
    unsafe {
        if push_behind(state) {
            return raise(state, READ_ONLY);
        }
        run_original(state)
    }
}

/// Functions that read their first argument without asking its metatable.
pub(crate) unsafe extern "C-unwind" fn checked_reader(state: *mut lua_State) -> c_int {
    // SAFETY: as above; what is behind the front takes its place among the arguments.
    unsafe {
        if push_behind(state) {
            ffi::lua_replace(state, 1);
        }
        run_original(state)
    }
}

/// `getmetatable`: a front shows the metatable of what is behind it.
pub(crate) unsafe extern "C-unwind" fn getmetatable(state: *mut lua_State) -> c_int {
    // SAFETY: as above. Every front has a metatable, which `protect` gave it, so that there
    // is a table to read from.
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
pub(crate) unsafe extern "C-unwind" fn pairs(state: *mut lua_State) -> c_int {
    // SAFETY: the first upvalue is `next`; a frame has room for three results.
    unsafe {
        ffi::luaL_checktype(state, 1, ffi::LUA_TTABLE);
        ffi::lua_pushvalue(state, ORIGINAL);
        ffi::lua_pushvalue(state, 1);
        ffi::lua_pushnil(state);
        3
    }
}

/// `unpack`: its own check for too many results is undone by optimizing compilers.
pub(crate) unsafe extern "C-unwind" fn unpack(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with the state of the running function.
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

/// Functions whose work is about as much as their arguments are long.
pub(crate) unsafe extern "C-unwind" fn counted_by_arguments(state: *mut lua_State) -> c_int {
    // SAFETY: `globals` gives every replacement its upvalues, and the places are those of
    // arguments.
    unsafe {
        let mut bytes = 0_usize;
        for position in 1..=ffi::lua_gettop(state) {
            // Only of strings: asked for the length of a number, Lua makes it a string.
            if ffi::lua_type(state, position) == ffi::LUA_TSTRING {
                bytes = bytes.saturating_add(ffi::lua_objlen(state, position));
            }
        }
        count_work(state, bytes / COPIED_BYTES_PER_STEP);
        run_original(state)
    }
}

/// Functions whose work is about as much as their first argument is long, and which are
/// called too often with short ones for those to be counted.
pub(crate) unsafe extern "C-unwind" fn counted_by_length(state: *mut lua_State) -> c_int {
    // SAFETY: as above.
    unsafe {
        if ffi::lua_type(state, 1) == ffi::LUA_TSTRING {
            let bytes = ffi::lua_objlen(state, 1);
            if bytes >= PIECE_BYTES {
                count_work(state, bytes / COPIED_BYTES_PER_STEP);
            }
        }
        run_original(state)
    }
}

/// `table.concat`, whose result may be far longer than its table.
pub(crate) unsafe extern "C-unwind" fn concat(state: *mut lua_State) -> c_int {
    // SAFETY: as above; the result lies on top.
    unsafe {
        let results = counted_by_elements(state);
        if ffi::lua_type(state, -1) == ffi::LUA_TSTRING {
            count_work(state, ffi::lua_objlen(state, -1) / COPIED_BYTES_PER_STEP);
        }
        results
    }
}

/// Functions whose work is about as much as their first argument has elements.
pub(crate) unsafe extern "C-unwind" fn counted_by_elements(state: *mut lua_State) -> c_int {
    // SAFETY: as above.
    unsafe {
        if ffi::lua_type(state, 1) == ffi::LUA_TTABLE {
            count_work(state, ffi::lua_objlen(state, 1));
        }
        run_original(state)
    }
}

/// `table.remove`, which moves all elements behind a place it is given.
pub(crate) unsafe extern "C-unwind" fn checked_remover(state: *mut lua_State) -> c_int {
    // SAFETY: as above.
    unsafe {
        if push_behind(state) {
            return raise(state, READ_ONLY);
        }
        if ffi::lua_gettop(state) > 1 && ffi::lua_type(state, 1) == ffi::LUA_TTABLE {
            count_work(state, ffi::lua_objlen(state, 1));
        }
        run_original(state)
    }
}

/// `collectgarbage`, which may walk through all of Lua's memory.
pub(crate) unsafe extern "C-unwind" fn collectgarbage(state: *mut lua_State) -> c_int {
    // SAFETY: as above.
    unsafe {
        count_work(state, STEPS_PER_LOOK as usize);
        run_original(state)
    }
}

/// Counts the work that a function is about to do; does not return if the run is to end.
///
/// # Safety
/// `state` is that of a running replacement, and nobody may have borrowed the runtime.
pub(crate) unsafe fn count_work(state: *mut lua_State, steps: usize) {
    // SAFETY: the runtime outlives the state; the borrow ends before Lua goes on.
    unsafe {
        let runtime = runtime_of(state);
        if (*runtime).watch.spend(steps).is_err() {
            raise_ended(state, runtime);
        }
    }
}

/// `pcall`: an error that is a table with a field `err` becomes that.
pub(crate) unsafe extern "C-unwind" fn pcall(state: *mut lua_State) -> c_int {
    // SAFETY: at least one argument is there, so that the function called lies below
    // its arguments; what the call leaves lies above the place kept for the outcome.
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
pub(crate) unsafe extern "C-unwind" fn loadstring(state: *mut lua_State) -> c_int {
    // SAFETY: two places are there after `lua_settop`, both strings.
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
pub(crate) unsafe extern "C-unwind" fn load(state: *mut lua_State) -> c_int {
    // SAFETY: places 1 and 2 stay below what is pushed; each reading joins two strings into
    // one, so that the stack does not grow.
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
///
/// # Safety
/// Strings must lie at both places, and nothing above them; `state` is that of a running
/// replacement.
unsafe fn load_text(state: *mut lua_State) -> c_int {
    // SAFETY: text and name stay at their places while the parser reads them; a Lua
    // string that is not empty has a first byte.
    unsafe {
        let mut len = 0;
        let mut text = ffi::lua_tolstring(state, 1, &mut len);
        count_work(state, len / COPIED_BYTES_PER_STEP);
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
        let mut unread = Unread { text: text.cast(), len };
        let data = (&raw mut unread).cast();
        let status = ffi::lua_load(state, next_piece, data, name);
        ffi::lua_gc(state, ffi::LUA_GCRESTART, 0);
        if status == ffi::LUA_OK {
            return 1;
        }
        // If the run is to end, the parser has caught what says so.
        count_work(state, STEPS_PER_LOOK as usize);
        ffi::lua_pushnil(state);
        ffi::lua_insert(state, -2);
        2
    }
}

/// What the parser has yet to read of a text.
struct Unread {
    text: *const c_char,
    len: usize,
}

/// Gives the parser the next piece of a text; ends it if the run is to end.
unsafe extern "C-unwind" fn next_piece(
    state: *mut lua_State,
    unread: *mut c_void,
    len: *mut usize,
) -> *const c_char {
    // SAFETY: `load_text` passes an `Unread` that lives as long as the parser, which passes
    // a place for the length; the pieces lie within the text, one behind the other.
    unsafe {
        let unread = unread.cast::<Unread>();
        let Unread { text, len: left } = unread.read();
        let piece = left.min(PIECE_BYTES);
        count_work(state, piece * STEPS_PER_PARSED_BYTE);
        unread.write(Unread { text: text.add(piece), len: left - piece });
        len.write(piece);
        text
    }
}

/// Sees an uncaught error: makes it a table with the place where it was raised. An
/// error raised by a C function belongs to the one that called it. Its second upvalue
/// is the map of fronts.
pub(crate) unsafe extern "C-unwind" fn error_handler(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with the error as its only argument. `frame` is plain data that
    // Lua fills in; its texts are read only if a frame was found, and belong to that frame.
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
