//! The packed rows of a table: a few pages' worth of bytes for each thousand rows.
//!
//! Owns the pages, their addressing by linear hashing, and the packer of the table's
//! pattern. A row goes in as it is and comes out the same; while it is here it can be
//! found, read and marked as used, and nothing else. There is no index beside the
//! pages: a hash chooses the page, and sixteen more of its bits the row within.
//!
//! Invariants: a row is in the page its hash chooses; `row_bytes` and `page_bytes` are
//! the sums over all pages; each word that a row names is counted by the packer until
//! the row goes. One insertion splits at most one page and one removal merges at most
//! one, so that no step takes longer than a page does.
//!
//! Estimate for a processed token of calls-bot (68 bytes of key and 160 of value): a
//! body of 30, 13 beside it, 2 of the directory, 3 that the allocator rounds up: 49
//! bytes, 57 with its deadline in order (Redis: 383). Finding a row takes two cache
//! misses, or three, and the comparison of its key.
//! Not here: which rows are packed and when (`table`), how a body looks
//! (`keyward-packing`).

mod collections;
#[cfg(test)]
mod tests;

use super::compressed::Compressed;
use super::page::{Form, Head, PackedRow, Page, bit_in_tag, tag_of};
use crate::values::footprint::HeapBytes as _;
use crate::values::hasher::KeyHasher;
use crate::values::linear::{Addressing, Split};
use crate::values::prefetch::{prefetch, prefetch_bytes};
use crate::values::random::Random;
use crate::values::row::{NewValue, Row};
use crate::values::size_class::allocated;
use crate::values::text::{Decimal, Text};
use crate::values::value::{Object, ObjectRef, Value};
use keyward_packing::Packer;
use std::ops::Range;

/// Pages per allocation of the directory.
const SEGMENT_PAGES: usize = 512;
/// A page is split when pages have more bytes than this in the mean.
const PAGE_BYTES: usize = 1024;
/// Two are merged when they have fewer.
const PAGE_BYTES_MIN: usize = PAGE_BYTES / 2;
/// Larger rows stay as they are: a page is to hold a few.
const ROW_BYTES_MAX: usize = 2048;
/// As for lists and for hashes with an index, of which a page may hold a single one.
const LIST_ROW_BYTES_MAX: usize = 16 * 1024;
/// Longer lists stay as they are: a step is to be short, and none of them is large to a
/// snapshot.
const LIST_ITEMS_MAX: usize = 512;
const LIST_BYTES_MAX: usize = 32 * 1024;
/// Longer texts are not tried.
pub(super) const TEXT_BYTES_MAX: usize = 4 * ROW_BYTES_MAX;
/// Places of a page that `sample` draws from: beyond the rows of nearly every page.
const SAMPLE_PLACES: usize = 64;
/// What is worth fetching ahead of a page, its tags and where its rows end, and of a row.
const PREFETCH_PAGE_LINES: usize = 3;
const PREFETCH_ROW_LINES: usize = 2;
const CACHE_LINE_BYTES: usize = 64;

/// Packed rows by key.
#[derive(Debug)]
pub struct PackedRows {
    packer: Packer,
    directory: Vec<Vec<Page>>,
    pages: Addressing,
    len: usize,
    /// Bytes of the rows with what pages have for each.
    row_bytes: usize,
    /// Bytes of the pages' allocations.
    page_bytes: usize,
    /// Texts that are kept outside of pages.
    compressed: Compressed,
    hasher: KeyHasher,
    /// A row that is being packed.
    buffer: Vec<u8>,
}

/// Where a packed row is, until the next insertion or removal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    page: usize,
    index: usize,
    /// Where its bytes are in the page, which is worked out once.
    start: usize,
    end: usize,
}

/// A row that leaves a table which is not used any more.
pub enum LeavingRow<'a> {
    /// As it is.
    Loose(Row),
    /// One that lies in a page, and goes with it. It is not large.
    Packed(&'a PackedRows, PackedRow<'a>),
}

impl LeavingRow<'_> {
    /// The row itself.
    pub(crate) fn into_row(self) -> Row {
        match self {
            LeavingRow::Loose(row) => row,
            LeavingRow::Packed(rows, row) => rows.unpacked(row),
        }
    }
}

/// What came of packing a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packing {
    /// It is packed.
    Done,
    /// It is on the way: it is to be tried again, as it is then.
    Begun,
    /// Its page is full for now: pages are split one at a time, in their order.
    NoRoom,
    /// It is too large, or does not come back from its packed form.
    Unfit,
}

impl PackedRows {
    /// No rows yet.
    pub(super) fn new(packer: Packer, hasher: KeyHasher) -> PackedRows {
        PackedRows {
            packer,
            directory: Vec::new(),
            pages: Addressing::default(),
            len: 0,
            row_bytes: 0,
            page_bytes: 0,
            compressed: Compressed::default(),
            hasher,
            buffer: Vec::new(),
        }
    }

    /// Texts of more bytes than this are compressed from now on.
    pub(super) fn compress_above(&mut self, bytes: Option<u64>) {
        self.compressed.set_threshold(bytes);
    }

    /// How many rows there are.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Bytes of the rows.
    pub(super) fn row_bytes(&self) -> usize {
        self.row_bytes + self.compressed.bytes()
    }

    /// Bytes of everything else: the directory, the room in pages, the words.
    pub(super) fn own_bytes(&self) -> usize {
        let last = self.directory.last().map_or(0, Vec::capacity);
        let pages = self.directory.len().saturating_sub(1) * SEGMENT_PAGES + last;
        let segments = self.directory.capacity() * size_of::<Vec<Page>>();
        let directory = pages * size_of::<Page>() + allocated(segments);
        let room = self.page_bytes - self.row_bytes;
        let texts = self.compressed.own_bytes();
        directory + room + texts + self.packer.heap_bytes() + self.buffer.capacity()
    }

    /// Where the row of a key is.
    #[inline]
    pub(super) fn find(&self, hash: u64, key: &[u8]) -> Option<Place> {
        self.find_where(hash, |row| self.packer.has_key(row.body(), key))
    }

    /// Where the row is that ends at this time and whose hash has these low bits.
    pub(super) fn find_ending(&self, deadline: i64, hash: u32) -> Option<Place> {
        self.find_where(u64::from(hash), |row| {
            row.deadline() == Some(deadline) && self.hash_of(row) as u32 == hash
        })
    }

    #[inline]
    fn find_where(&self, hash: u64, is_it: impl Fn(PackedRow<'_>) -> bool) -> Option<Place> {
        if self.len == 0 {
            return None;
        }
        let page = self.pages.of(hash);
        let (index, Range { start, end }) = self.page(page).find(tag_of(hash), is_it)?;
        Some(Place { page, index, start, end })
    }

    /// When the row at a place ends.
    #[inline]
    pub(super) fn deadline(&self, place: Place) -> Option<i64> {
        self.row(place).deadline()
    }

    /// The access clock of the row at a place.
    #[inline]
    pub(super) fn clock(&self, place: Place) -> u32 {
        self.row(place).clock()
    }

    /// Bytes of the row at a place.
    pub(super) fn bytes_of(&self, place: Place) -> usize {
        let row = self.row(place);
        let text = self.number_of_text(row).map_or(0, |number| self.compressed.bytes_of(number));
        row.page_bytes() + text
    }

    /// Sets the access clock of the row at a place.
    pub(super) fn set_clock(&mut self, place: Place, clock: u32) {
        self.page_mut(place.page).set_clock(place.start, clock);
    }

    /// Appends the text of the row at a place, which is the row of this key; whether it
    /// holds one.
    pub(super) fn text(&self, place: Place, key: &[u8], out: &mut Vec<u8>) -> bool {
        let row = self.row(place);
        let is_text = row.form().is_text();
        if is_text {
            self.push_text(row, key, out);
        }
        is_text
    }

    fn push_text(&self, row: PackedRow<'_>, key: &[u8], out: &mut Vec<u8>) {
        match self.number_of_text(row) {
            Some(number) => self.compressed.push_text(number, out),
            None => self.packer.unpack_text(row.body(), key, out).expect(SOUND),
        }
    }

    /// The number of a row's text, if it is kept compressed; of a collection, that of its long
    /// ones.
    fn number_of_text(&self, row: PackedRow<'_>) -> Option<u32> {
        row.has_number_of_text().then(|| {
            if !row.form().is_text() {
                return self.number_in_collection(row);
            }
            let mut digits = Vec::new();
            self.packer.unpack_text(row.body(), &self.key_of(row), &mut digits).expect(SOUND);
            let digits = std::str::from_utf8(&digits).ok();
            digits.and_then(|digits| digits.parse().ok()).expect(SOUND)
        })
    }

    /// A copy of the row at a place.
    pub(super) fn unpack(&self, place: Place) -> Row {
        self.unpacked(self.row(place))
    }

    /// How many bytes of a row are worked on at a time to pack it. One that is too large is
    /// not even tried.
    pub(super) fn bytes_tried(&self, row: &Row) -> usize {
        match row.value() {
            Value::Text(text) if self.compressed.takes(text) => Compressed::step_bytes(text.len()),
            Value::Text(text) => text.len().min(TEXT_BYTES_MAX),
            Value::Object(ObjectRef::List(_)) => row.heap_bytes().min(LIST_BYTES_MAX),
            Value::Object(_) if self.compressed.takes_any() => {
                Compressed::step_bytes(row.heap_bytes())
            }
            _ => row.heap_bytes().min(TEXT_BYTES_MAX),
        }
    }

    /// Packs a row that is not there yet.
    pub(super) fn insert(&mut self, hash: u64, row: &Row) -> Packing {
        let joined = self.joined(row);
        let text = match row.value() {
            Value::Text(text) => Some(text),
            _ => joined.as_deref(),
        };
        if text.is_some_and(|text| !self.compressed.advance(text)) {
            return Packing::Begun;
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        let is_packed = self.pack(row, text, &mut buffer);
        let packing = if is_packed { self.add(hash, &buffer) } else { Packing::Unfit };
        if is_packed && packing != Packing::Done {
            let row = PackedRow::of(&buffer);
            if let Some(number) = self.number_of_text(row) {
                self.compressed.remove(number);
            }
            self.packer.release(row.body());
        }
        self.buffer = buffer;
        packing
    }

    /// Appends the packed form of a row; whether it has one. The text is what is kept
    /// compressed of it, if that pays.
    fn pack(&mut self, row: &Row, text: Option<&[u8]>, out: &mut Vec<u8>) -> bool {
        let number = text.and_then(|text| self.compressed.add(text));
        let is_packed = self.pack_with(row, number, out);
        if let (false, Some(number)) = (is_packed, number) {
            self.compressed.remove(number);
        }
        is_packed
    }

    fn pack_with(&mut self, row: &Row, number: Option<u32>, out: &mut Vec<u8>) -> bool {
        if let (Value::Text(_), Some(number)) = (row.value(), number) {
            return self.pack_number(row, number, out);
        }
        let (form, text) = match row.value() {
            Value::Int(number) => (Form::Number, Text::Number(Decimal::of(number))),
            Value::Text(text) if text.len() > TEXT_BYTES_MAX => return false,
            Value::Text(text) if row.is_edited() => (Form::Edited, Text::Bytes(text)),
            Value::Text(text) => (Form::Text, Text::Bytes(text)),
            Value::Object(ObjectRef::Hash(hash)) => return self.pack_hash(row, hash, number, out),
            Value::Object(ObjectRef::List(list)) => return self.pack_list(row, list, number, out),
            Value::Object(_) => return false,
        };
        head_of(row, form).write_to(out);
        self.packer.pack_text(row.key(), text.as_bytes(), out)
    }

    /// Appends the packed form of a row whose text is kept compressed.
    fn pack_number(&mut self, row: &Row, number: u32, out: &mut Vec<u8>) -> bool {
        let form = if row.is_edited() { Form::Edited } else { Form::Text };
        let digits = Decimal::of(i64::from(number));
        Head { has_number_of_text: true, ..head_of(row, form) }.write_to(out);
        self.packer.pack_text(row.key(), Text::Number(digits).as_bytes(), out)
    }

    fn add(&mut self, hash: u64, row: &[u8]) -> Packing {
        let bytes_max = match PackedRow::of(row).form() {
            Form::List | Form::IndexedHash => LIST_ROW_BYTES_MAX,
            _ => ROW_BYTES_MAX,
        };
        if row.len() > bytes_max {
            return Packing::Unfit;
        }
        if self.row_bytes >= self.pages.count() * PAGE_BYTES {
            self.split();
        }
        let page = self.pages.of(hash);
        let before = self.page(page).heap_bytes();
        let is_added = self.page_mut(page).push(tag_of(hash), row);
        self.page_bytes = self.page_bytes + self.page(page).heap_bytes() - before;
        if !is_added {
            return Packing::NoRoom;
        }
        self.len += 1;
        self.row_bytes += PackedRow::of(row).page_bytes();
        Packing::Done
    }

    /// Takes the row at a place out; returns it.
    pub(super) fn take(&mut self, place: Place) -> Row {
        let row = self.unpack(place);
        self.remove(place);
        row
    }

    /// Removes the row at a place.
    pub(super) fn remove(&mut self, place: Place) {
        let Place { page, index, .. } = place;
        if let Some(number) = self.number_of_text(self.row(place)) {
            self.compressed.remove(number);
        }
        let PackedRows { packer, directory, .. } = self;
        let at = &mut directory[page / SEGMENT_PAGES][page % SEGMENT_PAGES];
        let row = at.row(index);
        packer.release(row.body());
        self.len -= 1;
        self.row_bytes -= row.page_bytes();
        let before = at.heap_bytes();
        at.remove(index);
        self.page_bytes = self.page_bytes + at.heap_bytes() - before;
        let pages = self.pages.count();
        if pages > 1 && self.row_bytes < pages * PAGE_BYTES_MIN {
            self.merge();
        }
    }

    /// The bits that all hashes of the page at a cursor share.
    pub(super) fn shared_bits(&self, cursor: u64) -> u64 {
        self.pages.shared_bits_at(cursor)
    }

    /// Visits the rows at a cursor whose hashes share these bits with it.
    pub(super) fn scan(&self, cursor: u64, shared: u64, mut visit: impl FnMut(Row)) {
        for place in self.places_at(cursor, shared) {
            visit(self.unpack(place));
        }
    }

    /// Visits the rows at a cursor that have not reached an epoch; now they have.
    pub(super) fn reach_epoch(
        &mut self,
        (cursor, shared): (u64, u64),
        epoch: bool,
        mut visit: impl FnMut(Row),
    ) {
        for place in self.places_at(cursor, shared) {
            if self.row(place).epoch() != epoch {
                visit(self.unpack(place));
                self.page_mut(place.page).set_epoch(place.index, epoch);
            }
        }
    }

    fn places_at(&self, cursor: u64, shared: u64) -> Vec<Place> {
        if self.len == 0 {
            return Vec::new();
        }
        let page = self.pages.of(cursor);
        let is_finer = shared > self.pages.shared_bits(page);
        let belongs = |index: &usize| {
            !is_finer || (self.hash_of(self.page(page).row(*index)) ^ cursor) & shared == 0
        };
        let places = (0..self.page(page).count()).filter(belongs);
        places.map(|index| self.place(page, index)).collect()
    }

    /// Every row.
    pub(super) fn iter(&self) -> impl Iterator<Item = Row> {
        self.directory.iter().flatten().flat_map(Page::iter).map(|row| self.unpacked(row))
    }

    /// A row drawn with (nearly) equal probability.
    pub(super) fn sample(&self, random: &mut Random) -> Option<Row> {
        self.draw(random).map(|place| self.unpack(place))
    }

    /// The key of the row at a place.
    pub(super) fn key(&self, place: Place) -> Vec<u8> {
        self.key_of(self.row(place))
    }

    /// Where a row is, drawn with (nearly) equal probability.
    pub(super) fn draw(&self, random: &mut Random) -> Option<Place> {
        if self.len == 0 {
            return None;
        }
        loop {
            let page = random.below(self.pages.count() as u64) as usize;
            let count = self.page(page).count();
            let index = random.below(count.max(SAMPLE_PLACES) as u64) as usize;
            if index < count {
                return Some(self.place(page, index));
            }
        }
    }

    /// How many pages there are.
    pub(super) fn page_count(&self) -> usize {
        self.pages.count()
    }

    /// The places of a page's rows.
    pub(super) fn places_of(&self, page: usize) -> impl Iterator<Item = Place> {
        (0..self.page(page).count()).map(move |index| self.place(page, index))
    }

    /// Hands over the rows of the last pages, about `budget` of them, and returns how
    /// many they were. The words stay as they are: this is not to be used any more.
    pub(super) fn shed(&mut self, budget: usize, mut receive: impl FnMut(LeavingRow<'_>)) -> usize {
        let mut shed = 0;
        while shed < budget
            && let Some(segment) = self.directory.last_mut()
        {
            let Some(page) = segment.pop() else {
                self.directory.pop();
                continue;
            };
            for row in page.iter() {
                receive(LeavingRow::Packed(self, row));
                self.row_bytes -= row.page_bytes();
                if let Some(number) = self.number_of_text(row) {
                    self.compressed.remove(number);
                }
            }
            shed += page.count().max(1);
            self.len -= page.count();
            self.page_bytes -= page.heap_bytes();
        }
        shed
    }

    /// Frees about `budget` words, of which no row is left; returns how many.
    pub(super) fn shed_words(&mut self, budget: usize) -> usize {
        self.packer.shed(budget)
    }

    /// Moves a page to another allocation; whether there is such a page.
    pub(super) fn gather_page(&mut self, at: usize) -> bool {
        let is_there = at < self.pages.count();
        if is_there {
            self.page_mut(at).gather();
        }
        is_there
    }

    /// Moves a compressed text to another allocation; whether there are so many.
    pub(super) fn gather_text(&mut self, number: usize) -> bool {
        self.compressed.gather(number)
    }

    /// Hints that the page of this hash will be looked for soon.
    #[inline(always)]
    pub(super) fn prefetch_page(&self, hash: u64) {
        if self.len > 0 {
            prefetch(self.page(self.pages.of(hash)));
        }
    }

    /// Hints that the page of this hash will be searched soon.
    #[inline(always)]
    pub(super) fn prefetch_tags(&self, hash: u64) {
        if self.len > 0 {
            let page = self.page(self.pages.of(hash)).address();
            prefetch_lines(page, PREFETCH_PAGE_LINES);
        }
    }

    /// Hints that all of the page of this hash will be read soon.
    pub(super) fn prefetch_whole_page(&self, hash: u64) {
        if self.len > 0 {
            let page = self.page(self.pages.of(hash));
            prefetch_bytes(page.address(), page.len());
        }
    }

    /// Hints that the row of this hash will be read soon. Searches the page.
    #[inline]
    pub(super) fn prefetch_row(&self, hash: u64) {
        if self.len > 0
            && let Some(row) = self.page(self.pages.of(hash)).address_of(tag_of(hash))
        {
            prefetch_lines(row, PREFETCH_ROW_LINES);
        }
    }

    #[inline(always)]
    fn page(&self, at: usize) -> &Page {
        &self.directory[at / SEGMENT_PAGES][at % SEGMENT_PAGES]
    }

    #[inline(always)]
    fn page_mut(&mut self, at: usize) -> &mut Page {
        &mut self.directory[at / SEGMENT_PAGES][at % SEGMENT_PAGES]
    }

    #[inline]
    fn row(&self, place: Place) -> PackedRow<'_> {
        self.page(place.page).row_at(place.start..place.end)
    }

    fn place(&self, page: usize, index: usize) -> Place {
        let Range { start, end } = self.page(page).range(index);
        Place { page, index, start, end }
    }

    fn key_of(&self, row: PackedRow<'_>) -> Vec<u8> {
        let mut key = Vec::with_capacity(2 * CACHE_LINE_BYTES);
        self.packer.unpack_key(row.body(), &mut key).expect(SOUND);
        key
    }

    fn hash_of(&self, row: PackedRow<'_>) -> u64 {
        self.hasher.hash(&self.key_of(row))
    }

    fn unpacked(&self, packed: PackedRow<'_>) -> Row {
        let head = packed.head();
        let key = self.key_of(packed);
        let mut row = match head.form {
            Form::Hash | Form::IndexedHash => {
                let hash = self.unpacked_hash(packed, &key);
                Row::new(&key, NewValue::Object(Object::Hash(hash)), head.deadline)
            }
            Form::List => {
                let list = self.unpacked_list(packed, &key);
                Row::new(&key, NewValue::Object(Object::List(list)), head.deadline)
            }
            Form::Text | Form::Edited | Form::Number => {
                let mut text = Vec::new();
                self.push_text(packed, &key, &mut text);
                let value = match head.form {
                    Form::Number => crate::values::text::encode(&text),
                    Form::Edited => NewValue::Edited(&text),
                    _ => NewValue::Text(&text),
                };
                Row::new(&key, value, head.deadline)
            }
        };
        row.set_clock(head.clock);
        row.set_epoch(head.epoch);
        row
    }

    /// Adds a page and moves into it what belongs there.
    fn split(&mut self) {
        if self.pages.count().is_multiple_of(SEGMENT_PAGES) {
            let pages = if self.directory.is_empty() { 1 } else { SEGMENT_PAGES };
            self.directory.push(Vec::with_capacity(pages));
        }
        let segment = self.directory.last_mut().expect("a segment was just ensured");
        segment.push(Page::default());
        let Some(Split { source, added, bit }) = self.pages.grow() else { return };
        let page = std::mem::take(self.page_mut(source));
        let moves = |index: &usize| {
            let in_tag = bit_in_tag(page.tag(*index), bit);
            in_tag.unwrap_or_else(|| self.hash_of(page.row(*index)) as usize & bit != 0)
        };
        let (moved, kept): (Vec<usize>, Vec<usize>) = (0..page.count()).partition(moves);
        let (moved, kept) = (page.of(&moved), page.of(&kept));
        self.page_bytes += moved.heap_bytes() + kept.heap_bytes();
        self.page_bytes -= page.heap_bytes();
        *self.page_mut(added) = moved;
        *self.page_mut(source) = kept;
    }

    /// Removes the last page and gives its rows back to the one it was split from, if
    /// they have room there.
    fn merge(&mut self) {
        let mut pages = self.pages;
        let target = pages.shrink();
        let last = pages.count();
        if !self.page(target).has_room_for(self.page(last)) {
            return;
        }
        self.pages = pages;
        let segment = self.directory.last_mut().expect("there are two pages");
        let page = segment.pop().expect("the last segment is never empty");
        if segment.is_empty() {
            self.directory.pop();
        }
        let before = self.page(target).heap_bytes() + page.heap_bytes();
        self.page_mut(target).append(&page);
        self.page_bytes = self.page_bytes + self.page(target).heap_bytes() - before;
    }
}

#[inline(always)]
fn prefetch_lines(address: *const u8, lines: usize) {
    for line in 0..lines {
        prefetch(address.wrapping_add(line * CACHE_LINE_BYTES));
    }
}

const SOUND: &str = "a packed row was compared with the original when it was packed";

fn head_of(row: &Row, form: Form) -> Head {
    let (clock, epoch, deadline) = (row.clock(), row.epoch(), row.deadline());
    Head { form, has_number_of_text: false, clock, epoch, deadline }
}
