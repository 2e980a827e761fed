//! Freeing large values in steps.
//!
//! Owns values and databases that no command can reach any more. Whoever removes
//! something large hands it over here in constant time; each tick frees a bounded
//! part of it. The core has no threads, and needs none for this.
//!
//! Invariant: one step frees about `budget` allocations, whatever is waiting, so
//! that it never holds the core for more than a millisecond.
//! Not here: which removals are to be lazy (`keyspace`, by the settings).

use crate::database::Database;
use crate::row::Row;
use std::collections::VecDeque;

/// Values of no more allocations than this are freed at once: it costs less than
/// waiting. The number is Redis's.
const AT_ONCE_MAX: usize = 64;

/// When a value is freed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freeing {
    /// Before the command ends.
    AtOnce,
    /// In steps, if it is large.
    Lazily,
}

impl Freeing {
    /// Lazily, if a setting says so.
    pub(crate) fn lazily_if(is_lazy: bool) -> Freeing {
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
enum Garbage {
    Row(Row),
    Database(Box<Database>),
}

/// The queue of what waits to be freed.
#[derive(Debug, Default)]
pub(crate) struct Reclaim {
    queue: VecDeque<Garbage>,
    /// Values that wait.
    pending: usize,
    /// Values freed in steps.
    freed: u64,
}

impl Reclaim {
    /// Frees a row, at once or in steps.
    pub(crate) fn row(&mut self, row: Row, freeing: Freeing) {
        if freeing == Freeing::Lazily && row.allocations() > AT_ONCE_MAX {
            self.pending += 1;
            self.queue.push_back(Garbage::Row(row));
        }
    }

    /// Frees all rows of a database in steps.
    pub(crate) fn database(&mut self, database: Database) {
        self.pending += database.len();
        self.queue.push_back(Garbage::Database(Box::new(database)));
    }

    /// Values that wait to be freed.
    pub(crate) fn pending(&self) -> usize {
        self.pending
    }

    /// Values freed in steps since the counter was reset.
    pub(crate) fn freed(&self) -> u64 {
        self.freed
    }

    /// Begins counting anew.
    pub(crate) fn reset_counter(&mut self) {
        self.freed = 0;
    }

    /// Whether something waits.
    pub(crate) fn is_busy(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Frees about `budget` allocations, the oldest garbage first. Answers how
    /// many.
    pub(crate) fn step(&mut self, budget: usize) -> usize {
        let mut freed = 0;
        while freed < budget
            && let Some(garbage) = self.queue.front_mut()
        {
            let left = budget - freed;
            let part = match garbage {
                Garbage::Row(row) => {
                    row.object_mut().map_or(0, |object| object.footprint_mut().shed(left))
                }
                Garbage::Database(database) => {
                    let mut large = Vec::new();
                    let part = database.shed(left, |row| {
                        if row.allocations() > AT_ONCE_MAX {
                            large.push(row);
                        } else {
                            self.pending -= 1;
                            self.freed += 1;
                        }
                    });
                    // Its large rows come next, while it waits behind them.
                    large.into_iter().for_each(|row| self.queue.push_front(Garbage::Row(row)));
                    part
                }
            };
            freed += part;
            if part == 0 {
                self.end_front();
            }
        }
        freed
    }

    /// Frees the little that is left of the oldest garbage.
    fn end_front(&mut self) {
        if let Some(Garbage::Row(_)) = self.queue.pop_front() {
            self.pending -= 1;
            self.freed += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hasher::KeyHasher;
    use crate::list::{End, List};
    use crate::row::NewValue;
    use crate::value::Collection;

    fn large_row(key: &[u8]) -> Row {
        let mut list = List::default();
        (0..100_000).for_each(|_| list.push(End::Tail, &[b'x'; 20]));
        Row::new(key, NewValue::Object(list.into_object()), None)
    }

    #[test]
    fn a_large_row_goes_in_steps() {
        let mut reclaim = Reclaim::default();
        reclaim.row(large_row(b"k"), Freeing::AtOnce);
        assert!(!reclaim.is_busy());
        reclaim.row(large_row(b"k"), Freeing::Lazily);
        assert_eq!((reclaim.pending(), reclaim.freed()), (1, 0));
        let mut steps = 0;
        while reclaim.is_busy() {
            assert!(reclaim.step(100) <= 100);
            steps += 1;
        }
        assert!(steps > 3, "{steps} steps");
        assert_eq!((reclaim.pending(), reclaim.freed()), (0, 1));
    }

    #[test]
    fn a_database_goes_in_steps_and_its_large_rows_too() {
        let hasher = KeyHasher::new([1, 2]);
        let mut database = Database::new(hasher, None);
        for number in 0..1_000 {
            let key = format!("key {number}").into_bytes();
            let key = database.key(&key);
            let row = match number {
                500 => large_row(key.bytes),
                _ => Row::new(key.bytes, NewValue::Int(7), Some(number)),
            };
            database.table_mut(key).insert(key.hash, row);
        }
        let mut reclaim = Reclaim::default();
        reclaim.database(database);
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
