//! Whether JSON fits a shape, in one pass and without a tree.
//!
//! The shape is walked along with the bytes: what the schema declares is
//! checked where it stands, what it leaves open is skipped. Invariants: no
//! recursion deeper than the declared shape, which `MAX_SHAPE_DEPTH` bounds;
//! open parts are skipped by a loop that counts its depth. Estimate: one
//! branch per eight bytes of text, a comparison per field name; no allocation unless
//! a name or a checked text is written with escapes.

use std::borrow::Cow;
use std::ops::ControlFlow;

use super::fit::Misfit;
use super::{Extra, MAX_FIELDS, Object, Shape, Type};

/// How deep undeclared JSON may nest.
pub const MAX_JSON_DEPTH: usize = 128;

/// Bytes below this must be written as escapes.
const FIRST_PLAIN: u8 = 0x20;

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
}

impl Shape {
    /// Whether JSON text fits.
    ///
    /// # Errors
    /// Says which part does not, and what it must be.
    pub fn check_json(&self, value: &[u8]) -> Result<(), Misfit> {
        let mut reader = Reader::new(value)?;
        reader.skip_spaces();
        reader.value(self)?;
        reader.end()
    }
}

impl Object {
    /// Whether JSON text is such an object; tells of each declared field as it
    /// comes by, so that who needs its value need not read the text again.
    ///
    /// # Errors
    /// Says which part does not fit, and what it must be.
    pub fn check_json<'v>(
        &self,
        value: &'v [u8],
        on_field: impl FnMut(JsonField<'v>),
    ) -> Result<(), Misfit> {
        let mut reader = Reader::new(value)?;
        reader.skip_spaces();
        if reader.peek() != Some(b'{') {
            return Err(reader.unfit(&Shape::of(Type::Object(Object::default()))));
        }
        reader.object(self, on_field)?;
        reader.end()
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

struct Reader<'v> {
    bytes: &'v [u8],
    at: usize,
    /// Whether no string of it has anything but plain text, so that each ends at the next
    /// quote.
    is_plain: bool,
}

/// The name of a member of an object.
enum Name<'v> {
    /// That of the declared field of this index.
    Field(usize),
    /// Another.
    Extra(Cow<'v, [u8]>),
}

/// A string token: what stands between its quotes.
#[derive(Clone, Copy)]
struct Text<'v> {
    inner: &'v [u8],
    escaped: bool,
}

impl<'v> Text<'v> {
    fn plain(self) -> Cow<'v, [u8]> {
        if self.escaped { unescape(self.inner) } else { Cow::Borrowed(self.inner) }
    }
}

impl<'v> Reader<'v> {
    /// JSON is UTF-8 throughout.
    fn new(bytes: &'v [u8]) -> Result<Reader<'v>, Misfit> {
        // All bytes are looked at, so that many can be at once.
        let is_plain = bytes.iter().fold(true, |is_plain, byte| is_plain & is_plain_text(*byte));
        if !is_plain && let Err(error) = std::str::from_utf8(bytes) {
            return Err(not_json("UTF-8", error.valid_up_to()));
        }
        Ok(Reader { bytes, at: 0, is_plain })
    }

    fn end(&mut self) -> Result<(), Misfit> {
        self.skip_spaces();
        if self.at < self.bytes.len() { Err(self.broken("the end of the JSON")) } else { Ok(()) }
    }

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
        let key_shape = Shape { secret: shape.secret, ..Shape::of(key.clone()) };
        self.members(|reader| {
            let name = reader.string()?.plain();
            reader.expect(b':', "`:`")?;
            key_shape.check_scalar(&name).map_err(|misfit| misfit.inside("its key"))?;
            reader.skip_spaces();
            // The keys of a secret map are secret too.
            let step = || if shape.secret { "[…]".to_owned() } else { step(&name) };
            reader.value(value).map_err(|misfit| misfit.inside(&step()))
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
            on_field(JsonField { index, raw: &reader.bytes[start..reader.at] });
            Ok(())
        })?;
        let missing =
            object.fields.iter().enumerate().find(|(index, field)| {
                field.required && seen[index / 64] & (1 << (index % 64)) == 0
            });
        match missing {
            Some((_, field)) => Err(Misfit::missing_field(&field.name)),
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
            Extra::Typed(shape) => self.value(shape).map_err(|misfit| misfit.inside(&step(name))),
        }
    }

    /// Walks `{"name": value, …}`; `member` reads each name and what follows it.
    #[inline]
    fn members<E: From<Misfit>>(
        &mut self,
        mut member: impl FnMut(&mut Self) -> Result<(), E>,
    ) -> Result<(), E> {
        self.expect(b'{', "`{`")?;
        if self.take(b'}') {
            return Ok(());
        }
        loop {
            self.skip_spaces();
            member(self)?;
            self.skip_spaces();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(self.broken("`,` or `}`").into()),
            }
        }
    }

    /// Skips one value of any form without recursion.
    fn skip(&mut self) -> Result<(), Misfit> {
        // One bit per open bracket: set for an object.
        let mut open: u128 = 0;
        let mut depth = 0;
        loop {
            self.skip_spaces();
            match self.peek() {
                Some(bracket @ (b'{' | b'[')) => {
                    self.at += 1;
                    let close = if bracket == b'{' { b'}' } else { b']' };
                    if !self.take(close) {
                        if depth == MAX_JSON_DEPTH {
                            return Err(Misfit::new(format!("nests deeper than {MAX_JSON_DEPTH}")));
                        }
                        depth += 1;
                        open = open << 1 | u128::from(bracket == b'{');
                        if bracket == b'{' {
                            self.name()?;
                        }
                        continue;
                    }
                }
                Some(b'"') => drop(self.string()?),
                Some(b't') => self.word(b"true")?,
                Some(b'f') => self.word(b"false")?,
                Some(b'n') => self.word(b"null")?,
                Some(b'-' | b'0'..=b'9') => drop(self.number()?),
                _ => return Err(self.broken("a JSON value")),
            }
            // A value is complete: close what ends here, or go on to the next.
            loop {
                if depth == 0 {
                    return Ok(());
                }
                let in_object = open & 1 == 1;
                if self.take(if in_object { b'}' } else { b']' }) {
                    depth -= 1;
                    open >>= 1;
                    continue;
                }
                self.expect(b',', "`,` or a closing bracket")?;
                if in_object {
                    self.name()?;
                }
                break;
            }
        }
    }

    fn name(&mut self) -> Result<(), Misfit> {
        self.skip_spaces();
        self.string()?;
        self.expect(b':', "`:`")
    }

    /// Reads a string; what its escapes stand for is not worked out yet.
    #[inline(always)]
    fn string(&mut self) -> Result<Text<'v>, Misfit> {
        match self.plain_string() {
            Some(inner) => Ok(Text { inner, escaped: false }),
            None => self.unusual_string(),
        }
    }

    /// Reads a string, if it is known that it has no escapes.
    #[inline(always)]
    fn plain_string(&mut self) -> Option<&'v [u8]> {
        if !self.is_plain || self.peek() != Some(b'"') {
            return None;
        }
        let start = self.at + 1;
        let end = quote_from(self.bytes, start)?;
        self.at = end + 1;
        Some(&self.bytes[start..end])
    }

    /// A string that is none, that does not end, or that may have escapes.
    #[inline(never)]
    fn unusual_string(&mut self) -> Result<Text<'v>, Misfit> {
        match self.peek() {
            Some(b'"') => self.string_with_escapes(self.at + 1),
            _ => Err(self.broken("`\"`")),
        }
    }

    fn string_with_escapes(&mut self, start: usize) -> Result<Text<'v>, Misfit> {
        let mut escaped = false;
        self.at = start;
        loop {
            self.at += bytes_before(&self.bytes[self.at..], |word| {
                is_quote(word) | is(word, b'\\') | below(word, FIRST_PLAIN)
            });
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(Text { inner: &self.bytes[start..self.at - 1], escaped });
                }
                Some(b'\\') => {
                    escaped = true;
                    self.escape()?;
                }
                _ => return Err(self.broken("the rest of a string")),
            }
        }
    }

    fn escape(&mut self) -> Result<(), Misfit> {
        match self.bytes.get(self.at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 2,
            Some(b'u') => {
                let digits = self.bytes.get(self.at + 2..self.at + 6);
                if !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) {
                    return Err(self.broken("four hexadecimal digits"));
                }
                self.at += 6;
            }
            _ => return Err(self.broken("an escape")),
        }
        Ok(())
    }

    fn number(&mut self) -> Result<&'v [u8], Misfit> {
        let start = self.at;
        self.at += usize::from(self.peek() == Some(b'-'));
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            self.digits()?;
        }
        Ok(&self.bytes[start..self.at])
    }

    fn digits(&mut self) -> Result<(), Misfit> {
        let count = self.bytes[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        if count == 0 { Err(self.broken("a digit")) } else { Ok(()) }
    }

    fn word(&mut self, word: &'static [u8]) -> Result<(), Misfit> {
        if !self.bytes[self.at..].starts_with(word) {
            return Err(self.broken("a JSON value"));
        }
        self.at += word.len();
        Ok(())
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    #[inline]
    fn take(&mut self, wanted: u8) -> bool {
        self.skip_spaces();
        let found = self.peek() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    #[inline]
    fn expect(&mut self, wanted: u8, what: &str) -> Result<(), Misfit> {
        if self.take(wanted) { Ok(()) } else { Err(self.broken(what)) }
    }

    #[inline]
    fn skip_spaces(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn broken(&self, expected: &str) -> Misfit {
        not_json(expected, self.at)
    }

    /// A value of another type than the shape's; shows it if it is JSON at all.
    fn unfit(&mut self, shape: &Shape) -> Misfit {
        let start = self.at;
        match self.skip() {
            Ok(()) => match &self.bytes[start..self.at] {
                [b'"', inner @ .., b'"'] => Misfit::unfit(shape, &expected(shape), inner),
                raw if shape.secret => Misfit::unfit(shape, &expected(shape), raw),
                raw => Misfit::new(format!(
                    "must be {}, not {}",
                    expected(shape),
                    super::fit::shown(raw).trim_matches('"')
                )),
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

fn not_json(expected: &str, offset: usize) -> Misfit {
    Misfit::new(format!("is not valid JSON: expected {expected} at byte {offset}"))
}

/// One step of a path: a key that a client chose, as an error may show it.
fn step(name: &[u8]) -> String {
    super::fit::shown(name).trim_matches('"').to_owned()
}

/// Whether a byte is text of a string as it stands, or ends one.
fn is_plain_text(byte: u8) -> bool {
    (FIRST_PLAIN..0x80).contains(&byte) && byte != b'\\'
}

/// A one in each byte.
const ONES: u64 = u64::from_le_bytes([1; 8]);
/// The highest bit of each byte.
const HIGH: u64 = ONES << 7;

/// Marks the bytes of a word that are below a limit of ASCII, by their highest bits. One
/// that is marked falsely lies behind one that is marked rightly.
#[inline]
fn below(word: u64, limit: u8) -> u64 {
    word.wrapping_sub(ONES * u64::from(limit)) & !word & HIGH
}

/// Marks the bytes of a word that are this one, as `below` does.
#[inline]
fn is(word: u64, byte: u8) -> u64 {
    below(word ^ (ONES * u64::from(byte)), 1)
}

#[inline]
fn is_quote(word: u64) -> u64 {
    is(word, b'"')
}

/// Where the next quote is, eight bytes looked at at a time.
#[inline(always)]
fn quote_from(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    while let Some(word) = bytes.get(at..)?.first_chunk::<8>() {
        let marks = is_quote(u64::from_le_bytes(*word));
        if marks != 0 {
            return Some(at + marks.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    bytes[at..].iter().position(|byte| *byte == b'"').map(|place| at + place)
}

/// Whether two texts, which are short mostly, are the same: for eight bytes calling the
/// general comparison takes longer than comparing.
#[inline(always)]
fn is_same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    if let (Some(first_a), Some(last_a), Some(first_b), Some(last_b)) =
        (a.first_chunk::<8>(), a.last_chunk::<8>(), b.first_chunk::<8>(), b.last_chunk::<8>())
    {
        return first_a == first_b && last_a == last_b && (a.len() <= 16 || a == b);
    }
    if let (Some(first_a), Some(last_a), Some(first_b), Some(last_b)) =
        (a.first_chunk::<4>(), a.last_chunk::<4>(), b.first_chunk::<4>(), b.last_chunk::<4>())
    {
        return first_a == first_b && last_a == last_b;
    }
    a.iter().zip(b).all(|(a, b)| a == b)
}

/// How many bytes come before the first that is marked, eight looked at at a time; all of
/// them if none is. A quote must be marked.
#[inline]
fn bytes_before(bytes: &[u8], marked: impl Fn(u64) -> u64) -> usize {
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let marks = marked(u64::from_le_bytes(*word));
        if marks != 0 {
            return index * 8 + marks.trailing_zeros() as usize / 8;
        }
    }
    let mut last = [b'"'; 8];
    last[..rest.len()].copy_from_slice(rest);
    let marks = marked(u64::from_le_bytes(last));
    bytes.len() - rest.len() + marks.trailing_zeros() as usize / 8
}

/// Works out the escapes of a string that was read without an error. Half a
/// surrogate pair becomes the replacement character.
fn unescape(inner: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr(b'\\', inner).is_none() {
        return Cow::Borrowed(inner);
    }
    let mut plain = Vec::with_capacity(inner.len());
    let mut at = 0;
    while let Some(&byte) = inner.get(at) {
        at += 1;
        if byte != b'\\' {
            plain.push(byte);
            continue;
        }
        let escape = inner.get(at).copied().unwrap_or(b'\\');
        at += 1;
        match escape {
            b'b' => plain.push(8),
            b'f' => plain.push(12),
            b'n' => plain.push(b'\n'),
            b'r' => plain.push(b'\r'),
            b't' => plain.push(b'\t'),
            b'u' => {
                let (character, length) = unicode_escape(&inner[at..]);
                at += length;
                plain.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            same => plain.push(same),
        }
    }
    Cow::Owned(plain)
}

/// Reads the digits behind `\u`, and a second half where the first needs one.
fn unicode_escape(rest: &[u8]) -> (char, usize) {
    let unit = |digits: Option<&[u8]>| {
        let digits = std::str::from_utf8(digits?).ok()?;
        u32::from_str_radix(digits, 16).ok()
    };
    let first = unit(rest.get(..4)).unwrap_or(0xFFFD);
    if !(0xD800..0xDC00).contains(&first) {
        return (char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER), 4);
    }
    let second = match rest.get(4..6) {
        Some(b"\\u") => unit(rest.get(6..10)),
        _ => None,
    };
    match second {
        Some(second @ 0xDC00..0xE000) => {
            let code = 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
            (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 10)
        }
        _ => (char::REPLACEMENT_CHARACTER, 4),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_counted_up_to_the_first_that_is_marked() {
        let marked = |word| is_quote(word) | is(word, b'\\') | below(word, FIRST_PLAIN);
        for length in 0..20 {
            for other in [b'x', 0x20, 0x7f, 0x80, 0xff] {
                let mut text = vec![other; length];
                assert_eq!(bytes_before(&text, marked), length);
                for byte in 0..=u8::MAX {
                    let is_marked = byte < FIRST_PLAIN || matches!(byte, b'"' | b'\\');
                    for at in 0..length {
                        text[at] = byte;
                        let expected = if is_marked { at } else { length };
                        assert_eq!(bytes_before(&text, marked), expected);
                        text[at] = other;
                    }
                }
            }
        }
    }
}
