//! `string.find`, `match`, `gmatch`, `gsub`, `rep`, `upper`, `lower` and `reverse`, as Lua
//! 5.1 has them, but so that a run that is to end also ends within them.
//!
//! Owns their arguments and results; the search itself is `pattern`.
//! Invariant: Lua leaves these functions by a long jump, which runs no destructors, so
//! none of them owns anything that has one: results grow in Lua's own buffer. A `gsub`
//! calls functions of the script, which call ours, so that the runtime is borrowed only
//! for a look.
//! Not here: functions that Lua itself carries out once their arguments are checked
//! (`builtins`).
#![allow(unsafe_code)]

use super::builtins::{raise_with_place, runtime_of};
use super::pattern::{Captured, Fault, Matcher};
use super::runtime::Runtime;
use super::stack::raise_ended;
use super::watch::{COPIED_BYTES_PER_STEP, Ended, PIECE_BYTES};
use mlua::ffi::{self, lua_State};
use std::ffi::{CStr, c_char, c_int};
use std::mem::MaybeUninit;
use std::slice;

/// Longest result of `string.rep`: what a string value may have.
const REP_BYTES_MAX: u64 = 512 * 1024 * 1024;
/// Comparisons of a plain search before it is made by an algorithm that is linear in the
/// worst case, and slower to begin.
const PLAIN_TRIES_MAX: u32 = 8;

/// The string argument at a position, or an error in Lua's words.
///
/// # Safety
/// `state` is that of the running function. The argument must stay at its place for `'a`.
unsafe fn argument<'a>(state: *mut lua_State, position: c_int) -> &'a [u8] {
    let mut len = 0;
    // SAFETY: Lua returns a string of `len` bytes that lives while it is on the stack,
    // which the caller sees to.
    unsafe {
        let bytes = ffi::luaL_checklstring(state, position, &mut len);
        slice::from_raw_parts(bytes.cast(), len)
    }
}

/// A string as C sees it: up to its first zero.
///
/// # Safety
/// `text` must be the bytes of a Lua string.
unsafe fn as_c(text: &[u8]) -> &CStr {
    // SAFETY: behind the bytes of every Lua string lies a zero, which is part of its
    // allocation.
    unsafe { CStr::from_ptr(text.as_ptr().cast()) }
}

/// Raises what ended a search.
///
/// # Safety
/// `state` is that of the running function; nothing with a destructor may be alive in the
/// frames up to Lua's.
unsafe fn raise(state: *mut lua_State, fault: Fault) -> c_int {
    // SAFETY: passed on.
    unsafe {
        match fault {
            Fault::Ended => raise_ended(state, runtime_of(state)),
            Fault::Pattern(message) => raise_with_place(state, message),
        }
    }
}

/// Asks whether the run is to end.
///
/// # Safety
/// `runtime` must be that of the state, and nobody may have borrowed it.
unsafe fn is_ended(runtime: *mut Runtime) -> bool {
    // SAFETY: the runtime outlives the state; the borrow ends with this function.
    unsafe { (*runtime).watch.look() == Err(Ended) }
}

/// Pushes the captures of a match and returns how many those are.
/// Without captures the match itself is the only one, if `has_whole`.
///
/// # Safety
/// As for [`raise`].
unsafe fn push_captures(
    state: *mut lua_State,
    matcher: &Matcher<'_>,
    found: (usize, usize),
    has_whole: bool,
) -> c_int {
    let count = match matcher.capture_count() {
        0 => usize::from(has_whole),
        count => count,
    };
    // SAFETY: there is room for what is pushed; `luaL_checkstack` raises if not.
    unsafe {
        ffi::luaL_checkstack_(state, count as c_int, c"too many captures".as_ptr());
        for index in 0..count {
            push_capture(state, matcher, index, found);
        }
    }
    count as c_int
}

/// Pushes one capture of a match.
///
/// # Safety
/// As for [`raise`]; there must be room for a value.
unsafe fn push_capture(
    state: *mut lua_State,
    matcher: &Matcher<'_>,
    index: usize,
    found: (usize, usize),
) {
    // SAFETY: Lua copies the bytes it is given.
    unsafe {
        match matcher.capture(index, found) {
            Ok(Captured::Text(text)) => {
                ffi::lua_pushlstring_(state, text.as_ptr().cast(), text.len());
            }
            Ok(Captured::Position(place)) => ffi::lua_pushinteger(state, place as i64),
            Err(fault) => {
                raise(state, fault);
            }
        }
    }
}

/// `string.find(text, pattern [, start [, plain]])`
pub(crate) unsafe extern "C-unwind" fn find(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with the state of the running function.
    unsafe { find_or_match(state, true) }
}

/// `string.match(text, pattern [, start])`
pub(crate) unsafe extern "C-unwind" fn match_(state: *mut lua_State) -> c_int {
    // SAFETY: as above.
    unsafe { find_or_match(state, false) }
}

/// # Safety
/// `state` is that of the running function, which is one of the two above.
unsafe fn find_or_match(state: *mut lua_State, is_find: bool) -> c_int {
    // SAFETY: the arguments stay at their places until this returns, since nothing here
    // pops them. The matcher has no destructor, so that Lua may jump over it, and its
    // look borrows the runtime while no other function of ours runs.
    unsafe {
        let text = argument(state, 1);
        let pattern = argument(state, 2);
        let start = start(ffi::luaL_optinteger(state, 3, 1), text.len());
        let c_pattern = as_c(pattern);
        let is_plain = is_find
            && (ffi::lua_toboolean(state, 4) != 0
                || !c_pattern.to_bytes().iter().any(|&byte| is_special(byte)));
        if is_plain {
            if let Some(found) = find_plain(&text[start..], pattern) {
                ffi::lua_pushinteger(state, (start + found + 1) as i64);
                ffi::lua_pushinteger(state, (start + found + pattern.len()) as i64);
                return 2;
            }
            ffi::lua_pushnil(state);
            return 1;
        }
        let runtime = runtime_of(state);
        let mut look = || is_ended(runtime);
        let steps = (*runtime).watch.steps_left();
        let mut matcher = Matcher::new(text, c_pattern, steps, &mut look);
        let found = if c_pattern.to_bytes().first() == Some(&b'^') {
            matcher.match_at(start, 1).map(|end| end.map(|end| (start, end)))
        } else {
            matcher.find_from(start, 0)
        };
        (*runtime).watch.set_steps_left(matcher.steps_left());
        match found {
            Ok(Some(found)) if is_find => {
                ffi::lua_pushinteger(state, found.0 as i64 + 1);
                ffi::lua_pushinteger(state, found.1 as i64);
                2 + push_captures(state, &matcher, found, false)
            }
            Ok(Some(found)) => push_captures(state, &matcher, found, true),
            Ok(None) => {
                ffi::lua_pushnil(state);
                1
            }
            Err(fault) => raise(state, fault),
        }
    }
}

/// Whether a byte makes a pattern more than a plain text.
fn is_special(byte: u8) -> bool {
    matches!(byte, b'^' | b'$' | b'*' | b'+' | b'?' | b'.' | b'(' | b'[' | b'%' | b'-')
}

/// Where a search begins that is told to at a place from 1, or from the end if negative.
fn start(place: i64, len: usize) -> usize {
    let from_end = place.unsigned_abs() as usize;
    let start = if place < 0 { len.saturating_sub(from_end) } else { from_end.saturating_sub(1) };
    start.min(len)
}

/// Where a text lies within another.
fn find_plain(text: &[u8], wanted: &[u8]) -> Option<usize> {
    const SHORT_BYTES: usize = 16;
    let Some((&first, rest)) = wanted.split_first() else { return Some(0) };
    let mut from = 0;
    for _ in 0..PLAIN_TRIES_MAX {
        let left = text.get(from..)?;
        // A short text is looked through before a search has begun.
        let at = match left.len() {
            0..SHORT_BYTES => left.iter().position(|&byte| byte == first),
            _ => memchr::memchr(first, left),
        };
        let at = from + at?;
        if text[at + 1..].starts_with(rest) {
            return Some(at);
        }
        from = at + 1;
    }
    memchr::memmem::find(&text[from..], wanted).map(|at| from + at)
}

/// `string.gmatch(text, pattern)`
pub(crate) unsafe extern "C-unwind" fn gmatch(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with the state of the running function, whose frame has room
    // for the four upvalues.
    unsafe {
        ffi::luaL_checklstring(state, 1, std::ptr::null_mut());
        ffi::luaL_checklstring(state, 2, std::ptr::null_mut());
        let runtime = runtime_of(state);
        ffi::lua_settop(state, 2);
        // The runtime stands where `runtime_of` expects it, behind text and pattern.
        ffi::lua_pushlightuserdata(state, runtime.cast());
        ffi::lua_pushinteger(state, 0);
        ffi::lua_pushcclosure(state, gmatch_next, 4);
        1
    }
}

/// Where the next match of a `gmatch` may begin.
const NEXT_START: c_int = ffi::lua_upvalueindex(4);

/// The iterator of `gmatch`: the captures of the next match.
unsafe extern "C-unwind" fn gmatch_next(state: *mut lua_State) -> c_int {
    // SAFETY: only `gmatch` makes this closure, so that its upvalues are two strings, the
    // runtime and a number; they live as long as the closure, which is running. The rest
    // is as in `find_or_match`.
    unsafe {
        let (mut text_len, mut pattern_len) = (0, 0);
        let text = ffi::lua_tolstring(state, ffi::lua_upvalueindex(1), &mut text_len);
        let text: &[u8] = slice::from_raw_parts(text.cast(), text_len);
        let pattern = ffi::lua_tolstring(state, ffi::lua_upvalueindex(2), &mut pattern_len);
        let runtime = runtime_of(state);
        let mut look = || is_ended(runtime);
        let steps = (*runtime).watch.steps_left();
        let mut matcher = Matcher::new(text, CStr::from_ptr(pattern), steps, &mut look);
        let found = matcher.find_from(ffi::lua_tonumber(state, NEXT_START) as usize, 0);
        (*runtime).watch.set_steps_left(matcher.steps_left());
        match found {
            Ok(Some((start, end))) => {
                // An empty match goes on at least one place.
                let next = if end == start { end + 1 } else { end };
                ffi::lua_pushinteger(state, next as i64);
                ffi::lua_replace(state, NEXT_START);
                push_captures(state, &matcher, (start, end), true)
            }
            Ok(None) => 0,
            Err(fault) => raise(state, fault),
        }
    }
}

/// `string.gsub(text, pattern, replacement [, most])`
pub(crate) unsafe extern "C-unwind" fn gsub(state: *mut lua_State) -> c_int {
    // SAFETY: the arguments stay at their places, below what the buffer keeps on the stack.
    // The buffer has no destructor and is Lua's own; between two of its calls only pairs of
    // pushes and pops happen, as it demands. The runtime is borrowed for looks only.
    unsafe {
        let text = argument(state, 1);
        let pattern = as_c(argument(state, 2));
        let kind = ffi::lua_type(state, 3);
        // C's int, which Lua uses.
        let most = ffi::luaL_optinteger(state, 4, text.len() as i64 + 1) as i32;
        let is_anchored = pattern.to_bytes().first() == Some(&b'^');
        if !matches!(
            kind,
            ffi::LUA_TNUMBER | ffi::LUA_TSTRING | ffi::LUA_TFUNCTION | ffi::LUA_TTABLE
        ) {
            return ffi::luaL_argerror(state, 3, c"string/function/table expected".as_ptr());
        }
        let mut buffer = MaybeUninit::<ffi::luaL_Buffer>::uninit();
        let buffer = buffer.as_mut_ptr();
        ffi::luaL_buffinit(state, buffer);
        let runtime = runtime_of(state);
        let mut look = || is_ended(runtime);
        let steps = (*runtime).watch.steps_left();
        let mut matcher = Matcher::new(text, pattern, steps, &mut look);
        let (mut at, mut count) = (0, 0);
        let item = usize::from(is_anchored);
        let first = matcher.first_item(item);
        while count < most {
            let end = match matcher.is_hopeless(first, at) {
                true => None,
                false => match matcher.match_at(at, item) {
                    Ok(end) => end,
                    Err(fault) => return raise(state, fault),
                },
            };
            if let Some(end) = end {
                count += 1;
                add_replacement(state, buffer, &matcher, (at, end), kind);
            }
            match end {
                Some(end) if end > at => at = end,
                _ if at < text.len() => {
                    ffi::luaL_addchar(buffer, text[at] as c_char);
                    at += 1;
                }
                _ => break,
            }
            if is_anchored {
                break;
            }
        }
        (*runtime).watch.set_steps_left(matcher.steps_left());
        ffi::luaL_addlstring(buffer, text[at..].as_ptr().cast(), text.len() - at);
        ffi::luaL_pushresult(buffer);
        ffi::lua_pushinteger(state, i64::from(count));
        2
    }
}

/// Adds what stands for a match to the result of a `gsub`.
///
/// # Safety
/// As for [`raise`]; `buffer` must be in use, and the replacement at 3 of this kind.
unsafe fn add_replacement(
    state: *mut lua_State,
    buffer: *mut ffi::luaL_Buffer,
    matcher: &Matcher<'_>,
    found: (usize, usize),
    kind: c_int,
) {
    // SAFETY: as the caller says; each branch leaves one value for the buffer to take.
    unsafe {
        match kind {
            ffi::LUA_TFUNCTION => {
                ffi::lua_pushvalue(state, 3);
                let arguments = push_captures(state, matcher, found, true);
                ffi::lua_call(state, arguments, 1);
            }
            ffi::LUA_TTABLE => {
                push_capture(state, matcher, 0, found);
                ffi::lua_gettable_(state, 3);
            }
            _ => return add_template(state, buffer, matcher, found),
        }
        if ffi::lua_toboolean(state, -1) == 0 {
            ffi::lua_settop(state, -2);
            let whole = matcher.text_of(found);
            ffi::lua_pushlstring_(state, whole.as_ptr().cast(), whole.len());
        } else if ffi::lua_isstring(state, -1) == 0 {
            let message = c"invalid replacement value (a %s)";
            ffi::luaL_error(state, message.as_ptr(), ffi::luaL_typename(state, -1));
        }
        ffi::luaL_addvalue(buffer);
    }
}

/// Adds a replacement that is a text with references to captures.
///
/// # Safety
/// As for [`add_replacement`].
unsafe fn add_template(
    state: *mut lua_State,
    buffer: *mut ffi::luaL_Buffer,
    matcher: &Matcher<'_>,
    found: (usize, usize),
) {
    // SAFETY: as the caller says. A number has been replaced by its text after the first
    // call of `lua_tolstring`, and stays at its place.
    unsafe {
        let mut len = 0;
        let template = ffi::lua_tolstring(state, 3, &mut len);
        // With the zero behind it: `%` may be its last byte.
        let template: &[u8] = slice::from_raw_parts(template.cast(), len + 1);
        let mut at = 0;
        while at < len {
            if template[at] != b'%' {
                ffi::luaL_addchar(buffer, template[at] as c_char);
                at += 1;
                continue;
            }
            match template[at + 1] {
                b'0' => {
                    let whole = matcher.text_of(found);
                    ffi::luaL_addlstring(buffer, whole.as_ptr().cast(), whole.len());
                }
                digit @ b'1'..=b'9' => {
                    push_capture(state, matcher, usize::from(digit - b'1'), found);
                    ffi::luaL_addvalue(buffer);
                }
                other => ffi::luaL_addchar(buffer, other as c_char),
            }
            at += 2;
        }
    }
}

/// `string.upper(text)`
pub(crate) unsafe extern "C-unwind" fn upper(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with the state of the running function, as for those below.
    unsafe {
        changed(state, |piece, text, at| copy(piece, text, at, |byte| byte.to_ascii_uppercase()))
    }
}

/// `string.lower(text)`
pub(crate) unsafe extern "C-unwind" fn lower(state: *mut lua_State) -> c_int {
    // SAFETY: as above.
    unsafe {
        changed(state, |piece, text, at| copy(piece, text, at, |byte| byte.to_ascii_lowercase()))
    }
}

/// `string.reverse(text)`
pub(crate) unsafe extern "C-unwind" fn reverse(state: *mut lua_State) -> c_int {
    // SAFETY: as above.
    unsafe {
        changed(state, |piece, text, at| {
            let end = text.len() - at;
            let from = text[end - piece.len()..end].iter().rev();
            piece.iter_mut().zip(from).for_each(|(to, byte)| *to = *byte);
        })
    }
}

fn copy(piece: &mut [u8], text: &[u8], at: usize, change: impl Fn(u8) -> u8) {
    piece.iter_mut().zip(&text[at..]).for_each(|(to, byte)| *to = change(*byte));
}

/// Pushes a text as long as the first argument, made piece by piece: `fill` makes the piece
/// that begins at a place, from the whole argument.
///
/// # Safety
/// `state` is that of the running function, a replacement.
unsafe fn changed(state: *mut lua_State, fill: impl Fn(&mut [u8], &[u8], usize)) -> c_int {
    const SHORT_BYTES: usize = 256;
    // SAFETY: the argument stays at its place. A long result grows in memory that Lua owns
    // and keeps while it is on the stack, of the length that was asked for and zeroed before
    // it is borrowed; neither it nor a short one has a destructor.
    unsafe {
        let text = argument(state, 1);
        if text.len() <= SHORT_BYTES {
            let mut short = [0_u8; SHORT_BYTES];
            let short = &mut short[..text.len()];
            fill(short, text, 0);
            ffi::lua_pushlstring_(state, short.as_ptr().cast(), short.len());
            return 1;
        }
        let runtime = runtime_of(state);
        let memory: *mut u8 = ffi::lua_newuserdata(state, text.len()).cast();
        for at in (0..text.len()).step_by(PIECE_BYTES) {
            let len = PIECE_BYTES.min(text.len() - at);
            if (*runtime).watch.spend(len / COPIED_BYTES_PER_STEP).is_err() {
                return raise_ended(state, runtime);
            }
            memory.add(at).write_bytes(0, len);
            fill(slice::from_raw_parts_mut(memory.add(at), len), text, at);
        }
        ffi::lua_pushlstring_(state, memory.cast(), text.len());
        1
    }
}

/// `string.rep(text, count)`: bounded, and copied in pieces of a useful size.
pub(crate) unsafe extern "C-unwind" fn rep(state: *mut lua_State) -> c_int {
    const COPY_BYTES: usize = 1024;
    // SAFETY: the argument stays at its place; buffer and piece have no destructor.
    unsafe {
        let text = argument(state, 1);
        let count = ffi::luaL_checkinteger(state, 2).max(0) as u64;
        let bytes = (text.len() as u64).saturating_mul(count);
        if bytes > REP_BYTES_MAX {
            return raise_with_place(state, c"resulting string too large");
        }
        let runtime = runtime_of(state);
        if (*runtime).watch.spend(bytes as usize / COPIED_BYTES_PER_STEP).is_err() {
            return raise_ended(state, runtime);
        }
        let mut buffer = MaybeUninit::<ffi::luaL_Buffer>::uninit();
        let buffer = buffer.as_mut_ptr();
        ffi::luaL_buffinit(state, buffer);
        let per_piece = COPY_BYTES.checked_div(text.len()).unwrap_or(0);
        let mut left = if text.is_empty() { 0 } else { count as usize };
        if per_piece > 1 && left > per_piece {
            let mut piece = [0_u8; COPY_BYTES];
            let piece = &mut piece[..per_piece * text.len()];
            piece.chunks_exact_mut(text.len()).for_each(|part| part.copy_from_slice(text));
            while left >= per_piece {
                ffi::luaL_addlstring(buffer, piece.as_ptr().cast(), piece.len());
                left -= per_piece;
            }
        }
        for _ in 0..left {
            ffi::luaL_addlstring(buffer, text.as_ptr().cast(), text.len());
        }
        ffi::luaL_pushresult(buffer);
        1
    }
}
