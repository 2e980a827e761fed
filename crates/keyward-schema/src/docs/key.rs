//! The section of a key.

use super::anchors::Part;
use super::commands;
use super::derivation::{dependents, derivation_in_words, keeper};
use super::fields;
use super::json::pretty;
use super::page::{Badge, Block, Inline, Language, Line, Role, Section, Table};
use super::words::{
    bounds_in_words, evict_in_words, lifetime_in_words, lifetime_short, mode_in_words, shape_line,
    things, type_in_words, type_name,
};
use crate::checks::rule;
use crate::pattern::Kind;
use crate::schema::{Allowance, Content, DEFAULT_MAX_FANOUT, Example, ExampleValue, Key, KeyId};
use crate::shape::{Object, Shape, Type};
use crate::units::{count_in_words, size_in_words};

/// Everything about one key.
pub(super) fn section(part: &Part<'_>, id: KeyId) -> Section {
    let key = part.schema.key(id);
    let example = part.examples().get(id);
    let mut section =
        Section::new(part.key_anchor(id), Line::code(key.pattern.text()), Role::Entry);
    section.badges = badges(key);
    section.blocks.extend(key.doc.as_ref().map(|doc| Block::Prose(doc.to_string())));
    section.blocks.push(Block::Facts(facts(part, id, key)));
    if let Some(object) = object_of(&key.content).filter(|object| fields::is_telling(object)) {
        section.blocks.push(Block::Table(fields::table(object)));
    }
    section.blocks.extend(example_blocks(key, example));
    section
        .blocks
        .push(Block::Code { language: Language::Redis, text: commands::lines(key, example) });
    section
}

/// The keys of a chapter at a glance.
pub(super) fn summary(part: &Part<'_>, keys: &[KeyId]) -> Table {
    let mut table = Table::of(["Key", "Type", "Lifetime", "What it is"]);
    for &id in keys {
        let key = part.schema.key(id);
        table.push([
            part.key_link(id),
            Line::text(type_name(key.data)),
            lifetime_short(part, key),
            Line::prose(key.doc.as_deref().map(first_sentence)),
        ]);
    }
    table.without_empty_columns()
}

/// Up to the first full stop that ends a sentence, or the first line.
fn first_sentence(doc: &str) -> &str {
    let paragraph = doc.trim().split("\n\n").next().unwrap_or("");
    let end =
        paragraph.match_indices(['.', '!', '?']).map(|(at, mark)| at + mark.len()).find(|&end| {
            let rest = &paragraph[end..];
            rest.is_empty()
                || rest.starts_with(char::is_whitespace) && !paragraph[..end].ends_with("e.g.")
        });
    &paragraph[..end.unwrap_or(paragraph.len())]
}

fn badges(key: &Key) -> Vec<Badge> {
    let mut badges =
        vec![Badge { text: type_name(key.data).to_owned(), tone: key.data.redis_type() }];
    if let Some(derived) = &key.derived {
        badges.push(Badge { text: keeper(derived).to_owned(), tone: "derived" });
    }
    if key.secret || !key.secret_placeholders.is_empty() {
        badges.push(Badge { text: "secret".to_owned(), tone: "secret" });
    }
    badges
}

/// All that a few words each can say, fields included.
pub(super) fn digest(part: &Part<'_>, id: KeyId) -> Vec<(&'static str, Vec<Line>)> {
    let key = part.schema.key(id);
    let mut facts = facts(part, id, key);
    if let Some(object) = object_of(&key.content).filter(|object| fields::is_telling(object)) {
        facts.push(("Fields", fields::lines(object)));
    }
    facts
}

fn facts(part: &Part<'_>, id: KeyId, key: &Key) -> Vec<(&'static str, Vec<Line>)> {
    let mut facts: Vec<(&'static str, Vec<Line>)> = vec![
        ("Type", vec![Line::text(type_in_words(key.data)).and(".")]),
        ("Lifetime", vec![lifetime_in_words(part, key)]),
        ("Placeholders", placeholders(key)),
    ];
    facts.extend(content_facts(&key.content));
    facts.push(("Bounds", bounds_in_words(key)));
    let derived = key.derived.as_ref().map(|derived| derivation_in_words(part, key, derived));
    facts.push(("Kept by Keyward", derived.into_iter().chain(fanout(key)).collect()));
    facts.push(("Feeds", dependents(part, id)));
    facts.push(("Used by", users(part, id)));
    facts.push(("If memory is short", vec![Line::text(evict_in_words(key.evict))]));
    let compress = key.compress.map(|bytes| {
        let above = size_in_words(bytes);
        Line::text(format!("Values above {above} are compressed inside, never on the wire."))
    });
    facts.push(("Compression", compress.into_iter().collect()));
    let expect = key.expect.map(|count| Line::text(format!("About {}.", things(count, "key"))));
    facts.push(("Expected", expect.into_iter().collect()));
    facts.push(("Secret", secret(key)));
    let mode = key.mode.map(|mode| Line::text(mode_in_words(mode)));
    facts.push(("Enforcement", mode.into_iter().collect()));
    facts.push(("Accepted warnings", key.allowed.iter().map(allowance).collect()));
    facts.retain(|(_, lines)| !lines.is_empty());
    facts
}

fn placeholders(key: &Key) -> Vec<Line> {
    let in_words = |(index, placeholder): (usize, &crate::Placeholder)| {
        let tagged = if placeholder.tagged { ", in a hash tag" } else { "" };
        let secret = if key.secret_placeholders.contains(&index) { ", secret" } else { "" };
        let kind = placeholder.kind.in_words();
        Line::code(&*placeholder.name).and(format!(": {kind}{tagged}{secret}"))
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

fn users(part: &Part<'_>, id: KeyId) -> Vec<Line> {
    let uses = |function: &crate::Function| {
        let mut targets = function.keys.iter().flat_map(|key| &key.targets);
        targets.any(|target| target.reference.key == id)
    };
    let links = part.schema.functions.iter().enumerate().filter(|(_, function)| uses(function));
    let line = Line::join(links.map(|(index, _)| part.function_link(index)), ", ");
    if line.is_empty() { Vec::new() } else { vec![line] }
}

/// A warning that does not apply, and why.
pub(super) fn allowance(allowance: &Allowance) -> Line {
    let title = rule(&allowance.code).map_or("", |rule| rule.title);
    let line = Line::code(&*allowance.code).and(format!(", {title}"));
    match &allowance.reason {
        Some(reason) => line.and(": ").with(Inline::Prose(reason.to_string())),
        None => line.and("."),
    }
}

/// The fields that a table shows: of the value, or of each item.
fn object_of(content: &Content) -> Option<&Object> {
    match content {
        Content::Fields(object) => Some(object),
        Content::Json(shape) | Content::Items(shape) | Content::Value(shape) => {
            fields::object_within(shape)
        }
        Content::Scored { member, .. } => fields::object_within(member),
        Content::Opaque => None,
    }
}

/// The example key and what it holds.
fn example_blocks(key: &Key, example: &Example) -> Vec<Block> {
    let label = Line::default().and_strong("Example").and(" ").and_code(&*example.key);
    let Some(value) = &example.value else { return vec![Block::Paragraph(label)] };
    let is_json = |shape: &Shape| shape.ty.is_json();
    let code = match (value, &key.content) {
        (ExampleValue::Text(text), Content::Value(_)) => {
            return vec![Block::Paragraph(label.and(" → ").and_code(&**text))];
        }
        (ExampleValue::Text(json), _) => {
            Block::Code { language: Language::Json, text: pretty(json) }
        }
        (ExampleValue::Items(items), Content::Items(shape)) if is_json(shape) => {
            let items: Vec<String> = items.iter().map(|item| pretty(item)).collect();
            Block::Code { language: Language::Json, text: items.join("\n") }
        }
        (ExampleValue::Items(items), _) => {
            let items = items.iter().map(|item| Line::code(&**item));
            return vec![Block::Paragraph(label.and(" → ").and_line(Line::join(items, ", ")))];
        }
        (ExampleValue::Pairs(pairs), _) => {
            Block::Code { language: Language::Text, text: aligned(pairs) }
        }
    };
    vec![Block::Paragraph(label), code]
}

fn aligned(pairs: &[(Box<str>, Box<str>)]) -> String {
    let width = pairs.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let lines = pairs.iter().map(|(name, value)| format!("{name:width$}  {value}"));
    lines.collect::<Vec<_>>().join("\n")
}
