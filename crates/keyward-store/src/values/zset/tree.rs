//! The order of a large sorted set: a B+tree with the size of each subtree.
//!
//! Owns scores and references to members, in order of score and then of the
//! members' bytes. Every question about order is a rank: ranges of scores and of
//! members are the ranks of two cuts, and what lies between them is visited by
//! rank, forwards or backwards.
//!
//! Invariants: all leaves have the same depth; no node but an empty root is
//! empty; `nodes` is how many there are; entries are in strict order; a member referred to is alive (`indexed`
//! removes an entry before it drops the member, and inner nodes refer only to
//! first entries of leaves).
//!
//! Estimate: a leaf is 1,024 bytes of up to 63 entries, in the mean two thirds
//! full after random insertions and full after ordered ones: 16 to 24 bytes per
//! member, less than half a byte more for inner nodes. A million members are
//! three levels, of which the upper two stay in the processor's cache: an
//! insertion costs the cache misses of one leaf.
//!
//! Not here: finding an entry by its member alone (`indexed`).

pub mod inner;
pub mod iter;
pub(crate) mod leaf;
pub mod node;
#[cfg(test)]
mod tests;

pub(super) use iter::Iter;

use super::cut::Cut;
use super::member::MemberRef;
use inner::Inner;
use leaf::Leaf;
use node::{Node, Nodes};
use std::ops::Range;

/// A score and the member it belongs to.
#[derive(Clone, Copy)]
pub(super) struct ScoredMember {
    pub(super) score: f64,
    pub(super) member: MemberRef,
}

impl ScoredMember {
    fn key(&self) -> (f64, &[u8]) {
        (self.score, self.member.bytes())
    }

    /// The place of this entry.
    fn cut(&self) -> Cut<'_> {
        Cut::BeforeScored(self.score, self.member.bytes())
    }
}

/// Which entry is to be taken out.
#[derive(Clone, Copy)]
enum Target<'a> {
    Rank(usize),
    Scored(f64, &'a [u8]),
}

/// Entries in order.
pub(super) struct Tree {
    root: Node,
    len: usize,
    nodes: Nodes,
}

impl Tree {
    /// A tree without entries.
    pub(super) fn new() -> Tree {
        let nodes = Nodes { leaves: 1, inners: 0 };
        Tree { root: Node::Leaf(Box::new(Leaf::new())), len: 0, nodes }
    }

    /// How many entries there are.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Adds an entry that is not there yet.
    pub(super) fn insert(&mut self, entry: ScoredMember) {
        if let Some(right) = self.root.insert(entry, true, &mut self.nodes) {
            self.nodes.inners += 1;
            let mut root = Inner::new();
            root.insert_child(0, right);
            let left = std::mem::replace(&mut self.root, Node::Inner(Box::new(root)));
            if let Node::Inner(root) = &mut self.root {
                root.insert_child(0, left);
            }
        }
        self.len += 1;
    }

    /// Takes out the entry of a score and member, which must be there.
    pub(super) fn remove(&mut self, score: f64, member: &[u8]) -> ScoredMember {
        self.take(Target::Scored(score, member))
    }

    /// Takes out the entry at a rank, which must be below the length.
    pub(super) fn remove_at(&mut self, rank: usize) -> ScoredMember {
        self.take(Target::Rank(rank))
    }

    fn take(&mut self, target: Target<'_>) -> ScoredMember {
        let entry = self.root.remove(target, &mut self.nodes);
        self.len -= 1;
        while let Node::Inner(inner) = &mut self.root
            && inner.len() == 1
        {
            self.root = inner.take_last_child();
            self.nodes.inners -= 1;
        }
        entry
    }

    /// Gives an entry, which must be there, another score.
    pub(super) fn rescore(&mut self, (old, member): (f64, &[u8]), new: f64) {
        if !self.root.rescore((old, member), new, None) {
            let entry = self.remove(old, member);
            self.insert(ScoredMember { score: new, ..entry });
        }
    }

    /// Bytes of all nodes.
    pub(super) fn heap_bytes(&self) -> usize {
        self.nodes.heap_bytes()
    }

    /// Frees the last leaves, about `budget` entries in all, and returns how many
    /// entries they had.
    pub(super) fn shed(&mut self, budget: usize) -> usize {
        let mut shed = 0;
        while shed < budget && self.len > 0 {
            let freed = self.root.shed_leaf(&mut self.nodes);
            self.len -= freed;
            shed += freed;
        }
        shed
    }

    /// How many entries lie before a cut.
    pub(super) fn rank(&self, cut: &Cut<'_>) -> usize {
        self.root.rank(cut)
    }

    /// The member and the score at a rank, which must be below the length.
    pub(super) fn at(&self, rank: usize) -> (&[u8], f64) {
        let (leaf, within) = self.root.seek(rank);
        leaf.pair(within)
    }

    /// The entries of a range of ranks.
    pub(super) fn iter(&self, ranks: Range<usize>) -> Iter<'_> {
        Iter::new(&self.root, ranks)
    }
}

/// How many of the numbers below `len` satisfy `is_before`, if all that do come
/// first.
#[inline(always)]
fn partition(len: usize, is_before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, len);
    while low < high {
        let middle = (low + high) / 2;
        if is_before(middle) { low = middle + 1 } else { high = middle }
    }
    low
}
