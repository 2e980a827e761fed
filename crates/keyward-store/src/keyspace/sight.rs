//! The keyspace as the rule book sees it.
//!
//! Owns nothing: a view of one database in which rows whose time is over are
//! gone, whether anybody has removed them yet or not.

use super::Keyspace;
use crate::values::packed::Item;
use crate::values::row::{LentRow, Row, Shelf};
use crate::values::stream::Entry;
use crate::values::text::Text;
use crate::values::value::{ObjectRef, Type, Value};
use keyward_rules::{Element, EntryFields, NotYet, RowType, View};
use keyward_schema::KeyId;
use std::borrow::Cow;
use std::cell::RefCell;

/// One database, as the rule book reads it.
pub struct Sight<'a> {
    pub(super) keys: &'a Keyspace,
    pub(super) db: usize,
    /// Packed rows that it was asked for.
    pub(super) shelf: Shelf,
    /// Keys it was asked for of which a pending end has yet to remove something.
    pub(super) unfinished: RefCell<Vec<Box<[u8]>>>,
}

impl Sight<'_> {
    /// Keys it was asked for that have to be finished before what it showed of them is true.
    pub fn into_unfinished(self) -> Vec<Box<[u8]>> {
        self.unfinished.into_inner()
    }

    /// Notes a key that is asked for if a pending end has yet to remove something of it.
    fn note(&self, key: &[u8]) {
        if self.keys.has_pending() && !self.keys.unfinished(self.db, key).is_empty() {
            self.unfinished.borrow_mut().push(key.into());
        }
    }

    /// Whether a row is there for everybody.
    fn lives(&self, row: &Row) -> bool {
        let outlives = || self.keys.has_pending() && self.keys.outlives(self.db, row.key());
        let lives_with =
            || self.keys.end_with_leader(self.keys.key_in(self.db, row.key())).is_some();
        !self.keys.is_due(row) || outlives() || lives_with()
    }

    /// Lends a row that was found, unless its time is over.
    fn lend<'s>(&'s self, row: Option<LentRow<'s>>) -> Option<&'s dyn keyward_rules::Row> {
        let row = row.filter(|row| self.lives(row)).map(|row| self.shelf.lend(row));
        row.map(|row| row as &dyn keyward_rules::Row)
    }
}

impl View for Sight<'_> {
    fn now_ms(&self) -> i64 {
        self.keys.now_ms
    }

    fn row(&self, key: &[u8]) -> Result<Option<&dyn keyward_rules::Row>, NotYet> {
        self.note(key);
        Ok(self.lend(self.keys.databases[self.db].find(key)))
    }

    fn row_of(&self, table: KeyId, key: &[u8]) -> Result<Option<&dyn keyward_rules::Row>, NotYet> {
        self.note(key);
        Ok(self.lend(self.keys.databases[self.db].find_of(table, key)))
    }

    fn glance(
        &self,
        key: &[u8],
        visit: &mut dyn FnMut(Option<&dyn keyward_rules::Row>),
    ) -> Result<(), NotYet> {
        self.note(key);
        let row = self.keys.databases[self.db].find(key);
        let row = row.filter(|row| self.lives(row));
        visit(row.as_ref().map(|row| &**row as &dyn keyward_rules::Row));
        Ok(())
    }

    fn each_companion(&self, key: &[u8], visit: &mut dyn FnMut(&[u8])) -> Result<(), NotYet> {
        self.keys.databases[self.db].each_companion(key, visit);
        Ok(())
    }

    fn is_due(&self, key: &[u8]) -> bool {
        self.keys.databases[self.db].find(key).is_some_and(|row| self.keys.is_due(&row))
    }

    fn glance_due(&self, key: &[u8], visit: &mut dyn FnMut(&dyn keyward_rules::Row)) {
        let row = self.keys.databases[self.db].find(key).filter(|row| self.keys.is_due(row));
        if let Some(row) = row {
            visit(&*row);
        }
    }

    fn companion_count(&self, key: &[u8]) -> usize {
        self.keys.databases[self.db].companion_count(key)
    }

    fn removed_at_once(&self) -> usize {
        self.keys.removed_at_once()
    }
}

impl keyward_rules::Row for Row {
    fn row_type(&self) -> RowType {
        match self.value().kind() {
            Type::String => RowType::String,
            Type::List => RowType::List,
            Type::Set => RowType::Set,
            Type::ZSet => RowType::Zset,
            Type::Hash => RowType::Hash,
            Type::Stream => RowType::Stream,
        }
    }

    fn deadline(&self) -> Option<i64> {
        Row::deadline(self)
    }

    fn len(&self) -> usize {
        match self.value() {
            Value::Object(object) => object.len(),
            value => Text::of(value).map_or(0, |text| text.as_bytes().len()),
        }
    }

    fn heap_bytes(&self) -> usize {
        match self.value() {
            Value::Object(object) => object.heap_bytes(),
            _ => 0,
        }
    }

    fn text(&self) -> Option<Cow<'_, [u8]>> {
        match self.value() {
            Value::Text(text) => Some(Cow::Borrowed(text)),
            value => Text::of(value).map(|text| Cow::Owned(text.as_bytes().to_vec())),
        }
    }

    fn number(&self) -> Option<i64> {
        match self.value() {
            Value::Int(number) => Some(number),
            _ => None,
        }
    }

    fn field(&self, name: &[u8]) -> Option<Cow<'_, [u8]>> {
        match self.value() {
            Value::Object(ObjectRef::Hash(hash)) => hash.get(Item::of(name)).map(text_of),
            _ => None,
        }
    }

    fn contains(&self, member: &[u8]) -> bool {
        match self.value() {
            Value::Object(ObjectRef::Set(set)) => set.contains(Item::of(member)),
            Value::Object(ObjectRef::ZSet(zset)) => zset.score(member).is_some(),
            Value::Object(ObjectRef::List(list)) => {
                let wanted = Item::of(member);
                list.forward(0).any(|item| item == wanted)
            }
            _ => false,
        }
    }

    fn score(&self, member: &[u8]) -> Option<f64> {
        match self.value() {
            Value::Object(ObjectRef::ZSet(zset)) => zset.score(member),
            _ => None,
        }
    }

    fn each(&self, visit: &mut dyn FnMut(Element<'_>)) {
        let Value::Object(object) = self.value() else { return };
        match object {
            ObjectRef::Hash(hash) => hash.iter().for_each(|(field, value)| {
                visit(Element::Field(field.text().as_bytes(), value.text().as_bytes()));
            }),
            ObjectRef::List(list) => {
                list.forward(0).for_each(|item| visit(Element::Item(item.text().as_bytes())));
            }
            ObjectRef::Set(set) => {
                set.iter().for_each(|member| visit(Element::Member(member.text().as_bytes())));
            }
            ObjectRef::ZSet(zset) => zset
                .iter(0..zset.len())
                .for_each(|(member, score)| visit(Element::Scored(member, score))),
            ObjectRef::Stream(stream) => each_entry(stream.all(), visit),
        }
    }

    fn each_some(&self, cursor: u64, visit: &mut dyn FnMut(Element<'_>)) -> u64 {
        match self.value() {
            Value::Object(ObjectRef::Set(set)) => {
                set.scan(cursor, |member| visit(Element::Member(member.text().as_bytes())))
            }
            Value::Object(ObjectRef::ZSet(zset)) => {
                zset.scan(cursor, |member, score| visit(Element::Scored(member, score)))
            }
            Value::Object(ObjectRef::Stream(stream)) => {
                let (from, next) = stream.some_from(cursor);
                each_entry(from, visit);
                next
            }
            _ => {
                self.each(visit);
                0
            }
        }
    }
}

fn each_entry<'a>(entries: impl Iterator<Item = Entry<'a>>, visit: &mut dyn FnMut(Element<'_>)) {
    let mut fields = Vec::new();
    for entry in entries {
        fields.clear();
        for (name, value) in entry.pairs() {
            let (name, value) = (name.text(), value.text());
            EntryFields::write(&mut fields, [name.as_bytes(), value.as_bytes()].into_iter());
        }
        visit(Element::Entry(EntryFields::of(&fields)));
    }
}

fn text_of(item: Item<'_>) -> Cow<'_, [u8]> {
    match item {
        Item::Bytes(bytes) => Cow::Borrowed(bytes),
        item => Cow::Owned(item.text().as_bytes().to_vec()),
    }
}
