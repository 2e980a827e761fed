//! The keyspace under schemas: rows that end while other tables depend on them.
//!
//! Owns what a schema asks of storage rather than of commands. No command ever
//! sees a derived key that disagrees with its source: whatever row of a source
//! table goes by itself is kept in `ended` until the rule book has said what
//! follows, and before a derived key is read the rows that are due in source
//! tables are made to go.
//! Not here: carrying out what follows (`governed` of the engine), renewal by reading
//! (`renewal`).

use super::Keyspace;
use super::journal::Gone;
use super::leaving::{Ended, Leaving};
use super::sight::Sight;
use crate::tables::counters::TableStats;
use crate::tables::database::Database;
use crate::tables::faulty::Faulty;
use crate::tables::reclaim::Freeing;
use crate::tables::table::Found;
use crate::values::hasher::{Key, TableIndex};
use crate::values::row::{Row, Shelf};
use keyward_commands::Command;
use keyward_resp::Args;
use keyward_rules::{Books, Cause, Faults, RuleBook, Sender, Survey};
use keyward_schema::{KeyId, Mode};
use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

impl Keyspace {
    /// What is shown of a command of a database to others than its client.
    #[cold]
    pub fn shown<'a>(
        &self,
        db: usize,
        command: &Command,
        args: Args<'a>,
        sender: Sender,
    ) -> Vec<Cow<'a, [u8]>> {
        self.with_books(db, |books| books.shown(command, args, sender))
    }

    /// What is shown of one argument of a command of a database to others than its client.
    #[cold]
    pub fn shown_at<'a>(
        &self,
        db: usize,
        command: &Command,
        args: Args<'a>,
        sender: Sender,
        at: usize,
    ) -> Cow<'a, [u8]> {
        self.with_books(db, |books| books.shown_at(command, args, sender, at))
    }

    /// Whether a refusal of a command of a database may show what was found.
    #[cold]
    pub fn shows_found(
        &self,
        db: usize,
        command: &Command,
        args: Args<'_>,
        sender: Sender,
    ) -> bool {
        self.with_books(db, |books| books.shows_found(command, args, sender))
    }

    /// All books of the server, as a command of a database sees them.
    fn with_books<T>(&self, db: usize, ask: impl FnOnce(Books<'_>) -> T) -> T {
        let books = self.databases.iter().filter_map(|database| database.book());
        let all: Vec<&RuleBook> = books.map(|book| &**book).collect();
        ask(Books { own: self.databases[db].book().map(|book| &**book), all: &all })
    }

    /// Puts a database under a schema. Whole tables go over at once where the survey of
    /// them says so; other rows are still to be brought (`bring_over`) to the tables of
    /// their patterns, and nobody may ask for them until then.
    pub fn govern(&mut self, db: usize, book: Arc<RuleBook>, survey: &Survey) {
        self.governed += usize::from(self.databases[db].book().is_none());
        self.quotas.set(db, book.schema());
        let governed = Database::governed(self.hasher, self.databases[db].standing(), book);
        let mut before = std::mem::replace(&mut self.databases[db], governed);
        self.databases[db].inherit_stats(&before);
        self.databases[db].adopt(&mut before, survey);
        self.capture_now(&mut before);
        let first_end = self.databases[db].next_source_deadline();
        self.source_deadline = self.source_deadline.min(first_end.unwrap_or(i64::MAX));
        let faulty = std::mem::replace(&mut before.faulty, Faulty::new(self.hasher));
        self.leaving = Some(Leaving { db, before, faulty });
        self.schema_version += 1;
    }

    /// Takes a database out of its schema, if it has one. Its rows are still to be brought
    /// (`bring_rows`) to the only table it has then.
    pub fn release(&mut self, db: usize) {
        if self.databases[db].book().is_none() {
            return;
        }
        self.governed -= 1;
        self.quotas.forget(db);
        let plain = Database::new(self.hasher, self.databases[db].standing());
        let mut before = std::mem::replace(&mut self.databases[db], plain);
        self.capture_now(&mut before);
        self.leaving = Some(Leaving { db, before, faulty: Faulty::new(self.hasher) });
        self.schema_version += 1;
    }

    /// Brings about `budget` rows more to the tables of their patterns, and what is known
    /// to be wrong with rows that the survey did not judge; whether all are there.
    pub fn bring_over(&mut self, survey: &Survey, budget: usize) -> bool {
        let mut done = self.bring_rows(budget);
        let Some(mut leaving) = self.leaving.take() else { return true };
        let database = &mut self.databases[leaving.db];
        done += leaving.faulty.shed(budget.saturating_sub(done), |key, faults| {
            database.inherit_faults(key, faults, survey);
        });
        self.leaving = (done >= budget).then_some(leaving);
        self.leaving.is_none()
    }

    /// Whether rows are still to be brought to the tables of their patterns.
    pub fn is_bringing_rows(&self) -> bool {
        self.leaving.is_some()
    }

    /// Brings about `budget` rows more to the tables of their patterns; returns how much
    /// was done.
    pub fn bring_rows(&mut self, budget: usize) -> usize {
        let Some(Leaving { db, before, .. }) = &mut self.leaving else { return 0 };
        let (db, mut rows, mut done) = (*db, Vec::new(), 0);
        while done < budget {
            match before.shed(budget - done, |row| rows.push(row.into_row())) {
                0 => break,
                shed => done += shed,
            }
        }
        for row in rows {
            let bytes: Box<[u8]> = row.key().into();
            self.put_row_back(self.key_in(db, &bytes), row);
        }
        done
    }

    /// The same where nothing is known of rows; whether all are there.
    pub fn bring_unjudged(&mut self, budget: usize) -> bool {
        let is_over = self.bring_rows(budget) < budget;
        if is_over {
            self.leaving = None;
        }
        is_over
    }

    /// Whether any database is under a schema, be it that its rules are not asked.
    pub fn has_schemas(&self) -> bool {
        self.governed > 0
    }

    /// Whether any database is under a schema whose rules are asked.
    #[inline(always)]
    pub fn is_governed(&self) -> bool {
        self.governed > 0 && !self.is_following
    }

    /// The rules that a database is under.
    pub fn book_of(&self, db: usize) -> Option<&Arc<RuleBook>> {
        self.databases[db].book()
    }

    /// The counters of a pattern, or of keys without one.
    pub fn table_stats(&mut self, db: usize, pattern: Option<KeyId>) -> &mut TableStats {
        let table = pattern.map_or(TableIndex::PLAIN, TableIndex::of);
        self.databases[db].stats_mut(table)
    }

    /// Keeps in mind what a survey of a database found to be wrong with a row.
    pub fn set_faults(&mut self, db: usize, key: &[u8], faults: Faults) {
        self.databases[db].set_faults(key, faults);
    }

    /// Overrules the modes of a keyspace of a database, or leaves it to its schema.
    pub fn set_schema_mode(&mut self, db: usize, keyspace: usize, mode: Option<Mode>) {
        self.databases[db].set_mode(keyspace, mode);
        self.mode_changes += 1;
    }

    /// The changes of the journal are known to stay: whoever watches them is
    /// told, and nothing can be undone any more.
    pub fn commit(&mut self) {
        self.let_ends_stand();
        let mut journal = std::mem::take(&mut self.journal);
        for (db, held) in journal.flushed_databases() {
            self.watched_rows_went(db, held);
        }
        for (db, table, key) in journal.touched() {
            self.databases[db].count_write(table);
            self.changes.changed(db, key, 0);
            self.heed(db, key);
        }
        journal.end(|gone| match gone {
            Gone::Row(row) => self.reclaim.row(row, Freeing::AtOnce),
            Gone::Database(held) => self.part_with(*held, Freeing::AtOnce),
            Gone::End(end) => self.bury(end),
        });
        self.journal = journal;
    }

    /// A database as the rule book sees it.
    pub fn sight(&self, db: usize) -> Sight<'_> {
        Sight { keys: self, db, shelf: Shelf::default(), unfinished: RefCell::default() }
    }

    /// Makes a packed row that is about to be edited a loose one.
    /// Whether it is due is not asked.
    pub fn loosen_ahead(&mut self, key: Key<'_>) {
        let database = &mut self.databases[key.db()];
        let table = database.table(key);
        if table.packs()
            && let Some(Found::Packed(place)) = table.seek(key)
        {
            database.loosen(key, place);
        }
    }

    /// Remembers that a row which others depend on may end sooner than known.
    #[inline(always)]
    pub(super) fn note_source_deadline(&mut self, key: Key<'_>) {
        if self.governed > 0 && key.table != TableIndex::PLAIN {
            self.note_deadline_of(key);
        }
    }

    fn note_deadline_of(&mut self, key: Key<'_>) {
        let db = &self.databases[key.db()];
        let leads = db.leads(key.table);
        if leads && let Some(deadline) = db.table(key).deadline_of(key) {
            self.source_deadline = self.source_deadline.min(deadline);
        }
    }

    /// Whether a row on which derived keys depend may be due.
    #[inline(always)]
    pub fn is_unsettled(&self) -> bool {
        self.has_due_source() && !self.is_expiry_held
    }

    /// Whether a row on which others depend may be due, be it that expiry is held.
    pub fn has_due_source(&self) -> bool {
        self.source_deadline < self.due_ms
    }

    /// Removes due rows of tables on which others depend, up to so many; whether none is
    /// left.
    pub fn settle(&mut self, most: usize) -> bool {
        let (mut left, mut is_held_up) = (most, false);
        for db in 0..self.databases.len() {
            while left > 0
                && let Some(key) = self.databases[db].due_source(self.due_ms)
            {
                let key = self.key_in(db, &key);
                if !self.end_due(key) && self.is_still_due(key) {
                    // The end of which it gets its deadline comes first.
                    is_held_up = true;
                    break;
                }
                left -= 1;
            }
        }
        let is_settled = left > 0 && !is_held_up;
        if is_settled {
            self.look_ahead();
        }
        is_settled
    }

    /// Learns when the next row ends that others depend on, if one that is known to be
    /// due has gone.
    pub(super) fn look_ahead(&mut self) {
        if self.has_due_source() {
            let next = self.databases.iter().filter_map(Database::next_source_deadline).min();
            self.source_deadline = next.unwrap_or(i64::MAX);
        }
    }

    /// Keeps a row that went by itself until what depended on it has followed, or
    /// frees it if nothing did.
    pub(super) fn end_row(&mut self, key: Key<'_>, row: Row, (cause, freeing): (Cause, Freeing)) {
        let db = key.db();
        let database = &self.databases[db];
        match database.pattern(key.table) {
            Some(pattern) if database.leads(key.table) => {
                let (row, logged) = (Rc::new(row), self.effects.len());
                if self.is_borrowed(key) {
                    self.hand_over(key, &row);
                }
                let key = key.bytes.into();
                self.ended.push(Ended { db, pattern, key, row, cause, logged });
            }
            _ if self.is_borrowed(key) => self.hand_over(key, &Rc::new(row)),
            _ => self.reclaim.row(row, freeing),
        }
    }

    /// Whether rows went whose dependents have not followed yet.
    #[inline(always)]
    pub fn has_ended(&self) -> bool {
        !self.ended.is_empty()
    }

    /// The rows that went by themselves since the last call.
    pub fn take_ended(&mut self) -> Vec<Ended> {
        std::mem::take(&mut self.ended)
    }
}
