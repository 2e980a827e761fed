//! What the append-only file costs while commands come as fast as they are answered.

use super::{order, start};
use crate::arguments::Arguments;
use crate::load::Load;
use crate::peer::Peer;
use crate::report::median;
use std::io::Write as _;

/// A way of keeping the append-only file.
struct Policy {
    title: &'static str,
    settings: &'static [&'static str],
}

const POLICIES: [Policy; 3] = [
    Policy { title: "no append-only file", settings: &["--appendonly", "no"] },
    Policy {
        title: "appendfsync everysec",
        settings: &["--appendonly", "yes", "--appendfsync", "everysec"],
    },
    Policy {
        title: "appendfsync always",
        settings: &["--appendonly", "yes", "--appendfsync", "always"],
    },
];

/// Who sends the commands.
struct Generator {
    title: &'static str,
    /// Returns how many a second.
    run: fn(&Peer, &Load) -> anyhow::Result<f64>,
}

const GENERATORS: [Generator; 2] = [
    Generator { title: "own", run: Peer::set },
    Generator {
        title: "redis-benchmark",
        run: |peer, load| Ok(peer.load(&["-t", "set"], load)?.per_second),
    },
];

/// Loads on each server in a round: what a disk does for a second is not to decide.
const TURNS: u32 = 5;

/// What one load came to.
#[derive(Clone, Copy, Default)]
struct Turn {
    per_second: f64,
    processor_us: f64,
}

/// Writes a table for all pipelines, ways and generators.
pub(super) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "\n| SET, 50 clients | pipeline | generator | Keyward, per second | Redis, per second | \
         Keyward / Redis | of none, Keyward | Redis | CPU µs per command, Keyward | Redis |"
    )?;
    writeln!(out, "|---|---|---|---|---|---|---|---|---|---|")?;
    for pipeline in &arguments.pipelines {
        let mut without = [None; GENERATORS.len()];
        for policy in &POLICIES {
            let directory = tempfile::tempdir()?;
            let ours = start(arguments, directory.path(), policy.settings, 0)?;
            let peers = [ours, start(arguments, directory.path(), policy.settings, 1)?];
            for (generator, without) in GENERATORS.iter().zip(&mut without) {
                // With long pipelines a turn would soon be over.
                let requests = arguments.requests / u64::from(TURNS) * u64::from(*pipeline).min(4);
                let load = Load { pipeline: *pipeline, requests, ..Load::new(arguments) };
                let turns = (0..arguments.rounds * TURNS)
                    .map(|turn| take_turn(&peers, generator, &load, turn as usize))
                    .collect::<anyhow::Result<Vec<_>>>()?;
                let of = |figure: fn(&Turn) -> f64| {
                    [0, 1].map(|server| median(turns.iter().map(|turn| figure(&turn[server]))))
                };
                let [ours, theirs] = of(|turn| turn.per_second);
                let [our_cpu, their_cpu] = of(|turn| turn.processor_us);
                let ratio =
                    median(turns.iter().map(|[ours, theirs]| ours.per_second / theirs.per_second));
                let (our_first, their_first) = *without.get_or_insert((ours, theirs));
                writeln!(
                    out,
                    "| {} | {pipeline} | {} | {ours:.0} | {theirs:.0} | {ratio:.2} | {:.2} | \
                     {:.2} | {our_cpu:.2} | {their_cpu:.2} |",
                    policy.title,
                    generator.title,
                    ours / our_first,
                    theirs / their_first,
                )?;
            }
        }
    }
    Ok(())
}

/// Loads both servers, each of them first in every second turn.
fn take_turn(
    peers: &[Peer; 2],
    generator: &Generator,
    load: &Load,
    number: usize,
) -> anyhow::Result<[Turn; 2]> {
    let mut turns = [Turn::default(); 2];
    for server in order(number) {
        let peer = &peers[server];
        let before_ns = peer.processor_ns()?;
        let per_second = (generator.run)(peer, load)?;
        let spent_ns = peer.processor_ns()? - before_ns;
        let processor_us = spent_ns as f64 / 1000.0 / load.requests as f64;
        turns[server] = Turn { per_second, processor_us };
    }
    Ok(turns)
}
