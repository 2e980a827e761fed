//! INFO's sections about what the server has done: stats, CPU.
//!
//! What does not exist here (forks, a defragmenter, threads that read) is
//! answered as a Redis answers that has not used it.

use super::Line;
use crate::serve::host::ServerHost;
use keyward_engine::Facts;

/// The neutral value of a counter.
fn none(name: &'static str) -> Line {
    (name, "0".to_owned())
}

pub(super) fn stats(host: &ServerHost, facts: &Facts) -> Vec<Line> {
    let rates = host.rates.mean();
    let per_second_kb = |bytes: f64| format!("{:.2}", bytes / 1024.0);
    vec![
        ("total_connections_received", host.stats.connections.to_string()),
        ("total_commands_processed", facts.commands.to_string()),
        ("instantaneous_ops_per_sec", (rates.commands as u64).to_string()),
        ("total_net_input_bytes", host.stats.input_bytes.to_string()),
        ("total_net_output_bytes", host.stats.output_bytes.to_string()),
        none("total_net_repl_input_bytes"),
        ("total_net_repl_output_bytes", host.stats.replica_output_bytes.to_string()),
        ("instantaneous_input_kbps", per_second_kb(rates.input_bytes)),
        ("instantaneous_output_kbps", per_second_kb(rates.output_bytes)),
        ("instantaneous_input_repl_kbps", per_second_kb(0.0)),
        ("instantaneous_output_repl_kbps", per_second_kb(0.0)),
        ("rejected_connections", host.stats.rejected.to_string()),
        ("sync_full", facts.full_syncs.to_string()),
        ("sync_partial_ok", facts.partial_syncs.to_string()),
        ("sync_partial_err", facts.refused_syncs.to_string()),
        ("expired_keys", facts.keys.expired.to_string()),
        ("expired_stale_perc", "0.00".to_owned()),
        none("expired_time_cap_reached_count"),
        ("expire_cycle_cpu_milliseconds", (facts.sweep_ns / 1_000_000).to_string()),
        ("evicted_keys", facts.keys.evicted.to_string()),
        ("evicted_clients", host.stats.evicted.to_string()),
        none("total_eviction_exceeded_time"),
        none("current_eviction_exceeded_time"),
        ("keyspace_hits", facts.keys.hits.to_string()),
        ("keyspace_misses", facts.keys.misses.to_string()),
        ("pubsub_channels", facts.channels.to_string()),
        ("pubsub_patterns", facts.patterns.to_string()),
        ("pubsubshard_channels", facts.shard_channels.to_string()),
        none("latest_fork_usec"),
        none("total_forks"),
        none("migrate_cached_sockets"),
        none("slave_expires_tracked_keys"),
        none("active_defrag_hits"),
        none("active_defrag_misses"),
        none("active_defrag_key_hits"),
        none("active_defrag_key_misses"),
        none("total_active_defrag_time"),
        none("current_active_defrag_time"),
        ("tracking_total_keys", facts.tracking.keys.to_string()),
        ("tracking_total_items", facts.tracking.readers.to_string()),
        ("tracking_total_prefixes", facts.tracking.prefixes.to_string()),
        none("unexpected_error_replies"),
        ("total_error_replies", facts.error_replies.to_string()),
        none("dump_payload_sanitizations"),
        ("total_reads_processed", host.stats.reads.to_string()),
        ("total_writes_processed", host.stats.writes.to_string()),
        none("io_threaded_reads_processed"),
        none("io_threaded_writes_processed"),
        none("reply_buffer_shrinks"),
        none("reply_buffer_expands"),
    ]
}

pub(super) fn cpu() -> Vec<Line> {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The process name is in parentheses and may hold spaces: count from its end.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split(' ').collect();
    let ticks = rustix::param::clock_ticks_per_second().max(1);
    let seconds = |field: usize| {
        let count = fields.get(field).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
        format!("{:.6}", count as f64 / ticks as f64)
    };
    let (user, sys) = (seconds(12), seconds(13));
    vec![
        ("used_cpu_sys", sys.clone()),
        ("used_cpu_user", user.clone()),
        ("used_cpu_sys_children", seconds(15)),
        ("used_cpu_user_children", seconds(14)),
        // One thread serves.
        ("used_cpu_sys_main_thread", sys),
        ("used_cpu_user_main_thread", user),
    ]
}
