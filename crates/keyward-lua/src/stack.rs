//! The stack of a Lua state, as the functions of the libraries see it.
//!
//! Owns the calls into Lua's C interface: everything else in this crate reads and
//! pushes values through [`Stack`]. The C interface is used directly because
//! building a table through the safe wrapper costs about ten times as much per
//! element (measured: 1.1 µs against 0.1), and replies and JSON are made of elements.
//!
//! Invariant: Lua leaves a function that fails by a long jump, which runs no
//! destructors. So a function that Lua calls never owns anything on its Rust
//! stack while it pushes: buffers live in the [`Runtime`], errors are pushed as
//! Lua values and announced by [`Raised`], and only [`enter`] jumps.
//!
//! What makes the calls sound, and what whoever makes a [`Stack`] vouches for: the state
//! is alive; a place that is named exists; whoever pushes more than a few values makes
//! room first (`has_room`; Lua gives every function room for 20). The methods are safe
//! on these terms. Those that hand out memory of Lua are not: how long that lives depends
//! on what stays on the stack.
//! Not here: what any function does.
#![allow(unsafe_code)]

use super::resp::push_error;
use super::runtime::Runtime;
use super::watch::Watch;
use mlua::ffi;
use std::any::TypeId;
use std::ffi::{CStr, c_int, c_void};
use std::fmt::{self, Write as _};
use std::ptr::NonNull;

/// An error value lies on top of the stack.
#[derive(Debug)]
pub(crate) struct Raised;

/// The outcome of a function: how many values it leaves as its results.
pub(crate) type Returned = Result<i32, Raised>;

/// A function of a library.
pub(crate) type Body = fn(Stack, &mut Runtime) -> Returned;

/// Longest message made of parts; the rest is cut.
const MESSAGE_BYTES_MAX: usize = 512;

/// What kind of value lies at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    None,
    Nil,
    Boolean,
    Number,
    String,
    Table,
    Function,
    /// The null pointer, which stands for JSON's null.
    Null,
    Other,
}

/// The runtime of a state, as the functions in it carry it along.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RuntimeRef(NonNull<Runtime>);

impl RuntimeRef {
    /// A runtime for functions of a state.
    ///
    /// # Safety
    /// The runtime must outlive the state, and nobody may borrow it while a function of the
    /// state runs, except that function.
    pub(crate) unsafe fn new(runtime: NonNull<Runtime>) -> RuntimeRef {
        RuntimeRef(runtime)
    }

    /// The address, from which everything that touches the runtime is derived.
    pub(crate) fn as_ptr(self) -> *mut Runtime {
        self.0.as_ptr()
    }
}

/// A Lua stack. Places count from 1 at the bottom, from -1 at the top.
#[derive(Clone, Copy)]
pub(crate) struct Stack(*mut ffi::lua_State);

impl Stack {
    /// The stack of a state.
    ///
    /// # Safety
    /// The state must be alive for as long as the stack is used; whoever is given the stack
    /// must name places that exist and make room before pushing many values. Nothing with a
    /// destructor may be alive in the frames between those functions and Lua's protected
    /// call, because all that push may end in a jump to there.
    pub(crate) unsafe fn of(state: *mut ffi::lua_State) -> Stack {
        Stack(state)
    }

    /// How many values there are.
    pub(crate) fn len(self) -> i32 {
        // SAFETY: reads the height of the stack of a live state.
        unsafe { ffi::lua_gettop(self.0) }
    }

    /// Cuts the stack down, or fills it up with nil.
    pub(crate) fn truncate(self, len: i32) {
        // SAFETY: the stack reaches as high as asked for (`Stack::of`).
        unsafe { ffi::lua_settop(self.0, len) }
    }

    pub(crate) fn pop(self, count: i32) {
        // SAFETY: as many values are there.
        unsafe { ffi::lua_settop(self.0, -count - 1) }
    }

    /// Makes room; false if the stack cannot grow that far.
    pub(crate) fn has_room(self, count: i32) -> bool {
        // SAFETY: Lua grows the stack or says that it cannot.
        unsafe { ffi::lua_checkstack(self.0, count) != 0 }
    }

    /// Lua's number for the kind of a value.
    fn type_of(self, place: i32) -> c_int {
        // SAFETY: reads a place; one that is empty has a kind of its own.
        unsafe { ffi::lua_type(self.0, place) }
    }

    pub(crate) fn kind(self, place: i32) -> Kind {
        match self.type_of(place) {
            ffi::LUA_TNONE => Kind::None,
            ffi::LUA_TNIL => Kind::Nil,
            ffi::LUA_TBOOLEAN => Kind::Boolean,
            ffi::LUA_TNUMBER => Kind::Number,
            ffi::LUA_TSTRING => Kind::String,
            ffi::LUA_TTABLE => Kind::Table,
            ffi::LUA_TFUNCTION => Kind::Function,
            // SAFETY: reads a place whose value is a pointer.
            ffi::LUA_TLIGHTUSERDATA if unsafe { ffi::lua_touserdata(self.0, place) }.is_null() => {
                Kind::Null
            }
            _ => Kind::Other,
        }
    }

    /// The name Lua gives to the kind of the value.
    pub(crate) fn kind_name(self, place: i32) -> &'static str {
        match self.type_of(place) {
            ffi::LUA_TNONE => "no value",
            ffi::LUA_TNIL => "nil",
            ffi::LUA_TBOOLEAN => "boolean",
            ffi::LUA_TNUMBER => "number",
            ffi::LUA_TSTRING => "string",
            ffi::LUA_TTABLE => "table",
            ffi::LUA_TFUNCTION => "function",
            ffi::LUA_TTHREAD => "thread",
            _ => "userdata",
        }
    }

    pub(crate) fn boolean(self, place: i32) -> bool {
        // SAFETY: reads a place; one that is empty is false.
        unsafe { ffi::lua_toboolean(self.0, place) != 0 }
    }

    /// The value as a number, zero if it is none; strings are converted.
    pub(crate) fn number(self, place: i32) -> f64 {
        // SAFETY: reads a place and converts a copy.
        unsafe { ffi::lua_tonumber(self.0, place) }
    }

    /// Whether the value is a number or a string that can be read as one.
    pub(crate) fn is_numeric(self, place: i32) -> bool {
        // SAFETY: reads a place.
        unsafe { ffi::lua_isnumber(self.0, place) != 0 }
    }

    /// The bytes of a string.
    ///
    /// # Safety
    /// For `'a` the value must stay where Lua sees it: on the stack, or in a table that does.
    pub(crate) unsafe fn bytes<'a>(self, place: i32) -> Option<&'a [u8]> {
        // A number would be converted in place, which confuses a table's traversal.
        if self.kind(place) != Kind::String {
            return None;
        }
        let mut len = 0;
        // SAFETY: the value is a string, so that this is no conversion and returns the
        // string's own `len` bytes, which Lua never changes and frees when nothing holds
        // the value any more; the caller sees to that.
        unsafe {
            let start = ffi::lua_tolstring(self.0, place, &mut len);
            Some(std::slice::from_raw_parts(start.cast(), len))
        }
    }

    /// As [`Stack::bytes`]; a number is replaced by its text.
    ///
    /// # Safety
    /// For `'a` the value must stay at this place: the text of a number is nowhere else.
    pub(crate) unsafe fn text<'a>(self, place: i32) -> Option<&'a [u8]> {
        let mut len = 0;
        // SAFETY: as in `bytes`; null is for what is neither string nor number.
        unsafe {
            let start = ffi::lua_tolstring(self.0, place, &mut len);
            (!start.is_null()).then(|| std::slice::from_raw_parts(start.cast(), len))
        }
    }

    pub(crate) fn push_nil(self) {
        // SAFETY: there is room for a value (`Stack::of`).
        unsafe { ffi::lua_pushnil(self.0) }
    }

    pub(crate) fn push_boolean(self, value: bool) {
        // SAFETY: as above.
        unsafe { ffi::lua_pushboolean(self.0, c_int::from(value)) }
    }

    pub(crate) fn push_number(self, value: f64) {
        // SAFETY: as above.
        unsafe { ffi::lua_pushnumber(self.0, value) }
    }

    pub(crate) fn push_bytes(self, bytes: &[u8]) {
        // SAFETY: Lua copies the bytes.
        unsafe { ffi::lua_pushlstring_(self.0, bytes.as_ptr().cast(), bytes.len()) }
    }

    pub(crate) fn push_null(self) {
        // SAFETY: there is room for a value; Lua does not follow the address.
        unsafe { ffi::lua_pushlightuserdata(self.0, std::ptr::null_mut()) }
    }

    /// Pushes a copy of the value at a place.
    pub(crate) fn push_copy(self, place: i32) {
        // SAFETY: the place exists, and there is room for a value.
        unsafe { ffi::lua_pushvalue(self.0, place) }
    }

    pub(crate) fn push_table(self) {
        // SAFETY: there is room for a value.
        unsafe { ffi::lua_createtable(self.0, 0, 0) }
    }

    /// Joins the strings on top into one.
    pub(crate) fn concatenate(self, count: i32) {
        // SAFETY: as many strings are there.
        unsafe { ffi::lua_concat(self.0, count) }
    }

    /// Moves the top value to a place and those above it up.
    pub(crate) fn insert(self, place: i32) {
        // SAFETY: the place exists.
        unsafe { ffi::lua_insert(self.0, place) }
    }

    /// Moves the top value over the one at a place.
    pub(crate) fn replace(self, place: i32) {
        // SAFETY: the place exists.
        unsafe { ffi::lua_replace(self.0, place) }
    }

    pub(crate) fn remove(self, place: i32) {
        // SAFETY: the place exists.
        unsafe { ffi::lua_remove(self.0, place) }
    }

    /// Pushes what a table holds under a name, without metamethods.
    pub(crate) fn push_field(self, table: i32, name: &[u8]) {
        // SAFETY: the place is that of a table, counted from the bottom before the name
        // is pushed.
        unsafe {
            let table = ffi::lua_absindex(self.0, table);
            self.push_bytes(name);
            ffi::lua_rawget_(self.0, table);
        }
    }

    /// Pushes the element of a table at an index, without metamethods.
    pub(crate) fn push_element(self, table: i32, index: i32) {
        // SAFETY: the place is that of a table, and there is room for a value.
        unsafe { ffi::lua_rawgeti_(self.0, table, index) }
    }

    /// Pops a value into a table under a name.
    pub(crate) fn set_field(self, table: i32, name: &[u8]) {
        // SAFETY: as above; the value lies below the name when they are exchanged.
        unsafe {
            let table = ffi::lua_absindex(self.0, table);
            self.push_bytes(name);
            ffi::lua_insert(self.0, -2);
            ffi::lua_rawset(self.0, table);
        }
    }

    /// Pops a value into a table at an index.
    pub(crate) fn set_element(self, table: i32, index: i32) {
        // SAFETY: the place is that of a table, and a value is there to pop.
        unsafe { ffi::lua_rawseti_(self.0, table, index) }
    }

    /// Pops a key and a value into a table. The key must be neither nil nor NaN.
    pub(crate) fn set_pair(self, table: i32) {
        // SAFETY: the place is that of a table, with a pair above it.
        unsafe { ffi::lua_rawset(self.0, table) }
    }

    /// Replaces the key on top by the next key and value of a table; at its end,
    /// pops the key and returns false. Nil is before the first.
    pub(crate) fn next(self, table: i32) -> bool {
        // SAFETY: the place is that of a table, with a key above it.
        unsafe { ffi::lua_next(self.0, table) != 0 }
    }

    /// The length of a table's list, as `#` gives it without metamethods.
    pub(crate) fn list_len(self, table: i32) -> usize {
        // SAFETY: the place is that of a table.
        unsafe { ffi::lua_objlen(self.0, table) }
    }

    /// Pushes the metatable of a value, if it has one; says whether it has.
    pub(crate) fn push_metatable(self, place: i32) -> bool {
        // SAFETY: the place exists, and there is room for a value.
        unsafe { ffi::lua_getmetatable(self.0, place) != 0 }
    }

    /// Pops a table and makes it the metatable of another.
    pub(crate) fn set_metatable(self, table: i32) {
        // SAFETY: both places are those of tables.
        unsafe { ffi::lua_setmetatable(self.0, table) };
    }

    pub(crate) fn push_globals(self) {
        // SAFETY: the globals are a place that always exists.
        unsafe { ffi::lua_pushvalue(self.0, ffi::LUA_GLOBALSINDEX) }
    }

    /// Pops a table and makes it the globals of functions compiled from now on.
    pub(crate) fn set_globals(self) {
        // SAFETY: as above; what is popped is a table.
        unsafe { ffi::lua_replace(self.0, ffi::LUA_GLOBALSINDEX) }
    }

    /// Takes the value on top into Lua's registry.
    pub(crate) fn keep(self) -> Kept {
        // SAFETY: the registry is a table, and a value is there to pop.
        Kept(unsafe { ffi::luaL_ref(self.0, ffi::LUA_REGISTRYINDEX) })
    }

    pub(crate) fn push_kept(self, kept: Kept) {
        // SAFETY: the registry is a table, and there is room for a value.
        unsafe { ffi::lua_rawgeti_(self.0, ffi::LUA_REGISTRYINDEX, kept.0) }
    }

    pub(crate) fn release(self, kept: Kept) {
        // SAFETY: the registry is a table; a reference is released once.
        unsafe { ffi::luaL_unref(self.0, ffi::LUA_REGISTRYINDEX, kept.0) }
    }

    /// Pushes a function of a library.
    pub(crate) fn push_function(self, runtime: RuntimeRef, body: Body) {
        // SAFETY: the two upvalues are those that `enter` reads.
        unsafe {
            self.push_runtime(runtime);
            ffi::lua_pushlightuserdata(self.0, body as *mut c_void);
            ffi::lua_pushcclosure(self.0, enter, 2);
        }
    }

    /// Pushes a runtime, as an upvalue of a function.
    pub(crate) fn push_runtime(self, runtime: RuntimeRef) {
        // SAFETY: pushes an address.
        unsafe { ffi::lua_pushlightuserdata(self.0, runtime.as_ptr().cast()) }
    }

    /// The runtime of the running function.
    ///
    /// # Safety
    /// The running function must have been pushed by [`Stack::push_function`] or
    /// [`Stack::push_functions_with`].
    pub(crate) unsafe fn runtime(self) -> RuntimeRef {
        // SAFETY: the first upvalue of such a function is the address of a runtime that was
        // given as a `RuntimeRef`.
        unsafe {
            let runtime = ffi::lua_touserdata(self.0, ffi::lua_upvalueindex(1));
            RuntimeRef(NonNull::new_unchecked(runtime.cast()))
        }
    }

    /// Pops upvalues and pushes a C function with them.
    ///
    /// # Safety
    /// The upvalues must be those that the function expects.
    pub(crate) unsafe fn push_closure(self, function: ffi::lua_CFunction, upvalues: i32) {
        // SAFETY: as the caller says.
        unsafe { ffi::lua_pushcclosure(self.0, function, upvalues) }
    }

    /// Puts functions that share settings into the table on top. Nobody will drop the
    /// settings.
    pub(crate) fn push_functions_with<T: Copy + 'static>(
        self,
        runtime: RuntimeRef,
        functions: &[(&str, Body)],
        settings: T,
    ) {
        const { assert!(align_of::<Settings<T>>() <= USER_DATA_ALIGN) };
        let table = self.len();
        // SAFETY: Lua returns memory of this size, aligned to `USER_DATA_ALIGN`, which
        // suffices; it keeps the memory while a function has it as an upvalue.
        unsafe {
            let memory = ffi::lua_newuserdata(self.0, size_of::<Settings<T>>());
            memory.cast::<Settings<T>>().write(Settings(TypeId::of::<T>(), settings));
        }
        for (name, body) in functions {
            self.push_runtime(runtime);
            // SAFETY: the first two upvalues are those that `enter` reads, the third is
            // the one that `settings_place` does; it lies right above the table.
            unsafe {
                ffi::lua_pushlightuserdata(self.0, *body as *mut c_void);
                ffi::lua_pushvalue(self.0, table + 1);
                ffi::lua_pushcclosure(self.0, enter, 3);
            }
            self.set_field(table, name.as_bytes());
        }
        self.pop(1);
    }

    /// The settings of the running function, which must have been pushed with such.
    pub(crate) fn settings<T: Copy + 'static>(self) -> T {
        // SAFETY: `settings_place` has found settings of this type. Nobody else refers to
        // them: they are only ever copied in and out.
        unsafe { (*self.settings_place()).1 }
    }

    /// Changes the settings of the running function and of those it shares them with.
    pub(crate) fn set_settings<T: Copy + 'static>(self, settings: T) {
        // SAFETY: as above.
        unsafe { (*self.settings_place()).1 = settings }
    }

    fn settings_place<T: Copy + 'static>(self) -> *mut Settings<T> {
        // SAFETY: an upvalue that does not exist is none, for which Lua returns null.
        let place = unsafe { ffi::lua_touserdata(self.0, ffi::lua_upvalueindex(3)) };
        assert!(
            // SAFETY: a third upvalue is settings, which begin with their type.
            !place.is_null() && unsafe { *place.cast::<TypeId>() } == TypeId::of::<T>(),
            "a function asks for the settings it was made with"
        );
        place.cast()
    }

    /// Compiles a chunk and pushes its function, or the message why not.
    pub(crate) fn load(self, chunk: &[u8], name: &CStr) -> Result<(), Raised> {
        let (start, len) = (chunk.as_ptr().cast(), chunk.len());
        // SAFETY: the chunk outlives the call, which reads all of it; the name is a C string.
        unsafe {
            // Lua 5.1's parser does not anchor what it is working on (CVE-2025-49844):
            // the collector must not run meanwhile.
            ffi::lua_gc(self.0, ffi::LUA_GCSTOP, 0);
            let status = ffi::luaL_loadbuffer(self.0, start, len, name.as_ptr());
            ffi::lua_gc(self.0, ffi::LUA_GCRESTART, 0);
            if status == ffi::LUA_OK { Ok(()) } else { Err(Raised) }
        }
    }

    /// Calls the function below its arguments. It leaves one result or an error
    /// value, which `handler` has seen.
    pub(crate) fn call(self, arguments: i32, handler: i32) -> Result<(), Raised> {
        // SAFETY: function and arguments lie on top, the handler below them.
        match unsafe { ffi::lua_pcall(self.0, arguments, 1, handler) } {
            ffi::LUA_OK => Ok(()),
            _ => Err(Raised),
        }
    }

    /// Pushes a message.
    pub(crate) fn push_message(self, message: fmt::Arguments<'_>) {
        let mut text = Message { bytes: [0; MESSAGE_BYTES_MAX], len: 0 };
        // What does not fit is cut.
        let _ = text.write_fmt(message);
        self.push_bytes(&text.bytes[..text.len]);
    }

    /// Pushes the place in the script that called the running function.
    fn push_place(self) {
        // SAFETY: a level that does not exist has an empty place.
        unsafe { ffi::luaL_where(self.0, 1) }
    }

    /// Ends the run: every further instruction raises an error, as this does.
    pub(crate) fn end_run(self, watch: &Watch) -> Raised {
        // SAFETY: the hook stays the one that is set; only its count changes.
        unsafe {
            ffi::lua_sethook(self.0, ffi::lua_gethook(self.0), ffi::LUA_MASKCOUNT, 1);
        }
        push_error(self, watch.ended_text().as_bytes());
        Raised
    }

    /// Raises an error whose message begins with the place in the script.
    pub(crate) fn fail<T>(self, message: fmt::Arguments<'_>) -> Result<T, Raised> {
        self.push_place();
        self.push_message(message);
        self.concatenate(2);
        Err(Raised)
    }

    /// Complains about an argument, in Lua's words.
    pub(crate) fn fail_argument<T>(
        self,
        position: i32,
        complaint: fmt::Arguments<'_>,
    ) -> Result<T, Raised> {
        self.push_message(complaint);
        self.fail_argument_as_pushed(position)
    }

    /// Complains about a part of an argument, which may be any bytes.
    pub(crate) fn fail_option<T>(
        self,
        position: i32,
        complaint: &str,
        option: &[u8],
    ) -> Result<T, Raised> {
        self.push_message(format_args!("{complaint} '"));
        self.push_bytes(option);
        self.push_bytes(b"'");
        self.concatenate(3);
        self.fail_argument_as_pushed(position)
    }

    /// Complains about an argument; the complaint lies on top.
    fn fail_argument_as_pushed<T>(self, position: i32) -> Result<T, Raised> {
        let mut name = "?".as_bytes();
        let mut is_method = false;
        // SAFETY: `frame` is plain data, all zero a value of it; Lua fills in the part asked
        // for. Its texts belong to the running function, so that they live until it returns.
        unsafe {
            let mut frame: ffi::lua_Debug = std::mem::zeroed();
            if ffi::lua_getstack(self.0, 0, &mut frame) != 0 {
                ffi::lua_getinfo(self.0, c"n".as_ptr(), &mut frame);
                if !frame.name.is_null() {
                    name = CStr::from_ptr(frame.name).to_bytes();
                }
                is_method = CStr::from_ptr(frame.namewhat) == c"method";
            }
        }
        let position = position - i32::from(is_method);
        let is_self = position == 0 && is_method;
        let complaint = self.len();
        self.push_place();
        if is_self {
            self.push_bytes(b"calling '");
        } else {
            self.push_message(format_args!("bad argument #{position} to '"));
        }
        self.push_bytes(name);
        self.push_bytes(if is_self { b"' on bad self (" } else { b"' (" });
        self.push_copy(complaint);
        self.push_bytes(b")");
        self.concatenate(6);
        Err(Raised)
    }

    fn fail_kind<T>(self, position: i32, expected: &str) -> Result<T, Raised> {
        let found = self.kind_name(position);
        self.fail_argument(position, format_args!("{expected} expected, got {found}"))
    }

    /// An argument that must be a number.
    pub(crate) fn number_argument(self, position: i32) -> Result<f64, Raised> {
        if self.is_numeric(position) {
            Ok(self.number(position))
        } else {
            self.fail_kind(position, "number")
        }
    }

    /// An argument that must be a string; a number will do.
    ///
    /// # Safety
    /// As for [`Stack::text`]: the argument must stay at its place for `'a`.
    pub(crate) unsafe fn text_argument<'a>(self, position: i32) -> Result<&'a [u8], Raised> {
        // SAFETY: passed on.
        match unsafe { self.text(position) } {
            Some(text) => Ok(text),
            None => self.fail_kind(position, "string"),
        }
    }

    /// An integer argument; fractions are cut off, as C does.
    pub(crate) fn integer_argument(self, position: i32) -> Result<i64, Raised> {
        self.number_argument(position).map(to_i64)
    }

    /// An integer argument that may be left out.
    pub(crate) fn integer_or(self, position: i32, default: i64) -> Result<i64, Raised> {
        match self.kind(position) {
            Kind::None | Kind::Nil => Ok(default),
            _ => self.integer_argument(position),
        }
    }

    /// The state itself, for the functions beside this module that need more of it.
    pub(crate) fn state(self) -> *mut ffi::lua_State {
        self.0
    }
}

/// How Lua 5.1 aligns user data: its header is a union with a double and a pointer in it
/// (`LUAI_USER_ALIGNMENT_T`), and the allocator aligns what it gives to at least that.
const USER_DATA_ALIGN: usize = align_of::<*mut c_void>();

/// Settings in Lua's memory. The type comes first, so that it can be checked.
#[repr(C)]
struct Settings<T>(TypeId, T);

/// A value in Lua's registry, until it is released or the state is closed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept(c_int);

/// Text on the stack, so that a long jump has nothing to free.
struct Message {
    bytes: [u8; MESSAGE_BYTES_MAX],
    len: usize,
}

impl fmt::Write for Message {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let room = &mut self.bytes[self.len..];
        let len = part.len().min(room.len());
        room[..len].copy_from_slice(&part.as_bytes()[..len]);
        self.len += len;
        if len == part.len() { Ok(()) } else { Err(fmt::Error) }
    }
}

/// A double as an integer, as C on x86-64 casts it: what is out of range becomes the
/// smallest.
pub(crate) fn to_i64(value: f64) -> i64 {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if (-LIMIT..LIMIT).contains(&value) { value as i64 } else { i64::MIN }
}

/// What Lua calls for each function of a library: the runtime and the body are its
/// upvalues.
unsafe extern "C-unwind" fn enter(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: only `push_function` and `push_functions_with` make this closure, from a
    // `RuntimeRef` and a `Body`, and scripts cannot see upvalues; so the address is that of
    // a runtime that outlives the state, and the other one that of a function of this type.
    // No body runs code of the script, so no other function of ours runs before it
    // returns: the runtime is borrowed once at a time.
    unsafe {
        let runtime = ffi::lua_touserdata(state, ffi::lua_upvalueindex(1)).cast::<Runtime>();
        let body = ffi::lua_touserdata(state, ffi::lua_upvalueindex(2));
        let body = std::mem::transmute::<*mut c_void, Body>(body);
        match body(Stack(state), &mut *runtime) {
            Ok(count) => count,
            Err(Raised) => ffi::lua_error(state),
        }
    }
}

/// Ends the run from within a function that is no [`Body`]; does not return.
///
/// # Safety
/// `state` is that of the running function, `runtime` that of the state, borrowed by nobody.
/// Nothing with a destructor may be alive in the frames up to Lua's.
pub(crate) unsafe fn raise_ended(state: *mut ffi::lua_State, runtime: *mut Runtime) -> c_int {
    // SAFETY: as the caller says.
    unsafe {
        let Raised = Stack(state).end_run(&(*runtime).watch);
        ffi::lua_error(state)
    }
}

#[cfg(test)]
mod tests {
    use crate::stack::to_i64;

    #[test]
    fn doubles_become_integers_as_in_c() {
        for (value, expected) in [
            (-1.9, -1),
            (1e300, i64::MIN),
            (-1e300, i64::MIN),
            (f64::NAN, i64::MIN),
            (9_223_372_036_854_774_784.0, 9_223_372_036_854_774_784),
        ] {
            assert_eq!(to_i64(value), expected, "{value}");
        }
    }
}
