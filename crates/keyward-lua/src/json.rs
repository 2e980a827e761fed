//! The `cjson` library, as lua-cjson 2.1.0 in Redis has it.
//!
//! Owns its functions and their settings, which last until the Lua state is reset
//! (SCRIPT FLUSH), as in Redis.
//! Not here: JSON values of the schema, which are never decoded by this.
#![allow(unsafe_code)]

pub(crate) mod decode;
pub(crate) mod encode;

use super::runtime::Runtime;
use super::stack::{Body, Kind, Raised, Returned, RuntimeRef, Stack};

/// How to encode NaN and infinities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InvalidNumbers {
    Refuse,
    Encode,
    Null,
}

/// The settings of one `cjson` table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JsonSettings {
    sparse_convert: bool,
    /// An array is sparse if its last index is above this many times its elements.
    sparse_ratio: i32,
    /// Up to this last index it never is.
    sparse_safe: i32,
    encode_depth_max: i32,
    decode_depth_max: i32,
    /// Significant digits.
    number_precision: i32,
    keep_buffer: bool,
    encode_invalid: InvalidNumbers,
    decode_invalid: bool,
}

impl Default for JsonSettings {
    fn default() -> JsonSettings {
        JsonSettings {
            sparse_convert: false,
            sparse_ratio: 2,
            sparse_safe: 10,
            encode_depth_max: 1000,
            decode_depth_max: 1000,
            number_precision: 14,
            keep_buffer: true,
            encode_invalid: InvalidNumbers::Refuse,
            decode_invalid: true,
        }
    }
}

const FUNCTIONS: &[(&str, Body)] = &[
    ("encode", encode::encode),
    ("decode", decode::decode),
    ("encode_sparse_array", encode_sparse_array),
    ("encode_max_depth", encode_max_depth),
    ("decode_max_depth", decode_max_depth),
    ("encode_number_precision", encode_number_precision),
    ("encode_keep_buffer", encode_keep_buffer),
    ("encode_invalid_numbers", encode_invalid_numbers),
    ("decode_invalid_numbers", decode_invalid_numbers),
    ("new", new),
];

/// Pushes a `cjson` table with settings of its own.
pub(crate) fn push_library(stack: Stack, runtime: RuntimeRef) {
    stack.push_table();
    stack.push_functions_with(runtime, FUNCTIONS, JsonSettings::default());
    stack.push_null();
    stack.set_field(-2, b"null");
    stack.push_bytes(b"cjson");
    stack.set_field(-2, b"_NAME");
    stack.push_bytes(b"2.1.0");
    stack.set_field(-2, b"_VERSION");
}

/// Changes the settings of the running function's table.
fn change(
    stack: Stack,
    change: impl FnOnce(&mut JsonSettings) -> Result<(), Raised>,
) -> Result<(), Raised> {
    let mut settings: JsonSettings = stack.settings();
    let outcome = change(&mut settings);
    stack.set_settings(settings);
    outcome
}

fn new(stack: Stack, _: &mut Runtime) -> Returned {
    // SAFETY: this is a function of a library, made by `push_functions_with`. The new ones
    // get the very address that this one has: one made of the borrow here would be no
    // longer valid once another function borrows the runtime.
    let runtime = unsafe { stack.runtime() };
    push_library(stack, runtime);
    Ok(1)
}

/// The arguments of a setter: at most `max`, missing ones are nil.
fn arguments(stack: Stack, max: i32) -> Result<(), Raised> {
    if stack.len() > max {
        return stack.fail_argument(max + 1, format_args!("found too many arguments"));
    }
    stack.truncate(max);
    Ok(())
}

/// Changes an integer setting if there is an argument; pushes its value.
fn integer_setting(
    stack: Stack,
    position: i32,
    setting: &mut i32,
    range: std::ops::RangeInclusive<i32>,
) -> Result<(), Raised> {
    if stack.kind(position) != Kind::Nil {
        let value = stack.integer_argument(position)? as i32;
        if !range.contains(&value) {
            let (min, max) = range.into_inner();
            return stack
                .fail_argument(1, format_args!("expected integer between {min} and {max}"));
        }
        *setting = value;
    }
    stack.push_number(f64::from(*setting));
    Ok(())
}

/// An argument that is one of these words, by its place among them.
fn word_argument(stack: Stack, position: i32, words: &[&str]) -> Result<usize, Raised> {
    // SAFETY: the argument stays at its place until this returns.
    let word = unsafe { stack.text_argument(position)? };
    match words.iter().position(|known| known.as_bytes() == word) {
        Some(index) => Ok(index),
        None => stack.fail_option(position, "invalid option", word),
    }
}

/// Changes a setting that is on or off if there is an argument; pushes its value.
fn switch_setting(stack: Stack, position: i32, setting: &mut bool) -> Result<(), Raised> {
    match stack.kind(position) {
        Kind::Nil => {}
        Kind::Boolean => *setting = stack.boolean(position),
        _ => *setting = word_argument(stack, position, &["off", "on"])? == 1,
    }
    stack.push_boolean(*setting);
    Ok(())
}

fn encode_sparse_array(stack: Stack, _: &mut Runtime) -> Returned {
    arguments(stack, 3)?;
    change(stack, |settings| {
        switch_setting(stack, 1, &mut settings.sparse_convert)?;
        integer_setting(stack, 2, &mut settings.sparse_ratio, 0..=i32::MAX)?;
        integer_setting(stack, 3, &mut settings.sparse_safe, 0..=i32::MAX)
    })?;
    Ok(3)
}

fn encode_max_depth(stack: Stack, _: &mut Runtime) -> Returned {
    arguments(stack, 1)?;
    change(stack, |settings| {
        integer_setting(stack, 1, &mut settings.encode_depth_max, 1..=i32::MAX)
    })?;
    Ok(1)
}

fn decode_max_depth(stack: Stack, _: &mut Runtime) -> Returned {
    arguments(stack, 1)?;
    change(stack, |settings| {
        integer_setting(stack, 1, &mut settings.decode_depth_max, 1..=i32::MAX)
    })?;
    Ok(1)
}

fn encode_number_precision(stack: Stack, _: &mut Runtime) -> Returned {
    arguments(stack, 1)?;
    change(stack, |settings| integer_setting(stack, 1, &mut settings.number_precision, 1..=14))?;
    Ok(1)
}

/// A setting of memory that only Redis's own buffer knew; kept because scripts set it.
fn encode_keep_buffer(stack: Stack, _: &mut Runtime) -> Returned {
    arguments(stack, 1)?;
    change(stack, |settings| switch_setting(stack, 1, &mut settings.keep_buffer))?;
    Ok(1)
}

fn encode_invalid_numbers(stack: Stack, _: &mut Runtime) -> Returned {
    const BY_WORD: [InvalidNumbers; 3] =
        [InvalidNumbers::Refuse, InvalidNumbers::Encode, InvalidNumbers::Null];
    arguments(stack, 1)?;
    change(stack, |settings| {
        let setting = &mut settings.encode_invalid;
        match stack.kind(1) {
            Kind::Nil => {}
            Kind::Boolean => *setting = BY_WORD[usize::from(stack.boolean(1))],
            _ => *setting = BY_WORD[word_argument(stack, 1, &["off", "on", "null"])?],
        }
        match *setting {
            InvalidNumbers::Null => stack.push_bytes(b"null"),
            other => stack.push_boolean(other == InvalidNumbers::Encode),
        }
        Ok(())
    })?;
    Ok(1)
}

fn decode_invalid_numbers(stack: Stack, _: &mut Runtime) -> Returned {
    arguments(stack, 1)?;
    change(stack, |settings| switch_setting(stack, 1, &mut settings.decode_invalid))?;
    Ok(1)
}
