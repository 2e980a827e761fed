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
        let mut taking = Taking { text, at: 0, kept: 0, parts: self };
        taking.value(Some(shape), 0).is_some()
            && taking.at == text.len()
            && taking.keep_until(text.len()).is_some()
            && self.skeleton.len() < SKELETON_BYTES_MAX
    }
}

impl Parts {
    /// Finds the holes of JSON that has this skeleton, which is what the last rows had;
    /// whether it does. Strings with escapes are left to `take_apart`.
    pub(crate) fn take_apart_like(&mut self, text: &[u8], skeleton: &[u8]) -> bool {
        self.holes.clear();
        let (mut left, mut at) = (skeleton, 0);
        while let Some(hole) = next_hole(left) {
            let kept = &left[..hole];
            if !text[at..].starts_with(kept) {
                return false;
            }
            at += hole;
            let rest = &text[at..];
            let bytes = match kept.last() {
                Some(b'"') => memchr::memchr2(b'"', b'\\', rest),
                _ => rest.iter().position(|byte| !is_plain(*byte)),
            };
            let bytes = bytes.unwrap_or(rest.len());
            self.holes.push(at..at + bytes);
            at += bytes;
            left = &left[hole + 1..];
        }
        &text[at..] == left
    }

    /// Whether filling the holes of the skeleton gives this text.
    pub(crate) fn gives_back(&self, text: &[u8]) -> bool {
        let mut at = 0;
        let mut holes = self.holes.iter();
        for (index, kept) in self.skeleton.split(|byte| *byte == HOLE).enumerate() {
            if index > 0 {
                match holes.next() {
                    Some(hole) if hole.start == at => at = hole.end,
                    _ => return false,
                }
            }
            if !text[at..].starts_with(kept) {
                return false;
            }
            at += kept.len();
        }
        holes.next().is_none() && at == text.len()
    }
}

/// JSON being taken apart.
struct Taking<'a> {
    text: &'a [u8],
    at: usize,
    /// What lies before this is in the skeleton or in a hole.
    kept: usize,
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
            b'"' => {
                let content = self.string()?;
                self.take_out(content)?;
            }
            _ => self.plain()?,
        }
        self.space();
        Some(())
    }

    fn object(&mut self, shape: Option<&Shape>, depth: usize) -> Option<()> {
        self.at += 1;
        self.space();
        if self.next_is(b'}') {
            return Some(());
        }
        let mut expected = 0;
        loop {
            self.space();
            let name = self.string()?;
            let (is_data, within) = member(shape, &self.text[name.clone()], &mut expected);
            if is_data {
                self.take_out(name)?;
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
        self.at += 1;
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

    /// Passes over a string; returns where its content is.
    fn string(&mut self) -> Option<Range<usize>> {
        self.next_is(b'"').then_some(())?;
        let start = self.at;
        loop {
            self.at += memchr::memchr2(b'"', b'\\', self.text.get(self.at..)?)?;
            if self.text[self.at] == b'"' {
                self.at += 1;
                return Some(start..self.at - 1);
            }
            self.at += 2;
        }
    }

    /// A number, `true`, `false` or `null`.
    fn plain(&mut self) -> Option<()> {
        let len = self.text[self.at..].iter().take_while(|byte| is_plain(**byte)).count();
        let range = self.at..self.at + len;
        (len > 0).then_some(())?;
        self.at = range.end;
        self.take_out(range)
    }

    /// Makes a text a hole.
    fn take_out(&mut self, range: Range<usize>) -> Option<()> {
        self.keep_until(range.start)?;
        self.kept = range.end;
        self.parts.skeleton.push(HOLE);
        self.parts.holes.push(range);
        (self.parts.holes.len() <= HOLES_MAX).then_some(())
    }

    /// What lies before a place, and is no hole, stays; none if it could be taken for one.
    fn keep_until(&mut self, end: usize) -> Option<()> {
        let kept = &self.text[self.kept..end];
        self.parts.skeleton.extend_from_slice(kept);
        self.kept = end;
        memchr::memchr(HOLE, kept).is_none().then_some(())
    }

    /// Passes over space.
    #[inline]
    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.text.get(self.at) {
            self.at += 1;
        }
    }

    /// Whether the next byte is this one, which is passed over then.
    #[inline]
    fn next_is(&mut self, byte: u8) -> bool {
        let is_it = self.text.get(self.at) == Some(&byte);
        self.at += usize::from(is_it);
        is_it
    }
}

/// Whether a byte is of a number, `true`, `false` or `null`.
#[inline]
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.')
}

/// Whether the name of a member is data, and the shape of what it holds. Members mostly
/// come in the order of their declarations: which one is expected is tried first.
fn member<'s>(
    shape: Option<&'s Shape>,
    name: &[u8],
    expected: &mut usize,
) -> (bool, Option<&'s Shape>) {
    match shape.map(|shape| &shape.ty) {
        Some(Type::Object(object)) => match field(object, name, expected) {
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

/// The shape of a declared field, which may be the one that is expected; then the next is
/// expected.
pub(crate) fn field<'s>(
    object: &'s Object,
    name: &[u8],
    expected: &mut usize,
) -> Option<&'s Shape> {
    let (before, after) = object.fields.split_at((*expected).min(object.fields.len()));
    let mut fields = after.iter().chain(before).enumerate();
    let (passed, field) = fields.find(|(_, field)| field.name.as_bytes() == name)?;
    *expected = (*expected + passed + 1) % object.fields.len();
    Some(&field.shape)
}

/// Puts JSON together: `fill` hands over the text of each hole in turn.
#[inline]
pub(crate) fn put_together<S: Sink>(
    skeleton: &[u8],
    sink: &mut S,
    mut fill: impl FnMut(&mut S) -> Result<(), Broken>,
) -> Result<(), Broken> {
    let mut left = skeleton;
    while let Some(hole) = next_hole(left) {
        sink.put(&left[..hole]);
        fill(sink)?;
        left = &left[hole + 1..];
    }
    sink.put(left);
    Ok(())
}

/// Where the next hole is. It is near: looking at eight bytes at a time is as fast as any
/// way.
#[inline]
fn next_hole(skeleton: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    let (words, rest) = skeleton.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        // The highest bit of each byte that is zero. One that is marked falsely lies
        // behind one that is marked rightly.
        let marks = word.wrapping_sub(ONES) & !word & ONES << 7;
        if marks != 0 {
            return Some(8 * index + marks.trailing_zeros() as usize / 8);
        }
    }
    rest.iter().position(|byte| *byte == HOLE).map(|place| 8 * words.len() + place)
}

const _: () = assert!(HOLE == 0, "a hole is told by its being zero");

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
