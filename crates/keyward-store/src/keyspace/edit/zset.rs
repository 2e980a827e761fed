//! Changing members of a sorted set.

use super::{Edit, Place};
use crate::keyspace::journal::row_of;
use crate::tables::reclaim::Freeing;
use crate::values::hasher::KeyHasher;
use crate::values::zset::{Change, Growth, ZSet};
use std::ops::Range;

/// Where no more leave a sorted set, each is removed and recorded by itself.
const TOGETHER_MIN: usize = 64;

impl Edit<'_, ZSet> {
    /// Gives a member the score that `decide` makes of the one it has, if any;
    /// leaves everything as it is where that returns `None`.
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

    /// Takes a member out; returns whether it was there.
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
        self.before_part_change(|large, zset| {
            zset.iter(ranks.clone()).for_each(|(member, _)| large.score(zset, member));
        });
        let Place { key, ref space, .. } = self.place;
        let is_on = space.journal.is_on();
        let is_moved = match is_on {
            true => !space.heeds_members(key.db, key.table),
            false => ranks == (0..self.len()),
        };
        // Where most leave, those that stay are copied, and all comes back at once if that is
        // undone.
        if is_on
            && is_moved
            && ranks.len() > TOGETHER_MIN
            && ranks.len() >= self.len() / 2
            && let Some(rest) = self.without(&ranks)
        {
            let before = std::mem::replace(self.collection_mut(), rest);
            return self.place.space.journal.zset_before(key, before);
        }
        if ranks.len() > TOGETHER_MIN
            && is_moved
            && let Some(cut) = self.collection_mut().cut(ranks.clone())
        {
            let space = &mut self.place.space;
            match is_on {
                true => space.journal.ranks_cut(key, cut),
                false => space.reclaim.row(row_of(cut), Freeing::AtOnce),
            }
            return;
        }
        if is_on {
            let mut journal = std::mem::take(&mut self.place.space.journal);
            for (member, score) in self.iter(ranks.clone()) {
                journal.score(key, member, [Some(score), None]);
            }
            self.place.space.journal = journal;
        }
        self.collection_mut().remove_ranks(ranks);
    }

    fn record(&mut self, member: &[u8], scores: [Option<f64>; 2]) {
        let Place { key, ref mut space, .. } = self.place;
        if space.journal.is_on() {
            space.journal.score(key, member, scores);
        }
    }
}
