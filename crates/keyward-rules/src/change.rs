//! What a command did to a row.
//!
//! Owns the form in which hosts report effects. A report lists each row that a
//! command touched once, with what it was at first and what it is at the end.

use crate::entry::EntryFields;
use crate::view::Row;
use keyward_schema::KeyId;

/// A row that changed, came or went.
#[derive(Clone, Copy)]
pub struct Change<'a> {
    /// The pattern it belongs to; `None` if it belongs to no one.
    pub table: Option<KeyId>,
    /// Its key.
    pub key: &'a [u8],
    /// Whether the row was there, and then its deadline at that time.
    pub deadline_before: Option<Option<i64>>,
    /// The row as it is now, if it is there.
    pub after: Option<&'a dyn Row>,
    /// What became of it.
    pub what: What<'a>,
    /// Whether what it holds need not be judged: it came as it was from another key of
    /// the same table, or of one that takes the same ([`RuleBook::fits_alike`]), where nothing
    /// was wrong with it.
    ///
    /// [`RuleBook::fits_alike`]: crate::RuleBook::fits_alike
    pub is_known_to_fit: bool,
    /// Whether the host keeps the row as it was until all that depended on it has gone: a
    /// [`LargeEnd`](crate::LargeEnd) can say so. A row that lives on under another key is kept
    /// too: the host looks there.
    pub is_kept: bool,
}

/// How much of a row changed.
#[derive(Clone, Copy)]
pub enum What<'a> {
    /// The row came, went or was replaced as a whole, or is a string that was
    /// edited; as it was before, if it was there.
    Whole(Option<&'a dyn Row>),
    /// These elements of a collection, in this order. An element may occur more
    /// than once. The row may have come or gone by it. Of items that left a list,
    /// and members that left what heeds none ([`RuleBook::heeds_leavers`]), nothing is told:
    /// nothing depends on them, and they may be many.
    ///
    /// [`RuleBook::heeds_leavers`]: crate::RuleBook::heeds_leavers
    Parts(&'a [Part<'a>]),
    /// Nothing but its lifetime.
    Lifetime,
}

/// A change of one element, or of many that left together.
#[derive(Clone, Copy)]
pub enum Part<'a> {
    /// A field of a hash: its value before and after.
    Field {
        /// Its name.
        name: &'a [u8],
        /// What it held, if it was there.
        before: Option<&'a [u8]>,
        /// What it holds, if it is there.
        after: Option<&'a [u8]>,
    },
    /// An item came to one end of a list.
    Pushed(End, &'a [u8]),
    /// An item came into a list elsewhere, or in place of another.
    Placed(&'a [u8]),
    /// A member came into a set or left it.
    Member {
        /// The member.
        member: &'a [u8],
        /// Whether it came.
        came: bool,
    },
    /// These members of a set left it, those apart that it has now.
    Left(&'a dyn Row),
    /// A member of a sorted set: its score before and after.
    Score {
        /// The member.
        member: &'a [u8],
        /// The score it had, if it was there.
        before: Option<f64>,
        /// The score it has, if it is there.
        after: Option<f64>,
    },
    /// An entry came to the end of a stream.
    Entry(EntryFields<'a>),
}

/// An end of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Index 0.
    Head,
    /// Index -1.
    Tail,
}
