//! Hashes: fields to values.
//!
//! Owns the compact and the indexed form, and the switch between them: fields and
//! values in turn, one behind the other in one run of bytes (`packed`) while small,
//! an index when large (`indexed`). The settings `hash-max-listpack-entries` and
//! `-value` draw the line, as in Redis, and the switch is one-way.
//!
//! Estimate: ten fields of 6 bytes with values of 10 take 188 bytes in one
//! allocation (Redis: 207).
//!
//! Invariants: fields are unique; in the compact form they are in the order they
//! came. An empty hash never stays in a row (`keyspace::edit` removes it).
//! Not here: the commands (`commands::hash` of the engine), shapes (`keyward-rules`).

pub mod indexed;
pub mod iter;
#[cfg(test)]
mod tests;

pub use iter::Iter;

use crate::values::hasher::KeyHasher;
use crate::values::packed::{self, Code, Item};
use crate::values::packed_limits::PackedLimits;
use crate::values::random::Random;
use crate::values::thin::{self, Form, FormMut, ThinBytes, ThinOr, thin_head};
use indexed::Indexed;
use std::ops::Range;

/// A field and its value.
pub type Pair<'a> = (Item<'a>, Item<'a>);

/// Items of a pair.
const STRIDE: usize = 2;

/// When a hash stops being packed, and what it then needs.
#[derive(Debug, Clone, Copy)]
pub struct Growth {
    /// The most fields a packed hash has.
    pub(crate) packed_fields_max: usize,
    /// The longest field and the longest value a packed hash has.
    pub(crate) packed_text_bytes_max: usize,
    /// The hash function of fields.
    pub hasher: KeyHasher,
}

impl Growth {
    /// As the settings have it.
    pub fn of(limits: &PackedLimits, hasher: KeyHasher) -> Growth {
        Growth {
            packed_fields_max: limits.hash_fields_max,
            packed_text_bytes_max: limits.hash_text_bytes_max,
            hasher,
        }
    }

    /// Whether a packed hash may hold this text.
    fn admits(&self, text: Item<'_>) -> bool {
        text.text_bytes() <= self.packed_text_bytes_max
    }
}

/// A hash value.
#[derive(Clone, Default)]
pub struct Hash {
    word: ThinOr<Indexed>,
}

thin_head!(Hash);

impl Hash {
    /// The name `OBJECT ENCODING` returns.
    pub fn encoding(&self) -> &'static str {
        match self.word.form() {
            Form::Small(_) => "listpack",
            Form::Large(_) => "hashtable",
        }
    }

    /// Whether it is small enough to be packed.
    pub fn is_packed(&self) -> bool {
        matches!(self.word.form(), Form::Small(_))
    }

    /// The value of a field.
    #[inline]
    pub fn get(&self, field: Item<'_>) -> Option<Item<'_>> {
        match self.word.form() {
            Form::Small(run) => {
                let place = find(run, &Code::of(field))?;
                Some(packed::first(&run.bytes()[place.value]))
            }
            Form::Large(indexed) => indexed.get(field),
        }
    }

    /// The fields and values; in the order they came while the hash is small.
    pub fn iter(&self) -> Iter<'_> {
        match self.word.form() {
            Form::Small(run) => Iter::packed(run.bytes(), run.count()),
            Form::Large(indexed) => Iter::indexed(Box::new(indexed.iter()), indexed.len()),
        }
    }

    /// Gives a field a value; returns whether the field is new.
    pub fn set(&mut self, growth: &Growth, (field, value): Pair<'_>) -> bool {
        let run = match self.word.form_mut() {
            FormMut::Large(indexed) => return indexed.set(field, value),
            FormMut::Small(run) => run,
        };
        let codes = [Code::of(field), Code::of(value)];
        let has_room = run.len() + codes[0].len() + codes[1].len() <= thin::BYTES_MAX;
        if !(growth.admits(field) && growth.admits(value) && has_room) {
            return self.grow(growth.hasher).set(field, value);
        }
        let is_new = set_packed(run, codes);
        if run.count() > growth.packed_fields_max {
            self.grow(growth.hasher);
        }
        is_new
    }

    /// Takes a field out; returns whether it was there.
    pub fn remove(&mut self, field: Item<'_>) -> bool {
        match self.word.form_mut() {
            FormMut::Small(run) => {
                let Some(place) = find(run, &Code::of(field)) else { return false };
                let count = run.count();
                run.set_count(count - 1);
                run.remove(place.field_at..place.value.end);
                true
            }
            FormMut::Large(indexed) => indexed.remove(field),
        }
    }

    /// A field drawn by chance, with its value. The hash must not be empty.
    pub fn sample(&self, random: &mut Random) -> Pair<'_> {
        match self.word.form() {
            Form::Small(run) => {
                let index = random.below(run.count() as u64) as usize;
                let bytes = run.bytes();
                let field_at = packed::skip(bytes, 0, STRIDE * index);
                let value_at = packed::skip(bytes, field_at, 1);
                (packed::first(&bytes[field_at..]), packed::first(&bytes[value_at..]))
            }
            Form::Large(indexed) => indexed.sample(random),
        }
    }

    /// Visits some fields; returns the cursor for the next ones, zero at the end.
    /// What is there throughout a scan is visited at least once.
    pub fn scan<'a>(&'a self, cursor: u64, visit: impl FnMut(Pair<'a>)) -> u64 {
        match self.word.form() {
            Form::Small(_) => {
                self.iter().for_each(visit);
                0
            }
            Form::Large(indexed) => indexed.scan(cursor, visit),
        }
    }

    /// Moves the fields of a packed hash into an index.
    fn grow(&mut self, hasher: KeyHasher) -> &mut Indexed {
        let mut indexed = Indexed::new(hasher);
        for (field, value) in self.iter() {
            indexed.set(field, value);
        }
        self.word = ThinOr::large(indexed);
        match self.word.form_mut() {
            FormMut::Large(indexed) => indexed,
            FormMut::Small(_) => unreachable!("a large hash was just made"),
        }
    }
}

/// Where a field and its value are in a packed run.
struct Place {
    field_at: usize,
    value: Range<usize>,
}

#[inline]
fn find(run: &ThinBytes, field: &Code<'_>) -> Option<Place> {
    let bytes = run.bytes();
    let field_at = packed::find::<STRIDE>(bytes, field)?;
    let value_at = field_at + field.len();
    Some(Place { field_at, value: value_at..packed::skip(bytes, value_at, 1) })
}

/// Gives a field of a packed run a value, in its place or at the end; returns
/// whether the field is new.
fn set_packed(run: &mut ThinBytes, [field, value]: [Code<'_>; 2]) -> bool {
    if let Some(place) = find(run, &field) {
        value.write_to(run.replace(place.value, value.len()));
        return false;
    }
    let room = run.insert(run.len(), field.len() + value.len());
    value.write_to(field.write_to(room));
    run.set_count(run.count() + 1);
    true
}

impl std::fmt::Debug for Hash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown = |item: Item<'_>| item.text().as_bytes().escape_ascii().to_string();
        f.debug_map().entries(self.iter().map(|(f, v)| (shown(f), shown(v)))).finish()
    }
}
