//! A keyspace as plain as can be, the commands that are sent to it, and what they answer.

use std::collections::BTreeMap;

use crate::Random;

const MINUTE_MS: i64 = 60_000;

/// What a row holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Text(String),
    Hash(BTreeMap<String, String>),
    List(Vec<String>),
}

#[derive(Clone, Debug)]
struct Row {
    value: Value,
    ends_ms: i64,
}

/// Rows by key, among them some whose time is over: those may be stored still.
#[derive(Default)]
pub(super) struct Model {
    rows: BTreeMap<String, Row>,
}

/// What the schema says of the rows of a table: how long they live, and whether they may
/// be evicted.
fn table(key: &str) -> (i64, bool) {
    match key.split(':').next() {
        Some("text") => (20 * MINUTE_MS, true),
        Some("doc") => (60 * MINUTE_MS, true),
        Some("page") => (30 * MINUTE_MS, true),
        Some("card") => (120 * MINUTE_MS, true),
        Some("log") => (10 * MINUTE_MS, true),
        Some("kept") => (60 * MINUTE_MS, false),
        _ => (i64::MAX / 2, false),
    }
}

/// A command like those of the model.
pub(super) fn command(random: &mut Random, number: usize) -> Vec<String> {
    let id = random.below(400);
    let long = |random: &mut Random, most: usize| {
        let word = format!("word{} ", random.below(9));
        let tail = random.below(1_000);
        format!("{}{tail}", word.repeat(random.below(most)))
    };
    let words: Vec<String> = match random.below(20) {
        0..=2 => vec!["SET".into(), format!("text:{id}"), long(random, 30)],
        3 => vec!["APPEND".into(), format!("text:{id}"), format!("+{number}")],
        4..=6 => vec!["SET".into(), format!("doc:{id}"), json(random)],
        7..=9 => vec!["SET".into(), format!("page:{id}"), long(random, 400)],
        10 => vec!["APPEND".into(), format!("page:{id}"), long(random, 50)],
        11 | 12 => {
            let (field, value) = (format!("field{}", random.below(6)), number.to_string());
            vec!["HSET".into(), format!("card:{id}"), field, value]
        }
        13 => vec!["RPUSH".into(), format!("log:{}", id % 20), format!("line {number}")],
        14 => vec!["SET".into(), format!("kept:{}", id % 100), number.to_string()],
        15 => vec!["SET".into(), format!("paid:{}", id % 50), long(random, 9)],
        16 => {
            let name = *random.pick(&["text", "doc", "page", "card", "log", "kept", "paid"]);
            vec!["DEL".into(), format!("{name}:{id}")]
        }
        17 => vec!["STRLEN".into(), format!("page:{id}")],
        _ => {
            let name = *random.pick(&["text", "doc", "page", "kept", "paid"]);
            vec!["GET".into(), format!("{name}:{id}")]
        }
    };
    words
}

fn json(random: &mut Random) -> String {
    let plan = *random.pick(&["gold", "free"]);
    let (name, seen) = (random.below(30), random.below(100_000));
    format!("{{\"name\":\"name {name}\",\"plan\":\"{plan}\",\"seen\":{seen}}}")
}

impl Model {
    /// Carries a command out; returns the reply.
    pub(super) fn apply(&mut self, words: &[String], now_ms: i64) -> String {
        let key = &words[1];
        // Who comes upon a row whose time is over removes it.
        if self.rows.get(key).is_some_and(|row| row.ends_ms < now_ms) {
            self.rows.remove(key);
        }
        let ends_ms = now_ms.saturating_add(table(key).0);
        match (words[0].as_str(), &words[2..]) {
            ("SET", [text]) => {
                self.rows.insert(key.clone(), Row { value: Value::Text(text.clone()), ends_ms });
                "+OK\r\n".to_owned()
            }
            ("APPEND", [more]) => {
                let before = self.text(key).unwrap_or_default();
                let value = Value::Text(before + more);
                let len = value.len();
                self.rows.insert(key.clone(), Row { value, ends_ms });
                format!(":{len}\r\n")
            }
            ("HSET", [field, value]) => {
                let empty = Row { value: Value::Hash(BTreeMap::new()), ends_ms };
                let row = self.rows.entry(key.clone()).or_insert(empty);
                row.ends_ms = ends_ms;
                let Value::Hash(fields) = &mut row.value else { unreachable!("cards are hashes") };
                let is_new = fields.insert(field.clone(), value.clone()).is_none();
                format!(":{}\r\n", usize::from(is_new))
            }
            ("RPUSH", [line]) => {
                let empty = Row { value: Value::List(Vec::new()), ends_ms };
                let row = self.rows.entry(key.clone()).or_insert(empty);
                row.ends_ms = ends_ms;
                let Value::List(lines) = &mut row.value else { unreachable!("logs are lists") };
                lines.push(line.clone());
                format!(":{}\r\n", lines.len())
            }
            ("DEL", []) => format!(":{}\r\n", usize::from(self.rows.remove(key).is_some())),
            ("STRLEN", []) => format!(":{}\r\n", self.text(key).unwrap_or_default().len()),
            ("GET", []) => match self.text(key) {
                Some(text) => format!("${}\r\n{text}\r\n", text.len()),
                None => "$-1\r\n".to_owned(),
            },
            _ => unreachable!("there is no such command: {words:?}"),
        }
    }

    fn text(&self, key: &str) -> Option<String> {
        match self.rows.get(key).map(|row| &row.value) {
            Some(Value::Text(text)) => Some(text.clone()),
            _ => None,
        }
    }

    /// A row was evicted.
    ///
    /// # Panics
    /// If it is not there, or may not be, or another must go before it.
    pub(super) fn evict(&mut self, key: &str, now_ms: i64) {
        assert!(table(key).1, "{key} may not be evicted");
        assert!(self.rows.remove(key).is_some(), "{key} is evicted and was not there");
        let mut firsts = self.rows.iter().filter(|(key, _)| key.starts_with("log:"));
        let first = firsts.find(|(_, row)| row.ends_ms >= now_ms);
        assert!(key.starts_with("log:") || first.is_none(), "{first:?} must go before {key}");
    }

    /// Whether a row is left that may be evicted.
    pub(super) fn can_evict(&self, now_ms: i64) -> bool {
        self.rows.iter().any(|(key, row)| table(key).1 && row.ends_ms >= now_ms)
    }

    /// The rows whose time is not over.
    pub(super) fn living(&self, now_ms: i64) -> BTreeMap<String, Value> {
        let living = self.rows.iter().filter(|(_, row)| row.ends_ms >= now_ms);
        living.map(|(key, row)| (key.clone(), row.value.clone())).collect()
    }
}

impl Value {
    fn len(&self) -> usize {
        match self {
            Value::Text(text) => text.len(),
            Value::Hash(fields) => fields.len(),
            Value::List(lines) => lines.len(),
        }
    }
}
