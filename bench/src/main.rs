//! Keyward, redis-server and Valkey side by side.
//!
//! Each server is pinned to core 0 and the load (redis-benchmark) to core 1; the
//! load generator saturates before the server does, so throughput alone would
//! compare generators. What counts is the server's own processor time, read from
//! the kernel, divided by the commands. Machines are noisy: runs are interleaved, servers
//! of one round are compared with each other, and the median of the rounds is taken;
//! compare ratios, never figures of two runs.
//!
//! ```text
//! cargo build --profile dist -p keyward
//! cargo run --profile dist -p keyward-bench
//! cargo run --profile dist -p keyward-bench -- --memory
//! cargo run --profile dist -p keyward-bench -- --durability --keys 5000000
//! cargo run --profile dist -p keyward-bench -- --tls --tests set,get,mset
//! cargo run --profile dist -p keyward-bench -- --handshakes
//! cargo run --profile dist -p keyward-bench -- --scrapes
//! cargo run --profile dist -p keyward-bench -- --replica --pipelines 16
//! cargo run --profile dist -p keyward-bench -- --sink
//! cargo run --profile dist -p keyward-bench -- --hit-ratio
//! cargo run --profile dist -p keyward-bench -- --steps
//! cargo run --profile dist -p keyward-bench -- --systems
//! cargo run --profile dist -p keyward-bench -- --schemas systems/*/keyward.toml
//! ```

mod arguments;
mod clients;
mod connection;
mod durability;
mod governed;
mod hit_ratio;
mod load;
mod memory;
mod paced;
mod peer;
mod replica;
mod report;
mod scrapes;
mod sink;
mod steps;
mod systems;
mod tls;
mod valkey;
mod workload;

use anyhow::{Context, bail};
use arguments::{Arguments, Other};
use clap::Parser as _;
use load::Load;
use peer::Peer;
use report::{Measured, Row};
use std::io::Write as _;
use workload::Workload;

/// So often each server has its turn in a round, one command at a time.
const TURNS_MAX: u32 = 5;

/// The server's: steps are measured in this process.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    if arguments.memory {
        return memory::run(&arguments);
    }
    if arguments.durability {
        return durability::run(&arguments);
    }
    if arguments.handshakes {
        return tls::run_handshakes(&arguments);
    }
    if arguments.scrapes {
        return scrapes::run(&arguments);
    }
    if arguments.replica {
        return replica::run(&arguments);
    }
    if arguments.sink {
        return sink::run(&arguments);
    }
    if arguments.hit_ratio {
        return hit_ratio::run(&arguments);
    }
    if arguments.steps {
        return steps::run(&arguments);
    }
    if arguments.systems {
        return systems::run(&arguments);
    }
    if !arguments.schemas.is_empty() {
        return governed::run(&arguments, &arguments.schemas);
    }
    let named: Option<Vec<&Workload>> =
        arguments.tests.iter().map(|t| Workload::named(t)).collect();
    let workloads = named.with_context(|| format!("the tests are: {}", workload::ALL))?;
    if workloads.iter().any(|w| w.empties_a_set()) && arguments.requests > arguments.keys * 3 / 4 {
        bail!("spop and zpopmin need members to take: --requests at most 3/4 of --keys");
    }
    let peers = start(&arguments)?;
    let mut out = std::io::stdout().lock();
    report::write_heading(&mut out, &peers)?;
    for peer in &peers {
        // Three times as many writes as keys leave one key in twenty out.
        let fill = Load { pipeline: 64, requests: 3 * arguments.keys, ..Load::new(&arguments) };
        peer.load(&["-t", "set"], &fill)?;
        let key_count = peer.call(&["DBSIZE"])?;
        writeln!(
            out,
            "- {}: {} MB resident with {key_count} keys",
            peer.name,
            peer.resident_bytes()? / 1_048_576
        )?;
    }
    let mut rows = Vec::new();
    for workload in workloads {
        for pipeline in &arguments.pipelines {
            let load = Load { pipeline: *pipeline, ..Load::new(&arguments) };
            let samples = measure(&peers, workload, &load, arguments.rounds)?;
            rows.push(Row { name: workload.title, pipeline: *pipeline, samples });
        }
    }
    report::write_tables(&mut out, &peers, &rows)?;
    Ok(())
}

/// Starts Keyward, and after it those to compare it with.
fn start(arguments: &Arguments) -> anyhow::Result<Vec<Peer>> {
    if arguments.tls {
        return tls::start(arguments);
    }
    let mut peers = vec![Peer::start("Keyward", &arguments.keyward, &["serve"])?];
    for other in &arguments.peers {
        peers.push(match other {
            Other::Redis => Peer::start("Redis", "redis-server".as_ref(), &[])?,
            Other::Valkey => valkey::start(arguments.valkey.as_deref())?,
        });
    }
    Ok(peers)
}

/// What each peer did in each round. In a round they take turns, each time another one
/// first: what the machine does meanwhile falls on all of them, and nobody gains by what the
/// one before left in the caches.
fn measure(
    peers: &[Peer],
    workload: &Workload,
    load: &Load,
    rounds: u32,
) -> anyhow::Result<Vec<Vec<Measured>>> {
    // With long pipelines a turn would soon be over, and connecting be most of it.
    let turns = (TURNS_MAX / load.pipeline).max(1);
    let share = Load { requests: load.requests.div_ceil(u64::from(turns)), ..*load };
    let mut samples = vec![Vec::new(); peers.len()];
    for round in 0..rounds as usize {
        for peer in peers {
            workload.prepare(peer, &share, turns)?;
        }
        let mut parts = vec![Vec::new(); peers.len()];
        for turn in 0..turns as usize {
            for place in 0..peers.len() {
                let at = (round + turn + place) % peers.len();
                parts[at].push(take_turn(&peers[at], workload, &share)?);
            }
        }
        for (samples, parts) in samples.iter_mut().zip(parts) {
            samples.push(Measured::of_turns(&parts));
        }
    }
    Ok(samples)
}

fn take_turn(peer: &Peer, workload: &Workload, load: &Load) -> anyhow::Result<Measured> {
    let before_ns = peer.processor_ns()?;
    let seen = peer.load(workload.command, load)?;
    let spent_ns = peer.processor_ns()? - before_ns;
    Ok(Measured { processor_us: spent_ns as f64 / 1000.0 / load.requests as f64, seen })
}
