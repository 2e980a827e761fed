//! Reading over a value that is not served, so that what follows can be read and all
//! such values can be named at once.
//!
//! ```text
//! module   = length, its name and version | (1 or 2, length | 3, 4 bytes | 4, 8 bytes
//!            | 5, text) … | 0
//! hash     = Redis: 8 bytes | count | (length | field | value) …, or 8 bytes | text
//!            Valkey: count | (field | value | 8 bytes) …
//! ```

use crate::Error;
use crate::format::kind;
use crate::input::Input;
use std::io::BufRead;

/// Who has written a file: from 22 on the types of Redis and of Valkey differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Redis,
    Valkey,
}

/// Whether a value of this type can be read over here.
pub(crate) fn can_skip(kind: u8, dialect: Dialect) -> bool {
    match kind {
        kind::MODULE_2 => true,
        kind::HASH_LIFETIMES | kind::HASH_LIFETIMES_PACKED => dialect == Dialect::Redis,
        kind::HASH_LIFETIMES_EARLY => dialect == Dialect::Valkey,
        _ => false,
    }
}

/// Reads over a value of a type that [can be](can_skip); returns what it is.
pub(crate) fn value<R: BufRead>(input: &mut Input<R>, kind: u8) -> Result<String, Error> {
    let mut text = Vec::new();
    match kind {
        kind::MODULE_2 => return module(input, &mut text),
        kind::HASH_LIFETIMES => {
            input.array::<8>()?;
            for _ in 0..input.length()? {
                input.length()?;
                input.bytes(&mut text)?;
                input.bytes(&mut text)?;
            }
        }
        kind::HASH_LIFETIMES_PACKED => {
            input.array::<8>()?;
            input.bytes(&mut text)?;
        }
        _ => {
            for _ in 0..input.length()? {
                input.bytes(&mut text)?;
                input.bytes(&mut text)?;
                input.array::<8>()?;
            }
        }
    }
    Ok("a hash whose fields have lifetimes".to_owned())
}

fn module<R: BufRead>(input: &mut Input<R>, text: &mut Vec<u8>) -> Result<String, Error> {
    let name = module_name(input.length()?);
    loop {
        match input.length()? {
            0 => return Ok(format!("a value of the module {name}")),
            1 | 2 => drop(input.length()?),
            3 => drop(input.array::<4>()?),
            4 => drop(input.array::<8>()?),
            5 => input.bytes(text)?,
            _ => return Err(input.malformed("a part of a module's value of an unknown form")),
        }
    }
}

/// The name of a module's type: nine characters of six bits, then ten bits of a version.
pub(crate) fn module_name(id: u64) -> String {
    const CHARACTERS: &[u8; 64] =
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let character = |place: u32| char::from(CHARACTERS[(id >> (58 - 6 * place) & 63) as usize]);
    (0..9).map(character).collect()
}
