//! Making values of what is read.

use crate::hasher::KeyHasher;
use crate::list::{End, List};
use crate::packed::Item;
use crate::row::OwnedValue;
use crate::set::Set;
use crate::tunables::Tunables;
use crate::value::Object;
use crate::zset::{Change, ZSet};
use crate::{hash, set, zset};
use hash::Hash;
use keyward_rdb::{Build, Element};

/// A value on its way into a row.
pub(crate) struct Builder {
    hash: hash::Growth,
    set: set::Growth,
    zset: zset::Growth,
    value: Option<OwnedValue>,
    /// The text of a number.
    digits: Vec<u8>,
}

impl Builder {
    pub(crate) fn new(tunables: &Tunables, hasher: KeyHasher) -> Builder {
        Builder {
            hash: hash::Growth::of(tunables, hasher),
            set: set::Growth::of(tunables, hasher),
            zset: zset::Growth::of(tunables, hasher),
            value: None,
            digits: Vec::new(),
        }
    }

    /// The value that was built, if one was; the next one begins.
    pub(crate) fn take(&mut self) -> Option<OwnedValue> {
        self.value.take()
    }
}

/// The collection being built, made if it is the first element that comes.
macro_rules! collection {
    ($builder:ident, $kind:ident) => {
        match $builder
            .value
            .get_or_insert_with(|| OwnedValue::Object(Object::$kind($kind::default())))
        {
            OwnedValue::Object(Object::$kind(collection)) => collection,
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
        self.value = Some(match item(text) {
            Item::Int(number) => OwnedValue::Int(number),
            Item::Bytes(bytes) => OwnedValue::Text(bytes.to_vec()),
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
}
