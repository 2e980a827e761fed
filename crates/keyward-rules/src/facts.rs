//! What a row says: the values of its declared fields, as text.
//!
//! Owns the reading of fields out of hashes and JSON, for a row as it is and for
//! a row as it was before a command. Invariant: reading never judges. A row that
//! does not fit its shape (it was written before the schema changed, or in warn
//! mode) still says what its fields hold, as far as they can be made out; JSON's
//! `null` says nothing.
//! Not here: whether a value fits (`keyward_schema`'s shapes).

use std::borrow::Cow;
use std::ops::ControlFlow;

use crate::change::{Change, Part, What};
use crate::view::Row;
use keyward_schema::{Content, Extra, JsonField, Object, Shape, Type};

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
            Content::Items(_) | Content::Scored { .. } | Content::Entries(_) | Content::Opaque => {
                Reading::Nothing
            }
        }
    }
}

/// The object with the same names that accepts any value of any field.
fn open(object: &Object) -> Object {
    let mut open = object.clone();
    open.extra = Extra::Allow;
    open.checks.clear();
    for field in &mut open.fields {
        field.required = false;
        field.same = None;
        field.shape = Shape::of(Type::Json);
    }
    open
}

/// A row at one moment.
#[derive(Clone, Copy)]
pub(crate) enum Moment<'a> {
    /// As it is.
    Now(&'a dyn Row),
    /// As it is, which is known to fit its table.
    Fitting(&'a dyn Row),
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
            Moment::Now(row) | Moment::Fitting(row) => row.text(),
            // Strings change as a whole.
            Moment::Before(..) => None,
        }
    }

    fn field(self, name: &[u8]) -> Option<Cow<'a, [u8]>> {
        match self {
            Moment::Now(row) | Moment::Fitting(row) => row.field(name),
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
    /// Reads those fields of a row whose indices `wanted` names, each once, and tells them.
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
                    let is_fitting = matches!(row, Moment::Fitting(_));
                    match read_json(object, wanted, &text, is_fitting) {
                        Some(fields) => told(&Facts { text: Some(&text), fields }),
                        None => told(&nothing),
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

/// The wanted fields of JSON, by their index; none if it is no object. One that is known to
/// fit is read no further than needed.
fn read_json<'t>(
    object: &Object,
    wanted: &[usize],
    text: &'t [u8],
    is_fitting: bool,
) -> Option<Vec<Option<Cow<'t, [u8]>>>> {
    let mut fields = vec![None; object.fields.len()];
    let mut left = wanted.len();
    let mut take = |field: JsonField<'t>| {
        if wanted.contains(&field.index) {
            left -= 1;
            fields[field.index] = (field.raw != b"null").then(|| field.text());
        }
        if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    if is_fitting {
        object.fields_of_fitting(text, take);
    } else {
        object.check_json(text, |field| _ = take(field)).ok()?;
    }
    Some(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_says_the_same_when_it_is_read_as_far_as_needed() {
        let file = b"[keyspace]\nname = \"x\"\n[key.\"a:{id}\"]\ntype = \"json\"\nttl = \"none\"\nextra = \"allow\"\nfields = { status = \"str?\", size = \"int?\", on = \"bool?\" }\n";
        let schema = keyward_schema::check("x", file).schema.expect("a sound schema");
        let Reading::Json(object) = Reading::of(&schema.keys[0].content) else { panic!("JSON") };
        let texts = [
            r#"{}"#,
            r#"{"status":"new","size":1,"on":true}"#,
            r#" { "on" : false , "other" : {"status":"inner","a":[1,{"size":2}]} , "status" : "x y" } "#,
            r#"{"size":null,"status":"a\"b\u0041"}"#,
            r#"{"st\u0061tus":"named by an escape","s":"}{"}"#,
            r#"{"other":"status","status":""}"#,
            "{\"status\":\"caf\u{e9}\",\"size\":-12}",
        ];
        for text in texts {
            for wanted in [&[][..], &[0], &[1], &[0, 2], &[0, 1, 2]] {
                let read = |is_fitting| read_json(&object, wanted, text.as_bytes(), is_fitting);
                assert_eq!(read(true), read(false), "{wanted:?} of {text}");
                assert!(read(false).is_some(), "{text}");
            }
        }
    }
}
