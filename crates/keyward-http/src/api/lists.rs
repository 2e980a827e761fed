//! The last refusals, the slow log, and who is connected.
//!
//! Owns what is shown of them. Each is a command of the user who asks. Where no password is
//! needed, commands are shown without their arguments and refusals without their reasons;
//! what is personal is masked.

use super::keys::masked;
use super::{Asked, elements, is_open, member, text};
use crate::response::Response;
use keyward_resp::Frame;
use keyward_rules::RuleBook;
use serde_json::{Value, json};

/// Entries of a list.
const ENTRIES_MAX: &[u8] = b"100";
/// Clients that are shown.
const CLIENTS_MAX: usize = 500;
/// What is shown of them.
const CLIENT_FIELDS: [&str; 8] = ["id", "addr", "name", "user", "cmd", "age", "idle", "tot-mem"];
/// What is said instead of a reason that may hold personal data.
pub(super) const MASKED: &str = "masked, since something of its keys is secret or personal";

/// Whether what was wrong with a key of a pattern is not to be shown: something of it is
/// personal, or nobody knows.
pub(super) fn hides(mask: Option<&RuleBook>, book: &RuleBook, pattern: &str) -> bool {
    let is_it = |id: &keyward_schema::KeyId| book.schema().key(*id).pattern.text() == pattern;
    let found = book.schema().ids().find(is_it);
    mask.is_some_and(|mask| found.is_none_or(|id| mask.hides_of(id)))
}

/// The words of a command; its name alone where others must not be shown.
fn words(frame: Option<&Frame>, is_open: bool, masks: &[&RuleBook]) -> Vec<String> {
    let sent = frame.and_then(Frame::as_elements).unwrap_or_default();
    if is_open && sent.len() > 1 {
        return sent.iter().take(1).map(text).chain(["…".to_owned()]).collect();
    }
    let mut words: Vec<Vec<u8>> = sent.iter().map(|word| text(word).into_bytes()).collect();
    for mask in masks {
        let sent: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        words = masked(mask, &sent);
    }
    words.iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

pub(super) fn refusals(asked: &Asked<'_>) -> Result<Value, Response> {
    let is_open = is_open(asked);
    let mut found = Vec::new();
    for (db, book) in &asked.reading.layout.books {
        let number = db.to_string();
        let mask = asked.reading.layout.mask(*db);
        let replies = (asked.call)(&[
            &[b"SELECT", number.as_bytes()],
            &[b"KEYWARD", b"REFUSALS", b"COUNT", ENTRIES_MAX],
        ])?;
        for entry in elements(replies.last().unwrap_or(&Frame::Null))? {
            let parts = entry.as_elements().unwrap_or_default();
            let told = |name: &str| member(parts, name).map(text).unwrap_or_default();
            let reason = match is_open {
                true => "shown where a password is set".to_owned(),
                false if hides(mask, book, &told("pattern")) => MASKED.to_owned(),
                false => told("reason"),
            };
            found.push(json!({
                "db": format!("db{db}"),
                "time": told("time").parse::<i64>().unwrap_or(0),
                "outcome": told("outcome"),
                "pattern": told("pattern"),
                "address": told("address"),
                "name": told("name"),
                "command": words(member(parts, "command"), is_open, mask.as_slice()),
                "reason": reason,
            }));
        }
    }
    found.sort_by_key(|entry| std::cmp::Reverse(entry.get("time").and_then(Value::as_i64)));
    Ok(json!({ "refusals": found }))
}

pub(super) fn slow(asked: &Asked<'_>) -> Result<Value, Response> {
    let is_open = is_open(asked);
    // Which database a command was sent to is not told: whatever one of them masks is masked.
    let masks: Vec<&RuleBook> = asked.reading.layout.masks().iter().flatten().collect();
    let replies = (asked.call)(&[&[b"SLOWLOG", b"GET", ENTRIES_MAX]])?;
    let entry = |entry: &Frame| {
        let parts = entry.as_elements().unwrap_or_default();
        let number =
            |at: usize| parts.get(at).map(text).unwrap_or_default().parse::<i64>().unwrap_or(0);
        json!({
            "time": number(1),
            "us": number(2),
            "command": words(parts.get(3), is_open, &masks),
            "address": parts.get(4).map(text),
            "name": parts.get(5).map(text),
        })
    };
    let entries = elements(replies.last().unwrap_or(&Frame::Null))?;
    Ok(json!({ "slow": entries.iter().map(entry).collect::<Vec<_>>() }))
}

pub(super) fn clients(asked: &Asked<'_>) -> Result<Value, Response> {
    let replies = (asked.call)(&[&[b"CLIENT", b"LIST"]])?;
    let reply = replies.last().unwrap_or(&Frame::Null);
    elements(reply)?;
    // As it came: there may be thousands of lines.
    let text = String::from_utf8_lossy(reply.as_bytes().unwrap_or_default());
    let line = |line: &str| -> Value {
        let pairs = line.split(' ').filter_map(|part| part.split_once('='));
        let shown = pairs.filter(|(name, _)| CLIENT_FIELDS.contains(name));
        Value::Object(shown.map(|(name, value)| (name.to_owned(), json!(value))).collect())
    };
    let shown: Vec<Value> = text.lines().take(CLIENTS_MAX).map(line).collect();
    Ok(json!({ "count": text.lines().count(), "clients": shown }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(words: &[&str]) -> Frame {
        Frame::Array(words.iter().map(|word| Frame::Bulk(word.as_bytes().to_vec())).collect())
    }

    #[test]
    fn arguments_are_left_out_where_there_is_no_password() {
        let command = command(&["SET", "k", "secret"]);
        assert_eq!(words(Some(&command), true, &[]), ["SET", "…"]);
        assert_eq!(words(Some(&command), false, &[]), ["SET", "k", "secret"]);
    }

    #[test]
    fn what_is_personal_is_masked_in_commands_and_reasons() {
        let schema = "[keyspace]\nname = \"a\"\n[key.\"user:{id}\"]\ntype = \"hash\"\n\
            ttl = \"none\"\n[key.\"user:{id}\".fields]\nage = \"int\"\n\
            email = { type = \"str\", personal = true }\n\
            [key.\"by:{mail}\"]\ntype = \"string\"\n\
            lookup = { of = \"user:{id}\", field = \"email\" }\n\
            [key.\"page:{n}\"]\ntype = \"string\"\nttl = \"1h\"\n";
        let checked = keyward_schema::check("a.toml", schema.as_bytes());
        let book = RuleBook::new(checked.schema.expect("a schema"));
        assert!(!book.has_secrets(), "the server itself shows it");
        let mask = book.discreet().expect("something is personal");
        let shown = |sent: &[&str]| words(Some(&command(sent)), false, &[&mask]).join(" ");
        assert_eq!(
            shown(&["HSET", "user:1", "age", "7", "email", "ann@x"]),
            "HSET user:1 age 7 email (redacted)"
        );
        assert_eq!(shown(&["GET", "by:ann@x"]), "GET by:(redacted)");
        assert_eq!(shown(&["SET", "page:1", "text"]), "SET page:1 text");
        assert!(hides(Some(&mask), &book, "user:{id}") && hides(Some(&mask), &book, "by:{mail}"));
        assert!(hides(Some(&mask), &book, ""), "keys without a pattern");
        assert!(!hides(Some(&mask), &book, "page:{n}") && !hides(None, &book, "user:{id}"));
    }
}
