//! What redis_exporter makes of the plain numbers of INFO: the names under which dashboards
//! and alerts know them.
//!
//! Owns one row for each field of INFO that redis_exporter exports as one number, in INFO's
//! order. Names and kinds are its own, odd ones included.

use crate::families::FamilyKind;

/// A field of INFO and the family that it is exported as.
#[derive(Debug, Clone, Copy)]
pub struct InfoFamily {
    /// The field.
    pub field: &'static str,
    /// The family's name.
    pub name: &'static str,
    /// What kind of number it is.
    pub kind: FamilyKind,
}

macro_rules! info_families {
    ($( $field:literal, $name:literal, $kind:ident; )+) => {
        /// Every field of INFO that is exported as one number.
        pub static INFO_FAMILIES: &[InfoFamily] = &[
            $( InfoFamily { field: $field, name: $name, kind: FamilyKind::$kind }, )+
        ];
    };
}

info_families! {
    "process_id", "redis_process_id", Gauge;
    "uptime_in_seconds", "redis_uptime_in_seconds", Gauge;
    "hz", "redis_hz", Gauge;
    "configured_hz", "redis_configured_hz", Gauge;
    "io_threads_active", "redis_io_threads_active", Gauge;
    "connected_clients", "redis_connected_clients", Gauge;
    "cluster_connections", "redis_cluster_connections", Gauge;
    "maxclients", "redis_max_clients", Gauge;
    "client_recent_max_input_buffer", "redis_client_recent_max_input_buffer_bytes", Gauge;
    "client_recent_max_output_buffer", "redis_client_recent_max_output_buffer_bytes", Gauge;
    "blocked_clients", "redis_blocked_clients", Gauge;
    "tracking_clients", "redis_tracking_clients", Gauge;
    "clients_in_timeout_table", "redis_clients_in_timeout_table", Gauge;
    "used_memory", "redis_memory_used_bytes", Gauge;
    "used_memory_rss", "redis_memory_used_rss_bytes", Gauge;
    "used_memory_peak", "redis_memory_used_peak_bytes", Gauge;
    "used_memory_overhead", "redis_memory_used_overhead_bytes", Gauge;
    "used_memory_startup", "redis_memory_used_startup_bytes", Gauge;
    "used_memory_dataset", "redis_memory_used_dataset_bytes", Gauge;
    "allocator_allocated", "redis_allocator_allocated_bytes", Gauge;
    "allocator_active", "redis_allocator_active_bytes", Gauge;
    "allocator_resident", "redis_allocator_resident_bytes", Gauge;
    "total_system_memory", "redis_total_system_memory_bytes", Gauge;
    "used_memory_lua", "redis_memory_used_lua_bytes", Gauge;
    "used_memory_vm_eval", "redis_memory_used_vm_eval_bytes", Gauge;
    "used_memory_scripts_eval", "redis_memory_used_scripts_eval_bytes", Gauge;
    "number_of_cached_scripts", "redis_number_of_cached_scripts", Gauge;
    "number_of_functions", "redis_number_of_functions", Gauge;
    "number_of_libraries", "redis_number_of_libraries", Gauge;
    "used_memory_vm_functions", "redis_memory_used_vm_functions_bytes", Gauge;
    "used_memory_vm_total", "redis_memory_used_vm_total", Gauge;
    "used_memory_scripts", "redis_memory_used_scripts_bytes", Gauge;
    "maxmemory", "redis_memory_max_bytes", Gauge;
    "allocator_frag_ratio", "redis_allocator_frag_ratio", Gauge;
    "allocator_frag_bytes", "redis_allocator_frag_bytes", Gauge;
    "allocator_rss_ratio", "redis_allocator_rss_ratio", Gauge;
    "allocator_rss_bytes", "redis_allocator_rss_bytes", Gauge;
    "mem_fragmentation_ratio", "redis_mem_fragmentation_ratio", Gauge;
    "mem_fragmentation_bytes", "redis_mem_fragmentation_bytes", Gauge;
    "mem_not_counted_for_evict", "redis_mem_not_counted_for_eviction_bytes", Gauge;
    "mem_replication_backlog", "redis_mem_replication_backlog_bytes", Gauge;
    "mem_total_replication_buffers", "redis_mem_total_replication_buffers_bytes", Gauge;
    "mem_clients_slaves", "redis_mem_clients_slaves", Gauge;
    "mem_clients_normal", "redis_mem_clients_normal", Gauge;
    "mem_cluster_links", "redis_mem_cluster_links_bytes", Gauge;
    "mem_aof_buffer", "redis_mem_aof_buffer_bytes", Gauge;
    "active_defrag_running", "redis_active_defrag_running", Gauge;
    "lazyfree_pending_objects", "redis_lazyfree_pending_objects", Gauge;
    "lazyfreed_objects", "redis_lazyfreed_objects", Gauge;
    "loading", "redis_loading_dump_file", Gauge;
    "async_loading", "redis_async_loading", Gauge;
    "rdb_changes_since_last_save", "redis_rdb_changes_since_last_save", Gauge;
    "rdb_bgsave_in_progress", "redis_rdb_bgsave_in_progress", Gauge;
    "rdb_last_save_time", "redis_rdb_last_save_timestamp_seconds", Gauge;
    "rdb_last_bgsave_status", "redis_rdb_last_bgsave_status", Gauge;
    "rdb_last_bgsave_time_sec", "redis_rdb_last_bgsave_duration_sec", Gauge;
    "rdb_current_bgsave_time_sec", "redis_rdb_current_bgsave_duration_sec", Gauge;
    "rdb_saves", "redis_rdb_saves_total", Gauge;
    "rdb_last_cow_size", "redis_rdb_last_cow_size_bytes", Gauge;
    "rdb_last_load_keys_expired", "redis_rdb_last_load_expired_keys", Gauge;
    "rdb_last_load_keys_loaded", "redis_rdb_last_load_loaded_keys", Gauge;
    "aof_enabled", "redis_aof_enabled", Gauge;
    "aof_rewrite_in_progress", "redis_aof_rewrite_in_progress", Gauge;
    "aof_rewrite_scheduled", "redis_aof_rewrite_scheduled", Gauge;
    "aof_last_rewrite_time_sec", "redis_aof_last_rewrite_duration_sec", Gauge;
    "aof_current_rewrite_time_sec", "redis_aof_current_rewrite_duration_sec", Gauge;
    "aof_last_bgrewrite_status", "redis_aof_last_bgrewrite_status", Gauge;
    "aof_last_write_status", "redis_aof_last_write_status", Gauge;
    "aof_last_cow_size", "redis_aof_last_cow_size_bytes", Gauge;
    "module_fork_in_progress", "redis_module_fork_in_progress", Gauge;
    "module_fork_last_cow_size", "redis_module_fork_last_cow_size", Gauge;
    "aof_current_size", "redis_aof_current_size_bytes", Gauge;
    "aof_base_size", "redis_aof_base_size_bytes", Gauge;
    "aof_pending_rewrite", "redis_aof_pending_rewrite", Gauge;
    "aof_buffer_length", "redis_aof_buffer_length", Gauge;
    "aof_pending_bio_fsync", "redis_aof_pending_bio_fsync", Gauge;
    "aof_delayed_fsync", "redis_aof_delayed_fsync", Gauge;
    "total_connections_received", "redis_connections_received_total", Counter;
    "total_commands_processed", "redis_commands_processed_total", Counter;
    "total_net_input_bytes", "redis_net_input_bytes_total", Counter;
    "total_net_output_bytes", "redis_net_output_bytes_total", Counter;
    "total_net_repl_input_bytes", "redis_net_repl_input_bytes_total", Counter;
    "total_net_repl_output_bytes", "redis_net_repl_output_bytes_total", Counter;
    "rejected_connections", "redis_rejected_connections_total", Counter;
    "sync_full", "redis_replica_resyncs_full", Gauge;
    "sync_partial_ok", "redis_replica_partial_resync_accepted", Gauge;
    "sync_partial_err", "redis_replica_partial_resync_denied", Gauge;
    "expired_keys", "redis_expired_keys_total", Counter;
    "expired_stale_perc", "redis_expired_stale_percentage", Gauge;
    "expired_time_cap_reached_count", "redis_expired_time_cap_reached_total", Counter;
    "expire_cycle_cpu_milliseconds", "redis_expire_cycle_cpu_time_ms_total", Counter;
    "evicted_keys", "redis_evicted_keys_total", Counter;
    "evicted_clients", "redis_evicted_clients_total", Counter;
    "total_eviction_exceeded_time", "redis_eviction_exceeded_time_ms_total", Counter;
    "current_eviction_exceeded_time", "redis_current_eviction_exceeded_time_ms", Gauge;
    "keyspace_hits", "redis_keyspace_hits_total", Counter;
    "keyspace_misses", "redis_keyspace_misses_total", Counter;
    "pubsub_channels", "redis_pubsub_channels", Gauge;
    "pubsub_patterns", "redis_pubsub_patterns", Gauge;
    "pubsubshard_channels", "redis_pubsubshard_channels", Gauge;
    "latest_fork_usec", "redis_latest_fork_seconds", Gauge;
    "migrate_cached_sockets", "redis_migrate_cached_sockets_total", Gauge;
    "slave_expires_tracked_keys", "redis_slave_expires_tracked_keys", Gauge;
    "active_defrag_hits", "redis_defrag_hits", Gauge;
    "active_defrag_misses", "redis_defrag_misses", Gauge;
    "active_defrag_key_hits", "redis_defrag_key_hits", Gauge;
    "active_defrag_key_misses", "redis_defrag_key_misses", Gauge;
    "tracking_total_keys", "redis_tracking_total_keys", Gauge;
    "tracking_total_items", "redis_tracking_total_items", Gauge;
    "tracking_total_prefixes", "redis_tracking_total_prefixes", Gauge;
    "unexpected_error_replies", "redis_unexpected_error_replies", Counter;
    "total_error_replies", "redis_total_error_replies", Counter;
    "dump_payload_sanitizations", "redis_dump_payload_sanitizations", Counter;
    "total_reads_processed", "redis_total_reads_processed", Counter;
    "total_writes_processed", "redis_total_writes_processed", Counter;
    "io_threaded_reads_processed", "redis_io_threaded_reads_processed", Counter;
    "io_threaded_writes_processed", "redis_io_threaded_writes_processed", Counter;
    "reply_buffer_shrinks", "redis_reply_buffer_shrinks_total", Counter;
    "reply_buffer_expands", "redis_reply_buffer_expands_total", Counter;
    "connected_slaves", "redis_connected_slaves", Gauge;
    "master_repl_offset", "redis_master_repl_offset", Gauge;
    "second_repl_offset", "redis_second_repl_offset", Gauge;
    "repl_backlog_active", "redis_repl_backlog_is_active", Gauge;
    "repl_backlog_size", "redis_replication_backlog_bytes", Gauge;
    "repl_backlog_first_byte_offset", "redis_repl_backlog_first_byte_offset", Gauge;
    "repl_backlog_histlen", "redis_repl_backlog_history_bytes", Gauge;
    "used_cpu_sys", "redis_cpu_sys_seconds_total", Counter;
    "used_cpu_user", "redis_cpu_user_seconds_total", Counter;
    "used_cpu_sys_children", "redis_cpu_sys_children_seconds_total", Counter;
    "used_cpu_user_children", "redis_cpu_user_children_seconds_total", Counter;
    "used_cpu_sys_main_thread", "redis_cpu_sys_main_thread_seconds_total", Counter;
    "used_cpu_user_main_thread", "redis_cpu_user_main_thread_seconds_total", Counter;
    "cluster_enabled", "redis_cluster_enabled", Gauge;
}

impl InfoFamily {
    /// The number that is exported for a field's value, if it is one.
    pub(crate) fn number(&self, value: &str) -> Option<f64> {
        let number = match value {
            "ok" | "true" => 1.0,
            "err" | "fail" | "false" => 0.0,
            value => value.parse().ok()?,
        };
        // The one that changes its unit.
        Some(if self.field == "latest_fork_usec" { number / 1e6 } else { number })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn fields_and_names_stand_once() {
        let fields: BTreeSet<_> = INFO_FAMILIES.iter().map(|family| family.field).collect();
        let names: BTreeSet<_> = INFO_FAMILIES.iter().map(|family| family.name).collect();
        assert_eq!((fields.len(), names.len()), (INFO_FAMILIES.len(), INFO_FAMILIES.len()));
    }

    #[test]
    fn words_become_numbers_as_in_the_exporter() {
        let status = InfoFamily { field: "x", name: "x", kind: FamilyKind::Gauge };
        for (value, expected) in
            [("ok", Some(1.0)), ("err", Some(0.0)), ("1.50", Some(1.5)), ("up", None)]
        {
            assert_eq!(status.number(value), expected, "{value}");
        }
        let fork = InfoFamily { field: "latest_fork_usec", ..status };
        assert_eq!(fork.number("1500000"), Some(1.5));
    }
}
