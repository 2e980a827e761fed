//! What durability costs, beside redis-server: latencies while a snapshot is written, how
//! long saving and loading take, and throughput with the append-only file.
//!
//! All servers keep their files in directories beside each other, on the disk where
//! temporary files are. Runs are interleaved, and ratios are the medians of those of single
//! turns: a disk is noisier than a processor. A server shares its core with what it saves
//! by, a thread or another process. Snapshots come first: a disk that is told which blocks
//! are free (`discard`) is busy with that for a while after large files are gone, and
//! whoever is measured then reads late.

mod snapshots;
mod throughput;

use crate::arguments::Arguments;
use crate::load::Load;
use crate::peer::{LOAD_CORE, Peer};
use crate::report::median;
use anyhow::{Context, bail};
use keyward_testkit::within;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// How long saving and loading may take.
const PATIENCE: Duration = Duration::from_secs(600);
/// How often each loads.
const LOADS: usize = 3;

/// Measures everything and writes tables of it.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    // What makes the load is a thread of this process.
    let pinned = Command::new("taskset")
        .args(["-cp", LOAD_CORE, &std::process::id().to_string()])
        .output()
        .context("cannot run taskset")?;
    if !pinned.status.success() {
        bail!("taskset: {}", String::from_utf8_lossy(&pinned.stderr));
    }
    type Part = fn(&Arguments) -> anyhow::Result<()>;
    let parts: [(&str, Part); 3] = [
        ("snapshots", snapshots::run),
        ("increments", increments),
        ("throughput", throughput::run),
    ];
    parts
        .iter()
        .filter(|(name, _)| name.contains(&arguments.only))
        .try_for_each(|(_, run)| run(arguments))
}

/// Both, in this order in every second turn and else the other way round.
fn order(turn: usize) -> [usize; 2] {
    if turn.is_multiple_of(2) { [0, 1] } else { [1, 0] }
}

/// Starts Keyward or Redis with a directory of its own below this one, and waits until it
/// answers.
fn start(
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

fn wait_until(mut condition: impl FnMut() -> anyhow::Result<bool>) -> anyhow::Result<()> {
    let outcome = within(PATIENCE, || condition().map(|is_so| is_so.then_some(())).transpose());
    outcome.with_context(|| format!("it takes longer than {PATIENCE:?}"))?
}

/// How long each takes from its start to its first answer, with the files it left.
fn load_seconds(
    arguments: &Arguments,
    directory: &Path,
    settings: &[&str],
) -> anyhow::Result<Vec<[f64; 2]>> {
    let mut all = Vec::new();
    for turn in 0..LOADS {
        let mut seconds = [0.0; 2];
        for index in order(turn) {
            let begin = Instant::now();
            let peer = start(arguments, directory, settings, index)?;
            seconds[index] = begin.elapsed().as_secs_f64();
            drop(peer);
        }
        all.push(seconds);
    }
    Ok(all)
}

fn write_heading(title: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout();
    writeln!(out, "\n| {title} | Keyward | Redis | Keyward / Redis | least | least | ratio |")?;
    Ok(writeln!(out, "|---|---|---|---|---|---|---|")?)
}

/// A figure of both, by turns: the medians, and the least, to which the machine added least.
fn write_row(title: &str, turns: &[[f64; 2]]) -> anyhow::Result<()> {
    let of = |index: usize| turns.iter().map(move |turn| turn[index]);
    let [ours, theirs] = [0, 1].map(|index| median(of(index)));
    let ratio = median(turns.iter().map(|[ours, theirs]| ours / theirs));
    let [our_least, their_least] = [0, 1].map(|index| of(index).fold(f64::INFINITY, f64::min));
    let least_ratio = our_least / their_least;
    Ok(writeln!(
        std::io::stdout(),
        "| {title} | {ours:.3} | {theirs:.3} | {ratio:.2} | {our_least:.3} | {their_least:.3} | \
         {least_ratio:.2} |"
    )?)
}

/// How long an append-only file of one command for each key takes to load.
fn increments(arguments: &Arguments) -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let settings = ["--appendonly", "yes", "--auto-aof-rewrite-percentage", "0"];
    for index in 0..2 {
        let peer = start(arguments, directory.path(), &settings, index)?;
        let load = Load { pipeline: 64, requests: arguments.keys, ..Load::new(arguments) };
        peer.load(&["-t", "set"], &load)?;
        // All of it is to be in the file.
        let is_written =
            || Ok(peer.call(&["INFO", "persistence"])?.contains("aof_buffer_length:0"));
        wait_until(is_written)?;
    }
    let seconds = load_seconds(arguments, directory.path(), &settings)?;
    write_heading(&format!("{} commands", arguments.keys))?;
    write_row("loading the append-only file, seconds", &seconds)
}
