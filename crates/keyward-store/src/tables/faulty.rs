//! The rows of a database that something is wrong with.
//!
//! Owns what is wrong with each, by its key; the counters of tables tell how many there
//! are. All rows may be among them, where a schema came that nothing fits: like rows, they
//! are in an index that grows and goes in steps.
//! Not here: judging rows, and when (`keyspace::heed`, and `governed::survey` of the engine).

use crate::values::hasher::KeyHasher;
use crate::values::index::Index;
use crate::values::row::{NewValue, Row};
use crate::values::value::Value;
use keyward_rules::Faults;

const MISFIT: i64 = 1;
const CONFLICT: i64 = 2;

/// What is wrong, by key.
#[derive(Debug)]
pub(crate) struct Faulty {
    /// A key, and a number for its faults.
    rows: Index<Row>,
    hasher: KeyHasher,
}

impl Faulty {
    pub(crate) fn new(hasher: KeyHasher) -> Faulty {
        Faulty { rows: Index::default(), hasher }
    }

    /// Whether nothing is wrong with any row.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.len() == 0
    }

    /// What is wrong with a row.
    pub(crate) fn get(&self, key: &[u8]) -> Option<Faults> {
        self.rows.find(self.hasher.hash(key), |row| row.key() == key).map(faults_of)
    }

    /// Keeps in mind what is wrong with a row, or forgets it if that is nothing. Returns
    /// what was before.
    pub(crate) fn set(&mut self, key: &[u8], faults: Faults) -> Faults {
        let (hasher, hash) = (self.hasher, self.hasher.hash(key));
        let before = self.rows.remove(hash, |row| row.key() == key);
        if faults != Faults::default() {
            let number = if faults.is_misfit { MISFIT } else { 0 };
            let number = number | if faults.is_conflict { CONFLICT } else { 0 };
            let row = Row::new(key, NewValue::Int(number), None);
            self.rows.insert(hash, row, |row| hasher.hash(row.key()));
        }
        before.as_ref().map(faults_of).unwrap_or_default()
    }

    /// Visits some from a cursor on; returns the next one, zero at the end.
    pub(crate) fn scan(&self, cursor: u64, mut visit: impl FnMut(&[u8], Faults)) -> u64 {
        self.rows.scan(cursor, |row| visit(row.key(), faults_of(row)))
    }

    /// Hands over some, about `budget` of them, and returns how many they were.
    pub(crate) fn shed(&mut self, budget: usize, mut receive: impl FnMut(&[u8], Faults)) -> usize {
        self.rows.shed(budget, |row| receive(row.key(), faults_of(&row)))
    }
}

fn faults_of(row: &Row) -> Faults {
    let Value::Int(number) = row.value() else { unreachable!("every row here holds a number") };
    Faults { is_misfit: number & MISFIT != 0, is_conflict: number & CONFLICT != 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [(bool, bool); 3] = [(true, false), (false, true), (true, true)];

    fn faults(number: usize) -> Faults {
        let (is_misfit, is_conflict) = ALL[number % ALL.len()];
        Faults { is_misfit, is_conflict }
    }

    #[test]
    fn what_is_wrong_is_known_until_it_is_nothing() {
        let mut faulty = Faulty::new(KeyHasher::new([1, 2]));
        assert!(faulty.is_empty());
        for number in 0..100usize {
            let key = format!("key {number}");
            assert_eq!(faulty.set(key.as_bytes(), faults(number)), Faults::default());
        }
        for number in 0..100usize {
            let key = format!("key {number}");
            assert_eq!(faulty.get(key.as_bytes()), Some(faults(number)));
            assert_eq!(faulty.set(key.as_bytes(), faults(number + 1)), faults(number));
            assert_eq!(faulty.set(key.as_bytes(), Faults::default()), faults(number + 1));
            assert_eq!(faulty.get(key.as_bytes()), None);
        }
        assert!(faulty.is_empty());
    }

    #[test]
    fn it_is_handed_over_in_steps() {
        let mut faulty = Faulty::new(KeyHasher::new([1, 2]));
        for number in 0..1_000usize {
            faulty.set(format!("{number}").as_bytes(), faults(number));
        }
        let mut seen = std::collections::BTreeSet::new();
        let mut receive = |key: &[u8], found: Faults| {
            let number: usize = std::str::from_utf8(key).unwrap().parse().unwrap();
            assert_eq!(found, faults(number));
            seen.insert(number);
        };
        loop {
            match faulty.shed(10, &mut receive) {
                0 => break,
                shed => assert!(shed < 30, "{shed} at a time"),
            }
        }
        assert_eq!(seen.len(), 1_000);
        assert!(faulty.is_empty());
    }
}
