//! Streams: entries that come one behind the other, and groups that read them.
//!
//! Owns the representation: nodes of packed entries (`node`) in a tree by their first ids
//! (`tree`), and what is told of all of them. Files and payloads have a node as Redis has
//! it in its place, byte for byte, and new ones begin where Redis begins them: so approximate
//! trims remove the same entries. In memory only nodes that change and the newest two are such
//! listpacks; others are stripped of what follows from the rest (`stripped`).
//!
//! Everything below the row is shared until it changes (copy-on-write), so that a copy of a
//! stream takes no longer than a glance at it: a snapshot keeps one, COPY and the journal
//! too.
//!
//! Estimate: an entry of five fields with values of ten bytes takes 4 + 5 * 11 bytes, and
//! its part of its node's names, head, place and room to spare some five: 64 bytes. That is a
//! tenth less than Redis takes; pending entries take less, too (`group`).
//! A stream of one short entry takes 160 bytes for itself, 160 for the tree and some 64 for
//! the node; Redis four kilobytes. Appending copies the entry twice and touches two shared
//! counts.
//!
//! Invariants: `length` is the number of live entries; `first_id` is that of the first one,
//! zero if there is none; no live entry lies behind `last_id`. A stream without entries
//! stays in its row.
//! Not here: waiting for entries (`blocking`), what clients write (`commands::stream`).

mod checked;
pub mod group;
pub mod id;
pub mod id_map;
mod listpack;
pub mod load;
mod node;
mod radix;
pub mod range;
mod stripped;
#[cfg(test)]
mod tests;
mod tree;
pub mod trim;

pub use group::{ConsumerNumber, EntriesRead, Group, Pending};
pub use id::StreamId;
pub use node::{Entry, Fields, Pairs};
pub use range::{Direction, Range};
pub use trim::{Bound, Trim};

use crate::values::footprint::{Footprint, HeapBytes};
use crate::values::size_class::size_class;
use group::Groups;
use node::Node;
use std::borrow::Cow;
use std::ops::Deref;
use std::sync::Arc;
use tree::Tree;

/// A stream value.
#[derive(Clone, Default)]
pub struct Stream {
    content: Box<Content>,
}

#[derive(Debug, Clone, Default)]
struct Content {
    body: Body,
    groups: Option<Arc<Groups>>,
}

/// The entries of a stream, and what is told of them.
#[derive(Debug, Clone, Default)]
pub struct Body {
    nodes: Tree<Node>,
    facts: Facts,
}

/// What is told of the entries of a stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Facts {
    /// How many there are.
    pub length: u64,
    /// The first one that is there; zero if none is.
    pub first_id: StreamId,
    /// The last one that was ever added, or what XSETID says.
    pub last_id: StreamId,
    /// The highest one that was removed by its id.
    pub removed_id: StreamId,
    /// How many were ever added.
    pub added: u64,
}

/// When a node is full: the settings `stream-node-max-…`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeLimits {
    /// Bytes; zero for no limit of its own.
    pub bytes_max: usize,
    /// Entries; zero for no limit.
    pub entries_max: usize,
}

impl Default for NodeLimits {
    /// Redis's.
    fn default() -> NodeLimits {
        NodeLimits { bytes_max: 4096, entries_max: 100 }
    }
}

/// The most bytes of all fields and values of an entry in Redis. A node holds names twice, so
/// that here half of it is the bound.
const ENTRY_BYTES_MAX: usize = 1 << 30;
/// What a text takes in a node besides its bytes, at most.
const TEXT_HEAD_BYTES_MAX: usize = 10;

/// Fields and values of an entry are too long for a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong;

impl Deref for Stream {
    type Target = Body;

    fn deref(&self) -> &Body {
        &self.content.body
    }
}

impl Body {
    /// What is told of the entries.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// How many nodes there are.
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// The nodes as files have them: ids and listpacks, from one of this number on.
    pub fn nodes_from(&self, number: usize) -> impl Iterator<Item = (StreamId, Cow<'_, [u8]>)> {
        let start = self.nodes.nth(number);
        let twigs = start.into_iter().flat_map(|place| self.nodes.from(place));
        twigs.map(|twig| (twig.first, twig.leaf.listpack()))
    }

    /// How many nodes a radix tree of the ids of nodes has, as Redis's has them.
    pub fn radix_nodes(&self) -> usize {
        radix::node_count(self.nodes.from(tree::Place::START).map(|twig| twig.first))
    }

    /// The id of the next entry at a time, if there is one.
    pub fn next_id(&self, now_ms: u64) -> Option<StreamId> {
        let last = self.facts.last_id;
        if now_ms > last.ms { Some(StreamId::new(now_ms, 0)) } else { last.next() }
    }

    /// Adds an entry: names and values in turn. Its id lies behind `last_id`.
    fn append<'a>(
        &mut self,
        id: StreamId,
        limits: &NodeLimits,
        texts: impl Fields<'a>,
    ) -> Result<(), TooLong> {
        let (bytes, count) = texts.clone().fold((0usize, 0usize), |(bytes, count), text| {
            (bytes.saturating_add(text.len()), count + 1)
        });
        // A new node has the names twice.
        let most = 2usize.saturating_mul(bytes.saturating_add(count * TEXT_HEAD_BYTES_MAX));
        if bytes > ENTRY_BYTES_MAX || most.saturating_add(NODE_HEAD_BYTES_MAX) > node::BYTES_MAX {
            return Err(TooLong);
        }
        let room = self.nodes.last().filter(|place| {
            self.has_room(*place, bytes, most, limits) || self.begins_with(*place, id)
        });
        match room {
            Some(place) if self.nodes.at(place).leaf.listpack_bytes() + most > node::BYTES_MAX => {
                return Err(TooLong);
            }
            Some(place) => {
                self.nodes.edit(place, |first, node| node.append(first, id, texts));
            }
            None => {
                let mut node = Node::new(texts.clone());
                node.append(id, id, texts);
                self.strip_behind();
                let is_new = self.nodes.insert(id, node);
                assert!(is_new, "only the last node may begin with an id that is yet to come");
            }
        }
        self.facts.length += 1;
        self.facts.added = self.facts.added.wrapping_add(1);
        self.facts.last_id = id;
        if self.facts.length == 1 {
            self.facts.first_id = id;
        }
        Ok(())
    }

    /// Strips the node before the last one, behind which another comes: what is newest is what
    /// is read most, and stays as it is.
    fn strip_behind(&mut self) {
        let last = self.nodes.last();
        let Some(place) = last.and_then(|last| self.nodes.previous(last)) else { return };
        if let Some(stripped) = self.nodes.at(place).leaf.stripped() {
            self.nodes.edit(place, |_, node| *node = stripped);
        }
    }

    /// Whether the node at a place takes another entry of so many bytes.
    fn has_room(&self, place: tree::Place, bytes: usize, most: usize, limits: &NodeLimits) -> bool {
        let twig = self.nodes.at(place);
        let taken = twig.leaf.listpack_bytes();
        let bytes_max = match limits.bytes_max {
            0 => ENTRY_BYTES_MAX,
            max => max.min(ENTRY_BYTES_MAX),
        };
        let count = twig.live as usize + twig.dead as usize;
        taken + bytes < bytes_max
            && (limits.entries_max == 0 || count < limits.entries_max)
            && taken + most <= node::BYTES_MAX
    }

    /// Whether a node begins with an id that is yet to come: XSETID went back behind entries
    /// that were removed from it.
    fn begins_with(&self, place: tree::Place, id: StreamId) -> bool {
        self.nodes.at(place).first >= id
    }

    /// Takes the last entry out again; everything that is told is as it was then.
    fn take_last(&mut self, before: Facts) {
        let place = self.nodes.last().expect("an entry was added");
        let twig = self.nodes.at(place);
        if twig.live + twig.dead == 1 {
            self.nodes.remove(place);
        } else {
            self.nodes.edit(place, |_, node| node.take_last());
        }
        self.facts = before;
    }

    /// The node that has the entry of an id. XSETID may have gone back behind entries that
    /// were removed, so it is not always the one that the id belongs to.
    fn node_of(&self, id: StreamId) -> Option<tree::Place> {
        let mut place = self.nodes.seek(id).or_else(|| self.nodes.first());
        while let Some(at) = place {
            let twig = self.nodes.at(at);
            let mut live = twig.leaf.forward(twig.first).filter(|entry| !entry.is_dead());
            if let Some(entry) = live.find(|entry| entry.id >= id) {
                return (entry.id == id).then_some(at);
            }
            place = self.nodes.next(at);
        }
        None
    }

    /// Removes an entry; whether it was there.
    fn remove(&mut self, id: StreamId) -> bool {
        let Some(place) = self.node_of(id) else { return false };
        let twig = self.nodes.at(place);
        if twig.live == 1 {
            self.nodes.remove(place);
        } else {
            self.nodes.edit(place, |first, node| node.kill(first, id));
        }
        self.facts.length -= 1;
        self.facts.removed_id = self.facts.removed_id.max(id);
        if id == self.facts.first_id || self.facts.length == 0 {
            self.find_first();
        }
        true
    }

    /// Looks for the first entry that is there.
    fn find_first(&mut self) {
        self.facts.first_id = self.all().next().map_or(StreamId::MIN, |entry| entry.id);
    }

    /// The id of the last entry that is there.
    pub fn last_live_id(&self) -> Option<StreamId> {
        self.range([StreamId::MIN, StreamId::MAX], Direction::Backward).next().map(|entry| entry.id)
    }

    /// The entry of an id.
    pub fn get(&self, id: StreamId) -> Option<Entry<'_>> {
        let twig = self.nodes.at(self.node_of(id)?);
        twig.leaf.find(twig.first, id)
    }

    /// Whether an entry that was removed may lie behind an id.
    pub fn has_gap_from(&self, id: StreamId) -> bool {
        let Facts { length, first_id, removed_id, .. } = self.facts;
        length > 0 && !removed_id.is_zero() && first_id <= removed_id && id <= removed_id
    }

    /// How many entries had been added up to one of this id, if that is known.
    pub fn added_up_to(&self, id: StreamId) -> EntriesRead {
        let Facts { length, first_id, last_id, removed_id, added } = self.facts;
        match id.cmp(&last_id) {
            _ if added == 0 => Some(0),
            std::cmp::Ordering::Less if length == 0 => Some(added),
            std::cmp::Ordering::Equal => Some(added),
            std::cmp::Ordering::Greater => None,
            std::cmp::Ordering::Less if removed_id.is_zero() || removed_id < first_id => {
                match id.cmp(&first_id) {
                    std::cmp::Ordering::Less => Some(added.wrapping_sub(length)),
                    std::cmp::Ordering::Equal => Some(added.wrapping_sub(length).wrapping_add(1)),
                    std::cmp::Ordering::Greater => None,
                }
            }
            std::cmp::Ordering::Less => None,
        }
    }

    /// How many entries a group has yet to read, if that is known. Redis counts in signed
    /// numbers, and says what comes of it where a client has set the counters.
    pub fn lag(&self, group: &Group) -> Option<i64> {
        let read = match group.entries_read {
            _ if self.facts.added == 0 => return Some(0),
            Some(read) if !self.has_gap_from(group.last_id) => read,
            _ => self.added_up_to(group.last_id)?,
        };
        Some(self.facts.added.wrapping_sub(read).cast_signed())
    }
}

/// What a node takes before its first name, at most.
const NODE_HEAD_BYTES_MAX: usize = 64;

impl Stream {
    /// What it costs.
    pub(crate) fn footprint(&self) -> &dyn Footprint {
        self
    }

    /// What it costs, for freeing it in steps.
    pub(crate) fn footprint_mut(&mut self) -> &mut dyn Footprint {
        self
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        usize::try_from(self.facts().length).unwrap_or(usize::MAX)
    }

    /// Whether its row must go: never, for one without entries stays.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The name `OBJECT ENCODING` returns.
    pub fn encoding(&self) -> &'static str {
        "stream"
    }

    /// Adds an entry: names and values in turn. Its id lies behind that of all others.
    pub fn append<'a>(
        &mut self,
        id: StreamId,
        limits: &NodeLimits,
        texts: impl Fields<'a>,
    ) -> Result<(), TooLong> {
        self.content.body.append(id, limits, texts)
    }

    /// Takes back that an entry was added, the last one.
    pub(crate) fn take_last(&mut self, before: Facts) {
        self.content.body.take_last(before);
    }

    /// Removes an entry; whether it was there.
    pub fn remove(&mut self, id: StreamId) -> bool {
        self.content.body.remove(id)
    }

    /// Removes entries from the first one on; returns how many, and what held them.
    pub fn trim(&mut self, trim: &Trim) -> (u64, Stream) {
        let (count, nodes) = self.content.body.trim(trim);
        let mut gone = Stream::default();
        gone.content.body.nodes = nodes;
        (count, gone)
    }

    /// Says what is told of the entries: XSETID.
    pub fn set_last_id(
        &mut self,
        last_id: StreamId,
        added: Option<u64>,
        removed: Option<StreamId>,
    ) {
        let facts = &mut self.content.body.facts;
        facts.last_id = last_id;
        facts.added = added.unwrap_or(facts.added);
        facts.removed_id = removed.unwrap_or(facts.removed_id);
    }

    /// The groups, in the order of their names.
    pub fn groups(&self) -> impl Iterator<Item = (&[u8], &Group)> {
        self.content.groups.iter().flat_map(|groups| groups.iter())
    }

    /// How many groups there are.
    pub fn group_count(&self) -> usize {
        self.content.groups.as_ref().map_or(0, |groups| groups.len())
    }

    /// A group.
    pub fn group(&self, name: &[u8]) -> Option<&Group> {
        self.content.groups.as_ref()?.get(name)
    }

    /// Adds a group; whether there was none of this name.
    pub fn add_group(&mut self, name: &[u8], group: Group) -> bool {
        Arc::make_mut(self.content.groups.get_or_insert_default()).add(name, group)
    }

    /// Takes a group out; returns a stream that has nothing else, for freeing it.
    pub fn remove_group(&mut self, name: &[u8]) -> Option<Stream> {
        let groups = self.content.groups.as_mut()?;
        groups.get(name)?;
        let group = Arc::make_mut(groups).remove(name)?;
        let mut gone = Stream::default();
        gone.content.groups = Some(Arc::new(Groups::of(name, group)));
        Some(gone)
    }

    /// Takes a consumer out of a group with all that it has; returns how much that was, and a
    /// stream of what is to be freed.
    pub fn remove_consumer(&mut self, name: &[u8], consumer: &[u8]) -> Option<(usize, Stream)> {
        let removed = self.edit_group(name, |_, group| group.remove_consumer(consumer));
        let (removed, group) = removed.flatten()?;
        let mut gone = Stream::default();
        gone.content.groups = Some(Arc::new(Groups::of(name, Arc::new(group))));
        Some((removed, gone))
    }

    /// Whether consumers that went have left something in the list of a group, which nobody sees.
    pub(crate) fn has_weeds(&self) -> bool {
        self.content.groups.as_ref().is_some_and(|groups| groups.have_weeds())
    }

    /// Takes what they have left out of so many leaves of a list; whether there is more.
    pub(crate) fn weed(&mut self, leaves: usize) -> bool {
        let groups = self.content.groups.as_mut().filter(|groups| groups.have_weeds());
        groups.is_some_and(|groups| Arc::make_mut(groups).weed(leaves))
    }

    /// Changes a group, with a look at the entries.
    pub fn edit_group<R>(
        &mut self,
        name: &[u8],
        edit: impl FnOnce(&Body, &mut Group) -> R,
    ) -> Option<R> {
        let Content { body, groups } = &mut *self.content;
        let groups = groups.as_mut()?;
        groups.get(name)?;
        Arc::make_mut(groups).edit(name, |group| edit(body, group))
    }
}

impl HeapBytes for Stream {
    fn heap_bytes(&self) -> usize {
        let Content { body, groups } = &*self.content;
        let shared = size_class(size_of::<Groups>() + 2 * size_of::<usize>());
        let groups = groups.as_ref().map_or(0, |groups| shared + groups.heap_bytes());
        size_class(size_of::<Content>()) + body.nodes.heap_bytes() + groups
    }
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let id = |id: StreamId| format!("{}-{}", id.ms, id.seq);
        let entries = self.all().map(|entry| {
            let pairs = entry.pairs().map(|(name, value)| format!(" {name:?} {value:?}"));
            format!("{}{}", id(entry.id), pairs.collect::<String>())
        });
        let groups = self.groups().map(|(name, group)| {
            let mut words = format!("{} {}", name.escape_ascii(), id(group.last_id));
            words.push_str(&format!(" {:?}", group.entries_read));
            for (_, consumer) in group.consumers() {
                let name = consumer.name().escape_ascii();
                words.push_str(&format!("; {name} seen {}", consumer.seen_ms()));
                for (entry, ()) in consumer.pending().iter() {
                    let pending = group.pending().get(entry);
                    let told = pending.map(|it| (it.delivered_ms, it.deliveries));
                    words.push_str(&format!(" {} {told:?}", id(entry)));
                }
            }
            format!("{words}; {} pending", group.pending().len())
        });
        f.debug_struct("Stream")
            .field("entries", &entries.collect::<Vec<_>>())
            .field("facts", self.facts())
            .field("groups", &groups.collect::<Vec<_>>())
            .finish()
    }
}

/// Gathering goes through nodes, and then through one group after the other: the number of
/// a group stands in the high half of a place.
const GROUP_SHIFT: u32 = usize::BITS / 2;

impl Footprint for Stream {
    fn allocations(&self) -> usize {
        let groups = self.content.groups.as_ref().map_or(0, |groups| groups.allocations());
        1 + self.content.body.nodes.allocations() + groups
    }

    fn shed(&mut self, budget: usize) -> usize {
        let Content { body, groups } = &mut *self.content;
        body.facts.length = 0;
        let shed = body.nodes.shed(budget);
        if shed > 0 {
            return shed;
        }
        match groups.as_mut().and_then(Arc::get_mut) {
            Some(groups) => groups.shed(budget),
            None => 0,
        }
    }

    fn gather(&mut self, from: usize, budget: usize) -> Option<usize> {
        let Content { body, groups } = &mut *self.content;
        let (number, place) = (from >> GROUP_SHIFT, from & ((1 << GROUP_SHIFT) - 1));
        let next = match number {
            0 => body.nodes.gather(place, budget),
            _ => groups.as_mut().and_then(Arc::get_mut)?.gather(number - 1, place, budget),
        };
        if let Some(next) = next {
            return Some(number << GROUP_SHIFT | next);
        }
        let count = groups.as_ref().map_or(0, |groups| groups.len());
        (number < count).then_some((number + 1) << GROUP_SHIFT)
    }
}
