//! Rows, what they hold, and the index that finds them.
//!
//! `row` is the layout of a row in memory, `value` what it may hold: `text`, `list`, `set`,
//! `hash`, `zset`, `stream`; `thin` and `packed` are their small forms. `index` is a hash table that
//! grows one bucket at a time (`linear` hashing). `footprint` and `size_class` tell how
//! many bytes things take, `access` how recently and how often a row was used.
//! Not here: tables, lifetimes as a schema has them.

pub mod access;
pub(crate) mod decimal;
pub mod footprint;
pub mod hash;
pub mod hasher;
pub mod index;
pub(crate) mod linear;
pub mod list;
pub mod packed;
pub mod packed_limits;
pub mod prefetch;
pub mod random;
pub mod row;
pub mod sampling;
pub mod set;
pub mod size_class;
pub mod stream;
pub mod text;
pub(crate) mod thin;
pub mod value;
pub mod zset;
