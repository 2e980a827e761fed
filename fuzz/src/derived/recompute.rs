//! Derived keys made anew from all other rows, by the words of `shop.toml`.
//!
//! Deliberately naive: one `match` over the sources, no rule book.

use std::collections::{BTreeMap, BTreeSet};

use super::rows::{Plain, Rows, Stored};

/// The names that derived keys begin with, mirrors included.
const DERIVED: &[&str] = &[
    "by_email", "plan_of", "seen", "users", "active", "owner", "leaser", "docs", "sizes",
    "note_of", "stamps", "out", "in", "sessions",
];

/// The values of derived keys.
pub(super) type Derived = BTreeMap<String, Plain>;

/// The derived keys among rows, as they are.
pub(super) fn found(rows: &Rows) -> Derived {
    let is_derived = |key: &str| DERIVED.contains(&key.split(':').next().unwrap_or_default());
    let derived = rows.iter().filter(|(key, _)| is_derived(key));
    derived.map(|(key, row)| (key.clone(), row.value.clone())).collect()
}

/// The rows whose time is not over. Of two sets that mirror each other, either
/// takes what it says along when it ends.
pub(super) fn living(rows: &Rows, now_ms: i64) -> Rows {
    let lives = |key: &str| rows.get(key).is_some_and(|row| !row.is_over(now_ms));
    let mut living = rows.clone();
    living.retain(|key, row| {
        let mirror = match key.split(':').next() {
            Some("out") => "in",
            Some("in") => "out",
            _ => return lives(key),
        };
        let Plain::Set(members) = &mut row.value else { return lives(key) };
        members.retain(|member| lives(&format!("{mirror}:{member}")));
        lives(key) && !members.is_empty()
    });
    living
}

/// The derived keys that rows demand. Two owners of one value are told apart by
/// what is found: it can hold only one of them.
pub(super) fn wanted(rows: &Rows) -> Derived {
    let mut wanted = Wanted::default();
    for (key, row) in rows {
        let parts: Vec<&str> = key.split(':').collect();
        match parts[..] {
            ["user", id] => user(&mut wanted, id, row),
            ["code", id] => row.text().into_iter().for_each(|code| wanted.owner("owner", code, id)),
            ["lease", id] => {
                row.text().into_iter().for_each(|lease| wanted.owner("leaser", lease, id));
            }
            ["doc", id] => doc(&mut wanted, id, row),
            ["note", "1", n] => {
                row.text().into_iter().for_each(|text| wanted.owner("note_of", text, n));
            }
            ["stamp", doc, n] => wanted.member(format!("stamps:{doc}"), n),
            ["session", id] => {
                let user = row.field("user").into_iter();
                user.for_each(|user| wanted.member(format!("sessions:{user}"), id));
            }
            ["out", id] => {
                row.members().into_iter().for_each(|other| wanted.member(format!("in:{other}"), id))
            }
            ["in", id] => row
                .members()
                .into_iter()
                .for_each(|other| wanted.member(format!("out:{other}"), id)),
            _ => {}
        }
    }
    wanted.keys
}

fn user(wanted: &mut Wanted, id: &str, row: &Stored) {
    wanted.member("users".to_owned(), id);
    if let Some(email) = row.field("email") {
        wanted.owner("by_email", email, id);
    }
    if let Some(seen) = row.field("seen") {
        wanted.scored("seen", id, seen.parse().unwrap_or(f64::NAN));
    }
    if row.field("status") == Some("active") {
        if let Some(plan) = row.field("plan") {
            wanted.keys.insert(format!("plan_of:{id}"), Plain::Text(plan.to_owned()));
        }
        wanted.member("active".to_owned(), id);
        wanted.member(format!("active:{}", row.field("plan").unwrap_or("nothing")), id);
    }
}

fn doc(wanted: &mut Wanted, id: &str, row: &Stored) {
    let json: serde_json::Value =
        row.text().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    if let Some(kind) = json["kind"].as_str() {
        wanted.member(format!("docs:{kind}"), id);
    }
    if let Some(size) = json["size"].as_f64() {
        wanted.scored("sizes", id, size);
    }
}

#[derive(Default)]
struct Wanted {
    keys: Derived,
}

impl Wanted {
    /// A unique value. An empty one can stand in no key.
    fn owner(&mut self, lookup: &str, value: &str, id: &str) {
        if !value.is_empty() && !value.contains(':') {
            let old = self.keys.insert(format!("{lookup}:{value}"), Plain::Text(id.to_owned()));
            // A value with two owners equals nothing that can be found.
            if old.is_some() {
                self.keys.insert(format!("{lookup}:{value}"), Plain::Text("two".to_owned()));
            }
        }
    }

    fn member(&mut self, key: String, id: &str) {
        let set = self.keys.entry(key).or_insert_with(|| Plain::Set(BTreeSet::new()));
        if let Plain::Set(members) = set {
            members.insert(id.to_owned());
        }
    }

    fn scored(&mut self, key: &str, id: &str, score: f64) {
        let zset = self.keys.entry(key.to_owned());
        if let Plain::Zset(members) = zset.or_insert_with(|| Plain::Zset(BTreeMap::new())) {
            members.insert(id.to_owned(), score);
        }
    }
}
