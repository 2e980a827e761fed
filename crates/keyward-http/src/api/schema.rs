//! The schemas in force as the dashboard shows them: every key with its sentences, and sinks.

use super::{Asked, elements, text};
use crate::info::Info;
use crate::response::Response;
use keyward_schema::{Schema, facts};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// The document of all keyspaces: their keys in order, to be shown with their figures. Written
/// key by key: as a tree it would be ten times as large.
pub(super) fn document(asked: &Asked<'_>) -> String {
    let (mut out, mut first) = (String::from("{\"keyspaces\":["), 0);
    let mut between = "";
    for (db, book) in &asked.reading.layout.books {
        let schema = book.schema();
        for (place, keyspace) in schema.keyspaces().enumerate() {
            let own = schema.ids().filter(|id| schema.key(*id).keyspace == place);
            let name = json!(&*keyspace.name);
            // Writing to a string cannot fail.
            let _ = write!(out, "{between}{{\"db\":\"db{db}\",\"name\":{name},\"keys\":[");
            between = ",";
            for (at, id) in own.enumerate() {
                let key = schema.key(id);
                let told = facts::of_key(schema, id);
                let of = |title: &str| told.iter().find(|(it, _)| *it == title);
                let key = json!({
                    "id": first + 1 + id.index(),
                    "pattern": key.pattern.text(),
                    "group": key.group,
                    "type": key.data.name(),
                    "doc": key.doc,
                    "lifetime": of("Lifetime").map(|(_, lines)| lines),
                });
                let _ = write!(out, "{}{key}", if at > 0 { "," } else { "" });
            }
            out.push_str("]}");
        }
        first += 1 + schema.keys.len();
    }
    out.push_str("]}");
    out
}

/// The tables that rows go to, and what waits to be stored there.
pub(super) fn sinks(asked: &Asked<'_>) -> Result<Value, Response> {
    let (mut found, mut feeds, mut first) = (Vec::new(), Vec::new(), 0);
    for (db, book) in &asked.reading.layout.books {
        let schema = book.schema();
        for id in schema.ids() {
            let key = schema.key(id);
            if let Some(sink) = &key.sink {
                found.push(json!({
                    "id": first + 1 + id.index(),
                    "pattern": key.pattern.text(),
                    "kind": sink.kind.name(),
                    "table": sink.table,
                }));
            }
            if key.is_changefeed {
                feeds.push(feed(asked, *db, schema, key.pattern.text())?);
            }
        }
        first += 1 + schema.keys.len();
    }
    Ok(json!({ "sinks": found, "feeds": feeds }))
}

/// How much a stream of changes holds, and since when.
fn feed(asked: &Asked<'_>, db: usize, schema: &Schema, name: &str) -> Result<Value, Response> {
    let number = db.to_string();
    let replies = (asked.call)(&[
        &[b"SELECT", number.as_bytes()],
        &[b"XLEN", name.as_bytes()],
        &[b"XRANGE", name.as_bytes(), b"-", b"+", b"COUNT", b"1"],
        &[b"TIME"],
    ])?;
    let [_, count, oldest, now] = replies.as_slice() else { return Ok(Value::Null) };
    elements(count)?;
    let first = elements(oldest)?.first().and_then(|entry| entry.as_elements()?.first().map(text));
    let at_ms = first.and_then(|id| id.split('-').next()?.parse::<f64>().ok());
    let now_ms = elements(now)?.first().and_then(|it| text(it).parse::<f64>().ok());
    let age = at_ms.zip(now_ms).map(|(at_ms, now)| (now - at_ms / 1000.0).max(0.0));
    let keyspaces: Vec<&str> = schema.keyspaces().map(|keyspace| &*keyspace.name).collect();
    Ok(json!({
        "db": format!("db{db}"),
        "keyspace": keyspaces.join("+"),
        "name": name,
        "entries": text(count).parse::<u64>().unwrap_or(0),
        "oldest": age,
    }))
}

/// Who follows this server, and whom it follows.
pub(super) fn replication(asked: &Asked<'_>) -> Value {
    let info = Info::read(&asked.reading.text);
    let is_place = |place: &str| !place.is_empty() && place.bytes().all(|it| it.is_ascii_digit());
    let offset = info.number("master_repl_offset").unwrap_or(0.0);
    let replicas: Vec<Value> = info
        .beginning("Replication", "slave")
        .filter(|(place, _)| is_place(place))
        .map(|(_, parts)| {
            json!({
                "address": format!("{}:{}", parts.text("ip"), parts.text("port")),
                "state": parts.text("state"),
                "lag": parts.number("lag"),
                "behind": parts.number("offset").map(|at| (offset - at).max(0.0)),
            })
        })
        .collect();
    json!({
        "role": info.text("role"),
        "id": info.text("master_replid"),
        "offset": offset,
        "backlog": info.number("repl_backlog_histlen"),
        "backlog_size": info.number("repl_backlog_size"),
        "full": info.number("sync_full"),
        "partial": info.number("sync_partial_ok"),
        "primary": match info.text("role") {
            "slave" => json!({
                "address": format!("{}:{}", info.text("master_host"), info.text("master_port")),
                "link": info.text("master_link_status"),
                "heard": info.number("master_last_io_seconds_ago"),
            }),
            _ => Value::Null,
        },
        "replicas": replicas,
    })
}
