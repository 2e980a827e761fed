//! Changing members of a set.

use super::{Edit, Place};
use crate::keyspace::journal::row_of;
use crate::tables::reclaim::Freeing;
use crate::values::packed::Item;
use crate::values::set::{Growth, Set};

impl Edit<'_, Set> {
    /// Adds a member; answers whether it is new.
    pub fn add(&mut self, growth: &Growth, member: Item<'_>) -> bool {
        self.before_part_change(|large, set| large.member(set, member));
        let is_new = self.collection_mut().add(growth, member);
        if is_new {
            self.record(member, true);
        }
        is_new
    }

    /// Takes a member out; answers whether it was there.
    pub fn remove(&mut self, member: Item<'_>) -> bool {
        self.before_part_change(|large, set| large.member(set, member));
        let was_there = self.collection_mut().remove(member);
        if was_there {
            self.record(member, false);
        }
        was_there
    }

    /// Takes all members out but these, which are some of them.
    pub fn keep_only(&mut self, left: Set) {
        self.place.capture_whole();
        let before = std::mem::replace(self.collection_mut(), left);
        let key = self.place.key;
        if self.place.space.journal.is_on() {
            if !self.place.space.heeds_members(key.db, key.table) {
                return self.place.space.journal.set_before(key, before);
            }
            let mut journal = std::mem::take(&mut self.place.space.journal);
            for member in before.iter().filter(|member| !self.contains(*member)) {
                journal.member(key, member.text().as_bytes(), false);
            }
            self.place.space.journal = journal;
        }
        self.place.space.reclaim.row(row_of(before), Freeing::AtOnce);
    }

    fn record(&mut self, member: Item<'_>, came: bool) {
        let Place { key, ref mut space, .. } = self.place;
        if space.journal.is_on() {
            space.journal.member(key, member.text().as_bytes(), came);
        }
    }
}
