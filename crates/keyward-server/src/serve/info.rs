//! The sections of INFO that are about this process.
//!
//! Owns the lines, under Redis's names and in its order. What does not exist here is
//! answered as a Redis answers that has not used it. Writing them allocates nothing: they are
//! also what is published (`publishing`).

pub(super) mod activity;
mod memory;

use crate::files::info_lines::{Fixed, Human, Lines, Micro, Shown};
use crate::files::snapshot_writer::Target;
use crate::serve::host::ServerHost;
use crate::settings::table::Id;
use activity::cpu;
use keyward_commands::REDIS_VERSION;
use keyward_engine::{Facts, Host as _, Section};
use std::path::PathBuf;
use std::sync::OnceLock;

/// Where this program is, found once.
static EXECUTABLE: OnceLock<PathBuf> = OnceLock::new();

/// Appends the lines of a section.
pub(crate) fn write(host: &mut ServerHost, section: Section, facts: &Facts, out: &mut String) {
    let out = &mut Lines(out);
    match section {
        Section::Server => server(host, facts, out),
        Section::Clients => clients(host, facts, out),
        Section::Memory => {
            let report = host.memory();
            memory::lines(host, &report, facts, out);
        }
        Section::Persistence => persistence(host, facts, out),
        Section::Stats => activity::stats(host, facts, out),
        Section::Cpu => cpu(rustix::thread::gettid(), out),
        Section::Cluster => out.line("cluster_enabled", 0),
        Section::Modules
        | Section::Replication
        | Section::CommandStats
        | Section::ErrorStats
        | Section::LatencyStats
        | Section::Keyspace
        | Section::Patterns => {}
    }
}

fn server(host: &ServerHost, facts: &Facts, out: &mut Lines<'_>) {
    let uptime = host.started.elapsed().as_secs();
    let system = rustix::system::uname();
    let [name, release, machine] =
        [system.sysname(), system.release(), system.machine()].map(|word| word.to_string_lossy());
    let now_us = host.clock.now_us();
    let executable = EXECUTABLE.get_or_init(|| std::env::current_exe().unwrap_or_default());
    let hz = host.settings.int(Id::Hz);
    let port = match host.settings.int(Id::Port) {
        0 => host.settings.int(Id::TlsPort),
        port => port,
    };
    out.line("redis_version", REDIS_VERSION);
    out.line("keyward_version", env!("CARGO_PKG_VERSION"));
    out.line("redis_git_sha1", "00000000");
    out.line("redis_git_dirty", "0");
    out.line("redis_build_id", "0");
    out.line("redis_mode", "standalone");
    out.line("os", format_args!("{name} {release} {machine}"));
    out.line("arch_bits", usize::BITS);
    out.line("monotonic_clock", "POSIX clock_gettime");
    out.line("multiplexing_api", "epoll");
    out.line("atomicvar_api", "none");
    out.line("gcc_version", "0.0.0");
    out.line("process_id", std::process::id());
    out.line("process_supervised", host.supervisor.name());
    out.line("run_id", &host.run_id);
    out.line("tcp_port", port);
    out.line("server_time_usec", now_us);
    out.line("uptime_in_seconds", uptime);
    out.line("uptime_in_days", uptime / 86_400);
    out.line("hz", hz);
    out.line("configured_hz", hz);
    out.line("lru_clock", (now_us / 1_000_000) & 0xff_ffff);
    out.line("executable", executable.display());
    out.line("config_file", Shown(host.settings.file()));
    out.line("io_threads_active", "0");
    if let Some(ms) = facts.ends_in_ms {
        out.line("shutdown_in_milliseconds", ms);
    }
}

fn clients(host: &ServerHost, facts: &Facts, out: &mut Lines<'_>) {
    out.line("connected_clients", facts.clients);
    out.line("cluster_connections", "0");
    out.line("maxclients", host.settings.clients_max());
    out.line("client_recent_max_input_buffer", host.peers.largest_input());
    out.line("client_recent_max_output_buffer", host.peers.largest_output());
    out.line("blocked_clients", facts.blocked_clients);
    out.line("tracking_clients", facts.tracking.clients);
    out.line("clients_in_timeout_table", facts.timed_waits);
}

fn persistence(host: &ServerHost, facts: &Facts, out: &mut Lines<'_>) {
    let saving = host.saving.as_ref();
    let captured = facts.captured_bytes + host.unsaved_bytes() as usize;
    let peak = captured.max(saving.map_or(0, |saving| saving.peak_bytes));
    let progress = facts.snapshot.unwrap_or_default();
    out.line("loading", u8::from(host.is_loading()));
    out.line("async_loading", u8::from(host.link.loads_beside));
    out.line("current_cow_peak", peak);
    out.line("current_cow_size", captured);
    out.line("current_cow_size_age", "0");
    out.line("current_fork_perc", "0.00");
    out.line("current_save_keys_processed", progress.rows);
    out.line("current_save_keys_total", progress.rows_total);
    host.persistence.info(facts.dirty, host.syncing, out);
    let is_on = host.settings.is_on(Id::AppendOnly);
    host.append_only.info(is_on, host.is_writing(Target::Snapshot), out);
    host.loading.iter().for_each(|progress| progress.info(out));
}
