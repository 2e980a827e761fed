//! Changing items of a list.

use super::{Edit, Place};
use crate::capture::large::list::ListStep;
use crate::keyspace::journal::Journal;
use crate::values::list::{End, List};
use crate::values::packed::Item;
use std::ops::Range;

/// So few items are recorded one by one, rather than as a list of their own.
const FEW: usize = 64;

impl<'a> Edit<'a, List> {
    /// Adds an element at an end.
    #[inline]
    pub fn push(&mut self, end: End, element: &[u8]) {
        self.record(|journal, key| journal.pushed(key, end, element));
        self.before_part_change(|large, list| large.items(list, &ListStep::Push(end)));
        self.collection_mut().push(end, element);
    }

    /// Takes an element away from an end, if there is one.
    #[inline]
    pub fn pop(&mut self, end: End) {
        if self.place.space.journal.is_on()
            && let Some(item) = self.peek(end).map(owned)
        {
            self.record(|journal, key| journal.popped(key, end, &item));
        }
        self.before_part_change(|large, list| large.items(list, &ListStep::Pop(end)));
        self.collection_mut().pop(end);
    }

    /// Puts an element before the one of this index, or at the end.
    pub fn insert(&mut self, index: usize, element: &[u8]) {
        let index = index.min(self.len());
        self.record(|journal, key| journal.placed(key, (index, element), None));
        self.before_part_change(|large, list| large.items(list, &ListStep::Insert(index)));
        self.collection_mut().insert(index, element);
    }

    /// Replaces the element of an index; whether there is one.
    pub fn set(&mut self, index: usize, element: &[u8]) -> bool {
        if self.place.space.journal.is_on()
            && let Some(before) = self.get(index).map(owned)
        {
            let new = (index, element);
            self.record(|journal, key| journal.placed(key, new, Some(&before)));
        }
        self.before_part_change(|large, list| large.items(list, &ListStep::Set(index)));
        self.collection_mut().set(index, element)
    }

    /// Takes out the elements of a range of indexes within the length.
    pub fn remove(&mut self, indexes: Range<usize>) {
        if self.place.space.journal.is_on() && indexes.len() > FEW {
            // They go to the journal as they are.
            let step = ListStep::Remove(indexes.clone());
            self.before_part_change(|large, list| large.items(list, &step));
            let items = self.collection_mut().cut(indexes.clone());
            return self.record(|journal, key| journal.cut(key, indexes.start, items));
        }
        if self.place.space.journal.is_on() {
            // Told from the last to the first, each at the index it has then.
            let leaving: Vec<_> =
                self.forward(indexes.start).take(indexes.len()).map(owned).collect();
            for (index, item) in indexes.clone().zip(&leaving).rev() {
                self.record(|journal, key| journal.taken(key, (index, item)));
            }
        }
        self.before_part_change(|large, list| {
            large.items(list, &ListStep::Remove(indexes.clone()))
        });
        self.collection_mut().remove(indexes);
    }

    /// Takes out the elements equal to `element`, at most `max`, the nearest to
    /// `end` first; returns how many.
    pub fn remove_equal(&mut self, element: &[u8], max: usize, end: End) -> usize {
        if self.place.space.journal.is_on() {
            let indexes = equal(self, element, max, end);
            self.record(|journal, key| journal.taken_equal(key, element, indexes));
        }
        self.before_part_change(|large, list| {
            for index in equal(list, element, max, end).into_iter().rev() {
                large.items(list, &ListStep::Remove(index..index + 1));
            }
        });
        self.collection_mut().remove_equal(element, max, end)
    }

    #[inline]
    fn record(&mut self, step: impl FnOnce(&mut Journal, crate::values::hasher::Key<'a>)) {
        let Place { key, ref mut space, .. } = self.place;
        if space.journal.is_on() {
            step(&mut space.journal, key);
        }
    }
}

/// The indexes of elements that are equal to one, at most `max`, the nearest to `end`.
fn equal(list: &List, element: &[u8], max: usize, end: End) -> Vec<usize> {
    let wanted = Item::of(element);
    let equal = list.forward(0).enumerate().filter(|(_, item)| *item == wanted);
    let mut indexes: Vec<usize> = equal.map(|(index, _)| index).collect();
    match end {
        End::Head => indexes.truncate(max),
        End::Tail => drop(indexes.drain(..indexes.len().saturating_sub(max))),
    }
    indexes
}

fn owned(item: Item<'_>) -> Box<[u8]> {
    item.text().as_bytes().into()
}
