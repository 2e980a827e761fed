//! Rows that come from a file: they were there before, so nothing happens to them.

use super::Keyspace;
use crate::database::Database;
use crate::hasher::Key;
use crate::row::OwnedValue;
use crate::snapshot::load::OnConflict;
use crate::stats::{KeyStats, TableStats};

/// What is put aside while commands are carried out again.
#[derive(Debug)]
pub(crate) struct Present {
    now_ms: i64,
    governed: usize,
}

impl Keyspace {
    /// Goes back to a time at which no row is due and no schema rules: what is carried
    /// out again has been judged, and the ends of rows are part of it.
    pub(crate) fn leave_present(&mut self) -> Present {
        let now_ms = std::mem::replace(&mut self.now_ms, 0);
        Present { now_ms, governed: std::mem::take(&mut self.governed) }
    }

    /// Comes back.
    pub(crate) fn enter_present(&mut self, present: Present) {
        self.now_ms = present.now_ms;
        self.governed = present.governed;
        // Deadlines were not noted: the first look at derived keys does so.
        self.source_deadline = i64::MIN;
    }

    /// Forgets what loading has counted.
    pub(crate) fn end_loading(&mut self) {
        self.stats = KeyStats::default();
        self.changes.dirty = 0;
        self.changes.news.clear();
        self.databases.iter_mut().flat_map(Database::tables_mut).for_each(|table| {
            table.stats = TableStats::default();
        });
    }

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
        row.set_clock(self.first_mark(key));
        let is_there = self.database().table(key).find(key).is_some();
        if is_there && on_conflict == OnConflict::Refuse {
            return false;
        }
        if is_there {
            self.take_row(self.selected, key);
        }
        self.place_row(self.selected, key, row);
        self.void_survey(self.selected);
        true
    }
}
