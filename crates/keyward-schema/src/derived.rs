//! Derived keys: what Keyward keeps by itself.
//!
//! Owns the kinds of derivation and references from one key to another. Not
//! here: reading and resolving them (`read::derived`, `read::template`),
//! keeping them true (the rule book).

use crate::schema::KeyId;

/// A reference to keys of another pattern, each of whose placeholders is
/// filled from somewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The pattern.
    pub key: KeyId,
    /// What fills each of its placeholders, in order.
    pub bindings: Vec<Binding>,
}

/// What fills a placeholder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Binding {
    /// The placeholder of this index of the key that refers; in a function's
    /// keys, its variable of this index.
    Bound(usize),
    /// The member of the derived key. Occurs once in a derivation, but for lookups that hold
    /// a field, and nowhere else.
    Member,
    /// This text.
    Literal(Box<str>),
}

impl Reference {
    /// The index of the placeholder that is the member.
    pub fn member(&self) -> Option<usize> {
        self.bindings.iter().position(|binding| *binding == Binding::Member)
    }
}

/// How a key is derived.
#[derive(Clone, Debug, PartialEq)]
pub enum Derived {
    /// A unique index: a string that leads from what stands in its name to what its source
    /// row says.
    Lookup {
        /// The source.
        of: Reference,
        /// What it is named by and holds.
        finds: Finds,
        /// All of these must hold.
        when: Vec<Condition>,
    },
    /// A sorted set of members by a number of their rows.
    Rank {
        /// The source.
        of: Reference,
        /// Where that is.
        by: RankBy,
        /// All of these must hold.
        when: Vec<Condition>,
    },
    /// A set of members whose rows say so.
    Members {
        /// The source.
        of: Reference,
        /// All of these must hold.
        when: Vec<Condition>,
        /// Placeholders of this key and the fields that fill them.
        split: Vec<(usize, usize)>,
    },
    /// A set that mirrors another: `b` is in `a`'s if `a` is in `b`'s.
    Inverse {
        /// The other one; its member placeholder is filled by this key's members.
        other: Reference,
        /// The placeholder of this key that is a member over there.
        slot: usize,
    },
    /// Written by clients; a member must name a living key, and leaves with it.
    Follows {
        /// The key that a member names.
        of: Reference,
    },
}

/// Where the score of a ranked row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankBy {
    /// In this field.
    Field(usize),
    /// In its key: the source's placeholder of this index.
    Placeholder(usize),
}

/// What a lookup is named by and holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finds {
    /// It is named by a value of the source row and holds the member.
    Member {
        /// The indexed field, or the whole value.
        field: Option<usize>,
        /// The placeholder of this key that holds the indexed value.
        slot: usize,
    },
    /// It is named by all placeholders of the source, which has no member, and holds this
    /// field: each row has a lookup of its own.
    Field(usize),
}

impl Derived {
    /// The key it comes from or leans on.
    pub fn source(&self) -> &Reference {
        match self {
            Derived::Lookup { of, .. }
            | Derived::Rank { of, .. }
            | Derived::Members { of, .. }
            | Derived::Follows { of } => of,
            Derived::Inverse { other, .. } => other,
        }
    }

    /// What the schema calls it.
    pub fn name(&self) -> &'static str {
        match self {
            Derived::Lookup { .. } => "lookup",
            Derived::Rank { .. } => "rank",
            Derived::Members { .. } => "members",
            Derived::Inverse { .. } => "inverse",
            Derived::Follows { .. } => "follows",
        }
    }
}

/// A test of one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The index of the field.
    pub field: usize,
    /// Whether it must be one of the values, or none of them.
    pub is: bool,
    /// The values, as text.
    pub values: Vec<Box<str>>,
}

impl Condition {
    /// Whether a row passes it whose field holds this. A field that is not there equals no
    /// value.
    pub fn is_met(&self, value: Option<&[u8]>) -> bool {
        let is_named = |value: &[u8]| self.values.iter().any(|named| named.as_bytes() == value);
        value.is_some_and(is_named) == self.is
    }
}
