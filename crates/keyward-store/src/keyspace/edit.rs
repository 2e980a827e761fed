//! Changing a value in place, with the change recorded whatever happens.
//!
//! Owns the guards through which handlers change strings and collections. A
//! guard that was used to change something must be ended by `changed`; debug
//! builds panic if a handler forgets. A collection that ends up empty takes its
//! row with it. The methods that change elements are in the modules below, one
//! for each type: each records its step in the journal, if that is on, tells a snapshot
//! that has yet to capture the element, and there is no other way to change one.

pub mod hash;
pub mod list;
pub mod set;
pub mod stream;
pub mod zset;

use super::Keyspace;
use crate::capture::large::LargeRow;
use crate::keyspace::event::{Class, Event};
use crate::tables::table::Found;
use crate::values::footprint::HeapBytes;
use crate::values::hasher::Key;
use crate::values::index::Spot;
use crate::values::row::{NewValue, Row};
use crate::values::text::Text;
use crate::values::value::{Collection, ObjectRef, Value};
use keyward_commands::WireError;
use std::marker::PhantomData;
use std::ops::Deref;

/// Where an edited row is, and how the edit stands.
struct Place<'a> {
    space: &'a mut Keyspace,
    key: Key<'a>,
    spot: Spot,
    state: State,
    /// Bytes of the row before it was changed.
    bytes_before: usize,
    /// The journal keeps a copy of the stream as it was.
    is_kept: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Untouched,
    Changing,
    Recorded,
}

impl<'a> Place<'a> {
    #[inline]
    fn new(space: &'a mut Keyspace, key: Key<'a>, spot: Spot) -> Place<'a> {
        let bytes_before = space.row(key, spot).heap_bytes();
        Place { space, key, spot, state: State::Untouched, bytes_before, is_kept: false }
    }

    #[inline]
    fn row(&self) -> &Row {
        self.space.row(self.key, self.spot)
    }

    #[inline]
    fn row_mut(&mut self) -> &mut Row {
        self.state = State::Changing;
        self.space.databases[self.key.db()].table_mut(self.key).row_mut(self.spot)
    }

    /// Tells a snapshot that something of a collection is about to change.
    #[inline]
    fn before_part_change(&mut self, tell: impl FnOnce(&mut LargeRow, ObjectRef<'_>)) {
        let table = self.space.databases[self.key.db()].table_mut(self.key);
        table.before_part_change(self.spot, tell);
    }

    /// Has a snapshot capture all of the row.
    fn capture_whole(&mut self) {
        self.space.databases[self.key.db()].table_mut(self.key).capture_whole(self.spot);
    }

    /// Ends the edit: the row's table learns its size.
    #[inline]
    fn settle(&mut self) {
        let Place { key, spot, bytes_before, .. } = *self;
        if self.state == State::Changing {
            let table = self.space.databases[self.key.db()].table_mut(key);
            table.resized(spot, bytes_before);
        }
        self.state = State::Recorded;
    }
}

/// A collection being changed. Dereferences to it for reading.
#[must_use = "an edit is ended by `changed`"]
pub struct Edit<'a, T: Collection> {
    place: Place<'a>,
    is_new: bool,
    kind: PhantomData<T>,
}

impl<T: Collection> Edit<'_, T> {
    /// Records the change under its event; `count` is how much changed, as
    /// Redis's `dirty` counts. An empty collection is removed, and `del` told.
    pub fn changed(mut self, event: Event, count: u64) {
        self.place.settle();
        let is_new = self.is_new;
        let is_empty = matches!(self.place.row().value(), Value::Object(o) if o.is_empty());
        let Place { key, ref mut space, .. } = self.place;
        if is_new {
            space.notify(Event::new(Class::New, "new"), key);
            space.changes.ready(key.db(), key.bytes);
        }
        space.changed(key, event, count);
        if is_empty {
            let row = space.take_row(key);
            if let Some(row) = row
                && space.journal.is_on()
            {
                space.journal.emptied(key, row);
            }
            space.notify(Event::DEL, key);
        }
        self.is_new = false;
    }

    /// Records a change of which Redis tells nobody, and which WATCH does not see: what a
    /// group has read, and who has what. `count` is as for `changed`.
    pub fn changed_quietly(mut self, count: u64) {
        self.place.settle();
        self.is_new = false;
        let Place { key, ref mut space, .. } = self.place;
        space.changed_quietly(key, count);
    }

    /// Ends an edit that found nothing to change: the rule book is shown no change either.
    pub fn unchanged(mut self) {
        self.place.settle();
        if self.place.is_kept {
            self.place.space.take_back_kept();
        }
    }
}

impl<T: Collection> Deref for Edit<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        match self.place.row().value() {
            Value::Object(object) => {
                T::of(object).expect("the type was checked when the edit began")
            }
            _ => unreachable!("the type was checked when the edit began"),
        }
    }
}

impl<T: Collection> Edit<'_, T> {
    /// Tells a snapshot that something of the collection is about to change.
    #[inline]
    fn before_part_change(&mut self, tell: impl FnOnce(&mut LargeRow, &T)) {
        self.place.before_part_change(|large, object| {
            tell(large, T::of(object).expect("the type was checked when the edit began"));
        });
    }

    /// The collection, for changing it in a way that has been recorded.
    fn collection_mut(&mut self) -> &mut T {
        let object = self.place.row_mut().object_mut();
        object.and_then(T::of_mut).expect("the type was checked when the edit began")
    }
}

impl<T: Collection> Drop for Edit<'_, T> {
    fn drop(&mut self) {
        let Place { key, ref mut space, .. } = self.place;
        if self.is_new {
            // Created for an edit that put nothing in: it never was.
            space.take_row(key);
        }
        self.place.check_recorded();
    }
}

impl Place<'_> {
    fn check_recorded(&self) {
        debug_assert!(
            self.state != State::Changing || std::thread::panicking(),
            "a change of {} was not recorded",
            self.key.bytes.escape_ascii()
        );
    }
}

/// A string being changed.
#[must_use = "an edit is ended by `changed`"]
pub struct TextEdit<'a> {
    place: Place<'a>,
    is_new: bool,
    /// The journal has all of it as it was.
    is_recorded: bool,
}

impl TextEdit<'_> {
    /// The string as it is.
    pub fn text(&self) -> Text<'_> {
        Text::of(self.place.row().value()).expect("the type was checked when the edit began")
    }

    /// Whether the key was not there before.
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    /// The number, where the string is stored as one.
    pub fn number(&self) -> Option<i64> {
        match self.place.row().value() {
            Value::Int(number) => Some(number),
            _ => None,
        }
    }

    /// Records the string as it is, unless that has been done.
    fn record(&mut self) {
        let Place { key, spot, ref mut space, .. } = self.place;
        if space.journal.is_on() && !self.is_new && !self.is_recorded {
            let row = space.databases[key.db()].table(key).row(spot);
            let mut copy = row.copy_of_string();
            copy.set_clock(row.clock());
            space.journal.replaced(key, Some(copy));
            self.is_recorded = true;
        }
    }

    /// Records what a patch is about to cover: nobody has to know the rest as it was.
    fn record_patch(&mut self, offset: usize, bytes: usize) {
        let Place { key, spot, ref mut space, .. } = self.place;
        if !space.journal.is_on() || self.is_new || self.is_recorded {
            return;
        }
        let row = space.databases[key.db()].table(key).row(spot);
        match row.value() {
            Value::Text(text) if !space.heeds_text_before(key) => {
                let end = offset.saturating_add(bytes).min(text.len());
                let covered = &text[offset.min(end)..end];
                space.journal.patched(key, (offset, covered), (text.len(), row.is_edited()));
            }
            _ => self.record(),
        }
    }

    /// Makes it this number.
    pub fn set_number(&mut self, number: i64) {
        self.record();
        self.place.row_mut().set_int(number);
    }

    /// Writes over it from `offset` on, lengthening it with zero bytes if needed.
    ///
    /// # Panics
    /// If it would grow beyond the longest string that a row can hold, 4 GB.
    pub fn patch(&mut self, offset: usize, bytes: &[u8]) {
        self.record_patch(offset, bytes.len());
        self.place.row_mut().patch_text(offset, bytes);
    }

    /// The bytes, for changing them where they are; a number has none.
    pub fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        if self.number().is_some() {
            return None;
        }
        self.record();
        Some(self.place.row_mut().text_mut())
    }

    /// Makes it these bytes, as the result of an edit.
    ///
    /// # Panics
    /// If there are more than a row can hold, 4 GB.
    pub fn rewrite(&mut self, bytes: &[u8]) {
        let is_shorter = bytes.len() < self.text().as_bytes().len();
        self.record();
        let row = self.place.row_mut();
        if is_shorter {
            let deadline = row.deadline();
            row.replace(NewValue::Edited(bytes), deadline);
        } else {
            row.patch_text(0, bytes);
        }
    }

    /// Records the change under its event.
    pub fn changed(self, event: Event) {
        self.changed_by(event, 1);
    }

    /// Records several changes under one event.
    pub fn changed_by(mut self, event: Event, count: u64) {
        self.tell_new();
        let key = self.place.key;
        self.place.space.changed(key, event, count);
    }

    /// Records a change that no event tells of.
    pub fn changed_silently(mut self) {
        self.tell_new();
        let key = self.place.key;
        self.place.space.record(key, 1);
    }

    /// Ends an edit of which Redis tells nobody: the string was at most
    /// lengthened by zero bytes.
    pub fn untold(mut self) {
        self.tell_new();
    }

    fn tell_new(&mut self) {
        self.place.settle();
        if std::mem::take(&mut self.is_new) {
            self.place.space.notify(Event::new(Class::New, "new"), self.place.key);
        }
    }
}

impl Drop for TextEdit<'_> {
    fn drop(&mut self) {
        if self.is_new {
            // Created for an edit that put nothing in: it never was.
            let Place { key, ref mut space, .. } = self.place;
            space.take_row(key);
        }
        self.place.check_recorded();
    }
}

impl Keyspace {
    /// Whether the rule book has to be shown what a string held before it was edited.
    fn heeds_text_before(&self, key: Key<'_>) -> bool {
        let database = &self.databases[key.db()];
        let governed = database.book().zip(database.pattern(key.table));
        governed.is_some_and(|(book, table)| {
            book.traits(table).heeds_text_before || book.observes_any()
        })
    }

    /// Begins changing a collection; `None` if the key is not there, an error if
    /// it holds something else.
    pub fn edit<'a, T: Collection>(
        &'a mut self,
        key: Key<'a>,
    ) -> Result<Option<Edit<'a, T>>, WireError> {
        let Some(spot) = self.locate(key) else { return Ok(None) };
        self.touch(key, Found::Loose(spot));
        self.open(key, spot, false).map(Some)
    }

    /// Begins changing the collection at a spot.
    fn open<'a, T: Collection>(
        &'a mut self,
        key: Key<'a>,
        spot: Spot,
        is_new: bool,
    ) -> Result<Edit<'a, T>, WireError> {
        match self.row(key, spot).value() {
            Value::Object(object) if T::of(object).is_some() => {}
            _ => return Err(WireError::WrongType),
        }
        let place = Place::new(self, key, spot);
        Ok(Edit { place, is_new, kind: PhantomData })
    }

    /// As `edit`, but a key that is not there begins as an empty collection.
    pub fn edit_or_create<'a, T: Collection>(
        &'a mut self,
        key: Key<'a>,
    ) -> Result<Edit<'a, T>, WireError> {
        if let Some(spot) = self.locate(key) {
            self.touch(key, Found::Loose(spot));
            return self.open(key, spot, false);
        }
        let value = NewValue::Object(T::default().into_object());
        let spot = self.insert_new(key, value);
        self.open(key, spot, true)
    }

    /// Adds a row whose key is not there yet.
    fn insert_new(&mut self, key: Key<'_>, value: NewValue<'_>) -> Spot {
        let mut row = Row::new(key.bytes, value, None);
        row.set_clock(self.first_mark(key));
        self.place_row(key, row);
        if self.journal.is_on() {
            self.journal.created(key);
        }
        let table = self.databases[key.db()].table_mut(key);
        table.locate(key).expect("the row was just added")
    }

    /// Begins changing a string; `None` if the key is not there, an error if it
    /// holds something else.
    pub fn edit_text<'a>(&'a mut self, key: Key<'a>) -> Result<Option<TextEdit<'a>>, WireError> {
        let Some(spot) = self.locate(key) else { return Ok(None) };
        self.touch(key, Found::Loose(spot));
        if matches!(self.row(key, spot).value(), Value::Object(_)) {
            return Err(WireError::WrongType);
        }
        let place = Place::new(self, key, spot);
        Ok(Some(TextEdit { place, is_new: false, is_recorded: false }))
    }

    /// As `edit_text`, but a key that is not there begins as an empty string.
    pub fn edit_text_or_create<'a>(&'a mut self, key: Key<'a>) -> Result<TextEdit<'a>, WireError> {
        if self.locate(key).is_some() {
            let edit = self.edit_text(key)?;
            return Ok(edit.expect("the row is there"));
        }
        let spot = self.insert_new(key, NewValue::Edited(&[]));
        let place = Place::new(self, key, spot);
        Ok(TextEdit { place, is_new: true, is_recorded: false })
    }
}
