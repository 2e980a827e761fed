//! A database: the keys of one `SELECT` number, in tables.
//!
//! Owns the tables and the choice of a key's table. A schemaless database has
//! exactly one table; a schema gives each key pattern its own, and the plain one
//! keeps the rest. Invariant: a key has exactly one table it can be in.
//! Not here: time and changes (`keyspace`).

use crate::evict::Scope;
use crate::hasher::{Key, KeyHasher};
use crate::random::Random;
use crate::row::Row;
use crate::table::Table;

/// The table of keys that belong to no pattern.
const PLAIN: usize = 0;

/// The tables of one `SELECT` number.
#[derive(Debug)]
pub(crate) struct Database {
    tables: Vec<Table>,
    hasher: KeyHasher,
}

impl Database {
    /// A schemaless database without rows.
    pub(crate) fn new(hasher: KeyHasher) -> Database {
        Database { tables: vec![Table::new(hasher)], hasher }
    }

    /// The table a key is in, if it is anywhere.
    #[inline(always)]
    pub(crate) fn table(&self, _key: Key<'_>) -> &Table {
        &self.tables[PLAIN]
    }

    /// As `table`, for changing rows.
    #[inline(always)]
    pub(crate) fn table_mut(&mut self, _key: Key<'_>) -> &mut Table {
        &mut self.tables[PLAIN]
    }

    /// How many rows there are, due ones included.
    pub(crate) fn len(&self) -> usize {
        self.tables.iter().map(Table::len).sum()
    }

    /// How many rows have a deadline.
    pub(crate) fn expiring(&self) -> usize {
        self.tables.iter().map(Table::expiring).sum()
    }

    /// The average deadline of those that have one.
    pub(crate) fn mean_deadline(&self) -> Option<i64> {
        let expiring = self.expiring() as i128;
        let sum: i128 = self
            .tables
            .iter()
            .filter_map(|t| Some(i128::from(t.mean_deadline()?) * t.expiring() as i128))
            .sum();
        (expiring > 0).then(|| (sum / expiring) as i64)
    }

    /// Takes all rows out, leaving the database empty.
    pub(crate) fn take(&mut self) -> Database {
        std::mem::replace(self, Database::new(self.hasher))
    }

    /// Every row.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Row> {
        self.tables.iter().flat_map(Table::iter)
    }

    /// Visits the rows of one bucket; returns the next cursor, zero at the end.
    pub(crate) fn scan(&self, cursor: u64, visit: impl FnMut(&Row)) -> u64 {
        self.tables[PLAIN].scan(cursor, visit)
    }

    /// A row drawn by chance.
    pub(crate) fn sample(&self, random: &mut Random) -> Option<&Row> {
        let mut position = random.below(self.len().max(1) as u64) as usize;
        for table in &self.tables {
            if position < table.len() {
                return table.sample(random);
            }
            position -= table.len();
        }
        None
    }

    /// A row that eviction may take, drawn by chance.
    pub(crate) fn sample_of(&self, scope: Scope, random: &mut Random) -> Option<&Row> {
        if scope == Scope::All {
            return self.sample(random);
        }
        let mut position = random.below(self.expiring().max(1) as u64) as usize;
        for table in &self.tables {
            if position < table.expiring() {
                return table.sample_expiring(random);
            }
            position -= table.expiring();
        }
        None
    }

    /// The row that ends soonest.
    pub(crate) fn first_to_end(&self) -> Option<&Row> {
        self.tables.iter().filter_map(Table::first_to_end).min_by_key(|row| row.deadline())
    }

    /// Hands over rows, about `budget` of them, and answers how much was done.
    /// The database is not to be used any more.
    pub(crate) fn shed(&mut self, budget: usize, mut receive: impl FnMut(Row)) -> usize {
        let mut shed = self.tables.iter_mut().map(|table| table.shed(budget, &mut receive));
        shed.find(|shed| *shed > 0).unwrap_or(0)
    }

    /// Bytes of the indexes, rows aside.
    pub(crate) fn index_bytes(&self) -> usize {
        self.tables.iter().map(Table::index_bytes).sum()
    }

    /// Bytes of the orders of deadlines.
    pub(crate) fn deadline_bytes(&self) -> usize {
        self.tables.iter().map(Table::deadline_bytes).sum()
    }

    /// The key of a row whose deadline has passed.
    pub(crate) fn due_key(&self, now_ms: i64) -> Option<Box<[u8]>> {
        self.tables.iter().find_map(|table| table.due_key(now_ms))
    }
}
