//! Alerts as rules for Prometheus.

use super::measure::Measure;
use super::{description, name, summary};
use keyward_schema::{DeclaredAlert, Schema};
use std::fmt::Write as _;

/// The rules of schemas, as a file of Prometheus; one group a keyspace.
pub fn rules(schemas: &[&Schema]) -> String {
    let mut text = String::from("groups:\n");
    for schema in schemas {
        let alerts: Vec<DeclaredAlert<'_>> = schema.alerts().collect();
        if alerts.is_empty() {
            continue;
        }
        text.push_str(&group(&format!("keyward {}", schema.keyspace.name), &alerts));
    }
    if text == "groups:\n" {
        text = String::from("groups: []\n");
    }
    text
}

/// A group of rules.
pub(super) fn group(name: &str, alerts: &[DeclaredAlert<'_>]) -> String {
    let mut text = format!("- name: {}\n  rules:\n", scalar(name));
    alerts.iter().for_each(|declared| write_rule(&mut text, declared));
    text
}

fn write_rule(text: &mut String, declared: &DeclaredAlert<'_>) {
    let alert = declared.alert;
    let seconds = alert.hold.as_ms().div_ceil(1000);
    // Writing to a string cannot fail.
    let _ = writeln!(text, "  - alert: {}", scalar(&name(declared)));
    let _ = writeln!(text, "    expr: {}", scalar(&Measure::of(declared).promql(declared)));
    let _ = writeln!(text, "    for: {seconds}s\n    labels:");
    for (label, value) in labels(declared) {
        let _ = writeln!(text, "      {label}: {}", scalar(&untemplated(&value)));
    }
    let _ = writeln!(text, "    annotations:");
    for (label, value) in annotations(declared) {
        let _ = writeln!(text, "      {label}: {}", scalar(&untemplated(&value)));
    }
}

/// The labels that an alert adds.
pub(super) fn labels(declared: &DeclaredAlert<'_>) -> Vec<(&'static str, String)> {
    let mut labels = vec![
        ("severity", declared.alert.severity.name().to_owned()),
        ("keyspace", declared.keyspace.name.to_string()),
    ];
    labels.extend(declared.pattern.map(|pattern| ("pattern", pattern.to_owned())));
    labels
}

/// What somebody is told.
pub(super) fn annotations(declared: &DeclaredAlert<'_>) -> [(&'static str, String); 2] {
    [("summary", summary(declared)), ("description", description(declared))]
}

/// A text as YAML has it: JSON's texts are YAML's.
pub(super) fn scalar(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A text that Prometheus does not take for a template.
fn untemplated(text: &str) -> String {
    text.replace("{{", "{{\"{{\"}}")
}
