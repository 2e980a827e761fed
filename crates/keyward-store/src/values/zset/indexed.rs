//! A large sorted set: an index by member and a tree by score.
//!
//! Owns the members. The index holds each in one allocation with its score; the
//! tree refers to the same allocation. Invariants: the index and the tree hold
//! the same members with the same scores; an entry leaves the tree before its
//! member is dropped.
//!
//! Estimate for a member of 20 bytes: 32 for itself, 18 in the index, 24 in the
//! tree, together 74 (Redis: a string of 32, a skip-list node of 53 in the mean,
//! a dictionary entry of 32 and 8 to 16 of its table).
//!
//! This module is `unsafe` where it lets the tree share what the index owns.
#![allow(unsafe_code)]

use super::Change;
use super::cut::Cut;
use super::member::Member;
use super::tree::{ScoredMember, Tree};
use crate::values::footprint::{Footprint, HeapBytes};
use crate::values::hasher::KeyHasher;
use crate::values::index::Index;
use crate::values::zset::tree;
use std::ops::Range;

/// Members by name and by score.
pub(super) struct Indexed {
    index: Index<Member>,
    tree: Tree,
    hasher: KeyHasher,
}

impl Indexed {
    pub(super) fn new(hasher: KeyHasher) -> Indexed {
        Indexed { index: Index::default(), tree: Tree::new(), hasher }
    }

    pub(super) fn len(&self) -> usize {
        self.tree.len()
    }

    pub(super) fn score(&self, member: &[u8]) -> Option<f64> {
        let hash = self.hasher.hash(member);
        self.index.find(hash, |m| m.bytes() == member).map(Member::score)
    }

    pub(super) fn rank_of(&self, member: &[u8]) -> Option<usize> {
        let score = self.score(member)?;
        Some(self.tree.rank(&Cut::BeforeScored(score, member)))
    }

    pub(super) fn rank(&self, cut: &Cut<'_>) -> usize {
        self.tree.rank(cut)
    }

    pub(super) fn at(&self, rank: usize) -> (&[u8], f64) {
        self.tree.at(rank)
    }

    pub(super) fn iter(&self, ranks: Range<usize>) -> tree::Iter<'_> {
        self.tree.iter(ranks)
    }

    /// See [`super::ZSet::update`].
    pub(super) fn update(
        &mut self,
        member: &[u8],
        decide: impl FnOnce(Option<f64>) -> Option<f64>,
    ) -> Change {
        let hash = self.hasher.hash(member);
        let Some(spot) = self.index.locate(hash, |m| m.bytes() == member) else {
            let Some(score) = decide(None) else { return Change::None };
            self.insert(hash, member, score);
            return Change::Added;
        };
        let found = self.index.at_mut(spot);
        let old = found.score();
        match decide(Some(old)) {
            Some(new) if new != old => {
                found.set_score(new);
                self.tree.rescore((old, found.bytes()), new);
                Change::Rescored
            }
            _ => Change::None,
        }
    }

    /// Adds a member that is not there yet.
    pub(super) fn push(&mut self, member: &[u8], score: f64) {
        self.insert(self.hasher.hash(member), member, score);
    }

    fn insert(&mut self, hash: u64, member: &[u8], score: f64) {
        let member = Member::new(member, score);
        // SAFETY: the entry made here leaves the tree before the index gives its
        // member up: in `remove`, `remove_ranks` and `cut`. When the whole set is
        // dropped the tree reads no member.
        let entry = ScoredMember { score, member: unsafe { member.share() } };
        let hasher = self.hasher;
        self.index.insert(hash, member, |m| hasher.hash(m.bytes()));
        self.tree.insert(entry);
    }

    pub(super) fn remove(&mut self, member: &[u8]) -> bool {
        let hash = self.hasher.hash(member);
        let Some(found) = self.index.remove(hash, |m| m.bytes() == member) else { return false };
        self.tree.remove(found.score(), found.bytes());
        true
    }

    pub(super) fn remove_ranks(&mut self, ranks: Range<usize>) {
        for _ in ranks.clone() {
            let entry = self.tree.remove_at(ranks.start);
            let hash = self.hasher.hash(entry.member.bytes());
            let removed = self.index.remove(hash, |m| m.is(entry.member));
            assert!(removed.is_some(), "the index and the tree hold the same members");
        }
    }

    /// Moves the members of a range of ranks to a set of their own.
    pub(super) fn cut(&mut self, ranks: Range<usize>) -> Indexed {
        let mut cut = Indexed::new(self.hasher);
        if ranks == (0..self.len()) {
            std::mem::swap(self, &mut cut);
            return cut;
        }
        let hasher = self.hasher;
        cut.index.expect(ranks.len());
        for _ in ranks.clone() {
            let entry = self.tree.remove_at(ranks.start);
            let hash = hasher.hash(entry.member.bytes());
            let member = self.index.remove(hash, |m| m.is(entry.member));
            let member = member.expect("the index and the tree hold the same members");
            // The member stays where it is in memory, and now lives as long as the set that
            // it and its entry come to.
            cut.index.insert(hash, member, |m| hasher.hash(m.bytes()));
            cut.tree.insert(entry);
        }
        cut
    }

    /// Copies of all members but those of a range of ranks, in a set of their own.
    pub(super) fn without(&self, ranks: &Range<usize>) -> Indexed {
        let mut rest = Indexed::new(self.hasher);
        rest.index.expect(self.len() - ranks.len());
        for (member, score) in self.iter(0..ranks.start).chain(self.iter(ranks.end..self.len())) {
            rest.push(member, score);
        }
        rest
    }

    /// Takes back what was cut off: members that are not there.
    pub(super) fn join(&mut self, mut cut: Indexed) {
        if self.len() < cut.len() {
            std::mem::swap(self, &mut cut);
        }
        let hasher = self.hasher;
        // First the members, then the entries that refer to them: those of the other tree
        // refer to members of this index from here on, which are alive.
        cut.index.shed(usize::MAX, |member| {
            self.index.insert(hasher.hash(member.bytes()), member, |m| hasher.hash(m.bytes()));
        });
        while cut.tree.len() > 0 {
            self.tree.insert(cut.tree.remove_at(0));
        }
    }

    /// Visits the members of one bucket of the index; returns the next cursor,
    /// zero at the end.
    pub(super) fn scan(&self, cursor: u64, mut visit: impl FnMut(&[u8], f64)) -> u64 {
        self.index.scan(cursor, |member| visit(member.bytes(), member.score()))
    }
}

impl HeapBytes for Indexed {
    fn heap_bytes(&self) -> usize {
        self.index.heap_bytes() + self.tree.heap_bytes()
    }
}

impl Footprint for Indexed {
    fn allocations(&self) -> usize {
        self.index.len()
    }

    fn shed(&mut self, budget: usize) -> usize {
        // The tree goes first: it reads no member, but must not outlive one.
        match self.tree.shed(budget) {
            0 => self.index.shed(budget, drop),
            freed => freed,
        }
    }

    fn gather(&mut self, from: usize, budget: usize) -> Option<usize> {
        // Members stay where they are: the tree refers to them.
        self.index.gather(from, budget, |_| ())
    }
}

impl Clone for Indexed {
    fn clone(&self) -> Indexed {
        let mut copy = Indexed::new(self.hasher);
        for (member, score) in self.iter(0..self.len()) {
            copy.push(member, score);
        }
        copy
    }
}
