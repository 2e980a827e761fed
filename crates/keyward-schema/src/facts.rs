//! What a schema says, in sentences.
//!
//! Owns the words for types, lifetimes, bounds, derived keys and fields, as lines whose
//! links lead into a document or nowhere. Documents, explanations of commands and the
//! comparison of two schemas share them. Facts need no examples, whose making takes time:
//! who compares two schemas asks for the facts of every key.
//! Not here: documents and their examples (`keyward-docs`), why a command is refused
//! (`keyward-rules`).

mod derivation;
mod fields;
mod in_words;
mod key;
mod line;
mod links;
mod sink;

pub use derivation::{is_read_only, keeper};
pub use fields::{FieldRow, field_rows, is_telling, object_within};
pub use in_words::{
    evict_in_words, keyspace_facts, lifetime_short, shape_line, subject_name, things, type_name,
};
pub use key::{allowance, lines_of_key, object_of};
pub use line::{Inline, Line};
pub use links::Linked;

use crate::schema::{KeyId, Schema};

/// How long the keys live, in a few words for each, in the schema's order.
pub fn lifetimes(schema: &Schema) -> Vec<String> {
    let links = Linked::nowhere(schema);
    schema.keys.iter().map(|key| lifetime_short(&links, key).plain()).collect()
}

/// What is true of a key, as plain text: headings, and what is said under each.
pub fn of_key(schema: &Schema, id: KeyId) -> Vec<(&'static str, Vec<String>)> {
    let links = Linked::nowhere(schema);
    let plain = |(heading, lines): (&'static str, Vec<Line>)| {
        (heading, lines.iter().map(Line::plain).collect())
    };
    key::digest(&links, id).into_iter().map(plain).collect()
}
