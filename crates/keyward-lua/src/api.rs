//! The `redis` table of scripts and functions.
//!
//! Owns its functions as Lua calls them, with Redis's messages. What they do to the
//! keys is the caller's business.
//! Not here: `redis.register_function` (`registration`).
#![allow(unsafe_code)]

use super::caller::{LogLevel, Propagation};
use super::resp::{push_error, push_reply};
use super::runtime::{Activity, Runtime};
use super::stack::{Body, Kind, Raised, Returned, RuntimeRef, Stack};
use super::watch::{COPIED_BYTES_PER_STEP, DIGESTED_BYTES_PER_STEP, PIECE_BYTES};
use keyward_commands::REDIS_VERSION;
use keyward_resp::Protocol;
use keyward_resp::number::push_f64;
use sha1::{Digest as _, Sha1};

/// [`REDIS_VERSION`] in a byte each.
const REDIS_VERSION_NUMBER: u32 = 0x0007_000f;

const REPL_AOF: u8 = 1;
const REPL_REPLICA: u8 = 2;

/// What scripts and functions have.
const FUNCTIONS: &[(&str, Body)] = &[
    ("call", call),
    ("pcall", pcall),
    ("setresp", setresp),
    ("sha1hex", sha1hex),
    ("error_reply", error_reply),
    ("status_reply", status_reply),
    ("set_repl", set_repl),
    ("acl_check_cmd", acl_check_cmd),
];

/// What only scripts have: of no use without a debugger, but called by old scripts.
const SCRIPT_FUNCTIONS: &[(&str, Body)] =
    &[("breakpoint", breakpoint), ("debug", debug), ("replicate_commands", replicate_commands)];

const REPL_CONSTANTS: &[(&str, u8)] = &[
    ("REPL_NONE", 0),
    ("REPL_AOF", REPL_AOF),
    ("REPL_SLAVE", REPL_REPLICA),
    ("REPL_REPLICA", REPL_REPLICA),
    ("REPL_ALL", REPL_AOF | REPL_REPLICA),
];

/// Pushes the `redis` table of scripts, or that of functions.
pub(crate) fn push_library(stack: Stack, runtime: RuntimeRef, for_scripts: bool) {
    stack.push_table();
    set_functions(stack, runtime, FUNCTIONS);
    if for_scripts {
        set_functions(stack, runtime, SCRIPT_FUNCTIONS);
    }
    for (name, value) in REPL_CONSTANTS {
        stack.push_number(f64::from(*value));
        stack.set_field(-2, name.as_bytes());
    }
    set_common(stack, runtime);
}

/// Sets what also a library being loaded has: the log and the version.
pub(crate) fn set_common(stack: Stack, runtime: RuntimeRef) {
    set_functions(stack, runtime, &[("log", log)]);
    for (index, name) in
        ["LOG_DEBUG", "LOG_VERBOSE", "LOG_NOTICE", "LOG_WARNING"].iter().enumerate()
    {
        stack.push_number(index as f64);
        stack.set_field(-2, name.as_bytes());
    }
    stack.push_bytes(REDIS_VERSION.as_bytes());
    stack.set_field(-2, b"REDIS_VERSION");
    stack.push_number(f64::from(REDIS_VERSION_NUMBER));
    stack.set_field(-2, b"REDIS_VERSION_NUM");
}

/// Puts functions into the table on top.
pub(crate) fn set_functions(stack: Stack, runtime: RuntimeRef, functions: &[(&str, Body)]) {
    for (name, body) in functions {
        stack.push_function(runtime, *body);
        stack.set_field(-2, name.as_bytes());
    }
}

/// Raises an error in the form of `redis.pcall`.
pub(crate) fn fail<T>(stack: Stack, text: &str) -> Result<T, Raised> {
    push_error(stack, text.as_bytes());
    Err(Raised)
}

fn call(stack: Stack, runtime: &mut Runtime) -> Returned {
    match run_command(stack, runtime)? {
        Answer::Error => Err(Raised),
        Answer::Value => Ok(1),
    }
}

fn pcall(stack: Stack, runtime: &mut Runtime) -> Returned {
    run_command(stack, runtime).map(|_| 1)
}

/// What lies on top of the stack after a command.
enum Answer {
    Value,
    Error,
}

fn run_command(stack: Stack, runtime: &mut Runtime) -> Result<Answer, Raised> {
    let (Activity::Script(protocol), Some(_)) = (&runtime.activity, runtime.watch.caller.get())
    else {
        return fail(stack, "redis.call/pcall can only be called inside a script invocation");
    };
    let protocol = *protocol;
    if let Err(complaint) = take_command(stack, runtime) {
        push_error(stack, complaint.as_bytes());
        return Ok(Answer::Error);
    }
    let Runtime { watch, command, reply, .. } = runtime;
    reply.clear();
    if let Some(caller) = watch.caller.get() {
        caller.call(command.args(), protocol, reply);
    }
    // Long arguments and replies are copied more than once on their way.
    if reply.len() >= PIECE_BYTES || command.heap_bytes() >= PIECE_BYTES {
        let bytes = command.args().iter().map(<[u8]>::len).fold(reply.len(), usize::saturating_add);
        watch.spend(bytes / COPIED_BYTES_PER_STEP).map_err(|_| stack.end_run(watch))?;
    }
    push_reply(stack, reply);
    Ok(if reply.first() == Some(&b'-') { Answer::Error } else { Answer::Value })
}

/// Moves the arguments from the stack to the command; returns what is wrong with them.
fn take_command(stack: Stack, runtime: &mut Runtime) -> Result<(), &'static str> {
    let Runtime { command, scratch, .. } = runtime;
    command.clear();
    let count = stack.len();
    if count == 0 {
        return Err("Please specify at least one argument for this redis lib call");
    }
    for position in 1..=count {
        // SAFETY: the argument stays at its place while it is copied.
        if let Some(bytes) = unsafe { stack.bytes(position) } {
            command.push(bytes);
        } else if stack.kind(position) == Kind::Number {
            // Lua's own conversion would lose digits.
            scratch.clear();
            push_f64(scratch, stack.number(position));
            command.push(scratch);
        } else {
            return Err("Lua redis lib command arguments must be strings or integers");
        }
    }
    stack.truncate(0);
    Ok(())
}

fn acl_check_cmd(stack: Stack, runtime: &mut Runtime) -> Returned {
    if !runtime.is_in_script() {
        return fail(stack, "redis.acl_check_cmd can only be called inside a script invocation");
    }
    if let Err(complaint) = take_command(stack, runtime) {
        return fail(stack, complaint);
    }
    let Runtime { watch, command, .. } = runtime;
    match watch.caller.get().and_then(|caller| caller.may_call(command.args())) {
        Some(may_call) => stack.push_boolean(may_call),
        None => return fail(stack, "Invalid command passed to redis.acl_check_cmd()"),
    }
    Ok(1)
}

fn setresp(stack: Stack, runtime: &mut Runtime) -> Returned {
    let Activity::Script(protocol) = &mut runtime.activity else {
        return fail(stack, "redis.setresp can only be called inside a script invocation");
    };
    if stack.len() != 1 {
        return fail(stack, "redis.setresp() requires one argument.");
    }
    *protocol = match stack.number(1) as i32 {
        2 => Protocol::Resp2,
        3 => Protocol::Resp3,
        _ => return fail(stack, "RESP version must be 2 or 3."),
    };
    Ok(0)
}

/// The SHA-1 of bytes, as 40 hexadecimal digits.
pub fn sha1_hex(bytes: &[u8]) -> [u8; 40] {
    hex(&Sha1::digest(bytes))
}

fn hex(digest: &[u8]) -> [u8; 40] {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut text = [0; 40];
    for (pair, byte) in text.chunks_exact_mut(2).zip(digest) {
        pair[0] = HEX[usize::from(byte >> 4)];
        pair[1] = HEX[usize::from(byte & 15)];
    }
    text
}

fn sha1hex(stack: Stack, runtime: &mut Runtime) -> Returned {
    if stack.len() != 1 {
        return fail(stack, "wrong number of arguments");
    }
    // SAFETY: the argument stays at its place while it is read.
    let text = unsafe { stack.text(1) }.unwrap_or_default();
    let mut digest = Sha1::new();
    for piece in text.chunks(PIECE_BYTES) {
        let watch = &mut runtime.watch;
        watch.spend(piece.len() / DIGESTED_BYTES_PER_STEP).map_err(|_| stack.end_run(watch))?;
        digest.update(piece);
    }
    stack.push_bytes(&hex(&digest.finalize()));
    Ok(1)
}

/// Whether the only argument is a string; else what to return instead is pushed.
fn is_only_string(stack: Stack) -> bool {
    let is_only = stack.len() == 1 && stack.kind(1) == Kind::String;
    if !is_only {
        push_error(stack, b"wrong number or type of arguments");
    }
    is_only
}

fn error_reply(stack: Stack, runtime: &mut Runtime) -> Returned {
    if is_only_string(stack) {
        // SAFETY: the argument stays at its place while it is copied.
        let text = unsafe { stack.bytes(1) }.unwrap_or_default();
        let Runtime { watch, scratch, .. } = runtime;
        watch.spend(text.len() / COPIED_BYTES_PER_STEP).map_err(|_| stack.end_run(watch))?;
        scratch.clear();
        if text.first() != Some(&b'-') {
            scratch.push(b'-');
        }
        scratch.extend_from_slice(text);
        push_error(stack, scratch);
    }
    Ok(1)
}

fn status_reply(stack: Stack, _: &mut Runtime) -> Returned {
    if is_only_string(stack) {
        stack.push_table();
        stack.push_copy(1);
        stack.set_field(-2, b"ok");
    }
    Ok(1)
}

fn set_repl(stack: Stack, runtime: &mut Runtime) -> Returned {
    if !runtime.is_in_script() {
        return fail(stack, "redis.set_repl can only be called inside a script invocation");
    }
    if stack.len() != 1 {
        return fail(stack, "redis.set_repl() requires two arguments.");
    }
    let flags = stack.number(1) as i32;
    if flags & !i32::from(REPL_AOF | REPL_REPLICA) != 0 {
        return fail(
            stack,
            "Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.",
        );
    }
    let propagation = Propagation {
        aof: flags & i32::from(REPL_AOF) != 0,
        replicas: flags & i32::from(REPL_REPLICA) != 0,
    };
    if let Some(caller) = runtime.watch.caller.get() {
        caller.propagate(propagation);
    }
    Ok(0)
}

/// Bytes that are copied and logged in the time of a step.
const LOGGED_BYTES_PER_STEP: usize = 8;

fn log(stack: Stack, runtime: &mut Runtime) -> Returned {
    if stack.len() < 2 {
        return fail(stack, "redis.log() requires two arguments or more.");
    }
    if !stack.is_numeric(1) {
        return fail(stack, "First argument must be a number (log level).");
    }
    let level = usize::try_from(stack.number(1) as i32).ok();
    let Some(level) = level.and_then(|level| LogLevel::ALL.get(level)) else {
        return fail(stack, "Invalid debug level.");
    };
    let Runtime { watch, scratch, .. } = runtime;
    scratch.clear();
    for position in 2..=stack.len() {
        // SAFETY: the argument stays at its place while it is copied.
        if let Some(text) = unsafe { stack.text(position) } {
            watch.spend(text.len() / LOGGED_BYTES_PER_STEP).map_err(|_| stack.end_run(watch))?;
            if position > 2 {
                scratch.push(b' ');
            }
            scratch.extend_from_slice(text);
        }
    }
    if let Some(caller) = watch.caller.get() {
        caller.log(*level, scratch);
    }
    Ok(0)
}

/// There is no debugger to stop in.
fn breakpoint(stack: Stack, _: &mut Runtime) -> Returned {
    stack.push_boolean(false);
    Ok(1)
}

fn debug(_: Stack, _: &mut Runtime) -> Returned {
    Ok(0)
}

/// Effects are always what is replicated.
fn replicate_commands(stack: Stack, _: &mut Runtime) -> Returned {
    stack.push_boolean(true);
    Ok(1)
}
