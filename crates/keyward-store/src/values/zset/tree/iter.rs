//! Walking over a range of ranks from both ends.
//!
//! Owns the two places where the walk stands. A leaf is left by looking the next
//! rank up from the root: leaves need no links to each other, and the look-up is
//! spread over the entries of a leaf.

use super::leaf::Leaf;
use super::node::Node;
use std::ops::Range;

/// The entries of a range of ranks.
#[derive(Clone)]
pub(in crate::values::zset) struct Iter<'a> {
    root: &'a Node,
    ranks: Range<usize>,
    /// The leaf of the next entry, the place in it; none before the first.
    front: Option<(&'a Leaf, usize)>,
    /// The leaf of the last entry, the place behind it; none before the first.
    back: Option<(&'a Leaf, usize)>,
}

impl<'a> Iter<'a> {
    pub(super) fn new(root: &'a Node, ranks: Range<usize>) -> Iter<'a> {
        Iter { root, ranks, front: None, back: None }
    }

    /// The leaf and the place of the next entry, which is passed.
    #[inline(always)]
    fn step(&mut self) -> Option<(&'a Leaf, usize)> {
        let rank = self.ranks.next()?;
        let (leaf, at) = match self.front {
            Some((leaf, at)) if at < leaf.len() => (leaf, at),
            _ => self.root.seek(rank),
        };
        self.front = Some((leaf, at + 1));
        Some((leaf, at))
    }

    /// The next entry whose score is chosen, with what was made of that. Members of others are
    /// not looked at, each of which would be a cache miss.
    pub(in crate::values::zset) fn next_chosen<T>(
        &mut self,
        choose: &mut impl FnMut(f64) -> Option<T>,
    ) -> Option<(&'a [u8], T)> {
        loop {
            let (leaf, at) = self.step()?;
            if let Some(made) = choose(leaf.score(at)) {
                return Some((leaf.pair(at).0, made));
            }
        }
    }
}

impl<'a> Iterator for Iter<'a> {
    type Item = (&'a [u8], f64);

    fn next(&mut self) -> Option<(&'a [u8], f64)> {
        self.step().map(|(leaf, at)| leaf.pair(at))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.ranks.size_hint()
    }
}

impl DoubleEndedIterator for Iter<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        let rank = self.ranks.next_back()?;
        let (leaf, at) = match self.back {
            Some((leaf, end)) if end > 0 => (leaf, end - 1),
            _ => self.root.seek(rank),
        };
        self.back = Some((leaf, at));
        Some(leaf.pair(at))
    }
}

impl ExactSizeIterator for Iter<'_> {}
