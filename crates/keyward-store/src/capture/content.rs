//! Writing a value.

use crate::values::packed::Item;
use crate::values::value::{ObjectRef, Value};
use keyward_rdb::{Element, Form, Output};
use std::io::{self, Write};

impl<'a> From<Item<'a>> for Element<'a> {
    fn from(item: Item<'a>) -> Element<'a> {
        match item {
            Item::Int(number) => Element::Int(number),
            Item::Bytes(bytes) => Element::Bytes(bytes),
        }
    }
}

/// The form a value is written in: the one Redis has for such a value in memory.
pub fn form(value: Value<'_>) -> Form {
    match value {
        Value::Text(_) | Value::Int(_) => Form::String,
        Value::Object(ObjectRef::List(_)) => Form::List,
        Value::Object(ObjectRef::Set(set)) if set.is_intset() => Form::Intset,
        Value::Object(ObjectRef::Set(_)) => Form::Set,
        Value::Object(ObjectRef::ZSet(zset)) if zset.is_packed() => Form::PackedSortedSet,
        Value::Object(ObjectRef::ZSet(_)) => Form::SortedSet,
        Value::Object(ObjectRef::Hash(hash)) if hash.is_packed() => Form::PackedHash,
        Value::Object(ObjectRef::Hash(_)) => Form::Hash,
    }
}

/// Writes a value in its form.
pub fn write<W: Write>(value: Value<'_>, output: &mut Output<W>) -> io::Result<()> {
    let object = match value {
        Value::Text(text) => return output.string(Element::Bytes(text)),
        Value::Int(number) => return output.string(Element::Int(number)),
        Value::Object(object) => object,
    };
    match object {
        ObjectRef::List(list) => output.list(list.forward(0).map(Element::from)),
        ObjectRef::Set(set) if set.is_intset() => {
            let number = |member| match member {
                Item::Int(number) => number,
                Item::Bytes(_) => unreachable!("a set of numbers has numbers only"),
            };
            let numbers: Vec<i64> = set.iter().map(number).collect();
            output.intset(numbers.into_iter())
        }
        ObjectRef::Set(set) => output.set(set.iter().map(Element::from)),
        ObjectRef::ZSet(zset) => {
            let members = zset.iter(0..zset.len());
            let members = members.map(|(member, score)| (Item::of(member).into(), score));
            if zset.is_packed() {
                output.packed_sorted_set(members)
            } else {
                output.sorted_set(members.rev())
            }
        }
        ObjectRef::Hash(hash) => {
            let fields = hash.iter().map(|(field, value)| (field.into(), value.into()));
            if hash.is_packed() { output.packed_hash(fields) } else { output.hash(fields) }
        }
    }
}
