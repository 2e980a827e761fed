//! A subtree: a leaf or an inner node with leaves below.
//!
//! Owns nothing but the choice between the two, and the count of both.

use super::inner::{INNER_BYTES, INNER_MAX, Inner};
use super::leaf::{LEAF_MAX, Leaf};
use super::{ScoredMember, Target};
use crate::values::size_class::size_class;
use crate::values::zset::cut::{Cut, compare};

/// A subtree.
pub(super) enum Node {
    Leaf(Box<Leaf>),
    Inner(Box<Inner>),
}

/// How many nodes a tree has.
pub(super) struct Nodes {
    pub(super) leaves: usize,
    pub(super) inners: usize,
}

impl Nodes {
    /// Bytes of so many nodes.
    pub(super) fn heap_bytes(&self) -> usize {
        self.leaves * size_class(size_of::<Leaf>()) + self.inners * INNER_BYTES
    }
}

impl Node {
    /// The first entry. The node must not be empty.
    pub(super) fn first(&self) -> ScoredMember {
        match self {
            Node::Leaf(leaf) => leaf.entry(0),
            Node::Inner(inner) => inner.first(),
        }
    }

    /// How many entries there are.
    pub(super) fn count(&self) -> usize {
        match self {
            Node::Leaf(leaf) => leaf.len(),
            Node::Inner(inner) => inner.count(),
        }
    }

    /// Frees the last leaf, or empties this one; returns how many entries it had.
    pub(super) fn shed_leaf(&mut self, nodes: &mut Nodes) -> usize {
        match self {
            Node::Leaf(leaf) => std::mem::replace(&mut **leaf, Leaf::new()).len(),
            Node::Inner(inner) => inner.shed_leaf(nodes),
        }
    }

    /// How many entries lie before a cut.
    pub(super) fn rank(&self, cut: &Cut<'_>) -> usize {
        match self {
            Node::Leaf(leaf) => leaf.rank(cut),
            Node::Inner(inner) => inner.rank(cut),
        }
    }

    /// The leaf that holds a rank, and the rank within it.
    pub(super) fn seek(&self, mut rank: usize) -> (&Leaf, usize) {
        let mut node = self;
        loop {
            match node {
                Node::Leaf(leaf) => return (leaf, rank),
                Node::Inner(inner) => {
                    let (at, within) = inner.child_of_rank(rank);
                    (node, rank) = (inner.node(at), within);
                }
            }
        }
    }

    /// Adds an entry that is not there yet. Returns a node to stand behind this
    /// one, if it had to be split.
    pub(super) fn insert(
        &mut self,
        entry: ScoredMember,
        is_last: bool,
        nodes: &mut Nodes,
    ) -> Option<Node> {
        match self {
            Node::Inner(inner) => {
                let right = inner.insert(entry, is_last, nodes)?;
                nodes.inners += 1;
                Some(Node::Inner(Box::new(right)))
            }
            Node::Leaf(leaf) => {
                let at = leaf.rank(&entry.cut());
                if !leaf.is_full() {
                    leaf.insert(at, entry);
                    return None;
                }
                // Entries that come in order fill their leaves; others leave room
                // on both sides.
                let middle = if is_last && at == LEAF_MAX { LEAF_MAX } else { LEAF_MAX / 2 };
                let mut right = Box::new(leaf.split_off(middle));
                nodes.leaves += 1;
                match at.checked_sub(middle) {
                    Some(within) if within > 0 || middle == LEAF_MAX => right.insert(within, entry),
                    _ => leaf.insert(at, entry),
                }
                Some(Node::Leaf(right))
            }
        }
    }

    /// Takes out an entry that is there.
    pub(super) fn remove(&mut self, target: Target<'_>, nodes: &mut Nodes) -> ScoredMember {
        match self {
            Node::Inner(inner) => inner.remove(target, nodes),
            Node::Leaf(leaf) => {
                let at = match target {
                    Target::Rank(rank) => rank,
                    Target::Scored(score, member) => leaf.rank(&Cut::BeforeScored(score, member)),
                };
                leaf.remove(at)
            }
        }
    }

    /// Changes the score of an entry where it stands, if its order allows.
    /// Returns whether it did. The first entry of a leaf stays as it is: nodes
    /// above know it.
    pub(super) fn rescore(
        &mut self,
        old: (f64, &[u8]),
        new: f64,
        next: Option<ScoredMember>,
    ) -> bool {
        let leaf = match self {
            Node::Inner(inner) => return inner.rescore(old, new, next),
            Node::Leaf(leaf) => leaf,
        };
        let at = leaf.rank(&Cut::BeforeScored(old.0, old.1));
        if at == 0 {
            return false;
        }
        let next = if at + 1 < leaf.len() { Some(leaf.entry(at + 1)) } else { next };
        let fits = compare(leaf.entry(at - 1).key(), (new, old.1)).is_lt()
            && next.is_none_or(|next| compare((new, old.1), next.key()).is_lt());
        if fits {
            leaf.set_score(at, new);
        }
        fits
    }

    /// Whether less than a quarter of its places are taken.
    pub(super) fn is_sparse(&self) -> bool {
        match self {
            Node::Leaf(leaf) => leaf.len() < LEAF_MAX / 4,
            Node::Inner(inner) => inner.len() < INNER_MAX / 4,
        }
    }

    /// Whether this node and one of the same height fit into one.
    pub(super) fn fits_before(&self, next: &Node) -> bool {
        match (self, next) {
            (Node::Leaf(a), Node::Leaf(b)) => a.len() + b.len() <= LEAF_MAX,
            (Node::Inner(a), Node::Inner(b)) => a.len() + b.len() <= INNER_MAX,
            _ => unreachable!("children of one node have the same height"),
        }
    }

    /// Counts this node alone out.
    pub(super) fn count_out(&self, nodes: &mut Nodes) {
        match self {
            Node::Leaf(_) => nodes.leaves -= 1,
            Node::Inner(_) => nodes.inners -= 1,
        }
    }

    /// Moves everything of a node of the same height behind its own.
    pub(super) fn append(&mut self, next: Node) {
        match (self, next) {
            (Node::Leaf(a), Node::Leaf(b)) => a.append_from(&b, 0),
            (Node::Inner(a), Node::Inner(b)) => a.append(*b),
            _ => unreachable!("children of one node have the same height"),
        }
    }
}
