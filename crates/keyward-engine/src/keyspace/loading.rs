//! Rows that come from a file: they were there before, so nothing happens to them.

use super::Keyspace;
use crate::hasher::Key;
use crate::row::OwnedValue;
use crate::snapshot::load::OnConflict;

impl Keyspace {
    /// Puts a row back that was saved; whether it was done. Nobody is told, nothing
    /// is counted or logged.
    pub(crate) fn load(
        &mut self,
        key: Key<'_>,
        value: OwnedValue,
        deadline: Option<i64>,
        on_conflict: OnConflict,
    ) -> bool {
        let mut row = value.into_row(key.bytes, deadline);
        row.set_clock(self.access.first_mark());
        let is_there = self.database().table(key).locate(key).is_some();
        if is_there && on_conflict == OnConflict::Refuse {
            return false;
        }
        if is_there {
            self.take_row(self.selected, key);
        }
        self.place_row(self.selected, key, row);
        true
    }
}
