//! Rows in memory, as simple as can be.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use keyward_rules::{Element, NotYet, Row, RowType, RuleBook, View};

pub(crate) type Bytes = Vec<u8>;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Text(Bytes),
    List(VecDeque<Bytes>),
    Set(BTreeSet<Bytes>),
    Zset(BTreeMap<Bytes, f64>),
    Hash(BTreeMap<Bytes, Bytes>),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stored {
    pub(crate) value: Value,
    pub(crate) deadline: Option<i64>,
}

/// All rows at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Keyspace {
    pub(crate) rows: BTreeMap<Bytes, Stored>,
}

/// A keyspace, its book and the time: what the book sees.
pub(crate) struct Scene<'a> {
    pub(crate) keyspace: &'a Keyspace,
    pub(crate) book: &'a RuleBook,
    pub(crate) now_ms: i64,
    /// How many rows the book has asked for, to keep them.
    pub(crate) rows_asked: &'a Cell<usize>,
}

impl Stored {
    pub(crate) fn is_over(&self, now_ms: i64) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= now_ms)
    }
}

impl View for Scene<'_> {
    fn now_ms(&self) -> i64 {
        self.now_ms
    }

    fn row(&self, key: &[u8]) -> Result<Option<&dyn Row>, NotYet> {
        self.rows_asked.set(self.rows_asked.get() + 1);
        let row = self.keyspace.rows.get(key).filter(|row| !row.is_over(self.now_ms));
        Ok(row.map(|row| row as &dyn Row))
    }

    /// What is only glanced at is not kept, and not counted.
    fn glance(&self, key: &[u8], visit: &mut dyn FnMut(Option<&dyn Row>)) -> Result<(), NotYet> {
        let row = self.keyspace.rows.get(key).filter(|row| !row.is_over(self.now_ms));
        visit(row.map(|row| row as &dyn Row));
        Ok(())
    }

    fn each_companion(&self, key: &[u8], visit: &mut dyn FnMut(&[u8])) -> Result<(), NotYet> {
        for other in self.keyspace.rows.keys() {
            let leader = self.book.table_of(other).and_then(|table| self.book.leader(table, other));
            if leader.as_deref() == Some(key) {
                visit(other);
            }
        }
        Ok(())
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
            Value::Text(_) | Value::Hash(_) => false,
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
        }
    }
}
