//! Writing a value.

use crate::values::packed::Item;
use crate::values::stream::{Facts, Group, Stream, StreamId};
use crate::values::value::{ObjectRef, Value};
use keyward_rdb::{ConsumerHead, Element, Form, GroupHead, Output, StreamFacts};
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
        Value::Object(ObjectRef::Stream(_)) => Form::Stream,
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
        ObjectRef::Stream(stream) => write_stream(stream, output),
    }
}

fn write_stream<W: Write>(stream: &Stream, output: &mut Output<W>) -> io::Result<()> {
    output.stream_nodes(stream.node_count());
    for (id, listpack) in stream.nodes_from(0) {
        output.stream_node((id.ms, id.seq), &listpack)?;
    }
    output.stream_facts(&facts_of(stream.facts()), stream.group_count())?;
    for (name, group) in stream.groups() {
        let last_id = (group.last_id.ms, group.last_id.seq);
        let pending = group.pending().len();
        output.stream_group(GroupHead { name, last_id, read: read_of(group), pending })?;
        for (id, pending) in group.pending().iter() {
            output.stream_pending((id.ms, id.seq), pending.delivered_ms, pending.deliveries)?;
        }
        output.stream_consumers(group.consumers().len());
        for (_, consumer) in group.consumers() {
            let owned = consumer.pending().len();
            let (name, seen_ms) = (consumer.name(), consumer.seen_ms());
            output.stream_consumer(ConsumerHead { name, seen_ms, owned })?;
            for (id, ()) in consumer.pending().iter() {
                output.stream_owned((id.ms, id.seq))?;
            }
        }
    }
    Ok(())
}

/// What files say of the entries of a stream.
pub(crate) fn facts_of(facts: &Facts) -> StreamFacts {
    let id = |id: StreamId| (id.ms, id.seq);
    StreamFacts {
        length: facts.length,
        last_id: id(facts.last_id),
        first_id: id(facts.first_id),
        removed_id: id(facts.removed_id),
        added: facts.added,
    }
}

/// What files say of how much a group has read.
pub(crate) fn read_of(group: &Group) -> u64 {
    group.entries_read.unwrap_or(u64::MAX)
}
