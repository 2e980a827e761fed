//! The command line of the fuzzer.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Parser;
use keyward_fuzz::{Random, TARGETS, Target};

/// The most of a processor's time that one round may take: others may use the machine.
const ROUND_MAX: Duration = Duration::from_secs(2);

/// The seed of the round under way.
static SEED: AtomicU64 = AtomicU64::new(0);

/// Throws random input at whatever reads bytes from outside.
#[derive(Parser)]
struct Arguments {
    /// What is fuzzed.
    target: String,
    /// For how long.
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// The seed of the first round; each further one has the next.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many rounds at most.
    #[arg(long, default_value_t = u64::MAX)]
    rounds: u64,
}

#[allow(clippy::print_stdout, reason = "this is what the program is for")]
fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let target = TARGETS.iter().find(|target| target.name == arguments.target);
    let target = target.with_context(|| {
        let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        format!("there is no target {:?}; there are {}", arguments.target, names.join(", "))
    })?;
    tell_seed_on_panic();
    let start = Instant::now();
    let mut rounds = 0;
    while start.elapsed() < Duration::from_secs(arguments.seconds) && rounds < arguments.rounds {
        run(target, arguments.seed.wrapping_add(rounds))?;
        rounds += 1;
    }
    println!("{}: {rounds} rounds from seed {} on, nothing found", target.name, arguments.seed);
    Ok(())
}

/// How long this process has had a processor.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

/// Says which seed it was: a release build ends with the panic.
#[allow(clippy::print_stderr, reason = "this is what the program is for")]
fn tell_seed_on_panic() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        report(panic);
        let seed = SEED.load(Ordering::Relaxed);
        eprintln!("seed {seed} panics; repeat it by --seed {seed} --rounds 1");
    }));
}

fn run(target: &Target, seed: u64) -> Result<()> {
    let start = processor_time();
    SEED.store(seed, Ordering::Relaxed);
    (target.round)(&mut Random::new(seed));
    let taken = processor_time() - start;
    if taken > ROUND_MAX {
        bail!("seed {seed} takes {taken:?}; repeat it by --seed {seed} --rounds 1");
    }
    Ok(())
}
