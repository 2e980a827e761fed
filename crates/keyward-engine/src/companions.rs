//! Rows that live with another key.
//!
//! Owns, for each key that others live with, the list of those others, so that
//! they can follow when it goes or its end moves. Invariant: exactly the rows of
//! tables whose lifetime is `with` another key are listed, due ones included.
//! Not here: what becomes of them (the rule book says).

use crate::hasher::KeyHasher;
use hashbrown::HashMap;
use std::collections::BTreeSet;

/// The keys that live with one.
type Keys = BTreeSet<Box<[u8]>>;

/// Who lives with whom.
#[derive(Debug)]
pub(crate) struct Companions {
    by_leader: HashMap<Box<[u8]>, Keys, KeyHasher>,
}

impl Companions {
    pub(crate) fn new(hasher: KeyHasher) -> Companions {
        Companions { by_leader: HashMap::with_hasher(hasher) }
    }

    /// A row came that lives with `leader`.
    pub(crate) fn add(&mut self, leader: &[u8], key: &[u8]) {
        match self.by_leader.get_mut(leader) {
            Some(keys) => {
                keys.insert(key.into());
            }
            None => {
                self.by_leader.insert(leader.into(), BTreeSet::from([key.into()]));
            }
        }
    }

    /// A row went that lived with `leader`.
    pub(crate) fn remove(&mut self, leader: &[u8], key: &[u8]) {
        if let Some(keys) = self.by_leader.get_mut(leader) {
            keys.remove(key);
            if keys.is_empty() {
                self.by_leader.remove(leader);
            }
        }
    }

    /// The keys that live with `leader`, in the order of their bytes.
    pub(crate) fn of(&self, leader: &[u8]) -> impl Iterator<Item = &[u8]> {
        self.by_leader.get(leader).into_iter().flatten().map(|key| &**key)
    }
}
