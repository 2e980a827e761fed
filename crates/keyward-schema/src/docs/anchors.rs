//! Ids of sections, and what a builder needs to link to them.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use super::page::{Inline, Line};
use crate::example::Examples;
use crate::schema::{KeyId, Schema};

/// A schema on its way into a document: its examples, and where its keys and
/// functions will stand.
pub(super) struct Part<'s> {
    pub(super) schema: &'s Schema,
    /// Made when the first is wanted: single facts need none.
    examples: OnceCell<Examples>,
    /// What the ids of its sections begin with, where there are several.
    prefix: String,
    keys: Vec<String>,
    functions: Vec<String>,
}

impl<'s> Part<'s> {
    pub(super) fn new(schema: &'s Schema, prefix: String, ids: &mut Ids) -> Part<'s> {
        let mut id_of = |kind: &str, name: &str| ids.take(&format!("{prefix}{kind}{}", slug(name)));
        let keys = schema.keys.iter().map(|key| id_of("key-", key.pattern.text())).collect();
        let functions =
            schema.functions.iter().map(|function| id_of("function-", &function.name)).collect();
        Part { schema, examples: OnceCell::new(), prefix, keys, functions }
    }

    /// For lines that are shown as plain text: links lead nowhere. Takes no time, however
    /// many keys there are.
    pub(super) fn unlinked(schema: &'s Schema) -> Part<'s> {
        let (keys, functions) = (Vec::new(), Vec::new());
        Part { schema, examples: OnceCell::new(), prefix: String::new(), keys, functions }
    }

    pub(super) fn examples(&self) -> &Examples {
        self.examples.get_or_init(|| Examples::of(self.schema))
    }

    /// The id of a chapter.
    pub(super) fn chapter(&self, title: &str, ids: &mut Ids) -> String {
        ids.take(&format!("{}{}", self.prefix, slug(title)))
    }

    pub(super) fn key_ids(&self) -> impl Iterator<Item = KeyId> {
        (0..self.schema.keys.len()).map(KeyId::new)
    }

    pub(super) fn key_anchor(&self, id: KeyId) -> &str {
        &self.keys[id.index()]
    }

    pub(super) fn function_anchor(&self, index: usize) -> &str {
        &self.functions[index]
    }

    /// A key's pattern as a link to its section.
    pub(super) fn key_link(&self, id: KeyId) -> Line {
        self.key_link_as(id, self.schema.key(id).pattern.text())
    }

    /// Other words for a key as a link to its section.
    pub(super) fn key_link_as(&self, id: KeyId, code: &str) -> Line {
        let code = code.to_owned();
        Line::default().with(Inline::Link { id: anchor(&self.keys, id.index()), code })
    }

    /// A function's name as a link to its section.
    pub(super) fn function_link(&self, index: usize) -> Line {
        let code = self.schema.functions[index].name.to_string();
        Line::default().with(Inline::Link { id: anchor(&self.functions, index), code })
    }
}

/// Where a link leads: nowhere where there is no document.
fn anchor(anchors: &[String], index: usize) -> String {
    anchors.get(index).cloned().unwrap_or_default()
}

/// The ids that are taken.
#[derive(Default)]
pub(super) struct Ids {
    taken: BTreeSet<String>,
}

impl Ids {
    /// The id itself, or numbered where it is taken.
    pub(super) fn take(&mut self, wanted: &str) -> String {
        let numbered = (2..).map(|number| format!("{wanted}-{number}"));
        let id = std::iter::once(wanted.to_owned())
            .chain(numbered)
            .find(|id| !self.taken.contains(id))
            .expect("there is always a next number");
        self.taken.insert(id.clone());
        id
    }
}

/// Letters and digits in lower case, one dash for whatever is between them;
/// never empty.
pub(super) fn slug(text: &str) -> String {
    let mut slug = String::new();
    for c in text.chars() {
        if c.is_alphanumeric() || c == '_' {
            slug.extend(c.to_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    match slug.trim_end_matches('-') {
        "" => "section".to_owned(),
        slug => slug.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Comparing two schemas asks for the facts of each key: with the examples of all keys
    /// for each, that would take quadratic time.
    #[test]
    fn facts_of_a_key_need_no_examples() {
        let text = "[keyspace]\nname = \"s\"\n\n[key.\"user:{id:uint}\"]\ntype = \"json\"\nttl = \
                    \"1h\"\nfields = { email = \"str\" }\n\n[key.\"by:{email}\"]\ntype = \"string\"\nlookup \
                    = { of = \"user:{id}\", field = \"email\" }\n";
        let schema = crate::check("x", text.as_bytes()).schema.expect("it is sound");
        for id in schema.ids() {
            let part = Part::unlinked(&schema);
            assert!(!super::super::key::digest(&part, id).is_empty());
            assert!(part.examples.get().is_none(), "{}", schema.key(id).pattern.text());
        }
    }

    #[test]
    fn ids_are_readable_and_differ() {
        let mut ids = Ids::default();
        assert_eq!(ids.take(&slug("user:{id:uint}:views")), "user-id-uint-views");
        assert_eq!(ids.take(&slug("user:id:uint:views")), "user-id-uint-views-2");
        assert_eq!(ids.take(&slug("Payments & Coupons")), "payments-coupons");
        assert_eq!(ids.take(&slug("🐦")), "section");
    }
}
