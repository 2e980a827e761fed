//! What a pause holds back, and its end (CLIENT PAUSE).
//!
//! Owns whose command waits: a pause is asked before every command.
//! Not here: the commands (`commands::connection::pause`).

use crate::engine::shared::Shared;
use crate::governed::ends;
use crate::sessions::courier::Delivery;
use crate::sessions::pause::Held;
use crate::sessions::session::Session;
use keyward_commands::flags::Flag;
use keyward_commands::{Command, CommandId};
use keyward_resp::Args;
use keyward_store::keyspace::Keyspace;
use keyward_store::keyspace::client_id::ClientId;

impl Shared {
    /// Ends the pause: those who were held go on.
    pub(crate) fn end_pause(&mut self, keys: &mut Keyspace) {
        let Some(pause) = self.pause.take() else { return };
        keys.is_expiry_held = keys.is_following();
        self.let_go_on(pause.clients);
    }

    /// Lets clients go on that had a command held.
    pub(crate) fn let_go_on(&mut self, clients: Vec<ClientId>) {
        for client in clients {
            if let Some(session) = self.sessions.get_mut(client) {
                session.is_paused = false;
                self.outbox.push(Delivery::Unblocked(client));
            }
        }
    }

    /// Whether the pause holds a client's command back: any, or one that may write, or that
    /// would have to remove something before it could read.
    pub(crate) fn pauses(
        &self,
        keys: &Keyspace,
        session: &Session,
        command: &Command,
        args: Args<'_>,
    ) -> bool {
        let Some(pause) = &self.pause else { return false };
        if session.is_monitor || session.is_replica || session.is_primary {
            return false;
        }
        pause.held == Held::Everything
            || may_write(self, session, command, args)
            || ends::removes_first(keys, session, command, args)
    }
}

/// Whether a command, or the transaction it ends, may write or publish.
pub(crate) fn may_write(
    shared: &Shared,
    session: &Session,
    command: &Command,
    args: Args<'_>,
) -> bool {
    match (command.id, &session.transaction) {
        (CommandId::Exec, Some(transaction)) => {
            transaction.queue.iter().any(|(command, args)| is_write(shared, command, args.args()))
        }
        _ => is_write(shared, command, args),
    }
}

fn is_write(shared: &Shared, command: &Command, args: Args<'_>) -> bool {
    (command.flags.has(Flag::Write) || command.flags.has(Flag::MayReplicate))
        && !shared.scripts.promise_no_writes(command.id, args)
}
