//! When rights are asked for, and what a client hears that lacks them.
//!
//! Owns the way from a client's command to its user: before a command runs or is queued, at
//! EXEC, and for each call of a script. Estimate: a client of a user with every right costs
//! one comparison a command, since the session remembers at which version of the users that
//! was found (`Session::cleared_at`).
//! Not here: what a user may do (`acl`).

use crate::acl::check::Place;
use crate::acl::{Call, Context, Denial, Denied, Reason, User};
use crate::engine::context::{Ctx, Mode, Onlooker, Outcome};
use crate::engine::shared::Shared;
use crate::host::Host;
use crate::sessions::session::Session;
use keyward_commands::flags::Flag;
use keyward_commands::{Command, WireError};
use keyward_resp::Args;
use keyward_rules::Sender;
use keyward_store::keyspace::Keyspace;
use std::borrow::Cow;
use std::sync::Arc;

/// A command of a client, and what it would run on.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) command: &'static Command,
    pub(crate) args: Args<'a>,
    pub(crate) keys: &'a Keyspace,
    pub(crate) host: &'a dyn Host,
}

impl<'a> Asked<'a> {
    fn call(&self, db: usize) -> Call<'a> {
        let Asked { command, args, keys, .. } = *self;
        Call { command, args, place: Place { keys, db } }
    }
}

impl Shared {
    /// Whether a client is known to have every right.
    #[inline]
    pub(crate) fn is_cleared(&self, session: &Session) -> bool {
        session.cleared_at == self.acl.version()
    }

    /// Whether a client must say who it is before anything else.
    pub(crate) fn must_authenticate(&self, session: &Session) -> bool {
        !session.is_authenticated && !self.acl.is_open()
    }

    /// The user of a client as it is now; `None` for the server itself.
    pub(crate) fn user_of<'s>(&self, session: &'s mut Session) -> Option<&'s Arc<User>> {
        let version = self.acl.version();
        if let Some(user) = &mut session.user
            && session.user_seen_at != version
        {
            // A user who was removed has no clients but such as are on their way out.
            let name = &user.name;
            *user = Arc::clone(self.acl.user(name).unwrap_or_else(|| self.acl.default_user()));
            session.user_seen_at = version;
        }
        session.user.as_ref()
    }

    /// Whether a client that is not cleared may send a command.
    #[cold]
    pub(crate) fn check_rights(&mut self, session: &mut Session, asked: Asked<'_>) -> Outcome {
        let command = asked.command;
        let must_authenticate = self.must_authenticate(session);
        if must_authenticate && !command.flags.has(Flag::NoAuth) {
            return Err(WireError::NoAuth);
        }
        if self.user_of(session).is_none_or(|user| user.has_every_right()) {
            if !must_authenticate {
                session.cleared_at = self.acl.version();
            }
            return Ok(());
        }
        if session.transaction.is_some() && command.flags.has(Flag::NoMulti) {
            return Err(WireError::NotInTransaction);
        }
        let queued = session.transaction.as_ref();
        let db = queued.and_then(|it| it.selected).unwrap_or(session.db);
        let context = if queued.is_some() { Context::Transaction } else { Context::TopLevel };
        let Err(denied) = self.ask(session, &asked.call(db)) else { return Ok(()) };
        session.last_command = Some(command);
        self.note_denied(session, (context, db), denied, asked);
        Err(no_permission(denied, command))
    }

    /// Whether a client's user may run a command in a database, as things stand.
    fn ask(&self, session: &mut Session, call: &Call<'_>) -> Result<(), Denied> {
        self.user_of(session).map_or(Ok(()), |user| user.check(call))
    }

    /// Notes what a client of a database lacks a right to. Of a key or a channel its secrets
    /// are not: others read the log.
    fn note_denied(
        &mut self,
        session: &Session,
        (context, db): (Context, usize),
        denied: Denied,
        asked: Asked<'_>,
    ) {
        let Asked { command, args, keys, .. } = asked;
        let sender = match context {
            Context::Script => Sender::Script,
            Context::TopLevel | Context::Transaction => Sender::Client,
        };
        let shown = |at: usize| keys.shown_at(db, command, args, sender, at);
        let (reason, object) = match denied {
            Denied::Command => (Reason::Command, Cow::Borrowed(command.name.as_bytes())),
            Denied::Key(at) => (Reason::Key, shown(at)),
            Denied::Channel(at) => (Reason::Channel, shown(at)),
        };
        let user = session.user.as_ref().map_or(Box::default(), |user| user.name.clone());
        self.note_denial(session, (context, reason, &object), user, asked);
    }

    /// Writes to the log of what was denied.
    pub(crate) fn note_denial(
        &mut self,
        session: &Session,
        (context, reason, object): (Context, Reason, &[u8]),
        user: Box<[u8]>,
        asked: Asked<'_>,
    ) {
        let Asked { keys, host, args, .. } = asked;
        let onlooker = Onlooker { keys, shared: self, host, running: (session.id, args) };
        let client = (self.handlers.describe_client)(&onlooker, session);
        // The line of CLIENT INFO without its end.
        let client = client.trim_end_matches('\n').to_owned();
        let (time_ms, object) = (keys.now_ms(), object.into());
        self.acl.log.push(Denial { count: 1, reason, context, object, user, time_ms, client });
    }

    /// Disconnects the clients of these users, who are no longer what they were.
    pub(crate) fn close_clients_of(
        &mut self,
        keys: &mut Keyspace,
        current: &mut Session,
        is_gone: impl Fn(&Session, &User) -> bool,
    ) {
        let is_meant =
            |session: &Session| session.user.as_ref().is_some_and(|user| is_gone(session, user));
        if is_meant(current) {
            current.is_closing = true;
        }
        for id in self.sessions.ids() {
            if self.sessions.get(id).is_some_and(is_meant) {
                self.end_client(keys, id);
            }
        }
    }
}

/// What a client hears that lacks a right.
fn no_permission(denied: Denied, command: &Command) -> WireError {
    let what = match denied {
        Denied::Command => &format!("run the '{}' command", command.name),
        Denied::Key(_) => "access one of the keys used as arguments",
        Denied::Channel(_) => "access one of the channels used as arguments",
    };
    WireError::line(&[b"NOPERM this user has no permissions to ", what.as_bytes()])
}

impl Ctx<'_> {
    /// Whether the client may still run a command of its transaction.
    #[inline]
    pub(crate) fn check_queued(&mut self, command: &'static Command, args: Args<'_>) -> Outcome {
        if self.shared.is_cleared(self.session) {
            return Ok(());
        }
        let reason = match self.denied(Context::Transaction, command, args) {
            None => return Ok(()),
            Some(Denied::Command) => "no permission to execute the command or subcommand",
            Some(Denied::Key(_)) => "no permission to touch the specified keys",
            Some(Denied::Channel(_)) => {
                "no permission to access one of the channels used as arguments"
            }
        };
        let text = "NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC call. This command is no longer allowed for the following reason: ";
        Err(WireError::line(&[text.as_bytes(), reason.as_bytes()]))
    }

    /// Whether the client may run a command by a script.
    #[inline]
    pub(crate) fn check_scripted(&mut self, command: &'static Command, args: Args<'_>) -> Outcome {
        if self.shared.is_cleared(self.session) {
            return Ok(());
        }
        let reason = match self.denied(Context::Script, command, args) {
            None => return Ok(()),
            Some(Denied::Command) => "can't run this command or subcommand",
            Some(Denied::Key(_)) => {
                "can't access at least one of the keys mentioned in the command arguments"
            }
            Some(Denied::Channel(_)) => "can't publish to the channel mentioned in the command",
        };
        Err(WireError::line(&[b"ERR The user executing the script ", reason.as_bytes()]))
    }

    /// What the client lacks a right to, which is logged.
    fn denied(
        &mut self,
        context: Context,
        command: &'static Command,
        args: Args<'_>,
    ) -> Option<Denied> {
        let asked = Asked { command, args, keys: self.keys, host: self.host };
        let denied = self.shared.ask(self.session, &asked.call(self.session.db)).err()?;
        let db = self.session.db;
        self.shared.note_denied(self.session, (context, db), denied, asked);
        Some(denied)
    }

    /// Whether the client may run a command that it has explained.
    pub(crate) fn check_explained(&mut self, command: &'static Command, args: Args<'_>) -> Outcome {
        if self.shared.is_cleared(self.session) {
            return Ok(());
        }
        let context = match self.mode {
            Mode::Queued => Context::Transaction,
            _ => Context::TopLevel,
        };
        let denied = self.denied(context, command, args);
        denied.map_or(Ok(()), |denied| Err(no_permission(denied, command)))
    }

    /// Whether the client may run a command, which nothing is made of.
    pub(crate) fn may_run(&mut self, command: &'static Command, args: Args<'_>) -> bool {
        let place = Place { keys: self.keys, db: self.session.db };
        self.shared.is_cleared(self.session)
            || self.shared.ask(self.session, &Call { command, args, place }).is_ok()
    }

    /// Whether the client may read every key by the running command.
    pub(crate) fn may_read_all(&mut self) -> bool {
        let place = Place { keys: self.keys, db: self.db };
        let call = Call { command: self.command, args: self.args, place };
        self.shared.is_cleared(self.session)
            || self.shared.user_of(self.session).is_none_or(|user| user.may_read_all_by(&call))
    }

    /// Who reads, where it matters which keys: `None` if the client may read all of them.
    pub(crate) fn restricted_reader(&mut self) -> Option<Arc<User>> {
        if self.shared.is_cleared(self.session) {
            return None;
        }
        let user = self.shared.user_of(self.session)?;
        (!user.has_every_right()).then(|| Arc::clone(user))
    }
}
