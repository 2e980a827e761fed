//! Where links lead.

use super::line::{Inline, Line};
use crate::schema::{KeyId, Schema};

/// A schema, and the ids of the sections in which a document shows its keys and functions.
#[derive(Clone, Debug)]
pub struct Linked<'s> {
    /// The schema.
    pub schema: &'s Schema,
    keys: Vec<String>,
    functions: Vec<String>,
}

impl<'s> Linked<'s> {
    /// For a document: an id for each key and for each function, in the schema's order.
    pub fn new(schema: &'s Schema, keys: Vec<String>, functions: Vec<String>) -> Linked<'s> {
        assert_eq!(keys.len(), schema.keys.len(), "each key has an id");
        assert_eq!(functions.len(), schema.functions.len(), "each function has an id");
        Linked { schema, keys, functions }
    }

    /// For lines that are shown as plain text: links lead nowhere. Takes no time, however
    /// many keys there are.
    pub fn nowhere(schema: &'s Schema) -> Linked<'s> {
        Linked { schema, keys: Vec::new(), functions: Vec::new() }
    }

    /// The id of a key's section.
    pub fn key_anchor(&self, id: KeyId) -> &str {
        anchor(&self.keys, id.index())
    }

    /// The id of a function's section.
    pub fn function_anchor(&self, index: usize) -> &str {
        anchor(&self.functions, index)
    }

    /// A key's pattern as a link to its section.
    pub fn key_link(&self, id: KeyId) -> Line {
        self.key_link_as(id, self.schema.key(id).pattern.text())
    }

    /// Other words for a key as a link to its section.
    pub fn key_link_as(&self, id: KeyId, code: &str) -> Line {
        let (id, code) = (self.key_anchor(id).to_owned(), code.to_owned());
        Line::default().with(Inline::Link { id, code })
    }

    /// A function's name as a link to its section.
    pub fn function_link(&self, index: usize) -> Line {
        let id = self.function_anchor(index).to_owned();
        let code = self.schema.functions[index].name.to_string();
        Line::default().with(Inline::Link { id, code })
    }
}

/// Where a link leads: nowhere where there is no document.
fn anchor(anchors: &[String], index: usize) -> &str {
    anchors.get(index).map_or("", String::as_str)
}
