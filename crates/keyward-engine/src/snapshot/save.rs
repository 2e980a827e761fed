//! The whole of an engine, written as a snapshot (an RDB file).

use crate::governed::memory;
use crate::scripting::Scripts;
use crate::sessions::log_cover::{self, Unlogged};
use crate::sessions::replication::Place;
use keyward_commands::REDIS_VERSION;
use keyward_rdb::{FileOptions, FileWriter, RowHead, Sizes, Usage};
use keyward_schema::Persist;
use keyward_store::capture::content;
use keyward_store::keyspace::{END_FACT, Keyspace};
use keyward_store::tables::database::Database;
use keyward_store::values::row::Row;
use std::io::{self, Write};

/// What a snapshot is for, which decides what is in it: a schema says for its database
/// what outlives a restart (`persist`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coverage {
    /// Everything there is, for who follows.
    Everything,
    /// A file of its own, which brings back all that outlives a restart.
    Whole,
    /// The base of an append-only file, which has no database of which only snapshots
    /// are to be kept.
    AppendOnly,
    /// Of a file that is loaded, the databases that the append-only file beside it leaves to
    /// snapshots.
    SnapshotsOnly,
    /// Function libraries.
    Libraries,
    /// Nothing.
    Nothing,
}

impl Coverage {
    /// Whether a database is in such a snapshot, as far as its schema decides that. What is in
    /// and beside an append-only file is decided by what the file has (`LogCover`).
    pub(crate) fn includes(self, database: &Database) -> bool {
        match self {
            Coverage::Everything => true,
            Coverage::Whole => database.persist() != Persist::None,
            Coverage::AppendOnly => database.persist() == Persist::Aof,
            Coverage::SnapshotsOnly | Coverage::Libraries | Coverage::Nothing => false,
        }
    }

    /// Whether function libraries are in such a snapshot.
    pub(super) fn has_libraries(self) -> bool {
        self != Coverage::SnapshotsOnly
    }
}

/// What the host adds to a snapshot.
#[derive(Debug, Clone, Copy)]
pub struct SnapshotOptions {
    /// What it is for.
    pub coverage: Coverage,
    /// `rdbchecksum`: it ends with a checksum.
    pub sums: bool,
    /// Bytes of memory in use, for who looks at the file.
    pub used_bytes: u64,
}

/// What stands before the rows.
#[derive(Debug, Clone)]
pub(crate) struct Head<'a> {
    /// Whose libraries are in it.
    pub(crate) scripts: &'a Scripts,
    /// Whether long texts are compressed.
    pub(crate) compresses: bool,
    /// When it is taken, in microseconds since the epoch.
    pub(crate) now_us: i64,
    /// Which schemas are in force; empty if none is.
    pub(crate) schemas: String,
    /// Where the stream of changes is, and the database that it has selected.
    pub(crate) place: Option<(Place, usize)>,
    /// What the base of an append-only file leaves out.
    pub(crate) unlogged: Unlogged,
}

/// Everything an engine holds at one instant, ready to be written.
pub struct Snapshot<'a> {
    keys: &'a Keyspace,
    head: Head<'a>,
}

impl<'a> Snapshot<'a> {
    pub(crate) fn new(keys: &'a Keyspace, head: Head<'a>) -> Snapshot<'a> {
        Snapshot { keys, head }
    }

    /// How many changes there had been: what is changed later is not in it.
    pub fn dirty(&self) -> u64 {
        self.keys.changes.dirty
    }

    /// How many rows it has.
    pub fn row_count(&self) -> usize {
        self.databases().map(|(_, database)| database.len()).sum()
    }

    fn databases(&self) -> impl Iterator<Item = (usize, &'a Database)> {
        let keys = self.keys;
        let databases = (0..keys.database_count()).map(|db| (db, keys.database_at(db)));
        databases.filter(|(_, database)| !database.is_empty())
    }

    /// Writes an RDB file; gives the sink back, everything written to it.
    pub fn write_to<W: Write>(&self, sink: W, options: SnapshotOptions) -> io::Result<W> {
        let mut file = self.head.write(sink, options)?;
        for (db, database) in self.databases() {
            if !self.head.has(options.coverage, (db, database)) {
                continue;
            }
            let (rows, expiring) = (database.len() as u64, database.expiring() as u64);
            file.database(db as u64, Sizes { rows, expiring })?;
            for table in database.tables() {
                let facts = table.row_facts(&self.keys.access);
                for row in table.iter() {
                    let deadline = database.copied_deadline(&row);
                    write_row(&mut file, &row, (deadline, facts.usage(&row)))?;
                }
            }
        }
        for mut end in self.keys.saved_ends() {
            let database = self.keys.database_at(end.db());
            if !self.head.has(options.coverage, (end.db(), database)) {
                continue;
            }
            while let Some(value) = end.next(self.keys) {
                file.fact(END_FACT, &value)?;
            }
        }
        file.finish()
    }
}

impl Head<'_> {
    /// Whether a database is in the snapshot behind it.
    fn has(&self, coverage: Coverage, (db, database): (usize, &Database)) -> bool {
        match coverage {
            Coverage::AppendOnly => !self.unlogged.contains_key(&db),
            coverage => coverage.includes(database),
        }
    }

    /// Writes it.
    fn write<W: Write>(&self, sink: W, options: SnapshotOptions) -> io::Result<FileWriter<W>> {
        let compresses = self.compresses;
        let mut file = FileWriter::new(sink, FileOptions { compresses, sums: options.sums });
        file.fact("redis-ver", REDIS_VERSION)?;
        file.fact("redis-bits", &usize::BITS.to_string())?;
        file.fact("ctime", &(self.now_us / 1_000_000).to_string())?;
        file.fact("used-mem", &options.used_bytes.to_string())?;
        let is_base = options.coverage == Coverage::AppendOnly;
        // Of an append-only file the last line tells the place.
        if let Some((place, db)) = self.place.filter(|_| !is_base) {
            file.fact("repl-stream-db", &db.to_string())?;
            file.fact("repl-id", &place.id.to_string())?;
            file.fact("repl-offset", &place.offset.to_string())?;
        }
        file.fact("aof-base", if is_base { "1" } else { "0" })?;
        if !self.schemas.is_empty() {
            file.fact(memory::FACT, &self.schemas)?;
        }
        if is_base {
            file.fact(log_cover::FACT, &log_cover::in_words(&self.unlogged))?;
        }
        let sources = self.scripts.sources();
        for source in sources.filter(|_| options.coverage != Coverage::Nothing) {
            file.library(source)?;
        }
        Ok(file)
    }
}

/// Begins a snapshot of this instant that is taken in steps.
pub(crate) fn begin(keys: &mut Keyspace, head: Head<'_>, options: SnapshotOptions) {
    let beginning = head.write(Vec::new(), options).and_then(FileWriter::into_beginning);
    let beginning = beginning.expect("writing to memory succeeds");
    let covered = |db: &usize| head.has(options.coverage, (*db, keys.database_at(*db)));
    let databases: Vec<usize> = (0..keys.database_count()).filter(covered).collect();
    keys.begin_snapshot(beginning, databases.into_iter());
}

/// Writes a row, which ends then for who reads it.
fn write_row<W: Write>(
    file: &mut FileWriter<W>,
    row: &Row,
    (deadline_ms, usage): (Option<i64>, Option<Usage>),
) -> io::Result<()> {
    let value = row.value();
    let head = RowHead { key: row.key(), deadline_ms, usage };
    content::write(value, file.row(head, content::form(value))?)
}
