//! What scripts see: the globals of Redis 7.0, all of them read-only.
//!
//! Owns the building of the globals of a Lua state. They are a front (see
//! `builtins`); behind it lie exactly the names that Redis's scripts have, and
//! each library is a front again. Distributions of Redis 7.0 with the security fixes of
//! 2025 have no `getfenv`, `setfenv` and `newproxy`; neither has this.
//! Invariant: no script ever holds a table that lies behind a front.
#![allow(unsafe_code)]

use super::stack::{Kept, RuntimeRef, Stack};
use crate::{api, bits, builtins, json, msgpack, random, registration, strings, structs, tables};
use mlua::lua_CFunction;

/// Functions and constants of Lua itself, as they are.
const PLAIN: &[&str] = &[
    "_VERSION", "assert", "error", "gcinfo", "ipairs", "rawequal", "select", "tostring", "type",
    "xpcall",
];

/// Functions of Lua itself that are replaced.
const REPLACED: &[(&str, lua_CFunction)] = &[
    ("collectgarbage", builtins::collectgarbage),
    ("getmetatable", builtins::getmetatable),
    ("load", builtins::load),
    ("loadstring", builtins::loadstring),
    ("next", builtins::checked_reader),
    ("pcall", builtins::pcall),
    ("rawget", builtins::checked_reader),
    ("rawset", builtins::checked_writer),
    ("setmetatable", builtins::checked_writer),
    ("tonumber", builtins::counted_by_length),
    ("unpack", builtins::unpack),
];

const REPLACED_IN_STRING: &[(&str, lua_CFunction)] = &[
    ("find", strings::find),
    ("format", builtins::counted_by_arguments),
    ("gfind", strings::gmatch),
    ("gmatch", strings::gmatch),
    ("gsub", strings::gsub),
    ("lower", strings::lower),
    ("match", strings::match_),
    ("rep", strings::rep),
    ("reverse", strings::reverse),
    ("sub", builtins::counted_by_length),
    ("upper", strings::upper),
];

const REPLACED_IN_TABLE: &[(&str, lua_CFunction)] = &[
    ("concat", builtins::concat),
    ("insert", tables::insert),
    ("maxn", builtins::counted_by_elements),
    ("remove", builtins::checked_remover),
    ("sort", tables::sort),
];

/// Whose globals they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// Scripts of EVAL.
    Scripts,
    /// Function libraries.
    Libraries,
}

/// The globals of a Lua state.
#[derive(Debug)]
pub(crate) struct Globals {
    /// What lies behind the front of the globals.
    behind: Kept,
    /// The metatable of that front.
    metatable: Kept,
    /// What a library sees while it is being loaded.
    load_time: Kept,
    /// The function that sees uncaught errors.
    pub(crate) error_handler: Kept,
}

impl Globals {
    /// Replaces the globals of a fresh state.
    pub(crate) fn build(stack: Stack, runtime: RuntimeRef, audience: Audience) -> Globals {
        let builder = Builder::new(stack, runtime);
        builder.collect_names(audience);
        let behind = builder.keep_copy(BEHIND);
        builder.push_load_time();
        let load_time = stack.keep();
        stack.push_copy(BEHIND);
        builder.refuse_unknown_names();
        builder.protect();
        stack.push_copy(-1);
        stack.set_field(BEHIND, b"_G");
        stack.push_metatable(-1);
        let metatable = stack.keep();
        stack.set_globals();
        builder.push_checked(None, builtins::error_handler);
        let error_handler = stack.keep();
        Globals { behind, metatable, load_time, error_handler }
    }

    /// Pops a value into a global variable.
    pub(crate) fn set(&self, stack: Stack, name: &[u8]) {
        stack.push_kept(self.behind);
        stack.insert(-2);
        stack.set_field(-2, name);
        stack.pop(1);
    }

    /// Shows what a library sees while it is being loaded, or what it sees later.
    pub(crate) fn show_load_time(&self, stack: Stack, is_loading: bool) {
        stack.push_kept(self.metatable);
        stack.push_kept(if is_loading { self.load_time } else { self.behind });
        stack.set_field(-2, b"__index");
        stack.pop(1);
    }
}

/// The places of what a builder works with.
const PLAIN_GLOBALS: i32 = 1;
const FRONTS: i32 = 2;
const BEHIND: i32 = 3;

struct Builder {
    stack: Stack,
    runtime: RuntimeRef,
}

impl Builder {
    fn new(stack: Stack, runtime: RuntimeRef) -> Builder {
        stack.truncate(0);
        stack.push_globals();
        stack.push_table();
        stack.push_table();
        Builder { stack, runtime }
    }

    fn keep_copy(&self, place: i32) -> Kept {
        self.stack.push_copy(place);
        self.stack.keep()
    }

    /// Fills the table behind the globals.
    fn collect_names(&self, audience: Audience) {
        let stack = self.stack;
        for name in PLAIN {
            stack.push_field(PLAIN_GLOBALS, name.as_bytes());
            stack.set_field(BEHIND, name.as_bytes());
        }
        for (name, function) in REPLACED {
            self.push_checked(Some((PLAIN_GLOBALS, name)), *function);
            stack.set_field(BEHIND, name.as_bytes());
        }
        stack.push_field(BEHIND, b"next");
        // SAFETY: the upvalue is our `next`, which is what `pairs` returns.
        unsafe { stack.push_closure(builtins::pairs, 1) };
        stack.set_field(BEHIND, b"pairs");
        self.collect_lua_libraries();
        for (name, functions) in [("bit", bits::FUNCTIONS), ("struct", structs::FUNCTIONS)] {
            stack.push_table();
            api::set_functions(stack, self.runtime, functions);
            self.publish(name);
        }
        json::push_library(stack, self.runtime);
        self.publish("cjson");
        msgpack::push_library(stack, self.runtime);
        self.publish("cmsgpack");
        api::push_library(stack, self.runtime, audience == Audience::Scripts);
        self.publish("redis");
    }

    /// `coroutine`, `math`, `string` and `table`.
    fn collect_lua_libraries(&self) {
        let stack = self.stack;
        stack.push_field(PLAIN_GLOBALS, b"coroutine");
        self.publish("coroutine");
        stack.push_field(PLAIN_GLOBALS, b"math");
        let functions = [("random", random::random as _), ("randomseed", random::randomseed as _)];
        api::set_functions(stack, self.runtime, &functions);
        self.publish("math");
        for (name, replaced) in [("string", REPLACED_IN_STRING), ("table", REPLACED_IN_TABLE)] {
            stack.push_field(PLAIN_GLOBALS, name.as_bytes());
            let library = stack.len();
            for (name, function) in replaced {
                self.push_checked(Some((library, name)), *function);
                stack.set_field(library, name.as_bytes());
            }
            self.publish(name);
        }
        // The metatable of all strings: methods are found behind the front, scripts are
        // shown the front.
        stack.push_bytes(b"");
        stack.push_metatable(-1);
        stack.push_table();
        stack.push_field(BEHIND, b"string");
        stack.set_field(-2, b"__index");
        self.protect();
        stack.set_field(-2, b"__metatable");
        stack.pop(2);
    }

    /// Pushes a replacement of a function, or one that replaces none.
    fn push_checked(&self, original: Option<(i32, &str)>, function: lua_CFunction) {
        match original {
            Some((table, name)) => self.stack.push_field(table, name.as_bytes()),
            None => self.stack.push_nil(),
        }
        self.stack.push_copy(FRONTS);
        self.stack.push_runtime(self.runtime);
        // SAFETY: these are the three upvalues of every replacement (`builtins`); the first
        // is the C function that Lua itself has under the name, which has no upvalues.
        unsafe { self.stack.push_closure(function, 3) };
    }

    /// Makes the library on top a global, read-only.
    fn publish(&self, name: &str) {
        self.protect();
        self.stack.set_field(BEHIND, name.as_bytes());
    }

    /// Replaces the table on top by a front of it.
    fn protect(&self) {
        let stack = self.stack;
        let behind = stack.len();
        stack.push_table();
        stack.push_table();
        stack.push_copy(behind);
        stack.set_field(-2, b"__index");
        // SAFETY: it has no upvalues.
        unsafe { stack.push_closure(builtins::refuse_write, 0) };
        stack.set_field(-2, b"__newindex");
        if stack.push_metatable(behind) {
            self.protect();
            stack.set_field(-2, b"__metatable");
        }
        stack.set_metatable(-2);
        stack.push_copy(-1);
        stack.push_copy(behind);
        stack.set_pair(FRONTS);
        stack.remove(behind);
    }

    /// Makes the table on top refuse names it does not have.
    fn refuse_unknown_names(&self) {
        let stack = self.stack;
        stack.push_table();
        // SAFETY: it has no upvalues.
        unsafe { stack.push_closure(builtins::refuse_name, 0) };
        stack.set_field(-2, b"__index");
        stack.set_metatable(-2);
    }

    /// Pushes what a library sees while it is being loaded: a `redis` that registers
    /// functions, and nothing else.
    fn push_load_time(&self) {
        let stack = self.stack;
        stack.push_table();
        stack.push_table();
        api::set_functions(stack, self.runtime, registration::FUNCTIONS);
        api::set_common(stack, self.runtime);
        self.refuse_unknown_names();
        self.protect();
        stack.set_field(-2, b"redis");
        self.refuse_unknown_names();
    }
}
