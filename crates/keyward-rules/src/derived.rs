//! Derived keys: what hangs on what.
//!
//! Owns, for each table, which others are kept from it. Four ways:
//! - *computed* (`lookup`, `rank`, `members`): rows demand [`Entry`]s of derived
//!   rows, which hold those and nothing else. What a row demands is a function of
//!   the row alone ([`entries`]), so what a command changes is the difference
//!   between what the row demanded before and what it demands now;
//! - *mirrored* (`inverse`): each member of a set puts the set's own id into the
//!   set that the member names;
//! - *followed* (`follows`): clients write the set; a member leaves with the row
//!   that it names;
//! - *accompanied* (`with`): rows that end when this one does.
//!
//! A client may write to a computed row what it must hold anyway; `wanted` tells
//! that from a contradiction.
//! Not here: in which order all that is judged (`after`).

pub(crate) mod agreement;
mod entries;
pub(crate) mod mirror;
pub(crate) mod repair;
mod sources;
pub(crate) mod wanted;

use crate::facts::Reading;
use keyward_schema::{
    Binding, Derived, Finds, Key, KeyId, Lifetime, Placeholder, RankBy, Relation, Schema, relate,
};

pub use agreement::Contradicted;
pub use entries::{Entry, Holds};
pub use sources::ToldBy;

/// What is kept from the rows of one table, beside what its traits say.
#[derive(Debug)]
pub(crate) struct Links {
    /// How to read what its rows say.
    pub(crate) reading: Reading,
    /// The fields that decide about entries, each once.
    pub(crate) fields: Vec<usize>,
    /// If it is derived, whether every key that its source names is one of its own: then
    /// the matcher need not be asked.
    pub(crate) is_named_surely: bool,
    /// Whether a value may make a computed key that is read as other values.
    pub(crate) may_be_misread: bool,
    /// How it finds the set that mirrors it, if one does.
    pub(crate) mirror: Option<Mirror>,
    /// How many tables stand between it and one that lives by itself.
    pub(crate) companion_depth: usize,
}

/// How a mirrored set finds its mirror.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mirror {
    /// By its own `inverse`.
    Named,
    /// It says nothing; the `inverse` of this table names it.
    NamedBy(KeyId),
}

impl Mirror {
    /// The table of the mirrors of a table that finds them this way.
    pub(crate) fn table(self, schema: &Schema, of: KeyId) -> Option<KeyId> {
        match (self, &schema.key(of).derived) {
            (Mirror::NamedBy(namer), _) => Some(namer),
            (Mirror::Named, Some(Derived::Inverse { other, .. })) => Some(other.key),
            (Mirror::Named, _) => None,
        }
    }
}

impl Links {
    /// The links of all tables, by the index of their ids.
    pub(crate) fn of(schema: &Schema) -> Box<[Links]> {
        let mut links: Box<[Links]> = schema
            .keys
            .iter()
            .map(|key| Links {
                reading: Reading::of(&key.content),
                fields: Vec::new(),
                is_named_surely: is_named_surely(schema, key),
                may_be_misread: false,
                mirror: None,
                companion_depth: companion_depth(schema, &key.lifetime),
            })
            .collect();
        for id in schema.ids() {
            if let Some(derived) = &schema.key(id).derived {
                link(&mut links, id, derived);
                links[derived.source().key.index()].may_be_misread |=
                    !schema.key(id).pattern.is_read_by_segments();
            }
        }
        for links in &mut links {
            links.fields.sort_unstable();
            links.fields.dedup();
        }
        links
    }
}

fn link(links: &mut [Links], id: KeyId, derived: &Derived) {
    let source = &mut links[derived.source().key.index()];
    match derived {
        Derived::Lookup { finds, when, .. } => {
            match finds {
                Finds::Member { field, .. } => source.fields.extend(field),
                Finds::Field(held) => source.fields.push(*held),
            }
            source.fields.extend(when.iter().map(|condition| condition.field));
        }
        Derived::Rank { by, when, .. } => {
            if let RankBy::Field(field) = by {
                source.fields.push(*field);
            }
            source.fields.extend(when.iter().map(|condition| condition.field));
        }
        Derived::Members { when, split, .. } => {
            source.fields.extend(when.iter().map(|condition| condition.field));
            source.fields.extend(split.iter().map(|(_, field)| field));
        }
        Derived::Follows { .. } => {}
        Derived::Inverse { .. } => {
            // What a set says itself counts more than what is said of it.
            source.mirror.get_or_insert(Mirror::NamedBy(id));
            links[id.index()].mirror = Some(Mirror::Named);
        }
    }
}

/// Whether the placeholders of a derived key are all ones of its source, which accept the
/// same, and no other pattern can take its keys away.
fn is_named_surely(schema: &Schema, key: &Key) -> bool {
    let Some(derived) = &key.derived else { return false };
    let of = derived.source();
    let source = schema.key(of.key).pattern.placeholders();
    let is_bound = |(index, own): (usize, &Placeholder)| {
        let mut bindings = of.bindings.iter().zip(source);
        bindings.any(|(binding, there)| {
            matches!(binding, Binding::Bound(bound) if *bound == index) && there.kind == own.kind
        })
    };
    let is_won = |other: &Key| {
        let (relation, _) = relate(&key.pattern, &other.pattern);
        matches!(relation, Relation::Disjoint | Relation::Equal | Relation::Subset)
    };
    key.pattern.is_read_by_segments()
        && key.pattern.placeholders().iter().enumerate().all(is_bound)
        && schema.keys.iter().all(is_won)
}

/// How far a lifetime leans on others. The schema has no circles.
fn companion_depth(schema: &Schema, lifetime: &Lifetime) -> usize {
    match lifetime {
        Lifetime::With { key } => 1 + companion_depth(schema, &schema.key(key.key).lifetime),
        _ => 0,
    }
}
