//! Packed hashes and lists, and their long texts, which are kept compressed.
//!
//! Owns which collections are packed, and how the texts of one are shared out between its
//! row and the frames beside the pages: long values of fields and long items are joined to
//! one text (`stand_ins`), and that one is compressed if it pays.
//!
//! Invariants: a hash comes back with the encoding that it had, and one without an index in
//! its order; a list in its order. What is compressed of a collection is at most
//! `COMPRESSED_BYTES_MAX`, so that it is decompressed within a tenth of a millisecond, and
//! what is not is no more than may be packed without that.
//! Not here: frames (`compressed`), when rows are packed (`packing`, `lists`).

use super::{
    Form, Head, LIST_BYTES_MAX, LIST_ITEMS_MAX, PackedRows, SOUND, TEXT_BYTES_MAX, head_of,
};
use crate::tables::table::page::PackedRow;
use crate::tables::table::stand_ins::{self, Place};
use crate::values::hash::{self, Hash};
use crate::values::list::{End, List};
use crate::values::packed::Item;
use crate::values::row::Row;
use crate::values::text::Text;
use crate::values::value::{ObjectRef, Value};
use std::borrow::Cow;

/// Larger collections are not compressed: whoever asks for one has all of it decompressed.
/// None of them is large to a snapshot.
const COMPRESSED_BYTES_MAX: usize = keyward_schema::MAX_COMPRESSED_WHOLE as usize;
/// Nor are those of more items or fields.
const COMPRESSED_ITEMS_MAX: usize = 1024;

/// The texts of a packed collection, one after the other.
struct Texts<'r> {
    rows: &'r PackedRows,
    /// Whether the row has stand-ins.
    has_stand_ins: bool,
    /// The joined text, from the first stand-in on.
    joined: Vec<u8>,
    /// How far it is read.
    read: usize,
}

impl<'r> Texts<'r> {
    fn of(rows: &'r PackedRows, packed: PackedRow<'_>) -> Texts<'r> {
        let has_stand_ins = packed.has_number_of_text();
        Texts { rows, has_stand_ins, joined: Vec::new(), read: 0 }
    }

    /// The text for which the packed row has this.
    fn next<'a>(&'a mut self, place: &'a [u8]) -> &'a [u8] {
        if !self.has_stand_ins {
            return place;
        }
        let number = match Place::read(place).expect(SOUND) {
            Place::Itself(text) => return text,
            Place::Apart(number) => number,
        };
        if let Some(number) = number {
            self.rows.compressed.push_text(number, &mut self.joined);
        }
        let mut left = &self.joined[self.read..];
        let text = stand_ins::next_joined(&mut left).expect(SOUND);
        self.read = self.joined.len() - left.len();
        text
    }
}

impl PackedRows {
    /// Whether a list may be packed, as it is or with what is compressed of it.
    pub(crate) fn takes_list(&self, list: &List) -> bool {
        is_packable(list) || self.may_compress(list.len(), list.footprint().heap_bytes())
    }

    /// Whether texts of a collection of so many items and bytes may be compressed.
    fn may_compress(&self, items: usize, bytes: usize) -> bool {
        let is_moderate = items <= COMPRESSED_ITEMS_MAX && bytes <= COMPRESSED_BYTES_MAX;
        is_moderate && self.compressed.takes_any()
    }

    /// The joined text of a collection that is to be compressed, if it has one.
    pub(super) fn joined(&self, row: &Row) -> Option<Vec<u8>> {
        let Value::Object(object) = row.value() else { return None };
        if !self.may_compress(object.len(), object.heap_bytes()) {
            return None;
        }
        let (texts, short_bytes_max) = match object {
            ObjectRef::Hash(hash) => (values_of(hash), TEXT_BYTES_MAX),
            ObjectRef::List(list) => (items_of(list), LIST_BYTES_MAX),
            _ => return None,
        };
        let (mut joined, mut short_bytes) = (Vec::new(), 0);
        for text in texts.iter().map(Text::as_bytes) {
            match self.compressed.takes(text) {
                true => stand_ins::join(&mut joined, text),
                false => short_bytes += text.len(),
            }
        }
        (!joined.is_empty() && short_bytes <= short_bytes_max).then_some(joined)
    }

    /// Appends the packed form of a hash, whose long values have this number if they are
    /// kept compressed; whether it has one.
    pub(super) fn pack_hash(
        &mut self,
        row: &Row,
        hash: &Hash,
        number: Option<u32>,
        out: &mut Vec<u8>,
    ) -> bool {
        if number.is_none() && !hash.is_packed() {
            return false;
        }
        let names: Vec<Text<'_>> = hash.iter().map(|(field, _)| field.text()).collect();
        let texts = values_of(hash);
        let values = self.places_of_texts(&texts, number);
        let pairs = names.iter().zip(&values);
        let fields: Vec<(&[u8], &[u8])> =
            pairs.map(|(name, value)| (name.as_bytes(), &**value)).collect();
        let bytes: usize = fields.iter().map(|(name, value)| name.len() + value.len()).sum();
        let form = if hash.is_packed() { Form::Hash } else { Form::IndexedHash };
        Head { has_number_of_text: number.is_some(), ..head_of(row, form) }.write_to(out);
        bytes <= TEXT_BYTES_MAX && self.packer.pack_fields(row.key(), &fields, out)
    }

    /// As `pack_hash`, of a list and its long items.
    pub(super) fn pack_list(
        &mut self,
        row: &Row,
        list: &List,
        number: Option<u32>,
        out: &mut Vec<u8>,
    ) -> bool {
        if number.is_none() && !is_packable(list) {
            return false;
        }
        let texts = items_of(list);
        let places = self.places_of_texts(&texts, number);
        let items: Vec<&[u8]> = places.iter().map(|place| &**place).collect();
        Head { has_number_of_text: number.is_some(), ..head_of(row, Form::List) }.write_to(out);
        self.packer.pack_items(row.key(), &items, out)
    }

    /// What a packed row has in the place of each text of a collection.
    fn places_of_texts<'a>(
        &self,
        texts: &'a [Text<'a>],
        mut number: Option<u32>,
    ) -> Vec<Cow<'a, [u8]>> {
        let has_number = number.is_some();
        let place = |text: &'a Text<'a>| match text.as_bytes() {
            text if !has_number => Cow::Borrowed(text),
            text if self.compressed.takes(text) => stand_ins::stand_in(number.take()),
            text => stand_ins::itself(text),
        };
        texts.iter().map(place).collect()
    }

    /// The number that the stand-ins of a packed collection tell.
    pub(super) fn number_in_collection(&self, row: PackedRow<'_>) -> u32 {
        let key = self.key_of(row);
        let mut number = None;
        let mut look = |place: &[u8]| {
            if let Some(Place::Apart(told @ Some(_))) = Place::read(place) {
                number = told;
            }
        };
        let read = match row.form() {
            Form::List => self.packer.unpack_items(row.body(), &key, look),
            _ => self.packer.unpack_fields(row.body(), &key, |_, value| look(value)),
        };
        read.expect(SOUND);
        number.expect(SOUND)
    }

    pub(super) fn unpacked_hash(&self, packed: PackedRow<'_>, key: &[u8]) -> Hash {
        // It has the encoding that it had, whatever the settings say now.
        let is_indexed = packed.form() == Form::IndexedHash;
        let growth = hash::Growth {
            packed_fields_max: if is_indexed { 0 } else { usize::MAX },
            packed_text_bytes_max: usize::MAX,
            hasher: self.hasher,
        };
        let mut hash = Hash::default();
        let mut texts = Texts::of(self, packed);
        let unpacked = self.packer.unpack_fields(packed.body(), key, |field, value| {
            hash.set(&growth, (Item::of(field), Item::of(texts.next(value))));
        });
        unpacked.expect(SOUND);
        hash
    }

    pub(super) fn unpacked_list(&self, packed: PackedRow<'_>, key: &[u8]) -> List {
        let mut list = List::default();
        let mut texts = Texts::of(self, packed);
        let unpacked = self
            .packer
            .unpack_items(packed.body(), key, |item| list.push(End::Tail, texts.next(item)));
        unpacked.expect(SOUND);
        list
    }
}

fn values_of(hash: &Hash) -> Vec<Text<'_>> {
    hash.iter().map(|(_, value)| value.text()).collect()
}

fn items_of(list: &List) -> Vec<Text<'_>> {
    list.forward(0).map(Item::text).collect()
}

/// Whether a list is short enough to be packed as it is.
fn is_packable(list: &List) -> bool {
    list.len() <= LIST_ITEMS_MAX && list.footprint().heap_bytes() <= LIST_BYTES_MAX
}
