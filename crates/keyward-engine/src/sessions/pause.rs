//! CLIENT PAUSE and UNPAUSE: holding commands back for a time.
//!
//! Owns what is held back until when, and who is held. A held command has not begun: it
//! is kept with what its client sends after it, and runs when the pause ends. While a
//! pause lasts no row goes because its time is over; reads do not see such rows.
//! Not here: keeping the commands (`Engine::accept`), holding expiry (`keyspace`).

use crate::engine::context::{Ctx, Outcome};
use crate::engine::shared::Shared;
use crate::sessions::courier::Delivery;
use crate::sessions::session::Session;
use keyward_commands::flags::Flag;
use keyward_commands::{Command, CommandId, WireError, args};
use keyward_resp::Args;
use keyward_store::keyspace::Keyspace;
use keyward_store::keyspace::client_id::ClientId;

/// What is held back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Held {
    /// Commands that may write.
    Writes,
    /// All commands.
    Everything,
}

/// A pause.
#[derive(Debug)]
pub(crate) struct Pause {
    held: Held,
    /// The last millisecond of it, since the epoch.
    pub(crate) until_ms: i64,
    /// Who has a command that is held back.
    pub(crate) clients: Vec<ClientId>,
}

impl Pause {
    /// Whether a client's command is to be held back.
    pub(crate) fn holds(
        &self,
        shared: &Shared,
        session: &Session,
        command: &Command,
        args: Args<'_>,
    ) -> bool {
        if session.is_monitor || session.is_replica {
            return false;
        }
        self.held == Held::Everything || may_write(shared, session, command, args)
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

impl Shared {
    /// Ends the pause: those who were held go on.
    pub(crate) fn end_pause(&mut self, keys: &mut Keyspace) {
        let Some(pause) = self.pause.take() else { return };
        keys.is_expiry_held = false;
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
}

pub(crate) fn pause(ctx: &mut Ctx<'_>) -> Outcome {
    let held = match ctx.args.get(3) {
        _ if ctx.args.len() > 4 => {
            return Err(WireError::subcommand_syntax(ctx.args));
        }
        None => Held::Everything,
        Some(word) if args::is(word, "ALL") => Held::Everything,
        Some(word) if args::is(word, "WRITE") => Held::Writes,
        Some(_) => return Err(WireError::Err("CLIENT PAUSE mode must be WRITE or ALL")),
    };
    let timeout_ms = args::integer_or(ctx.args.at(2), WireError::TimeoutNotInteger)?;
    if timeout_ms < 0 {
        return Err(WireError::TimeoutNegative);
    }
    let until_ms = match timeout_ms {
        0 => 0,
        _ => {
            let until = ctx.keys.now_ms().checked_add(timeout_ms);
            until.ok_or(WireError::Err("timeout is out of range"))?
        }
    };
    // A second pause can only hold more and longer.
    let pause = Pause { held, until_ms, clients: Vec::new() };
    let pause = match ctx.shared.pause.take() {
        None => pause,
        Some(old) => Pause {
            held: old.held.max(held),
            until_ms: old.until_ms.max(until_ms),
            clients: old.clients,
        },
    };
    ctx.shared.pause = Some(pause);
    ctx.reply.ok();
    Ok(())
}

pub(crate) fn unpause(ctx: &mut Ctx<'_>) -> Outcome {
    ctx.shared.end_pause(ctx.keys);
    ctx.reply.ok();
    Ok(())
}
