//! What is left of a large hash, set or sorted set: members that have no order in the
//! file.
//!
//! Owns how far the walk is, and the names of members that were changed meanwhile. Those
//! that were there and not yet walked over have been written when they changed; the walk
//! passes over them, as over those that came later.
//!
//! Hashes and sets are walked in the order of bit-reversed hashes (`linear`), in which a
//! member has its place however the index grows, so the cursor tells exactly who has been
//! walked over. Sorted sets are walked from the highest score down, which is how they are
//! loaded fastest.

use super::{ELEMENT_EFFORT, sure};
use crate::values::hash::Hash;
use crate::values::hasher::KeyHasher;
use crate::values::packed::Item;
use crate::values::set::Set;
use crate::values::zset::{Cut, Direction, ZSet};
use hashbrown::HashSet;
use keyward_rdb::OpenRow;

/// What is left of a hash or a set.
#[derive(Debug)]
pub(super) struct HashedRest {
    cursor: u64,
    touched: Touched,
    hasher: KeyHasher,
}

/// What is left of a sorted set.
#[derive(Debug)]
pub(super) struct ScoredRest {
    /// The last one walked over; everything lies before it in the order.
    last: Option<(f64, Box<[u8]>)>,
    touched: Touched,
}

/// The names of members that were changed.
#[derive(Debug)]
struct Touched {
    names: HashSet<Box<[u8]>, KeyHasher>,
    name_bytes: usize,
}

impl Touched {
    fn new(hasher: KeyHasher) -> Touched {
        Touched { names: HashSet::with_hasher(hasher), name_bytes: 0 }
    }

    /// Adds a name; whether it is new.
    fn add(&mut self, name: &[u8]) -> bool {
        let is_new = !self.names.contains(name);
        if is_new {
            self.name_bytes += name.len();
            self.names.insert(name.into());
        }
        is_new
    }

    fn has(&self, name: &[u8]) -> bool {
        !self.names.is_empty() && self.names.contains(name)
    }

    fn bytes(&self) -> usize {
        self.name_bytes + self.names.allocation_size()
    }
}

impl HashedRest {
    /// All of it. The hasher is the one of its index.
    pub(super) fn new(hasher: KeyHasher) -> HashedRest {
        HashedRest { cursor: 0, touched: Touched::new(hasher), hasher }
    }

    pub(super) fn bytes(&self) -> usize {
        self.touched.bytes()
    }

    /// A member is about to change; whether it is to be written now, if it is there.
    pub(super) fn touch(&mut self, name: &[u8]) -> bool {
        !self.is_behind(name) && self.touched.add(name)
    }

    /// Whether the walk has passed a member.
    fn is_behind(&self, name: &[u8]) -> bool {
        self.hasher.hash(name).reverse_bits() < self.cursor.reverse_bits()
    }

    fn is_wanted(&self, name: &[u8]) -> bool {
        !self.is_behind(name) && !self.touched.has(name)
    }

    /// Writes fields of a hash; whether that was all.
    pub(super) fn step_hash(&mut self, hash: &Hash, part: &mut OpenRow, effort: usize) -> bool {
        self.walk(part, effort, |rest, part| {
            hash.scan(rest.cursor, |(field, value)| {
                if rest.is_wanted(field.text().as_bytes()) {
                    sure(part.output().field((field.into(), value.into())));
                }
            })
        })
    }

    /// Writes members of a set; whether that was all.
    pub(super) fn step_set(&mut self, set: &Set, part: &mut OpenRow, effort: usize) -> bool {
        self.walk(part, effort, |rest, part| {
            set.scan(rest.cursor, |member: Item<'_>| {
                if rest.is_wanted(member.text().as_bytes()) {
                    sure(part.output().member(member.into()));
                }
            })
        })
    }

    /// Visits buckets with so much effort; whether there are no more.
    fn walk(
        &mut self,
        part: &mut OpenRow,
        effort: usize,
        bucket: impl Fn(&HashedRest, &mut OpenRow) -> u64,
    ) -> bool {
        let start = part.bytes();
        let mut visited = 0;
        while visited + part.bytes() - start < effort {
            self.cursor = bucket(self, part);
            if self.cursor == 0 {
                return true;
            }
            // A bucket has four entries on average.
            visited += 4 * ELEMENT_EFFORT;
        }
        false
    }
}

impl ScoredRest {
    /// All of it.
    pub(super) fn new(hasher: KeyHasher) -> ScoredRest {
        ScoredRest { last: None, touched: Touched::new(hasher) }
    }

    pub(super) fn bytes(&self) -> usize {
        self.touched.bytes()
    }

    /// A member is about to change; whether it is to be written now, if it has a score.
    /// Whatever its score was, it may get one that the walk has yet to come by.
    pub(super) fn touch(&mut self, name: &[u8], score: Option<f64>) -> bool {
        let is_left = match (score, &self.last) {
            (Some(score), Some((edge, last))) => {
                Cut::BeforeScored(*edge, last).is_behind(score, || name)
            }
            _ => true,
        };
        self.touched.add(name) && is_left
    }

    /// Writes members; whether that was all.
    pub(super) fn step(&mut self, zset: &ZSet, part: &mut OpenRow, effort: usize) -> bool {
        let end = match &self.last {
            Some((score, member)) => Cut::BeforeScored(*score, member),
            None => Cut::End,
        };
        let left = zset.span([Cut::Start, end], Direction::Forward);
        let start = part.bytes();
        let (mut visited, mut last) = (0, None);
        let mut members = zset.iter(left).rev();
        while visited + part.bytes() - start < effort {
            let Some((member, score)) = members.next() else { return true };
            if !self.touched.has(member) {
                sure(part.output().scored((Item::of(member).into(), score)));
            }
            visited += ELEMENT_EFFORT;
            last = Some((score, member));
        }
        if let Some((score, member)) = last {
            self.last = Some((score, member.into()));
        }
        false
    }
}
