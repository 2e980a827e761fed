//! Moving everything once, so that what lies scattered comes to lie together
//! (defragmentation).
//!
//! Where many rows have gone, those that are left keep the allocator from giving memory
//! back: a run of places of one size stays as long as one of them is taken. An allocator
//! that fills its oldest runs first gathers whatever is allocated anew, and the others
//! become free. So this allocates anew, in short steps, and changes nothing else. What is
//! larger than any run of places has pages of its own, and stays.
//!
//! Owns the walk over all databases and tables. Members of large sorted sets stay where
//! they are, and so does what is no row: it is little, or in large pieces.
//! Not here: how scattered memory is, which the host knows.

use super::Keyspace;
use crate::tables::table::{COLLECTION_PART, GatherPlace, PartMoved};

/// Allocations moved per step, which have less than a kilobyte in the mean: about a
/// twentieth of a millisecond of work.
const MOVED_PER_STEP: usize = 128;

/// How far a walk has come.
#[derive(Debug)]
pub struct Gathering {
    database: usize,
    table: usize,
    place: GatherPlace,
    /// The collections of the table that are moved in part.
    large: Vec<PartMoved>,
}

impl Default for Gathering {
    /// A walk that has yet to begin.
    fn default() -> Gathering {
        Gathering { database: 0, table: 0, place: GatherPlace::Page(0), large: Vec::new() }
    }
}

impl Keyspace {
    /// Goes on with a walk; returns whether there is more.
    pub fn gather(&mut self, walk: &mut Gathering) -> bool {
        let mut moved = 0;
        while moved < MOVED_PER_STEP {
            let Some(database) = self.databases.get_mut(walk.database) else { return false };
            let Some(table) = database.tables_mut().nth(walk.table) else {
                (walk.database, walk.table) = (walk.database + 1, 0);
                continue;
            };
            if let Some(collection) = walk.large.last_mut() {
                moved += COLLECTION_PART;
                if !table.gather_collection(collection) {
                    walk.large.pop();
                }
                continue;
            }
            match table.gather(walk.place, &mut walk.large, &mut moved) {
                Some(next) => walk.place = next,
                None => (walk.table, walk.place) = (walk.table + 1, GatherPlace::Page(0)),
            }
        }
        true
    }
}
