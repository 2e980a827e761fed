//! Whose commands wait while keys are on their way to another server (MIGRATE).
//!
//! Owns holding them, and going on when the other server has answered. The host talks to
//! the other server elsewhere, and the client of MIGRATE waits; when the answer has come its
//! command runs again (`Engine::exchanged`) and does what the answer says. A client that has
//! gone meanwhile changes nothing about that.
//!
//! Invariants: no command changes a key on its way until the command that sent it has ended:
//! those that name it are held, and those that may write what they do not name (scripts,
//! FLUSHALL, SWAPDB). What follows from others under a schema may change it, and a schema that
//! is applied: it is watched, and stays here then. It may come to its deadline or be evicted,
//! as at any other time. Everybody else is served.
//! Not here: what is sent, and what comes of the answer (`commands::generic::migrate`); inside
//! EXEC and scripts, everybody waits for the other server.

use crate::engine::Engine;
use crate::engine::context::{Ctx, Mode, Stage};
use crate::engine::migrating::Errand;
use crate::engine::paused::may_write;
use crate::engine::runner;
use crate::engine::shared::Shared;
use crate::governed::hold::reaches_beyond_keys;
use crate::host::{Exchange, Host};
use crate::sessions::session::Session;
use crate::sessions::transaction;
use keyward_commands::{Command, CommandId, lookup};
use keyward_resp::Args;
use keyward_store::keyspace::Keyspace;
use keyward_store::keyspace::blocking::Blocked;
use keyward_store::keyspace::client_id::ClientId;
use keyward_store::values::value::Type;

impl Shared {
    /// Whether a client's command is held: it names a key that is on its way, or may write
    /// it without naming it.
    pub(crate) fn migrating_holds(
        &self,
        session: &Session,
        command: &Command,
        args: Args<'_>,
    ) -> bool {
        let is_watcher = session.is_monitor || session.is_replica;
        if self.migrating.is_empty() || is_watcher || transaction::queues(session, command) {
            return false;
        }
        match &session.transaction {
            Some(transaction) if command.id == CommandId::Exec => {
                let mut queue = transaction.queue.iter();
                // SELECT may be among them.
                queue.any(|(command, args)| {
                    self.migrating.names(None, command, args.args())
                        || reaches_beyond_keys(command)
                            && may_write(self, session, command, args.args())
                })
            }
            _ => {
                self.migrating.names(Some(session.db), command, args)
                    || reaches_beyond_keys(command) && may_write(self, session, command, args)
            }
        }
    }

    /// Whether a command that waits for keys is held though one is ready; it is told when
    /// that is over.
    pub(crate) fn passes_over(&mut self, blocked: &Blocked, key: &[u8]) -> bool {
        let is_held = blocked.command.id != CommandId::Migrate
            && self.migrating.names(Some(blocked.db), blocked.command, blocked.args.args());
        if is_held {
            self.migrating.passed_over.push((blocked.db, key.into()));
        }
        is_held
    }

    /// Lets go on who waited for the keys of an errand that is over, which are watched no longer.
    pub(crate) fn end_errand(&mut self, keys: &mut Keyspace, errand: &Errand) {
        errand.watches.iter().for_each(|watch| keys.changes.watches.unwatch(*watch));
        let clients = std::mem::take(&mut self.migrating.clients);
        self.let_go_on(clients);
        for (db, key) in std::mem::take(&mut self.migrating.passed_over) {
            keys.changes.waiting.ready(db, &key);
        }
    }

    /// Whether a client waits for another server.
    pub(crate) fn awaits_exchange(&self, client: ClientId) -> bool {
        let session = self.sessions.get(client);
        let blocked = session.and_then(|session| session.blocked.as_ref());
        blocked.is_some_and(|blocked| blocked.command.id == CommandId::Migrate)
    }
}

impl Engine {
    /// Another server has answered what MIGRATE of a client sent
    /// (`Host::exchange_elsewhere`).
    pub fn exchanged(&mut self, host: &mut dyn Host, client: ClientId, answer: Exchange) {
        let Some(errand) = self.shared.migrating.of(client) else { return };
        errand.answer = Some(answer);
        self.go_on_migrating(host, client);
    }

    /// Goes on with those whose answers came while a schema held them.
    pub(crate) fn go_on_with_answers(&mut self, host: &mut dyn Host) {
        let answered = self.shared.migrating.errands.iter().filter(|it| it.answer.is_some());
        let answered: Vec<ClientId> = answered.map(|errand| errand.client).collect();
        for client in answered {
            self.go_on_migrating(host, client);
        }
    }

    fn go_on_migrating(&mut self, host: &mut dyn Host, client: ClientId) {
        self.keys.effects.begin_unit();
        if self.shared.awaits_exchange(client) {
            self.retry(host, client, Type::String, &[]);
        } else {
            self.conclude_for_nobody(host, client);
        }
        // A schema that has come into force since may have refused the command.
        if !self.shared.awaits_exchange(client)
            && let Some((errand, _)) = self.shared.migrating.take_answered(client)
        {
            self.shared.end_errand(&mut self.keys, &errand);
        }
        self.after_unit(host);
    }

    /// Does what the answer says for a client that has gone.
    fn conclude_for_nobody(&mut self, host: &mut dyn Host, client: ClientId) {
        let Engine { keys, shared, .. } = self;
        let Some(errand) = shared.migrating.of(client) else { return };
        let (db, args) = (errand.db, errand.args.clone());
        let Some(command) = lookup(b"migrate") else { return };
        let mut nobody = Session::new(client, keys.now_ms(), true);
        nobody.db = db;
        let mut out = Vec::new();
        let stage = Stage { keys, db, session: &mut nobody, shared, host };
        runner::run(&mut Ctx::new(stage, Mode::Woken(b""), command, args.args(), &mut out));
    }
}
