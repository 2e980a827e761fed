//! Which ties of a schema stay within one slot of a cluster.
//!
//! Keys of two patterns lie in one slot if their hash tags are the same; whether they are is told
//! by the patterns alone. Owns that comparison, and the patterns that would pass it.
//! Not here: keys whose tag turns out to be empty ([`keyward_schema::hash_tag_of`]), which a host
//! sees to before it runs a command.

use keyward_schema::{Binding, KeyId, Pattern, Reference, Schema, TagPart};

/// Whether each key of a table lies in one slot with the keys that it refers to.
pub(super) fn shares_slot(schema: &Schema, own: KeyId, to: &Reference) -> bool {
    let tags = (schema.key(own).pattern.hash_tag(), schema.key(to.key).pattern.hash_tag());
    let (Some(own), Some(other)) = tags else { return false };
    let bound = |part: TagPart| match part {
        TagPart::Literal(text) => Some(TagPart::Literal(text)),
        TagPart::Placeholder(index) => match to.bindings.get(index)? {
            Binding::Bound(own) => Some(TagPart::Placeholder(*own)),
            Binding::Literal(text) if !text.contains(['{', '}']) => {
                Some(TagPart::Literal(text.clone()))
            }
            Binding::Literal(_) | Binding::Member => None,
        },
    };
    let other: Option<Vec<TagPart>> = other.into_iter().map(bound).collect();
    other.is_some_and(|other| joined(other) == joined(own))
}

/// The parts with literals side by side as one.
fn joined(parts: Vec<TagPart>) -> Vec<TagPart> {
    let mut joined: Vec<TagPart> = Vec::new();
    for part in parts {
        match (joined.last_mut(), part) {
            (Some(TagPart::Literal(before)), TagPart::Literal(text)) => {
                *before = [&**before, &*text].concat().into();
            }
            (_, part) => joined.push(part),
        }
    }
    joined
}

/// The patterns of a table and of the one that it refers to with the first value that both have
/// in a hash tag; `None` if there is none that would be the tag of all their keys.
pub(super) fn colocated(schema: &Schema, own: KeyId, to: &Reference) -> Option<(Pattern, Pattern)> {
    to.bindings.iter().enumerate().find_map(|(other, binding)| {
        let Binding::Bound(own_index) = binding else { return None };
        let own = schema.key(own).pattern.tagged(*own_index)?;
        Some((own, schema.key(to.key).pattern.tagged(other)?))
    })
}
