//! Checks from TOML: `registered <= capacity`, or a table with a condition.
//!
//! Grammar: a field, one of `=`, `!=`, `<`, `<=`, `>`, `>=`, and a field or a number. Also
//! here: `same` of a field, found among the placeholders of its key.

use toml::de::DeValue;

use super::condition;
use super::table::{Entry, Located, Table, text};
use crate::checks::{bad_check, bad_same, too_many, wrong_value};
use crate::decimal::Decimal;
use crate::diagnostic::Report;
use crate::pattern::{Kind, Pattern};
use crate::schema::Content;
use crate::settings::Scope;
use crate::shape::{
    Check, Extra, Field, MAX_CHECKS, Object, Operand, Operator, Order, Same, Shape, Type,
};
use crate::source::Span;

/// Reads `check` of an object whose fields are known.
pub(super) fn read(entry: Entry<'_>, object: &Object, report: &mut Report) -> Vec<Check> {
    let DeValue::Array(items) = entry.value.get_ref() else {
        report.push(wrong_value::found(entry, "an array of checks"));
        return Vec::new();
    };
    if items.len() > MAX_CHECKS {
        report.push(too_many::found("checks", MAX_CHECKS, items[MAX_CHECKS].span().into()));
    }
    let items = items.iter().take(MAX_CHECKS);
    items.filter_map(|value| read_one(Entry { value, ..entry }, object, report)).collect()
}

fn read_one(entry: Entry<'_>, object: &Object, report: &mut Report) -> Option<Check> {
    let (check, when) = match entry.value.get_ref() {
        DeValue::Table(table) => {
            let table = Table::open(Scope::Check, table, entry.value.span().into(), report);
            let check = table.required_text("check", report)?;
            (check, table.text("when", report))
        }
        _ => (text(entry, report)?, None),
    };
    let mut read = read_comparison(check, object, report)?;
    if let Some(when) = when {
        let no_field = |name: Located<&str>| bad_check::no_field(name, object);
        read.when = condition::read_of(when, Some(object), &no_field, report)?;
        read.text = format!("{} when {}", read.text, when.value.trim()).into();
    }
    Some(read)
}

fn read_comparison(check: Located<&str>, object: &Object, report: &mut Report) -> Option<Check> {
    let at = check.at;
    let (left, operator, right) = match parse(check.value) {
        Ok(parts) => parts,
        Err(expected) => {
            let meant = in_our_signs(check.value);
            let parts = meant.as_deref().and_then(|meant| parse(meant).ok());
            report.push(match parts {
                Some((left, _, word)) if is_word(object, left, word) => bad_check::word(word, at),
                _ => {
                    bad_check::malformed(expected, meant.as_deref().filter(|_| parts.is_some()), at)
                }
            });
            return None;
        }
    };
    if is_word(object, left, right) {
        report.push(bad_check::word(right, at));
        return None;
    }
    if looks_like_number(left) {
        report.push(bad_check::number_first(left, operator, right, at));
        return None;
    }
    let mut field = |name| {
        let found = object.field(name);
        if found.is_none() {
            report.push(bad_check::no_field(Located { value: name, at }, object));
        }
        found
    };
    let left = field(left)?;
    let (right, ty) = match looks_like_number(right) {
        true => match Decimal::parse(right) {
            Some(number) => (Operand::Number(number), Type::Decimal { scale: None }),
            None => {
                report.push(bad_check::bad_number(right, at));
                return None;
            }
        },
        false => {
            let index = field(right)?;
            (Operand::Field(index), object.fields[index].shape.ty.clone())
        }
    };
    let first = &object.fields[left];
    if right == Operand::Field(left) {
        report.push(bad_check::with_itself(first, at));
        return None;
    }
    let Some(order) = Order::of(&first.shape.ty, operator, &ty) else {
        report.push(match &right {
            Operand::Field(other) => {
                bad_check::incomparable(first, operator, &object.fields[*other], at)
            }
            Operand::Number(_) => bad_check::not_a_number(first, at),
        });
        return None;
    };
    let other = match &right {
        Operand::Field(index) => object.fields[*index].name.to_string(),
        Operand::Number(number) => number.to_string(),
    };
    let told = format!("{} {} {other}", first.name, operator.name());
    Some(Check { left, operator, right, order, when: Vec::new(), text: told.into(), at })
}

/// A check with the signs that other languages compare by in ours; none if it has no such sign.
fn in_our_signs(check: &str) -> Option<String> {
    let is_sign = |c: char| "=!<>".contains(c);
    let start = check.find(is_sign)?;
    let end = check[start..].find(|c| !is_sign(c)).map_or(check.len(), |end| start + end);
    let sign = match &check[start..end] {
        "==" | "===" => "=",
        "=>" => ">=",
        "=<" => "<=",
        "<>" | "=!" | "!==" => "!=",
        _ => return None,
    };
    Some(format!("{}{sign}{}", &check[..start], &check[end..]))
}

/// Whether what a field is compared with is a word rather than the name of a field: it is in
/// quotes, or one of those that the field may be.
fn is_word(object: &Object, field: &str, other: &str) -> bool {
    let is_quoted = other.starts_with(['\'', '"']);
    let is_of = |field: usize| match &object.fields[field].shape.ty {
        Type::Kind(Kind::Enum(words)) => words.iter().any(|word| **word == *other),
        _ => false,
    };
    object.field(other).is_none() && (is_quoted || object.field(field).is_some_and(is_of))
}

/// Whether a word begins as no name of a field does in a comparison.
fn looks_like_number(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_digit() || "+-.".contains(first))
}

/// The field, the operator, and the other side.
fn parse(check: &str) -> Result<(&str, Operator, &str), &'static str> {
    let is_sign = |c: char| "=!<>".contains(c);
    let is_name = |word: &str| !word.is_empty() && !word.contains(char::is_whitespace);
    let start = check.find(is_sign).ok_or("`=`, `!=`, `<`, `<=`, `>` or `>=`")?;
    let (left, rest) = check.split_at(start);
    let end = rest.find(|c| !is_sign(c)).unwrap_or(rest.len());
    let (sign, right) = rest.split_at(end);
    let operator = Operator::named(sign).ok_or("`=`, `!=`, `<`, `<=`, `>` or `>=`")?;
    let (left, right) = (left.trim(), right.trim());
    if !is_name(left) {
        return Err("the name of a field, then how it compares");
    }
    if !is_name(right) || right.contains(is_sign) {
        return Err("one field or number behind it");
    }
    Ok((left, operator, right))
}

/// Reads `same` of a field: the name in its braces. Which placeholder that is, is found out
/// by [`resolve`].
pub(super) fn read_same(table: &Table<'_>, report: &mut Report) -> Option<(Same, Span)> {
    let same = table.text("same", report)?;
    let name = same.value.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    let Some(name) = name.filter(|name| !name.is_empty() && !name.contains(['{', '}'])) else {
        report.push(bad_same::malformed(same));
        return None;
    };
    Some((Same { placeholder: 0, name: name.into() }, same.at))
}

/// Finds the placeholder of every `same` within a key's content.
pub(super) fn resolve(content: &mut Content, pattern: &Pattern, report: &mut Report) {
    each_same(content, &mut |field| resolve_field(field, pattern, report));
}

/// Visits every field of a content that has a `same`.
pub(super) fn each_same(content: &mut Content, visit: &mut dyn FnMut(&mut Field)) {
    match content {
        Content::Value(shape) | Content::Json(shape) | Content::Items(shape) => {
            each_same_in(shape, visit);
        }
        Content::Fields(object) | Content::Entries(object) => each_same_of(object, visit),
        Content::Scored { member, .. } => each_same_in(member, visit),
        Content::Opaque => {}
    }
}

/// Reports every `same` of a shape that belongs to no key.
pub(super) fn refuse_same(shape: &mut Shape, report: &mut Report) {
    each_same_in(shape, &mut |field| report.push(bad_same::without_key(field)));
}

fn each_same_in(shape: &mut Shape, visit: &mut dyn FnMut(&mut Field)) {
    match &mut shape.ty {
        Type::Array(item) | Type::Map { value: item, .. } => each_same_in(item, visit),
        Type::Object(object) => each_same_of(object, visit),
        _ => {}
    }
}

fn each_same_of(object: &mut Object, visit: &mut dyn FnMut(&mut Field)) {
    for field in &mut object.fields {
        if field.same.is_some() {
            visit(field);
        }
        each_same_in(&mut field.shape, visit);
    }
    if let Extra::Typed(shape) = &mut object.extra {
        each_same_in(shape, visit);
    }
}

fn resolve_field(field: &mut Field, pattern: &Pattern, report: &mut Report) {
    let Some(name) = field.same.as_ref().map(|same| same.name.clone()) else { return };
    let Some(index) = pattern.placeholder(&name) else {
        report.push(bad_same::no_placeholder(field, &name, pattern));
        return;
    };
    if !can_equal(&field.shape, &pattern.placeholders()[index].kind) {
        report.push(bad_same::never(field, &pattern.placeholders()[index]));
        return;
    }
    field.same = Some(Same { placeholder: index, name });
}

/// Whether some text of a shape is accepted by a placeholder of that kind.
fn can_equal(shape: &Shape, kind: &Kind) -> bool {
    match &shape.ty {
        Type::String => true,
        Type::Kind(own) => own.meets(kind),
        Type::TimestampMs => Kind::Uint.meets(kind),
        // Whole numbers are among them.
        Type::Float | Type::Decimal { .. } => Kind::Int.meets(kind),
        Type::Bool => kind.accepts(b"true") || kind.accepts(b"false"),
        Type::Timestamp => matches!(kind, Kind::Rest),
        Type::Json | Type::Array(_) | Type::Map { .. } | Type::Object(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_field_an_operator_and_the_other_side() {
        let check = |text, expected: (&str, &str, &str)| {
            let (left, operator, right) = parse(text).expect(text);
            assert_eq!((left, operator.name(), right), expected, "{text}");
        };
        check("registered <= capacity", ("registered", "<=", "capacity"));
        check("a!=b", ("a", "!=", "b"));
        check(" a > -1.50 ", ("a", ">", "-1.50"));
        check("a-b=c.d", ("a-b", "=", "c.d"));
        for bad in ["", "a", "a b < c", "a < b c", "< b", "a <", "a == b", "a < b < c", "a ≤ b"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
