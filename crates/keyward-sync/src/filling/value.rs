//! Values on their way back, from a column to what they were on the server.

use std::collections::BTreeMap;

use keyward_schema::{
    Column, ColumnSource, ColumnType, Content, Key, Kind, Object, Shape, Sink, Type,
};
use serde_json::value::RawValue;

use super::object_of;
use crate::names::name;
use crate::statement;

/// Reads all rows that are not marked as deleted, each column as the text that the server had.
pub(super) fn select(key: &Key, sink: &Sink) -> String {
    let columns = sink.columns.iter().map(|column| {
        let own = format!("t.{}", name(&column.name));
        match shape_of(key, column) {
            Some(shape) => text_of(&shape.ty, column, &own),
            None if column.is_month => format!("to_char({own}, 'YYYY-MM')"),
            None => format!("{own}::text"),
        }
    });
    let columns: Vec<String> = columns.collect();
    let living = statement::living(sink, "WHERE");
    format!("SELECT {} FROM {} AS t{living}", columns.join(", "), name(&sink.table))
}

/// The shape of what a column holds.
fn shape_of<'a>(key: &'a Key, column: &Column) -> Option<&'a Shape> {
    match (&column.from, &key.content) {
        (ColumnSource::Field(at), content) => Some(&object_of(content)?.fields.get(*at)?.shape),
        (ColumnSource::Value, Content::Value(shape)) => Some(shape),
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
        _ => format!("{own}::text"),
    };
    match &column.strip {
        Some(prefix) => format!("{} || {text}", crate::names::text(prefix)),
        None => text,
    }
}

/// The fields of a hash, names and values in turn.
pub(super) fn fields(key: &Key, sink: &Sink, values: &[Option<String>]) -> Vec<Vec<u8>> {
    let mut pairs = Vec::new();
    for (column, value) in sink.columns.iter().zip(values) {
        let Some(value) = value else { continue };
        match column.from {
            ColumnSource::Field(at) => {
                let field = object_of(&key.content).and_then(|object| object.fields.get(at));
                let Some(field) = field else { continue };
                pairs.extend([field.name.as_bytes().to_vec(), value.clone().into_bytes()]);
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
    pairs
}

/// The fields of a JSON object.
pub(super) fn json(object: &Object, sink: &Sink, values: &[Option<String>]) -> String {
    let mut members: Vec<String> = Vec::new();
    let member = |name: &str, value: &str| format!("{}:{value}", serde_json::Value::from(name));
    for (column, value) in sink.columns.iter().zip(values) {
        match (&column.from, value) {
            (ColumnSource::Field(at), value) => {
                let Some(field) = object.fields.get(*at) else { continue };
                match value {
                    Some(value) if is_written_bare(&field.shape.ty) => {
                        members.push(member(&field.name, value));
                    }
                    Some(value) => {
                        let quoted = serde_json::Value::from(value.as_str()).to_string();
                        members.push(member(&field.name, &quoted));
                    }
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
    format!("{{{}}}", members.join(","))
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
