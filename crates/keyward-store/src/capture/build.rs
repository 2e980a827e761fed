//! Making values of what is read.

use crate::values::hash;
use crate::values::hasher::KeyHasher;
use crate::values::list::{End, List};
use crate::values::packed::Item;
use crate::values::packed_limits::PackedLimits;
use crate::values::row::NewValue;
use crate::values::set::{self, Set};
use crate::values::stream::load::StreamLoad;
use crate::values::stream::{Facts, StreamId};
use crate::values::value::Object;
use crate::values::zset::{self, Change, ZSet};
use hash::Hash;
use keyward_rdb::{Build, Element, StreamPart, Told};

/// A value on its way into a row.
pub struct Builder {
    hash: hash::Growth,
    set: set::Growth,
    zset: zset::Growth,
    built: Option<Built>,
    /// The stream that is read.
    stream: Option<Box<StreamLoad>>,
    /// The string that is built, in memory that it leaves to the next one.
    text: Vec<u8>,
    /// The text of a number.
    digits: Vec<u8>,
}

/// What a value is so far.
enum Built {
    /// The builder has its text.
    Text,
    Int(i64),
    Object(Object),
}

impl Builder {
    /// A builder that follows these limits.
    pub fn new(limits: &PackedLimits, hasher: KeyHasher) -> Builder {
        Builder {
            hash: hash::Growth::of(limits, hasher),
            set: set::Growth::of(limits, hasher),
            zset: zset::Growth::of(limits, hasher),
            built: None,
            stream: None,
            text: Vec::new(),
            digits: Vec::new(),
        }
    }

    /// The value that was built, if one was; the next one begins.
    pub fn take(&mut self) -> Option<NewValue<'_>> {
        // One that was damaged is not gone on with.
        self.stream = None;
        Some(match self.built.take()? {
            Built::Text => NewValue::Text(&self.text),
            Built::Int(number) => NewValue::Int(number),
            Built::Object(object) => NewValue::Object(object),
        })
    }
}

/// The collection being built, made if it is the first element that comes.
macro_rules! collection {
    ($builder:ident, $kind:ident) => {
        match $builder.built.get_or_insert_with(|| Built::Object(Object::$kind($kind::default()))) {
            Built::Object(Object::$kind(collection)) => collection,
            _ => unreachable!("all elements of a value are of one type"),
        }
    };
}

fn item(element: Element<'_>) -> Item<'_> {
    match element {
        Element::Int(number) => Item::Int(number),
        Element::Bytes(bytes) => Item::of(bytes),
    }
}

/// The bytes of a text; those of a number are put into `digits`.
fn bytes<'a>(element: Element<'a>, digits: &'a mut Vec<u8>) -> &'a [u8] {
    match element {
        Element::Bytes(bytes) => bytes,
        number => {
            digits.clear();
            number.push_to(digits);
            digits
        }
    }
}

impl Build for Builder {
    fn string(&mut self, text: Element<'_>) {
        self.built = Some(match item(text) {
            Item::Int(number) => Built::Int(number),
            Item::Bytes(bytes) => {
                self.text.clear();
                self.text.extend_from_slice(bytes);
                Built::Text
            }
        });
    }

    fn element(&mut self, element: Element<'_>) {
        let list = collection!(self, List);
        list.push(End::Tail, bytes(element, &mut self.digits));
    }

    fn member(&mut self, member: Element<'_>) -> bool {
        collection!(self, Set).add(&self.set, item(member))
    }

    fn scored(&mut self, member: Element<'_>, score: f64) -> bool {
        let zset = collection!(self, ZSet);
        let decide = |old: Option<f64>| old.is_none().then_some(score);
        let member = bytes(member, &mut self.digits);
        zset.update(&self.zset, member, decide) == Change::Added
    }

    fn field(&mut self, field: Element<'_>, value: Element<'_>) -> bool {
        collection!(self, Hash).set(&self.hash, (item(field), item(value)))
    }

    fn stream(&mut self, part: StreamPart<'_>) -> Result<(), &'static str> {
        let id = |(ms, seq)| StreamId { ms, seq };
        let stream = self.stream.get_or_insert_default();
        match part {
            StreamPart::Node(node, listpack) => stream.node(id(node), listpack),
            StreamPart::Facts(facts, told) => {
                let facts = Facts {
                    length: facts.length,
                    first_id: id(facts.first_id),
                    last_id: id(facts.last_id),
                    removed_id: id(facts.removed_id),
                    added: facts.added,
                };
                stream.facts(facts, told == Told::All)
            }
            StreamPart::Group(name, last_id, read) => {
                let read = read.map(|read| Some(read).filter(|read| *read != u64::MAX));
                stream.group(name, id(last_id), read)
            }
            StreamPart::Pending(entry, ms, count) => stream.pending(id(entry), ms, count),
            StreamPart::Consumer(name, seen_ms) => stream.consumer(name, seen_ms),
            StreamPart::Owned(entry) => stream.owned(id(entry)),
            StreamPart::End => {
                let stream = self.stream.take().unwrap_or_default().end()?;
                self.built = Some(Built::Object(Object::Stream(stream)));
                Ok(())
            }
        }
    }
}
