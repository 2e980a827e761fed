//! The lowest level of the tree: entries in order.
//!
//! Owns one kilobyte of scores and members in two arrays, so that a search by
//! score touches half the cache lines and a member only where scores are equal.
//! Invariants: the first `len` places are filled and in strict order; the rest
//! is not read.

use super::ScoredMember;
use crate::values::zset::cut::Cut;
use crate::values::zset::member::MemberRef;

/// Entries per leaf: as many as fit into 1,024 bytes, a size class.
pub(in crate::values::zset) const LEAF_MAX: usize = 63;

const _: () = assert!(1024 - size_of::<Leaf>() < size_of::<ScoredMember>());

/// Entries in order.
pub(super) struct Leaf {
    len: usize,
    scores: [f64; LEAF_MAX],
    members: [MemberRef; LEAF_MAX],
}

impl Leaf {
    pub(super) fn new() -> Leaf {
        Leaf { len: 0, scores: [0.0; LEAF_MAX], members: [MemberRef::NONE; LEAF_MAX] }
    }

    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[inline(always)]
    pub(super) fn is_full(&self) -> bool {
        self.len == LEAF_MAX
    }

    #[inline(always)]
    pub(super) fn entry(&self, at: usize) -> ScoredMember {
        assert!(at < self.len, "only filled places are read");
        ScoredMember { score: self.scores[at], member: self.members[at] }
    }

    /// The member and the score at a place.
    #[inline(always)]
    pub(super) fn pair(&self, at: usize) -> (&[u8], f64) {
        assert!(at < self.len, "only filled places are read");
        (self.members[at].bytes(), self.scores[at])
    }

    /// The score at a place, without a look at the member.
    #[inline(always)]
    pub(super) fn score(&self, at: usize) -> f64 {
        assert!(at < self.len, "only filled places are read");
        self.scores[at]
    }

    /// How many entries lie before a cut.
    #[inline(always)]
    pub(super) fn rank(&self, cut: &Cut<'_>) -> usize {
        crate::values::zset::tree::partition(self.len, |at| {
            cut.is_behind(self.scores[at], || self.members[at].bytes())
        })
    }

    pub(super) fn insert(&mut self, at: usize, entry: ScoredMember) {
        self.scores.copy_within(at..self.len, at + 1);
        self.members.copy_within(at..self.len, at + 1);
        self.scores[at] = entry.score;
        self.members[at] = entry.member;
        self.len += 1;
    }

    pub(super) fn remove(&mut self, at: usize) -> ScoredMember {
        let entry = self.entry(at);
        self.scores.copy_within(at + 1..self.len, at);
        self.members.copy_within(at + 1..self.len, at);
        self.len -= 1;
        entry
    }

    pub(super) fn set_score(&mut self, at: usize, score: f64) {
        self.scores[at] = score;
    }

    /// Moves the entries from `at` on into a new leaf.
    pub(super) fn split_off(&mut self, at: usize) -> Leaf {
        let mut right = Leaf::new();
        right.append_from(self, at);
        self.len = at;
        right
    }

    /// Copies the entries of `other` from `at` on behind its own.
    pub(super) fn append_from(&mut self, other: &Leaf, at: usize) {
        let end = self.len + other.len - at;
        self.scores[self.len..end].copy_from_slice(&other.scores[at..other.len]);
        self.members[self.len..end].copy_from_slice(&other.members[at..other.len]);
        self.len = end;
    }
}
