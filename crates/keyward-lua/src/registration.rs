//! `redis.register_function`: what a library says while it is being loaded.
//!
//! Owns the reading of its arguments, by position or by name.
//! Invariant: what is read of them stays on the stack, each at a place of its own, until
//! the function is registered: the text of a number is nowhere else.
//! Not here: what becomes of the functions (`library`).
#![allow(unsafe_code)]

use super::api::fail;
use super::flags::{ScriptFlag, ScriptFlags};
use super::runtime::{Activity, Runtime};
use super::stack::{Body, Kept, Kind, Returned, Stack};

/// A function that a library registers.
#[derive(Debug)]
pub(crate) struct Registration {
    pub name: Vec<u8>,
    pub description: Option<Vec<u8>>,
    pub flags: ScriptFlags,
    pub callback: Kept,
}

pub(crate) const FUNCTIONS: &[(&str, Body)] = &[("register_function", register_function)];

pub(crate) const NAME_RULE: &str = "Library names can only contain letters, numbers, or \
                                    underscores(_) and must be at least one character long";

/// Whether a name may be that of a library or a function.
pub(crate) fn is_name(name: &[u8]) -> bool {
    !name.is_empty() && name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

fn register_function(stack: Stack, runtime: &mut Runtime) -> Returned {
    let Activity::Load(registered) = &mut runtime.activity else {
        return fail(stack, "redis.register_function can only be called on FUNCTION LOAD command");
    };
    match register(stack, registered) {
        Ok(()) => Ok(0),
        Err(complaint) => fail(stack, complaint),
    }
}

/// Takes the function that the arguments describe, or says what is wrong with them.
fn register(stack: Stack, registered: &mut Vec<Registration>) -> Result<(), &'static str> {
    let arguments = match stack.len() {
        1 => named(stack)?,
        2 => positional(stack)?,
        _ => return Err("wrong number of arguments to redis.register_function"),
    };
    let Arguments { has_description, flags } = arguments;
    // SAFETY: both stay at their places until this returns.
    let name = unsafe { stack.text(NAME) }.unwrap_or_default();
    if !is_name(name) {
        return Err(NAME_RULE);
    }
    if registered.iter().any(|known| known.name == name) {
        return Err("Function already exists in the library");
    }
    stack.push_copy(CALLBACK);
    let callback = stack.keep();
    // SAFETY: as above. Nothing below calls Lua, so that nothing owned here is jumped over.
    let description = if has_description { unsafe { stack.text(DESCRIPTION) } } else { None };
    let description = description.map(<[u8]>::to_vec);
    registered.push(Registration { name: name.to_vec(), description, flags, callback });
    Ok(())
}

/// What is known of the arguments besides what lies at the places below.
#[derive(Clone, Copy, Default)]
struct Arguments {
    has_description: bool,
    flags: ScriptFlags,
}

/// The places of the name, the function to register and the description, in both forms.
/// The table of named arguments lies where the name comes in the end.
const NAME: i32 = 1;
const CALLBACK: i32 = 2;
const DESCRIPTION: i32 = 3;
/// Where the name of named arguments waits until their table is no longer needed.
const NAME_GIVEN: i32 = 4;

fn positional(stack: Stack) -> Result<Arguments, &'static str> {
    if !is_text(stack, NAME) {
        return Err("first argument to redis.register_function must be a string");
    }
    if stack.kind(CALLBACK) != Kind::Function {
        return Err("second argument to redis.register_function must be a function");
    }
    Ok(Arguments::default())
}

/// Whether a value is a string, or a number, which will do.
fn is_text(stack: Stack, place: i32) -> bool {
    matches!(stack.kind(place), Kind::String | Kind::Number)
}

fn named(stack: Stack) -> Result<Arguments, &'static str> {
    const TABLE: i32 = NAME;
    if stack.kind(TABLE) != Kind::Table {
        return Err("calling redis.register_function with a single argument is only applicable \
                    to Lua table (representing named arguments).");
    }
    let mut arguments = Arguments::default();
    stack.truncate(NAME_GIVEN);
    stack.push_nil();
    while stack.next(TABLE) {
        let key = match stack.kind(-2) {
            // SAFETY: the key stays on the stack while it is compared.
            Kind::String => unsafe { stack.bytes(-2) }.unwrap_or_default(),
            Kind::Number => return Err("unknown argument given to redis.register_function"),
            _ => return Err("named argument key given to redis.register_function is not a string"),
        };
        if key.eq_ignore_ascii_case(b"function_name") {
            if !is_text(stack, -1) {
                return Err(
                    "function_name argument given to redis.register_function must be a string",
                );
            }
            stack.replace(NAME_GIVEN);
        } else if key.eq_ignore_ascii_case(b"description") {
            if !is_text(stack, -1) {
                return Err(
                    "description argument given to redis.register_function must be a string",
                );
            }
            arguments.has_description = true;
            stack.replace(DESCRIPTION);
        } else if key.eq_ignore_ascii_case(b"callback") {
            if stack.kind(-1) != Kind::Function {
                return Err(
                    "callback argument given to redis.register_function must be a function",
                );
            }
            stack.replace(CALLBACK);
        } else if key.eq_ignore_ascii_case(b"flags") {
            arguments.flags = flags(stack)?;
            stack.pop(1);
        } else {
            return Err("unknown argument given to redis.register_function");
        }
    }
    if stack.kind(NAME_GIVEN) == Kind::Nil {
        return Err("redis.register_function must get a function name argument");
    }
    if stack.kind(CALLBACK) != Kind::Function {
        return Err("redis.register_function must get a callback argument");
    }
    stack.replace(NAME);
    Ok(arguments)
}

/// The flags in the list on top.
fn flags(stack: Stack) -> Result<ScriptFlags, &'static str> {
    if stack.kind(-1) != Kind::Table {
        return Err("flags argument to redis.register_function must be a table representing \
                    function flags");
    }
    let mut flags = ScriptFlags::default();
    for index in 1.. {
        stack.push_element(-1, index);
        let name = match stack.kind(-1) {
            Kind::Nil => break,
            // SAFETY: the value stays on the stack while it is compared.
            _ => unsafe { stack.text(-1) },
        };
        let flag = name.and_then(ScriptFlag::by_name_in_any_case).ok_or("unknown flag given")?;
        flags = flags.with(flag);
        stack.pop(1);
    }
    stack.pop(1);
    Ok(flags)
}
