//! What a value costs: its memory, and the work of freeing it.
//!
//! Owns the questions that figures, MEMORY USAGE and lazy freeing ask of every
//! form of every collection. Bytes are those of the allocator's size classes, so
//! that the figures add up to what the process uses.
//!
//! Invariant: no figure takes a look at elements. What is large keeps count of its bytes
//! as it changes, so that a table can (`index`).

/// What owns allocations.
pub trait HeapBytes {
    /// Bytes of all its allocations, in constant time.
    fn heap_bytes(&self) -> usize;
}

/// A part of a value that lies outside its row.
pub(crate) trait Footprint: HeapBytes {
    /// How many allocations it has, about: what freeing it costs.
    fn allocations(&self) -> usize;

    /// Frees up to about `budget` allocations and returns how many; zero if
    /// there is nothing left that is worth a step of its own. Whoever begins this
    /// uses the value no more.
    fn shed(&mut self, budget: usize) -> usize;

    /// Moves what it holds to other allocations, from a place on and about `budget` of
    /// them; returns the place to go on from, none at the end.
    fn gather(&mut self, from: usize, budget: usize) -> Option<usize>;
}

#[cfg(test)]
mod tests {
    use crate::values::hash::{self, Hash};
    use crate::values::hasher::KeyHasher;
    use crate::values::list::{End, List};
    use crate::values::packed::Item;
    use crate::values::set::{self, Set};
    use crate::values::value::{Collection, Object};
    use crate::values::zset::{self, ZSet};

    fn hasher() -> KeyHasher {
        KeyHasher::new([3, 4])
    }

    /// One value of each type with so many elements of twenty bytes.
    fn values(count: usize) -> [Object; 4] {
        let texts: Vec<String> = (0..count).map(|number| format!("element {number:012}")).collect();
        let mut list = List::default();
        texts.iter().for_each(|text| list.push(End::Tail, text.as_bytes()));
        let growth = set::Growth { intset_members_max: 512, hasher: hasher() };
        let mut set = Set::default();
        texts.iter().for_each(|text| {
            set.add(&growth, Item::of(text.as_bytes()));
        });
        let growth =
            hash::Growth { packed_fields_max: 128, packed_text_bytes_max: 64, hasher: hasher() };
        let mut hash = Hash::default();
        texts.iter().for_each(|text| {
            hash.set(&growth, (Item::of(text.as_bytes()), Item::of(b"1")));
        });
        let growth =
            zset::Growth { packed_entries_max: 128, packed_member_bytes_max: 64, hasher: hasher() };
        let pairs = texts.iter().enumerate();
        let pairs: Vec<(&[u8], f64)> = pairs.map(|(at, t)| (t.as_bytes(), at as f64)).collect();
        let zset = ZSet::from_ordered(&growth, pairs.into_iter());
        [list.into_object(), set.into_object(), hash.into_object(), zset.into_object()]
    }

    #[test]
    fn a_value_takes_what_its_module_estimates() {
        // Per element: of lists 22 in chunks; of sets 32 and 18 in the index; of
        // hashes the same; of sorted sets 32, 18 and 16 in the tree.
        for (object, expected) in values(20_000).iter().zip([22, 50, 50, 66]) {
            let bytes = object.as_ref().footprint().heap_bytes() / 20_000;
            assert!(bytes.abs_diff(expected) <= 2, "{:?}: {bytes}", object.kind());
        }
    }

    #[test]
    fn a_value_is_shed_to_nothing_in_bounded_steps() {
        for mut object in values(20_000) {
            let kind = object.kind();
            let before = object.as_ref().footprint().heap_bytes();
            let mut steps = 0;
            loop {
                let freed = object.as_mut().footprint_mut().shed(100);
                assert!(freed <= 200, "{kind:?} freed {freed} at a time");
                if freed == 0 {
                    break;
                }
                steps += 1;
            }
            assert!(steps > 0, "{kind:?}");
            let left = object.as_ref().footprint().heap_bytes();
            assert!(left < before / 50, "{kind:?}: {left} of {before} bytes left");
        }
    }

    #[test]
    fn a_small_value_is_one_allocation() {
        for object in values(10) {
            assert_eq!(object.as_ref().footprint().allocations(), 1, "{:?}", object.kind());
        }
    }
}
