//! Which keys are on their way to another server (MIGRATE), and who waits for them.
//!
//! Invariant: a client has one errand at most.
//! Not here: whose commands wait (`errands`).

use crate::host::remote::Exchange;
use keyward_commands::Command;
use keyward_resp::{ArgBuf, Args};
use keyward_store::keyspace::client_id::ClientId;
use std::collections::BTreeSet;

/// What is on its way, and who waits for it.
#[derive(Debug, Default)]
pub(crate) struct Migrating {
    pub(super) errands: Vec<Errand>,
    /// Who has a command that is held.
    pub(crate) clients: Vec<ClientId>,
    /// Keys that became ready for somebody whose command is held.
    pub(super) passed_over: Vec<(usize, Box<[u8]>)>,
    /// How many watches were handed out.
    watch_count: u64,
}

/// What one client has sent.
#[derive(Debug)]
pub(crate) struct Errand {
    pub(crate) client: ClientId,
    pub(crate) db: usize,
    /// The command.
    pub(crate) args: ArgBuf,
    /// Which of its arguments are keys that were sent.
    pub(crate) positions: Vec<usize>,
    /// The same keys.
    pub(crate) keys: BTreeSet<Box<[u8]>>,
    /// Who watches each of them: a change that no command names (a follow-up, another schema)
    /// is noticed by the broken watch.
    pub(crate) watches: Vec<ClientId>,
    /// What the other server has answered.
    pub(crate) answer: Option<Exchange>,
}

impl Migrating {
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.errands.is_empty()
    }

    pub(crate) fn begin(&mut self, errand: Errand) {
        self.errands.push(errand);
    }

    /// Somebody to watch a key by. Clients are counted from the other end.
    pub(crate) fn new_watch(&mut self) -> ClientId {
        let watch = ClientId(u64::MAX - self.watch_count);
        self.watch_count += 1;
        watch
    }

    /// Takes a client's errand if its answer has come.
    pub(crate) fn take_answered(&mut self, client: ClientId) -> Option<(Errand, Exchange)> {
        let is_it = |errand: &mut Errand| errand.client == client && errand.answer.is_some();
        let mut errand = self.errands.extract_if(.., is_it).next()?;
        let answer = errand.answer.take()?;
        Some((errand, answer))
    }

    pub(super) fn of(&mut self, client: ClientId) -> Option<&mut Errand> {
        self.errands.iter_mut().find(|errand| errand.client == client)
    }

    /// Whether a key of a database, or of any, is on its way.
    fn has(&self, db: Option<usize>, key: &[u8]) -> bool {
        let mut here = self.errands.iter().filter(|errand| db.is_none_or(|db| errand.db == db));
        here.any(|errand| errand.keys.contains(key))
    }

    /// Whether a command names such a key.
    pub(super) fn names(&self, db: Option<usize>, command: &Command, args: Args<'_>) -> bool {
        command.keys_in(args).any(|key| self.has(db, args.at(key.index)))
    }
}
