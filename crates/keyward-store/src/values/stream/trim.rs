//! Removing entries from the first one on.
//!
//! Owns which entries a trim removes, which is what Redis removes, node by node. Whole nodes
//! are cut off together and handed over to be freed: the cost is a glance at the place of
//! each, not at its entries.

use super::Body;
use super::id::StreamId;
use super::node::Node;
use super::tree::{Place, Tree, Twig};

/// What a trim leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// So many entries: `MAXLEN`.
    Length(u64),
    /// Those from this id on: `MINID`.
    First(StreamId),
}

/// A trim.
#[derive(Debug, Clone, Copy)]
pub struct Trim {
    /// What is left.
    pub bound: Bound,
    /// Only whole nodes go: `~`.
    pub is_approximate: bool,
    /// The most entries that go; zero for all.
    pub limit: u64,
}

impl Body {
    /// Removes entries; returns how many, and the nodes that went as a whole.
    pub(super) fn trim(&mut self, trim: &Trim) -> (u64, Tree<Node>) {
        let (mut removed, mut stays) = (0, None);
        let mut has_work = true;
        let mut place = self.nodes.first();
        while let Some(at) = place {
            let twig = self.nodes.at(at);
            let live = u64::from(twig.live);
            let length = self.facts.length - removed;
            let is_done = matches!(trim.bound, Bound::Length(max) if length <= max);
            let is_beyond_limit = trim.limit > 0 && removed + live > trim.limit;
            if is_done || is_beyond_limit || !self.goes_whole(at, twig, trim.bound, length) {
                has_work = !is_done && !is_beyond_limit && !trim.is_approximate;
                stays = Some(at);
                break;
            }
            removed += live;
            place = self.nodes.next(at);
        }
        self.facts.length -= removed;
        let gone = match stays {
            Some(Place::START) => Tree::default(),
            stays => self.nodes.cut_before(stays),
        };
        if has_work && stays.is_some() {
            removed += self.trim_first_node(trim.bound);
        }
        if removed > 0 {
            self.find_first();
        }
        (removed, gone)
    }

    /// Whether a node goes as a whole, from a stream of so many entries.
    fn goes_whole(&self, place: Place, twig: &Twig<Node>, bound: Bound, length: u64) -> bool {
        match bound {
            Bound::Length(max) => length - u64::from(twig.live) >= max,
            Bound::First(id) => {
                // Where nothing was removed the next node tells, and this one need not be read.
                let next = self.nodes.next(place).map(|next| self.nodes.at(next).first);
                let is_told = twig.dead == 0 && next.is_some_and(|next| next <= id);
                let last = || twig.leaf.backward(twig.first, StreamId::MAX).next();
                is_told || last().is_some_and(|last| last.id < id)
            }
        }
    }

    /// Removes entries within the first node, of which some stay.
    fn trim_first_node(&mut self, bound: Bound) -> u64 {
        let mut left = self.facts.length;
        let removed = self.nodes.edit(Place::START, |first, node| {
            node.kill_while(first, |entry| match bound {
                Bound::Length(max) if left <= max => false,
                Bound::Length(_) => {
                    left -= u64::from(!entry.is_dead());
                    true
                }
                Bound::First(id) => entry.id < id,
            })
        });
        self.facts.length -= removed as u64;
        removed as u64
    }
}
