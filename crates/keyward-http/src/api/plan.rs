//! What would become of rows under another schema, and the command that would apply it.
//!
//! A plan is a command of the user who asks (`KEYWARD SCHEMA PLAN`): who may not send it gets
//! none. Nothing is applied here. The server makes a plan in steps while others are served; for
//! as long somebody waits here, and whoever goes away gives it up.

use super::{Asked, Replies, Words, elements, member, number, parameter, text};
use crate::response::{Response, Status};
use keyward_resp::Frame;
use serde_json::{Map, Value, json};

/// A schema to be planned.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Proposal {
    db: u64,
    /// Which keyspace it is for, where several share the database.
    keyspace: Option<String>,
    text: String,
}

impl Proposal {
    /// Reads what was posted.
    pub(crate) fn read(body: &[u8]) -> Option<Proposal> {
        let said: Value = serde_json::from_slice(body).ok()?;
        let name = said.get("keyspace").and_then(Value::as_str).filter(|name| !name.is_empty());
        Some(Proposal {
            db: said.get("db")?.as_u64()?,
            keyspace: name.map(str::to_owned),
            text: said.get("text")?.as_str()?.to_owned(),
        })
    }
}

/// What a schema would do, as JSON.
///
/// # Errors
/// The response for who gets none.
pub(crate) fn plan(
    proposal: &Proposal,
    call: &dyn Fn(&[Words<'_>]) -> Replies,
) -> Result<String, Response> {
    let db = proposal.db.to_string();
    let mut words: Vec<&[u8]> = vec![b"KEYWARD", b"SCHEMA", b"PLAN"];
    words.extend(proposal.keyspace.as_deref().map(str::as_bytes));
    words.push(proposal.text.as_bytes());
    let replies = call(&[&[b"SELECT", db.as_bytes()], &words])?;
    if let Some(wrong @ Frame::Error(_)) = replies.first() {
        refused(wrong)?;
    }
    let reply = replies.last().unwrap_or(&Frame::Null);
    refused(reply)?;
    Ok(told(&db, elements(reply)?).to_string())
}

/// An error is the response: who may not plan, or a text that cannot be planned.
fn refused(reply: &Frame) -> Result<(), Response> {
    match reply {
        Frame::Error(line) if line.starts_with(b"NOPERM") || line.starts_with(b"NOAUTH") => {
            elements(reply).map(|_| ())
        }
        Frame::Error(line) => {
            Err(Response::text(Status::BadRequest, &String::from_utf8_lossy(line)))
        }
        _ => Ok(()),
    }
}

/// What a plan says: patterns that nothing happens to are left out.
fn told(db: &str, parts: &[Frame]) -> Value {
    let plan = member(parts, "plan").map(text).unwrap_or_default();
    let destroys = number(parts, "destroys");
    let changes = member(parts, "changes").map(lines).unwrap_or_default();
    let patterns = member(parts, "patterns").and_then(Frame::as_elements).unwrap_or_default();
    let figures = |pattern: &Frame| {
        let parts = pattern.as_elements().unwrap_or_default();
        let name = member(parts, "pattern").map(text).unwrap_or_default();
        let pairs = parts.as_chunks::<2>().0.iter().map(|[name, value]| (text(name), text(value)));
        let counts: Map<String, Value> = pairs
            .filter(|(name, _)| name != "pattern")
            .map(|(name, value)| (name, json!(value.parse::<u64>().unwrap_or(0))))
            .collect();
        let is_met = counts.iter().any(|(name, count)| name != "keys" && *count != json!(0));
        is_met.then(|| json!({ "pattern": name, "figures": counts }))
    };
    let met: Vec<Value> = patterns.iter().filter_map(figures).collect();
    let destroy = if destroys > 0 { format!(" DESTROY {destroys}") } else { String::new() };
    json!({
        "plan": plan,
        "destroys": destroys,
        "changes": changes,
        "patterns": met,
        "looked_at": patterns.len(),
        "command": format!("KEYWARD SCHEMA APPLY {plan}{destroy}"),
        "db": db.parse::<u64>().unwrap_or(0),
    })
}

/// The lines of a reply, however deep they stand.
fn lines(frame: &Frame) -> Vec<String> {
    match frame.as_elements() {
        Some(parts) => parts.iter().flat_map(lines).collect(),
        None => vec![text(frame)],
    }
}

/// The text of a schema in force, to begin with.
pub(super) fn text_in_force(asked: &Asked<'_>, query: &str) -> Result<Value, Response> {
    let db = parameter(query, "db").unwrap_or_default();
    let keyspace = parameter(query, "keyspace").filter(|name| !name.is_empty());
    let mut words: Vec<&[u8]> = vec![b"KEYWARD", b"SCHEMA", b"SHOW"];
    words.extend(keyspace.as_deref().map(str::as_bytes));
    let replies = (asked.call)(&[&[b"SELECT", db.as_bytes()], &words])?;
    for reply in &replies {
        refused(reply)?;
    }
    Ok(json!({ "text": replies.last().map(text) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bulk(text: &str) -> Frame {
        Frame::Bulk(text.as_bytes().to_vec())
    }

    #[test]
    fn what_is_posted_is_read_or_refused() {
        let read = |body: &str| Proposal::read(body.as_bytes());
        let expected = Proposal { db: 3, keyspace: None, text: "x".to_owned() };
        assert_eq!(read(r#"{"db":3,"keyspace":"","text":"x"}"#), Some(expected));
        let named = read(r#"{"db":0,"keyspace":"a","text":""}"#).expect("it can be read");
        assert_eq!(named.keyspace.as_deref(), Some("a"));
        for body in ["", "[]", "{}", r#"{"db":-1,"text":"x"}"#, r#"{"db":0}"#, "\u{0}"] {
            assert_eq!(read(body), None, "{body}");
        }
    }

    #[test]
    fn a_plan_tells_the_patterns_that_are_met_and_the_command_that_applies_it() {
        let pattern = |name: &str, destroyed| {
            let parts = [bulk("pattern"), bulk(name), bulk("keys"), Frame::Integer(9)];
            let more = [bulk("destroyed"), Frame::Integer(destroyed)];
            Frame::Array(parts.into_iter().chain(more).collect())
        };
        let reply = Frame::Array(vec![
            bulk("changes"),
            Frame::Array(vec![Frame::Array(vec![bulk("a:{x}"), bulk("shorter")])]),
            bulk("plan"),
            bulk("6731e33ecd72"),
            bulk("destroys"),
            Frame::Integer(4),
            bulk("patterns"),
            Frame::Array(vec![pattern("a:{x}", 4), pattern("b:{x}", 0)]),
        ]);
        let proposal = Proposal { db: 2, keyspace: None, text: "text".to_owned() };
        let call = |commands: &[&[&[u8]]]| {
            assert_eq!(commands[0], [&b"SELECT"[..], b"2"]);
            assert_eq!(commands[1], [&b"KEYWARD"[..], b"SCHEMA", b"PLAN", b"text"]);
            Ok(vec![Frame::Simple(b"OK".to_vec()), reply.clone()])
        };
        let plan: Value =
            serde_json::from_str(&plan(&proposal, &call).expect("it is made")).expect("it is JSON");
        assert_eq!(plan["command"], "KEYWARD SCHEMA APPLY 6731e33ecd72 DESTROY 4");
        assert_eq!(plan["changes"], json!(["a:{x}", "shorter"]));
        let expected = json!([{ "pattern": "a:{x}", "figures": { "keys": 9, "destroyed": 4 } }]);
        assert_eq!(plan["patterns"], expected);
    }
}
