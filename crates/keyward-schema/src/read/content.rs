//! What a key holds: `value`, `fields`, `items` and `score` by its type.

use super::table::Table;
use super::{comparison, shape};
use crate::checks::{bad_value_type, null_in_text};
use crate::diagnostic::Report;
use crate::pattern::{Kind, Pattern};
use crate::schema::{Content, DataType};
use crate::shape::{Extra, Object, Shape, Type};
use crate::source::Span;

/// Content before derivations have filled in what they know better.
#[derive(Debug)]
pub(crate) struct ContentDraft {
    /// What the schema says, or the type's default.
    pub(crate) content: Content,
    /// Whether the schema says what items or the value look like.
    pub(crate) is_given: bool,
}

/// Reads the content of a key of this type. Settings of other types are not
/// looked at: they have been reported. `None` if any part has an error, so that
/// nobody misses a field that merely could not be read.
pub(super) fn read(
    table: &Table<'_>,
    data: DataType,
    pattern: Option<&Pattern>,
    report: &mut Report,
) -> Option<ContentDraft> {
    let errors_before = report.errors_total();
    let mut content = read_parts(table, data, report)?;
    if let Some(pattern) = pattern {
        comparison::resolve(&mut content.content, pattern, report);
    }
    (report.errors_total() == errors_before).then_some(content)
}

fn read_parts(table: &Table<'_>, data: DataType, report: &mut Report) -> Option<ContentDraft> {
    let (content, is_given) = match data {
        DataType::Hash => (Content::Fields(read_object(table, report)), true),
        DataType::Json => (Content::Json(read_json(table, report)?), true),
        DataType::List | DataType::Set => {
            let (items, given) = read_shape(table, "items", Type::String, report)?;
            (Content::Items(items), given)
        }
        DataType::Zset => {
            let (member, given) = read_shape(table, "items", Type::String, report)?;
            let (score, _) = read_shape(table, "score", Type::Float, report)?;
            if !score.ty.is_number() {
                report.push(bad_value_type::score(&score, value_at(table, "score")));
                return None;
            }
            (Content::Scored { member, score }, given)
        }
        DataType::Stream if has_object(table) => {
            (Content::Entries(read_object(table, report)), true)
        }
        DataType::Stream | DataType::Hll | DataType::Any => (Content::Opaque, false),
        _ => {
            let (value, given) = read_shape(table, "value", default_type(data), report)?;
            if !suits(data, &value.ty) {
                report.push(bad_value_type::value(data, &value, value_at(table, "value")));
                return None;
            }
            let bytes = value.bytes || data == DataType::Bytes;
            (Content::Value(Shape { bytes, ..value }), given)
        }
    };
    report_nulls(table, &content, report);
    Some(ContentDraft { content, is_given })
}

/// The value of a plain string type unless `value` says more.
fn default_type(data: DataType) -> Type {
    match data {
        DataType::Int => Type::Kind(Kind::Int),
        DataType::Float => Type::Float,
        DataType::Decimal => Type::Decimal { scale: None },
        DataType::Flag => Type::Kind(Kind::Enum([Box::from("1")].into())),
        _ => Type::String,
    }
}

/// Whether a `value` may refine a key of this type.
fn suits(data: DataType, ty: &Type) -> bool {
    match data {
        DataType::Int => matches!(ty, Type::Kind(Kind::Int | Kind::Uint) | Type::TimestampMs),
        DataType::Float => matches!(ty, Type::Float),
        DataType::Decimal => matches!(ty, Type::Decimal { .. }),
        DataType::Flag => matches!(ty, Type::Kind(Kind::Enum(_)) | Type::Bool),
        DataType::Bytes => matches!(ty, Type::String),
        _ => !ty.is_json(),
    }
}

fn read_shape(
    table: &Table<'_>,
    name: &str,
    default: Type,
    report: &mut Report,
) -> Option<(Shape, bool)> {
    match table.entry(name) {
        None => Some((Shape::of(default), false)),
        Some(entry) => shape::read(entry, report).map(|shape| (shape, true)),
    }
}

/// `fields`, `extra` and `check`. A hash of which nothing is said may hold anything.
fn read_object(table: &Table<'_>, report: &mut Report) -> Object {
    let extra = table.entry("extra").map(|entry| shape::read_extra(entry, 0, report));
    let fields = table.table("fields", report);
    let mut object = match (fields, extra) {
        (Some(fields), extra) => {
            shape::read_fields(fields.value, extra.unwrap_or_default(), 0, report)
        }
        (None, extra) => Object { extra: extra.unwrap_or(Extra::Allow), ..Object::default() },
    };
    if let Some(entry) = table.entry("check") {
        object.checks = comparison::read(entry, &object, report);
    }
    object
}

/// Whether anything is said of fields.
fn has_object(table: &Table<'_>) -> bool {
    ["fields", "extra", "check"].iter().any(|name| table.entry(name).is_some())
}

/// JSON: an object by `fields`, another shape by `value`, or anything.
fn read_json(table: &Table<'_>, report: &mut Report) -> Option<Shape> {
    match table.entry("value") {
        Some(entry) if has_object(table) => {
            report.push(bad_value_type::value_and_fields(entry.name_at));
            None
        }
        Some(entry) => shape::read(entry, report),
        None if has_object(table) => Some(Shape::of(Type::Object(read_object(table, report)))),
        None => Some(Shape::of(Type::Json)),
    }
}

/// `null` exists in JSON only.
fn report_nulls(table: &Table<'_>, content: &Content, report: &mut Report) {
    let is_plain_null = |shape: &Shape| shape.nullable && !shape.ty.is_json();
    let mut value = |setting: &str, shape: &Shape| {
        if is_plain_null(shape) {
            report.push(null_in_text::value(setting, shape, value_at(table, setting)));
        }
    };
    match content {
        Content::Value(shape) => value("value", shape),
        Content::Items(shape) => value("items", shape),
        Content::Scored { member, score } => {
            value("items", member);
            value("score", score);
        }
        Content::Fields(object) | Content::Entries(object) => {
            if let Extra::Typed(shape) = &object.extra {
                value("extra", shape);
            }
            for field in object.fields.iter().filter(|field| is_plain_null(&field.shape)) {
                report.push(null_in_text::field(field));
            }
        }
        Content::Json(_) | Content::Opaque => {}
    }
}

fn value_at(table: &Table<'_>, name: &str) -> Span {
    table.entry(name).map_or(table.at, |entry| entry.value.span().into())
}
