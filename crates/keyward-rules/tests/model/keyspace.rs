//! Rows in memory, as simple as can be.

use std::cell::Cell;
use std::collections::BTreeMap;

pub(crate) use keyward_rules::host::{Bytes, Stored, Value};
use keyward_rules::{NotYet, Row, RuleBook, View};

/// All rows at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Keyspace {
    pub(crate) rows: BTreeMap<Bytes, Stored>,
}

/// A keyspace, its book and the time: what the book sees.
pub(crate) struct Scene<'a> {
    pub(crate) keyspace: &'a Keyspace,
    pub(crate) book: &'a RuleBook,
    pub(crate) now_ms: i64,
    /// How many rows the book has asked for, to keep them.
    pub(crate) rows_asked: &'a Cell<usize>,
}

impl View for Scene<'_> {
    fn now_ms(&self) -> i64 {
        self.now_ms
    }

    fn row(&self, key: &[u8]) -> Result<Option<&dyn Row>, NotYet> {
        self.rows_asked.set(self.rows_asked.get() + 1);
        let row = self.keyspace.rows.get(key).filter(|row| !row.is_over(self.now_ms));
        Ok(row.map(|row| row as &dyn Row))
    }

    /// What is only glanced at is not kept, and not counted.
    fn glance(&self, key: &[u8], visit: &mut dyn FnMut(Option<&dyn Row>)) -> Result<(), NotYet> {
        let row = self.keyspace.rows.get(key).filter(|row| !row.is_over(self.now_ms));
        visit(row.map(|row| row as &dyn Row));
        Ok(())
    }

    fn each_companion(&self, key: &[u8], visit: &mut dyn FnMut(&[u8])) -> Result<(), NotYet> {
        for other in self.keyspace.rows.keys() {
            let leader = self.book.table_of(other).and_then(|table| self.book.leader(table, other));
            if leader.as_deref() == Some(key) {
                visit(other);
            }
        }
        Ok(())
    }
}
