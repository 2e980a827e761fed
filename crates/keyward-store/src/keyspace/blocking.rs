//! Clients that wait for a key.
//!
//! Owns who waits for which key in which order, and which of those keys have
//! come to hold a collection. Redis's order is kept: keys are served in the
//! order they became ready, and the clients of a key in the order they began
//! to wait. A client that can go on runs its command again for that one key
//! (`Engine::serve_ready`), so a blocking handler is the plain handler plus one
//! call of `Ctx::block`.
//!
//! Invariants: a client is listed under each of its keys exactly once; a key is
//! in `ready` at most once at a time, and only if somebody waits for it.
//! Not here: timers (`Engine::tick`), replies (the engine's `context`).

use crate::keyspace::client_id::ClientId;
use crate::keyspace::watch::DbKey;
use crate::values::hasher::KeyHasher;
use crate::values::value::Type;
use hashbrown::{HashMap, HashSet};
use keyward_commands::{Command, CommandId};
use keyward_resp::ArgBuf;
use std::collections::{BTreeSet, VecDeque};

/// What a wait ends with whose time is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeoutReply {
    /// The absence of an array: every command that waits for a key.
    NullArray,
    /// How many replicas have confirmed (WAIT); there are none.
    Zero,
}

/// What a blocking command replies where it must not wait (EXEC, scripts).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoWaitReply {
    /// The absence of an array (BLPOP, BLMPOP, BZPOPMIN).
    NullArray,
    /// The absence of a value (BLMOVE).
    Null,
}

/// What a client waits for.
#[derive(Debug)]
pub struct Blocked {
    /// The command to run again.
    pub command: &'static Command,
    /// Its arguments.
    pub args: ArgBuf,
    /// The database of the keys.
    pub db: usize,
    /// The keys, each once.
    pub keys: Vec<Box<[u8]>>,
    /// What one of them must come to hold.
    pub wants: Type,
    /// When the wait ends, in milliseconds since the epoch; never if `None`.
    pub deadline: Option<i64>,
    /// What the client gets then.
    pub on_timeout: TimeoutReply,
}

impl Blocked {
    /// Whether it waits as a consumer of a group, which its stream may take with it.
    pub fn is_group_read(&self) -> bool {
        self.command.id == CommandId::XReadGroup
    }
}

/// The waiting clients of each key.
#[derive(Debug)]
pub struct Waiting {
    clients: HashMap<DbKey, VecDeque<ClientId>, KeyHasher>,
    deadlines: BTreeSet<(i64, ClientId)>,
    ready: VecDeque<DbKey>,
    ready_set: HashSet<DbKey, KeyHasher>,
    count: usize,
    /// How many of them wait as consumers of groups.
    group_readers: usize,
}

impl Waiting {
    /// Nobody waits.
    pub fn new(hasher: KeyHasher) -> Waiting {
        Waiting {
            clients: HashMap::with_hasher(hasher),
            deadlines: BTreeSet::new(),
            ready: VecDeque::new(),
            ready_set: HashSet::with_hasher(hasher),
            count: 0,
            group_readers: 0,
        }
    }

    /// How many clients wait.
    pub fn count(&self) -> usize {
        self.count
    }

    /// How many of them wait for a limited time.
    pub fn timed_count(&self) -> usize {
        self.deadlines.len()
    }

    /// Whether clients wait as consumers of groups.
    pub fn has_group_readers(&self) -> bool {
        self.group_readers > 0
    }

    /// A client begins to wait.
    pub fn begin(&mut self, client: ClientId, blocked: &Blocked) {
        for key in &blocked.keys {
            self.clients.entry((blocked.db, key.clone())).or_default().push_back(client);
        }
        if let Some(deadline) = blocked.deadline {
            self.deadlines.insert((deadline, client));
        }
        self.count += 1;
        self.group_readers += usize::from(blocked.is_group_read());
    }

    /// A client waits no longer.
    pub fn end(&mut self, client: ClientId, blocked: &Blocked) {
        for key in &blocked.keys {
            let key: DbKey = (blocked.db, key.clone());
            let Some(queue) = self.clients.get_mut(&key) else { continue };
            queue.retain(|other| *other != client);
            if queue.is_empty() {
                self.clients.remove(&key);
            }
        }
        if let Some(deadline) = blocked.deadline {
            self.deadlines.remove(&(deadline, client));
        }
        self.count -= 1;
        self.group_readers -= usize::from(blocked.is_group_read());
    }

    /// A key came to hold a collection, or a stream got an entry, lost a group or went.
    #[inline(always)]
    pub fn ready(&mut self, db: usize, key: &[u8]) {
        if self.count > 0 {
            self.mark_ready((db, key.into()));
        }
    }

    #[cold]
    fn mark_ready(&mut self, key: DbKey) {
        if self.clients.contains_key(&key) && self.ready_set.insert(key.clone()) {
            self.ready.push_back(key);
        }
    }

    /// Marks every awaited key that `is_ready` accepts.
    pub fn ready_where(&mut self, mut is_ready: impl FnMut(usize, &[u8]) -> bool) {
        let mut keys: Vec<DbKey> =
            self.clients.keys().filter(|(db, key)| is_ready(*db, key)).cloned().collect();
        keys.sort_unstable();
        keys.into_iter().for_each(|key| self.mark_ready(key));
    }

    /// The next ready key, and who waits for it, first come first.
    pub fn next_ready(&mut self) -> Option<(DbKey, Vec<ClientId>)> {
        let key = self.ready.pop_front()?;
        self.ready_set.remove(&key);
        let clients = self.clients.get(&key).map_or(Vec::new(), |q| q.iter().copied().collect());
        Some((key, clients))
    }

    /// A client whose wait is over at `now_ms`.
    pub fn timed_out(&self, now_ms: i64) -> Option<ClientId> {
        let (deadline, client) = *self.deadlines.first()?;
        (deadline <= now_ms).then_some(client)
    }

    /// When the first wait ends.
    pub fn next_deadline(&self) -> Option<i64> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }
}
