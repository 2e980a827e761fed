//! What a host shows of its keyspace.
//!
//! Owns the traits through which the book reads rows. Invariant: nothing here
//! changes anything; a row whose time is over is not shown.

use crate::entry::EntryFields;
use keyward_schema::KeyId;
use std::borrow::Cow;

/// The host has to fetch what was asked for; it asks the book again then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotYet;

/// The keyspace of one database as it is now.
pub trait View {
    /// The time everything is judged by, in milliseconds since the epoch.
    fn now_ms(&self) -> i64;

    /// The living row of a key.
    ///
    /// # Errors
    /// If the host has to fetch it first.
    fn row(&self, key: &[u8]) -> Result<Option<&dyn Row>, NotYet>;

    /// The same, of a key that is known to belong to this table.
    ///
    /// # Errors
    /// If the host has to fetch it first.
    fn row_of(&self, _table: KeyId, key: &[u8]) -> Result<Option<&dyn Row>, NotYet> {
        self.row(key)
    }

    /// Shows the living row of a key for a moment. A host that has to unpack rows need
    /// not keep this one.
    ///
    /// # Errors
    /// If the host has to fetch it first.
    fn glance(&self, key: &[u8], visit: &mut dyn FnMut(Option<&dyn Row>)) -> Result<(), NotYet> {
        visit(self.row(key)?);
        Ok(())
    }

    /// The keys that live with this one: rows of patterns whose lifetime is
    /// `with` it. Calls `visit` for each.
    ///
    /// # Errors
    /// If the host has to fetch them first.
    fn each_companion(&self, key: &[u8], visit: &mut dyn FnMut(&[u8])) -> Result<(), NotYet>;

    /// Whether a row of this key is there whose time is over and whose end is still to be carried
    /// out, with all that follows from it. By default the host shows only what has ended.
    fn is_due(&self, _key: &[u8]) -> bool {
        false
    }

    /// Shows the row of a key whose time is over and whose end is still to be carried out, if
    /// there is one.
    fn glance_due(&self, _key: &[u8], _visit: &mut dyn FnMut(&dyn Row)) {}

    /// How many rows live with this one.
    fn companion_count(&self, _key: &[u8]) -> usize {
        0
    }

    /// What no more rows or elements than this lose is removed at once; more is for the host
    /// to remove in steps ([`LargeEnd`](crate::LargeEnd)). By default the host takes none.
    fn removed_at_once(&self) -> usize {
        usize::MAX
    }
}

/// A host that shows nothing: what the book decides with it is decided by the
/// arguments alone. It serves to refuse commands while they are queued.
#[derive(Clone, Copy, Debug)]
pub struct Blind {
    /// The time.
    pub now_ms: i64,
}

impl View for Blind {
    fn now_ms(&self) -> i64 {
        self.now_ms
    }

    fn row(&self, _key: &[u8]) -> Result<Option<&dyn Row>, NotYet> {
        Err(NotYet)
    }

    fn each_companion(&self, _key: &[u8], _visit: &mut dyn FnMut(&[u8])) -> Result<(), NotYet> {
        Err(NotYet)
    }
}

/// What Redis's TYPE answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowType {
    /// A string.
    String,
    /// A list.
    List,
    /// A set.
    Set,
    /// A sorted set.
    Zset,
    /// A hash.
    Hash,
    /// A stream.
    Stream,
}

/// A living row.
pub trait Row {
    /// Its type.
    fn row_type(&self) -> RowType;

    /// When it ends, in milliseconds since the epoch.
    fn deadline(&self) -> Option<i64>;

    /// How many items, members or fields it has; the bytes of a string.
    fn len(&self) -> usize;

    /// Whether it has none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How much memory a collection takes; zero where the host does not know.
    fn heap_bytes(&self) -> usize {
        0
    }

    /// The bytes of a string; `None` if it is something else.
    fn text(&self) -> Option<Cow<'_, [u8]>>;

    /// The number that a string is kept as; `None` where the host keeps its bytes.
    fn number(&self) -> Option<i64> {
        None
    }

    /// A field of a hash.
    fn field(&self, name: &[u8]) -> Option<Cow<'_, [u8]>>;

    /// Whether it is a member of the set or sorted set, or an item of the list.
    fn contains(&self, member: &[u8]) -> bool;

    /// The score of a member of a sorted set.
    fn score(&self, member: &[u8]) -> Option<f64>;

    /// Visits every element of a collection.
    fn each(&self, visit: &mut dyn FnMut(Element<'_>));

    /// Visits some elements of a collection, from a cursor on that is zero at first;
    /// returns the next one, zero at the end. What is there throughout is visited at
    /// least once.
    fn each_some(&self, _cursor: u64, visit: &mut dyn FnMut(Element<'_>)) -> u64 {
        self.each(visit);
        0
    }
}

/// An element of a collection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Element<'a> {
    /// A field of a hash and its value.
    Field(&'a [u8], &'a [u8]),
    /// An item of a list.
    Item(&'a [u8]),
    /// A member of a set.
    Member(&'a [u8]),
    /// A member of a sorted set and its score.
    Scored(&'a [u8], f64),
    /// An entry of a stream.
    Entry(EntryFields<'a>),
}
