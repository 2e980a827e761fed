//! A node: some entries of a stream that follow each other, packed into one run of bytes.
//!
//! Owns the layout of entries within a listpack, which is Redis's own:
//!
//! ```text
//! node   = live | dead | fields | name … | 0 | entry …
//! entry  = flags | ms | seq | value … | elements                        as the node's fields
//!        | flags | ms | seq | fields | (name | value) … | elements      others
//! ```
//!
//! Times and numbers are differences from the node's own id, which its tree has. An entry
//! that was removed stays, with a flag, until its node goes. The last element of an entry
//! is how many there are before it, for reading backwards.
//!
//! A node to which no more entries come is kept without what follows from the rest, and is
//! read as it is (`stripped`); what is here reads both forms, and changes listpacks.
//!
//! Estimate, per entry whose fields are those of its node: 9 bytes, and 2 for each value
//! beside its text; as a field's name is there once for a hundred entries. Of these 4, and 1
//! for each value, in a stripped node.
//!
//! Invariants: the ids of live entries rise; a node has at most `BYTES_MAX` bytes, and at
//! least one entry. It may have no live one left: a trim by id stops at the first entry
//! that is not before the id, be it a removed one, and leaves its node (as in Redis).
//! Not here: which node an entry goes to (`stream`), where nodes are (`tree`).

use super::id::StreamId;
use super::listpack::{self, Codes, HEAD_BYTES, back};
use super::tree::Leaf;
use crate::values::footprint::HeapBytes;
use crate::values::packed::Item;
use crate::values::size_class::size_class;
use std::num::NonZeroU32;
use std::ops::Range;

/// The most bytes that a node takes.
pub(super) const BYTES_MAX: usize = 1 << 30;

pub(super) const DEAD: u8 = 1;
pub(super) const SAME_FIELDS: u8 = 2;

/// Elements of an entry besides those of its fields, the last one aside.
pub(super) const FIXED_ELEMENTS: usize = 3;

/// Some entries.
#[derive(Debug, Clone)]
pub(super) struct Node {
    /// The listpack, or what is left of it, in room of the allocator's next class.
    pub(super) bytes: Vec<u8>,
    /// How long the listpack is, of a stripped node.
    pub(super) listpack_bytes: Option<NonZeroU32>,
}

/// What stands before the entries of a node.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    live: usize,
    pub(super) dead: usize,
    /// How many fields most entries have.
    pub(super) fields: usize,
    /// Where the numbers of entries end.
    counts_end: usize,
    /// Where the names of the fields begin.
    names_at: usize,
}

impl Head {
    #[inline]
    pub(super) fn of(codes: Codes<'_>) -> Head {
        let (live, at) = codes.number(codes.start());
        let (dead, counts_end) = codes.number(at);
        let (fields, names_at) = codes.number(counts_end);
        Head {
            live: live as usize,
            dead: dead as usize,
            fields: fields as usize,
            counts_end,
            names_at,
        }
    }

    /// Where the first entry is.
    #[inline]
    fn entries_at(&self, codes: Codes<'_>) -> usize {
        codes.skip_many(self.names_at, self.fields + 1)
    }

    /// How many elements stand before the first entry.
    pub(super) fn elements(&self) -> usize {
        3 + self.fields + 1
    }
}

/// An entry of a node.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// Its id.
    pub id: StreamId,
    codes: Codes<'a>,
    flags: u8,
    fields: usize,
    /// Where it begins.
    at: usize,
    /// Where the names of its fields begin, if they are the node's.
    names_at: usize,
    /// Where its values begin, or its first name and value.
    values_at: usize,
}

impl<'a> Entry<'a> {
    #[inline]
    pub(super) fn read(codes: Codes<'a>, head: &Head, node: StreamId, at: usize) -> Entry<'a> {
        let (flags, next) = codes.number(at);
        let flags = flags as u8;
        let (ms, next) = codes.number(next);
        let (seq, next) = codes.number(next);
        let id = StreamId {
            ms: node.ms.wrapping_add(ms.cast_unsigned()),
            seq: node.seq.wrapping_add(seq.cast_unsigned()),
        };
        let (fields, values_at) = if flags & SAME_FIELDS != 0 {
            (head.fields, next)
        } else {
            let (fields, next) = codes.number(next);
            (fields as usize, next)
        };
        Entry { id, codes, flags, fields, at, names_at: head.names_at, values_at }
    }

    /// How many fields it has.
    pub fn len(&self) -> usize {
        self.fields
    }

    /// Whether it has none, which only other programs write.
    pub fn is_empty(&self) -> bool {
        self.fields == 0
    }

    /// Whether it was removed.
    pub(super) fn is_dead(&self) -> bool {
        self.flags & DEAD != 0
    }

    /// Its fields and values, in the order they were given.
    #[inline]
    pub fn pairs(&self) -> Pairs<'a> {
        let has_own = self.flags & SAME_FIELDS == 0;
        Pairs {
            codes: self.codes,
            names_at: if has_own { None } else { Some(self.names_at) },
            values_at: self.values_at,
            left: self.fields,
        }
    }

    /// How many elements it has, that aside which says it.
    #[inline]
    pub(super) fn elements(&self) -> usize {
        let has_own = self.flags & SAME_FIELDS == 0;
        FIXED_ELEMENTS + if has_own { 1 + self.fields * 2 } else { self.fields }
    }

    /// Where the next entry is.
    #[inline]
    fn end(&self) -> usize {
        let has_own = self.flags & SAME_FIELDS == 0;
        let elements = if has_own { self.fields * 2 } else { self.fields };
        self.codes.skip_many(self.values_at, elements + self.codes.per_entry())
    }
}

/// The fields of an entry.
#[derive(Debug, Clone)]
pub struct Pairs<'a> {
    codes: Codes<'a>,
    names_at: Option<usize>,
    values_at: usize,
    left: usize,
}

impl<'a> Iterator for Pairs<'a> {
    type Item = (Item<'a>, Item<'a>);

    #[inline]
    fn next(&mut self) -> Option<(Item<'a>, Item<'a>)> {
        self.left = self.left.checked_sub(1)?;
        let name = match &mut self.names_at {
            Some(at) => {
                let (name, next) = self.codes.read(*at);
                *at = next;
                name
            }
            None => {
                let (name, next) = self.codes.read(self.values_at);
                self.values_at = next;
                name
            }
        };
        let (value, next) = self.codes.read(self.values_at);
        self.values_at = next;
        Some((name, value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

/// The entries of a node in order, dead ones too.
#[derive(Debug, Clone)]
pub(super) struct Forward<'a> {
    codes: Codes<'a>,
    head: Head,
    id: StreamId,
    at: usize,
}

impl<'a> Iterator for Forward<'a> {
    type Item = Entry<'a>;

    #[inline]
    fn next(&mut self) -> Option<Entry<'a>> {
        if self.at >= self.codes.end() {
            return None;
        }
        let entry = Entry::read(self.codes, &self.head, self.id, self.at);
        self.at = entry.end();
        Some(entry)
    }
}

/// The entries of a node, the last one first, dead ones too.
#[derive(Debug, Clone)]
pub(super) struct Backward<'a> {
    codes: Codes<'a>,
    head: Head,
    id: StreamId,
    left: Left,
}

/// What is yet to be read backwards.
#[derive(Debug, Clone)]
enum Left {
    /// What lies before a place of a listpack.
    Before(usize),
    /// Entries at these places of a stripped node, which are found from its start.
    At(Vec<u32>),
}

impl<'a> Iterator for Backward<'a> {
    type Item = Entry<'a>;

    #[inline]
    fn next(&mut self) -> Option<Entry<'a>> {
        let at = match &mut self.left {
            Left::Before(end) => {
                *end = entry_before(self.codes, *end)?;
                *end
            }
            Left::At(places) => places.pop()? as usize,
        };
        Some(Entry::read(self.codes, &self.head, self.id, at))
    }
}

/// Where the entry begins that ends at a place of a listpack.
#[inline]
fn entry_before(codes: Codes<'_>, end: usize) -> Option<usize> {
    let mut at = back(codes.bytes, end);
    let (elements, _) = codes.number(at);
    if elements == 0 {
        // What stands before the entries ends with a zero.
        return None;
    }
    for _ in 0..elements {
        at = back(codes.bytes, at);
    }
    Some(at)
}

/// The fields of an entry that is to be added.
pub trait Fields<'a>: Iterator<Item = &'a [u8]> + Clone {}

impl<'a, I: Iterator<Item = &'a [u8]> + Clone> Fields<'a> for I {}

impl Node {
    /// A node without entries, for those of such fields: names and values in turn.
    pub(super) fn new<'a>(texts: impl Fields<'a>) -> Node {
        let mut listpack = vec![0; HEAD_BYTES];
        let names = texts.step_by(2);
        let fields = names.clone().count();
        listpack::push_number(&mut listpack, 0);
        listpack::push_number(&mut listpack, 0);
        listpack::push_number(&mut listpack, fields as i64);
        names.for_each(|name| listpack::push(&mut listpack, Item::of(name)));
        listpack::push_number(&mut listpack, 0);
        listpack.push(listpack::END);
        let head = listpack::head(listpack.len(), Some(fields + 4));
        listpack[..HEAD_BYTES].copy_from_slice(&head);
        Node::of(&listpack)
    }

    /// A node of a listpack that was checked.
    pub(super) fn of(listpack: &[u8]) -> Node {
        Node { bytes: listpack.to_vec(), listpack_bytes: None }
    }

    /// What it has, to be read.
    #[inline]
    pub(super) fn codes(&self) -> Codes<'_> {
        match self.listpack_bytes {
            None => Codes::whole(&self.bytes),
            Some(_) => Codes::stripped(&self.bytes),
        }
    }

    /// Puts bytes in the place of others, and moves what follows.
    fn replace(&mut self, range: Range<usize>, with: &[u8]) {
        if range.len() == with.len() {
            return self.bytes[range].copy_from_slice(with);
        }
        self.make_room((self.bytes.len() + with.len()).saturating_sub(range.len()));
        self.bytes.splice(range, with.iter().copied());
    }

    /// Makes room for so many bytes in all.
    fn make_room(&mut self, bytes: usize) {
        assert!(bytes <= BYTES_MAX, "callers give up before a node gets this long");
        if bytes > self.bytes.capacity() {
            self.bytes.reserve_exact(size_class(bytes) - self.bytes.len());
        }
    }

    /// How many entries there are, live and dead.
    pub(super) fn counts(&self) -> [usize; 2] {
        let Head { live, dead, .. } = Head::of(self.codes());
        [live, dead]
    }

    /// The entries in order, dead ones too. `id` is the node's own.
    #[inline]
    pub(super) fn forward(&self, id: StreamId) -> Forward<'_> {
        let codes = self.codes();
        let head = Head::of(codes);
        Forward { codes, head, id, at: head.entries_at(codes) }
    }

    /// The entries in order, at least from the first one behind which no live one lies before
    /// an id: found from the end, for who reads what came last.
    pub(super) fn forward_from(&self, node: StreamId, id: StreamId) -> Forward<'_> {
        let codes = self.codes();
        if codes.is_stripped() {
            return self.forward(node);
        }
        let mut before = self.backward(node, StreamId::MAX);
        let mut start = codes.end();
        for entry in before.by_ref() {
            if !entry.is_dead() && entry.id < id {
                break;
            }
            start = entry.at;
        }
        Forward { codes, head: before.head, id: node, at: start }
    }

    /// The entries, the last one first, dead ones too. Of those behind `last` live ones may be
    /// left out.
    #[inline]
    pub(super) fn backward(&self, id: StreamId, last: StreamId) -> Backward<'_> {
        let codes = self.codes();
        let left = match codes.is_stripped() {
            false => Left::Before(codes.end()),
            true => {
                let entries = self.forward(id).take_while(|entry| entry.id <= last);
                Left::At(entries.map(|entry| entry.at as u32).collect())
            }
        };
        Backward { codes, head: Head::of(codes), id, left }
    }

    /// Adds an entry behind all others: names and values in turn.
    ///
    /// # Panics
    /// If the node would be longer than `BYTES_MAX`.
    pub(super) fn append<'a>(&mut self, node: StreamId, id: StreamId, texts: impl Fields<'a>) {
        self.complete();
        let codes = self.codes();
        let head = Head::of(codes);
        let is_same = has_fields(codes, &head, texts.clone().step_by(2));
        let (low, high) = texts.size_hint();
        let mut entry = Vec::with_capacity(ENTRY_BYTES_EXPECTED + 16 * high.unwrap_or(low));
        let flags = if is_same { SAME_FIELDS } else { 0 };
        listpack::push_number(&mut entry, flags.into());
        listpack::push_number(&mut entry, id.ms.wrapping_sub(node.ms).cast_signed());
        listpack::push_number(&mut entry, id.seq.wrapping_sub(node.seq).cast_signed());
        let mut elements = FIXED_ELEMENTS;
        if is_same {
            for value in texts.skip(1).step_by(2) {
                listpack::push(&mut entry, Item::of(value));
                elements += 1;
            }
        } else {
            let count = texts.clone().count();
            listpack::push_number(&mut entry, (count / 2) as i64);
            texts.for_each(|text| listpack::push(&mut entry, Item::of(text)));
            elements += count + 1;
        }
        listpack::push_number(&mut entry, elements as i64);
        entry.push(listpack::END);
        self.make_room(self.bytes.len() + entry.len());
        // In place of the end.
        self.bytes.pop();
        self.bytes.extend_from_slice(&entry);
        self.set_counts(&head, [head.live + 1, head.dead]);
        self.finish(|before| before + elements + 1);
    }

    /// Takes the last entry out again, which is live. The node may be left without any.
    pub(super) fn take_last(&mut self) {
        self.complete();
        let codes = self.codes();
        let (head, end) = (Head::of(codes), codes.end());
        let at = entry_before(codes, end).expect("a node has entries");
        let (elements, _) = codes.number(back(codes.bytes, end));
        self.replace(at..end, &[]);
        self.set_counts(&head, [head.live - 1, head.dead]);
        self.finish(|before| before - elements as usize - 1);
    }

    /// Marks live entries as removed while `is_wanted` says so of them, from the first one
    /// on; returns how many.
    pub(super) fn kill_while(
        &mut self,
        id: StreamId,
        mut is_wanted: impl FnMut(&Entry<'_>) -> bool,
    ) -> usize {
        let entries = self.forward(id).take_while(|entry| is_wanted(entry));
        let mut places: Vec<usize> =
            entries.filter(|entry| !entry.is_dead()).map(|entry| entry.at).collect();
        if places.is_empty() {
            return 0;
        }
        if self.codes().is_stripped() {
            // All entries are live: these are the first ones.
            self.complete();
            places = self.forward(id).take(places.len()).map(|entry| entry.at).collect();
        }
        self.set_dead(&places);
        places.len()
    }

    /// Marks the live entry of an id as removed; whether there is one.
    pub(super) fn kill(&mut self, node: StreamId, id: StreamId) -> bool {
        self.complete();
        let Some(at) = self.find(node, id).map(|entry| entry.at) else { return false };
        self.set_dead(&[at]);
        true
    }

    fn set_dead(&mut self, places: &[usize]) {
        for at in places {
            // The lowest byte of a number stands first, behind the byte that says its form, if
            // there is one.
            let is_longer = self.bytes[*at] > listpack::BYTE_MAX;
            self.bytes[at + usize::from(is_longer)] |= DEAD;
        }
        let head = Head::of(self.codes());
        self.set_counts(&head, [head.live - places.len(), head.dead + places.len()]);
        self.finish(|before| before);
    }

    /// The live entry of an id.
    pub(super) fn find(&self, node: StreamId, id: StreamId) -> Option<Entry<'_>> {
        self.forward(node).find(|entry| entry.id == id && !entry.is_dead())
    }

    fn set_counts(&mut self, head: &Head, [live, dead]: [usize; 2]) {
        let (live, live_bytes) = listpack::number_code(live as i64);
        let (dead, dead_bytes) = listpack::number_code(dead as i64);
        let mut counts = [0; 2 * listpack::NUMBER_BYTES_MAX];
        counts[..live_bytes].copy_from_slice(&live[..live_bytes]);
        counts[live_bytes..live_bytes + dead_bytes].copy_from_slice(&dead[..dead_bytes]);
        self.replace(HEAD_BYTES..head.counts_end, &counts[..live_bytes + dead_bytes]);
    }

    /// Brings the head of the listpack up to date.
    fn finish(&mut self, elements: impl FnOnce(usize) -> usize) {
        let elements = listpack::elements(&self.bytes).map(elements);
        let head = listpack::head(self.bytes.len(), elements);
        self.bytes[..HEAD_BYTES].copy_from_slice(&head);
    }
}

/// Room that an entry gets before its values.
const ENTRY_BYTES_EXPECTED: usize = 32;

/// Whether these are the names of a node's fields.
#[inline]
fn has_fields<'a>(codes: Codes<'_>, head: &Head, names: impl Iterator<Item = &'a [u8]>) -> bool {
    let (mut at, mut left) = (head.names_at, head.fields);
    for name in names {
        if left == 0 {
            return false;
        }
        let (known, next) = codes.read(at);
        let is_it = match known {
            Item::Bytes(known) => known == name,
            known => known == Item::of(name),
        };
        if !is_it {
            return false;
        }
        (at, left) = (next, left - 1);
    }
    left == 0
}

impl HeapBytes for Node {
    fn heap_bytes(&self) -> usize {
        size_class(self.bytes.capacity())
    }
}

impl Leaf for Node {
    fn counts(&self) -> [usize; 2] {
        Node::counts(self)
    }

    fn moved(&self) -> Node {
        let mut bytes = Vec::with_capacity(self.bytes.capacity());
        bytes.extend_from_slice(&self.bytes);
        Node { bytes, ..*self }
    }
}
