//! The language as a JSON Schema, for editors that complete and check TOML.
//!
//! Owns the translation of the settings' table ([`keyward_schema::SETTINGS`]) into JSON
//! Schema. The table is what the reader goes by, so the editor knows each
//! setting that the reader knows, with its words. (A schema derived from Rust
//! types, as schemars does it, would be a second declaration: the reader keeps
//! every value's place and reports all problems, and so has no such types.)
//!
//! Draft 7, because that is the newest that Taplo's validator speaks, and
//! Taplo stands behind most editors' TOML support. Two habits of Taplo decide
//! the form: it ignores whatever stands beside `$ref`, so references are
//! wrapped in `allOf`; and it does not look at `properties` beside `allOf`, so
//! conditions stand under `then`.
//! Invariant: what the reader accepts, the editor accepts. The reader knows
//! more: patterns, references between keys, whether limits fit their type.

mod forms;
#[cfg(test)]
mod tests;

use keyward_schema::{DataType, Scope, Setting, settings_of};
use serde_json::{Map, Value, json};

/// The JSON Schema of schema files.
pub fn json_schema() -> Value {
    let mut schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Keyward schema",
    });
    let file = table(Scope::File);
    for (name, value) in file.as_object().into_iter().flatten() {
        schema[name] = value.clone();
    }
    let mut definitions = Map::new();
    for scope in [
        Scope::Include,
        Scope::Keyspace,
        Scope::Key,
        Scope::Lookup,
        Scope::Rank,
        Scope::Members,
        Scope::Check,
        Scope::Sink,
        Scope::Column,
        Scope::Function,
        Scope::Example,
        Scope::Expect,
        Scope::Alert,
        Scope::Note,
    ] {
        definitions.insert(definition_name(scope).to_owned(), table(scope));
    }
    definitions.extend(forms::definitions());
    schema["definitions"] = Value::Object(definitions);
    schema
}

/// The JSON Schema as the text of a file.
pub fn json_schema_text() -> String {
    format!("{:#}\n", json_schema())
}

/// A table of a scope: its settings and no others.
fn table(scope: Scope) -> Value {
    let properties: Map<String, Value> =
        settings_of(scope).map(|setting| (setting.name.to_owned(), property(setting))).collect();
    let mut table = json!({
        "description": scope.doc(),
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    });
    let required: Vec<&str> =
        settings_of(scope).filter(|setting| setting.required()).map(|s| s.name).collect();
    if scope == Scope::Key {
        // What amends another key has the type of that.
        table["anyOf"] = json!([{ "required": required }, { "required": ["amend"] }]);
    } else if !required.is_empty() {
        table["required"] = json!(required);
    }
    if scope == Scope::Key {
        table["if"] = json!({ "required": ["type"] });
        table["then"] = json!({ "allOf": settings_by_type() });
    }
    table
}

/// A setting: its form, what it means, and a value to begin with.
fn property(setting: &Setting) -> Value {
    let mut property = forms::form(setting.form);
    property["description"] = json!(setting.doc);
    let example = forms::example(setting.example);
    let is_empty = example.as_object().is_some_and(Map::is_empty)
        || example.as_array().is_some_and(Vec::is_empty);
    if !is_empty {
        property["examples"] = json!([example]);
    }
    property
}

/// For each type of key, the settings that it does not take.
fn settings_by_type() -> Vec<Value> {
    let refused = |data: DataType| -> Map<String, Value> {
        settings_of(Scope::Key)
            .filter(|setting| !setting.types.is_empty() && !setting.types.contains(&data))
            .map(|setting| (setting.name.to_owned(), json!(false)))
            .collect()
    };
    let condition = |name: &&str| {
        let refused = refused(DataType::named(name)?);
        Some(json!({
            "if": { "properties": { "type": { "const": name } } },
            "then": { "properties": refused },
        }))
    };
    DataType::NAMES.iter().filter_map(condition).collect()
}

fn definition_name(scope: Scope) -> &'static str {
    match scope {
        Scope::File => "file",
        Scope::Include => "include",
        Scope::Keyspace => "keyspace",
        Scope::Key => "key",
        Scope::Lifetime => "lifetime",
        Scope::Shape => "shape",
        Scope::Lookup => "lookup",
        Scope::Rank => "rank",
        Scope::Members => "members",
        Scope::Check => "check",
        Scope::Sink => "sink",
        Scope::Column => "column",
        Scope::Function => "function",
        Scope::Example => "example",
        Scope::Alert => "alert",
        Scope::Expect => "expect",
        Scope::Note => "note",
    }
}

fn reference(definition: &str) -> Value {
    json!({ "$ref": format!("#/definitions/{definition}") })
}
