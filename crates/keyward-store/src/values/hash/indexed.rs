//! A large hash: fields in an index that grows one bucket at a time.
//!
//! Owns the fields, each in one allocation with its value and without a head.
//! Estimate for a field of 10 bytes and a value of 20: 32 for both and 18 in the
//! index (Redis: strings of 16 and 32, a dictionary entry of 32 and 8 to 16 of
//! its table). Reading a field touches two cache lines.

use super::Pair;
use crate::values::footprint::{Footprint, HeapBytes};
use crate::values::hasher::KeyHasher;
use crate::values::index::Index;
use crate::values::packed::{BoxedItems, Code, Item};
use crate::values::random::Random;

/// Fields with their values, by hash.
pub(super) struct Indexed {
    fields: Index<BoxedItems<2>>,
    hasher: KeyHasher,
}

impl Indexed {
    pub(super) fn new(hasher: KeyHasher) -> Indexed {
        Indexed { fields: Index::default(), hasher }
    }

    pub(super) fn len(&self) -> usize {
        self.fields.len()
    }

    pub(super) fn get(&self, field: Item<'_>) -> Option<Item<'_>> {
        let code = Code::of(field);
        let entry = self.fields.find(hash_of(self.hasher, field), |e| e.is_named(&code))?;
        Some(pair(entry).1)
    }

    /// Gives a field a value; returns whether the field is new.
    pub(super) fn set(&mut self, field: Item<'_>, value: Item<'_>) -> bool {
        let hash = hash_of(self.hasher, field);
        let (field, value) = (Code::of(field), Code::of(value));
        if let Some(spot) = self.fields.locate(hash, |entry| entry.is_named(&field)) {
            self.fields.edit(spot, |entry| entry.set_second(&value));
            return false;
        }
        let (hasher, entry) = (self.hasher, BoxedItems::new([&field, &value]));
        self.fields.insert(hash, entry, |entry| hash_of(hasher, entry.name()));
        true
    }

    pub(super) fn remove(&mut self, field: Item<'_>) -> bool {
        let code = Code::of(field);
        self.fields.remove(hash_of(self.hasher, field), |e| e.is_named(&code)).is_some()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Pair<'_>> {
        self.fields.iter().map(pair)
    }

    /// A field drawn by chance, with its value. There must be one.
    pub(super) fn sample(&self, random: &mut Random) -> Pair<'_> {
        pair(self.fields.sample(random).expect("a large hash is never empty"))
    }

    /// Visits the fields of one bucket; returns the next cursor, zero at the end.
    pub(super) fn scan<'a>(&'a self, cursor: u64, mut visit: impl FnMut(Pair<'a>)) -> u64 {
        self.fields.scan(cursor, |entry| visit(pair(entry)))
    }
}

impl HeapBytes for Indexed {
    fn heap_bytes(&self) -> usize {
        self.fields.heap_bytes()
    }
}

impl Footprint for Indexed {
    fn allocations(&self) -> usize {
        self.fields.len()
    }

    fn shed(&mut self, budget: usize) -> usize {
        self.fields.shed(budget, drop)
    }

    fn gather(&mut self, from: usize, budget: usize) -> Option<usize> {
        self.fields.gather(from, budget, BoxedItems::gather)
    }
}

fn pair(entry: &BoxedItems<2>) -> Pair<'_> {
    let [field, value] = entry.items();
    (field, value)
}

fn hash_of(hasher: KeyHasher, field: Item<'_>) -> u64 {
    hasher.hash(field.text().as_bytes())
}

impl Clone for Indexed {
    fn clone(&self) -> Indexed {
        let mut copy = Indexed::new(self.hasher);
        for (field, value) in self.iter() {
            copy.set(field, value);
        }
        copy
    }
}
