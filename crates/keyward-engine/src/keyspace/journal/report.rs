//! The journal as the rule book reads it: each touched row once.

use super::{Journal, JournalMark, Step, TouchedRow, Undo};
use crate::hasher::Key;
use crate::keyspace::Keyspace;
use crate::list::End;
use crate::row::{LentRow, Row, Shelf};
use hashbrown::HashTable;
use keyward_rules::{Change, Part, What};

/// Up to so many rows are told apart without a table.
const FEW_ROWS: usize = 4;

/// A row of the report: its steps, in order.
struct Entry {
    row: TouchedRow,
    steps: Vec<usize>,
}

impl Keyspace {
    /// Shows `read` what happened in a database since a mark.
    pub(crate) fn report<R>(
        &self,
        db: usize,
        since: JournalMark,
        read: impl FnOnce(&[Change<'_>]) -> R,
    ) -> R {
        let entries = self.journal.entries(db, since);
        let shelf = Shelf::default();
        let parts: Vec<Vec<Part<'_>>> = entries.iter().map(|entry| self.parts_of(entry)).collect();
        let changes: Vec<Change<'_>> = entries
            .iter()
            .zip(&parts)
            .map(|(entry, parts)| self.change_of(entry, parts, &shelf))
            .collect();
        read(&changes)
    }

    /// The databases that were touched since a mark, each once.
    pub(crate) fn databases_touched(&self, since: JournalMark) -> Vec<usize> {
        let mut found: Vec<usize> = Vec::new();
        for index in self.journal.steps_since(since) {
            let db = self.journal.rows[self.journal.steps[index].row].db;
            if !found.contains(&db) {
                found.push(db);
            }
        }
        found
    }

    /// A touched row as it is now, whether it is due or not.
    fn find_touched(&self, row: &TouchedRow) -> Option<LentRow<'_>> {
        let bytes = self.journal.text(row.key);
        let key = Key { bytes, hash: row.hash, table: row.table };
        self.databases[row.db].table(key).find(key)
    }

    fn current<'a>(&'a self, row: &TouchedRow, shelf: &'a Shelf) -> Option<&'a Row> {
        let found = self.find_touched(row);
        found.filter(|row| !self.is_due(row)).map(|row| shelf.lend(row))
    }

    fn change_of<'a>(
        &'a self,
        entry: &Entry,
        parts: &'a [Part<'a>],
        shelf: &'a Shelf,
    ) -> Change<'a> {
        let after = self.current(&entry.row, shelf).map(|row| row as &dyn keyward_rules::Row);
        let whole = self.whole_before(entry, shelf);
        let is_part = |undo: &Undo| !matches!(undo, Undo::Deadline(_));
        let what = match whole {
            Some(before) => What::Whole(before.map(|row| row as &dyn keyward_rules::Row)),
            None if entry.steps.iter().any(|step| is_part(&self.journal.steps[*step].undo)) => {
                What::Parts(parts)
            }
            None => What::Lifetime,
        };
        Change {
            table: self.databases[entry.row.db].pattern(entry.row.table),
            key: self.journal.text(entry.row.key),
            deadline_before: self.deadline_before(entry, shelf),
            after,
            what,
        }
    }

    /// The row as it was, where it came, went or was replaced as a whole.
    fn whole_before<'a>(&'a self, entry: &Entry, shelf: &'a Shelf) -> Option<Option<&'a Row>> {
        entry.steps.iter().find_map(|step| match &self.journal.steps[*step].undo {
            Undo::Row(before) => Some(before.as_ref()),
            // It is the same row under another key.
            Undo::MovedTo(to) => {
                let row = self.find_touched(&self.journal.rows[*to]);
                Some(row.map(|row| shelf.lend(row)))
            }
            _ => None,
        })
    }

    /// Whether the row was there, and then its deadline at that time.
    fn deadline_before(&self, entry: &Entry, shelf: &Shelf) -> Option<Option<i64>> {
        for step in &entry.steps {
            match &self.journal.steps[*step].undo {
                Undo::Row(before) => return before.as_ref().map(Row::deadline),
                Undo::Created => return None,
                Undo::Emptied(row) => return Some(row.deadline()),
                Undo::MovedTo(_) => {
                    return self.whole_before(entry, shelf).flatten().map(Row::deadline);
                }
                Undo::Deadline(before) => return Some(*before),
                _ => {}
            }
        }
        self.find_touched(&entry.row).map(|row| row.deadline())
    }

    fn parts_of<'a>(&'a self, entry: &Entry) -> Vec<Part<'a>> {
        let journal = &self.journal;
        let part = |step: &usize| {
            let Step { undo, .. } = &journal.steps[*step];
            Some(match undo {
                Undo::Field { name, before, after } => Part::Field {
                    name: journal.text(*name),
                    before: before.map(|before| journal.text(before)),
                    after: after.map(|after| journal.text(after)),
                },
                Undo::Pushed(end, item) => Part::Pushed(end_of(*end), journal.text(*item)),
                Undo::Placed { item, .. } => Part::Placed(journal.text(*item)),
                Undo::Popped(_, item) | Undo::Taken { item, .. } => {
                    Part::Taken(journal.text(*item))
                }
                Undo::Member { member, came } => {
                    Part::Member { member: journal.text(*member), came: *came }
                }
                Undo::Score { member, before, after } => {
                    Part::Score { member: journal.text(*member), before: *before, after: *after }
                }
                _ => return None,
            })
        };
        entry.steps.iter().filter_map(part).collect()
    }
}

impl Journal {
    /// The rows of a database that were touched since a mark, each once, in the
    /// order they were first touched.
    fn entries(&self, db: usize, since: JournalMark) -> Vec<Entry> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut places: HashTable<usize> = HashTable::new();
        for index in self.steps_since(since) {
            let Step { row, undo } = &self.steps[index];
            let row = self.rows[*row];
            if row.db != db || matches!(undo, Undo::Flushed(_)) {
                continue;
            }
            let is_it = |entry: &Entry| {
                entry.row.hash == row.hash && self.text(entry.row.key) == self.text(row.key)
            };
            let known = match entries.len() {
                0..=FEW_ROWS => entries.iter().position(is_it),
                _ => places.find(row.hash, |place| is_it(&entries[*place])).copied(),
            };
            if let Some(place) = known {
                entries[place].steps.push(index);
                continue;
            }
            entries.push(Entry { row, steps: vec![index] });
            if entries.len() > FEW_ROWS {
                let hash_of = |place: &usize| entries[*place].row.hash;
                for place in places.len()..entries.len() {
                    places.insert_unique(hash_of(&place), place, hash_of);
                }
            }
        }
        entries
    }
}

fn end_of(end: End) -> keyward_rules::End {
    match end {
        End::Head => keyward_rules::End::Head,
        End::Tail => keyward_rules::End::Tail,
    }
}
