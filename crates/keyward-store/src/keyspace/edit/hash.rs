//! Changing fields of a hash.

use super::{Edit, Place};
use crate::values::hash::{Growth, Hash, Pair};
use crate::values::packed::Item;

impl Edit<'_, Hash> {
    /// Gives a field a value; returns whether the field is new.
    pub fn set(&mut self, growth: &Growth, (field, value): Pair<'_>) -> bool {
        self.record(field, Some(value));
        self.before_part_change(|large, hash| large.field(hash, field));
        self.collection_mut().set(growth, (field, value))
    }

    /// Takes a field out; returns whether it was there.
    pub fn remove(&mut self, field: Item<'_>) -> bool {
        if self.place.space.journal.is_on() && self.get(field).is_some() {
            self.record(field, None);
        }
        self.before_part_change(|large, hash| large.field(hash, field));
        self.collection_mut().remove(field)
    }

    /// Records what a field holds before it changes, and then.
    fn record(&mut self, field: Item<'_>, after: Option<Item<'_>>) {
        if !self.place.space.journal.is_on() {
            return;
        }
        let before = self.get(field).map(|value| value.text().as_bytes().to_vec());
        let Place { key, ref mut space, .. } = self.place;
        let after = after.map(|value| value.text().as_bytes().to_vec());
        let values = [before.as_deref(), after.as_deref()];
        space.journal.field(key, field.text().as_bytes(), values);
    }
}
