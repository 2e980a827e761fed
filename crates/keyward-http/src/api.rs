//! What the dashboard asks: JSON below `/api/v1/`.
//!
//! Owns the answers. Figures come from the board; whatever shows commands or clients is asked
//! of the server as the user who asks here, so that rights are the server's. Where there is no
//! password, commands are shown without their arguments and refusals without their reasons:
//! those hold values.
//!
//! | path | what |
//! | --- | --- |
//! | `overview` | the server, its keyspaces, every pattern with its figures |
//! | `history?id=N`, `history` | the last hour of a pattern, or of all together |
//! | `about?id=N` | what the schema says of it |
//! | `keys?id=N` | some of its keys and what they hold |
//! | `misfits?id=N` | some of its keys that do not fit, and why |
//! | `expiring?id=N`, `expiring` | how many keys end when, of a pattern or of all |
//! | `document` | the keys of every schema, with their sentences |
//! | `sinks` | tables that rows go to, and what waits to be stored |
//! | `replication` | who follows, and who is followed |
//! | `ties` | what is kept from what, and lives with what |
//! | `refusals`, `slow`, `clients` | the last refusals, the slow log, who is connected |
//! | `alerts` | what fires, what did, and what is watched |
//! | `text?db=N&keyspace=NAME` | the text of a schema in force |
//! | `plan` (POST) | what would become of rows under another schema |

mod expiring;
mod keys;
mod lists;
mod misfits;
mod plan;
mod schema;

pub(crate) use plan::{Proposal, plan};

use crate::alerts::{AlertLog, summary};
use crate::board::Reading;
use crate::families::PatternFigure;
use crate::history::{EVERY, History, Point, Sum};
use crate::info::Info;
use crate::metrics::{TableRow, tables};
use crate::response::{Response, Status};
use keyward_resp::Frame;
use keyward_rules::{Reason, RuleBook};
use keyward_schema::{KeyId, Lifetime, Schema, facts};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;

/// Points of a sparkline.
const SPARK_POINTS: usize = 40;

/// The words of a command that is sent.
pub(crate) type Words<'w> = &'w [&'w [u8]];
/// The replies to commands, or the response for who gets none.
pub(crate) type Replies = Result<Vec<Frame>, Response>;

/// What an answer is made of.
pub(crate) struct Asked<'a> {
    pub(crate) reading: &'a Reading,
    pub(crate) history: &'a History,
    pub(crate) alerts: &'a AlertLog,
    /// Sends commands as the user who asks.
    pub(crate) call: &'a dyn Fn(&[Words<'_>]) -> Replies,
}

/// The answer to a path below `/api/v1/`, as JSON.
///
/// # Errors
/// The response for who gets none.
pub(crate) fn answer(asked: &Asked<'_>, path: &str, query: &str) -> Result<String, Response> {
    let told = |name: &str| parameter(query, name);
    if told("schemas").is_some_and(|of| of != schemas(asked.reading)) {
        return Err(Response::text(Status::Conflict, "the schema has changed meanwhile"));
    }
    let id = || told("id").and_then(|id| id.parse::<usize>().ok());
    let is_of_one = query.split('&').any(|pair| pair.starts_with("id="));
    if is_of_one && id().is_none() {
        return Err(not_found());
    }
    let found = match path {
        "history" => history(asked, id()),
        "about" => id().and_then(|id| about(asked, id)).ok_or_else(not_found)?,
        "ties" => ties(asked),
        "keys" => keys::look(asked, id().ok_or_else(not_found)?)?,
        "document" => return Ok(schema::document(asked)),
        "sinks" => schema::sinks(asked)?,
        "replication" => schema::replication(asked),
        "misfits" => misfits::list(asked, id().ok_or_else(not_found)?)?,
        "expiring" => expiring::expiring(asked, id())?,
        "refusals" => lists::refusals(asked)?,
        "slow" => lists::slow(asked)?,
        "clients" => lists::clients(asked)?,
        "text" => plan::text_in_force(asked, query)?,
        "alerts" => alerts(asked),
        _ => return Err(not_found()),
    };
    Ok(found.to_string())
}

/// A parameter of a query, as it was sent but for what is escaped.
fn parameter(query: &str, name: &str) -> Option<String> {
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let (_, value) = pairs.into_iter().find(|(it, _)| *it == name)?;
    let (mut bytes, mut rest) = (Vec::new(), value.as_bytes());
    while let Some((first, others)) = rest.split_first() {
        let digits = others.first_chunk::<2>().and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match (first, escaped) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = others.get(2..).unwrap_or_default();
            }
            _ => {
                bytes.push(if *first == b'+' { b' ' } else { *first });
                rest = others;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

/// Which schemas are in force, of which run of the server: what ids belong to.
fn schemas(reading: &Reading) -> String {
    format!("{}-{}", Info::read(&reading.text).text("run_id"), reading.generation())
}

fn not_found() -> Response {
    Response::refusal(Status::NotFound)
}

/// Whether nobody needs a password.
fn is_open(asked: &Asked<'_>) -> bool {
    Info::read(&asked.reading.text).text("open") != "0"
}

/// What every view begins with. Written pattern by pattern: as a tree it would be ten times
/// as large.
pub(crate) fn overview(reading: &Reading, past: &History, mut text: String) -> String {
    let info = Info::read(&reading.text);
    let number = |field: &str| info.number(field).unwrap_or(0.0);
    let rows = tables(reading);
    let keyspaces: Vec<Value> = reading
        .layout
        .books
        .iter()
        .flat_map(|(db, book)| {
            let rows = &rows;
            book.schema().keyspaces().enumerate().map(move |(place, keyspace)| {
                let own = rows.iter().filter(|row| row.number == *db && row.place == Some(place));
                let bytes: u64 = own.map(|row| row.figure(PatternFigure::Bytes)).sum();
                json!({
                    "db": format!("db{db}"),
                    "name": &*keyspace.name,
                    "mode": keyspace.mode.name(),
                    "bytes": bytes,
                    "limit": keyspace.max_memory,
                })
            })
        })
        .collect();
    let head = json!({
        "age": reading.age.as_secs_f64(),
        "schemas": schemas(reading),
        "server": {
            "version": info.text("keyward_version"),
            "role": info.text("role"),
            "uptime": number("uptime_in_seconds"),
            "memory": number("used_memory"),
            "clients": number("connected_clients"),
            "commands_rate": number("instantaneous_ops_per_sec"),
            "hits": number("keyspace_hits"),
            "misses": number("keyspace_misses"),
        },
        "keyspaces": keyspaces,
    });
    // Writing to a string cannot fail.
    let _ = write!(text, "{head}");
    text.pop();
    text.push_str(",\"patterns\":[");
    for (id, row) in rows.iter().enumerate() {
        let before = if id > 0 { "," } else { "" };
        let _ = write!(text, "{before}{}", pattern(row, id, &past.of(reading.generation(), id)));
    }
    text.push_str("]}");
    text
}

fn pattern(row: &TableRow<'_>, id: usize, points: &[Point]) -> Value {
    let figure = |figure: PatternFigure| row.figure(figure);
    let (refused, warned) = row.by_reason();
    let reasons: Map<String, Value> = Reason::ALL
        .iter()
        .zip(refused)
        .map(|(reason, count)| (reason.name().to_owned(), json!(count)))
        .collect();
    let last = points.last().copied();
    let growth = match (points.first(), last) {
        (Some(first), Some(last)) => last.bytes - first.bytes,
        _ => 0.0,
    };
    json!({
        "id": id,
        "db": row.db,
        "keyspace": row.keyspace,
        "pattern": row.pattern,
        "group": row.group,
        "type": row.data,
        "keys": figure(PatternFigure::Keys),
        "bytes": figure(PatternFigure::Bytes),
        "expected": row.expected,
        "expiring": figure(PatternFigure::Expiring),
        "remaining": figure(PatternFigure::RemainingMs) as f64 / 1000.0,
        "hits": figure(PatternFigure::Hits),
        "misses": figure(PatternFigure::Misses),
        "writes": figure(PatternFigure::Writes),
        "expired": figure(PatternFigure::Expired),
        "evicted": figure(PatternFigure::Evicted),
        "misfits": figure(PatternFigure::Misfits),
        "refused": refused.iter().sum::<u64>(),
        "warned": warned.iter().sum::<u64>(),
        "reasons": reasons,
        "reads_rate": last.map_or(0.0, |point| point.reads),
        "writes_rate": last.map_or(0.0, |point| point.writes),
        "misses_rate": last.map_or(0.0, |point| point.misses),
        "growth": growth,
        "spark": thinned(points),
    })
}

/// Some points of a pattern's memory, the last one among them.
fn thinned(points: &[Point]) -> Vec<f32> {
    let step = points.len().div_ceil(SPARK_POINTS).max(1);
    let mut thin: Vec<f32> = points.iter().rev().step_by(step).map(|point| point.bytes).collect();
    thin.reverse();
    thin
}

/// Samples of a pattern, or of all of them together.
fn history(asked: &Asked<'_>, id: Option<usize>) -> Value {
    let of_one = |Point { keys, bytes, reads, writes, misses }: Point| json!({ "keys": keys, "bytes": bytes, "reads": reads, "writes": writes, "misses": misses });
    let of_all = |Sum { keys, bytes, reads, writes, misses }: Sum| json!({ "keys": keys, "bytes": bytes, "reads": reads, "writes": writes, "misses": misses });
    let generation = asked.reading.generation();
    let samples: Vec<Value> = match id {
        Some(id) => asked.history.of(generation, id).into_iter().map(of_one).collect(),
        None => asked.history.of_all(generation).into_iter().map(of_all).collect(),
    };
    json!({ "every": EVERY.as_secs(), "samples": samples })
}

/// What the schema says of a table.
fn about(asked: &Asked<'_>, id: usize) -> Option<Value> {
    let (_, book, key) = place(asked, id)?;
    let schema = book.schema();
    let facts = key.map_or_else(Vec::new, |key| facts::of_key(schema, key));
    let text = key.map_or_else(String::new, |key| own_text(schema, schema.key(key).pattern.text()));
    Some(json!({ "facts": facts, "text": text }))
}

/// The database and the pattern of a table; none for keys without one.
fn place<'a>(asked: &Asked<'a>, id: usize) -> Option<(usize, &'a RuleBook, Option<KeyId>)> {
    let mut first = 0;
    for (db, book) in &asked.reading.layout.books {
        let schema = book.schema();
        let count = 1 + schema.keys.len();
        if id < first + count {
            let key = (id - first).checked_sub(1).and_then(|index| schema.id(index));
            return Some((*db, book, key));
        }
        first += count;
    }
    None
}

/// The lines of a schema that declare a pattern.
fn own_text(schema: &Schema, pattern: &str) -> String {
    let parts = schema.parts.iter().map(|part| part.source.whole_text());
    let texts = parts.chain([schema.source.whole_text()]);
    let heads =
        [format!("[key.\"{pattern}\""), format!("[key.'{pattern}'"), format!("[key.{pattern}")];
    for text in texts {
        let is_own = |line: &str| {
            let follows = |head: &String| {
                line.strip_prefix(head.as_str()).is_some_and(|rest| rest.starts_with([']', '.']))
            };
            heads.iter().any(follows)
        };
        let mut is_in = false;
        let mut own = String::new();
        for line in text.lines() {
            if line.starts_with('[') {
                is_in = is_own(line);
            }
            if is_in {
                own.push_str(line);
                own.push('\n');
            }
        }
        if !own.is_empty() {
            let end = own.find("\n\n\n").unwrap_or(own.len());
            own.truncate(end);
            return own;
        }
    }
    String::new()
}

fn ties(asked: &Asked<'_>) -> Value {
    let (mut found, mut first) = (Vec::new(), 0);
    for (_, book) in &asked.reading.layout.books {
        let schema = book.schema();
        for id in schema.ids() {
            let key = schema.key(id);
            let derived = key.derived.as_ref().map(|it| (it.source().key, it.name()));
            let leader = match &key.lifetime {
                Lifetime::With { key } => Some((key.key, "lives with")),
                _ => None,
            };
            for (source, word) in derived.into_iter().chain(leader) {
                found.push(json!({
                    "from": first + 1 + source.index(),
                    "to": first + 1 + id.index(),
                    "word": word,
                    "from_pattern": schema.key(source).pattern.text(),
                    "to_pattern": key.pattern.text(),
                }));
            }
        }
        for id in schema.ids() {
            let key = schema.key(id);
            if let Some(sink) = &key.sink {
                found.push(json!({
                    "from": first + 1 + id.index(),
                    "to": format!("table {}", sink.table),
                    "word": sink.kind.name(),
                    "table": true,
                    "from_pattern": key.pattern.text(),
                    "to_pattern": sink.table,
                }));
            }
        }
        first += 1 + schema.keys.len();
    }
    json!({ "ties": found })
}

/// A reply's text.
fn text(frame: &Frame) -> String {
    match frame {
        Frame::Integer(number) => number.to_string(),
        frame => String::from_utf8_lossy(frame.as_bytes().unwrap_or_default()).into_owned(),
    }
}

/// The elements of a reply; an error is the response.
fn elements(frame: &Frame) -> Result<&[Frame], Response> {
    match frame {
        Frame::Error(line) => {
            // A password was set since it was remembered that none is needed.
            let is_nobody = line.starts_with(b"NOAUTH");
            let status = if is_nobody { Status::Unauthorized } else { Status::Forbidden };
            Err(Response::text(status, &String::from_utf8_lossy(line)))
        }
        frame => Ok(frame.as_elements().unwrap_or_default()),
    }
}

/// The value of a name in a reply that is a map, as a flat list.
fn member<'f>(parts: &'f [Frame], name: &str) -> Option<&'f Frame> {
    let mut pairs = parts.as_chunks::<2>().0.iter();
    pairs.find(|[it, _]| it.as_bytes() == Some(name.as_bytes())).map(|[_, value]| value)
}

/// The number of a name in such a reply.
fn number(parts: &[Frame], name: &str) -> u64 {
    member(parts, name).and_then(|it| text(it).parse().ok()).unwrap_or(0)
}

/// What fires, what did, and what is watched.
fn alerts(asked: &Asked<'_>) -> Value {
    let books = asked.reading.layout.books.iter();
    let watched: Vec<Value> = books
        .flat_map(|(_, book)| book.schema().alerts())
        .map(|it| json!({ "severity": it.alert.severity.name(), "summary": summary(&it) }))
        .collect();
    json!({ "declared": watched.len(), "watched": watched, "alerts": asked.alerts.shown() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_pattern_is_its_own_lines() {
        let text = "[keyspace]\nname = \"shop\"\n\n[key.\"a:{x}\"]\ntype = \"hash\"\nttl = \"1h\"\n\
                    [key.\"a:{x}\".fields]\nf = \"int\"\n\n[key.\"a:{x}:b\"]\ntype = \"set\"\nttl = \"1h\"\n";
        let schema = keyward_schema::check("a.toml", text.as_bytes()).schema.expect("a schema");
        let own = own_text(&schema, "a:{x}");
        assert_eq!(
            own.trim_end(),
            "[key.\"a:{x}\"]\ntype = \"hash\"\nttl = \"1h\"\n[key.\"a:{x}\".fields]\nf = \"int\""
        );
    }

    #[test]
    fn a_sparkline_has_few_points_and_ends_with_the_last() {
        let point = |bytes| Point { keys: 0.0, bytes, reads: 0.0, writes: 0.0, misses: 0.0 };
        let points: Vec<Point> = (0..360).map(|at| point(at as f32)).collect();
        let thin = thinned(&points);
        assert!(thin.len() <= SPARK_POINTS && thin.is_sorted(), "{thin:?}");
        assert_eq!(thin.last(), Some(&359.0));
        assert!(thinned(&[]).is_empty());
    }

    #[test]
    fn parameters_are_found_by_name_and_unescaped() {
        let query = "db=3&keyspace=a%26b+c&x=%zz%4";
        assert_eq!(parameter(query, "db").as_deref(), Some("3"));
        assert_eq!(parameter(query, "keyspace").as_deref(), Some("a&b c"));
        assert_eq!(parameter(query, "x").as_deref(), Some("%zz%4"));
        assert_eq!(parameter("y=%ff", "y"), None);
        assert_eq!(parameter("", "id"), None);
    }
}
