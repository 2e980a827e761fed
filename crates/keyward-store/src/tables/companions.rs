//! Rows of a table that live with keys of another.
//!
//! Owns, for each key that rows of the table live with, the set of those rows' keys, so
//! that they can follow when it goes or its end moves. Invariant: exactly the rows of a
//! table whose lifetime is `with` another key are listed, due ones included. Like rows,
//! the sets are in an index that grows and goes in steps, and knows its bytes.
//!
//! Estimate: for each leader 18 bytes of the index and 24 beside its key; for each row
//! its key and two bytes.
//! Not here: what becomes of them (the rule book says).

use crate::values::footprint::HeapBytes;
use crate::values::hasher::KeyHasher;
use crate::values::index::Index;
use crate::values::packed::Item;
use crate::values::row::{NewValue, Row};
use crate::values::set::{Growth, Set};
use crate::values::value::{Collection, ObjectMut, ObjectRef, Value};

/// Who lives with whom.
#[derive(Debug)]
pub struct Companions {
    /// A leader's key, and the set of those that live with it.
    by_leader: Index<Row>,
    /// The sets of a bucket, while all of them are freed.
    leaving: Vec<Row>,
    hasher: KeyHasher,
}

impl Companions {
    pub(crate) fn new(hasher: KeyHasher) -> Companions {
        Companions { by_leader: Index::default(), leaving: Vec::new(), hasher }
    }

    /// A row came that lives with `leader`.
    pub(crate) fn add(&mut self, leader: &[u8], key: &[u8]) {
        let (hasher, hash) = (self.hasher, self.hasher.hash(leader));
        // Keys are no numbers, or are few: there is no line to draw.
        let growth = Growth { intset_members_max: usize::MAX, hasher };
        let Some(spot) = self.by_leader.locate(hash, |row| row.key() == leader) else {
            let mut set = Set::default();
            set.add(&growth, Item::of(key));
            let row = Row::new(leader, NewValue::Object(set.into_object()), None);
            return self.by_leader.insert(hash, row, |row| hasher.hash(row.key()));
        };
        self.by_leader.edit(spot, |row| set_of_mut(row).add(&growth, Item::of(key)));
    }

    /// A row went that lived with `leader`.
    pub(crate) fn remove(&mut self, leader: &[u8], key: &[u8]) {
        let hash = self.hasher.hash(leader);
        let is_it = |row: &Row| row.key() == leader;
        let Some(spot) = self.by_leader.locate(hash, is_it) else { return };
        let is_empty = self.by_leader.edit(spot, |row| {
            let set = set_of_mut(row);
            set.remove(Item::of(key));
            set.is_empty()
        });
        if is_empty {
            self.by_leader.remove(hash, is_it);
        }
    }

    /// Visits the keys that live with `leader`.
    pub(crate) fn each(&self, leader: &[u8], mut visit: impl FnMut(&[u8])) {
        // Most tables have none, and the hash is not asked for then.
        if self.by_leader.len() == 0 {
            return;
        }
        let row = self.by_leader.find(self.hasher.hash(leader), |row| row.key() == leader);
        if let Some(set) = row.and_then(set_of) {
            set.iter().for_each(|key| visit(key.text().as_bytes()));
        }
    }

    /// How many keys live with `leader`.
    pub(crate) fn count(&self, leader: &[u8]) -> usize {
        if self.by_leader.len() == 0 {
            return 0;
        }
        let row = self.by_leader.find(self.hasher.hash(leader), |row| row.key() == leader);
        row.and_then(set_of).map_or(0, Set::len)
    }

    /// Visits some keys that live with `leader`, from a cursor on; returns the next one, zero
    /// at the end.
    pub(crate) fn scan(&self, leader: &[u8], cursor: u64, visit: &mut dyn FnMut(Item<'_>)) -> u64 {
        let row = self.by_leader.find(self.hasher.hash(leader), |row| row.key() == leader);
        row.and_then(set_of).map_or(0, |set| set.scan(cursor, visit))
    }

    /// Forgets who lives with `leader`; the set of their keys, under the leader's.
    pub(crate) fn take(&mut self, leader: &[u8]) -> Option<Row> {
        self.by_leader.remove(self.hasher.hash(leader), |row| row.key() == leader)
    }

    /// Puts a set back that was taken. Who came meanwhile stays.
    pub(crate) fn give_back(&mut self, row: Row) {
        let hasher = self.hasher;
        let since = self.take(row.key());
        let leader: Box<[u8]> = row.key().into();
        self.by_leader.insert(hasher.hash(&leader), row, |row| hasher.hash(row.key()));
        for key in since.as_ref().and_then(set_of).into_iter().flat_map(Set::iter) {
            self.add(&leader, key.text().as_bytes());
        }
    }

    /// Frees about `budget` sets, or members of large ones; returns how many they were.
    /// This is not to be used any more.
    pub(crate) fn shed(&mut self, budget: usize) -> usize {
        let mut shed = 0;
        while shed < budget {
            shed += match self.leaving.last_mut() {
                Some(row) => match set_of_mut(row).footprint_mut().shed(budget - shed) {
                    0 => self.leaving.pop().map_or(0, |_| 1),
                    members => members,
                },
                None => match self.by_leader.shed(1, |row| self.leaving.push(row)) {
                    0 => break,
                    _ => 0,
                },
            };
        }
        shed
    }
}

fn set_of(row: &Row) -> Option<&Set> {
    match row.value() {
        Value::Object(ObjectRef::Set(set)) => Some(set),
        _ => None,
    }
}

fn set_of_mut(row: &mut Row) -> &mut Set {
    match row.object_mut() {
        Some(ObjectMut::Set(set)) => set,
        _ => unreachable!("every row here holds a set"),
    }
}

impl HeapBytes for Companions {
    fn heap_bytes(&self) -> usize {
        self.by_leader.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    #[test]
    fn companions_agree_with_a_plain_map() {
        let mut companions = Companions::new(KeyHasher::new([1, 2]));
        let mut model: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut random = crate::values::random::Random::from_seed(1);
        for step in 0..20_000 {
            let leader = format!("leader:{}", random.below(50));
            // Numbers are keys too, and some are long.
            let key = match random.below(100) {
                number @ 0..50 => number.to_string(),
                number => format!("{leader}:{number}{}", "x".repeat(number as usize - 50)),
            };
            let grows = random.below(20_000) > step;
            match grows {
                true => {
                    companions.add(leader.as_bytes(), key.as_bytes());
                    model.entry(leader.clone()).or_default().insert(key);
                }
                false => {
                    companions.remove(leader.as_bytes(), key.as_bytes());
                    model.entry(leader.clone()).or_default().remove(&key);
                }
            }
            let mut found = BTreeSet::new();
            companions.each(leader.as_bytes(), |key| {
                found.insert(String::from_utf8_lossy(key).into_owned());
            });
            assert_eq!(found, model[&leader]);
        }
        for (leader, keys) in &model {
            keys.iter().for_each(|key| companions.remove(leader.as_bytes(), key.as_bytes()));
        }
        assert_eq!(companions.by_leader.len(), 0, "who leads nobody is not listed");
    }

    #[test]
    fn the_companions_of_one_leader_are_freed_in_steps() {
        let mut companions = Companions::new(KeyHasher::new([1, 2]));
        for number in 0..5_000 {
            companions.add(b"leader", format!("companion {number}").as_bytes());
            companions.add(format!("other {}", number / 10).as_bytes(), b"companion");
        }
        let mut steps = 0;
        loop {
            match companions.shed(100) {
                0 => break,
                shed => assert!(shed < 200, "{shed} at a time"),
            }
            steps += 1;
        }
        assert!(steps > 50, "{steps} steps");
        assert!(companions.by_leader.len() == 0 && companions.leaving.is_empty());
    }
}
