//! Following a server: its changes are read, stored and trimmed, one batch after the other.
//!
//! Owns the loop, what ends it and how long it waits before it begins anew. Invariants: an
//! entry is trimmed only when it is stored; a batch ends where a unit does, since all entries
//! of a unit bear the same time; nothing here holds the server up, which goes on whether or not
//! anybody follows.

use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use keyward_resp::Frame;
use keyward_schema::{DataType, KeyId, Matcher, Schema, SinkKind, changefeed_key};
use thiserror::Error;

use crate::database::{Database, DatabaseError};
use crate::entry::{Entry, EntryId, News, parse_all};
use crate::inspection;
use crate::row::{Held, Origin, key_of, rows_of};
use crate::source::{Dial, Source, SourceError};
use crate::store::{self, Batch, Change, Fork, Place, StoreError, Stored, What};

/// The most entries that are read at once.
const BATCH_ENTRIES: usize = 5_000;
/// The shortest and the longest pause before a new attempt.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(30)];
/// How long the server is asked to wait for a change, in milliseconds.
const WAIT_MS: &[u8] = b"1000";
/// How often rows are looked for that are older than their tables keep them.
const RETENTION_PERIOD: Duration = Duration::from_secs(3600);

/// Who is told what happens.
pub type Tell = Box<dyn FnMut(&str) + Send>;

/// Why following ended.
#[derive(Debug, Error)]
pub enum FollowError {
    /// The server could not be asked.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// Changes could not be stored.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The database's tables are not those of the schema.
    #[error("the database is not as the schema wants it ({0}); see keyward sql --check")]
    Tables(String),
    /// The changefeed is not that of which changes are stored.
    #[error(
        "the server's changes end at {last}, before {place}, up to which they are stored: it has lost them, or is another server"
    )]
    Behind {
        /// The last entry that the server gave an id.
        last: EntryId,
        /// The last that is stored.
        place: EntryId,
    },
    /// A change is of a key that the schema knows no table for.
    #[error(
        "entry {0} is about a key that has no sink in this schema: it is older than the server's"
    )]
    Foreign(EntryId),
}

impl From<DatabaseError> for FollowError {
    fn from(error: DatabaseError) -> FollowError {
        FollowError::Store(error.into())
    }
}

impl FollowError {
    /// Whether another attempt may succeed by itself.
    fn may_pass(&self) -> bool {
        match self {
            FollowError::Source(SourceError::Refused(_, text)) => {
                ["LOADING", "BUSY", "MASTERDOWN", "MISCONF"]
                    .iter()
                    .any(|code| text.starts_with(code))
            }
            FollowError::Source(SourceError::Protocol) => false,
            FollowError::Source(SourceError::Connection(_)) => true,
            FollowError::Store(StoreError::Database(DatabaseError::Address)) => false,
            FollowError::Store(_) => true,
            // The next change begins an epoch.
            FollowError::Behind { .. } => true,
            FollowError::Tables(_) | FollowError::Foreign(_) => false,
        }
    }
}

/// What has been done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Entries that are stored.
    pub entries: u64,
    /// Rows that were stored for them.
    pub rows: u64,
    /// Items that the database refused.
    pub dead_letters: u64,
}

/// A server whose changes are stored.
pub struct Following {
    /// The schema whose sinks are filled.
    pub schema: Schema,
    /// Where its rows go.
    pub database: Database,
    /// How one comes to the server.
    pub dial: Dial,
    /// What the server wants to hear first: AUTH and the like.
    pub greeting: Vec<Vec<Vec<u8>>>,
    /// Whether it ends when nothing is left to store.
    pub is_once: bool,
    /// Who is told what happens.
    pub tell: Tell,
}

impl Following {
    /// Stores changes until there are none, or for ever.
    ///
    /// # Errors
    /// If something is wrong that does not pass by itself; also, where it is to end, whatever is
    /// wrong.
    pub async fn run(mut self) -> Result<Totals, FollowError> {
        let mut totals = Totals::default();
        let mut pause = PAUSES[0];
        loop {
            let before = totals;
            match self.follow(&mut totals).await {
                Ok(()) => return Ok(totals),
                Err(FollowError::Store(StoreError::Moved)) => {}
                Err(error) if self.is_once || !error.may_pass() => return Err(error),
                Err(error) => {
                    // What went well for a while begins with a short pause again.
                    pause = if before == totals { pause } else { PAUSES[0] };
                    (self.tell)(&format!("{error}; once more in {} ms", pause.as_millis()));
                }
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(PAUSES[1]);
        }
    }

    /// Connects to both sides and stores changes until one of them fails.
    async fn follow(&mut self, totals: &mut Totals) -> Result<(), FollowError> {
        let mut client = self.database.connect().await?;
        let inspection = inspection::inspect(&client, &self.schema, &[]).await?;
        if !inspection.differences.is_empty() {
            return Err(FollowError::Tables(inspection.differences.join("; ")));
        }
        let mut source = Source::connect(&self.dial, &self.greeting)?;
        let db = self.schema.keyspace.db.to_string();
        source.ask("SELECT", &[b"SELECT", db.as_bytes()])?;
        let matcher = Matcher::new(self.schema.keys.iter().map(|key| &key.pattern))
            .expect("a checked schema has patterns that a matcher can tell apart");
        let feed = changefeed_key(&self.schema.keyspace.name).into_bytes();
        let mut place = store::place(&client, &self.schema.keyspace.name).await?;
        check_not_behind(&mut source, &feed, place)?;
        let mut retained: Option<Instant> = None;
        loop {
            if retained.is_none_or(|at| at.elapsed() > RETENTION_PERIOD) {
                store::retain(&client, &self.schema, now_ms()).await?;
                retained = Some(Instant::now());
            }
            let entries = read_entries(&mut source, &feed, place.entry)?;
            let Some(last) = entries.last().map(|entry| entry.id) else {
                if self.is_once {
                    return Ok(());
                }
                let from = place.entry.to_string();
                let wait: [&[u8]; 6] =
                    [b"XREAD", b"BLOCK", WAIT_MS, b"STREAMS", &feed, from.as_bytes()];
                source.ask("XREAD", &wait)?;
                continue;
            };
            let mut batch = batch_of(&self.schema, &matcher, &mut source, &entries, place)?;
            batch.place.entry = last;
            for fork in batch.forks.iter().filter(|fork| place.entry > fork.lost_after) {
                (self.tell)(&format!(
                    "the server lost what came after {}, of which the database has what came up to {}: see keyward_forks",
                    fork.lost_after, place.entry
                ));
            }
            let Stored { rows, dead_letters } =
                store::store(&mut client, &self.schema, place, &batch).await?;
            if dead_letters > 0 {
                (self.tell)(&format!(
                    "{dead_letters} items were refused: see keyward_dead_letters"
                ));
            }
            place = batch.place;
            totals.entries += entries.len() as u64;
            totals.rows += rows as u64;
            totals.dead_letters += dead_letters as u64;
            let next = last.next().to_string();
            source.ask("XTRIM", &[b"XTRIM", &feed, b"MINID", b"=", next.as_bytes()])?;
        }
    }
}

fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}

/// Changes whose ids lie before the place would never be seen.
fn check_not_behind(source: &mut Source, feed: &[u8], place: Place) -> Result<(), FollowError> {
    let reply = source.ask_all(&[vec![b"XINFO", b"STREAM", feed]])?.pop();
    let Some(elements) = reply.as_ref().and_then(Frame::as_elements) else { return Ok(()) };
    let mut pairs = elements.chunks_exact(2);
    let last = pairs.find(|pair| pair[0].as_bytes() == Some(b"last-generated-id"));
    let last = last.and_then(|pair| EntryId::parse(pair[1].as_bytes()?));
    match last {
        Some(last) if last < place.entry => Err(FollowError::Behind { last, place: place.entry }),
        _ => Ok(()),
    }
}

/// The entries behind a place, whole units of them: those of one time stay together.
fn read_entries(
    source: &mut Source,
    feed: &[u8],
    from: EntryId,
) -> Result<Vec<Entry>, FollowError> {
    let mut entries: Vec<Entry> = Vec::new();
    loop {
        let last = entries.last().map_or(from, |entry| entry.id);
        let start = format!("({last}");
        let count = BATCH_ENTRIES.to_string();
        let request: [&[u8]; 6] =
            [b"XRANGE", feed, start.as_bytes(), b"+", b"COUNT", count.as_bytes()];
        let page = parse_all(&source.ask("XRANGE", &request)?).ok_or(SourceError::Protocol)?;
        let is_last = page.len() < BATCH_ENTRIES;
        entries.extend(page);
        if is_last {
            return Ok(entries);
        }
        let end_ms = entries.last().map_or(0, |entry| entry.id.ms);
        let whole = entries.iter().rposition(|entry| entry.id.ms != end_ms);
        if let Some(whole) = whole {
            entries.truncate(whole + 1);
            return Ok(entries);
        }
    }
}

/// What entries do to tables.
fn batch_of(
    schema: &Schema,
    matcher: &Matcher,
    source: &mut Source,
    entries: &[Entry],
    place: Place,
) -> Result<Batch, FollowError> {
    let mut batch = Batch { place, ..Batch::default() };
    let mut mirrored: BTreeMap<&[u8], (KeyId, EntryId)> = BTreeMap::new();
    for entry in entries {
        let (kind, name, pairs) = match &entry.news {
            News::Fork(lost_after) => {
                batch.forks.push(Fork { epoch: entry.id, lost_after: *lost_after });
                batch.place.epoch = entry.id;
                continue;
            }
            News::Change { kind, key, pairs } => (*kind, key, pairs),
        };
        let found = matcher.find(name).and_then(|found| schema.id(found.pattern));
        let found =
            found.filter(|id| schema.key(*id).sink.as_ref().is_some_and(|own| own.kind == kind));
        let id = found.ok_or(FollowError::Foreign(entry.id))?;
        match kind {
            SinkKind::Mirror => {
                mirrored.insert(name, (id, entry.id));
            }
            SinkKind::Archive => {
                let held = match (schema.key(id).data, &pairs[..]) {
                    (DataType::Hash, pairs) => Held::Fields(pairs),
                    (_, [(_, value)]) => Held::Text(value),
                    _ => Held::Nothing,
                };
                push(&mut batch, schema, (id, name), &held, Origin { id: entry.id, item: None });
            }
            SinkKind::Append if schema.key(id).data == DataType::Stream => {
                let origin = Origin { id: entry.id, item: Some(0) };
                push(&mut batch, schema, (id, name), &Held::Fields(pairs), origin);
            }
            SinkKind::Append | SinkKind::Drain => {
                for (number, (_, item)) in pairs.iter().enumerate() {
                    let origin = Origin { id: entry.id, item: Some(number) };
                    push(&mut batch, schema, (id, name), &Held::Text(item), origin);
                }
            }
        }
    }
    look_at(&mut batch, schema, source, mirrored)?;
    batch.changes.sort_by_key(|change| change.id);
    Ok(batch)
}

/// Adds what a row or an item does to its table.
fn push(
    batch: &mut Batch,
    schema: &Schema,
    (id, name): (KeyId, &[u8]),
    held: &Held<'_>,
    origin: Origin,
) {
    let key = schema.key(id);
    let Some(sink) = &key.sink else { return };
    let what = match rows_of(key, sink, name, held, origin) {
        Ok(rows) => What::Store(rows),
        Err(unfit) => What::Unfit(format!("{} {}", unfit.column, unfit.problem)),
    };
    let item = match held {
        Held::Text(item) if origin.item.is_some() => Some(item.to_vec()),
        _ => None,
    };
    let change = Change { id: origin.id, key: id.index(), name: name.to_vec(), what, item };
    batch.changes.push(change);
}

/// Looks at mirrored rows as they are now, each once.
fn look_at(
    batch: &mut Batch,
    schema: &Schema,
    source: &mut Source,
    mirrored: BTreeMap<&[u8], (KeyId, EntryId)>,
) -> Result<(), FollowError> {
    let mut requests: Vec<Vec<&[u8]>> = Vec::with_capacity(mirrored.len());
    for (name, (id, _)) in &mirrored {
        let command: &[u8] = match schema.key(*id).data {
            DataType::Hash => b"HGETALL",
            _ => b"GET",
        };
        requests.push(vec![command, name]);
    }
    let replies = source.ask_all(&requests)?;
    for ((name, (id, entry)), reply) in mirrored.into_iter().zip(replies) {
        let origin = Origin { id: entry, item: None };
        if let Frame::Error(text) = &reply {
            let text = String::from_utf8_lossy(text).into_owned();
            return Err(SourceError::Refused("a look at a row", text).into());
        }
        let pairs: Vec<(Vec<u8>, Vec<u8>)> = reply.as_elements().map_or(Vec::new(), |elements| {
            let texts = elements.iter().filter_map(Frame::as_bytes).map(<[u8]>::to_vec);
            let texts: Vec<Vec<u8>> = texts.collect();
            texts.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect()
        });
        match reply.as_bytes() {
            Some(text) => push(batch, schema, (id, name), &Held::Text(text), origin),
            None if !pairs.is_empty() => {
                push(batch, schema, (id, name), &Held::Fields(&pairs), origin);
            }
            None => {
                let key = schema.key(id);
                let Some(sink) = &key.sink else { continue };
                let what = match key_of(key, sink, name, origin) {
                    Ok(row) => What::Remove(row),
                    Err(unfit) => What::Unfit(format!("{} {}", unfit.column, unfit.problem)),
                };
                let name = name.to_vec();
                batch.changes.push(Change { id: entry, key: id.index(), name, what, item: None });
            }
        }
    }
    Ok(())
}
