//! The settings the engine obeys.
//!
//! Owns plain values; their names, texts and limits are the server's
//! (`keyward-server`), which hands a new set over whenever one changes.

use keyward_store::keyspace::event::NotifyFlags;
use keyward_store::tables::eviction::MemoryLimit;
use keyward_store::tables::reclaim::LazySettings;
use keyward_store::values::packed_limits::PackedLimits;
use keyward_store::values::row;
use keyward_store::values::stream::NodeLimits;

/// How replicas are looked after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replicating {
    /// `repl-backlog-size`: bytes of the stream that are kept for who comes back.
    pub backlog_bytes: u64,
    /// `repl-backlog-ttl`: seconds without replicas after which none are; zero for never.
    pub backlog_ttl_s: i64,
    /// `repl-ping-replica-period`: seconds between two PINGs.
    pub ping_s: u64,
    /// `repl-timeout`: seconds after which a replica that is not heard of is disconnected.
    pub timeout_s: i64,
    /// `repl-diskless-sync`: snapshots are sent while they are made.
    pub is_diskless: bool,
    /// `repl-diskless-sync-delay`: seconds that others are waited for who want the same.
    pub delay_s: i64,
    /// `repl-diskless-sync-max-replicas`: as many are not waited for longer; zero for any.
    pub count_max: usize,
    /// `min-replicas-to-write`: good replicas without which writes are refused.
    pub replicas_min: usize,
    /// `min-replicas-max-lag`: seconds after which a replica that is not heard of is not good.
    pub lag_s_max: i64,
    /// `shutdown-timeout`: seconds that the end waits for replicas; zero for none.
    pub shutdown_s: i64,
    /// `replica-read-only`: clients of a replica cannot write.
    pub is_read_only: bool,
    /// `replica-serve-stale-data`: a replica without its primary goes on serving what it has.
    pub serves_stale: bool,
    /// `replica-priority`: which replica is promoted first; zero for none.
    pub priority: i64,
    /// `replica-announced`: whether Sentinel tells clients of it.
    pub is_announced: bool,
    /// `replica-ignore-maxmemory`: a replica leaves it to its primary what goes.
    pub ignores_memory_limit: bool,
    /// `repl-skip-unsupported`: what a primary has that is not served here is left out.
    pub skips_unsupported: bool,
}

impl Default for Replicating {
    fn default() -> Replicating {
        Replicating {
            backlog_bytes: 1024 * 1024,
            backlog_ttl_s: 3600,
            ping_s: 10,
            timeout_s: 60,
            is_diskless: true,
            delay_s: 5,
            count_max: 0,
            replicas_min: 0,
            lag_s_max: 10,
            shutdown_s: 10,
            is_read_only: true,
            serves_stale: true,
            priority: 100,
            is_announced: true,
            ignores_memory_limit: true,
            skips_unsupported: false,
        }
    }
}

/// The settings the engine obeys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tunables {
    /// `requirepass`; `None` if everybody may connect.
    pub password: Option<Box<[u8]>>,
    /// `acllog-max-len`.
    pub denied_log_len_max: usize,
    /// `acl-pubsub-default`: whether new users have every channel.
    pub grants_new_users_channels: bool,
    /// `notify-keyspace-events`.
    pub notify: NotifyFlags,
    /// `proto-max-bulk-len`: the longest string a value may grow to, as far as a row can
    /// hold it ([`Tunables::grown_bytes_max`]).
    pub text_bytes_max: u64,
    /// `rdbcompression`: long texts in DUMP's payloads and in snapshots are compressed.
    pub compresses: bool,
    /// `repl-…` and `min-replicas-…`.
    pub replicating: Replicating,
    /// `slowlog-log-slower-than`, in microseconds; `None` if there is no slow log.
    pub slow_log_us_min: Option<u64>,
    /// `slowlog-max-len`.
    pub slow_log_len_max: usize,
    /// `latency-monitor-threshold`, in milliseconds; 0 if nothing is monitored.
    pub latency_ms_min: u64,
    /// `latency-tracking`: whether latencies per command are recorded.
    pub tracks_latency: bool,
    /// `latency-tracking-info-percentiles`, in millionths of a percent.
    pub latency_percentiles: Vec<u32>,
    /// `tracking-table-max-keys`: the most keys that are tracked; zero for no limit.
    pub tracked_keys_max: usize,
    /// `maxmemory` and what belongs to it.
    pub memory: MemoryLimit,
    /// `lazyfree-lazy-…`.
    pub lazy: LazySettings,
    /// `pack-after`: seconds without use after which a row is packed.
    pub pack_after_seconds: u32,
    /// Up to which size collections are packed.
    pub packed: PackedLimits,
    /// `hll-sparse-max-bytes`: the longest HyperLogLog that is written as runs.
    pub hll_sparse_bytes_max: usize,
    /// `stream-node-max-…`: when a node of a stream is full.
    pub stream_nodes: NodeLimits,
    /// `changefeed-max-memory`: bytes of a changefeed above which commands that would add to it
    /// are refused.
    pub changefeed_bytes_max: u64,
}

impl Tunables {
    /// The longest string that a command may make.
    pub fn grown_bytes_max(&self) -> u64 {
        self.text_bytes_max.min(row::BYTES_MAX as u64)
    }
}

impl Default for Tunables {
    fn default() -> Tunables {
        Tunables {
            password: None,
            denied_log_len_max: 128,
            grants_new_users_channels: false,
            notify: NotifyFlags::default(),
            text_bytes_max: 512 * 1024 * 1024,
            compresses: true,
            replicating: Replicating::default(),
            slow_log_us_min: Some(10_000),
            slow_log_len_max: 128,
            latency_ms_min: 0,
            tracks_latency: true,
            latency_percentiles: vec![50_000_000, 99_000_000, 99_900_000],
            tracked_keys_max: 1_000_000,
            memory: MemoryLimit::default(),
            lazy: LazySettings::default(),
            pack_after_seconds: 0,
            packed: PackedLimits::default(),
            hll_sparse_bytes_max: 3000,
            stream_nodes: NodeLimits::default(),
            changefeed_bytes_max: 1024 * 1024 * 1024,
        }
    }
}
