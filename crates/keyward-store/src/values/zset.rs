//! Sorted sets: members with a score, in order of score and then of bytes.
//!
//! Owns the representation: packed into one run of bytes while small (`packed`),
//! an index by member and a tree by score when large (`indexed`). The settings
//! `zset-max-listpack-entries` and `-value` draw the line, as in Redis, and the
//! switch is one-way.
//!
//! Invariants: members are unique, scores are never NaN. An empty set never
//! stays in a row (`keyspace::edit` removes it).
//! Every range is one of ranks: a range of scores or of members is found as the
//! ranks of two cuts (`cut`).
//! Not here: the commands (`commands::zset` of the engine), waiting for members (`blocking`).

pub mod cut;
pub mod indexed;
pub mod iter;
pub mod member;
pub mod packed;
#[cfg(test)]
mod tests;
pub mod tree;

pub use cut::Cut;
pub use iter::Iter;

use crate::values::hasher::KeyHasher;
use crate::values::packed_limits::PackedLimits;
use crate::values::thin::{self, Form, FormMut, ThinBytes, ThinOr, thin_head};
use indexed::Indexed;
use std::ops::Range;

/// When a set stops being packed, and what it then needs.
#[derive(Debug, Clone, Copy)]
pub struct Growth {
    /// The most entries a packed set has.
    pub(crate) packed_entries_max: usize,
    /// The longest member a packed set has.
    pub(crate) packed_member_bytes_max: usize,
    /// The hash function of members.
    pub hasher: KeyHasher,
}

/// What became of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It is new.
    Added,
    /// Its score is another one.
    Rescored,
    /// It is as it was.
    None,
}

/// Which way a range is walked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the lowest score.
    Forward,
    /// From the highest score.
    Reverse,
}

/// A sorted set value.
#[derive(Clone, Default)]
pub struct ZSet {
    word: ThinOr<Indexed>,
}

thin_head!(ZSet);

impl ZSet {
    /// A set of members that are in order and unique.
    pub fn from_ordered<'m>(
        growth: &Growth,
        pairs: impl ExactSizeIterator<Item = (&'m [u8], f64)> + Clone,
    ) -> ZSet {
        let fits = |(member, _): (&[u8], f64)| member.len() <= growth.packed_member_bytes_max;
        let bytes: usize = pairs.clone().map(|(member, _)| packed::entry_bytes_max(member)).sum();
        let is_small = pairs.len() <= growth.packed_entries_max
            && bytes <= thin::BYTES_MAX
            && pairs.clone().all(fits);
        if is_small {
            return ZSet { word: ThinOr::small(packed::of(pairs)) };
        }
        let mut indexed = Indexed::new(growth.hasher);
        pairs.for_each(|(member, score)| indexed.push(member, score));
        ZSet { word: ThinOr::large(indexed) }
    }

    /// The name `OBJECT ENCODING` returns.
    pub fn encoding(&self) -> &'static str {
        match self.word.form() {
            Form::Small(_) => "listpack",
            Form::Large(_) => "skiplist",
        }
    }

    /// Whether it is small enough to be packed.
    pub fn is_packed(&self) -> bool {
        matches!(self.word.form(), Form::Small(_))
    }

    /// The score of a member.
    pub fn score(&self, member: &[u8]) -> Option<f64> {
        match self.word.form() {
            Form::Small(run) => packed::find(run, member).map(|found| found.score),
            Form::Large(indexed) => indexed.score(member),
        }
    }

    /// How many members come before this one.
    pub fn rank_of(&self, member: &[u8]) -> Option<usize> {
        match self.word.form() {
            Form::Small(run) => packed::find(run, member).map(|found| found.rank),
            Form::Large(indexed) => indexed.rank_of(member),
        }
    }

    /// The member and the score at a rank, which must be below the length.
    pub fn at(&self, rank: usize) -> (&[u8], f64) {
        match self.word.form() {
            Form::Small(run) => {
                let found = packed::at(run, rank).expect("callers keep ranks below the length");
                (found.member, found.score)
            }
            Form::Large(indexed) => indexed.at(rank),
        }
    }

    /// The ranks from one cut to another.
    ///
    /// Members of one score are in the order of their bytes, and only then are
    /// cuts by member meaningful. Where scores differ, Redis returns what its walk
    /// from either end happens to find; for small sets this walks the same way.
    pub fn span(&self, [from, to]: [Cut<'_>; 2], direction: Direction) -> Range<usize> {
        match self.word.form() {
            Form::Small(run) => packed::span(run, &from, &to, direction),
            Form::Large(indexed) => {
                let start = indexed.rank(&from);
                start..indexed.rank(&to).max(start)
            }
        }
    }

    /// The members and scores of a range of ranks, in order.
    pub fn iter(&self, ranks: Range<usize>) -> Iter<'_> {
        match self.word.form() {
            Form::Small(run) => Iter::packed(run, ranks),
            Form::Large(indexed) => Iter::tree(indexed.iter(ranks)),
        }
    }

    /// Gives a member the score that `decide` makes of the one it has, if any;
    /// leaves everything as it is where that returns `None`.
    pub fn update(
        &mut self,
        growth: &Growth,
        member: &[u8],
        decide: impl FnOnce(Option<f64>) -> Option<f64>,
    ) -> Change {
        let run = match self.word.form_mut() {
            FormMut::Large(indexed) => return indexed.update(member, decide),
            FormMut::Small(run) => run,
        };
        let old = packed::find(run, member).map(|found| found.score);
        match (old, decide(old)) {
            (Some(old), Some(new)) if new != old => {
                packed::remove(run, member);
                packed::insert(run, member, new);
                Change::Rescored
            }
            (None, Some(score)) => {
                if growth.fits(run, member) {
                    packed::insert(run, member, score);
                } else {
                    self.grow(growth.hasher).push(member, score);
                }
                Change::Added
            }
            _ => Change::None,
        }
    }

    /// Takes a member out; returns whether it was there.
    pub fn remove(&mut self, member: &[u8]) -> bool {
        match self.word.form_mut() {
            FormMut::Small(run) => packed::remove(run, member),
            FormMut::Large(indexed) => indexed.remove(member),
        }
    }

    /// Takes out the members of a range of ranks within the length.
    pub fn remove_ranks(&mut self, ranks: Range<usize>) {
        match self.word.form_mut() {
            _ if ranks.is_empty() => {}
            FormMut::Small(run) => packed::remove_ranks(run, ranks),
            FormMut::Large(indexed) => indexed.remove_ranks(ranks),
        }
    }

    /// Moves the members of a range of ranks to a set of their own, if this one is large.
    pub(crate) fn cut(&mut self, ranks: Range<usize>) -> Option<ZSet> {
        match self.word.form_mut() {
            FormMut::Small(_) => None,
            FormMut::Large(indexed) => Some(ZSet { word: ThinOr::large(indexed.cut(ranks)) }),
        }
    }

    /// Copies of all members but those of a range of ranks, if this set is large.
    pub(crate) fn without(&self, ranks: &Range<usize>) -> Option<ZSet> {
        match self.word.form() {
            Form::Small(_) => None,
            Form::Large(indexed) => Some(ZSet { word: ThinOr::large(indexed.without(ranks)) }),
        }
    }

    /// Takes back what was cut off, which is no longer there.
    pub(crate) fn join(&mut self, mut cut: ZSet) {
        match (self.word.form_mut(), cut.word.form_mut()) {
            (FormMut::Large(indexed), FormMut::Large(cut)) => {
                let empty = indexed.cut(0..0);
                indexed.join(std::mem::replace(cut, empty));
            }
            _ => unreachable!("only large sets are cut"),
        }
    }

    /// Visits some members; returns the cursor for the next ones, zero at the end.
    /// What is there throughout a scan is visited at least once.
    pub fn scan(&self, cursor: u64, mut visit: impl FnMut(&[u8], f64)) -> u64 {
        match self.word.form() {
            Form::Small(run) => {
                packed::Walk::new(run).for_each(|found| visit(found.member, found.score));
                0
            }
            Form::Large(indexed) => indexed.scan(cursor, visit),
        }
    }

    /// Stops being packed, whatever its size.
    pub fn unpack(&mut self, hasher: KeyHasher) {
        self.grow(hasher);
    }

    /// Moves the members of a packed set into a large one.
    fn grow(&mut self, hasher: KeyHasher) -> &mut Indexed {
        if let Form::Small(run) = self.word.form() {
            let mut indexed = Indexed::new(hasher);
            packed::Walk::new(run).for_each(|found| indexed.push(found.member, found.score));
            self.word = ThinOr::large(indexed);
        }
        match self.word.form_mut() {
            FormMut::Large(indexed) => indexed,
            FormMut::Small(_) => unreachable!("a large set was just made"),
        }
    }
}

impl Growth {
    /// As the settings have it.
    pub fn of(limits: &PackedLimits, hasher: KeyHasher) -> Growth {
        Growth {
            packed_entries_max: limits.zset_entries_max,
            packed_member_bytes_max: limits.zset_member_bytes_max,
            hasher,
        }
    }

    /// Whether a set that takes this member in is still packed.
    fn fits(&self, run: &ThinBytes, member: &[u8]) -> bool {
        run.count() < self.packed_entries_max
            && member.len() <= self.packed_member_bytes_max
            && run.len() + packed::entry_bytes_max(member) <= thin::BYTES_MAX
    }
}

impl std::fmt::Debug for ZSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let pairs = self.iter(0..self.len());
        f.debug_map().entries(pairs.map(|(member, score)| (member.escape_ascii(), score))).finish()
    }
}
