//! Packing the rows of one declared key.
//!
//! Owns the body of a packed row (drawn in `lib`) and the words of its table. Which
//! words a body names is counted, so a body that is thrown away must be released.
//! A packer works with the words it has: a body is read by the packer that made it.

use crate::atom::{self, PLACEHOLDERS_MAX};
use crate::reader::{Broken, Reader, push_varint};
use crate::sink::{Comparison, Sink};
use crate::skeleton::{self, Parts};
use crate::words::{NO_NUMBER, SKELETON_BYTES_MAX, Words};
use keyward_schema::{
    Content, DataType, Element, Extra, Kind, Object, Pattern, Shape, Type, Values,
};

const TEXT: u8 = 0;
const JSON: u8 = 1;
const FIELDS: u8 = 2;
const PAIRS: u8 = 3;
const ITEMS: u8 = 4;

/// Skeletons that JSON is first tried with.
const SKELETONS: usize = 4;

/// Packs and unpacks the rows of one declared key.
#[derive(Debug)]
pub struct Packer {
    pattern: Pattern,
    content: Content,
    words: Words,
    /// JSON that is being taken apart.
    parts: Parts,
    /// The skeletons that came last, the last one first. Some may be gone, or words of
    /// another kind by now: what is taken apart by one is compared all the same.
    skeletons: [u32; SKELETONS],
    /// Words of a body that is being released.
    named: Vec<u32>,
}

/// What a key holds in the place of each placeholder.
struct Places<'a>(Values<'a>);

impl<'a> Places<'a> {
    fn all(&self) -> &[&'a [u8]] {
        &self.0
    }

    /// Those that a value can refer to.
    fn named(&self) -> &[&'a [u8]] {
        &self.0[..self.0.len().min(PLACEHOLDERS_MAX)]
    }
}

impl Packer {
    /// A packer for the rows of a key; none if its rows are not worth it: there is at
    /// most one, or they are collections other than hashes and lists. The numbers choose
    /// the hash function of words.
    pub fn new(key: &keyward_schema::Key, hash_keys: [u64; 2]) -> Option<Packer> {
        let is_packed = match &key.content {
            Content::Value(_) | Content::Json(_) | Content::Fields(_) => true,
            Content::Items(_) => key.data == DataType::List,
            Content::Scored { .. } | Content::Entries(_) | Content::Opaque => false,
        };
        if key.pattern.placeholders().is_empty() || !is_packed {
            return None;
        }
        let mut words = Words::new(hash_keys);
        for placeholder in key.pattern.placeholders() {
            pin_kind(&placeholder.kind, &mut words);
        }
        match &key.content {
            Content::Value(shape) | Content::Json(shape) | Content::Items(shape) => {
                pin_shape(shape, &mut words);
            }
            Content::Fields(object) => pin_object(object, &mut words),
            _ => {}
        }
        let (pattern, content) = (key.pattern.clone(), key.content.clone());
        let (parts, skeletons) = (Parts::default(), [NO_NUMBER; SKELETONS]);
        Some(Packer { pattern, content, words, parts, skeletons, named: Vec::new() })
    }

    /// Appends the body of a row that holds a text; whether it comes back from there.
    /// If not, which no text is known to do, nothing is appended.
    pub fn pack_text(&mut self, key: &[u8], text: &[u8], out: &mut Vec<u8>) -> bool {
        let Some(places) = self.places(key) else { return false };
        let start = out.len();
        self.words.begin_row(key);
        self.pack_key(&places, out);
        let value_at = out.len();
        self.pack_value(text, &places, out);
        let is_same = self.comes_back(Reader::new(&out[value_at..]), text, &places);
        self.keep_if(is_same.unwrap_or(false), key, start, out)
    }

    fn pack_value(&mut self, text: &[u8], places: &Places<'_>, out: &mut Vec<u8>) {
        let Some(word) = self.hold_skeleton(text) else {
            out.push(TEXT);
            return atom::pack(text, places.named(), &mut self.words, out);
        };
        out.push(JSON);
        atom::push_word(word, out);
        for hole in &self.parts.holes {
            atom::pack(&text[hole.clone()], places.named(), &mut self.words, out);
        }
    }

    /// Whether a value that was just packed comes back as this text. What lies between the
    /// holes of JSON was compared with its skeleton when it was taken apart.
    fn comes_back(
        &self,
        mut packed: Reader<'_>,
        text: &[u8],
        places: &Places<'_>,
    ) -> Result<bool, Broken> {
        let place = |index: usize| places.named().get(index).copied();
        let is_atom = |packed: &mut Reader<'_>, expected: &[u8]| {
            let mut comparison = Comparison::with(expected);
            atom::unpack(packed, &place, &self.words, &mut comparison)?;
            Ok(comparison.is_equal())
        };
        if packed.byte()? == TEXT {
            return is_atom(&mut packed, text);
        }
        atom::word(&mut packed)?;
        for hole in &self.parts.holes {
            if !is_atom(&mut packed, &text[hole.clone()])? {
                return Ok(false);
            }
        }
        Ok(packed.left().is_empty())
    }

    /// Takes JSON apart; returns the number of its skeleton if that is a word.
    fn hold_skeleton(&mut self, text: &[u8]) -> Option<u32> {
        let shape = shape_of_json(&self.content)?;
        let (words, parts) = (&self.words, &mut self.parts);
        let is_like = |number: &u32| {
            words.text(*number).is_some_and(|skeleton| parts.take_apart_like(text, skeleton))
        };
        let (number, place) = match self.skeletons.iter().position(is_like) {
            Some(place) => (self.words.use_again(self.skeletons[place])?, place),
            None if !self.parts.take_apart(text, shape) || !self.parts.gives_back(text) => {
                return None;
            }
            None => (self.words.hold(&self.parts.skeleton)?, self.skeletons.len() - 1),
        };
        self.skeletons[place] = number;
        self.skeletons[..=place].rotate_right(1);
        Some(number)
    }

    /// Appends the body of a row that holds a hash of these fields, as `pack_text`
    /// does.
    pub fn pack_fields(
        &mut self,
        key: &[u8],
        fields: &[(&[u8], &[u8])],
        out: &mut Vec<u8>,
    ) -> bool {
        let Some(places) = self.places(key) else { return false };
        let start = out.len();
        self.words.begin_row(key);
        self.pack_key(&places, out);
        let mut expected = 0;
        let mut is_declared = |name: &[u8]| match &self.content {
            Content::Fields(object) => skeleton::field(object, name, &mut expected).is_some(),
            _ => false,
        };
        self.parts.skeleton.clear();
        for (name, _) in fields {
            skeleton::push_name(&mut self.parts.skeleton, is_declared(name).then_some(name));
        }
        let is_short = self.parts.skeleton.len() < SKELETON_BYTES_MAX;
        let skeleton = is_short.then(|| self.words.hold(&self.parts.skeleton)).flatten();
        match skeleton {
            Some(word) => {
                out.push(FIELDS);
                atom::push_word(word, out);
            }
            None => {
                out.push(PAIRS);
                push_varint(out, fields.len() as u64);
            }
        }
        for (name, value) in fields {
            if skeleton.is_none() || !is_declared(name) {
                atom::pack(name, places.named(), &mut self.words, out);
            }
            atom::pack(value, places.named(), &mut self.words, out);
        }
        let mut left = fields.iter();
        let mut is_same = true;
        let read = self.unpack_fields(&out[start..], key, |name, value| {
            is_same &= left.next() == Some(&(name, value));
        });
        let is_same = read.is_ok() && is_same && left.next().is_none();
        self.keep_if(is_same, key, start, out)
    }

    /// Appends the body of a row that holds a list of these items, as `pack_text` does.
    pub fn pack_items(&mut self, key: &[u8], items: &[&[u8]], out: &mut Vec<u8>) -> bool {
        let Some(places) = self.places(key) else { return false };
        let start = out.len();
        self.words.begin_row(key);
        self.pack_key(&places, out);
        out.push(ITEMS);
        push_varint(out, items.len() as u64);
        items.iter().for_each(|item| self.pack_value(item, &places, out));
        let mut left = items.iter();
        let mut is_same = true;
        let read = self.unpack_items(&out[start..], key, |item| {
            is_same &= left.next().is_some_and(|expected| *expected == item);
        });
        let is_same = read.is_ok() && is_same && left.next().is_none();
        self.keep_if(is_same, key, start, out)
    }

    /// Takes a body back whose key or value does not come back.
    fn keep_if(&mut self, is_same: bool, key: &[u8], start: usize, out: &mut Vec<u8>) -> bool {
        let is_kept = is_same && self.has_key(&out[start..], key);
        if !is_kept {
            self.release(&out[start..]);
            out.truncate(start);
        }
        is_kept
    }

    /// Hands over the key of a body.
    ///
    /// # Errors
    /// The body is none that this packer made.
    #[inline]
    pub fn unpack_key(&self, body: &[u8], sink: &mut impl Sink) -> Result<(), Broken> {
        self.read_key(body, sink).map(|_| ())
    }

    /// Whether a body is that of this key.
    #[inline]
    pub fn has_key(&self, body: &[u8], key: &[u8]) -> bool {
        let mut comparison = Comparison::with(key);
        self.read_key(body, &mut comparison).is_ok() && comparison.is_equal()
    }

    /// Hands over the text of a body of this key.
    ///
    /// # Errors
    /// The body is none that this packer made of a text.
    pub fn unpack_text(&self, body: &[u8], key: &[u8], sink: &mut impl Sink) -> Result<(), Broken> {
        let mut value = self.skip_key(body, &mut |_| ())?;
        self.read_text(&mut value, &|index| self.place(key, index), sink)
    }

    /// Shows the fields and values of a body of this key, in order.
    ///
    /// # Errors
    /// The body is none that this packer made of a hash.
    pub fn unpack_fields(
        &self,
        body: &[u8],
        key: &[u8],
        mut visit: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), Broken> {
        let mut packed = self.skip_key(body, &mut |_| ())?;
        let place = |index| self.place(key, index);
        let mut buffers = [Vec::new(), Vec::new()];
        let mut pair = |name: Option<&[u8]>, packed: &mut Reader<'_>| {
            let [name_buffer, value] = &mut buffers;
            value.clear();
            let name = match name {
                Some(name) => name,
                None => {
                    name_buffer.clear();
                    atom::unpack(packed, &place, &self.words, name_buffer)?;
                    name_buffer
                }
            };
            atom::unpack(packed, &place, &self.words, value)?;
            visit(name, value);
            Ok(())
        };
        match packed.byte()? {
            FIELDS => {
                let skeleton = self.words.text(atom::word(&mut packed)?).ok_or(Broken)?;
                skeleton::each_name(skeleton, |name| pair(name, &mut packed))
            }
            PAIRS => (0..packed.varint()?).try_for_each(|_| pair(None, &mut packed)),
            _ => Err(Broken),
        }
    }

    /// Shows the items of a body of this key, in order.
    ///
    /// # Errors
    /// The body is none that this packer made of a list.
    pub fn unpack_items(
        &self,
        body: &[u8],
        key: &[u8],
        mut visit: impl FnMut(&[u8]),
    ) -> Result<(), Broken> {
        let mut packed = self.skip_key(body, &mut |_| ())?;
        if packed.byte()? != ITEMS {
            return Err(Broken);
        }
        let places = self.places(key).ok_or(Broken)?;
        let place = |index: usize| places.named().get(index).copied();
        let mut item = Vec::new();
        for _ in 0..packed.varint()? {
            item.clear();
            self.read_text(&mut packed, &place, &mut item)?;
            visit(&item);
        }
        Ok(())
    }

    /// Forgets that a body named its words.
    pub fn release(&mut self, body: &[u8]) {
        let mut named = std::mem::take(&mut self.named);
        if self.each_word(body, &mut |word| named.push(word)).is_ok() {
            named.iter().for_each(|word| self.words.release(*word));
        }
        named.clear();
        self.named = named;
    }

    /// Frees about `budget` words; returns how many. This is not to be used any more.
    pub fn shed(&mut self, budget: usize) -> usize {
        self.words.shed(budget)
    }

    /// How many words the table has.
    pub fn words(&self) -> usize {
        self.words.len()
    }

    /// Bytes of the words.
    pub fn heap_bytes(&self) -> usize {
        self.words.heap_bytes()
    }

    /// What a key holds in the place of each placeholder.
    fn places<'k>(&self, key: &'k [u8]) -> Option<Places<'k>> {
        self.pattern.split(key).map(Places)
    }

    /// What a key holds in the place of this placeholder, if a value can refer to it.
    fn place<'k>(&self, key: &'k [u8], index: usize) -> Option<&'k [u8]> {
        self.places(key)?.named().get(index).copied()
    }

    fn pack_key(&mut self, places: &Places<'_>, out: &mut Vec<u8>) {
        for text in places.all() {
            atom::pack(text, &[], &mut self.words, out);
        }
    }

    #[inline]
    fn read_key<'a>(&self, body: &'a [u8], sink: &mut impl Sink) -> Result<Reader<'a>, Broken> {
        let mut packed = Reader::new(body);
        for element in self.pattern.elements() {
            match element {
                Element::Literal(literal) => sink.put(literal.as_bytes()),
                Element::Placeholder(_) => {
                    atom::unpack(&mut packed, &|_| None, &self.words, sink)?;
                }
            }
        }
        Ok(packed)
    }

    fn skip_key<'a>(
        &self,
        body: &'a [u8],
        word: &mut impl FnMut(u32),
    ) -> Result<Reader<'a>, Broken> {
        let mut packed = Reader::new(body);
        for _ in self.pattern.placeholders() {
            atom::skip(&mut packed, word)?;
        }
        Ok(packed)
    }

    fn read_text<'k>(
        &self,
        packed: &mut Reader<'_>,
        place: &impl Fn(usize) -> Option<&'k [u8]>,
        sink: &mut impl Sink,
    ) -> Result<(), Broken> {
        match packed.byte()? {
            TEXT => atom::unpack(packed, place, &self.words, sink),
            JSON => {
                let skeleton = self.words.text(atom::word(packed)?).ok_or(Broken)?;
                skeleton::put_together(skeleton, sink, |sink| {
                    atom::unpack(packed, place, &self.words, sink)
                })
            }
            _ => Err(Broken),
        }
    }

    /// Shows the words that a body names.
    fn each_word(&self, body: &[u8], word: &mut impl FnMut(u32)) -> Result<(), Broken> {
        let mut packed = self.skip_key(body, word)?;
        let atoms = match packed.byte()? {
            form @ (TEXT | JSON) => self.atoms_of_text(form, &mut packed, word)?,
            ITEMS => {
                for _ in 0..packed.varint()? {
                    let form = packed.byte()?;
                    let atoms = self.atoms_of_text(form, &mut packed, word)?;
                    (0..atoms).try_for_each(|_| atom::skip(&mut packed, word))?;
                }
                0
            }
            FIELDS => {
                let number = atom::word(&mut packed)?;
                word(number);
                let mut atoms = 0;
                skeleton::each_name(self.words.text(number).ok_or(Broken)?, |name| {
                    atoms += if name.is_some() { 1 } else { 2 };
                    Ok(())
                })?;
                atoms
            }
            PAIRS => usize::try_from(packed.varint()?).map_err(|_| Broken)?.saturating_mul(2),
            _ => return Err(Broken),
        };
        (0..atoms).try_for_each(|_| atom::skip(&mut packed, word))
    }

    /// How many atoms a text of this form has; shows its skeleton, if that is a word.
    fn atoms_of_text(
        &self,
        form: u8,
        packed: &mut Reader<'_>,
        word: &mut impl FnMut(u32),
    ) -> Result<usize, Broken> {
        match form {
            TEXT => Ok(1),
            JSON => {
                let number = atom::word(packed)?;
                word(number);
                Ok(skeleton::holes(self.words.text(number).ok_or(Broken)?))
            }
            _ => Err(Broken),
        }
    }
}

/// The shape of values that are JSON, if they are.
fn shape_of_json(content: &Content) -> Option<&Shape> {
    match content {
        Content::Json(shape) => Some(shape),
        Content::Items(shape) => match shape.ty {
            Type::Object(_) | Type::Array(_) | Type::Map { .. } | Type::Json => Some(shape),
            _ => None,
        },
        _ => None,
    }
}

/// Makes the words that a shape spells out words of the table.
fn pin_shape(shape: &Shape, words: &mut Words) {
    match &shape.ty {
        Type::Kind(kind) => pin_kind(kind, words),
        Type::Array(item) => pin_shape(item, words),
        Type::Map { key, value } => {
            if let Type::Kind(kind) = &**key {
                pin_kind(kind, words);
            }
            pin_shape(value, words);
        }
        Type::Object(object) => pin_object(object, words),
        _ => {}
    }
}

fn pin_object(object: &Object, words: &mut Words) {
    object.fields.iter().for_each(|field| pin_shape(&field.shape, words));
    if let Extra::Typed(shape) = &object.extra {
        pin_shape(shape, words);
    }
}

fn pin_kind(kind: &Kind, words: &mut Words) {
    kind.words().iter().for_each(|word| words.pin(word.as_bytes()));
}

#[cfg(test)]
mod tests;
