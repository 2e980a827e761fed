//! Every setting, declared once.
//!
//! A row gives the name as redis.conf spells it, what values it takes, the
//! default, whether CONFIG SET may change it, and one line about it. The command
//! line, the file, CONFIG and the documentation all read this table; a name that
//! is neither here nor among those without effect (`kept`) is an error, never ignored.

/// What values a setting takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `yes` or `no`.
    Bool,
    /// A whole number within these bounds.
    Int(i64, i64),
    /// A whole number from zero; what is beyond these bounds counts as the nearer one.
    Clamped(i64, i64),
    /// Permissions in octal, up to `777`.
    Permissions,
    /// Bytes, with an optional unit: `100mb`. Bounds in bytes.
    Bytes(u64, u64),
    /// As `Bytes`, or a percentage of `maxmemory`: `5%`.
    BytesOrPercent,
    /// Any text.
    Text,
    /// A directory that is there.
    Directory,
    /// The name of a file, without a path: the setting, and what it names.
    FileName(&'static str, &'static str),
    /// Several words.
    Words,
    /// Some of these words, in this order; the first stands for none of the others.
    Flags(&'static [&'static str]),
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// Letters of keyspace notifications.
    Notifications,
    /// Limits of output buffers: class, hard, soft, seconds; repeated.
    OutputLimits,
    /// Pairs of seconds and changes.
    SavePoints,
    /// Percentiles, from 0 to 100.
    Percentiles,
}

/// When a setting may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// At any time, by CONFIG SET.
    Live,
    /// As `Live`, by those whom `enable-protected-configs` allows it.
    Protected,
    /// Only before the server starts.
    AtStart,
    /// As `AtStart`, for a setting that Redis does not have: CONFIG SET may say what it is
    /// anyway, so that what CONFIG GET tells can be sent back.
    OwnAtStart,
}

/// A row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// The name in redis.conf.
    pub name: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// Its value unless told otherwise.
    pub default: &'static str,
    /// When it may change.
    pub change: Change,
    /// One line about it.
    pub doc: &'static str,
}

macro_rules! settings {
    ($( $id:ident, $name:literal, $kind:expr, $default:literal, $change:ident, $doc:literal; )+) => {
        /// A setting's identity: its place in [`SETTINGS`].
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Id { $( #[doc = $doc] $id, )+ }

        /// Every setting.
        pub static SETTINGS: &[Setting] = &[
            $( Setting { name: $name, kind: $kind, default: $default, change: Change::$change, doc: $doc }, )+
        ];
    };
}

const POLICIES: &[&str] = &[
    "volatile-lru",
    "volatile-lfu",
    "volatile-random",
    "volatile-ttl",
    "allkeys-lru",
    "allkeys-lfu",
    "allkeys-random",
    "noeviction",
];
/// Who may do something dangerous; `local` means connections of this machine.
const PROTECTED: Kind = Kind::OneOf(&["no", "yes", "local"]);
/// How a signal ends the server.
const SHUTDOWN: Kind = Kind::Flags(&["default", "save", "nosave", "now", "force"]);
const LEVELS: &[&str] = &["debug", "verbose", "notice", "warning"];
const MAX: u64 = i64::MAX as u64;

settings! {
    Port, "port", Kind::Int(0, 65535), "6379", Live, "TCP port; 0 listens on none.";
    TlsPort, "tls-port", Kind::Int(0, 65535), "0", Live, "TCP port of encrypted connections; 0 listens on none.";
    TlsCertFile, "tls-cert-file", Kind::Text, "", Live, "File of the server's certificate, in PEM, with those between it and its authority; in `dir` unless it has a path.";
    TlsKeyFile, "tls-key-file", Kind::Text, "", Live, "File of the certificate's key, in PEM, not encrypted.";
    TlsClientCertFile, "tls-client-cert-file", Kind::Text, "", Live, "The same for when the server connects to another; empty for `tls-cert-file`.";
    TlsClientKeyFile, "tls-client-key-file", Kind::Text, "", Live, "The key of `tls-client-cert-file`.";
    TlsCaCertFile, "tls-ca-cert-file", Kind::Text, "", Live, "File of the authorities whose certificates are believed.";
    TlsCaCertDir, "tls-ca-cert-dir", Kind::Text, "", Live, "Directory of such files, whatever they are called.";
    TlsAuthClients, "tls-auth-clients", Kind::OneOf(&["no", "yes", "optional"]), "yes", Live, "Whether clients have to show a certificate.";
    TlsCluster, "tls-cluster", Kind::Bool, "no", Live, "Whether MIGRATE connects by TLS.";
    TlsProtocols, "tls-protocols", Kind::Text, "", Live, "Versions of TLS: `TLSv1.2`, `TLSv1.3`; empty for both.";
    TlsCiphers, "tls-ciphers", Kind::Text, "", Live, "Ciphers of TLS 1.2 by OpenSSL's names, with colons between them; empty for all there are.";
    TlsCipherSuites, "tls-ciphersuites", Kind::Text, "", Live, "The same of TLS 1.3.";
    TlsPreferServerCiphers, "tls-prefer-server-ciphers", Kind::Bool, "no", Live, "Whether the server's order of ciphers counts, not the client's.";
    TlsSessionCaching, "tls-session-caching", Kind::Bool, "yes", Live, "Whether clients may resume their sessions.";
    TlsSessionCacheSize, "tls-session-cache-size", Kind::Int(0, i32::MAX as i64), "20480", Live, "Most sessions that can be resumed; 0 for no limit.";
    TlsSessionCacheTimeout, "tls-session-cache-timeout", Kind::Int(0, i32::MAX as i64), "300", Live, "Seconds for which a session can be resumed.";
    Bind, "bind", Kind::Words, "* -::*", Live, "Addresses to listen on; one that begins with `-` may fail.";
    TcpBacklog, "tcp-backlog", Kind::Int(0, i32::MAX as i64), "511", AtStart, "Connections the kernel keeps waiting.";
    UnixSocket, "unixsocket", Kind::Text, "", AtStart, "Path of a Unix socket; empty for none.";
    UnixSocketPerm, "unixsocketperm", Kind::Permissions, "0", AtStart, "Octal permissions of the Unix socket; 0 leaves the default.";
    Timeout, "timeout", Kind::Int(0, i32::MAX as i64), "0", Live, "Seconds after which an idle client is disconnected; 0 for never.";
    TcpKeepAlive, "tcp-keepalive", Kind::Int(0, i32::MAX as i64), "300", Live, "Seconds between TCP keep-alive probes; 0 for none.";
    ProtectedMode, "protected-mode", Kind::Bool, "yes", Live, "Without a password, serve loopback connections only.";
    RequirePass, "requirepass", Kind::Text, "", Live, "Password of the default user; empty for none.";
    AclFile, "aclfile", Kind::Text, "", AtStart, "File of users and their rights, in `dir` unless it has a path; empty for none.";
    AclLogMaxLen, "acllog-max-len", Kind::Int(0, i64::MAX), "128", Live, "Most entries of ACL LOG.";
    AclPubsubDefault, "acl-pubsub-default", Kind::OneOf(&["allchannels", "resetchannels"]), "resetchannels", Live, "Whether new users have every channel, or none.";
    MaxClients, "maxclients", Kind::Int(1, u32::MAX as i64), "10000", Live, "Most clients at a time.";
    QueryBufferLimit, "client-query-buffer-limit", Kind::Bytes(1024 * 1024, MAX), "1gb", Live, "Bytes a client may send ahead of execution.";
    OutputBufferLimit, "client-output-buffer-limit", Kind::OutputLimits, "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60", Live, "Bytes of replies a client may leave unread.";
    ProtoMaxBulkLen, "proto-max-bulk-len", Kind::Bytes(1024 * 1024, MAX), "512mb", Live, "Longest string; beyond 4 GB it has no effect.";
    Databases, "databases", Kind::Int(1, i32::MAX as i64), "16", AtStart, "How many databases there are.";
    Hz, "hz", Kind::Clamped(1, 500), "10", Live, "Times per second that background work is done.";
    Dir, "dir", Kind::Directory, ".", Protected, "Directory of data files.";
    DbFilename, "dbfilename", Kind::FileName("dbfilename", "filename"), "dump.rdb", Protected, "File name of snapshots.";
    RdbCompression, "rdbcompression", Kind::Bool, "yes", Live, "Whether long texts in snapshots and DUMP's payloads are compressed.";
    RdbChecksum, "rdbchecksum", Kind::Bool, "yes", AtStart, "Whether snapshots end with a checksum.";
    StopWrites, "stop-writes-on-bgsave-error", Kind::Bool, "yes", Live, "Whether writes are refused after a snapshot that a save point demanded has failed.";
    Save, "save", Kind::SavePoints, "3600 1 300 100 60 10000", Live, "Save points: seconds and changes.";
    AppendOnly, "appendonly", Kind::Bool, "no", Live, "Whether an append-only file is kept.";
    AppendFsync, "appendfsync", Kind::OneOf(&["everysec", "always", "no"]), "everysec", Live, "When the append-only file is synced.";
    AppendFilename, "appendfilename", Kind::FileName("appendfilename", "filename"), "appendonly.aof", AtStart, "What the names of the append-only files begin with.";
    AppendDirName, "appenddirname", Kind::FileName("appenddirname", "dirname"), "appendonlydir", AtStart, "Directory of the append-only files.";
    NoFsyncOnRewrite, "no-appendfsync-on-rewrite", Kind::Bool, "no", Live, "Whether the append-only file is not synced while a snapshot is written.";
    RewritePercentage, "auto-aof-rewrite-percentage", Kind::Int(0, i32::MAX as i64), "100", Live, "Growth of the append-only file after which it is written anew, in percent; 0 for never.";
    RewriteMinSize, "auto-aof-rewrite-min-size", Kind::Bytes(0, MAX), "64mb", Live, "Size below which the append-only file is not written anew by itself.";
    LoadTruncated, "aof-load-truncated", Kind::Bool, "yes", Live, "Whether an append-only file that ends within a command is cut off and loaded.";
    MaxMemory, "maxmemory", Kind::Bytes(0, MAX), "0", Live, "Most memory in bytes; 0 for no limit.";
    MaxMemoryClients, "maxmemory-clients", Kind::BytesOrPercent, "0", Live, "Most memory of all clients together, in bytes or as a percentage of `maxmemory`; those that take most are disconnected above it; 0 for no limit.";
    MaxMemoryPolicy, "maxmemory-policy", Kind::OneOf(POLICIES), "noeviction", Live, "What goes when memory is needed.";
    AllocatorThread, "jemalloc-bg-thread", Kind::Bool, "yes", Live, "Whether a thread gives free memory back to the system; else who serves does.";
    MaxMemorySamples, "maxmemory-samples", Kind::Int(1, i32::MAX as i64), "5", Live, "Rows of each database looked at to find one that goes; more than 64 are 64.";
    EvictionTenacity, "maxmemory-eviction-tenacity", Kind::Int(0, 100), "10", Live, "How much eviction is done before a command.";
    LfuLogFactor, "lfu-log-factor", Kind::Int(0, i32::MAX as i64), "10", Live, "How slowly counters of uses grow.";
    LfuDecayTime, "lfu-decay-time", Kind::Int(0, i32::MAX as i64), "1", Live, "Minutes after which counters of uses decay by one; 0 for never.";
    PackAfter, "pack-after", Kind::Int(0, 86_400), "5", Live, "Seconds without use after which a row under a schema is packed.";
    ChangefeedMemory, "changefeed-max-memory", Kind::Bytes(1, MAX), "1gb", Live, "Bytes of a keyspace's changes on their way to PostgreSQL above which commands that would add to them are refused.";
    Accept, "accept", Kind::Words, "", OwnAtStart, "What a start may do to rows that meet another schema: names of plans, and behind one that destroys rows `DESTROY` and how many.";
    Observe, "observe", Kind::Bool, "no", OwnAtStart, "Whether all schemas only observe: they count what they would do, and change nothing.";
    Http, "http", Kind::Text, "", OwnAtStart, "Address and port that figures are served on by HTTP, as in `127.0.0.1:9121`; a port alone is of the loopback interface; empty for none.";
    HttpHosts, "http-hosts", Kind::Text, "", OwnAtStart, "Names that HTTP may call this server by besides addresses and `localhost`, with commas between them.";
    AlertWebhook, "alert-webhook", Kind::Text, "", OwnAtStart, "Address that alerts of schemas are told to, as in `http://127.0.0.1:9094/hook` or `https://hooks.example/alerts`; empty for the log alone.";
    AlertWebhookAuthorities, "alert-webhook-ca-cert-file", Kind::Text, "", OwnAtStart, "Certificates of the authorities that a webhook by https is believed by; empty for the system's.";
    LazyEviction, "lazyfree-lazy-eviction", Kind::Bool, "no", Live, "Whether what is evicted is freed in steps.";
    LazyExpire, "lazyfree-lazy-expire", Kind::Bool, "no", Live, "Whether what expires is freed in steps.";
    LazyServerDel, "lazyfree-lazy-server-del", Kind::Bool, "no", Live, "Whether what is overwritten is freed in steps.";
    LazyUserDel, "lazyfree-lazy-user-del", Kind::Bool, "no", Live, "Whether DEL frees in steps, as UNLINK does.";
    LazyUserFlush, "lazyfree-lazy-user-flush", Kind::Bool, "no", Live, "Whether FLUSHDB and FLUSHALL free in steps unless they say SYNC.";
    NotifyKeyspaceEvents, "notify-keyspace-events", Kind::Notifications, "", Live, "Which keyspace events are published.";
    TrackedKeys, "tracking-table-max-keys", Kind::Int(0, i64::MAX), "1000000", Live, "Most keys that are tracked for clients; 0 for no limit.";
    HashPackedEntries, "hash-max-listpack-entries", Kind::Int(0, i64::MAX), "512", Live, "Most fields of a packed hash.";
    HashPackedValue, "hash-max-listpack-value", Kind::Bytes(0, MAX), "64", Live, "Longest field and value of a packed hash, in bytes.";
    IntsetEntries, "set-max-intset-entries", Kind::Int(0, i64::MAX), "512", Live, "Most members of a set of numbers in order.";
    ZSetPackedEntries, "zset-max-listpack-entries", Kind::Int(0, i64::MAX), "128", Live, "Most members of a packed sorted set.";
    ZSetPackedValue, "zset-max-listpack-value", Kind::Bytes(0, MAX), "64", Live, "Longest member of a packed sorted set, in bytes.";
    HllSparseBytes, "hll-sparse-max-bytes", Kind::Bytes(0, MAX), "3000", Live, "Longest HyperLogLog that is written as runs, in bytes.";
    StreamNodeBytes, "stream-node-max-bytes", Kind::Bytes(0, MAX), "4096", Live, "Most bytes of a node of a stream; 0 for no limit of its own.";
    StreamNodeEntries, "stream-node-max-entries", Kind::Int(0, i64::MAX), "100", Live, "Most entries of a node of a stream; 0 for no limit.";
    SlowLogSlowerThan, "slowlog-log-slower-than", Kind::Int(-1, i64::MAX), "10000", Live, "Microseconds from which a command gets into the slow log; -1 for none.";
    SlowLogMaxLen, "slowlog-max-len", Kind::Int(0, i64::MAX), "128", Live, "Most entries of the slow log.";
    LatencyThreshold, "latency-monitor-threshold", Kind::Int(0, i64::MAX), "0", Live, "Milliseconds from which an event is a latency spike; 0 for none.";
    LatencyTracking, "latency-tracking", Kind::Bool, "yes", Live, "Whether latencies per command are recorded.";
    LatencyPercentiles, "latency-tracking-info-percentiles", Kind::Percentiles, "50 99 99.9", Live, "Percentiles of latencies that INFO shows.";
    BacklogSize, "repl-backlog-size", Kind::Bytes(1, MAX), "1mb", Live, "Bytes of the stream of changes kept for replicas that come back.";
    BacklogTtl, "repl-backlog-ttl", Kind::Int(0, i64::MAX), "3600", Live, "Seconds without replicas after which they are kept no longer; 0 for never.";
    ReplPing, "repl-ping-replica-period", Kind::Int(1, i32::MAX as i64), "10", Live, "Seconds between PINGs to replicas.";
    ReplTimeout, "repl-timeout", Kind::Int(1, i32::MAX as i64), "60", Live, "Seconds after which a replica that says nothing, or takes nothing of its snapshot, is disconnected.";
    Diskless, "repl-diskless-sync", Kind::Bool, "yes", Live, "Whether snapshots are sent to replicas while they are made; else they are written to a file first.";
    DisklessDelay, "repl-diskless-sync-delay", Kind::Int(0, i32::MAX as i64), "5", Live, "Seconds that a snapshot waits for other replicas that want it.";
    DisklessMax, "repl-diskless-sync-max-replicas", Kind::Int(0, i32::MAX as i64), "0", Live, "Replicas that want a snapshot for which it waits no longer; 0 for any number.";
    DisklessLoad, "repl-diskless-load", Kind::OneOf(&["disabled", "on-empty-db", "swapdb"]), "disabled", Live, "How a snapshot of the primary is loaded: by way of a file; from the connection, if there are no keys; from the connection beside the keys there are, whose place it then takes.";
    KeySaveDelay, "rdb-key-save-delay", Kind::Int(i32::MIN as i64, i32::MAX as i64), "0", Live, "Microseconds that a snapshot waits for each key, for tests; below zero, keys for each microsecond.";
    KeyLoadDelay, "key-load-delay", Kind::Int(i32::MIN as i64, i32::MAX as i64), "0", Live, "The same of loading.";
    ShutdownTimeout, "shutdown-timeout", Kind::Int(0, i32::MAX as i64), "10", Live, "Seconds that the end of the server waits for replicas to have everything; 0 for not at all.";
    ShutdownOnSigint, "shutdown-on-sigint", SHUTDOWN, "default", Live, "How SIGINT ends the server: the words of SHUTDOWN.";
    ShutdownOnSigterm, "shutdown-on-sigterm", SHUTDOWN, "default", Live, "How SIGTERM ends the server: the words of SHUTDOWN.";
    MinReplicas, "min-replicas-to-write", Kind::Int(0, i32::MAX as i64), "0", Live, "Good replicas without which writes are refused.";
    MinReplicasLag, "min-replicas-max-lag", Kind::Int(0, i32::MAX as i64), "10", Live, "Seconds after which a replica that says nothing is not good; 0 asks for no replicas.";
    ReplicaOf, "replicaof", Kind::Words, "", AtStart, "Name or address and port of the server that this one follows; empty for none. REPLICAOF changes it.";
    MasterUser, "masteruser", Kind::Text, "", Live, "User by whom a replica authenticates; empty for the default one.";
    MasterAuth, "masterauth", Kind::Text, "", Live, "Password by which a replica authenticates; empty for none.";
    TlsReplication, "tls-replication", Kind::Bool, "no", Live, "Whether a replica connects to its primary by TLS.";
    ReplicaReadOnly, "replica-read-only", Kind::Bool, "yes", Live, "Whether clients of a replica cannot write.";
    ReplicaStale, "replica-serve-stale-data", Kind::Bool, "yes", Live, "Whether a replica serves what it has while there is no link to its primary.";
    ReplicaPriority, "replica-priority", Kind::Int(0, i32::MAX as i64), "100", Live, "Which replica Sentinel promotes first, the lowest; 0 for never.";
    ReplicaAnnounced, "replica-announced", Kind::Bool, "yes", Live, "Whether Sentinel tells of this replica.";
    ReplicaAnnounceIp, "replica-announce-ip", Kind::Text, "", Live, "Name or address by which others reach this replica; empty for the one it connects from.";
    ReplicaAnnouncePort, "replica-announce-port", Kind::Int(0, 65535), "0", Live, "Port by which others reach this replica; 0 for the one it listens on.";
    ReplicaIgnoreMemory, "replica-ignore-maxmemory", Kind::Bool, "yes", Live, "Whether a replica leaves it to its primary what goes if memory is short.";
    EmptyPrimary, "replica-empty-primary", Kind::OneOf(&["accept", "refuse"]), "accept", Live, "Whether a replica with rows takes the snapshot of a primary that has none.";
    SkipUnsupported, "repl-skip-unsupported", Kind::Bool, "no", Live, "Whether what a primary has that is not served here is left out, and told; else the link is closed.";
    BusyReplyThreshold, "busy-reply-threshold", Kind::Int(0, i64::MAX), "5000", Live, "Milliseconds after which a script counts as slow and others get BUSY; 0 for never.";
    ProtectedConfigs, "enable-protected-configs", PROTECTED, "no", AtStart, "Who may change `dir` and `dbfilename` by CONFIG SET.";
    DebugCommand, "enable-debug-command", PROTECTED, "no", AtStart, "Who may send DEBUG.";
    LogLevel, "loglevel", Kind::OneOf(LEVELS), "notice", Live, "How much is logged.";
    LogFile, "logfile", Kind::Text, "", AtStart, "File the log goes to; empty for standard output if the settings come from a file, else standard error.";
    Daemonize, "daemonize", Kind::Bool, "no", AtStart, "Whether the server goes to the background; not while a service manager looks after it.";
    PidFile, "pidfile", Kind::Text, "", AtStart, "File the process id is written to; empty for none, in the background /var/run/redis.pid.";
    Supervised, "supervised", Kind::OneOf(&["upstart", "systemd", "auto", "no"]), "no", AtStart, "The service manager that is told when the server is ready, reloads and stops; `auto` takes the one that the environment names.";
}

/// Older names of settings, and the names of today.
pub static ALIASES: &[(&str, &str)] = &[
    ("lua-time-limit", "busy-reply-threshold"),
    ("hash-max-ziplist-entries", "hash-max-listpack-entries"),
    ("hash-max-ziplist-value", "hash-max-listpack-value"),
    ("list-max-ziplist-size", "list-max-listpack-size"),
    ("zset-max-ziplist-entries", "zset-max-listpack-entries"),
    ("zset-max-ziplist-value", "zset-max-listpack-value"),
    ("slaveof", "replicaof"),
    ("slave-serve-stale-data", "replica-serve-stale-data"),
    ("slave-read-only", "replica-read-only"),
    ("slave-priority", "replica-priority"),
    ("slave-lazy-flush", "replica-lazy-flush"),
    ("slave-announce-ip", "replica-announce-ip"),
    ("slave-announce-port", "replica-announce-port"),
    ("slave-ignore-maxmemory", "replica-ignore-maxmemory"),
    ("repl-ping-slave-period", "repl-ping-replica-period"),
    ("min-slaves-to-write", "min-replicas-to-write"),
    ("min-slaves-max-lag", "min-replicas-max-lag"),
];

impl Id {
    /// The setting's row.
    pub fn setting(self) -> &'static Setting {
        &SETTINGS[self as usize]
    }
}
