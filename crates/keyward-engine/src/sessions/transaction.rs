//! Queueing the commands of a transaction.
//!
//! Owns what is queued instead of being run, and what a refused EXEC says.
//! Not here: the commands (`commands::transactions`), which keys are watched (`watch`).

use crate::sessions::session::Session;
use keyward_commands::flags::Flag;
use keyward_commands::{Command, CommandId, WireError};
use keyward_resp::{ArgBuf, Args};
use keyward_store::keyspace::Keyspace;
use keyward_store::keyspace::client_id::ClientId;

/// What is shown of a transaction that EXEC is carrying out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Executing {
    /// Whose it is.
    pub client: ClientId,
    /// Of how many commands.
    pub count: usize,
    /// Their bytes.
    pub bytes: usize,
}

/// Whether a client's command goes to the queue instead of running.
#[inline]
pub(crate) fn queues(session: &Session, command: &Command) -> bool {
    session.transaction.is_some()
        && !matches!(
            command.id,
            CommandId::Exec
                | CommandId::Discard
                | CommandId::Multi
                | CommandId::Watch
                | CommandId::Quit
                | CommandId::Reset
        )
}

/// Puts a command into the queue.
pub(crate) fn queue(session: &mut Session, command: &'static Command, args: Args<'_>) {
    if let Some(transaction) = &mut session.transaction {
        // A transaction that cannot commit any more keeps nothing.
        if !transaction.is_aborted {
            let args = ArgBuf::from(args);
            transaction.queued_bytes += args.heap_bytes();
            transaction.queue.push((command, args));
        }
    }
}

/// Whether a command writes, or is the EXEC of one that does.
pub(crate) fn writes(session: &Session, command: &Command) -> bool {
    match (command.id, &session.transaction) {
        (CommandId::Exec, Some(transaction)) => {
            transaction.queue.iter().any(|(queued, _)| queued.flags.has(Flag::Write))
        }
        _ => command.flags.has(Flag::Write),
    }
}

/// Whether a command lacks a flag, or is the EXEC of one that does.
pub(crate) fn lacks(session: &Session, command: &Command, flag: Flag) -> bool {
    let queued = session.transaction.as_ref().filter(|_| command.id == CommandId::Exec);
    !command.flags.has(flag)
        || queued.is_some_and(|it| it.queue.iter().any(|(queued, _)| !queued.flags.has(flag)))
}

/// What a client gets whose EXEC is refused: the transaction is gone.
pub(crate) fn refuse_exec(
    keys: &mut Keyspace,
    session: &mut Session,
    reason: &WireError,
) -> WireError {
    session.transaction = None;
    keys.changes.watches.unwatch(session.id);
    discarded_because_of(reason)
}

/// Why a transaction has come to nothing.
pub(crate) fn discarded_because_of(reason: &WireError) -> WireError {
    let text = reason.text();
    // Redis puts these together without the code that an error gets by itself.
    let is_bare =
        matches!(reason, WireError::WrongArity(_)) || text.starts_with(b"ERR Can't execute");
    let text = text.strip_prefix(b"ERR ").filter(|_| is_bare).unwrap_or(&text);
    WireError::line(&[b"EXECABORT Transaction discarded because of: ", text])
}
