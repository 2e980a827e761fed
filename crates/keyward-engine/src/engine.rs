//! The state machine: commands, time and ticks in; replies, deliveries and
//! effects out.
//!
//! Owns the keys, what clients share besides (`shared`), and the life of a command:
//!
//! 1. the host sets the time and hands over a batch of one client's commands;
//! 2. the keys of the batch are hashed and their cache lines fetched (`batch`);
//! 3. each command is resolved, judged (arity, authentication, rights,
//!    transaction), then queued or run (`runner`, `attempt`, `dispatch`);
//! 4. what it changed goes to the effect log, clients that waited for it are
//!    served, subscribers are told.
//!
//! Invariants: the same inputs in the same order give the same outputs and the
//! same state, bit for bit. No clock, no randomness of the system, no file, no
//! socket, no thread (clippy.toml forbids them).
//! Not here: sockets and settings (`keyward-server`), what commands do (their
//! own modules).

pub(crate) mod attempt;
pub(crate) mod batch;
pub(crate) mod context;
pub(crate) mod dispatch;
pub(crate) mod durability;
pub(crate) mod errands;
pub(crate) mod evict;
pub(crate) mod failover;
pub(crate) mod following;
pub(crate) mod migrating;
pub(crate) mod observers;
pub(crate) mod paused;
pub(crate) mod pressure;
pub(crate) mod primary;
pub(crate) mod progress;
pub(crate) mod published;
pub(crate) mod relief;
pub(crate) mod rights;
pub(crate) mod runner;
pub(crate) mod shared;
pub(crate) mod shutdown;
pub(crate) mod slow;
pub(crate) mod switches;
pub(crate) mod users;

use crate::commands::server::debug;
use crate::commands::server::persistence::save_now;
use crate::engine::batch::{Known, Prepared};
use crate::engine::context::{Ctx, Mode, Stage};
use crate::engine::paused::may_write;
use crate::engine::pressure::Limits;
use crate::engine::progress::Progress;
use crate::engine::rights::Asked;
use crate::engine::shared::Shared;
use crate::governed;
use crate::governed::changefeed;
use crate::governed::ends;
use crate::governed::in_force::schema_at;
use crate::governed::proposal::{Draft, Proposal};
use crate::governed::reloading::{IS_REPLICA, Reloading};
use crate::host::{Facts, Host, Library};
use crate::sessions::courier::{Courier, Delivery};
use crate::sessions::session::{Listening, ReplyMode, Session};
use crate::sessions::transaction;
use crate::tunables::Tunables;
use keyward_commands::flags::Flag;
use keyward_commands::{Command, CommandId, Names, WireError, resolve};
use keyward_lua::LogLevel;
use keyward_resp::{ArgBuf, Args, Batch};
use keyward_rules::{RuleBook, Survey};
use keyward_schema::Schema;
use keyward_store::keyspace::blocking::Blocked;
use keyward_store::keyspace::client_id::ClientId;
use keyward_store::keyspace::{Gathering, Keyspace};
use keyward_store::values::value::Type;
use std::sync::Arc;

/// Rows packed per step of leisure, those of 256 bytes and less: about a twentieth of a
/// millisecond of work.
const PACKED_PER_REST: usize = 32;
/// Due rows removed per tick at most, fewer if others depend on them: a sixth of a
/// millisecond of work, several times as much where whole runs of the allocator become
/// free.
const SWEEP_WORK_MAX: usize = 200;
/// Buckets of rows that are given the ends which others have of them: a tenth of a millisecond.
const BUCKETS_PER_TICK: usize = 64;
/// Rows that may not fit which are judged at a time: a third of a millisecond.
const SUSPECTS_AT_ONCE: usize = 64;
/// Allocations of large values freed per tick at most: a twentieth of a millisecond of
/// work, and up to a whole one where each is the last of a run.
const RECLAIM_PER_TICK: usize = 150;
/// The same while due rows are left, which take most of a tick.
const RECLAIM_PER_SWEEP: usize = RECLAIM_PER_TICK / 2;

/// What is decided when an engine is made.
#[derive(Debug, Clone)]
pub struct EngineOptions {
    /// Everything that looks like chance follows from it.
    pub seed: u64,
    /// How many databases there are.
    pub databases: usize,
    /// The settings to begin with.
    pub tunables: Tunables,
}

/// The engine.
#[derive(Debug)]
pub struct Engine {
    pub(crate) keys: Keyspace,
    pub(crate) shared: Shared,
    pub(crate) prepared: Prepared,
}

impl Engine {
    /// An engine without keys and clients, at time zero.
    pub fn new(options: EngineOptions) -> Engine {
        let mut keys = Keyspace::new(options.databases, options.seed);
        let shared = Shared::new(&mut keys, &dispatch::HANDLERS, options.seed, options.tunables);
        Engine { keys, shared, prepared: Prepared::default() }
    }

    /// The time it was told last, in milliseconds since the epoch.
    pub fn now_ms(&self) -> i64 {
        self.keys.now_ms()
    }

    /// Sets the time, in microseconds since the epoch. Commands see this one
    /// time until it is set again.
    pub fn set_time(&mut self, now_us: i64) {
        self.shared.now_us = now_us;
        self.shared.slept_us = 0;
        self.keys.set_now_ms(now_us / 1000);
    }

    /// Puts a database that has no rows yet under a schema.
    pub fn govern(&mut self, db: usize, schema: Schema) {
        assert!(self.keys.database_at(db).is_empty(), "rows need a survey, which a plan makes");
        let book = RuleBook::new(schema);
        let survey = Survey::new(&book, None, |_| false);
        self.keys.govern(db, Arc::new(book), &survey);
        self.keys.bring_over(&survey, usize::MAX);
    }

    /// Lets clients call commands by these names.
    pub fn call_commands(&mut self, names: Names) {
        self.shared.names = names;
    }

    /// Runs a command that no client sent, under the name it has in Redis; returns its
    /// reply.
    pub fn call_trusted(&mut self, host: &mut dyn Host, words: &[&[u8]]) -> Vec<u8> {
        let args: ArgBuf = words.iter().collect();
        let mut session = Session::new(ClientId(0), self.keys.now_ms(), true);
        let mut out = Vec::new();
        let command = resolve(args.args()).ok();
        self.accept(host, &mut session, command, args.args(), &[], &mut out);
        out
    }

    /// A client comes.
    pub fn connect(&mut self) -> ClientId {
        self.shared.connect(self.keys.now_ms())
    }

    /// A client goes.
    pub fn disconnect(&mut self, client: ClientId) {
        self.shared.disconnect(&mut self.keys, client);
    }

    /// Whether a client may send more than a client that is not known.
    pub fn is_authenticated(&self, client: ClientId) -> bool {
        let session = self.shared.sessions.get(client);
        session.is_some_and(|session| !self.shared.must_authenticate(session))
    }

    /// Executes a batch of one client's commands; replies are appended to `out`.
    pub fn execute(
        &mut self,
        host: &mut dyn Host,
        client: ClientId,
        buffer: &[u8],
        batch: &Batch,
        out: &mut Vec<u8>,
    ) -> Progress {
        if self.shared.begins_histories {
            self.begin_histories(host);
        }
        let Some(mut session) = self.shared.sessions.take(client) else {
            return Progress::Closing;
        };
        self.shared.stats.clock_ns = host.monotonic_ns();
        let mut prepared = std::mem::take(&mut self.prepared);
        let mut next = 0;
        while next < batch.len() && !session.is_closing && !session.is_waiting() {
            let window =
                prepared.window((&self.keys, &self.shared.names), session.db, buffer, batch, next);
            for index in window.clone() {
                if session.is_closing || session.is_waiting() {
                    break;
                }
                if next > 0 {
                    session.offset = self.shared.replication.offset();
                }
                let args = batch.command(index, buffer);
                let (command, known) = prepared
                    .command(index - window.start, (session.db, self.keys.schema_version()));
                self.accept(host, &mut session, command, args, known, out);
                next = index + 1;
            }
        }
        self.prepared = prepared;
        if next < batch.len() && !session.is_closing {
            session.postponed.extend((next..batch.len()).map(|i| batch.command(i, buffer).into()));
        }
        if self.shared.replication.is_on() {
            self.shared.feed_effects(&mut self.keys);
            session.offset = self.shared.replication.offset();
        }
        let progress = Progress::of(&session);
        self.shared.sessions.put_back(session);
        progress
    }

    /// Whoever asks after a start or a promotion finds the histories that it began: who stores
    /// a changefeed would otherwise take what was lost for what is yet to come.
    #[cold]
    fn begin_histories(&mut self, host: &mut dyn Host) {
        if changefeed::must_wait(&self.keys, &self.shared) {
            return;
        }
        self.keys.effects.begin_unit();
        changefeed::begin_histories(&mut self.keys, &mut self.shared, host);
        self.after_unit(host);
    }

    /// Takes one command from a client: refuses it, queues it or runs it.
    #[inline]
    pub(crate) fn accept(
        &mut self,
        host: &mut dyn Host,
        session: &mut Session,
        command: Option<&'static Command>,
        args: Args<'_>,
        known: &[Known],
        out: &mut Vec<u8>,
    ) {
        if command.is_none() && is_http(args) {
            let line = b"closing a connection that speaks HTTP: a browser may have been led here";
            host.log(LogLevel::Warning, line);
            session.is_closing = true;
            return out.clear();
        }
        let is_skipped = session.begin_reply();
        let was_replica = session.is_replica;
        session.active_ms = self.keys.now_ms();
        let admitted = command.map_or_else(|| self.shared.names.resolve(args), Ok);
        let admitted =
            admitted.and_then(|command| self.admit(host, session, command, args, out.capacity()));
        // What was evicted for the command is told before its reply.
        if !session.pushes.is_empty() {
            out.append(&mut session.pushes);
        }
        let start = out.len();
        match admitted {
            Err(error) => {
                if was_replica {
                    session.last_command = self.shared.names.find(args).ok();
                }
                self.shared.refuse(&mut self.keys, session, args, error, out);
            }
            Ok(command) => {
                session.last_command = Some(command);
                let is_kept = self.shared.may_hold() && self.hold(session, command, args)
                    || (self.keys.has_pending() || self.keys.is_unsettled())
                        && !self.keys.is_following()
                        && self.await_ends(host, session, command, args);
                if is_kept {
                    if is_skipped {
                        session.reply_mode = ReplyMode::SkipNext;
                    }
                    return;
                }
                if transaction::queues(session, command) {
                    transaction::queue(session, command, args);
                    out.extend_from_slice(b"+QUEUED\r\n");
                } else {
                    self.keys.effects.begin_unit();
                    if self.keys.is_following() {
                        // What writes must find the place of a row free whose time is over.
                        // Where nobody writes, scripts and PFCOUNT do not either.
                        self.keys.is_expiry_held = self.shared.is_read_only()
                            || !may_write(&self.shared, session, command, args);
                    }
                    self.call(host, session, Mode::Plain, command, args, known, out);
                    if matches!(command.id, CommandId::Scan | CommandId::RandomKey) {
                        self.keys.part_due_rows();
                    }
                    self.after_unit(host);
                }
            }
        }
        session.end_reply(out, start);
        if was_replica && out.len() > start {
            self.part_with_talker(host, session, &out[start..]);
            out.truncate(start);
        }
    }

    /// Keeps a command for later if the pause holds it, or a schema that comes into
    /// force, or keys of it are on their way elsewhere; returns whether it is kept.
    #[cold]
    fn hold(&mut self, session: &mut Session, command: &Command, args: Args<'_>) -> bool {
        self.end_pause_if_over();
        let Engine { keys, shared, .. } = self;
        let is_paused = shared.pauses(keys, session, command, args);
        let hold = shared.hold();
        let is_held = hold.is_some_and(|hold| hold.holds(keys, session, command, args));
        // What runs during a pause does not write, so that due rows can stay. What writes
        // while a schema comes into force does so where they can go.
        keys.is_expiry_held = !(is_paused || is_held)
            && (shared.pause.is_some()
                || hold.is_some() && !may_write(shared, session, command, args));
        let is_away = shared.migrating_holds(session, command, args);
        if !is_paused && !is_held && !is_away {
            return false;
        }
        session.postponed.push_front(args.into());
        session.is_paused = true;
        let clients = match (is_paused, is_held) {
            (true, _) => shared.pause.as_mut().map(|pause| &mut pause.clients),
            (_, true) => shared.hold_mut().map(|hold| &mut hold.clients),
            _ => Some(&mut shared.migrating.clients),
        };
        clients.into_iter().for_each(|clients| clients.push(session.id));
        true
    }

    fn end_pause_if_over(&mut self) {
        let now_ms = self.keys.now_ms();
        if self.shared.pause.as_ref().is_some_and(|pause| pause.until_ms < now_ms) {
            self.shared.end_pause(&mut self.keys);
        }
    }

    /// Whether a client may run a command now, whatever its arguments say.
    #[inline]
    fn admit(
        &mut self,
        host: &mut dyn Host,
        session: &mut Session,
        command: &'static Command,
        args: Args<'_>,
        reply_bytes: usize,
    ) -> Result<&'static Command, WireError> {
        if self.shared.is_loading && session.id == ClientId(0) {
            return Ok(command);
        }
        if command.flags.has(Flag::Protected) {
            debug::check_allowed(host, session.id)?;
        }
        if !self.shared.is_cleared(session) {
            let asked = Asked { command, args, keys: &self.keys, host };
            self.shared.check_rights(session, asked)?;
        }
        self.shared.check_state(session, command)?;
        if self.may_lack_memory() && self.shared.hold().is_none() && !self.shared.spares_memory() {
            self.make_room(host, session, (command, args), reply_bytes)?;
        }
        if self.keys.is_governed() {
            let Engine { keys, shared, .. } = self;
            if transaction::queues(session, command) {
                governed::check_arguments(keys, shared, (session, host), command, args)?;
            } else if session.transaction.is_some() || command.flags.has(Flag::MayReplicate) {
                changefeed::check_unit(keys, shared, session, (command, args))?;
            }
        }
        Ok(command)
    }

    /// Runs a command.
    #[inline]
    #[expect(clippy::too_many_arguments, reason = "the parts of a context, borrowed separately")]
    fn call(
        &mut self,
        host: &mut dyn Host,
        session: &mut Session,
        mode: Mode<'_>,
        command: &'static Command,
        args: Args<'_>,
        known: &[Known],
        out: &mut Vec<u8>,
    ) {
        let Engine { keys, shared, .. } = self;
        let stage = Stage { keys, db: session.db, session, shared, host };
        let mut ctx = Ctx::new(stage, mode, command, args, out);
        ctx.known = known;
        runner::run(&mut ctx);
    }

    /// What follows a command, transaction or script: those who waited go on.
    #[inline(always)]
    fn after_unit(&mut self, host: &mut dyn Host) {
        let is_awaited = self.keys.changes.waiting.count() > 0;
        let wants_snapshot = self.keys.changes.wants_snapshot;
        if is_awaited | wants_snapshot | self.keys.has_suspects(2 * SUSPECTS_AT_ONCE) {
            self.follow_unit(host);
        }
    }

    fn follow_unit(&mut self, host: &mut dyn Host) {
        if std::mem::take(&mut self.keys.changes.wants_snapshot) {
            self.save_flushed(host);
        }
        if self.keys.has_suspects(2 * SUSPECTS_AT_ONCE) {
            self.keys.look_at_some_suspects(SUSPECTS_AT_ONCE);
        }
        if self.keys.changes.waiting.count() > 0 {
            self.serve_ready(host);
        }
    }

    /// A FLUSHALL stands: the snapshot that there is must not bring back what was flushed. If none
    /// can be written the log says so, and the next one will do. One that the append-only file
    /// tells of was saved then: what a snapshot has came later, and is yet to be loaded.
    #[cold]
    fn save_flushed(&mut self, host: &mut dyn Host) {
        if host.saves_by_itself() && !self.shared.is_loading {
            self.trusted(host, save_now);
        }
    }

    /// Lets clients go on that waited for keys which became ready.
    fn serve_ready(&mut self, host: &mut dyn Host) {
        self.set_time(self.shared.now_us.saturating_add(self.shared.slept_us));
        while let Some(((db, key), clients)) = self.keys.changes.waiting.next_ready() {
            for client in clients {
                // The key may turn out to be due: that is no part of what made it ready.
                self.keys.effects.begin_unit();
                let hashed = self.keys.key_in(db, &key);
                let holds = self.keys.find(hashed).map(|row| row.value().kind());
                if holds != Some(Type::Stream) && self.keys.changes.waiting.has_group_readers() {
                    self.end_group_wait(host, client);
                } else if holds.is_none() {
                    break;
                }
                if let Some(holds) = holds {
                    self.retry(host, client, holds, &key);
                }
            }
        }
    }

    /// Ends the wait of a client that waits as a consumer of a stream which has gone.
    fn end_group_wait(&mut self, host: &mut dyn Host, client: ClientId) {
        let session = self.shared.sessions.get(client);
        let blocked = session.and_then(|session| session.blocked.as_ref());
        if blocked.is_some_and(Blocked::is_group_read) {
            let gone = WireError::line(&[b"UNBLOCKED the stream key no longer exists"]);
            self.shared.end_wait(&mut self.keys, host, client, Some(gone));
        }
    }

    /// Runs a waiting client's command again for one key, if that key holds what
    /// it waits for.
    fn retry(&mut self, host: &mut dyn Host, client: ClientId, holds: Type, key: &[u8]) {
        let Some(mut session) = self.shared.sessions.take(client) else { return };
        let is_away = !self.shared.migrating.is_empty()
            && session.blocked.as_ref().is_some_and(|it| self.shared.passes_over(it, key));
        // Who asked for the schema that comes does not wait for itself.
        let hold = self.shared.hold().filter(|_| !self.shared.is_changing_over_for(client));
        let is_held = |blocked: &Blocked| {
            let args = blocked.args.args();
            hold.is_some_and(|hold| hold.concerns(&self.keys, blocked.db, blocked.command, args))
        };
        let goes_on = |blocked: &mut Blocked| blocked.wants == holds && !is_held(blocked);
        if let Some(blocked) = session.blocked.take_if(|it| !is_away && goes_on(it)) {
            let mut out = Vec::new();
            self.keys.effects.begin_unit();
            let (command, args) = (blocked.command, blocked.args.args());
            self.call(host, &mut session, Mode::Woken(key), command, args, &[], &mut out);
            if out.is_empty() {
                session.blocked = Some(blocked);
            } else {
                self.keys.changes.waiting.end(client, &blocked);
                out.append(&mut session.pushes);
                self.shared.outbox.push(Delivery::Output(client, out.into()));
                self.shared.outbox.push(Delivery::Unblocked(client));
            }
        }
        self.shared.sessions.put_back(session);
    }

    /// Goes on with the schema that is planned, the one that is applied and keys that are
    /// looked through; who waits for it goes on when it is done. Whether there is more to do.
    fn go_on_with_schemas(&mut self, host: &mut dyn Host) -> bool {
        self.keys.look_at_some_suspects(SUSPECTS_AT_ONCE);
        let planned = self.shared.go_on_planning(&mut self.keys);
        self.keys.effects.begin_unit();
        let applied = self.shared.go_on_changing_over(&mut self.keys, host);
        self.shared.go_on_reloading(&mut self.keys, host);
        let walked = self.shared.go_on_walking(&self.keys);
        for client in planned.into_iter().chain(applied).chain(walked) {
            self.retry(host, client, Type::String, &[]);
        }
        self.after_unit(host);
        self.shared.remains.shed(host);
        self.shared.is_at_schemas(&self.keys) || self.keys.has_suspects(1)
    }

    /// Goes on with the client whose text of a schema the host has read.
    pub fn schema_read(&mut self, host: &mut dyn Host, draft: Draft) {
        if let Some(client) = self.shared.take_draft(host, draft) {
            self.keys.effects.begin_unit();
            self.retry(host, client, Type::String, &[]);
            self.after_unit(host);
        }
    }

    /// What a client waited for is read (`Host::prepare_config`, `Host::read_users_elsewhere`):
    /// its command goes on.
    pub fn prepared(&mut self, host: &mut dyn Host, client: ClientId) {
        let session = self.shared.sessions.get(client);
        let blocked = session.and_then(|session| session.blocked.as_ref());
        let waits = |id: CommandId| matches!(id, CommandId::ConfigSet | CommandId::AclLoad);
        if blocked.is_some_and(|blocked| waits(blocked.command.id)) {
            self.keys.effects.begin_unit();
            self.retry(host, client, Type::String, &[]);
            self.after_unit(host);
        }
    }

    /// What is needed to read the files of a database's schema anew, but their texts.
    pub fn proposal(&self, db: usize) -> Proposal {
        Proposal::of_files(&self.keys, db)
    }

    /// The text of the schema that a keyspace of a database is under, with all that it
    /// includes.
    pub fn schema_text(&self, db: usize, keyspace: usize) -> Option<&str> {
        let book = self.keys.book_of(db)?;
        Some(schema_at(book, keyspace).source.whole_text())
    }

    /// The keyspaces in force, by database and name, and what becomes of writes that break
    /// their schemas.
    pub fn keyspaces_in_force(&self) -> impl Iterator<Item = (usize, &str, keyward_schema::Mode)> {
        let books = self.keys.databases().enumerate();
        books.filter_map(|(db, database)| Some((db, database.book()?))).flat_map(|(db, book)| {
            let keyspaces = book.schema().keyspaces().enumerate();
            keyspaces.map(move |(index, keyspace)| (db, &*keyspace.name, book.mode_in(index)))
        })
    }

    /// Puts schemas in force that were read from their files anew, and loads libraries of
    /// functions: in steps by ticks, all or none, and only where that changes no row. The
    /// host hears what came of it (`Host::reloaded`).
    pub fn reload(&mut self, host: &mut dyn Host, drafts: Vec<Draft>, libraries: Vec<Library>) {
        if self.shared.primary.is_some() {
            return host.reloaded(Err(IS_REPLICA.to_owned()));
        }
        self.shared.reloading = Some(Box::new(Reloading::new(drafts, libraries)));
    }

    /// Runs what a client sent while it was waiting. The host calls this when it
    /// hears that the client is unblocked, before it executes newer input.
    pub fn resume(&mut self, host: &mut dyn Host, client: ClientId, out: &mut Vec<u8>) -> Progress {
        let Some(mut session) = self.shared.sessions.take(client) else {
            return Progress::Closing;
        };
        self.shared.stats.clock_ns = host.monotonic_ns();
        if session.is_primary {
            self.shared.sessions.put_back(session);
            return self.follow_waiting(host, client, out);
        }
        while !session.is_closing
            && !session.is_waiting()
            && let Some(args) = session.postponed.pop_front()
        {
            self.accept(host, &mut session, None, args.args(), &[], out);
        }
        let progress = Progress::of(&session);
        self.shared.sessions.put_back(session);
        progress
    }

    /// Does what time demands: waits end, due rows go, within a bounded effort.
    /// Returns whether there is more to do at once.
    pub fn tick(&mut self, host: &mut dyn Host) -> bool {
        if !self.shared.replicas.waits.is_empty() {
            self.shared.serve_acknowledged(&mut self.keys, host);
        }
        while let Some(client) = self.keys.changes.waiting.timed_out(self.keys.now_ms()) {
            self.shared.end_wait(&mut self.keys, host, client, None);
        }
        self.end_pause_if_over();
        self.shared.look_after_followers(&mut self.keys, host);
        self.shared.look_after_primary(&mut self.keys, host);
        self.fail_over(host);
        self.end_if_ready(host);
        self.keys.effects.begin_unit();
        let begun_ns = host.monotonic_ns();
        let switches = &self.shared.switches;
        let rests = self.shared.is_loading
            || self.keys.is_following()
            || self.shared.pause.is_some()
            || self.shared.hold().is_some()
            || !switches.sweeps
            || switches.is_cron_paused;
        let is_sweeping = !rests && self.keys.sweep(SWEEP_WORK_MAX) || self.sweep_own_rows();
        governed::follow_ended_by_itself(&mut self.keys, &mut self.shared, host);
        changefeed::begin_histories(&mut self.keys, &mut self.shared, host);
        let is_ending = !self.shared.is_loading
            && !self.keys.is_following()
            && self.shared.pause.is_none()
            && ends::step(&mut self.keys, &mut self.shared, host);
        let stats = &mut self.shared.stats;
        stats.clock_ns = host.monotonic_ns();
        let ns = stats.clock_ns.saturating_sub(begun_ns);
        stats.sweep_ns += ns;
        self.shared.note_latency("expire-cycle", ns);
        self.after_unit(host);
        self.keys.reclaim.step(if is_sweeping { RECLAIM_PER_SWEEP } else { RECLAIM_PER_TICK });
        self.keys.weed();
        self.keys.look_at_lists();
        let may_evict = self.shared.hold().is_none() && !self.shared.spares_memory();
        let is_evicting = may_evict && self.evict_between_commands(host);
        if !self.shared.is_loading {
            let limits = Limits {
                memory: self.shared.tunables.memory.bytes_max,
                changefeed: self.shared.tunables.changefeed_bytes_max,
            };
            let said = self.shared.pressure.look(&self.keys, limits, || host.used_memory());
            for (level, line) in said {
                host.log(level, line.as_bytes());
            }
        }
        let is_planning = self.go_on_with_schemas(host) | self.bring_replicated();
        let is_adopting = !self.shared.is_loading && self.keys.adopt_told_ends(BUCKETS_PER_TICK);
        if !self.shared.migrating.is_empty() {
            self.go_on_with_answers(host);
        }
        self.shared.spread_news(&mut self.keys, None);
        self.shared.limit_tracking(&mut self.keys, None);
        ends::release(&self.keys, &mut self.shared);
        is_sweeping
            || is_ending
            || self.keys.is_freeing()
            || is_evicting
            || is_planning
            || is_adopting
    }

    /// Uses a moment in which nothing else is to be done, or a small share of the time
    /// while there is: rows that nobody has used for a while are packed, a few at a time.
    /// Returns whether there are more.
    pub fn rest(&mut self) -> bool {
        self.keys.pack_idle(PACKED_PER_REST);
        self.has_leisure_work()
    }

    /// Whether `rest` has something to do.
    pub fn has_leisure_work(&self) -> bool {
        self.keys.has_idle()
    }

    /// Goes on with a walk that moves everything to other allocations, for a fraction of a
    /// millisecond; returns whether there is more. Worth it where memory is scattered.
    pub fn gather(&mut self, walk: &mut Gathering) -> bool {
        self.keys.gather(walk)
    }

    /// When the next tick is due, in milliseconds since the epoch: when a wait or the
    /// pause ends, or at once if there is memory to be freed or a schema to be planned.
    /// Otherwise it has time.
    pub fn next_deadline(&self) -> Option<i64> {
        let is_planning =
            self.shared.is_at_schemas(&self.keys) || self.keys.has_suspects(SUSPECTS_AT_ONCE);
        let is_ending = (self.keys.has_pending() || !self.shared.awaiting.is_empty())
            && !self.keys.is_following()
            && self.shared.pause.is_none();
        let is_busy = self.keys.is_freeing() || self.shared.relief.is_underway;
        if is_busy || is_ending || is_planning || self.shared.is_bringing() {
            return Some(self.keys.now_ms());
        }
        let pause_end = self.shared.pause.as_ref().map(|pause| pause.until_ms + 1);
        let wait_end = self.keys.changes.waiting.next_deadline();
        pause_end.into_iter().chain(wait_end).min()
    }

    /// What is to go to clients other than the one whose commands ran.
    pub fn take_deliveries(&mut self) -> Vec<Delivery> {
        let Shared { sessions, outbox, tracking, .. } = &mut self.shared;
        tracking.send_broadcasts(&mut Courier { sessions, outbox, current: None });
        self.shared.feed_effects(&mut self.keys);
        self.shared.outbox.take()
    }

    /// What a client is shown without asking, for the limits of its output.
    pub fn listening(&self, client: ClientId) -> Listening {
        match self.shared.sessions.get(client) {
            Some(session) if session.is_replica => match self.shared.replicas.get(client) {
                Some(replica) if !replica.is_fed => Listening::ToSnapshot,
                _ => Listening::ToChanges,
            },
            Some(session) if !session.subscriptions.is_empty() => Listening::ToChannels,
            _ => Listening::No,
        }
    }

    /// Whether a client listens to channels or to what others do, and so need not send.
    pub fn is_listener(&self, client: ClientId) -> bool {
        let session = self.shared.sessions.get(client);
        session.is_some_and(|session| {
            session.is_monitor
                || session.is_replica
                || session.is_primary
                || !session.subscriptions.is_empty()
        })
    }

    /// Bytes of a client, without its connection, and whether it may be disconnected to
    /// save them.
    pub fn client_memory(&self, client: ClientId) -> (usize, bool) {
        let session = self.shared.sessions.get(client);
        session.map_or((0, false), |session| {
            let is_evictable = !session.no_evict && !session.is_replica && !session.is_primary;
            (self.shared.client_bytes(&self.keys, session), is_evictable)
        })
    }

    /// Changes since the engine began.
    pub fn dirty(&self) -> u64 {
        self.keys.changes.dirty
    }

    /// Commands executed since the engine began.
    pub fn commands_processed(&self) -> u64 {
        self.shared.stats.processed
    }

    /// Puts new settings in force.
    pub fn set_tunables(&mut self, tunables: Tunables) {
        self.shared.set_tunables(&mut self.keys, tunables);
    }

    /// The keyspace, for persistence and tests.
    pub fn keyspace(&mut self) -> &mut Keyspace {
        &mut self.keys
    }

    /// Figures for INFO.
    pub fn facts(&self) -> Facts {
        self.shared.facts(&self.keys)
    }
}

/// Whether this is a line of a browser's request, not a command. A web page can make the
/// browser of whoever looks at it send such lines here, and commands in their body: Redis
/// closes the connection on the first of them, and so drops what follows.
fn is_http(args: Args<'_>) -> bool {
    let name = args.get(0).unwrap_or_default();
    name.eq_ignore_ascii_case(b"post") || name.eq_ignore_ascii_case(b"host:")
}
