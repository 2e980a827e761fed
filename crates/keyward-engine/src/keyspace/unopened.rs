//! Packed rows, read and replaced without making them loose.
//!
//! Owns the short ways of the commands that are sent most: whether a key is there, when
//! it ends, its text, and storing another in its place. Each leaves the same traces as
//! the general way, which begins with `Keyspace::locate`; where there is more to do
//! (expiry, renewal by reading, a snapshot under way) it is left to that.

use super::{Access, Keyspace, Lifetime};
use crate::hasher::Key;
use crate::row::{NewValue, Row};
use crate::string::Text;
use crate::table::Place;
use keyward_commands::WireError;

impl Keyspace {
    /// Where a living row is, if it is packed.
    #[inline(always)]
    pub(super) fn locate_packed(&self, key: Key<'_>) -> Option<Place> {
        let table = self.databases[self.selected].table(key);
        if !table.packs() {
            return None;
        }
        let place = table.find_unopened(key)?;
        let is_due = table.packed_deadline(place).is_some_and(|deadline| deadline < self.now_ms);
        (!is_due).then_some(place)
    }

    /// Looks a key up for reading, counting a hit or a miss; answers when it ends, if it
    /// is there.
    #[inline]
    pub fn read_deadline(&mut self, key: Key<'_>, access: Access) -> Option<Option<i64>> {
        match self.read_unopened(key, access) {
            Some(place) => Some(self.database().table(key).packed_deadline(place)),
            None => self.read_with(key, access).map(Row::deadline),
        }
    }

    /// Whether a key is there, on the way to changing it: no hit or miss is counted.
    #[inline]
    pub fn is_there(&mut self, key: Key<'_>) -> bool {
        match self.locate_packed(key) {
            Some(place) => {
                self.touch_packed(key, place);
                true
            }
            None => self.find(key).is_some(),
        }
    }

    /// Looks a string up for reading; an error if the key holds something else.
    #[inline(always)]
    pub fn read_text(&mut self, key: Key<'_>) -> Result<Option<Text<'_>>, WireError> {
        if let Some(place) = self.read_unopened(key, Access::Touch) {
            self.text.clear();
            let table = self.databases[self.selected].table(key);
            let is_text = table.packed_text(place, key.bytes, &mut self.text);
            return if is_text {
                Ok(Some(Text::Bytes(&self.text)))
            } else {
                Err(WireError::WrongType)
            };
        }
        match self.read(key) {
            Some(row) => Text::of(row.value()).map(Some).ok_or(WireError::WrongType),
            None => Ok(None),
        }
    }

    /// Reads a packed row, leaving the traces of that; `None` if it is not packed, or
    /// reading does more to it.
    #[inline(always)]
    fn read_unopened(&mut self, key: Key<'_>, access: Access) -> Option<Place> {
        let place = self.locate_packed(key)?;
        if access == Access::Touch {
            if self.renews_on_read(key) {
                return None;
            }
            self.touch_packed(key, place);
        }
        self.stats.hits += 1;
        self.databases[self.selected].table_mut(key).stats.hits += 1;
        Some(place)
    }

    fn renews_on_read(&self, key: Key<'_>) -> bool {
        let database = self.database();
        let governed = database.book().zip(database.pattern(key.table));
        governed.is_some_and(|(book, pattern)| book.traits(pattern).renews_on_read)
    }

    fn touch_packed(&mut self, key: Key<'_>, place: Place) {
        let table = self.databases[self.selected].table_mut(key);
        let before = table.packed_clock(place);
        let clock = self.access.next_mark(table.reading(), before, &mut self.random);
        if before != clock {
            table.set_packed_clock(place, clock);
        }
    }

    /// Puts a value in the place of a packed row whose value nobody wants; whether it
    /// was one. Nobody is told.
    pub(super) fn replace_packed(
        &mut self,
        key: Key<'_>,
        value: &mut Option<NewValue<'_>>,
        lifetime: Lifetime,
    ) -> bool {
        if self.journal.is_on() || self.snapshot.is_some() {
            return false;
        }
        let Some(place) = self.locate_packed(key) else { return false };
        let Some(value) = value.take() else { return false };
        let table = self.databases[self.selected].table_mut(key);
        let deadline = match lifetime {
            Lifetime::Forever => None,
            Lifetime::Keep => table.packed_deadline(place),
            Lifetime::Until(at) => Some(at),
        };
        let before = table.packed_clock(place);
        let clock = self.access.next_mark(table.reading(), before, &mut self.random);
        let mut row = Row::new(key.bytes, value, deadline);
        row.set_clock(clock);
        table.replace_packed(place, key.hash, row);
        self.note_source_deadline(self.selected, key);
        true
    }
}
