//! The whole of an engine, read from a snapshot (an RDB file).

use super::{Coverage, Loaded};
use crate::engine::context::Ctx;
use crate::engine::shared::Shared;
use crate::governed::memory::{self, Memory};
use crate::governed::rebuild::AfterLoad;
use crate::scripting::function;
use crate::sessions::log_cover::{self, Beside, Holder};
use crate::sessions::replication::{Place, ReplicationId};
use keyward_lua::LogLevel;
use keyward_rdb::{FileReader, Record};
use keyward_schema::Persist;
use keyward_store::capture::build::Builder;
use keyward_store::keyspace::{END_FACT, Keyspace, OnConflict};
use keyward_store::values::hasher::{DbIndex, Key, TableIndex};
use keyward_store::values::row::Row;
use std::fmt;
use std::io::Read;
use std::ops::Range;

/// Rows that cannot be loaded and are told by name.
const UNSUPPORTED_NAMED_MAX: usize = 20;
/// Rows that are read before the first of them is put into its table: what they go to is
/// fetched meanwhile.
const ROWS_AHEAD: usize = 32;
/// Bytes of a file after which a step ends, whatever it was asked for: so many are read and put
/// into their tables in well below a millisecond.
const STEP_BYTES_MAX: u64 = 64 * 1024;
/// A step ends when it has taken this long.
const STEP_NS_MAX: u64 = 500_000;
/// No row of a file is shorter, or hardly any.
const ROW_BYTES_MIN: u64 = 8;

/// Why a snapshot could not be loaded. What came before is there.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file is not what it should be.
    #[error("the snapshot {0}")]
    File(#[from] keyward_rdb::Error),
    /// A key is there already, or twice in the file.
    #[error("the snapshot has the key {0:?}, which is there already, before byte {1}")]
    KeyTwice(String, u64),
    /// There are not as many databases.
    #[error("the snapshot has a database {0}, but there are {1}")]
    NoSuchDatabase(u64, usize),
    /// The append-only file has a command that is not known.
    #[error("the append-only file has a command that is not known: {0}")]
    UnknownCommand(String),
    /// There are values of types that are not served.
    #[error("the snapshot holds what is not supported: {0}")]
    Unsupported(Unsupported),
    /// Another file has rows of the same database, and neither says which has all of them.
    #[error(
        "the snapshot has rows of database {0}, and so has the append-only file, which does not say \
         whether it leaves any to snapshots, as Keyward 0.1 did; move the directory of the \
         append-only file away to serve what the snapshot has"
    )]
    InTwoFiles(usize),
    /// The other file says nothing of a database, which may have been emptied since.
    #[error(
        "the snapshot has rows of database {0}, and the append-only file, which is newer, says \
         nothing of it: they may have ended since, or it leaves them to snapshots, as Keyward 0.1 \
         did; move the directory of the append-only file away to serve what the snapshot has"
    )]
    InOlderFile(usize),
    /// A function library cannot be loaded.
    #[error("the snapshot has a library that cannot be loaded: {0}")]
    Library(String),
}

/// Rows of types that are not served, the first of them by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unsupported {
    named: Vec<String>,
    more: usize,
}

impl Unsupported {
    /// How many they are.
    pub fn count(&self) -> u64 {
        (self.named.len() + self.more) as u64
    }

    fn add(&mut self, db: usize, key: &[u8], what: &str) {
        if self.named.len() < UNSUPPORTED_NAMED_MAX {
            let key = key.escape_ascii();
            self.named.push(format!("\"{key}\" of database {db} is {what}"));
        } else {
            self.more += 1;
        }
    }
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.named.join(", "))?;
        match self.more {
            0 => Ok(()),
            more => write!(f, ", and {more} more"),
        }
    }
}

/// What is done with rows whose time is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DueRows {
    /// They are left out.
    Dropped,
    /// They come back: what follows may give them another deadline.
    Kept,
}

/// A snapshot being loaded.
pub struct SnapshotLoader<R> {
    file: FileReader<R>,
    builder: Builder,
    coverage: Coverage,
    due: DueRows,
    on_conflict: OnConflict,
    db: usize,
    /// Rows that are read and not in their tables yet.
    ahead: Vec<RowAhead>,
    /// The keys of those.
    keys: Vec<u8>,
    /// Rows that there may be.
    rows_max: u64,
    unsupported: Unsupported,
    followed: Followed,
    /// The file tells of schemas.
    pub(crate) tells_schemas: bool,
    /// Of a file beside an append-only file: it tells of schemas, be it that this cannot be read.
    is_ours: bool,
    /// Of a file beside an append-only file: what it tells of schemas, and when it was made, in
    /// seconds since the epoch.
    saved: Memory,
    made_s: Option<i64>,
    /// Whether it is to be found out which of the two has the rows of the database that is read.
    is_doubted: bool,
    /// What it has come to so far.
    pub loaded: Loaded,
}

/// Where in a stream of changes the rows of a file stand, as far as it has told.
#[derive(Debug, Default)]
struct Followed {
    id: Option<ReplicationId>,
    offset: Option<u64>,
    /// The database that the stream has selected.
    db: usize,
}

impl Followed {
    fn hear(&mut self, name: &[u8], text: &[u8]) {
        match name {
            b"repl-stream-db" => {
                let db = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
                self.db = db.unwrap_or(0);
            }
            b"repl-id" => self.id = ReplicationId::parse(text),
            b"repl-offset" => {
                self.offset = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
            }
            _ => {}
        }
    }

    /// The place, once it is told.
    fn take(&mut self) -> Option<Place> {
        let (id, offset) = (self.id?, self.offset?);
        (self.id, self.offset) = (None, None);
        Some(Place { id, offset })
    }
}

/// A row on its way to its table.
struct RowAhead {
    row: Row,
    key: Range<usize>,
    hash: u64,
    table: TableIndex,
    /// Where in the file it begins.
    offset: u64,
}

impl<R: Read> SnapshotLoader<R> {
    /// Begins to load the databases that the coverage has.
    pub(crate) fn new(
        keys: &Keyspace,
        shared: &Shared,
        source: R,
        (coverage, due): (Coverage, DueRows),
        on_conflict: OnConflict,
    ) -> Result<SnapshotLoader<R>, LoadError> {
        Ok(SnapshotLoader {
            file: FileReader::new(source, shared.switches.sum)?,
            builder: Builder::new(&shared.tunables.packed, keys.hasher()),
            coverage,
            due,
            on_conflict,
            db: 0,
            ahead: Vec::with_capacity(ROWS_AHEAD),
            keys: Vec::new(),
            rows_max: 0,
            unsupported: Unsupported::default(),
            followed: Followed::default(),
            tells_schemas: false,
            is_ours: false,
            saved: Memory::default(),
            made_s: None,
            is_doubted: false,
            loaded: Loaded::default(),
        })
    }

    /// Says how long the file is. Room is made for as many rows as it says it has, unless
    /// it cannot have them.
    pub fn expect_bytes(&mut self, bytes: u64) {
        self.rows_max = bytes / ROW_BYTES_MIN;
    }

    /// The database that the stream behind it has selected, as far as it has told.
    pub fn stream_db(&self) -> usize {
        self.followed.db
    }

    /// How many bytes have been read.
    pub fn offset(&self) -> u64 {
        self.file.offset()
    }

    /// Loads about so many entries, or fewer if they are large or take long; whether there are
    /// more. Nobody is told, nothing is logged.
    pub(crate) fn step(&mut self, ctx: &mut Ctx<'_>, entries: usize) -> Result<bool, LoadError> {
        let read = self.read(ctx, entries);
        // What came before an error is there.
        self.put_rows(ctx.keys)?;
        if ctx.shared.replication.is_on() {
            ctx.shared.feed_effects(ctx.keys);
        }
        if read? {
            return Ok(true);
        }
        ctx.keys.trim();
        self.end()
    }

    fn read(&mut self, ctx: &mut Ctx<'_>, entries: usize) -> Result<bool, LoadError> {
        let mut is_covered = self.is_covered(ctx);
        let (begun, begun_ns) = (self.file.offset(), ctx.host.monotonic_ns());
        for _ in 0..entries {
            let before = self.file.offset();
            if self.ahead.len() == ROWS_AHEAD {
                self.put_rows(ctx.keys)?;
                if ctx.host.monotonic_ns().saturating_sub(begun_ns) >= STEP_NS_MAX {
                    break;
                }
            }
            if before - begun >= STEP_BYTES_MAX {
                break;
            }
            let Some(entry) = self.file.next(&mut self.builder)? else { return Ok(false) };
            match entry {
                Record::Row(head) => {
                    let value = self.builder.take();
                    let value = value.expect("a row was read, so its value was built");
                    let is_due = head.deadline_ms.is_some_and(|at| at < ctx.keys.now_ms());
                    if self.is_doubted && !is_due {
                        self.is_doubted = false;
                        is_covered = resolve_doubt(ctx, self.db, &self.saved, self.made_s)?;
                    }
                    if !is_covered {
                        continue;
                    }
                    let key = ctx.keys.key_in(self.db, head.key);
                    if is_due && self.due == DueRows::Dropped && !ctx.keys.takes_along(key) {
                        self.loaded.expired += 1;
                        ctx.keys.effects.begin_unit();
                        // Who followed before has it still.
                        ctx.keys.effects.beside(self.db, [b"DEL", head.key]);
                        continue;
                    }
                    ctx.keys.prefetch_bucket(key);
                    let row = ctx.keys.saved_row(key, value, head.deadline_ms, head.usage);
                    let (start, offset) = (self.keys.len(), before);
                    self.keys.extend_from_slice(key.bytes);
                    let (hash, table, key) = (key.hash, key.table, start..self.keys.len());
                    self.ahead.push(RowAhead { row, key, hash, table, offset });
                }
                Record::EmptyRow => {
                    self.builder.take();
                    self.loaded.empty += 1;
                }
                // All of them are told at once, at the end.
                Record::Unsupported(key, what) => {
                    if std::mem::take(&mut self.is_doubted) {
                        is_covered = resolve_doubt(ctx, self.db, &self.saved, self.made_s)?;
                    }
                    if is_covered {
                        self.unsupported.add(self.db, key, &what);
                    }
                }
                Record::Database(number) => {
                    self.put_rows(ctx.keys)?;
                    self.db = database(ctx.keys, number)?;
                    is_covered = self.is_covered(ctx);
                    let is_beside_log = self.coverage == Coverage::SnapshotsOnly;
                    if self.is_outdated(ctx) {
                        let line = format!(
                            "Database {}: the rows that the snapshot has of it are not served: the \
                             server that appended to the append-only file wrote it, and had all \
                             its rows in that file, which tells what was deleted since",
                            self.db
                        );
                        ctx.host.log(LogLevel::Warning, line.as_bytes());
                    }
                    if is_beside_log && is_covered && !self.tells_schemas {
                        ctx.shared.note_foreign(self.db);
                    } else if is_beside_log && is_covered {
                        ctx.shared.recall_saved(self.db, &self.saved);
                        while !ctx.shared.bring_recalled(ctx.keys, usize::MAX) {}
                    }
                    self.is_doubted = is_beside_log && ctx.shared.log_cover.is_in_doubt(self.db);
                }
                Record::Library(source) if self.coverage.has_libraries() => {
                    function::load_again(ctx, source, on_library_conflict(self.on_conflict))
                        .map_err(LoadError::Library)?;
                }
                Record::Sizes(sizes) => {
                    self.loaded.told = self.loaded.told.saturating_add(sizes.rows);
                    if is_covered {
                        ctx.keys.expect_rows(self.db, sizes.rows.min(self.rows_max) as usize);
                    }
                }
                // Beside an append-only file, that one tells. No row has come yet.
                Record::Fact(name, text)
                    if name == memory::FACT.as_bytes()
                        && self.coverage != Coverage::SnapshotsOnly =>
                {
                    self.tells_schemas = true;
                    ctx.shared.recall(ctx.keys, Ok(text));
                    if ctx.shared.arrival.as_ref().is_some_and(|arrival| arrival.is_unread()) {
                        ctx.host.log(
                            LogLevel::Warning,
                            b"The schemas that the primary's snapshot tells of cannot be read: \
                              the own ones stay, and only observe",
                        );
                    }
                    while !ctx.shared.bring_recalled(ctx.keys, usize::MAX) {}
                    is_covered = self.is_covered(ctx);
                }
                Record::Fact(name, text) if name == memory::FACT.as_bytes() => {
                    let saved = Memory::read(text);
                    self.tells_schemas = saved.is_ok();
                    self.is_ours = true;
                    if let Some(arrival) = &mut ctx.shared.arrival {
                        arrival.is_damaged |= saved.is_err();
                    }
                    self.saved = saved.unwrap_or_default();
                }
                Record::Fact(b"ctime", text) if self.coverage == Coverage::SnapshotsOnly => {
                    self.made_s = log_cover::seconds(text);
                }
                Record::Fact(b"ctime", text) if ctx.shared.is_loading => {
                    ctx.shared.log_cover.hear_time(text);
                }
                // Only the base of an append-only file tells it.
                Record::Fact(name, text)
                    if name == log_cover::FACT.as_bytes()
                        && ctx.shared.is_loading
                        && self.coverage == Coverage::Whole =>
                {
                    ctx.shared.hear_cover(|cover| cover.hear_base(text));
                }
                // It says what rows mean that have come before.
                Record::Fact(name, text) if name == END_FACT.as_bytes() => {
                    let text = text.to_vec();
                    self.put_rows(ctx.keys)?;
                    ctx.keys.load_end(&text);
                }
                Record::Fact(name, text) if self.coverage == Coverage::Whole => {
                    self.followed.hear(name, text);
                    if ctx.shared.is_loading
                        && let Some(place) = self.followed.take()
                    {
                        ctx.shared.resume_history(ctx.keys, place, self.followed.db);
                    }
                }
                // The place of what a primary sends is told beside it.
                Record::Fact(name, text) if self.coverage == Coverage::Everything => {
                    self.followed.hear(name, text);
                }
                Record::Library(_) | Record::Fact(..) => {}
            }
        }
        Ok(true)
    }

    /// Whether the database that is read is to be loaded. No server saves rows that are not to
    /// outlive a restart: those of a file come from elsewhere, as out of a backup.
    fn is_covered(&self, ctx: &Ctx<'_>) -> bool {
        match self.coverage {
            Coverage::SnapshotsOnly => {
                ctx.shared.log_cover.place(self.db) == Persist::Rdb && !self.is_outdated(ctx)
            }
            _ => true,
        }
    }

    /// Whether the file is of the server that appended rows of the database that is read to the
    /// append-only file: that one had what it appended, and nothing of an earlier snapshot.
    fn is_outdated(&self, ctx: &Ctx<'_>) -> bool {
        self.coverage == Coverage::SnapshotsOnly
            && !self.is_ours
            && ctx.shared.log_cover.is_joined(self.db)
    }

    /// Puts the rows that were read into their tables.
    fn put_rows(&mut self, keys: &mut Keyspace) -> Result<(), LoadError> {
        let db = DbIndex::of(self.db);
        let is_beside_log = self.coverage == Coverage::SnapshotsOnly;
        for RowAhead { row, key, hash, table, offset } in self.ahead.drain(..) {
            let key = Key { bytes: &self.keys[key], hash, table, db };
            if !keys.load(key, row, self.on_conflict) {
                // Another server has written it since to the append-only file.
                if is_beside_log {
                    continue;
                }
                let key = key.bytes.escape_ascii().to_string();
                return Err(LoadError::KeyTwice(key, offset));
            }
            self.loaded.rows += 1;
        }
        self.keys.clear();
        Ok(())
    }

    /// There are no more rows. Those that could not be loaded must not go unnoticed.
    fn end(&mut self) -> Result<bool, LoadError> {
        match std::mem::take(&mut self.unsupported) {
            unsupported if unsupported.named.is_empty() => Ok(false),
            unsupported => Err(LoadError::Unsupported(unsupported)),
        }
    }
}

/// Finds out whether a snapshot that remembers this has the rows of a database, or the append-only
/// file beside it, which does not tell.
#[cold]
fn resolve_doubt(
    ctx: &mut Ctx<'_>,
    db: usize,
    saved: &Memory,
    made_s: Option<i64>,
) -> Result<bool, LoadError> {
    let to_come = ctx.shared.arrival.as_ref().and_then(|arrival| arrival.persist_to_come(db));
    let is_left = [to_come, saved.persist(db)].contains(&Some(Persist::Rdb));
    match ctx.shared.log_cover.resolve(Beside { db, is_left, made_s }) {
        Holder::Log => Ok(false),
        // A replica is what its primary is going to send.
        Holder::Both | Holder::Neither if ctx.shared.primary.is_some() => Ok(false),
        Holder::Both => Err(LoadError::InTwoFiles(db)),
        Holder::Neither => Err(LoadError::InOlderFile(db)),
        Holder::Snapshot => {
            let line = format!(
                "Database {db}: the append-only file says nothing of its rows, and does not say \
                 that it leaves them to snapshots, as Keyward 0.1 did: those of the snapshot are \
                 served"
            );
            ctx.host.log(LogLevel::Warning, line.as_bytes());
            ctx.keys.left_to_snapshots.push(db);
            ctx.shared.note_foreign(db);
            Ok(true)
        }
    }
}

/// Loads a snapshot into the databases, and makes rows under a schema what it says.
/// Nobody is told, nothing is logged.
pub(crate) fn load(
    ctx: &mut Ctx<'_>,
    source: &mut dyn Read,
    on_conflict: OnConflict,
) -> Result<Loaded, LoadError> {
    ctx.shared.origin = None;
    let what = (Coverage::Whole, DueRows::Dropped);
    let loader = SnapshotLoader::new(ctx.keys, ctx.shared, source, what, on_conflict);
    let outcome = loader.and_then(|mut loader| {
        while loader.step(ctx, usize::MAX)? {}
        Ok(loader.loaded)
    });
    let mut after = AfterLoad::default();
    // A replica is what its primary is: nothing is asked of its rows.
    while !ctx.keys.is_following()
        && !after.step(ctx.keys, ctx.shared, ctx.session, ctx.host, usize::MAX)
    {}
    if let Ok(loaded) = &outcome {
        ctx.host.loaded(*loaded);
    }
    outcome
}

/// Loads the libraries of a snapshot, of which there must be none yet.
pub(crate) fn load_libraries(ctx: &mut Ctx<'_>, sources: &[Vec<u8>]) -> Result<(), String> {
    let on_conflict = keyward_lua::OnConflict::Refuse;
    sources.iter().try_for_each(|source| function::load_again(ctx, source, on_conflict))
}

/// The database of this number.
fn database(keys: &Keyspace, number: u64) -> Result<usize, LoadError> {
    let count = keys.database_count();
    let db = usize::try_from(number).ok().filter(|db| *db < count);
    db.ok_or(LoadError::NoSuchDatabase(number, count))
}

/// What the same means for a library.
fn on_library_conflict(on_conflict: OnConflict) -> keyward_lua::OnConflict {
    match on_conflict {
        OnConflict::Refuse => keyward_lua::OnConflict::Refuse,
        OnConflict::Replace => keyward_lua::OnConflict::Replace,
    }
}
