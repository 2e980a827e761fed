//! Moving the rows of a table to other allocations, place after place (defragmentation).
//!
//! Owns the order of places: pages, compressed texts, buckets of loose rows. Rows that come
//! or go meanwhile may be missed or moved twice, which does no harm.
//! Not here: when that is worth it, and the walk over all tables (`keyspace::gathering`).

use super::Table;

/// How much of a collection is moved with its row; the rest in steps of its own.
pub(crate) const COLLECTION_PART: usize = 32;

/// A collection that is moved in part: its key, and the place in it to go on from.
pub(crate) type PartMoved = (Box<[u8]>, usize);

/// A place of a table.
#[derive(Debug, Clone, Copy)]
pub enum GatherPlace {
    /// A page of packed rows.
    Page(usize),
    /// A compressed text.
    Text(usize),
    /// A bucket of loose rows.
    Bucket(usize),
    /// Behind all of them.
    End,
}

impl Table {
    /// Moves what is at a place; returns the next one, none at the end. Counts what is
    /// moved. Of large collections it moves a part and tells them.
    pub fn gather(
        &mut self,
        place: GatherPlace,
        large: &mut Vec<PartMoved>,
        moved: &mut usize,
    ) -> Option<GatherPlace> {
        *moved += 1;
        let packed = self.packed.as_mut();
        match place {
            GatherPlace::Page(at) => {
                let is_there = packed.is_some_and(|packed| packed.gather_page(at));
                Some(if is_there { GatherPlace::Page(at + 1) } else { GatherPlace::Text(0) })
            }
            GatherPlace::Text(at) => {
                let is_there = packed.is_some_and(|packed| packed.gather_text(at));
                Some(if is_there { GatherPlace::Text(at + 1) } else { GatherPlace::Bucket(0) })
            }
            GatherPlace::Bucket(at) => {
                let next = self.rows.gather(at, 1, |row| {
                    *moved += row.allocations().min(COLLECTION_PART);
                    if let Some(part) = row.gather(COLLECTION_PART) {
                        large.push((row.key().into(), part));
                    }
                });
                Some(next.map_or(GatherPlace::End, GatherPlace::Bucket))
            }
            GatherPlace::End => None,
        }
    }

    /// Goes on with a collection that is moved in part; returns whether there is more.
    pub(crate) fn gather_collection(&mut self, (key, part): &mut PartMoved) -> bool {
        let hash = self.hasher.hash(key);
        let Some(spot) = self.rows.locate(hash, |row| row.key() == &**key) else { return false };
        let next = self.rows.at_mut(spot).gather_collection(*part, COLLECTION_PART);
        *part = next.unwrap_or(0);
        next.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::hash::{self, Hash};
    use crate::values::hasher::KeyHasher;
    use crate::values::list::{End, List};
    use crate::values::packed::Item;
    use crate::values::row::{NewValue, Row};
    use crate::values::set::{self, Set};
    use crate::values::value::Object;
    use crate::values::zset::{self, ZSet};

    const HASHER: [u64; 2] = [5, 6];

    fn objects(count: usize) -> [Object; 4] {
        let hasher = KeyHasher::new(HASHER);
        let texts: Vec<String> = (0..count).map(|number| format!("element {number}")).collect();
        let items = || texts.iter().map(|text| Item::of(text.as_bytes()));
        let mut list = List::default();
        texts.iter().for_each(|text| list.push(End::Tail, text.as_bytes()));
        let mut set = Set::default();
        let growth = set::Growth { intset_members_max: 512, hasher };
        items().for_each(|item| {
            set.add(&growth, item);
        });
        let mut hash = Hash::default();
        let growth = hash::Growth { packed_fields_max: 64, packed_text_bytes_max: 64, hasher };
        items().for_each(|item| {
            hash.set(&growth, (item, item));
        });
        let growth = zset::Growth { packed_entries_max: 64, packed_member_bytes_max: 64, hasher };
        let scored = texts.iter().enumerate().map(|(at, text)| (text.as_bytes(), at as f64));
        let scored: Vec<(&[u8], f64)> = scored.collect();
        let zset = ZSet::from_ordered(&growth, scored.into_iter());
        [Object::List(list), Object::Set(set), Object::Hash(hash), Object::ZSet(zset)]
    }

    fn fill(table: &mut Table) {
        let mut add = |name: String, value: NewValue<'_>, deadline| {
            let row = Row::new(name.as_bytes(), value, deadline);
            table.insert(table.hasher.hash(name.as_bytes()), row);
        };
        for number in 0..500 {
            let text = "v".repeat(number % 300);
            add(format!("text {number}"), NewValue::Text(text.as_bytes()), Some(number as i64));
            add(format!("number {number}"), NewValue::Int(number as i64), None);
        }
        for count in [1, 10, 3_000] {
            for (at, object) in objects(count).into_iter().enumerate() {
                add(format!("collection {at} of {count}"), NewValue::Object(object), Some(7));
            }
        }
    }

    /// All rows in words, in the order of their keys.
    fn shown(table: &Table) -> Vec<String> {
        let mut rows: Vec<String> = table.iter().map(|row| format!("{:?}", *row)).collect();
        rows.sort_unstable();
        rows
    }

    #[test]
    fn every_row_is_moved_once_in_bounded_steps_and_stays_what_it_is() {
        let mut table = Table::new(KeyHasher::new(HASHER), None);
        fill(&mut table);
        let (before, bytes) = (shown(&table), table.heap_bytes());
        let addresses = |table: &Table| -> Vec<*const u8> {
            let mut rows: Vec<_> = table.rows.iter().collect();
            rows.sort_unstable_by_key(|row| row.key());
            rows.iter().map(|row| crate::values::index::Indexed::address(*row)).collect()
        };
        let places = addresses(&table);
        let (mut large, mut steps, mut moved) = (Vec::new(), 0, 0);
        let mut place = Some(GatherPlace::Page(0));
        while let Some(next) = place {
            place = table.gather(next, &mut large, &mut moved);
        }
        assert_eq!(large.len(), 3, "all but the list, which has few chunks, are moved in parts");
        while let Some(collection) = large.last_mut() {
            steps += 1;
            if !table.gather_collection(collection) {
                large.pop();
            }
        }
        assert!(steps > 80 && moved > 1_000, "{steps} steps, {moved} moved");
        assert_eq!((shown(&table), table.heap_bytes()), (before, bytes));
        let elsewhere =
            addresses(&table).iter().zip(&places).filter(|(to, from)| to != from).count();
        assert!(elsewhere > places.len() / 2, "{elsewhere} of {} rows lie elsewhere", places.len());
    }
}
