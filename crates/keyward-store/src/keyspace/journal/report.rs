//! The journal as the rule book reads it: each touched row once.

use super::{Journal, JournalMark, Step, TouchedRow, Undo};
use crate::keyspace::Keyspace;
use crate::values::hasher::{DbIndex, TableIndex};
use crate::values::list::End;
use crate::values::row::{LentRow, Row, Shelf};
use crate::values::text::Text;
use hashbrown::HashTable;
use keyward_rules::{Change, EntryFields, Part, What};
use std::ops::Range;

/// Up to so many rows are told apart without a table.
const FEW_ROWS: usize = 4;

/// A row of the report: its steps, in order.
#[derive(Clone, Copy)]
struct RowSteps<'s> {
    row: TouchedRow,
    steps: &'s [usize],
}

impl Keyspace {
    /// Shows `read` what happened in a database since a mark.
    pub fn report<R>(
        &self,
        db: usize,
        since: JournalMark,
        read: impl FnOnce(&[Change<'_>]) -> R,
    ) -> R {
        let shelf = Shelf::default();
        let steps = self.journal.steps_since(since);
        // Most commands take one step.
        if steps.len() == 1
            && let Some(row) = self.journal.reported(db, steps.start)
        {
            let entry = RowSteps { row, steps: &[steps.start] };
            return read(&[self.change_of(entry, &self.parts_of(entry), &shelf)]);
        }
        let rows = self.journal.rows_of(db, steps);
        let entries = || rows.iter().map(|(row, steps)| RowSteps { row: *row, steps });
        let parts: Vec<Vec<Part<'_>>> = entries().map(|entry| self.parts_of(entry)).collect();
        let changes: Vec<Change<'_>> = entries()
            .zip(&parts)
            .map(|(entry, parts)| self.change_of(entry, parts, &shelf))
            .collect();
        read(&changes)
    }

    /// The databases that were touched since a mark, each once.
    pub fn databases_touched(&self, since: JournalMark) -> Vec<usize> {
        let mut found: Vec<usize> = Vec::new();
        for index in self.journal.steps_since(since) {
            let db = self.journal.rows[self.journal.steps[index].row].db.number();
            if !found.contains(&db) {
                found.push(db);
            }
        }
        found
    }

    /// A touched row as it is now, whether it is due or not.
    fn find_touched(&self, row: &TouchedRow) -> Option<LentRow<'_>> {
        let key = self.journal.key_of(row);
        self.table(key).find(key)
    }

    fn current<'a>(&'a self, row: &TouchedRow, shelf: &'a Shelf) -> Option<&'a Row> {
        let found = self.find_touched(row);
        found.filter(|row| !self.is_due(row)).map(|row| shelf.lend(row))
    }

    fn change_of<'a>(
        &'a self,
        entry: RowSteps<'_>,
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
            table: self.databases[entry.row.db.number()].pattern(entry.row.table),
            key: self.journal.text(entry.row.key),
            deadline_before: self.deadline_before(entry, shelf),
            after,
            what,
            is_known_to_fit: self.is_known_to_fit(entry),
            is_kept: true,
        }
    }

    /// Whether a row came as it was from another key of its table, or of one that takes the
    /// same, where nothing was wrong with it.
    fn is_known_to_fit(&self, entry: RowSteps<'_>) -> bool {
        let Journal { rows, steps, .. } = &self.journal;
        let [came] = entry.steps else { return false };
        let Some(Step { row: from, undo: Undo::MovedTo(to), .. }) = steps.get(came + 1) else {
            return false;
        };
        let from = &rows[*from];
        *to == steps[*came].row
            && from.db == entry.row.db
            && self.takes_alike(from, &entry.row)
            && self.is_sound(from.db.number(), self.journal.text(from.key))
    }

    /// Whether the tables of two rows of a database take the same.
    fn takes_alike(&self, one: &TouchedRow, other: &TouchedRow) -> bool {
        let database = &self.databases[one.db.number()];
        let patterns = database.pattern(one.table).zip(database.pattern(other.table));
        let alike = database.book().zip(patterns);
        one.table == other.table || alike.is_some_and(|(book, (a, b))| book.fits_alike(a, b))
    }

    /// The row as it was, where it came, went or was replaced as a whole. A string that came by
    /// an edit (SETRANGE, PFADD, …) came as a whole too; what came to a collection is told in
    /// parts.
    fn whole_before<'a>(
        &'a self,
        entry: RowSteps<'_>,
        shelf: &'a Shelf,
    ) -> Option<Option<&'a Row>> {
        entry.steps.iter().find_map(|step| match &self.journal.steps[*step].undo {
            Undo::Row(before) => Some(before.as_ref()),
            Undo::Kept(row) => Some(Some(&**row)),
            Undo::Created if self.is_string(&entry.row) => Some(None),
            // It is the same row under another key.
            Undo::MovedTo(to) => {
                let row = self.find_touched(&self.journal.rows[*to]);
                Some(row.map(|row| shelf.lend(row)))
            }
            _ => None,
        })
    }

    /// Whether a touched row is a string now.
    fn is_string(&self, row: &TouchedRow) -> bool {
        let found = self.find_touched(row);
        found.is_some_and(|row| Text::of(row.value()).is_some())
    }

    /// Whether the row was there, and then its deadline at that time.
    fn deadline_before(&self, entry: RowSteps<'_>, shelf: &Shelf) -> Option<Option<i64>> {
        for step in entry.steps {
            match &self.journal.steps[*step].undo {
                Undo::Row(before) => return before.as_ref().map(Row::deadline),
                Undo::Kept(row) => return Some(row.deadline()),
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

    /// Whether anything depends on the members of a table's rows, or counts what would.
    pub(in crate::keyspace) fn heeds_members(&self, db: DbIndex, table: TableIndex) -> bool {
        let database = &self.databases[db.number()];
        let governed = database.book().zip(database.pattern(table));
        governed.is_some_and(|(book, table)| book.heeds_leavers(table) || book.observes_any())
    }

    fn parts_of<'a>(&'a self, entry: RowSteps<'_>) -> Vec<Part<'a>> {
        let journal = &self.journal;
        let heeds_members = self.heeds_members(entry.row.db, entry.row.table);
        let part = |step: &usize| {
            let Step { undo, .. } = &journal.steps[*step];
            Some(match undo {
                Undo::Member { came: false, .. }
                | Undo::Left(_)
                | Undo::SetBefore(_)
                | Undo::Score { after: None, .. }
                    if !heeds_members =>
                {
                    return None;
                }
                Undo::Field { name, before, after } => Part::Field {
                    name: journal.text(*name),
                    before: before.map(|before| journal.text(before)),
                    after: after.map(|after| journal.text(after)),
                },
                Undo::Pushed(end, item) => Part::Pushed(end_of(*end), journal.text(*item)),
                Undo::Placed { item, .. } => Part::Placed(journal.text(*item)),
                Undo::Member { member, came } => {
                    Part::Member { member: journal.text(*member), came: *came }
                }
                Undo::Left(row) | Undo::SetBefore(row) => Part::Left(&**row),
                Undo::Score { member, before, after } => {
                    Part::Score { member: journal.text(*member), before: *before, after: *after }
                }
                Undo::Added { fields, .. } => Part::Entry(EntryFields::of(journal.text(*fields))),
                _ => return None,
            })
        };
        entry.steps.iter().filter_map(part).collect()
    }
}

impl Journal {
    /// The row of a database that a step touched, unless it concerns no single one.
    fn reported(&self, db: usize, step: usize) -> Option<TouchedRow> {
        let Step { row, undo, depth } = &self.steps[step];
        let row = self.rows[*row];
        let concerns_rows =
            !matches!(undo, Undo::Flushed(..) | Undo::Unlisted(_) | Undo::Cleaned(_));
        (row.db.number() == db && *depth == self.depth && concerns_rows).then_some(row)
    }

    /// The rows of a database that steps touched, each once with its steps, in the order
    /// they were first touched.
    fn rows_of(&self, db: usize, steps: Range<usize>) -> Vec<(TouchedRow, Vec<usize>)> {
        let mut rows: Vec<(TouchedRow, Vec<usize>)> = Vec::new();
        let mut places: HashTable<usize> = HashTable::new();
        for index in steps {
            let Some(row) = self.reported(db, index) else { continue };
            let is_it = |(other, _): &(TouchedRow, Vec<usize>)| {
                other.hash == row.hash && self.text(other.key) == self.text(row.key)
            };
            let known = match rows.len() {
                0..=FEW_ROWS => rows.iter().position(is_it),
                _ => places.find(row.hash, |place| is_it(&rows[*place])).copied(),
            };
            if let Some(place) = known {
                rows[place].1.push(index);
                continue;
            }
            rows.push((row, vec![index]));
            if rows.len() > FEW_ROWS {
                let hash_of = |place: &usize| rows[*place].0.hash;
                for place in places.len()..rows.len() {
                    places.insert_unique(hash_of(&place), place, hash_of);
                }
            }
        }
        rows
    }
}

fn end_of(end: End) -> keyward_rules::End {
    match end {
        End::Head => keyward_rules::End::Head,
        End::Tail => keyward_rules::End::Tail,
    }
}
