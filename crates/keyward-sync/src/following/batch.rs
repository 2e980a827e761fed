//! What entries do to tables.

use std::collections::BTreeMap;

use keyward_schema::{DataType, KeyId, Matcher, Schema, SinkKind};

use crate::entry::{Entry, EntryId};
use crate::following::FollowError;
use crate::history::Place;
use crate::row::{Held, MASK, Origin, has_secrets, key_of, masked, rows_of};
use crate::sight;
use crate::source::Source;
use crate::store::dead_letters::as_json;
use crate::store::{Batch, Change, Orphan, What};

/// What is known before entries are looked at.
pub(crate) struct Known<'a> {
    pub(crate) schema: &'a Schema,
    pub(crate) matcher: &'a Matcher,
    /// The place that they stand behind.
    pub(crate) from: &'a Place,
}

impl Known<'_> {
    /// Where something comes from. Ids up to the highest may have been given before, by another
    /// history.
    fn origin(&self, id: EntryId, item: Option<usize>) -> Origin {
        let chance = self.from.history.split('-').nth(1).and_then(|chance| chance.get(..8));
        let chance = chance.and_then(|chance| u32::from_str_radix(chance, 16).ok());
        let again = (id <= self.from.highest).then(|| chance.unwrap_or_default());
        Origin { id, item, again }
    }

    /// The key of the schema whose sink takes an entry.
    fn key_of(&self, entry: &Entry) -> Option<KeyId> {
        let id = self.matcher.find(&entry.key).and_then(|found| self.schema.id(found.pattern))?;
        let sink = self.schema.key(id).sink.as_ref();
        sink.is_some_and(|sink| sink.kind == entry.kind).then_some(id)
    }
}

/// Adds what entries do, and mirrored rows that have changes ahead of them, as they are now.
pub(crate) fn fill(
    batch: &mut Batch,
    known: &Known<'_>,
    source: &mut Source,
    entries: &[Entry],
    ahead: &[Entry],
) -> Result<(), FollowError> {
    let mut mirrored: BTreeMap<KeyId, BTreeMap<&[u8], EntryId>> = BTreeMap::new();
    for entry in entries {
        let Some(id) = known.key_of(entry) else {
            batch.orphans.extend(orphans(known, entry));
            continue;
        };
        let data = known.schema.key(id).data;
        match entry.kind {
            SinkKind::Mirror => {
                mirrored.entry(id).or_default().insert(&entry.key, entry.id);
            }
            SinkKind::Archive => {
                let held = match (data, &entry.pairs[..]) {
                    (DataType::Hash, pairs) => Held::Fields(pairs),
                    (_, [(_, value)]) => Held::Text(value),
                    _ => Held::Nothing,
                };
                push(batch, known, (id, &entry.key), &held, known.origin(entry.id, None));
            }
            SinkKind::Append if data == DataType::Stream => {
                let (held, origin) = (Held::Fields(&entry.pairs), known.origin(entry.id, Some(0)));
                push(batch, known, (id, &entry.key), &held, origin);
            }
            SinkKind::Append | SinkKind::Drain => {
                for (number, (_, item)) in entry.pairs.iter().enumerate() {
                    let origin = known.origin(entry.id, Some(number));
                    push(batch, known, (id, &entry.key), &Held::Text(item), origin);
                }
            }
        }
    }
    for entry in ahead.iter().filter(|entry| entry.kind == SinkKind::Mirror) {
        if let Some(id) = known.key_of(entry) {
            mirrored.entry(id).or_default().insert(&entry.key, entry.id);
        }
    }
    for (id, names) in mirrored {
        look_at(batch, known, source, id, &names)?;
    }
    batch.changes.sort_by_key(|change| change.id);
    Ok(())
}

/// What an entry has of a sink that the schema has no longer. Of a mirror nothing: its rows are
/// the server's. What the schema says to be secret is masked.
fn orphans(known: &Known<'_>, entry: &Entry) -> Vec<Orphan> {
    let found = known.matcher.find(&entry.key).and_then(|found| known.schema.id(found.pattern));
    let key = found.map(|id| known.schema.key(id));
    let is_stream = key.is_some_and(|key| key.data == DataType::Stream);
    let are_items = matches!(entry.kind, SinkKind::Append | SinkKind::Drain)
        && !is_stream
        && entry.pairs.iter().all(|(name, _)| name == b"item");
    let orphan = |(number, item): (usize, Vec<u8>)| Orphan {
        id: entry.id,
        kind: entry.kind,
        name: entry.key.clone(),
        item: key.map_or_else(|| item.clone(), |key| masked(key, None, &item)),
        number,
        is_bare: key.is_none() && are_items,
    };
    match entry.kind {
        SinkKind::Mirror => Vec::new(),
        _ if are_items => {
            entry.pairs.iter().map(|(_, item)| item.clone()).enumerate().map(orphan).collect()
        }
        _ => {
            vec![orphan((0, as_json(&entry.pairs)))]
        }
    }
}

/// Adds what a row or an item does to its table.
fn push(
    batch: &mut Batch,
    known: &Known<'_>,
    (id, name): (KeyId, &[u8]),
    held: &Held<'_>,
    origin: Origin,
) {
    let key = known.schema.key(id);
    let Some(sink) = &key.sink else { return };
    let what = match rows_of(key, sink, name, held, origin) {
        Ok(rows) => What::Store(rows),
        Err(unfit) => What::Unfit(format!("{} {}", unfit.column, unfit.problem)),
    };
    let item = match (held, origin.item) {
        (Held::Text(item), Some(number)) => Some((number, item.to_vec())),
        (Held::Fields(pairs), _) => Some((0, as_json(pairs))),
        // The whole value of a row, in which nothing can be masked.
        (Held::Text(_), None) if has_secrets(key) => Some((0, MASK.to_vec())),
        (Held::Text(value), None) => Some((0, as_json(&[(b"value".to_vec(), value.to_vec())]))),
        (Held::Nothing, _) => None,
    };
    let change = Change { id: origin.id, key: id.index(), name: name.to_vec(), what, item };
    batch.changes.push(change);
}

/// Looks at mirrored rows as they are now, each once.
fn look_at(
    batch: &mut Batch,
    known: &Known<'_>,
    source: &mut Source,
    id: KeyId,
    names: &BTreeMap<&[u8], EntryId>,
) -> Result<(), FollowError> {
    let key = known.schema.key(id);
    let Some(sink) = &key.sink else { return Ok(()) };
    let asked: Vec<(&[u8], Origin)> =
        names.iter().map(|(name, entry)| (*name, known.origin(*entry, None))).collect();
    let looked = sight::look(source, (key, sink), &asked)?;
    for ((name, origin), looked) in asked.into_iter().zip(looked) {
        let what = match looked {
            Some(rows) => rows.map(What::Store),
            None => match key_of(key, sink, name, origin) {
                Ok(row) => Ok(What::Remove(row)),
                // What no row of the table can be named by is not there.
                Err(_) => continue,
            },
        };
        let what =
            what.unwrap_or_else(|unfit| What::Unfit(format!("{} {}", unfit.column, unfit.problem)));
        let name = name.to_vec();
        batch.changes.push(Change { id: origin.id, key: id.index(), name, what, item: None });
    }
    Ok(())
}
