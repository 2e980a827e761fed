//! Values on their way back, from a column to what they were on the server.

use std::collections::BTreeMap;

use keyward_schema::{
    Column, ColumnSource, ColumnType, Content, Extra, Key, Kind, Object, Shape, Sink, Type,
};
use serde_json::value::RawValue;

use super::object_of;
use crate::names::name;
use crate::{ddl, statement};

/// Reads all rows that are not marked as deleted, each column as the text that the server had,
/// and those that name the key as the database writes them.
pub(super) fn select(key: &Key, sink: &Sink) -> String {
    let columns = sink.columns.iter().map(|column| {
        let own = format!("t.{}", name(&column.name));
        match shape_of(key, column) {
            Some(shape) => text_of(&shape.ty, column, &own),
            None if column.is_month => format!("to_char({own}, 'YYYY-MM')"),
            None => format!("{own}::text"),
        }
    });
    let names = statement::name_columns(sink).into_iter();
    let names = names.map(|at| format!("t.{}::text", name(&sink.columns[at].name)));
    let columns: Vec<String> = columns.chain(names).collect();
    let living = statement::living(sink, "WHERE");
    let order = match sink.column_from(&ColumnSource::SplitName) {
        // The rows of a key together.
        Some(_) => {
            let names = statement::name_columns(sink);
            format!(" ORDER BY {}", ddl::column_names(sink, &names))
        }
        None => String::new(),
    };
    format!("SELECT {} FROM {} AS t{living}{order}", columns.join(", "), name(&sink.table))
}

/// The word of a row that is a part of a split; empty if it has the other fields.
fn split_of<'v>(sink: &Sink, values: &'v [Option<String>]) -> &'v str {
    let column = sink.column_from(&ColumnSource::SplitName);
    column.and_then(|at| values[at].as_deref()).unwrap_or_default()
}

/// The shape of what a column holds.
fn shape_of<'a>(key: &'a Key, column: &Column) -> Option<&'a Shape> {
    match (&column.from, &key.content) {
        (ColumnSource::Field(at), content) => Some(&object_of(content)?.fields.get(*at)?.shape),
        (ColumnSource::Value, Content::Value(shape)) => Some(shape),
        (ColumnSource::Split(..), content) => match &object_of(content)?.extra {
            Extra::Typed(shape) => Some(shape),
            _ => None,
        },
        _ => None,
    }
}

/// A column as the text that the server had.
fn text_of(ty: &Type, column: &Column, own: &str) -> String {
    let text = match (ty, column.ty) {
        (Type::Timestamp, ColumnType::Timestamptz) => {
            let utc = format!("({own} AT TIME ZONE 'UTC')");
            // The zeros of a fraction say nothing, nor a point with nothing behind it.
            let text = format!("to_char({utc}, 'YYYY-MM-DD\"T\"HH24:MI:SS.US')");
            format!("rtrim(rtrim({text}, '0'), '.') || 'Z'")
        }
        (Type::TimestampMs, ColumnType::Timestamptz) => {
            format!("(extract(epoch FROM {own}) * 1000)::bigint::text")
        }
        (Type::Kind(Kind::Month), ColumnType::Date) => format!("to_char({own}, 'YYYY-MM')"),
        (_, ColumnType::Bytea) => return format!("encode({own}, 'hex')"),
        _ => format!("{own}::text"),
    };
    match &column.strip {
        Some(prefix) => format!("{} || {text}", crate::names::text(prefix)),
        None => text,
    }
}

/// What the server had, given a column as [`select`] reads it.
pub(super) fn bytes_of(column: &Column, value: &str) -> Vec<u8> {
    if column.ty != ColumnType::Bytea {
        return value.as_bytes().to_vec();
    }
    let digits = value.as_bytes().chunks_exact(2);
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let prefix = column.strip.as_deref().unwrap_or_default().bytes();
    prefix.chain(digits.filter_map(byte)).collect()
}

/// The fields of a hash, names and values in turn.
pub(super) fn fields(key: &Key, sink: &Sink, values: &[Option<String>]) -> Vec<Vec<u8>> {
    let mut pairs = Vec::new();
    let split = split_of(sink, values);
    for (column, value) in sink.columns.iter().zip(values) {
        let Some(value) = value else { continue };
        match &column.from {
            ColumnSource::Split(before, after) => {
                let name = format!("{before}{split}{after}");
                pairs.extend([name.into_bytes(), bytes_of(column, value)]);
            }
            ColumnSource::Field(at) => {
                let field = object_of(&key.content).and_then(|object| object.fields.get(*at));
                let Some(field) = field else { continue };
                pairs.extend([field.name.as_bytes().to_vec(), bytes_of(column, value)]);
            }
            ColumnSource::Extra => {
                let rest: BTreeMap<String, String> =
                    serde_json::from_str(value).unwrap_or_default();
                let rest = rest.into_iter();
                pairs
                    .extend(rest.flat_map(|(name, value)| [name.into_bytes(), value.into_bytes()]));
            }
            _ => {}
        }
    }
    if split.is_empty() {
        for (field, value) in same_as_key(object_of(&key.content), sink, values) {
            pairs.extend([field.as_bytes().to_vec(), value.as_bytes().to_vec()]);
        }
    }
    pairs
}

/// Fields without a column that are what the key names, and their values.
fn same_as_key<'a>(
    object: Option<&'a Object>,
    sink: &'a Sink,
    values: &'a [Option<String>],
) -> impl Iterator<Item = (&'a str, &'a str)> {
    let fields = object.map_or(&[][..], |object| &object.fields).iter().enumerate();
    fields.filter_map(|(at, field)| {
        let has_column = sink.column_from(&ColumnSource::Field(at)).is_some();
        let same = field.same.as_ref().filter(|_| !has_column)?;
        let column = sink.column_from(&ColumnSource::Placeholder(same.placeholder))?;
        Some((&*field.name, values[column].as_deref()?))
    })
}

/// A JSON object, of one row or of the parts of a split.
pub(super) fn json(object: &Object, sink: &Sink, rows: &[Vec<Option<String>>]) -> String {
    let members: Vec<String> =
        rows.iter().flat_map(|values| members_of(object, sink, values)).collect();
    format!("{{{}}}", members.join(","))
}

/// The members of a JSON object that a row has.
fn members_of(object: &Object, sink: &Sink, values: &[Option<String>]) -> Vec<String> {
    let mut members: Vec<String> = Vec::new();
    let member = |name: &str, value: &str| format!("{}:{value}", serde_json::Value::from(name));
    let split = split_of(sink, values);
    let is_bare = match &object.extra {
        Extra::Typed(shape) => is_written_bare(&shape.ty),
        _ => false,
    };
    for (column, value) in sink.columns.iter().zip(values) {
        match (&column.from, value) {
            (ColumnSource::Split(before, after), Some(value)) => {
                let quoted = quoted(column, value);
                let value = if is_bare { value } else { &quoted };
                members.push(member(&format!("{before}{split}{after}"), value));
            }
            (ColumnSource::Field(_), _) if !split.is_empty() => {}
            (ColumnSource::Field(at), value) => {
                let Some(field) = object.fields.get(*at) else { continue };
                match value {
                    Some(value) if is_written_bare(&field.shape.ty) => {
                        members.push(member(&field.name, value));
                    }
                    Some(value) => members.push(member(&field.name, &quoted(column, value))),
                    None if field.required && field.shape.nullable => {
                        members.push(member(&field.name, "null"));
                    }
                    None => {}
                }
            }
            (ColumnSource::Extra, Some(value)) => {
                let rest: BTreeMap<String, Box<RawValue>> =
                    serde_json::from_str(value).unwrap_or_default();
                members.extend(rest.iter().map(|(name, value)| member(name, value.get())));
            }
            _ => {}
        }
    }
    if split.is_empty() {
        for (name, value) in same_as_key(Some(object), sink, values) {
            let field = object.field(name).map(|at| &object.fields[at].shape.ty);
            let quoted = serde_json::Value::from(value).to_string();
            let is_bare = field.is_some_and(is_written_bare);
            members.push(member(name, if is_bare { value } else { &quoted }));
        }
    }
    members
}

/// A text of JSON. Bytes that are none are not those that the table has when they come back.
fn quoted(column: &Column, value: &str) -> String {
    let bytes = bytes_of(column, value);
    serde_json::Value::from(String::from_utf8_lossy(&bytes)).to_string()
}

/// Whether JSON writes such a value without quotes.
fn is_written_bare(ty: &Type) -> bool {
    match ty {
        Type::Kind(kind) => matches!(kind, Kind::Int | Kind::Uint),
        Type::Float | Type::Decimal { .. } | Type::Bool | Type::TimestampMs | Type::Json => true,
        Type::Array(_) | Type::Map { .. } | Type::Object(_) => true,
        Type::String | Type::Timestamp => false,
    }
}
