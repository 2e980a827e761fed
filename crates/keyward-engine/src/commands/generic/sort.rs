//! SORT and SORT_RO.
//!
//! Owns the options, the weights and the order. Elements are copied out first,
//! since looking weights up may remove due rows.
//! Not here: locales. Texts are in the order of their bytes, as in Redis under
//! the C locale.

use crate::engine::context::{Ctx, Outcome};
use crate::governed::sorted_by;
use keyward_commands::WireError;
use keyward_commands::args::{self, Options};
use keyward_resp::number::parse_f64;
use keyward_store::keyspace::event::{Class, Event};
use keyward_store::keyspace::{Keyspace, Lifetime};
use keyward_store::values::hash::Hash;
use keyward_store::values::hasher::Key;
use keyward_store::values::list::{End, List};
use keyward_store::values::packed::Item;
use keyward_store::values::row::NewValue;
use keyward_store::values::text::Text;
use keyward_store::values::value::{Collection, ObjectRef, Type, Value};
use keyward_store::values::zset::ZSet;
use std::cmp::Ordering;
use std::ops::Range;

const SORTSTORE: Event = Event::new(Class::List, "sortstore");

/// Which elements of the order are wanted.
struct Limit {
    start: i64,
    /// How many; all if negative.
    count: i64,
}

impl Limit {
    fn of(&self, len: usize) -> Range<usize> {
        let start = usize::try_from(self.start).unwrap_or(0).min(len);
        let count = usize::try_from(self.count).unwrap_or(len).min(len - start);
        start..start + count
    }
}

/// The options of the command.
struct Request<'a> {
    by: Option<&'a [u8]>,
    gets: Vec<&'a [u8]>,
    limit: Limit,
    is_descending: bool,
    is_alpha: bool,
    /// The position of the key to store the result under.
    store_at: Option<usize>,
}

impl<'a> Request<'a> {
    fn parse(ctx: &mut Ctx<'a>, may_store: bool) -> Result<Request<'a>, WireError> {
        let reads_all = ctx.may_read_all();
        let mut request = Request {
            by: None,
            gets: Vec::new(),
            limit: Limit { start: 0, count: -1 },
            is_descending: false,
            is_alpha: false,
            store_at: None,
        };
        let mut options = Options::new(ctx.args, 2);
        while let Some(word) = options.next() {
            let left = options.left();
            if args::is(word, "ASC") {
                request.is_descending = false;
            } else if args::is(word, "DESC") {
                request.is_descending = true;
            } else if args::is(word, "ALPHA") {
                request.is_alpha = true;
            } else if args::is(word, "LIMIT") && left >= 2 {
                let start = args::integer(options.value()?)?;
                request.limit = Limit { start, count: args::integer(options.value()?)? };
            } else if args::is(word, "STORE") && may_store && left >= 1 {
                request.store_at = Some(options.index());
                options.value()?;
            } else if args::is(word, "BY") {
                request.by = Some(options.value()?);
                // What a pattern finds the command does not name.
                if !request.keeps_order() && !reads_all {
                    return Err(denied("BY"));
                }
            } else if args::is(word, "GET") {
                request.gets.push(options.value()?);
                if !reads_all {
                    return Err(denied("GET"));
                }
            } else {
                return Err(WireError::Syntax);
            }
        }
        Ok(request)
    }

    /// What is compared of a text: all of it if the result is stored, else what C's
    /// `strcoll` sees, up to a zero byte.
    fn compared<'t>(&self, text: Option<&'t [u8]>) -> Option<&'t [u8]> {
        match self.store_at {
            Some(_) => text,
            None => text?.split(|byte| *byte == 0).next(),
        }
    }

    /// Whether the elements stay in the order they have: a constant weight.
    fn keeps_order(&self) -> bool {
        self.by.is_some_and(|pattern| !pattern.contains(&b'*'))
    }
}

/// The error of an option that reads keys of which the user may read only some.
fn denied(option: &str) -> WireError {
    let text = format!("ERR {option} option of SORT denied due to insufficient ACL permissions.");
    WireError::line(&[text.as_bytes()])
}

pub(crate) fn sort(ctx: &mut Ctx<'_>) -> Outcome {
    let request = Request::parse(ctx, true)?;
    carry_out(ctx, request)
}

pub(crate) fn sort_ro(ctx: &mut Ctx<'_>) -> Outcome {
    let request = Request::parse(ctx, false)?;
    carry_out(ctx, request)
}

fn carry_out(ctx: &mut Ctx<'_>, mut request: Request<'_>) -> Outcome {
    let key = ctx.key(1);
    let is_checked = ctx.mode.is_checked();
    let reads_numbers = !request.is_alpha && !request.keeps_order();
    let (kind, mut elements) = match ctx.keys.read(key).map(|row| row.value()) {
        None => (Type::List, Vec::new()),
        // Numbers have to be read as such: that is where the last error is.
        Some(Value::Object(object)) if is_checked && !reads_numbers => {
            let is_sorted = matches!(object.kind(), Type::List | Type::Set | Type::ZSet);
            return if is_sorted { Ok(()) } else { Err(WireError::WrongType) };
        }
        Some(Value::Object(object)) => (object.kind(), elements(object)?),
        Some(_) => return Err(WireError::WrongType),
    };
    if kind == Type::ZSet && !is_checked {
        unpack(ctx.keys, key)?;
    }
    let must_be_stable = request.store_at.is_some() || ctx.mode.is_atomic();
    if kind == Type::Set && request.keeps_order() && must_be_stable {
        // A set has no order that would be the same everywhere.
        (request.by, request.is_alpha) = (None, true);
    }
    if !request.keeps_order() {
        elements = ordered(ctx, elements, &request)?;
    } else if request.is_descending && kind != Type::Set {
        elements.reverse();
    }
    if is_checked {
        return Ok(());
    }
    let wanted = &elements[request.limit.of(elements.len())];
    match request.store_at {
        Some(position) => store(ctx, position, wanted, &request.gets),
        None => reply(ctx, wanted, &request.gets),
    }
    Ok(())
}

/// Redis 7.0 turns a sorted set into a skip list to sort it, and leaves it so.
fn unpack(keys: &mut Keyspace, key: Key<'_>) -> Outcome {
    let hasher = keys.hasher();
    if let Some(mut zset) = keys.edit::<ZSet>(key)? {
        zset.unpack(hasher);
        zset.unchanged();
    }
    Ok(())
}

/// The elements of a list, a set or a sorted set, in the order they have.
fn elements(object: ObjectRef<'_>) -> Result<Vec<Box<[u8]>>, WireError> {
    let owned = |item: Item<'_>| item.text().as_bytes().into();
    match object {
        ObjectRef::List(list) => Ok(list.forward(0).map(owned).collect()),
        ObjectRef::Set(set) => Ok(set.iter().map(owned).collect()),
        ObjectRef::ZSet(zset) => Ok(zset.iter(0..zset.len()).map(|(m, _)| m.into()).collect()),
        ObjectRef::Hash(_) | ObjectRef::Stream(_) => Err(WireError::WrongType),
    }
}

/// Puts elements in the order of their weights.
fn ordered(
    ctx: &mut Ctx<'_>,
    elements: Vec<Box<[u8]>>,
    request: &Request<'_>,
) -> Result<Vec<Box<[u8]>>, WireError> {
    let directed = |order: Ordering| if request.is_descending { order.reverse() } else { order };
    let mut weight = |element: &[u8]| match request.by {
        Some(pattern) => look_up(ctx, pattern, element),
        None => Some(element.into()),
    };
    if request.is_alpha {
        // An element without a weight comes before those that have one.
        let mut weighed: Vec<_> =
            elements.into_iter().map(|element| (weight(&element), element)).collect();
        weighed.sort_by(|(a, _), (b, _)| {
            directed(request.compared(a.as_deref()).cmp(&request.compared(b.as_deref())))
        });
        return Ok(weighed.into_iter().map(|(_, element)| element).collect());
    }
    let mut weighed = Vec::with_capacity(elements.len());
    for element in elements {
        let number = weight(&element).map_or(Some(0.0), |text| parse_weight(&text));
        let error = WireError::Err("One or more scores can't be converted into double");
        weighed.push((number.ok_or(error)?, element));
    }
    weighed.sort_by(|(a, x), (b, y)| directed(a.total_cmp(b).then_with(|| x.cmp(y))));
    Ok(weighed.into_iter().map(|(_, element)| element).collect())
}

/// A weight as `strtod` reads it: up to a zero byte, blanks may come before it, and
/// no text at all is zero. Zero has no sign. A number too small to be held exactly is
/// out of range.
fn parse_weight(text: &[u8]) -> Option<f64> {
    let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
    if text.is_empty() {
        return Some(0.0);
    }
    // The vertical tab is a blank to C, but not to Rust.
    let start = text.iter().position(|byte| !byte.is_ascii_whitespace() && *byte != b'\x0b')?;
    let number = parse_f64(&text[start..]);
    number.filter(|number| !number.is_subnormal()).map(|number| number + 0.0)
}

/// What a pattern names for an element: the element itself, a string, or after
/// `->` a field of a hash.
fn look_up(ctx: &mut Ctx<'_>, pattern: &[u8], element: &[u8]) -> Option<Box<[u8]>> {
    if pattern == b"#" {
        return Some(element.into());
    }
    let (key, field) = sorted_by::named(pattern, element)?;
    let value = ctx.keys.read(ctx.key_of(&key))?.value();
    match (field, value) {
        (None, value) => Text::of(value).map(|text| text.as_bytes().into()),
        (Some(field), Value::Object(object)) => {
            let found = Hash::of(object)?.get(Item::of(field))?;
            Some(found.text().as_bytes().into())
        }
        (Some(_), _) => None,
    }
}

fn reply(ctx: &mut Ctx<'_>, wanted: &[Box<[u8]>], gets: &[&[u8]]) {
    ctx.reply.array(wanted.len() * gets.len().max(1));
    for element in wanted {
        if gets.is_empty() {
            ctx.reply.bulk(element);
        }
        for pattern in gets {
            match look_up(ctx, pattern, element) {
                Some(text) => ctx.reply.bulk(&text),
                None => ctx.reply.null(),
            }
        }
    }
}

fn store(ctx: &mut Ctx<'_>, position: usize, wanted: &[Box<[u8]>], gets: &[&[u8]]) {
    let mut list = List::default();
    for element in wanted {
        if gets.is_empty() {
            list.push(End::Tail, element);
        }
        for pattern in gets {
            let text = look_up(ctx, pattern, element);
            list.push(End::Tail, &text.unwrap_or_default());
        }
    }
    let (key, len) = (ctx.key(position), list.len());
    if len == 0 {
        ctx.keys.remove(key, Event::DEL);
    } else {
        ctx.keys.set(key, NewValue::Object(list.into_object()), Lifetime::Forever, SORTSTORE);
        // Redis counts every element stored.
        ctx.keys.changes.dirty += len as u64 - 1;
    }
    ctx.reply.count(len);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_read_as_strtod_reads_them() {
        let cases: [(&[u8], Option<f64>); 11] = [
            (b"", Some(0.0)),
            (b" ", None),
            (b" 1.5", Some(1.5)),
            (b"\t\x0b2", Some(2.0)),
            (b"-3e2", Some(-300.0)),
            (b"inf", Some(f64::INFINITY)),
            (b"nan", None),
            (b"1x", None),
            (b"1 ", None),
            (b"1\0x", Some(1.0)),
            (b"5e-324", None),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_weight(text), expected, "{}", text.escape_ascii());
        }
        assert!(parse_weight(b"-0").is_some_and(f64::is_sign_positive));
    }

    #[test]
    fn limits_are_cut_to_what_there_is() {
        let cases =
            [((0, -1), 0..5), ((1, 2), 1..3), ((-3, 2), 0..2), ((4, 9), 4..5), ((7, 1), 5..5)];
        for ((start, count), expected) in cases {
            assert_eq!(Limit { start, count }.of(5), expected, "{start} {count}");
        }
    }
}
