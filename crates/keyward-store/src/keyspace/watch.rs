//! WATCH: which clients a change of a key concerns.
//!
//! Owns the map from watched keys to clients and the set of clients whose
//! transaction must fail. Invariants: a client is listed once per key; a client
//! that watches nothing is not in any list and not broken.
//! Not here: EXEC itself (`transaction` of the engine).

use crate::keyspace::client_id::ClientId;
use crate::values::hasher::KeyHasher;
use hashbrown::HashMap;
use std::collections::{BTreeMap, BTreeSet};

/// A key of one database.
pub(crate) type DbKey = (usize, Box<[u8]>);

/// Watched keys and broken watches.
#[derive(Debug)]
pub struct Watches {
    clients: HashMap<DbKey, Vec<ClientId>, KeyHasher>,
    keys: BTreeMap<ClientId, WatchList>,
    broken: BTreeSet<ClientId>,
}

/// What a key holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// No row.
    Nothing,
    /// A row whose time is over.
    Due,
    /// A row that can be read.
    Living,
}

/// What one client watches.
#[derive(Debug, Default)]
struct WatchList {
    keys: Vec<Watched>,
    name_bytes: usize,
}

#[derive(Debug)]
struct Watched {
    key: DbKey,
    /// The key's deadline had passed when it was watched: its removal is no change.
    was_due: bool,
}

impl Watches {
    /// Nobody watches.
    pub fn new(hasher: KeyHasher) -> Watches {
        Watches {
            clients: HashMap::with_hasher(hasher),
            keys: BTreeMap::new(),
            broken: BTreeSet::new(),
        }
    }

    /// Begins watching a key for a client.
    pub fn watch(&mut self, client: ClientId, db: usize, key: &[u8], was_due: bool) {
        let key: DbKey = (db, key.into());
        let clients = self.clients.entry(key.clone()).or_default();
        if !clients.contains(&client) {
            clients.push(client);
            let list = self.keys.entry(client).or_default();
            list.name_bytes += key.1.len();
            list.keys.push(Watched { key, was_due });
        }
    }

    /// What a client watches.
    pub fn watched_by(&self, client: ClientId) -> impl Iterator<Item = (usize, &[u8])> {
        let watched = self.keys.get(&client).into_iter().flat_map(|list| &list.keys);
        watched.map(|watched| (watched.key.0, &*watched.key.1))
    }

    /// Ends all of a client's watches, broken or not.
    pub fn unwatch(&mut self, client: ClientId) {
        self.broken.remove(&client);
        for watched in self.keys.remove(&client).unwrap_or_default().keys {
            let clients = self.clients.get_mut(&watched.key);
            let clients = clients.expect("a watched key lists its clients");
            clients.retain(|other| *other != client);
            if clients.is_empty() {
                self.clients.remove(&watched.key);
            }
        }
    }

    /// A key was changed: whoever watches it must not commit.
    #[inline(always)]
    pub fn changed(&mut self, db: usize, key: &[u8]) {
        if !self.clients.is_empty() {
            self.break_watchers(db, key);
        }
    }

    #[cold]
    fn break_watchers(&mut self, db: usize, key: &[u8]) {
        if let Some(clients) = self.clients.get(&(db, key.into()) as &DbKey) {
            self.broken.extend(clients);
        }
    }

    /// A row went because its time was over. That breaks a watch unless the row
    /// was already due when the watch began.
    pub fn expired(&mut self, db: usize, key: &[u8]) {
        if self.clients.is_empty() {
            return;
        }
        let key: DbKey = (db, key.into());
        for client in self.clients.get(&key).into_iter().flatten() {
            let watched = self.keys[client].keys.iter().find(|watched| watched.key == key);
            if !watched.is_some_and(|watched| watched.was_due) {
                self.broken.insert(*client);
            }
        }
    }

    /// The contents of whole databases went or changed places. `holds` returns what a
    /// watched key held before and holds now, or nothing for a key it does not concern.
    /// Where there was no living row and is none, nothing has changed.
    pub fn replaced(&mut self, mut holds: impl FnMut(usize, &[u8]) -> Option<(Held, Held)>) {
        for (key, clients) in &self.clients {
            let Some((before, after)) = holds(key.0, &key.1) else { continue };
            for client in clients {
                let mut watches =
                    self.keys.get_mut(client).into_iter().flat_map(|list| &mut list.keys);
                let Some(watched) = watches.find(|watched| watched.key == *key) else { continue };
                let had_none = watched.was_due || before == Held::Nothing;
                if had_none && after != Held::Living {
                    watched.was_due = after == Held::Due;
                } else {
                    self.broken.insert(*client);
                }
            }
        }
    }

    /// About how many bytes a client's watches take. Both lists have the names.
    pub fn bytes_of(&self, client: ClientId) -> usize {
        let each = size_of::<DbKey>() + size_of::<Vec<ClientId>>() + size_of::<Watched>();
        self.keys.get(&client).map_or(0, |list| list.keys.len() * each + 2 * list.name_bytes)
    }

    /// Whether a watched key of this client was changed.
    pub fn is_broken(&self, client: ClientId) -> bool {
        self.broken.contains(&client)
    }

    /// The keys a client watches that were not due when it began.
    pub fn keys_of(&self, client: ClientId) -> impl Iterator<Item = (usize, &[u8])> {
        let watched = self.keys.get(&client).into_iter().flat_map(|list| &list.keys);
        watched.filter(|w| !w.was_due).map(|w| (w.key.0, &*w.key.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watches() -> Watches {
        Watches::new(KeyHasher::new([1, 2]))
    }

    #[test]
    fn a_change_breaks_the_watchers_of_that_key_in_that_database() {
        let mut watches = watches();
        watches.watch(ClientId(1), 0, b"k", false);
        watches.watch(ClientId(2), 1, b"k", false);
        watches.changed(0, b"k");
        assert!(watches.is_broken(ClientId(1)));
        assert!(!watches.is_broken(ClientId(2)));
    }

    #[test]
    fn unwatch_forgets_everything() {
        let mut watches = watches();
        watches.watch(ClientId(1), 0, b"k", false);
        watches.changed(0, b"k");
        watches.unwatch(ClientId(1));
        assert!(!watches.is_broken(ClientId(1)));
        watches.changed(0, b"k");
        assert!(!watches.is_broken(ClientId(1)));
    }

    #[test]
    fn a_row_that_was_due_when_watched_may_go() {
        let mut watches = watches();
        watches.watch(ClientId(1), 0, b"due", true);
        watches.watch(ClientId(1), 0, b"alive", false);
        watches.expired(0, b"due");
        assert!(!watches.is_broken(ClientId(1)));
        watches.expired(0, b"alive");
        assert!(watches.is_broken(ClientId(1)));
    }

    #[test]
    fn a_key_without_a_living_row_before_and_after_is_unchanged() {
        let cases = [
            (true, Held::Due, Held::Nothing, false),
            (true, Held::Due, Held::Due, false),
            (true, Held::Due, Held::Living, true),
            (false, Held::Nothing, Held::Nothing, false),
            (false, Held::Nothing, Held::Due, false),
            (false, Held::Nothing, Held::Living, true),
            (false, Held::Living, Held::Nothing, true),
            // It has become due since it was watched.
            (false, Held::Due, Held::Nothing, true),
        ];
        for (was_due, before, after, is_broken) in cases {
            let mut watches = watches();
            watches.watch(ClientId(1), 0, b"k", was_due);
            watches.replaced(|db, _| (db == 0).then_some((before, after)));
            assert_eq!(watches.is_broken(ClientId(1)), is_broken, "{before:?} to {after:?}");
        }
    }
}
