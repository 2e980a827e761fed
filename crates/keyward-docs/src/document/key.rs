//! The section of a key.

use keyward_schema::facts::{
    Line, is_telling, keeper, lifetime_short, lines_of_key, object_of, type_name,
};
use keyward_schema::{Content, Example, ExampleValue, Key, KeyId, Shape};

use super::anchors::Part;
use super::commands;
use super::fields;
use super::json::pretty;
use super::page::{Badge, Block, Language, Role, Section, Table};

/// Everything about one key.
pub(super) fn section(part: &Part<'_>, id: KeyId) -> Section {
    let key = part.schema.key(id);
    let example = part.examples().get(id);
    let mut section =
        Section::new(part.links.key_anchor(id), Line::code(key.pattern.text()), Role::Entry);
    section.badges = badges(key);
    section.blocks.extend(key.doc.as_ref().map(|doc| Block::Prose(doc.to_string())));
    section.blocks.push(Block::Facts(lines_of_key(&part.links, id)));
    if let Some(object) = object_of(&key.content).filter(|object| is_telling(object)) {
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
            part.links.key_link(id),
            Line::text(type_name(key.data)),
            lifetime_short(&part.links, key),
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
    if key.has_personal() {
        badges.push(Badge { text: "personal".to_owned(), tone: "secret" });
    }
    badges
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
