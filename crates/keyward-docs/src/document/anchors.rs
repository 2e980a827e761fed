//! Ids of sections, and what a builder needs to link to them.

use std::collections::BTreeSet;

use keyward_schema::Schema;
use keyward_schema::facts::Linked;

use crate::example::Examples;

/// A schema on its way into a document: its examples, and where its keys and
/// functions will stand.
pub(super) struct Part<'s> {
    pub(super) schema: &'s Schema,
    pub(super) links: Linked<'s>,
    examples: Examples,
    /// What the ids of its sections begin with, where there are several.
    prefix: String,
}

impl<'s> Part<'s> {
    pub(super) fn new(schema: &'s Schema, prefix: String, ids: &mut Ids) -> Part<'s> {
        let mut id_of = |kind: &str, name: &str| ids.take(&format!("{prefix}{kind}{}", slug(name)));
        let keys = schema.keys.iter().map(|key| id_of("key-", key.pattern.text())).collect();
        let functions =
            schema.functions.iter().map(|function| id_of("function-", &function.name)).collect();
        let links = Linked::new(schema, keys, functions);
        Part { schema, links, examples: Examples::of(schema), prefix }
    }

    pub(super) fn examples(&self) -> &Examples {
        &self.examples
    }

    /// The id of a chapter.
    pub(super) fn chapter(&self, title: &str, ids: &mut Ids) -> String {
        ids.take(&format!("{}{}", self.prefix, slug(title)))
    }
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

    #[test]
    fn ids_are_readable_and_differ() {
        let mut ids = Ids::default();
        assert_eq!(ids.take(&slug("user:{id:uint}:views")), "user-id-uint-views");
        assert_eq!(ids.take(&slug("user:id:uint:views")), "user-id-uint-views-2");
        assert_eq!(ids.take(&slug("Payments & Coupons")), "payments-coupons");
        assert_eq!(ids.take(&slug("🐦")), "section");
    }
}
