//! Changing members of a sorted set.

use super::{Edit, Place};
use crate::values::hasher::KeyHasher;
use crate::values::zset::{Change, Growth, ZSet};
use std::ops::Range;

impl Edit<'_, ZSet> {
    /// Gives a member the score that `decide` makes of the one it has, if any;
    /// leaves everything as it is where that answers `None`.
    pub fn update(
        &mut self,
        growth: &Growth,
        member: &[u8],
        decide: impl FnOnce(Option<f64>) -> Option<f64>,
    ) -> Change {
        self.before_part_change(|large, zset| large.score(zset, member));
        let (mut before, mut after) = (None, None);
        let change = self.collection_mut().update(growth, member, |old| {
            before = old;
            after = decide(old);
            after
        });
        if change != Change::None {
            self.record(member, [before, after]);
        }
        change
    }

    /// Makes it large, whatever its size. Its members stay the same.
    pub fn unpack(&mut self, hasher: KeyHasher) {
        self.collection_mut().unpack(hasher);
    }

    /// Takes a member out; answers whether it was there.
    pub fn remove(&mut self, member: &[u8]) -> bool {
        if self.place.space.journal.is_on()
            && let Some(score) = self.score(member)
        {
            self.record(member, [Some(score), None]);
        }
        self.before_part_change(|large, zset| large.score(zset, member));
        self.collection_mut().remove(member)
    }

    /// Takes out the members of a range of ranks within the length.
    pub fn remove_ranks(&mut self, ranks: Range<usize>) {
        if self.place.space.journal.is_on() {
            let mut journal = std::mem::take(&mut self.place.space.journal);
            for (member, score) in self.iter(ranks.clone()) {
                journal.score(self.place.key, member, [Some(score), None]);
            }
            self.place.space.journal = journal;
        }
        self.before_part_change(|large, zset| {
            zset.iter(ranks.clone()).for_each(|(member, _)| large.score(zset, member));
        });
        self.collection_mut().remove_ranks(ranks);
    }

    fn record(&mut self, member: &[u8], scores: [Option<f64>; 2]) {
        let Place { key, ref mut space, .. } = self.place;
        if space.journal.is_on() {
            space.journal.score(key, member, scores);
        }
    }
}
