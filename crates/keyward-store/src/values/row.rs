//! One key with its value and lifetime, in one allocation.
//!
//! Owns the memory layout of rows and nothing else. A `Row` is a thin pointer
//! (eight bytes, never null), which is what the index stores. Strings live in
//! the row itself: reading one costs no further cache miss and no allocation of
//! its own; overwriting one with a value of the same size class writes in place.
//!
//! ```text
//! string   | head 8 | text_bytes 4 | deadline 8? | key | text |
//! integer  | head 8 | number 8     | deadline 8? | key |
//! object   | head 8 | collection 8 | deadline 8? | key |
//! head     = key_bytes u32 | clock u24 | flags u8
//! ```
//!
//! Estimate: 16-byte key and 100-byte value: 12 + 16 + 100 = 128 bytes, one
//! allocation (Redis: 24 + 24 + 16 + 112 in four). The allocation's size is not
//! stored: it is the size class of the content, computed the same way whenever
//! it is needed.
//!
//! Invariants: the layout always agrees with `flags` and the two lengths; an
//! object slot is always initialised; the text of an integer is never stored. A
//! length is checked here, where a row is made or grows (`stored_length`), and
//! nowhere cut off, whatever callers have checked before.
//!
//! This module is `unsafe` inside because a thin pointer to bytes of varying
//! length cannot be expressed otherwise; its interface is safe.
//! Not here: what a value means (`text`, `list`), when a row expires (`table`).
#![allow(unsafe_code)]
#![deny(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "a length that is cut off is memory that is not there"
)]

pub mod layout;
pub(crate) mod lent;
pub mod shelf;
pub mod slot;

pub use layout::BYTES_MAX;
pub use lent::LentRow;
pub(crate) use shelf::Shelf;

use crate::values::decimal::Decimal;
use crate::values::footprint::HeapBytes;
use crate::values::index::Indexed;
use crate::values::size_class::is_small;
use crate::values::value::{Object, ObjectMut, Value};
use layout::{
    BODY_AT, EDITED, EPOCH, HAS_DEADLINE, Head, KIND_INT, KIND_OBJECT, KIND_TEXT, object_flags,
    stored_length,
};
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error, realloc};
use std::ptr::NonNull;

/// What a new row is to hold.
#[derive(Debug)]
pub enum NewValue<'a> {
    /// These bytes, as they are.
    Text(&'a [u8]),
    /// These bytes, as the result of an edit in place (`OBJECT ENCODING` tells).
    Edited(&'a [u8]),
    /// The decimal form of this number.
    Int(i64),
    /// A collection.
    Object(Object),
}

/// An owned row.
pub struct Row {
    at: NonNull<u8>,
}

// SAFETY: a row owns everything it points to, and nothing in it is bound to a thread.
unsafe impl Send for Row {}

impl Row {
    /// A row with this content. The access clock starts at zero.
    ///
    /// # Panics
    /// If the key or the text is longer than `BYTES_MAX`.
    pub fn new(key: &[u8], value: NewValue<'_>, deadline: Option<i64>) -> Row {
        let (kind, text): (u8, &[u8]) = match &value {
            NewValue::Text(text) => (KIND_TEXT, text),
            NewValue::Edited(text) => (KIND_TEXT | EDITED, text),
            NewValue::Int(_) => (KIND_INT, &[]),
            NewValue::Object(object) => (object_flags(object.kind()), &[]),
        };
        let (key_bytes, text_bytes) = (stored_length(key.len()), stored_length(text.len()));
        let flags = kind | if deadline.is_some() { HAS_DEADLINE } else { 0 };
        let head = Head { key_bytes, clock: [0; 3], flags };
        let mut row = Row::allocate(head, text_bytes);
        row.write(head.key_at(), key);
        row.write(head.text_at(), text);
        if let Some(deadline) = deadline {
            row.write(head.deadline_at(), &deadline.to_ne_bytes());
        }
        match value {
            NewValue::Text(_) | NewValue::Edited(_) => {}
            NewValue::Int(number) => row.write(BODY_AT, &number.to_ne_bytes()),
            // SAFETY: the layout of an object row has these aligned bytes, still uninitialised.
            NewValue::Object(object) => unsafe { slot::put(row.at.add(BODY_AT), object) },
        }
        row
    }

    fn allocate(head: Head, text_bytes: u32) -> Row {
        let layout = head.layout(text_bytes);
        // SAFETY: the layout is never of size zero: it includes the head.
        let Some(at) = NonNull::new(unsafe { alloc(layout) }) else { handle_alloc_error(layout) };
        // SAFETY: freshly allocated, aligned to 8, and longer than the head.
        unsafe { at.cast::<Head>().write(head) };
        let mut row = Row { at };
        row.set_text_bytes(text_bytes);
        row
    }

    #[inline(always)]
    fn head(&self) -> Head {
        // SAFETY: every row begins with an initialised head.
        unsafe { self.at.cast::<Head>().read() }
    }

    fn set_head(&mut self, head: Head) {
        // SAFETY: as for `head`, and `&mut self` excludes readers.
        unsafe { self.at.cast::<Head>().write(head) };
    }

    /// How long the text is; zero if the row holds something else.
    #[inline(always)]
    fn text_bytes(&self) -> u32 {
        if self.head().kind() != KIND_TEXT {
            return 0;
        }
        // SAFETY: `allocate` has initialised the length of a text, at this aligned place.
        unsafe { self.at.add(BODY_AT).cast::<u32>().read() }
    }

    /// Sets the length of the text, if the row holds one.
    fn set_text_bytes(&mut self, text_bytes: u32) {
        if self.head().kind() == KIND_TEXT {
            // SAFETY: the layout of a text has these aligned bytes.
            unsafe { self.at.add(BODY_AT).cast::<u32>().write(text_bytes) };
        }
    }

    #[inline(always)]
    fn layout(&self) -> Layout {
        self.head().layout(self.text_bytes())
    }

    /// Copies bytes into the row's body.
    #[inline]
    fn write(&mut self, offset: usize, bytes: &[u8]) {
        self.write_within(self.layout(), offset, bytes);
    }

    /// As `write`, where the layout of the row is known.
    #[inline(always)]
    fn write_within(&mut self, layout: Layout, offset: usize, bytes: &[u8]) {
        assert!(offset + bytes.len() <= layout.size(), "a write stays within its row");
        // SAFETY: within the allocation by the assertion; a caller's slice never
        // overlaps it, for no shared borrow of the row can exist beside `&mut self`.
        unsafe {
            self.at.add(offset).copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len());
        }
    }

    #[inline(always)]
    fn read_i64(&self, offset: usize) -> i64 {
        // SAFETY: callers pass the offset of an initialised number of this layout.
        unsafe { self.at.add(offset).cast::<i64>().read_unaligned() }
    }

    #[inline(always)]
    fn slice(&self, offset: usize, bytes: u32) -> &[u8] {
        // SAFETY: callers pass the place of the key or the text, both initialised by `new`.
        unsafe { std::slice::from_raw_parts(self.at.add(offset).as_ptr(), bytes as usize) }
    }

    /// The key.
    #[inline(always)]
    pub fn key(&self) -> &[u8] {
        let head = self.head();
        self.slice(head.key_at(), head.key_bytes)
    }

    /// The value.
    #[inline(always)]
    pub fn value(&self) -> Value<'_> {
        let head = self.head();
        match head.kind() {
            KIND_TEXT => Value::Text(self.slice(head.text_at(), self.text_bytes())),
            KIND_INT => Value::Int(self.read_i64(BODY_AT)),
            // SAFETY: the slot of an object row holds what its flags tell.
            _ => Value::Object(unsafe { slot::get(self.at.add(BODY_AT), head.object_type()) }),
        }
    }

    /// The collection, for changing it in place; `None` for strings.
    #[inline(always)]
    pub(crate) fn object_mut(&mut self) -> Option<ObjectMut<'_>> {
        let head = self.head();
        if head.kind() != KIND_OBJECT {
            return None;
        }
        // SAFETY: the slot of an object row holds what its flags tell.
        Some(unsafe { slot::get_mut(self.at.add(BODY_AT), head.object_type()) })
    }

    /// When the row ends, in milliseconds since the epoch.
    #[inline(always)]
    pub fn deadline(&self) -> Option<i64> {
        let head = self.head();
        head.has_deadline().then(|| self.read_i64(head.deadline_at()))
    }

    /// Gives, moves or takes away the deadline.
    pub fn set_deadline(&mut self, deadline: Option<i64>) {
        let head = self.head();
        match deadline {
            Some(at) if head.has_deadline() => {
                self.write(head.deadline_at(), &at.to_ne_bytes());
                self.set_told_later(false);
            }
            None if !head.has_deadline() => {}
            _ => self.rebuild(deadline),
        }
    }

    /// Moves the content into a row with or without room for a deadline.
    fn rebuild(&mut self, deadline: Option<i64>) {
        let (clock, epoch) = (self.clock(), self.epoch());
        let key: Box<[u8]> = self.key().into();
        let old = std::mem::replace(self, Row::new(&[], NewValue::Int(0), None));
        *self = old.into_value().into_row(&key, deadline);
        self.set_clock(clock);
        self.set_epoch(epoch);
    }

    /// Moves the row to another allocation, if it is a small one.
    fn relocate(&mut self) {
        let layout = self.layout();
        if !is_small(layout.size()) {
            return;
        }
        // SAFETY: the layout, which includes the head, is the one the row was allocated
        // with. A collection in its slot is moved with the rest, and dropped once.
        unsafe {
            let Some(at) = NonNull::new(alloc(layout)) else { handle_alloc_error(layout) };
            at.copy_from_nonoverlapping(self.at, layout.size());
            dealloc(self.at.as_ptr(), layout);
            self.at = at;
        }
    }

    /// Moves the row and what it holds to other allocations: of a collection about
    /// `budget`. Returns where in the collection to go on, none at its end.
    pub fn gather(&mut self, budget: usize) -> Option<usize> {
        self.relocate();
        self.gather_collection(0, budget)
    }

    /// Goes on with the collection from a place on.
    pub(crate) fn gather_collection(&mut self, from: usize, budget: usize) -> Option<usize> {
        self.object_mut()?.footprint_mut().gather(from, budget)
    }

    /// Takes the collection out of a row that held one.
    fn into_object(self) -> Object {
        let head = self.head();
        assert!(head.kind() == KIND_OBJECT, "only an object row holds an object");
        let row = std::mem::ManuallyDrop::new(self);
        // SAFETY: the slot is initialised and read once: the row is freed below
        // without dropping it.
        unsafe {
            let object = slot::take(row.at.add(BODY_AT), head.object_type());
            dealloc(row.at.as_ptr(), row.layout());
            object
        }
    }

    /// The content, for moving it under another key.
    pub(crate) fn into_value(self) -> OwnedValue {
        match self.value() {
            Value::Object(_) => OwnedValue::Object(self.into_object()),
            _ => self.to_value(),
        }
    }

    /// A copy of the content, for storing it under another key too.
    pub fn to_value(&self) -> OwnedValue {
        match self.value() {
            Value::Text(text) if self.is_edited() => OwnedValue::Edited(text.to_vec()),
            Value::Text(text) => OwnedValue::Text(text.to_vec()),
            Value::Int(number) => OwnedValue::Int(number),
            Value::Object(object) => OwnedValue::Object(object.to_object()),
        }
    }

    /// A copy of a row that holds a string; its access clock starts at zero.
    ///
    /// # Panics
    /// If it holds a collection.
    pub(crate) fn copy_of_string(&self) -> Row {
        let value = match self.value() {
            Value::Text(text) if self.is_edited() => NewValue::Edited(text),
            Value::Text(text) => NewValue::Text(text),
            Value::Int(number) => NewValue::Int(number),
            Value::Object(_) => panic!("a row that holds a string"),
        };
        Row::new(self.key(), value, self.deadline())
    }

    /// Replaces the value and the deadline, in place where the size class allows.
    ///
    /// # Panics
    /// If the text is longer than `BYTES_MAX`.
    pub fn replace(&mut self, value: NewValue<'_>, deadline: Option<i64>) {
        let head = self.head();
        let layout = self.layout();
        let same_deadline = head.has_deadline() == deadline.is_some();
        match value {
            NewValue::Text(text)
                if same_deadline
                    && head.kind() == KIND_TEXT
                    && head.layout(stored_length(text.len())) == layout =>
            {
                self.write_within(layout, head.text_at(), text);
                self.set_text_bytes(stored_length(text.len()));
            }
            NewValue::Int(number) if same_deadline && head.kind() == KIND_INT => {
                self.write_within(layout, BODY_AT, &number.to_ne_bytes());
            }
            value => {
                let (clock, epoch) = (self.clock(), self.epoch());
                *self = Row::new(self.key(), value, deadline);
                self.set_clock(clock);
                self.set_epoch(epoch);
                return;
            }
        }
        if let Some(deadline) = deadline {
            self.write_within(layout, head.deadline_at(), &deadline.to_ne_bytes());
        }
        self.set_head(Head { flags: head.flags & !(EDITED | head.told_later()), ..head });
    }

    /// Replaces the number of an integer row, or the text by a number; keeps the deadline.
    pub(crate) fn set_int(&mut self, number: i64) {
        self.replace(NewValue::Int(number), self.deadline());
    }

    /// Writes `patch` over the text from `offset` on, lengthening it with zero
    /// bytes if needed; an integer becomes text first. Not for objects.
    ///
    /// # Panics
    /// If it would end behind `BYTES_MAX`; the row is unchanged then.
    pub(crate) fn patch_text(&mut self, offset: usize, patch: &[u8]) {
        let patch_end = stored_length(offset.saturating_add(patch.len()));
        if let Value::Int(number) = self.value() {
            self.replace(NewValue::Text(Decimal::of(number).as_bytes()), self.deadline());
        }
        let head = self.head();
        assert!(head.kind() == KIND_TEXT, "only strings are patched");
        let old_bytes = self.text_bytes() as usize;
        let new_length = self.text_bytes().max(patch_end);
        self.reallocate(new_length);
        if offset > old_bytes {
            // Bytes between the old end and the patch read as zero.
            // SAFETY: within the allocation, whose layout is that of `new_length`
            // bytes of text, and the gap ends at `offset`, which is not behind them.
            unsafe {
                let gap = self.at.add(head.text_at() + old_bytes);
                gap.write_bytes(0, offset - old_bytes);
            }
        }
        self.set_text_bytes(new_length);
        self.write(head.text_at() + offset, patch);
        self.set_head(Head { flags: head.flags | EDITED, ..head });
    }

    /// Makes a text what it was before it was patched at an offset: these bytes were covered,
    /// it had so many, and was or was not edited.
    ///
    /// # Panics
    /// If it is no text, or is shorter.
    pub(crate) fn take_patch_back(
        &mut self,
        (offset, covered): (usize, &[u8]),
        text_bytes: usize,
        was_edited: bool,
    ) {
        let head = self.head();
        assert!(head.kind() == KIND_TEXT, "only strings are patched");
        assert!(text_bytes <= self.text_bytes() as usize, "a patch shortens no text");
        assert!(covered.is_empty() || offset + covered.len() <= text_bytes, "it was covered");
        if !covered.is_empty() {
            self.write(head.text_at() + offset, covered);
        }
        let text_bytes = stored_length(text_bytes);
        self.reallocate(text_bytes);
        self.set_text_bytes(text_bytes);
        let edited = if was_edited { EDITED } else { 0 };
        self.set_head(Head { flags: head.flags & !EDITED | edited, ..head });
    }

    /// The bytes of a text, for changing them where they are. Not for numbers and objects.
    pub(crate) fn text_mut(&mut self) -> &mut [u8] {
        let head = self.head();
        assert!(head.kind() == KIND_TEXT, "only texts are changed where they are");
        self.set_head(Head { flags: head.flags | EDITED, ..head });
        let bytes = self.text_bytes() as usize;
        // SAFETY: a text row has so many initialised bytes there, which it owns and which
        // are borrowed as long as the row is.
        unsafe { std::slice::from_raw_parts_mut(self.at.add(head.text_at()).as_ptr(), bytes) }
    }

    /// Gives the row the allocation of a text of so many bytes. A large one mostly grows or
    /// shrinks where it is; otherwise what fits is copied once.
    fn reallocate(&mut self, text_bytes: u32) {
        let (old, new) = (self.layout(), self.head().layout(text_bytes));
        if new == old {
            return;
        }
        // SAFETY: `old` is the layout the row was allocated with; the new size is not zero,
        // and a layout of it was made above. The text is the last part of a row, so all
        // others stay at their places. Who calls this sets the length of the text next.
        let at = unsafe { realloc(self.at.as_ptr(), old, new.size()) };
        let Some(at) = NonNull::new(at) else { handle_alloc_error(new) };
        self.at = at;
    }

    /// Whether the text was edited in place.
    pub fn is_edited(&self) -> bool {
        let head = self.head();
        head.kind() == KIND_TEXT && head.flags & EDITED != 0
    }

    /// Whether the log has a later end of the row than its deadline. Whoever gives it another
    /// deadline, and whoever makes another row of it, says that it has not.
    pub(crate) fn is_told_later(&self) -> bool {
        let head = self.head();
        head.flags & head.told_later() != 0
    }

    /// Sets whether the log has a later end of the row.
    pub(crate) fn set_told_later(&mut self, is_later: bool) {
        let head = self.head();
        let flags = head.flags & !head.told_later();
        let flags = flags | if is_later { head.told_later() } else { 0 };
        if flags != head.flags {
            self.set_head(Head { flags, ..head });
        }
    }

    /// The access clock: 24 bits whose meaning belongs to eviction.
    pub fn clock(&self) -> u32 {
        let [a, b, c] = self.head().clock;
        u32::from_le_bytes([a, b, c, 0])
    }

    /// Sets the low 24 bits of the access clock.
    #[inline(always)]
    pub(crate) fn set_clock(&mut self, clock: u32) {
        let [a, b, c, _] = clock.to_le_bytes();
        let head = self.head();
        self.set_head(Head { clock: [a, b, c], ..head });
    }

    /// The epoch of snapshots that the row has reached.
    #[inline(always)]
    pub fn epoch(&self) -> bool {
        self.head().flags & EPOCH != 0
    }

    /// Sets the epoch of snapshots.
    #[inline(always)]
    pub(crate) fn set_epoch(&mut self, epoch: bool) {
        let head = self.head();
        let flags = head.flags & !EPOCH | if epoch { EPOCH } else { 0 };
        if flags != head.flags {
            self.set_head(Head { flags, ..head });
        }
    }

    /// How many allocations it has, about: what freeing it costs.
    pub fn allocations(&self) -> usize {
        match self.value() {
            Value::Object(object) => object.footprint().allocations(),
            Value::Text(_) | Value::Int(_) => 1,
        }
    }
}

/// A value that has left its row.
#[derive(Debug)]
pub enum OwnedValue {
    /// A text.
    Text(Vec<u8>),
    /// A text that was edited in place.
    Edited(Vec<u8>),
    /// An integer.
    Int(i64),
    /// A collection.
    Object(Object),
}

impl OwnedValue {
    /// A row of this value under another key.
    pub fn into_row(self, key: &[u8], deadline: Option<i64>) -> Row {
        match self {
            OwnedValue::Text(text) => Row::new(key, NewValue::Text(&text), deadline),
            OwnedValue::Edited(text) => Row::new(key, NewValue::Edited(&text), deadline),
            OwnedValue::Int(number) => Row::new(key, NewValue::Int(number), deadline),
            OwnedValue::Object(object) => Row::new(key, NewValue::Object(object), deadline),
        }
    }
}

impl Indexed for Row {
    #[inline(always)]
    fn address(&self) -> *const u8 {
        self.at.as_ptr()
    }
}

impl HeapBytes for Row {
    /// Bytes of the row's own allocation and of its collection's.
    #[inline]
    fn heap_bytes(&self) -> usize {
        let collection = match self.value() {
            Value::Object(object) => object.heap_bytes(),
            Value::Text(_) | Value::Int(_) => 0,
        };
        self.layout().size() + collection
    }
}

impl Drop for Row {
    fn drop(&mut self) {
        let head = self.head();
        // SAFETY: an object slot is initialised and dropped once; the layout is
        // the one the row was allocated with, since it follows from the head.
        unsafe {
            if head.kind() == KIND_OBJECT {
                drop(slot::take(self.at.add(BODY_AT), head.object_type()));
            }
            dealloc(self.at.as_ptr(), self.layout());
        }
    }
}

impl std::fmt::Debug for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let key = self.key().escape_ascii();
        f.debug_struct("Row")
            .field("key", &format_args!("\"{key}\""))
            .field("value", &self.value())
            .field("deadline", &self.deadline())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::list::{End, List};
    use crate::values::set::Set;
    use crate::values::value::{Collection as _, Type};

    fn text_of(row: &Row) -> Vec<u8> {
        match row.value() {
            Value::Text(text) => text.to_vec(),
            other => panic!("not a text: {other:?}"),
        }
    }

    #[test]
    fn whoever_gives_a_row_another_deadline_says_that_the_log_has_no_later_one() {
        let set = || NewValue::Object(Set::default().into_object());
        for value in [|| NewValue::Text(b"x"), || NewValue::Int(7)] {
            let mut row = Row::new(b"k", value(), Some(5));
            row.set_told_later(true);
            assert!(row.is_told_later() && !row.is_edited() && row.deadline() == Some(5));
            row.set_epoch(true);
            assert!(row.is_told_later());
            row.replace(value(), Some(5));
            assert!(!row.is_told_later() && row.epoch());
        }
        let mut row = Row::new(b"k", set(), Some(5));
        row.set_told_later(true);
        assert!(row.is_told_later() && !row.is_edited());
        assert_eq!(row.value().kind(), Type::Set);
        row.set_deadline(Some(6));
        assert!(!row.is_told_later());
        let mut row = Row::new(b"k", NewValue::Edited(b"x"), Some(5));
        row.set_told_later(true);
        assert!(row.is_edited());
        row.set_told_later(false);
        assert!(row.is_edited());
    }

    #[test]
    fn a_row_holds_key_text_and_deadline() {
        for deadline in [None, Some(77)] {
            let row = Row::new(b"key:000000000001", NewValue::Text(&[b'x'; 100]), deadline);
            assert_eq!(row.key(), b"key:000000000001");
            assert_eq!(text_of(&row), [b'x'; 100]);
            assert_eq!(row.deadline(), deadline);
        }
    }

    #[test]
    fn a_collection_under_a_key_of_sixteen_bytes_takes_32_bytes() {
        let row =
            Row::new(b"key:000000000001", NewValue::Object(Object::Set(Set::default())), None);
        assert_eq!(row.heap_bytes(), 32);
    }

    #[test]
    fn a_hundred_byte_value_with_its_key_takes_128_bytes() {
        let row = Row::new(b"key:000000000001", NewValue::Text(&[b'x'; 100]), None);
        assert_eq!(row.heap_bytes(), 128);
    }

    #[test]
    fn replacing_changes_kind_and_deadline_and_keeps_the_key() {
        let list = || {
            let mut list = List::default();
            list.push(End::Tail, b"a");
            NewValue::Object(Object::List(list))
        };
        let mut row = Row::new(b"k", NewValue::Int(5), None);
        row.replace(NewValue::Text(b"hello"), Some(9));
        assert_eq!((text_of(&row).as_slice(), row.deadline()), (b"hello".as_slice(), Some(9)));
        row.replace(NewValue::Text(b"shorter text in the same class"), Some(10));
        assert_eq!(row.deadline(), Some(10));
        row.replace(list(), None);
        assert!(matches!(row.value(), Value::Object(o) if o.len() == 1));
        row.set_deadline(Some(3));
        row.set_deadline(Some(4));
        assert!(matches!(row.value(), Value::Object(o) if o.len() == 1));
        assert_eq!((row.key(), row.deadline()), (b"k".as_slice(), Some(4)));
        row.replace(list(), Some(1));
        row.replace(NewValue::Int(-1), None);
        assert!(matches!(row.value(), Value::Int(-1)));
    }

    #[test]
    fn patches_lengthen_with_zero_bytes_and_mark_the_text_edited() {
        let mut row = Row::new(b"k", NewValue::Int(12), Some(1));
        row.patch_text(2, b"34");
        assert_eq!(text_of(&row), b"1234");
        assert!(row.is_edited());
        row.patch_text(6, b"x");
        assert_eq!(text_of(&row), b"1234\0\0x");
        row.patch_text(1000, b"end");
        assert_eq!(text_of(&row).len(), 1003);
        assert_eq!(&text_of(&row)[998..], b"\0\0end");
        assert_eq!(row.deadline(), Some(1));
    }

    #[test]
    fn a_patch_that_is_taken_back_leaves_the_text_as_it_was() {
        for length in [0, 1, 6, 30, 500, 20_000, 100_000] {
            for (offset, patch) in [(0, 3), (4, 1), (length, 10), (length + 700, 5), (2, 200_000)] {
                let mut row = Row::new(b"key", NewValue::Text(&vec![b'x'; length]), Some(9));
                let bytes = row.heap_bytes();
                let before = text_of(&row);
                let covered = before[offset.min(length)..(offset + patch).min(length)].to_vec();
                row.patch_text(offset, &vec![b'y'; patch]);
                row.take_patch_back((offset, &covered), length, false);
                assert_eq!(text_of(&row), before, "{length} {offset} {patch}");
                assert_eq!((row.deadline(), row.is_edited()), (Some(9), false));
                assert_eq!(row.heap_bytes(), bytes);
            }
        }
    }

    #[test]
    fn a_text_is_changed_where_it_is() {
        let mut row = Row::new(b"k", NewValue::Text(b"abc"), Some(7));
        row.text_mut()[1] = b'x';
        assert_eq!((text_of(&row), row.deadline()), (b"axc".to_vec(), Some(7)));
        assert!(row.is_edited());
    }

    /// A patch that ends behind the longest text: it panics, and the row is as before.
    fn check_too_long(offset: usize, patch: &[u8]) {
        let mut row = Row::new(b"k", NewValue::Text(b"abcdef"), None);
        let patched = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            row.patch_text(offset, patch);
        }));
        assert!(patched.is_err(), "{offset}");
        assert_eq!(text_of(&row), b"abcdef");
    }

    #[test]
    fn a_patch_never_ends_behind_the_longest_text() {
        check_too_long(1 << 32, b"");
        check_too_long(1 << 32, b"x");
        check_too_long(u32::MAX as usize, b"x");
        check_too_long(usize::MAX, b"x");
    }

    #[test]
    fn the_clock_and_the_epoch_survive_a_change_of_layout() {
        let mut row = Row::new(b"k", NewValue::Int(1), None);
        row.set_clock(0x00ab_cdef);
        row.set_epoch(true);
        row.set_deadline(Some(5));
        row.replace(NewValue::Text(&[0; 500]), None);
        row.patch_text(1000, b"end");
        assert_eq!((row.clock(), row.epoch()), (0x00ab_cdef, true));
    }
}
