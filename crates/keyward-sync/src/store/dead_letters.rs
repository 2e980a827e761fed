//! Items that were refused, with the reason, until they are sent again.

use std::collections::HashMap;

use keyward_schema::{DataType, Matcher, Schema, Sink, SinkKind};
use serde_json::{Map, Value};
use tokio_postgres::Transaction;
use tokio_postgres::types::ToSql;

use crate::entry::EntryId;
use crate::row::{Held, Origin, rows_of};
use crate::store::failure::Failure;
use crate::store::{Orphan, What};

/// What the number of a letter ends with that may be an item of a list, or the one field `item` of
/// an entry of a stream: its key is not known.
const BARE: &str = "item";

/// The table of a letter whose item was to be appended to one, and whose key has no such sink any
/// longer. Its list may have it still.
pub(super) const APPENDED: &str = "(append)";

/// About so many bytes of letters are put away by one statement.
const STATEMENT_BYTES_MAX: usize = 64 * 1024 * 1024;

/// An item that was refused.
pub(super) struct Letter {
    /// The number of the item.
    pub(super) entry: String,
    pub(super) table: String,
    pub(super) key: Vec<u8>,
    pub(super) item: Vec<u8>,
    pub(super) reason: String,
}

impl Letter {
    /// One of what no sink takes.
    pub(super) fn of_orphan(orphan: &Orphan) -> Letter {
        let bare = if orphan.is_bare { format!("-{BARE}") } else { String::new() };
        let kind = orphan.kind.name();
        Letter {
            entry: format!("{}-{}{bare}", orphan.id, orphan.number),
            table: if orphan.kind == SinkKind::Append { APPENDED } else { "" }.to_owned(),
            key: orphan.name.clone(),
            item: orphan.item.clone(),
            reason: format!("no key of the schema has a sink that takes it: {kind}"),
        }
    }

    fn bytes(&self) -> usize {
        self.key.len() + self.item.len() + self.reason.len()
    }
}

/// Puts items to the dead letters.
pub(super) async fn bury(
    transaction: &Transaction<'_>,
    keyspace: &str,
    letters: &[Letter],
) -> Result<(), Failure> {
    // An id may be given once more after a server lost its last changes.
    let insert = "INSERT INTO keyward_dead_letters \
                  (keyspace, entry, table_name, key, item, reason) \
                  SELECT $1, CASE WHEN EXISTS (SELECT 1 FROM keyward_dead_letters AS l \
                                               WHERE l.keyspace = $1 AND l.entry = n.entry) \
                             THEN n.entry || '-' || gen_random_uuid() ELSE n.entry END, \
                         n.table_name, n.key, n.item, n.reason \
                  FROM unnest($2::text[], $3::text[], $4::bytea[], $5::bytea[], $6::text[]) \
                       AS n(entry, table_name, key, item, reason)";
    let mut rest = letters;
    while !rest.is_empty() {
        let mut bytes = 0;
        let is_too_much = |letter: &Letter| {
            bytes += letter.bytes();
            bytes > STATEMENT_BYTES_MAX
        };
        let most = rest.iter().position(is_too_much).unwrap_or(rest.len()).max(1);
        let (some, others) = rest.split_at(most);
        let texts = |text: fn(&Letter) -> &str| some.iter().map(text).collect::<Vec<&str>>();
        let bytes = |bytes: fn(&Letter) -> &[u8]| some.iter().map(bytes).collect::<Vec<&[u8]>>();
        let (entries, tables) = (texts(|it| &it.entry), texts(|it| &it.table));
        let (keys, items) = (bytes(|it| &it.key), bytes(|it| &it.item));
        let reasons = texts(|it| &it.reason);
        let values: [&(dyn ToSql + Sync); 6] =
            [&keyspace, &entries, &tables, &keys, &items, &reasons];
        let buried = transaction.execute(insert, &values).await;
        buried.map_err(|error| Failure::at("keyward_dead_letters", error))?;
        rest = others;
    }
    Ok(())
}

/// Letters of a table, by key and item, and how many of each: nobody sends them again before the
/// transaction ends.
pub(crate) async fn letters_of(
    transaction: &Transaction<'_>,
    keyspace: &str,
    sink: &Sink,
    names: &[Vec<u8>],
) -> Result<HashMap<Vec<u8>, HashMap<Vec<u8>, usize>>, Failure> {
    let query = "SELECT key, item FROM keyward_dead_letters \
                 WHERE keyspace = $1 AND table_name = $2 AND key = ANY($3) FOR UPDATE";
    let found = transaction.query(query, &[&keyspace, &&*sink.table, &names]).await;
    let found = found.map_err(|error| Failure::at("keyward_dead_letters", error))?;
    let mut letters: HashMap<Vec<u8>, HashMap<Vec<u8>, usize>> = HashMap::new();
    for row in found {
        *letters.entry(row.get(0)).or_default().entry(row.get(1)).or_default() += 1;
    }
    Ok(letters)
}

/// What a letter does to which key's table.
pub(super) fn what_of(
    schema: &Schema,
    matcher: &Matcher,
    entry: &str,
    name: &[u8],
    item: &[u8],
) -> Result<(usize, What), String> {
    if item == crate::row::MASK {
        return Err("it was secret, and is masked".to_owned());
    }
    let none = || "no key of the schema has a sink that takes it".to_owned();
    let id = matcher.find(name).and_then(|found| schema.id(found.pattern)).ok_or_else(none)?;
    let key = schema.key(id);
    let sink = key.sink.as_ref().filter(|sink| sink.kind != SinkKind::Mirror).ok_or_else(none)?;
    let mut numbers = entry.splitn(4, '-');
    let mut number = || numbers.next().and_then(|text| text.parse::<u64>().ok());
    let (Some(ms), Some(seq), Some(item_number)) = (number(), number(), number()) else {
        return Err("its entry is no number".to_owned());
    };
    let is_bare = numbers.next().is_some_and(|rest| rest.starts_with(BARE));
    let is_stream = key.data == DataType::Stream;
    let is_row = is_stream || sink.kind == SinkKind::Archive;
    let item_number = usize::try_from(item_number).ok().filter(|_| is_stream || !is_row);
    let origin = Origin { id: EntryId { ms, seq }, item: item_number, again: None };
    let fields = match (is_row, is_bare) {
        (false, _) => Vec::new(),
        (true, true) if is_stream && item_number == Some(0) => {
            vec![(b"item".to_vec(), item.to_vec())]
        }
        (true, true) => return Err("it is an item, and its key has none".to_owned()),
        (true, false) => fields_of(item).ok_or("it is no row as JSON")?,
    };
    let held = match (key.data, &fields[..]) {
        (DataType::Hash | DataType::Stream, fields) => Held::Fields(fields),
        (_, [(_, value)]) => Held::Text(value),
        _ if is_row => return Err("it is no row of such a key".to_owned()),
        _ => Held::Text(item),
    };
    let rows = rows_of(key, sink, name, &held, origin)
        .map_err(|unfit| format!("{} {}", unfit.column, unfit.problem))?;
    Ok((id.index(), What::Store(rows)))
}

/// A row as JSON, for a letter: its fields by name, and what is no text as `{"hex": "00ff"}`. Where
/// a name is no text, or there twice, as an array of names and values.
pub(crate) fn as_json(pairs: &[(Vec<u8>, Vec<u8>)]) -> Vec<u8> {
    let mut fields = Map::new();
    for (name, value) in pairs {
        let Ok(name) = std::str::from_utf8(name) else { return as_array(pairs) };
        if fields.insert(name.to_owned(), json_of(value)).is_some() {
            return as_array(pairs);
        }
    }
    Value::from(fields).to_string().into_bytes()
}

fn as_array(pairs: &[(Vec<u8>, Vec<u8>)]) -> Vec<u8> {
    let pairs = pairs.iter().map(|(name, value)| Value::from(vec![json_of(name), json_of(value)]));
    Value::from(pairs.collect::<Vec<_>>()).to_string().into_bytes()
}

fn json_of(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => Value::from(text),
        Err(_) => {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            serde_json::json!({ "hex": hex })
        }
    }
}

/// The fields of a row that was put to the letters as JSON.
pub(crate) fn fields_of(item: &[u8]) -> Option<Vec<(Vec<u8>, Vec<u8>)>> {
    match serde_json::from_slice(item).ok()? {
        Value::Object(fields) => {
            let fields = fields.into_iter();
            fields.map(|(name, value)| Some((name.into_bytes(), bytes_of(&value)?))).collect()
        }
        Value::Array(pairs) if !pairs.is_empty() => {
            let pair = |pair: &Value| match &pair.as_array()?[..] {
                [name, value] => Some((bytes_of(name)?, bytes_of(value)?)),
                _ => None,
            };
            pairs.iter().map(pair).collect()
        }
        _ => None,
    }
}

fn bytes_of(value: &Value) -> Option<Vec<u8>> {
    match value {
        Value::String(text) => Some(text.clone().into_bytes()),
        value => of_hex(value.get("hex")?.as_str()?),
    }
}

fn of_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> =
        text.chars().map(|c| u8::try_from(c.to_digit(16)?).ok()).collect::<Option<_>>()?;
    let is_whole = digits.len().is_multiple_of(2);
    is_whole.then(|| digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_comes_back_from_a_letter_as_it_was() {
        let pair = |name: &str, value: &[u8]| (name.as_bytes().to_vec(), value.to_vec());
        let pairs = vec![pair("a", b"x\0"), pair("b", b"\x00\xff")];
        assert_eq!(as_json(&pairs), br#"{"a":"x\u0000","b":{"hex":"00ff"}}"#);
        assert_eq!(fields_of(&as_json(&pairs)), Some(pairs));
        let named = |name: &[u8]| (name.to_vec(), b"x".to_vec());
        let no_object =
            [vec![pair("a", b"1"), pair("a", b"2")], vec![named(b"\xff"), named(b"\xfe")]];
        assert_eq!(as_json(&no_object[1]), br#"[[{"hex":"ff"},"x"],[{"hex":"fe"},"x"]]"#);
        for pairs in no_object {
            assert_eq!(fields_of(&as_json(&pairs)), Some(pairs));
        }
        for broken in
            ["[]", r#"[["a"]]"#, r#"{"a":1}"#, r#"{"a":{"hex":"0"}}"#, r#"{"a":{"hex":"0g"}}"#]
        {
            assert_eq!(fields_of(broken.as_bytes()), None, "{broken}");
        }
    }
}
