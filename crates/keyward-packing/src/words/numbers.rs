//! Numbers of words, by the hashes of their texts.
//!
//! Owns small tables, by linear hashing (Litwin, 1980): a hash chooses the table, which
//! is split when numbers become many, and merged when they become few, one at a time. So
//! no step moves more than one or two tables' worth, however many numbers there are.
//! Invariants: a number is in the table that its hash chooses; `bytes` is the sum over
//! all tables; with `mask` = 2^k − 1, `mask/2 < tables ≤ mask + 1`.

use hashbrown::HashTable;

/// Numbers of a table in the mean, beyond which the next one is split. Those that are not
/// split yet have up to twice as many, which is less than a table of 1024 places takes.
const TABLE_NUMBERS: usize = 400;
/// Two are merged when there are fewer.
const TABLE_NUMBERS_MIN: usize = TABLE_NUMBERS / 4;
/// Where the bits of a hash begin that choose the table: within one, the lowest and the
/// highest choose the place.
const TABLE_SHIFT: u32 = 32;

/// Numbers by hash.
#[derive(Debug)]
pub(super) struct Numbers {
    tables: Vec<HashTable<u32>>,
    mask: usize,
    len: usize,
    /// Bytes of the tables' allocations.
    bytes: usize,
}

impl Default for Numbers {
    fn default() -> Numbers {
        Numbers { tables: vec![HashTable::new()], mask: 0, len: 0, bytes: 0 }
    }
}

impl Numbers {
    /// The number with this hash that `is_it` accepts.
    pub(super) fn find(&self, hash: u64, mut is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        self.tables[self.table_of(hash)].find(hash, |number| is_it(*number)).copied()
    }

    /// Adds a number that is not there yet. `hash_of` returns the hash that a number was
    /// added under.
    pub(super) fn insert(&mut self, hash: u64, number: u32, hash_of: impl Fn(u32) -> u64) {
        if self.len >= self.tables.len() * TABLE_NUMBERS {
            self.split(&hash_of);
        }
        self.len += 1;
        let at = self.table_of(hash);
        let table = &mut self.tables[at];
        self.bytes -= table.allocation_size();
        table.insert_unique(hash, number, |number| hash_of(*number));
        self.bytes += table.allocation_size();
    }

    /// Takes out a number that is there.
    pub(super) fn remove(&mut self, hash: u64, number: u32, hash_of: impl Fn(u32) -> u64) {
        let at = self.table_of(hash);
        let entry = self.tables[at].find_entry(hash, |other| *other == number);
        entry.expect("every word can be found by its text").remove();
        self.len -= 1;
        if self.tables.len() > 1 && self.len < self.tables.len() * TABLE_NUMBERS_MIN {
            self.merge(&hash_of);
        }
    }

    /// Frees up to `budget` tables; returns how many. This is not to be used any more.
    pub(super) fn shed(&mut self, budget: usize) -> usize {
        let shed = budget.min(self.tables.len());
        for table in self.tables.drain(self.tables.len() - shed..) {
            self.len -= table.len();
            self.bytes -= table.allocation_size();
        }
        shed
    }

    /// Bytes of the tables.
    pub(super) fn heap_bytes(&self) -> usize {
        self.bytes + self.tables.capacity() * size_of::<HashTable<u32>>()
    }

    fn table_of(&self, hash: u64) -> usize {
        let fine = (hash >> TABLE_SHIFT) as usize & self.mask;
        if fine < self.tables.len() { fine } else { fine & (self.mask >> 1) }
    }

    /// Adds a table and moves into it what belongs there.
    fn split(&mut self, hash_of: &impl Fn(u32) -> u64) {
        let added = self.tables.len();
        if added > self.mask {
            self.mask = self.mask * 2 + 1;
        }
        let half = self.mask >> 1;
        let source = std::mem::take(&mut self.tables[added & half]);
        self.bytes -= source.allocation_size();
        let goes = |number: &u32| (hash_of(*number) >> TABLE_SHIFT) as usize & (half + 1) != 0;
        let (moved, kept): (Vec<u32>, Vec<u32>) = source.into_iter().partition(goes);
        self.tables.push(HashTable::new());
        self.fill(added, &moved, hash_of);
        self.fill(added & half, &kept, hash_of);
    }

    /// Removes the last table and gives its numbers back to the one it was split from.
    fn merge(&mut self, hash_of: &impl Fn(u32) -> u64) {
        let Some(last) = self.tables.pop() else { return };
        let target = self.tables.len() & (self.mask >> 1);
        if self.tables.len() == self.mask.div_ceil(2) {
            self.mask >>= 1;
        }
        let source = std::mem::take(&mut self.tables[target]);
        self.bytes -= last.allocation_size() + source.allocation_size();
        let numbers: Vec<u32> = source.into_iter().chain(last).collect();
        self.fill(target, &numbers, hash_of);
    }

    /// Makes the table at a place, which is empty, one of these numbers.
    fn fill(&mut self, at: usize, numbers: &[u32], hash_of: &impl Fn(u32) -> u64) {
        let mut table = HashTable::with_capacity(numbers.len());
        for number in numbers {
            table.insert_unique(hash_of(*number), *number, |number| hash_of(*number));
        }
        self.bytes += table.allocation_size();
        self.tables[at] = table;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash_of(number: u32) -> u64 {
        u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from(number)
    }

    fn check(numbers: &Numbers) {
        let bytes: usize = numbers.tables.iter().map(HashTable::allocation_size).sum();
        let len: usize = numbers.tables.iter().map(HashTable::len).sum();
        assert_eq!((numbers.bytes, numbers.len), (bytes, len));
    }

    /// Adds or takes numbers; returns the most that one step moved to other tables, or
    /// within a table that grew.
    fn most_moved(numbers: &mut Numbers, each: impl Iterator<Item = u32>, adds: bool) -> usize {
        let mut most = 0;
        for number in each {
            let moved = std::cell::Cell::new(0);
            let hash_of = |number: u32| {
                moved.set(moved.get() + 1);
                hash_of(number)
            };
            match adds {
                true => numbers.insert(self::hash_of(number), number, hash_of),
                false => numbers.remove(self::hash_of(number), number, hash_of),
            }
            most = most.max(moved.get());
        }
        most
    }

    #[test]
    fn no_step_moves_more_than_two_tables_however_many_numbers_there_are() {
        let mut numbers = Numbers::default();
        for count in [0..1_000, 1_000..300_000] {
            let most = most_moved(&mut numbers, count, true);
            assert!(most <= 8 * TABLE_NUMBERS, "{most} moved by one addition");
            check(&numbers);
        }
        let has = |numbers: &Numbers, number: u32| {
            numbers.find(hash_of(number), |other| other == number) == Some(number)
        };
        assert!((0..300_000).all(|number| has(&numbers, number)));
        assert!(!has(&numbers, 300_000));
        let bytes = numbers.heap_bytes();
        assert!(bytes < 12 * 300_000, "{bytes} bytes");
        let most = most_moved(&mut numbers, 1_000..300_000, false);
        assert!(most <= 8 * TABLE_NUMBERS, "{most} moved by one removal");
        check(&numbers);
        assert!((0..1_000).all(|number| has(&numbers, number)));
        assert!(!(1_000..300_000).any(|number| has(&numbers, number)));
        assert!(numbers.tables.len() < 20, "{} tables for 1000", numbers.tables.len());
    }

    #[test]
    fn shedding_ends_with_nothing() {
        let mut numbers = Numbers::default();
        most_moved(&mut numbers, 0..50_000, true);
        let tables = numbers.tables.len();
        assert_eq!(numbers.shed(7), 7);
        check(&numbers);
        assert_eq!((numbers.shed(usize::MAX), numbers.shed(1)), (tables - 7, 0));
        assert_eq!((numbers.len, numbers.bytes), (0, 0));
    }
}
