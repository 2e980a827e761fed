//! The schemas of the five systems: clean, complete, and right about keys and
//! values.
//!
//! Beside each schema, `cases.toml` lists for every pattern keys that belong to
//! it and values that fit, the documents' own among them, and near misses of
//! both with the reason why they are none.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use keyward_schema::{Content, ExampleValue, Extra, Key, Matcher, Schema, Type, check};
use toml::de::{DeTable, DeValue};

/// Each system, how many patterns its document has, and those that were added.
const SYSTEMS: [(&str, usize, &[&str]); 5] = [
    ("calls-bot", 20, &[]),
    ("social", 35, &["queue:sync:{queue:likes|views|comments}:inflight"]),
    ("api-billing", 12, &[]),
    ("telegram-gateway", 3, &["telegram:channel:{channel_id:int}:open"]),
    (
        "events",
        32,
        &[
            "analytics:session:{session_id}:events_viewed",
            "websocket:connection:{connection_id}:rooms",
            "websocket:connection:{connection_id}:user",
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

#[test]
fn every_pattern_of_the_documents_is_there_and_has_cases() {
    let mut total = 0;
    for (system, count, added) in SYSTEMS {
        let schema = schema(system);
        let declared: BTreeSet<&str> = schema.keys.iter().map(|key| key.pattern.text()).collect();
        assert!(added.iter().all(|pattern| declared.contains(pattern)), "{system}: {added:?}");
        assert_eq!(declared.len() - added.len(), count, "{system}");
        let cases = cases(system);
        let listed: BTreeSet<&str> = cases.iter().map(|case| &*case.pattern).collect();
        assert_eq!(declared, listed, "{system}: the patterns of its cases");
        total += count;
    }
    assert_eq!(total, 102);
}

#[test]
fn every_key_belongs_to_its_pattern_and_no_near_miss_does() {
    each_case(|schema, matcher, key, case| {
        let found = |text: &str| {
            let found = matcher.find(text.as_bytes())?;
            Some(schema.keys[found.pattern].pattern.text())
        };
        let own = key.pattern.text();
        assert!(!case.keys.is_empty() && !case.not_keys.is_empty(), "{own} lacks keys");
        for text in &case.keys {
            assert_eq!(found(text), Some(own), "{text}");
        }
        for (text, reason) in &case.not_keys {
            assert_ne!(found(text), Some(own), "{text}: {reason}");
        }
    });
}

#[test]
fn every_value_fits_and_every_near_miss_is_refused_for_its_reason() {
    each_case(|_, _, key, case| {
        let own = key.pattern.text();
        assert!(!case.values.is_empty(), "{own} lacks values");
        assert_eq!(
            case.not_values.is_empty(),
            accepts_anything(&key.content),
            "{own}: near misses"
        );
        for value in &case.values {
            assert_eq!(key.content.check(value), Ok(()), "{own}: {value:?}");
        }
        for (value, reason) in &case.not_values {
            let misfit = key.content.check(value).map_err(|misfit| misfit.to_string());
            let told = misfit.expect_err(&format!("{own}: {value:?} fits"));
            assert!(told.contains(&**reason), "{own}: {told:?} does not say {reason:?}");
        }
    });
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

/// What `cases.toml` says of one pattern.
struct Case {
    pattern: String,
    keys: Vec<String>,
    not_keys: Vec<(String, String)>,
    values: Vec<ExampleValue>,
    not_values: Vec<(ExampleValue, String)>,
}

fn each_case(mut judge: impl FnMut(&Schema, &Matcher, &Key, &Case)) {
    for (system, ..) in SYSTEMS {
        let schema = schema(system);
        let patterns = schema.keys.iter().map(|key| &key.pattern);
        let matcher = Matcher::new(patterns).expect("sound patterns");
        for case in cases(system) {
            let own = schema.keys.iter().find(|key| key.pattern.text() == case.pattern);
            judge(&schema, &matcher, own.expect(&case.pattern), &case);
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

fn cases(system: &str) -> Vec<Case> {
    let text = String::from_utf8(read(system, "cases.toml")).expect("UTF-8");
    let table = DeTable::parse(&text).unwrap_or_else(|error| panic!("{system}: {error}"));
    let case = |(pattern, value): (&str, &DeValue<'_>)| {
        let part = |name: &str| value.get(name);
        let known = ["keys", "not_keys", "values", "not_values"];
        let strays = pairs(value).into_iter().find(|(name, _)| !known.contains(name));
        assert!(strays.is_none(), "{pattern}: {strays:?}");
        let near_miss = |miss: &DeValue<'_>| {
            let part = |name: &str| miss.get(name).expect("value and because").get_ref();
            (whole(part("value")), scalar(part("because")))
        };
        Case {
            pattern: pattern.to_owned(),
            keys: part("keys").map_or(Vec::new(), |keys| items(keys.get_ref(), scalar)),
            not_keys: part("not_keys").map_or(Vec::new(), |keys| {
                let texts = pairs(keys.get_ref()).into_iter();
                texts.map(|(key, reason)| (key.to_owned(), scalar(reason))).collect()
            }),
            values: part("values").map_or(Vec::new(), |values| items(values.get_ref(), whole)),
            not_values: part("not_values")
                .map_or(Vec::new(), |misses| items(misses.get_ref(), near_miss)),
        }
    };
    let root = table.get_ref().iter().map(|(name, value)| (&**name.get_ref(), value.get_ref()));
    root.map(case).collect()
}

/// A whole value as examples write it: a text, items, or names and values.
fn whole(value: &DeValue<'_>) -> ExampleValue {
    match value {
        DeValue::Array(_) => ExampleValue::Items(items(value, |item| scalar(item).into())),
        DeValue::Table(_) => {
            let pairs = pairs(value).into_iter();
            ExampleValue::Pairs(
                pairs.map(|(name, value)| (name.into(), scalar(value).into())).collect(),
            )
        }
        _ => ExampleValue::Text(scalar(value).into()),
    }
}

fn items<T>(value: &DeValue<'_>, read: impl Fn(&DeValue<'_>) -> T) -> Vec<T> {
    let DeValue::Array(items) = value else { panic!("{value:?} is not an array") };
    items.iter().map(|item| read(item.get_ref())).collect()
}

fn pairs<'v>(value: &'v DeValue<'_>) -> Vec<(&'v str, &'v DeValue<'v>)> {
    let DeValue::Table(table) = value else { panic!("{value:?} is not a table") };
    table.iter().map(|(name, value)| (&**name.get_ref(), value.get_ref())).collect()
}

fn scalar(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => text.to_string(),
        DeValue::Integer(number) => number.as_str().to_owned(),
        DeValue::Float(number) => number.as_str().to_owned(),
        DeValue::Boolean(value) => value.to_string(),
        other => panic!("{other:?} is neither a text nor a number"),
    }
}
