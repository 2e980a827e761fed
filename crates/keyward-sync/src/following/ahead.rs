//! Storing a batch, with mirrored rows of later entries where it cannot be stored without them.
//!
//! Owns how far it looks ahead. Mirrored rows are stored as they are when they are looked at, which
//! may be later than their entry: one refers to another, or has taken over its unique value, whose
//! entry stands behind the batch. Behind the last entry rows are as the server's rules left them, so
//! that as many of those ahead are stored together with the batch as it takes. They are stored once
//! more with their own entry, which changes nothing.
//! Invariants: the place behind a batch is that of its own entries; it says how far rows were looked
//! at, so that what a server loses of that is mended.

use keyward_schema::{Schema, SinkKind, changefeed_key};

use crate::entry::{Entry, EntryId};
use crate::following::{FollowError, Following, Link, WAITING, batch, replicas, watched};
use crate::history::Place;
use crate::sight;
use crate::store::{self, Batch, Change, StoreError, Stored, What, sink_of};

/// How many entries are looked at ahead first.
const AHEAD_MIN: usize = 4_000;
/// Rows of so many bytes are too many to look further.
const ROW_BYTES_MAX: usize = 256 * 1024 * 1024;

/// What was stored.
pub(super) struct Kept {
    /// The place behind it.
    pub(super) place: Place,
    /// How many entries.
    pub(super) entries: usize,
    pub(super) stored: Stored,
}

impl Link {
    /// Stores entries, which are all there are up to an end, and the place behind them; fewer of
    /// them, where their rows are large.
    pub(super) async fn store(
        &mut self,
        own: &mut Following,
        entries: &[Entry],
        end: Option<EntryId>,
    ) -> Result<Kept, FollowError> {
        let feed = changefeed_key(&own.schema.keyspace.name).into_bytes();
        let (mut ahead, mut last, mut many): (Vec<Entry>, _, _) = (Vec::new(), None, AHEAD_MIN);
        let mut sinks = crate::ddl::sinks(&own.schema);
        let has_mirrors = sinks.any(|(_, sink)| sink.kind == SinkKind::Mirror);
        // Where it stops looking: entries that come meanwhile are not waited for.
        let mut horizon = None;
        let mut taken = entries.len();
        loop {
            let mut batch = Batch::default();
            let known =
                batch::Known { schema: &own.schema, matcher: &self.matcher, from: &self.place };
            let source = self.reading.source();
            taken = batch::fill(&mut batch, &known, source, &entries[..taken])?;
            let bytes = ROW_BYTES_MAX;
            batch::fill_ahead(&mut batch, &known, source, &ahead, bytes)?;
            let mut place = self.place_behind(&entries[..taken], end);
            if batch.changes.iter().any(|change| is_mirrored(&own.schema, change)) {
                place.looked = self.reading.looked()?;
            }
            batch.place = place.clone();
            if own.replicas > 0 {
                // Of rows as they were looked at now, which may be later than the entries.
                let tell = &mut own.tell;
                replicas::wait(self.reading.source(), own.replicas, |line| tell(line))?;
            }
            let storing = store::store(&mut self.client, &own.schema, &self.place, &batch);
            let stored = watched(&mut own.tell, WAITING, storing).await;
            let error = match stored {
                Err(error @ StoreError::Conflict { .. }) => error,
                stored => {
                    let mut stored = stored?;
                    // Their own entries count them.
                    for change in batch.changes.iter().filter(|change| change.id > place.entry) {
                        if let What::Store(rows) = &change.what {
                            stored.uncount(change.key, rows.len());
                        }
                    }
                    return Ok(Kept { place, entries: taken, stored });
                }
            };
            if !has_mirrors || mirrored_bytes(&own.schema, &batch) > ROW_BYTES_MAX {
                return Err(error.into());
            }
            let source = self.reading.source();
            let seen = last.unwrap_or(place.entry);
            let horizon = match horizon {
                Some(horizon) => horizon,
                None => *horizon.insert(sight::last_entry(source, &feed)?.unwrap_or(seen)),
            };
            if seen >= horizon {
                return Err(error.into());
            }
            let (more, end) = sight::some_mirrored(source, &feed, seen, many)?;
            if end == seen {
                return Err(error.into());
            }
            ahead.extend(more);
            (last, many) = (Some(end), many * 2);
        }
    }

    /// The place behind some entries; where there are none, behind the end of what was to be read.
    fn place_behind(&self, entries: &[Entry], end: Option<EntryId>) -> Place {
        let last = entries.last().map(|entry| entry.id).or(end).unwrap_or(self.place.entry);
        let number = self.place.number + entries.len() as u64;
        let highest = self.place.highest.max(last);
        Place { entry: last, number, highest, ..self.place.clone() }
    }
}

fn is_mirrored(schema: &Schema, change: &Change) -> bool {
    sink_of(schema, change.key).1.kind == SinkKind::Mirror
}

/// How much the mirrored rows of a batch hold.
fn mirrored_bytes(schema: &Schema, batch: &Batch) -> usize {
    let mirrored = batch.changes.iter().filter(|change| is_mirrored(schema, change));
    let bytes = mirrored.map(|change| match &change.what {
        What::Store(rows) => rows.iter().flatten().flatten().map(String::len).sum(),
        What::Remove(_) | What::Unfit(_) => change.name.len(),
    });
    bytes.sum()
}
