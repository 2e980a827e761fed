//! Leaves in the order of ids: a tree of two levels whose parts are shared until somebody
//! changes them (copy-on-write).
//!
//! Owns the order of leaves and the sums over them. A copy of a tree shares everything with
//! it and costs a count for each branch, 256 leaves; who changes a leaf that others share
//! copies that leaf and its branch. So a snapshot, COPY and undoing have the stream of an
//! instant at once, whatever its size. The count of sharers is atomic, so that rows can go
//! to other threads.
//!
//! Estimate: 32 bytes of a branch and 48 of a shared head per leaf: of nodes, which have
//! some 3.5 kB, a forty-fifth.
//!
//! Invariants: leaves are in the order of their first ids, which are all different, no
//! branch is empty, sums are those of the leaves.
//! Not here: what is in a leaf (`node`, `id_map`).

use super::id::StreamId;
use crate::values::footprint::HeapBytes;
use crate::values::size_class::{is_small, size_class};
use std::iter::Peekable;
use std::sync::Arc;

/// Leaves of a branch at most.
const TWIGS_MAX: usize = 256;
/// Allocations of a leaf: its own, and the head that is shared.
const LEAF_ALLOCATIONS: usize = 2;
/// What sharing something costs besides it: two counts.
const SHARED_BYTES: usize = 2 * size_of::<usize>();

/// What a tree has in order.
pub(super) trait Leaf: HeapBytes + Clone {
    /// How many things are in it, and how many are there no more.
    fn counts(&self) -> [usize; 2];
    /// The same in other allocations, of the same bytes.
    fn moved(&self) -> Self;
    /// Nothing in it is dated earlier than this; the latest of times where nothing is dated.
    fn oldest(&self) -> i64 {
        i64::MAX
    }
}

/// So much earlier than what they have, in milliseconds, may leaves and branches be said to begin:
/// it is not worth looking at all of them to know better.
pub(super) const SLACK_MS: i64 = 1_000;

/// Leaves in the order of ids.
#[derive(Debug)]
pub(super) struct Tree<L> {
    branches: Vec<Branch<L>>,
    leaves: usize,
    /// Bytes of all allocations but that of `branches`.
    bytes: usize,
}

#[derive(Debug)]
struct Branch<L> {
    twigs: Arc<Vec<Twig<L>>>,
    /// What is live in all leaves.
    live: u64,
    /// Bytes of all its allocations.
    bytes: usize,
    /// Nothing in its leaves is dated earlier than this.
    oldest: i64,
}

/// A leaf and what is known of it.
#[derive(Debug)]
pub(super) struct Twig<L> {
    /// The first id that the leaf may have.
    pub(super) first: StreamId,
    pub(super) live: u32,
    pub(super) dead: u32,
    pub(super) leaf: Arc<L>,
}

impl<L> Clone for Branch<L> {
    fn clone(&self) -> Branch<L> {
        Branch { twigs: Arc::clone(&self.twigs), ..*self }
    }
}

impl<L> Clone for Twig<L> {
    fn clone(&self) -> Twig<L> {
        Twig { leaf: Arc::clone(&self.leaf), ..*self }
    }
}

impl<L> Clone for Tree<L> {
    fn clone(&self) -> Tree<L> {
        Tree { branches: self.branches.clone(), ..*self }
    }
}

impl<L> Default for Tree<L> {
    fn default() -> Tree<L> {
        Tree { branches: Vec::new(), leaves: 0, bytes: 0 }
    }
}

/// Where a leaf is, until one comes or goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    branch: usize,
    twig: usize,
}

impl Place {
    /// Before all leaves.
    pub(super) const START: Place = Place { branch: 0, twig: 0 };
}

/// Whether there is an id, and it lies before an end.
fn is_before(id: Option<&StreamId>, end: Option<StreamId>) -> bool {
    id.is_some_and(|id| end.is_none_or(|end| *id < end))
}

/// Bytes of a leaf with its head.
fn leaf_bytes<L: Leaf>(leaf: &L) -> usize {
    size_class(SHARED_BYTES + size_of::<L>()) + leaf.heap_bytes()
}

/// Bytes of a branch itself.
fn branch_bytes<L>(twigs: &Vec<Twig<L>>) -> usize {
    size_class(SHARED_BYTES + size_of::<Vec<Twig<L>>>())
        + size_class(twigs.capacity() * size_of::<Twig<L>>())
}

/// What nothing in leaves is dated earlier than.
fn oldest_of<L: Leaf>(twigs: &[Twig<L>]) -> i64 {
    twigs.iter().map(|twig| twig.leaf.oldest()).min().unwrap_or(i64::MAX)
}

impl<L: Leaf> Twig<L> {
    fn new(first: StreamId, leaf: Arc<L>) -> Twig<L> {
        let [live, dead] = leaf.counts().map(|count| count as u32);
        Twig { first, live, dead, leaf }
    }
}

impl<L: Leaf> Branch<L> {
    fn of(twigs: Vec<Twig<L>>) -> Branch<L> {
        let live = twigs.iter().map(|twig| u64::from(twig.live)).sum();
        let leaves: usize = twigs.iter().map(|twig| leaf_bytes(&*twig.leaf)).sum();
        let (bytes, oldest) = (branch_bytes(&twigs) + leaves, oldest_of(&twigs));
        Branch { live, bytes, oldest, twigs: Arc::new(twigs) }
    }

    /// What was oldest, at a place or where one was, has gone or is younger now.
    fn date_anew(&mut self, at: usize) {
        let latest = self.oldest.saturating_add(SLACK_MS);
        let beside = self.twigs.iter().skip(at.saturating_sub(1)).take(3);
        if !{ beside }.any(|twig| twig.leaf.oldest() <= latest) {
            self.oldest = oldest_of(&self.twigs);
        }
    }

    /// Changes the branch itself; its bytes are kept.
    fn edit<R>(&mut self, edit: impl FnOnce(&mut Vec<Twig<L>>) -> R) -> R {
        let before = branch_bytes(&self.twigs);
        let twigs = Arc::make_mut(&mut self.twigs);
        let result = edit(twigs);
        self.bytes = self.bytes - before + branch_bytes(&self.twigs);
        result
    }

    fn add(&mut self, at: usize, twig: Twig<L>) {
        self.live += u64::from(twig.live);
        self.bytes += leaf_bytes(&*twig.leaf);
        self.oldest = self.oldest.min(twig.leaf.oldest());
        self.edit(|twigs| twigs.insert(at, twig));
    }
}

impl<L: Leaf> Tree<L> {
    /// How many leaves there are.
    pub(super) fn len(&self) -> usize {
        self.leaves
    }

    /// The place of the first leaf.
    pub(super) fn first(&self) -> Option<Place> {
        (!self.branches.is_empty()).then_some(Place::START)
    }

    /// The place of the last leaf.
    #[inline]
    pub(super) fn last(&self) -> Option<Place> {
        let branch = self.branches.len().checked_sub(1)?;
        Some(Place { branch, twig: self.branches[branch].twigs.len() - 1 })
    }

    /// The place of the leaf that an id belongs to: the last one that does not begin
    /// behind it.
    #[inline]
    pub(super) fn seek(&self, id: StreamId) -> Option<Place> {
        let behind = self.branches.partition_point(|branch| branch.twigs[0].first <= id);
        let branch = behind.checked_sub(1)?;
        let twigs = &self.branches[branch].twigs;
        let twig = twigs.partition_point(|twig| twig.first <= id) - 1;
        Some(Place { branch, twig })
    }

    /// The place behind another.
    #[inline]
    pub(super) fn next(&self, place: Place) -> Option<Place> {
        let Place { branch, twig } = place;
        if twig + 1 < self.branches.get(branch)?.twigs.len() {
            return Some(Place { branch, twig: twig + 1 });
        }
        (branch + 1 < self.branches.len()).then_some(Place { branch: branch + 1, twig: 0 })
    }

    /// The place before another.
    pub(super) fn previous(&self, place: Place) -> Option<Place> {
        let Place { branch, twig } = place;
        if let Some(twig) = twig.checked_sub(1) {
            return Some(Place { branch, twig });
        }
        let branch = branch.checked_sub(1)?;
        Some(Place { branch, twig: self.branches[branch].twigs.len() - 1 })
    }

    /// The place of the leaf of this number.
    pub(super) fn nth(&self, number: usize) -> Option<Place> {
        let mut left = number;
        for (branch, Branch { twigs, .. }) in self.branches.iter().enumerate() {
            if left < twigs.len() {
                return Some(Place { branch, twig: left });
            }
            left -= twigs.len();
        }
        None
    }

    /// The leaf at a place, with what is known of it.
    #[inline]
    pub(super) fn at(&self, place: Place) -> &Twig<L> {
        &self.branches[place.branch].twigs[place.twig]
    }

    /// All leaves in order, from a place on.
    pub(super) fn from(&self, place: Place) -> impl Iterator<Item = &Twig<L>> {
        let branches = self.branches.get(place.branch..).unwrap_or_default();
        let twigs = branches.iter().flat_map(|branch| branch.twigs.iter());
        twigs.skip(place.twig)
    }

    /// The place of the first leaf, from one on, that may have something dated up to a time.
    pub(super) fn dated_from(&self, place: Place, up_to_ms: i64) -> Option<Place> {
        let mut start = place.twig;
        for branch in place.branch..self.branches.len() {
            let Branch { twigs, oldest, .. } = &self.branches[branch];
            if *oldest <= up_to_ms {
                let mut behind = twigs.iter().skip(start);
                if let Some(at) = behind.position(|twig| twig.leaf.oldest() <= up_to_ms) {
                    return Some(Place { branch, twig: start + at });
                }
            }
            start = 0;
        }
        None
    }

    /// Changes the leaf at a place.
    #[inline]
    pub(super) fn edit<R>(&mut self, place: Place, edit: impl FnOnce(StreamId, &mut L) -> R) -> R {
        let branch = &mut self.branches[place.branch];
        let branch_before = branch_bytes(&branch.twigs);
        let twigs = Arc::make_mut(&mut branch.twigs);
        let branch_after = branch_bytes(twigs);
        let twig = &mut twigs[place.twig];
        let before = branch_before + leaf_bytes(&*twig.leaf);
        let oldest_before = twig.leaf.oldest();
        let leaf = Arc::make_mut(&mut twig.leaf);
        let result = edit(twig.first, leaf);
        let after = branch_after + leaf_bytes(leaf);
        let oldest = leaf.oldest();
        let [live, dead] = leaf.counts().map(|count| count as u32);
        branch.live = branch.live - u64::from(twig.live) + u64::from(live);
        (twig.live, twig.dead) = (live, dead);
        branch.bytes = branch.bytes - before + after;
        self.bytes = self.bytes - before + after;
        if oldest < branch.oldest {
            branch.oldest = oldest;
        } else if oldest_before == branch.oldest && oldest_before < oldest {
            branch.date_anew(place.twig);
        }
        result
    }

    /// Adds a leaf where its first id belongs; false if there is one that begins with it.
    pub(super) fn insert(&mut self, first: StreamId, leaf: L) -> bool {
        self.insert_shared(Twig::new(first, Arc::new(leaf)))
    }

    fn insert_shared(&mut self, twig: Twig<L>) -> bool {
        match self.seek(twig.first) {
            Some(place) if self.at(place).first == twig.first => return false,
            Some(place) if Some(place) == self.last() => self.push(twig),
            Some(Place { branch, twig: at }) => self.add(Place { branch, twig: at + 1 }, twig),
            None if self.branches.is_empty() => self.push(twig),
            None => self.add(Place::START, twig),
        }
        self.leaves += 1;
        true
    }

    /// Adds a leaf behind all others. A full branch stays full.
    fn push(&mut self, twig: Twig<L>) {
        let last = self.branches.len().wrapping_sub(1);
        match self.branches.last().map(|branch| branch.twigs.len()) {
            Some(count) if count < TWIGS_MAX => self.add(Place { branch: last, twig: count }, twig),
            _ => {
                let branch = Branch::of(vec![twig]);
                self.bytes += branch.bytes;
                self.branches.push(branch);
            }
        }
    }

    /// Adds a leaf at a place, and makes two branches of one that has too many.
    fn add(&mut self, Place { branch: number, twig: at }: Place, twig: Twig<L>) {
        let branch = &mut self.branches[number];
        let before = branch.bytes;
        branch.add(at, twig);
        let mut after = branch.bytes;
        if branch.twigs.len() > TWIGS_MAX {
            let mut twigs = Vec::clone(&branch.twigs);
            let behind = Branch::of(twigs.split_off(TWIGS_MAX / 2));
            *branch = Branch::of(twigs);
            after = branch.bytes + behind.bytes;
            self.branches.insert(number + 1, behind);
        }
        self.bytes = self.bytes - before + after;
    }

    fn bytes_of_branches(&self) -> usize {
        self.branches.iter().map(|branch| branch.bytes).sum()
    }

    /// Takes the leaf at a place out.
    pub(super) fn remove(&mut self, place: Place) {
        let branch = &mut self.branches[place.branch];
        let before = branch.bytes;
        let twig = branch.edit(|twigs| twigs.remove(place.twig));
        branch.live -= u64::from(twig.live);
        branch.bytes -= leaf_bytes(&*twig.leaf);
        if branch.oldest < i64::MAX && branch.oldest == twig.leaf.oldest() {
            branch.date_anew(place.twig);
        }
        self.bytes = self.bytes - before + branch.bytes;
        if branch.twigs.is_empty() {
            self.bytes -= branch.bytes;
            self.branches.remove(place.branch);
        }
        self.leaves -= 1;
    }

    /// Changes the leaves that ids belong to, of ids that come in order: `edit` takes those off
    /// that lie before an end. Leaves of which nothing is left are taken out; returns them.
    pub(super) fn thin<I: Iterator<Item = StreamId>>(
        &mut self,
        ids: &mut Peekable<I>,
        edit: impl Fn(&mut L, &mut Peekable<I>, Option<StreamId>),
    ) -> Tree<L> {
        let mut gone = Tree::default();
        for number in 0..self.branches.len() {
            let behind = self.branches.get(number + 1).map(|branch| branch.twigs[0].first);
            if !is_before(ids.peek(), behind) {
                continue;
            }
            let branch = &mut self.branches[number];
            let mut twigs = Arc::unwrap_or_clone(std::mem::take(&mut branch.twigs));
            for at in 0..twigs.len() {
                let end = twigs.get(at + 1).map(|twig| twig.first).or(behind);
                if !is_before(ids.peek(), end) {
                    continue;
                }
                let twig = &mut twigs[at];
                edit(Arc::make_mut(&mut twig.leaf), ids, end);
                [twig.live, twig.dead] = twig.leaf.counts().map(|count| count as u32);
            }
            for twig in twigs.extract_if(.., |twig| twig.live == 0) {
                gone.push(twig);
                gone.leaves += 1;
            }
            *branch = Branch::of(twigs);
        }
        self.branches.retain(|branch| !branch.twigs.is_empty());
        self.leaves -= gone.leaves;
        self.bytes = self.bytes_of_branches();
        gone
    }

    /// Takes all leaves before a place out, or all where there is none; returns them.
    pub(super) fn cut_before(&mut self, place: Option<Place>) -> Tree<L> {
        let Some(Place { branch, twig }) = place else { return std::mem::take(self) };
        let mut gone =
            Tree { branches: self.branches.drain(..branch).collect(), ..Tree::default() };
        if twig > 0 {
            let (before, behind) = self.branches[0].twigs.split_at(twig);
            let (before, behind) = (Branch::of(before.to_vec()), Branch::of(behind.to_vec()));
            self.branches[0] = behind;
            gone.branches.push(before);
        }
        gone.leaves = gone.branches.iter().map(|branch| branch.twigs.len()).sum();
        gone.bytes = gone.bytes_of_branches();
        self.leaves -= gone.leaves;
        self.bytes = self.bytes_of_branches();
        gone
    }

    /// Frees up to about so many allocations; returns how many.
    pub(super) fn shed(&mut self, budget: usize) -> usize {
        let (budget, mut shed) = (budget.div_ceil(LEAF_ALLOCATIONS), 0);
        while shed < budget
            && let Some(branch) = self.branches.last_mut()
        {
            let Some(twigs) = Arc::get_mut(&mut branch.twigs) else {
                // Others have it: only a count goes.
                self.branches.pop();
                shed += 1;
                continue;
            };
            let left = twigs.len().saturating_sub(budget - shed);
            shed += twigs.len() - left;
            twigs.truncate(left);
            if left == 0 {
                self.branches.pop();
            }
        }
        if self.branches.is_empty() {
            (self.leaves, self.bytes) = (0, 0);
        }
        shed * LEAF_ALLOCATIONS
    }

    /// Moves leaves to other allocations, from one of this number on and so many of them;
    /// returns the number to go on from, none at the end. Shared ones stay.
    pub(super) fn gather(&mut self, from: usize, budget: usize) -> Option<usize> {
        let mut before = 0;
        let mut left = budget;
        for branch in &mut self.branches {
            let count = branch.twigs.len();
            if from >= before + count {
                before += count;
                continue;
            }
            let start = from.saturating_sub(before);
            let end = count.min(start + left);
            if let Some(twigs) = Arc::get_mut(&mut branch.twigs) {
                for twig in &mut twigs[start..end] {
                    let is_shared = Arc::get_mut(&mut twig.leaf).is_none();
                    if !is_shared && is_small(twig.leaf.heap_bytes()) {
                        twig.leaf = Arc::new(twig.leaf.moved());
                    }
                }
            }
            left -= end - start;
            before += end;
            if left == 0 || end < count {
                return (before < self.leaves).then_some(before);
            }
        }
        None
    }

    /// Bytes of the tree.
    #[inline]
    pub(super) fn heap_bytes(&self) -> usize {
        size_class(self.branches.capacity() * size_of::<Branch<L>>()) + self.bytes
    }

    /// How many allocations it has, about.
    pub(super) fn allocations(&self) -> usize {
        LEAF_ALLOCATIONS * self.leaves
    }

    /// Bytes of the tree, by looking at every leaf.
    #[cfg(test)]
    pub(super) fn bytes_by_looking(&self) -> usize {
        let of_branch = |branch: &Branch<L>| {
            let leaves: usize = branch.twigs.iter().map(|twig| leaf_bytes(&*twig.leaf)).sum();
            branch_bytes(&branch.twigs) + leaves
        };
        size_class(self.branches.capacity() * size_of::<Branch<L>>())
            + self.branches.iter().map(of_branch).sum::<usize>()
    }
}
