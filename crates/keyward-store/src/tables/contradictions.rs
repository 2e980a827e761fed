//! What clients wrote to computed rows in spite of their sources.
//!
//! Owns the list of it, by row and by source; a database has one. Of a row so many members are
//! kept in mind as can be looked at at once, and whether there are more.
//! Not here: looking whether they have come to agree (`keyspace::heed`).

use crate::values::hasher::KeyHasher;
use hashbrown::HashMap;
use keyward_rules::CONTRADICTIONS_KEPT;
use std::collections::BTreeSet;

type Keys = BTreeSet<Box<[u8]>>;

/// The members of computed rows that clients wrote in spite of their sources, as far as
/// they have not come to agree since.
#[derive(Debug)]
pub(crate) struct Contradictions {
    /// By the key of the computed row.
    pub members: HashMap<Box<[u8]>, BTreeSet<Vec<u8>>, KeyHasher>,
    /// By the key of a source, the computed rows that it may come to agree with.
    pub(crate) doubted: HashMap<Box<[u8]>, Keys, KeyHasher>,
    /// Computed rows that have more such members than are kept in mind, and how far they were
    /// looked through for those.
    pub(crate) beyond: HashMap<Box<[u8]>, u64, KeyHasher>,
}

impl Contradictions {
    pub(crate) fn new(hasher: KeyHasher) -> Contradictions {
        let members = HashMap::with_hasher(hasher);
        let (doubted, beyond) = (HashMap::with_hasher(hasher), HashMap::with_hasher(hasher));
        Contradictions { members, doubted, beyond }
    }

    /// Keeps a member in mind, or that there are more of them.
    pub(crate) fn add(&mut self, key: &[u8], member: Vec<u8>, source: Vec<u8>) {
        let members = self.members.entry(key.into()).or_default();
        if members.len() >= CONTRADICTIONS_KEPT && !members.contains(&member) {
            self.beyond.insert(key.into(), 0);
            return;
        }
        members.insert(member);
        self.doubted.entry(source.into()).or_default().insert(key.into());
    }

    pub(crate) fn remove(&mut self, key: &[u8], member: &[u8], source: &[u8]) {
        if let Some(members) = self.members.get_mut(key) {
            members.remove(member);
            if members.is_empty() {
                self.members.remove(key);
            }
        }
        if let Some(keys) = self.doubted.get_mut(source) {
            keys.remove(key);
            if keys.is_empty() {
                self.doubted.remove(source);
            }
        }
    }
}
