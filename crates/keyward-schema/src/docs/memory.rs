//! The chapter on memory: what the expected keys would take.
//!
//! The estimate is that of plain storage as Redis 7 has it, from one example:
//!
//! - a key takes [`KEY_BYTES`] beside its bytes: the entry, its slot in the
//!   table, the object of its value; [`LIFETIME_BYTES`] more if it ends, for
//!   the second table that holds when;
//! - the key's name, and a value that is a string, are allocations of their
//!   bytes and [`HEADER_BYTES`], rounded up as jemalloc rounds;
//! - a collection of up to [`COMPACT_MAX`] elements is one allocation with
//!   [`COMPACT_ELEMENT_BYTES`] beside each; a larger one has an allocation for
//!   each element, and [`ELEMENT_BYTES`] or [`SCORED_ELEMENT_BYTES`] beside it;
//! - a collection holds as many elements as its bound admits; without one, a
//!   derived one has its share of the source's expected keys, and any other as
//!   many as the example.
//!
//! What it does not know: how long real values are, how full lists get, the
//! allocator's fragmentation. On calls-bot's five million keys Redis 7.0.15
//! took 374 bytes a key where this formula says 362.
//!
//! Packed tables will take less; [`bytes_per_key`] is the one function to
//! replace then.

use super::anchors::Part;
use super::page::{Block, Line, Table};
use super::words::evict_in_words;
use crate::derived::Derived;
use crate::lifetime::Lifetime;
use crate::schema::{Content, Evict, ExampleValue, Key, KeyId};
use crate::units::{count_in_words, size_in_words};

const KEY_BYTES: u64 = 53;
const LIFETIME_BYTES: u64 = 37;
const HEADER_BYTES: u64 = 4;
const COMPACT_MAX: u64 = 128;
const COMPACT_ELEMENT_BYTES: u64 = 3;
const ELEMENT_BYTES: u64 = 40;
const SCORED_ELEMENT_BYTES: u64 = 100;

/// What stands for the value of a type that shows none, such as a stream.
const OPAQUE_BYTES: u64 = 1024;

/// The table of estimates, or that there is nothing to estimate from.
pub(super) fn blocks(part: &Part<'_>) -> Vec<Block> {
    let mut table = Table::of(["Key", "Expected keys", "Bytes a key", "Total"]).numbers(&[
        "Expected keys",
        "Bytes a key",
        "Total",
    ]);
    for id in part.key_ids() {
        if let Some(count) = part.schema.key(id).expect {
            let bytes = bytes_per_key(part, id);
            table.push([
                part.key_link(id),
                Line::text(count_in_words(count)),
                Line::text(count_in_words(bytes)),
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
            blocks.push(Block::Paragraph(Line::text(format!(
                "{}{}",
                against_limit(part, total),
                HOW
            ))));
        }
        None => blocks.push(Block::Paragraph(Line::text(
            "No pattern says how many keys are expected of it, so there is nothing to estimate.",
        ))),
    }
    blocks.extend(eviction(part));
    blocks
}

const HOW: &str = "The figures are estimates: the size of each example as plain Redis 7 would store \
    it, times the number of keys expected. A collection counts as full where it has a bound.";

/// What all expected keys take together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Total {
    pub(super) keys: u64,
    pub(super) bytes: u64,
}

/// The sum over all keys that say how many there will be; `None` if none does.
pub(super) fn total(part: &Part<'_>) -> Option<Total> {
    let expected = part.key_ids().filter_map(|id| Some((id, part.schema.key(id).expect?)));
    expected
        .map(|(id, keys)| Total { keys, bytes: keys.saturating_mul(bytes_per_key(part, id)) })
        .reduce(|sum, next| Total {
            keys: sum.keys.saturating_add(next.keys),
            bytes: sum.bytes.saturating_add(next.bytes),
        })
}

fn against_limit(part: &Part<'_>, total: Total) -> String {
    let Some(limit) = part.schema.keyspace.max_memory else { return String::new() };
    let percent = u128::from(total.bytes) * 100 / u128::from(limit);
    format!("That is {percent} % of the {} the keyspace may take. ", size_in_words(limit))
}

/// Estimates what one key of a pattern takes, as the module says.
fn bytes_per_key(part: &Part<'_>, id: KeyId) -> u64 {
    let key = part.schema.key(id);
    let example = part.examples.get(id);
    let lifetime = if key.lifetime == Lifetime::Forever { 0 } else { LIFETIME_BYTES };
    let name = allocated(example.key.len() as u64 + HEADER_BYTES);
    let value = match &example.value {
        Some(ExampleValue::Text(text)) => allocated(text.len() as u64 + HEADER_BYTES),
        Some(ExampleValue::Pairs(pairs)) if matches!(key.content, Content::Fields(_)) => {
            let bytes = pairs.iter().map(|(name, value)| (name.len() + value.len()) as u64);
            elements_bytes(bytes.sum(), pairs.len() as u64 * 2, ELEMENT_BYTES)
        }
        Some(ExampleValue::Pairs(pairs)) => {
            let bytes = pairs.iter().map(|(member, score)| (member.len() + score.len()) as u64);
            let count = elements(part, key, pairs.len() as u64);
            scaled(bytes.sum(), pairs.len() as u64, count, SCORED_ELEMENT_BYTES)
        }
        Some(ExampleValue::Items(items)) => {
            let bytes = items.iter().map(|item| item.len() as u64);
            let count = elements(part, key, items.len() as u64);
            scaled(bytes.sum(), items.len() as u64, count, ELEMENT_BYTES)
        }
        None => OPAQUE_BYTES,
    };
    KEY_BYTES + lifetime + name + value
}

/// How many elements a collection holds.
fn elements(part: &Part<'_>, key: &Key, shown: u64) -> u64 {
    let bound = key.bounds.max_len.or(key.bounds.max_members);
    let share = || {
        let derived = key.derived.as_ref()?;
        if let Derived::Inverse { .. } = derived {
            return None;
        }
        let source = part.schema.key(derived.source().key).expect?;
        Some((source / key.expect.unwrap_or(1).max(1)).max(1))
    };
    bound.or_else(share).unwrap_or(shown)
}

/// What `count` elements take if those shown are typical.
fn scaled(shown_bytes: u64, shown: u64, count: u64, beside: u64) -> u64 {
    let bytes = shown_bytes.saturating_mul(count) / shown.max(1);
    elements_bytes(bytes, count, beside)
}

fn elements_bytes(bytes: u64, count: u64, beside: u64) -> u64 {
    if count <= COMPACT_MAX {
        return allocated(bytes + count * COMPACT_ELEMENT_BYTES);
    }
    bytes.saturating_add(count.saturating_mul(beside + HEADER_BYTES))
}

/// What jemalloc hands out: multiples of 8 up to 64 bytes, then four sizes to
/// each doubling.
fn allocated(bytes: u64) -> u64 {
    let step = match bytes {
        0..=64 => 8,
        bytes => (bytes - 1).ilog2().checked_sub(2).map_or(8, |shift| 1 << shift),
    };
    bytes.checked_next_multiple_of(step).unwrap_or(bytes)
}

/// Who goes first when memory is short.
fn eviction(part: &Part<'_>) -> Option<Block> {
    const ORDER: [Evict; 5] = [Evict::First, Evict::Ttl, Evict::Lfu, Evict::Lru, Evict::Never];
    let mut table = Table::of(["When memory is short", "Keys"]);
    for evict in ORDER {
        let keys = part.key_ids().filter(|&id| part.schema.key(id).evict == evict);
        let links = Line::join(keys.map(|id| part.key_link(id)), ", ");
        if !links.is_empty() {
            table.push([Line::text(evict_in_words(evict)), links]);
        }
    }
    (!table.rows.is_empty()).then_some(Block::Table(table))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_jemalloc() {
        let check = |bytes, size| assert_eq!(allocated(bytes), size, "{bytes}");
        check(1, 8);
        check(64, 64);
        check(65, 80);
        check(72, 80);
        check(129, 160);
        check(164, 192);
        check(1025, 1280);
    }
}
