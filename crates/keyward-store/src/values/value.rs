//! What a row can hold.
//!
//! Owns the names of types and the enumeration of collection types. Strings are
//! not here: they live inside the row itself (`row`), as bytes or as an integer.
//! Invariant: a collection in a row is never empty; the last removal removes
//! the row (`keyspace::edit`). Only a stream stays without entries.

use crate::values::footprint::Footprint;
use crate::values::hash::Hash;
use crate::values::list::List;
use crate::values::set::Set;
use crate::values::stream::Stream;
use crate::values::zset::ZSet;

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
    /// Entries that come one behind the other.
    Stream,
}

impl Type {
    /// Every type, in the order Redis numbers them.
    pub const ALL: [Type; 6] =
        [Type::String, Type::List, Type::Set, Type::ZSet, Type::Hash, Type::Stream];

    /// The name `TYPE` returns.
    pub fn name(self) -> &'static str {
        match self {
            Type::String => "string",
            Type::List => "list",
            Type::Set => "set",
            Type::ZSet => "zset",
            Type::Hash => "hash",
            Type::Stream => "stream",
        }
    }

    /// The type a client names, as in `SCAN ... TYPE list`.
    pub fn from_name(name: &[u8]) -> Option<Type> {
        Type::ALL.into_iter().find(|t| t.name().as_bytes().eq_ignore_ascii_case(name))
    }
}

/// A type of which rows hold values as an [`Object`].
pub trait Collection: Default {
    /// This type in a row, if it is what the row holds.
    fn of(object: ObjectRef<'_>) -> Option<&Self>;
    /// As `of`, for changing it.
    fn of_mut(object: ObjectMut<'_>) -> Option<&mut Self>;
    /// The object of a value.
    fn into_object(self) -> Object;
}

/// Declares the types of collections, each of which is one pointer: owned, as they
/// go into a row and come out of it, and as rows lend them.
macro_rules! collections {
    ($( $(#[$doc:meta])* $name:ident, )+) => {
        /// A value too rich to live inside its row, on its own.
        #[derive(Debug)]
        pub enum Object { $( $(#[$doc])* $name($name), )+ }

        /// A collection that a row holds.
        #[derive(Debug, Clone, Copy)]
        pub enum ObjectRef<'a> { $( $(#[$doc])* $name(&'a $name), )+ }

        /// A collection that a row holds, for changing it.
        #[derive(Debug)]
        pub enum ObjectMut<'a> { $( $(#[$doc])* $name(&'a mut $name), )+ }

        impl Object {
            /// The type of this object.
            pub fn kind(&self) -> Type {
                match self { $( Object::$name(_) => Type::$name, )+ }
            }

            /// As rows lend it.
            #[cfg(test)]
            pub fn as_ref(&self) -> ObjectRef<'_> {
                match self { $( Object::$name(object) => ObjectRef::$name(object), )+ }
            }

            /// As rows lend it, for changing it.
            #[cfg(test)]
            pub fn as_mut(&mut self) -> ObjectMut<'_> {
                match self { $( Object::$name(object) => ObjectMut::$name(object), )+ }
            }
        }

        impl<'a> ObjectRef<'a> {
            /// What it costs.
            pub(crate) fn footprint(self) -> &'a dyn Footprint {
                match self { $( ObjectRef::$name(object) => object.footprint(), )+ }
            }

            /// Bytes of all its allocations.
            #[inline]
            pub fn heap_bytes(self) -> usize {
                match self { $( ObjectRef::$name(object) => object.footprint().heap_bytes(), )+ }
            }

            /// The type of this object.
            pub fn kind(self) -> Type {
                match self { $( ObjectRef::$name(_) => Type::$name, )+ }
            }

            /// Whether it holds nothing, and its row must go.
            #[inline]
            pub fn is_empty(self) -> bool {
                match self { $( ObjectRef::$name(object) => object.is_empty(), )+ }
            }

            /// The name `OBJECT ENCODING` returns.
            pub fn encoding(self) -> &'static str {
                match self { $( ObjectRef::$name(object) => object.encoding(), )+ }
            }

            /// How many elements it has: what freeing it costs.
            pub fn len(self) -> usize {
                match self { $( ObjectRef::$name(object) => object.len(), )+ }
            }

            /// A copy of it.
            pub(crate) fn to_object(self) -> Object {
                match self { $( ObjectRef::$name(object) => Object::$name(object.clone()), )+ }
            }
        }

        impl<'a> ObjectMut<'a> {
            /// What it costs, for freeing it in steps.
            pub(crate) fn footprint_mut(self) -> &'a mut dyn Footprint {
                match self { $( ObjectMut::$name(object) => object.footprint_mut(), )+ }
            }
        }

        $(
            impl Collection for $name {
                #[inline(always)]
                fn of(object: ObjectRef<'_>) -> Option<&$name> {
                    match object {
                        ObjectRef::$name(object) => Some(object),
                        _ => None,
                    }
                }

                #[inline(always)]
                fn of_mut(object: ObjectMut<'_>) -> Option<&mut $name> {
                    match object {
                        ObjectMut::$name(object) => Some(object),
                        _ => None,
                    }
                }

                fn into_object(self) -> Object {
                    Object::$name(self)
                }
            }
        )+
    };
}

collections! {
    /// A list.
    List,
    /// A set.
    Set,
    /// A sorted set.
    ZSet,
    /// A hash.
    Hash,
    /// A stream.
    Stream,
}

/// A row's value, borrowed.
#[derive(Debug, Clone, Copy)]
pub enum Value<'a> {
    /// The bytes of a string.
    Text(&'a [u8]),
    /// A string that is the canonical decimal form of this number.
    Int(i64),
    /// Anything that is not a string.
    Object(ObjectRef<'a>),
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
