//! The fields of a hash, of JSON, of a reply.
//!
//! One row per declared field; those of nested objects follow theirs under
//! their full path: `settings.theme`, `items[].price`, `products.*.name`.

use super::in_words::limits_in_words;
use super::line::Line;
use crate::shape::{Extra, Field, Object, Shape, Type};

/// What a schema says of a field.
#[derive(Clone, Debug)]
pub struct FieldRow {
    /// Its path.
    pub name: Line,
    /// Its type, in the schema's notation.
    pub ty: Line,
    /// Whether a value must have it.
    pub required: bool,
    /// The bounds on its value; empty if there are none.
    pub limits: Line,
    /// What the author of the schema says of it.
    pub doc: Line,
}

/// All fields, those of nested objects included.
pub fn field_rows(object: &Object) -> Vec<FieldRow> {
    let mut rows = Vec::new();
    push_fields(&mut rows, "", object);
    rows
}

/// The same, a line for each field: `status: active | closed, required`.
pub(super) fn lines(object: &Object) -> Vec<Line> {
    let line = |row: FieldRow| {
        let required = if row.required { ", required" } else { "" };
        let comma = if row.limits.is_empty() { "" } else { ", " };
        row.name.and(": ").and_line(row.ty).and(comma).and_line(row.limits).and(required)
    };
    field_rows(object).into_iter().map(line).collect()
}

/// The bounds on a field's value, and what it must equal.
fn limits(field: &Field) -> Line {
    let limits = limits_in_words(&field.shape);
    match &field.same {
        None => Line::text(limits),
        Some(same) => {
            let comma = if limits.is_empty() { "" } else { ", " };
            Line::text(format!("{limits}{comma}the same as "))
                .and_code(format!("{{{}}}", same.name))
        }
    }
}

/// What must hold between fields, those of nested objects with their path.
pub(super) fn check_lines(object: &Object) -> Vec<Line> {
    let mut lines = Vec::new();
    push_checks(&mut lines, "", object);
    lines
}

fn push_checks(lines: &mut Vec<Line>, path: &str, object: &Object) {
    for check in &object.checks {
        let (comparison, when) = match check.text.split_once(" when ") {
            Some((comparison, when)) => (comparison, Some(when)),
            None => (&*check.text, None),
        };
        let within = if path.is_empty() { Line::default() } else { Line::code(path).and(": ") };
        let line = within.and_code(comparison);
        lines.push(match when {
            Some(when) => line.and(" when ").and_code(when),
            None => line,
        });
    }
    for field in &object.fields {
        let dot = if path.is_empty() { "" } else { "." };
        push_checks_within(lines, format!("{path}{dot}{}", field.name), &field.shape);
    }
    if let Extra::Typed(shape) = &object.extra {
        push_checks_within(lines, format!("{path}.*"), shape);
    }
}

fn push_checks_within(lines: &mut Vec<Line>, path: String, shape: &Shape) {
    match &shape.ty {
        Type::Object(object) => push_checks(lines, &path, object),
        Type::Array(item) => push_checks_within(lines, path + "[]", item),
        Type::Map { value, .. } => push_checks_within(lines, path + ".*", value),
        _ => {}
    }
}

/// The object that a shape holds, at whatever depth of arrays and maps.
pub fn object_within(shape: &Shape) -> Option<&Object> {
    match &shape.ty {
        Type::Object(object) => Some(object),
        Type::Array(inner) | Type::Map { value: inner, .. } => object_within(inner),
        _ => None,
    }
}

/// Whether an object's fields need a table.
pub fn is_telling(object: &Object) -> bool {
    !object.fields.is_empty() || matches!(object.extra, Extra::Typed(_))
}

fn push_fields(rows: &mut Vec<FieldRow>, path: &str, object: &Object) {
    for field in &object.fields {
        let name = format!("{path}{}", field.name);
        rows.push(FieldRow {
            name: Line::code(&*name),
            ty: Line::code(field.shape.to_string()),
            required: field.required,
            limits: limits(field),
            doc: Line::prose(field.doc.as_deref()),
        });
        push_nested(rows, &name, &field.shape);
    }
    let ty = match &object.extra {
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
    let (limits, doc) = (Line::text(limits), Line::default());
    rows.push(FieldRow { name, ty, required: false, limits, doc });
    if let Extra::Typed(shape) = &object.extra {
        push_nested(rows, &format!("{path}*"), shape);
    }
}

fn push_nested(rows: &mut Vec<FieldRow>, path: &str, shape: &Shape) {
    match &shape.ty {
        Type::Object(object) => push_fields(rows, &format!("{path}."), object),
        Type::Array(item) => push_nested(rows, &format!("{path}[]"), item),
        Type::Map { value, .. } => push_nested(rows, &format!("{path}.*"), value),
        _ => {}
    }
}
