//! Rows that leave their tables: by themselves, or for the tables of another schema.

use crate::tables::database::Database;
use crate::tables::faulty::Faulty;
use crate::values::row::Row;
use keyward_rules::Cause;
use keyward_schema::KeyId;
use std::rc::Rc;

/// A row that went by itself.
#[derive(Debug)]
pub struct Ended {
    /// Its database.
    pub db: usize,
    /// Its pattern.
    pub pattern: KeyId,
    /// Its key.
    pub key: Box<[u8]>,
    /// The row; ends that go in steps may have it too.
    pub row: Rc<Row>,
    /// Why it went.
    pub cause: Cause,
    /// Where the log of changes tells of it.
    pub logged: usize,
}

/// Rows of a database that came under another schema, on the way to their tables.
#[derive(Debug)]
pub(super) struct Leaving {
    pub(super) db: usize,
    pub(super) before: Database,
    /// What was wrong with rows under the schema before.
    pub(super) faulty: Faulty,
}
