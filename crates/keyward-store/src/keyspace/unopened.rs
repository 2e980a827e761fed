//! Packed rows, read without making them loose.
//!
//! Owns the short ways of the commands that are sent most: whether a key is there, when
//! it ends, its text. Each leaves the same traces as the general way, which begins with
//! `Keyspace::locate`.

use super::{Access, Keyspace};
use crate::tables::table::Found;
use crate::values::hasher::Key;
use crate::values::text::Text;
use keyward_commands::WireError;

impl Keyspace {
    /// Looks a key up for reading, counting a hit or a miss; returns when it ends, if it
    /// is there.
    #[inline]
    pub fn read_deadline(&mut self, key: Key<'_>, access: Access) -> Option<Option<i64>> {
        let found = self.seek_to_read(key, access)?;
        // A companion's own end may be rounded up.
        let of_leader = if self.governed > 0 { self.end_with_leader(key) } else { None };
        Some(of_leader.or(self.table(key).deadline_at(found)))
    }

    /// Whether a key is there, on the way to changing it: no hit or miss is counted.
    #[inline]
    pub fn is_there(&mut self, key: Key<'_>) -> bool {
        let found = self.seek(key);
        if let Some(found) = found {
            self.touch(key, found);
        }
        found.is_some()
    }

    /// Looks a string up for reading; an error if the key holds something else.
    #[inline(always)]
    pub fn read_text(&mut self, key: Key<'_>) -> Result<Option<Text<'_>>, WireError> {
        let Some(found) = self.seek_to_read(key, Access::Touch) else { return Ok(None) };
        let table = self.databases[key.db()].table(key);
        let text = match found {
            Found::Loose(spot) => Text::of(table.row(spot).value()),
            Found::Packed(place) => {
                self.text.clear();
                let is_text = table.packed_text(place, key.bytes, &mut self.text);
                is_text.then_some(Text::Bytes(&self.text))
            }
        };
        text.map(Some).ok_or(WireError::WrongType)
    }
}
