//! Every family of metrics besides the plain numbers of INFO, declared once.
//!
//! Owns names, kinds, labels and help. What is exported, `docs/metrics.md` and the tests all
//! come from these rows. Names that begin with `redis_` are redis_exporter's; those that begin
//! with `keyward_` are ours and follow Prometheus's conventions (promtool lints them).

/// What kind of numbers a family has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FamilyKind {
    /// A number that only grows, until the server begins anew or CONFIG RESETSTAT.
    Counter,
    /// A number that goes up and down.
    Gauge,
    /// Counts of durations up to some bounds.
    Histogram,
    /// Some quantiles of durations.
    Summary,
}

impl FamilyKind {
    /// Its word in the text format.
    pub fn name(self) -> &'static str {
        match self {
            FamilyKind::Counter => "counter",
            FamilyKind::Gauge => "gauge",
            FamilyKind::Histogram => "histogram",
            FamilyKind::Summary => "summary",
        }
    }
}

/// A family of metrics.
#[derive(Debug, Clone, Copy)]
pub struct Family {
    /// Its name.
    pub name: &'static str,
    /// What kind of numbers it has.
    pub kind: FamilyKind,
    /// Its labels.
    pub labels: &'static [&'static str],
    /// One sentence about it.
    pub help: &'static str,
}

macro_rules! families {
    ($( $id:ident, $name:literal, $kind:ident, $labels:expr, $help:literal; )+) => {
        /// A family's identity: its place in [`FAMILIES`].
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Id { $( $id, )+ }

        /// Every family besides the plain numbers of INFO and those of patterns.
        pub static FAMILIES: &[Family] = &[
            $( Family { name: $name, kind: FamilyKind::$kind, labels: $labels, help: $help }, )+
        ];
    };
}

const SLAVE: &[&str] = &["slave_ip", "slave_port", "slave_state"];
const MASTER: &[&str] = &["master_host", "master_port"];
const KEYSPACE: &[&str] = &["db", "keyspace"];
/// The labels of what is known of a pattern.
pub(crate) const PATTERN: &[&str] = &["db", "keyspace", "pattern"];
/// The labels of what is counted by reason.
pub(crate) const REASON: &[&str] = &["db", "keyspace", "pattern", "reason"];

families! {
    Up, "redis_up", Gauge, &[], "Whether the server answers: 1.";
    InstanceInfo, "redis_instance_info", Gauge, &["role", "redis_version", "redis_build_id", "redis_mode", "os", "maxmemory_policy", "tcp_port", "run_id", "process_id", "master_replid"], "What the server says of itself in INFO.";
    SlaveInfo, "redis_slave_info", Gauge, &["master_host", "master_port", "read_only"], "Whom a replica follows.";
    StartTime, "redis_start_time_seconds", Gauge, &[], "When the server began, in seconds since the epoch.";
    ConfigMaxClients, "redis_config_maxclients", Gauge, &[], "Most clients at a time.";
    ConfigMaxMemory, "redis_config_maxmemory", Gauge, &[], "Most memory in bytes; 0 for no limit.";
    Commands, "redis_commands_total", Counter, &["cmd"], "Calls per command.";
    CommandsDuration, "redis_commands_duration_seconds_total", Counter, &["cmd"], "Time spent per command.";
    CommandsRejected, "redis_commands_rejected_calls_total", Counter, &["cmd"], "Calls that were refused before they ran, per command.";
    CommandsFailed, "redis_commands_failed_calls_total", Counter, &["cmd"], "Calls that ended with an error, per command.";
    CommandsLatencies, "redis_commands_latencies_usec", Histogram, &["cmd"], "Latencies per command in microseconds, with the steps of LATENCY HISTOGRAM.";
    LatencyPercentiles, "redis_latency_percentiles_usec", Summary, &["cmd"], "Percentiles of latencies per command, in microseconds (latency-tracking-info-percentiles).";
    Errors, "redis_errors_total", Counter, &["err"], "Replies that were errors, by code.";
    DbKeys, "redis_db_keys", Gauge, &["db"], "Keys per database.";
    DbKeysExpiring, "redis_db_keys_expiring", Gauge, &["db"], "Keys with a lifetime per database.";
    DbAvgTtl, "redis_db_avg_ttl_seconds", Gauge, &["db"], "How long keys with a lifetime have left on average, per database.";
    SlaveOffset, "redis_connected_slave_offset_bytes", Gauge, SLAVE, "What a replica has acknowledged of the stream of changes.";
    SlaveLag, "redis_connected_slave_lag_seconds", Gauge, SLAVE, "Seconds since a replica last acknowledged something.";
    MasterLinkUp, "redis_master_link_up", Gauge, MASTER, "Whether a replica's link to its primary is up.";
    MasterLastIo, "redis_master_last_io_seconds_ago", Gauge, MASTER, "Seconds since a replica last heard its primary.";
    MasterSync, "redis_master_sync_in_progress", Gauge, MASTER, "Whether a replica is being sent everything.";
    SlaveReplOffset, "redis_slave_repl_offset", Gauge, MASTER, "How far a replica has followed the stream of changes.";
    SlavePriority, "redis_slave_priority", Gauge, &[], "How likely Sentinel makes a replica the primary: the least before others, 0 never (replica-priority).";
    ReplicationLag, "redis_replication_lag_seconds", Gauge, &[], "The greatest lag of all replicas; on a replica, seconds that it is behind its primary, or without a link.";
    SlowlogLength, "redis_slowlog_length", Gauge, &[], "Entries of the slow log.";
    SlowlogLast, "redis_slowlog_last_id", Gauge, &[], "The number of its newest entry.";
    LastSlow, "redis_last_slow_execution_duration_seconds", Gauge, &[], "How long the newest entry took.";
    SpikeLast, "redis_latency_spike_last", Gauge, &["event_name"], "When an event last took longer than latency-monitor-threshold, in seconds since the epoch.";
    SpikeDuration, "redis_latency_spike_duration_seconds", Gauge, &["event_name"], "How long it took then.";
    BuildInfo, "keyward_build_info", Gauge, &["version"], "The version of Keyward: 1.";
    FiguresAge, "keyward_figures_age_seconds", Gauge, &[], "How old these figures are: more than a second only while the server is busy with one command or script.";
    CommandDuration, "keyward_command_duration_seconds", Histogram, &["command"], "Latencies per command.";
    SlowCommands, "keyward_slow_commands_total", Counter, &[], "Commands that came into the slow log.";
    SchemaInfo, "keyward_schema_info", Gauge, &["db", "keyspace", "mode"], "The keyspaces that are served, and what happens there to writes that break the schema: 1.";
    SchemaChanging, "keyward_schema_changing", Gauge, &[], "Whether a schema is on its way into force.";
    RebuildPending, "keyward_rebuild_pending", Gauge, &[], "What is left to do to rows that were there before, for the schema that comes into force or for a start: commands, and faults to be noted.";
    RebuildCommands, "keyward_rebuild_commands_total", Counter, &[], "Commands that were carried out for that: derived keys built, lifetimes set, rows removed that do not stay.";
    LargeEndsPending, "keyward_large_ends_pending", Gauge, &[], "Large ends that are removed in steps and are not over.";
    LargeEnds, "keyward_large_ends_total", Counter, &[], "Large ends that have begun.";
    FollowUpsFailed, "keyward_follow_ups_failed_total", Counter, &[], "Follow-ups that failed where no command could be refused for it: what a row that ended by itself should have left elsewhere is missing. The log names them.";
    KeyspaceBytes, "keyward_keyspace_memory_bytes", Gauge, KEYSPACE, "Bytes of all keys of a keyspace.";
    KeyspaceBytesMax, "keyward_keyspace_memory_limit_bytes", Gauge, KEYSPACE, "What they may take (max_memory), where that is limited.";
    KeyspaceKeys, "keyward_keyspace_keys", Gauge, KEYSPACE, "Keys of a keyspace.";
}

macro_rules! pattern_figures {
    ($( $id:ident, $name:literal, $kind:ident, $unit:expr, $help:literal; )+) => {
        /// A figure of a pattern: one word of its row on the board.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum PatternFigure { $( #[doc = $help] $id, )+ }

        impl PatternFigure {
            /// All of them, in the order of their words.
            pub const ALL: &'static [PatternFigure] = &[ $( PatternFigure::$id, )+ ];
            /// How many there are.
            pub const COUNT: usize = PatternFigure::ALL.len();

            /// The family that it is exported as.
            pub fn family(self) -> Family {
                match self { $( PatternFigure::$id => Family {
                    name: $name, kind: FamilyKind::$kind, labels: PATTERN, help: $help,
                }, )+ }
            }

            /// What its word is divided by to be exported.
            pub(crate) fn unit(self) -> f64 {
                match self { $( PatternFigure::$id => $unit, )+ }
            }
        }
    };
}

pattern_figures! {
    Keys, "keyward_pattern_keys", Gauge, 1.0, "Keys of a pattern. Here and below, those that match none have an empty pattern.";
    Bytes, "keyward_pattern_memory_bytes", Gauge, 1.0, "Bytes of keys and values of a pattern.";
    EvictableBytes, "keyward_pattern_evictable_bytes", Gauge, 1.0, "Those that may be evicted.";
    Expected, "keyward_pattern_expected_keys", Gauge, 1.0, "How many keys the schema expects (expect), where it says so.";
    Expiring, "keyward_pattern_expiring_keys", Gauge, 1.0, "Keys of a pattern that have a lifetime.";
    RemainingMs, "keyward_pattern_remaining_lifetime_seconds", Gauge, 1000.0, "How long those have left on average; absent where there are none.";
    Hits, "keyward_pattern_hits_total", Counter, 1.0, "Reads that found their key.";
    Misses, "keyward_pattern_misses_total", Counter, 1.0, "Reads that did not.";
    Reads, "keyward_pattern_reads_total", Counter, 1.0, "Reads, of both kinds.";
    Writes, "keyward_pattern_writes_total", Counter, 1.0, "Changes of keys.";
    Expired, "keyward_pattern_expired_keys_total", Counter, 1.0, "Keys whose time was over.";
    Evicted, "keyward_pattern_evicted_keys_total", Counter, 1.0, "Keys that went because memory was needed.";
    WouldRefuse, "keyward_pattern_would_refuse_total", Counter, 1.0, "What the schema would have refused where it only observes.";
    WouldDate, "keyward_pattern_would_date_total", Counter, 1.0, "Keys that it would have given another end there.";
    WouldDerive, "keyward_pattern_would_derive_total", Counter, 1.0, "Changes of derived keys that it would have made there.";
    WouldRemove, "keyward_pattern_would_remove_total", Counter, 1.0, "What it would have removed there.";
    Misfits, "keyward_pattern_misfits", Gauge, 1.0, "Keys that do not fit the schema and are kept.";
    Conflicts, "keyward_pattern_conflicts", Gauge, 1.0, "Keys whose claim to a unique value fails.";
    Told, "keyward_pattern_changefeed_entries_total", Counter, 1.0, "Entries of the changefeed that told of its keys, on their way to PostgreSQL.";
    Stored, "keyward_pattern_stored_rows_total", Counter, 1.0, "Rows of its keys that keyward sync has stored in PostgreSQL, as it reports.";
    DeadLetters, "keyward_pattern_dead_letters_total", Counter, 1.0, "Items that PostgreSQL refused, which are in keyward_dead_letters.";
    ClocksApartMs, "keyward_pattern_clocks_apart_seconds", Gauge, 1000.0, "How far the clocks of the server and of PostgreSQL are apart where retain deletes nothing for that; else 0.";
    Waiting, "keyward_pattern_changefeed_waiting_entries", Gauge, 1.0, "Entries that wait there to be stored, of the changefeed's own pattern.";
    LagMs, "keyward_pattern_changefeed_lag_seconds", Gauge, 1000.0, "How long the first of them has waited.";
}

/// Commands that broke the schema and were refused.
pub(crate) const REFUSED: Family = Family {
    name: "keyward_pattern_refused_total",
    kind: FamilyKind::Counter,
    labels: REASON,
    help: "Commands that broke the schema and were refused, by reason.",
};

/// Commands that broke the schema and were let pass.
pub(crate) const WARNED: Family = Family {
    name: "keyward_pattern_warned_total",
    kind: FamilyKind::Counter,
    labels: REASON,
    help: "Commands that broke the schema and were let pass with a warning, by reason.",
};

/// The steps of latencies in microseconds, those of LATENCY HISTOGRAM.
pub const LEVELS_US: &[u64] = &[
    1, 2, 4, 8, 16, 33, 66, 132, 264, 528, 1056, 2113, 4227, 8454, 16908, 33816, 67633, 135266,
    270532, 541065, 1002438,
];

impl Id {
    /// The family's row.
    #[expect(clippy::indexing_slicing, reason = "an id is a place of the table")]
    pub(crate) fn family(self) -> &'static Family {
        &FAMILIES[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exporter::INFO_FAMILIES;
    use std::collections::BTreeSet;

    #[test]
    fn every_family_has_a_name_of_its_own_and_a_sentence() {
        let patterns = PatternFigure::ALL.iter().map(|figure| figure.family());
        let all: Vec<Family> =
            FAMILIES.iter().copied().chain(patterns).chain([REFUSED, WARNED]).collect();
        let names: BTreeSet<&str> = all.iter().map(|family| family.name).collect();
        let of_info = INFO_FAMILIES.iter().map(|family| family.name);
        assert_eq!(names.len(), all.len());
        assert!(of_info.into_iter().all(|name| !names.contains(name)));
        for family in all {
            assert!(family.help.ends_with('.'), "{}", family.name);
            let is_ours = family.name.starts_with("keyward_");
            assert!(is_ours || family.name.starts_with("redis_"), "{}", family.name);
            let is_total = family.name.ends_with("_total");
            assert!(
                !is_ours || is_total == (family.kind == FamilyKind::Counter),
                "{}",
                family.name
            );
        }
    }
}
