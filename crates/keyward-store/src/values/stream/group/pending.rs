//! What is pending in a group, as everybody sees it, and what is left of consumers that went.
//!
//! A consumer that goes takes what it had with it, at once. In the list of the group those
//! entries lie among others, and taking a million of them out takes longer than a command
//! may: they stay there, hidden by the number of a consumer that is not there, until they are
//! weeded, some leaves at a time. While a group has such entries the list is read as the lists
//! of its consumers side by side (a k-way merge), so that no reader has to pass them.
//!
//! Invariants: `hidden` is the number of entries that name a consumer which is not there; the
//! number of such a consumer is not used again until none is left.
//! Not here: when groups are weeded (`keyspace::weeding`).

use super::own::OwnEntries;
use super::{ConsumerNumber, Group, Pending};
use crate::values::stream::id::StreamId;
use crate::values::stream::id_map::IdMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// The most entries that go from the list of a group together with their consumer. Each may
/// lie in a leaf of its own, which takes some two microseconds.
const AT_ONCE_MAX: usize = 128;

/// The entries that consumers of a group have, in order.
#[derive(Debug, Clone, Copy)]
pub struct PendingEntries<'g> {
    group: &'g Group,
}

impl<'g> PendingEntries<'g> {
    /// How many there are.
    pub fn len(self) -> usize {
        self.group.pending.len() - self.group.hidden
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// What is known of the entry of an id.
    pub fn get(self, id: StreamId) -> Option<&'g Pending> {
        self.group.pending.get(id).filter(|pending| self.group.is_shown(pending))
    }

    /// The entries from an id on, in order.
    pub fn from(self, id: StreamId) -> impl Iterator<Item = (StreamId, &'g Pending)> {
        self.given(id, i64::MAX)
    }

    /// The entries from an id on that were given up to a time, in order. Who was given all of many
    /// neighbours later is passed over.
    pub fn given(
        self,
        from: StreamId,
        up_to_ms: i64,
    ) -> impl Iterator<Item = (StreamId, &'g Pending)> {
        let is_whole = self.group.hidden == 0;
        let listed = is_whole.then(|| self.group.pending.dated_from(from, up_to_ms));
        let merged = (!is_whole).then(|| Merged::new(self.group, from, up_to_ms));
        listed.into_iter().flatten().chain(merged.into_iter().flatten())
    }

    /// The same, of one consumer.
    pub fn given_to(
        self,
        consumer: ConsumerNumber,
        from: StreamId,
        up_to_ms: i64,
    ) -> impl Iterator<Item = (StreamId, &'g Pending)> {
        OwnEntries::new(self.group, &self.group.consumer(consumer).pending, from, up_to_ms)
    }

    /// All entries, in order.
    pub fn iter(self) -> impl Iterator<Item = (StreamId, &'g Pending)> {
        self.from(StreamId::MIN)
    }

    /// The first and the last id.
    pub fn ends(self) -> Option<[StreamId; 2]> {
        if self.group.hidden == 0 {
            return self.group.pending.ends();
        }
        let ends = self.group.consumers().filter_map(|(_, consumer)| consumer.pending.ends());
        ends.reduce(|[first, last], [other_first, other_last]| {
            [first.min(other_first), last.max(other_last)]
        })
    }
}

/// The entries of all consumers in order, each time the one with the lowest id next.
struct Merged<'g> {
    /// What consumers have behind those.
    behind: Vec<OwnEntries<'g>>,
    /// Of each that has more the next entry, and its number in that list.
    next: BinaryHeap<Reverse<(StreamId, usize)>>,
    /// What is known of the next entries, in the order of that list.
    known: Vec<&'g Pending>,
}

impl<'g> Merged<'g> {
    fn new(group: &'g Group, from: StreamId, up_to_ms: i64) -> Merged<'g> {
        let mut merged = Merged { behind: Vec::new(), next: BinaryHeap::new(), known: Vec::new() };
        for (_, consumer) in group.consumers() {
            let mut own = OwnEntries::new(group, &consumer.pending, from, up_to_ms);
            if let Some((id, pending)) = own.next() {
                merged.next.push(Reverse((id, merged.behind.len())));
                merged.known.push(pending);
                merged.behind.push(own);
            }
        }
        merged
    }
}

impl<'g> Iterator for Merged<'g> {
    type Item = (StreamId, &'g Pending);

    fn next(&mut self) -> Option<(StreamId, &'g Pending)> {
        let mut first = self.next.peek_mut()?;
        let Reverse((id, number)) = *first;
        let pending = self.known[number];
        match self.behind[number].next() {
            Some((behind, known)) => {
                self.known[number] = known;
                *first = Reverse((behind, number));
            }
            None => drop(PeekMut::pop(first)),
        }
        Some((id, pending))
    }
}

impl Group {
    /// What is pending.
    pub fn pending(&self) -> PendingEntries<'_> {
        PendingEntries { group: self }
    }

    /// Whether an entry of the list is that of a consumer which is there.
    pub(super) fn is_shown(&self, pending: &Pending) -> bool {
        let ConsumerNumber(number) = pending.consumer;
        self.hidden == 0 || self.consumers[number as usize].is_some()
    }

    /// Takes what a consumer has out of the list, or hides it if it is much; returns what of the
    /// list nobody needs any more. The consumer has left its place.
    pub(super) fn part_with(&mut self, number: u32, own: &IdMap<()>) -> IdMap<Pending> {
        if own.len() == self.pending().len() {
            self.hidden = 0;
            self.gone.clear();
            return std::mem::take(&mut self.pending);
        }
        if own.len() <= AT_ONCE_MAX {
            return self.pending.remove_ordered(own.iter().map(|(id, ())| id));
        }
        self.hidden += own.len();
        self.gone.push(number);
        self.weeded_to = StreamId::MIN;
        IdMap::default()
    }

    /// So many entries are not hidden any more.
    pub(super) fn uncover(&mut self, count: usize) {
        self.hidden -= count;
        if self.hidden == 0 {
            self.gone.clear();
        }
    }

    /// Whether consumers that went have left something in the list.
    pub(in crate::values::stream) fn has_weeds(&self) -> bool {
        self.hidden > 0
    }

    /// Takes what consumers that went have left out of so many leaves of the list; whether there
    /// is more.
    pub(in crate::values::stream) fn weed(&mut self, leaves: usize) -> bool {
        if !self.has_weeds() {
            return false;
        }
        let consumers = &self.consumers;
        let (removed, next) = self.pending.weed(self.weeded_to, leaves, |pending| {
            let ConsumerNumber(number) = pending.consumer;
            consumers[number as usize].is_some()
        });
        self.weeded_to = next.unwrap_or(StreamId::MIN);
        self.uncover(removed);
        self.has_weeds()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn id(number: u64) -> StreamId {
        StreamId::new(number / 7, number % 7)
    }

    fn of(consumer: ConsumerNumber) -> Pending {
        Pending { delivered_ms: 5, deliveries: 1, consumer }
    }

    /// A group whose consumers have been given entries in turn, so many at a time.
    fn group_of(names: &[&[u8]], entries: u64, run: u64) -> Group {
        let mut group = Group::default();
        let numbers: Vec<_> =
            names.iter().map(|name| group.add_consumer(name, 1).expect("a new one")).collect();
        for number in 0..entries {
            let owner = numbers[(number / run) as usize % numbers.len()];
            group.give(id(number), of(owner));
        }
        group
    }

    #[test]
    fn a_consumer_with_much_goes_at_once_for_everybody() {
        let mut group = group_of(&[b"ann", b"bob"], 100_000, 10_000);
        let (removed, _) = group.remove_consumer(b"ann").expect("it is there");
        assert_eq!((removed, group.pending().len()), (50_000, 50_000));
        assert!(group.has_weeds(), "the list has been changed later");
        assert_eq!(group.pending.len(), 100_000);
        assert_eq!(group.pending().ends(), Some([id(10_000), id(99_999)]));
        assert_eq!(group.pending().get(id(9_999)), None);
        assert_eq!(group.take(id(9_999)), None);
        let found = group.pending().from(id(15_000)).map(|(id, _)| id).nth(5_000);
        assert_eq!(found, Some(id(30_000)));
        let bytes = group.pending.heap_bytes();
        let mut steps = 0;
        while group.weed(16) {
            steps += 1;
        }
        assert!((40..60).contains(&steps), "{steps} steps");
        assert_eq!((group.pending.len(), group.pending().len()), (50_000, 50_000));
        assert!(group.pending.heap_bytes() < bytes * 6 / 10, "what it had is freed");
    }

    #[test]
    fn the_number_of_a_consumer_that_went_is_free_when_nothing_names_it() {
        let mut group = group_of(&[b"ann", b"bob"], 10_000, 100);
        group.remove_consumer(b"ann").expect("it is there");
        let carl = group.add_consumer(b"carl", 1).expect("a new one");
        assert!(group.consumer(carl).pending().is_empty());
        assert_eq!(group.pending().len(), 5_000);
        while group.weed(8) {}
        let dora = group.add_consumer(b"dora", 1).expect("a new one");
        assert_eq!(dora, ConsumerNumber(0));
        assert_eq!(group.pending().iter().filter(|(_, it)| it.consumer == dora).count(), 0);
    }

    #[test]
    fn all_consumers_go_one_after_the_other_before_anything_is_weeded() {
        let names: [&[u8]; 4] = [b"a", b"b", b"c", b"d"];
        let mut group = group_of(&names, 8_000, 7);
        for (at, name) in names.into_iter().enumerate() {
            let (removed, _) = group.remove_consumer(name).expect("it is there");
            assert!((1_990..=2_010).contains(&removed));
            assert_eq!(group.pending().iter().count(), group.pending().len());
            assert_eq!(group.pending().is_empty(), at == 3);
        }
        assert!(!group.has_weeds() && group.pending.is_empty(), "the last takes all of it");
        assert_eq!(group.pending().ends(), None);
    }

    /// What a group is to show.
    type Model = BTreeMap<StreamId, (Vec<u8>, i64)>;

    fn shown(group: &Group) -> Model {
        let entries = group.pending().iter();
        let known = |it: &Pending| (group.consumer(it.consumer).name().to_vec(), it.delivered_ms);
        entries.map(|(id, it)| (id, known(it))).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn nobody_sees_what_is_yet_to_be_weeded(
            steps in proptest::collection::vec((0u8..8, 0u8..4, 0u64..800, 1u64..400), 1..24),
        ) {
            let (mut group, mut model) = (Group::default(), Model::new());
            for (at, (step, name, first, count)) in steps.into_iter().enumerate() {
                let (name, now_ms) = (vec![name], at as i64 * 1_500);
                match step {
                    0..=3 => {
                        let consumer = group.find(&name).or_else(|| group.add_consumer(&name, 1));
                        let consumer = consumer.expect("it is there now");
                        for number in first..first + count {
                            let id = id(number);
                            group.give(id, Pending { delivered_ms: now_ms, deliveries: 1, consumer });
                            model.insert(id, (name.clone(), now_ms));
                        }
                    }
                    4 => for number in first..first + count {
                        let taken = group.take(id(number)).map(|it| it.delivered_ms);
                        prop_assert_eq!(taken, model.remove(&id(number)).map(|(_, ms)| ms));
                    },
                    5 | 6 => {
                        let removed = group.remove_consumer(&name).map_or(0, |(count, _)| count);
                        let before = model.len();
                        model.retain(|_, (owner, _)| *owner != name);
                        prop_assert_eq!(removed, before - model.len());
                    }
                    _ => drop(group.weed(count as usize % 8)),
                }
                prop_assert_eq!(&shown(&group), &model);
                prop_assert_eq!(group.pending().len(), model.len());
                let ends = model.keys().next().copied().zip(model.keys().last().copied());
                prop_assert_eq!(group.pending().ends(), ends.map(|(first, last)| [first, last]));
                let behind = group.pending().from(id(first)).map(|(id, _)| id);
                prop_assert!(behind.eq(model.range(id(first)..).map(|(id, _)| *id)));
                let up_to_ms = now_ms / 2;
                let is_due = |ms: i64, from: &StreamId| ms <= up_to_ms && *from >= id(first);
                let given = group.pending().given(id(first), up_to_ms).map(|(id, _)| id);
                let due = model.iter().filter(|(id, (_, ms))| is_due(*ms, id));
                prop_assert!(given.eq(due.map(|(id, _)| *id)));
                for (number, consumer) in group.consumers() {
                    let given = group.pending().given_to(number, id(first), up_to_ms);
                    let due = model.iter().filter(|(id, (owner, ms))| {
                        *owner == consumer.name() && is_due(*ms, id)
                    });
                    prop_assert!(given.map(|(id, _)| id).eq(due.map(|(id, _)| *id)));
                    let own = consumer.pending().iter().map(|(id, ())| id);
                    let due = model.iter().filter(|(_, (owner, _))| *owner == consumer.name());
                    prop_assert!(own.eq(due.map(|(id, _)| *id)));
                }
            }
            while group.weed(3) {}
            prop_assert_eq!(group.pending.len(), model.len(), "nothing hidden is left");
            prop_assert_eq!(&shown(&group), &model);
        }
    }
}
