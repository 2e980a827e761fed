//! Lua as Redis has it: what a script or a function of a library runs in.
//!
//! Owns the interpreter's state and everything that code in it sees:
//!
//! - `sandbox` holds a Lua state and runs code in it, `seat` is where it waits for that;
//!   `globals`, `builtins`, `strings` (with `pattern`) and `tables` are what code sees,
//!   `stack`, `runtime` and `watch` what our functions in it work with;
//! - `api` is the `redis` table, `resp` its conversions; `json`, `msgpack`, `structs`,
//!   `bits` and `random` are the libraries;
//! - `library` is what FUNCTION LOAD has loaded, `flags` what a script declares.
//!
//! What code calls goes through a [`Caller`], which its host is.
//! Not here: keys, sessions, the commands EVAL and FCALL (`keyward-engine`).

mod api;
mod bits;
mod builtins;
mod caller;
mod flags;
mod globals;
mod json;
mod library;
mod msgpack;
mod number;
mod pace;
mod pattern;
mod random;
mod registration;
mod resp;
mod runtime;
mod sandbox;
mod seat;
mod stack;
mod strings;
mod structs;
mod tables;
#[cfg(test)]
mod tests;
mod watch;

pub use api::sha1_hex;
pub use caller::{Caller, LogLevel, Propagation};
pub use flags::{ScriptFlag, ScriptFlags, read_script};
pub use globals::Audience;
pub use library::{Function, Libraries, Library, OnConflict, declared_name, load};
pub use sandbox::{Code, Input, Sandbox};
pub use seat::{Busy, Seat};
