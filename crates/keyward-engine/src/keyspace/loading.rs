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
        let table = self.databases[self.selected].table_mut(key);
        let is_there = table.locate(key).is_some();
        if is_there && on_conflict == OnConflict::Refuse {
            return false;
        }
        if is_there {
            table.remove(key);
        }
        table.insert(key.hash, row);
        true
    }
}
