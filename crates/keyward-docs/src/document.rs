//! Documents: a schema as a page that one would hand to a new colleague.
//!
//! A schema becomes one model of a document (`page`), which is rendered as
//! Markdown or as one HTML page that loads nothing. Invariants: the same
//! schemas give the same bytes; every pattern, field, function and note of a
//! schema is in both; nothing that a schema says can become markup, but for
//! the Markdown of its `doc`s and notes, whose raw HTML a page shows as text.
//! Not here: the sentences (`keyward_schema::facts`), example values (`example`).

mod anchors;
mod commands;
mod fields;
mod function;
mod html;
mod json;
mod key;
mod markdown;
mod memory;
mod overview;
mod page;
mod prose;
mod retention;

use keyward_schema::Schema;
use keyward_schema::facts::Line;

use anchors::{Ids, Part, slug};
use page::{Page, Role, Section};

/// The document of one or more schemas as Markdown (GitHub's flavour).
pub fn markdown(schemas: &[&Schema]) -> String {
    markdown::render(&page(schemas))
}

/// The document of one or more schemas as a self-contained HTML page.
pub fn html(schemas: &[&Schema]) -> String {
    html::render(&page(schemas))
}

fn page(schemas: &[&Schema]) -> Page {
    let mut ids = Ids::default();
    // The renderers' own.
    ids.take("contents");
    ids.take("filter");
    if let [schema] = schemas {
        let part = Part::new(schema, String::new(), &mut ids);
        return Page {
            title: schema.keyspace.name.to_string(),
            blocks: overview::blocks(&part),
            sections: overview::chapters(&part, &mut ids),
        };
    }
    let names: Vec<&str> = schemas.iter().map(|schema| &*schema.keyspace.name).collect();
    let sections = schemas.iter().map(|schema| {
        let name = &*schema.keyspace.name;
        let id = ids.take(&slug(name));
        let part = Part::new(schema, format!("{id}-"), &mut ids);
        let mut section = Section::new(id, Line::text(name), Role::Chapter);
        section.blocks = overview::blocks(&part);
        section.sections = overview::chapters(&part, &mut ids);
        section
    });
    let sections = sections.collect();
    Page { title: names.join(", "), blocks: Vec::new(), sections }
}
