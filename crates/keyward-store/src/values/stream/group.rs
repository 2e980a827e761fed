//! Consumer groups: who reads a stream together, and what they have yet to acknowledge.
//!
//! Owns groups with their pending entries and consumers. A pending entry is in the list of
//! its group, with who has it, when and how often it was given, and in that of its consumer,
//! by its id alone. Lists are shared until they change (`tree`), as groups are.
//!
//! Estimate: 58 bytes per pending entry, 40 of them in the group (Redis: 32, and two places
//! in radix trees).
//!
//! Invariants: every pending entry is in the list of its group and in that of exactly one
//! consumer, the one it names; consumers are in the order of their names. What names a consumer
//! that is not there is not pending any more (`pending`).
//! Not here: what a read does to a group (`commands::stream::group_read`).

mod own;
mod pending;

pub use pending::PendingEntries;

use super::id::StreamId;
use super::id_map::{Dated, IdMap};
use crate::values::footprint::HeapBytes;
use crate::values::size_class::size_class;
use std::sync::Arc;

/// A consumer of a group, by the number that pending entries name it with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConsumerNumber(u32);

/// What is known of an entry that was given to a consumer and not acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pending {
    /// When it was given last, in milliseconds since the epoch.
    pub delivered_ms: i64,
    /// How often it was given.
    pub deliveries: u64,
    /// Who has it.
    pub consumer: ConsumerNumber,
}

impl Dated for Pending {
    const IS_DATED: bool = true;

    fn date_ms(&self) -> i64 {
        self.delivered_ms
    }
}

/// Somebody who reads.
#[derive(Debug, Clone)]
pub struct Consumer {
    name: Box<[u8]>,
    /// When it was seen last, in milliseconds since the epoch.
    seen_ms: i64,
    pending: IdMap<()>,
}

impl Consumer {
    /// Its name.
    pub fn name(&self) -> &[u8] {
        &self.name
    }

    /// When it was seen last.
    pub fn seen_ms(&self) -> i64 {
        self.seen_ms
    }

    /// The ids of what it has.
    pub fn pending(&self) -> &IdMap<()> {
        &self.pending
    }

    fn heap_bytes(&self) -> usize {
        size_class(CONSUMER_BYTES) + size_class(self.name.len()) + self.pending.heap_bytes()
    }
}

/// A consumer and the counts of those who share it.
const CONSUMER_BYTES: usize = size_of::<Consumer>() + 2 * size_of::<usize>();
/// A group and the counts of those who share it.
const GROUP_BYTES: usize = size_of::<Group>() + 2 * size_of::<usize>();

/// How many entries a group has read, where that is known.
pub type EntriesRead = Option<u64>;

/// Those who read together.
#[derive(Debug, Clone, Default)]
pub struct Group {
    /// The last entry that was given to any of them.
    pub last_id: StreamId,
    /// How many entries of the stream were given, as far as that is known.
    pub entries_read: EntriesRead,
    /// What is pending, and what consumers that went have left.
    pending: IdMap<Pending>,
    /// How much they have left.
    hidden: usize,
    /// The numbers they had.
    gone: Vec<u32>,
    /// Nothing of it lies before this id.
    weeded_to: StreamId,
    /// The places of consumers; some are free.
    consumers: Vec<Option<Arc<Consumer>>>,
    /// Their numbers, in the order of names.
    by_name: Vec<u32>,
    /// Bytes of the consumers.
    consumer_bytes: usize,
}

impl Group {
    /// A group that has read up to an entry.
    pub fn new(last_id: StreamId, entries_read: EntriesRead) -> Group {
        Group { last_id, entries_read, ..Group::default() }
    }

    /// The consumers, in the order of their names.
    pub fn consumers(&self) -> impl ExactSizeIterator<Item = (ConsumerNumber, &Consumer)> {
        self.by_name.iter().map(|number| {
            let number = ConsumerNumber(*number);
            (number, self.consumer(number))
        })
    }

    /// The consumer of a number.
    pub fn consumer(&self, ConsumerNumber(number): ConsumerNumber) -> &Consumer {
        let consumer = self.consumers.get(number as usize).and_then(Option::as_deref);
        consumer.expect("a number is that of a consumer until it goes, with all it has")
    }

    /// The number of a consumer.
    pub fn find(&self, name: &[u8]) -> Option<ConsumerNumber> {
        let at = self.place_of(name).ok()?;
        Some(ConsumerNumber(self.by_name[at]))
    }

    fn place_of(&self, name: &[u8]) -> Result<usize, usize> {
        self.by_name.binary_search_by(|number| {
            self.consumer(ConsumerNumber(*number)).name.as_ref().cmp(name)
        })
    }

    /// Adds a consumer; none if there is one of this name.
    pub fn add_consumer(&mut self, name: &[u8], seen_ms: i64) -> Option<ConsumerNumber> {
        let Err(at) = self.place_of(name) else { return None };
        let consumer = Consumer { name: name.into(), seen_ms, pending: IdMap::default() };
        self.consumer_bytes += consumer.heap_bytes();
        let consumer = Some(Arc::new(consumer));
        // Numbers are taken again, and few groups have many consumers that went.
        let free = match self.by_name.len() + self.gone.len() < self.consumers.len() {
            true => {
                let mut places = self.consumers.iter().zip(0..);
                places.position(|(place, number)| place.is_none() && !self.gone.contains(&number))
            }
            false => None,
        };
        let number = free.unwrap_or(self.consumers.len());
        match self.consumers.get_mut(number) {
            Some(place) => *place = consumer,
            None => self.consumers.push(consumer),
        }
        let number = u32::try_from(number).expect("a group has fewer consumers than bytes");
        self.by_name.insert(at, number);
        Some(ConsumerNumber(number))
    }

    /// Takes a consumer out with all that it has; returns how much that was, and a group of
    /// what nobody needs any more, for freeing it.
    pub fn remove_consumer(&mut self, name: &[u8]) -> Option<(usize, Group)> {
        let at = self.place_of(name).ok()?;
        let number = self.by_name.remove(at);
        let consumer = self.consumers.get_mut(number as usize).and_then(Option::take)?;
        self.consumer_bytes -= consumer.heap_bytes();
        let removed = consumer.pending.len();
        let pending = self.part_with(number, &consumer.pending);
        let consumer_bytes = consumer.heap_bytes();
        let consumers = vec![Some(consumer)];
        Some((removed, Group { pending, consumers, consumer_bytes, ..Group::default() }))
    }

    fn edit_consumer<R>(
        &mut self,
        ConsumerNumber(number): ConsumerNumber,
        edit: impl FnOnce(&mut Consumer) -> R,
    ) -> R {
        let consumer = self.consumers.get_mut(number as usize).and_then(Option::as_mut);
        let consumer = consumer.expect("a number is that of a consumer");
        let before = consumer.pending.heap_bytes();
        let consumer = Arc::make_mut(consumer);
        let result = edit(consumer);
        self.consumer_bytes = self.consumer_bytes - before + consumer.pending.heap_bytes();
        result
    }

    /// A consumer was seen.
    pub fn see(&mut self, consumer: ConsumerNumber, now_ms: i64) {
        if self.consumer(consumer).seen_ms != now_ms {
            self.edit_consumer(consumer, |consumer| consumer.seen_ms = now_ms);
        }
    }

    /// Gives an entry to a consumer, whoever has it.
    pub fn give(&mut self, id: StreamId, pending: Pending) {
        let before = self.pending.get(id).map(|before| (before.consumer, self.is_shown(before)));
        match before {
            Some((owner, _)) if owner == pending.consumer => {}
            Some((owner, is_shown)) => {
                match is_shown {
                    true => drop(self.edit_consumer(owner, |owner| owner.pending.remove(id))),
                    false => self.uncover(1),
                }
                self.edit_consumer(pending.consumer, |new| new.pending.insert(id, ()));
            }
            None => {
                self.pending.insert(id, pending);
                self.edit_consumer(pending.consumer, |new| new.pending.insert(id, ()));
                return;
            }
        }
        self.pending.replace(id, pending);
    }

    /// Takes an entry back, acknowledged or gone; returns what was known of it.
    pub fn take(&mut self, id: StreamId) -> Option<Pending> {
        self.pending().get(id)?;
        let pending = self.pending.remove(id)?;
        self.edit_consumer(pending.consumer, |owner| owner.pending.remove(id));
        Some(pending)
    }

    /// How many allocations it has, about.
    fn allocations(&self) -> usize {
        let consumers = self.consumers.iter().flatten();
        let own: usize = consumers.map(|consumer| 2 + consumer.pending.allocations()).sum();
        4 + own + self.pending.allocations()
    }

    fn shed(&mut self, budget: usize) -> usize {
        let mut shed = self.pending.shed(budget);
        while shed < budget
            && let Some(consumer) = self.consumers.last_mut()
        {
            let left = consumer.as_mut().and_then(Arc::get_mut);
            let part = left.map_or(0, |consumer| consumer.pending.shed(budget - shed));
            if part == 0 {
                self.consumers.pop();
            }
            shed += part.max(1);
        }
        self.by_name.clear();
        shed
    }
}

impl HeapBytes for Group {
    fn heap_bytes(&self) -> usize {
        let places = size_class(self.consumers.capacity() * size_of::<Option<Arc<Consumer>>>());
        let numbers = [&self.by_name, &self.gone];
        let numbers = numbers.map(|list| size_class(list.capacity() * size_of::<u32>()));
        self.pending.heap_bytes() + places + numbers.iter().sum::<usize>() + self.consumer_bytes
    }
}

/// The groups of a stream, in the order of their names.
#[derive(Debug, Clone, Default)]
pub struct Groups {
    groups: Vec<(Arc<[u8]>, Arc<Group>)>,
    /// Bytes of the groups.
    bytes: usize,
}

impl Groups {
    /// One group alone.
    pub(super) fn of(name: &[u8], group: Arc<Group>) -> Groups {
        Groups { bytes: bytes_of(name, &group), groups: vec![(name.into(), group)] }
    }

    fn place_of(&self, name: &[u8]) -> Result<usize, usize> {
        self.groups.binary_search_by(|(other, _)| other.as_ref().cmp(name))
    }

    pub(super) fn len(&self) -> usize {
        self.groups.len()
    }

    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = (&[u8], &Group)> {
        self.groups.iter().map(|(name, group)| (name.as_ref(), group.as_ref()))
    }

    pub(super) fn get(&self, name: &[u8]) -> Option<&Group> {
        self.place_of(name).ok().map(|at| self.groups[at].1.as_ref())
    }

    /// Adds a group; whether there was none of this name.
    pub(super) fn add(&mut self, name: &[u8], group: Group) -> bool {
        let Err(at) = self.place_of(name) else { return false };
        self.bytes += bytes_of(name, &group);
        self.groups.insert(at, (name.into(), Arc::new(group)));
        true
    }

    /// Takes a group out; returns it.
    pub(super) fn remove(&mut self, name: &[u8]) -> Option<Arc<Group>> {
        let at = self.place_of(name).ok()?;
        let (_, group) = self.groups.remove(at);
        self.bytes -= bytes_of(name, &group);
        Some(group)
    }

    /// Changes a group.
    pub(super) fn edit<R>(&mut self, name: &[u8], edit: impl FnOnce(&mut Group) -> R) -> Option<R> {
        let at = self.place_of(name).ok()?;
        let before = self.groups[at].1.heap_bytes();
        let group = Arc::make_mut(&mut self.groups[at].1);
        let result = edit(group);
        self.bytes = self.bytes - before + group.heap_bytes();
        Some(result)
    }

    pub(super) fn allocations(&self) -> usize {
        self.groups.iter().map(|(_, group)| 2 + group.allocations()).sum()
    }

    pub(super) fn shed(&mut self, budget: usize) -> usize {
        let mut shed = 0;
        while shed < budget
            && let Some((_, group)) = self.groups.last_mut()
        {
            let part = Arc::get_mut(group).map_or(0, |group| group.shed(budget - shed));
            if part == 0 {
                self.groups.pop();
            }
            shed += part.max(1);
        }
        if self.groups.is_empty() {
            self.bytes = 0;
        }
        shed
    }

    /// Whether consumers that went have left something in the list of a group.
    pub(super) fn have_weeds(&self) -> bool {
        self.groups.iter().any(|(_, group)| group.has_weeds())
    }

    /// Takes what they have left out of so many leaves of such a list; whether there is more.
    pub(super) fn weed(&mut self, leaves: usize) -> bool {
        let Some(at) = self.groups.iter().position(|(_, group)| group.has_weeds()) else {
            return false;
        };
        let before = self.groups[at].1.heap_bytes();
        let group = Arc::make_mut(&mut self.groups[at].1);
        group.weed(leaves);
        self.bytes = self.bytes - before + group.heap_bytes();
        self.have_weeds()
    }

    /// Moves pending entries of the group of this number.
    pub(super) fn gather(&mut self, number: usize, from: usize, budget: usize) -> Option<usize> {
        let group = Arc::get_mut(&mut self.groups.get_mut(number)?.1)?;
        group.pending.gather(from, budget)
    }
}

/// Bytes of a group and its name.
fn bytes_of(name: &[u8], group: &Group) -> usize {
    let name = size_class(2 * size_of::<usize>() + name.len());
    name + size_class(GROUP_BYTES) + group.heap_bytes()
}

impl HeapBytes for Groups {
    fn heap_bytes(&self) -> usize {
        let places = size_class(self.groups.capacity() * size_of::<(Arc<[u8]>, Arc<Group>)>());
        places + self.bytes
    }
}
