//! What Keyward stores, and how: rows, tables of them, databases, the keyspace.
//!
//! Four rooms, each of which uses only those before it:
//!
//! - [`values`]: a row and what it may hold, packed or not; the index that finds rows.
//! - [`capture`]: what a snapshot in steps (copy-on-write) captures of rows.
//! - [`tables`]: a table per key pattern, its deadlines, packed pages and figures.
//! - [`keyspace`]: all databases, and the guards through which commands read and change
//!   them: journal, expiry, eviction's choice, effects, WATCH, who waits for a key.
//!
//! Deterministic: the time, seeds and settings come in as arguments.
//! Never in this crate: sessions, commands, Lua, clocks, files, sockets, threads.

pub mod capture;
pub mod keyspace;
pub mod tables;
pub mod values;
