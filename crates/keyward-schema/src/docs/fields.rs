//! Tables of fields.
//!
//! One row per declared field; those of nested objects follow theirs under
//! their full path: `settings.theme`, `items[].price`, `products.*.name`.

use super::page::{Line, Table};
use super::words::limits_in_words;
use crate::shape::{Extra, Object, Shape, Type};

/// The fields of a hash, of JSON, of a reply.
pub(super) fn table(object: &Object) -> Table {
    full_table(object).without_empty_columns()
}

/// The same, a line for each field: `status: active | closed, required`.
pub(super) fn lines(object: &Object) -> Vec<Line> {
    let line = |row: Vec<Line>| {
        let [name, ty, required, limits, _] =
            <[Line; 5]>::try_from(row).expect("a row has a cell for each column");
        let required = if required.plain() == "yes" { ", required" } else { "" };
        let comma = if limits.is_empty() { "" } else { ", " };
        name.and(": ").and_line(ty).and(comma).and_line(limits).and(required)
    };
    full_table(object).rows.into_iter().map(line).collect()
}

fn full_table(object: &Object) -> Table {
    let mut table = Table::of(["Field", "Type", "Required", "Limits", "Meaning"]);
    push_fields(&mut table, "", object);
    table
}

/// The object that a shape holds, at whatever depth of arrays and maps.
pub(super) fn object_within(shape: &Shape) -> Option<&Object> {
    match &shape.ty {
        Type::Object(object) => Some(object),
        Type::Array(inner) | Type::Map { value: inner, .. } => object_within(inner),
        _ => None,
    }
}

/// Whether an object's fields need a table.
pub(super) fn is_telling(object: &Object) -> bool {
    !object.fields.is_empty() || matches!(object.extra, Extra::Typed(_))
}

fn push_fields(table: &mut Table, path: &str, object: &Object) {
    for field in &object.fields {
        let name = format!("{path}{}", field.name);
        table.push([
            Line::code(&*name),
            Line::code(field.shape.to_string()),
            Line::text(if field.required { "yes" } else { "no" }),
            Line::text(limits_in_words(&field.shape)),
            Line::prose(field.doc.as_deref()),
        ]);
        push_nested(table, &name, &field.shape);
    }
    let any = match &object.extra {
        Extra::Reject => return,
        Extra::Allow => Line::text("anything"),
        Extra::Typed(shape) => Line::code(shape.to_string()),
    };
    let limits = match &object.extra {
        Extra::Typed(shape) => limits_in_words(shape),
        Extra::Reject | Extra::Allow => String::new(),
    };
    let others = if object.fields.is_empty() { "any field" } else { "any other" };
    let name = match path {
        "" => Line::text(others),
        path => Line::code(path.trim_end_matches('.')).and(format!(": {others}")),
    };
    table.push([name, any, Line::text("no"), Line::text(limits), Line::default()]);
    if let Extra::Typed(shape) = &object.extra {
        push_nested(table, &format!("{path}*"), shape);
    }
}

fn push_nested(table: &mut Table, path: &str, shape: &Shape) {
    match &shape.ty {
        Type::Object(object) => push_fields(table, &format!("{path}."), object),
        Type::Array(item) => push_nested(table, &format!("{path}[]"), item),
        Type::Map { value, .. } => push_nested(table, &format!("{path}.*"), value),
        _ => {}
    }
}
