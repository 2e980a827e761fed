//! The whole of an engine, written.

use super::content;
use crate::REDIS_VERSION;
use crate::database::Database;
use crate::evict::Order;
use crate::keyspace::Keyspace;
use crate::row::Row;
use crate::shared::Shared;
use keyward_rdb::{FileOptions, FileWriter, RowHead, Sizes, Usage};
use std::io::{self, Write};

/// What the host adds to a snapshot.
#[derive(Debug, Clone, Copy)]
pub struct SnapshotOptions {
    /// `rdbchecksum`: it ends with a checksum.
    pub sums: bool,
    /// Bytes of memory in use, for who looks at the file.
    pub used_bytes: u64,
}

/// Everything an engine holds at one instant, ready to be written.
pub struct Snapshot<'a> {
    keys: &'a Keyspace,
    shared: &'a Shared,
}

impl<'a> Snapshot<'a> {
    pub(crate) fn new(keys: &'a Keyspace, shared: &'a Shared) -> Snapshot<'a> {
        Snapshot { keys, shared }
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
        databases.filter(|(_, database)| database.len() > 0)
    }

    /// How a row was used, where the policy of eviction wants to know it.
    fn usage(&self, row: &Row) -> Option<Usage> {
        let (access, mark) = (&self.keys.access, row.clock());
        match self.shared.tunables.memory.policy?.order {
            Order::Recency => Some(Usage::IdleSeconds(access.idle_seconds(mark)?.into())),
            Order::Frequency => Some(Usage::Frequency(access.frequency(mark)?)),
            Order::Chance | Order::Deadline => None,
        }
    }

    /// Writes an RDB file; gives the sink back, everything written to it.
    pub fn write_to<W: Write>(&self, sink: W, options: SnapshotOptions) -> io::Result<W> {
        let compresses = self.shared.tunables.compresses;
        let options_of_file = FileOptions { compresses, sums: options.sums };
        let mut file = FileWriter::new(sink, options_of_file);
        file.fact("redis-ver", REDIS_VERSION)?;
        file.fact("redis-bits", &usize::BITS.to_string())?;
        file.fact("ctime", &(self.shared.now_us / 1_000_000).to_string())?;
        file.fact("used-mem", &options.used_bytes.to_string())?;
        file.fact("aof-base", "0")?;
        for source in self.shared.scripts.sources() {
            file.library(source)?;
        }
        for (db, database) in self.databases() {
            let (rows, expiring) = (database.len() as u64, database.expiring() as u64);
            file.database(db as u64, Sizes { rows, expiring })?;
            for row in database.iter() {
                write_row(&mut file, row, self.usage(row))?;
            }
        }
        file.finish()
    }
}

/// Writes a row.
fn write_row<W: Write>(
    file: &mut FileWriter<W>,
    row: &Row,
    usage: Option<Usage>,
) -> io::Result<()> {
    let value = row.value();
    let head = RowHead { key: row.key(), deadline_ms: row.deadline(), usage };
    content::write(value, file.row(head, content::form(value))?)
}
