//! The section of INFO about memory.
//!
//! Owns the lines, under Redis's names and in its order.

use super::{Line, human};
use crate::serve::host::ServerHost;
use crate::settings::table::Id;
use keyward_engine::{Facts, MemoryReport};

pub(super) fn lines(host: &ServerHost, report: &MemoryReport, facts: &Facts) -> Vec<Line> {
    let mut lines = amounts(report, facts);
    lines.extend(scripts(facts));
    lines.extend(limit(host));
    lines.extend(ratios(report));
    lines.extend([
        ("mem_not_counted_for_evict", report.uncounted(facts).to_string()),
        ("mem_replication_backlog", facts.backlog_bytes.to_string()),
        ("mem_total_replication_buffers", facts.backlog_bytes.to_string()),
        ("mem_clients_slaves", report.replicas.to_string()),
        ("mem_clients_normal", (report.clients + facts.client_bytes as u64).to_string()),
        ("mem_cluster_links", "0".to_owned()),
        ("mem_aof_buffer", report.log.to_string()),
        ("mem_allocator", "jemalloc-5.3.1".to_owned()),
        ("active_defrag_running", "0".to_owned()),
        ("lazyfree_pending_objects", facts.lazy_pending.to_string()),
        ("lazyfreed_objects", facts.lazy_freed.to_string()),
    ]);
    lines
}

fn amounts(report: &MemoryReport, facts: &Facts) -> Vec<Line> {
    let system = rustix::system::sysinfo();
    let system_bytes = u64::from(system.mem_unit).saturating_mul(system.totalram);
    vec![
        ("used_memory", report.used.to_string()),
        ("used_memory_human", human(report.used)),
        ("used_memory_rss", report.resident.to_string()),
        ("used_memory_rss_human", human(report.resident)),
        ("used_memory_peak", report.peak.to_string()),
        ("used_memory_peak_human", human(report.peak)),
        ("used_memory_peak_perc", format!("{:.2}%", report.peak_percent())),
        ("used_memory_overhead", report.overhead(facts).to_string()),
        ("used_memory_startup", report.startup.to_string()),
        ("used_memory_dataset", report.dataset(facts).to_string()),
        ("used_memory_dataset_perc", format!("{:.2}%", report.dataset_percent(facts))),
        ("allocator_allocated", report.allocated.to_string()),
        ("allocator_active", report.active.to_string()),
        ("allocator_resident", report.mapped.to_string()),
        ("total_system_memory", system_bytes.to_string()),
        ("total_system_memory_human", human(system_bytes)),
    ]
}

fn scripts(facts: &Facts) -> [Line; 12] {
    let scripts = &facts.scripts;
    let both_bytes = scripts.script_bytes + scripts.library_bytes;
    [
        ("used_memory_lua", scripts.script_bytes.to_string()),
        ("used_memory_vm_eval", scripts.script_bytes.to_string()),
        ("used_memory_lua_human", human(scripts.script_bytes as u64)),
        ("used_memory_scripts_eval", scripts.script_bytes.to_string()),
        ("number_of_cached_scripts", scripts.cached_scripts.to_string()),
        ("number_of_functions", scripts.functions.to_string()),
        ("number_of_libraries", scripts.libraries.to_string()),
        ("used_memory_vm_functions", scripts.library_bytes.to_string()),
        ("used_memory_vm_total", both_bytes.to_string()),
        ("used_memory_vm_total_human", human(both_bytes as u64)),
        ("used_memory_scripts", both_bytes.to_string()),
        ("used_memory_scripts_human", human(both_bytes as u64)),
    ]
}

fn limit(host: &ServerHost) -> [Line; 3] {
    let bytes_max = host.settings.bytes(Id::MaxMemory);
    [
        ("maxmemory", bytes_max.to_string()),
        ("maxmemory_human", human(bytes_max)),
        ("maxmemory_policy", host.settings.text(Id::MaxMemoryPolicy)),
    ]
}

fn ratios(report: &MemoryReport) -> [Line; 8] {
    let ratio = |part: u64, whole: u64| format!("{:.2}", part as f64 / whole.max(1) as f64);
    let beyond = |more: u64, less: u64| (more.cast_signed() - less.cast_signed()).to_string();
    let MemoryReport { used, resident, allocated, active, mapped, .. } = *report;
    [
        ("allocator_frag_ratio", ratio(active, allocated)),
        ("allocator_frag_bytes", beyond(active, allocated)),
        ("allocator_rss_ratio", ratio(mapped, active)),
        ("allocator_rss_bytes", beyond(mapped, active)),
        ("rss_overhead_ratio", ratio(resident, mapped)),
        ("rss_overhead_bytes", beyond(resident, mapped)),
        ("mem_fragmentation_ratio", ratio(resident, used)),
        ("mem_fragmentation_bytes", beyond(resident, used)),
    ]
}
