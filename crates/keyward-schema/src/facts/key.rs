//! What is true of a key: headings, and what is said under each.

use super::derivation::{dependents, derivation_in_words};
use super::fields;
use super::in_words::{
    bounds_in_words, evict_in_words, lifetime_in_words, mode_in_words, shape_line, things,
    type_in_words,
};
use super::line::{Inline, Line};
use super::links::Linked;
use super::sink;
use crate::checks::rule;
use crate::pattern::Kind;
use crate::schema::{Allowance, Content, DEFAULT_MAX_FANOUT, DataType, Key, KeyId};
use crate::shape::{Object, Shape, Type};
use crate::units::{count_in_words, size_in_words};

/// Those of a document's section, and its fields, a line for each.
pub(super) fn digest(links: &Linked<'_>, id: KeyId) -> Vec<(&'static str, Vec<Line>)> {
    let key = links.schema.key(id);
    let mut facts = lines_of_key(links, id);
    if let Some(object) = object_of(&key.content).filter(|object| fields::is_telling(object)) {
        facts.push(("Fields", fields::lines(object)));
    }
    facts
}

/// All that a few words each can say.
pub fn lines_of_key(links: &Linked<'_>, id: KeyId) -> Vec<(&'static str, Vec<Line>)> {
    let key = links.schema.key(id);
    let mut facts: Vec<(&'static str, Vec<Line>)> = vec![
        ("Type", vec![Line::text(type_in_words(key.data)).and(".")]),
        ("Lifetime", vec![lifetime_in_words(links, key)]),
        ("Placeholders", placeholders(key)),
    ];
    facts.extend(content_facts(&key.content));
    let checks = object_of(&key.content).map(fields::check_lines);
    facts.push(("Checks", checks.unwrap_or_default()));
    facts.push(("Bounds", bounds_in_words(key)));
    let derived = key.derived.as_ref().map(|derived| derivation_in_words(links, key, derived));
    facts.push(("Kept by Keyward", derived.into_iter().chain(fanout(key)).collect()));
    facts.push(("Feeds", dependents(links, id)));
    facts.push(("Used by", users(links, id)));
    facts.push(("If memory is short", vec![Line::text(evict_in_words(key.evict))]));
    let compress = key.compress.map(|bytes| {
        let what = match key.data {
            DataType::Hash => "Values of fields",
            DataType::List => "Items",
            _ => "Values",
        };
        let above = size_in_words(bytes);
        Line::text(format!("{what} above {above} are compressed inside, never on the wire."))
    });
    facts.push(("Compression", compress.into_iter().collect()));
    let expect = key.expect.map(|count| {
        let items = key.expect_items.map(|items| format!(", each of {}", things(items, "item")));
        Line::text(format!("About {}{}.", things(count, "key"), items.unwrap_or_default()))
    });
    facts.push(("Expected", expect.into_iter().collect()));
    let alerts = key.alerts.iter().map(|alert| Line::text(format!("{}.", alert.in_words())));
    facts.push(("Alerts", alerts.collect()));
    facts.push(("PostgreSQL", sink_lines(key)));
    facts.push(("Secret", secret(key)));
    facts.push(("Personal", personal(key)));
    facts.push(("Owner", key.owner.iter().map(|owner| Line::text(&**owner)).collect()));
    facts.push(("Readers", named(key.readers.as_deref())));
    facts.push(("Writers", named(key.writers.as_deref())));
    let mode = key.mode.map(|mode| Line::text(mode_in_words(mode)));
    facts.push(("Enforcement", mode.into_iter().collect()));
    facts.push(("Accepted warnings", key.allowed.iter().map(allowance).collect()));
    facts.retain(|(_, lines)| !lines.is_empty());
    facts
}

fn sink_lines(key: &Key) -> Vec<Line> {
    let fields = object_of(&key.content).map_or(&[][..], |object| &object.fields);
    let fields: Vec<&str> = fields.iter().map(|field| &*field.name).collect();
    key.sink.as_ref().map_or(Vec::new(), |own| sink::lines(own, &key.pattern, &fields))
}

/// Users, where the key names them itself.
fn named(users: Option<&[Box<str>]>) -> Vec<Line> {
    let line = |users: &[Box<str>]| match users {
        [] => Line::text("Nobody."),
        users => Line::text(users.join(", ")),
    };
    users.map(line).into_iter().collect()
}

fn placeholders(key: &Key) -> Vec<Line> {
    let in_words = |(index, placeholder): (usize, &crate::Placeholder)| {
        let tagged = if key.pattern.is_tagged(index) { ", in a hash tag" } else { "" };
        let secret = if key.secret_placeholders.contains(&index) { ", secret" } else { "" };
        let is_personal = key.personal_placeholders.contains(&index);
        let personal = if is_personal { ", personal" } else { "" };
        let kind = placeholder.kind.in_words();
        Line::code(&*placeholder.name).and(format!(": {kind}{tagged}{secret}{personal}"))
    };
    key.pattern.placeholders().iter().enumerate().map(in_words).collect()
}

/// What of a key is shown only to those who read it.
fn secret(key: &Key) -> Vec<Line> {
    const KEPT_OUT: &str = "kept out of MONITOR, the slow log, logs and refusals";
    let values = key.secret.then(|| Line::text(format!("Its values are {KEPT_OUT}.")));
    let names = key.secret_placeholders.iter();
    let names = names.map(|index| Line::code(&*key.pattern.placeholders()[*index].name));
    let names = Line::join(names, ", ");
    let names = (!names.is_empty()).then(|| {
        let verb = if key.secret_placeholders.len() == 1 { "is" } else { "are" };
        names.and(format!(" {verb} {KEPT_OUT}; SCAN and notifications show the whole key."))
    });
    values.into_iter().chain(names).collect()
}

/// What of a key pages and reports mask.
fn personal(key: &Key) -> Vec<Line> {
    const MASKED: &str = "masked on pages and in reports";
    let values = key.personal.then(|| Line::text(format!("Its values are {MASKED}.")));
    let names = key.personal_placeholders.iter();
    let names = names.map(|index| Line::code(&*key.pattern.placeholders()[*index].name));
    let names = Line::join(names, ", ");
    let names = (!names.is_empty()).then(|| {
        let verb = if key.personal_placeholders.len() == 1 { "is" } else { "are" };
        names.and(format!(" {verb} {MASKED}."))
    });
    values.into_iter().chain(names).collect()
}

fn content_facts(content: &Content) -> Vec<(&'static str, Vec<Line>)> {
    match content {
        content if content.object().is_some_and(|object| object.fields.is_empty()) => {
            vec![("Fields", vec![Line::text("Open: the schema names none.")])]
        }
        Content::Value(shape) | Content::Json(shape) if shape.object().is_none() => {
            vec![("Value", vec![described(shape)])]
        }
        Content::Items(shape) => vec![("Items", vec![described(shape)])],
        Content::Scored { member, score } => {
            vec![("Members", vec![described(member)]), ("Scores", vec![described(score)])]
        }
        Content::Entries(object) if object.fields.is_empty() => {
            vec![("Fields", vec![Line::text("Open: the schema names none.")])]
        }
        Content::Entries(_) => vec![("Fields", vec![Line::text("Of each entry, below.")])],
        Content::Value(_) | Content::Json(_) | Content::Fields(_) | Content::Opaque => Vec::new(),
    }
}

/// A type in the schema's notation, and in words where those say more.
fn described(shape: &Shape) -> Line {
    match shape.ty {
        Type::String | Type::Bool | Type::Json | Type::Kind(Kind::Enum(_)) => shape_line(shape),
        _ => shape_line(shape).and(format!(": {}", shape.ty.in_words())),
    }
}

fn fanout(key: &Key) -> Option<Line> {
    (key.derived.is_some() && key.max_fanout != DEFAULT_MAX_FANOUT).then(|| {
        let entries = if key.max_fanout == 1 { "entry" } else { "entries" };
        let count = count_in_words(key.max_fanout);
        Line::text(format!("One command may add at most {count} {entries} to it."))
    })
}

fn users(links: &Linked<'_>, id: KeyId) -> Vec<Line> {
    let uses = |function: &crate::Function| {
        let mut targets = function.keys.iter().flat_map(|key| &key.targets);
        targets.any(|target| target.reference.key == id)
    };
    let users = links.schema.functions.iter().enumerate().filter(|(_, function)| uses(function));
    let line = Line::join(users.map(|(index, _)| links.function_link(index)), ", ");
    if line.is_empty() { Vec::new() } else { vec![line] }
}

/// A warning that does not apply, and why.
pub fn allowance(allowance: &Allowance) -> Line {
    let title = rule(&allowance.code).map_or("", |rule| rule.title);
    let line = Line::code(&*allowance.code).and(format!(", {title}: "));
    line.with(Inline::Prose(allowance.reason.to_string()))
}

/// The fields that a table shows: of the value, or of each item.
pub fn object_of(content: &Content) -> Option<&Object> {
    match content {
        Content::Fields(object) | Content::Entries(object) => Some(object),
        Content::Json(shape) | Content::Items(shape) | Content::Value(shape) => {
            fields::object_within(shape)
        }
        Content::Scored { member, .. } => fields::object_within(member),
        Content::Opaque => None,
    }
}
