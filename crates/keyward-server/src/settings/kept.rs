//! Settings of Redis that are known, kept and answered, and change nothing here.
//!
//! A redis.conf is to be taken as it is, and clients ask for these by CONFIG GET.
//! Either the thing does not exist here (a cluster, a defragmenter), or it needs no
//! setting. Where silence would mislead, only the value that asks for nothing is taken
//! (`cluster-enabled no`). Whoever gives one an effect moves its row to `table`.

use super::table::Change::{AtStart, Live};
use super::table::{Kind, Setting};

const INT_MAX: i64 = i32::MAX as i64;
const MAX: u64 = i64::MAX as u64;
const NO: Kind = Kind::OneOf(&["no"]);
const EMPTY: Kind = Kind::OneOf(&[""]);
const PROTECTED: Kind = Kind::OneOf(&["no", "yes", "local"]);

macro_rules! kept {
    ($( $name:literal, $kind:expr, $default:literal, $change:ident, $doc:literal; )+) => {
        /// Every setting that is kept without effect.
        pub static KEPT: &[Setting] = &[
            $( Setting { name: $name, kind: $kind, default: $default, change: $change, doc: $doc }, )+
        ];
    };
}

/// Settings for Redis's own tests: CONFIG GET answers their names, not patterns.
pub static HIDDEN: &[&str] = &[
    "key-load-delay",
    "loading-process-events-interval-bytes",
    "rdb-key-save-delay",
    "use-exit-on-panic",
    "watchdog-period",
];

kept! {
    // replication and cluster
    "replica-lazy-flush", Kind::Bool, "no", Live, "What a snapshot of the primary takes the place of is always freed in steps.";
    "replica-ignore-disk-write-errors", Kind::Bool, "no", Live, "A replica goes on following when its files cannot be written.";
    "repl-disable-tcp-nodelay", Kind::Bool, "no", Live, "Nothing that is sent is held back by TCP.";
    "propagation-error-behavior", Kind::OneOf(&["ignore", "panic", "panic-on-replicas"]), "ignore", Live, "What fails of the primary's commands is logged, and no reason to stop.";
    "tls-key-file-pass", EMPTY, "", Live, "Keys are not encrypted in their files.";
    "tls-client-key-file-pass", EMPTY, "", Live, "Keys are not encrypted in their files.";
    "tls-dh-params-file", Kind::Text, "", Live, "Keys are agreed on over elliptic curves alone.";
    "cluster-enabled", NO, "no", AtStart, "There is no cluster.";
    // storage that needs no setting
    "activerehashing", Kind::Bool, "yes", Live, "The index grows one bucket at a time: there is no rehashing.";
    "activedefrag", NO, "no", Live, "What lies scattered is gathered at leisure.";
    "active-defrag-ignore-bytes", Kind::Bytes(1, MAX), "100mb", Live, "What lies scattered is gathered at leisure.";
    "active-defrag-threshold-lower", Kind::Int(0, 1000), "10", Live, "What lies scattered is gathered at leisure.";
    "active-defrag-threshold-upper", Kind::Int(0, 1000), "100", Live, "What lies scattered is gathered at leisure.";
    "active-defrag-cycle-min", Kind::Int(1, 99), "1", Live, "What lies scattered is gathered at leisure.";
    "active-defrag-cycle-max", Kind::Int(1, 99), "25", Live, "What lies scattered is gathered at leisure.";
    "active-defrag-max-scan-fields", Kind::Int(1, i64::MAX), "1000", Live, "What lies scattered is gathered at leisure.";
    "active-expire-effort", Kind::Int(1, 10), "1", Live, "Due rows are found by their deadline, not by sampling.";
    "list-max-listpack-size", Kind::Int(i32::MIN as i64, INT_MAX), "-2", Live, "The parts of a list have a size of their own.";
    "list-compress-depth", Kind::Int(0, INT_MAX), "0", Live, "Lists are not compressed.";
    // files
    "rdb-del-sync-files", Kind::Bool, "no", Live, "Snapshots for replicas are no files, or such as have no name.";
    "rdb-save-incremental-fsync", Kind::Bool, "yes", Live, "Large files are always synced in parts.";
    "loading-process-events-interval-bytes", Kind::Int(1024, INT_MAX), "2097152", Live, "How often Redis serves clients while it loads.";
    "sanitize-dump-payload", Kind::OneOf(&["no", "yes", "clients"]), "no", Live, "RESTORE always checks all it is given.";
    "aof-use-rdb-preamble", Kind::Bool, "yes", Live, "The base of the append-only file is always a snapshot.";
    "aof-timestamp-enabled", Kind::Bool, "no", Live, "Times are not written to the append-only file; those in it are passed over.";
    "aof-rewrite-incremental-fsync", Kind::Bool, "yes", Live, "Large files are always synced in parts.";
    "aof-disable-auto-gc", Kind::Bool, "no", Live, "Files that are no longer needed are always removed.";
    // process
    "syslog-enabled", NO, "no", AtStart, "The log goes to a file or a stream.";
    "syslog-ident", Kind::Text, "redis", AtStart, "The log goes to a file or a stream.";
    "syslog-facility", Kind::Text, "local0", AtStart, "The log goes to a file or a stream.";
    "always-show-logo", Kind::Bool, "no", AtStart, "There is no logo.";
    "crash-log-enabled", Kind::Bool, "yes", Live, "A panic is always reported.";
    "crash-memcheck-enabled", Kind::Bool, "yes", Live, "Memory is not tested after a crash.";
    "use-exit-on-panic", Kind::Bool, "no", Live, "A panic ends the process as it does.";
    "set-proc-title", Kind::Bool, "yes", AtStart, "The process keeps its command line.";
    "proc-title-template", Kind::Text, "{title} {listen-addr} {server-mode}", Live, "The process keeps its command line.";
    "disable-thp", Kind::Bool, "yes", AtStart, "Huge pages are left as the system has them.";
    "oom-score-adj", Kind::OneOf(&["no", "yes", "relative", "absolute"]), "no", Live, "The kernel's score is left alone.";
    "oom-score-adj-values", Kind::Words, "0 200 800", Live, "The kernel's score is left alone.";
    "ignore-warnings", Kind::Text, "", Live, "The system is not judged at start.";
    "watchdog-period", Kind::Int(0, INT_MAX), "0", Live, "There is no watchdog.";
    "dynamic-hz", Kind::Bool, "yes", Live, "Background work is done as often as `hz` says.";
    "io-threads", Kind::Int(1, 128), "1", AtStart, "One thread serves.";
    "io-threads-do-reads", Kind::Bool, "no", AtStart, "One thread serves.";
    "server_cpulist", Kind::Text, "", AtStart, "Threads are not pinned.";
    "bio_cpulist", Kind::Text, "", AtStart, "Threads are not pinned.";
    "aof_rewrite_cpulist", Kind::Text, "", AtStart, "Threads are not pinned.";
    "bgsave_cpulist", Kind::Text, "", AtStart, "Threads are not pinned.";
    "socket-mark-id", Kind::Int(0, 0), "0", AtStart, "Sockets are not marked: only 0 is taken.";
    "bind-source-addr", Kind::Text, "", Live, "Connections to other servers come from the address that the system chooses.";
    // clients
    "enable-module-command", PROTECTED, "no", AtStart, "There are no modules.";
}
