//! What all clients share besides the keys.
//!
//! Owns the sessions, the settings in force, scripts, channels, tracking, counters and
//! the outbox, and what is done to several of these at once: a wait ends, a client goes,
//! news spread.
//! Not here: rows (`keyspace`), the life of a command (`engine`).

use crate::acl::{Acl, NewChannels};
use crate::engine::context::{Handlers, Outcome};
use crate::engine::migrating::Migrating;
use crate::engine::pressure::Pressure;
use crate::engine::relief::Relief;
use crate::engine::switches::Switches;
use crate::governed::arrival::Arrival;
use crate::governed::awaited::Awaited;
use crate::governed::changeover::Changeover;
use crate::governed::deferred::Unit;
use crate::governed::feed_history::History;
use crate::governed::memory::{
    Annotations, Applied, Keyspaces, Memory, ReplacedTexts, push_annotations,
};
use crate::governed::plan::{Plan, Reading, Remains};
use crate::governed::reloading::Reloading;
use crate::governed::strangers::Strangers;
use crate::host::{Facts, Host};
use crate::scripting::Scripts;
use crate::sessions::courier::{Courier, Deliveries, Delivery};
use crate::sessions::failover::Failover;
use crate::sessions::log_cover::LogCover;
use crate::sessions::monitor;
use crate::sessions::pause::Pause;
use crate::sessions::primary::Primary;
use crate::sessions::pubsub::{self, PubSub};
use crate::sessions::refusals::Refusals;
use crate::sessions::replicas::{AckWait, Replicas};
use crate::sessions::replication::{Place, Replication};
use crate::sessions::session::{Session, Sessions};
use crate::sessions::shutdown::Shutdown;
use crate::sessions::stats::Stats;
use crate::sessions::stream::AppendLog;
use crate::sessions::tracking::Tracking;
use crate::sessions::transaction::{self, Executing};
use crate::snapshot::{Coverage, Head};
use crate::tunables::Tunables;
use keyward_commands::flags::Flag;
use keyward_commands::{Command, CommandId, Names, WireError};
use keyward_resp::{Args, ReplyWriter};
use keyward_rules::Sender;
use keyward_store::keyspace::Keyspace;
use keyward_store::keyspace::blocking::TimeoutReply;
use keyward_store::keyspace::changes::News;
use keyward_store::keyspace::client_id::ClientId;
use keyward_store::tables::database::Database;
use std::collections::BTreeSet;

/// What all clients share besides the keys.
#[derive(Debug)]
pub(crate) struct Shared {
    /// What commands do.
    pub(crate) handlers: &'static Handlers,
    /// All clients but the one whose command runs.
    pub(crate) sessions: Sessions,
    /// The settings in force.
    pub tunables: Tunables,
    /// Users and their rights.
    pub(crate) acl: Acl,
    /// What commands are called.
    pub(crate) names: Names,
    /// What is to go to other clients.
    pub(crate) outbox: Deliveries,
    /// What is known about commands that have run.
    pub(crate) stats: Stats,
    /// The last commands that broke a schema.
    pub(crate) refusals: Refusals,
    /// The time in microseconds, for TIME.
    pub(crate) now_us: i64,
    /// How long DEBUG SLEEP has slept since the time was set. A unit has one time: it
    /// counts after the unit.
    pub(crate) slept_us: i64,
    /// Scripts and function libraries.
    pub(crate) scripts: Scripts,
    /// Why writes are refused: what should outlive the process cannot be written.
    pub(crate) write_refusal: Option<WireError>,
    /// Rows are being loaded: nobody may see them yet.
    pub(crate) is_loading: bool,
    /// The histories that changefeeds are in.
    pub(crate) histories: Vec<History>,
    /// The unit that added to a changefeed last.
    pub(crate) told_unit: u64,
    /// Whether changefeeds are to begin histories at the next tick.
    pub(crate) begins_histories: bool,
    /// What DEBUG has switched.
    pub(crate) switches: Switches,
    /// Who listens to which channel.
    pub(crate) pubsub: PubSub,
    /// Who has read which key.
    pub(crate) tracking: Tracking,
    /// Who is shown every command.
    pub(crate) monitors: Vec<ClientId>,
    /// The stream of changes.
    pub(crate) replication: Replication,
    /// Who follows it.
    pub(crate) replicas: Replicas,
    /// The server that this one follows, if it is a replica.
    pub(crate) primary: Option<Box<Primary>>,
    /// A replica is to take over.
    pub(crate) failover: Option<Failover>,
    /// The end of the server, which waits for replicas.
    pub(crate) shutdown: Option<Shutdown>,
    /// What is to be appended to the append-only file.
    pub(crate) log: AppendLog,
    /// Which databases that file has.
    pub(crate) log_cover: LogCover,
    /// The pause, if there is one.
    pub(crate) pause: Option<Pause>,
    /// Keys that are on their way to another server.
    pub(crate) migrating: Migrating,
    /// Who waits for what large ends have yet to remove.
    pub(crate) awaiting: Vec<Awaited>,
    /// Nothing is written under a schema before all pending ends are over.
    pub(crate) drains_ends: bool,
    /// How memory stood before the running command.
    pub(crate) relief: Relief,
    /// Which keyspaces were warned of because they fill up.
    pub(crate) pressure: Pressure,
    /// The text of a schema that the host reads.
    pub(crate) reading: Option<Reading>,
    /// How many texts the host reads before that one for clients that have gone.
    pub(crate) unwanted_drafts: usize,
    /// The schema that was planned last, if it was not applied.
    pub(crate) plan: Option<Plan>,
    /// The schema that is on the way into force.
    pub(crate) changeover: Option<Changeover>,
    /// Files of schemas that are being reloaded.
    pub(crate) reloading: Option<Box<Reloading>>,
    /// The transaction or script that is running and is judged at its end.
    pub(crate) unit: Option<Unit>,
    /// A transaction is being carried out, or a script: nothing of it is refused for lack of
    /// room in a changefeed.
    pub(crate) is_unit_begun: bool,
    /// The transaction that EXEC is carrying out, which is its client's no more.
    pub(crate) executing: Option<Executing>,
    /// What plans left behind.
    pub(crate) remains: Remains,
    /// Keys without a pattern that are being looked through.
    pub(crate) strangers: Option<Strangers>,
    /// Schemas that are to govern the rows which a start loads.
    pub(crate) arrival: Option<Box<Arrival>>,
    /// Databases that were promoted with rows which their schema did not govern.
    pub(crate) observing_since_promotion: BTreeSet<usize>,
    /// What the file remembers that was loaded last, if it remembers anything; annotations that
    /// are being read.
    pub(crate) origin: Option<Memory>,
    pub(crate) annotations: Annotations,
    /// Texts of files that other schemas took the place of.
    pub(crate) replaced: ReplacedTexts,
    /// What KEYWARD SCHEMA APPLY did since the last snapshot, or earlier.
    pub(crate) applied: Applied,
    /// What governed rows that a schema only observes now, by database.
    pub(crate) observed: Keyspaces,
    /// The schemas that the files remembered which were loaded.
    pub(crate) schemas_loaded: String,
}

/// What a client is told that is unblocked before its command has an answer.
fn unanswered(command: CommandId) -> &'static [u8] {
    match command {
        // They go on only for who waits.
        CommandId::ConfigSet | CommandId::AclLoad => {
            b"UNBLOCKED client unblocked via CLIENT UNBLOCK, its command has no effect"
        }
        _ => b"UNBLOCKED client unblocked via CLIENT UNBLOCK, the outcome of its command is not known",
    }
}

impl Shared {
    /// What clients share in an engine without clients.
    pub(crate) fn new(
        keys: &mut Keyspace,
        handlers: &'static Handlers,
        seed: u64,
        tunables: Tunables,
    ) -> Shared {
        let mut shared = Shared {
            handlers,
            sessions: Sessions::default(),
            stats: Stats::new(&tunables),
            refusals: Refusals::default(),
            tunables: Tunables::default(),
            acl: Acl::default(),
            names: Names::default(),
            outbox: Deliveries::default(),
            now_us: 0,
            slept_us: 0,
            scripts: Scripts::new(seed),
            write_refusal: None,
            is_loading: false,
            histories: Vec::new(),
            told_unit: 0,
            begins_histories: false,
            log: AppendLog::default(),
            log_cover: LogCover::default(),
            switches: Switches::default(),
            pubsub: PubSub::default(),
            tracking: Tracking::new(keys.hasher()),
            monitors: Vec::new(),
            replication: Replication::new(seed),
            replicas: Replicas::default(),
            primary: None,
            failover: None,
            shutdown: None,
            pause: None,
            migrating: Migrating::default(),
            awaiting: Vec::new(),
            drains_ends: false,
            relief: Relief::default(),
            pressure: Pressure::default(),
            reading: None,
            unwanted_drafts: 0,
            plan: None,
            changeover: None,
            reloading: None,
            unit: None,
            is_unit_begun: false,
            executing: None,
            remains: Remains::default(),
            strangers: None,
            arrival: None,
            observing_since_promotion: BTreeSet::new(),
            origin: None,
            annotations: Annotations::default(),
            replaced: ReplacedTexts::default(),
            applied: Applied::default(),
            observed: Keyspaces::new(),
            schemas_loaded: String::new(),
        };
        shared.set_tunables(keys, tunables);
        shared
    }

    /// What stands before the rows of a snapshot.
    pub(crate) fn snapshot_head(&self, keys: &Keyspace) -> Head<'_> {
        let (compresses, now_us) = (self.tunables.compresses, self.now_us);
        let schemas = self.memory(keys).text();
        // The place of a replica's rows is one of its primary's history, whatever becomes of it.
        let place = self.primary.as_ref().and_then(|_| self.saved_place(keys));
        let unlogged = self.log_cover.left_out(keys, self.log.is_on);
        Head { scripts: &self.scripts, compresses, now_us, schemas, place, unlogged }
    }

    /// As `snapshot_head`, of the last snapshot before the end. It says where the stream of
    /// changes is if all rows are in it.
    pub(crate) fn last_snapshot_head(&self, keys: &Keyspace) -> Head<'_> {
        Head { place: self.saved_place(keys), ..self.snapshot_head(keys) }
    }

    /// Where the stream of changes is, if a snapshot has all rows that it is about.
    fn saved_place(&self, keys: &Keyspace) -> Option<(Place, usize)> {
        let is_kept =
            |database: &Database| database.is_empty() || Coverage::Whole.includes(database);
        let is_whole = self.replication.is_on() && keys.databases().all(is_kept);
        (is_whole && self.is_copy()).then(|| (self.replication.place(), self.stream_db()))
    }

    /// What files are to remember of the schemas in force.
    pub(crate) fn memory(&self, keys: &Keyspace) -> Memory {
        Memory::of(keys, &self.replaced_texts(keys), &self.observed, &self.untold(keys))
    }

    /// A client comes.
    pub(crate) fn connect(&mut self, now_ms: i64) -> ClientId {
        let id = self.sessions.next_id();
        let mut session = Session::new(id, now_ms, false);
        self.greet(&mut session);
        self.sessions.insert(session);
        id
    }

    /// Makes a client the one that nobody has said anything about.
    pub(crate) fn greet(&self, session: &mut Session) {
        session.become_user(self.acl.default_user(), self.acl.is_open());
    }

    /// A client goes.
    pub(crate) fn disconnect(&mut self, keys: &mut Keyspace, client: ClientId) {
        let Some(mut session) = self.sessions.remove(client) else { return };
        self.forget(keys, &mut session);
        if let Some(pause) = &mut self.pause {
            pause.clients.retain(|held| *held != client);
        }
        if let Some(hold) = self.changeover.as_mut().and_then(|it| it.hold.as_mut()) {
            hold.clients.retain(|held| *held != client);
        }
        self.migrating.clients.retain(|held| *held != client);
        self.awaiting.retain(|awaited| awaited.client != client);
        if let Some(blocked) = &session.blocked {
            keys.changes.waiting.end(client, blocked);
            self.end_ack_wait(client);
        }
        if session.is_primary {
            self.lose_link(client, keys.now_ms());
        }
    }

    /// Ends a client other than the one that is served: it hears nothing of what comes after,
    /// and is given nothing that it waited for.
    pub(crate) fn end_client(&mut self, keys: &mut Keyspace, client: ClientId) {
        self.disconnect(keys, client);
        self.outbox.push(Delivery::Close(client));
    }

    /// Bytes of a client, without its connection.
    pub(crate) fn client_bytes(&self, keys: &Keyspace, session: &Session) -> usize {
        session.bytes() + keys.changes.watches.bytes_of(session.id)
    }

    /// Whether a client that has the right to a command may send it now, as far as its own
    /// state and that of the server say.
    #[inline(always)]
    pub(crate) fn check_state(&self, session: &Session, command: &'static Command) -> Outcome {
        // One branch for all of it: mostly there is nothing that could refuse a command.
        let is_usual = self.write_refusal.is_none()
            & session.transaction.is_none()
            & !self.replicas.are_too_few
            & self.primary.is_none()
            & session.subscriptions.is_empty()
            & !self.is_loading
            & !session.is_monitor
            & !session.is_replica;
        if is_usual { Ok(()) } else { self.check_unusual_state(session, command) }
    }

    fn check_unusual_state(&self, session: &Session, command: &'static Command) -> Outcome {
        // Redis refuses PING too, so that whoever watches the server notices.
        if let Some(refusal) = &self.write_refusal
            && (transaction::writes(session, command) || command.id == CommandId::Ping)
        {
            return Err(refusal.clone());
        }
        if session.transaction.is_some() && command.flags.has(Flag::NoMulti) {
            return Err(WireError::NotInTransaction);
        }
        if self.replicas.are_too_few && transaction::writes(session, command) {
            return Err(WireError::NoReplicas);
        }
        if self.primary.is_some() && self.is_read_only() && transaction::writes(session, command) {
            return Err(WireError::ReadOnlyReplica);
        }
        if !session.subscriptions.is_empty() {
            pubsub::check_subscriber(session, command)?;
        }
        if self.is_stale() && transaction::lacks(session, command, Flag::Stale) {
            return Err(WireError::MasterDown);
        }
        if self.is_loading && transaction::lacks(session, command, Flag::Loading) {
            return Err(WireError::Loading);
        }
        if session.is_monitor || session.is_replica {
            monitor::check_watcher(session, command)?;
        }
        Ok(())
    }

    /// Replies to a command that is not run with this error.
    pub(crate) fn refuse(
        &mut self,
        keys: &mut Keyspace,
        session: &mut Session,
        args: Args<'_>,
        mut error: WireError,
        out: &mut Vec<u8>,
    ) {
        let command = self.names.find(args).ok();
        if command.is_some_and(|command| command.id == CommandId::Exec) {
            error = transaction::refuse_exec(keys, session, &error);
        }
        if let Some(transaction) = &mut session.transaction {
            transaction.is_aborted = true;
        }
        self.stats.errors.count(error.code());
        if let Some(command) = command {
            self.stats.calls.of_mut(command.id).rejected += 1;
        }
        error.write_to(&mut ReplyWriter::new(out, session.protocol));
    }

    /// Ends the wait of a client, if it waits: with this error, or with what it
    /// gets when its time is over. Returns whether it waited.
    pub(crate) fn end_wait(
        &mut self,
        keys: &mut Keyspace,
        host: &mut dyn Host,
        client: ClientId,
        error: Option<WireError>,
    ) -> bool {
        let Some(mut session) = self.sessions.take(client) else { return false };
        let Some(blocked) = session.blocked.take() else {
            self.sessions.put_back(session);
            return false;
        };
        keys.changes.waiting.end(client, &blocked);
        let awaited = self.end_ack_wait(client);
        let is_unanswered = blocked.on_timeout == TimeoutReply::Zero && awaited.is_none();
        let error = match error {
            None if is_unanswered => Some(WireError::line(&[unanswered(blocked.command.id)])),
            error => error,
        };
        let ns = std::mem::take(&mut session.spent_ns);
        let counters = self.stats.calls.of_mut(blocked.command.id);
        if let Some(error) = &error {
            self.stats.errors.count(error.code());
            counters.failed += 1;
        }
        if self.stats.is_tracking {
            counters.record(ns);
        }
        if ns >= self.stats.slow_ns {
            let call = (blocked.command, blocked.args.args(), Sender::Client);
            self.note_slow(host, (keys, blocked.db), &session, call, ns);
        }
        let mut out = Vec::new();
        let mut reply = ReplyWriter::new(&mut out, session.protocol);
        match error {
            Some(error) => error.write_to(&mut reply),
            None => match blocked.on_timeout {
                TimeoutReply::NullArray => reply.null_array(),
                TimeoutReply::Zero => self.tell_acknowledged(host, awaited, &mut reply),
            },
        }
        self.sessions.put_back(session);
        self.outbox.push(Delivery::Output(client, out.into()));
        self.outbox.push(Delivery::Unblocked(client));
        true
    }

    /// A client waits no longer for acknowledgements; what it waited for, if it did.
    fn end_ack_wait(&mut self, client: ClientId) -> Option<AckWait> {
        let waits = &mut self.replicas.waits;
        let index = waits.iter().position(|wait| wait.client == client)?;
        Some(waits.swap_remove(index))
    }

    /// Replies how many acknowledgements have come.
    fn tell_acknowledged(
        &self,
        host: &mut dyn Host,
        awaited: Option<AckWait>,
        reply: &mut ReplyWriter<'_>,
    ) {
        match awaited {
            None => reply.integer(0),
            Some(wait) if wait.safe.is_none() => {
                reply.integer(self.replicas.acknowledged(wait.offset));
            }
            Some(wait) => {
                let is_synced = host.log_ends().is_some_and(|(_, synced)| wait.is_synced(synced));
                reply.array(2);
                reply.integer(i64::from(is_synced));
                reply.integer(self.replicas.synced(wait.offset));
            }
        }
    }

    /// The channels, and the way to those who listen; `current` is whose command runs.
    pub(crate) fn pubsub_and_courier<'a>(
        &'a mut self,
        current: &'a mut Session,
    ) -> (&'a PubSub, Courier<'a>) {
        let Shared { sessions, outbox, pubsub, .. } = self;
        (pubsub, Courier { sessions, outbox, current: Some(current) })
    }

    /// Has effects recorded while somebody wants them.
    pub(crate) fn listen(&self, keys: &mut Keyspace) {
        // The stream of a server that follows is made of the bytes it gets.
        let is_wanted = self.log.is_on || self.replication.is_on() && self.primary.is_none();
        keys.is_logged = self.log.is_on;
        if keys.effects.is_listening() && !is_wanted {
            keys.effects.clear();
        }
        keys.effects.listen(is_wanted);
    }

    /// Has the append-only file remember the schemas in force, if it remembers others.
    #[cold]
    pub(crate) fn annotate_log(&mut self, keys: &Keyspace) {
        let text = self.memory(keys).text();
        if !text.is_empty() || !self.log_cover.is_whole() {
            self.log.annotate(|lines| self.log_cover.tell(lines));
        }
        self.log.remember(keys.schema_version(), text, push_annotations);
        self.log.annotate(|lines| self.log_cover.follow(keys, lines));
    }

    /// A snapshot has been written, or could not be: of this instant, or the one that was captured
    /// in steps.
    pub(crate) fn snapshot_ended(&mut self, is_written: bool) {
        let mut told = Vec::new();
        self.log_cover.end_snapshot(is_written, &mut told);
        self.log.annotate(|lines| lines.append(&mut told));
    }

    /// Whether commands concern others than their client: somebody is shown them, or
    /// keys are tracked.
    #[inline]
    pub(crate) fn is_observed(&self) -> bool {
        self.tracking.is_on() || !self.monitors.is_empty()
    }

    /// Tells everybody concerned what has happened to keys since the last call.
    pub(crate) fn spread_news(&mut self, keys: &mut Keyspace, current: Option<&mut Session>) {
        let Shared { sessions, outbox, pubsub, tracking, .. } = self;
        let mut courier = Courier { sessions, outbox, current };
        for untold in keys.changes.news.drain(..) {
            match untold.news {
                News::Event(event) => {
                    pubsub.publish_event(keys.changes.notify, &event, &mut courier);
                }
                News::Changed(key) => tracking.key_changed(key, &mut courier),
                News::Flushed => tracking.flushed(&mut courier),
            }
        }
    }

    /// Keeps the number of tracked keys within its bound.
    pub(crate) fn limit_tracking(&mut self, keys: &mut Keyspace, current: Option<&mut Session>) {
        let Shared { sessions, outbox, tracking, tunables, .. } = self;
        let mut courier = Courier { sessions, outbox, current };
        tracking.shrink(tunables.tracked_keys_max, &mut keys.random, &mut courier);
    }

    /// Ends everything a client takes part in but what it waits for: it goes, or begins
    /// anew.
    pub(crate) fn forget(&mut self, keys: &mut Keyspace, session: &mut Session) {
        keys.changes.watches.unwatch(session.id);
        self.pubsub.unsubscribe_all(session);
        self.tracking.disable(session);
        keys.changes.is_tracked = self.tracking.is_on();
        if std::mem::take(&mut session.is_monitor) {
            self.monitors.retain(|monitor| *monitor != session.id);
        }
        if std::mem::take(&mut session.is_replica) {
            self.replicas.remove(session.id, keys.now_ms());
            self.trim_backlog();
            self.count_good_replicas(keys.now_ms());
        }
    }

    /// Puts new settings in force.
    pub(crate) fn set_tunables(&mut self, keys: &mut Keyspace, tunables: Tunables) {
        keys.changes.notify = tunables.notify;
        self.stats.obey(&tunables);
        keys.lazy = tunables.lazy;
        keys.access.set_rates(tunables.memory.rates);
        keys.access.set_idle_seconds(tunables.pack_after_seconds);
        keys.set_policy(tunables.memory.policy);
        keys.memory_max = tunables.memory.bytes_max;
        if self.tunables.password != tunables.password {
            self.acl.set_default_password(tunables.password.as_deref());
        }
        self.acl.log.set_len_max(tunables.denied_log_len_max);
        self.acl.new_channels = match tunables.grants_new_users_channels {
            true => NewChannels::All,
            false => NewChannels::None,
        };
        // What is impossible under a limit may be possible under another.
        self.relief = Relief::default();
        self.tunables = tunables;
        self.count_good_replicas(keys.now_ms());
    }

    /// Figures for INFO. The client whose command runs counts too.
    pub(crate) fn facts(&self, keys: &Keyspace) -> Facts {
        Facts {
            snapshot: keys.snapshot_progress(),
            captured_bytes: keys.captured_bytes(),
            keys: keys.stats,
            commands: self.stats.processed,
            error_replies: self.stats.errors.total(),
            sweep_ns: self.stats.sweep_ns,
            clients: self.sessions.len() - self.replicas.all().len(),
            blocked_clients: keys.changes.waiting.count()
                + self.pause.as_ref().map_or(0, |pause| pause.clients.len())
                + self.hold().map_or(0, |hold| hold.clients.len())
                + self.awaiting.len(),
            timed_waits: keys.changes.waiting.timed_count(),
            dirty: keys.changes.dirty,
            scripts: self.scripts.facts(),
            channels: self.pubsub.count(pubsub::Kind::Channel),
            patterns: self.pubsub.count(pubsub::Kind::Pattern),
            shard_channels: self.pubsub.count(pubsub::Kind::Shard),
            tracking: self.tracking.facts(),
            index_bytes: keys.databases().map(Database::index_bytes).sum(),
            deadline_bytes: keys.databases().map(Database::deadline_bytes).sum(),
            lazy_pending: keys.reclaim.pending(),
            lazy_freed: keys.reclaim.freed(),
            client_bytes: self.sessions.all().map(|s| self.client_bytes(keys, s)).sum(),
            replicas: self.replicas.count(),
            full_syncs: self.replicas.counters.full,
            partial_syncs: self.replicas.counters.partial,
            refused_syncs: self.replicas.counters.refused,
            backlog_bytes: self.replication.backlog().map_or(0, |backlog| backlog.heap_bytes()),
            held_stream_bytes: self.held_stream_bytes(),
            ends_in_ms: self.shutdown.as_ref().map(|it| (it.until_ms - keys.now_ms()).max(0)),
        }
    }
}
