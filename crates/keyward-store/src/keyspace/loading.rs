//! Rows that come from a file: they were there before, so nothing happens to them.

use super::Keyspace;
use super::usage::Usage;
use crate::tables::counters::{KeyStats, TableStats};
use crate::tables::database::Database;
use crate::tables::table::Table;
use crate::values::hasher::Key;
use crate::values::row::{NewValue, Row};

/// What to do about a key that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnConflict {
    /// Leave it, and take nothing in.
    Refuse,
    /// Put the new one in its place.
    Replace,
}

/// What is put aside while commands are carried out again.
#[derive(Debug)]
pub struct Present {
    governed: usize,
    is_following: bool,
}

/// Whether rules are asked about commands that are carried out again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// No: they were judged before.
    Rest,
    /// They count what they would have done: all of them only observe.
    Observe,
}

impl Keyspace {
    /// Has no row be due and, unless they observe, no schema rule: what is carried out again
    /// has been judged, and the ends of rows are part of it.
    pub fn leave_present(&mut self, rules: Rules) -> Present {
        let present = Present { governed: self.governed, is_following: self.is_following };
        self.due_ms = i64::MIN;
        self.is_replaying = true;
        match rules {
            Rules::Rest => self.governed = 0,
            Rules::Observe => self.is_following = false,
        }
        present
    }

    /// Comes back.
    pub fn enter_present(&mut self, present: Present) {
        self.due_ms = self.now_ms;
        self.is_replaying = false;
        self.governed = present.governed;
        self.is_following = present.is_following;
        // Deadlines were not noted: the first look at derived keys does so.
        self.source_deadline = i64::MIN;
    }

    /// Decides whether all changes come from another server. While they do no rule is asked, no
    /// read renews anything, and rows whose time is over are invisible but stay.
    pub fn follow(&mut self, is_following: bool) {
        self.is_following = is_following;
        self.is_expiry_held = is_following;
        self.own_deadlines.clear();
        self.told_ends = (is_following && self.has_schemas()).then_some((0, 0));
        if !is_following {
            // Deadlines were not noted: the first look at derived keys does so.
            self.source_deadline = i64::MIN;
        }
    }

    /// Whether all changes come from another server.
    #[inline(always)]
    pub fn is_following(&self) -> bool {
        self.is_following
    }

    /// Forgets what loading has counted.
    pub fn end_loading(&mut self) {
        self.stats = KeyStats::default();
        self.changes.dirty = 0;
        self.changes.news.clear();
        self.databases.iter_mut().flat_map(Database::tables_mut).for_each(|table| {
            table.stats = TableStats::default();
        });
    }

    /// A database is about to get so many rows.
    pub fn expect_rows(&mut self, db: usize, rows: usize) {
        self.databases[db].expect_rows(rows);
    }

    /// Gives back room for rows that did not come.
    pub fn trim(&mut self) {
        self.databases.iter_mut().flat_map(Database::tables_mut).for_each(Table::trim);
    }

    /// Whether elements of other rows leave with a key, as its schema says. They leave when its
    /// end is carried out, so one that is due is loaded all the same.
    pub fn takes_along(&self, key: Key<'_>) -> bool {
        let database = &self.databases[key.db()];
        let pattern = database.pattern(key.table);
        database.book().zip(pattern).is_some_and(|(book, table)| book.takes_along(table))
    }

    /// A row as it was saved.
    pub fn saved_row(
        &self,
        key: Key<'_>,
        value: NewValue<'_>,
        deadline: Option<i64>,
        usage: Option<Usage>,
    ) -> Row {
        let mut row = Row::new(key.bytes, value, deadline);
        let told = usage.and_then(|usage| self.mark_of(key, usage));
        row.set_clock(told.unwrap_or_else(|| self.first_mark(key)));
        row
    }

    /// Puts a row back that was saved; whether it was done. Nobody is told, nothing
    /// is counted or logged.
    pub fn load(&mut self, key: Key<'_>, row: Row, on_conflict: OnConflict) -> bool {
        let is_there = self.table(key).find(key).is_some();
        if is_there && on_conflict == OnConflict::Refuse {
            return false;
        }
        if is_there {
            self.take_row(key);
        }
        self.put_row_back(key, row);
        self.void_survey(key.db());
        true
    }
}
