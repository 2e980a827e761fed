//! What a row says: the values of its declared fields, as text.
//!
//! Owns the reading of fields out of hashes and JSON, for a row as it is and for
//! a row as it was before a command. Invariant: reading never judges. A row that
//! does not fit its shape (it was written before the schema changed, or in warn
//! mode) still says what its fields hold, as far as they can be made out; JSON's
//! `null` says nothing.
//! Not here: whether a value fits (`keyward_schema`'s shapes).

use std::borrow::Cow;

use crate::change::{Change, Part, What};
use crate::view::Row;
use keyward_schema::{Content, Extra, Object, Shape, Type};

/// Where a table keeps what its rows say.
#[derive(Debug)]
pub(crate) enum Reading {
    /// In its text as a whole.
    Text,
    /// In the fields of JSON; the object accepts any object with these fields.
    Json(Object),
    /// In the fields of a hash.
    Hash(Vec<Box<str>>),
    /// Nowhere.
    Nothing,
}

impl Reading {
    /// How to read rows of this content.
    pub(crate) fn of(content: &Content) -> Reading {
        match content {
            Content::Value(_) => Reading::Text,
            Content::Json(shape) => {
                shape.object().map_or(Reading::Nothing, |object| Reading::Json(open(object)))
            }
            Content::Fields(object) => {
                Reading::Hash(object.fields.iter().map(|field| field.name.clone()).collect())
            }
            Content::Items(_) | Content::Scored { .. } | Content::Opaque => Reading::Nothing,
        }
    }
}

/// The object with the same names that accepts any value of any field.
fn open(object: &Object) -> Object {
    let mut open = object.clone();
    open.extra = Extra::Allow;
    for field in &mut open.fields {
        field.required = false;
        field.shape = Shape::of(Type::Json);
    }
    open
}

/// A row at one moment.
#[derive(Clone, Copy)]
pub(crate) enum Moment<'a> {
    /// As it is.
    Now(&'a dyn Row),
    /// As it was before these changes led to what is now.
    Before(&'a [Part<'a>], Option<&'a dyn Row>),
}

impl<'a> Moment<'a> {
    /// A row as it was before a change, if it was there.
    pub(crate) fn before(change: &Change<'a>) -> Option<Moment<'a>> {
        change.deadline_before?;
        match change.what {
            What::Whole(before) => before.map(Moment::Now),
            What::Parts(parts) => Some(Moment::Before(parts, change.after)),
            What::Lifetime => change.after.map(Moment::Now),
        }
    }

    fn text(self) -> Option<Cow<'a, [u8]>> {
        match self {
            Moment::Now(row) => row.text(),
            // Strings change as a whole.
            Moment::Before(..) => None,
        }
    }

    fn field(self, name: &[u8]) -> Option<Cow<'a, [u8]>> {
        match self {
            Moment::Now(row) => row.field(name),
            Moment::Before(parts, now) => {
                let first = parts.iter().find_map(|part| match part {
                    Part::Field { name: changed, before, .. } if *changed == name => Some(*before),
                    _ => None,
                });
                match first {
                    Some(before) => before.map(Cow::Borrowed),
                    None => now.and_then(|row| row.field(name)),
                }
            }
        }
    }
}

/// What a row says.
pub(crate) struct Facts<'t> {
    text: Option<&'t [u8]>,
    /// By the index of the field; empty where the table has none.
    fields: Vec<Option<Cow<'t, [u8]>>>,
}

impl Facts<'_> {
    /// Reads those fields of a row whose indices `wanted` names, and tells them.
    pub(crate) fn tell<T>(
        reading: &Reading,
        wanted: &[usize],
        row: Moment<'_>,
        told: impl FnOnce(&Facts<'_>) -> T,
    ) -> T {
        let nothing = Facts { text: None, fields: Vec::new() };
        match reading {
            Reading::Nothing => told(&nothing),
            Reading::Hash(names) => {
                let mut fields = vec![None; names.len()];
                for &index in wanted {
                    fields[index] = row.field(names[index].as_bytes());
                }
                told(&Facts { text: None, fields })
            }
            Reading::Text => match row.text() {
                Some(text) => told(&Facts { text: Some(&text), fields: Vec::new() }),
                None => told(&nothing),
            },
            Reading::Json(object) => match row.text() {
                Some(text) => {
                    let mut fields = vec![None; object.fields.len()];
                    // What is not an object of JSON says nothing.
                    let read = object.check_json(&text, |field| {
                        if wanted.contains(&field.index) && field.raw != b"null" {
                            fields[field.index] = Some(field.text());
                        }
                    });
                    match read {
                        Ok(()) => told(&Facts { text: Some(&text), fields }),
                        Err(_) => told(&nothing),
                    }
                }
                None => told(&nothing),
            },
        }
    }

    /// A field, if the row has it.
    pub(crate) fn field(&self, index: usize) -> Option<&[u8]> {
        self.fields.get(index)?.as_deref()
    }

    /// The whole text of a string.
    pub(crate) fn text(&self) -> Option<&[u8]> {
        self.text
    }
}
