//! What commands ask of the program around the engine.
//!
//! Owns the interface through which a handler learns or causes what the engine cannot
//! know: settings, addresses, files, memory, the process. Everything a host
//! answers is an input of the engine: a replay must give the same answers.

use crate::engine::progress::Progress;
use crate::governed::proposal::Proposal;
use crate::scripting::ScriptFacts;
use crate::sessions::tracking::TrackingFacts;
use crate::snapshot::{Loaded, Snapshot};
use crate::tunables::Tunables;
use keyward_lua::LogLevel;
use keyward_resp::{Args, Batch};
use keyward_schema::Schema;
use keyward_store::keyspace::SnapshotProgress;
use keyward_store::keyspace::client_id::ClientId;
use keyward_store::tables::counters::KeyStats;
use std::any::Any;
use std::io::Read;
use std::time::Duration;

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

/// A running script, as the host sees it.
pub trait RunningScript {
    /// Which run this is since the engine began.
    fn number(&self) -> u64;

    /// What is running.
    fn activity(&self) -> Activity;

    /// A client comes meanwhile.
    fn connect(&mut self) -> ClientId;

    /// A client that came meanwhile goes.
    fn disconnect(&mut self, client: ClientId);

    /// Whether what a client sends is answered now. It is not if this is the script's own
    /// client, or one that waits.
    fn is_open_to(&self, client: ClientId) -> bool;

    /// Takes a command of another client: refuses it, as most, queues it or runs it.
    /// `elapsed` is how long the script has run.
    fn accept(
        &mut self,
        host: &mut dyn Host,
        client: ClientId,
        args: Args<'_>,
        elapsed: Duration,
        out: &mut Vec<u8>,
    ) -> Progress;

    /// Ends it, whatever it has done.
    fn end(&mut self);
}

/// The sections of INFO, in the order Redis prints them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// The process.
    Server,
    /// Connections.
    Clients,
    /// Memory.
    Memory,
    /// RDB and AOF.
    Persistence,
    /// Counters.
    Stats,
    /// Replication.
    Replication,
    /// Processor time.
    Cpu,
    /// Modules, of which there are none.
    Modules,
    /// Calls per command.
    CommandStats,
    /// Errors per code.
    ErrorStats,
    /// Latencies per command.
    LatencyStats,
    /// Whether a cluster is on.
    Cluster,
    /// Rows per database.
    Keyspace,
    /// Figures per pattern.
    Patterns,
}

/// One of the files that the append-only file has.
pub struct LogFile {
    /// How long it is.
    pub bytes: u64,
    /// Its content, if it begins with a snapshot.
    pub rows: Option<Box<dyn Read>>,
    /// The commands from an offset on.
    pub commands: Box<OpenCommands>,
}

/// Opens the commands of a file from an offset on.
pub type OpenCommands = dyn FnOnce(u64) -> Result<Box<dyn LogCommands>, String>;

/// Commands of the append-only file.
pub trait LogCommands {
    /// The next of them, with the bytes that they are made of.
    fn next(&mut self) -> Result<Option<(&[u8], &Batch)>, String>;
}

/// What the engine tells the host for INFO.
#[derive(Debug, Clone, Copy, Default)]
pub struct Facts {
    /// How far the snapshot is that is being taken.
    pub snapshot: Option<SnapshotProgress>,
    /// Bytes that it has captured and not handed over.
    pub captured_bytes: usize,
    /// Counters of keys.
    pub keys: KeyStats,
    /// Commands executed.
    pub commands: u64,
    /// Replies that were errors.
    pub error_replies: u64,
    /// Time spent on removing due rows.
    pub sweep_ns: u64,
    /// Clients there are.
    pub clients: usize,
    /// Clients that wait for a key.
    pub blocked_clients: usize,
    /// Clients whose wait has an end.
    pub timed_waits: usize,
    /// Changes since the engine began.
    pub dirty: u64,
    /// Scripts and libraries.
    pub scripts: ScriptFacts,
    /// Channels somebody listens to.
    pub channels: usize,
    /// Patterns somebody listens to.
    pub patterns: usize,
    /// Shard channels somebody listens to.
    pub shard_channels: usize,
    /// Clients that track keys.
    pub tracking: TrackingFacts,
    /// Bytes of the indexes of keys.
    pub index_bytes: usize,
    /// Bytes of the orders of deadlines.
    pub deadline_bytes: usize,
    /// Values that wait to be freed.
    pub lazy_pending: usize,
    /// Values freed lazily.
    pub lazy_freed: u64,
    /// Bytes of clients, connections aside.
    pub client_bytes: usize,
    /// Replicas there are.
    pub replicas: usize,
    /// Snapshots sent to replicas.
    pub replica_snapshots: u64,
}

/// What the host has to know to say which bytes are on their way elsewhere.
#[derive(Debug, Clone, Copy)]
pub struct Outgoing<'a> {
    /// The clients that are replicas.
    pub replicas: &'a [ClientId],
    /// Bytes of the buffer to which replies are being written.
    pub reply_bytes: usize,
}

/// Memory as only the host can count it, in bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct MemoryReport {
    /// In use.
    pub used: u64,
    /// The most that ever was in use.
    pub peak: u64,
    /// In use when the server began to serve.
    pub startup: u64,
    /// Physical memory of the process.
    pub resident: u64,
    /// Allocations, as the allocator counts them.
    pub allocated: u64,
    /// Pages with allocations on them.
    pub active: u64,
    /// Pages the allocator holds.
    pub mapped: u64,
    /// Connections and their buffers, replicas aside.
    pub clients: u64,
    /// Connections of replicas and their buffers.
    pub replicas: u64,
    /// Logged and not yet written.
    pub log: u64,
    /// Handed over by a snapshot and not yet written.
    pub unsaved: u64,
}

impl MemoryReport {
    /// Bytes that are neither keys nor values.
    pub fn overhead(&self, facts: &Facts) -> u64 {
        let scripts = facts.scripts.script_bytes + facts.scripts.library_bytes;
        let tables = facts.index_bytes + facts.deadline_bytes;
        let sessions = facts.client_bytes;
        let own = (scripts + tables + sessions) as u64;
        self.startup + self.clients + own + self.uncounted(facts)
    }

    /// Bytes that `maxmemory` does not count: they are on their way elsewhere, and removing
    /// rows would only add to them.
    pub fn uncounted(&self, facts: &Facts) -> u64 {
        self.replicas + self.log + self.unsaved + facts.captured_bytes as u64
    }

    /// Bytes of keys and values.
    pub fn dataset(&self, facts: &Facts) -> u64 {
        self.used.saturating_sub(self.overhead(facts))
    }

    /// The share of `dataset` in what was taken since the start, in per cent.
    pub fn dataset_percent(&self, facts: &Facts) -> f64 {
        percent(self.dataset(facts), self.net())
    }

    /// What is in use of the most that ever was, in per cent.
    pub fn peak_percent(&self) -> f64 {
        percent(self.used, self.peak)
    }

    /// What was taken since the start.
    pub fn net(&self) -> u64 {
        self.used.saturating_sub(self.startup).max(1)
    }
}

fn percent(part: u64, whole: u64) -> f64 {
    part as f64 * 100.0 / whole.max(1) as f64
}

/// A library of functions that stands in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Library {
    /// What messages call the file.
    pub name: String,
    /// Its code.
    pub code: Vec<u8>,
}

/// A connection as CLIENT LIST shows it.
#[derive(Debug, Clone, Default)]
pub struct Connection {
    /// The peer's address.
    pub address: String,
    /// Our address.
    pub local_address: String,
    /// The file descriptor.
    pub descriptor: i64,
    /// Whether it came by a Unix socket.
    pub is_unix: bool,
    /// Bytes read and not yet parsed.
    pub input_bytes: usize,
    /// Bytes of a command that is not complete, as far as they are parsed.
    pub parsed_bytes: usize,
    /// Bytes of the input buffer that are free.
    pub input_free_bytes: usize,
    /// Buffers of replies that are not yet sent.
    pub output_buffers: usize,
    /// Bytes of those buffers.
    pub output_buffer_bytes: usize,
    /// Bytes of it all.
    pub bytes: usize,
}

/// Why `CONFIG SET` changed nothing: the text of the error reply after `ERR `.
pub type ConfigRefusal = String;

/// What became of a wish for a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackgroundSave {
    /// It will be written.
    Begun,
    /// It will be written after what is being written.
    Scheduled,
    /// One is being written.
    AlreadyRunning,
}

/// Another server, for MIGRATE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Remote<'a> {
    /// Its name or address.
    pub host: &'a [u8],
    /// Its port, as it was given.
    pub port: &'a [u8],
    /// How long it may take to be connected, to take bytes and to answer, each.
    pub timeout_ms: u64,
}

/// What another server answered.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Exchange {
    /// The lines of its replies, without their ends, as many as came.
    pub lines: Vec<Vec<u8>>,
    /// Why there are no more.
    pub failure: Option<ExchangeFailure>,
}

/// Where talking to another server has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExchangeFailure {
    /// It could not be reached.
    Connecting,
    /// It did not take all of the requests.
    Writing,
    /// It did not answer all of them.
    Reading,
}

/// Which settings are written back to the file they came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rewrite {
    /// Those that the file has, and those that differ from their defaults.
    Changed,
    /// All.
    Everything,
}

/// The program around the engine.
pub trait Host {
    /// The names and values of the settings that match one of the glob patterns.
    fn config_get(&mut self, patterns: &[&[u8]]) -> Vec<(String, Vec<u8>)>;

    /// Changes settings, all or none. Answers what the engine is to obey from now on.
    /// What only some clients may change is refused unless `client` is one of them.
    fn config_set(
        &mut self,
        client: ClientId,
        pairs: &[(&[u8], &[u8])],
    ) -> Result<Tunables, ConfigRefusal>;

    /// Writes the settings back to the file they came from.
    fn config_rewrite(&mut self, scope: Rewrite) -> Result<(), ConfigRefusal>;

    /// Takes a text of a schema to read elsewhere (`Proposal::read`); what comes of it goes to
    /// `Engine::schema_read`. A host that cannot gives it back, and the engine reads it at
    /// once. There is one at a time.
    fn read_schema(&mut self, proposal: Proposal) -> Option<Proposal> {
        Some(proposal)
    }

    /// What came of a reload (`Engine::reload`): what else happened by it, or why nothing was
    /// put in force.
    fn reloaded(&mut self, outcome: Result<Vec<String>, String>) {
        let _ = outcome;
    }

    /// Frees something large, elsewhere if it can.
    fn discard(&mut self, remains: Box<dyn Any + Send>) {
        drop(remains);
    }

    /// Resets the counters the host keeps.
    fn reset_stats(&mut self);

    /// Appends the lines of an INFO section that only the host knows.
    fn info(&mut self, section: Section, facts: &Facts, out: &mut String);

    /// What is known about a client's connection.
    fn connection(&self, client: ClientId) -> Connection;

    /// Nanoseconds by a clock that never goes back: what durations are measured with. A
    /// host that answers the same always has commands that take no time.
    fn monotonic_ns(&mut self) -> u64 {
        0
    }

    /// Whether a setting that this client may change stays as it is while rows are loaded.
    fn is_fixed_while_loading(&self, client: ClientId, name: &[u8]) -> bool {
        let _ = (client, name);
        false
    }

    /// SHUTDOWN has been asked for, and a snapshot is next if one `is_saved` before the end.
    /// It may yet fail, and then the process goes on.
    fn begin_shutdown(&mut self, is_saved: bool) {
        let _ = is_saved;
    }

    /// Ends the process as soon as the replies so far are written.
    fn shut_down(&mut self) {}

    /// Bytes of memory in use, which `maxmemory` limits. Asked before every command
    /// while there is a limit: it must cost next to nothing.
    fn used_memory(&mut self) -> u64 {
        0
    }

    /// Those bytes of it that are on their way elsewhere: `maxmemory` does not count them.
    /// Asked where more is in use than may be.
    fn outgoing_memory(&mut self, outgoing: &Outgoing<'_>) -> u64 {
        let _ = outgoing;
        0
    }

    /// How memory stands, as the allocator and the kernel count it.
    fn memory(&mut self) -> MemoryReport {
        MemoryReport::default()
    }

    /// Gives memory that is free back to the system; whether that worked.
    fn purge_memory(&mut self) -> bool {
        false
    }

    /// The allocator's own statistics, as text.
    fn allocator_statistics(&mut self) -> String {
        String::new()
    }

    /// A script is running: called every so many instructions. A host that finds it has
    /// run for too long answers other clients from here, and may end it.
    fn script_runs(&mut self, script: &mut dyn RunningScript) {
        let _ = script;
    }

    /// Whether snapshots may be written where they are kept.
    ///
    /// # Errors
    /// Says who else writes there.
    fn may_save(&mut self) -> Result<(), String> {
        Ok(())
    }

    /// Writes a snapshot to where snapshots are kept; whether it could. The log has
    /// the reason.
    fn save(&mut self, snapshot: &Snapshot<'_>) -> bool {
        let _ = snapshot;
        false
    }

    /// Sees to it that a snapshot is written soon, without this client waiting; after
    /// what is being written, if it may wait for that.
    fn save_in_background(&mut self, may_wait: bool) -> BackgroundSave {
        let _ = may_wait;
        BackgroundSave::AlreadyRunning
    }

    /// Sees to it that a client is sent a snapshot in steps, as `$EOF:`, a mark of forty
    /// bytes and a line's end, the snapshot, and the mark again; whether it will be.
    fn send_snapshot(&mut self, client: ClientId) -> bool {
        let _ = client;
        false
    }

    /// Sees to it that the append-only file is written anew; later, if it must wait.
    fn rewrite_log(&mut self, must_wait: bool) -> BackgroundSave {
        let _ = must_wait;
        BackgroundSave::AlreadyRunning
    }

    /// The files of the append-only file in order, after these bytes are logged to it; none
    /// if it is not kept or cannot be read, of which the log has the reason.
    fn open_log(&mut self, logged: Vec<u8>) -> Option<Vec<LogFile>> {
        let _ = logged;
        None
    }

    /// How many bytes a snapshot may have captured amid a script or a transaction before
    /// they are taken.
    fn captured_bytes_max(&self) -> usize {
        usize::MAX
    }

    /// Takes bytes of the snapshot that is being taken, which come before those of its
    /// next step.
    fn take_captured(&mut self, parts: Vec<Vec<u8>>) {
        let _ = parts;
    }

    /// Whether a snapshot is being written.
    fn is_saving(&self) -> bool {
        false
    }

    /// Whether snapshots are written without being asked for (`save`).
    fn saves_by_itself(&self) -> bool {
        false
    }

    /// When a snapshot was last written, in seconds since the epoch.
    fn last_save_s(&self) -> i64 {
        0
    }

    /// The snapshot that was written last; `None` if there is none or it cannot be
    /// read, of which the log has the reason.
    fn open_snapshot(&mut self) -> Option<Box<dyn Read>> {
        None
    }

    /// The libraries of functions that belong to the schema of a database, as they are
    /// now.
    ///
    /// # Errors
    /// Says what cannot be read, and why.
    fn libraries(&mut self, db: usize) -> Result<Vec<Library>, String> {
        let _ = db;
        Ok(Vec::new())
    }

    /// Another schema governs a database from now on.
    fn governed(&mut self, db: usize, schema: &Schema) {
        let _ = (db, schema);
    }

    /// A snapshot was loaded.
    fn loaded(&mut self, loaded: Loaded) {
        let _ = loaded;
    }

    /// Whether a client may send DEBUG (`enable-debug-command`).
    fn may_debug(&self, client: ClientId) -> bool {
        let _ = client;
        false
    }

    /// Does nothing for a while, and nothing else meanwhile: DEBUG SLEEP.
    fn sleep_us(&mut self, microseconds: u64) {
        let _ = microseconds;
    }

    /// Moves the clock that the engine is told ahead: DEBUG CLOCK.
    fn advance_clock(&mut self, microseconds: u64) {
        let _ = microseconds;
    }

    /// Sends requests to another server and waits for its replies, which are lines, one
    /// for each of `reply_count`.
    fn exchange(&mut self, remote: Remote<'_>, requests: &[u8], reply_count: usize) -> Exchange {
        let _ = (remote, requests, reply_count);
        Exchange { lines: Vec::new(), failure: Some(ExchangeFailure::Connecting) }
    }

    /// A script writes to the log.
    fn log(&mut self, level: LogLevel, line: &[u8]) {
        let _ = (level, line);
    }
}

/// A host that has nothing: for trials, and for whoever runs an engine by itself.
#[derive(Debug)]
pub struct Nobody;

impl Host for Nobody {
    fn config_get(&mut self, _patterns: &[&[u8]]) -> Vec<(String, Vec<u8>)> {
        Vec::new()
    }

    fn config_set(
        &mut self,
        _client: ClientId,
        _pairs: &[(&[u8], &[u8])],
    ) -> Result<Tunables, ConfigRefusal> {
        Err("there are no settings".to_owned())
    }

    fn config_rewrite(&mut self, _scope: Rewrite) -> Result<(), ConfigRefusal> {
        Err("there are no settings".to_owned())
    }

    fn reset_stats(&mut self) {}

    fn info(&mut self, _section: Section, _facts: &Facts, _out: &mut String) {}

    fn connection(&self, _client: ClientId) -> Connection {
        Connection::default()
    }
}
