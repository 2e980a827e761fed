//! What a handler works with.
//!
//! Owns the view a running command has of the engine: its arguments, its reply,
//! the keyspace, its client. The fields are separate so that a row can be
//! borrowed while the reply is written. A handler parses its arguments, touches
//! keys, replies, and reports a wire error by returning it.
//! Not here: running it (`runner`), what happens before and after (`engine`).

use crate::engine::batch::Known;
use crate::engine::shared::Shared;
use crate::host::Host;
use crate::sessions::session::Session;
use keyward_commands::{Command, CommandId, WireError};
use keyward_resp::{ArgBuf, Args, ReplyWriter};
use keyward_rules::Sender;
use keyward_store::keyspace::Keyspace;
use keyward_store::keyspace::blocking::{Blocked, NoWaitReply, TimeoutReply};
use keyward_store::keyspace::client_id::ClientId;
use keyward_store::values::hasher::{DbIndex, Key};
use keyward_store::values::value::Type;
use std::collections::BTreeSet;

/// What a handler returns: the reply is written, or this error is.
pub(crate) type Outcome = Result<(), WireError>;

/// A command's implementation.
pub(crate) type Handler = fn(&mut Ctx<'_>) -> Outcome;

/// The implementations of all commands. Commands that run others (EXEC, scripts) reach all
/// of them through it, without knowing them.
#[derive(Debug)]
pub(crate) struct Handlers {
    /// By their identities.
    pub(crate) plain: [Handler; CommandId::COUNT],
    /// Runs a command that sets a string, or counts one up from nothing, which ends at this
    /// time, whatever the command says of that.
    pub(crate) until: fn(&mut Ctx<'_>, i64) -> Outcome,
    /// A client as CLIENT INFO has it.
    pub(crate) describe_client: fn(&Onlooker<'_>, &Session) -> String,
}

/// Who looks at clients, and by which command.
pub(crate) struct Onlooker<'a> {
    pub(crate) keys: &'a Keyspace,
    pub(crate) shared: &'a Shared,
    pub(crate) host: &'a dyn Host,
    /// The client whose command runs, and its arguments.
    pub(crate) running: (ClientId, Args<'a>),
}

/// A container called without a subcommand, which its arity does not admit.
pub(crate) fn container(ctx: &mut Ctx<'_>) -> Outcome {
    Err(WireError::WrongArity(ctx.command.name))
}

/// How a command came to run.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Mode<'a> {
    /// By itself.
    Plain,
    /// Inside EXEC.
    Queued,
    /// Inside the script this command runs.
    Scripted(&'static Command, Args<'a>),
    /// As a follow-up of the rule book, which is not asked about it.
    FollowUp,
    /// Again, because this key it waited for became ready.
    Woken(&'a [u8]),
    /// For the errors alone that come before its work, a script or what is stored: it is not
    /// done.
    Checked,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// With an answer.
    Answered,
    /// With an error.
    Failed,
    /// Not yet: the client waits.
    Waiting,
}

impl Mode<'_> {
    /// Who calls the command.
    pub(crate) fn sender(self) -> Sender {
        match self {
            Mode::Scripted(..) => Sender::Script,
            Mode::Plain | Mode::Queued | Mode::FollowUp | Mode::Woken(_) | Mode::Checked => {
                Sender::Client
            }
        }
    }

    /// Whether only the errors are wanted that come before the work.
    #[inline]
    pub(crate) fn is_checked(self) -> bool {
        matches!(self, Mode::Checked)
    }

    /// Whether the command is part of a larger unit: it must not wait.
    pub(crate) fn is_atomic(self) -> bool {
        matches!(self, Mode::Queued | Mode::Scripted(..) | Mode::FollowUp | Mode::Checked)
    }
}

/// A running command.
pub(crate) struct Ctx<'a> {
    /// The command's row of the table.
    pub command: &'static Command,
    /// Its arguments; index 0 is the name.
    pub args: Args<'a>,
    /// Where its reply goes.
    pub reply: ReplyWriter<'a>,
    /// The databases.
    pub keys: &'a mut Keyspace,
    /// The number of the one it runs in. SELECT changes that of the session, for what runs
    /// next.
    pub db: usize,
    /// The client.
    pub session: &'a mut Session,
    /// Other clients, settings, counters.
    pub shared: &'a mut Shared,
    /// The program around the engine.
    pub host: &'a mut dyn Host,
    pub(crate) mode: Mode<'a>,
    /// What the batch found out about the arguments that are keys.
    pub(crate) known: &'a [Known],
    /// How it ends, as far as that is known.
    pub(crate) ending: Ending,
}

/// Whose command it is, and what it works on.
pub(crate) struct Stage<'a> {
    pub(crate) keys: &'a mut Keyspace,
    /// The database it runs in.
    pub(crate) db: usize,
    pub(crate) session: &'a mut Session,
    pub(crate) shared: &'a mut Shared,
    pub(crate) host: &'a mut dyn Host,
}

impl Stage<'_> {
    /// The same, in another database.
    pub(crate) fn at(&mut self, db: usize) -> Stage<'_> {
        let Stage { keys, session, shared, host, .. } = self;
        Stage { keys, db, session, shared, host: *host }
    }
}

impl<'a> Ctx<'a> {
    /// A command that is to run.
    #[inline]
    pub(crate) fn new(
        stage: Stage<'a>,
        mode: Mode<'a>,
        command: &'static Command,
        args: Args<'a>,
        out: &'a mut Vec<u8>,
    ) -> Ctx<'a> {
        let Stage { keys, db, session, shared, host } = stage;
        let reply = ReplyWriter::new(out, session.protocol);
        let (known, ending): (&[Known], _) = (&[], Ending::Answered);
        Ctx { command, args, reply, keys, db, session, shared, host, mode, known, ending }
    }

    /// Another command of the same client, within this one: in the database that the client
    /// has selected by now.
    #[inline]
    pub(crate) fn inner<'b>(
        &'b mut self,
        mode: Mode<'b>,
        command: &'static Command,
        args: Args<'b>,
        out: &'b mut Vec<u8>,
    ) -> Ctx<'b> {
        let Ctx { keys, session, shared, host, .. } = self;
        let stage = Stage { keys, db: session.db, session, shared, host: *host };
        Ctx::new(stage, mode, command, args, out)
    }

    /// A key of the database that the command runs in.
    #[inline(always)]
    pub(crate) fn key_of<'b>(&self, bytes: &'b [u8]) -> Key<'b> {
        self.keys.key_in(self.db, bytes)
    }

    /// What it runs on, for others that look after it.
    pub(crate) fn stage(&mut self) -> Stage<'_> {
        let Ctx { keys, db, session, shared, host, .. } = self;
        Stage { keys, db: *db, session, shared, host: *host }
    }

    /// The key at an argument position, with its hash.
    #[inline(always)]
    pub(crate) fn key(&self, position: usize) -> Key<'a> {
        let bytes = self.args.at(position);
        match self.known.get(position) {
            Some(&Known { hash, table, .. }) if hash != 0 => {
                Key { bytes, hash, table, db: DbIndex::of(self.db) }
            }
            _ => self.key_of(bytes),
        }
    }

    /// Logs a command in place of this one: lifetimes absolute, chance resolved.
    /// Several calls log several commands.
    pub(crate) fn log_instead<'b>(&mut self, command: impl IntoIterator<Item = &'b [u8]>) {
        self.keys.effects.instead(self.db, command);
    }

    /// The keys among arguments `first..end` that a blocking command may take
    /// from now: all of them at first, only the ready one when it runs again.
    pub(crate) fn awaited_keys(
        &self,
        first: usize,
        end: usize,
    ) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let woken_by = match self.mode {
            Mode::Woken(key) => Some(key),
            Mode::Plain | Mode::Queued | Mode::Scripted(..) | Mode::FollowUp | Mode::Checked => {
                None
            }
        };
        let keys = self.args.from(first).iter().take(end - first);
        keys.filter(move |key| woken_by.is_none_or(|woken| *key == woken))
    }

    /// Whether the command cannot wait: it is part of a larger unit, or nobody is there who could.
    pub(crate) fn must_not_wait(&self) -> bool {
        self.mode.is_atomic() || !self.session.can_wait()
    }

    /// Makes the client wait until one of `keys` holds a `wants`, or answers
    /// `no_wait` at once where waiting is not possible. `timeout_ms` of zero waits
    /// for ever.
    pub(crate) fn block(
        &mut self,
        keys: &[&[u8]],
        wants: Type,
        timeout_ms: u64,
        no_wait: NoWaitReply,
    ) {
        self.block_with(self.args.into(), keys, wants, timeout_ms, no_wait);
    }

    /// Somebody was faster: the client that was woken is still waiting, as before.
    pub(crate) fn wait_on(&mut self) -> Outcome {
        self.ending = Ending::Waiting;
        Ok(())
    }

    /// As `block`, going on with these arguments.
    pub(crate) fn block_with(
        &mut self,
        args: ArgBuf,
        keys: &[&[u8]],
        wants: Type,
        timeout_ms: u64,
        no_wait: NoWaitReply,
    ) {
        if self.must_not_wait() {
            return match no_wait {
                NoWaitReply::NullArray => self.reply.null_array(),
                NoWaitReply::Null => self.reply.null(),
            };
        }
        if matches!(self.mode, Mode::Woken(_)) {
            self.ending = Ending::Waiting;
            return;
        }
        let mut seen = BTreeSet::new();
        let unique = keys.iter().filter(|key| seen.insert(**key)).map(|key| (*key).into());
        let unique: Vec<Box<[u8]>> = unique.collect();
        self.begin_wait(args, unique, wants, timeout_ms, TimeoutReply::NullArray);
    }

    /// Makes the client wait for nothing but the end of its time, which comes
    /// with a zero. Not for commands that must not wait.
    pub(crate) fn block_in_vain(&mut self, timeout_ms: u64) {
        self.block_in_vain_in(self.args.into(), timeout_ms);
    }

    /// The same, going on with these arguments.
    pub(crate) fn block_in_vain_in(&mut self, args: ArgBuf, timeout_ms: u64) {
        self.begin_wait(args, Vec::new(), Type::String, timeout_ms, TimeoutReply::Zero);
    }

    fn begin_wait(
        &mut self,
        args: ArgBuf,
        keys: Vec<Box<[u8]>>,
        wants: Type,
        timeout_ms: u64,
        on_timeout: TimeoutReply,
    ) {
        // Rounded up: a wait never ends before its time.
        let now_ms = self.keys.now_ms() + i64::from(self.shared.now_us % 1000 != 0);
        let deadline = (timeout_ms > 0).then(|| now_ms.saturating_add_unsigned(timeout_ms));
        let blocked =
            Blocked { command: self.command, args, db: self.db, keys, wants, deadline, on_timeout };
        self.keys.changes.waiting.begin(self.session.id, &blocked);
        self.session.blocked = Some(blocked);
        self.ending = Ending::Waiting;
    }

    /// Replies with the lines of a container's HELP.
    pub(crate) fn reply_help(&mut self, lines: &[&str]) {
        let container = String::from_utf8_lossy(self.args.at(0)).to_ascii_uppercase();
        self.reply_help_of(&container, lines);
    }

    /// As [`Ctx::reply_help`], for a container of this name.
    pub(crate) fn reply_help_of(&mut self, container: &str, lines: &[&str]) {
        self.reply.array(lines.len() + 3);
        let head = "<subcommand> [<arg> [value] [opt] ...]. Subcommands are:";
        self.reply.simple(&format!("{container} {head}"));
        for line in lines.iter().chain(&["HELP", "    Prints this help."]) {
            self.reply.simple(line);
        }
    }
}
