//! Rows that were unpacked to be looked at for a while.
//!
//! Owns copies of packed rows, and lends them for as long as it is there itself: the
//! rule book compares rows of many keys with each other. It only ever grows.

use super::{LentRow, Row};
use std::cell::OnceCell;

/// Rows in one piece of the shelf.
const BOARD_ROWS: usize = 16;

/// Copies of packed rows.
#[derive(Default)]
pub(crate) struct Shelf {
    first: OnceCell<Box<Board>>,
}

#[derive(Default)]
struct Board {
    rows: [OnceCell<Row>; BOARD_ROWS],
    next: OnceCell<Box<Board>>,
}

impl Shelf {
    /// Lends a row, keeping it if it is a copy.
    pub(crate) fn lend<'a>(&'a self, row: LentRow<'a>) -> &'a Row {
        let mut row = match row {
            LentRow::Loose(row) => return row,
            LentRow::Unpacked(row) => row,
        };
        let mut next = &self.first;
        loop {
            let board = next.get_or_init(Box::default);
            for place in &board.rows {
                match place.set(row) {
                    Ok(()) => return place.get().expect("the row was just put there"),
                    Err(taken) => row = taken,
                }
            }
            next = &board.next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::NewValue;
    use crate::value::Value;

    #[test]
    fn rows_stay_as_others_come() {
        let shelf = Shelf::default();
        let lend =
            |number| shelf.lend(LentRow::Unpacked(Row::new(b"k", NewValue::Int(number), None)));
        let lent: Vec<&Row> = (0..100).map(lend).collect();
        let is_it = |(number, row): (usize, &&Row)| matches!(row.value(), Value::Int(n) if n == number as i64);
        assert!(lent.iter().enumerate().all(is_it));
    }
}
