//! The script that is running, as the rest of the world sees it.
//!
//! Owns what others may learn of it and do to it while it runs: the commands that Redis
//! allows meanwhile (`allow-busy`), SCRIPT KILL, FUNCTION KILL and FUNCTION STATS among
//! them, and the error everything else gets. The host calls these from
//! [`crate::Host::script_runs`], which is the only time anybody can: the engine is in the
//! middle of a command.

use crate::commands::server::shutdown::Shutdown;
use crate::engine::context::{Ctx, Mode, Outcome, Stage};
use crate::engine::observers;
use crate::engine::progress::Progress;
use crate::engine::rights::Asked;
use crate::engine::shared::Shared;
use crate::host::{Activity, Host, RunningScript};
use crate::sessions::session::Session;
use crate::sessions::shutdown::{CANNOT_SHUT_DOWN, LastWish};
use crate::sessions::transaction;
use keyward_commands::flags::Flag;
use keyward_commands::{Command, CommandId, WireError};
use keyward_resp::{Args, ReplyWriter};
use keyward_rules::Sender;
use keyward_store::keyspace::Keyspace;
use keyward_store::keyspace::client_id::ClientId;
use std::time::Duration;

/// A running script.
#[derive(Debug)]
pub(super) struct Running<'a> {
    /// Which run this is since the engine began.
    number: u64,
    /// What is running.
    activity: Activity,
    /// The database in which it was started.
    db: usize,
    /// The command that started it.
    command: Args<'a>,
    name: &'a [u8],
    has_written: bool,
    is_ended: &'a mut bool,
    keys: &'a mut Keyspace,
    shared: &'a mut Shared,
}

impl RunningScript for Running<'_> {
    fn number(&self) -> u64 {
        self.number
    }

    fn name(&self) -> &[u8] {
        self.name
    }

    fn activity(&self) -> Activity {
        self.activity
    }

    fn needs_no_password(&self) -> bool {
        self.shared.acl.default_user().needs_no_password
    }

    fn connect(&mut self) -> ClientId {
        self.shared.connect(self.keys.now_ms())
    }

    fn disconnect(&mut self, client: ClientId) {
        self.shared.disconnect(self.keys, client);
    }

    fn lose(&mut self, client: ClientId) {
        if self.shared.replicas.get(client).is_some() {
            self.shared.replicas.remove(client, self.keys.now_ms());
        }
    }

    fn is_open_to(&self, client: ClientId) -> bool {
        self.shared.sessions.get(client).is_some_and(|session| !session.is_waiting())
    }

    fn accept(
        &mut self,
        host: &mut dyn Host,
        client: ClientId,
        args: Args<'_>,
        elapsed: Duration,
        out: &mut Vec<u8>,
    ) -> Progress {
        let Some(mut session) = self.shared.sessions.take(client) else {
            return Progress::Closing;
        };
        session.begin_reply();
        session.active_ms = self.keys.now_ms();
        let start = out.len();
        match self.resolve_while_busy(host, &mut session, args) {
            Err(error) => self.shared.refuse(self.keys, &mut session, args, error, out),
            Ok(command) => {
                session.last_command = Some(command);
                if transaction::queues(&session, command) {
                    transaction::queue(&mut session, command, args);
                    out.extend_from_slice(b"+QUEUED\r\n");
                } else {
                    self.run_while_busy(host, &mut session, (command, args), elapsed, out);
                }
            }
        }
        session.end_reply(out, start);
        let progress = Progress::of(&session);
        self.shared.sessions.put_back(session);
        progress
    }

    fn end(&mut self) {
        *self.is_ended = true;
    }
}

impl<'a> Running<'a> {
    pub(super) fn new(
        facts: RunFacts<'a>,
        has_written: bool,
        is_ended: &'a mut bool,
        (keys, shared): (&'a mut Keyspace, &'a mut Shared),
    ) -> Running<'a> {
        let RunFacts { number, activity, db, command, name } = facts;
        Running { number, activity, db, command, name, has_written, is_ended, keys, shared }
    }

    /// The command that is called, if it may be while a script runs.
    fn resolve_while_busy(
        &mut self,
        host: &dyn Host,
        session: &mut Session,
        args: Args<'_>,
    ) -> Result<&'static Command, WireError> {
        let command = self.shared.names.resolve(args)?;
        if !self.shared.is_cleared(session) {
            let asked = Asked { command, args, keys: self.keys, host };
            self.shared.check_rights(session, asked)?;
        }
        self.shared.check_state(session, command)?;
        if command.flags.has(Flag::AllowBusy) { Ok(command) } else { Err(self.busy_error()) }
    }

    /// Runs a command that is about the script, or about its own client only.
    fn run_while_busy(
        &mut self,
        host: &mut dyn Host,
        session: &mut Session,
        (command, args): (&'static Command, Args<'_>),
        elapsed: Duration,
        out: &mut Vec<u8>,
    ) {
        let mut reply = ReplyWriter::new(out, session.protocol);
        let outcome = match command.id {
            CommandId::ScriptKill => self.kill(Activity::Script).map(|()| reply.ok()),
            CommandId::FunctionKill => self.kill(Activity::Function).map(|()| reply.ok()),
            CommandId::FunctionStats => self.write_stats(elapsed, &mut reply),
            CommandId::Shutdown => self.shut_down(host, session, args),
            _ => self.run_beside(host, session, (command, args), out),
        };
        let stats = &mut self.shared.stats;
        stats.processed += 1;
        let counters = stats.calls.of_mut(command.id);
        counters.calls += 1;
        if let Err(error) = outcome {
            counters.failed += 1;
            stats.errors.count(error.code());
            error.write_to(&mut ReplyWriter::new(out, session.protocol));
        }
    }

    /// Runs a command that changes no rows. It is no part of the script: neither the
    /// journal nor the log of effects hears of it.
    fn run_beside(
        &mut self,
        host: &mut dyn Host,
        session: &mut Session,
        (command, args): (&'static Command, Args<'_>),
        out: &mut Vec<u8>,
    ) -> Outcome {
        let Running { keys, shared, .. } = self;
        let stage = Stage { keys, db: session.db, session, shared, host };
        let mut ctx = Ctx::new(stage, Mode::Plain, command, args, out);
        let outcome = (ctx.shared.handlers.plain[command.id as usize])(&mut ctx);
        observers::show_after(&mut ctx);
        outcome
    }

    /// What others get for commands that are not run meanwhile.
    fn busy_error(&self) -> WireError {
        match self.activity {
            Activity::Script => WireError::BusyScript,
            Activity::Function | Activity::LibraryLoad => WireError::BusyFunction,
        }
    }

    /// Ends a script or function that has not written anything.
    fn kill(&mut self, asked: Activity) -> Outcome {
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

    /// SHUTDOWN NOSAVE ends the script, whatever it has done, and the server.
    fn shut_down(&mut self, host: &mut dyn Host, session: &mut Session, args: Args<'_>) -> Outcome {
        let shutdown = Shutdown::parse(args)?;
        if shutdown.is_abort {
            return Err(WireError::Err("No shutdown in progress."));
        }
        if !shutdown.is_without_save {
            return Err(self.busy_error());
        }
        // A script that has written can be ended by nothing else, and while it runs no file can
        // be completed: there is nothing to wait for.
        let is_forced = shutdown.is_forced || self.has_written;
        if !self.shared.may_end(host, LastWish { saves: false, is_forced }) {
            host.shutdown_failed();
            return Err(CANNOT_SHUT_DOWN);
        }
        self.end();
        self.shared.scripts.ends_with_server = true;
        host.shut_down();
        session.is_closing = true;
        Ok(())
    }

    /// FUNCTION STATS, for a function that has run this long.
    fn write_stats(&self, elapsed: Duration, reply: &mut ReplyWriter<'_>) -> Outcome {
        if self.activity == Activity::Script {
            return Err(self.busy_error());
        }
        reply.map(2);
        reply.bulk(b"running_script");
        reply.map(3);
        reply.bulk(b"name");
        reply.bulk(self.name);
        reply.bulk(b"command");
        // Who asks is another client than the one whose call it is.
        let shown = match self.shared.names.find(self.command) {
            Ok(command) => self.keys.shown(self.db, command, self.command, Sender::Client),
            Err(_) => Vec::new(),
        };
        reply.array(shown.len());
        shown.iter().for_each(|argument| reply.bulk(argument));
        reply.bulk(b"duration_ms");
        reply.count(elapsed.as_millis() as usize);
        self.shared.scripts.write_engines(reply);
        Ok(())
    }
}

/// What does not change during a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunFacts<'a> {
    pub(super) number: u64,
    pub(super) activity: Activity,
    pub(super) db: usize,
    pub(super) command: Args<'a>,
    pub(super) name: &'a [u8],
}
