//! Nodes side by side in one allocation.
//!
//! Owns which nodes lie together. A full node has a little more or less than 4 kB. By itself
//! it takes a run of the allocator's, which has 128 bytes to say of each; and one that is just
//! above 4,096 bytes takes 5,120. Eight of them in one allocation share both.
//!
//! Estimate: 110 bytes a node, 2 to 3 %, and 5 % more where nodes are just above a class.
//! Bundling copies 32 kB for some 400 entries, which takes a few microseconds; so does taking
//! a bundle apart.
//!
//! Invariants: what is bundled does not change; the nodes of a bundle are neighbours, and all
//! of them are there: before one of them changes or goes, all are taken apart, so that no
//! bundle is kept for the sake of a few. So who changes a node that a copy of the stream
//! shares copies eight. Only a stream whose nodes came in disorder, as no
//! server writes them, may keep one longer.
//! Not here: what is in a node (`node`).

use super::Body;
use super::id::StreamId;
use super::node::Node;
use super::tree::{Place, Tree};
use crate::values::size_class::allocated;
use std::iter::repeat_n;
use std::sync::Arc;

/// Nodes of a bundle.
const NODES: usize = 8;
/// A longer node stays by itself: its class wastes no more than a bundle does.
const NODE_BYTES_MAX: usize = 8 * 1024;
/// What sharing a bundle costs besides it: two counts.
const SHARED_BYTES: usize = 2 * size_of::<usize>();

/// The part of a bundle that is a node's.
#[derive(Debug, Clone)]
pub(super) struct Part {
    bundle: Arc<[u8]>,
    start: u32,
    len: u32,
}

impl Part {
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        let start = self.start as usize;
        &self.bundle[start..start + self.len as usize]
    }

    /// Its share of what the bundle takes.
    pub(super) fn heap_bytes(&self) -> usize {
        let all = allocated(SHARED_BYTES + self.bundle.len());
        all * self.len as usize / self.bundle.len()
    }

    fn is_beside(&self, other: &Part) -> bool {
        Arc::ptr_eq(&self.bundle, &other.bundle)
    }
}

/// The nodes of listpacks that lie in one allocation.
fn bundle_of<'a>(listpacks: impl Iterator<Item = &'a [u8]> + Clone) -> Vec<Node> {
    let len = listpacks.clone().map(<[u8]>::len).sum();
    let mut bundle: Arc<[u8]> = repeat_n(0, len).collect();
    let bytes = Arc::get_mut(&mut bundle).expect("nobody else has it yet");
    let mut start = 0;
    let mut ranges = Vec::with_capacity(NODES);
    for listpack in listpacks {
        bytes[start..start + listpack.len()].copy_from_slice(listpack);
        ranges.push((start as u32, listpack.len() as u32));
        start += listpack.len();
    }
    let part = |(start, len)| Part { bundle: Arc::clone(&bundle), start, len };
    ranges.into_iter().map(|range| Node::bundled(part(range))).collect()
}

impl Body {
    /// Puts the nodes before the last one side by side, if enough of them are by themselves:
    /// for when a node has come behind them.
    pub(super) fn bundle(&mut self) {
        let mut places = [Place::START; NODES];
        let mut behind = self.nodes.last();
        for place in places.iter_mut().rev() {
            let before = behind.and_then(|behind| self.nodes.previous(behind));
            let Some(before) = before.filter(|before| self.is_apart(*before)) else { return };
            *place = before;
            behind = Some(before);
        }
        let listpacks = places.iter().map(|place| self.nodes.at(*place).leaf.bytes());
        for (place, node) in places.iter().zip(bundle_of(listpacks)) {
            self.nodes.exchange(*place, node);
        }
    }

    /// Whether the node at a place is by itself and may be bundled.
    fn is_apart(&self, place: Place) -> bool {
        let node = &self.nodes.at(place).leaf;
        node.part().is_none() && node.bytes().len() <= NODE_BYTES_MAX
    }

    /// Takes the bundle apart that the node at a place is in, if it is in one.
    #[inline]
    pub(super) fn unbundle(&mut self, place: Place) {
        if let Some(part) = self.nodes.at(place).leaf.part() {
            let part = part.clone();
            self.take_apart(place, &part);
        }
    }

    fn take_apart(&mut self, place: Place, part: &Part) {
        let mut next = Some(place);
        while let Some(before) = next.and_then(|first| self.nodes.previous(first))
            && self.lies_beside(before, part)
        {
            next = Some(before);
        }
        while let Some(at) = next.filter(|at| self.lies_beside(*at, part)) {
            let node = self.nodes.at(at).leaf.unbundled();
            self.nodes.exchange(at, node);
            next = self.nodes.next(at);
        }
    }

    fn lies_beside(&self, place: Place, part: &Part) -> bool {
        self.nodes.at(place).leaf.part().is_some_and(|other| other.is_beside(part))
    }

    /// Changes the node at a place.
    #[inline]
    pub(super) fn edit_node<R>(
        &mut self,
        place: Place,
        edit: impl FnOnce(StreamId, &mut Node) -> R,
    ) -> R {
        self.unbundle(place);
        self.nodes.edit(place, edit)
    }

    /// Takes all nodes before a place out, or all where there is none; answers them.
    pub(super) fn cut_before(&mut self, place: Option<Place>) -> Tree<Node> {
        let parted = place.and_then(|place| {
            let part = self.nodes.at(place).leaf.part()?;
            let before = self.nodes.previous(place)?;
            self.lies_beside(before, part).then_some(Place::START)
        });
        let gone = self.nodes.cut_before(place);
        if let Some(first) = parted {
            self.unbundle(first);
        }
        gone
    }

    /// Bytes of bundles that belong to no node.
    #[cfg(test)]
    pub(super) fn unused_bytes(&self) -> usize {
        let nodes = self.nodes.from(Place::START);
        let parts = nodes.filter_map(|twig| twig.leaf.part());
        let mut left = std::collections::BTreeMap::new();
        for part in parts {
            *left.entry(part.bundle.as_ptr()).or_insert(part.bundle.len()) -= part.len as usize;
        }
        left.values().sum()
    }
}
