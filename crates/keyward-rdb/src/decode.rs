//! Reading a value.
//!
//! Owns every form a value has been written in since Redis 1.2. Whatever the form,
//! a [`Build`] hears of the same elements in the same order.

pub(crate) mod skip;
#[cfg(test)]
pub(crate) mod testing;

use crate::format::{kind, node};
use crate::input::Input;
use crate::packed::{Damage, intset, listpack, ziplist, zipmap};
use crate::stream::{self, StreamPart};
use crate::{Element, Error};
use keyward_resp::number::parse_f64;
use std::io::BufRead;

/// What becomes of a value that is read, one element after the other. Where a
/// member or a field is there already, it is left as it is and the result is false.
pub trait Build {
    /// The value is a string.
    fn string(&mut self, text: Element<'_>);
    /// The value is a list, and this its next element.
    fn element(&mut self, element: Element<'_>);
    /// The value is a set with this member.
    fn member(&mut self, member: Element<'_>) -> bool;
    /// The value is a sorted set with this member.
    fn scored(&mut self, member: Element<'_>, score: f64) -> bool;
    /// The value is a hash with this field.
    fn field(&mut self, field: Element<'_>, value: Element<'_>) -> bool;
    /// The value is a stream, and this its next part.
    ///
    /// # Errors
    /// If it cannot be part of one; what is wrong.
    fn stream(&mut self, part: StreamPart<'_>) -> Result<(), &'static str>;
}

/// Texts on their way, in memory that one value leaves to the next.
pub(crate) type Texts = [Vec<u8>; 2];

/// Reads the value of a type.
pub(crate) fn value<R: BufRead>(
    input: &mut Input<R>,
    kind: u8,
    build: &mut impl Build,
    [first, second]: &mut Texts,
) -> Result<(), Error> {
    let is_empty = match kind {
        kind::STRING => {
            build.string(input.text(first)?);
            false
        }
        kind::LIST | kind::SET | kind::ZSET | kind::ZSET_2 | kind::HASH => {
            let count = input.length()?;
            for _ in 0..count {
                plain_element(input, kind, build, [first, second])?;
            }
            count == 0
        }
        kind::LIST_QUICKLIST | kind::LIST_QUICKLIST_2 => quicklist(input, kind, build, first)?,
        kind::HASH_ZIPMAP
        | kind::LIST_ZIPLIST
        | kind::SET_INTSET
        | kind::ZSET_ZIPLIST
        | kind::HASH_ZIPLIST
        | kind::HASH_LISTPACK
        | kind::ZSET_LISTPACK
        | kind::SET_LISTPACK => {
            input.bytes(first)?;
            let visited = packed(first, kind, build).map_err(|what| input.malformed(what))?;
            visited == 0
        }
        kind::STREAM | kind::STREAM_2 | kind::STREAM_3 => {
            stream::read(input, kind, first, |part| build.stream(part))?;
            false
        }
        other => return Err(unsupported(input, other)),
    };
    if is_empty { Err(Error::Empty { offset: input.offset }) } else { Ok(()) }
}

fn unsupported<R: BufRead>(input: &Input<R>, kind: u8) -> Error {
    input.unsupported(match kind {
        kind::MODULE | kind::MODULE_2 => "a value of a module",
        kind::HASH_LIFETIMES_EARLY
        | kind::HASH_LIFETIMES_PACKED_EARLY
        | kind::HASH_LIFETIMES
        | kind::HASH_LIFETIMES_PACKED => "a hash whose fields have lifetimes",
        _ => return input.malformed("a value of an unknown type"),
    })
}

/// Reads the next element of a value that is not packed.
fn plain_element<R: BufRead>(
    input: &mut Input<R>,
    kind: u8,
    build: &mut impl Build,
    [first, second]: [&mut Vec<u8>; 2],
) -> Result<(), Error> {
    let element = input.text(first)?;
    let is_new = match kind {
        kind::LIST => {
            build.element(element);
            true
        }
        kind::SET => build.member(element),
        kind::ZSET => {
            let score = text_score(input)?;
            build.scored(element, number(score).map_err(|what| input.malformed(what))?)
        }
        kind::ZSET_2 => {
            let score = f64::from_le_bytes(input.array()?);
            build.scored(element, number(score).map_err(|what| input.malformed(what))?)
        }
        _ => build.field(element, input.text(second)?),
    };
    if is_new { Ok(()) } else { Err(input.malformed(TWICE)) }
}

/// What is wrong with a set or hash that names something twice.
pub const TWICE: Damage = "a member or field that is there twice";

/// A score as text: its length, or one of three special lengths, then its digits.
fn text_score<R: BufRead>(input: &mut Input<R>) -> Result<f64, Error> {
    let length = match input.byte()? {
        253 => return Ok(f64::NAN),
        254 => return Ok(f64::INFINITY),
        255 => return Ok(f64::NEG_INFINITY),
        length => length,
    };
    let mut digits = [0; 252];
    let digits = &mut digits[..usize::from(length)];
    for digit in digits.iter_mut() {
        *digit = input.byte()?;
    }
    parse_f64(digits).ok_or_else(|| input.malformed("a score that is no number"))
}

/// A score that is a number.
fn number(score: f64) -> Result<f64, Damage> {
    if score.is_nan() { Err("a score that is no number") } else { Ok(score) }
}

/// Reads a list of packed parts; returns whether it is empty.
fn quicklist<R: BufRead>(
    input: &mut Input<R>,
    kind: u8,
    build: &mut impl Build,
    buffer: &mut Vec<u8>,
) -> Result<bool, Error> {
    let mut visited = 0;
    for _ in 0..input.length()? {
        let form = if kind == kind::LIST_QUICKLIST { None } else { Some(input.length()?) };
        input.bytes(buffer)?;
        visited += match form {
            // Not even an empty element, which is never a part by itself.
            _ if buffer.is_empty() => Err("a part of a list without bytes"),
            None => packed(buffer, kind::LIST_ZIPLIST, build),
            Some(node::PACKED) => listpack::Reader::new(buffer).and_then(|e| elements(e, build)),
            Some(node::PLAIN) => {
                build.element(Element::Bytes(buffer));
                Ok(1)
            }
            Some(_) => Err("a part of a list of an unknown form"),
        }
        .map_err(|what| input.malformed(what))?;
    }
    Ok(visited == 0)
}

/// Reads a packed value; returns how many elements it has.
fn packed(bytes: &[u8], kind: u8, build: &mut impl Build) -> Result<usize, Damage> {
    match kind {
        kind::LIST_ZIPLIST => elements(ziplist::Reader::new(bytes)?, build),
        kind::SET_INTSET => {
            let mut count = 0;
            intset::read(bytes, |number| {
                count += 1;
                check_new(build.member(Element::Int(number)))
            })?;
            Ok(count)
        }
        kind::SET_LISTPACK => {
            let mut count = 0;
            for member in listpack::Reader::new(bytes)? {
                check_new(build.member(member?))?;
                count += 1;
            }
            Ok(count)
        }
        kind::ZSET_ZIPLIST => scored(ziplist::Reader::new(bytes)?, build),
        kind::ZSET_LISTPACK => scored(listpack::Reader::new(bytes)?, build),
        kind::HASH_ZIPMAP => fields(zipmap::Reader::new(bytes)?, build),
        kind::HASH_ZIPLIST => fields(ziplist::Reader::new(bytes)?, build),
        _ => fields(listpack::Reader::new(bytes)?, build),
    }
}

fn check_new(is_new: bool) -> Result<(), Damage> {
    if is_new { Ok(()) } else { Err(TWICE) }
}

fn elements<'a>(
    elements: impl Iterator<Item = Result<Element<'a>, Damage>>,
    build: &mut impl Build,
) -> Result<usize, Damage> {
    let mut count = 0;
    for element in elements {
        build.element(element?);
        count += 1;
    }
    Ok(count)
}

fn fields<'a>(
    elements: impl Iterator<Item = Result<Element<'a>, Damage>>,
    build: &mut impl Build,
) -> Result<usize, Damage> {
    pairs(elements, |field, value| check_new(build.field(field, value)))
}

fn scored<'a>(
    elements: impl Iterator<Item = Result<Element<'a>, Damage>>,
    build: &mut impl Build,
) -> Result<usize, Damage> {
    pairs(elements, |member, score| {
        let score = match score {
            Element::Int(number) => number as f64,
            Element::Bytes(digits) => parse_f64(digits).ok_or("a score that is no number")?,
        };
        check_new(build.scored(member, number(score)?))
    })
}

/// Calls `visit` with every two elements; returns how many pairs there are.
fn pairs<'a>(
    mut elements: impl Iterator<Item = Result<Element<'a>, Damage>>,
    mut visit: impl FnMut(Element<'a>, Element<'a>) -> Result<(), Damage>,
) -> Result<usize, Damage> {
    let mut count = 0;
    while let Some(first) = elements.next() {
        let second = elements.next().ok_or("a member or field without what belongs to it")?;
        visit(first?, second?)?;
        count += 1;
    }
    Ok(count)
}
