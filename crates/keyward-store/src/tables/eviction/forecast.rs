//! What would go for want of memory if a schema were in force, told before it is.
//!
//! Owns the one judgement of that, which starts, plans and reloads share: a keyspace takes so
//! many bytes, may take fewer, and so about so many rows of these patterns go. It is an
//! estimate by bytes per row: which rows go is decided one by one, and what depends on them
//! goes along. What goes anyway, under the schema in force, is no part of it.
//! Not here: what tables would take (the engine), letting rows go (`quota`, `keyspace::victim`).

use super::quota;
use super::standing::{Scope, Standing, Turn};
use crate::tables::table::Table;
use keyward_rules::RuleBook;
use keyward_schema::{KeyId, Schema};

/// What a table takes, or would take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Load {
    /// Bytes of everything in it.
    pub bytes: u64,
    /// Its rows.
    pub rows: u64,
    /// Those with a deadline.
    pub expiring: u64,
}

impl Load {
    /// What a table takes.
    pub fn of(table: &Table) -> Load {
        let (rows, expiring) = (table.len() as u64, table.expiring() as u64);
        Load { bytes: table.heap_bytes() as u64, rows, expiring }
    }
}

/// A keyspace that takes more than it may.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forecast {
    /// Its place among those of the database.
    pub keyspace: usize,
    /// What it takes.
    pub bytes: u64,
    /// What it may take.
    pub bytes_max: u64,
    /// About how many rows go, by the index of their table; never empty.
    pub rows: Vec<(usize, u64)>,
}

/// A table from which rows may go.
#[derive(Debug, Clone, Copy)]
struct Yielding {
    table: usize,
    turn: Turn,
    bytes: u64,
    rows: u64,
}

impl Forecast {
    /// The keyspaces from which rows would go under a book, with these tables. `policy` is
    /// what the server says of keys that no pattern speaks for; `now` is the book in force,
    /// with its tables.
    pub(crate) fn of(
        (book, loads): (&RuleBook, &[Load]),
        policy: Option<Standing>,
        now: Option<(&RuleBook, &[Load])>,
    ) -> Vec<Forecast> {
        let pressed_now: Vec<(&str, u64)> = now.map_or(Vec::new(), |(book, loads)| {
            let pressed = Pressed::all(book, loads, policy).into_iter();
            let told = |own: Pressed| (name_of(book.schema(), own.keyspace), own.bytes_to_go());
            pressed.map(told).collect()
        });
        let goes_anyway = |name: &str| {
            let own = pressed_now.iter().find(|(own, _)| *own == name);
            own.map_or(0, |(_, bytes)| *bytes)
        };
        let pressed = Pressed::all(book, loads, policy).into_iter();
        pressed
            .filter_map(|own| {
                let name = name_of(book.schema(), own.keyspace);
                let bytes_to_go = own.bytes_to_go().saturating_sub(goes_anyway(name));
                let rows = own.rows_of(bytes_to_go);
                let Pressed { keyspace, bytes, bytes_max, .. } = own;
                (!rows.is_empty()).then_some(Forecast { keyspace, bytes, bytes_max, rows })
            })
            .collect()
    }
}

fn name_of(schema: &Schema, keyspace: usize) -> &str {
    &schema.keyspace_at(keyspace).name
}

/// A keyspace with a limit that it exceeds.
#[derive(Debug)]
struct Pressed {
    keyspace: usize,
    bytes: u64,
    bytes_max: u64,
    yielding: Vec<Yielding>,
}

impl Pressed {
    fn all(book: &RuleBook, loads: &[Load], policy: Option<Standing>) -> Vec<Pressed> {
        let ids: Vec<KeyId> = book.schema().ids().collect();
        let shares = quota::shares(0, book.schema()).into_iter();
        let pressed = shares.filter_map(|(share, bytes_max)| {
            let (bytes_max, tables) = (bytes_max?, share.tables);
            let own = || tables.clone().filter_map(|table| Some((table, *loads.get(table)?)));
            let bytes: u64 = own().map(|(_, load)| load.bytes).sum();
            let yielding = own().filter_map(|(table, load)| {
                let standing = Standing::under(book, *ids.get(table - 1)?, policy)?;
                Yielding::of(table, load, standing)
            });
            let yielding = yielding.collect();
            let pressed = Pressed { keyspace: share.keyspace, bytes, bytes_max, yielding };
            (bytes > bytes_max).then_some(pressed)
        });
        pressed.collect()
    }

    /// Bytes that go until it is within its limit, or nothing more may.
    fn bytes_to_go(&self) -> u64 {
        let most: u64 = self.yielding.iter().map(|table| table.bytes).sum();
        (self.bytes - self.bytes_max).min(most)
    }

    /// The rows that go with so many bytes: of tables that go first, then of all others.
    fn rows_of(&self, bytes_to_go: u64) -> Vec<(usize, u64)> {
        let mut left = bytes_to_go;
        let mut rows = Vec::new();
        for turn in [Turn::First, Turn::Others] {
            let own = || self.yielding.iter().filter(|table| table.turn == turn);
            let most: u64 = own().map(|table| table.bytes).sum();
            let goes = left.min(most);
            left -= goes;
            for table in own().filter(|_| goes > 0) {
                // Of each in proportion; a part of a row is a row.
                let count = (u128::from(table.rows) * u128::from(goes)).div_ceil(most.into());
                rows.push((table.table, u64::try_from(count).unwrap_or(table.rows)));
            }
        }
        rows.sort_unstable();
        rows
    }
}

impl Yielding {
    fn of(table: usize, load: Load, standing: Standing) -> Option<Yielding> {
        let rows = match standing.scope {
            Scope::All => load.rows,
            Scope::Expiring => load.expiring.min(load.rows),
        };
        let bytes = u128::from(load.bytes) * u128::from(rows) / u128::from(load.rows.max(1));
        let bytes = u64::try_from(bytes).unwrap_or(load.bytes);
        (rows > 0 && bytes > 0).then_some(Yielding { table, turn: standing.turn, bytes, rows })
    }
}
