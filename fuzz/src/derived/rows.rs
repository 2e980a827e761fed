//! Rows read out of an engine into plain collections, so that judging them
//! shares no code with what is judged.

use std::collections::{BTreeMap, BTreeSet};

use keyward_engine::{Engine, Item, ObjectRef, Row, Value};

/// A value in its plainest form. Everything in this keyspace is text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Plain {
    Text(String),
    List(Vec<String>),
    Set(BTreeSet<String>),
    Zset(BTreeMap<String, f64>),
    Hash(BTreeMap<String, String>),
}

/// A value and when it ends.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stored {
    pub(super) value: Plain,
    pub(super) deadline: Option<i64>,
}

/// All rows of a database.
pub(super) type Rows = BTreeMap<String, Stored>;

impl Stored {
    /// Whether its time is over. Redis's clock: it still lives in the
    /// millisecond of its deadline.
    pub(super) fn is_over(&self, now_ms: i64) -> bool {
        self.deadline.is_some_and(|deadline| deadline < now_ms)
    }

    /// A field of a hash.
    pub(super) fn field(&self, name: &str) -> Option<&str> {
        match &self.value {
            Plain::Hash(fields) => fields.get(name).map(String::as_str),
            _ => None,
        }
    }

    /// The text of a string.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.value {
            Plain::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The members of a set or sorted set.
    pub(super) fn members(&self) -> Vec<&str> {
        match &self.value {
            Plain::Set(members) => members.iter().map(String::as_str).collect(),
            Plain::Zset(members) => members.keys().map(String::as_str).collect(),
            _ => Vec::new(),
        }
    }
}

/// Every row of a database as it is stored, due ones included.
pub(super) fn stored(engine: &mut Engine, db: usize) -> Rows {
    let keys = engine.keyspace();
    let mut rows = Rows::new();
    let mut cursor = 0;
    loop {
        cursor = keys.scan(db, cursor, b"", |row| {
            rows.insert(text(row.key()), Stored { value: plain(row), deadline: row.deadline() });
        });
        if cursor == 0 {
            break;
        }
    }
    rows
}

fn plain(row: &Row) -> Plain {
    match row.value() {
        Value::Text(bytes) => Plain::Text(text(bytes)),
        Value::Int(number) => Plain::Text(number.to_string()),
        Value::Object(ObjectRef::List(list)) => Plain::List(list.forward(0).map(item).collect()),
        Value::Object(ObjectRef::Set(set)) => Plain::Set(set.iter().map(item).collect()),
        Value::Object(ObjectRef::ZSet(zset)) => {
            let members = zset.iter(0..zset.len());
            Plain::Zset(members.map(|(member, score)| (text(member), score)).collect())
        }
        Value::Object(ObjectRef::Hash(hash)) => {
            Plain::Hash(hash.iter().map(|(name, value)| (item(name), item(value))).collect())
        }
        // Entries in their order, each in words.
        Value::Object(ObjectRef::Stream(stream)) => {
            let words = |(name, value)| format!(" {}={}", item(name), item(value));
            let entries = stream.all().map(|entry| {
                let id = format!("{}-{}", entry.id.ms, entry.id.seq);
                id + &entry.pairs().map(words).collect::<String>()
            });
            Plain::List(entries.collect())
        }
    }
}

fn item(item: Item<'_>) -> String {
    match item {
        Item::Int(number) => number.to_string(),
        Item::Bytes(bytes) => text(bytes),
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
