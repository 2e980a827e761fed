//! Something for each of many ids, in their order: pending entries, and those of a consumer.
//!
//! Owns the division into leaves of up to 128 ids each. Ids mostly come behind all others,
//! so full leaves stay full; a leaf that has lost three quarters of what it had room for
//! gives half of it back.
//!
//! Values may be dated ([`Dated`]): leaves, and the branches above them, then know a time
//! before which nothing in them is dated, so that who looks for what is older passes over them.
//! It is a bound and may be too early by a second; by more only until what was that early goes.
//!
//! Estimate: what an id and its value take, and a sixtieth for the tree.

use super::id::StreamId;
use super::tree::{Leaf, Place, SLACK_MS, Tree};
use crate::values::footprint::HeapBytes;
use crate::values::size_class::size_class;
use std::cell::Cell;

/// Ids of a leaf at most.
const LEAF_MAX: usize = 128;
/// Room of a leaf that is not given back.
const ROOM_MIN: usize = 8;

/// What may have a date by which it is looked for.
pub trait Dated: Clone {
    /// Whether it has.
    const IS_DATED: bool;
    /// The date, in milliseconds; the latest of all if it has none.
    fn date_ms(&self) -> i64;
}

impl Dated for () {
    const IS_DATED: bool = false;

    fn date_ms(&self) -> i64 {
        i64::MAX
    }
}

/// Values by id.
#[derive(Debug, Clone)]
pub struct IdMap<V> {
    tree: Tree<Ids<V>>,
    len: usize,
}

/// Some neighbours.
#[derive(Debug, Clone)]
struct Ids<V> {
    entries: Vec<(StreamId, V)>,
    /// None of them is dated earlier.
    oldest_ms: i64,
}

/// Neighbours of which some may be dated up to a time.
pub(super) struct DatedIds<'m, V> {
    /// Where they begin.
    pub(super) first: StreamId,
    /// Where the next ones do.
    pub(super) behind: Option<StreamId>,
    pub(super) entries: &'m [(StreamId, V)],
}

impl<V> HeapBytes for Ids<V> {
    fn heap_bytes(&self) -> usize {
        size_class(self.entries.capacity() * size_of::<(StreamId, V)>())
    }
}

impl<V: Dated> Leaf for Ids<V> {
    fn counts(&self) -> [usize; 2] {
        [self.entries.len(), 0]
    }

    fn moved(&self) -> Ids<V> {
        let mut entries = Vec::with_capacity(self.entries.capacity());
        entries.extend_from_slice(&self.entries);
        Ids { entries, ..*self }
    }

    fn oldest(&self) -> i64 {
        self.oldest_ms
    }
}

impl<V: Dated> Ids<V> {
    fn of(entries: Vec<(StreamId, V)>) -> Ids<V> {
        let mut ids = Ids { entries, oldest_ms: i64::MAX };
        ids.date();
        ids
    }

    /// Looks at all dates.
    fn date(&mut self) {
        if V::IS_DATED {
            let dates = self.entries.iter().map(|(_, value)| value.date_ms());
            self.oldest_ms = dates.min().unwrap_or(i64::MAX);
        }
    }

    /// A value has come.
    fn date_from(&mut self, value: &V) {
        if V::IS_DATED {
            self.oldest_ms = self.oldest_ms.min(value.date_ms());
        }
    }

    /// A value of this date has gone from a place, or another is there.
    fn date_anew(&mut self, at: usize, before_ms: i64) {
        if !V::IS_DATED || before_ms > self.oldest_ms {
            return;
        }
        // What was given together lies side by side: mostly the neighbours are as old.
        let latest = self.oldest_ms.saturating_add(SLACK_MS);
        let beside = self.entries.iter().skip(at.saturating_sub(1)).take(3);
        if !{ beside }.any(|(_, value)| value.date_ms() <= latest) {
            self.date();
        }
    }

    #[inline]
    fn find(&self, id: StreamId) -> Result<usize, usize> {
        self.entries.binary_search_by(|(other, _)| other.cmp(&id))
    }

    /// Gives back half of its room if three quarters of that are free, unless it goes.
    fn give_back(&mut self) {
        let (room, len) = (self.entries.capacity(), self.entries.len());
        if room > ROOM_MIN && (1..room / 4).contains(&len) {
            self.entries.shrink_to((room / 2).max(len));
        }
    }
}

impl<V> Default for IdMap<V> {
    fn default() -> IdMap<V> {
        IdMap { tree: Tree::default(), len: 0 }
    }
}

impl<V: Dated> IdMap<V> {
    /// How many ids there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The value of an id.
    pub fn get(&self, id: StreamId) -> Option<&V> {
        let leaf = &self.tree.at(self.tree.seek(id)?).leaf;
        leaf.find(id).ok().map(|at| &leaf.entries[at].1)
    }

    /// Puts another value in the place of that of an id; whether the id is there.
    pub fn replace(&mut self, id: StreamId, value: V) -> bool {
        let Some((place, Ok(at))) = self.locate(id) else { return false };
        self.tree.edit(place, |_, leaf| {
            leaf.date_from(&value);
            let before = std::mem::replace(&mut leaf.entries[at].1, value);
            leaf.date_anew(at, before.date_ms());
        });
        true
    }

    fn locate(&self, id: StreamId) -> Option<(Place, Result<usize, usize>)> {
        let place = self.tree.seek(id)?;
        Some((place, self.tree.at(place).leaf.find(id)))
    }

    /// Adds an id; false, and nothing is changed, if it is there.
    pub fn insert(&mut self, id: StreamId, value: V) -> bool {
        let first = || self.tree.first().map(|place| (place, Err(0)));
        let Some((place, found)) = self.locate(id).or_else(first) else {
            self.len = 1;
            return self.tree.insert(id, Ids::of(vec![(id, value)]));
        };
        let Err(at) = found else { return false };
        self.len += 1;
        let twig = self.tree.at(place);
        let len = twig.leaf.entries.len();
        if len == LEAF_MAX && (id < twig.first || at == LEAF_MAX) {
            // Beside a leaf that is full.
            return self.tree.insert(id, Ids::of(vec![(id, value)]));
        }
        if id < twig.first {
            // The leaf begins earlier from now on.
            let mut entries = twig.leaf.entries.clone();
            entries.insert(0, (id, value));
            self.tree.remove(place);
            return self.tree.insert(id, Ids::of(entries));
        }
        let behind = self.tree.edit(place, |_, leaf| {
            let behind = (len == LEAF_MAX).then(|| leaf.entries.split_off(LEAF_MAX / 2));
            if behind.is_some() {
                leaf.date();
            }
            match behind {
                Some(mut behind) if at > LEAF_MAX / 2 => {
                    behind.insert(at - LEAF_MAX / 2, (id, value));
                    Some(behind)
                }
                behind => {
                    leaf.date_from(&value);
                    leaf.entries.insert(at, (id, value));
                    behind
                }
            }
        });
        if let Some(entries) = behind {
            self.tree.insert(entries[0].0, Ids::of(entries));
        }
        true
    }

    /// Takes an id out; returns its value.
    pub fn remove(&mut self, id: StreamId) -> Option<V> {
        let (place, found) = self.locate(id)?;
        let at = found.ok()?;
        self.len -= 1;
        if self.tree.at(place).leaf.entries.len() == 1 {
            let value = self.tree.at(place).leaf.entries[at].1.clone();
            self.tree.remove(place);
            return Some(value);
        }
        self.tree.edit(place, |_, leaf| {
            let (_, value) = leaf.entries.remove(at);
            leaf.date_anew(at, value.date_ms());
            leaf.give_back();
            Some(value)
        })
    }

    /// Takes ids out that come in order, leaf by leaf; returns leaves that nothing is left in,
    /// for freeing them.
    pub(super) fn remove_ordered(&mut self, ids: impl Iterator<Item = StreamId>) -> IdMap<V> {
        let removed = Cell::new(0);
        let tree = self.tree.thin(&mut ids.peekable(), |leaf, ids, end| {
            let before = leaf.entries.len();
            leaf.entries.retain(|(own, _)| {
                while ids.next_if(|id| id < own).is_some() {}
                ids.next_if_eq(own).is_none()
            });
            while ids.next_if(|id| end.is_none_or(|end| *id < end)).is_some() {}
            removed.set(removed.get() + before - leaf.entries.len());
            leaf.date();
            leaf.give_back();
        });
        self.len -= removed.get();
        IdMap { tree, len: 0 }
    }

    /// Takes out what is not to stay, of so many leaves from that of an id on; returns how much
    /// that was, and the id to go on from, none at the end.
    pub(super) fn weed(
        &mut self,
        from: StreamId,
        leaves: usize,
        stays: impl Fn(&V) -> bool,
    ) -> (usize, Option<StreamId>) {
        let before = self.len;
        let mut place = self.tree.seek(from).or_else(|| self.tree.first());
        for _ in 0..leaves {
            let Some(at) = place else { break };
            let behind = self.tree.next(at).map(|next| self.tree.at(next).first);
            let entries = &self.tree.at(at).leaf.entries;
            let (count, left) =
                (entries.len(), entries.iter().filter(|(_, value)| stays(value)).count());
            if left == 0 {
                self.tree.remove(at);
            } else if left < count {
                self.tree.edit(at, |_, leaf| {
                    leaf.entries.retain(|(_, value)| stays(value));
                    leaf.date();
                    leaf.give_back();
                });
            }
            self.len -= count - left;
            place = behind.and_then(|behind| self.tree.seek(behind));
        }
        (before - self.len, place.map(|at| self.tree.at(at).first))
    }

    /// The ids from one on, in order.
    pub fn from(&self, id: StreamId) -> impl Iterator<Item = (StreamId, &V)> {
        let start = self.tree.seek(id).unwrap_or(Place::START);
        let entries = self.tree.from(start).flat_map(|twig| twig.leaf.entries.iter());
        let entries = entries.skip_while(move |(other, _)| *other < id);
        entries.map(|(id, value)| (*id, value))
    }

    /// The ids from one on whose values are dated up to a time, in order. Those that are known
    /// to have none are passed over.
    pub(super) fn dated_from(
        &self,
        id: StreamId,
        up_to_ms: i64,
    ) -> impl Iterator<Item = (StreamId, &V)> {
        let start = self.tree.seek(id).unwrap_or(Place::START);
        let first = self.tree.dated_from(start, up_to_ms);
        let places = std::iter::successors(first, move |place| {
            self.tree.dated_from(self.tree.next(*place)?, up_to_ms)
        });
        let entries = places.flat_map(move |place| self.tree.at(place).leaf.entries.iter());
        let entries = entries.skip_while(move |(other, _)| *other < id);
        let entries = entries.filter(move |(_, value)| value.date_ms() <= up_to_ms);
        entries.map(|(id, value)| (*id, value))
    }

    /// The first neighbours, those of an id or behind them, of which some may be dated up to a
    /// time.
    pub(super) fn neighbours_dated(&self, id: StreamId, up_to_ms: i64) -> Option<DatedIds<'_, V>> {
        let start = self.tree.seek(id).unwrap_or(Place::START);
        let place = self.tree.dated_from(start, up_to_ms)?;
        let twig = self.tree.at(place);
        let behind = self.tree.next(place).map(|next| self.tree.at(next).first);
        Some(DatedIds { first: twig.first, behind, entries: &twig.leaf.entries })
    }

    /// All ids, in order.
    pub fn iter(&self) -> impl Iterator<Item = (StreamId, &V)> {
        self.from(StreamId::MIN)
    }

    /// The first and the last id.
    pub fn ends(&self) -> Option<[StreamId; 2]> {
        let first = self.tree.at(self.tree.first()?).leaf.entries.first()?.0;
        let last = self.tree.at(self.tree.last()?).leaf.entries.last()?.0;
        Some([first, last])
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.tree.heap_bytes()
    }

    pub(super) fn allocations(&self) -> usize {
        self.tree.allocations()
    }

    pub(super) fn shed(&mut self, budget: usize) -> usize {
        self.len = 0;
        self.tree.shed(budget)
    }

    pub(super) fn gather(&mut self, from: usize, budget: usize) -> Option<usize> {
        self.tree.gather(from, budget)
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

    macro_rules! undated {
        ($($type:ty),*) => {$(
            impl Dated for $type {
                const IS_DATED: bool = false;

                fn date_ms(&self) -> i64 {
                    i64::MAX
                }
            }
        )*};
    }
    undated!(u64, usize, [u64; 3]);

    /// Nothing but a date.
    #[derive(Debug, Clone, Copy, PartialEq)]
    struct At(i64);

    impl Dated for At {
        const IS_DATED: bool = true;

        fn date_ms(&self) -> i64 {
            self.0
        }
    }

    /// Whether leaves would be looked at for what is dated up to a time.
    fn is_looked_at(map: &IdMap<At>, up_to_ms: i64) -> bool {
        map.tree.dated_from(Place::START, up_to_ms).is_some()
    }

    #[test]
    fn leaves_with_nothing_that_is_old_enough_are_passed_over() {
        let mut map = IdMap::default();
        (0..100_000).for_each(|number| assert!(map.insert(id(number), At(10_000_000))));
        assert!(!is_looked_at(&map, 9_000_000));
        // One that is older, in a leaf of its own time.
        map.replace(id(50_000), At(1_000));
        let found: Vec<_> = map.dated_from(StreamId::MIN, 5_000).collect();
        assert_eq!(found, [(id(50_000), &At(1_000))]);
        assert!(map.dated_from(id(50_001), 5_000).next().is_none());
        // Given anew it is as young as the others, and nobody looks at its leaf.
        map.replace(id(50_000), At(20_000_000));
        assert!(!is_looked_at(&map, 9_000_000));
        map.replace(id(70_000), At(1_000));
        map.remove(id(70_000));
        assert!(!is_looked_at(&map, 9_000_000));
        (0..100).for_each(|number| assert!(map.replace(id(900 * number), At(1_000))));
        drop(map.remove_ordered((0..100).map(|number| id(900 * number))));
        assert!(!is_looked_at(&map, 9_000_000));
    }

    #[test]
    fn all_that_are_given_anew_one_after_the_other_are_young() {
        let mut map = IdMap::default();
        (0..40_000).for_each(|number| assert!(map.insert(id(number), At(1_000))));
        assert!(is_looked_at(&map, 5_000));
        (0..40_000).for_each(|number| assert!(map.replace(id(number), At(10_000_000))));
        assert!(!is_looked_at(&map, 5_000));
    }

    proptest! {
        #[test]
        fn what_is_dated_is_found_as_by_looking_at_all(
            steps in proptest::collection::vec((0u8..6, 0u64..2_000, 1u64..300, 0i64..8), 1..40),
        ) {
            let (mut map, mut model) = (IdMap::default(), BTreeMap::new());
            for (step, first, count, date) in steps {
                let at = At(date * 700);
                for number in first..first + count {
                    match step {
                        0..=2 => if map.insert(id(number), at) {
                            model.insert(id(number), at);
                        },
                        3 => if map.replace(id(number), at) {
                            model.insert(id(number), at);
                        },
                        _ => prop_assert_eq!(map.remove(id(number)), model.remove(&id(number))),
                    }
                }
                for up_to_ms in [-1, 0, 700, 2_000, 5_000] {
                    let found = map.dated_from(id(first), up_to_ms).map(|(id, at)| (id, *at));
                    let behind = model.range(id(first)..).map(|(id, at)| (*id, *at));
                    let expected = behind.filter(|(_, at)| at.0 <= up_to_ms);
                    prop_assert!(found.eq(expected));
                }
            }
        }
    }

    #[test]
    fn ids_that_come_in_order_fill_their_leaves() {
        let mut map = IdMap::default();
        for number in 0..100_000 {
            assert!(map.insert(id(number), [0_u64; 3]));
        }
        let bytes = map.heap_bytes() as f64 / 100_000.0;
        assert!((40.0..41.5).contains(&bytes), "{bytes} bytes each");
        assert_eq!(map.from(id(70_003)).next().map(|(id, _)| id), Some(id(70_003)));
    }

    /// Takes ids out together and one by one, and compares.
    fn check_removed(map: &IdMap<u64>, gone: &[u64]) {
        let (mut together, mut singly) = (map.clone(), map.clone());
        let freed = together.remove_ordered(gone.iter().map(|number| id(*number)));
        for number in gone {
            let _ = singly.remove(id(*number));
        }
        assert_eq!(together.len(), singly.len());
        assert!(together.iter().eq(singly.iter()), "{} of {}", gone.len(), map.len());
        assert_eq!(together.tree.heap_bytes(), together.tree.bytes_by_looking());
        assert_eq!(together.tree.len() + freed.tree.len(), map.tree.len());
        assert_eq!(together.ends(), singly.ends());
        assert!(freed.iter().next().is_none(), "nothing is left in what goes");
    }

    #[test]
    fn ids_removed_together_are_what_removing_each_leaves() {
        for count in [1, 127, 128, 129, 5_000, 70_000] {
            let mut map = IdMap::default();
            (0..count).for_each(|number| assert!(map.insert(id(number * 2), number)));
            let (all, absent) = (0..2 * count, 1..2 * count);
            check_removed(&map, &all.clone().collect::<Vec<_>>());
            check_removed(&map, &absent.step_by(2).collect::<Vec<_>>());
            check_removed(&map, &all.clone().step_by(4).collect::<Vec<_>>());
            check_removed(&map, &all.clone().filter(|it| it / 200 % 2 == 0).collect::<Vec<_>>());
            check_removed(&map, &all.clone().filter(|it| it % 977 == 0).collect::<Vec<_>>());
            check_removed(&map, &[3 * count]);
            check_removed(&map, &[]);
        }
    }

    #[test]
    fn leaves_without_such_ids_stay_shared() {
        let mut map = IdMap::default();
        (0..10_000).for_each(|number| assert!(map.insert(id(number), number)));
        let copy = map.clone();
        drop(map.remove_ordered((0..200).map(id)));
        let last = |map: &IdMap<u64>| map.tree.at(map.tree.last().expect("a leaf")).leaf.clone();
        assert!(std::sync::Arc::ptr_eq(&last(&map), &last(&copy)));
        assert_eq!((map.len(), copy.len()), (9_800, 10_000));
    }

    proptest! {
        #[test]
        fn a_map_of_ids_is_what_a_map_is(
            steps in proptest::collection::vec((0u8..5, 0u64..2_000, 1usize..200), 1..60),
        ) {
            let (mut map, mut model, mut copies) = (IdMap::default(), BTreeMap::new(), Vec::new());
            for (step, number, count) in steps {
                for number in number..number + count as u64 {
                    match step {
                        0..=2 => prop_assert_eq!(
                            map.insert(id(number), count),
                            !model.contains_key(&id(number)) && model.insert(id(number), count).is_none()
                        ),
                        3 => prop_assert_eq!(map.remove(id(number)), model.remove(&id(number))),
                        _ => prop_assert_eq!(
                            map.replace(id(number), number as usize),
                            model.get_mut(&id(number)).map(|value| *value = number as usize).is_some()
                        ),
                    }
                }
                copies.push((map.clone(), model.clone()));
            }
            for (map, model) in copies {
                let found: Vec<_> = map.iter().map(|(id, value)| (id, *value)).collect();
                prop_assert_eq!(map.len(), model.len());
                prop_assert_eq!(found, model.iter().map(|(id, value)| (*id, *value)).collect::<Vec<_>>());
                let behind: Vec<_> = map.from(id(1_000)).map(|(id, _)| id).collect();
                let expected: Vec<_> = model.range(id(1_000)..).map(|(id, _)| *id).collect();
                prop_assert_eq!(behind, expected);
                let ends = model.keys().next().copied().zip(model.keys().last().copied());
                prop_assert_eq!(map.ends(), ends.map(|(first, last)| [first, last]));
            }
        }
    }
}
