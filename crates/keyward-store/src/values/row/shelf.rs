//! Rows that were unpacked to be looked at for a while.
//!
//! Owns copies of packed rows, and lends them for as long as it is there itself: the
//! rule book compares rows of many keys with each other. It only ever grows, an arena:
//! each chunk has room for as many rows as all before it, so that the place of the next
//! row follows from how many there are, and no row ever moves.
//!
//! Estimate: three words while it is empty, as it is for most commands; one allocation of
//! 128 bytes for up to 16 rows.

use super::{LentRow, Row};
use std::cell::{Cell, OnceCell};

/// Rows in the first chunk.
const FIRST_ROWS: usize = 16;
/// Chunks behind the first: together they have room for more rows than memory has.
const MORE_CHUNKS: usize = 40;

type Chunk = Box<[OnceCell<Row>]>;

/// Copies of packed rows.
#[derive(Default)]
pub(crate) struct Shelf {
    count: Cell<usize>,
    first: OnceCell<Box<[OnceCell<Row>; FIRST_ROWS]>>,
    more: OnceCell<Box<[OnceCell<Chunk>; MORE_CHUNKS]>>,
}

impl Shelf {
    /// Lends a row, keeping it if it is a copy.
    pub(crate) fn lend<'a>(&'a self, row: LentRow<'a>) -> &'a Row {
        let row = match row {
            LentRow::Loose(row) => return row,
            LentRow::Unpacked(row) => row,
        };
        let index = self.count.replace(self.count.get() + 1);
        self.place(index).get_or_init(|| row)
    }

    /// The place of a row by how many came before it.
    fn place(&self, index: usize) -> &OnceCell<Row> {
        if index < FIRST_ROWS {
            return &self.first.get_or_init(Box::default)[index];
        }
        // Chunk `n` behind the first has the places from `FIRST_ROWS << n` on.
        let chunk = (index / FIRST_ROWS).ilog2();
        let rows = FIRST_ROWS << chunk;
        let more = self.more.get_or_init(|| Box::new([const { OnceCell::new() }; MORE_CHUNKS]));
        let places = more[chunk as usize]
            .get_or_init(|| std::iter::repeat_with(OnceCell::new).take(rows).collect());
        &places[index - rows]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::row::NewValue;
    use crate::values::value::Value;

    #[test]
    fn rows_stay_as_others_come() {
        let shelf = Shelf::default();
        let lend =
            |number| shelf.lend(LentRow::Unpacked(Row::new(b"k", NewValue::Int(number), None)));
        let lent: Vec<&Row> = (0..1_000).map(lend).collect();
        let is_it =
            |(number, row): (i64, &&Row)| matches!(row.value(), Value::Int(n) if n == number);
        assert!((0..).zip(&lent).all(is_it));
    }

    #[test]
    fn a_row_is_put_down_without_passing_those_before_it() {
        const ROWS: i64 = 100_000;
        let shelf = Shelf::default();
        for number in 0..ROWS {
            let row = LentRow::Unpacked(Row::new(b"k", NewValue::Int(number), None));
            let place = shelf.place(shelf.count.get());
            assert!(place.get().is_none(), "the place of {number} is known and free");
            assert!(std::ptr::eq(shelf.lend(row), place.get().expect("it is taken now")));
        }
        let more = shelf.more.get().expect("there are more than the first chunk takes");
        let chunks = more.iter().filter(|chunk| chunk.get().is_some()).count();
        // As many as there are doublings of the first, not one for every few rows.
        assert_eq!(chunks, 13);
    }
}
