//! The `cmsgpack` library, as lua-cmsgpack 0.4.0 in Redis has it.
//!
//! Owns its four functions. Numbers without a fraction become integers, others the
//! shortest float that holds them; a table is an array if its keys are 1 to n.

pub(crate) mod pack;
pub(crate) mod unpack;

use super::stack::{Body, RuntimeRef, Stack};

const FUNCTIONS: &[(&str, Body)] = &[
    ("pack", pack::pack),
    ("unpack", unpack::unpack),
    ("unpack_one", unpack::unpack_one),
    ("unpack_limit", unpack::unpack_limit),
];

const ABOUT: &[(&str, &str)] = &[
    ("_NAME", "cmsgpack"),
    ("_VERSION", "lua-cmsgpack 0.4.0"),
    ("_COPYRIGHT", "Copyright (C) 2012, Salvatore Sanfilippo"),
    ("_DESCRIPTION", "MessagePack C implementation for Lua"),
];

/// Pushes the `cmsgpack` table.
pub(crate) fn push_library(stack: Stack, runtime: RuntimeRef) {
    stack.push_table();
    for (name, body) in FUNCTIONS {
        stack.push_function(runtime, *body);
        stack.set_field(-2, name.as_bytes());
    }
    for (name, text) in ABOUT {
        stack.push_bytes(text.as_bytes());
        stack.set_field(-2, name.as_bytes());
    }
}
