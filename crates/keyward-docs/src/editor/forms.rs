//! The forms of values: each [`Form`] as JSON Schema.

use keyward_schema::{
    AlertFigure, Form, LIFETIME_FORMS, MAX_PATTERN_BYTES, Scope, TYPE_NAMES, settings_of,
};
use serde_json::{Map, Value, json};
use toml::de::{DeTable, DeValue};

use super::{definition_name, property, reference};

/// `30s`, `1h30m`, `14d`.
pub(super) const DURATION: &str = r"^\s*([0-9]+(ms|s|m|min|h|d|w|y)\s*)+$";
/// `512`, `4kb`, `1GB`.
pub(super) const SIZE: &str = r"^\s*[0-9]+\s*([bB]|[kKmMgG][bB]?)?\s*$";
/// `100`, `25k`, `2.5M`.
pub(super) const COUNT: &str = r"^\s*[0-9][0-9_]*(\.[0-9_]+)?\s*[kKmMgG]?\s*$";
/// `-12.50`.
pub(super) const NUMBER: &str = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?$";
/// `1..64`, `8..`, `..64`.
pub(super) const LENGTH: &str = r"^(\s*[0-9]+\s*\.\.\s*[0-9]*\s*|\s*\.\.\s*[0-9]+\s*)$";
/// What a function, an argument or a variable may be called.
const NAME: &str = "^[A-Za-z_][A-Za-z0-9_]*$";

/// A value of this form.
pub(super) fn form(form: Form) -> Value {
    match form {
        Form::Text => json!({ "type": "string" }),
        Form::Choice(words) => json!({ "type": "string", "enum": words }),
        Form::Switch => json!({ "type": "boolean" }),
        Form::Db => json!({ "type": "integer", "minimum": 0, "maximum": 255 }),
        Form::Count => count(),
        Form::Size => json!({ "type": ["integer", "string"], "minimum": 1, "pattern": SIZE }),
        Form::Duration => json!({ "type": "string", "pattern": DURATION }),
        Form::Number => json!({ "type": ["number", "string"], "pattern": NUMBER }),
        Form::Length => json!({ "type": ["integer", "string"], "minimum": 0, "pattern": LENGTH }),
        Form::Shape => wrapped("shape"),
        Form::Fields => wrapped("fields"),
        Form::Extra => json!({ "anyOf": [
            { "type": "string", "enum": ["reject", "allow"] },
            reference("shape"),
        ] }),
        Form::Lifetime => wrapped("lifetime"),
        Form::Template => {
            json!({ "type": "string", "minLength": 1, "maxLength": MAX_PATTERN_BYTES })
        }
        Form::Table(scope) => wrapped(definition_name(scope)),
        Form::Tables(scope) => json!({
            "type": "object",
            "propertyNames": names(scope),
            "additionalProperties": reference(definition_name(scope)),
        }),
        Form::Array(scope) => {
            json!({ "type": "array", "items": reference(definition_name(scope)) })
        }
        Form::Texts => json!({ "type": "array", "items": { "type": "string" } }),
        Form::TextTable => json!({
            "type": "object",
            "propertyNames": { "pattern": "^[A-Z0-9_]*$" },
            "additionalProperties": { "type": "string" },
        }),
        Form::Values => json!({
            "type": "object",
            "propertyNames": { "pattern": NAME },
            "additionalProperties": { "type": "string" },
        }),
        Form::Includes => json!({
            "type": "array",
            "items": { "anyOf": [{ "type": "string", "minLength": 1 }, reference("include")] },
        }),
        Form::Example => json!({ "anyOf": [{ "type": "string" }, reference("example")] }),
        Form::Secret => json!({ "anyOf": [
            { "type": "boolean" },
            { "type": "array", "items": { "type": "string" } },
        ] }),
        Form::Expect => json!({ "anyOf": [count(), reference("expect")] }),
        Form::Alerts => json!({
            "type": "object",
            "properties": AlertFigure::ALL
                .iter()
                .map(|figure| {
                    let alert = json!({
                        "description": figure.doc(),
                        "anyOf": [{ "type": "string", "pattern": "^\\s*[<>]=?" }, reference("alert")],
                    });
                    (figure.name().to_owned(), alert)
                })
                .collect::<Map<String, Value>>(),
            "additionalProperties": false,
        }),
        Form::Placeholder => json!({ "type": "string", "pattern": "^\\{[^{}]+\\}$" }),
        Form::Checks => json!({
            "type": "array",
            "items": { "anyOf": [{ "type": "string", "minLength": 1 }, reference("check")] },
        }),
        Form::Columns => json!({
            "type": "object",
            "additionalProperties": { "anyOf": [
                { "type": "string", "minLength": 1 },
                { "const": false },
                reference("column"),
            ] },
        }),
        Form::Any => json!({}),
    }
}

fn count() -> Value {
    json!({ "type": ["integer", "string"], "minimum": 1, "pattern": COUNT })
}

fn wrapped(definition: &str) -> Value {
    json!({ "allOf": [reference(definition)] })
}

/// What the tables of a scope may be called.
fn names(scope: Scope) -> Value {
    match scope {
        Scope::Function => json!({ "pattern": NAME }),
        _ => json!({ "minLength": 1, "maxLength": MAX_PATTERN_BYTES }),
    }
}

/// The forms that stand in more than one place, or hold themselves.
pub(super) fn definitions() -> Map<String, Value> {
    let definitions = [("lifetime", lifetime()), ("shape", shape()), ("fields", fields())];
    definitions.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn lifetime() -> Value {
    let mut forms = vec![
        json!({ "description": "Lives until it is deleted, and is never evicted.",
                "const": "none" }),
        json!({ "description": "At most this long from the write that creates it.",
                "type": "string", "pattern": DURATION, "examples": ["30m"] }),
    ];
    forms.extend(LIFETIME_FORMS.iter().map(|(form, beside)| lifetime_table(form, beside)));
    json!({ "description": "How long a key lives.", "anyOf": forms })
}

/// One form of the table: the setting that tells it, and what may stand beside.
fn lifetime_table(form: &str, beside: &[&str]) -> Value {
    let known = |name: &str| name == form || beside.contains(&name);
    let properties: Map<String, Value> = settings_of(Scope::Lifetime)
        .filter(|setting| known(setting.name))
        .map(|setting| (setting.name.to_owned(), property(setting)))
        .collect();
    let mut table = json!({
        "type": "object",
        "properties": properties,
        "required": [form],
        "additionalProperties": false,
    });
    match form {
        // Its other settings are the values of the subject.
        "by" => table["additionalProperties"] = self::form(Form::Duration),
        "given" => table["properties"]["given"]["const"] = json!(true),
        _ => {}
    }
    table
}

/// A type in quotes, a table with a type and limits, or a table of fields.
fn shape() -> Value {
    let properties: Map<String, Value> = settings_of(Scope::Shape)
        .map(|setting| (setting.name.to_owned(), property(setting)))
        .collect();
    // What makes the reader take a table for one value.
    let one_value = json!({
        "propertyNames": { "enum": properties.keys().collect::<Vec<_>>() },
        "anyOf": [
            { "required": ["type"], "properties": { "type": { "type": "string" } } },
            { "required": ["fields"], "properties": { "fields": { "type": "object" } } },
        ],
    });
    json!({
        "description": "A type, or a table with a type and limits, or a table of fields.",
        "anyOf": [
            { "type": "string", "enum": TYPE_NAMES },
            { "description": "A type: `decimal(2)`, `a | b`, `string[]`, `{string: int}`; \
                              `?` behind it makes a field optional.",
              "type": "string", "minLength": 1 },
            { "description": Scope::Shape.doc(), "type": "object", "properties": properties,
              "additionalProperties": false, "if": true, "then": one_value },
            { "not": one_value, "allOf": [reference("fields")] },
        ],
    })
}

fn fields() -> Value {
    json!({
        "description": "Fields and their types.",
        "type": "object",
        "additionalProperties": reference("shape"),
    })
}

/// A setting's example, which is TOML, as JSON.
pub(super) fn example(toml: &str) -> Value {
    let text = format!("example = {toml}");
    let document = DeTable::parse(&text).expect("the table's examples are TOML");
    to_json(document.get_ref()["example"].get_ref())
}

/// A TOML value as the JSON that editors hold against the JSON Schema.
pub(super) fn to_json(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => json!(text),
        DeValue::Integer(number) => {
            json!(i64::from_str_radix(number.as_str(), number.radix()).unwrap_or(i64::MAX))
        }
        DeValue::Float(number) => json!(number.as_str().parse::<f64>().unwrap_or(f64::MAX)),
        DeValue::Boolean(value) => json!(value),
        DeValue::Datetime(time) => json!(time.to_string()),
        DeValue::Array(items) => items.iter().map(|item| to_json(item.get_ref())).collect(),
        DeValue::Table(table) => Value::Object(
            table
                .iter()
                .map(|(name, value)| (name.get_ref().to_string(), to_json(value.get_ref())))
                .collect(),
        ),
    }
}
