//! How many keys end when, and what they take.
//!
//! Asked of the server as a command of the user who asks (`KEYWARD EXPIRING`).

use super::{Asked, elements, member, not_found, number, place, text};
use crate::response::Response;
use keyward_resp::Frame;
use serde_json::{Value, json};

/// When the keys of a pattern end, or those of all databases.
pub(super) fn expiring(asked: &Asked<'_>, id: Option<usize>) -> Result<Value, Response> {
    let mut all = Endings { is_exact: true, ..Endings::default() };
    match id {
        Some(id) => {
            let (db, book, key) = place(asked, id).ok_or_else(not_found)?;
            let pattern = key.map_or("", |key| book.schema().key(key).pattern.text());
            all.add(&ask(asked, db, Some(pattern))?)?;
        }
        None => {
            for (db, _) in &asked.reading.layout.books {
                all.add(&ask(asked, *db, None)?)?;
            }
        }
    }
    Ok(all.into_json())
}

fn ask(asked: &Asked<'_>, db: usize, pattern: Option<&str>) -> Result<Frame, Response> {
    let number = db.to_string();
    let mut words: Vec<&[u8]> = vec![b"KEYWARD", b"EXPIRING"];
    words.extend(pattern.map(str::as_bytes));
    let mut replies = (asked.call)(&[&[b"SELECT", number.as_bytes()], &words])?;
    Ok(replies.pop().unwrap_or(Frame::Null))
}

/// What a reply says, or several together.
#[derive(Debug, Default)]
struct Endings {
    is_exact: bool,
    keys: u64,
    bytes: u64,
    none: (u64, u64),
    later: (u64, u64),
    /// Seconds, keys, bytes.
    within: Vec<(u64, u64, u64)>,
}

impl Endings {
    fn add(&mut self, reply: &Frame) -> Result<(), Response> {
        let parts = elements(reply)?;
        let of = |name: &str| number(parts, name);
        self.is_exact &= of("exact") == 1;
        self.keys += of("keys");
        self.bytes += of("bytes");
        self.none = (self.none.0 + of("none_keys"), self.none.1 + of("none_bytes"));
        self.later = (self.later.0 + of("later_keys"), self.later.1 + of("later_bytes"));
        let within = member(parts, "within").and_then(Frame::as_elements).unwrap_or_default();
        for (at, entry) in within.iter().enumerate() {
            let figures: Vec<u64> = entry
                .as_elements()
                .unwrap_or_default()
                .iter()
                .map(|figure| text(figure).parse().unwrap_or(0))
                .collect();
            let [seconds, keys, bytes] = *figures.as_slice() else { continue };
            match self.within.get_mut(at) {
                Some(sum) => *sum = (seconds, sum.1 + keys, sum.2 + bytes),
                None => self.within.push((seconds, keys, bytes)),
            }
        }
        Ok(())
    }

    fn into_json(self) -> Value {
        let amount = |(keys, bytes): (u64, u64)| json!({ "keys": keys, "bytes": bytes });
        let within = self.within.iter().map(
            |(seconds, keys, bytes)| json!({ "seconds": seconds, "keys": keys, "bytes": bytes }),
        );
        json!({
            "exact": self.is_exact,
            "keys": self.keys,
            "bytes": self.bytes,
            "within": within.collect::<Vec<_>>(),
            "later": amount(self.later),
            "none": amount(self.none),
        })
    }
}
