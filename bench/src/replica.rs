//! What a replica costs its primary, and what following costs a replica.
//!
//! Two pairs of servers of each kind, one with a replica and one without, take turns under the
//! same load (SET). The processor time of the thread that executes commands is read from the
//! kernel; rounds are interleaved, and the median of the ratios counts. A replica is told nothing
//! by the load: what its thread takes meanwhile is the cost of applying.

use crate::arguments::Arguments;
use crate::load::Load;
use crate::peer::Peer;
use crate::report::median;
use anyhow::{Context, ensure};
use keyward_testkit::within;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

/// How long a replica may take to have everything.
const FOLLOW_TIMEOUT: Duration = Duration::from_secs(120);

/// A server alone, and one with a replica.
struct Set {
    name: &'static str,
    alone: Peer,
    primary: Peer,
    replica: Peer,
}

/// What one round took, in microseconds per command.
struct Round {
    alone: f64,
    primary: f64,
    replica: f64,
}

impl Set {
    fn start(name: &'static str, program: &Path, first: &[&str]) -> anyhow::Result<Set> {
        let settings = ["--appendonly", "no", "--repl-diskless-sync-delay", "0"];
        let start = || Peer::start_with(name, program, first, &settings);
        let (alone, primary, replica) = (start()?, start()?, start()?);
        replica.call(&["REPLICAOF", "127.0.0.1", &primary.port().to_string()])?;
        Ok(Set { name, alone, primary, replica })
    }

    /// Fills the servers, and waits until the replica has everything.
    fn fill(&self, load: &Load) -> anyhow::Result<()> {
        let fill = Load { pipeline: 64, requests: 2 * load.keys, ..*load };
        self.alone.load_plainly(&["-t", "set"], &fill)?;
        self.primary.load_plainly(&["-t", "set"], &fill)?;
        self.follow()
    }

    /// Waits until the replica has everything.
    fn follow(&self) -> anyhow::Result<()> {
        let field = |peer: &Peer, name: &str| -> Option<String> {
            let info = peer.call(&["INFO", "replication"]).ok()?;
            info.lines().find_map(|line| Some(line.strip_prefix(name)?.trim().to_owned()))
        };
        let has_all = || {
            let is_up = field(&self.replica, "master_link_status:")? == "up";
            let ends = [
                field(&self.primary, "master_repl_offset:")?,
                field(&self.replica, "slave_repl_offset:")?,
            ];
            (is_up && ends[0] == ends[1]).then_some(())
        };
        within(FOLLOW_TIMEOUT, has_all)
            .with_context(|| format!("the replica of {} does not follow", self.name))
    }

    fn measure(&self, load: &Load, begins_alone: bool) -> anyhow::Result<Round> {
        let per_command = |ns: u64| ns as f64 / 1000.0 / load.requests as f64;
        let run = |peer: &Peer| -> anyhow::Result<f64> {
            let before_ns = peer.core_ns()?;
            peer.load_plainly(&["-t", "set"], load)?;
            Ok(per_command(peer.core_ns()? - before_ns))
        };
        let first = begins_alone.then(|| run(&self.alone)).transpose()?;
        let (primary_ns, replica_ns) = (self.primary.core_ns()?, self.replica.core_ns()?);
        self.primary.load_plainly(&["-t", "set"], load)?;
        let primary = per_command(self.primary.core_ns()? - primary_ns);
        self.follow()?;
        let replica = per_command(self.replica.core_ns()? - replica_ns);
        let alone = first.map_or_else(|| run(&self.alone), Ok)?;
        Ok(Round { alone, primary, replica })
    }
}

/// Measures it.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let sets = [
        Set::start("Keyward", &arguments.keyward, &["serve"])?,
        Set::start("Redis", "redis-server".as_ref(), &[])?,
    ];
    let mut out = std::io::stdout().lock();
    for pipeline in &arguments.pipelines {
        let load = Load { pipeline: *pipeline, ..Load::new(arguments) };
        writeln!(
            out,
            "\nSET, pipeline {pipeline}, {} bytes; \u{b5}s per command of the core's thread",
            load.value_bytes
        )?;
        writeln!(out, "| | alone | with a replica | ratio | replica | replica / alone |")?;
        writeln!(out, "|---|---|---|---|---|---|")?;
        let mut rounds: [Vec<Round>; 2] = [Vec::new(), Vec::new()];
        for set in &sets {
            set.fill(&load)?;
        }
        for round in 0..arguments.rounds as usize {
            for place in 0..sets.len() {
                let at = (round + place) % sets.len();
                rounds[at].push(sets[at].measure(&load, round % 2 == 0)?);
            }
        }
        for (set, rounds) in sets.iter().zip(&rounds) {
            ensure!(!rounds.is_empty(), "there was no round");
            let of = |figure: fn(&Round) -> f64| median(rounds.iter().map(figure));
            writeln!(
                out,
                "| {} | {:.3} | {:.3} | {:.3} | {:.3} | {:.3} |",
                set.name,
                of(|round| round.alone),
                of(|round| round.primary),
                of(|round| round.primary / round.alone),
                of(|round| round.replica),
                of(|round| round.replica / round.alone),
            )?;
        }
    }
    Ok(())
}
