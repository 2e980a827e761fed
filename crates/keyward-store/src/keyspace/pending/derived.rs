//! What is derived from rows that go with another, told by its own key.
//!
//! A lookup names its source, and goes with that. A computed set whose sources all live with the
//! row that went has nothing else: whatever comes to it later comes after it was finished, since
//! who brings it touches it. Elements of other sets name a source each: few are looked up, for
//! many one has to wait.

use super::left::holds;
use super::list::{Finish, PendingEnd, Remains};
use crate::keyspace::Keyspace;
use crate::values::hasher::Key;
use crate::values::row::Row;
use crate::values::text::Text;
use keyward_rules::{Element, Row as _, RuleBook, ToldBy};
use keyward_schema::{KeyId, MAX_LEADERS};

/// Of so many elements the sources are looked up.
const FEW_ELEMENTS: usize = 64;

impl Keyspace {
    /// The number of the last end that has to be over before a key can be read, or written: it
    /// concerns the row by way of too many others.
    pub fn awaited_end(&self, db: usize, key: &[u8], is_written: bool) -> Option<u64> {
        if self.pending.companions == 0 {
            return None;
        }
        let database = &self.databases[db];
        let pattern = database.pattern(database.table_of(key))?;
        let by_elements = |end: &PendingEnd| end.concerned.by_elements.contains(&pattern);
        // What comes to a set that follows others may name a row that is going, whose end would
        // take it out again before it is judged.
        let follows = database.book().is_some_and(|book| book.follows(pattern));
        let has_many = || {
            let row = database.find_of(pattern, key);
            follows || row.is_some_and(|row| row.len() > FEW_ELEMENTS)
        };
        let is_awaited = |end: &&PendingEnd| {
            end.db == db
                && (is_written && end.concerned.sources.contains(&pattern)
                    || by_elements(end) && has_many())
        };
        self.pending.ends.iter().rev().find(is_awaited).map(|end| end.number)
    }

    /// The same, before rows of any table can be shown; zero if none has to be.
    pub fn awaited_by_scans(&self) -> u64 {
        let ends = self.pending.ends.iter().rev();
        ends.into_iter().find(|end| !end.is_told_by_keys()).map_or(0, |end| end.number)
    }

    /// What removes a row that goes with its leader, or the first that does so of those it lives
    /// with.
    pub(super) fn going(&self, db: usize, key: &[u8]) -> Option<Finish> {
        if self.pending.companions == 0 {
            return None;
        }
        let database = &self.databases[db];
        let book = database.book()?;
        let mut going = key.to_vec();
        for _ in 0..MAX_LEADERS {
            let table = database.table_of(&going);
            let leader = book.leader(database.pattern(table)?, &going)?;
            let mut ends = self.pending.of(db, &leader);
            if let Some(end) = ends.find(|end| holds(end.set(table), &going)) {
                return Some(end.finish(&[b"DEL", &going]));
            }
            going = leader;
        }
        None
    }

    /// What has to be removed before a derived row can be touched, because its sources go with
    /// another row.
    pub(super) fn going_sources(
        &self,
        book: &RuleBook,
        pattern: KeyId,
        (db, key): (usize, &[u8]),
        found: &mut Vec<Finish>,
    ) {
        let concerns = |end: &PendingEnd| end.db == db && end.concerned.tables.contains(&pattern);
        if self.pending.companions == 0 || !self.pending.ends.iter().any(concerns) {
            return;
        }
        match book.told_by(pattern) {
            ToldBy::Nothing => {}
            ToldBy::Text => {
                let row = self.databases[db].find_of(pattern, key);
                let text = row.as_deref().and_then(|row| Text::of(row.value()));
                let source = text.and_then(|text| book.source_of(pattern, key, text.as_bytes()));
                found.extend(source.and_then(|source| self.going(db, &source)));
            }
            ToldBy::Leader => self.going_whole(book, pattern, (db, key), found),
            ToldBy::Elements => {}
        }
        if self.pending.ends.iter().any(|end| end.concerned.by_elements.contains(&pattern)) {
            let row = self.databases[db].find_of(pattern, key);
            if let Some(row) = row.filter(|row| row.len() <= FEW_ELEMENTS) {
                self.going_elements(book, pattern, (db, &row), found);
            }
        }
    }

    /// What removes a computed row as a whole: first the row that its sources live with, if that
    /// is going itself.
    fn going_whole(
        &self,
        book: &RuleBook,
        pattern: KeyId,
        (db, key): (usize, &[u8]),
        found: &mut Vec<Finish>,
    ) {
        let Some(leader) = book.leader_of_sources(pattern, key) else { return };
        found.extend(self.going(db, &leader));
        let is_over = |end: &&PendingEnd| {
            matches!(end.remains, Remains::Companions { .. })
                && end.concerned.wholes.contains(&pattern)
                && !end.cleaned.contains(key)
        };
        for end in self.pending.of(db, &leader).filter(is_over) {
            let finish = end.finish(&[b"DEL", key]);
            found.push(Finish { is_followed: false, cleans: Some(end.number), ..finish });
        }
    }

    /// What removes the sources of elements.
    fn going_elements(
        &self,
        book: &RuleBook,
        pattern: KeyId,
        (db, row): (usize, &Row),
        found: &mut Vec<Finish>,
    ) {
        let is_mirrored = book.mirror_of(pattern).is_some();
        row.each(&mut |element| {
            let (Element::Member(member) | Element::Scored(member, _)) = element else { return };
            let source = match is_mirrored {
                true => book.mirrored(pattern, row.key(), member).map(|entry| entry.key),
                false => book.source_of(pattern, row.key(), member),
            };
            found.extend(source.and_then(|source| self.going(db, &source)));
        });
    }

    /// Whether all of a row that is there goes because these sources of it do.
    pub(super) fn goes_with(&self, db: usize, key: &[u8], sources: usize) -> bool {
        let database = &self.databases[db];
        let pattern = database.pattern(database.table_of(key));
        let Some((book, pattern)) = database.book().zip(pattern) else { return false };
        let by_elements =
            |end: &PendingEnd| end.db == db && end.concerned.by_elements.contains(&pattern);
        let is_by_elements = match book.told_by(pattern) {
            ToldBy::Elements => true,
            ToldBy::Leader => self.pending.ends.iter().any(by_elements),
            ToldBy::Nothing | ToldBy::Text => false,
        };
        let is_all = || database.find_of(pattern, key).is_some_and(|row| row.len() == sources);
        sources > 0 && (!is_by_elements || is_all())
    }

    /// Nothing is left of a derived row that rows demanded which an end removes.
    pub(super) fn clean(&mut self, key: Key<'_>, number: u64) {
        let place = self.pending.place(number);
        let end = place.map(|place| &mut self.pending.ends[place]);
        let is_new = end.is_some_and(|end| end.cleaned.insert(key.bytes.into()));
        if is_new && self.journal.is_on() {
            self.journal.cleaned(key, number);
        }
    }

    /// A derived row is as it was.
    pub(in crate::keyspace) fn uncleaned(&mut self, key: &[u8], number: u64) {
        if let Some(place) = self.pending.place(number) {
            self.pending.ends[place].cleaned.remove(key);
        }
    }

    /// The log is about to write a derived row. What it removes is clean, and so is what is not
    /// there; where it removes elements, none go as a whole.
    pub(super) fn replay_derived(&mut self, key: Key<'_>, numbers: &[u64], is_removed: bool) {
        let is_clean = is_removed || self.databases[key.db()].find(key.bytes).is_none();
        let pattern = self.databases[key.db()].pattern(key.table);
        for number in numbers {
            if is_clean {
                self.clean(key, *number);
            } else if let (Some(place), Some(pattern)) = (self.pending.place(*number), pattern) {
                self.pending.ends[place].concerned.takes_elements_of(pattern);
            }
        }
    }
}

impl PendingEnd {
    /// Whether every row that it concerns is told by its key.
    pub(super) fn is_told_by_keys(&self) -> bool {
        self.concerned.by_elements.is_empty()
    }
}
