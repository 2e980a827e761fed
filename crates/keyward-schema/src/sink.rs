//! Sinks: the table of PostgreSQL that rows or items of a key go to.
//!
//! Owns what a sink is, its columns and their types. Invariants: a table has a column at
//! least and a primary key, names of columns differ and need no quotes but for reserved
//! words, and every column's type holds each value of what it is filled from without
//! rounding it.
//! Not here: reading them (`read::sink`), the statements that make tables (`keyward-sync`).

mod column_type;

pub use column_type::ColumnType;

use crate::schema::Schema;
use crate::settings::choice;
use crate::source::Span;
use crate::units::Duration;

/// The most bytes of a name in PostgreSQL.
pub const MAX_SQL_NAME_BYTES: usize = 63;

choice! {
    /// What a table has of a key.
    pub enum SinkKind {
        /// Each row as it is now.
        Mirror = "mirror",
        /// What a row was when it ended.
        Archive = "archive",
        /// Every item that was pushed.
        Append = "append",
        /// Every item that was pushed, and the queue no longer has.
        Drain = "drain",
    }
}

choice! {
    /// What becomes of a row of the table whose key is gone.
    pub enum Deletion {
        /// It is deleted.
        Delete = "delete",
        /// It stays, and `deleted_at` says since when it is gone.
        Mark = "mark",
    }
}

choice! {
    /// What becomes of a row that the table has already.
    pub enum Merge {
        /// Numbers are added to those that are there; anything else replaces what is there.
        Add = "add",
    }
}

/// Where rows or items of a key go.
#[derive(Clone, Debug, PartialEq)]
pub struct Sink {
    /// What the table has.
    pub kind: SinkKind,
    /// The table: its name, or a schema of PostgreSQL, a point and its name.
    pub table: Box<str>,
    /// Its columns in order.
    pub columns: Vec<Column>,
    /// The columns of its primary key, by index.
    pub key: Vec<usize>,
    /// How long it keeps rows; for ever where nothing is said.
    pub retain: Option<Duration>,
    /// How long an item that it has stays in the list; as long as the list keeps it where nothing
    /// is said.
    pub drop: Option<Duration>,
    /// What becomes of a row that it has already; an error where nothing is said.
    pub merge: Option<Merge>,
    /// What becomes of a mirrored row that is gone.
    pub deletion: Deletion,
    /// Where it stands in the file.
    pub at: Span,
}

impl Sink {
    /// The column that is filled from this.
    pub fn column_from(&self, from: &ColumnSource) -> Option<usize> {
        self.columns.iter().position(|column| column.from == *from)
    }

    /// The column with the month by which the table is partitioned: rows are kept for some
    /// time, and each names its month in its primary key.
    pub fn partitioned_by(&self) -> Option<usize> {
        self.retain?;
        self.key.iter().copied().find(|index| self.columns[*index].is_month)
    }
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: Box<str>,
    /// What it is filled from.
    pub from: ColumnSource,
    /// Its type in PostgreSQL.
    pub ty: ColumnType,
    /// How every value begins, which the table does not have.
    pub strip: Option<Box<str>>,
    /// Whether every row has a value.
    pub required: bool,
    /// The words that it may hold; any value where none is named.
    pub words: Vec<Box<str>>,
    /// Whether it holds the first day of the month that the key names.
    pub is_month: bool,
}

/// What a column is filled from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnSource {
    /// The placeholder of this index.
    Placeholder(usize),
    /// The field of this index, of the row or the item.
    Field(usize),
    /// The whole value, or the whole item.
    Value,
    /// The fields that the schema does not list, as a JSON object.
    Extra,
    /// What stands in the place of the placeholder in the names of split fields: each is a
    /// row of its own, and the row of all other fields has the empty text.
    SplitName,
    /// The fields whose names are this text, something, and that text.
    Split(Box<str>, Box<str>),
    /// The key as a whole, where it has no placeholder.
    Key,
    /// When the row ended, the item was pushed, or the row was found to be gone.
    Time,
    /// The number of the change that it comes from.
    Entry,
}

impl Schema {
    /// What the keyspace at this place has in which tables, as a number (FNV-1a): two schemas
    /// that say the same of it have the same, and others hardly ever.
    pub fn sink_mark(&self, keyspace: usize) -> u64 {
        let mut mark = 0xcbf2_9ce4_8422_2325;
        let mut add = |text: &str| {
            for byte in text.bytes().chain([0]) {
                mark = (mark ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        };
        for key in self.keys.iter().filter(|key| key.keyspace == keyspace) {
            let Some(sink) = &key.sink else { continue };
            add(key.pattern.text());
            add(sink.kind.name());
            add(&sink.table);
            add(sink.deletion.name());
            add(sink.merge.map_or("", Merge::name));
            for (at, column) in sink.columns.iter().enumerate() {
                add(&column.name);
                add(&column.ty.to_string());
                add(if sink.key.contains(&at) { "key" } else { "" });
            }
        }
        mark
    }
}

/// The key of a keyspace's changefeed: the stream of changes that are on their way to tables.
pub fn changefeed_key(keyspace: &str) -> String {
    format!("keyward:changefeed:{keyspace}")
}

/// Whether a name needs no quotes in PostgreSQL, reserved words apart.
pub fn is_sql_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    let begins = bytes.next().is_some_and(|byte| byte.is_ascii_lowercase() || byte == b'_');
    begins
        && name.len() <= MAX_SQL_NAME_BYTES
        && bytes.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}
