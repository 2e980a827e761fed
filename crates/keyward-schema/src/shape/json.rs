//! Whether JSON fits a shape, in one pass and without a tree.
//!
//! The shape is walked along with the bytes: what the schema declares is
//! checked where it stands, what it leaves open is skipped. Invariants: no
//! recursion deeper than the declared shape, which `MAX_SHAPE_DEPTH` bounds;
//! open parts are skipped by a loop that counts its depth (`reader`). Estimate: one
//! branch per eight bytes of text, a comparison per field name; no allocation unless
//! a name or a checked text is written with escapes.

mod escapes;
mod reader;
mod words;

pub use reader::MAX_JSON_DEPTH;

use std::borrow::Cow;
use std::ops::ControlFlow;

use super::fit::{Misfit, shown};
use super::{Extra, Field, MAX_FIELDS, Object, Same, Shape, Type};
use escapes::unescape;
use reader::Reader;
use words::is_same;

/// A declared field as it stands in a JSON object.
#[derive(Clone, Copy, Debug)]
pub struct JsonField<'v> {
    /// Which field of the object it is.
    pub index: usize,
    /// Its value as written, quotes included.
    pub raw: &'v [u8],
}

impl<'v> JsonField<'v> {
    /// The value as a hash field would hold it: text without its quotes and
    /// escapes, anything else as written.
    pub fn text(&self) -> Cow<'v, [u8]> {
        match self.raw {
            [b'"', inner @ .., b'"'] => unescape(inner),
            raw => Cow::Borrowed(raw),
        }
    }

    /// Whether it is JSON's `null`, which says nothing.
    pub fn is_null(&self) -> bool {
        self.raw == b"null"
    }
}

impl Shape {
    /// Whether JSON text fits.
    ///
    /// # Errors
    /// Says which part does not, and what it must be. Where any part is secret nothing of
    /// the text is shown: what stands in a wrong place may be that part.
    pub fn check_json(&self, value: &[u8]) -> Result<(), Misfit> {
        self.check_json_under(&[], value)
    }

    /// Whether JSON text fits a key whose placeholders have these values.
    ///
    /// # Errors
    /// As [`Shape::check_json`].
    pub fn check_json_under(&self, names: &[&[u8]], value: &[u8]) -> Result<(), Misfit> {
        let check = || {
            let mut reader = Reader::new(value)?.under(names);
            reader.skip_spaces();
            reader.value(self)?;
            reader.end()
        };
        check().map_err(|misfit: Misfit| misfit.discreet_if(self.has_secret()))
    }
}

impl Object {
    /// Whether JSON text is such an object; tells of each declared field as it
    /// comes by, so that who needs its value need not read the text again.
    ///
    /// # Errors
    /// As [`Shape::check_json`].
    pub fn check_json<'v>(
        &self,
        value: &'v [u8],
        on_field: impl FnMut(JsonField<'v>),
    ) -> Result<(), Misfit> {
        let check = || {
            let mut reader = Reader::new(value)?;
            reader.skip_spaces();
            if reader.peek() != Some(b'{') {
                return Err(reader.unfit(&Shape::of(Type::Object(Object::default()))));
            }
            reader.object(self, on_field)?;
            reader.end()
        };
        check().map_err(|misfit| misfit.discreet_if(self.has_secret()))
    }

    /// Tells of the declared fields of JSON text that is known to fit, in its order, until
    /// `on_field` has seen enough. Nothing is checked.
    pub fn fields_of_fitting<'v>(
        &self,
        fitting: &'v [u8],
        mut on_field: impl FnMut(JsonField<'v>) -> ControlFlow<()>,
    ) {
        let Ok(mut reader) = Reader::new(fitting) else { return };
        let mut guess = 0;
        // It ends with the text, or before.
        let _: Result<(), Enough> = reader.members(|reader| {
            let index = match reader.takes_name(self, guess) {
                true => guess,
                false => match reader.name_of(self)? {
                    Name::Field(index) => index,
                    Name::Extra(_) => {
                        reader.expect(b':', "`:`")?;
                        return Ok(reader.skip()?);
                    }
                },
            };
            reader.expect(b':', "`:`")?;
            guess = index + 1;
            reader.skip_spaces();
            let start = reader.at;
            reader.skip()?;
            match on_field(JsonField { index, raw: &reader.bytes[start..reader.at] }) {
                ControlFlow::Continue(()) => Ok(()),
                ControlFlow::Break(()) => Err(Enough),
            }
        });
    }
}

/// There is no need to read on.
struct Enough;

impl From<Misfit> for Enough {
    fn from(_: Misfit) -> Enough {
        Enough
    }
}

/// The name of a member of an object.
enum Name<'v> {
    /// That of the declared field of this index.
    Field(usize),
    /// Another.
    Extra(Cow<'v, [u8]>),
}

impl<'v> Reader<'v> {
    /// Reads a value of a shape; spaces before it are skipped already.
    fn value(&mut self, shape: &Shape) -> Result<(), Misfit> {
        if self.peek() == Some(b'n') && (shape.nullable || matches!(shape.ty, Type::Json)) {
            return self.word(b"null");
        }
        match &shape.ty {
            Type::Json => self.skip(),
            Type::Bool => match self.peek() {
                Some(b't') => self.word(b"true"),
                Some(b'f') => self.word(b"false"),
                _ => Err(self.unfit(shape)),
            },
            Type::Array(item) => self.array(shape, item),
            Type::Map { key, value } => self.map(shape, key, value),
            Type::Object(_) if self.peek() != Some(b'{') => Err(self.unfit(shape)),
            Type::Object(object) => self.object(object, |_| {}),
            ty if ty.is_text() => match self.peek() {
                Some(b'"') => self.text(shape),
                _ => Err(self.unfit(shape)),
            },
            // An exact number may come as text, since many clients' JSON
            // numbers are floats.
            Type::Decimal { .. } if self.peek() == Some(b'"') => self.text(shape),
            _ => match self.peek() {
                Some(b'-' | b'0'..=b'9') => {
                    let number = self.number()?;
                    shape.check_scalar(number).map_err(|misfit| misfit.without_quotes(number))
                }
                _ => Err(self.unfit(shape)),
            },
        }
    }

    /// A text of a shape that is a scalar.
    #[inline]
    fn text(&mut self, shape: &Shape) -> Result<(), Misfit> {
        let text = self.string()?;
        if text.escaped {
            shape.check_scalar(&text.plain())
        } else {
            shape.check_scalar(text.inner)
        }
    }

    fn array(&mut self, shape: &Shape, item: &Shape) -> Result<(), Misfit> {
        if !self.take(b'[') {
            return Err(self.unfit(shape));
        }
        let mut count: u64 = 0;
        if !self.take(b']') {
            loop {
                self.skip_spaces();
                self.value(item).map_err(|misfit| misfit.inside(&format!("[{count}]")))?;
                count += 1;
                if self.take(b']') {
                    break;
                }
                self.expect(b',', "`,` or `]`")?;
            }
        }
        match shape.limits.len {
            Some(len) if !len.holds(count) => {
                Err(Misfit::new(format!("must have {len} items, not {count}")))
            }
            _ => Ok(()),
        }
    }

    fn map(&mut self, shape: &Shape, key: &Type, value: &Shape) -> Result<(), Misfit> {
        if self.peek() != Some(b'{') {
            return Err(self.unfit(shape));
        }
        let key_shape = Shape::of(key.clone());
        self.members(|reader| {
            let name = reader.string()?.plain();
            reader.expect(b':', "`:`")?;
            key_shape.check_scalar(&name).map_err(|misfit| misfit.inside("its key"))?;
            reader.skip_spaces();
            reader.value(value).map_err(|misfit| misfit.inside_named(&name))
        })
    }

    fn object(
        &mut self,
        object: &Object,
        mut on_field: impl FnMut(JsonField<'v>),
    ) -> Result<(), Misfit> {
        const WORDS: usize = MAX_FIELDS.div_ceil(64);
        let mut seen = [0_u64; WORDS];
        // Writers keep the order of their fields, mostly that of the schema.
        let mut guess = 0;
        // Where they are compared: what each field holds.
        let mut compared: Vec<Option<JsonField<'v>>> = match object.checks.is_empty() {
            true => Vec::new(),
            false => vec![None; object.fields.len()],
        };
        self.members(|reader| {
            let index = match reader.takes_name(object, guess) {
                true => guess,
                false => match reader.name_of(object)? {
                    Name::Field(index) => index,
                    Name::Extra(name) => return reader.extra(object, &name),
                },
            };
            reader.expect(b':', "`:`")?;
            guess = index + 1;
            let (word, bit) = (index / 64, 1 << (index % 64));
            if seen[word] & bit != 0 {
                return Err(Misfit::new("is there twice").inside(&object.fields[index].name));
            }
            seen[word] |= bit;
            reader.skip_spaces();
            let start = reader.at;
            let field = &object.fields[index];
            reader.value(&field.shape).map_err(|misfit| misfit.inside(&field.name))?;
            let found = JsonField { index, raw: &reader.bytes[start..reader.at] };
            if let Some(same) = &field.same {
                reader.equals(field, same, found)?;
            }
            if let Some(place) = compared.get_mut(index) {
                *place = Some(found).filter(|found| !found.is_null());
            }
            on_field(found);
            Ok(())
        })?;
        let missing =
            object.fields.iter().enumerate().find(|(index, field)| {
                field.required && seen[index / 64] & (1 << (index % 64)) == 0
            });
        match missing {
            Some((_, field)) => Err(Misfit::missing_field(&field.name)),
            None => {
                let value = |index: usize| compared[index].map(|found| found.text());
                object.checks.iter().try_for_each(|check| check.judge(object, value))
            }
        }
    }

    /// Whether a field equals the placeholder that it must equal, if that is known.
    fn equals(&self, field: &Field, same: &Same, found: JsonField<'v>) -> Result<(), Misfit> {
        if self.names.is_empty() || found.is_null() {
            return Ok(());
        }
        match same.misfit(self.names, &found.text(), field.shape.has_secret()) {
            Some(misfit) => Err(misfit.inside(&field.name)),
            None => Ok(()),
        }
    }

    /// Reads the name of the field of this index, if it is what comes.
    #[inline(always)]
    fn takes_name(&mut self, object: &Object, index: usize) -> bool {
        let start = self.at;
        let name = self.plain_string();
        let is_it = name
            .zip(object.fields.get(index))
            .is_some_and(|(name, field)| is_same(field.name.as_bytes(), name));
        if !is_it {
            self.at = start;
        }
        is_it
    }

    /// Reads the name of a member.
    #[inline(never)]
    fn name_of(&mut self, object: &Object) -> Result<Name<'v>, Misfit> {
        let name = self.string()?.plain();
        let index = object.fields.iter().position(|field| field.name.as_bytes() == &*name);
        Ok(index.map_or(Name::Extra(name), Name::Field))
    }

    /// Reads what follows the name of a member that is not declared.
    fn extra(&mut self, object: &Object, name: &[u8]) -> Result<(), Misfit> {
        self.expect(b':', "`:`")?;
        self.skip_spaces();
        match &object.extra {
            Extra::Reject => Err(Misfit::unknown_field(object, name)),
            Extra::Allow => self.skip(),
            Extra::Typed(shape) => {
                self.value(shape).map_err(|misfit| misfit.in_extra_field(object, name))
            }
        }
    }

    /// A value of another type than the shape's; shows it if it is JSON at all.
    fn unfit(&mut self, shape: &Shape) -> Misfit {
        let start = self.at;
        match self.skip() {
            Ok(()) => match &self.bytes[start..self.at] {
                [b'"', inner @ .., b'"'] => Misfit::unfit(shape, &expected(shape), inner),
                raw => {
                    let misfit = Misfit::found(&expected(shape), shown(raw).trim_matches('"'));
                    misfit.discreet_if(shape.secret)
                }
            },
            Err(misfit) => misfit,
        }
    }
}

fn expected(shape: &Shape) -> String {
    let null = if shape.nullable { " or null" } else { "" };
    let quoted = if shape.ty.is_text() { " in quotes" } else { "" };
    match &shape.ty {
        Type::String => format!("a text{quoted}{null}"),
        ty => format!("{}{null}", ty.in_words()),
    }
}
