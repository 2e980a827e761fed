//! Shapes from TOML: a type in quotes, or a table.
//!
//! A table stands for one value: with `type`, or with `fields`, and limits
//! beside them. Any other table is short for `{ fields = … }`. A nested object
//! whose fields have just the names of such settings must be written in the
//! long form, and so must one with a field `type` whose others look like
//! settings: what a table that names a type says besides is a mistake rather
//! than a field, unless it is a type itself.

use toml::de::{DeTable, DeValue};

use super::comparison;
use super::table::{Entry, Located, Table, text};
use crate::checks::malformed_shape::Place;
use crate::checks::{
    bad_check, bad_limits, bad_same, malformed_shape, too_many, unknown_setting, wrong_value,
};
use crate::decimal::Decimal;
use crate::diagnostic::Report;
use crate::nearest::nearest;
use crate::pattern::Kind;
use crate::settings::{Scope, settings_of};
use crate::shape::{
    Extra, Field, Length, Limits, MAX_FIELDS, MAX_SHAPE_DEPTH, Object, Same, Shape, TYPE_NAMES,
    Type, parse_expr,
};
use crate::source::Span;

/// A shape as a field has it.
pub(super) struct FieldShape {
    pub(super) shape: Shape,
    pub(super) optional: bool,
    doc: Option<Box<str>>,
    /// With the place where it stands.
    same: Option<(Same, Span)>,
}

/// Reads a shape that may not be optional.
pub(super) fn read(entry: Entry<'_>, report: &mut Report) -> Option<Shape> {
    let field = read_field(entry, 0, report)?;
    if let Some((_, at)) = field.same {
        report.push(bad_same::not_a_field(at));
        return None;
    }
    if field.optional {
        report.push(malformed_shape::optional_here(entry.value.span().into()));
        return None;
    }
    Some(field.shape)
}

/// Reads a table of fields.
pub(super) fn read_fields(
    table: &DeTable<'_>,
    extra: Extra,
    depth: usize,
    report: &mut Report,
) -> Object {
    let mut entries = super::table::entries(table);
    if entries.len() > MAX_FIELDS {
        report.push(too_many::found("fields", MAX_FIELDS, entries[MAX_FIELDS].name_at));
        entries.truncate(MAX_FIELDS);
    }
    let mut read = |entry: Entry<'_>| {
        let FieldShape { shape, optional, doc, same } = read_field(entry, depth + 1, report)?;
        let (name, same) = (entry.name.into(), same.map(|(same, _)| same));
        Some(Field { name, required: !optional, shape, same, doc, at: entry.name_at })
    };
    let fields = entries.into_iter().filter_map(&mut read).collect();
    Object { fields, extra, ..Object::default() }
}

/// Reads `extra`: a word, or a type.
pub(super) fn read_extra(entry: Entry<'_>, depth: usize, report: &mut Report) -> Extra {
    match entry.value.get_ref() {
        DeValue::String(word) if word == "reject" => Extra::Reject,
        DeValue::String(word) if word == "allow" => Extra::Allow,
        DeValue::String(word) if let Some(near) = misspelt_extra(word) => {
            report.push(malformed_shape::extra(word, near, entry.value.span().into()));
            Extra::Reject
        }
        _ => match read_field(entry, depth + 1, report) {
            Some(field) if field.optional => {
                report.push(malformed_shape::optional_here(entry.value.span().into()));
                Extra::Reject
            }
            Some(FieldShape { same: Some((_, at)), .. }) => {
                report.push(bad_same::not_a_field(at));
                Extra::Reject
            }
            Some(field) => Extra::Typed(Box::new(field.shape)),
            None => Extra::Reject,
        },
    }
}

/// The word of `extra` that is meant by one that is no type either.
fn misspelt_extra(word: &str) -> Option<&'static str> {
    let is_type = parse_expr(word, None).is_ok();
    nearest(word, ["reject", "allow"]).filter(|_| !is_type)
}

fn read_field(entry: Entry<'_>, depth: usize, report: &mut Report) -> Option<FieldShape> {
    let field = read_any_depth(entry, depth, report)?;
    if depth + field.shape.depth() > MAX_SHAPE_DEPTH + 1 {
        report.push(malformed_shape::too_deep(entry.value.span().into()));
        return None;
    }
    Some(field)
}

fn read_any_depth(entry: Entry<'_>, depth: usize, report: &mut Report) -> Option<FieldShape> {
    let at: Span = entry.value.span().into();
    match entry.value.get_ref() {
        DeValue::String(_) => {
            let (shape, optional) = read_type(entry, Place::Alone, None, report)?;
            Some(FieldShape { shape, optional, doc: None, same: None })
        }
        DeValue::Table(_) if depth >= MAX_SHAPE_DEPTH => {
            report.push(too_many::found("levels of nesting", MAX_SHAPE_DEPTH, at));
            None
        }
        DeValue::Table(table)
            if is_long_form(table) || is_misspelt_long_form(table) || is_of_one_value(table) =>
        {
            read_long(table, entry, depth, report)
        }
        DeValue::Table(table) => {
            let object = read_fields(table, Extra::Reject, depth, report);
            let shape = Shape::of(Type::Object(object));
            Some(FieldShape { shape, optional: false, doc: None, same: None })
        }
        _ => {
            report.push(wrong_value::found(entry, "a type in quotes, or a table"));
            None
        }
    }
}

/// Whether a table describes one value rather than listing fields.
fn is_long_form(table: &DeTable<'_>) -> bool {
    let is_setting = |name: &str| settings_of(Scope::Shape).any(|setting| setting.name == name);
    let has = |name: &str, wanted: fn(&DeValue<'_>) -> bool| {
        table.iter().any(|(key, value)| key.get_ref() == name && wanted(value.get_ref()))
    };
    table.iter().all(|(name, _)| is_setting(name.get_ref()))
        && (has("type", |value| matches!(value, DeValue::String(_)))
            || has("fields", |value| matches!(value, DeValue::Table(_))))
}

/// Whether a table with a `type` has a name that is almost a setting's, with a
/// value that no field could have: then it is no field either.
fn is_misspelt_long_form(table: &DeTable<'_>) -> bool {
    let is_almost = |name: &str| {
        nearest(name, settings_of(Scope::Shape).map(|setting| setting.name)).is_some()
            || unknown_setting::known_elsewhere(Scope::Shape, name).is_some()
            || unknown_setting::OPTIONAL.contains(&name)
    };
    let is_text = |value: &DeValue<'_>| matches!(value, DeValue::String(_));
    table.get("type").is_some_and(|ty| is_text(ty.get_ref()))
        && table
            .iter()
            .any(|(name, value)| is_no_type(value.get_ref()) && is_almost(name.get_ref()))
}

/// Whether a value could not stand for a field: it is no type and no object.
fn is_no_type(value: &DeValue<'_>) -> bool {
    match value {
        DeValue::String(text) => parse_expr(text, None).is_err(),
        DeValue::Table(_) => false,
        _ => true,
    }
}

/// Whether a table whose `type` names a type of values says nothing besides that could be a
/// field: then what is no setting is a mistake.
fn is_of_one_value(table: &DeTable<'_>) -> bool {
    let names_type = |ty: &str| {
        let end = ty.find(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'));
        TYPE_NAMES.contains(&&ty[..end.unwrap_or(ty.len())])
            && !ty.contains('|')
            && parse_expr(ty, None).is_ok()
    };
    let is_setting = |name: &str| settings_of(Scope::Shape).any(|setting| setting.name == name);
    let ty = table.get("type").and_then(|ty| ty.get_ref().as_str());
    let others = || table.iter().filter(|(name, _)| name.get_ref() != "type");
    ty.is_some_and(names_type)
        && (others().any(|(name, value)| is_setting(name.get_ref()) && is_no_type(value.get_ref()))
            || others().all(|(name, value)| {
                let (name, value) = (name.get_ref(), value.get_ref());
                is_setting(name) || is_no_type(value) || looks_foreign(name, value)
            }))
}

/// Whether this is how other languages restrict a value, with something that happens to be a type
/// here.
fn looks_foreign(name: &str, value: &DeValue<'_>) -> bool {
    let Some(text) = value.as_str() else { return false };
    let is_of = |names: &[&str]| names.contains(&&*name.to_ascii_lowercase());
    let shape = parse_expr(text, None).map(|(shape, _)| shape.ty);
    match shape {
        Ok(Type::Kind(Kind::Enum(_))) => is_of(&unknown_setting::WORDS) || is_of(&["format"]),
        Ok(Type::Bool) => is_of(&unknown_setting::UNIQUE) || is_of(&unknown_setting::OPTIONAL),
        Ok(ty) => is_of(&["format"]) && !matches!(ty, Type::String | Type::Kind(Kind::Str)),
        Err(_) => false,
    }
}

fn read_long(
    table: &DeTable<'_>,
    entry: Entry<'_>,
    depth: usize,
    report: &mut Report,
) -> Option<FieldShape> {
    let table = Table::open(Scope::Shape, table, entry.name_at, report);
    let extra = table.entry("extra").map(|entry| read_extra(entry, depth, report));
    let object = table
        .table("fields", report)
        .map(|fields| read_fields(fields.value, extra.clone().unwrap_or_default(), depth, report));
    // `extra` without `fields` is an object of which nothing is known.
    let mut object = object.or_else(|| extra.map(|extra| Object { extra, ..Object::default() }));
    match (table.entry("check"), &mut object) {
        (Some(entry), Some(object)) => object.checks = comparison::read(entry, object, report),
        (Some(entry), None) => report.push(bad_check::without_fields(entry.name_at)),
        (None, _) => {}
    }
    let (mut shape, optional) = match (table.entry("type"), object) {
        (Some(entry), object) => {
            let (shape, optional) = read_type(entry, Place::InTable, object.as_ref(), report)?;
            if object.is_some() && !has_object(&shape) {
                let fields = table.entry("fields").or(table.entry("extra"))?;
                report.push(malformed_shape::fields_unused(&shape, fields.name_at));
                return None;
            }
            (shape, optional)
        }
        (None, object) => (Shape::of(Type::Object(object.unwrap_or_default())), false),
    };
    shape.limits = read_limits(&table, &shape, report);
    if table.switch("secret", report).is_some_and(|secret| secret.value) {
        shape.make_secret();
    }
    shape.personal = table.switch("personal", report).is_some_and(|personal| personal.value);
    let doc = table.owned_text("doc", report);
    let same = comparison::read_same(&table, report);
    Some(FieldShape { shape, optional, doc, same })
}

/// Whether an object, and not only a value without fields, is at its core.
fn has_object(shape: &Shape) -> bool {
    match &shape.ty {
        Type::Object(_) => true,
        Type::Array(item) | Type::Map { value: item, .. } => has_object(item),
        _ => false,
    }
}

fn read_type<'t>(
    entry: Entry<'t>,
    place: fn(Located<&'t str>) -> Place<'t>,
    object: Option<&Object>,
    report: &mut Report,
) -> Option<(Shape, bool)> {
    let expr = text(entry, report)?;
    match parse_expr(expr.value, object) {
        Ok(parsed) => Some(parsed),
        Err(error) => {
            report.push(malformed_shape::found(&error, &place(expr)));
            None
        }
    }
}

fn read_limits(table: &Table<'_>, shape: &Shape, report: &mut Report) -> Limits {
    let is_number = shape.ty.is_number();
    let is_sized = shape.ty.is_text() || matches!(shape.ty, Type::Array(_));
    let mut fitting = |name: &'static str, fits: bool| {
        let entry = table.entry(name)?;
        if !fits {
            report.push(bad_limits::misfit(name, shape, entry.name_at));
        }
        fits.then_some(entry)
    };
    let min = fitting("min", is_number);
    let max = fitting("max", is_number);
    let len = fitting("len", is_sized);
    let prefix = fitting("prefix", shape.ty.is_text());
    let limits = Limits {
        min: min.and_then(|entry| read_number(entry, report)),
        max: max.and_then(|entry| read_number(entry, report)),
        len: len.and_then(|entry| read_length(entry, report)),
        prefix: prefix.and_then(|entry| text(entry, report)).map(|text| text.value.into()),
    };
    if let (Some(min), Some(max), Some(entry)) = (&limits.min, &limits.max, max)
        && min.as_text() > max.as_text()
    {
        report.push(bad_limits::reversed(min, max, entry.value.span().into()));
    }
    let is_natural = matches!(shape.ty, Type::Kind(Kind::Uint) | Type::TimestampMs);
    if let (Some(max), Some(entry)) = (&limits.max, max)
        && is_natural
        && max.is_negative()
    {
        report.push(bad_limits::below_zero(shape, max, entry.value.span().into()));
    }
    if let (Some(len), Some(prefix), Some(entry)) = (limits.len, &limits.prefix, len)
        && len.max < prefix.len() as u64
    {
        report.push(bad_limits::prefix_too_long(prefix, entry.value.span().into()));
    }
    limits
}

/// A bound: a number, or a text with one that TOML's floats could not hold.
fn read_number(entry: Entry<'_>, report: &mut Report) -> Option<Decimal> {
    let number = match entry.value.get_ref() {
        DeValue::Integer(number) if number.radix() == 10 => Decimal::parse(number.as_str()),
        DeValue::Float(number) => Decimal::parse(number.as_str()),
        DeValue::String(number) => Decimal::parse(number),
        _ => None,
    };
    if number.is_none() {
        report.push(wrong_value::found(entry, "a decimal number"));
    }
    number
}

/// `32`, `"1..64"`, `"8.."`, `"..64"`.
fn read_length(entry: Entry<'_>, report: &mut Report) -> Option<Length> {
    let length = match entry.value.get_ref() {
        DeValue::Integer(_) => {
            super::table::integer(entry.value).map(|exact| Length { min: exact, max: exact })
        }
        DeValue::String(range) => parse_length(range),
        _ => None,
    };
    if length.is_none() {
        report.push(wrong_value::found(entry, "a length such as 32, \"1..64\" or \"8..\""));
    }
    length
}

fn parse_length(range: &str) -> Option<Length> {
    let (min, max) = range.split_once("..")?;
    let bound = |text: &str, open: u64| match text.trim() {
        "" => Some(open),
        number => number.parse().ok(),
    };
    let length = Length { min: bound(min, 0)?, max: bound(max, u64::MAX)? };
    (length.min <= length.max && range.trim() != "..").then_some(length)
}
