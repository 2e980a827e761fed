//! A Lua state in which foreign code runs without harm.
//!
//! Owns the state, its limits and the life of a run: arguments in, the answer or the
//! error out as a reply. What code sees is `globals`, what it may ask is `caller`.
//!
//! Limits: memory ([`MEMORY_BYTES_MAX`]) by the allocator; time by a hook every
//! `pace::INSTRUCTIONS_MAX`, at a cost of about 6 %, that asks the caller. A script that
//! is to end gets an error at every further instruction, so no `pcall` outlives it.
//! Invariant: what Lua may jump over owns nothing with a destructor. So everything that is
//! read from Lua is read first, and only then is memory allocated for it.
//! Not here: which scripts there are (the engine's `scripting`, `library`).
#![allow(unsafe_code)]

use super::caller::Caller;
use super::globals::{Audience, Globals};
use super::library::Function;
use super::pace::INSTRUCTIONS_FIRST;
use super::resp::{AnswerStyle, write_answer};
use super::runtime::{Activity, Runtime};
use super::stack::{Kept, Kind, RuntimeRef, Stack, raise_ended};
use super::watch::Ended;
use keyward_commands::ErrorStats;
use keyward_resp::{Args, Protocol, ReplyWriter};
use mlua::{Lua, LuaOptions, StdLib, ffi};
use std::ffi::CStr;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// Most memory a Lua state may have.
pub(crate) const MEMORY_BYTES_MAX: usize = 512 * 1024 * 1024;
/// Above this part of its memory, garbage is collected after a run.
const CALM_PART: usize = 4;
/// Where the hook finds the runtime, in Lua's registry.
const RUNTIME: &CStr = c"keyward.runtime";

/// A Lua state with its globals.
#[derive(Debug)]
pub struct Sandbox {
    // Dropped in this order: the state points to the runtime.
    lua: Lua,
    globals: Globals,
    runtime: OwnedRuntime,
    audience: Audience,
    memory_bytes_max: usize,
    id: StateId,
}

/// A compiled piece of code, until it is forgotten. Only the state that made it can make
/// one, and no other runs it: there the same number could stand for anything.
#[derive(Clone, Copy, Debug)]
pub struct Code {
    kept: Kept,
    state: StateId,
}

/// Which of all states of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct StateId(u64);

impl StateId {
    fn next() -> StateId {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        StateId(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// The keys and arguments of a run.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// KEYS.
    pub keys: Args<'a>,
    /// ARGV.
    pub arguments: Args<'a>,
}

impl Sandbox {
    /// A state without scripts. `seed` begins its random numbers.
    pub fn new(audience: Audience, seed: u64, memory_bytes_max: usize) -> Sandbox {
        let libraries = StdLib::TABLE | StdLib::STRING | StdLib::MATH;
        let lua = Lua::new_with(libraries, LuaOptions::new());
        let lua = lua.unwrap_or_else(|error| panic!("Lua's own libraries are safe: {error}"));
        let runtime = OwnedRuntime::new(Runtime::new(seed));
        // SAFETY: the sandbox drops the state before the runtime, and borrows the runtime
        // only while no code runs.
        let pointer = unsafe { RuntimeRef::new(runtime.0) };
        let mut globals = None;
        // SAFETY: the state is alive during the call; building the globals keeps to Lua's
        // stack, and owns nothing.
        let built = unsafe {
            lua.exec_raw::<()>((), |state| {
                let stack = Stack::of(state);
                globals = Some(Globals::build(stack, pointer, audience));
                stack.push_runtime(pointer);
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
        Sandbox { lua, globals, runtime, audience, memory_bytes_max, id: StateId::next() }
    }

    /// The bytes Lua has allocated.
    pub fn used_bytes(&self) -> usize {
        self.lua.used_memory()
    }

    /// Compiles code, or says what is wrong with it.
    pub fn compile(&mut self, code: &[u8], name: &CStr) -> Result<Code, Vec<u8>> {
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
            outcome = match stack.load(code, name) {
                Ok(()) => Ok(stack.keep()),
                // SAFETY: the message stays on the stack while it is copied.
                Err(_) => Err(unsafe { stack.text(-1) }.unwrap_or_default().to_vec()),
            };
        });
        outcome.map(|kept| self.own(kept))
    }

    /// What this state has kept, as its code.
    fn own(&self, kept: Kept) -> Code {
        Code { kept, state: self.id }
    }

    /// What this state has kept under code that must be its own.
    fn kept(&self, code: Code) -> Kept {
        assert!(code.state == self.id, "code runs in the Lua state that it was compiled in");
        code.kept
    }

    /// Forgets compiled code.
    pub fn forget(&mut self, code: Code) {
        let kept = self.kept(code);
        self.with_stack(|stack, _| stack.release(kept));
    }

    /// Runs a script or a function and writes its answer. `name` is what an error says
    /// it is. Returns whether an error was written; `errors` counts those that are not in
    /// the statistics yet.
    pub fn run(
        &mut self,
        code: Code,
        name: &[u8],
        input: Input<'_>,
        caller: &mut dyn Caller,
        reply: &mut ReplyWriter<'_>,
        errors: &mut ErrorStats,
    ) -> bool {
        let is_script = self.audience == Audience::Scripts;
        let kept = self.kept(code);
        let place = reply.defer();
        let mut written = None;
        let activity = Activity::Script(Protocol::Resp2);
        self.with_caller(caller, activity, |stack, runtime, globals| {
            stack.push_kept(globals.error_handler);
            stack.push_kept(kept);
            push_list(stack, input.keys);
            if is_script {
                globals.set(stack, b"KEYS");
            }
            push_list(stack, input.arguments);
            if is_script {
                globals.set(stack, b"ARGV");
            }
            let outcome = if is_script { stack.call(0, -2) } else { stack.call(2, -4) };
            // SAFETY: no code of the script runs any more, so that none of our functions
            // has the runtime.
            let runtime = unsafe { &mut *runtime };
            let script_protocol = match runtime.activity {
                Activity::Script(protocol) => protocol,
                _ => Protocol::Resp2,
            };
            let style = AnswerStyle { script_protocol };
            written = Some(match outcome {
                Ok(()) => write_answer(stack, style, &mut runtime.watch, reply, errors)
                    .map_err(|Ended| runtime.watch.ended_text()),
                Err(_) => {
                    write_error(stack, name, reply, errors);
                    Ok(true)
                }
            });
        });
        let failure = match written {
            Some(Ok(is_error)) => return is_error,
            Some(Err(ended)) => ended,
            None => "not enough memory",
        };
        reply.abandon(place);
        write_failure(name, failure.as_bytes(), reply, errors);
        true
    }

    /// Runs a library's code, which registers functions.
    pub fn load(&mut self, code: Code, caller: &mut dyn Caller) -> Result<Vec<Function>, Vec<u8>> {
        let kept = self.kept(code);
        let mut outcome = Err(b"not enough memory".to_vec());
        let activity = Activity::Load(Vec::new());
        let activity = self.with_caller(caller, activity, |stack, _, globals| {
            globals.show_load_time(stack, true);
            stack.push_kept(kept);
            outcome = stack.call(0, 0).map_err(|_| error_text(stack));
        });
        self.with_stack(|stack, globals| globals.show_load_time(stack, false));
        let registered = match activity {
            Activity::Load(registered) => registered,
            Activity::Idle | Activity::Script(_) => Vec::new(),
        };
        let functions = registered.into_iter().map(|registration| Function {
            name: registration.name,
            description: registration.description,
            flags: registration.flags,
            code: self.own(registration.callback),
        });
        let functions: Vec<Function> = functions.collect();
        match outcome {
            Ok(()) => Ok(functions),
            Err(text) => {
                functions.into_iter().for_each(|function| self.forget(function.code));
                Err(text)
            }
        }
    }

    /// Works on the state with a caller to ask; returns what was going on at the end.
    fn with_caller(
        &mut self,
        caller: &mut dyn Caller,
        activity: Activity,
        work: impl FnOnce(Stack, *mut Runtime, &Globals),
    ) -> Activity {
        let runtime = self.runtime.0.as_ptr();
        let globals = &self.globals;
        let is_load = matches!(activity, Activity::Load(_));
        // SAFETY: nothing else refers to the runtime while Lua is not running. The slot is
        // cleared by `Runtime::end` below, before which the caller, borrowed by this
        // function, is not used by anybody else; neither Lua nor `work` unwinds past here.
        unsafe {
            (*runtime).activity = activity;
            (*runtime).watch.begin(is_load);
            (*runtime).watch.caller.fill(caller);
        }
        in_state(&self.lua, |stack| {
            // SAFETY: the state is alive; `hook` is made for states of a sandbox.
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
        // SAFETY: Lua is not running any more.
        unsafe { (*runtime).end() }
    }

    fn with_stack(&mut self, work: impl FnOnce(Stack, &Globals)) {
        let globals = &self.globals;
        in_state(&self.lua, |stack| work(stack, globals));
    }
}

#[cfg(test)]
thread_local! {
    /// Whether tests may have an allocation fail: not those of the wrapper around Lua, for
    /// which it puts the limit of memory out of force.
    pub(crate) static MAY_FAIL: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

#[cfg(test)]
impl Sandbox {
    /// The state, whose allocator tests replace.
    pub fn state(&mut self) -> *mut ffi::lua_State {
        let mut state = std::ptr::null_mut();
        self.with_stack(|stack, _| state = stack.state());
        state
    }

    pub(crate) fn collect_garbage(&mut self) {
        for _ in 0..2 {
            self.lua.gc_collect().expect("there are no finalizers");
        }
    }
}

/// Works on the stack of a state. `work` must own nothing while it pushes: it may be
/// left by a long jump when memory runs out, and what it had to say is then unsaid.
fn in_state(lua: &Lua, work: impl FnOnce(Stack)) {
    // SAFETY: the state is alive during the call, which is a protected one. Everything that
    // works on a stack is in this folder and keeps to the rules of `stack`; what `work` has
    // captured are references, so that nothing is lost if Lua jumps over it.
    let done = unsafe {
        lua.exec_raw::<()>((), |state| {
            let stack = Stack::of(state);
            #[cfg(test)]
            MAY_FAIL.set(true);
            work(stack);
            #[cfg(test)]
            MAY_FAIL.set(false);
            stack.truncate(0);
        })
    };
    #[cfg(test)]
    MAY_FAIL.set(false);
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
        // SAFETY: the value stays on the stack while it is copied.
        let text = unsafe { stack.text(-1) }.unwrap_or(b"execution failure");
        return write_failure(name, text, reply, errors);
    }
    let table = stack.len();
    let field = |name: &[u8]| {
        stack.push_field(table, name);
        // SAFETY: the value stays where it was pushed until the caller of this function
        // cuts the stack down.
        let text: Option<&[u8]> = unsafe { stack.text(-1) };
        // C reads these texts up to a zero byte.
        text?.split(|byte| *byte == 0).next()
    };
    let text = field(b"err").unwrap_or(b"ERR unknown error");
    let (line, source) = (field(b"line"), field(b"source"));
    stack.push_field(table, b"ignore_error_stats_update");
    let is_counted = stack.boolean(-1);
    // From here on Lua is not called, so that memory can be owned.
    let mut text = text.to_vec();
    if let (Some(line), Some(source)) = (line, source) {
        let parts: [&[u8]; 7] = [b" script: ", name, b", on ", source, b":", line, b"."];
        parts.iter().for_each(|part| text.extend_from_slice(part));
    }
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
        // SAFETY: the value stays on the stack while it is copied.
        return unsafe { stack.text(-1) }.unwrap_or(b"ERR unknown error").to_vec();
    }
    // SAFETY: as above.
    let parts: [&[u8]; 2] = [b"ERR ", unsafe { stack.text(-1) }.unwrap_or_default()];
    parts.concat()
}

/// What Lua calls after some instructions.
unsafe extern "C-unwind" fn hook(state: *mut ffi::lua_State, _: *mut ffi::lua_Debug) {
    // SAFETY: the registry of a sandbox's state has the runtime under this name, and Lua
    // gives a hook room for a value. Code of the script is running, so that none of our
    // functions has the runtime, and nothing here has a destructor.
    unsafe {
        ffi::lua_getfield_(state, ffi::LUA_REGISTRYINDEX, RUNTIME.as_ptr());
        let runtime = ffi::lua_touserdata(state, -1).cast::<Runtime>();
        ffi::lua_settop(state, -2);
        match (*runtime).watch.look_from_hook() {
            Ok(next) => {
                ffi::lua_sethook(state, Some(hook), ffi::LUA_MASKCOUNT, next);
            }
            Err(Ended) => {
                raise_ended(state, runtime);
            }
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
        // SAFETY: made from a box, and the Lua state that pointed here is closed: the
        // sandbox drops that first.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}
