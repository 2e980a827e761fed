//! What entries do to tables.

use std::collections::{BTreeMap, BTreeSet};

use keyward_resp::Frame;
use keyward_schema::{DataType, KeyId, Matcher, Schema, SinkKind};

use crate::entry::{Entry, EntryId};
use crate::following::FollowError;
use crate::history::Place;
use crate::row::{Held, MASK, Origin, has_secrets, key_of, masked, rows_of};
use crate::sight::{self, Extent};
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

/// About so many bytes of mirrored rows are stored with the entries of a batch, or those of one unit
/// that are larger.
const LOOKED_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Adds what entries do, whole units of them; how many. They are fewer than all where mirrored rows
/// are large.
pub(crate) fn fill(
    batch: &mut Batch,
    known: &Known<'_>,
    source: &mut Source,
    entries: &[Entry],
) -> Result<usize, FollowError> {
    let mut names: Vec<(KeyId, &[u8])> = Vec::new();
    let mut seen: BTreeSet<&[u8]> = BTreeSet::new();
    // How many entries there are up to the end of each unit, and how many rows they are about.
    let mut ends: Vec<(usize, usize)> = Vec::new();
    for unit in entries.chunk_by(|one, next| one.id.ms == next.id.ms) {
        for entry in unit.iter().filter(|entry| entry.kind == SinkKind::Mirror) {
            let key = known.key_of(entry);
            names.extend(key.filter(|_| seen.insert(&entry.key)).map(|id| (id, &*entry.key)));
        }
        let before = ends.last().map_or(0, |(entries, _)| *entries);
        ends.push((before + unit.len(), names.len()));
    }
    let least = ends.first().map_or(0, |(_, rows)| *rows);
    let extent = Extent { least, bytes: LOOKED_BYTES_MAX };
    let looked = look_at(known, source, &names, extent)?;
    let taken = ends.iter().rev().find(|(_, rows)| *rows <= looked.len());
    let (taken, rows) = taken.copied().unwrap_or_default();
    let mut last: BTreeMap<&[u8], EntryId> = BTreeMap::new();
    for entry in &entries[..taken] {
        match (known.key_of(entry), entry.kind) {
            (None, _) => batch.orphans.extend(orphans(known, entry)),
            (Some(_), SinkKind::Mirror) => drop(last.insert(&entry.key, entry.id)),
            (Some(id), _) => push_entry(batch, known, id, entry),
        }
    }
    for ((id, name), reply) in names.iter().zip(&looked).take(rows) {
        push_looked(batch, known, (*id, name), last[name], reply)?;
    }
    batch.changes.sort_by_key(|change| change.id);
    Ok(taken)
}

/// Adds mirrored rows that have changes ahead of a batch, as they are now, until they are so many
/// bytes; of how many of the entries, from the first on.
pub(crate) fn fill_ahead(
    batch: &mut Batch,
    known: &Known<'_>,
    source: &mut Source,
    ahead: &[Entry],
    bytes: usize,
) -> Result<usize, FollowError> {
    let mut last: BTreeMap<&[u8], EntryId> = BTreeMap::new();
    let (mut names, mut places): (Vec<(KeyId, &[u8])>, Vec<usize>) = (Vec::new(), Vec::new());
    for (at, entry) in ahead.iter().enumerate() {
        let key = known.key_of(entry).filter(|_| entry.kind == SinkKind::Mirror);
        let Some(id) = key else { continue };
        if last.insert(&entry.key, entry.id).is_none() {
            names.push((id, &entry.key));
            places.push(at);
        }
    }
    let looked = look_at(known, source, &names, Extent { least: 1, bytes })?;
    let is_again: BTreeSet<(usize, &[u8])> =
        names[..looked.len()].iter().map(|(id, name)| (id.index(), *name)).collect();
    // What the batch has of them is older.
    batch.changes.retain(|change| !is_again.contains(&(change.key, &change.name[..])));
    for ((id, name), reply) in names.iter().zip(&looked) {
        push_looked(batch, known, (*id, name), last[name], reply)?;
    }
    batch.changes.sort_by_key(|change| change.id);
    Ok(places.get(looked.len()).copied().unwrap_or(ahead.len()))
}

/// Adds what an entry of a row that ended or of items does.
fn push_entry(batch: &mut Batch, known: &Known<'_>, id: KeyId, entry: &Entry) {
    let data = known.schema.key(id).data;
    match entry.kind {
        SinkKind::Mirror => {}
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

/// Looks at mirrored rows as they are now.
fn look_at(
    known: &Known<'_>,
    source: &mut Source,
    names: &[(KeyId, &[u8])],
    extent: Extent,
) -> Result<Vec<Frame>, FollowError> {
    let asked = names.iter().map(|(id, name)| (known.schema.key(*id), *name));
    Ok(sight::look(source, asked, extent)?)
}

/// Adds a mirrored row that was looked at for an entry.
fn push_looked(
    batch: &mut Batch,
    known: &Known<'_>,
    (id, name): (KeyId, &[u8]),
    entry: EntryId,
    reply: &Frame,
) -> Result<(), FollowError> {
    let key = known.schema.key(id);
    let Some(sink) = &key.sink else { return Ok(()) };
    let origin = known.origin(entry, None);
    let what = match sight::row_of((key, sink), (name, origin), reply)? {
        Some(rows) => rows.map(What::Store),
        None => match key_of(key, sink, name, origin) {
            Ok(row) => Ok(What::Remove(row)),
            // What no row of the table can be named by is not there.
            Err(_) => return Ok(()),
        },
    };
    let what =
        what.unwrap_or_else(|unfit| What::Unfit(format!("{} {}", unfit.column, unfit.problem)));
    let name = name.to_vec();
    batch.changes.push(Change { id: entry, key: id.index(), name, what, item: None });
    Ok(())
}
