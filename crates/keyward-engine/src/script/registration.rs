//! `redis.register_function`: what a library says while it is being loaded.
//!
//! Owns the reading of its arguments, by position or by name.
//! Not here: what becomes of the functions (`library`).

use super::api::fail;
use super::flags::{ScriptFlag, ScriptFlags};
use super::runtime::{Activity, Runtime};
use super::stack::{Body, Kept, Kind, Returned, Stack};

/// A function that a library registers.
#[derive(Debug)]
pub(super) struct Registration {
    pub(super) name: Vec<u8>,
    pub(super) description: Option<Vec<u8>>,
    pub(super) flags: ScriptFlags,
    pub(super) callback: Kept,
}

pub(super) const FUNCTIONS: &[(&str, Body)] = &[("register_function", register_function)];

pub(super) const NAME_RULE: &str = "Library names can only contain letters, numbers, or \
                                    underscores(_) and must be at least one character long";

/// Whether a name may be that of a library or a function.
pub(super) fn is_name(name: &[u8]) -> bool {
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
    let Arguments { name, description, flags } = arguments;
    if !is_name(name) {
        return Err(NAME_RULE);
    }
    if registered.iter().any(|known| known.name == name) {
        return Err("Function already exists in the library");
    }
    stack.push_copy(CALLBACK);
    let callback = stack.keep();
    let description = description.map(<[u8]>::to_vec);
    registered.push(Registration { name: name.to_vec(), description, flags, callback });
    Ok(())
}

/// The arguments, in strings that Lua owns. The function lies at [`CALLBACK`].
#[derive(Clone, Copy, Default)]
struct Arguments<'a> {
    name: &'a [u8],
    description: Option<&'a [u8]>,
    flags: ScriptFlags,
}

/// The place of the function to register, in both forms.
const CALLBACK: i32 = 2;

fn positional<'a>(stack: Stack) -> Result<Arguments<'a>, &'static str> {
    let name = stack.text(1).ok_or("first argument to redis.register_function must be a string")?;
    if stack.kind(CALLBACK) != Kind::Function {
        return Err("second argument to redis.register_function must be a function");
    }
    Ok(Arguments { name, ..Arguments::default() })
}

fn named<'a>(stack: Stack) -> Result<Arguments<'a>, &'static str> {
    if stack.kind(1) != Kind::Table {
        return Err("calling redis.register_function with a single argument is only applicable \
                    to Lua table (representing named arguments).");
    }
    let mut arguments = Arguments::default();
    let mut has_name = false;
    stack.truncate(CALLBACK);
    stack.push_nil();
    while stack.next(1) {
        let key = match stack.kind(-2) {
            Kind::String => stack.bytes(-2).unwrap_or_default(),
            Kind::Number => return Err("unknown argument given to redis.register_function"),
            _ => return Err("named argument key given to redis.register_function is not a string"),
        };
        if key.eq_ignore_ascii_case(b"function_name") {
            has_name = true;
            arguments.name = stack.text(-1).ok_or(
                "function_name argument given to redis.register_function must be a string",
            )?;
        } else if key.eq_ignore_ascii_case(b"description") {
            let text = stack
                .text(-1)
                .ok_or("description argument given to redis.register_function must be a string")?;
            arguments.description = Some(text);
        } else if key.eq_ignore_ascii_case(b"callback") {
            if stack.kind(-1) != Kind::Function {
                return Err(
                    "callback argument given to redis.register_function must be a function",
                );
            }
            stack.push_copy(-1);
            stack.replace(CALLBACK);
        } else if key.eq_ignore_ascii_case(b"flags") {
            arguments.flags = flags(stack)?;
        } else {
            return Err("unknown argument given to redis.register_function");
        }
        stack.pop(1);
    }
    if !has_name {
        return Err("redis.register_function must get a function name argument");
    }
    if stack.kind(CALLBACK) != Kind::Function {
        return Err("redis.register_function must get a callback argument");
    }
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
            _ => stack.text(-1),
        };
        let flag = name.and_then(ScriptFlag::by_name_in_any_case).ok_or("unknown flag given")?;
        flags = flags.with(flag);
        stack.pop(1);
    }
    stack.pop(1);
    Ok(flags)
}
