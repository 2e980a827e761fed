//! What durability costs, beside redis-server: throughput with the append-only file,
//! latencies while a snapshot is written, and how long saving and loading take.
//!
//! All servers keep their files in directories beside each other, on the disk where
//! temporary files are. Runs are interleaved: a disk is noisier than a processor.

use crate::Arguments;
use crate::load::{Load, Seen};
use crate::peer::Peer;
use anyhow::bail;
use std::io::Write as _;
use std::path::Path;
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
        share: 10,
    },
];

/// How long saving and loading may take.
const PATIENCE: Duration = Duration::from_secs(600);
/// Between two looks at whether something is over.
const PAUSE: Duration = Duration::from_millis(10);

/// Measures everything and writes tables of it.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    throughput(arguments)?;
    snapshots(arguments)
}

/// Starts both with a directory of their own below this one.
fn start(arguments: &Arguments, directory: &Path, settings: &[&str]) -> anyhow::Result<[Peer; 2]> {
    let start = |name: &'static str, program: &Path, first: &[&str]| {
        let own = directory.join(name);
        std::fs::create_dir_all(&own)?;
        let place = own.to_str().unwrap_or_default();
        let settings = [settings, &["--dir", place, "--enable-debug-command", "yes"]].concat();
        let peer = Peer::start_with(name, program, first, &settings)?;
        wait_until(|| Ok(peer.call(&["PING"]).is_ok_and(|answer| answer == "PONG")))?;
        anyhow::Ok(peer)
    };
    let keyward = start("Keyward", &arguments.keyward, &["serve"])?;
    Ok([keyward, start("Redis", "redis-server".as_ref(), &[])?])
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

/// The middle one.
fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

fn throughput(arguments: &Arguments) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "| SET, 50 clients | pipeline | Keyward, per second | Redis, per second | Keyward / Redis | CPU µs per command, Keyward | Redis |"
    )?;
    writeln!(out, "|---|---|---|---|---|---|---|")?;
    for policy in &POLICIES {
        for pipeline in &arguments.pipelines {
            let directory = tempfile::tempdir()?;
            let peers = start(arguments, directory.path(), policy.settings)?;
            let requests = arguments.requests / policy.share * u64::from(*pipeline).min(4);
            let load = Load { pipeline: *pipeline, requests, ..Load::new(arguments) };
            let mut seen = [(Vec::new(), Vec::new()), (Vec::new(), Vec::new())];
            for _ in 0..arguments.rounds {
                for (peer, (per_second, processor)) in peers.iter().zip(&mut seen) {
                    let before_ns = peer.processor_ns()?;
                    per_second.push(peer.load(&["-t", "set"], &load)?.per_second);
                    let spent_ns = peer.processor_ns()? - before_ns;
                    processor.push(spent_ns as f64 / 1000.0 / load.requests as f64);
                }
            }
            let [(ours, our_cpu), (theirs, their_cpu)] = seen;
            let (ours, theirs) = (median(ours), median(theirs));
            let (our_cpu, their_cpu) = (median(our_cpu), median(their_cpu));
            let title = policy.title;
            let ratio = ours / theirs;
            writeln!(
                out,
                "| {title} | {pipeline} | {ours:.0} | {theirs:.0} | {ratio:.2} | {our_cpu:.2} | {their_cpu:.2} |"
            )?;
        }
    }
    Ok(())
}

/// What one server needs to save and to load, and what its clients see meanwhile.
struct Saved {
    quiet: Seen,
    busy: Seen,
    save_seconds: f64,
    load_seconds: f64,
}

fn is_saving(peer: &Peer) -> anyhow::Result<bool> {
    Ok(peer.call(&["INFO", "persistence"])?.contains("rdb_bgsave_in_progress:1"))
}

/// Saves while clients read, again and again until they have read enough.
fn save_while_reading(peer: &Peer, load: &Load) -> anyhow::Result<(Seen, f64)> {
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| peer.load(&["-t", "get"], load));
        let mut seconds = Vec::new();
        while !reader.is_finished() {
            let start = Instant::now();
            peer.call(&["BGSAVE"])?;
            wait_until(|| Ok(!is_saving(peer)?))?;
            seconds.push(start.elapsed().as_secs_f64());
        }
        let Ok(seen) = reader.join() else { bail!("the load has failed") };
        Ok((seen?, median(seconds)))
    })
}

fn snapshots(arguments: &Arguments) -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let settings = ["--appendonly", "no"];
    let mut peers = start(arguments, directory.path(), &settings)?;
    let keys = arguments.keys.to_string();
    let mut saved = Vec::new();
    for peer in &peers {
        peer.call(&["DEBUG", "POPULATE", &keys, "key", &arguments.value_bytes.to_string()])?;
        let load = Load::new(arguments);
        let quiet = peer.load(&["-t", "get"], &load)?;
        let (busy, save_seconds) = save_while_reading(peer, &load)?;
        peer.call(&["SAVE"])?;
        saved.push(Saved { quiet, busy, save_seconds, load_seconds: 0.0 });
    }
    drop(peers);
    // Files are in memory now: what counts is the work.
    peers = start(arguments, directory.path(), &settings)?;
    for (peer, saved) in peers.iter().zip(&mut saved) {
        let begin = Instant::now();
        peer.call(&["DEBUG", "RELOAD", "NOSAVE"])?;
        saved.load_seconds = begin.elapsed().as_secs_f64();
    }
    write_saved(arguments, &saved)
}

fn write_saved(arguments: &Arguments, saved: &[Saved]) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    let [ours, theirs] = saved else { bail!("two servers are compared") };
    writeln!(out, "\n| {} keys | Keyward | Redis | Keyward / Redis |", arguments.keys)?;
    writeln!(out, "|---|---|---|---|")?;
    type Figure = fn(&Saved) -> f64;
    let figures: [(&str, Figure); 7] = [
        ("GET p99.9 at rest, ms", |saved| saved.quiet.p999_ms),
        ("GET p99 during a snapshot, ms", |saved| saved.busy.p99_ms),
        ("GET p99.9 during a snapshot, ms", |saved| saved.busy.p999_ms),
        ("GET per second at rest", |saved| saved.quiet.per_second),
        ("GET per second during a snapshot", |saved| saved.busy.per_second),
        ("BGSAVE, seconds", |saved| saved.save_seconds),
        ("loading, seconds", |saved| saved.load_seconds),
    ];
    for (title, figure) in figures {
        let (ours, theirs) = (figure(ours), figure(theirs));
        writeln!(out, "| {title} | {ours:.3} | {theirs:.3} | {:.2} |", ours / theirs)?;
    }
    Ok(())
}
