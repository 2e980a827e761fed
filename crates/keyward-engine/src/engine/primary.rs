//! Following another server: this one is a replica.
//!
//! Owns what happens between the stream of a primary and the rows, and the host's interface for
//! it. The host makes the connection, in attempts on a thread, and says how far it is:
//!
//! 1. somebody wants to follow (REPLICAOF), and the host is told ([`Host::primary_changed`]);
//! 2. the host connects, asks to go on where this server is ([`Engine::resumption`]), and either
//!    may ([`Engine::go_on_following`]), or receives a snapshot, which takes the place of all
//!    rows ([`Engine::begin_copy`], [`Engine::load_rows`], [`Engine::end_copy`]);
//! 3. the stream comes from a client of its own ([`Engine::connect_primary`]), whose bytes go to
//!    [`Engine::follow`].
//!
//! Commands of the stream are carried out as those of a log are: no rule is asked, nobody has
//! to wait, nothing is due. Their bytes are passed on as they came, what is skipped included.
//! Invariants: the place in the history moves by whole units; a replica changes nothing by
//! itself.
//! Not here: sockets, files, names and time limits of attempts (the host).

use crate::engine::Engine;
use crate::engine::batch::Known;
use crate::engine::context::Mode;
use crate::engine::progress::Progress;
use crate::engine::shared::Shared;
use crate::host::Host;
use crate::sessions::courier::Delivery;
use crate::sessions::primary::{LinkStage, Primary, Transfer};
use crate::sessions::replication::{Place, ReplicationId};
use crate::sessions::session::Session;
use crate::sessions::synced::SyncedPlace;
use crate::sessions::transaction;
use crate::snapshot::Loaded;
use keyward_commands::flags::Flag;
use keyward_commands::{Command, CommandId, Names, WireError, args};
use keyward_lua::LogLevel;
use keyward_resp::{
    Args, Batch, Frame, FrameLimits, FrameParser, RequestLimits, RequestParser, push_request,
};
use keyward_store::keyspace::Keyspace;
use keyward_store::keyspace::client_id::ClientId;
use keyward_store::keyspace::loading::Rules;
use keyward_store::tables::reclaim::Freeing;
use std::ops::Range;

/// How often a primary is told how far this server is.
const TELL_INTERVAL_MS: i64 = 1000;
/// Commands that failed, or were skipped, which the log names.
const NAMED_MAX: u64 = 20;
/// Bytes of a command that the log shows.
const SHOWN_BYTES_MAX: usize = 80;

/// What an acknowledgement of a primary says: which schemas govern its rows.
const SCHEMAS: &[u8] = b"KEYWARD-SCHEMAS";
/// Rows that are brought to their tables per tick.
const ROWS_PER_TICK: usize = 500;

/// Due rows of clients of a writable replica that are removed per tick.
const OWN_ROWS_PER_TICK: usize = 200;

/// What clients hear that waited when the server began to follow another.
const UNBLOCKED: &[u8] =
    b"UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)";

/// Where a primary is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrimaryAddress {
    /// Its name or address.
    pub host: Vec<u8>,
    /// Its port.
    pub port: u16,
}

/// What a primary is asked for by PSYNC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resumption {
    /// The id of the history; `?` for none.
    pub id: String,
    /// The number of the first byte that is lacking; −1 for everything.
    pub next: i64,
    /// Whether the other one is to lead from then on (FAILOVER).
    pub is_failover: bool,
    /// Whether it is not known which schemas that history is under.
    pub lacks_schemas: bool,
}

/// Whether a primary sends such a command: what is about rows or scripts, and what holds a
/// stream together. Others, which would change this server, are left out as unknown ones are;
/// so is MIGRATE, which a primary tells of as DEL.
fn is_of_a_stream(command: &Command) -> bool {
    let flags = command.flags;
    flags.has(Flag::Write) && command.id != CommandId::Migrate
        || flags.has(Flag::MayReplicate)
        || flags.has(Flag::ReadOnly) && !flags.has(Flag::Blocking)
        || matches!(
            command.id,
            CommandId::Select
                | CommandId::Ping
                | CommandId::Multi
                | CommandId::Exec
                | CommandId::Discard
                | CommandId::ReplConf
                | CommandId::ScriptLoad
                | CommandId::ScriptFlush
        )
}

impl Shared {
    /// Follows another server from now on. What this one has is kept until that one has said
    /// whether it can go on from there.
    pub(crate) fn follow(
        &mut self,
        keys: &mut Keyspace,
        host: &mut dyn Host,
        (name, port): (&[u8], u16),
    ) {
        self.feed_effects(keys);
        let now_ms = keys.now_ms();
        let db = self.stream_db();
        self.close_link();
        self.put_schemas_aside(keys, host);
        // Rows that lack something lack it until everything comes again.
        let before = self.primary.as_ref();
        let (failures, skipped) = before.map_or((0, 0), |it| (it.failures, it.skipped));
        let primary = Primary { db, failures, skipped, ..Primary::new(name, port, now_ms) };
        self.primary = Some(Box::new(primary));
        keys.follow(true);
        self.listen(keys);
        // Those who follow this server stay: they have to ask anew only if its history goes on
        // under another id, or ends.
        self.count_good_replicas(now_ms);
        for client in self.sessions.ids() {
            let session = self.sessions.get_mut(client);
            if let Some(session) = session.filter(|session| session.blocked.is_some()) {
                session.is_closing = true;
                self.end_wait(keys, host, client, Some(WireError::line(&[UNBLOCKED])));
            }
        }
        host.primary_changed(Some((name, port)));
    }

    /// Follows nobody any longer: what comes from now on is a history of its own.
    pub(crate) fn lead(&mut self, keys: &mut Keyspace, host: &mut dyn Host) {
        if self.primary.is_none() {
            return;
        }
        let is_equal = self.is_copy();
        self.feed_effects(keys);
        self.close_link();
        self.primary = None;
        self.inherit_schemas(keys, host);
        match self.replication.is_on() && is_equal {
            true => self.replication.promote(),
            false => self.replication.forget_history(),
        }
        let now_ms = keys.now_ms();
        // What the former primary told of changes may go further than what has come here.
        self.histories.clear();
        self.begins_histories = true;
        self.replicas.nobody_since_ms = now_ms;
        keys.follow(false);
        self.listen(keys);
        self.close_replicas();
        self.count_good_replicas(now_ms);
        host.primary_changed(None);
    }

    /// Whether the rows are those of its history: who left commands out, or failed at some, has
    /// other rows than its peers at the same place.
    pub(crate) fn is_copy(&self) -> bool {
        let primary = self.primary.as_ref();
        primary.is_none_or(|primary| primary.skipped == 0 && primary.failures == 0)
    }

    /// Ends the connection by which the stream comes.
    fn close_link(&mut self) {
        let client = self.primary.as_mut().and_then(|primary| primary.client.take());
        if let Some(client) = client {
            self.outbox.push(Delivery::Close(client));
        }
    }

    /// Those who follow have to ask anew: the history has another id.
    pub(crate) fn close_replicas(&mut self) {
        for replica in self.replicas.all() {
            self.outbox.push(Delivery::Close(replica.client));
        }
    }

    /// The connection by which the stream came has gone.
    pub(crate) fn lose_link(&mut self, client: ClientId, now_ms: i64) {
        if let Some(primary) = self.primary.as_mut().filter(|it| it.client == Some(client)) {
            primary.client = None;
            // A try that failed is not when the link went down.
            if primary.is_up() {
                primary.down_since_ms = now_ms;
            }
            primary.stage = LinkStage::Connect;
            (primary.unit, primary.waiting) = (Vec::new(), Vec::new());
        }
    }

    /// Goes on with a history of which all rows are loaded: a server that leads under a new id.
    pub(crate) fn resume_history(&mut self, keys: &mut Keyspace, place: Place, db: usize) {
        match &mut self.primary {
            Some(primary) => {
                primary.db = db.min(keys.database_count() - 1);
                self.replication.adopt(place);
            }
            None => self.replication.resume(place),
        }
        self.replicas.nobody_since_ms = keys.now_ms();
        self.listen(keys);
    }

    /// The database that the stream of changes has selected.
    pub(crate) fn stream_db(&self) -> usize {
        match &self.primary {
            Some(primary) => primary.db,
            None => self.replication.selected().unwrap_or(0),
        }
    }

    /// Whether clients cannot write, because this is a replica.
    pub(crate) fn is_read_only(&self) -> bool {
        self.primary.is_some() && self.tunables.replicating.is_read_only
    }

    /// Whether what there is may be old, and is not to be served.
    #[inline]
    pub(crate) fn is_stale(&self) -> bool {
        self.primary
            .as_ref()
            .is_some_and(|primary| !primary.is_up() && !self.tunables.replicating.serves_stale)
    }

    /// Whether limits of memory are somebody else's to keep.
    #[inline]
    pub(crate) fn spares_memory(&self) -> bool {
        // Rows that go while rows are loaded would be in the files still, and so would what is
        // derived from them; Redis evicts nothing then, too.
        self.is_loading || self.primary.is_some() && self.tunables.replicating.ignores_memory_limit
    }

    /// Whether rows are brought to the tables of a schema that the stream has told of.
    pub(crate) fn is_bringing(&self) -> bool {
        self.primary.as_ref().is_some_and(|primary| primary.is_bringing)
    }

    /// Whatever schemas the stream has told of before is void.
    fn stop_hearing(&mut self) {
        if let Some(primary) = &mut self.primary {
            (primary.is_reading, primary.is_bringing) = (false, false);
        }
    }

    /// Tells the primary how far this server is, and notices that it is silent.
    pub(crate) fn look_after_primary(&mut self, keys: &mut Keyspace, host: &mut dyn Host) {
        let now_ms = keys.now_ms();
        let timeout_s = self.tunables.replicating.timeout_s;
        let offset = self.replication.offset();
        let is_collected = self.is_log_whole(keys) && !self.is_loading;
        let Some(primary) = &mut self.primary else { return };
        let ends = host.log_ends();
        let has_synced = match ends.filter(|_| is_collected) {
            Some(ends) => primary.synced.note(offset, ends),
            None => false,
        };
        let Some(client) = primary.client else { return };
        // The clock may have been set back.
        let is_time = !(0..TELL_INTERVAL_MS).contains(&(now_ms - primary.told_ms));
        // Somebody waits there for this (WAITAOF).
        if is_time || has_synced && std::mem::take(&mut primary.is_asking) {
            primary.told_ms = now_ms;
            let synced = ends.map(|_| primary.synced.offset());
            self.outbox.push(Delivery::Output(client, acknowledgement(offset, synced).into()));
        }
        if now_ms / 1000 - primary.heard_ms / 1000 > timeout_s {
            let line = b"MASTER timeout: no data nor PING received...";
            host.log(LogLevel::Warning, line);
            primary.heard_ms = now_ms;
            self.outbox.push(Delivery::Close(client));
        }
    }
}

/// What a primary is told of how far this server is, and its append-only file, if there is one.
fn acknowledgement(offset: u64, synced: Option<u64>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let (offset, synced) = (offset.to_string(), synced.map(|synced| synced.to_string()));
    let mut words = vec!["REPLCONF", "ACK", &offset];
    words.extend(synced.iter().flat_map(|synced| ["FACK", synced.as_str()]));
    push_request(&mut bytes, words.iter());
    bytes
}

impl Engine {
    /// Follows another server from the start on, before rows are loaded.
    pub fn follow_from_start(&mut self, host: &mut dyn Host, name: &[u8], port: u16) {
        self.shared.follow(&mut self.keys, host, (name, port));
    }

    /// The server that this one follows.
    pub fn primary(&self) -> Option<PrimaryAddress> {
        let primary = self.shared.primary.as_ref()?;
        Some(PrimaryAddress { host: primary.host.to_vec(), port: primary.port })
    }

    /// Whether the stream of a primary comes.
    pub fn is_link_up(&self) -> bool {
        self.shared.primary.as_ref().is_some_and(|primary| primary.is_up())
    }

    /// What to ask a primary for: to go on with the history that this server has, or everything.
    pub fn resumption(&self) -> Resumption {
        let replication = &self.shared.replication;
        let (id, next) = match replication.is_on() {
            true => (replication.id().to_string(), replication.offset() as i64 + 1),
            false => ("?".to_owned(), -1),
        };
        let is_failover = self.shared.failover.is_some();
        Resumption { id, next, is_failover, lacks_schemas: !self.shared.tells_schemas() }
    }

    /// The link has got so far.
    pub fn note_link(&mut self, stage: LinkStage) {
        let now_ms = self.keys.now_ms();
        if let Some(primary) = &mut self.shared.primary {
            primary.stage = stage;
            primary.heard_ms = now_ms;
            primary.transfer = Transfer::default();
        }
    }

    /// A snapshot is received so far.
    pub fn note_transfer(&mut self, transfer: Transfer) {
        let now_ms = self.keys.now_ms();
        if let Some(primary) = &mut self.shared.primary {
            primary.transfer = transfer;
            primary.heard_ms = now_ms;
        }
    }

    /// The primary goes on where this server is, by another id if it tells one, and tells of
    /// schemas or does not; whether that is possible.
    pub fn go_on_following(
        &mut self,
        host: &mut dyn Host,
        id: Option<&[u8]>,
        tells_schemas: bool,
    ) -> bool {
        if let Some(id) = id {
            let Some(id) = ReplicationId::parse(id) else { return false };
            if self.shared.replication.follow_under(id) {
                self.shared.close_replicas();
            }
        }
        match tells_schemas {
            true => self.note_telling(true),
            false => self.shared.observe_untold(&mut self.keys, host),
        }
        true
    }

    /// The primary that is followed tells of the schemas of its history, or does not.
    pub fn note_telling(&mut self, tells_schemas: bool) {
        if let Some(arrival) = &mut self.shared.arrival {
            arrival.note_telling(tells_schemas);
        }
    }

    /// A snapshot of the primary is about to take the place of everything. Until it is loaded
    /// clients are told to wait.
    pub fn begin_copy(&mut self, host: &mut dyn Host) {
        let Engine { keys, shared, .. } = self;
        shared.close_replicas();
        shared.is_loading = true;
        for db in 0..keys.database_count() {
            keys.flush(db, Freeing::Lazily);
        }
        keys.effects.clear();
        keys.forget_own_deadlines();
        shared.scripts.remove_libraries();
        shared.stop_hearing();
        shared.observe_replicated(keys, host);
        // Whoever asks now has something else.
        shared.replication.forget_history();
    }

    /// The snapshot could not be loaded: what came of it goes.
    pub fn abandon_copy(&mut self) {
        let Engine { keys, shared, .. } = self;
        for db in 0..keys.database_count() {
            keys.flush(db, Freeing::Lazily);
        }
        keys.effects.clear();
        shared.scripts.remove_libraries();
        let _ = shared.replication.end();
        shared.is_loading = false;
    }

    /// All rows are those of the primary at a place of its history.
    ///
    /// # Errors
    /// If the id is none.
    pub fn end_copy(
        &mut self,
        host: &mut dyn Host,
        (id, offset): (&[u8], u64),
        db: usize,
        loaded: Loaded,
    ) -> Result<(), String> {
        let shown = || id.escape_ascii().to_string();
        let id = ReplicationId::parse(id).ok_or_else(|| format!("{} is no id", shown()))?;
        host.loaded(loaded);
        if let Some(primary) = &mut self.shared.primary {
            (primary.failures, primary.skipped) = (0, 0);
            primary.synced = SyncedPlace::default();
        }
        self.shared.resume_history(&mut self.keys, Place { id, offset }, db);
        self.shared.is_loading = false;
        Ok(())
    }

    /// So many rows of the primary's snapshot were left out: the rows here are others.
    pub fn note_left_out(&mut self, rows: u64) {
        if let Some(primary) = &mut self.shared.primary {
            primary.skipped += rows;
        }
    }

    /// The stream comes from now on, by this client.
    pub fn connect_primary(&mut self) -> ClientId {
        let client = self.connect();
        let now_ms = self.keys.now_ms();
        let Shared { sessions, primary, .. } = &mut self.shared;
        if let (Some(session), Some(primary)) = (sessions.get_mut(client), primary) {
            session.is_primary = true;
            session.is_authenticated = true;
            session.user = None;
            session.db = primary.db;
            primary.client = Some(client);
            primary.stage = LinkStage::Connected;
            (primary.heard_ms, primary.told_ms) = (now_ms, 0);
            primary.unit = Vec::new();
        }
        client
    }

    /// Something has come from the primary, be it part of a command.
    pub fn hear_primary(&mut self, client: ClientId) {
        let now_ms = self.keys.now_ms();
        let primary = self.shared.primary.as_mut();
        if let Some(primary) = primary.filter(|primary| primary.client == Some(client)) {
            primary.heard_ms = now_ms;
        }
    }

    /// What comes from the primary makes no sense, as this sentence says: what follows of its
    /// stream is not known, so everything is asked for when there is a link again.
    pub fn lose_track(&mut self, host: &mut dyn Host, client: ClientId, why: &str) {
        let primary = self.shared.primary.as_ref();
        if primary.is_some_and(|primary| primary.client == Some(client)) {
            let line = format!(
                "{why}: master stream corruption? Closing the master connection and discarding \
                 the cached master."
            );
            host.log(LogLevel::Warning, line.as_bytes());
            self.shared.close_replicas();
            self.shared.replication.forget_history();
        }
    }

    /// Removes rows that are due and that clients of this replica have written; whether there
    /// are more.
    pub(crate) fn sweep_own_rows(&mut self) -> bool {
        self.keys.is_following()
            && !self.shared.is_loading
            && self.shared.pause.is_none()
            && self.shared.switches.sweeps
            && self.keys.own_deadline_count() > 0
            && self.keys.sweep_own(OWN_ROWS_PER_TICK)
    }

    /// Carries out the commands of a primary, which are in this part of the buffer. What is to
    /// be said to it is appended to `out`.
    pub fn follow(
        &mut self,
        host: &mut dyn Host,
        client: ClientId,
        (buffer, part): (&[u8], Range<usize>),
        batch: &Batch,
        out: &mut Vec<u8>,
    ) -> Progress {
        let Some(mut session) = self.shared.sessions.take(client) else {
            return Progress::Closing;
        };
        let now_ms = self.keys.now_ms();
        let is_it = |primary: &&mut Box<Primary>| primary.client == Some(client);
        let Some(primary) = self.shared.primary.as_mut().filter(is_it) else {
            self.shared.sessions.put_back(session);
            return Progress::Closing;
        };
        session.active_ms = now_ms;
        // As in Redis 7.0 a pause holds the stream of the primary too.
        if let Some(pause) = &mut self.shared.pause {
            primary.waiting.extend_from_slice(&buffer[part]);
            pause.clients.push(client);
            session.is_paused = true;
            self.shared.sessions.put_back(session);
            return Progress::Blocked;
        }
        if primary.is_reading || primary.is_bringing {
            // Rows are on their way to other tables: a command would not find them.
            primary.waiting.extend_from_slice(&buffer[part]);
            session.is_paused = true;
            self.shared.sessions.put_back(session);
            return Progress::Blocked;
        }
        self.shared.stats.clock_ns = host.monotonic_ns();
        let rules = if self.shared.observes(&self.keys) { Rules::Observe } else { Rules::Rest };
        let (from, whole) = (part.start, part.start);
        let mut stream = Part { from, whole, asks: false, waits: false, rules };
        // What its primary has accepted is as long as it is there.
        let tunables = &mut self.shared.tunables;
        let text_bytes_max = std::mem::replace(&mut tunables.text_bytes_max, u64::MAX);
        let outcome = self.carry_out_all(host, &mut session, (buffer, &part), batch, &mut stream);
        self.shared.tunables.text_bytes_max = text_bytes_max;
        self.take_place(&session, buffer, &part, &stream);
        if let Some(primary) = self.shared.primary.as_mut().filter(|_| stream.asks) {
            primary.is_asking = true;
            let synced = host.log_ends().map(|_| primary.synced.offset());
            out.extend_from_slice(&acknowledgement(self.shared.replication.offset(), synced));
        }
        self.shared.sessions.put_back(session);
        match outcome {
            Ok(()) if stream.waits => Progress::Blocked,
            Ok(()) => Progress::Done,
            Err(Unsupported) => Progress::Closing,
        }
    }

    /// Carries out what of the stream had to wait.
    pub(crate) fn follow_waiting(
        &mut self,
        host: &mut dyn Host,
        client: ClientId,
        out: &mut Vec<u8>,
    ) -> Progress {
        let Some(primary) = &mut self.shared.primary else { return Progress::Closing };
        let mut bytes = std::mem::take(&mut primary.waiting);
        let (mut parser, mut batch) = (RequestParser::new(), Batch::new());
        let limits = RequestLimits {
            batch_commands_max: usize::MAX,
            bulk_bytes_max: u64::MAX,
            ..RequestLimits::default()
        };
        // They were whole commands, whatever their length.
        if parser.parse(&mut bytes, &limits, &mut batch).is_err() {
            return Progress::Closing;
        }
        let part = 0..bytes.len();
        self.follow(host, client, (&bytes, part), &batch, out)
    }

    /// Brings rows to the tables of schemas that the stream has told of, some per tick; whether
    /// there are more.
    pub(crate) fn bring_replicated(&mut self) -> bool {
        if !self.shared.primary.as_ref().is_some_and(|primary| primary.is_bringing) {
            return false;
        }
        // A schema that only observes does not know which ends reads have renewed.
        if self.keys.adopt_told_ends(ROWS_PER_TICK)
            || !self.shared.bring_recalled(&mut self.keys, ROWS_PER_TICK)
        {
            return true;
        }
        self.shared.is_loading = false;
        if let Some(primary) = &mut self.shared.primary {
            primary.is_bringing = false;
            self.shared.is_loading = primary.is_reading;
            let client = primary.client;
            self.shared.let_go_on(client.into_iter().collect());
        }
        false
    }

    /// What was whole of the stream is the history of this server.
    fn take_place(&mut self, session: &Session, buffer: &[u8], part: &Range<usize>, done: &Part) {
        let Shared { replication, primary, .. } = &mut self.shared;
        let Some(primary) = primary else { return };
        if done.whole > part.start {
            if !primary.unit.is_empty() {
                replication.push_raw(&std::mem::take(&mut primary.unit));
            }
            replication.push_raw(&buffer[part.start..done.whole]);
            primary.db = session.db;
        }
        primary.unit.extend_from_slice(&buffer[done.whole..done.from]);
        primary.waiting.extend_from_slice(&buffer[done.from..part.end]);
        self.shared.trim_backlog();
    }

    fn carry_out_all(
        &mut self,
        host: &mut dyn Host,
        session: &mut Session,
        (buffer, part): (&[u8], &Range<usize>),
        batch: &Batch,
        stream: &mut Part,
    ) -> Result<(), Unsupported> {
        let mut prepared = std::mem::take(&mut self.prepared);
        // The stream has the names that commands have in Redis.
        let (names, mut out) = (Names::default(), Vec::new());
        let (mut next, mut outcome) = (0, Ok(()));
        while next < batch.len() && outcome.is_ok() && !stream.waits {
            let window = prepared.window((&self.keys, &names), session.db, buffer, batch, next);
            for index in window.clone() {
                let args = batch.command(index, buffer);
                let known_of = (session.db, self.keys.schema_version());
                let known = prepared.command(index - window.start, known_of);
                outcome = self.carry_out(host, session, (known, args), stream, &mut out);
                out.clear();
                if outcome.is_err() {
                    break;
                }
                let is_last = index + 1 == batch.len();
                stream.from = if is_last { part.end } else { batch.end_of(index) };
                if session.transaction.is_none() {
                    stream.whole = stream.from;
                }
                if stream.waits {
                    break;
                }
            }
            next = window.end;
        }
        self.prepared = prepared;
        outcome?;
        if batch.is_empty() {
            stream.from = part.end;
            if session.transaction.is_none() {
                stream.whole = part.end;
            }
        }
        Ok(())
    }

    /// Carries out one command of the primary.
    fn carry_out(
        &mut self,
        host: &mut dyn Host,
        session: &mut Session,
        ((command, known), args): ((Option<&'static Command>, &[Known]), Args<'_>),
        stream: &mut Part,
        out: &mut Vec<u8>,
    ) -> Result<(), Unsupported> {
        let Some(command) = command.filter(|command| is_of_a_stream(command)) else {
            return self.skip(host, args);
        };
        session.last_command = Some(command);
        if command.id == CommandId::ReplConf {
            stream.asks |= args.get(1).is_some_and(|word| args::is(word, "GETACK"));
            if let (Some(SCHEMAS), Some(text)) = (args.get(3), args.get(4))
                && self.hear_schemas(host, text)
            {
                // Until rows are in their tables nobody can be told of them.
                stream.waits = true;
                session.is_paused = true;
            }
            return Ok(());
        }
        if transaction::queues(session, command) {
            transaction::queue(session, command, args);
            return Ok(());
        }
        let unit = (command.id == CommandId::Exec)
            .then(|| (queued_in(session), self.shared.stats.errors.total()));
        self.keys.effects.begin_unit();
        let present = self.keys.leave_present(stream.rules);
        self.call(host, session, Mode::Plain, command, args, known, out);
        self.keys.enter_present(present);
        self.after_unit(host);
        let has_failed = match unit {
            _ if out.first() == Some(&b'-') => {
                self.note_failure(host, command, &out[1..]);
                command.id == CommandId::Select
            }
            Some((unit, errors)) if self.shared.stats.errors.total() > errors => {
                self.note_failures(host, &unit, out)
            }
            _ => false,
        };
        // What follows a SELECT that failed is for a database that is not there.
        if has_failed { Err(Unsupported) } else { Ok(()) }
    }

    /// Commands of a transaction fail; whether one of them selects a database.
    #[cold]
    fn note_failures(
        &mut self,
        host: &mut dyn Host,
        unit: &[&'static Command],
        replies: &[u8],
    ) -> bool {
        let parsed = FrameParser::new(FrameLimits::default()).next(replies);
        let Ok(Some(Frame::Array(replies))) = parsed else { return false };
        let mut selects = false;
        for (command, reply) in unit.iter().zip(&replies) {
            if let Frame::Error(text) = reply {
                self.note_failure(host, command, text);
                selects |= command.id == CommandId::Select;
            }
        }
        selects
    }

    /// A command is not known here: it is left out if that is what is wanted.
    fn skip(&mut self, host: &mut dyn Host, args: Args<'_>) -> Result<(), Unsupported> {
        let skips = self.shared.tunables.replicating.skips_unsupported;
        let Some(primary) = &mut self.shared.primary else { return Err(Unsupported) };
        let name = name_of(args);
        if !skips {
            let line = format!(
                "The primary's stream has a command that is not supported: {name}. \
                 The link is closed; with repl-skip-unsupported yes such commands are left out."
            );
            host.log(LogLevel::Warning, line.as_bytes());
            return Err(Unsupported);
        }
        primary.skipped += 1;
        if primary.skipped <= NAMED_MAX {
            let line = format!("Left out of the primary's stream: {name}");
            host.log(LogLevel::Warning, line.as_bytes());
        }
        Ok(())
    }

    /// A command that the primary carried out fails here.
    #[cold]
    fn note_failure(&mut self, host: &mut dyn Host, command: &Command, error: &[u8]) {
        let Some(primary) = &mut self.shared.primary else { return };
        primary.failures += 1;
        if primary.failures <= NAMED_MAX {
            // It may repeat what the primary sent.
            let line = format!(
                "== CRITICAL == This replica is sending an error to its master: '{}' after \
                 processing the command '{}'",
                error.trim_ascii_end().escape_ascii(),
                command.name,
            );
            host.log(LogLevel::Warning, line.as_bytes());
        }
    }
}

/// Something of the stream cannot be carried out, and is not to be left out.
struct Unsupported;

/// How far a part of the stream is carried out.
struct Part {
    /// Up to here.
    from: usize,
    /// Units are whole up to here.
    whole: usize,
    /// The primary asks how far this server is.
    asks: bool,
    /// What follows has to wait.
    waits: bool,
    /// Whether schemas that observe count what comes.
    rules: Rules,
}

/// The commands of a transaction.
fn queued_in(session: &Session) -> Vec<&'static Command> {
    let queue = session.transaction.iter().flat_map(|transaction| &transaction.queue);
    queue.map(|(command, _)| *command).collect()
}

/// What a command is called, for the log. Its arguments may be secrets.
fn name_of(args: Args<'_>) -> String {
    let name = args.get(0).unwrap_or_default();
    name[..name.len().min(SHOWN_BYTES_MAX)].escape_ascii().to_string()
}
