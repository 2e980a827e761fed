//! Keyward and redis-server side by side, by processor time per command.
//!
//! Each server is pinned to core 0 and the load (redis-benchmark) to core 1; the
//! load generator saturates before the server does, so throughput alone would
//! compare generators. What counts is the server's own processor time, read from
//! the kernel, divided by the commands. Runs are interleaved and the median is
//! taken, for machines are noisy; compare ratios, never figures of two runs.
//!
//! ```text
//! cargo build --release -p keyward
//! cargo run --release -p keyward-bench -- --keyward target/release/keyward
//! ```

mod peer;

use anyhow::{Context, bail};
use clap::Parser;
use peer::Peer;
use std::io::Write as _;
use std::path::PathBuf;

/// Compare Keyward with redis-server
#[derive(Debug, Parser)]
struct Arguments {
    /// The binary to measure
    #[arg(long, default_value = "target/release/keyward")]
    keyward: PathBuf,
    /// A further server to compare with, that takes redis-server's arguments
    #[arg(long)]
    valkey: Option<PathBuf>,
    /// What to run, by redis-benchmark's names
    #[arg(long, value_delimiter = ',', default_value = "set,get,incr,mset")]
    tests: Vec<String>,
    /// Commands per request batch
    #[arg(long, value_delimiter = ',', default_value = "1,16")]
    pipelines: Vec<u32>,
    /// How often each measurement is repeated
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Commands per measurement
    #[arg(long, default_value_t = 300_000)]
    requests: u64,
    /// How many different keys
    #[arg(long, default_value_t = 1_000_000)]
    keys: u64,
    /// Bytes per value
    #[arg(long, default_value_t = 150)]
    value_bytes: u32,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let mut out = std::io::stdout().lock();
    let mut peers = vec![
        Peer::start("keyward", &arguments.keyward, &["serve"])?,
        Peer::start("redis", "redis-server".as_ref(), &[])?,
    ];
    if let Some(valkey) = &arguments.valkey {
        peers.push(Peer::start("valkey", valkey, &[])?);
    }
    for peer in &peers {
        // Three times as many writes as keys leave one key in twenty out.
        peer.benchmark("set", 64, 3 * arguments.keys, &arguments)?;
        writeln!(
            out,
            "{}: {} MB resident with {} keys",
            peer.name,
            peer.resident_mb()?,
            arguments.keys
        )?;
    }
    let names: Vec<&str> = peers.iter().map(|peer| peer.name).collect();
    writeln!(out, "\nµs of processor time per command; the ratio is to keyward's")?;
    writeln!(out, "{:<8} {:>3}  {}", "test", "P", columns(&names))?;
    let mut products = vec![(0.0, 0); arguments.pipelines.len()];
    for test in &arguments.tests {
        for (at, pipeline) in arguments.pipelines.iter().enumerate() {
            let medians = measure(&peers, test, *pipeline, &arguments)?;
            let cell = |us: &f64| format!("{us:>8.2} {:>5.2}x", us / medians[0]);
            let cells: Vec<String> = medians.iter().map(cell).collect();
            writeln!(out, "{test:<8} {pipeline:>3}  {}", cells.join("  "))?;
            products[at].0 += (medians[1] / medians[0]).ln();
            products[at].1 += 1;
        }
    }
    for (pipeline, (sum, count)) in arguments.pipelines.iter().zip(products) {
        let mean = (sum / f64::from(count)).exp();
        writeln!(
            out,
            "pipeline {pipeline}: redis needs {mean:.2} times keyward's (geometric mean)"
        )?;
    }
    Ok(())
}

fn columns(names: &[&str]) -> String {
    names.iter().map(|name| format!("{name:>8}       ")).collect::<Vec<_>>().join("  ")
}

/// The median time per command of each peer, runs interleaved.
fn measure(
    peers: &[Peer],
    test: &str,
    pipeline: u32,
    arguments: &Arguments,
) -> anyhow::Result<Vec<f64>> {
    let mut samples = vec![Vec::new(); peers.len()];
    for _ in 0..arguments.rounds {
        for (peer, samples) in peers.iter().zip(&mut samples) {
            let before = peer.processor_ns()?;
            peer.benchmark(test, pipeline, arguments.requests, arguments)?;
            let spent_ns = peer.processor_ns()? - before;
            samples.push(spent_ns as f64 / 1000.0 / arguments.requests as f64);
        }
    }
    let median = |mut samples: Vec<f64>| {
        samples.sort_by(f64::total_cmp);
        samples.get(samples.len() / 2).copied()
    };
    let medians: Option<Vec<f64>> = samples.into_iter().map(median).collect();
    let Some(medians) = medians else { bail!("--rounds must be at least 1") };
    medians.iter().all(|us| *us > 0.0).then_some(medians).context("the kernel counts no time")
}
