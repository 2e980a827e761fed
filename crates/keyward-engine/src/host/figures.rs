//! Figures that INFO, MEMORY and CLIENT LIST show: the engine's for the host, and the
//! host's for the engine.
//!
//! Owns the arithmetic of memory figures. Not here: how they are printed
//! (`commands::server`, and the host's own sections).

use crate::scripting::ScriptFacts;
use crate::sessions::tracking::TrackingFacts;
use keyward_store::keyspace::SnapshotProgress;
use keyward_store::keyspace::client_id::ClientId;
use keyward_store::tables::counters::KeyStats;

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
    /// Clients there are, those who follow aside.
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
    /// Times that somebody who follows asked for everything.
    pub full_syncs: u64,
    /// Times that one went on where it was.
    pub partial_syncs: u64,
    /// Times that one could not.
    pub refused_syncs: u64,
    /// Bytes of the stream that are kept.
    pub backlog_bytes: usize,
    /// Those beyond `repl-backlog-size`, for replicas that are behind.
    pub held_stream_bytes: usize,
    /// How long the end of the server waits for replicas at most, while it does.
    pub ends_in_ms: Option<i64>,
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
        let followers = self.replicas + facts.held_stream_bytes as u64;
        followers + self.log + self.unsaved + facts.captured_bytes as u64
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
