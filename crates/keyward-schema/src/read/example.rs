//! Examples from TOML: a key, and what it holds.

use toml::de::DeValue;

use super::key::KeyDraft;
use super::table::{Entry, Table, Value, entries, text};
use crate::checks::{example_key, example_value, wrong_value};
use crate::diagnostic::Report;
use crate::schema::{Content, Example, ExampleValue};
use crate::settings::Scope;
use crate::shape::{Misfit, Object};
use crate::source::Span;

/// Reads `example`: `None` if that has an error, `Some(None)` if there is none.
pub(super) fn read(draft: &KeyDraft<'_>, report: &mut Report) -> Option<Option<Example>> {
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
        Some(value) => Some(read_value(value, &draft.content.as_ref()?.content, report)?),
    };
    Some(Some(Example { key: key.value.into(), value }))
}

fn read_value(entry: Entry<'_>, content: &Content, report: &mut Report) -> Option<ExampleValue> {
    let at: Span = entry.value.span().into();
    let (value, fit) = match (content, entry.value.get_ref()) {
        (Content::Value(shape), _) => {
            let text = scalar(entry, report)?;
            let fit = shape.check(text.as_bytes());
            (ExampleValue::Text(text), fit)
        }
        (Content::Json(shape), _) => {
            let text = scalar(entry, report)?;
            let fit = shape.check_json(text.as_bytes());
            (ExampleValue::Text(text), fit)
        }
        (Content::Items(shape), DeValue::Array(values)) => {
            let items = values.iter().map(|value| scalar(Entry { value, ..entry }, report));
            let items: Vec<Box<str>> = items.collect::<Option<_>>()?;
            let fit = items.iter().try_for_each(|item| shape.check(item.as_bytes()));
            (ExampleValue::Items(items), fit)
        }
        (Content::Fields(object), DeValue::Table(table)) => {
            let pairs = read_pairs(&entries(table), report)?;
            let fit = object.check_pairs(&pairs);
            (ExampleValue::Pairs(pairs), fit)
        }
        (Content::Scored { member, score }, DeValue::Table(table)) => {
            let pairs = read_pairs(&entries(table), report)?;
            let fit = pairs.iter().try_for_each(|(name, value)| {
                member.check(name.as_bytes())?;
                score.check_score(value.parse().unwrap_or(f64::NAN))
            });
            (ExampleValue::Pairs(pairs), fit)
        }
        (Content::Opaque, _) => {
            report.push(wrong_value::found(
                entry,
                "nothing: a key of this type has no example value",
            ));
            return None;
        }
        (content, _) => {
            report.push(wrong_value::found(entry, expected_form(content)));
            return None;
        }
    };
    match fit {
        Ok(()) => Some(value),
        Err(misfit) => {
            report.push(example_value::found(&misfit, at));
            None
        }
    }
}

fn expected_form(content: &Content) -> &'static str {
    match content {
        Content::Items(_) => "an array of items",
        Content::Scored { .. } => "a table of members and scores",
        _ => "a table of fields",
    }
}

fn read_pairs(entries: &[Entry<'_>], report: &mut Report) -> Option<Vec<(Box<str>, Box<str>)>> {
    entries.iter().map(|entry| Some((entry.name.into(), scalar(*entry, report)?))).collect()
}

/// A text, or a number or boolean as TOML writes it.
fn scalar(entry: Entry<'_>, report: &mut Report) -> Option<Box<str>> {
    let written = written(entry.value);
    if written.is_none() {
        report.push(wrong_value::found(entry, "a text or a number"));
    }
    written
}

fn written(value: &Value<'_>) -> Option<Box<str>> {
    match value.get_ref() {
        DeValue::String(text) => Some(text.as_ref().trim().into()),
        DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str().into()),
        DeValue::Float(number) => Some(number.as_str().into()),
        DeValue::Boolean(value) => Some(value.to_string().into()),
        _ => None,
    }
}

impl Object {
    /// Whether the fields of a hash, given as names and values, fit.
    fn check_pairs(&self, pairs: &[(Box<str>, Box<str>)]) -> Result<(), Misfit> {
        for (name, value) in pairs {
            self.check_hash_field(name.as_bytes(), value.as_bytes())?;
        }
        let given = |name: &str| pairs.iter().any(|(given, _)| **given == *name);
        match self.fields.iter().find(|field| field.required && !given(&field.name)) {
            Some(missing) => Err(Misfit::missing_field(&missing.name)),
            None => Ok(()),
        }
    }
}
