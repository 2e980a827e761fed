//! Skeletons: what is left of JSON, or of a hash, without its atoms.
//!
//! Owns taking JSON apart and putting it together again. A skeleton holds everything
//! that rows of one table have in common: braces, spacing, the order and the names of
//! fields. In the place of each scalar it has a hole. A shape tells which names are
//! fields and which are data: the names of a map are holes too. Rows with the same
//! fields, arrays of the same lengths and the same spacing share one skeleton.
//!
//! Invariant: filling a skeleton with the texts that were taken out gives the
//! original. So this need not know all of JSON's rules: what it does not understand
//! it refuses.

use crate::reader::{Broken, Reader, push_varint};
use crate::sink::Sink;
use crate::words::SKELETON_BYTES_MAX;
use keyward_schema::{Extra, Object, Shape, Type};
use std::ops::Range;

/// Stands for a text that was taken out.
const HOLE: u8 = 0;
/// The most holes of one skeleton.
const HOLES_MAX: usize = 1024;
/// How deep arrays and objects may nest.
const DEPTH_MAX: usize = 24;

/// A skeleton, and where in the original the texts are that fill it.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    /// The skeleton.
    pub(crate) skeleton: Vec<u8>,
    /// The texts, in order.
    pub(crate) holes: Vec<Range<usize>>,
}

impl Parts {
    /// Takes JSON apart; whether it could be.
    pub(crate) fn take_apart(&mut self, text: &[u8], shape: &Shape) -> bool {
        self.skeleton.clear();
        self.holes.clear();
        let mut taking = Taking { text, at: 0, parts: self };
        taking.value(Some(shape), 0).is_some()
            && taking.at == text.len()
            && self.skeleton.len() < SKELETON_BYTES_MAX
    }
}

/// JSON being taken apart.
struct Taking<'a> {
    text: &'a [u8],
    at: usize,
    parts: &'a mut Parts,
}

impl Taking<'_> {
    /// A value with the space around it.
    fn value(&mut self, shape: Option<&Shape>, depth: usize) -> Option<()> {
        if depth > DEPTH_MAX {
            return None;
        }
        self.space();
        match self.text.get(self.at)? {
            b'{' => self.object(shape, depth)?,
            b'[' => self.array(shape, depth)?,
            b'"' => self.string()?,
            _ => self.plain()?,
        }
        self.space();
        Some(())
    }

    fn object(&mut self, shape: Option<&Shape>, depth: usize) -> Option<()> {
        self.keep(1);
        self.space();
        if self.next_is(b'}') {
            return Some(());
        }
        loop {
            self.space();
            let name = self.string_at()?;
            let (is_data, within) = member(shape, &self.text[name.clone()]);
            if is_data {
                self.string()?;
            } else if self.text[name.clone()].contains(&HOLE) {
                return None;
            } else {
                self.keep(name.len() + 2);
            }
            self.space();
            self.next_is(b':').then_some(())?;
            self.value(within, depth + 1)?;
            if self.next_is(b'}') {
                return Some(());
            }
            self.next_is(b',').then_some(())?;
        }
    }

    fn array(&mut self, shape: Option<&Shape>, depth: usize) -> Option<()> {
        let item = match shape.map(|shape| &shape.ty) {
            Some(Type::Array(item)) => Some(&**item),
            _ => None,
        };
        self.keep(1);
        self.space();
        if self.next_is(b']') {
            return Some(());
        }
        loop {
            self.value(item, depth + 1)?;
            if self.next_is(b']') {
                return Some(());
            }
            self.next_is(b',').then_some(())?;
        }
    }

    /// Where the content of the string here is.
    fn string_at(&self) -> Option<Range<usize>> {
        if self.text.get(self.at) != Some(&b'"') {
            return None;
        }
        let start = self.at + 1;
        let mut at = start;
        loop {
            at += memchr::memchr2(b'"', b'\\', self.text.get(at..)?)?;
            if self.text[at] == b'"' {
                return Some(start..at);
            }
            at += 2;
        }
    }

    /// A string: the quotes stay.
    fn string(&mut self) -> Option<()> {
        let content = self.string_at()?;
        let end = content.end;
        self.keep(1);
        self.take_out(content)?;
        self.at = end;
        self.keep(1);
        Some(())
    }

    /// A number, `true`, `false` or `null`.
    fn plain(&mut self) -> Option<()> {
        let is_part =
            |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.');
        let len = self.text[self.at..].iter().take_while(is_part).count();
        let range = self.at..self.at + len;
        (len > 0).then_some(())?;
        self.at = range.end;
        self.take_out(range)
    }

    fn take_out(&mut self, range: Range<usize>) -> Option<()> {
        self.parts.skeleton.push(HOLE);
        self.parts.holes.push(range);
        (self.parts.holes.len() <= HOLES_MAX).then_some(())
    }

    /// Space stays as it is.
    fn space(&mut self) {
        let is_space = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        let len = self.text[self.at..].iter().take_while(is_space).count();
        self.keep(len);
    }

    /// Whether the next byte is this one, which then stays.
    fn next_is(&mut self, byte: u8) -> bool {
        let is_it = self.text.get(self.at) == Some(&byte);
        self.keep(usize::from(is_it));
        is_it
    }

    /// The next so many bytes stay.
    fn keep(&mut self, count: usize) {
        self.parts.skeleton.extend_from_slice(&self.text[self.at..self.at + count]);
        self.at += count;
    }
}

/// Whether the name of a member is data, and the shape of what it holds.
fn member<'s>(shape: Option<&'s Shape>, name: &[u8]) -> (bool, Option<&'s Shape>) {
    match shape.map(|shape| &shape.ty) {
        Some(Type::Object(object)) => match field(object, name) {
            Some(shape) => (false, Some(shape)),
            None => match &object.extra {
                Extra::Typed(shape) => (true, Some(shape)),
                Extra::Allow | Extra::Reject => (false, None),
            },
        },
        Some(Type::Map { value, .. }) => (true, Some(value)),
        _ => (false, None),
    }
}

/// The shape of a declared field.
pub(crate) fn field<'s>(object: &'s Object, name: &[u8]) -> Option<&'s Shape> {
    let mut fields = object.fields.iter();
    fields.find(|field| field.name.as_bytes() == name).map(|field| &field.shape)
}

/// Puts JSON together: `fill` hands over the text of each hole in turn.
#[inline]
pub(crate) fn put_together<S: Sink>(
    skeleton: &[u8],
    sink: &mut S,
    mut fill: impl FnMut(&mut S) -> Result<(), Broken>,
) -> Result<(), Broken> {
    let mut left = skeleton;
    while let Some(hole) = memchr::memchr(HOLE, left) {
        sink.put(&left[..hole]);
        fill(sink)?;
        left = &left[hole + 1..];
    }
    sink.put(left);
    Ok(())
}

/// How many holes a skeleton of JSON has.
pub(crate) fn holes(skeleton: &[u8]) -> usize {
    memchr::memchr_iter(HOLE, skeleton).count()
}

/// Appends the name of a hash's field; none if the name is data.
pub(crate) fn push_name(skeleton: &mut Vec<u8>, name: Option<&[u8]>) {
    match name {
        Some(name) => {
            push_varint(skeleton, name.len() as u64 + 1);
            skeleton.extend_from_slice(name);
        }
        None => skeleton.push(HOLE),
    }
}

/// The names of a hash's fields, in order; none for one that is data.
pub(crate) fn each_name(
    skeleton: &[u8],
    mut visit: impl FnMut(Option<&[u8]>) -> Result<(), Broken>,
) -> Result<(), Broken> {
    let mut left = Reader::new(skeleton);
    while !left.left().is_empty() {
        match left.varint()? {
            0 => visit(None)?,
            bytes => {
                let bytes = usize::try_from(bytes - 1).map_err(|_| Broken)?;
                visit(Some(left.take(bytes)?))?;
            }
        }
    }
    Ok(())
}
