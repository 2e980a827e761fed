//! Which rows of a table end, and when.
//!
//! Owns the order of deadlines. The row itself holds its deadline too; this order is
//! only the way to find what is due without looking at every row. Entries are sorted,
//! in runs of a few hundred. Where rows share one lifetime their deadlines come in the
//! order of writing: then every entry goes to the end of the last run, and runs are
//! full. One out of order moves at most a run.
//!
//! Invariants: there is exactly one entry for each row with a deadline; runs are not
//! empty and in order.
//!
//! Estimate: 8 bytes per row that expires in the order of writing, up to 12 in any
//! order (Redis: a second dictionary, 24 for the entry and 8 to 16 for the table). An
//! entry names its row by 32 bits of its hash; rows that agree in them and in their
//! deadline are all looked at.
//!
//! How many end before a moment ([`Deadlines::count_before`]) is a sum of the lengths of runs
//! and a search in the one that the moment is in: exact where the caller allows it to look at
//! as many runs as there are, an estimate otherwise.

use crate::values::prefetch::prefetch;
use crate::values::random::Random;

/// The most entries of a run.
const RUN_ENTRIES_MAX: usize = 512;
/// Two neighbours that have no more entries than this become one.
const MERGE_ENTRIES_MAX: usize = 256;
/// A run has room for one entry in so many that have left it, and for a few more.
const ROOM_SHARE: usize = 4;
const ROOM_MIN: usize = 16;
/// What a search among the entries of a run costs: little in a short one, which lies in a few
/// lines of a cache that searches for other moments have read.
const SHORT_ENTRIES_MAX: usize = 64;
const SHORT_COST: usize = 1;
const LONG_COST: usize = 64;

/// How much is looked at to count deadlines.
#[derive(Debug, Clone, Copy)]
pub struct Looks {
    /// Runs whose lengths are added up, of one table; where there are more, every so many-th.
    pub runs_max: usize,
    /// What searches within runs may cost, in steps of some 20 ns, of all tables together; when
    /// that is used up, entries count as spread evenly over the time that their run spans.
    pub steps_left: usize,
    /// Whether nothing had to be estimated so far.
    pub is_exact: bool,
}

/// Deadlines in order.
#[derive(Debug, Default)]
pub(crate) struct Deadlines {
    runs: Vec<Run>,
    len: usize,
    /// Entries that the runs have room for.
    places: usize,
    /// The sum of all deadlines, for the average that INFO shows.
    sum_ms: i128,
}

/// Entries that lie close together.
#[derive(Debug)]
struct Run {
    /// What the deadlines of its entries are counted from.
    base_ms: i64,
    /// The first of its entries: whoever looks for a run need not look into each.
    first: (i64, u32),
    entries: Vec<Due>,
}

/// One row that ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    after_base_ms: u32,
    hash: u32,
}

impl Run {
    /// A run of one entry.
    fn of(first: (i64, u32)) -> Run {
        let (base_ms, hash) = first;
        Run { base_ms, first, entries: vec![Due { after_base_ms: 0, hash }] }
    }

    fn last(&self) -> (i64, u32) {
        self.at(self.entries.len() - 1)
    }

    fn at(&self, index: usize) -> (i64, u32) {
        let Due { after_base_ms, hash } = self.entries[index];
        (self.base_ms + i64::from(after_base_ms), hash)
    }

    /// An entry of this run, if its deadline can be counted from the base.
    fn entry(&self, (deadline, hash): (i64, u32)) -> Option<Due> {
        let after_base_ms = u32::try_from(deadline.checked_sub(self.base_ms)?).ok()?;
        Some(Due { after_base_ms, hash })
    }

    /// Moves the base back to a deadline before it, if all entries can be counted from
    /// there.
    fn reach_back(&mut self, deadline: i64) {
        let span = self.last().0.checked_sub(deadline);
        if deadline < self.base_ms && span.is_some_and(|span| u32::try_from(span).is_ok()) {
            let shift = (self.base_ms - deadline) as u32;
            self.entries.iter_mut().for_each(|entry| entry.after_base_ms += shift);
            self.base_ms = deadline;
        }
    }

    /// How many of its entries end before a moment that lies within it; where its entries may
    /// not be looked at, as if they were spread evenly until `end`.
    fn count_before(&self, moment: i64, end: i64, looks: &mut Looks) -> usize {
        let len = self.entries.len();
        let cost = if len <= SHORT_ENTRIES_MAX { SHORT_COST } else { LONG_COST };
        if let Some(left) = looks.steps_left.checked_sub(cost) {
            looks.steps_left = left;
            // It lies within the run, so it can be counted from the base.
            let moment = moment.saturating_sub(self.base_ms);
            return self.entries.partition_point(|due| i64::from(due.after_base_ms) < moment);
        }
        looks.is_exact = false;
        let passed = (moment as f64 - self.first.0 as f64).max(0.0);
        let span = (end as f64 - self.first.0 as f64).max(1.0);
        (len as f64 * (passed / span).min(1.0)) as usize
    }

    /// Gives room back that entries have left, unless it is little.
    fn give_back(&mut self) {
        let kept = self.entries.len() + self.entries.len() / ROOM_SHARE;
        if kept + ROOM_MIN < self.entries.capacity() {
            self.entries.shrink_to_fit();
        }
    }

    /// Makes the entries from an index on a run of their own.
    fn split(&mut self, from: usize) -> Run {
        let first = self.at(from);
        let base_ms = first.0;
        let shift = (base_ms - self.base_ms) as u32;
        let moved = self.entries.drain(from..);
        let entries =
            moved.map(|entry| Due { after_base_ms: entry.after_base_ms - shift, ..entry });
        let tail = Run { base_ms, first, entries: entries.collect() };
        self.entries.shrink_to_fit();
        tail
    }
}

impl Deadlines {
    /// How many rows have a deadline.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The average deadline, in milliseconds since the epoch.
    pub(crate) fn mean_ms(&self) -> Option<i64> {
        let len = self.len as i128;
        (len > 0).then(|| (self.sum_ms / len) as i64)
    }

    /// Follows a row's deadline from `old` to `new`.
    pub(crate) fn change(&mut self, hash: u64, old: Option<i64>, new: Option<i64>) {
        if old == new {
            return;
        }
        if let Some(old) = old {
            self.remove((old, hash as u32));
        }
        if let Some(new) = new {
            self.insert((new, hash as u32));
        }
    }

    /// Hints that the entry of a row with this deadline will be looked for soon.
    pub(super) fn prefetch(&self, hash: u64, deadline: Option<i64>) {
        if let Some(deadline) = deadline
            && let Some(run) = self.runs.get(self.run_of((deadline, hash as u32)))
        {
            // Where a search by halves looks first.
            let eighth = run.entries.len() / 8;
            for place in [4, 2, 6, 1, 3, 5, 7] {
                prefetch(&raw const run.entries[place * eighth]);
            }
        }
    }

    /// The soonest deadline and the low bits of its row's hash.
    pub(crate) fn first(&self) -> Option<(i64, u32)> {
        self.runs.first().map(|run| run.first)
    }

    /// Hints that they will be counted soon: where the runs lie, and once those are there the
    /// last of their entries.
    pub(super) fn prefetch_runs(&self) {
        if let (Some(first), Some(last)) = (self.runs.first(), self.runs.last()) {
            prefetch(&raw const *first);
            prefetch(&raw const *last);
        }
    }

    /// The same of the last entry.
    pub(super) fn prefetch_last(&self) {
        if let Some(last) = self.runs.last().and_then(|run| run.entries.last()) {
            prefetch(&raw const *last);
        }
    }

    /// How many rows end before each of some moments, which are in order.
    pub(crate) fn count_before(&self, moments: &[i64], counts: &mut [usize], looks: &mut Looks) {
        let (Some(first), Some(last)) = (self.runs.first(), self.runs.last()) else {
            return counts.fill(0);
        };
        let ((first, _), (last, _)) = (first.first, last.last());
        let stride = self.runs.len().div_ceil(looks.runs_max.max(1));
        // The run that a moment is in, and how many entries the runs before `next` have.
        let (mut at, mut next, mut before, mut least) = (0, 0, 0, 0);
        for (moment, count) in moments.iter().zip(counts) {
            *count = if *moment <= first {
                0
            } else if *moment > last {
                self.len
            } else {
                at = match stride {
                    // All are looked at anyway, in the order in which they lie.
                    1 => self.run_at(at, *moment),
                    _ => self.runs.partition_point(|run| run.first.0 < *moment).saturating_sub(1),
                };
                while next < at {
                    before += self.runs[next].entries.len() * stride.min(self.runs.len() - next);
                    next += stride;
                }
                // The last that was added stands for some that lie behind this one.
                let over = (next - at) * self.runs[at].entries.len();
                looks.is_exact &= stride == 1;
                let end = self.runs.get(at + 1).map_or(last, |run| run.first.0);
                let within = self.runs[at].count_before(*moment, end, looks);
                // Estimates of moments that lie close together may cross.
                (before.saturating_sub(over) + within).clamp(least, self.len)
            };
            least = *count;
        }
    }

    /// The last run, from one on, that begins before a moment.
    fn run_at(&self, from: usize, moment: i64) -> usize {
        let later = self.runs.iter().skip(from + 1);
        from + later.take_while(|run| run.first.0 < moment).count()
    }

    /// An entry drawn by chance.
    pub(crate) fn sample(&self, random: &mut Random) -> Option<(i64, u32)> {
        if self.runs.is_empty() {
            return None;
        }
        // Runs differ in length, so a place that is not there is drawn again.
        loop {
            let run = &self.runs[random.below(self.runs.len() as u64) as usize];
            let longest = if self.runs.len() == 1 { run.entries.len() } else { RUN_ENTRIES_MAX };
            let place = random.below(longest as u64) as usize;
            if place < run.entries.len() {
                return Some(run.at(place));
            }
        }
    }

    /// Forgets up to `budget` entries; returns how many.
    pub(crate) fn shed(&mut self, budget: usize) -> usize {
        let mut shed = 0;
        while let Some(last) = self.runs.last_mut().filter(|_| shed < budget) {
            let part = last.entries.len().min(budget - shed);
            last.entries.truncate(last.entries.len() - part);
            shed += part;
            if last.entries.is_empty() {
                self.places -= last.entries.capacity();
                self.runs.pop();
            }
        }
        self.len -= shed;
        shed
    }

    /// Bytes of the entries.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.places * size_of::<Due>() + self.runs.capacity() * size_of::<Run>()
    }

    /// The run that an entry is in, or belongs into: the last that begins before it.
    fn run_of(&self, entry: (i64, u32)) -> usize {
        // Where rows share one lifetime, those that come belong into the last run.
        match self.runs.last() {
            Some(last) if last.first <= entry => self.runs.len() - 1,
            _ => self.runs.partition_point(|run| run.first <= entry).saturating_sub(1),
        }
    }

    fn insert(&mut self, new: (i64, u32)) {
        self.len += 1;
        self.sum_ms += i128::from(new.0);
        let mut at = self.run_of(new);
        if self.runs.get(at).is_some_and(|run| run.entries.len() >= RUN_ENTRIES_MAX) {
            self.split(at, new);
            at = self.run_of(new);
        }
        let Some(run) = self.runs.get_mut(at) else { return self.insert_run(at, Run::of(new)) };
        run.reach_back(new.0);
        match run.entry(new) {
            Some(_) if run.entries.len() >= RUN_ENTRIES_MAX => {
                self.insert_run(at + 1, Run::of(new))
            }
            Some(entry) => {
                let place = run.entries.partition_point(|other| *other < entry);
                let places = run.entries.capacity();
                run.entries.insert(place, entry);
                run.first = run.first.min(new);
                self.places += run.entries.capacity() - places;
            }
            // What cannot be counted from the base lies before all of the run, or behind.
            None => {
                let at = if new < run.first { at } else { at + 1 };
                self.insert_run(at, Run::of(new));
            }
        }
    }

    /// Makes room in a full run, unless a new entry is to come behind all others: then
    /// the run stays full.
    fn split(&mut self, at: usize, new: (i64, u32)) {
        let is_last = at + 1 == self.runs.len();
        let run = &mut self.runs[at];
        if is_last && new >= run.last() {
            return;
        }
        self.places -= run.entries.capacity();
        let tail = run.split(RUN_ENTRIES_MAX / 2);
        self.places += run.entries.capacity();
        self.insert_run(at + 1, tail);
    }

    fn insert_run(&mut self, at: usize, run: Run) {
        self.places += run.entries.capacity();
        self.runs.insert(at, run);
    }

    fn remove_run(&mut self, at: usize) -> Run {
        let run = self.runs.remove(at);
        self.places -= run.entries.capacity();
        run
    }

    fn remove(&mut self, old: (i64, u32)) {
        let at = self.run_of(old);
        let Some(run) = self.runs.get_mut(at) else { return };
        let place = run.entry(old).and_then(|entry| run.entries.binary_search(&entry).ok());
        let place = place.expect("every row that ends has an entry");
        let places = run.entries.capacity();
        run.entries.remove(place);
        run.give_back();
        self.places = self.places + run.entries.capacity() - places;
        self.len -= 1;
        self.sum_ms -= i128::from(old.0);
        if run.entries.is_empty() {
            self.remove_run(at);
            return;
        }
        run.first = run.at(0);
        if run.entries.len() <= MERGE_ENTRIES_MAX / 2 && at > 0 {
            self.merge(at);
        }
    }

    /// Gives the entries of a short run to the one before it, if they fit there.
    fn merge(&mut self, at: usize) {
        let [target, source] = &self.runs[at - 1..=at] else { return };
        let fits = target.entries.len() + source.entries.len() <= MERGE_ENTRIES_MAX;
        if !fits || target.entry(source.last()).is_none() {
            return;
        }
        let source = self.remove_run(at);
        let target = &mut self.runs[at - 1];
        let places = target.entries.capacity();
        // The bases need not lie as the entries do: entries before them have gone.
        let moved = (0..source.entries.len()).filter_map(|index| target.entry(source.at(index)));
        let moved: Vec<Due> = moved.collect();
        target.entries.extend(moved);
        self.places += target.entries.capacity() - places;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_soonest_deadline_comes_first() {
        let mut deadlines = Deadlines::default();
        deadlines.change(1, None, Some(50));
        deadlines.change(2, None, Some(20));
        deadlines.change(1, Some(50), Some(10));
        assert_eq!(deadlines.first(), Some((10, 1)));
        deadlines.change(1, Some(10), None);
        assert_eq!(deadlines.first(), Some((20, 2)));
        assert_eq!((deadlines.len(), deadlines.mean_ms()), (1, Some(20)));
    }

    #[test]
    fn every_entry_can_be_drawn_whatever_their_deadlines() {
        let mut random = Random::from_seed(3);
        for spacing in [0, 1, 1000, i64::from(u32::MAX)] {
            let mut deadlines = Deadlines::default();
            for number in 0..20 {
                deadlines.change(number, None, Some(number as i64 * spacing));
            }
            let drawn: BTreeSet<_> =
                (0..20_000).filter_map(|_| deadlines.sample(&mut random)).collect();
            assert_eq!(drawn.len(), 20, "with spacing {spacing}");
        }
        assert_eq!(Deadlines::default().sample(&mut random), None);
    }

    fn counted(deadlines: &Deadlines, moments: &[i64], looks: &mut Looks) -> Vec<usize> {
        let mut counts = vec![7; moments.len()];
        deadlines.count_before(moments, &mut counts, looks);
        counts
    }

    const ALL: Looks = Looks { runs_max: usize::MAX, steps_left: usize::MAX, is_exact: true };

    #[test]
    fn how_many_end_before_a_moment_is_near_where_few_runs_are_looked_at() {
        let mut random = Random::from_seed(5);
        let mut deadlines = Deadlines::default();
        // Dense first and thin later, so that the share of runs alone would say little.
        let mut all: Vec<i64> = (0..200_000)
            .map(|n| (random.below(1_000_000) * if n % 4 == 0 { 9 } else { 1 }) as i64)
            .collect();
        for (hash, deadline) in all.iter().enumerate() {
            deadlines.change(hash as u64, None, Some(*deadline));
        }
        all.sort_unstable();
        let moments: Vec<i64> = (0..40).map(|n| n * 250_000).collect();
        let exact: Vec<usize> =
            moments.iter().map(|moment| all.partition_point(|it| it < moment)).collect();
        let mut looks = ALL;
        assert_eq!(counted(&deadlines, &moments, &mut looks), exact);
        assert!(looks.is_exact);
        for (runs_max, steps_left) in [(64, usize::MAX), (usize::MAX, 0), (64, 0), (1, 0)] {
            let mut looks = Looks { runs_max, steps_left, is_exact: true };
            let near = counted(&deadlines, &moments, &mut looks);
            assert!(!looks.is_exact && near.is_sorted(), "{near:?}");
            if runs_max > 1 {
                let is_near = |(near, exact): (&usize, &usize)| near.abs_diff(*exact) < 4_000;
                assert!(near.iter().zip(&exact).all(is_near), "{near:?} of {exact:?}");
            }
            assert_eq!((near[0], near[39]), (0, 200_000), "what is known is exact");
        }
    }

    #[test]
    fn counting_looks_at_no_more_than_it_may() {
        let mut deadlines = Deadlines::default();
        (0..1000).for_each(|n| deadlines.change(n, None, Some(n as i64)));
        let mut looks = Looks { steps_left: 76, ..ALL };
        assert_eq!(counted(&deadlines, &[0, 1000, 5000], &mut looks), [0, 1000, 1000]);
        assert_eq!((looks.steps_left, looks.is_exact), (76, true), "no search was needed");
        counted(&deadlines, &[300, 700, 800], &mut looks);
        assert_eq!((looks.steps_left, looks.is_exact), (12, false), "one search was paid for");
    }

    #[test]
    fn an_entry_takes_eight_bytes_in_the_order_of_writing_and_twelve_in_any() {
        let mut random = Random::from_seed(3);
        let orders: [(usize, &mut dyn FnMut(i64) -> i64); 3] =
            [(9, &mut |n| n), (13, &mut |n| -n), (13, &mut |_| random.below(1_000_000_000) as i64)];
        for (bytes, order) in orders {
            let mut deadlines = Deadlines::default();
            for number in 0..100_000 {
                deadlines.change(number as u64, None, Some(order(number)));
            }
            let all = deadlines.heap_bytes();
            assert!(all <= bytes * 100_000, "{all} bytes, not {bytes} each");
        }
    }

    #[test]
    fn rows_that_went_leave_little_room_behind() {
        let mut random = Random::from_seed(3);
        let mut deadlines = Deadlines::default();
        (0..100_000).for_each(|number| deadlines.change(number, None, Some(number as i64)));
        let mut left: Vec<u64> = (0..100_000).collect();
        while left.len() > 10_000 {
            let gone = left.swap_remove(random.below(left.len() as u64) as usize);
            deadlines.change(gone, Some(gone as i64), None);
            let (bytes, rows) = (deadlines.heap_bytes(), left.len());
            assert!(bytes <= 12 * rows + 20_000, "{bytes} bytes for {rows} rows");
        }
    }

    proptest! {
        #[test]
        fn deadlines_agree_with_a_set(
            steps in proptest::collection::vec((0u32..50, -3i64..40, 0u32..4), 1..300),
        ) {
            let scales = [1, 1000, i64::from(u32::MAX) / 3, i64::MAX / 50];
            let mut deadlines = Deadlines::default();
            let mut model: std::collections::BTreeMap<u32, i64> = Default::default();
            for (hash, moment, scale) in steps {
                let new = (moment >= 0).then(|| moment * scales[scale as usize]);
                let old = match new {
                    Some(new) => model.insert(hash, new),
                    None => model.remove(&hash),
                };
                deadlines.change(u64::from(hash), old, new);
                let sorted: BTreeSet<(i64, u32)> = model.iter().map(|(h, d)| (*d, *h)).collect();
                prop_assert_eq!(deadlines.first(), sorted.first().copied());
                prop_assert_eq!(deadlines.len(), sorted.len());
                let all = deadlines.runs.iter();
                let all = all.flat_map(|run| (0..run.entries.len()).map(|index| run.at(index)));
                prop_assert!(all.eq(sorted));
                prop_assert!(deadlines.runs.iter().all(|run| run.first == run.at(0)));
                let places: usize = deadlines.runs.iter().map(|run| run.entries.capacity()).sum();
                prop_assert_eq!(deadlines.places, places);
                let mut moments: Vec<i64> = scales.iter().flat_map(|it| [it * 3, it * 20]).collect();
                moments.sort_unstable();
                let exact: Vec<usize> = moments
                    .iter()
                    .map(|moment| model.values().filter(|it| *it < moment).count())
                    .collect();
                let mut looks = ALL;
                prop_assert_eq!(counted(&deadlines, &moments, &mut looks), exact);
                prop_assert!(looks.is_exact);
            }
        }
    }
}
