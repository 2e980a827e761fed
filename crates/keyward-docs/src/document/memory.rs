//! The chapter on memory: what the expected keys would take.
//!
//! The figures are estimates of plain storage as Redis 7 has it, from one
//! example per key (`footprint`):
//!
//! - a key takes 53 bytes beside its name: the entry, its slot in the table,
//!   the object of its value; 37 more if it ends, for the second table that
//!   holds when;
//! - names and values are allocations of their bytes and a header of 4,
//!   rounded up as jemalloc rounds; a whole number needs none;
//! - small collections are one allocation, large ones a table with one
//!   allocation for each element;
//! - a collection holds as many elements as the schema expects; where it does not say, as
//!   many as its bound admits; without one, a derived one has its share of the source's expected keys, and any other as
//!   many as the example.
//!
//! What it does not know: how long real values are, how full lists get, the
//! allocator's fragmentation. On calls-bot's five million keys Redis 7.0.15
//! took 374 bytes a key, where these rules say 362 for keys and values of that
//! average size; a test of `footprint` compares more. This is what a Redis would take:
//! Keyward packs rows that are idle, and takes less.

mod footprint;

use keyward_schema::facts::{Line, evict_in_words};
use keyward_schema::{
    Content, Derived, Evict, Example, ExampleValue, Key, KeyId, Lifetime, count_in_words,
    size_in_words,
};

use super::anchors::Part;
use super::page::{Block, Table};

/// The table of estimates, or that there is nothing to estimate from.
pub(super) fn blocks(part: &Part<'_>) -> Vec<Block> {
    let mut table = Table::of(["Key", "Expected keys", "One takes", "Total"]).numbers(&[
        "Expected keys",
        "One takes",
        "Total",
    ]);
    for id in part.schema.ids() {
        if let Some(count) = expected(part, id) {
            let bytes = bytes_per_key(part, id);
            table.push([
                part.links.key_link(id),
                Line::text(count_in_words(count)),
                Line::text(size_in_words(bytes)),
                Line::text(size_in_words(count.saturating_mul(bytes))),
            ]);
        }
    }
    let mut blocks = Vec::new();
    match total(part) {
        Some(total) => {
            let strong = |text: String| Line::default().and_strong(text);
            table.push([
                strong("Total".to_owned()),
                strong(count_in_words(total.keys)),
                Line::default(),
                strong(size_in_words(total.bytes)),
            ]);
            blocks.push(Block::Table(table));
            let how = Line::text(format!("{}{HOW}", against_limit(part, total)));
            blocks.push(Block::Paragraph(how));
            blocks.extend(not_counted(part));
        }
        None => blocks.push(Block::Paragraph(Line::text(
            "No pattern says how many keys are expected of it, so there is nothing to estimate.",
        ))),
    }
    blocks.extend(eviction(part));
    blocks
}

const HOW: &str = "The figures are estimates: the size of each example as plain Redis 7 would store \
    it, times the number of keys expected. A collection has the items that are expected of one; where the schema does not say, it \
    counts as full if it has a bound.";

/// What all expected keys take together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Total {
    pub(super) keys: u64,
    pub(super) bytes: u64,
}

/// How many keys of a pattern there will be: what the schema says, one where
/// the pattern is a key itself, as many as in the source of a unique index.
fn expected(part: &Part<'_>, id: KeyId) -> Option<u64> {
    let key = part.schema.key(id);
    let alone = || key.pattern.placeholders().is_empty().then_some(1);
    let indexed = || match &key.derived {
        Some(Derived::Lookup { of, .. }) => part.schema.key(of.key).expect,
        _ => None,
    };
    key.expect.or_else(alone).or_else(indexed)
}

/// The sum over all keys of which it is known how many there will be; `None`
/// if the schema says nothing of any that could be many.
pub(super) fn total(part: &Part<'_>) -> Option<Total> {
    // Single keys alone would make a figure that says nothing.
    let is_told = |key: &Key| key.expect.is_some() && !key.pattern.placeholders().is_empty();
    if !part.schema.keys.iter().any(is_told) {
        return None;
    }
    let expected = part.schema.ids().filter_map(|id| Some((id, expected(part, id)?)));
    expected
        .map(|(id, keys)| Total { keys, bytes: keys.saturating_mul(bytes_per_key(part, id)) })
        .reduce(|sum, next| Total {
            keys: sum.keys.saturating_add(next.keys),
            bytes: sum.bytes.saturating_add(next.bytes),
        })
}

fn not_counted(part: &Part<'_>) -> Option<Block> {
    let keys = part.schema.ids().filter(|&id| expected(part, id).is_none());
    let links = Line::join(keys.map(|id| part.links.key_link(id)), ", ");
    let line = Line::text("Not counted, since the schema does not say how many to expect: ");
    (!links.is_empty()).then(|| Block::Paragraph(line.and_line(links).and(".")))
}

fn against_limit(part: &Part<'_>, total: Total) -> String {
    let Some(limit) = part.schema.keyspace.max_memory else { return String::new() };
    let percent = u128::from(total.bytes) * 100 / u128::from(limit);
    format!("That is {percent} % of the {} the keyspace may take. ", size_in_words(limit))
}

/// Estimates what one key of a pattern takes.
fn bytes_per_key(part: &Part<'_>, id: KeyId) -> u64 {
    let key = part.schema.key(id);
    let Example { key: name, value } = part.examples().get(id);
    let ends = key.lifetime != Lifetime::Forever;
    if let (Content::Entries(_), Some(ExampleValue::Pairs(fields))) = (&key.content, value) {
        let count = key.expect_items.or(key.bounds.max_len).unwrap_or(1);
        return footprint::of_key(name, ends) + footprint::of_stream(fields, count);
    }
    let shown = match value {
        Some(ExampleValue::Items(items)) => items.len(),
        Some(ExampleValue::Pairs(pairs)) => pairs.len(),
        Some(ExampleValue::Text(_)) | None => 1,
    };
    let count = match key.content {
        Content::Items(_) | Content::Scored { .. } => elements(part, key, shown as u64),
        _ => key.expect_items.unwrap_or(shown as u64),
    };
    footprint::of_key(name, ends) + footprint::of_value(key.data, value.as_ref(), count)
}

/// How many elements a collection holds.
fn elements(part: &Part<'_>, key: &Key, shown: u64) -> u64 {
    let told = key.expect_items.or(key.bounds.max_len).or(key.bounds.max_members);
    let share = || {
        let derived = key.derived.as_ref()?;
        if let Derived::Inverse { .. } = derived {
            return None;
        }
        let source = part.schema.key(derived.source().key).expect?;
        Some((source / key.expect.unwrap_or(1)).max(1))
    };
    told.or_else(share).unwrap_or(shown)
}

/// Who goes first when memory is short.
fn eviction(part: &Part<'_>) -> Option<Block> {
    const ORDER: [Evict; 5] = [Evict::First, Evict::Ttl, Evict::Lfu, Evict::Lru, Evict::Never];
    let mut table = Table::of(["When memory is short", "Keys"]);
    for evict in ORDER {
        let keys = part.schema.ids().filter(|&id| part.schema.key(id).evict == evict);
        let links = Line::join(keys.map(|id| part.links.key_link(id)), ", ");
        if !links.is_empty() {
            table.push([Line::text(evict_in_words(evict)), links]);
        }
    }
    (!table.rows.is_empty()).then_some(Block::Table(table))
}
