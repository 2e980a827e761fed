//! Examples from TOML: a key, and what it holds.

use toml::de::DeValue;

use super::draft::KeyDraft;
use super::table::{Entry, Table, Value, entries, text};
use crate::checks::{example_key, example_value, wrong_value};
use crate::diagnostic::Report;
use crate::schema::{Bounds, Content, DataType, Example, ExampleValue};
use crate::settings::Scope;

/// Reads `example`: `None` if that has an error, `Some(None)` if there is none.
pub(super) fn read(
    draft: &KeyDraft<'_>,
    bounds: Option<Bounds>,
    report: &mut Report,
) -> Option<Option<Example>> {
    let Some(entry) = draft.table.entry("example") else { return Some(None) };
    let (key, value) = match entry.value.get_ref() {
        DeValue::Table(table) => {
            let table = Table::open(Scope::Example, table, entry.name_at, report);
            (table.required_text("key", report)?, table.entry("value"))
        }
        _ => (text(entry, report)?, None),
    };
    let pattern = draft.pattern.as_ref()?;
    if !pattern.accepts(key.value.as_bytes()) {
        report.push(example_key::found(key, pattern, draft.at));
        return None;
    }
    let value = match value {
        None => None,
        Some(value) => {
            let names = pattern.split(key.value.as_bytes())?;
            let content = &draft.content.as_ref()?.content;
            Some(read_value(value, (draft.data?, content, bounds), &names, report)?)
        }
    };
    Some(Some(Example { key: key.value.into(), value }))
}

fn read_value(
    entry: Entry<'_>,
    (data, content, bounds): (DataType, &Content, Option<Bounds>),
    names: &[&[u8]],
    report: &mut Report,
) -> Option<ExampleValue> {
    let value = match (content, entry.value.get_ref()) {
        (Content::Value(_) | Content::Json(_), _) => ExampleValue::Text(scalar(entry, report)?),
        (Content::Opaque, DeValue::Array(values)) if data == DataType::Any => {
            ExampleValue::Items(read_items(values, entry, report)?)
        }
        (Content::Opaque, DeValue::Table(table)) if data != DataType::Hll => {
            ExampleValue::Pairs(read_pairs(&entries(table), report)?)
        }
        (Content::Opaque, DeValue::Table(_) | DeValue::Array(_)) => {
            report.push(wrong_value::found(entry, expected_form(data, content)));
            return None;
        }
        (Content::Opaque, _) if data == DataType::Any => ExampleValue::Text(scalar(entry, report)?),
        (Content::Items(_), DeValue::Array(values)) => {
            ExampleValue::Items(read_items(values, entry, report)?)
        }
        (
            Content::Fields(_) | Content::Entries(_) | Content::Scored { .. },
            DeValue::Table(table),
        ) => ExampleValue::Pairs(read_pairs(&entries(table), report)?),
        (content, _) => {
            report.push(wrong_value::found(entry, expected_form(data, content)));
            return None;
        }
    };
    let bounded = || bounds.map_or(Ok(()), |bounds| bounds.check(data, &value));
    match content.check_under(names, &value).and_then(|()| bounded()) {
        Ok(()) => Some(value),
        Err(misfit) => {
            report.push(example_value::found(&misfit, entry.value.span().into()));
            None
        }
    }
}

/// How a whole value is written in TOML.
pub(crate) fn expected_form(data: DataType, content: &Content) -> &'static str {
    match content {
        Content::Opaque if data == DataType::Any => {
            "a text or a number, an array of items, or a table of fields"
        }
        Content::Opaque if data == DataType::Stream => "a table of the fields of an entry",
        Content::Items(_) => "an array of items",
        Content::Scored { .. } => "a table of members and scores",
        Content::Opaque => "nothing: a key of this type has no example value",
        Content::Fields(_) => "a table of fields",
        Content::Entries(_) => "a table of the fields of an entry",
        Content::Value(_) | Content::Json(_) => "a text or a number",
    }
}

fn read_items(
    values: &[Value<'_>],
    entry: Entry<'_>,
    report: &mut Report,
) -> Option<Vec<Box<str>>> {
    values.iter().map(|value| scalar(Entry { value, ..entry }, report)).collect()
}

fn read_pairs(entries: &[Entry<'_>], report: &mut Report) -> Option<Vec<(Box<str>, Box<str>)>> {
    entries.iter().map(|entry| Some((entry.name.into(), scalar(*entry, report)?))).collect()
}

/// A text, or a number or boolean as TOML writes it.
fn scalar(entry: Entry<'_>, report: &mut Report) -> Option<Box<str>> {
    let written = written(entry.value).map(|text| text.trim().into());
    if written.is_none() {
        report.push(wrong_value::found(entry, "a text or a number"));
    }
    written
}

/// A text as it is, or a number or boolean as TOML writes it.
pub(crate) fn written(value: &Value<'_>) -> Option<Box<str>> {
    match value.get_ref() {
        DeValue::String(text) => Some(text.as_ref().into()),
        DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str().into()),
        DeValue::Float(number) => Some(number.as_str().into()),
        DeValue::Boolean(value) => Some(value.to_string().into()),
        _ => None,
    }
}
