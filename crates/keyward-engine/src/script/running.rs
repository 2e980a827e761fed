//! The script that is running, as the rest of the world sees it.
//!
//! Owns what others may learn of it and do to it while it runs: the errors everybody
//! else gets, SCRIPT KILL and FUNCTION KILL, FUNCTION STATS. The host calls these
//! from [`crate::Host::script_runs`], which is the only time anybody can: the engine
//! is in the middle of a command.

use crate::keyspace::Keyspace;
use crate::session::{ClientId, Transaction};
use crate::shared::Shared;
use crate::transaction;
use keyward_commands::{Command, CommandId, WireError};
use keyward_resp::{Args, Protocol, ReplyWriter};

/// What is running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// A script of EVAL.
    Script,
    /// A function of FCALL.
    Function,
    /// The code of a library, to register its functions.
    LibraryLoad,
}

/// A running script.
#[derive(Debug)]
pub struct RunningScript<'a> {
    /// Which run this is since the engine began.
    pub number: u64,
    /// What is running.
    pub activity: Activity,
    /// The command that started it.
    pub command: Args<'a>,
    name: &'a [u8],
    has_written: bool,
    is_ended: &'a mut bool,
    keys: &'a mut Keyspace,
    shared: &'a mut Shared,
}

/// What a client may do while a script runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It gets an error for most of what it sends.
    Refused,
    /// As `Refused`, and what is refused spoils its transaction.
    InTransaction,
    /// It must authenticate first.
    Unknown,
    /// What it sends waits until the script is over: it is the script's own client, or
    /// it waits for a key.
    Waiting,
}

impl<'a> RunningScript<'a> {
    pub(super) fn new(
        facts: RunFacts<'a>,
        has_written: bool,
        is_ended: &'a mut bool,
        (keys, shared): (&'a mut Keyspace, &'a mut Shared),
    ) -> RunningScript<'a> {
        let RunFacts { number, activity, command, name } = facts;
        RunningScript { number, activity, command, name, has_written, is_ended, keys, shared }
    }

    /// How to answer a client meanwhile.
    pub fn standing(&self, client: ClientId) -> Standing {
        match self.shared.sessions.get(client) {
            None => Standing::Waiting,
            Some(session) if session.transaction.is_some() => Standing::InTransaction,
            Some(session) if session.blocked.is_some() => Standing::Waiting,
            Some(session) if session.is_authenticated => Standing::Refused,
            Some(_) => self.newcomer(),
        }
    }

    /// The protocol a client speaks.
    pub fn protocol(&self, client: ClientId) -> Protocol {
        self.shared.sessions.get(client).map(|session| session.protocol).unwrap_or_default()
    }

    /// How to answer a client that has just come.
    pub fn newcomer(&self) -> Standing {
        let is_open = self.shared.tunables.password.is_none();
        if is_open { Standing::Refused } else { Standing::Unknown }
    }

    /// What others get for commands that must wait.
    pub fn busy_error(&self) -> WireError {
        match self.activity {
            Activity::Script => WireError::BusyScript,
            Activity::Function | Activity::LibraryLoad => WireError::BusyFunction,
        }
    }

    /// Answers a client's command that is neither about scripts nor can wait:
    /// transactions begin and are discarded, all else is refused.
    pub fn answer(
        &mut self,
        client: ClientId,
        command: &Command,
        reply: &mut ReplyWriter<'_>,
    ) -> Result<(), WireError> {
        let busy = self.busy_error();
        let Some(session) = self.shared.sessions.get_mut(client) else { return Err(busy) };
        match (command.id, &mut session.transaction) {
            (CommandId::Exec, Some(_)) => {
                return Err(transaction::refuse_exec(self.keys, session, &busy));
            }
            (CommandId::Multi, Some(_)) => return Err(WireError::NestedMulti),
            (CommandId::Multi, none) => *none = Some(Transaction::default()),
            (CommandId::Discard, None) => return Err(WireError::DiscardWithoutMulti),
            (CommandId::Discard, transaction) => {
                *transaction = None;
                self.keys.changes.watches.unwatch(client);
            }
            (_, Some(transaction)) => {
                transaction.is_aborted = true;
                return Err(busy);
            }
            (_, None) => return Err(busy),
        }
        reply.ok();
        Ok(())
    }

    /// SCRIPT KILL: ends a script that has not written anything.
    pub fn script_kill(&mut self) -> Result<(), WireError> {
        self.kill(Activity::Script)
    }

    /// FUNCTION KILL: ends a function that has not written anything.
    pub fn function_kill(&mut self) -> Result<(), WireError> {
        self.kill(Activity::Function)
    }

    fn kill(&mut self, asked: Activity) -> Result<(), WireError> {
        if self.has_written {
            return Err(WireError::line(&[
                b"UNKILLABLE Sorry the script already executed write commands against the dataset. ",
                b"You can either wait the script termination or kill the server in a hard way using ",
                b"the SHUTDOWN NOSAVE command.",
            ]));
        }
        if self.activity != asked {
            return Err(self.busy_error());
        }
        self.end();
        Ok(())
    }

    /// Ends it, whatever it has done.
    pub fn end(&mut self) {
        *self.is_ended = true;
    }

    /// FUNCTION STATS, for a function that has run this long.
    pub fn write_stats(
        &self,
        duration_ms: u64,
        reply: &mut ReplyWriter<'_>,
    ) -> Result<(), WireError> {
        if self.activity == Activity::Script {
            return Err(self.busy_error());
        }
        reply.map(2);
        reply.bulk(b"running_script");
        reply.map(3);
        reply.bulk(b"name");
        reply.bulk(self.name);
        reply.bulk(b"command");
        reply.array(self.command.len());
        for argument in self.command.iter() {
            reply.bulk(argument);
        }
        reply.bulk(b"duration_ms");
        reply.count(duration_ms as usize);
        self.shared.scripts.write_engines(reply);
        Ok(())
    }
}

/// What does not change during a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunFacts<'a> {
    pub(super) number: u64,
    pub(super) activity: Activity,
    pub(super) command: Args<'a>,
    pub(super) name: &'a [u8],
}
