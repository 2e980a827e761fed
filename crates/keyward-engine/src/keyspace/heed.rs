//! Rows that somebody keeps in mind, to look at them again when they change: those
//! that something is wrong with, and all rows of a database that is surveyed.
//!
//! Owns the lists of what is to be looked at. Whatever changes a row, or lets it
//! go, passes `heed`, which costs two comparisons while there is nothing to keep
//! in mind. The lists are worked off before anybody is told a figure, and by every
//! tick.
//! Invariant: a row is judged only between commands, so by what is known to stay.
//! Not here: the survey itself (`rebuild`).

use super::Keyspace;
use crate::database::Database;
use keyward_rules::{Faults, Ground, RuleBook, Survey};
use std::sync::Arc;

/// What is to be looked at again.
#[derive(Debug, Default)]
pub(crate) struct Heeded {
    /// Rows with something wrong about them, or that may have.
    suspects: Vec<(usize, Box<[u8]>)>,
    /// The database under survey, if there is one.
    surveyed: Option<Surveyed>,
}

/// A database under survey.
#[derive(Debug)]
struct Surveyed {
    db: usize,
    /// Its rows that changed.
    changed: Vec<Box<[u8]>>,
    /// Its rows were exchanged as a whole: what the survey knows of them is void.
    is_void: bool,
}

impl Keyspace {
    /// A row changed, came or went.
    #[inline(always)]
    pub(super) fn heed(&mut self, db: usize, key: &[u8]) {
        if self.databases[db].has_faults() || self.heeded.surveyed.is_some() {
            self.remember(db, key);
        }
    }

    #[cold]
    fn remember(&mut self, db: usize, key: &[u8]) {
        if self.databases[db].faults(key).is_some() {
            self.suspect(db, key);
        }
        if let Some(surveyed) = self.heeded.surveyed.as_mut().filter(|surveyed| surveyed.db == db)
            && surveyed.changed.last().is_none_or(|last| **last != *key)
        {
            surveyed.changed.push(key.into());
        }
    }

    /// Something may be wrong with a row.
    pub(crate) fn suspect(&mut self, db: usize, key: &[u8]) {
        self.heeded.suspects.push((db, key.into()));
    }

    /// A derived row was written to in spite of its sources. That is held against it
    /// until all of them are asked again.
    pub(crate) fn contradict(&mut self, db: usize, key: &[u8]) {
        let faults = Faults { is_misfit: true, is_conflict: false };
        self.databases[db].set_faults(key, faults);
    }

    /// Looks again at rows that something is or may be wrong with, if they changed.
    pub(crate) fn look_at_suspects(&mut self) {
        if self.heeded.suspects.is_empty() || self.journal.is_on() {
            return;
        }
        let mut suspects = std::mem::take(&mut self.heeded.suspects);
        suspects.sort_unstable();
        suspects.dedup();
        for (db, key) in suspects {
            let Some(book) = self.book_of(db).cloned() else { continue };
            let Some(table) = book.table_of(&key) else { continue };
            if book.traits(table).is_computed {
                continue;
            }
            let row = self.databases[db].find(&key).filter(|row| !self.is_due(row));
            let faults = row.map(|row| book.faults_of(&self.sight(db), table, &key, &*row));
            let faults = faults.transpose().expect("the engine shows all it has at once");
            self.databases[db].set_faults(&key, faults.unwrap_or_default());
        }
    }

    /// Nothing is wrong any more with the rows of a database, as far as is known.
    pub(crate) fn forget_faults(&mut self, db: usize) {
        let faulty: Vec<Box<[u8]>> = self.databases[db].faulty.keys().cloned().collect();
        for key in faulty {
            self.databases[db].set_faults(&key, Faults::default());
        }
    }

    /// Begins to keep all changes of a database in mind for a survey.
    pub(crate) fn begin_survey(&mut self, db: usize) {
        let surveyed = Surveyed { db, changed: Vec::new(), is_void: false };
        self.heeded.surveyed = Some(surveyed);
    }

    /// Nobody makes a survey any more.
    pub(crate) fn end_survey(&mut self) {
        self.heeded.surveyed = None;
    }

    /// Has a survey by a book look again at what changed. Whether it is still good.
    pub(crate) fn bring_up_to_date(&mut self, survey: &mut Survey, book: &RuleBook) -> bool {
        let Some(surveyed) = &mut self.heeded.surveyed else { return false };
        let (db, is_void) = (surveyed.db, surveyed.is_void);
        let changed = std::mem::take(&mut surveyed.changed);
        let sight = self.sight(db);
        let ground = Ground { book, before: self.book_of(db).map(Arc::as_ref), view: &sight };
        for key in changed {
            let looked = survey.look_again(ground, &key);
            looked.expect("the engine shows all it has at once");
        }
        !is_void
    }

    /// The rows of a database are exchanged as a whole.
    pub(super) fn void_survey(&mut self, db: usize) {
        if let Some(surveyed) = self.heeded.surveyed.as_mut().filter(|surveyed| surveyed.db == db) {
            surveyed.is_void = true;
        }
    }
}

impl Database {
    /// Whether it has rows that something is wrong with.
    #[inline(always)]
    fn has_faults(&self) -> bool {
        !self.faulty.is_empty()
    }

    /// What is wrong with a row.
    fn faults(&self, key: &[u8]) -> Option<Faults> {
        self.faulty.get(key).copied()
    }

    /// Keeps in mind what is wrong with a row, or forgets it.
    pub(crate) fn set_faults(&mut self, key: &[u8], faults: Faults) {
        let before = if faults == Faults::default() {
            self.faulty.remove(key)
        } else {
            self.faulty.insert(key.into(), faults)
        };
        let before = before.unwrap_or_default();
        let stats = self.stats_mut(self.table_of(key));
        stats.misfits += u64::from(faults.is_misfit);
        stats.misfits -= u64::from(before.is_misfit);
        stats.conflicts += u64::from(faults.is_conflict);
        stats.conflicts -= u64::from(before.is_conflict);
    }
}
