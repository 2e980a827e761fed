//! The section of INFO about memory.
//!
//! Owns the lines, under Redis's names and in its order.

use super::{Fixed, Human, Lines};
use crate::serve::host::ServerHost;
use crate::settings::table::Id;
use keyward_engine::{Facts, MemoryReport};

pub(super) fn lines(host: &ServerHost, report: &MemoryReport, facts: &Facts, out: &mut Lines<'_>) {
    amounts(report, facts, out);
    scripts(facts, out);
    limit(host, out);
    ratios(report, out);
    out.line("mem_not_counted_for_evict", report.uncounted(facts));
    out.line("mem_replication_backlog", facts.backlog_bytes);
    out.line("mem_total_replication_buffers", facts.backlog_bytes);
    out.line("mem_clients_slaves", report.replicas);
    out.line("mem_clients_normal", report.clients + facts.client_bytes as u64);
    out.line("mem_cluster_links", "0");
    out.line("mem_aof_buffer", report.log);
    out.line("mem_allocator", "jemalloc-5.3.1");
    out.line("active_defrag_running", "0");
    out.line("lazyfree_pending_objects", facts.lazy_pending);
    out.line("lazyfreed_objects", facts.lazy_freed);
}

fn amounts(report: &MemoryReport, facts: &Facts, out: &mut Lines<'_>) {
    let system = rustix::system::sysinfo();
    let system_bytes = u64::from(system.mem_unit).saturating_mul(system.totalram);
    out.line("used_memory", report.used);
    out.line("used_memory_human", Human(report.used));
    out.line("used_memory_rss", report.resident);
    out.line("used_memory_rss_human", Human(report.resident));
    out.line("used_memory_peak", report.peak);
    out.line("used_memory_peak_human", Human(report.peak));
    out.line("used_memory_peak_perc", format_args!("{:.2}%", report.peak_percent()));
    out.line("used_memory_overhead", report.overhead(facts));
    out.line("used_memory_startup", report.startup);
    out.line("used_memory_dataset", report.dataset(facts));
    out.line("used_memory_dataset_perc", format_args!("{:.2}%", report.dataset_percent(facts)));
    out.line("allocator_allocated", report.allocated);
    out.line("allocator_active", report.active);
    out.line("allocator_resident", report.mapped);
    out.line("total_system_memory", system_bytes);
    out.line("total_system_memory_human", Human(system_bytes));
}

fn scripts(facts: &Facts, out: &mut Lines<'_>) {
    let scripts = &facts.scripts;
    let both_bytes = scripts.script_bytes + scripts.library_bytes;
    out.line("used_memory_lua", scripts.script_bytes);
    out.line("used_memory_vm_eval", scripts.script_bytes);
    out.line("used_memory_lua_human", Human(scripts.script_bytes as u64));
    out.line("used_memory_scripts_eval", scripts.script_bytes);
    out.line("number_of_cached_scripts", scripts.cached_scripts);
    out.line("number_of_functions", scripts.functions);
    out.line("number_of_libraries", scripts.libraries);
    out.line("used_memory_vm_functions", scripts.library_bytes);
    out.line("used_memory_vm_total", both_bytes);
    out.line("used_memory_vm_total_human", Human(both_bytes as u64));
    out.line("used_memory_scripts", both_bytes);
    out.line("used_memory_scripts_human", Human(both_bytes as u64));
}

fn limit(host: &ServerHost, out: &mut Lines<'_>) {
    let bytes_max = host.settings.bytes(Id::MaxMemory);
    out.line("maxmemory", bytes_max);
    out.line("maxmemory_human", Human(bytes_max));
    out.line("maxmemory_policy", host.settings.choice(Id::MaxMemoryPolicy));
}

fn ratios(report: &MemoryReport, out: &mut Lines<'_>) {
    let ratio = |part: u64, whole: u64| Fixed(part as f64 / whole.max(1) as f64);
    let beyond = |more: u64, less: u64| more.cast_signed() - less.cast_signed();
    let MemoryReport { used, resident, allocated, active, mapped, .. } = *report;
    out.line("allocator_frag_ratio", ratio(active, allocated));
    out.line("allocator_frag_bytes", beyond(active, allocated));
    out.line("allocator_rss_ratio", ratio(mapped, active));
    out.line("allocator_rss_bytes", beyond(mapped, active));
    out.line("rss_overhead_ratio", ratio(resident, mapped));
    out.line("rss_overhead_bytes", beyond(resident, mapped));
    out.line("mem_fragmentation_ratio", ratio(resident, used));
    out.line("mem_fragmentation_bytes", beyond(resident, used));
}
