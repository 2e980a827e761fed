//! Freeing large values in steps (incremental or lazy free).
//!
//! Owns values and databases that no command can reach any more. Whoever removes
//! something large hands it over here in constant time; each tick frees a bounded
//! part of it. The core has no threads, and needs none for this.
//!
//! What is to be freed at once is, as far as that takes no longer than a step does; the
//! rest waits like what is to be freed lazily, only that nobody counts it.
//!
//! Invariant: one step frees about `budget` allocations, whatever is waiting, so
//! that it never holds the core for more than a millisecond.
//! Not here: which removals are to be lazy (`keyspace`, by the settings).

use crate::tables::database::Database;
use crate::tables::table::LeavingRow;
use crate::values::row::Row;
use std::collections::VecDeque;

/// Values of no more allocations than this are not freed lazily: it costs less than
/// waiting. The number is Redis's.
const NOT_LAZILY_MAX: usize = 64;
/// Allocations that are freed at once, if that is asked for: within a tenth of a
/// millisecond.
const AT_ONCE_MAX: usize = 1_000;

/// When a value is freed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freeing {
    /// Before the command ends, or in steps that nobody counts if it is very large.
    AtOnce,
    /// In steps, if it is large.
    Lazily,
}

impl Freeing {
    /// How many allocations of a row are freed without waiting.
    pub(crate) fn freed_at_once(self, row: &Row) -> usize {
        Some(row.allocations()).filter(|count| *count <= self.waitless_max()).unwrap_or(0)
    }

    /// The most allocations of a value that is freed without waiting.
    fn waitless_max(self) -> usize {
        match self {
            Freeing::AtOnce => AT_ONCE_MAX,
            Freeing::Lazily => NOT_LAZILY_MAX,
        }
    }

    /// Lazily, if a setting says so.
    pub fn lazily_if(is_lazy: bool) -> Freeing {
        if is_lazy { Freeing::Lazily } else { Freeing::AtOnce }
    }
}

/// Which removals free lazily: the settings `lazyfree-lazy-…`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LazySettings {
    /// `lazyfree-lazy-eviction`: by want of memory.
    pub eviction: bool,
    /// `lazyfree-lazy-expire`: by the end of a lifetime.
    pub expire: bool,
    /// `lazyfree-lazy-server-del`: by overwriting.
    pub server_del: bool,
    /// `lazyfree-lazy-user-del`: by DEL.
    pub user_del: bool,
    /// `lazyfree-lazy-user-flush`: by FLUSHDB and FLUSHALL that do not say.
    pub user_flush: bool,
}

/// What waits to be freed.
#[derive(Debug)]
struct Garbage {
    held: Held,
    /// It is counted while it waits, and when it has gone.
    is_counted: bool,
}

#[derive(Debug)]
enum Held {
    Row(Row),
    Database(Box<Database>),
}

impl Held {
    /// Frees about `budget` allocations; returns how many. Rows of a database that are
    /// large themselves are put aside; `row_freed` hears of the others.
    fn shed(&mut self, budget: usize, aside: &mut Vec<Row>, mut row_freed: impl FnMut()) -> usize {
        match self {
            Held::Row(row) => {
                row.object_mut().map_or(0, |object| object.footprint_mut().shed(budget))
            }
            Held::Database(database) => database.shed(budget, |row| match row {
                LeavingRow::Loose(row) if row.allocations() > NOT_LAZILY_MAX => aside.push(row),
                _ => row_freed(),
            }),
        }
    }
}

/// The queue of what waits to be freed.
#[derive(Debug, Default)]
pub struct Reclaim {
    queue: VecDeque<Garbage>,
    /// Values that wait.
    pending: usize,
    /// Values freed in steps.
    freed: u64,
}

impl Reclaim {
    /// Frees a row, at once or in steps.
    pub fn row(&mut self, row: Row, freeing: Freeing) {
        if row.allocations() > freeing.waitless_max() {
            let is_counted = freeing == Freeing::Lazily;
            self.pending += usize::from(is_counted);
            self.queue.push_back(Garbage { held: Held::Row(row), is_counted });
        }
    }

    /// Frees all rows of a database, at once or in steps.
    pub(crate) fn database(&mut self, database: Database, freeing: Freeing) {
        let is_counted = freeing == Freeing::Lazily && !database.is_empty();
        let rows = database.len();
        let mut held = Held::Database(Box::new(database));
        if is_counted {
            self.pending += rows;
        } else if self.frees_at_once(&mut held) {
            return;
        }
        self.queue.push_back(Garbage { held, is_counted });
    }

    /// Frees as much as may be freed at once; whether that was all, but for large rows,
    /// which wait.
    fn frees_at_once(&mut self, held: &mut Held) -> bool {
        let (mut freed, mut large) = (0, Vec::new());
        while freed < AT_ONCE_MAX {
            match held.shed(AT_ONCE_MAX - freed, &mut large, || {}) {
                0 => break,
                part => freed += part,
            }
        }
        large.into_iter().for_each(|row| self.row(row, Freeing::AtOnce));
        freed < AT_ONCE_MAX
    }

    /// Values that wait to be freed.
    pub fn pending(&self) -> usize {
        self.pending
    }

    /// Values freed in steps since the counter was reset.
    pub fn freed(&self) -> u64 {
        self.freed
    }

    /// Begins counting anew.
    pub fn reset_counter(&mut self) {
        self.freed = 0;
    }

    /// Whether something waits.
    pub fn is_busy(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Frees about `budget` allocations, the oldest garbage first. Returns how
    /// many.
    pub fn step(&mut self, budget: usize) -> usize {
        let mut freed = 0;
        while freed < budget
            && let Some(Garbage { held, is_counted }) = self.queue.front_mut()
        {
            let (is_counted, mut large, mut rows) = (*is_counted, Vec::new(), 0);
            let part = held.shed(budget - freed, &mut large, || rows += 1);
            freed += part;
            if part == 0 {
                rows += usize::from(matches!(held, Held::Row(_)));
                self.queue.pop_front();
            }
            if is_counted {
                self.pending -= rows;
                self.freed += rows as u64;
            }
            // The large rows of a database come next, while it waits behind them.
            for row in large {
                self.queue.push_front(Garbage { held: Held::Row(row), is_counted });
            }
        }
        freed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::hasher::KeyHasher;
    use crate::values::packed::Item;
    use crate::values::row::NewValue;
    use crate::values::set::{Growth, Set};
    use crate::values::value::Collection;

    fn large_row(key: &[u8]) -> Row {
        let growth = Growth { intset_members_max: 512, hasher: KeyHasher::new([1, 2]) };
        let mut set = Set::default();
        for number in 0..2_000 {
            set.add(&growth, Item::of(format!("member {number}").as_bytes()));
        }
        Row::new(key, NewValue::Object(set.into_object()), None)
    }

    #[test]
    fn a_large_row_goes_in_steps() {
        for (freeing, counted) in [(Freeing::AtOnce, 0), (Freeing::Lazily, 1)] {
            let mut reclaim = Reclaim::default();
            reclaim.row(large_row(b"k"), freeing);
            assert_eq!((reclaim.pending(), reclaim.freed()), (counted, 0));
            let mut steps = 0;
            while reclaim.is_busy() {
                assert!(reclaim.step(100) <= 200);
                steps += 1;
            }
            assert!(steps > 3, "{steps} steps");
            assert_eq!((reclaim.pending(), reclaim.freed()), (0, counted as u64));
        }
    }

    /// A database of so many rows; the one in the middle is large.
    fn database(rows: i64) -> Database {
        let hasher = KeyHasher::new([1, 2]);
        let mut database = Database::new(hasher, None);
        for number in 0..rows {
            let key = format!("key {number}").into_bytes();
            let key = database.key(&key);
            let row = match number {
                _ if number == rows / 2 => large_row(key.bytes),
                _ => Row::new(key.bytes, NewValue::Int(7), Some(number)),
            };
            database.table_mut(key).insert(key.hash, row);
        }
        database
    }

    #[test]
    fn a_database_is_freed_at_once_as_far_as_that_is_little() {
        let mut reclaim = Reclaim::default();
        reclaim.database(database(400), Freeing::AtOnce);
        assert_eq!(reclaim.queue.len(), 1, "the large row waits");
        while reclaim.step(100) > 0 {}
        reclaim.database(database(20_000), Freeing::AtOnce);
        let mut steps = 0;
        while reclaim.is_busy() {
            assert!(reclaim.step(1_000) < 2_000);
            steps += 1;
        }
        assert!(steps > 20, "{steps} steps");
        assert_eq!((reclaim.pending(), reclaim.freed()), (0, 0), "nobody counts them");
    }

    #[test]
    fn a_database_goes_in_steps_and_its_large_rows_too() {
        let mut reclaim = Reclaim::default();
        reclaim.database(database(1_000), Freeing::Lazily);
        assert_eq!(reclaim.pending(), 1_000);
        let mut before = 1_000;
        while reclaim.is_busy() {
            reclaim.step(50);
            assert!(before - reclaim.pending() <= 100, "a step frees no more than it may");
            before = reclaim.pending();
        }
        assert_eq!((reclaim.pending(), reclaim.freed()), (0, 1_000));
    }
}
