//! What the running command has done so far, so that it can be reported to the
//! rule book and undone (an undo log).
//!
//! Owns the record of steps and their reversal. It is on only under a schema and
//! only for what the rule book must see afterwards or a script may take back;
//! while it is off nothing is recorded or copied. Whole rows are moved into it, and
//! so are items that leave a list by the hundred, with the chunks they are in, and members
//! that leave a set or a sorted set together; other elements of collections are copied: the
//! cost follows what a command changes, never the size of what it changes.
//!
//! Invariant: undoing the steps since a mark, the last one first, gives back the
//! rows, their elements and their deadlines as they were at the mark. (The
//! order of members and fields, which nobody is promised, may be another, and the
//! encoding that `OBJECT ENCODING` tells may stay larger.)
//! Not here: what is reported (`report`), who decides (`governed` of the engine).

pub mod report;
pub mod undo;

use super::pending::PendingEnd;
use crate::tables::database::Database;
use crate::values::hasher::{DbIndex, Key, TableIndex};
use crate::values::list::{End, List};
use crate::values::row::{NewValue, Row};
use crate::values::set::Set;
use crate::values::stream::{Facts, Stream};
use crate::values::value::Collection;
use crate::values::zset::ZSet;
use keyward_rules::EntryFields;
use std::ops::Range;
use std::rc::Rc;

/// Room that stays for the next command, of bytes and of steps: a large one gives its own back.
const KEPT_BYTES_MAX: usize = 1 << 20;
/// How many of the last rows a step looks through for its own.
const RECENT_ROWS: usize = 4;

/// The steps since the journal was last empty.
#[derive(Debug, Default)]
pub struct Journal {
    is_on: bool,
    /// How deep within what others began the steps are now.
    depth: usize,
    /// How often everything was forgotten.
    ended: u64,
    rows: Vec<TouchedRow>,
    steps: Vec<Step>,
    /// What steps name by range: keys, fields, items, members.
    bytes: Vec<u8>,
}

/// A place in the journal.
#[derive(Debug, Clone, Copy)]
pub struct JournalMark {
    rows: usize,
    steps: usize,
    ended: u64,
}

/// A part of the journal's bytes.
#[derive(Debug, Clone, Copy)]
struct Span {
    start: usize,
    len: usize,
}

/// A row that steps touch.
#[derive(Debug, Clone, Copy)]
struct TouchedRow {
    db: DbIndex,
    table: TableIndex,
    hash: u64,
    key: Span,
}

#[derive(Debug)]
struct Step {
    /// Which of the touched rows.
    row: usize,
    undo: Undo,
    /// How deep within what others began.
    depth: usize,
}

/// What was before a step.
#[derive(Debug)]
enum Undo {
    /// The row came, went or was replaced as a whole.
    Row(Option<Row>),
    /// The same, of a row that an end which goes in steps keeps too.
    Kept(Rc<Row>),
    /// An edit created the row.
    Created,
    /// An edit left the row empty, and it went.
    Emptied(Row),
    /// The row went from here to this other touched row.
    MovedTo(usize),
    /// It had this deadline.
    Deadline(Option<i64>),
    /// A part of a string was written over, or it was lengthened.
    Patched { offset: usize, covered: Span, text_bytes: usize, was_edited: bool },
    /// A field of a hash had one value and has another.
    Field { name: Span, before: Option<Span>, after: Option<Span> },
    /// An item came to an end of a list.
    Pushed(End, Span),
    /// An item left an end of a list.
    Popped(End, Span),
    /// An item came to this index of a list, in place of another or between.
    Placed { index: usize, item: Span, before: Option<Span> },
    /// An item left this index of a list.
    Taken { index: usize, item: Span },
    /// Many items left a list, the first of them this index.
    Cut { index: usize, items: List },
    /// Items that are all equal left these indexes of a list, in order.
    TakenEqual { item: Span, indexes: Box<[usize]> },
    /// A member came into a set, or left it.
    Member { member: Span, came: bool },
    /// Members left a set together: they, in a row without a key.
    Left(Rc<Row>),
    /// A set was replaced by some of its members; as it was, in a row without a key.
    SetBefore(Rc<Row>),
    /// Members left a sorted set together.
    RanksCut(ZSet),
    /// A sorted set was replaced by some of its members; as it was.
    ZSetBefore(ZSet),
    /// A member of a sorted set had one score and has another.
    Score { member: Span, before: Option<f64>, after: Option<f64> },
    /// An entry was added to a stream, of which this was told before.
    Added { fields: Span, before: Box<Facts> },
    /// A stream was this.
    Stream(Box<Stream>),
    /// A whole database was emptied.
    Flushed(Box<Database>, Vec<PendingEnd>),
    /// A pending end of this number listed the row, which went.
    Unlisted(u64),
    /// Nothing is left of the row that a pending end of this number had yet to take out.
    Cleaned(u64),
}

/// Where the row is that a key had, for an end that goes in steps.
pub(super) enum Kept {
    /// Here, and in the journal.
    Here(Rc<Row>),
    /// It lives on under this key.
    At {
        /// The database.
        db: usize,
        /// The key.
        key: Box<[u8]>,
    },
}

/// What a step has taken away for good.
pub(super) enum Gone {
    /// A row.
    Row(Row),
    /// All rows of a database.
    Database(Box<Database>),
    /// A pending end.
    End(PendingEnd),
}

impl Journal {
    /// Whether steps are recorded.
    #[inline(always)]
    pub fn is_on(&self) -> bool {
        self.is_on
    }

    /// Begins or ends recording; returns what it was before.
    pub fn turn(&mut self, is_on: bool) -> bool {
        std::mem::replace(&mut self.is_on, is_on)
    }

    /// Goes deeper: what is recorded until [`Journal::leave`] is no change of the command
    /// around it, though undone with it.
    pub fn enter(&mut self) {
        self.depth += 1;
    }

    /// Ends what [`Journal::enter`] began.
    pub fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Where the journal ends now.
    pub fn mark(&self) -> JournalMark {
        JournalMark { rows: self.rows.len(), steps: self.steps.len(), ended: self.ended }
    }

    /// Whether what was recorded since a mark can still be undone.
    pub fn reaches(&self, mark: JournalMark) -> bool {
        self.ended == mark.ended
    }

    /// The databases that were emptied since the journal was last empty, as they were.
    pub(super) fn flushed_databases(&self) -> impl Iterator<Item = (usize, &Database)> {
        self.steps.iter().filter_map(|step| match &step.undo {
            Undo::Flushed(held, _) => Some((self.rows[step.row].db.number(), &**held)),
            _ => None,
        })
    }

    /// Forgets everything; hands over what its steps held.
    pub(super) fn end(&mut self, mut receive: impl FnMut(Gone)) {
        self.ended += 1;
        self.rows.clear();
        self.rows.shrink_to(KEPT_BYTES_MAX / size_of::<TouchedRow>());
        self.bytes.clear();
        self.bytes.shrink_to(KEPT_BYTES_MAX);
        for step in self.steps.drain(..) {
            match step.undo {
                Undo::Row(Some(row)) | Undo::Emptied(row) => receive(Gone::Row(row)),
                Undo::Cut { items, .. } => receive(Gone::Row(row_of(items))),
                Undo::RanksCut(zset) | Undo::ZSetBefore(zset) => receive(Gone::Row(row_of(zset))),
                Undo::Kept(row) | Undo::Left(row) | Undo::SetBefore(row) => {
                    // What an end still needs is freed by that.
                    if let Ok(row) = Rc::try_unwrap(row) {
                        receive(Gone::Row(row));
                    }
                }
                Undo::Stream(stream) => {
                    let object = NewValue::Object(stream.into_object());
                    receive(Gone::Row(Row::new(&[], object, None)));
                }
                Undo::Flushed(held, ends) => {
                    receive(Gone::Database(held));
                    ends.into_iter().for_each(|end| receive(Gone::End(end)));
                }
                _ => {}
            }
        }
        self.steps.shrink_to(KEPT_BYTES_MAX / size_of::<Step>());
    }

    /// The databases, tables and keys that were touched, some more than once.
    pub(crate) fn touched(&self) -> impl Iterator<Item = (usize, TableIndex, &[u8])> {
        self.rows.iter().map(|row| (row.db.number(), row.table, self.text(row.key)))
    }

    fn keep(&mut self, bytes: &[u8]) -> Span {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        Span { start, len: bytes.len() }
    }

    fn text(&self, span: Span) -> &[u8] {
        &self.bytes[span.start..span.start + span.len]
    }

    /// The number of a row, listed anew if it is not among the last ones.
    fn row(&mut self, key: Key<'_>) -> usize {
        let recent = self.rows.iter().enumerate().rev().take(RECENT_ROWS);
        let mut known = recent.filter(|(_, row)| row.db == key.db && row.hash == key.hash);
        if let Some((index, _)) = known.find(|(_, row)| self.text(row.key) == key.bytes) {
            return index;
        }
        let bytes = self.keep(key.bytes);
        let Key { hash, table, db, .. } = key;
        self.rows.push(TouchedRow { db, table, hash, key: bytes });
        self.rows.len() - 1
    }

    /// The key of a touched row.
    fn key_of(&self, row: &TouchedRow) -> Key<'_> {
        Key { bytes: self.text(row.key), hash: row.hash, table: row.table, db: row.db }
    }

    fn push(&mut self, key: Key<'_>, undo: Undo) {
        let row = self.row(key);
        self.steps.push(Step { row, undo, depth: self.depth });
    }

    /// A row came, went or was replaced; what it was before.
    pub(super) fn replaced(&mut self, key: Key<'_>, before: Option<Row>) {
        self.push(key, Undo::Row(before));
    }

    /// The same, of a row that an end which goes in steps has too.
    pub(super) fn replaced_shared(&mut self, key: Key<'_>, before: Rc<Row>) {
        self.push(key, Undo::Kept(before));
    }

    /// Shares the row that a key of a database had at a mark with an end that goes in steps;
    /// `None` if it was not replaced as a whole since, and did not go to another key.
    pub(super) fn keep_row(&mut self, since: JournalMark, db: usize, key: &[u8]) -> Option<Kept> {
        for index in self.steps_since(since) {
            let touched = self.rows[self.steps[index].row];
            if touched.db.number() != db || self.text(touched.key) != key {
                continue;
            }
            if let Undo::MovedTo(to) = self.steps[index].undo {
                let to = self.rows[to];
                // It may have gone from there already, by what followed.
                let went = (index + 1..self.steps.len()).find_map(|step| {
                    let row = self.rows[self.steps[step].row];
                    let is_it = row.db == to.db && self.text(row.key) == self.text(to.key);
                    if is_it { self.share(step) } else { None }
                });
                return Some(went.map_or_else(
                    || Kept::At { db: to.db.number(), key: self.text(to.key).into() },
                    Kept::Here,
                ));
            }
            if let Some(row) = self.share(index) {
                return Some(Kept::Here(row));
            }
        }
        None
    }

    /// The row that a step has replaced as a whole, to be shared with an end.
    fn share(&mut self, index: usize) -> Option<Rc<Row>> {
        let undo = &mut self.steps[index].undo;
        match undo {
            Undo::Kept(row) => Some(Rc::clone(row)),
            Undo::Row(before @ Some(_)) => {
                let row = Rc::new(before.take()?);
                *undo = Undo::Kept(Rc::clone(&row));
                Some(row)
            }
            _ => None,
        }
    }

    /// An edit created a row.
    pub(super) fn created(&mut self, key: Key<'_>) {
        self.push(key, Undo::Created);
    }

    /// An edit left a row empty; the row as it went.
    pub(super) fn emptied(&mut self, key: Key<'_>, row: Row) {
        self.push(key, Undo::Emptied(row));
    }

    /// A row went to another key, where it has already been recorded that
    /// something came.
    pub(super) fn moved(&mut self, key: Key<'_>, to: Key<'_>) {
        let to = self.row(to);
        self.push(key, Undo::MovedTo(to));
    }

    /// A deadline changed; what it was before.
    pub(super) fn deadline(&mut self, key: Key<'_>, before: Option<i64>) {
        self.push(key, Undo::Deadline(before));
    }

    /// A string is about to be written over from an offset on; what is covered, how long it
    /// is, and whether it was edited before.
    pub(super) fn patched(
        &mut self,
        key: Key<'_>,
        (offset, covered): (usize, &[u8]),
        (text_bytes, was_edited): (usize, bool),
    ) {
        let covered = self.keep(covered);
        self.push(key, Undo::Patched { offset, covered, text_bytes, was_edited });
    }

    /// A field of a hash changed; what it held before and holds now.
    pub(super) fn field(&mut self, key: Key<'_>, name: &[u8], [before, after]: [Option<&[u8]>; 2]) {
        let name = self.keep(name);
        let before = before.map(|value| self.keep(value));
        let after = after.map(|value| self.keep(value));
        self.push(key, Undo::Field { name, before, after });
    }

    /// An item came to an end of a list.
    pub(super) fn pushed(&mut self, key: Key<'_>, end: End, item: &[u8]) {
        let item = self.keep(item);
        self.push(key, Undo::Pushed(end, item));
    }

    /// An item left an end of a list.
    pub(super) fn popped(&mut self, key: Key<'_>, end: End, item: &[u8]) {
        let item = self.keep(item);
        self.push(key, Undo::Popped(end, item));
    }

    /// An item came to an index of a list, in place of `before` or between.
    pub(super) fn placed(
        &mut self,
        key: Key<'_>,
        (index, item): (usize, &[u8]),
        before: Option<&[u8]>,
    ) {
        let item = self.keep(item);
        let before = before.map(|before| self.keep(before));
        self.push(key, Undo::Placed { index, item, before });
    }

    /// An item left an index of a list.
    pub(super) fn taken(&mut self, key: Key<'_>, (index, item): (usize, &[u8])) {
        let item = self.keep(item);
        self.push(key, Undo::Taken { index, item });
    }

    /// Many items left a list, the first of them this index.
    pub(super) fn cut(&mut self, key: Key<'_>, index: usize, items: List) {
        self.push(key, Undo::Cut { index, items });
    }

    /// Items equal to one left these indexes of a list, in order.
    pub(super) fn taken_equal(&mut self, key: Key<'_>, item: &[u8], indexes: Vec<usize>) {
        if !indexes.is_empty() {
            let item = self.keep(item);
            self.push(key, Undo::TakenEqual { item, indexes: indexes.into() });
        }
    }

    /// A member came into a set, or left it.
    pub(super) fn member(&mut self, key: Key<'_>, member: &[u8], came: bool) {
        let member = self.keep(member);
        self.push(key, Undo::Member { member, came });
    }

    /// Members left a set together.
    pub(super) fn members_left(&mut self, key: Key<'_>, left: Set) {
        self.push(key, Undo::Left(Rc::new(row_of(left))));
    }

    /// A set was replaced by some of its members; as it was, in a row without a key.
    pub(super) fn set_before(&mut self, key: Key<'_>, before: Rc<Row>) {
        self.push(key, Undo::SetBefore(before));
    }

    /// Shares the members that left a set together since a mark with an end that goes in
    /// steps.
    pub(super) fn leavers(&self, since: JournalMark, db: usize, key: &[u8]) -> Option<Rc<Row>> {
        self.steps_since(since).find_map(|index| {
            let Step { row, undo, .. } = &self.steps[index];
            let touched = self.rows[*row];
            let is_it = touched.db.number() == db && self.text(touched.key) == key;
            match undo {
                Undo::Left(left) | Undo::SetBefore(left) if is_it => Some(Rc::clone(left)),
                _ => None,
            }
        })
    }

    /// Members left a sorted set together, on which nothing depends.
    pub(super) fn ranks_cut(&mut self, key: Key<'_>, cut: ZSet) {
        self.push(key, Undo::RanksCut(cut));
    }

    /// A sorted set was replaced by some of its members, on which nothing depends; as it was.
    pub(super) fn zset_before(&mut self, key: Key<'_>, before: ZSet) {
        self.push(key, Undo::ZSetBefore(before));
    }

    /// The score of a member changed; what it was before and is now.
    pub(super) fn score(&mut self, key: Key<'_>, member: &[u8], [before, after]: [Option<f64>; 2]) {
        let member = self.keep(member);
        self.push(key, Undo::Score { member, before, after });
    }

    /// An entry was added to a stream, of names and values in turn; what was told before.
    pub(super) fn entry_added<'a>(
        &mut self,
        key: Key<'_>,
        before: Facts,
        texts: impl Iterator<Item = &'a [u8]>,
    ) {
        let start = self.bytes.len();
        EntryFields::write(&mut self.bytes, texts);
        let fields = Span { start, len: self.bytes.len() - start };
        self.push(key, Undo::Added { fields, before: Box::new(before) });
    }

    /// A stream is about to change; what it is.
    pub(super) fn stream_changed(&mut self, key: Key<'_>, before: Stream) {
        self.push(key, Undo::Stream(Box::new(before)));
    }

    /// The change that was announced last did not come; hands over what was kept for it.
    pub(super) fn stream_unchanged(&mut self) -> Option<Stream> {
        let step = self.steps.pop_if(|step| matches!(step.undo, Undo::Stream(_)))?;
        match step.undo {
            Undo::Stream(before) => Some(*before),
            _ => None,
        }
    }

    /// A whole database was emptied; what it held, and the ends that were pending there.
    pub(super) fn flushed(&mut self, db: usize, held: Database, ends: Vec<PendingEnd>) {
        let db = DbIndex::of(db);
        let nothing = Key { bytes: &[], hash: 0, table: TableIndex::PLAIN, db };
        self.push(nothing, Undo::Flushed(Box::new(held), ends));
    }

    /// A row goes that the pending end of this number listed.
    pub(super) fn unlisted(&mut self, key: Key<'_>, number: u64) {
        self.push(key, Undo::Unlisted(number));
    }

    /// Nothing is left of a row that the pending end of this number had yet to take out.
    pub(super) fn cleaned(&mut self, key: Key<'_>, number: u64) {
        self.push(key, Undo::Cleaned(number));
    }

    /// The steps since a mark.
    fn steps_since(&self, mark: JournalMark) -> Range<usize> {
        mark.steps..self.steps.len()
    }
}

/// A row of a collection that nobody can reach any more, to be freed in steps.
pub(super) fn row_of<T: Collection>(collection: T) -> Row {
    Row::new(&[], NewValue::Object(collection.into_object()), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_unit_leaves_no_scratch_behind() {
        let mut journal = Journal::default();
        for number in 0..200_000_u64 {
            let bytes = number.to_be_bytes();
            let (table, db) = (TableIndex::PLAIN, DbIndex::of(0));
            journal.deadline(Key { bytes: &bytes, hash: number, table, db }, None);
        }
        journal.end(|_| {});
        let Journal { rows, steps, bytes, .. } = &journal;
        let kept = rows.capacity() * size_of::<TouchedRow>()
            + steps.capacity() * size_of::<Step>()
            + bytes.capacity();
        assert!(kept <= 3 * KEPT_BYTES_MAX, "{kept} bytes");
    }
}
