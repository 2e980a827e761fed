//! A Lua state in which foreign code runs without harm.
//!
//! Owns the state, its limits and the life of a run: arguments in, the answer or the
//! error out as a reply. What code sees is `globals`, what it may ask is `caller`.
//!
//! Limits: memory ([`MEMORY_BYTES_MAX`]) by the allocator; time by a hook every
//! `pace::INSTRUCTIONS_MAX`, at a cost of about 6 %, that asks the caller. A script that
//! is to end gets an error at every further instruction, so no `pcall` outlives it.
//! Not here: which scripts there are (`cache`, `library`).
#![allow(unsafe_code)]

use super::caller::Caller;
use super::globals::{Audience, Globals};
use super::pace::{INSTRUCTIONS_FIRST, Pace};
use super::registration::Registration;
use super::resp::{AnswerStyle, push_error, write_answer};
use super::runtime::{Activity, Runtime};
use super::stack::{Kept, Kind, Stack};
use crate::stats::errors::ErrorStats;
use keyward_resp::{Args, Protocol, ReplyWriter};
use mlua::{Lua, LuaOptions, StdLib, ffi};
use std::ffi::CStr;
use std::ptr::NonNull;

/// Most memory a Lua state may have.
pub(super) const MEMORY_BYTES_MAX: usize = 512 * 1024 * 1024;
/// Above this part of its memory, garbage is collected after a run.
const CALM_PART: usize = 4;
/// Where the hook finds the runtime, in Lua's registry.
const RUNTIME: &CStr = c"keyward.runtime";

/// A Lua state with its globals.
#[derive(Debug)]
pub(super) struct Sandbox {
    // Dropped in this order: the state points to the runtime.
    lua: Lua,
    globals: Globals,
    runtime: OwnedRuntime,
    audience: Audience,
    memory_bytes_max: usize,
}

/// A compiled piece of code, until it is forgotten.
#[derive(Clone, Copy, Debug)]
pub(super) struct Code(pub(super) Kept);

/// The keys and arguments of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Input<'a> {
    pub(super) keys: Args<'a>,
    pub(super) arguments: Args<'a>,
}

impl Sandbox {
    /// A state without scripts. `seed` begins its random numbers.
    pub(super) fn new(audience: Audience, seed: u64, memory_bytes_max: usize) -> Sandbox {
        let libraries = StdLib::TABLE | StdLib::STRING | StdLib::MATH;
        let lua = Lua::new_with(libraries, LuaOptions::new());
        let lua = lua.unwrap_or_else(|error| panic!("Lua's own libraries are safe: {error}"));
        let runtime = OwnedRuntime::new(Runtime::new(seed));
        let pointer = runtime.0.as_ptr();
        let mut globals = None;
        let built = unsafe {
            lua.exec_raw::<()>((), |state| {
                let stack = Stack::of(state);
                globals = Some(Globals::build(stack, pointer, audience));
                ffi::lua_pushlightuserdata(state, pointer.cast());
                ffi::lua_setfield(state, ffi::LUA_REGISTRYINDEX, RUNTIME.as_ptr());
                stack.truncate(0);
            })
        };
        let globals = match (built, globals) {
            (Ok(()), Some(globals)) => globals,
            (built, _) => panic!("a fresh state has room for its globals: {built:?}"),
        };
        lua.set_memory_limit(memory_bytes_max)
            .unwrap_or_else(|error| panic!("the state was made with our allocator: {error}"));
        Sandbox { lua, globals, runtime, audience, memory_bytes_max }
    }

    /// The bytes Lua has allocated.
    pub(super) fn used_bytes(&self) -> usize {
        self.lua.used_memory()
    }

    /// Compiles code, or says what is wrong with it.
    pub(super) fn compile(&mut self, code: &[u8], name: &CStr) -> Result<Code, Vec<u8>> {
        // Bytecode is not run: behind a space it is text with a syntax error.
        let prefixed;
        let code = match code.first() {
            Some(&first) if first == ffi::LUA_SIGNATURE[0] => {
                prefixed = [b" ", code].concat();
                &prefixed
            }
            _ => code,
        };
        let mut outcome = Err(b"not enough memory".to_vec());
        self.with_stack(|stack, _| {
            let loaded = stack.load(code, name);
            outcome = match loaded {
                Ok(()) => Ok(Code(stack.keep())),
                Err(_) => Err(stack.text(-1).unwrap_or_default().to_vec()),
            };
        });
        outcome
    }

    /// Forgets compiled code.
    pub(super) fn forget(&mut self, code: Code) {
        self.with_stack(|stack, _| stack.release(code.0));
    }

    /// Runs a script or a function and writes its answer. `name` is what an error says
    /// it is. Answers whether an error was written; `errors` counts those that are not in
    /// the statistics yet.
    pub(super) fn run(
        &mut self,
        code: Code,
        name: &[u8],
        input: Input<'_>,
        caller: &mut dyn Caller,
        reply: &mut ReplyWriter<'_>,
        errors: &mut ErrorStats,
    ) -> bool {
        let is_script = self.audience == Audience::Scripts;
        let place = reply.defer();
        let mut is_error = None;
        let activity = Activity::Script(Protocol::Resp2);
        self.with_caller(caller, activity, |stack, runtime, globals| {
            stack.push_kept(globals.error_handler);
            stack.push_kept(code.0);
            push_list(stack, input.keys);
            if is_script {
                globals.set(stack, b"KEYS");
            }
            push_list(stack, input.arguments);
            if is_script {
                globals.set(stack, b"ARGV");
            }
            let outcome = if is_script { stack.call(0, -2) } else { stack.call(2, -4) };
            // SAFETY of the borrow: Lua is not running any more.
            let script_protocol = match unsafe { &(*runtime).activity } {
                Activity::Script(protocol) => *protocol,
                _ => Protocol::Resp2,
            };
            is_error = Some(match outcome {
                Ok(()) => write_answer(stack, AnswerStyle { script_protocol }, reply, errors),
                Err(_) => {
                    write_error(stack, name, reply, errors);
                    true
                }
            });
        });
        is_error.unwrap_or_else(|| {
            reply.abandon(place);
            write_failure(name, b"not enough memory", reply, errors);
            true
        })
    }

    /// Runs a library's code, which registers functions.
    pub(super) fn load(
        &mut self,
        code: Code,
        caller: &mut dyn Caller,
    ) -> Result<Vec<Registration>, Vec<u8>> {
        let mut outcome = Err(b"not enough memory".to_vec());
        let activity = Activity::Load(Vec::new());
        let activity = self.with_caller(caller, activity, |stack, _, globals| {
            globals.show_load_time(stack, true);
            stack.push_kept(code.0);
            outcome = stack.call(0, 0).map_err(|_| error_text(stack));
        });
        self.with_stack(|stack, globals| globals.show_load_time(stack, false));
        let registered = match activity {
            Activity::Load(registered) => registered,
            Activity::Idle | Activity::Script(_) => Vec::new(),
        };
        match outcome {
            Ok(()) => Ok(registered),
            Err(text) => {
                for registration in registered {
                    self.forget(Code(registration.callback));
                }
                Err(text)
            }
        }
    }

    /// Works on the state with a caller to ask; answers what was going on at the end.
    fn with_caller(
        &mut self,
        caller: &mut dyn Caller,
        activity: Activity,
        work: impl FnOnce(Stack, *mut Runtime, &Globals),
    ) -> Activity {
        let runtime = self.runtime.0.as_ptr();
        let globals = &self.globals;
        // Nothing else refers to the runtime while Lua is not running.
        unsafe {
            (*runtime).activity = activity;
            (*runtime).is_ended = false;
            (*runtime).pace = Pace::START;
            (*runtime).caller.fill(caller);
        }
        in_state(&self.lua, |stack| {
            unsafe {
                let state = stack.state();
                ffi::lua_sethook(state, Some(hook), ffi::LUA_MASKCOUNT, INSTRUCTIONS_FIRST);
                // A script may have stopped it.
                ffi::lua_gc(state, ffi::LUA_GCRESTART, 0);
            }
            work(stack, runtime, globals);
        });
        if self.used_bytes() > self.memory_bytes_max / CALM_PART {
            // Lua 5.1 does not collect when memory runs out, so what a script has left
            // behind would stop the next one. Finalizers are the collector's only errors,
            // and scripts have none.
            let _ = self.lua.gc_collect();
        }
        unsafe { (*runtime).end() }
    }

    fn with_stack(&mut self, work: impl FnOnce(Stack, &Globals)) {
        let globals = &self.globals;
        in_state(&self.lua, |stack| work(stack, globals));
    }
}

/// Works on the stack of a state. `work` must own nothing while it pushes: it may be
/// left by a long jump when memory runs out, and what it had to say is then unsaid.
fn in_state(lua: &Lua, work: impl FnOnce(Stack)) {
    let done = unsafe {
        lua.exec_raw::<()>((), |state| {
            let stack = Stack::of(state);
            work(stack);
            stack.truncate(0);
        })
    };
    // The one error there is, memory, shows in that nothing was said.
    drop(done);
}

/// Pushes a list of strings.
fn push_list(stack: Stack, items: Args<'_>) {
    stack.push_table();
    for (index, item) in items.iter().enumerate() {
        stack.push_bytes(item);
        stack.set_element(-2, index as i32 + 1);
    }
}

/// Writes the error value on top of the stack as the reply of a run.
fn write_error(stack: Stack, name: &[u8], reply: &mut ReplyWriter<'_>, errors: &mut ErrorStats) {
    if stack.kind(-1) != Kind::Table {
        let text = stack.text(-1).unwrap_or(b"execution failure");
        return write_failure(name, text, reply, errors);
    }
    let table = stack.len();
    // C reads these texts up to a zero byte.
    let field = |name: &[u8]| {
        stack.push_field(table, name);
        stack.text(-1)?.split(|byte| *byte == 0).next()
    };
    let mut text = field(b"err").unwrap_or(b"ERR unknown error").to_vec();
    if let (Some(line), Some(source)) = (field(b"line"), field(b"source")) {
        let parts: [&[u8]; 7] = [b" script: ", name, b", on ", source, b":", line, b"."];
        text.extend(parts.concat());
    }
    stack.push_field(table, b"ignore_error_stats_update");
    let is_counted = stack.boolean(-1);
    reply.error(&text);
    if !is_counted {
        errors.count(&text);
    }
}

/// Writes the error of a run that ended without Redis's error table.
fn write_failure(name: &[u8], text: &[u8], reply: &mut ReplyWriter<'_>, errors: &mut ErrorStats) {
    const TEXT_BYTES_MAX: usize = 100;
    let text = &text[..text.len().min(TEXT_BYTES_MAX)];
    let parts: [&[u8]; 4] = [b"ERR Error running script ", name, b", ", text];
    errors.count(b"ERR");
    reply.error(&parts.concat());
}

/// What the error value on top of the stack says, while a library is being loaded.
fn error_text(stack: Stack) -> Vec<u8> {
    if stack.kind(-1) == Kind::Table {
        stack.push_field(-1, b"err");
        return stack.text(-1).unwrap_or(b"ERR unknown error").to_vec();
    }
    let parts: [&[u8]; 2] = [b"ERR ", stack.text(-1).unwrap_or_default()];
    parts.concat()
}

/// What Lua calls every so many instructions.
unsafe extern "C-unwind" fn hook(state: *mut ffi::lua_State, _: *mut ffi::lua_Debug) {
    unsafe {
        ffi::lua_getfield_(state, ffi::LUA_REGISTRYINDEX, RUNTIME.as_ptr());
        let runtime = ffi::lua_touserdata(state, -1).cast::<Runtime>();
        ffi::lua_settop(state, -2);
        // Lua code is running, so no library function has the runtime.
        let runtime = &mut *runtime;
        if !runtime.is_ended {
            // Code that runs outside any run has no business here.
            runtime.is_ended = runtime.caller.get().is_none_or(|caller| {
                let begun_ns = caller.monotonic_ns();
                let is_ended = caller.is_ended();
                let next = runtime.pace.looked(begun_ns, caller.monotonic_ns());
                ffi::lua_sethook(state, Some(hook), ffi::LUA_MASKCOUNT, next);
                is_ended
            });
        }
        if runtime.is_ended {
            ffi::lua_sethook(state, Some(hook), ffi::LUA_MASKCOUNT, 1);
            let text = match runtime.activity {
                Activity::Load(_) => "FUNCTION LOAD timeout",
                Activity::Script(_) | Activity::Idle => "Script killed by user with SCRIPT KILL...",
            };
            push_error(Stack::of(state), text.as_bytes());
            ffi::lua_error(state);
        }
    }
}

/// A runtime at a fixed address, to which Lua's functions point.
#[derive(Debug)]
struct OwnedRuntime(NonNull<Runtime>);

impl OwnedRuntime {
    fn new(runtime: Runtime) -> OwnedRuntime {
        OwnedRuntime(NonNull::from(Box::leak(Box::new(runtime))))
    }
}

impl Drop for OwnedRuntime {
    fn drop(&mut self) {
        // Made from a box, and the Lua state that pointed here is closed.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}
