//! Lists: a sequence of byte strings with two ends.
//!
//! Owns the representation. Invariants: none beyond the elements' order; an
//! empty list never stays in a row (`keyspace::edit` removes it).
//! Not here: the commands (`list::commands`), waiting for elements (`blocking`).

pub(crate) mod commands;

use std::collections::VecDeque;

/// A list value.
#[derive(Debug, Clone, Default)]
pub struct List {
    elements: VecDeque<Box<[u8]>>,
}

impl List {
    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    /// The name `OBJECT ENCODING` answers: Redis 7.0 has one for every list.
    pub fn encoding(&self) -> &'static str {
        "quicklist"
    }

    /// Adds at the head.
    pub fn push_front(&mut self, element: &[u8]) {
        self.elements.push_front(element.into());
    }

    /// Adds at the tail.
    pub fn push_back(&mut self, element: &[u8]) {
        self.elements.push_back(element.into());
    }

    /// Takes from the head.
    pub fn pop_front(&mut self) -> Option<Box<[u8]>> {
        self.elements.pop_front()
    }

    /// Takes from the tail.
    pub fn pop_back(&mut self) -> Option<Box<[u8]>> {
        self.elements.pop_back()
    }

    /// The elements from index `start` up to, not including, `end`.
    pub fn range(&self, start: usize, end: usize) -> impl ExactSizeIterator<Item = &[u8]> {
        self.elements.range(start..end).map(|e| &**e)
    }
}
