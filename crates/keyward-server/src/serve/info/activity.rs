//! INFO's sections about what the server has done: stats, CPU.
//!
//! What does not exist here (forks, a defragmenter, threads that read) is
//! answered as a Redis answers that has not used it.

use super::{Fixed, Lines, Micro};
use crate::process::memory::read_start;
use crate::serve::host::ServerHost;
use keyward_engine::Facts;
use rustix::thread::Pid;

pub(super) fn stats(host: &ServerHost, facts: &Facts, out: &mut Lines<'_>) {
    let rates = host.rates.mean();
    let per_second_kb = |bytes: f64| Fixed(bytes / 1024.0);
    out.line("total_connections_received", host.stats.connections);
    out.line("total_commands_processed", facts.commands);
    out.line("instantaneous_ops_per_sec", rates.commands as u64);
    out.line("total_net_input_bytes", host.stats.input_bytes);
    out.line("total_net_output_bytes", host.stats.output_bytes);
    out.line("total_net_repl_input_bytes", 0);
    out.line("total_net_repl_output_bytes", host.stats.replica_output_bytes);
    out.line("instantaneous_input_kbps", per_second_kb(rates.input_bytes));
    out.line("instantaneous_output_kbps", per_second_kb(rates.output_bytes));
    out.line("instantaneous_input_repl_kbps", per_second_kb(0.0));
    out.line("instantaneous_output_repl_kbps", per_second_kb(0.0));
    out.line("rejected_connections", host.stats.rejected);
    out.line("sync_full", facts.full_syncs);
    out.line("sync_partial_ok", facts.partial_syncs);
    out.line("sync_partial_err", facts.refused_syncs);
    out.line("expired_keys", facts.keys.expired);
    out.line("expired_stale_perc", "0.00");
    out.line("expired_time_cap_reached_count", 0);
    out.line("expire_cycle_cpu_milliseconds", facts.sweep_ns / 1_000_000);
    out.line("evicted_keys", facts.keys.evicted);
    out.line("evicted_clients", host.stats.evicted);
    out.line("total_eviction_exceeded_time", 0);
    out.line("current_eviction_exceeded_time", 0);
    out.line("keyspace_hits", facts.keys.hits);
    out.line("keyspace_misses", facts.keys.misses);
    out.line("pubsub_channels", facts.channels);
    out.line("pubsub_patterns", facts.patterns);
    out.line("pubsubshard_channels", facts.shard_channels);
    out.line("latest_fork_usec", 0);
    out.line("total_forks", 0);
    out.line("migrate_cached_sockets", 0);
    out.line("slave_expires_tracked_keys", 0);
    out.line("active_defrag_hits", 0);
    out.line("active_defrag_misses", 0);
    out.line("active_defrag_key_hits", 0);
    out.line("active_defrag_key_misses", 0);
    out.line("total_active_defrag_time", 0);
    out.line("current_active_defrag_time", 0);
    out.line("tracking_total_keys", facts.tracking.keys);
    out.line("tracking_total_items", facts.tracking.readers);
    out.line("tracking_total_prefixes", facts.tracking.prefixes);
    out.line("unexpected_error_replies", 0);
    out.line("total_error_replies", facts.error_replies);
    out.line("dump_payload_sanitizations", 0);
    out.line("total_reads_processed", host.stats.reads);
    out.line("total_writes_processed", host.stats.writes);
    out.line("io_threaded_reads_processed", 0);
    out.line("io_threaded_writes_processed", 0);
    out.line("reply_buffer_shrinks", 0);
    out.line("reply_buffer_expands", 0);
}

/// Processor time. What the kernel tells of the process goes for all of its threads.
/// `main` is the thread that serves.
pub(in crate::serve) fn cpu(main: Pid, out: &mut Lines<'_>) {
    let [user, sys, user_children, sys_children] = times("/proc/self/stat");
    let path = format!("/proc/self/task/{main}/stat");
    let [user_main, sys_main, ..] = times(&path);
    out.line("used_cpu_sys", sys);
    out.line("used_cpu_user", user);
    out.line("used_cpu_sys_children", sys_children);
    out.line("used_cpu_user_children", user_children);
    out.line("used_cpu_sys_main_thread", sys_main);
    out.line("used_cpu_user_main_thread", user_main);
}

/// Processor time of a process or a thread in seconds: its own in user and in kernel mode, then
/// that of its children.
fn times(path: &str) -> [Micro; 4] {
    let mut buffer = [0; 1024];
    let stat = read_start(path, &mut buffer);
    // The process name is in parentheses and may hold spaces: count from its end.
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let ticks = rustix::param::clock_ticks_per_second().max(1);
    let mut counts = fields.split(' ').skip(12).map(|text| text.parse().unwrap_or(0));
    std::array::from_fn(|_| Micro(counts.next().unwrap_or(0_u64) as f64 / ticks as f64))
}
