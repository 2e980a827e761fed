//! What a row can hold.
//!
//! Owns the names of types and the enumeration of collection types. Strings are
//! not here: they live inside the row itself (`row`), as bytes or as an integer.
//! Invariant: a collection in a row is never empty; the last removal removes
//! the row (`keyspace::edit`).

use crate::hash::Hash;
use crate::list::List;
use crate::set::Set;
use crate::zset::ZSet;

/// The types a client can see by `TYPE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// Bytes or an integer.
    String,
    /// A sequence with two ends.
    List,
    /// Members without order.
    Set,
    /// Members in order of their scores.
    ZSet,
    /// Fields with values.
    Hash,
}

impl Type {
    /// Every type, in the order Redis numbers them.
    pub const ALL: [Type; 5] = [Type::String, Type::List, Type::Set, Type::ZSet, Type::Hash];

    /// The name `TYPE` answers.
    pub fn name(self) -> &'static str {
        match self {
            Type::String => "string",
            Type::List => "list",
            Type::Set => "set",
            Type::ZSet => "zset",
            Type::Hash => "hash",
        }
    }

    /// The type a client names, as in `SCAN ... TYPE list`.
    pub fn from_name(name: &[u8]) -> Option<Type> {
        Type::ALL.into_iter().find(|t| t.name().as_bytes().eq_ignore_ascii_case(name))
    }
}

/// A value too rich to live inside its row. Each variant is one pointer, so that
/// an object is 16 bytes whatever it holds.
#[derive(Debug, Clone)]
pub enum Object {
    /// A list.
    List(List),
    /// A set.
    Set(Set),
    /// A sorted set.
    ZSet(ZSet),
    /// A hash.
    Hash(Hash),
}

impl Object {
    /// The type of this object.
    pub fn kind(&self) -> Type {
        match self {
            Object::List(_) => Type::List,
            Object::Set(_) => Type::Set,
            Object::ZSet(_) => Type::ZSet,
            Object::Hash(_) => Type::Hash,
        }
    }

    /// Whether it holds nothing, and its row must go.
    pub fn is_empty(&self) -> bool {
        match self {
            Object::List(list) => list.is_empty(),
            Object::Set(set) => set.is_empty(),
            Object::ZSet(zset) => zset.is_empty(),
            Object::Hash(hash) => hash.is_empty(),
        }
    }

    /// The name `OBJECT ENCODING` answers.
    pub fn encoding(&self) -> &'static str {
        match self {
            Object::List(list) => list.encoding(),
            Object::Set(set) => set.encoding(),
            Object::ZSet(zset) => zset.encoding(),
            Object::Hash(hash) => hash.encoding(),
        }
    }

    /// How many elements it has: what freeing it costs.
    pub fn len(&self) -> usize {
        match self {
            Object::List(list) => list.len(),
            Object::Set(set) => set.len(),
            Object::ZSet(zset) => zset.len(),
            Object::Hash(hash) => hash.len(),
        }
    }
}

/// A row's value, borrowed.
#[derive(Debug, Clone, Copy)]
pub enum Value<'a> {
    /// The bytes of a string.
    Text(&'a [u8]),
    /// A string that is the canonical decimal form of this number.
    Int(i64),
    /// Anything that is not a string.
    Object(&'a Object),
}

impl Value<'_> {
    /// The type of this value.
    pub fn kind(&self) -> Type {
        match self {
            Value::Text(_) | Value::Int(_) => Type::String,
            Value::Object(object) => object.kind(),
        }
    }
}
