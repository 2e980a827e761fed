//! The upper levels of the tree: children with their least entry and their size.
//!
//! Owns one node's children. Invariants: there is at least one child; child `i`
//! begins with entry `firsts[i]`, `children[i].count` is the number of entries
//! below it; all children have the same height.

use super::node::{Node, Nodes};
use super::{ScoredMember, Target, partition};
use crate::values::size_class::size_class;
use crate::values::zset::cut::Cut;
use crate::values::zset::member::MemberRef;

/// Children per node at most.
pub(super) const INNER_MAX: usize = 64;
/// Bytes of a node and its two vectors, which never grow.
pub(super) const INNER_BYTES: usize = size_class(size_of::<Inner>())
    + size_class((INNER_MAX + 1) * size_of::<f64>())
    + size_class((INNER_MAX + 1) * size_of::<Child>());

struct Child {
    first: MemberRef,
    count: usize,
    node: Node,
}

/// Children in order. The scores of their first entries stand apart: a search
/// reads little else.
pub(super) struct Inner {
    scores: Vec<f64>,
    children: Vec<Child>,
}

impl Inner {
    /// A node without children, to be given some at once. There is room for one
    /// child too many, on the way to a split.
    pub(super) fn new() -> Inner {
        Inner {
            scores: Vec::with_capacity(INNER_MAX + 1),
            children: Vec::with_capacity(INNER_MAX + 1),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.children.len()
    }

    /// How many entries there are below this node.
    pub(super) fn count(&self) -> usize {
        self.children.iter().map(|child| child.count).sum()
    }

    pub(super) fn first(&self) -> ScoredMember {
        self.first_of(0)
    }

    fn first_of(&self, child: usize) -> ScoredMember {
        ScoredMember { score: self.scores[child], member: self.children[child].first }
    }

    /// The child in which the entries on both sides of a cut meet: the last one
    /// that begins before it.
    #[inline(always)]
    fn child_at(&self, cut: &Cut<'_>) -> usize {
        let before = partition(self.len(), |at| {
            cut.is_behind(self.scores[at], || self.children[at].first.bytes())
        });
        before.saturating_sub(1)
    }

    /// The child that holds an entry.
    #[inline(always)]
    fn child_of(&self, score: f64, member: &[u8]) -> usize {
        self.child_at(&Cut::AfterScored(score, member))
    }

    /// The child of a rank, and the rank within it.
    #[inline(always)]
    pub(super) fn child_of_rank(&self, mut rank: usize) -> (usize, usize) {
        for (at, child) in self.children.iter().enumerate() {
            if rank < child.count {
                return (at, rank);
            }
            rank -= child.count;
        }
        panic!("callers keep ranks below the number of entries");
    }

    pub(super) fn node(&self, at: usize) -> &Node {
        &self.children[at].node
    }

    /// How many entries lie before a cut.
    pub(super) fn rank(&self, cut: &Cut<'_>) -> usize {
        let at = self.child_at(cut);
        let before: usize = self.children[..at].iter().map(|child| child.count).sum();
        before + self.children[at].node.rank(cut)
    }

    /// Adds an entry that is not there yet. Returns a node to stand behind this
    /// one, if there were too many children for one. `is_last` says that nothing
    /// stands behind this node.
    pub(super) fn insert(
        &mut self,
        entry: ScoredMember,
        is_last: bool,
        nodes: &mut Nodes,
    ) -> Option<Inner> {
        let at = self.child_at(&entry.cut());
        let is_last = is_last && at + 1 == self.len();
        let child = &mut self.children[at];
        let split = child.node.insert(entry, is_last, nodes);
        match &split {
            None => child.count += 1,
            Some(_) => child.count = child.node.count(),
        }
        self.refresh_first(at);
        self.insert_child(at + 1, split?);
        if self.len() <= INNER_MAX {
            return None;
        }
        // Entries that come in order fill their nodes; others leave room on both sides.
        Some(self.split_off(if is_last { INNER_MAX } else { INNER_MAX / 2 }))
    }

    /// Takes an entry out, and merges children that became too small.
    pub(super) fn remove(&mut self, target: Target<'_>, nodes: &mut Nodes) -> ScoredMember {
        let (at, target) = match target {
            Target::Rank(rank) => {
                let (at, rank) = self.child_of_rank(rank);
                (at, Target::Rank(rank))
            }
            Target::Scored(score, member) => (self.child_of(score, member), target),
        };
        let child = &mut self.children[at];
        let entry = child.node.remove(target, nodes);
        child.count -= 1;
        if child.count == 0 {
            self.remove_child(at).node.count_out(nodes);
        } else {
            self.refresh_first(at);
            self.merge_around(at, nodes);
        }
        entry
    }

    /// Changes the score of an entry where it stands, if its order allows.
    /// `next` is the first entry behind this node.
    pub(super) fn rescore(
        &mut self,
        (score, member): (f64, &[u8]),
        new: f64,
        next: Option<ScoredMember>,
    ) -> bool {
        let at = self.child_of(score, member);
        let next = if at + 1 < self.len() { Some(self.first_of(at + 1)) } else { next };
        self.children[at].node.rescore((score, member), new, next)
    }

    /// Frees the last leaf; returns how many entries it had. A node that has
    /// none left stays without children, and is not to be used any more.
    pub(super) fn shed_leaf(&mut self, nodes: &mut Nodes) -> usize {
        let Some(child) = self.children.last_mut() else { return 0 };
        let freed = child.node.shed_leaf(nodes);
        child.count -= freed;
        if child.count == 0 {
            self.remove_child(self.len() - 1).node.count_out(nodes);
        }
        freed
    }

    /// Takes the last child, for a root that has no other.
    pub(super) fn take_last_child(&mut self) -> Node {
        self.remove_child(self.len() - 1).node
    }

    /// Moves the children of `other` behind its own.
    pub(super) fn append(&mut self, mut other: Inner) {
        self.scores.append(&mut other.scores);
        self.children.append(&mut other.children);
    }

    fn split_off(&mut self, at: usize) -> Inner {
        let mut right = Inner::new();
        right.scores.extend(self.scores.drain(at..));
        right.children.extend(self.children.drain(at..));
        right
    }

    pub(super) fn insert_child(&mut self, at: usize, node: Node) {
        let ScoredMember { score, member } = node.first();
        self.scores.insert(at, score);
        self.children.insert(at, Child { first: member, count: node.count(), node });
    }

    fn remove_child(&mut self, at: usize) -> Child {
        self.scores.remove(at);
        self.children.remove(at)
    }

    fn refresh_first(&mut self, at: usize) {
        let ScoredMember { score, member } = self.children[at].node.first();
        self.scores[at] = score;
        self.children[at].first = member;
    }

    /// Merges a child that is less than a quarter full with a neighbour, where
    /// both fit into one. A neighbour without room is more than three quarters
    /// full, so the tree as a whole never falls below a quarter.
    fn merge_around(&mut self, at: usize, nodes: &mut Nodes) {
        if !self.children[at].node.is_sparse() {
            return;
        }
        let fits = |left: usize| {
            left + 1 < self.len()
                && self.children[left].node.fits_before(&self.children[left + 1].node)
        };
        let left = match at.checked_sub(1).filter(|&left| fits(left)) {
            Some(left) => left,
            None if fits(at) => at,
            None => return,
        };
        let right = self.remove_child(left + 1);
        right.node.count_out(nodes);
        self.children[left].count += right.count;
        self.children[left].node.append(right.node);
    }
}
