//! Rows by themselves, as simple as can be.
//!
//! What a host captures of a row before a command, and what one in memory keeps. Owns a value of
//! every type as the collections of the standard library, and how the book reads it.
//! Invariant: none of it knows where it came from.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::entry::EntryFields;
use crate::view::{Element, Row, RowType};

/// Some bytes.
pub type Bytes = Vec<u8>;

/// What a row holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A string.
    Text(Bytes),
    /// A list.
    List(VecDeque<Bytes>),
    /// A set.
    Set(BTreeSet<Bytes>),
    /// A sorted set: members and their scores.
    Zset(BTreeMap<Bytes, f64>),
    /// A hash: fields and their values.
    Hash(BTreeMap<Bytes, Bytes>),
    /// A stream: the fields of its entries, as [`EntryFields`] has them.
    Stream(Vec<Bytes>),
}

/// A row that belongs to whoever has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// What it holds.
    pub value: Value,
    /// When it ends.
    pub deadline: Option<i64>,
}

impl Stored {
    /// A copy of a row, all of it.
    pub fn copy(row: &dyn Row) -> Stored {
        let deadline = row.deadline();
        let mut value = match row.row_type() {
            RowType::String => Value::Text(row.text().unwrap_or_default().into_owned()),
            RowType::List => Value::List(VecDeque::new()),
            RowType::Set => Value::Set(BTreeSet::new()),
            RowType::Zset => Value::Zset(BTreeMap::new()),
            RowType::Hash => Value::Hash(BTreeMap::new()),
            RowType::Stream => Value::Stream(Vec::new()),
        };
        row.each(&mut |element| value.add(element));
        Stored { value, deadline }
    }

    /// Whether its time is over.
    pub fn is_over(&self, now_ms: i64) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= now_ms)
    }
}

impl Value {
    /// Adds an element of its own type; of another it has none.
    pub fn add(&mut self, element: Element<'_>) {
        match (self, element) {
            (Value::List(items), Element::Item(item)) => items.push_back(item.to_vec()),
            (Value::Set(members), Element::Member(member)) => {
                members.insert(member.to_vec());
            }
            (Value::Zset(members), Element::Scored(member, score)) => {
                members.insert(member.to_vec(), score);
            }
            (Value::Hash(fields), Element::Field(name, value)) => {
                fields.insert(name.to_vec(), value.to_vec());
            }
            (Value::Stream(entries), Element::Entry(fields)) => {
                let mut bytes = Vec::new();
                let texts = fields.pairs().flat_map(|(name, value)| [name, value]);
                EntryFields::write(&mut bytes, texts);
                entries.push(bytes);
            }
            // A row has elements of its type alone.
            _ => {}
        }
    }
}

impl Row for Stored {
    fn row_type(&self) -> RowType {
        match self.value {
            Value::Text(_) => RowType::String,
            Value::List(_) => RowType::List,
            Value::Set(_) => RowType::Set,
            Value::Zset(_) => RowType::Zset,
            Value::Hash(_) => RowType::Hash,
            Value::Stream(_) => RowType::Stream,
        }
    }

    fn deadline(&self) -> Option<i64> {
        self.deadline
    }

    fn len(&self) -> usize {
        match &self.value {
            Value::Text(text) => text.len(),
            Value::List(items) => items.len(),
            Value::Set(members) => members.len(),
            Value::Zset(members) => members.len(),
            Value::Hash(fields) => fields.len(),
            Value::Stream(entries) => entries.len(),
        }
    }

    fn text(&self) -> Option<Cow<'_, [u8]>> {
        match &self.value {
            Value::Text(text) => Some(Cow::Borrowed(text)),
            _ => None,
        }
    }

    fn field(&self, name: &[u8]) -> Option<Cow<'_, [u8]>> {
        match &self.value {
            Value::Hash(fields) => fields.get(name).map(|value| Cow::Borrowed(&value[..])),
            _ => None,
        }
    }

    fn contains(&self, member: &[u8]) -> bool {
        match &self.value {
            Value::List(items) => items.iter().any(|item| item == member),
            Value::Set(members) => members.contains(member),
            Value::Zset(members) => members.contains_key(member),
            Value::Text(_) | Value::Hash(_) | Value::Stream(_) => false,
        }
    }

    fn score(&self, member: &[u8]) -> Option<f64> {
        match &self.value {
            Value::Zset(members) => members.get(member).copied(),
            _ => None,
        }
    }

    fn each(&self, visit: &mut dyn FnMut(Element<'_>)) {
        match &self.value {
            Value::Text(_) => {}
            Value::List(items) => items.iter().for_each(|item| visit(Element::Item(item))),
            Value::Set(members) => members.iter().for_each(|member| visit(Element::Member(member))),
            Value::Zset(members) => {
                members.iter().for_each(|(member, score)| visit(Element::Scored(member, *score)));
            }
            Value::Hash(fields) => {
                fields.iter().for_each(|(name, value)| visit(Element::Field(name, value)));
            }
            Value::Stream(entries) => {
                let entries = entries.iter().map(|entry| EntryFields::of(entry));
                entries.for_each(|entry| visit(Element::Entry(entry)));
            }
        }
    }
}
