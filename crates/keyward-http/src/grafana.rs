//! A dashboard for Grafana, made from schemas.
//!
//! Owns its panels: of the server, and of each group of patterns. Every query is over families
//! that `families` declares; a test runs each against a real Prometheus.

use crate::families::{Id, PatternFigure, REFUSED};
use keyward_schema::Schema;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Panels in a row of the grid, and how wide and high each is there.
const PER_ROW: usize = 3;
const WIDE: usize = 8;
const HIGH: usize = 8;

/// A panel: title, unit of Grafana, query, legend.
struct Panel {
    title: String,
    unit: &'static str,
    query: String,
    legend: &'static str,
}

/// The dashboard of schemas, as JSON that Grafana imports.
pub fn grafana(schemas: &[&Schema]) -> String {
    let names: Vec<&str> = schemas.iter().map(|schema| &*schema.keyspace.name).collect();
    let mut panels = Vec::new();
    let mut line = 0;
    add(&mut panels, &mut line, "Server", server());
    for schema in schemas {
        let keyspace = &*schema.keyspace.name;
        let groups: BTreeSet<Option<&str>> =
            schema.keys.iter().map(|key| key.group.as_deref()).collect();
        for group in groups {
            let own = schema.keys.iter().filter(|key| key.group.as_deref() == group);
            let patterns: Vec<&str> = own.map(|key| key.pattern.text()).collect();
            let title = group.map_or(keyspace.to_owned(), |group| format!("{keyspace}: {group}"));
            add(&mut panels, &mut line, &title, of_patterns(keyspace, &patterns));
        }
    }
    let variable = |name: &str, label: &str, query: &str| {
        json!({
            "name": name,
            "label": label,
            "type": "query",
            "datasource": { "type": "prometheus", "uid": "${datasource}" },
            "query": query,
            "refresh": 2,
            "multi": true,
            "includeAll": true,
            "current": { "text": "All", "value": "$__all" },
        })
    };
    let dashboard = json!({
        "title": format!("Keyward: {}", names.join(", ")),
        "uid": null,
        "schemaVersion": 39,
        "editable": true,
        "refresh": "10s",
        "time": { "from": "now-1h", "to": "now" },
        "tags": ["keyward"],
        "templating": { "list": [
            { "name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus" },
            variable("instance", "Server", "label_values(keyward_build_info, instance)"),
        ] },
        "panels": panels,
    });
    format!("{dashboard:#}\n")
}

/// Adds a row with its panels.
fn add(all: &mut Vec<Value>, line: &mut usize, title: &str, panels: Vec<Panel>) {
    let id = all.len() + 1;
    all.push(json!({
        "id": id, "type": "row", "title": title, "collapsed": false, "panels": [],
        "gridPos": { "x": 0, "y": *line, "w": WIDE * PER_ROW, "h": 1 },
    }));
    *line += 1;
    for (place, Panel { title, unit, query, legend }) in panels.iter().enumerate() {
        let (x, y) = (place % PER_ROW * WIDE, *line + place / PER_ROW * HIGH);
        all.push(json!({
            "id": id + 1 + place,
            "type": "timeseries",
            "title": title,
            "datasource": { "type": "prometheus", "uid": "${datasource}" },
            "gridPos": { "x": x, "y": y, "w": WIDE, "h": HIGH },
            "fieldConfig": { "defaults": { "unit": unit, "min": 0 }, "overrides": [] },
            "options": { "legend": { "displayMode": "list", "placement": "bottom" }, "tooltip": { "mode": "multi" } },
            "targets": [{ "refId": "A", "expr": query, "legendFormat": legend }],
        }));
    }
    *line += panels.len().div_ceil(PER_ROW) * HIGH;
}

fn server() -> Vec<Panel> {
    let own = |name: &str| format!("{name}{{instance=~\"$instance\"}}");
    let rate = |name: &str| format!("rate({}[$__rate_interval])", own(name));
    let panel = |title: &str, unit, query: String, legend| Panel {
        title: title.to_owned(),
        unit,
        query,
        legend,
    };
    let duration = Id::CommandDuration.family().name;
    vec![
        panel("Memory", "bytes", own("redis_memory_used_bytes"), "{{instance}}"),
        panel("Clients", "short", own("redis_connected_clients"), "{{instance}}"),
        panel("Commands a second", "ops", rate("redis_commands_processed_total"), "{{instance}}"),
        panel(
            "Latency, 99th percentile",
            "s",
            format!(
                "histogram_quantile(0.99, sum by (le, command) (rate({duration}_bucket{{instance=~\"$instance\"}}[$__rate_interval])))"
            ),
            "{{command}}",
        ),
        panel("Errors a second", "ops", rate("redis_errors_total"), "{{err}}"),
        panel("Age of the figures", "s", own("keyward_figures_age_seconds"), "{{instance}}"),
    ]
}

/// The panels of some patterns of a keyspace.
fn of_patterns(keyspace: &str, patterns: &[&str]) -> Vec<Panel> {
    let words: Vec<String> = patterns.iter().map(|pattern| regex(pattern)).collect();
    let (keyspace, words) = (quoted(keyspace), quoted(&words.join("|")));
    let chosen = format!("{{instance=~\"$instance\",keyspace={keyspace},pattern=~{words}}}");
    let name = |figure: PatternFigure| figure.family().name;
    let now = |figure| format!("sum by (pattern) ({}{chosen})", name(figure));
    let rate = |name: &str| format!("sum by (pattern) (rate({name}{chosen}[$__rate_interval]))");
    let legend = "{{pattern}}";
    let panel =
        |title: &str, unit, query: String| Panel { title: title.to_owned(), unit, query, legend };
    vec![
        panel("Memory", "bytes", now(PatternFigure::Bytes)),
        panel("Keys", "short", now(PatternFigure::Keys)),
        panel(
            "Found of what was read",
            "percentunit",
            format!("{} / {}", rate(name(PatternFigure::Hits)), rate(name(PatternFigure::Reads))),
        ),
        panel("Reads a second", "ops", rate(name(PatternFigure::Reads))),
        panel("Misses a second", "ops", rate(name(PatternFigure::Misses))),
        panel("Writes a second", "ops", rate(name(PatternFigure::Writes))),
        panel(
            "Expired and evicted a second",
            "ops",
            format!(
                "{} + {}",
                rate(name(PatternFigure::Expired)),
                rate(name(PatternFigure::Evicted))
            ),
        ),
        panel(
            "Left to live on average",
            "s",
            format!("avg by (pattern) ({}{chosen})", name(PatternFigure::RemainingMs)),
        ),
        panel("Refused a second", "ops", rate(REFUSED.name)),
    ]
}

/// A text as a regular expression that matches it alone.
fn regex(text: &str) -> String {
    let mut expression = String::new();
    for sign in text.chars() {
        if "\\.+*?()|[]{}^$".contains(sign) {
            expression.push('\\');
        }
        expression.push(sign);
    }
    expression
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panels_do_not_overlap_and_have_ids_of_their_own() {
        let text = "[keyspace]\nname = \"shop\"\n[key.\"a:{x}\"]\ntype = \"string\"\nttl = \"1h\"\ngroup = \"One\"\n\
                    [key.\"b.c|{x}\"]\ntype = \"string\"\nttl = \"1h\"\n";
        let schema = keyward_schema::check("a.toml", text.as_bytes()).schema.expect("a schema");
        let dashboard: Value = serde_json::from_str(&grafana(&[&schema])).expect("JSON");
        let panels = dashboard["panels"].as_array().expect("panels");
        let ids: BTreeSet<u64> = panels.iter().filter_map(|panel| panel["id"].as_u64()).collect();
        let places: BTreeSet<String> = panels
            .iter()
            .map(|panel| format!("{} {}", panel["gridPos"]["x"], panel["gridPos"]["y"]))
            .collect();
        assert_eq!((ids.len(), places.len()), (panels.len(), panels.len()));
        let titles: Vec<&str> = panels
            .iter()
            .filter(|panel| panel["type"] == "row")
            .filter_map(|panel| panel["title"].as_str())
            .collect();
        assert_eq!(titles, ["Server", "shop", "shop: One"]);
        assert!(dashboard.to_string().contains("b\\\\\\\\.c\\\\\\\\|"), "{dashboard}");
    }
}
