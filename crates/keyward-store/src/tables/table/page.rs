//! A page: packed rows one behind the other, in one allocation (an arena of rows).
//!
//! Owns finding, adding, changing and taking out the rows of one page. There is no
//! dead space: what leaves a page is closed up at once, which moves no more than a
//! page.
//!
//! ```text
//! page = count 2 | tag 2 × count | end 2 × count | rows
//! row  = flags 1 | clock 3 | deadline 5 or 8? | body
//! ```
//! A tag is sixteen bits of the hash of the row's key; an end is where the row ends,
//! counted from where rows begin. A deadline of five bytes is milliseconds since 2020,
//! which lasts until 2054; one of eight bytes is any other, since 1970.
//!
//! Estimate: 8 bytes per row beside its body, 13 with a deadline; the allocator rounds
//! a page up by a sixteenth.
//! Not here: what a body means (`keyward-packing`), which page a row belongs to
//! (`packed`).

use crate::values::size_class::{is_small, size_class};
use std::ops::Range;

const COUNT_BYTES: usize = 2;
const TAG_BYTES: usize = 2;
const END_BYTES: usize = 2;
/// What a page has for each row beside the row itself.
const SLOT_BYTES: usize = TAG_BYTES + END_BYTES;
/// The most bytes of rows in a page: what an end can tell.
const ROWS_BYTES_MAX: usize = u16::MAX as usize;

/// A one in each of four tags.
const LANES: u64 = 0x0001_0001_0001_0001;

const CLOCK_AT: usize = 1;
const CLOCK_BYTES: usize = 3;
const HEAD_BYTES: usize = CLOCK_AT + CLOCK_BYTES;
/// Bytes of a deadline of these years.
const NEAR_BYTES: usize = 5;
/// When these years begin: 2020.
const NEAR_START_MS: i64 = 1_577_836_800_000;
const NEAR_END_MS: i64 = NEAR_START_MS + (1 << (8 * NEAR_BYTES));
/// Bytes of any other deadline.
const FAR_BYTES: usize = 8;

const FORM_MASK: u8 = 3 | 64;
const HAS_NEAR_DEADLINE: u8 = 4;
const EPOCH: u8 = 8;
const HAS_NUMBER_OF_TEXT: u8 = 16;
const HAS_FAR_DEADLINE: u8 = 32;

/// What the value of a packed row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A text.
    Text = 0,
    /// A text that was edited in place.
    Edited = 1,
    /// A text that is kept as a number.
    Number = 2,
    /// A hash.
    Hash = 3,
    /// A list.
    List = 64,
    /// A hash that has an index while it is loose.
    IndexedHash = 65,
}

impl Form {
    /// Whether it is a string, whatever it is kept as.
    pub(super) fn is_text(self) -> bool {
        !matches!(self, Form::Hash | Form::IndexedHash | Form::List)
    }
}

/// What a packed row begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) form: Form,
    /// In the place of its text it has the number of one that is kept compressed; a
    /// collection has stand-ins for its long ones.
    pub(super) has_number_of_text: bool,
    pub(super) clock: u32,
    pub(super) epoch: bool,
    pub(super) deadline: Option<i64>,
}

impl Head {
    /// Appends it.
    pub(super) fn write_to(self, out: &mut Vec<u8>) {
        let deadline = self.deadline.map(|deadline| match deadline {
            NEAR_START_MS..NEAR_END_MS => (deadline - NEAR_START_MS, NEAR_BYTES),
            _ => (deadline, FAR_BYTES),
        });
        let deadline_flag = match deadline {
            None => 0,
            Some((_, NEAR_BYTES)) => HAS_NEAR_DEADLINE,
            Some(_) => HAS_FAR_DEADLINE,
        };
        let epoch = if self.epoch { EPOCH } else { 0 };
        let has_number = if self.has_number_of_text { HAS_NUMBER_OF_TEXT } else { 0 };
        out.push(self.form as u8 | deadline_flag | epoch | has_number);
        out.extend_from_slice(&self.clock.to_le_bytes()[..CLOCK_BYTES]);
        if let Some((number, bytes)) = deadline {
            out.extend_from_slice(&number.to_le_bytes()[..bytes]);
        }
    }
}

/// A row within a page.
#[derive(Debug, Clone, Copy)]
pub struct PackedRow<'a> {
    bytes: &'a [u8],
}

impl<'a> PackedRow<'a> {
    /// The row of these bytes, which begin with a head.
    pub(super) fn of(bytes: &'a [u8]) -> PackedRow<'a> {
        PackedRow { bytes }
    }

    /// What its value is.
    #[inline]
    pub(super) fn form(self) -> Form {
        match self.bytes[0] & FORM_MASK {
            0 => Form::Text,
            1 => Form::Edited,
            2 => Form::Number,
            3 => Form::Hash,
            64 => Form::List,
            _ => Form::IndexedHash,
        }
    }

    /// What it begins with.
    #[inline]
    pub(super) fn head(self) -> Head {
        Head {
            form: self.form(),
            has_number_of_text: self.has_number_of_text(),
            clock: self.clock(),
            epoch: self.epoch(),
            deadline: self.deadline(),
        }
    }

    /// The epoch of snapshots that the row has reached.
    pub(super) fn epoch(self) -> bool {
        self.bytes[0] & EPOCH != 0
    }

    /// Whether it has the number of a text in the place of one.
    #[inline]
    pub(super) fn has_number_of_text(self) -> bool {
        self.bytes[0] & HAS_NUMBER_OF_TEXT != 0
    }

    /// Bytes of the row and of what its page has for it.
    pub(super) fn page_bytes(self) -> usize {
        self.bytes.len() + SLOT_BYTES
    }

    /// The access clock.
    #[inline]
    pub(super) fn clock(self) -> u32 {
        let head = [self.bytes[0], self.bytes[1], self.bytes[2], self.bytes[3]];
        u32::from_le_bytes(head) >> 8
    }

    /// When the row ends.
    #[inline]
    pub(super) fn deadline(self) -> Option<i64> {
        let (bytes, start_ms) = match self.deadline_bytes() {
            0 => return None,
            NEAR_BYTES => (NEAR_BYTES, NEAR_START_MS),
            bytes => (bytes, 0),
        };
        let mut number = [0; FAR_BYTES];
        number[..bytes].copy_from_slice(&self.bytes[HEAD_BYTES..][..bytes]);
        Some(start_ms + i64::from_le_bytes(number))
    }

    #[inline]
    fn deadline_bytes(self) -> usize {
        match self.bytes[0] & (HAS_NEAR_DEADLINE | HAS_FAR_DEADLINE) {
            0 => 0,
            HAS_NEAR_DEADLINE => NEAR_BYTES,
            _ => FAR_BYTES,
        }
    }

    /// The packed key and value.
    #[inline]
    pub(super) fn body(self) -> &'a [u8] {
        &self.bytes[HEAD_BYTES + self.deadline_bytes()..]
    }
}

/// The sixteen bits of a hash that a page keeps. Below them are those that choose the
/// page of a table of up to 1,024; above them nothing is asked for, so that 32 bits of a
/// hash are enough to find a row.
#[inline(always)]
pub(super) fn tag_of(hash: u64) -> u16 {
    (hash >> TAG_SHIFT) as u16
}

const TAG_SHIFT: u32 = 10;

/// Whether a bit of a hash can be read from its tag, and then whether it is set.
pub(super) fn bit_in_tag(tag: u16, bit: usize) -> Option<bool> {
    let shift = bit.trailing_zeros().checked_sub(TAG_SHIFT)?;
    (shift < u16::BITS).then(|| tag >> shift & 1 != 0)
}

/// A count, a tag or an end, as a page stores it.
#[inline(always)]
fn stored(number: usize) -> [u8; 2] {
    u16::try_from(number).expect("a page has room for what is put into it").to_le_bytes()
}

/// Packed rows.
#[derive(Debug, Default)]
pub(super) struct Page {
    bytes: Vec<u8>,
}

impl Page {
    /// How many rows there are.
    #[inline]
    pub(super) fn count(&self) -> usize {
        if self.bytes.is_empty() { 0 } else { usize::from(self.number(0)) }
    }

    /// Bytes in use.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Bytes of its allocation.
    pub(super) fn heap_bytes(&self) -> usize {
        self.bytes.capacity()
    }

    /// Moves its rows to another allocation of the same size, if it is a small one.
    pub(super) fn gather(&mut self) {
        if !is_small(self.bytes.capacity()) {
            return;
        }
        let mut bytes = Vec::with_capacity(self.bytes.capacity());
        bytes.extend_from_slice(&self.bytes);
        self.bytes = bytes;
    }

    /// Where it is, for prefetching it.
    #[inline(always)]
    pub(super) fn address(&self) -> *const u8 {
        self.bytes.as_ptr()
    }

    #[inline(always)]
    fn number(&self, at: usize) -> u16 {
        u16::from_le_bytes([self.bytes[at], self.bytes[at + 1]])
    }

    fn set_number(&mut self, at: usize, number: usize) {
        self.bytes[at..at + 2].copy_from_slice(&stored(number));
    }

    #[inline]
    fn end(&self, count: usize, index: usize) -> usize {
        usize::from(self.number(COUNT_BYTES + TAG_BYTES * count + END_BYTES * index))
    }

    /// Where a row is.
    #[inline]
    pub(super) fn range(&self, index: usize) -> Range<usize> {
        let count = self.count();
        let rows_at = COUNT_BYTES + SLOT_BYTES * count;
        let start = if index == 0 { 0 } else { self.end(count, index - 1) };
        rows_at + start..rows_at + self.end(count, index)
    }

    /// The tag of a row.
    #[inline]
    pub(super) fn tag(&self, index: usize) -> u16 {
        self.number(COUNT_BYTES + TAG_BYTES * index)
    }

    /// A row.
    #[inline]
    pub(super) fn row(&self, index: usize) -> PackedRow<'_> {
        self.row_at(self.range(index))
    }

    /// The row whose bytes are here.
    #[inline]
    pub(super) fn row_at(&self, range: Range<usize>) -> PackedRow<'_> {
        PackedRow { bytes: &self.bytes[range] }
    }

    /// Every row.
    pub(super) fn iter(&self) -> impl Iterator<Item = PackedRow<'_>> {
        (0..self.count()).map(|index| self.row(index))
    }

    /// The row with this tag that `is_it` accepts, and where it is.
    #[inline]
    pub(super) fn find(
        &self,
        tag: u16,
        is_it: impl Fn(PackedRow<'_>) -> bool,
    ) -> Option<(usize, Range<usize>)> {
        let mut from = 0;
        loop {
            let index = self.next_with(tag, from)?;
            let range = self.range(index);
            if is_it(self.row_at(range.clone())) {
                return Some((index, range));
            }
            from = index + 1;
        }
    }

    /// The first row from an index on that has this tag. Four are compared at a time:
    /// nearly all of them are others'.
    #[inline]
    fn next_with(&self, tag: u16, from: usize) -> Option<usize> {
        let tags = self.bytes.get(COUNT_BYTES + TAG_BYTES * from..)?;
        let tags = &tags[..TAG_BYTES * (self.count() - from)];
        let wanted = LANES * u64::from(tag);
        let (words, rest) = tags.as_chunks::<8>();
        for (word_index, word) in words.iter().enumerate() {
            let other = u64::from_le_bytes(*word) ^ wanted;
            // The highest bit of each tag that is the same. One that is marked falsely lies
            // behind one that is marked rightly.
            let marks = other.wrapping_sub(LANES) & !other & LANES << 15;
            if marks != 0 {
                let place = marks.trailing_zeros() as usize / 16;
                return Some(from + word_index * 4 + place);
            }
        }
        let place = rest.chunks_exact(TAG_BYTES).position(|pair| pair == tag.to_le_bytes())?;
        Some(from + words.len() * 4 + place)
    }

    /// Where the first row with this tag begins, for prefetching it.
    #[inline]
    pub(super) fn address_of(&self, tag: u16) -> Option<*const u8> {
        let index = self.next_with(tag, 0)?;
        Some(self.bytes[self.range(index)].as_ptr())
    }

    /// Sets the access clock of the row that begins here.
    #[inline]
    pub(super) fn set_clock(&mut self, start: usize, clock: u32) {
        let at = start + CLOCK_AT;
        self.bytes[at..at + CLOCK_BYTES].copy_from_slice(&clock.to_le_bytes()[..CLOCK_BYTES]);
    }

    /// Sets the epoch of a row.
    pub(super) fn set_epoch(&mut self, index: usize, epoch: bool) {
        let at = self.range(index).start;
        self.bytes[at] = self.bytes[at] & !EPOCH | if epoch { EPOCH } else { 0 };
    }

    /// A page of these rows of this one.
    pub(super) fn of(&self, indexes: &[usize]) -> Page {
        let mut page = Page::default();
        if indexes.is_empty() {
            return page;
        }
        let rows: usize = indexes.iter().map(|index| self.row(*index).page_bytes()).sum();
        page.reserve(COUNT_BYTES + rows);
        page.bytes.extend_from_slice(&stored(indexes.len()));
        for index in indexes {
            page.bytes.extend_from_slice(&self.tag(*index).to_le_bytes());
        }
        let mut end = 0;
        for index in indexes {
            end += self.row(*index).bytes.len();
            page.bytes.extend_from_slice(&stored(end));
        }
        for index in indexes {
            page.bytes.extend_from_slice(self.row(*index).bytes);
        }
        page
    }

    /// Whether the rows of another page have room here.
    pub(super) fn has_room_for(&self, other: &Page) -> bool {
        self.len() + other.len() <= ROWS_BYTES_MAX
    }

    /// Adds the rows of another page, which have room here.
    pub(super) fn append(&mut self, other: &Page) {
        for index in 0..other.count() {
            let is_added = self.push(other.tag(index), other.row(index).bytes);
            assert!(is_added, "there is room for the rows of the other page");
        }
    }

    /// Adds a row; whether there was room.
    pub(super) fn push(&mut self, tag: u16, row: &[u8]) -> bool {
        let count = self.count();
        let rows_end = if count == 0 { 0 } else { self.end(count, count - 1) } + row.len();
        if rows_end > ROWS_BYTES_MAX || count >= usize::from(u16::MAX) {
            return false;
        }
        let old_bytes = self.bytes.len().max(COUNT_BYTES);
        let ends_at = COUNT_BYTES + TAG_BYTES * count;
        let rows_at = ends_at + END_BYTES * count;
        let bytes = old_bytes + SLOT_BYTES + row.len();
        if bytes > self.bytes.capacity() {
            // Moving it by hand takes less than having the allocator do so, and puts
            // everything where it belongs at once.
            let mut grown = Vec::with_capacity(size_class(bytes));
            grown.extend_from_slice(&[0; COUNT_BYTES]);
            let old = self.bytes.get(COUNT_BYTES..).unwrap_or_default();
            let (slots, rows) = old.split_at(rows_at - COUNT_BYTES);
            let (tags, ends) = slots.split_at(ends_at - COUNT_BYTES);
            grown.extend_from_slice(tags);
            grown.extend_from_slice(&[0; TAG_BYTES]);
            grown.extend_from_slice(ends);
            grown.extend_from_slice(&[0; END_BYTES]);
            grown.extend_from_slice(rows);
            self.bytes = grown;
        } else {
            self.bytes.resize(old_bytes + SLOT_BYTES, 0);
            self.bytes.copy_within(rows_at..old_bytes, rows_at + SLOT_BYTES);
            self.bytes.copy_within(ends_at..rows_at, ends_at + TAG_BYTES);
        }
        self.bytes.extend_from_slice(row);
        self.set_number(ends_at, usize::from(tag));
        self.set_number(rows_at + TAG_BYTES, rows_end);
        self.set_number(0, count + 1);
        true
    }

    /// Takes a row out.
    pub(super) fn remove(&mut self, index: usize) {
        let count = self.count();
        let Range { start, end } = self.range(index);
        let (bytes, old_bytes) = (end - start, self.bytes.len());
        for later in index..count {
            let at = COUNT_BYTES + TAG_BYTES * count + END_BYTES * later;
            let end = usize::from(self.number(at)) - bytes;
            self.set_number(at, end);
        }
        let tag_at = COUNT_BYTES + TAG_BYTES * index;
        let end_at = COUNT_BYTES + TAG_BYTES * count + END_BYTES * index;
        self.bytes.copy_within(tag_at + TAG_BYTES..end_at, tag_at);
        self.bytes.copy_within(end_at + END_BYTES..start, end_at - TAG_BYTES);
        self.bytes.copy_within(end..old_bytes, start - SLOT_BYTES);
        self.bytes.truncate(old_bytes - SLOT_BYTES - bytes);
        self.set_number(0, count - 1);
        self.give_back();
    }

    /// Makes room for so many bytes more, as much as the allocator would give anyway.
    fn reserve(&mut self, more: usize) {
        let bytes = self.bytes.len() + more;
        if bytes > self.bytes.capacity() {
            self.bytes.reserve_exact(size_class(bytes) - self.bytes.len());
        }
    }

    /// Gives back what is not needed, unless it is little.
    fn give_back(&mut self) {
        if self.count() == 0 {
            self.bytes = Vec::new();
        } else if self.bytes.capacity() > size_class(self.bytes.len() + self.bytes.len() / 8) {
            self.bytes.shrink_to(size_class(self.bytes.len()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn row(clock: u32, deadline: Option<i64>, body: &[u8]) -> Vec<u8> {
        let mut row = Vec::new();
        Head { form: Form::Hash, has_number_of_text: false, clock, epoch: true, deadline }
            .write_to(&mut row);
        row.extend_from_slice(body);
        row
    }

    #[test]
    fn a_head_comes_back() {
        let near = [NEAR_START_MS, 1_764_862_200_000, NEAR_END_MS - 1];
        let far = [i64::MIN, -1, 0, NEAR_START_MS - 1, NEAR_END_MS, i64::MAX];
        let deadlines = near.into_iter().chain(far).map(Some);
        for deadline in deadlines.chain([None]) {
            let mut page = Page::default();
            assert!(page.push(7, &row(0x00ab_cdef, deadline, b"body")));
            let back = page.row(0);
            let head = Head {
                form: Form::Hash,
                has_number_of_text: false,
                clock: 0x00ab_cdef,
                epoch: true,
                deadline,
            };
            assert_eq!((back.head(), back.body()), (head, b"body".as_slice()));
            page.set_clock(page.range(0).start, 5);
            page.set_epoch(0, false);
            assert_eq!(page.row(0).head(), Head { clock: 5, epoch: false, ..head });
        }
    }

    #[test]
    fn a_deadline_of_these_years_is_short() {
        let bytes = |deadline| row(0, deadline, b"").len() - HEAD_BYTES;
        assert_eq!([None, Some(1_764_862_200_000), Some(NEAR_END_MS)].map(bytes), [0, 5, 8]);
    }

    #[test]
    fn a_bit_of_a_hash_is_read_from_its_tag() {
        for shift in 0..40 {
            let hash = 1 << shift;
            let expected = (10..26).contains(&shift).then_some(true);
            assert_eq!(bit_in_tag(tag_of(hash), hash as usize), expected, "bit {shift}");
        }
    }

    #[test]
    fn a_page_has_an_end() {
        let mut page = Page::default();
        let row = [0; 1000];
        let pushed = (0..100).take_while(|_| page.push(1, &row)).count();
        assert_eq!((pushed, page.count()), (65, 65));
    }

    proptest! {
        #[test]
        fn pages_agree_with_a_list(steps in proptest::collection::vec((any::<bool>(), 0usize..40, 0usize..60), 0..40)) {
            let mut page = Page::default();
            let mut model: Vec<(u16, Vec<u8>)> = Vec::new();
            for (step, (adds, index, bytes)) in steps.into_iter().enumerate() {
                if adds || model.is_empty() {
                    let body = vec![step as u8; bytes];
                    let row = row(step as u32, (bytes % 2 == 0).then_some(step as i64), &body);
                    prop_assert!(page.push(step as u16, &row));
                    model.push((step as u16, row));
                } else {
                    let index = index % model.len();
                    page.remove(index);
                    model.remove(index);
                }
                prop_assert_eq!(page.count(), model.len());
                for (index, (tag, row)) in model.iter().enumerate() {
                    prop_assert_eq!(page.row(index).bytes, &row[..]);
                    prop_assert_eq!(page.find(*tag, |_| true), Some((index, page.range(index))));
                }
                prop_assert_eq!(page.find(999, |_| true), None);
                let (even, odd): (Vec<usize>, Vec<usize>) = (0..model.len()).partition(|n| n % 2 == 0);
                let mut both = page.of(&even);
                prop_assert!(both.has_room_for(&page.of(&odd)));
                both.append(&page.of(&odd));
                let rows = even.iter().chain(&odd).map(|index| page.row(*index).bytes);
                prop_assert!(both.iter().map(|row| row.bytes).eq(rows));
                prop_assert!(page.heap_bytes() <= page.len() * 3 / 2 + 64);
            }
        }
    }
}
