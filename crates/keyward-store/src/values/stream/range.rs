//! The entries between two ids.

use super::Body;
use super::id::StreamId;
use super::node::{self, Entry};
use super::tree::Place;

/// Which way entries are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the first one on.
    Forward,
    /// From the last one back.
    Backward,
}

/// The entries between two ids that are there.
#[derive(Debug, Clone)]
pub struct Range<'a> {
    body: &'a Body,
    /// The node that is being read.
    place: Option<Place>,
    entries: Entries<'a>,
    bounds: [StreamId; 2],
}

#[derive(Debug, Clone)]
enum Entries<'a> {
    Forward(node::Forward<'a>),
    Backward(node::Backward<'a>),
    Nothing,
}

/// Entries that are looked up by ids which come in order: those of a node are gone through once.
#[derive(Debug)]
pub struct Lookups<'a> {
    body: &'a Body,
    asked: Option<StreamId>,
    /// The first entry that is there from the id on that was asked for last.
    next: Option<Entry<'a>>,
    behind: Range<'a>,
}

impl<'a> Lookups<'a> {
    /// The entry of an id.
    pub fn get(&mut self, id: StreamId) -> Option<Entry<'a>> {
        let is_in_order = self.asked.is_some_and(|asked| asked <= id);
        if !is_in_order || self.next.is_some_and(|next| next.id < id) {
            let nodes = &self.body.nodes;
            let place = nodes.seek(id).or_else(|| nodes.first());
            if !is_in_order || place != self.behind.place {
                self.behind = self.body.range([id, StreamId::MAX], Direction::Forward);
                self.next = self.behind.next();
            }
            while self.next.is_some_and(|next| next.id < id) {
                self.next = self.behind.next();
            }
        }
        self.asked = Some(id);
        self.next.filter(|next| next.id == id)
    }
}

impl Body {
    /// Looks entries up whose ids come in order.
    pub fn lookups(&self) -> Lookups<'_> {
        let nothing = [StreamId::MIN; 2];
        let behind = Range { body: self, place: None, entries: Entries::Nothing, bounds: nothing };
        Lookups { body: self, asked: None, next: None, behind }
    }

    /// The entries from one id to another, both included.
    pub fn range(&self, bounds: [StreamId; 2], direction: Direction) -> Range<'_> {
        let nodes = &self.nodes;
        let place = match direction {
            Direction::Forward => nodes.seek(bounds[0]).or_else(|| nodes.first()),
            Direction::Backward => nodes.seek(bounds[1]).or_else(|| nodes.last()),
        };
        let entries = match place.map(|place| nodes.at(place)) {
            Some(twig) if direction == Direction::Forward && place == nodes.last() => {
                Entries::Forward(twig.leaf.forward_from(twig.first, bounds[0]))
            }
            Some(twig) if direction == Direction::Forward => {
                Entries::Forward(twig.leaf.forward(twig.first))
            }
            Some(twig) => Entries::Backward(twig.leaf.backward(twig.first, bounds[1])),
            None => Entries::Nothing,
        };
        Range { body: self, place, entries, bounds }
    }

    /// All entries, from the first one on.
    pub fn all(&self) -> Range<'_> {
        self.range([StreamId::MIN, StreamId::MAX], Direction::Forward)
    }

    /// Some entries, from a cursor on that is zero at first, and the next cursor, zero at
    /// the end. What is there throughout is among them, unless nodes before it go.
    pub fn some_from(&self, cursor: u64) -> (impl Iterator<Item = Entry<'_>>, u64) {
        let number = usize::try_from(cursor).unwrap_or(usize::MAX);
        let place = self.nodes.nth(number);
        let entries = place.into_iter().flat_map(|place| {
            let twig = self.nodes.at(place);
            twig.leaf.forward(twig.first).filter(|entry| !entry.is_dead())
        });
        let next = number.saturating_add(1);
        (entries, if next < self.nodes.len() { next as u64 } else { 0 })
    }

    /// The id of the first entry, whether it is there or was removed within its node.
    pub fn first_stored_id(&self) -> Option<StreamId> {
        let twig = self.nodes.at(self.nodes.first()?);
        twig.leaf.forward(twig.first).next().map(|entry| entry.id)
    }
}

impl<'a> Iterator for Range<'a> {
    type Item = Entry<'a>;

    #[inline]
    fn next(&mut self) -> Option<Entry<'a>> {
        let nodes = &self.body.nodes;
        let [first, last] = self.bounds;
        loop {
            match &mut self.entries {
                Entries::Forward(entries) => {
                    for entry in entries.by_ref().filter(|entry| !entry.is_dead()) {
                        if entry.id > last {
                            self.entries = Entries::Nothing;
                            return None;
                        }
                        if entry.id >= first {
                            return Some(entry);
                        }
                    }
                    self.place = nodes.next(self.place?);
                    let twig = nodes.at(self.place?);
                    self.entries = Entries::Forward(twig.leaf.forward(twig.first));
                }
                Entries::Backward(entries) => {
                    for entry in entries.by_ref().filter(|entry| !entry.is_dead()) {
                        if entry.id < first {
                            self.entries = Entries::Nothing;
                            return None;
                        }
                        if entry.id <= last {
                            return Some(entry);
                        }
                    }
                    self.place = nodes.previous(self.place?);
                    let twig = nodes.at(self.place?);
                    self.entries = Entries::Backward(twig.leaf.backward(twig.first, last));
                }
                Entries::Nothing => return None,
            }
        }
    }
}
