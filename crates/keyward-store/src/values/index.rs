//! A hash index that grows one bucket at a time: linear hashing (Litwin, 1980).
//!
//! Owns the buckets, their addressing, growth, shrinking, scanning and sampling.
//! It stores entries by the hash its caller gives and compares them by the
//! closure its caller gives; it never hashes by itself, except that growth asks
//! the caller for the hash of entries that may move.
//!
//! Invariants: an entry lives in the bucket that `linear` chooses by its hash. One
//! insertion splits at most one bucket and one removal merges at most one, so no step is
//! longer than a bucket's chain: there is no resize pause and never a second table. How
//! a scan survives growth `linear` explains.
//!
//! Estimate: a bucket is 64 bytes, four entries on average, 13 % more for
//! overflow: 18 bytes per entry at any size (Redis: 24 for the dictEntry and 8
//! to 16 for the table). A look-up reads one cache line and then the entry.
//!
//! Not here: keys, values, lifetimes (`row`, `table`).

pub mod bucket;

use crate::values::footprint::HeapBytes;
use crate::values::linear::{Addressing, Split, next_cursor};
use crate::values::prefetch::prefetch;
use crate::values::random::Random;
use crate::values::size_class::allocated;
use bucket::{Bucket, tag_of};

/// Buckets per allocation. The last segment grows up to this.
const SEGMENT_BUCKETS: usize = 512;
/// Buckets by which the last segment grows, once it has as many; before, it doubles. A
/// whole segment at once would be a jump for which many rows are evicted where memory is
/// limited. A page of 4 kB is a step between the allocator's size classes at any length.
const GROWTH_BUCKETS: usize = 64;
/// Split when there are more entries than this per bucket on average.
const FILL_MAX: usize = 4;
/// Merge when there are fewer than `FILL_MIN_HALVES / 2` per bucket.
const FILL_MIN_HALVES: usize = 3;
/// Most of what is hashed of an entry lies before this.
const HASHED_BYTES: usize = 40;
/// Chain positions `sample` draws from: beyond the length of nearly every chain.
const SAMPLE_POSITIONS: usize = 12;

/// A growing set of entries found by hash.
#[derive(Debug)]
pub(crate) struct Index<T> {
    segments: Vec<Vec<Bucket<T>>>,
    addressing: Addressing,
    len: usize,
    /// How many overflow buckets there are.
    overflows: usize,
    /// Bytes of the entries' own allocations.
    entry_bytes: usize,
}

/// What an index holds: a pointer to its own allocation.
pub trait Indexed: HeapBytes {
    /// Where the allocation is, for prefetching it.
    fn address(&self) -> *const u8;
}

/// The place of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spot {
    bucket: usize,
    position: usize,
}

impl<T> Default for Index<T> {
    fn default() -> Index<T> {
        Index {
            segments: Vec::new(),
            addressing: Addressing::default(),
            len: 0,
            overflows: 0,
            entry_bytes: 0,
        }
    }
}

impl<T: Indexed> Index<T> {
    /// How many entries there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// How many buckets there are.
    #[inline(always)]
    fn count(&self) -> usize {
        self.addressing.count()
    }

    #[inline(always)]
    fn address(&self, hash: u64) -> usize {
        self.addressing.of(hash)
    }

    #[inline(always)]
    fn bucket(&self, at: usize) -> &Bucket<T> {
        &self.segments[at / SEGMENT_BUCKETS][at % SEGMENT_BUCKETS]
    }

    #[inline(always)]
    fn bucket_mut(&mut self, at: usize) -> &mut Bucket<T> {
        &mut self.segments[at / SEGMENT_BUCKETS][at % SEGMENT_BUCKETS]
    }

    /// The entry with this hash that `is_it` accepts.
    #[inline(always)]
    pub(crate) fn find(&self, hash: u64, is_it: impl FnMut(&T) -> bool) -> Option<&T> {
        if self.count() == 0 {
            return None;
        }
        self.bucket(self.address(hash)).find(tag_of(hash), is_it)
    }

    /// Where the entry is that `is_it` accepts. A spot is good until the next
    /// insertion or removal.
    #[inline(always)]
    pub(crate) fn locate(&self, hash: u64, is_it: impl FnMut(&T) -> bool) -> Option<Spot> {
        if self.count() == 0 {
            return None;
        }
        let bucket = self.address(hash);
        let position = self.bucket(bucket).locate(tag_of(hash), is_it)?;
        Some(Spot { bucket, position })
    }

    /// The entry at a spot.
    #[inline(always)]
    pub(crate) fn at(&self, spot: Spot) -> &T {
        self.bucket(spot.bucket).at(spot.position)
    }

    /// The entry at a spot, for changing it in place. Its hash must stay the same,
    /// and if its bytes do not, `resized` must be told.
    #[inline(always)]
    pub(crate) fn at_mut(&mut self, spot: Spot) -> &mut T {
        self.bucket_mut(spot.bucket).at_mut(spot.position)
    }

    /// Changes the entry at a spot in place. Its hash must stay the same.
    #[inline(always)]
    pub(crate) fn edit<R>(&mut self, spot: Spot, change: impl FnOnce(&mut T) -> R) -> R {
        let entry = self.at_mut(spot);
        let before = entry.heap_bytes();
        let result = change(entry);
        let after = entry.heap_bytes();
        self.resized(before, after);
        result
    }

    /// Learns that an entry of so many bytes now has another number of them.
    #[inline(always)]
    pub(crate) fn resized(&mut self, before: usize, after: usize) {
        self.entry_bytes = self.entry_bytes - before + after;
    }

    /// Makes room for so many entries, of which there are none yet: then none of them is
    /// moved as they come.
    pub(crate) fn expect(&mut self, entries: usize) {
        while self.len == 0 && self.count() * FILL_MAX < entries {
            self.push_bucket();
        }
    }

    /// Gives back what was made for entries that did not come.
    pub(crate) fn trim(&mut self) {
        while self.len * 2 < self.count() * FILL_MIN_HALVES && self.count() > 1 {
            self.merge();
        }
    }

    /// Adds an entry that is not there yet. `hash_of` must return, for any entry
    /// of the index, the hash it was inserted under.
    pub(crate) fn insert(&mut self, hash: u64, entry: T, hash_of: impl Fn(&T) -> u64) {
        if self.len >= self.count() * FILL_MAX {
            self.split(&hash_of);
        }
        self.len += 1;
        self.entry_bytes += entry.heap_bytes();
        self.add(self.address(hash), tag_of(hash), entry);
    }

    /// Adds an entry to a bucket.
    fn add(&mut self, at: usize, tag: u8, entry: T) {
        let bucket = &mut self.segments[at / SEGMENT_BUCKETS][at % SEGMENT_BUCKETS];
        bucket.add(tag, entry, &mut self.overflows);
    }

    /// Takes out the entry with this hash that `is_it` accepts.
    pub(crate) fn remove(&mut self, hash: u64, mut is_it: impl FnMut(&T) -> bool) -> Option<T> {
        if self.count() == 0 {
            return None;
        }
        let at = self.address(hash);
        let bucket = &mut self.segments[at / SEGMENT_BUCKETS][at % SEGMENT_BUCKETS];
        let taken = bucket.take(tag_of(hash), &mut is_it, &mut self.overflows)?;
        self.len -= 1;
        self.entry_bytes -= taken.heap_bytes();
        if self.len * 2 < self.count() * FILL_MIN_HALVES && self.count() > 1 {
            self.merge();
        }
        Some(taken)
    }

    /// Adds one bucket and moves into it what belongs there.
    fn split(&mut self, hash_of: &impl Fn(&T) -> u64) {
        let Some(Split { source, added, bit }) = self.push_bucket() else { return };
        let mut moving = std::mem::take(self.bucket_mut(source));
        self.overflows -= moving.overflows();
        moving.drain(|tag, entry| {
            let goes = hash_of(&entry) as usize & bit != 0;
            let target = if goes { added } else { source };
            self.add(target, tag, entry);
        });
        self.prefetch_next_split();
    }

    /// Hints that the entries of the bucket to be split next will be hashed soon. Their
    /// misses were half the cost of inserting when they came one after the other.
    fn prefetch_next_split(&self) {
        let next = self.addressing.next_source();
        self.bucket(next).iter().for_each(|entry| {
            prefetch(entry.address());
            prefetch(entry.address().wrapping_add(HASHED_BYTES));
        });
        prefetch(self.bucket(self.addressing.of(next as u64 + 1)));
    }

    /// Hands over the entries of the last buckets, about `budget` of them, and
    /// returns how many they were.
    pub(crate) fn shed(&mut self, budget: usize, mut receive: impl FnMut(T)) -> usize {
        let mut shed = 0;
        while shed < budget && self.count() > 0 {
            let (mut leaving, _) = self.pop_bucket();
            leaving.drain(|_, entry| {
                shed += 1;
                self.len -= 1;
                self.entry_bytes -= entry.heap_bytes();
                receive(entry);
            });
        }
        shed
    }

    /// Adds an empty bucket; returns what is to be moved into it.
    fn push_bucket(&mut self) -> Option<Split> {
        if self.count().is_multiple_of(SEGMENT_BUCKETS) {
            self.segments.push(Vec::new());
        }
        let is_first = self.segments.len() == 1;
        let last = self.segments.last_mut().expect("a segment was just ensured");
        if last.len() == last.capacity() {
            let page = (last.len() + 1).next_multiple_of(GROWTH_BUCKETS);
            let twice = (2 * last.len()).max(1);
            let capacity = if is_first { page.min(twice) } else { page };
            last.reserve_exact(capacity - last.len());
        }
        last.push(Bucket::default());
        self.addressing.grow()
    }

    /// Removes the last bucket and gives its entries back to the one it was split from.
    fn merge(&mut self) {
        let (mut leaving, target) = self.pop_bucket();
        leaving.drain(|tag, entry| self.add(target, tag, entry));
    }

    /// Takes the last bucket away with what is in it; returns the one that it was split
    /// from too. There must be one.
    fn pop_bucket(&mut self) -> (Bucket<T>, usize) {
        let segment = self.segments.last_mut().expect("there is at least one bucket");
        let leaving = segment.pop().expect("the last segment is never empty");
        let spare = segment.capacity() - segment.len();
        if segment.is_empty() {
            self.segments.pop();
        } else if segment.len() <= segment.capacity() / 4 {
            segment.shrink_to(segment.len() * 2);
        } else if spare >= 2 * GROWTH_BUCKETS {
            segment.shrink_to(segment.len() + GROWTH_BUCKETS);
        }
        self.overflows -= leaving.overflows();
        (leaving, self.addressing.shrink())
    }

    /// Bytes of the entries' own allocations.
    pub(crate) fn entry_bytes(&self) -> usize {
        self.entry_bytes
    }

    /// Bytes of the index itself.
    pub(crate) fn own_bytes(&self) -> usize {
        let last = self.segments.last().map_or(0, Vec::capacity);
        let buckets = self.segments.len().saturating_sub(1) * SEGMENT_BUCKETS + last;
        let segments = self.segments.capacity() * size_of::<Vec<Bucket<T>>>();
        (buckets + self.overflows) * size_of::<Bucket<T>>() + allocated(segments)
    }

    /// Visits the entries of the bucket at `cursor` and returns the next cursor,
    /// zero when the scan is complete.
    pub(crate) fn scan<'a>(&'a self, cursor: u64, mut visit: impl FnMut(&'a T)) -> u64 {
        if self.count() == 0 {
            return 0;
        }
        let at = self.address(cursor);
        self.bucket(at).iter().for_each(&mut visit);
        next_cursor(cursor, self.shared_bits(cursor))
    }

    /// Visits the entries of the last bucket below `below`, of the last one of all if that is
    /// zero; returns its place, to go on with, zero at the end.
    ///
    /// This is the order in which to remove everything: the buckets that become empty are
    /// those that go, while entries that are removed in the order of a scan leave the rest
    /// in ever fewer buckets. What is added meanwhile may be missed.
    pub(crate) fn scan_down<'a>(&'a self, below: usize, visit: impl FnMut(&'a T)) -> usize {
        let Some(last) = self.count().checked_sub(1) else { return 0 };
        let at = below.checked_sub(1).map_or(last, |at| at.min(last));
        self.bucket(at).iter().for_each(visit);
        at
    }

    /// As `scan`, for changing entries in place. Their hashes must stay the same.
    pub(crate) fn scan_mut(&mut self, cursor: u64, mut visit: impl FnMut(&mut T)) -> u64 {
        if self.count() == 0 {
            return 0;
        }
        let at = self.address(cursor);
        self.bucket_mut(at).each_mut(&mut visit);
        next_cursor(cursor, self.shared_bits(cursor))
    }

    /// The bits that all hashes of the bucket at a cursor share.
    pub(crate) fn shared_bits(&self, cursor: u64) -> u64 {
        self.addressing.shared_bits_at(cursor)
    }

    /// Moves the entries of the buckets from this one on to other allocations, about
    /// `budget` of them, and what else the buckets hold; returns the bucket to go on
    /// with, none at the end.
    pub(crate) fn gather(
        &mut self,
        from: usize,
        budget: usize,
        mut gather: impl FnMut(&mut T),
    ) -> Option<usize> {
        let end = self.count().min(from.saturating_add(budget.div_ceil(FILL_MAX)));
        (from..end).for_each(|at| self.bucket_mut(at).gather(&mut gather));
        (end < self.count()).then_some(end)
    }

    /// Every entry, in no particular order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.segments.iter().flatten().flat_map(Bucket::iter)
    }

    /// An entry drawn with (nearly) equal probability.
    pub(crate) fn sample(&self, random: &mut Random) -> Option<&T> {
        if self.len == 0 {
            return None;
        }
        loop {
            let bucket = self.bucket(random.below(self.count() as u64) as usize);
            let positions = bucket.iter().count().max(SAMPLE_POSITIONS);
            let position = random.below(positions as u64) as usize;
            if let Some(entry) = bucket.iter().nth(position) {
                return Some(entry);
            }
        }
    }

    /// How many buckets there are.
    pub(crate) fn bucket_count(&self) -> usize {
        self.count()
    }

    /// Visits the entries of a bucket, having fetched all of them.
    pub(crate) fn visit_bucket<'a>(&'a self, at: usize, visit: impl FnMut(&'a T)) {
        let bucket = self.bucket(at);
        bucket.iter().for_each(|entry| prefetch(entry.address()));
        bucket.iter().for_each(visit);
    }

    /// Hints that the bucket of `hash` will be read soon.
    #[inline(always)]
    pub(crate) fn prefetch_bucket(&self, hash: u64) {
        if self.count() != 0 {
            prefetch(self.bucket(self.address(hash)));
        }
    }

    /// Visits the entries that probably have this hash, for prefetching them.
    #[inline(always)]
    pub(crate) fn each_candidate(&self, hash: u64, visit: impl FnMut(&T)) {
        if self.count() != 0 {
            self.bucket(self.address(hash)).each_candidate(tag_of(hash), visit);
        }
    }
}

impl<T: Indexed> HeapBytes for Index<T> {
    fn heap_bytes(&self) -> usize {
        self.own_bytes() + self.entry_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;
    use std::num::NonZeroU64;

    impl HeapBytes for u64 {
        fn heap_bytes(&self) -> usize {
            *self as usize % 100
        }
    }

    impl Indexed for u64 {
        fn address(&self) -> *const u8 {
            std::ptr::from_ref(self).cast()
        }
    }

    impl Indexed for NonZeroU64 {
        fn address(&self) -> *const u8 {
            std::ptr::from_ref(self).cast()
        }
    }

    impl HeapBytes for NonZeroU64 {
        fn heap_bytes(&self) -> usize {
            0
        }
    }

    fn spread(value: u64) -> u64 {
        Random::from_seed(value).next_u64()
    }

    fn filled(len: u64) -> Index<u64> {
        let mut index = Index::default();
        for value in 0..len {
            index.insert(spread(value), value, |v| spread(*v));
        }
        index
    }

    #[test]
    fn a_hundred_thousand_entries_are_found_and_removed() {
        let mut index = filled(100_000);
        assert_eq!(index.len(), 100_000);
        for value in 0..100_000 {
            assert_eq!(index.find(spread(value), |v| *v == value), Some(&value));
        }
        for value in 0..100_000 {
            assert_eq!(index.remove(spread(value), |v| *v == value), Some(value));
        }
        assert_eq!((index.len(), index.count()), (0, 1));
    }

    #[test]
    fn the_index_takes_at_most_twenty_bytes_per_entry_at_any_size() {
        for len in [10_000, 60_000, 100_000, 131_072, 150_000, 262_144] {
            // Non-zero numbers, for `Option` must cost nothing, as it does for rows.
            let mut index = Index::default();
            for value in (1..=len).map(|v| NonZeroU64::new(v).unwrap()) {
                index.insert(spread(value.get()), value, |v| spread(v.get()));
            }
            let bytes = index.own_bytes();
            assert!(bytes <= 20 * len as usize, "{bytes} bytes for {len} entries");
        }
    }

    #[test]
    fn the_index_grows_and_shrinks_by_a_page_at_most() {
        let mut index = Index::default();
        let (mut before, mut step_max) = (0, 0);
        let mut look = |index: &Index<NonZeroU64>| {
            let segments = index.segments.iter().map(Vec::capacity).sum::<usize>();
            let bytes = segments * size_of::<Bucket<NonZeroU64>>();
            step_max = step_max.max(bytes.abs_diff(std::mem::replace(&mut before, bytes)));
        };
        let values = || (1..=20_000).map(|v| NonZeroU64::new(v).unwrap());
        for value in values() {
            index.insert(spread(value.get()), value, |v| spread(v.get()));
            look(&index);
        }
        for value in values() {
            index.remove(spread(value.get()), |v| *v == value);
            look(&index);
        }
        assert_eq!(step_max, 4096);
    }

    #[test]
    fn room_that_was_made_is_as_large_as_what_comes_or_given_back() {
        let grown = filled(5_000).count();
        let mut index = Index::default();
        index.expect(5_000);
        assert_eq!(index.count(), grown);
        for value in 0..5_000 {
            index.insert(spread(value), value, |_| unreachable!("nothing is moved"));
        }
        assert_eq!(index.count(), grown);
        assert!((0..5_000).all(|value| index.find(spread(value), |v| *v == value).is_some()));
        // There is something in it: nothing is made.
        index.expect(1_000_000);
        assert_eq!(index.count(), grown);
        let mut index = Index::default();
        index.expect(100_000);
        (0..10).for_each(|value| index.insert(spread(value), value, |v| spread(*v)));
        index.trim();
        assert!(index.count() < 10, "{} buckets for 10 entries", index.count());
        assert!((0..10).all(|value| index.find(spread(value), |v| *v == value).is_some()));
    }

    #[test]
    fn removing_from_the_last_bucket_down_leaves_no_long_bucket() {
        let mut index = filled(100_000);
        let mut other = filled(100_000);
        let (mut below, mut longest) = (0, 0);
        while index.len() > 0 {
            let mut found = Vec::new();
            below = index.scan_down(below, |value| found.push(*value));
            longest = longest.max(found.len());
            for value in found {
                assert_eq!(index.remove(spread(value), |v| *v == value), Some(value));
                // One that lists the same, and is a little larger.
                assert_eq!(other.remove(spread(value), |v| *v == value), Some(value));
            }
            let chain = other.scan_down(below, |_| ()).min(1) + other.bucket(0).iter().count();
            longest = longest.max(chain);
        }
        assert!(longest <= 24, "{longest} entries in a bucket");
        assert_eq!(below, 0);
        assert_eq!(Index::<u64>::default().scan_down(7, |_| unreachable!()), 0);
    }

    fn check_counts(index: &Index<u64>) {
        let entry_bytes: usize = index.iter().map(HeapBytes::heap_bytes).sum();
        let overflows: usize = index.segments.iter().flatten().map(Bucket::overflows).sum();
        assert_eq!((index.entry_bytes, index.overflows), (entry_bytes, overflows));
    }

    #[test]
    fn bytes_are_what_counting_finds_however_the_index_changes() {
        let mut index = filled(5_000);
        check_counts(&index);
        assert!(index.overflows > 100, "random hashes fill some buckets");
        for value in 0..5_000 {
            match value % 5 {
                0 => {
                    let spot = index.locate(spread(value), |v| *v == value).unwrap();
                    // Only the bytes are another's: nobody looks this one up again.
                    index.edit(spot, |v| *v += 7);
                    index.edit(spot, |v| *v -= 7);
                    index.edit(spot, |v| *v += 0);
                }
                _ => {
                    index.remove(spread(value), |v| *v == value);
                }
            }
            check_counts(&index);
        }
        index.shed(300, drop);
        check_counts(&index);
        index.shed(usize::MAX, drop);
        check_counts(&index);
    }

    #[test]
    fn sampling_reaches_every_entry() {
        let index = filled(500);
        let mut random = Random::from_seed(7);
        let seen: BTreeSet<u64> =
            (0..20_000).map(|_| *index.sample(&mut random).unwrap()).collect();
        assert_eq!(seen.len(), 500);
    }

    proptest! {
        #[test]
        fn a_scan_returns_what_stayed_however_the_index_changes(
            kept in 1u64..300,
            steps in proptest::collection::vec((any::<bool>(), 1u64..200), 0..60),
        ) {
            let mut index = filled(kept);
            let (mut cursor, mut seen, mut extra) = (0, BTreeSet::new(), Vec::new());
            let mut steps = steps.into_iter();
            loop {
                cursor = index.scan(cursor, |v| { seen.insert(*v); });
                if cursor == 0 { break; }
                match steps.next() {
                    Some((true, n)) => for value in 0..n {
                        let value = 1_000_000 + extra.len() as u64 + value;
                        index.insert(spread(value), value, |v| spread(*v));
                        extra.push(value);
                    },
                    Some((false, n)) => for _ in 0..n {
                        let Some(value) = extra.pop() else { break };
                        index.remove(spread(value), |v| *v == value);
                    },
                    None => {}
                }
            }
            prop_assert!((0..kept).all(|value| seen.contains(&value)));
        }
    }
}
