//! The sections of INFO that are about this process.
//!
//! Owns the lines, under Redis's names and in its order. What does not exist here is
//! answered as a Redis answers that has not used it.

mod activity;
mod memory;

use crate::files::progress::Progress;
use crate::files::snapshot_writer::Target;
use crate::serve::host::ServerHost;
use crate::settings::table::Id;
use keyward_commands::REDIS_VERSION;
use keyward_engine::{Facts, Host as _, Section};
use std::fmt::Write as _;

/// A name and its value.
type Line = (&'static str, String);

/// Appends the lines of a section.
pub(crate) fn write(host: &mut ServerHost, section: Section, facts: &Facts, out: &mut String) {
    let lines: Vec<Line> = match section {
        Section::Server => server(host),
        Section::Clients => clients(host, facts),
        Section::Memory => {
            let report = host.memory();
            memory::lines(host, &report, facts)
        }
        Section::Persistence => persistence(host, facts),
        Section::Stats => activity::stats(host, facts),
        Section::Cpu => activity::cpu(),
        Section::Cluster => vec![("cluster_enabled", "0".to_owned())],
        Section::Modules
        | Section::Replication
        | Section::CommandStats
        | Section::ErrorStats
        | Section::LatencyStats
        | Section::Keyspace
        | Section::Patterns => Vec::new(),
    };
    for (name, value) in lines {
        // Writing to a string cannot fail.
        let _ = write!(out, "{name}:{value}\r\n");
    }
}

fn server(host: &ServerHost) -> Vec<Line> {
    let uptime = host.started.elapsed().as_secs();
    let system = rustix::system::uname();
    let word = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
    let os = [system.sysname(), system.release(), system.machine()].map(word).join(" ");
    let now_us = host.clock.now_us();
    let executable = std::env::current_exe().unwrap_or_default();
    let hz = host.settings.int(Id::Hz).to_string();
    let port = match host.settings.int(Id::Port) {
        0 => host.settings.int(Id::TlsPort),
        port => port,
    };
    vec![
        ("redis_version", REDIS_VERSION.to_owned()),
        ("keyward_version", env!("CARGO_PKG_VERSION").to_owned()),
        ("redis_git_sha1", "00000000".to_owned()),
        ("redis_git_dirty", "0".to_owned()),
        ("redis_build_id", "0".to_owned()),
        ("redis_mode", "standalone".to_owned()),
        ("os", os),
        ("arch_bits", usize::BITS.to_string()),
        ("monotonic_clock", "POSIX clock_gettime".to_owned()),
        ("multiplexing_api", "epoll".to_owned()),
        ("atomicvar_api", "none".to_owned()),
        ("gcc_version", "0.0.0".to_owned()),
        ("process_id", std::process::id().to_string()),
        ("process_supervised", host.supervisor.name().to_owned()),
        ("run_id", host.run_id.clone()),
        ("tcp_port", port.to_string()),
        ("server_time_usec", now_us.to_string()),
        ("uptime_in_seconds", uptime.to_string()),
        ("uptime_in_days", (uptime / 86_400).to_string()),
        ("hz", hz.clone()),
        ("configured_hz", hz),
        ("lru_clock", ((now_us / 1_000_000) & 0xff_ffff).to_string()),
        ("executable", executable.display().to_string()),
        ("config_file", host.settings.file().map_or(String::new(), |f| f.display().to_string())),
        ("io_threads_active", "0".to_owned()),
    ]
}

fn clients(host: &ServerHost, facts: &Facts) -> Vec<Line> {
    vec![
        ("connected_clients", facts.clients.to_string()),
        ("cluster_connections", "0".to_owned()),
        ("maxclients", host.settings.clients_max().to_string()),
        ("client_recent_max_input_buffer", host.peers.largest_input().to_string()),
        ("client_recent_max_output_buffer", host.peers.largest_output().to_string()),
        ("blocked_clients", facts.blocked_clients.to_string()),
        ("tracking_clients", facts.tracking.clients.to_string()),
        ("clients_in_timeout_table", facts.timed_waits.to_string()),
    ]
}

/// An amount of memory as Redis shows it: `1.50M`.
fn human(bytes: u64) -> String {
    const UNITS: [(u64, &str); 4] =
        [(1 << 40, "T"), (1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")];
    let unit = UNITS.into_iter().find(|(size, _)| bytes >= *size);
    unit.map_or_else(
        || format!("{bytes}B"),
        |(size, letter)| format!("{:.2}{letter}", bytes as f64 / size as f64),
    )
}

fn persistence(host: &ServerHost, facts: &Facts) -> Vec<Line> {
    let saving = host.saving.as_ref();
    let captured = facts.captured_bytes + host.unsaved_bytes() as usize;
    let peak = captured.max(saving.map_or(0, |saving| saving.peak_bytes));
    let progress = facts.snapshot.unwrap_or_default();
    let mut lines = vec![
        ("loading", u8::from(host.is_loading()).to_string()),
        ("async_loading", "0".to_owned()),
        ("current_cow_peak", peak.to_string()),
        ("current_cow_size", captured.to_string()),
        ("current_cow_size_age", "0".to_owned()),
        ("current_fork_perc", "0.00".to_owned()),
        ("current_save_keys_processed", progress.rows.to_string()),
        ("current_save_keys_total", progress.rows_total.to_string()),
    ];
    lines.extend(host.persistence.info(facts.dirty));
    let is_on = host.settings.is_on(Id::AppendOnly);
    lines.extend(host.append_only.info(is_on, host.is_writing(Target::Snapshot)));
    lines.extend(host.loading.iter().flat_map(Progress::info));
    lines
}

#[cfg(test)]
mod tests {
    use super::human;

    #[test]
    fn memory_is_shown_as_redis_shows_it() {
        for (bytes, expected) in [(0, "0B"), (1023, "1023B"), (1536, "1.50K"), (1 << 30, "1.00G")] {
            assert_eq!(human(bytes), expected);
        }
    }
}
