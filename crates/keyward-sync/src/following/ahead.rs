//! Storing a batch, with mirrored rows of later entries where it cannot be stored without them.
//!
//! Owns how far it looks ahead. Mirrored rows are stored as they are when they are looked at, which
//! may be later than their entry: one refers to another, or has taken over its unique value, whose
//! entry stands behind the batch. Behind the last entry rows are as the server's rules left them, so
//! that as many of those ahead are stored together with the batch as it takes. They are stored once
//! more with their own entry, which changes nothing.
//! Invariant: the place behind a batch is that of its own entries.

use keyward_schema::{Schema, SinkKind, changefeed_key};

use crate::entry::Entry;
use crate::following::{FollowError, Following, Link, batch, replicas, watched};
use crate::history::Place;
use crate::sight;
use crate::store::{self, Batch, StoreError, Stored, What, sink_of};

/// How many entries are looked at ahead first.
const AHEAD_MIN: usize = 4_000;
/// Rows of so many bytes are too many to look further.
const ROW_BYTES_MAX: usize = 256 * 1024 * 1024;

impl Link {
    /// Stores entries, and the place behind them.
    pub(super) async fn store(
        &mut self,
        own: &mut Following,
        place: &Place,
        entries: &[Entry],
    ) -> Result<Stored, FollowError> {
        let feed = changefeed_key(&own.schema.keyspace.name).into_bytes();
        let (mut ahead, mut last, mut many): (Vec<Entry>, _, _) =
            (Vec::new(), place.entry, AHEAD_MIN);
        let mut sinks = crate::ddl::sinks(&own.schema);
        let has_mirrors = sinks.any(|(_, sink)| sink.kind == SinkKind::Mirror);
        // Where it stops looking: entries that come meanwhile are not waited for.
        let mut horizon = None;
        loop {
            let mut batch = Batch { place: place.clone(), ..Batch::default() };
            let known =
                batch::Known { schema: &own.schema, matcher: &self.matcher, from: &self.place };
            batch::fill(&mut batch, &known, self.reading.source(), entries, &ahead)?;
            if own.replicas > 0 {
                // Of rows as they were looked at now, which may be later than the entries.
                let tell = &mut own.tell;
                replicas::wait(self.reading.source(), own.replicas, |line| tell(line))?;
            }
            let storing = store::store(&mut self.client, &own.schema, &self.place, &batch);
            let stored = watched(&mut own.tell, storing).await;
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
                    return Ok(stored);
                }
            };
            if !has_mirrors || mirrored_bytes(&own.schema, &batch) > ROW_BYTES_MAX {
                return Err(error.into());
            }
            let source = self.reading.source();
            let horizon = match horizon {
                Some(horizon) => horizon,
                None => *horizon.insert(sight::last_entry(source, &feed)?.unwrap_or(last)),
            };
            if last >= horizon {
                return Err(error.into());
            }
            let (more, end) = sight::some_mirrored(source, &feed, last, many)?;
            if end == last {
                return Err(error.into());
            }
            ahead.extend(more);
            (last, many) = (end, many * 2);
        }
    }
}

/// How much the mirrored rows of a batch hold.
fn mirrored_bytes(schema: &Schema, batch: &Batch) -> usize {
    let is_mirrored = |key: usize| sink_of(schema, key).1.kind == SinkKind::Mirror;
    let mirrored = batch.changes.iter().filter(|change| is_mirrored(change.key));
    let bytes = mirrored.map(|change| match &change.what {
        What::Store(rows) => rows.iter().flatten().flatten().map(String::len).sum(),
        What::Remove(_) | What::Unfit(_) => change.name.len(),
    });
    bytes.sum()
}
