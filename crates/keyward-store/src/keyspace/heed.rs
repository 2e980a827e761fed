//! Rows that somebody keeps in mind, to look at them again when they change: those
//! that something is wrong with, and all rows of a database that is surveyed.
//!
//! Owns the lists of what is to be looked at. Whatever changes a row, or lets it
//! go, passes `heed`, which costs two comparisons while there is nothing to keep
//! in mind. The lists are worked off before anybody is told a figure, as far as a fraction of a
//! millisecond goes, some rows by every tick, and by commands that make them long: figures are
//! exact some ticks after a command that changed many such rows.
//! Invariant: a row is judged only between commands, so by what is known to stay.
//! Not here: the survey itself (`governed::survey` of the engine).

use super::Keyspace;
use crate::tables::contradictions::Contradictions;
use crate::tables::faulty::Faulty;
use keyward_rules::{
    Contradicted, Element, FOLLOWERS_LOOKED_AT, Faults, Ground, Refusal, Row as _, RowType,
    RuleBook, Survey, View as _,
};
use keyward_schema::{Derived, KeyId};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Rows that are looked at again before a figure is told: less than a millisecond of work.
const LOOKED_AT_MAX: usize = 256;

/// What is to be looked at again.
#[derive(Debug, Default)]
pub(crate) struct Heeded {
    /// Rows with something wrong about them, or that may have.
    suspects: Vec<(usize, Box<[u8]>)>,
    /// The databases under survey.
    surveyed: Vec<Surveyed>,
}

/// Who makes a survey. A plan that waits to be applied keeps its own while files are
/// reloaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surveyor {
    /// KEYWARD SCHEMA PLAN.
    Plan,
    /// A reload of files.
    Reload,
}

/// A database under survey.
#[derive(Debug)]
struct Surveyed {
    db: usize,
    surveyor: Surveyor,
    /// Its rows that changed.
    changed: Vec<Box<[u8]>>,
    /// Its rows were exchanged as a whole: what the survey knows of them is void.
    is_void: bool,
}

impl Keyspace {
    /// A row changed, came or went.
    #[inline(always)]
    pub(super) fn heed(&mut self, db: usize, key: &[u8]) {
        if self.databases[db].has_faults() || !self.heeded.surveyed.is_empty() {
            self.remember(db, key);
        }
    }

    #[cold]
    fn remember(&mut self, db: usize, key: &[u8]) {
        let database = &self.databases[db];
        if database.faults(key).is_some() {
            self.heeded.suspects.push((db, key.into()));
        }
        if let Some(doubted) = database.contradictions.doubted.get(key) {
            self.heeded.suspects.extend(doubted.iter().map(|key| (db, key.clone())));
        }
        if database.may_settle_conflicts(key) {
            self.heeded.suspects.push((db, key.into()));
        }
        for surveyed in self.heeded.surveyed.iter_mut().filter(|surveyed| surveyed.db == db) {
            if surveyed.changed.last().is_none_or(|last| **last != *key) {
                surveyed.changed.push(key.into());
            }
        }
    }

    /// Whether nothing is wrong with a row that has been there, or may be.
    pub(super) fn is_sound(&self, db: usize, key: &[u8]) -> bool {
        let is_known = self.heeded.suspects.is_empty() && self.leaving.is_none();
        is_known && self.databases[db].faults(key).is_none()
    }

    /// Whether nothing is known to be wrong with any row of a database.
    pub(super) fn is_faultless(&self, db: usize) -> bool {
        self.heeded.suspects.is_empty() && self.databases[db].faulty.is_empty()
    }

    /// Whether something is known to be wrong with a row.
    pub fn is_faulty(&self, db: usize, key: &[u8]) -> bool {
        self.databases[db].faults(key).is_some()
    }

    /// Something may be wrong with a row.
    pub fn suspect(&mut self, db: usize, key: &[u8]) {
        self.heeded.suspects.push((db, key.into()));
    }

    /// Members of a computed row were written in spite of their sources. That is held
    /// against it until they agree.
    pub fn contradict(
        &mut self,
        db: usize,
        book: &RuleBook,
        (table, key): (KeyId, &[u8]),
        members: Vec<Vec<u8>>,
    ) {
        for member in members {
            // One that makes no key can only go.
            let source = book.source_of(table, key, &member).unwrap_or_default();
            self.databases[db].contradictions.add(key, member, source);
        }
        let faults = Faults { is_misfit: true, is_conflict: false };
        self.databases[db].set_faults(key, faults);
        self.suspect(db, key);
    }

    /// Looks again at a computed row that clients wrote to in spite of its sources.
    fn look_at_contradiction(&mut self, db: usize, book: &RuleBook, table: KeyId, key: &[u8]) {
        let members = self.databases[db].contradictions.members.get(key).cloned();
        let members = members.unwrap_or_default();
        let count = members.len();
        let mut settled = Vec::new();
        let mut named: Vec<Vec<u8>> = Vec::new();
        let is_odd = {
            let sight = self.sight(db);
            let row = sight.row(key).expect("the engine shows all it has at once");
            if book.traits(table).row_type == Some(RowType::String) {
                // Those that it names, or named, have what they claim or have not.
                let text = row.and_then(|row| row.text());
                named.extend(members.iter().cloned().chain(text.map(|text| text.into_owned())));
            }
            for member in members {
                let agrees = book.agrees(&sight, (table, key), row, &member);
                if agrees.expect("the engine shows all it has at once") {
                    settled.push(member);
                }
            }
            let row_type = book.traits(table).row_type;
            // Where nobody keeps it a row keeps its end.
            let is_kept = self.book_of(db).is_some_and(|book| book.traits(table).is_computed);
            row.is_some_and(|row| {
                (is_kept && row.deadline().is_some()) || Some(row.row_type()) != row_type
            })
        };
        let are_settled = settled.len() == count;
        // They leave room for those that are found.
        for member in settled {
            let source = book.source_of(table, key, &member).unwrap_or_default();
            self.databases[db].contradictions.remove(key, &member, &source);
        }
        let has_more = are_settled && self.finds_more(db, book, table, key);
        let is_misfit = is_odd || !are_settled || has_more;
        self.databases[db].set_faults(key, Faults { is_misfit, is_conflict: false });
        for member in named {
            if let Some(source) = book.source_of(table, key, &member) {
                self.look_at_row(db, book, &source);
            }
        }
    }

    /// Whether a computed row has, or may have, members that its sources do not demand besides
    /// those that were kept in mind; keeps some of them in mind. A row with many members is looked
    /// through some at a time.
    fn finds_more(&mut self, db: usize, book: &RuleBook, table: KeyId, key: &[u8]) -> bool {
        let Some(from) = self.databases[db].contradictions.beyond.get(key).copied() else {
            return false;
        };
        let (mut found, mut looked_at, mut next) = (Vec::new(), 0, from);
        {
            let sight = self.sight(db);
            let row = sight.row(key).expect("the engine shows all it has at once");
            let mut cursor = from;
            while let Some(row) = row {
                cursor = row.each_some(cursor, &mut |element| {
                    let (Element::Member(member) | Element::Scored(member, _)) = element else {
                        return;
                    };
                    looked_at += 1;
                    let agrees = book.agrees(&sight, (table, key), Some(row), member);
                    if !agrees.expect("the engine shows all it has at once") {
                        found.push(member.to_vec());
                    }
                });
                if !found.is_empty() {
                    // Those that are not kept in mind are met again.
                    break;
                }
                next = cursor;
                if cursor == 0 || looked_at >= LOOKED_AT_MAX {
                    break;
                }
            }
            next = if row.is_none() { 0 } else { next };
        }
        let contradictions = &mut self.databases[db].contradictions;
        let is_over = found.is_empty() && next == 0;
        match is_over {
            true => contradictions.beyond.remove(key),
            false => contradictions.beyond.insert(key.into(), next),
        };
        let is_unclear = found.is_empty() && !is_over;
        for member in found {
            let source = book.source_of(table, key, &member).unwrap_or_default();
            contradictions.add(key, member, source);
        }
        if is_unclear {
            self.suspect(db, key);
        }
        !is_over
    }

    /// Finds out what is wrong with a row that is not computed.
    fn look_at_row(&mut self, db: usize, book: &RuleBook, key: &[u8]) {
        let Some(table) = book.table_of(key) else { return };
        let row = self.databases[db].find(key).filter(|row| !self.is_due(row));
        let faults = row.map(|row| book.faults_of(&self.sight(db), table, key, &*row));
        let faults = faults.transpose().expect("the engine shows all it has at once");
        self.databases[db].set_faults(key, faults.unwrap_or_default());
    }

    /// Whether there are rows to look at again, and no fewer than this.
    #[inline(always)]
    pub fn has_suspects(&self, least: usize) -> bool {
        self.heeded.suspects.len() >= least
    }

    /// Looks again at rows that something is or may be wrong with, if they changed, before a
    /// figure is told; whether it is exact.
    pub fn look_at_suspects(&mut self) -> bool {
        self.look_at_some_suspects(LOOKED_AT_MAX);
        self.heeded.suspects.is_empty()
    }

    /// The same, of no more rows than this.
    pub fn look_at_some_suspects(&mut self, most: usize) {
        if self.heeded.suspects.is_empty() || self.journal.is_on() {
            return;
        }
        let mut suspects = std::mem::take(&mut self.heeded.suspects);
        let first = suspects.len().saturating_sub(most);
        let mut looked_at = suspects.split_off(first);
        self.heeded.suspects = suspects;
        looked_at.sort_unstable();
        looked_at.dedup();
        let mut looked_at = looked_at.into_iter();
        let mut left = most;
        while left > 0
            && let Some((db, key)) = looked_at.next()
        {
            let Some(book) = self.book_of(db).cloned() else { continue };
            let Some(table) = book.table_of(&key) else { continue };
            let book = book.judging(table);
            left = left.saturating_sub(self.looking_costs(db, book, (table, &key)));
            if book.traits(table).is_computed {
                self.look_at_contradiction(db, book, table, &key);
                continue;
            }
            self.look_at_row(db, book, &key);
        }
        self.heeded.suspects.extend(looked_at);
    }

    /// What looking at a row costs, in rows: of one whose members follow keys those are looked up.
    fn looking_costs(&self, db: usize, book: &RuleBook, (table, key): (KeyId, &[u8])) -> usize {
        let follows = matches!(book.schema().key(table).derived, Some(Derived::Follows { .. }));
        let contradictions = &self.databases[db].contradictions;
        let row = self.databases[db].find(key).filter(|_| follows);
        let members = contradictions.members.get(key).map_or(0, BTreeSet::len);
        1 + members + row.map_or(0, |row| row.len().min(FOLLOWERS_LOOKED_AT))
    }

    /// Visits some rows of a database that something is wrong with, from a cursor on; returns
    /// the next cursor, zero at the end.
    pub fn scan_faulty(&self, db: usize, cursor: u64, visit: impl FnMut(&[u8], Faults)) -> u64 {
        self.databases[db].faulty.scan(cursor, visit)
    }

    /// What is wrong with a row that is kept, in words.
    pub fn problems_of(&self, db: usize, key: &[u8]) -> Vec<Refusal> {
        let Some(book) = self.book_of(db) else { return Vec::new() };
        let Some(table) = book.table_of(key) else { return Vec::new() };
        let row = self.databases[db].find(key).filter(|row| !self.is_due(row));
        let book = book.judging(table);
        if book.traits(table).is_computed {
            // One that is not there should be, and a client removed it.
            let is_wrong = row.is_some() || self.is_faulty(db, key);
            let contradictions = &self.databases[db].contradictions;
            let members = contradictions.members.get(key).into_iter().flatten();
            let members: Vec<&[u8]> = members.map(|member| &**member).collect();
            let row = row.as_deref().map(|row| row as &dyn keyward_rules::Row);
            let is_all = !contradictions.beyond.contains_key(key);
            let what = Contradicted { row, members: &members, is_all };
            let problem = || book.contradiction_of(table, key, what);
            return is_wrong.then(problem).into_iter().collect();
        }
        let Some(row) = row else { return Vec::new() };
        let problems = book.problems_of(&self.sight(db), table, key, &*row);
        problems.expect("the engine shows all it has at once")
    }

    /// Nothing is wrong any more with the rows of a database, as far as is known.
    pub fn forget_faults(&mut self, db: usize) {
        let database = &mut self.databases[db];
        let mut faulty = std::mem::replace(&mut database.faulty, Faulty::new(self.hasher));
        faulty
            .shed(usize::MAX, |key, faults| database.count_faults(key, faults, Faults::default()));
        self.databases[db].contradictions = Contradictions::new(self.hasher);
    }

    /// Begins to keep all changes of a database in mind for a survey.
    pub fn begin_survey(&mut self, db: usize, surveyor: Surveyor) {
        let surveyed = Surveyed { db, surveyor, changed: Vec::new(), is_void: false };
        self.heeded.surveyed.retain(|other| (other.db, other.surveyor) != (db, surveyor));
        self.heeded.surveyed.push(surveyed);
    }

    /// Ends all surveys of one kind.
    pub fn end_survey(&mut self, surveyor: Surveyor) {
        self.heeded.surveyed.retain(|surveyed| surveyed.surveyor != surveyor);
    }

    /// Has a survey of a database by a book look again at what changed. Whether it is still
    /// good.
    pub fn bring_up_to_date(
        &mut self,
        (db, surveyor): (usize, Surveyor),
        survey: &mut Survey,
        book: &RuleBook,
    ) -> bool {
        let mut surveyed = self.heeded.surveyed.iter_mut();
        let is_it = |it: &&mut Surveyed| (it.db, it.surveyor) == (db, surveyor);
        let Some(surveyed) = surveyed.find(is_it) else { return false };
        let is_void = surveyed.is_void;
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
        for surveyed in self.heeded.surveyed.iter_mut().filter(|surveyed| surveyed.db == db) {
            surveyed.is_void = true;
        }
    }
}
