//! A row for reading: one that is there, or one that was unpacked for it.

use super::Row;
use std::ops::Deref;

/// A row that is lent by its table, or a copy of one that the table keeps packed.
pub enum LentRow<'a> {
    /// The row itself.
    Loose(&'a Row),
    /// A copy.
    Unpacked(Row),
}

impl std::fmt::Debug for LentRow<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        (**self).fmt(f)
    }
}

impl Deref for LentRow<'_> {
    type Target = Row;

    #[inline(always)]
    fn deref(&self) -> &Row {
        match self {
            LentRow::Loose(row) => row,
            LentRow::Unpacked(row) => row,
        }
    }
}
