//! What clients see while a snapshot is written, and how long that takes.

use super::{load_seconds, order, start, wait_until, write_heading, write_row};
use crate::arguments::Arguments;
use crate::connection::Connection;
use crate::paced::{self, Latencies};
use crate::peer::Peer;
use crate::report::median;
use anyhow::bail;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often each server is filled, read and saved.
const TURNS: usize = 5;
/// How long is read at rest, and during snapshots at least.
const READING: Duration = Duration::from_secs(10);

/// What the clients of a server see, and how long saving takes.
struct Saved {
    quiet: Latencies,
    busy: Latencies,
    background_seconds: f64,
    save_seconds: f64,
}

type Figure = fn(&Saved) -> f64;

const FIGURES: [(&str, Figure); 10] = [
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

/// Writes a table, whose last row is how long the snapshots take to load.
pub(super) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let settings = ["--appendonly", "no"];
    let mut figures = vec![Vec::new(); FIGURES.len()];
    for turn in 0..TURNS {
        let mut both = vec![[0.0; 2]; FIGURES.len()];
        for index in order(turn) {
            let peer = start(arguments, directory.path(), &settings, index)?;
            let saved = save(arguments, &peer)?;
            for (both, (_, figure)) in both.iter_mut().zip(FIGURES) {
                both[index] = figure(&saved);
            }
        }
        figures.iter_mut().zip(both).for_each(|(turns, both)| turns.push(both));
    }
    write_heading(&format!("{} keys", arguments.keys))?;
    for ((title, _), turns) in FIGURES.iter().zip(figures) {
        write_row(title, &turns)?;
    }
    let seconds = load_seconds(arguments, directory.path(), &settings)?;
    write_row("loading the snapshot, seconds", &seconds)
}

fn save(arguments: &Arguments, peer: &Peer) -> anyhow::Result<Saved> {
    let Arguments { keys, value_bytes, reads_per_second, .. } = *arguments;
    peer.call(&["DEBUG", "POPULATE", &keys.to_string(), "key", &value_bytes.to_string()])?;
    let end = Instant::now() + READING;
    let quiet = paced::read(peer, keys, reads_per_second, &|| Instant::now() >= end)?;
    let (busy, background_seconds) = save_while_reading(peer, keys, reads_per_second)?;
    let begin = Instant::now();
    peer.call(&["SAVE"])?;
    let save_seconds = begin.elapsed().as_secs_f64();
    Ok(Saved { quiet, busy, background_seconds, save_seconds })
}

fn is_saving(connection: &mut Connection) -> anyhow::Result<bool> {
    Ok(connection.call(&["INFO", "persistence"])?.contains("rdb_bgsave_in_progress:1"))
}

/// Reads while it saves, again and again until enough was read.
fn save_while_reading(peer: &Peer, keys: u64, per_second: u32) -> anyhow::Result<(Latencies, f64)> {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let is_over = &is_over;
        let reader = scope
            .spawn(|| paced::read(peer, keys, per_second, &|| is_over.load(Ordering::Relaxed)));
        let mut connection = peer.open()?;
        let (begin, mut seconds) = (Instant::now(), Vec::new());
        let saved = loop {
            let start = Instant::now();
            let begun = connection.call(&["BGSAVE"]);
            let saved = begun.and_then(|_| wait_until(|| Ok(!is_saving(&mut connection)?)));
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
