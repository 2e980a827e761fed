//! What the engine asks of this process.
//!
//! Owns the settings in force and the counters of connections.

use crate::agenda::Notice;
use crate::append_only::AppendOnly;
use crate::busy::{self, Busy};
use crate::clock::{self, EngineClock, Instant};
use crate::data_locks::{DataLocks, Guarded};
use crate::descriptors;
use crate::exchange;
use crate::info;
use crate::keeping::Asked;
use crate::listen::Listeners;
use crate::loading::{Progress, open_log};
use crate::log::LogControl;
use crate::memory::{self, Memory};
use crate::outbox::Outbox;
use crate::peer::Peers;
use crate::persistence::Persistence;
use crate::rates::Rates;
use crate::reading::Readings;
use crate::saving::{CAPTURED_BYTES_MAX, Saving, Target};
use crate::schemas::{Functions, without_repeats};
use crate::selector::Alarm;
use crate::settings::Settings;
use crate::settings::table::Id;
use crate::settings::value::ClientClass;
use crate::supervisor::Supervisor;
use keyward_commands::WireError;
use keyward_engine::{
    BackgroundSave, ClientId, ConfigRefusal, Connection, Exchange, Facts, Host, Library, Loaded,
    LogFile, LogLevel, MemoryReport, Outgoing, Proposal, Remote, Rewrite, RunningScript, Section,
    Snapshot, Tunables,
};
use keyward_persist::aof::{AofFiles, OpenError};
use keyward_schema::Schema;
use std::any::Any;
use std::cell::Cell;
use std::collections::VecDeque;
use std::io::Read;
use std::net::SocketAddr;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

const TOO_MANY_CLIENTS: &[u8] = b"-ERR max number of clients reached\r\n";
const PROTECTED: &[u8] = b"-DENIED Redis is running in protected mode because protected mode is enabled and no password is set for the default user. In this mode connections are only accepted from the loopback interface. If you want to connect from external computers to Redis you may adopt one of the following solutions: 1) Just disable protected mode sending the command 'CONFIG SET protected-mode no' from the loopback interface by connecting to Redis from the same host the server is running, however MAKE SURE Redis is not publicly accessible from internet if you do so. Use CONFIG REWRITE to make this change permanent. 2) Alternatively you can just disable the protected mode by editing the Redis configuration file, and setting the protected mode option to 'no', and then restarting the server. 3) If you started the server manually just for testing, restart it with the '--protected-mode no' option. 4) Setup a an authentication password for the default user. NOTE: You only need to do one of the above things in order for the server to start accepting connections from the outside.\r\n";

/// Counters of connections and bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct NetStats {
    pub(crate) connections: u64,
    pub(crate) rejected: u64,
    pub(crate) input_bytes: u64,
    pub(crate) output_bytes: u64,
    pub(crate) reads: u64,
    pub(crate) writes: u64,
    pub(crate) evicted: u64,
}

/// The host of the engine.
#[derive(Debug)]
pub(crate) struct ServerHost {
    pub(crate) settings: Settings,
    pub(crate) log: Option<LogControl>,
    pub(crate) listeners: Rc<Listeners>,
    pub(crate) peers: Rc<Peers>,
    pub(crate) stats: NetStats,
    pub(crate) rates: Rates,
    /// The process is to end.
    pub(crate) must_stop: bool,
    /// By which threads end a wait.
    pub(crate) alarm: Alarm,
    pub(crate) started: Instant,
    /// The time that the engine is told.
    pub(crate) clock: EngineClock,
    /// When a connection's turn began, until the engine asks for the time.
    pub(crate) turn_began_ns: Option<u64>,
    /// When a turn last began, or the engine asked for the time.
    pub(crate) lately_ns: u64,
    /// Forty hexadecimal digits that tell one run from another.
    pub(crate) run_id: String,
    /// Memory of the process.
    pub(crate) memory: Memory,
    /// What a slow script needs.
    pub(crate) busy: Busy,
    /// Snapshots.
    pub(crate) persistence: Persistence,
    /// The append-only file.
    pub(crate) append_only: AppendOnly,
    /// Which files are this server's alone.
    pub(crate) locks: DataLocks,
    /// What is said to clients in this round.
    pub(crate) outbox: Outbox,
    /// Bytes of clients that are to be disconnected to save them, and are not yet.
    pub(crate) departing_bytes: Cell<usize>,
    /// What is being written in the background.
    pub(crate) saving: Option<Saving>,
    /// Told when something is to be.
    pub(crate) files_wanted: Rc<Notice>,
    /// Clients that wait for a snapshot.
    pub(crate) snapshots_wanted: VecDeque<ClientId>,
    /// One is being sent.
    pub(crate) is_sending: bool,
    /// How far loading is.
    pub(crate) loading: Option<Progress>,
    /// The functions of the databases under a schema.
    pub(crate) functions: Vec<(usize, Functions)>,
    /// What schemas ask to outlive a restart.
    pub(crate) asked: Vec<Asked>,
    /// Schemas that are read elsewhere.
    pub(crate) readings: Readings,
    /// Who looks after the process.
    pub(crate) supervisor: Rc<Supervisor>,
}

impl ServerHost {
    /// Whether a client is of this machine.
    fn is_local(&self, client: ClientId) -> bool {
        self.peers.get(client).is_some_and(|peer| {
            let address = peer.addresses.peer.parse::<SocketAddr>();
            peer.addresses.is_unix || address.is_ok_and(|address| address.ip().is_loopback())
        })
    }

    /// Bytes that a snapshot has handed over and that are not yet written.
    pub(crate) fn unsaved_bytes(&self) -> u64 {
        self.saving.as_ref().map_or(0, |saving| saving.unwritten_bytes() as u64)
    }

    /// Counts a client that comes, and says why it is turned away if it is.
    pub(crate) fn judge_newcomer(&mut self, is_local: bool) -> Option<&'static [u8]> {
        let count = self.peers.count() + self.busy.guest_count();
        let is_full = count as u64 >= self.settings.clients_max();
        let is_open = self.settings.tunables().password.is_none();
        let is_protected = self.settings.is_on(Id::ProtectedMode) && is_open && !is_local;
        let refusal = match (is_full, is_protected) {
            (true, _) => Some(TOO_MANY_CLIENTS),
            (_, true) => Some(PROTECTED),
            _ => None,
        };
        self.stats.connections += 1;
        self.stats.rejected += u64::from(refusal.is_some());
        refusal
    }

    /// Listens where new settings say.
    fn rebind(&self, changed: &Settings) -> Result<(), ConfigRefusal> {
        self.listeners.rebind(&self.settings, changed).map_err(|error| {
            tracing::warn!("{error}");
            let (name, reason) = match self.settings.int(Id::Port) == changed.int(Id::Port) {
                true => (Id::Bind, "Failed to bind to specified addresses."),
                false => (Id::Port, "Unable to listen on this port. Check server logs."),
            };
            let name = name.setting().name;
            format!("CONFIG SET failed (possibly related to argument '{name}') - {reason}")
        })
    }

    /// Why writes are refused, if they are: the last snapshot could not be written, or the
    /// append-only file cannot be.
    pub(crate) fn write_refusal(&self) -> Option<WireError> {
        let is_asked_for = self.settings.is_on(Id::StopWrites) && self.saves_by_itself();
        if is_asked_for && !self.persistence.is_last_ok {
            return Some(WireError::SaveFailed);
        }
        self.append_only.refusal()
    }

    pub(crate) fn is_loading(&self) -> bool {
        self.loading.is_some()
    }

    /// What is being written in the background, or about to be.
    pub(crate) fn is_writing(&self, target: Target) -> bool {
        self.saving.as_ref().is_some_and(|saving| saving.target == target)
            || match target {
                Target::Snapshot => {
                    self.persistence.is_wanted || self.persistence.background.is_some()
                }
                Target::AppendOnly => self.append_only.rewrites.started.is_some(),
            }
    }

    /// Finds the files of the append-only file.
    pub(crate) fn open_append_only(&self) -> Result<AofFiles, OpenError> {
        let settings = &self.settings;
        let (folder, name) = (settings.text(Id::AppendDirName), settings.text(Id::AppendFilename));
        let directory = settings.text(Id::Dir);
        let disk = Arc::clone(&self.persistence.disk);
        AofFiles::open(disk, Path::new(&directory), &folder, &name)
    }
}

impl Host for ServerHost {
    fn send_snapshot(&mut self, client: ClientId) -> bool {
        self.snapshots_wanted.push_back(client);
        self.files_wanted.give();
        true
    }

    fn libraries(&mut self, db: usize) -> Result<Vec<Library>, String> {
        let mut libraries = Vec::new();
        for (_, functions) in self.functions.iter().filter(|(of, _)| *of == db) {
            libraries.extend(functions.read()?);
        }
        Ok(without_repeats(libraries))
    }

    fn config_get(&mut self, patterns: &[&[u8]]) -> Vec<(String, Vec<u8>)> {
        self.settings.matching(patterns)
    }

    fn config_set(
        &mut self,
        client: ClientId,
        pairs: &[(&[u8], &[u8])],
    ) -> Result<Tunables, ConfigRefusal> {
        let is_local = self.is_local(client);
        let mut changed = self.settings.clone();
        changed.set_live(pairs, is_local)?;
        let clients_max = descriptors::clients_max();
        if changed.clients_max() > clients_max {
            return Err(format!(
                "CONFIG SET failed (possibly related to argument 'maxclients') - The operating \
                 system is not able to handle the specified number of clients, try with \
                 {clients_max}"
            ));
        }
        self.own_data(&changed).map_err(|(guarded, error)| {
            let name = guarded.setting(&self.settings, &changed);
            format!("CONFIG SET failed (possibly related to argument '{name}') - {error}")
        })?;
        self.rebind(&changed)?;
        let is_other = changed.is_on(Id::AppendOnly) != self.settings.is_on(Id::AppendOnly);
        let before = std::mem::replace(&mut self.settings, changed);
        self.warn_of_less(&before);
        if is_other {
            // While it is written anew there is more to end than the log.
            let AppendOnly { log, rewrites, must_end, .. } = &mut self.append_only;
            let may_end = log.is_some() && rewrites.started.is_none();
            let is_on = self.settings.is_on(Id::AppendOnly);
            *must_end = may_end && !is_on;
            // It begins by being written anew, and INFO tells so at once.
            rewrites.is_wanted = is_on && (rewrites.is_wanted || log.is_none());
            self.files_wanted.give();
        }
        if let Some(log) = &self.log {
            log.apply(&self.settings);
        }
        self.memory.purge_on_thread(self.settings.is_on(Id::AllocatorThread));
        Ok(self.settings.tunables())
    }

    fn is_fixed_while_loading(&self, client: ClientId, name: &[u8]) -> bool {
        // They say which files are read.
        let is_dir = name.eq_ignore_ascii_case(Id::Dir.setting().name.as_bytes());
        name.eq_ignore_ascii_case(Id::AppendOnly.setting().name.as_bytes())
            || is_dir && self.settings.allows(Id::ProtectedConfigs, self.is_local(client))
    }

    fn config_rewrite(&mut self, scope: Rewrite) -> Result<(), ConfigRefusal> {
        self.settings.rewrite(scope).inspect_err(|error| tracing::warn!("{error}"))
    }

    fn read_schema(&mut self, proposal: Proposal) -> Option<Proposal> {
        self.readings.want(proposal);
        None
    }

    fn governed(&mut self, db: usize, schema: &Schema) {
        self.note_schema(db, schema);
    }

    fn reloaded(&mut self, outcome: Result<Vec<String>, String>) {
        self.readings.end_reload(outcome);
    }

    fn discard(&mut self, remains: Box<dyn Any + Send>) {
        // Where no thread can be started it is freed here.
        let _ = std::thread::Builder::new().spawn(move || drop(remains));
    }

    fn reset_stats(&mut self) {
        self.stats = NetStats::default();
    }

    fn info(&mut self, section: Section, facts: &Facts, out: &mut String) {
        info::write(self, section, facts, out);
    }

    fn begin_shutdown(&mut self, is_saved: bool) {
        tracing::warn!("User requested shutdown...");
        if is_saved {
            tracing::info!("Saving the final RDB snapshot before exiting.");
        }
    }

    fn shut_down(&mut self) {
        self.must_stop = true;
    }

    fn monotonic_ns(&mut self) -> u64 {
        self.lately_ns = self.turn_began_ns.take().unwrap_or_else(clock::monotonic_ns);
        self.lately_ns
    }

    fn connection(&self, client: ClientId) -> Connection {
        self.peers.get(client).map(|peer| peer.facts()).unwrap_or_default()
    }

    #[inline]
    fn used_memory(&mut self) -> u64 {
        self.memory.used()
    }

    fn outgoing_memory(&mut self, outgoing: &Outgoing<'_>) -> u64 {
        let peers = outgoing.replicas.iter().filter_map(|client| self.peers.get(*client));
        let replicas: usize = peers.map(|peer| peer.bytes()).sum();
        // A reply that makes its client too large ends the client, and costs no row.
        let is_limited = self.settings.client_memory_limit().is_some();
        let reply = if is_limited { outgoing.reply_bytes } else { 0 };
        let clients = self.outbox.spare_bytes() + reply + self.departing_bytes.get();
        let log = self.append_only.buffer_capacity();
        (replicas + clients + log) as u64 + self.unsaved_bytes()
    }

    fn memory(&mut self) -> MemoryReport {
        // What eviction went by. The allocator's own total is coarser: it counts what
        // this thread has freed and keeps for itself.
        let used = self.memory.used();
        let allocator = self.memory.look();
        let (mut clients, mut replicas) = (0, 0);
        self.peers.each(|peer| match peer.class.get() {
            ClientClass::Replica => replicas += peer.bytes(),
            ClientClass::Normal | ClientClass::Subscriber => clients += peer.bytes(),
        });
        MemoryReport {
            used,
            peak: self.memory.peak().max(used),
            startup: self.memory.startup(),
            resident: memory::resident_bytes(),
            allocated: allocator.allocated,
            active: allocator.active,
            mapped: allocator.resident,
            clients: clients as u64,
            replicas: replicas as u64,
            log: self.append_only.buffer_memory(),
            unsaved: self.unsaved_bytes(),
        }
    }

    fn purge_memory(&mut self) -> bool {
        memory::purge()
    }

    fn allocator_statistics(&mut self) -> String {
        memory::allocator_statistics()
    }

    fn may_save(&mut self) -> Result<(), String> {
        let owned = self.own_before_writing(Guarded::Snapshot);
        owned.map_err(|error| error.to_string()).inspect_err(|error| tracing::warn!("{error}"))
    }

    fn save(&mut self, snapshot: &Snapshot<'_>) -> bool {
        let used_bytes = self.memory.used();
        let outcome = self
            .own_before_writing(Guarded::Snapshot)
            .and_then(|()| self.persistence.save(&self.settings, snapshot, used_bytes));
        if let Err(error) = &outcome {
            tracing::warn!(%error, "the snapshot is not saved");
        }
        outcome.is_ok()
    }

    fn save_in_background(&mut self, may_wait: bool) -> BackgroundSave {
        let must_wait = self.is_writing(Target::AppendOnly);
        if self.is_writing(Target::Snapshot) || (must_wait && !may_wait) {
            return BackgroundSave::AlreadyRunning;
        }
        self.persistence.is_wanted = true;
        self.files_wanted.give();
        if must_wait { BackgroundSave::Scheduled } else { BackgroundSave::Begun }
    }

    fn rewrite_log(&mut self, must_wait: bool) -> BackgroundSave {
        if self.is_writing(Target::AppendOnly) {
            return BackgroundSave::AlreadyRunning;
        }
        self.append_only.rewrites.is_wanted = true;
        self.append_only.rewrites.failures = 0;
        self.files_wanted.give();
        match must_wait || self.is_writing(Target::Snapshot) {
            true => BackgroundSave::Scheduled,
            false => BackgroundSave::Begun,
        }
    }

    fn open_log(&mut self, logged: Vec<u8>) -> Option<Vec<LogFile>> {
        // Without a log there may be files: BGREWRITEAOF writes them all the same.
        let is_rewriting = self.append_only.rewrites.started.is_some();
        if self.append_only.files.is_none() && !is_rewriting {
            let files = self.open_append_only();
            self.append_only.files = files.inspect_err(|error| tracing::warn!("{error}")).ok();
        }
        let opened = open_log(&mut self.append_only, &self.persistence.disk, &logged);
        match opened {
            Ok(files) => Some(files),
            Err(problem) => {
                tracing::warn!("the append-only file cannot be loaded: {problem}");
                None
            }
        }
    }

    fn captured_bytes_max(&self) -> usize {
        CAPTURED_BYTES_MAX
    }

    fn take_captured(&mut self, parts: Vec<Vec<u8>>) {
        if let Some(saving) = &mut self.saving {
            saving.take_captured(parts);
        }
    }

    fn is_saving(&self) -> bool {
        self.is_writing(Target::Snapshot)
    }

    fn saves_by_itself(&self) -> bool {
        !self.settings.save_points().is_empty()
    }

    fn last_save_s(&self) -> i64 {
        self.persistence.last_save_s
    }

    fn open_snapshot(&mut self) -> Option<Box<dyn Read>> {
        match self.persistence.open(&self.settings) {
            Ok(file) => Some(file?.content),
            Err(error) => {
                tracing::warn!(%error, "there is no snapshot to load");
                None
            }
        }
    }

    fn loaded(&mut self, loaded: Loaded) {
        self.persistence.loaded(loaded);
    }

    fn may_debug(&self, client: ClientId) -> bool {
        self.settings.allows(Id::DebugCommand, self.is_local(client))
    }

    fn sleep_us(&mut self, microseconds: u64) {
        clock::sleep(Duration::from_micros(microseconds));
    }

    fn advance_clock(&mut self, microseconds: u64) {
        self.clock.advance(microseconds);
    }

    fn exchange(&mut self, remote: Remote<'_>, requests: &[u8], reply_count: usize) -> Exchange {
        exchange::exchange(remote, requests, reply_count)
    }

    fn script_runs(&mut self, script: &mut dyn RunningScript) {
        busy::look(self, script);
    }

    fn log(&mut self, level: LogLevel, line: &[u8]) {
        let line = String::from_utf8_lossy(line);
        match level {
            LogLevel::Debug => tracing::trace!("{line}"),
            LogLevel::Verbose => tracing::debug!("{line}"),
            LogLevel::Notice => tracing::info!("{line}"),
            LogLevel::Warning => tracing::warn!("{line}"),
        }
    }
}
