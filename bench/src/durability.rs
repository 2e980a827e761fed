//! What durability costs, beside redis-server: throughput with the append-only file,
//! latencies while a snapshot is written, and how long saving and loading take.
//!
//! All servers keep their files in directories beside each other, on the disk where
//! temporary files are. Runs are interleaved, and ratios are the medians of those of single
//! turns: a disk is noisier than a processor. A server
//! shares its core with what it saves by, a thread or another process.

use crate::Arguments;
use crate::load::Load;
use crate::paced::{self, Latencies};
use crate::peer::{LOAD_CORE, Peer};
use crate::report::median;
use anyhow::{Context, bail};
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A way of keeping the append-only file.
struct Policy {
    title: &'static str,
    settings: &'static [&'static str],
    /// Fewer commands where each waits for the disk.
    share: u64,
}

const POLICIES: [Policy; 3] = [
    Policy { title: "no append-only file", settings: &["--appendonly", "no"], share: 1 },
    Policy {
        title: "appendfsync everysec",
        settings: &["--appendonly", "yes", "--appendfsync", "everysec"],
        share: 1,
    },
    Policy {
        title: "appendfsync always",
        settings: &["--appendonly", "yes", "--appendfsync", "always"],
        share: 3,
    },
];

/// How long saving and loading may take.
const PATIENCE: Duration = Duration::from_secs(600);
/// How often each loads.
const LOADS: usize = 3;
/// Loads on each server in a round: what a disk does for a second is not to decide.
const TURNS: u32 = 3;
/// Between two looks at whether something is over.
const PAUSE: Duration = Duration::from_millis(10);

/// Reads a second while a snapshot is written: far less than either server can do.
const READS_PER_SECOND: u32 = 10_000;
/// How long is read at rest, and during snapshots at least.
const READING: Duration = Duration::from_secs(10);

/// Measures everything and writes tables of it.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    // What reads at a fixed rate is a thread of this process.
    let pinned = Command::new("taskset")
        .args(["-cp", LOAD_CORE, &std::process::id().to_string()])
        .output()
        .context("cannot run taskset")?;
    if !pinned.status.success() {
        bail!("taskset: {}", String::from_utf8_lossy(&pinned.stderr));
    }
    throughput(arguments)?;
    snapshots(arguments)?;
    increments(arguments)
}

/// Starts both, each with a directory of its own below this one.
fn start(arguments: &Arguments, directory: &Path, settings: &[&str]) -> anyhow::Result<[Peer; 2]> {
    let keyward = start_one(arguments, directory, settings, 0)?;
    Ok([keyward, start_one(arguments, directory, settings, 1)?])
}

/// Starts Keyward or Redis, and waits until it answers.
fn start_one(
    arguments: &Arguments,
    directory: &Path,
    settings: &[&str],
    index: usize,
) -> anyhow::Result<Peer> {
    let (name, program, first): (_, &Path, &[&str]) = match index {
        0 => ("Keyward", &arguments.keyward, &["serve"]),
        _ => ("Redis", "redis-server".as_ref(), &[]),
    };
    let own = directory.join(name);
    std::fs::create_dir_all(&own)?;
    let place = own.to_str().unwrap_or_default();
    let settings = [settings, &["--dir", place, "--enable-debug-command", "yes"]].concat();
    let peer = Peer::start_with(name, program, first, &settings)?;
    wait_until(|| Ok(peer.call(&["PING"]).is_ok_and(|answer| answer == "PONG")))?;
    Ok(peer)
}

/// How long each takes from its start to its first answer, with the files it left.
fn load_seconds(
    arguments: &Arguments,
    directory: &Path,
    settings: &[&str],
) -> anyhow::Result<[f64; 2]> {
    let mut seconds = [Vec::new(), Vec::new()];
    for _ in 0..LOADS {
        // Both are started at the same time, and would share the core.
        for (index, seconds) in seconds.iter_mut().enumerate() {
            let begin = Instant::now();
            let peer = start_one(arguments, directory, settings, index)?;
            seconds.push(begin.elapsed().as_secs_f64());
            drop(peer);
        }
    }
    Ok(seconds.map(median))
}

fn wait_until(mut condition: impl FnMut() -> anyhow::Result<bool>) -> anyhow::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    while !condition()? {
        if Instant::now() > deadline {
            bail!("it takes longer than {PATIENCE:?}");
        }
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

fn throughput(arguments: &Arguments) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "| SET, 50 clients | pipeline | Keyward, per second | Redis, per second | Keyward / Redis | \
         of none, Keyward | Redis | CPU µs per command, Keyward | Redis |"
    )?;
    writeln!(out, "|---|---|---|---|---|---|---|---|---|")?;
    for pipeline in &arguments.pipelines {
        let mut without = None;
        for policy in &POLICIES {
            let directory = tempfile::tempdir()?;
            let peers = start(arguments, directory.path(), policy.settings)?;
            let requests = arguments.requests / policy.share * u64::from(*pipeline).min(4);
            let load = Load { pipeline: *pipeline, requests, ..Load::new(arguments) };
            let turns = measure_in_turns(&peers, &load, arguments.rounds * TURNS)?;
            let of = |server: usize, figure: fn(&Turn) -> f64| {
                median(turns.iter().map(|turn| figure(&turn[server])))
            };
            let [ours, theirs] = [0, 1].map(|server| of(server, |turn| turn.per_second));
            let [our_cpu, their_cpu] = [0, 1].map(|server| of(server, |turn| turn.processor_us));
            let ratio =
                median(turns.iter().map(|[ours, theirs]| ours.per_second / theirs.per_second));
            let (our_first, their_first) = *without.get_or_insert((ours, theirs));
            writeln!(
                out,
                "| {} | {pipeline} | {ours:.0} | {theirs:.0} | {:.2} | {:.2} | {:.2} | \
                 {our_cpu:.2} | {their_cpu:.2} |",
                policy.title,
                ratio,
                ours / our_first,
                theirs / their_first,
            )?;
        }
    }
    Ok(())
}

/// What one load came to.
struct Turn {
    per_second: f64,
    processor_us: f64,
}

/// Loads both servers in turns, each of them first in every second one.
fn measure_in_turns(peers: &[Peer; 2], load: &Load, turns: u32) -> anyhow::Result<Vec<[Turn; 2]>> {
    let measure = |peer: &Peer| -> anyhow::Result<Turn> {
        let before_ns = peer.processor_ns()?;
        let per_second = peer.load(&["-t", "set"], load)?.per_second;
        let spent_ns = peer.processor_ns()? - before_ns;
        Ok(Turn { per_second, processor_us: spent_ns as f64 / 1000.0 / load.requests as f64 })
    };
    let [ours, theirs] = peers;
    let turn = |number| -> anyhow::Result<[Turn; 2]> {
        if number % 2 == 0 {
            Ok([measure(ours)?, measure(theirs)?])
        } else {
            let theirs = measure(theirs)?;
            Ok([measure(ours)?, theirs])
        }
    };
    (0..turns).map(turn).collect()
}

/// What the clients of a server see while it saves, and how long that takes.
struct Saved {
    quiet: Latencies,
    busy: Latencies,
    background_seconds: f64,
    save_seconds: f64,
}

fn is_saving(peer: &Peer) -> anyhow::Result<bool> {
    Ok(peer.call(&["INFO", "persistence"])?.contains("rdb_bgsave_in_progress:1"))
}

/// Reads while it saves, again and again until enough was read.
fn save_while_reading(peer: &Peer, keys: u64) -> anyhow::Result<(Latencies, f64)> {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let is_over = &is_over;
        let reader = scope.spawn(|| {
            paced::read(peer, keys, READS_PER_SECOND, &|| is_over.load(Ordering::Relaxed))
        });
        let (begin, mut seconds) = (Instant::now(), Vec::new());
        let saved = loop {
            let start = Instant::now();
            let saved = peer.call(&["BGSAVE"]).and_then(|_| wait_until(|| Ok(!is_saving(peer)?)));
            seconds.push(start.elapsed().as_secs_f64());
            if saved.is_err() || begin.elapsed() >= READING {
                break saved;
            }
        };
        is_over.store(true, Ordering::Relaxed);
        let Ok(seen) = reader.join() else { bail!("the reader has panicked") };
        saved?;
        Ok((seen?, median(seconds)))
    })
}

fn snapshots(arguments: &Arguments) -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let settings = ["--appendonly", "no"];
    let keys = arguments.keys.to_string();
    let mut saved = Vec::new();
    for index in 0..2 {
        let peer = start_one(arguments, directory.path(), &settings, index)?;
        peer.call(&["DEBUG", "POPULATE", &keys, "key", &arguments.value_bytes.to_string()])?;
        let end = Instant::now() + READING;
        let quiet =
            paced::read(&peer, arguments.keys, READS_PER_SECOND, &|| Instant::now() >= end)?;
        let (busy, background_seconds) = save_while_reading(&peer, arguments.keys)?;
        let begin = Instant::now();
        peer.call(&["SAVE"])?;
        let save_seconds = begin.elapsed().as_secs_f64();
        saved.push(Saved { quiet, busy, background_seconds, save_seconds });
    }
    write_saved(arguments, &saved)?;
    let seconds = load_seconds(arguments, directory.path(), &settings)?;
    write_row("loading the snapshot, seconds", seconds)
}

fn write_row(title: &str, [ours, theirs]: [f64; 2]) -> anyhow::Result<()> {
    let ratio = ours / theirs;
    Ok(writeln!(std::io::stdout(), "| {title} | {ours:.3} | {theirs:.3} | {ratio:.2} |")?)
}

fn write_saved(arguments: &Arguments, saved: &[Saved]) -> anyhow::Result<()> {
    let [ours, theirs] = saved else { bail!("two servers are compared") };
    let mut out = std::io::stdout();
    writeln!(out, "\n| {} keys | Keyward | Redis | Keyward / Redis |", arguments.keys)?;
    writeln!(out, "|---|---|---|---|")?;
    type Figure = fn(&Saved) -> f64;
    let figures: [(&str, Figure); 10] = [
        ("GET at rest: p50, ms", |saved| saved.quiet.p50),
        ("p99", |saved| saved.quiet.p99),
        ("p99.9", |saved| saved.quiet.p999),
        ("longest", |saved| saved.quiet.longest),
        ("GET during BGSAVE: p50, ms", |saved| saved.busy.p50),
        ("p99", |saved| saved.busy.p99),
        ("p99.9", |saved| saved.busy.p999),
        ("longest", |saved| saved.busy.longest),
        ("BGSAVE, seconds", |saved| saved.background_seconds),
        ("SAVE, seconds", |saved| saved.save_seconds),
    ];
    for (title, figure) in figures {
        write_row(title, [figure(ours), figure(theirs)])?;
    }
    Ok(())
}

/// How long an append-only file of one command for each key takes to load.
fn increments(arguments: &Arguments) -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let settings = ["--appendonly", "yes", "--auto-aof-rewrite-percentage", "0"];
    for index in 0..2 {
        let peer = start_one(arguments, directory.path(), &settings, index)?;
        let load = Load { pipeline: 64, requests: arguments.keys, ..Load::new(arguments) };
        peer.load(&["-t", "set"], &load)?;
        // All of it is to be in the file.
        let is_written =
            || Ok(peer.call(&["INFO", "persistence"])?.contains("aof_buffer_length:0"));
        wait_until(is_written)?;
    }
    let seconds = load_seconds(arguments, directory.path(), &settings)?;
    write_row("loading the append-only file, seconds", seconds)
}
