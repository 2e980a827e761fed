//! The keys of streams in whose groups consumers that went have left entries, which nobody sees.
//!
//! Not here: taking them out (`table::weed`), and when (`keyspace::weeding`).

use crate::values::hasher::Key;
use std::collections::VecDeque;

/// Streams that are to be weeded.
#[derive(Debug, Default)]
pub(crate) struct Weeding {
    /// Databases and keys.
    queue: VecDeque<(usize, Box<[u8]>)>,
}

impl Weeding {
    /// A stream of this key has something to be weeded.
    pub(crate) fn add(&mut self, key: Key<'_>) {
        self.queue.push_back((key.db(), key.bytes.into()));
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// The one that has waited for longest.
    pub(crate) fn first(&self) -> Option<(usize, &[u8])> {
        self.queue.front().map(|(db, key)| (*db, &**key))
    }

    /// That one needs no more.
    pub(crate) fn drop_first(&mut self) {
        self.queue.pop_front();
    }

    /// Two databases have changed places.
    pub(crate) fn swapped(&mut self, a: usize, b: usize) {
        for (db, _) in &mut self.queue {
            *db = match *db {
                db if db == a => b,
                db if db == b => a,
                db => db,
            };
        }
    }
}
