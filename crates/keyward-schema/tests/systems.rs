//! The schemas of the five systems: clean, complete, and right about keys and
//! values.
//!
//! Beside each schema, `cases.toml` lists for every pattern keys that belong to
//! it and values that fit, the documents' own among them, and near misses of
//! both with the reason why they are none.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use keyward_schema::{CaseResults, Content, Extra, Schema, Type, by_shape, check, try_cases};
use toml::de::{DeTable, DeValue};

/// Each system, how many patterns its document has, and those that were added.
const SYSTEMS: [(&str, usize, &[&str]); 5] = [
    ("calls-bot", 20, &[]),
    (
        "social",
        35,
        &[
            "queue:sync:{queue:likes|views|comments}:batch:{batch}",
            "queue:sync:{queue:likes|views|comments}:leases",
            // The document's "General Format", which its own count of keys leaves out.
            "{entity}:{id}:{field}",
            "{entity}:{id}:{field}:{sub}",
        ],
    ),
    ("api-billing", 12, &[]),
    (
        "telegram-gateway",
        3,
        &["telegram:channel:{channel_id:int}:open", "telegram:channel:{channel_id:int}:taken"],
    ),
    (
        "events",
        32,
        &[
            "analytics:session:{session_id}:events_viewed",
            "websocket:connection:{connection_id}:rooms",
            "websocket:connection:{connection_id}:user",
            "websocket:connection:{connection_id}:node",
            "websocket:nodes",
            "websocket:node:{node}",
            "websocket:node:{node}:alive",
        ],
    ),
];

#[test]
fn check_has_nothing_to_say() {
    for (system, ..) in SYSTEMS {
        let checked = check(&format!("{system}/keyward.toml"), &read(system, "keyward.toml"));
        assert!(checked.diagnostics.is_empty(), "{system}: {:#?}", checked.diagnostics);
    }
}

/// The table of `systems/README.md` has each system's database, patterns and functions.
#[test]
fn the_table_of_all_systems_is_that_of_their_schemas() {
    let page = String::from_utf8(read(".", "README.md")).expect("text");
    for (system, ..) in SYSTEMS {
        let schema = schema(system);
        let (db, keys, functions) = (schema.keyspace.db, schema.keys.len(), schema.functions.len());
        let row =
            page.lines().find(|line| line.starts_with(&format!("| [{system}]"))).expect("a row");
        assert!(row.ends_with(&format!(" | {db} | {keys} | {functions} |")), "{row}");
    }
}

fn tried(schema: &Schema, system: &str) -> CaseResults {
    let mut judge = |id, key: &[u8], value: &_| by_shape(schema, id, key, value);
    try_cases(schema, &cases(system), &mut judge).expect(system)
}

#[test]
fn every_pattern_of_the_documents_is_there_and_has_cases() {
    let mut total = 0;
    for (system, count, added) in SYSTEMS {
        let schema = schema(system);
        let declared: BTreeSet<&str> = schema.keys.iter().map(|key| key.pattern.text()).collect();
        assert!(added.iter().all(|pattern| declared.contains(pattern)), "{system}: {added:?}");
        assert_eq!(declared.len() - added.len(), count, "{system}");
        let results = tried(&schema, system);
        assert_eq!(results.without_cases, [], "{system}: patterns without cases");
        total += count;
    }
    assert_eq!(total, 102);
}

#[test]
fn every_case_comes_out_as_it_says() {
    for (system, ..) in SYSTEMS {
        let results = tried(&schema(system), system);
        assert!(results.failures.is_empty(), "{system}: {:#?}", results.failures);
        assert!(results.tried > 10, "{system}: {} cases", results.tried);
    }
}

#[test]
fn every_pattern_has_cases_of_each_kind() {
    for (system, ..) in SYSTEMS {
        let text = cases(system);
        let table = DeTable::parse(&text).expect(system);
        for key in &schema(system).keys {
            let own = key.pattern.text();
            let said = table.get_ref().get(own).expect(own).get_ref();
            let count = |part: &str| match said.get(part).map(|part| part.get_ref()) {
                Some(DeValue::Array(cases)) => cases.len(),
                Some(DeValue::Table(cases)) => cases.iter().count(),
                _ => 0,
            };
            assert!(count("keys") > 0 && count("not_keys") > 0, "{own} lacks keys");
            assert!(count("values") > 0, "{own} lacks values");
            let is_any = accepts_anything(&key.content);
            assert_eq!(count("not_values") == 0, is_any, "{own}: near misses");
        }
    }
}

#[test]
fn everything_is_documented() {
    for (system, ..) in SYSTEMS {
        let schema = schema(system);
        assert!(schema.keyspace.doc.is_some() && !schema.notes.is_empty(), "{system}");
        for key in &schema.keys {
            let told = key.doc.is_some() && key.group.is_some() && key.example.is_some();
            assert!(told, "{} lacks doc, group or example", key.pattern);
        }
        for function in &schema.functions {
            let told = function.doc.is_some() && function.group.is_some();
            assert!(told && function.reply.is_some(), "{} lacks words", function.name);
        }
    }
}

/// A server holds the functions of all its schemas under one roof.
#[test]
fn no_two_functions_of_all_systems_share_a_name() {
    let mut names = BTreeSet::new();
    for (system, ..) in SYSTEMS {
        for function in schema(system).functions {
            assert!(names.insert(function.name.clone()), "{} in {system}", function.name);
        }
    }
}

/// Whether nothing of the key's type is refused.
fn accepts_anything(content: &Content) -> bool {
    match content {
        Content::Value(shape) | Content::Items(shape) => shape.ty == Type::String,
        Content::Fields(object) => object.fields.is_empty() && object.extra == Extra::Allow,
        _ => false,
    }
}

fn read(system: &str, name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../systems").join(system);
    fs::read(path.join(name)).unwrap_or_else(|error| panic!("{system}/{name}: {error}"))
}

fn schema(system: &str) -> Schema {
    check(system, &read(system, "keyward.toml")).schema.expect("a schema without errors")
}

fn cases(system: &str) -> String {
    String::from_utf8(read(system, "cases.toml")).expect("UTF-8")
}
