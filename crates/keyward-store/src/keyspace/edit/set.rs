//! Changing members of a set.

use super::{Edit, Place};
use crate::keyspace::journal::row_of;
use crate::tables::reclaim::Freeing;
use crate::values::packed::Item;
use crate::values::set::{Growth, Set};
use std::borrow::Cow;
use std::rc::Rc;

/// Where no more leave a set, the journal records each of them.
const TOGETHER_MIN: usize = 64;

impl Edit<'_, Set> {
    /// Adds a member; returns whether it is new.
    pub fn add(&mut self, growth: &Growth, member: Item<'_>) -> bool {
        self.before_part_change(|large, set| large.member(set, member));
        let is_new = self.collection_mut().add(growth, member);
        if is_new {
            self.record(member, true);
        }
        is_new
    }

    /// Takes a member out; returns whether it was there.
    pub fn remove(&mut self, member: Item<'_>) -> bool {
        self.before_part_change(|large, set| large.member(set, member));
        let was_there = self.collection_mut().remove(member);
        if was_there {
            self.record(member, false);
            self.note_leaver(member);
        }
        was_there
    }

    /// Takes members out, as many as `next` names, given the set each time; returns how many
    /// were there. The journal keeps them together if they may be many.
    pub fn remove_each<'m>(
        &mut self,
        most: usize,
        mut next: impl FnMut(&Set) -> Option<Cow<'m, [u8]>>,
    ) -> usize {
        let is_kept = most > TOGETHER_MIN && self.place.space.journal.is_on();
        let mut left = is_kept.then(|| self.none_of_it(most)).flatten();
        let mut removed = 0;
        while let Some(member) = next(self) {
            let member = Item::of(&member);
            removed += usize::from(match &mut left {
                None => self.remove(member),
                Some(left) => {
                    self.before_part_change(|large, set| large.member(set, member));
                    let was_there = self.collection_mut().move_to(left, member);
                    if was_there {
                        self.note_leaver(member);
                    }
                    was_there
                }
            });
        }
        if let Some(mut left) = left.filter(|left| !left.is_empty()) {
            left.trim();
            let Place { key, ref mut space, .. } = self.place;
            space.journal.members_left(key, left);
        }
        removed
    }

    /// Takes all members out but these, which are some of them.
    pub fn keep_only(&mut self, left: Set) {
        self.place.capture_whole();
        let before = Rc::new(row_of(std::mem::replace(self.collection_mut(), left)));
        let Place { key, ref mut space, .. } = self.place;
        if space.is_borrowed(key) {
            space.hand_over(key, &before);
        }
        if space.journal.is_on() {
            space.journal.set_before(key, before);
        } else if let Ok(before) = Rc::try_unwrap(before) {
            space.reclaim.row(before, Freeing::AtOnce);
        }
    }

    /// Tells ends that look at the set.
    #[inline(always)]
    fn note_leaver(&mut self, member: Item<'_>) {
        let Place { key, ref mut space, .. } = self.place;
        if space.is_borrowed(key) {
            space.note_leaver(key, member);
        }
    }

    #[inline(always)]
    fn record(&mut self, member: Item<'_>, came: bool) {
        let Place { key, ref mut space, .. } = self.place;
        if space.journal.is_on() {
            space.journal.member(key, member.text().as_bytes(), came);
        }
    }
}
