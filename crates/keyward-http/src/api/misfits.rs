//! Some keys of a pattern that do not fit the schema and are kept, and why.
//!
//! Asked of the server as a command of the user who asks (`KEYWARD MISFITS`); masked as keys
//! are that somebody looks at. Where no password is needed nothing is shown.

use super::keys::masked;
use super::lists::{MASKED, hides};
use super::{Asked, elements, is_open, member, not_found, place, text};
use crate::response::Response;
use keyward_resp::Frame;
use serde_json::{Value, json};

/// Keys that are shown.
const KEYS_MAX: usize = 20;
/// Calls in which they are looked for, and how far each goes.
const CALLS_MAX: usize = 20;
const CALL_COUNT: &[u8] = b"1000";

pub(super) fn list(asked: &Asked<'_>, id: usize) -> Result<Value, Response> {
    let (db, book, key) = place(asked, id).ok_or_else(not_found)?;
    if is_open(asked) {
        return Ok(json!({ "misfits": [], "why": "Keys are shown where a password is set." }));
    }
    let pattern = key.map_or("", |key| book.schema().key(key).pattern.text());
    let mask = asked.reading.layout.mask(db);
    let is_hidden = hides(mask, book, pattern);
    let number = db.to_string();
    let (mut found, mut cursor) = (Vec::new(), "0".to_owned());
    for _ in 0..CALLS_MAX {
        let replies = (asked.call)(&[
            &[b"SELECT", number.as_bytes()],
            &[
                b"KEYWARD",
                b"MISFITS",
                pattern.as_bytes(),
                b"COUNT",
                CALL_COUNT,
                b"CURSOR",
                cursor.as_bytes(),
            ],
        ])?;
        let [next, rows] = elements(replies.last().unwrap_or(&Frame::Null))? else { break };
        for row in rows.as_elements().unwrap_or_default() {
            let parts = row.as_elements().unwrap_or_default();
            let name = member(parts, "key").and_then(Frame::as_bytes).unwrap_or_default();
            let shown = masked(mask.unwrap_or(book), &[b"GET", name]);
            let reasons = member(parts, "reasons").and_then(Frame::as_elements);
            let reasons: Vec<String> = match is_hidden {
                true => vec![MASKED.to_owned()],
                false => reasons.unwrap_or_default().iter().map(text).collect(),
            };
            let name = shown.get(1).map(|name| String::from_utf8_lossy(name).into_owned());
            found.push(json!({ "key": name, "reasons": reasons }));
        }
        cursor = text(next);
        if cursor == "0" || found.len() >= KEYS_MAX {
            break;
        }
    }
    found.truncate(KEYS_MAX);
    Ok(json!({ "misfits": found, "why": "" }))
}
