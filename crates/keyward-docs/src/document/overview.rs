//! The chapters of a keyspace, in the order in which a new colleague would
//! read them: what it is, its keys by group, operations, lifetimes, memory,
//! notes.

use keyward_schema::facts::{Line, allowance, keyspace_facts, things, type_name};
use keyward_schema::{Alert, DataType, KeyId, size_in_words};

use super::anchors::{Ids, Part};
use super::page::{Block, Role, Section};
use super::{function, key, memory, retention};

/// The chapter of keys that name no group.
const UNGROUPED: &str = "Keys";

/// What the keyspace is, and its settings.
pub(super) fn blocks(part: &Part<'_>) -> Vec<Block> {
    let keyspace = &part.schema.keyspace;
    let mut blocks: Vec<Block> = Vec::new();
    blocks.extend(keyspace.doc.as_ref().map(|doc| Block::Prose(doc.to_string())));
    let mut facts = vec![("Holds", vec![Line::text(holdings(part))])];
    if let Some(total) = memory::total(part) {
        let size = size_in_words(total.bytes);
        let expected =
            format!("About {}, {size} as plain Redis would store them.", things(total.keys, "key"));
        facts.push(("Expected", vec![Line::text(expected)]));
    }
    facts.extend(keyspace_facts(keyspace));
    if !keyspace.alerts.is_empty() {
        let line = |alert: &Alert| Line::text(format!("{}.", alert.in_words()));
        facts.push(("Alerts", keyspace.alerts.iter().map(line).collect()));
    }
    if !keyspace.allowed.is_empty() {
        facts.push(("Accepted warnings", keyspace.allowed.iter().map(allowance).collect()));
    }
    blocks.push(Block::Facts(facts));
    blocks
}

/// `20 patterns: 12 JSON, 3 flags …`.
fn holdings(part: &Part<'_>) -> String {
    let keys = &part.schema.keys;
    let types = DataType::NAMES.iter().filter_map(|name| {
        let data = DataType::named(name)?;
        let count = keys.iter().filter(|key| key.data == data).count();
        (count > 0).then(|| format!("{count} {}", type_name(data)))
    });
    let types: Vec<String> = types.collect();
    let functions = match part.schema.functions.len() {
        0 => String::new(),
        count => format!(", and {}", things(count as u64, "function")),
    };
    format!("{}: {}{functions}.", things(keys.len() as u64, "pattern"), types.join(", "))
}

/// All chapters behind the overview. A note with the title of a chapter opens
/// that chapter; the others follow.
pub(super) fn chapters(part: &Part<'_>, ids: &mut Ids) -> Vec<Section> {
    let mut chapters = Vec::new();
    for (title, keys) in groups(part) {
        let id = part.chapter(title, ids);
        let mut chapter = Section::new(id, Line::text(title), Role::Chapter);
        if keys.len() > 1 {
            chapter.blocks.push(Block::Table(key::summary(part, &keys)));
        }
        let functions = functions_of(part, title);
        if !functions.is_empty() {
            let links =
                Line::join(functions.iter().map(|&index| part.links.function_link(index)), ", ");
            chapter.blocks.push(Block::Paragraph(
                Line::default().and_strong("Operations").and(" ").and_line(links),
            ));
        }
        chapter.sections = keys.iter().map(|&id| key::section(part, id)).collect();
        chapters.push(chapter);
    }
    if !part.schema.functions.is_empty() {
        chapters.push(operations(part, ids));
    }
    let mut lifetimes =
        Section::new(part.chapter("Lifetimes", ids), Line::text("Lifetimes"), Role::Chapter);
    lifetimes.sections = retention::sections(part, |title| part.chapter(title, ids));
    chapters.push(lifetimes);
    let mut estimate =
        Section::new(part.chapter("Memory", ids), Line::text("Memory"), Role::Chapter);
    estimate.blocks = memory::blocks(part);
    chapters.push(estimate);
    for note in &part.schema.notes {
        let prose = Block::Prose(note.text.to_string());
        match chapters.iter_mut().find(|chapter| chapter.title.plain() == *note.title) {
            Some(chapter) => chapter.blocks.insert(0, prose),
            None => {
                let id = part.chapter(&note.title, ids);
                let mut chapter = Section::new(id, Line::text(&*note.title), Role::Chapter);
                chapter.blocks.push(prose);
                chapters.push(chapter);
            }
        }
    }
    chapters
}

fn operations(part: &Part<'_>, ids: &mut Ids) -> Section {
    let all: Vec<usize> = (0..part.schema.functions.len()).collect();
    let mut chapter =
        Section::new(part.chapter("Operations", ids), Line::text("Operations"), Role::Chapter);
    chapter.blocks.push(Block::Paragraph(Line::text(
        "Operations on several keys are functions, called with FCALL. Each runs as one atomic step, \
         and a call whose keys or arguments do not fit is refused before it begins.",
    )));
    chapter.blocks.push(Block::Table(function::summary(part, &all)));
    chapter.sections = all.iter().map(|&index| function::section(part, index)).collect();
    chapter
}

/// Keys by group, both in the order of the file.
fn groups<'p>(part: &'p Part<'_>) -> Vec<(&'p str, Vec<KeyId>)> {
    let mut groups: Vec<(&str, Vec<KeyId>)> = Vec::new();
    for id in part.schema.ids() {
        let title = part.schema.key(id).group.as_deref().unwrap_or(UNGROUPED);
        match groups.iter_mut().find(|(known, _)| *known == title) {
            Some((_, keys)) => keys.push(id),
            None => groups.push((title, vec![id])),
        }
    }
    groups
}

fn functions_of(part: &Part<'_>, group: &str) -> Vec<usize> {
    let functions = part.schema.functions.iter().enumerate();
    functions
        .filter(|(_, function)| function.group.as_deref() == Some(group))
        .map(|(index, _)| index)
        .collect()
}
