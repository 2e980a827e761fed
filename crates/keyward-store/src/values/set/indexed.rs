//! A large set: members in an index that grows one bucket at a time.
//!
//! Owns the members, each an allocation of its own without a head.
//! Estimate for a member of 20 bytes: 32 for itself and 18 in the index (Redis: a
//! string of 32, a dictionary entry of 32 and 8 to 16 of its table).

use crate::values::footprint::{Footprint, HeapBytes};
use crate::values::hasher::KeyHasher;
use crate::values::index::Index;
use crate::values::packed::{BoxedItems, Code, Item};
use crate::values::random::Random;

/// Members by hash.
pub(super) struct Indexed {
    members: Index<BoxedItems<1>>,
    hasher: KeyHasher,
}

impl Indexed {
    pub(super) fn new(hasher: KeyHasher) -> Indexed {
        Indexed { members: Index::default(), hasher }
    }

    pub(super) fn len(&self) -> usize {
        self.members.len()
    }

    pub(super) fn contains(&self, member: Item<'_>) -> bool {
        let code = Code::of(member);
        self.members.find(hash_of(self.hasher, member), |m| m.is_named(&code)).is_some()
    }

    /// Adds a member; returns whether it is new.
    pub(super) fn add(&mut self, member: Item<'_>) -> bool {
        let (hash, code) = (hash_of(self.hasher, member), Code::of(member));
        let is_new = self.members.find(hash, |m| m.is_named(&code)).is_none();
        if is_new {
            let hasher = self.hasher;
            let member = BoxedItems::new([&code]);
            self.members.insert(hash, member, |m| hash_of(hasher, m.name()));
        }
        is_new
    }

    pub(super) fn remove(&mut self, member: Item<'_>) -> bool {
        let code = Code::of(member);
        self.members.remove(hash_of(self.hasher, member), |m| m.is_named(&code)).is_some()
    }

    /// An empty one of the same kind, with room for so many.
    pub(super) fn none_of_it(&self, most: usize) -> Indexed {
        let mut none = Indexed::new(self.hasher);
        none.members.expect(most.min(self.len()));
        none
    }

    /// Gives back room for members that did not come.
    pub(super) fn trim(&mut self) {
        self.members.trim();
    }

    /// Moves a member to another set that does not have it; returns whether it was there.
    pub(super) fn move_to(&mut self, other: &mut Indexed, member: Item<'_>) -> bool {
        let (hash, code) = (hash_of(self.hasher, member), Code::of(member));
        let Some(taken) = self.members.remove(hash, |m| m.is_named(&code)) else { return false };
        other.take(hash, taken);
        true
    }

    /// Moves all members of another set here, where none of them is.
    pub(super) fn take_all_of(&mut self, other: &mut Indexed) {
        let hasher = self.hasher;
        other.members.shed(usize::MAX, |member| {
            self.take(hash_of(hasher, member.name()), member);
        });
    }

    fn take(&mut self, hash: u64, member: BoxedItems<1>) {
        let hasher = self.hasher;
        self.members.insert(hash, member, |m| hash_of(hasher, m.name()));
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Item<'_>> {
        self.members.iter().map(BoxedItems::name)
    }

    /// A member drawn by chance. There must be one.
    pub(super) fn sample(&self, random: &mut Random) -> Item<'_> {
        self.members.sample(random).expect("a large set is never empty").name()
    }

    /// Visits the members of one bucket; returns the next cursor, zero at the end.
    pub(super) fn scan<'a>(&'a self, cursor: u64, mut visit: impl FnMut(Item<'a>)) -> u64 {
        self.members.scan(cursor, |member| visit(member.name()))
    }

    /// As `scan`, in the order in which to remove all of them.
    pub(super) fn scan_down<'a>(&'a self, cursor: u64, mut visit: impl FnMut(Item<'a>)) -> u64 {
        let below = usize::try_from(cursor).unwrap_or(usize::MAX);
        self.members.scan_down(below, |member| visit(member.name())) as u64
    }
}

impl HeapBytes for Indexed {
    fn heap_bytes(&self) -> usize {
        self.members.heap_bytes()
    }
}

impl Footprint for Indexed {
    fn allocations(&self) -> usize {
        self.members.len()
    }

    fn shed(&mut self, budget: usize) -> usize {
        self.members.shed(budget, drop)
    }

    fn gather(&mut self, from: usize, budget: usize) -> Option<usize> {
        self.members.gather(from, budget, BoxedItems::gather)
    }
}

fn hash_of(hasher: KeyHasher, member: Item<'_>) -> u64 {
    hasher.hash(member.text().as_bytes())
}

impl Clone for Indexed {
    fn clone(&self) -> Indexed {
        let mut copy = Indexed::new(self.hasher);
        for member in self.iter() {
            copy.add(member);
        }
        copy
    }
}
